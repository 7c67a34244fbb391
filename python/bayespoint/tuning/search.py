"""Search for the hyperparameters of the largest evidence.

The evidence is the probability of the labels under the model, as a function of the kernel's
parameters, the softness and the label noise. Maximizing it needs no held-out examples.

A quasi-Newton method maximizes an approximation over the logarithms of the parameters: from several
starts on a part of the examples, then by a few more steps on all. This takes a few dozen
evaluations. For two classes the approximation is expectation propagation, which is within about a
nat of the exact evidence. For more it is Laplace's, which takes less time, or the sum over problems
of each class against the rest.
"""

from __future__ import annotations

import dataclasses
import math
import time
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import InitVar, dataclass, field, replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import optimize
from sklearn.exceptions import ConvergenceWarning

from bayespoint import kernels
from bayespoint.base import linalg
from bayespoint.base.validation import Floats
from bayespoint.base.warnings import warn
from bayespoint.engine import distributed, interior
from bayespoint.engine.problem import Problem
from bayespoint.kernels.functions import is_semidefinite
from bayespoint.results import Search
from bayespoint.tuning import expectation_propagation, laplace

__all__ = ["approximate_log_evidence", "resolve_hyperparameters", "tune"]

Report: TypeAlias = Callable[[Mapping[str, float]], object]

LARGEST = 500
"""Largest number of examples of the search: an evaluation takes O(m^3)."""

COARSE = 250
"""Number of examples of the search from several starts, if there are more than 1.5 times as
many."""

COARSE_OF_SEVERAL = 200
"""The same for more than two classes."""

_SOFTNESS = (1e-3, 1e4)
"""Bounds of the softness relative to the variance of f over the examples. A ratio r changes the
labels of a share arctan(sqrt(r)) / pi of normal f: 1 % at the lower bound. Below it the version
space becomes a sliver, with up to twenty times as many bounces, and on tables of real data the log
loss gains nothing. At the upper bound labels hardly depend on the inputs."""

_STARTS = ((1.0, 0.3), (3.0, 0.05))
"""Starts: factor on the kernel's declared starts, and softness relative to the variance of f."""

_RATES = (1e-4, 0.45)
"""Bounds of a rate of label noise."""

_NOISY_STARTS = ((1.0, 0.02), (0.1, 0.05))
"""Starts with label noise: factor on the softness found without noise, and rate."""

_FLIPPED = ((0.1, 0.1), (0.2, 0.01), (0.01, 0.2))
"""Rates with the kernel's declared starts, since a solution without noise that fits every flipped
label may be a local maximum."""

_STEP = 0.02
"""Step in a logarithm for a finite difference, if a kernel provides no derivatives."""

_CHANGE = 3e-4
_FINE_CHANGE = 1e-4
"""Change of the approximate evidence, in nats, at which the sweeps end; the smaller one with label
noise or without softness, where sweeps may oscillate."""

_GAIN = 0.01
_RELATIVE_GAIN = 1e-4
"""Smallest gain of evidence, in nats and relative, for which a search goes on; the first is also
that for which label noise is accepted."""

_GAIN_OF_SEVERAL = 0.25
"""The same in nats for more than two classes jointly, whose evidence is less exact and takes
longer."""

_RISE = 1.0
"""Smallest rise of the evidence over a factor of e, in nats, at a bound of a kernel's parameter for
which a warning is given."""

_AT_BOUND = 1e-6
"""Distance of a logarithm from a bound up to which it is at the bound."""

_ROUNDING = 1e-12
"""Share of the diagonal of a matrix below which a difference from it is rounding."""

_REFINEMENTS = 10
"""Largest number of settings tried on all examples, after the search on a part of them."""

_SHORTER = 4.0
"""Factor by which a step that loses evidence is shortened."""


@dataclass(frozen=True, eq=False)
class Examples:
    """The examples of an evaluation: inputs, labels as for `tune`, and weights."""

    X: NDArray[Any]
    labels: Floats
    weights: Floats
    joint: bool
    """Whether the labels are of more than two classes jointly."""

    def unknown(self) -> list[Any]:
        """Return the starting points of the approximations before the first."""
        return [None] * (1 if self.joint else len(self.labels))

    def part(self, chosen: NDArray[np.intp]) -> Examples:
        if len(chosen) == self.labels.shape[1]:
            return self
        return Examples(self.X[chosen], self.labels[:, chosen], self.weights[chosen], self.joint)


