r"""The posterior of the hyperparameters: its most probable setting, and draws.

With a parameter for each feature the largest evidence overfits. An average over settings that are
drawn in proportion to evidence times prior does not. They are drawn by Hamiltonian Monte Carlo, and
a few of them, with weights, stand for all.

The priors are log-normal, so that they do not depend on units, and wide enough that the evidence
decides. The medians of a kernel's parameters are its starts; their spreads, the standard deviations
of the logarithms, are declared with them (:class:`bayespoint.kernels.Parameter`).

- Length scale: spread 1, since the rule of thumb is right within a factor of 3.
- Weight of a feature: median 1; for draws the spread is itself drawn, otherwise it is 0.8.
- Factor of a kernel: spread 1.5.
- Softness: median 0.15 relative to the variance of the latent function, where 12 % of labels
  contradict it, and spread 2: from almost none to almost only noise.
- Rate of label noise: median 0.05, spread 1: from 2 % to 14 %.

More than two classes have too costly an evidence for that. There the average is over the most
probable setting of each of several kernels.

With landmarks the most probable setting is found on thousands of examples: first on few of each,
then from what that found.
"""

from __future__ import annotations

import contextlib
import math
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import optimize, sparse
from sklearn.exceptions import ConvergenceWarning

from bayespoint.base import linalg
from bayespoint.base.validation import Floats
from bayespoint.base.warnings import warn
from bayespoint.data.examples import Examples
from bayespoint.kernels import Parameter
from bayespoint.likelihood import TwoClasses
from bayespoint.results.hyperparameters import Hyperparameters
from bayespoint.tuning import hamiltonian
from bayespoint.tuning.defaults import knows_slopes
from bayespoint.tuning.methods import AllValues, Task, WithLandmarks
from bayespoint.tuning.objective import LimitError, Objective, Point
from bayespoint.tuning.representation import represent

MAX_AVERAGING_EXAMPLES = 200
"""Largest number of examples for the posterior of the hyperparameters: a draw takes dozens of
evaluations of O(m^3)."""

LEVELS = ((1000, 100, 15), (8000, 200, 10))
"""Examples, landmarks and steps of a search with landmarks. More examples than 8000, or landmarks,
gain little."""

_LARGEST_SUM = 16_000
"""Largest number of examples times problems, for more than two classes with landmarks."""

_SOFTNESS = (0.15, 2.0)
"""Median and spread of the softness, relative to the variance of f over the examples."""

_RATE = (0.05, 1.0)  # median and spread of a rate of label noise

_ADAPTED = 8
"""Number of first states, in which the step size is adapted and the chain leaves its start."""

_APART = 3  # number of states from one that is kept to the next

_CHANGE = 0.01
"""Change of the evidence, in nats, at which the sweeps of a draw end: it hardly changes the
probability that a state is accepted."""

_SPREAD = (0.1, 1.0)
"""Median and spread of the spread of the weights of the features: most tables want weights that
are nearly alike, those with features of no influence want weights that differ by orders."""

_DISTANCE = 0.1  # distance over which the second derivatives are differences
_FAR = 9.0  # coordinate beyond which a spread stays the same
MAX_EXAMPLES = 1000
"""Largest number of examples for the posterior of the hyperparameters with landmarks."""

_LANDMARKS = 100  # number of landmarks for the evidence of these
_STATES = 40  # least number of states of a chain that is represented by some of them

_STUCK = 4  # number of equal states above which a chain does not move
_CLIMB = 10  # largest number of steps towards the most probable setting, where a chain starts

_OF_A_FEATURE = re.compile(r"(.*?(?:weights|sigma|length_scale))\[\d+\]")
"""Names of parameters that scale a feature."""


