"""The hyperparameters of the largest evidence.

The evidence is the probability of the labels under the model, as a function of the kernel's
parameters, the softness and the label noise. Maximizing it needs no held-out examples.

A quasi-Newton method maximizes an approximation over the logarithms of the parameters: from several
starts on a part of the examples, then by a few more steps on all. For two classes it is expectation
propagation, within about a nat of the exact evidence. For more it is Laplace's, which takes less
time.

For more than 375 examples the search from several starts uses a stratified sample of 250. At most
ten more settings are tried on all examples, or on a sample of 500. With more than two classes the
search has one start without label noise, and uses a sample of 200 if there are more than 300
examples. With softness=0 their kernel is searched at the smallest softness.

The softness is searched relative to the variance of f over the examples, the mean of the centered
kernel matrix's diagonal, from 0.001 to 10000. Label noise is searched last, from three starts, or
from five for two rates. It stays 0 if the gain is less than a hundredth of a nat, and so does a
rate that ends at its lower bound of 1e-4.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from operator import attrgetter
from typing import Any

import numpy as np
from scipy import optimize
from sklearn.exceptions import ConvergenceWarning

from bayespoint.base import linalg
from bayespoint.base.validation import Floats
from bayespoint.base.warnings import warn
from bayespoint.data.examples import Examples
from bayespoint.likelihood import Likelihood
from bayespoint.results.hyperparameters import Hyperparameters
from bayespoint.tuning.methods import AllValues, Task
from bayespoint.tuning.objective import RATES, LimitError, Objective, Point

MAX_SEARCH_EXAMPLES = 500
"""Largest number of examples of the search: an evaluation takes O(m^3)."""

COARSE = 250
"""Number of examples of the search from several starts, if there are more than 1.5 times as
many."""

COARSE_OF_SEVERAL = 200
"""The same for more than two classes."""

_STARTS = ((1.0, 0.3), (3.0, 0.05))
"""Starts: factor on the kernel's declared starts, and softness relative to the variance of f."""

_GAIN = 0.01
_RELATIVE_GAIN = 1e-4
"""Smallest gain of evidence, in nats and relative, for which a search goes on; the first is also
that for which label noise is accepted."""

_GAIN_OF_SEVERAL = 0.25
"""The same in nats for more than two classes, whose evidence is less exact and takes longer."""

_REFINEMENTS = 10
"""Largest number of settings tried on all examples, after the search on a part of them."""

_SHORTER = 4.0  # factor by which a step that loses evidence is shortened


def tune(task: Task) -> Hyperparameters:
    """Return the setting of the largest evidence, with the search that found it.

    Raises ValueError if no setting tried has an evidence. Warns if a limit of the budget ended the
    search, or if the evidence rises beyond a bound of a parameter of the kernel.
    """
    m, several = len(task.examples.label), task.likelihood.n_functions > 1
    size = COARSE_OF_SEVERAL if several else COARSE
    task = task.of(MAX_SEARCH_EXAMPLES)
    examples, n = task.examples, len(task.examples.label)
    coarse = task.of(size).examples if 2 * n > 3 * size else examples
    objective = Objective(task, AllValues(task.likelihood, task.plan.offset))
    # With one thread of BLAS the rounding does not depend on the number of threads. For such small
    # matrices more threads are not faster.
    with linalg.one_thread():
        try:
            best = _search(objective, examples, coarse)
        except LimitError:
            n, best = objective.best
            warn(
                f"{objective.limit} ended the search for hyperparameters after "
                f"{len(objective.tried)} settings: the best has the log evidence "
                f"{best.value:.2f} on {n} of {m} examples",
                ConvergenceWarning,
            )
    objective.require(best)
    found = objective.found(best, best.value, examples, n, np.empty((0, 0)))
    if not best.noisy:
        return found
    # A rate at its lower bound counts as 0.
    first, second = (rate if rate > RATES[0] * 1.01 else 0.0 for rate in found.label_noise)
    search = replace(found.search, label_noise=(first, second))  # type: ignore[type-var]
    return replace(found, label_noise=(first, second), search=search)


def _search(objective: Objective, examples: Examples, coarse: Examples) -> Point:
    """Return the best point, by a search on the `coarse` examples and then on all."""
    several = objective.method.needs_softness
    starts = [objective.start(*start) for start in (_STARTS[:1] if several else _STARTS)]
    if not len(starts[0]):
        starts, coarse = starts[:1], examples

    def best(starts: Sequence[Floats], *, noisy: bool) -> Point:
        points = [_minimize(objective, coarse, each, noisy=noisy) for each in starts]
        return max(points, key=attrgetter("value"))

    candidates = [best(starts, noisy=False)]
    if objective.plan.rates:
        noisy_starts = objective.noisy_starts(candidates[0], _STARTS[-1])
        candidates.append(best(noisy_starts, noisy=True))
    if coarse is not examples:
        n = len(coarse.label)
        candidates = [_refine(objective, examples, each, n) for each in candidates]
    clean, noisy = candidates[0], candidates[-1]
    return noisy if noisy.value > clean.value + _GAIN else clean