@dataclass(frozen=True, eq=False)
class Point:
    """A setting as logarithms of the searched parameters, and its approximate evidence."""

    theta: Floats
    noisy: bool
    value: float
    slope: Floats
    """Derivatives of the evidence."""

    spread: Floats = field(default_factory=lambda: np.empty((0, 0)))
    """Approximate inverse of the negative second derivatives of the evidence."""


@dataclass(eq=False)
class Objective:
    """The approximate evidence with its gradient, as a function of the searched parameters."""

    kernel: Any
    examples: InitVar[Examples]
    offset: float
    softness: float | None
    noise: tuple[float, float]
    rates: int
    report: Report | None
    n_jobs: int | None
    max_iter: int | None = None
    deadline: float = math.inf
    best: tuple[int, Point] = (0, Point(np.empty(0), False, -math.inf, np.empty(0)))
    """The largest number of examples evaluated, and the best point on so many."""

    change: float = _CHANGE
    """Change of the approximate evidence at which the sweeps end, without label noise."""

    def __post_init__(self, examples: Examples) -> None:
        self.parameters = kernels.parameters(self.kernel, examples.X)
        self.tried: list[list[float]] = []

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns of `tried`."""
        own = tuple(parameter.name for parameter in self.parameters)
        return (
            *own,
            "softness",
            "label_noise_negative",
            "label_noise_positive",
            "n_examples",
            "log_evidence",
        )

    def start(self, factor: float, softness: float) -> Floats:
        """Return the logarithms to start from, without label noise."""
        values = [parameter.start * factor for parameter in self.parameters]
        if self.softness is None:
            values.append(softness)
        start: Floats = np.log(values)
        return start

    def bounds(self, noisy: bool) -> Floats:
        """Return the (n, 2) bounds of the logarithms."""
        rows = [(parameter.low, parameter.high) for parameter in self.parameters]
        if self.softness is None:
            rows.append(_SOFTNESS)
        rows.extend([_RATES] * (self.rates if noisy else 0))
        bounds: Floats = np.log(np.array(rows).reshape(-1, 2))
        return bounds

    def unpack(
        self, theta: Floats, noisy: bool, examples: Examples
    ) -> tuple[Any, Floats, float, tuple[float, float]]:
        """Return kernel, its matrix, softness and label noise at the logarithms `theta`."""
        values = np.exp(theta).tolist()
        n = len(self.parameters)
        names = [parameter.name for parameter in self.parameters]
        kernel = kernels.replace(self.kernel, dict(zip(names, values[:n], strict=True)))
        gram = kernels.evaluate(kernel, examples.X)
        softness = self.softness
        if softness is None:
            softness = values[n] * variance_of(gram)
        elif self.relative(examples):
            softness = _SOFTNESS[0] * variance_of(gram)
        noise = (values[-self.rates], values[-1]) if noisy else self.noise
        return kernel, gram, float(softness), noise

    def relative(self, examples: Examples) -> bool:
        """Return whether the softness is relative to the variance of f.

        Laplace's approximation needs some: without softness it uses the smallest.
        """
        return self.softness is None or (examples.joint and self.softness == 0)

    def noisy_starts(self, best: Point) -> list[Floats]:
        """Return logarithms to start from with label noise; `best` is the best point without."""
        starts = []
        for factor, rate in _NOISY_STARTS:
            theta = best.theta.copy()
            if self.softness is None:
                theta[-1] += math.log(factor)
            starts.append(np.concatenate([theta, np.full(self.rates, math.log(rate))]))
        declared, flipped = self.start(*_STARTS[-1]), _FLIPPED[: 1 if self.rates == 1 else None]
        starts += [np.concatenate([declared, np.log(rates[: self.rates])]) for rates in flipped]
        return starts

    def minimize(
        self,
        examples: Examples,
        theta: Floats,
        *,
        noisy: bool = False,
    ) -> Point:
        """Return the point of the best evidence that a quasi-Newton method reaches.

        It ends after a step that gains too little.
        """
        bounds = self.bounds(noisy)
        theta = np.clip(theta, *bounds.T)
        nearest = examples.unknown()
        if not len(theta):
            return Point(theta, noisy, *self.evaluate(examples, theta, noisy, nearest))
        known, unit = [], 1.0
        if examples.joint:  # a first step of length 1
            known = [self.evaluate(examples, theta, noisy, nearest)]
            unit = 1 / math.sqrt(max(1.0, float(np.linalg.norm(known[0][1]))))
        gain = _GAIN_OF_SEVERAL if examples.joint else _GAIN

        def objective(scaled: Floats) -> tuple[float, Floats]:
            value, gradient = (
                known.pop() if known else self.evaluate(examples, unit * scaled, noisy, nearest)
            )
            if not math.isfinite(value):
                return 1e10, np.zeros_like(scaled)
            return -value, -unit * gradient

        before = math.inf

        def stop(intermediate_result: optimize.OptimizeResult) -> None:
            nonlocal before
            value = float(intermediate_result.fun)
            if before - value < max(gain, _RELATIVE_GAIN * abs(value)):
                raise StopIteration
            before = value

        found = optimize.minimize(
            objective,
            theta / unit,
            jac=True,
            method="L-BFGS-B",
            bounds=bounds / unit,
            callback=stop,
            options={"maxiter": 40, "ftol": 0.0},
        )
        value = -float(found.fun) if found.fun < 1e10 else -math.inf
        spread = unit**2 * found.hess_inv.todense()
        return Point(unit * found.x, noisy, value, -np.asarray(found.jac) / unit, spread)

    def refine(self, examples: Examples, near: Point, n: int) -> Point:
        """Return the best point that a few steps reach from the best on `n` of the examples.

        They are quasi-Newton steps, with the second derivatives that the search on `n` examples has
        found, and end where the next is expected to gain too little.
        """
        low, high = self.bounds(near.noisy).T
        nearest = examples.unknown()
        gain = _GAIN_OF_SEVERAL if examples.joint else _GAIN
        spread = near.spread * (n / examples.labels.shape[1])
        best, theta = replace(near, value=-math.inf), near.theta
        for _ in range(_REFINEMENTS):
            value, slope = self.evaluate(examples, theta, near.noisy, nearest)
            moved, turned = theta - best.theta, best.slope - slope
            curvature = float(moved @ turned)
            if math.isfinite(value) and math.isfinite(best.value) and curvature > 0:
                # The update of Broyden, Fletcher, Goldfarb and Shanno.
                left = np.eye(len(moved)) - np.outer(moved, turned) / curvature
                spread = left @ spread @ left.T + np.outer(moved, moved) / curvature
            if value > best.value:
                best = Point(theta, near.noisy, value, slope)
            elif math.isfinite(best.value):
                spread = spread / _SHORTER
            else:
                break
            outward = np.where(best.slope > 0, best.theta >= high, best.theta <= low)
            inward = np.where(outward, 0.0, best.slope)
            step = np.where(outward, 0.0, spread @ inward)
            if 0.5 * inward @ step < max(gain, _RELATIVE_GAIN * abs(best.value)):
                break
            theta = np.clip(best.theta + step / max(1.0, float(np.abs(step).max())), low, high)
        return best

    def at_bounds(self, point: Point) -> tuple[str, ...]:
        """Return the names of parameters at a bound; warn if the evidence rises beyond it."""
        low, high = self.bounds(point.noisy).T
        names = []
        kernel_names = [parameter.name for parameter in self.parameters]
        searched = [*kernel_names, *(["softness"] if self.softness is None else [])]
        for k, name in enumerate(searched):
            at, lowest, highest = (float(logs[k]) for logs in (point.theta, low, high))
            if lowest + _AT_BOUND < at < highest - _AT_BOUND:
                continue
            names.append(name)
            rise = float(point.slope[k]) * (1 if at >= highest - _AT_BOUND else -1)
            if name in kernel_names and rise > _RISE:
                warn(
                    f"the search for hyperparameters ended at {name}={math.exp(at):.4g}, a bound "
                    f"of its range from {math.exp(lowest):.4g} to {math.exp(highest):.4g}, where "
                    f"the evidence still rises by {rise:.2g} nats per factor of e; give "
                    f"wider bounds, or another value that is kept",
                    ConvergenceWarning,
                )
        return tuple(names)

    def minimize_all(
        self, examples: Examples, starts: Sequence[Floats], *, noisy: bool = False
    ) -> list[Point]:
        """Return the points that `minimize` reaches from each start.

        The searches run in other processes if joblib's active backend does that.
        """
        if len(starts) < 2 or not (is_semidefinite(self.kernel) and distributed.active()):
            return [self.minimize(examples, start, noisy=noisy) for start in starts]
        worker = copy(self)
        worker.report, worker.max_iter, worker.deadline = None, None, math.inf
        with distributed.Workers((worker, examples), self.n_jobs) as workers:
            found = workers.each(_minimize_in_process, [(start, noisy) for start in starts])
        for _, tried in found:
            for row in tried:
                self._record(row)
        for point, _ in found:
            self._keep(point, examples)
        return [point for point, _ in found]

    def _record(self, row: list[float]) -> None:
        """Record and report a setting that was tried."""
        self.tried.append(row)
        if self.report is not None:
            self.report(dict(zip(self.names, row, strict=True)))

    def _keep(self, point: Point, examples: Examples) -> None:
        """Keep the best point on the most examples; raise LimitError if a limit is reached."""
        n = examples.labels.shape[1]
        if (n, point.value) > (self.best[0], self.best[1].value):
            self.best = n, point
        enough = self.max_iter is not None and len(self.tried) >= self.max_iter
        if enough or time.monotonic() >= self.deadline:
            raise LimitError

    def evaluate(
        self,
        examples: Examples,
        theta: Floats,
        noisy: bool,
        nearest: list[Any],
    ) -> tuple[float, Floats]:
        """Return the evidence and its gradient; minus infinity where the evidence is undefined.

        `nearest` holds the starting point for the next similar setting.
        """
        kernel, gram, softness, noise = self.unpack(theta, noisy, examples)
        own = [parameter.name for parameter in self.parameters]
        try:
            found = self.approximate(examples, kernel, gram, softness, noise, nearest, slopes=True)
            value, gradient = found.value, []
            for k, name in enumerate(own):
                if name in found.slopes:
                    gradient.append(found.slopes[name])
                    continue
                moved = theta.copy()
                moved[k] += _STEP
                ahead = self.approximate(
                    examples, *self.unpack(moved, noisy, examples), nearest, slopes=False
                )
                gradient.append((ahead.value - value) / _STEP)
            by_softness, by_noise = found.by_softness, found.by_noise
        except np.linalg.LinAlgError:
            # Not positive semidefinite at these parameters. The fit checks the chosen kernel.
            value, gradient = -math.inf, [0.0] * len(own)
            by_softness, by_noise = 0.0, np.zeros(2)
        if self.softness is None:
            gradient.append(by_softness)
        if noisy:
            by_rates = np.array(noise) * by_noise
            gradient.extend([by_rates.sum()] if self.rates == 1 else by_rates.tolist())
        row = [
            *np.exp(theta[: len(own)]).tolist(),
            softness,
            *noise,
            examples.labels.shape[1],
            value,
        ]
        self._record([float(x) for x in row])
        slope = np.array(gradient)
        self._keep(Point(theta.copy(), noisy, value, slope), examples)
        return value, slope

    def approximate(
        self,
        examples: Examples,
        kernel: Any,
        gram: Floats,
        softness: float,
        noise: tuple[float, float],
        nearest: list[Any],
        *,
        slopes: bool,
    ) -> Approximation:
        """Return the approximate evidence of a setting, with the derivatives known.

        Without `slopes` those by parameters of the kernel are left out.
        """
        by_gram = slopes and bool(self.parameters)
        found = _approximate(
            examples,
            gram + self.offset,
            softness,
            noise,
            nearest,
            by_gram=by_gram,
            change=self.change,
        )
        by_softness = softness * float(found.by_softness @ (1 / examples.weights))
        value = found.log_evidence
        exact = any(noise) or softness == 0
        if (examples.joint or exact) and not found.converged:
            value = -math.inf  # the value of oscillating sweeps is arbitrary
        known: Mapping[str, float] = {}
        if by_gram and found.by_gram is not None:
            matrix = found.by_gram
            if self.relative(examples):  # its ratio to the variance is what stays
                matrix += by_softness * variance_slope(gram)
            known = kernels.slopes(kernel, examples.X, gram, matrix)
        return Approximation(value, known, by_softness, found.by_noise)


@dataclass(frozen=True, eq=False)
class Approximation:
    """An approximate evidence and its derivatives."""

    value: float
    """Nats."""

    slopes: Mapping[str, float]
    """By logarithms of the kernel's parameters, as far as they are known."""

    by_softness: float
    """By the logarithm of the softness."""

    by_noise: Floats
    """(2,) By the rates of label noise."""