class Density:
    r"""Evidence times prior, as a function of coordinates that are standard normal by the prior.

    They are those of the parameters' logarithms. With `spreads` the weights of the features have a
    spread of their own, which is a coordinate, too: :math:`\ln w_j = \tau z_j`.
    """

    def __init__(self, objective: Objective, examples: Examples, *, spreads: bool) -> None:
        self.objective, self.examples = objective, examples
        plan = objective.plan
        self.noisy = plan.rates > 0
        prior = [(one.start, one.spread) for one in objective.parameters]
        prior += [_SOFTNESS] if plan.softness is None else []
        prior += [_RATE] * plan.rates
        medians, self.spread = np.array(prior, dtype=np.float64).reshape(-1, 2).T
        self.low, self.high = objective.bounds(self.noisy).T
        self.center = np.clip(np.log(medians), self.low, self.high)
        known = _groups(objective.parameters, examples.inputs)
        self.groups = list(known.values()) if spreads else []
        self.dimension = len(medians) + len(self.groups)
        self.nearest = objective.method.starts(examples)
        self.limit = ""
        """The limit that was reached."""

    def logarithms(self, u: Floats) -> Floats:
        """Return the logarithms of the parameters at coordinates."""
        theta = self.center + self.spread * u[: len(self.center)]
        for group, tau in self._spreads(u):
            # Beyond its bounds a weight has no more influence, or all.
            each = self.center[group] + tau * u[group]
            theta[group] = np.clip(each, self.low[group], self.high[group])
        return theta

    def _spreads(self, u: Floats) -> Iterator[tuple[NDArray[np.intp], float]]:
        """Yield the parameters of each group, with the spread of their logarithms."""
        for group, own in zip(self.groups, u[len(self.center) :].tolist(), strict=True):
            yield group, _spread_at(own)

    def __call__(self, u: Floats) -> Point:
        """Return the point with the log density, minus infinity out of bounds, and the gradient."""
        theta = self.logarithms(u)
        if not ((theta >= self.low).all() and (theta <= self.high).all()):
            return Point(u, -math.inf, np.zeros_like(u))
        try:
            found = self.objective.point(self.examples, theta, self.noisy, self.nearest)
        except LimitError as error:
            self.limit = self.objective.limit
            raise LimitError(self._at(u, error.point)) from None
        return self._at(u, found)

    def _at(self, u: Floats, found: Point) -> Point:
        """Return the density at coordinates from the evidence there."""
        if not np.isfinite(found.slope).all():
            return Point(u, -math.inf, np.zeros_like(u))
        slope = np.append(self.spread * found.slope, np.zeros(self.dimension - len(self.center)))
        for k, (group, tau) in enumerate(self._spreads(u), len(self.center)):
            theta = self.center[group] + tau * u[group]
            within = (theta > self.low[group]) & (theta < self.high[group])
            own = np.where(within, found.slope[group], 0.0)
            slope[group], slope[k] = tau * own, _SPREAD[1] * tau * (u[group] @ own)
        value = found.value - 0.5 * float(u @ u)
        return Point(u, value, slope - u, left_out=found.left_out, evidence=found)

    def renewed(self, state: Point, rng: np.random.Generator) -> Point:
        """Return a state with spreads drawn given the weights of the features, which stay.

        Steps along the coordinates alone would change all weights of a group with their spread, and
        mix slowly where the weights are well known (Yu and Meng, 2011). The evidence stays, too.
        """
        if state.evidence is None:
            return state
        u = state.theta.copy()
        for k, (group, tau) in enumerate(self._spreads(u), len(self.center)):
            weights = tau * u[group]
            square, size = float(weights @ weights), len(group)

            def log_density(x: float, square: float = square, size: int = size) -> float:
                tau = _spread_at(x)
                return -0.5 * x * x - size * math.log(tau) - 0.5 * square / tau**2

            u[k] = _slice(log_density, float(u[k]), rng)
            u[group] = weights / _spread_at(float(u[k]))
        return self._at(u, state.evidence)

    def climb(self, steps: int, start: Floats | None = None) -> Point:
        """Return a state near the largest density, from `start` or the medians of the prior.

        It takes a few steps of a quasi-Newton method.
        """
        origin = np.zeros(self.dimension)
        best = Point(origin, -math.inf, origin)

        def loss(u: Floats) -> tuple[float, Floats]:
            nonlocal best
            found = self(u)
            if not math.isfinite(found.value):
                return 1e10, origin
            if found.value > best.value:
                best = found
            return -found.value, -found.slope

        bounds = None
        if not self.groups:
            bounds = ((np.stack([self.low, self.high]) - self.center) / self.spread).T
        options: Any = {"jac": True, "method": "L-BFGS-B", "options": {"maxiter": steps}}
        try:
            optimize.minimize(loss, origin if start is None else start, bounds=bounds, **options)
        except LimitError as error:
            if error.point.value > best.value:
                best = error.point
        return best

    def chain(self, start: Point, length: int, rng: np.random.Generator) -> list[Point]:
        """Return states drawn from the density, one after the other."""
        states = [start]
        if not self.limit:
            with contextlib.suppress(LimitError):
                units, renew = self._units(start), partial(self.renewed, rng=rng)
                draws = hamiltonian.chain(self, start, units, rng, n_adapt=_ADAPTED, renew=renew)
                states.extend(state for state, _ in islice(draws, _ADAPTED + length))
        drawn = states[1 + _ADAPTED :] or states[-1:]
        if len(drawn) > _STUCK and all(state is drawn[0] for state in drawn):
            warn(
                f"no draw of the hyperparameters of {self.objective.kernel!r} was accepted: its "
                "settings are all the same; scaled features, or a kernel with fewer parameters, "
                "help",
                ConvergenceWarning,
            )
        return drawn

    def _units(self, state: Point) -> Floats:
        """Return the scales of the coordinates near a state; of weights of features they are 1."""
        units = np.ones(self.dimension)
        for k in np.setdiff1d(np.arange(self.dimension), np.concatenate([[], *self.groups])):
            moved = state.theta.copy()
            moved[k] += _DISTANCE
            curvature = (state.slope[k] - self(moved).slope[k]) / _DISTANCE
            units[k] /= math.sqrt(max(1.0, float(curvature)))
        return units

    def setting(self, state: Point, chain: Sequence[Point]) -> Hyperparameters:
        """Return a state as a setting, with the relevance of the features in a chain."""
        theta = self.logarithms(state.theta)
        point = Point(theta, state.value, np.zeros_like(theta), self.noisy)
        evidence = state.value + 0.5 * float(state.theta @ state.theta)
        n, relevance = len(self.examples.label), self._relevance(chain)
        return self.objective.found(point, evidence, self.examples, n, relevance)

    def _relevance(self, states: Sequence[Point]) -> Floats:
        """Return the weights of the features in some states."""
        groups = list(_groups(self.objective.parameters, self.examples.inputs).items())
        if len(groups) != 1 or not states:
            return np.empty((0, 0))
        [(name, chosen)] = groups
        sign = 1.0 if name.endswith("weights") else -1.0
        logs = sign * np.stack([self.logarithms(state.theta)[chosen] for state in states])
        values = np.exp(logs - logs.max(axis=1, keepdims=True)) * _spread(self.examples.inputs)
        size = np.sqrt((values**2).mean(axis=1, keepdims=True))
        return np.asarray(values / np.where(size > 0, size, 1.0))


