r"""The posterior of the hyperparameters: its most probable setting, and draws.

With a parameter for each feature the largest evidence overfits. An average over settings that are
drawn in proportion to evidence times prior does not. They are drawn by Hamiltonian Monte Carlo on a
part of the examples.

The priors are log-normal, so that they do not depend on units, and wide enough that the evidence
decides. The medians of a kernel's parameters are its starts; their spreads, the standard deviations
of the logarithms, are declared with them (:class:`bayespoint.kernels.Parameter`).

- Length scale: spread 1, since the rule of thumb is right within a factor of 3.
- Weight of a feature: median 1, spread 0.8.
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

import math
import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import islice
from typing import Any

import numpy as np
from scipy import optimize, sparse
from sklearn.exceptions import ConvergenceWarning

from bayespoint.base import linalg
from bayespoint.base.validation import Floats
from bayespoint.base.warnings import warn
from bayespoint.data.examples import Examples
from bayespoint.results.hyperparameters import Hyperparameters
from bayespoint.tuning import hamiltonian
from bayespoint.tuning.methods import AllValues, Task, WithLandmarks
from bayespoint.tuning.objective import LimitError, Objective, Point

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

_STUCK = 4  # number of equal states above which a chain does not move
_CLIMB = 10  # largest number of steps towards the most probable setting, where a chain starts

_OF_A_FEATURE = re.compile(r"(.*?)(weights|sigma|length_scale)\[\d+\]")
"""Names of parameters that scale a feature."""


class Density:
    """Evidence times prior, as a function of the logarithms of the parameters."""

    def __init__(self, objective: Objective, examples: Examples) -> None:
        self.objective, self.examples = objective, examples
        plan = objective.plan
        self.noisy = plan.rates > 0
        prior = [(one.start, one.spread) for one in objective.parameters]
        prior += [_SOFTNESS] if plan.softness is None else []
        prior += [_RATE] * plan.rates
        medians, self.spread = np.array(prior, dtype=np.float64).reshape(-1, 2).T
        self.low, self.high = objective.bounds(self.noisy).T
        self.center = np.clip(np.log(medians), self.low, self.high)
        self.nearest = objective.method.starts(examples)
        self.limit = ""
        """The limit that was reached."""

    def __call__(self, theta: Floats) -> tuple[float, Floats]:
        """Return the log density, minus infinity out of bounds, and the gradient."""
        if not ((theta >= self.low).all() and (theta <= self.high).all()):
            return -math.inf, np.zeros_like(theta)
        value, slope = self.objective.evaluate(self.examples, theta, self.noisy, self.nearest)
        if not np.isfinite(slope).all():
            return -math.inf, np.zeros_like(theta)
        prior, by_theta = self._log_prior(theta)
        return value + prior, slope + by_theta

    def _log_prior(self, theta: Floats) -> tuple[float, Floats]:
        """Return the log density of the prior, up to a constant, and its gradient."""
        z = (theta - self.center) / self.spread
        return -0.5 * float(z @ z), -z / self.spread

    def climb(self, steps: int, start: Floats | None = None) -> Point:
        """Return a state near the largest density, from `start` or the medians of the prior.

        It takes a few steps of a quasi-Newton method.
        """
        best = Point(self.center, -math.inf, np.zeros_like(self.center))

        def loss(z: Floats) -> tuple[float, Floats]:
            nonlocal best
            theta = np.clip(self.center + self.spread * z, self.low, self.high)
            value, slope = self(theta)
            if not math.isfinite(value):
                return 1e10, np.zeros_like(z)
            if value > best.value:
                best = Point(theta, value, slope)
            return -value, -self.spread * slope

        bounds = (np.stack([self.low, self.high]) - self.center) / self.spread
        first = ((self.center if start is None else start) - self.center) / self.spread
        options: Any = {"jac": True, "method": "L-BFGS-B", "options": {"maxiter": steps}}
        try:
            optimize.minimize(loss, first, bounds=bounds.T, **options)
        except LimitError:
            self.limit = self.objective.limit
            last = self.objective.best[1]
            prior, by_theta = self._log_prior(last.theta)
            if last.value + prior > best.value:
                best = Point(last.theta, last.value + prior, last.slope + by_theta)
        return best

    def chain(self, start: Point, n: int, rng: np.random.Generator) -> list[Any]:
        """Return n groups of states drawn from the density, one after the other."""
        states = [start]
        if not self.limit:
            units, length = 0.5 * self.spread, _ADAPTED + n * _APART
            draws = hamiltonian.chain(self, start, units, rng, n_adapt=_ADAPTED)
            try:
                states.extend(state for state, _ in islice(draws, length))
            except LimitError:
                self.limit = self.objective.limit
        drawn = states[1 + _ADAPTED :] or states[-1:]
        if len(drawn) > _STUCK and all(state is drawn[0] for state in drawn):
            warn(
                f"no draw of the hyperparameters of {self.objective.kernel!r} was accepted: its "
                "settings are all the same; scaled features, or a kernel with fewer parameters, "
                "help",
                ConvergenceWarning,
            )
        return [drawn[k : k + _APART] for k in range(0, len(drawn), _APART)]

    def setting(self, states: Sequence[Point]) -> Hyperparameters:
        """Return the last of some states as a setting, which stands for all of them."""
        state = replace(states[-1], slope=np.zeros_like(self.center), noisy=self.noisy)
        evidence = state.value - self._log_prior(state.theta)[0]
        n, relevance = len(self.examples.label), self._relevance(states)
        return self.objective.found(state, evidence, self.examples, n, relevance)

    def _relevance(self, states: Sequence[Point]) -> Floats:
        """Return the weights of the features in some states."""
        found: dict[tuple[str, str], list[int]] = {}
        for k, parameter in enumerate(self.objective.parameters):
            if match := _OF_A_FEATURE.fullmatch(parameter.name):
                found.setdefault((match[1], match[2]), []).append(k)
        groups = list(found.items())
        if len(groups) != 1 or len(groups[0][1]) != self.examples.inputs.shape[1]:
            return np.empty((0, 0))
        [((_, name), chosen)] = groups
        sign = 1.0 if name == "weights" else -1.0
        logs = sign * np.stack([state.theta[chosen] for state in states])
        values = np.exp(logs - logs.max(axis=1, keepdims=True)) * _spread(self.examples.inputs)
        size = np.sqrt((values**2).mean(axis=1, keepdims=True))
        return np.asarray(values / np.where(size > 0, size, 1.0))


def settings(
    task: Task, n: int | None, rng: np.random.Generator
) -> tuple[list[Hyperparameters], str]:
    """Return n settings drawn from the posterior of a kernel's parameters, and the limit reached.

    None stands for one, the most probable. There may be fewer if a limit ended the search.
    """
    task = task.of(MAX_AVERAGING_EXAMPLES)
    method = AllValues(task.likelihood, task.plan.offset, change=_CHANGE)
    density = Density(Objective(task, method), task.examples)
    with linalg.one_thread():
        start = density.climb(_CLIMB)
        density.objective.require(start)
        groups = [[start]] if n is None else density.chain(start, n, rng)
        return [density.setting(group) for group in groups], density.limit


def with_landmarks(task: Task) -> tuple[list[Hyperparameters], str]:
    """Return the most probable setting by the evidence with landmarks, and the limit reached."""
    most = max(LEVELS[0][0], _LARGEST_SUM // task.likelihood.n_functions)
    start, tried = None, list[list[float]]()
    with linalg.one_thread():
        for n, n_landmarks, steps in LEVELS:
            some = task.of(min(n, most))
            objective = Objective(some, WithLandmarks(some, n_landmarks))
            objective.tried = tried
            density = Density(objective, some.examples)
            state = density.climb(steps, start)
            start = state.theta
            if density.limit or len(some.examples.label) == len(task.examples.label):
                break
    density.objective.require(state)
    return [density.setting([state])], density.limit


def _spread(X: Any) -> Floats:
    """Return the standard deviation of each feature."""
    if sparse.issparse(X):
        square = np.asarray(X.multiply(X).mean(axis=0)) - np.square(np.asarray(X.mean(axis=0)))
        return np.asarray(np.sqrt(np.maximum(square, 0.0)).ravel())
    return np.asarray(X.std(axis=0))