def no_evidence(kernel: object, n_tried: int) -> ValueError:
    """Return the error for a search in which no setting has an evidence."""
    return ValueError(
        "kernel must be positive semidefinite and make the labels possible; "
        f"{kernel!r} did so at none of {n_tried} settings tried"
    )


class LimitError(Exception):
    """A limit of the search is reached."""


def _minimize_in_process(
    shared: tuple[Objective, Examples], start: Floats, noisy: bool
) -> tuple[Point, list[list[float]]]:
    """Minimize in another process; return the point and all settings tried."""
    objective, examples = copy(shared[0]), shared[1]
    objective.tried = []
    with linalg.one_thread():
        point = objective.minimize(examples, start, noisy=noisy)
    return point, objective.tried


def tune(
    kernel: Any,
    X: NDArray[Any],
    labels: Floats,
    *,
    offset: float = 0.0,
    softness: float | None = None,
    label_noise: tuple[float, float] = (0.0, 0.0),
    rates: int = 0,
    weights: Floats | None = None,
    joint: bool = True,
    seed: int = 0,
    report: Report | None = None,
    n_jobs: int | None = None,
    max_iter: int | None = None,
    max_time: float | None = None,
) -> Search:
    """Search the hyperparameters of the largest evidence.

    Parameters
    ----------
    kernel : kernel object or callable
        The kernel. The search is over the parameters that it declares, those that were left out:
        see :mod:`bayespoint.kernels`.
    X : ndarray of shape (m, d)
        Inputs.
    labels : ndarray of shape (1, m) or (n_classes, m)
        Labels -1 and +1 of two classes, or for each of more classes +1 where it is the label and
        -1 elsewhere.
    offset : float, default=0.0
        Added to every kernel value.
    softness : float or None, default=None
        Softness, at least 0; None searches it.
    label_noise : tuple of two floats, default=(0.0, 0.0)
        Probability of a wrong label for truly negative and for truly positive examples; used with
        rates=0. For more than two classes both are the probability of any wrong label.
    rates : {0, 1, 2}, default=0
        Number of rates of label noise to search: none, one for all classes, or one for each of two.
    weights : ndarray of shape (m,), default=None
        Positive weights of the examples, by which their softness is divided.
    joint : bool, default=True
        The evidence for more than two classes: that of the joint model, in which the label is the
        class of the largest of `n_classes` functions with noise; False: the sum of those of each
        class against the rest.
    seed : int, default=0
        Seed of the choice of examples if there are more than 375.
    report : callable, default=None
        Called for each setting tried with a mapping of names to values, a row of `Search.tried`.
    n_jobs : int, default=None
        Number of starts to search from at a time, if joblib's active backend runs tasks on other
        machines. The result does not depend on it.
    max_iter : int, default=None
        Largest number of settings to try, at least 1.
    max_time : float, default=None
        Seconds after which to stop, at the end of an evaluation. On other machines a whole round
        of searches ends first.

    Returns
    -------
    Search
        The best setting, and all settings tried.

    Raises
    ------
    ValueError
        If no setting tried has an evidence: the kernel is not positive semidefinite, or without
        softness and label noise the labels are impossible. If there are different rates of label
        noise for more than two classes.

    Warns
    -----
    ConvergenceWarning
        If `max_iter` or `max_time` ended the search, or if a parameter of the kernel ends at a
        bound at which the evidence still rises by more than a nat per factor of e.

    Notes
    -----
    The softness is searched relative to the variance of f over the examples, the mean of the
    centered kernel matrix's diagonal, from 0.001 to 10000: `Search.at_bounds` says if it ends
    there. A search ends after a step that gains less than a hundredth of a nat, or a ten thousandth
    of the evidence, and on all examples where the next step is expected to.

    For more than 375 examples the search from several starts uses a stratified sample of 250. At
    most ten more settings are tried on all examples, or on a sample of 500. Of a rare class a
    sample holds all examples, up to a fourth of an equal share: 62 of 500 for two classes.

    Label noise is searched last, from three starts, or from five for two rates. It stays 0 if the
    gain is less than a hundredth of a nat, and so does a rate that ends at its lower bound of 1e-4.

    With more than two classes jointly the search has one start without label noise, uses a sample
    of 200 if there are more than 300 examples, and ends where a step gains less than a quarter of a
    nat. Without softness the kernel is searched with the smallest.
    """
    began, m = time.monotonic(), labels.shape[1]
    if len(labels) > 1 and (rates == 2 or label_noise[0] != label_noise[1]):
        raise ValueError("label_noise must be one rate for more than two classes")
    weights = np.ones(m) if weights is None else weights
    joint = joint and len(labels) > 1
    everything = Examples(X, labels.astype(np.float64), weights, joint)
    examples = everything.part(subset(everything.labels, LARGEST, seed))
    n = examples.labels.shape[1]
    size = COARSE_OF_SEVERAL if examples.joint else COARSE
    coarse = examples.part(subset(examples.labels, size, seed)) if 2 * n > 3 * size else examples
    objective = Objective(kernel, examples, offset, softness, label_noise, rates, report, n_jobs)
    objective.max_iter = max_iter
    objective.deadline = math.inf if max_time is None else began + max_time
    # With one thread of BLAS the rounding does not depend on the number of threads. For such small
    # matrices more threads are not faster.
    with linalg.one_thread():
        try:
            best = _search(objective, examples, coarse)
        except LimitError:
            n, best = objective.best
            limit = "max_time" if time.monotonic() >= objective.deadline else "max_iter"
            warn(
                f"{limit} ended the search for hyperparameters after {len(objective.tried)} "
                f"settings: the best has the log evidence {best.value:.2f} on {n} of {m} examples",
                ConvergenceWarning,
            )
    if best.value == -math.inf:
        raise no_evidence(kernel, len(objective.tried))
    tuned, _, found_softness, noise = objective.unpack(best.theta, best.noisy, examples)
    if softness is not None:
        found_softness = softness
    if best.noisy:  # a rate at its lower bound counts as 0
        noise = tuple(rate if rate > _RATES[0] * 1.01 else 0.0 for rate in noise)  # type: ignore[assignment]
    tried = np.array(objective.tried)
    at_bounds = objective.at_bounds(best)
    return Search(tuned, found_softness, noise, best.value, n, objective.names, tried, at_bounds)