def _least_gain(objective: Objective, value: float) -> float:
    """Return the gain of a step below which the search ends."""
    least = _GAIN_OF_SEVERAL if objective.method.needs_softness else _GAIN
    return max(least, _RELATIVE_GAIN * abs(value))


def _minimize(objective: Objective, examples: Examples, theta: Floats, *, noisy: bool) -> Point:
    """Return the point of the best evidence that a quasi-Newton method reaches."""
    bounds = objective.bounds(noisy)
    theta = np.clip(theta, *bounds.T)
    nearest = objective.method.starts(examples)
    if not len(theta):
        return Point(theta, *objective.evaluate(examples, theta, noisy, nearest), noisy)
    known, scale = [], 1.0
    if objective.method.needs_softness:  # more than two classes: a first step of length 1
        known = [objective.evaluate(examples, theta, noisy, nearest)]
        scale = 1 / math.sqrt(max(1.0, float(np.linalg.norm(known[0][1]))))

    def loss(scaled: Floats) -> tuple[float, Floats]:
        given = examples, scale * scaled, noisy, nearest
        value, gradient = known.pop() if known else objective.evaluate(*given)
        if not math.isfinite(value):
            return 1e10, np.zeros_like(scaled)
        return -value, -scale * gradient

    before = math.inf

    def stop(intermediate_result: optimize.OptimizeResult) -> None:
        nonlocal before
        value = float(intermediate_result.fun)
        if before - value < _least_gain(objective, value):
            raise StopIteration
        before = value

    found = optimize.minimize(
        loss,
        theta / scale,
        jac=True,
        method="L-BFGS-B",
        bounds=bounds / scale,
        callback=stop,
        options={"maxiter": 40, "ftol": 0.0},
    )
    value = -float(found.fun) if found.fun < 1e10 else -math.inf
    spread = scale**2 * found.hess_inv.todense()
    return Point(scale * found.x, value, -np.asarray(found.jac) / scale, noisy, spread)


def _refine(objective: Objective, examples: Examples, near: Point, n: int) -> Point:
    """Return the best point that a few quasi-Newton steps reach from the best on `n` examples.

    They begin with the second derivatives that the search on these has found.
    """
    low, high = objective.bounds(near.noisy).T
    nearest = objective.method.starts(examples)
    spread = near.spread * (n / len(examples.label))
    best, theta = replace(near, value=-math.inf), near.theta
    for _ in range(_REFINEMENTS):
        value, slope = objective.evaluate(examples, theta, near.noisy, nearest)
        moved, turned = theta - best.theta, best.slope - slope
        curvature = float(moved @ turned)
        if math.isfinite(value) and math.isfinite(best.value) and curvature > 0:
            # The update of Broyden, Fletcher, Goldfarb and Shanno.
            left = np.eye(len(moved)) - np.outer(moved, turned) / curvature
            spread = left @ spread @ left.T + np.outer(moved, moved) / curvature
        if value > best.value:
            best = Point(theta, value, slope, near.noisy)
        elif math.isfinite(best.value):
            spread = spread / _SHORTER
        else:
            break
        outward = np.where(best.slope > 0, best.theta >= high, best.theta <= low)
        inward = np.where(outward, 0.0, best.slope)
        step = np.where(outward, 0.0, spread @ inward)
        if 0.5 * inward @ step < _least_gain(objective, best.value):
            break
        theta = np.clip(best.theta + step / max(1.0, float(np.abs(step).max())), low, high)
    return best


def approximate_log_evidence(
    kernel: Any,
    examples: Examples,
    likelihood: Likelihood,
    *,
    offset: float,
    softness: float,
) -> float:
    """Return the approximate log evidence of hyperparameters, which the search maximizes.

    Parameters
    ----------
    kernel : kernel object or callable
        The kernel, with values of all parameters.
    examples, likelihood
        Those of a model: ``model.models_[0].examples`` and ``.likelihood``.
    offset, softness : float
        What is added to all kernel values (1 for `fit_intercept`), and to the diagonal.

    Returns
    -------
    float
        Nats; minus infinity if the kernel is not positive semidefinite or the approximation does
        not converge.
    """
    method, noise = AllValues(likelihood, offset), likelihood.label_noise
    try:
        with linalg.one_thread():
            gram = method.values(kernel, examples)
            found = method.approximation(examples, gram, softness, noise, [None])
    except np.linalg.LinAlgError:
        return -math.inf
    if (method.needs_softness or any(noise)) and not found.converged:
        return -math.inf
    return found.log_evidence
