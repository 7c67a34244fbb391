r"""Settings of the hyperparameters for an average, in place of the best one.

With a parameter for each feature the largest evidence overfits. An average over the posterior of
the hyperparameters does not: its settings are drawn in proportion to evidence times prior, by
Hamiltonian Monte Carlo on a part of the examples.

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
"""

from __future__ import annotations

import math
import re
import time
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import optimize, sparse
from sklearn.exceptions import ConvergenceWarning

from bayespoint import kernels
from bayespoint.base import linalg
from bayespoint.base.validation import Floats
from bayespoint.base.warnings import warn
from bayespoint.results import Search
from bayespoint.tuning import hamiltonian
from bayespoint.tuning.search import (
    Examples,
    LimitError,
    Objective,
    Point,
    Report,
    no_evidence,
    subset,
    tune,
)

__all__ = ["FEW", "LARGEST", "MOST_FEATURES", "Choice", "Setting", "default_choices", "find"]

LARGEST = 200
"""Largest number of examples for the posterior of the hyperparameters: a draw takes dozens of
evaluations of O(m^3)."""

MOST_FEATURES = 100
"""Most features for which each has a weight: with more the draws take too long, and features are
often alike, as in images."""

_SOFTNESS = (0.15, 2.0)
"""Median and spread of the softness, relative to the variance of f over the examples."""

_RATE = (0.05, 1.0)
"""Median and spread of a rate of label noise."""

_LINEAR = 1 / math.e
"""Variance of the linear part of f over the examples, relative to the other, to start from."""

_ADAPTED = 8
"""Number of first states, in which the step size is adapted and the chain leaves its start."""

_APART = 3
"""Number of states from one that is kept to the next."""

_CHANGE = 0.01
"""Change of the evidence, in nats, at which the sweeps of a draw end: it hardly changes the
probability that a state is accepted."""

_STUCK = 4
"""Number of equal states above which a chain does not move."""

_CLIMB = 10
"""Largest number of steps towards the most probable setting, where a chain starts."""

FEW = 4
"""Largest number of parameters of a kernel for which one setting is enough: with so few their
posterior is narrow."""

_OF_A_FEATURE = re.compile(r"(.*?)(weights|sigma|length_scale)\[\d+\]")
"""Names of parameters that scale a feature."""


@dataclass(frozen=True)
class Setting:
    """A setting of the hyperparameters, one of those whose predictions are averaged."""

    search: Search
    """The setting, its evidence, and all settings tried of its kernel."""

    relevance: Floats
    """(n_states, n_features) weights of the features times their standard deviations, in the states
    that it stands for, with a mean square of 1 over the features; empty if the kernel has none."""


@dataclass(frozen=True)
class Choice:
    """A kernel of an average, and how many settings it has."""

    kernel: Any
    """The kernel."""

    n: int | None
    """Number of settings, drawn from the posterior. None: one, the most probable, or with at most
    `FEW` parameters that of the largest evidence."""


def default_choices(X: NDArray[Any], n: int | None) -> list[Choice]:
    """Return the kernels over which the default averages.

    Parameters
    ----------
    X : ndarray of shape (m, n_features)
        Inputs.
    n : int or None
        Number of settings in all, at least 2. None: one of each kernel, the best.

    Returns
    -------
    list of Choice
        The Matérn kernel with nu = 5/2 and the Laplacian; for 2 to 100 features the same with a
        weight for each feature and a linear kernel added. If there are these, settings are drawn
        for them alone: the others have few parameters, and each its best setting.
    """
    matern, linear, laplacian = parts(X)
    plain = [matern, laplacian]
    if not 1 < X.shape[1] <= MOST_FEATURES:
        return _shared(plain, n)
    weighted = [kernels.Weighted(one + linear) for one in plain]
    single = [] if n is not None and n < 2 * len(plain) else _shared(plain, None)
    return _shared(weighted, None if n is None else n - len(single)) + single


def parts(X: NDArray[Any]) -> tuple[Any, Any, Any]:
    """Return multiples of the kernels that defaults are made of: Matérn, linear and Laplacian."""
    with np.errstate(over="ignore", divide="ignore"):
        factor = float(_LINEAR / X.var(axis=0).sum())
    linear = (factor if 0 < factor < math.inf else 1.0) * kernels.Linear()
    matern, laplacian = kernels.Matern(nu=2.5), kernels.Laplacian()
    return kernels.Scaled(matern), kernels.Scaled(linear), kernels.Scaled(laplacian)


def _shared(choices: Sequence[Any], n: int | None) -> list[Choice]:
    """Return kernels that share n settings; the first have one more if they do not divide."""
    if n is None:
        return [Choice(kernel, None) for kernel in choices]
    each, more = divmod(n, len(choices))
    return [Choice(kernel, each + (k < more)) for k, kernel in enumerate(choices)]