def approximate_log_evidence(
    kernel: Any,
    X: NDArray[Any],
    labels: Floats,
    *,
    offset: float = 0.0,
    softness: float,
    label_noise: tuple[float, float] = (0.0, 0.0),
    weights: Floats | None = None,
    joint: bool = True,
) -> float:
    """Return the approximate evidence that `tune` maximizes, at one setting.

    Parameters
    ----------
    kernel : kernel object or callable
        The kernel, with the parameters of the setting.
    X, labels, offset, weights, joint
        As for `tune`.
    softness : float
        Softness, positive.
    label_noise : tuple of two floats, default=(0.0, 0.0)
        Probability of a wrong label for truly negative and for truly positive examples.

    Returns
    -------
    float
        Nats; minus infinity if the kernel is not positive semidefinite or the approximation does
        not converge.
    """
    weights = np.ones(labels.shape[1]) if weights is None else weights
    examples = Examples(X, labels, weights, joint and len(labels) > 1)
    gram = kernels.evaluate(kernel, X) + offset
    try:
        with linalg.one_thread():
            found = _approximate(examples, gram, softness, label_noise, examples.unknown())
    except np.linalg.LinAlgError:
        return -math.inf
    if (examples.joint or any(label_noise)) and not found.converged:
        return -math.inf
    return found.log_evidence