def _groups(parameters: Sequence[Parameter], inputs: Any) -> dict[str, NDArray[np.intp]]:
    """Return the places of the parameters that scale all features, by what they have in common."""
    found: dict[str, list[int]] = {}
    for k, parameter in enumerate(parameters):
        if match := _OF_A_FEATURE.fullmatch(parameter.name):
            found.setdefault(match[1], []).append(k)
    width = np.shape(inputs)[-1]
    return {name: np.array(each) for name, each in found.items() if len(each) == width > 1}


def _spread_at(x: float) -> float:
    """Return the spread of the weights of the features at its coordinate."""
    return _SPREAD[0] * math.exp(_SPREAD[1] * min(max(x, -_FAR), _FAR))


def _slice(log_density: Callable[[float], float], x: float, rng: np.random.Generator) -> float:
    """Return a step of slice sampling from x, within a bracket that shrinks towards it."""
    level, low, high = log_density(x) + math.log(rng.random()), -_FAR, _FAR
    while high - low > 1e-9:
        ahead = rng.uniform(low, high)
        if log_density(ahead) > level:
            return ahead
        low, high = (ahead, high) if ahead < x else (low, ahead)
    return x


def settings(
    task: Task, n: int | None, rng: np.random.Generator
) -> tuple[list[Hyperparameters], str]:
    """Return n settings drawn from the posterior of a kernel's parameters, and the limit reached.

    They stand for a longer chain, with weights by which they do so best. None stands for one, the
    most probable. There may be fewer if a limit ended the search.
    """
    if n is not None and _has_features(task):
        task = task.of(MAX_EXAMPLES)
        method: AllValues | WithLandmarks = WithLandmarks(task, _LANDMARKS)
        length = max(_STATES, _APART * n)
    else:
        task = task.of(MAX_AVERAGING_EXAMPLES)
        method = AllValues(task.likelihood, task.plan.offset, change=_CHANGE)
        length = _APART * (n or 0)
    density = Density(Objective(task, method), task.examples, spreads=n is not None)
    with linalg.one_thread():
        start = density.climb(_CLIMB)
        density.objective.require(start)
        if n is None:
            return [density.setting(start, [start])], density.limit
        states = density.chain(start, length, rng)
        if not states[0].left_out.size:
            chosen = np.linspace(0, len(states) - 1, min(n, len(states))).round().astype(int)
            return [density.setting(states[k], states) for k in chosen], density.limit
        chosen, weights = represent(np.stack([state.left_out for state in states]), n)
        # The relevances are those of the chain, which the first stands for.
        found = [density.setting(states[k], [] if j else states) for j, k in enumerate(chosen)]
    each = zip(found, weights.tolist(), strict=True)
    return [replace(one, weight=weight) for one, weight in each], density.limit


def _has_features(task: Task) -> bool:
    """Return whether the evidence of landmarks, with its derivatives, is that of a task."""
    kernel, examples = task.kernel, task.examples
    known = isinstance(task.likelihood, TwoClasses) and task.plan.softness != 0
    return known and task.parameters != () and knows_slopes(kernel, examples.inputs)


def with_landmarks(task: Task) -> tuple[list[Hyperparameters], str]:
    """Return the most probable setting by the evidence with landmarks, and the limit reached."""
    most = max(LEVELS[0][0], _LARGEST_SUM // task.likelihood.n_functions)
    start, tried = None, list[list[float]]()
    with linalg.one_thread():
        for n, n_landmarks, steps in LEVELS:
            some = task.of(min(n, most))
            objective = Objective(some, WithLandmarks(some, n_landmarks))
            objective.tried = tried
            density = Density(objective, some.examples, spreads=False)
            state = density.climb(steps, start)
            start = state.theta
            if density.limit or len(some.examples.label) == len(task.examples.label):
                break
    density.objective.require(state)
    return [density.setting(state, [])], density.limit


def _spread(X: Any) -> Floats:
    """Return the standard deviation of each feature."""
    if sparse.issparse(X):
        square = np.asarray(X.multiply(X).mean(axis=0)) - np.square(np.asarray(X.mean(axis=0)))
        return np.asarray(np.sqrt(np.maximum(square, 0.0)).ravel())
    return np.asarray(X.std(axis=0))