@dataclass(eq=False)
class Density:
    """Evidence times prior, as a function of the logarithms of the parameters."""

    objective: Objective
    examples: Examples
    noisy: bool

    def __post_init__(self) -> None:
        parameters = self.objective.parameters
        prior = [(one.start, one.spread) for one in parameters]
        prior += [_SOFTNESS] if self.objective.softness is None else []
        prior += [_RATE] * (self.objective.rates if self.noisy else 0)
        medians, self.spread = np.array(prior, dtype=np.float64).reshape(-1, 2).T
        self.low, self.high = self.objective.bounds(self.noisy).T
        self.center = np.clip(np.log(medians), self.low, self.high)
        self.nearest = self.examples.unknown()
        self.objective.change = _CHANGE
        self.limit = ""

    def __call__(self, theta: Floats) -> tuple[float, Floats]:
        """Return the log density, minus infinity out of bounds, and the gradient."""
        if not ((theta >= self.low).all() and (theta <= self.high).all()):
            return -math.inf, np.zeros_like(theta)
        value, slope = self.objective.evaluate(self.examples, theta, self.noisy, self.nearest)
        if not np.isfinite(slope).all():
            return -math.inf, np.zeros_like(theta)
        z = (theta - self.center) / self.spread
        return value - 0.5 * float(z @ z), slope - z / self.spread

    def log_evidence(self, state: hamiltonian.State) -> float:
        """Return the evidence of a state, without the prior."""
        z = (state.theta - self.center) / self.spread
        return state.value + 0.5 * float(z @ z)

    def climb(self, steps: int, start: Floats | None = None) -> hamiltonian.State:
        """Return a state near the largest density, by a few steps of a quasi-Newton method.

        It begins at `start`, or at the medians of the prior.
        """
        best = hamiltonian.State(self.center, -math.inf, np.zeros_like(self.center))

        def loss(z: Floats) -> tuple[float, Floats]:
            nonlocal best
            theta = np.clip(self.center + self.spread * z, self.low, self.high)
            value, slope = self(theta)
            if not math.isfinite(value):
                return 1e10, np.zeros_like(z)
            if value > best.value:
                best = hamiltonian.State(theta, value, slope)
            return -value, -self.spread * slope

        bounds = (np.stack([self.low, self.high]) - self.center) / self.spread
        try:
            optimize.minimize(
                loss,
                np.zeros_like(self.center)
                if start is None
                else (start - self.center) / self.spread,
                jac=True,
                method="L-BFGS-B",
                bounds=bounds.T,
                options={"maxiter": steps},
            )
        except LimitError:
            self.limited()
            last = self.objective.best[1]
            z = (last.theta - self.center) / self.spread
            value, slope = last.value - 0.5 * float(z @ z), last.slope - z / self.spread
            if value > best.value:
                best = hamiltonian.State(last.theta, value, slope)
        return best

    def limited(self) -> None:
        """Keep the name of the limit that was reached."""
        by_time = time.monotonic() >= self.objective.deadline
        self.limit = "max_time" if by_time else "max_iter"

    def setting(self, state: hamiltonian.State, states: Sequence[hamiltonian.State]) -> Setting:
        """Return a state as a setting; it stands for several `states`."""
        kernel, _, softness, noise = self.objective.unpack(state.theta, self.noisy, self.examples)
        found = Search(
            kernel,
            softness if self.objective.softness is None else self.objective.softness,
            noise,
            self.log_evidence(state),
            self.examples.labels.shape[1],
            self.objective.names,
            np.array(self.objective.tried),
            self.objective.at_bounds(
                Point(state.theta, self.noisy, state.value, np.zeros_like(state.slope))
            ),
        )
        return Setting(found, self._relevance(states))

    def _relevance(self, states: Sequence[hamiltonian.State]) -> Floats:
        """Return the weights of the features in some states."""
        found: dict[tuple[str, str], list[int]] = {}
        for k, parameter in enumerate(self.objective.parameters):
            if match := _OF_A_FEATURE.fullmatch(parameter.name):
                found.setdefault((match[1], match[2]), []).append(k)
        groups = list(found.items())
        if len(groups) != 1 or len(groups[0][1]) != self.examples.X.shape[1]:
            return np.empty((0, 0))
        [((_, name), chosen)] = groups
        sign = 1.0 if name == "weights" else -1.0
        logs = sign * np.stack([state.theta[chosen] for state in states])
        values = np.exp(logs - logs.max(axis=1, keepdims=True)) * _spread(self.examples.X)
        size = np.sqrt((values**2).mean(axis=1, keepdims=True))
        return np.asarray(values / np.where(size > 0, size, 1.0))