def _approximate(
    examples: Examples,
    gram: Floats,
    softness: float,
    noise: tuple[float, float],
    nearest: list[Any],
    *,
    by_gram: bool = False,
    change: float = _CHANGE,
) -> expectation_propagation.Approximation | laplace.Approximation:
    """Return the approximate evidence; start at `nearest` and replace it by the ends."""
    levels = softness / examples.weights
    if examples.joint:
        y = examples.labels.argmax(axis=0)
        joint = laplace.approximate(
            gram, y, len(examples.labels), levels, noise=noise[0], start=nearest[0]
        )
        nearest[0] = joint.mode if joint.converged else None
        return joint
    each = []
    for k, labels in enumerate(examples.labels):
        found = expectation_propagation.approximate(
            gram,
            labels,
            levels,
            noise=noise,
            sites=nearest[k],
            derivatives=by_gram,
            change=_FINE_CHANGE if any(noise) or softness == 0 else change,
        )
        nearest[k] = found.sites if found.converged else None
        each.append(found)
    by_each = [one.by_gram for one in each if one.by_gram is not None]
    return replace(
        each[0],
        log_evidence=sum(one.log_evidence for one in each),
        by_softness=np.sum([one.by_softness for one in each], axis=0),
        by_noise=np.sum([one.by_noise for one in each], axis=0),
        by_gram=np.sum(by_each, axis=0) if by_each else None,
        converged=all(one.converged for one in each),
    )


def _search(objective: Objective, examples: Examples, coarse: Examples) -> Point:
    """Return the best point, by a search on the `coarse` examples and then on all."""
    chosen = _STARTS[:1] if examples.joint else _STARTS
    starts = [objective.start(*start) for start in chosen]
    if not len(starts[0]):
        starts, coarse = starts[:1], examples
    best = _best(objective.minimize_all(coarse, starts))
    candidates = [best]
    if objective.rates:
        noisy_starts = objective.noisy_starts(best)
        candidates.append(_best(objective.minimize_all(coarse, noisy_starts, noisy=True)))
    if coarse is not examples:
        candidates = [objective.refine(examples, one, coarse.labels.shape[1]) for one in candidates]
    clean, noisy = candidates[0], candidates[-1]
    return noisy if noisy.value > clean.value + _GAIN else clean


def variance_of(gram: Floats) -> float:
    """Return the variance over the examples of f, on average: that of the kernel, centered.

    It is 1 if that is not positive, or is no more than rounding.
    """
    whole = float(gram.diagonal().mean())
    variance = whole - float(gram.mean())
    return variance if variance > _ROUNDING * abs(whole) and math.isfinite(variance) else 1.0


def variance_slope(gram: Floats) -> Floats:
    """Return the derivatives of the logarithm of the variance by the entries of the matrix."""
    m = len(gram)
    slope = np.full((m, m), -1.0 / m**2)
    slope.flat[:: m + 1] += 1.0 / m
    slope /= variance_of(gram)
    return slope