def _spread(X: Any) -> Floats:
    """Return the standard deviation of each feature."""
    if sparse.issparse(X):
        square = np.asarray(X.multiply(X).mean(axis=0)) - np.square(np.asarray(X.mean(axis=0)))
        return np.asarray(np.sqrt(np.maximum(square, 0.0)).ravel())
    spread: Floats = X.std(axis=0)
    return spread


def find(
    choices: Sequence[Choice],
    X: NDArray[Any],
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
    max_iter: int | None = None,
    max_time: float | None = None,
) -> list[Setting]:
    """Return settings of the hyperparameters for an average.

    Parameters
    ----------
    choices : sequence of Choice
        The kernels.
    X : ndarray of shape (m, d)
        Inputs.
    labels, offset, softness, label_noise, rates, weights, joint
        As for `tune`.
    seed : int
        Seed of the draws and of the choice of examples.
    report : callable, default=None
        As for `tune`.
    max_iter, max_time : default=None
        As for `tune`, shared by the kernels; each tries one setting at least.

    Returns
    -------
    list of Setting
        The settings, kernel by kernel.

    Raises
    ------
    ValueError
        If no setting of a kernel has an evidence.

    Warns
    -----
    ConvergenceWarning
        If `max_iter` or `max_time` ended the search: there may be fewer settings then.
    """
    deadline = math.inf if max_time is None else time.monotonic() + max_time
    examples = _part(X, labels, weights, joint, seed)
    problem: dict[str, Any] = {
        "offset": offset,
        "softness": softness,
        "rates": rates,
        "report": report,
    }
    rng = np.random.default_rng(seed)
    found: list[Setting] = []
    tried, limit = 0, ""
    for k, choice in enumerate(choices):
        kernel, share, left = choice.kernel, None, len(choices) - k
        each = None if max_iter is None else max(1, (max_iter - tried) // left)
        if max_time is not None:
            share = max(1e-3, (deadline - time.monotonic()) / left)
        if choice.n is None and len(kernels.parameters(kernel, X)) <= FEW:
            search = tune(
                kernel,
                X,
                labels,
                label_noise=label_noise,
                weights=weights,
                joint=joint,
                seed=seed,
                max_iter=each,
                max_time=share,
                **problem,
            )
            found.append(Setting(search, np.empty((0, 0))))
            tried += len(search.tried)
            continue
        objective = Objective(kernel, examples, noise=label_noise, n_jobs=None, **problem)
        objective.max_iter = each
        objective.deadline = math.inf if share is None else time.monotonic() + share
        density = Density(objective, examples, rates > 0)
        with linalg.one_thread():
            if choice.n is None:
                state = _start(density, _CLIMB)
                found.append(density.setting(state, [state]))
            else:
                found += _chain(density, choice.n, rng)
        tried, limit = tried + len(objective.tried), limit or density.limit
    if limit:
        warn(
            f"{limit} ended the search for hyperparameters after {tried} settings: {len(found)} "
            "are averaged",
            ConvergenceWarning,
        )
    return found


def _part(X: NDArray[Any], labels: Floats, weights: Floats, joint: bool, seed: int) -> Examples:
    """Return a stratified part of the examples."""
    everything = Examples(X, labels.astype(np.float64), weights, joint and len(labels) > 1)
    return everything.part(subset(everything.labels, LARGEST, seed))


def _chain(density: Density, n: int, rng: np.random.Generator) -> list[Setting]:
    """Return n settings of one kernel."""
    start = _start(density, _CLIMB)
    states = [start]
    if not density.limit:
        units, length = 0.5 * density.spread, _ADAPTED + n * _APART
        draws = hamiltonian.chain(density, start, units, rng, n_adapt=_ADAPTED)
        try:
            states.extend(state for state, _ in islice(draws, length))
        except LimitError:
            density.limited()
    drawn = states[1 + _ADAPTED :] or states[-1:]
    if len(drawn) > _STUCK and all(state is drawn[0] for state in drawn):
        warn(
            f"no draw of the hyperparameters of {density.objective.kernel!r} was accepted: its "
            "settings are all the same; scaled features, or a kernel with fewer parameters, help",
            ConvergenceWarning,
        )
    chosen = [drawn[k : k + _APART] for k in range(0, len(drawn), _APART)]
    return [density.setting(group[-1], group) for group in chosen]


def _start(density: Density, steps: int) -> hamiltonian.State:
    """Return a state near the largest density; raise ValueError if no setting has one."""
    found = density.climb(steps)
    if found.value == -math.inf:
        raise no_evidence(density.objective.kernel, len(density.objective.tried))
    return found