def _best(points: list[Point]) -> Point:
    """Return the point of the largest evidence; of ties, the first."""
    return max(points, key=lambda point: point.value)


def resolve_hyperparameters(
    kernel: Any,
    inputs: NDArray[Any],
    labels: Floats,
    *,
    offset: float,
    softness: float | None,
    label_noise: tuple[float, float],
    rates: int,
    weights: Floats,
    joint: bool,
    seed: int,
    report: Report | None = None,
    n_jobs: int | None = None,
    max_iter: int | None = None,
    max_time: float | None = None,
) -> tuple[Any, float, tuple[float, float], Search | None, tuple[Floats, bool] | None]:
    """Return the hyperparameters of a classifier, those given and those searched.

    Parameters
    ----------
    kernel : None, str, kernel object or callable
        The parameter `kernel` of the classifier.
    inputs : ndarray of shape (m, d), or (m, m) for "precomputed"
        Training inputs.
    labels, offset, softness, label_noise, rates, weights, joint, seed
        As for `tune`.
    report, n_jobs, max_iter, max_time
        As for `tune`.

    Returns
    -------
    kernel : kernel object, callable or "precomputed"
        The kernel, with the best parameters if they were searched.
    softness : float
        The given softness, or the best.
    label_noise : tuple of two floats
        The given label noise of truly negative and positive examples, or the best.
    search : Search or None
        The search; None if nothing was searched.
    gram : tuple of ndarray of shape (m, m) and bool, or None
        The kernel matrix and whether it may be overwritten, as from `kernels.training_gram`, if
        the search has computed it.
    """
    resolved = kernels.resolve(kernel)
    search_kernel = bool(kernels.parameters(resolved, inputs))
    if not search_kernel and softness is not None and not rates:
        return resolved, softness, label_noise, None, None
    inputs_of_search, kernel_of_search, known = inputs, resolved, None
    if not search_kernel:
        # One matrix is sufficient. Feature vectors of length 0 are valid unless the softness is 0.
        least = np.full(labels.shape[1], 0.0 if softness == 0 else np.finfo(float).tiny)
        with linalg.threads_for(labels.shape[1]):
            known = kernels.training_gram(resolved, inputs, offset, least)
        gram, _ = known
        inputs_of_search = np.arange(len(gram), dtype=np.float64)[:, None]
        kernel_of_search = _Entries(gram)
    try:
        found = tune(
            kernel_of_search,
            inputs_of_search,
            labels,
            offset=offset,
            softness=softness,
            label_noise=label_noise,
            rates=rates,
            weights=weights,
            joint=joint,
            seed=seed,
            report=report,
            n_jobs=n_jobs,
            max_iter=max_iter,
            max_time=max_time,
        )
    except ValueError as error:
        hard, start = softness == 0 and not rates, kernels.at_start(resolved, inputs)
        if not (hard and any(label_noise)):
            # Prefer the errors for an invalid kernel matrix and for conflicting examples.
            noise = (softness or 0.0) / weights
            gram, _ = kernels.training_gram(start, inputs, offset, noise)
            for y in labels.astype(np.int8) if hard else ():
                impossible = interior.conflict(Problem(gram, y, noise, offset))
                if impossible is not None:
                    raise impossible from None
        if not hard:
            raise
        warn(
            f"the search for hyperparameters found no evidence without softness: {error}. "
            f"The kernel is that from which the search started: {start!r}",
            ConvergenceWarning,
        )
        return start, 0.0, label_noise, None, known
    if not search_kernel:
        found = dataclasses.replace(found, kernel=resolved)
    return found.kernel, found.softness, found.label_noise, found, known


class _Entries:
    """A kernel that takes row numbers and returns the entries of a given matrix."""

    def __init__(self, gram: Floats) -> None:
        self.gram = gram

    def __call__(self, rows: Floats, columns: Floats) -> Floats:
        chosen = rows[:, 0].astype(np.intp), columns[:, 0].astype(np.intp)
        part: Floats = self.gram[np.ix_(*chosen)]
        return part

    def diag(self, rows: Floats) -> Floats:
        diagonal: Floats = self.gram.diagonal()[rows[:, 0].astype(np.intp)]
        return diagonal


def subset(labels: Floats, size: int, seed: int) -> NDArray[np.intp]:
    """Return the indices of a sample of `size` examples stratified by labels, or of all.

    Of a rare class it holds as many as there are, up to a fourth of an equal share.
    """
    m = labels.shape[1]
    if m <= size:
        return np.arange(m)
    _, kind = np.unique(labels, axis=1, return_inverse=True)
    kind = np.asarray(kind).reshape(-1)
    rng = np.random.default_rng(seed)
    order = rng.permutation(m)
    # Spread the examples of each kind evenly over [0, 1], in random order: the first `size` then
    # contain all kinds in proportion. The first of each kind come before all others.
    place = np.empty(m)
    kinds = np.unique(kind)
    for value in kinds:
        members = order[kind[order] == value]
        place[members] = (np.arange(len(members)) + 0.5) / len(members)
        place[members[: size // (4 * len(kinds))]] = 0.0
    return np.sort(np.argsort(place, kind="stable")[:size])
