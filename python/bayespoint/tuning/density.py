"""The posterior of the hyperparameters: its most probable setting, and draws.

With many parameters the largest evidence overfits. An average over settings drawn in proportion to
evidence times prior, by Hamiltonian Monte Carlo, does not: a few of them, weighted, stand for all.

The priors are log-normal and wide. The medians of a kernel's parameters are its starts, and their
spreads are declared with them (:class:`bayespoint.kernels.Parameter`). The weight of a feature has
the median 1 and for draws a spread that is itself drawn, otherwise 0.4. At the median of the
softness noise contradicts 12 % of labels. Label noise counts only if the evidence gains by it.

The most probable length scales of several kernels are too long for images, whose functions are no
draws of such a process: they are divided by 1.5 while this makes the calibrated leave-one-out
predictions better, beyond chance.
"""

from __future__ import annotations

import contextlib
import math
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import optimize, sparse, special
from sklearn.exceptions import ConvergenceWarning

from bayespoint.base.linalg import one_thread
from bayespoint.base.validation import Floats
from bayespoint.base.warnings import warn
from bayespoint.data.executors import Threads
from bayespoint.kernels import Parameter
from bayespoint.labels.laws import LARGEST_Z
from bayespoint.posterior.calibration import LeftOut
from bayespoint.results.diagnostics import r_hat
from bayespoint.results.hyperparameters import Hyperparameters
from bayespoint.tuning import hamiltonian
from bayespoint.tuning.objective import LimitError, Objective, Point, Rows, Task, choose_landmarks
from bayespoint.tuning.representation import represent, stacked

LEVELS = ((1000, 100, 15), (8000, 200, 10))
"""Examples, landmarks and steps of a search for the most probable setting. More gain little."""

_LARGEST_SUM = 16_000  # most examples times problems in that search, for several classes

MAX_EXAMPLES, _LANDMARKS = 1000, 100
"""Largest number of examples, and of landmarks, for draws: they take hundreds of evaluations."""

_CHAINS = 2  # number of chains, side by side, whose difference tells how far others would be

_ADAPTED = (12, 8)  # first states of a chain, which adapt its step; of several classes fewer
_STATES = (24, 12)  # least number of states after them; the evidence of several takes longer

_FEWEST_STATES = 2  # least number of states of a chain for each setting that stands for them
_LARGE_ERROR = 0.05  # mean change of probabilities from seed to seed for which a warning is given
_STUCK = 4  # number of equal states above which a chain does not move
_CLIMB = 10  # largest number of steps towards the most probable setting, where the chains start

_RELATIVE_GAIN = 1e-5  # smallest gain of the density for which the steps go on, relative to it
_GAIN = 0.01  # smallest gain of evidence, in nats, for which there is label noise
_SOFTNESS = (0.15, 2.0)  # median and spread of the softness, relative to the variance of f
_RATE = (0.05, 1.0)  # median and spread of a rate of label noise

_SPREAD = (0.1, 1.0)
"""Median and spread of the spread of the weights of the features: most tables want weights that
are nearly alike, those with features of no influence want weights that differ by orders."""

_DISTANCE = 0.1  # distance over which the second derivatives are differences
_FAR = 9.0  # coordinate beyond which a spread stays the same

_SHARPER = 1.5  # what length scales are divided by
_SURE = 1.5  # standard errors of the gain of the leave-one-out log loss for which this is done
_LENGTH_SCALE = re.compile(r"(?:.*\.)?(?:sigma|length_scale)(?:\[\d+\])?")  # names of length scales
_OF_A_FEATURE = re.compile(r"(.*?(?:weights|sigma|length_scale))\[\d+\]")  # they scale a feature


class Density:
    r"""Evidence times prior, as a function of coordinates that are standard normal by the prior.

    They are those of the parameters' logarithms. With `spreads` the weights of the features have a
    spread of their own, which is a coordinate, too: :math:`\ln w_j = \tau z_j`.
    """

    def __init__(self, objective: Objective, *, spreads: bool, noisy: bool) -> None:
        self.objective, self.noisy = objective, noisy
        plan = objective.plan
        prior = [(one.start, one.spread) for one in objective.parameters]
        prior += [_SOFTNESS] if plan.softness is None else []
        prior += [_RATE] * (plan.rates if noisy else 0)
        medians, self.spread = np.array(prior, dtype=np.float64).reshape(-1, 2).T
        self.low, self.high = objective.bounds(noisy).T
        self.center = np.clip(np.log(medians), self.low, self.high)
        known = _groups(objective.parameters)
        self.groups = list(known.values()) if spreads else []
        self.dimension = len(medians) + len(self.groups)
        self.limit = ""  # the limit that was reached

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
            found = self.objective.point(theta, self.noisy)
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
        """Return a state near the largest density, by steps from `start` or the medians."""
        origin = np.zeros(self.dimension)
        best = Point(origin, -math.inf, origin)

        def loss(u: Floats) -> tuple[float, Floats]:
            nonlocal best
            try:
                found = self(u)
            finally:
                self.objective.tell()
            if not math.isfinite(found.value):
                return 1e10, origin
            if found.value > best.value:
                best = found
            return -found.value, -found.slope

        bounds = None
        if not self.groups:
            bounds = ((np.stack([self.low, self.high]) - self.center) / self.spread).T
        limits = {"maxiter": steps, "ftol": _RELATIVE_GAIN}
        options: Any = {"jac": True, "method": "L-BFGS-B", "options": limits}
        try:
            if not self.dimension:
                loss(origin)
                return best
            optimize.minimize(loss, origin if start is None else start, bounds=bounds, **options)
        except LimitError as error:
            if error.point.value > best.value:
                best = error.point
        return best

    def chain(
        self, start: Floats, units: Floats, rng: np.random.Generator, n_adapt: int
    ) -> Iterator[tuple[Point, float]]:
        """Yield states drawn from the density, one after the other; the first ones adapt."""
        renew = partial(self.renewed, rng=rng)
        yield from hamiltonian.chain(self, self(start), units, rng, n_adapt=n_adapt, renew=renew)

    def units(self, state: Point) -> Floats:
        """Return the scales of the coordinates near a state; of weights of features they are 1."""
        units = np.ones(self.dimension)
        for k in np.setdiff1d(np.arange(self.dimension), np.concatenate([[], *self.groups])):
            moved = state.theta.copy()
            moved[k] += _DISTANCE
            curvature = (state.slope[k] - self(moved).slope[k]) / _DISTANCE
            units[k] /= math.sqrt(max(1.0, float(curvature)))
        return units

    def setting(self, state: Point, tried: Rows, **told: Any) -> Hyperparameters:
        """Return a state as a setting, with the settings tried and what else is told of them."""
        point = state.evidence
        if point is None or told:  # the evidence of a draw may well rise beyond a bound
            theta = self.logarithms(state.theta)
            point = Point(theta, self.evidence(state), np.zeros_like(theta), self.noisy)
        return self.objective.found(point, tried, **told)

    def evidence(self, state: Point) -> float:
        """Return the evidence at a state."""
        return state.value + 0.5 * float(state.theta @ state.theta)

    def left_out(self, state: Point) -> Floats:
        """Return the leave-one-out probabilities at a state."""
        try:
            return self.objective.left_out(self.logarithms(state.theta), self.noisy).ravel()
        except np.linalg.LinAlgError:  # with other landmarks
            return state.left_out.ravel()

    def relevance(self, states: Sequence[Point]) -> Floats:
        """Return the weights of the features in some states; empty if there are none."""
        kernel, inputs = self.objective.kernel, self.objective.examples.inputs
        groups = list(_groups(self.objective.parameters).items())
        deviations = _deviations(kernel, inputs)
        if len(groups) != 1 or len(groups[0][1]) != len(deviations):
            return np.empty((0, 0))
        [(name, chosen)] = groups
        sign = 1.0 if name.endswith("weights") else -1.0
        logs = sign * np.stack([self.logarithms(state.theta)[chosen] for state in states])
        values = np.exp(logs - logs.max(axis=1, keepdims=True)) * deviations
        size = np.sqrt((values**2).mean(axis=1, keepdims=True))
        return np.asarray(values / np.where(size > 0, size, 1.0))


def _groups(parameters: Sequence[Parameter]) -> dict[str, NDArray[np.intp]]:
    """Return the places of the parameters that scale features, by what they have in common."""
    found: dict[str, list[int]] = {}
    for k, parameter in enumerate(parameters):
        if match := _OF_A_FEATURE.fullmatch(parameter.name):
            found.setdefault(match[1], []).append(k)
    return {name: np.array(each) for name, each in found.items() if len(each) > 1}


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


def most_probable(task: Task) -> tuple[list[Hyperparameters], str]:
    """Return the most probable setting of each kernel, with weights, and the limit reached."""
    found, left_out, limit, used = list[Hyperparameters](), list[Floats](), "", 0
    several = task.kernel if isinstance(task.kernel, tuple) else (task.kernel,)
    for k, kernel in enumerate(several):
        left = len(several) - k
        budget = task.budget.part(1 / left).rest(used, left)
        one = replace(task, kernel=kernel, budget=replace(budget, n_jobs=task.budget.n_jobs))
        density, state, tried, reached = _climbed(one)
        if len(several) > 1 and not reached:
            before = len(density.objective.tried)
            state, reached = _sharpened(density, state)
            tried = tried + density.objective.tried[before:]
        found.append(density.setting(state, tried))
        used += len(tried)
        left_out.append(_log_left_out(density, state))
        limit = limit or reached
    weights = [1.0 / len(found)] * len(found)
    # After a limit the probabilities may be of different examples.
    if len(found) > 1 and not limit and all(map(len, left_out)):
        weights = stacked(np.exp(left_out)).tolist()
    return [replace(one, weight=w) for one, w in zip(found, weights, strict=True)], limit


def _climbed(task: Task) -> tuple[Density, Point, Rows, str]:
    """Return the density with its largest state, the settings tried, and the limit reached."""
    most = max(LEVELS[0][0], _LARGEST_SUM // task.labels.n_functions)
    rated = (False, True) if task.plan.rates else (False,)
    best, tried, limit = dict[bool, tuple[Density, Point]](), Rows(), ""
    with one_thread():
        for n, n_landmarks, steps in LEVELS:
            some = task.of(min(n, most))
            some = replace(some, budget=task.budget.rest(len(tried), 1))
            landmarks = choose_landmarks(some, n_landmarks, task.budget.choice_seed)
            objective = Objective(some, landmarks)
            ahead = dict[bool, tuple[Density, Point]]()
            for noisy in rated if not limit else ():
                density = Density(objective, spreads=False, noisy=noisy)
                start = best[noisy][1].theta if noisy in best else None
                ahead[noisy] = density, density.climb(steps, start)
                limit = limit or density.limit
                if limit:
                    break
            tried += objective.tried
            if not best or len(ahead) == len(rated):  # evidences of other examples are no match
                best = ahead
            if limit or len(some.examples.label) == len(task.examples.label):
                break
    density, state = max(
        best.values(), key=lambda one: one[0].evidence(one[1]) - _GAIN * one[0].noisy
    )
    density.objective.require(state)
    return density, state, tried, limit


def _sharpened(density: Density, state: Point) -> tuple[Point, str]:
    """Return the state, length scales divided by 1.5 while this predicts better, and the limit."""
    names = density.objective.own
    scales = [k for k, name in enumerate(names) if _LENGTH_SCALE.fullmatch(name)]
    log_p = _log_left_out(density, state)
    with one_thread():
        while scales:
            u = state.theta.copy()
            u[scales] -= math.log(_SHARPER) / density.spread[scales]
            try:
                ahead = density(u)
            except LimitError:
                return state, density.limit
            finally:
                density.objective.tell()
            gain = _log_left_out(density, ahead) - log_p if ahead.evidence else np.zeros(1)
            if not gain.sum() > _SURE * gain.std() * math.sqrt(len(gain)):
                break
            state, log_p = ahead, log_p + gain
    return state, ""


def _log_left_out(density: Density, state: Point) -> Floats:
    """Return the log probabilities of the labels given all others, calibrated if the fit is."""
    examples, task = density.objective.examples, density.objective.task
    p, labels = state.left_out, task.labels.with_noise((0.0, 0.0))
    with np.errstate(divide="ignore"):
        log_p = np.log(p)
    # With thresholds there are the probabilities of the labels alone, which tell no decision values.
    if labels.n_shared or not p.size:
        return log_p
    if p.ndim == 1:  # of the label, of two
        z = (np.where(examples.label > 0, 1.0, -1.0) * special.ndtri(p))[:, None]
    else:
        z = labels.predicts.decision(log_p.T)
    left_out = LeftOut(labels, np.clip(z, -LARGEST_Z, LARGEST_Z), examples.label)
    calibrates = task.plan.calibrates_with(searched=True)
    return left_out.log_labels(left_out.factor() if calibrates else 1.0)


def drawn(task: Task, n: int) -> tuple[list[Hyperparameters], str]:
    """Return at most n settings drawn from the posterior, and the limit that ended the search.

    They stand for the states of two chains, with weights by which they do so best. Each chain has
    landmarks of its own, so that the chains differ by what other landmarks would change, too.
    """
    task = task.of(MAX_EXAMPLES)
    seeds = np.random.SeedSequence(task.budget.choice_seed).generate_state(_CHAINS).tolist()
    first = _density(task, seeds[0])
    threads = Threads(min(_CHAINS, task.budget.n_threads))
    with threads.running():
        start = first.climb(_CLIMB)
        first.objective.require(start)
        units = np.ones(first.dimension)
        with contextlib.suppress(LimitError):
            units = units if first.limit else first.units(start)
        first.objective.tell()
        if first.limit:
            return [first.setting(start, first.objective.tried)], first.limit
        budget = task.budget.rest(len(first.objective.tried), _CHAINS)
        each = [_density(replace(task, budget=budget), seed) for seed in seeds]
        given = zip(each, map(np.random.default_rng, seeds), strict=True)
        several = task.labels.n_functions > 1
        n_adapt, length = _ADAPTED[several], max(_STATES[several], _FEWEST_STATES * n)
        begun = [one.chain(start.theta, units, rng, n_adapt) for one, rng in given]
        chains, limit = _states(each, begun, n_adapt + length, threads)
        least = max(1, min(len(own) for own in chains) - n_adapt)
        chains = [(own[n_adapt:] or [start])[:least] for own in chains]
    if any(len(own) > _STUCK and all(state is own[0] for state in own) for own in chains):
        warn(
            f"no draw of the hyperparameters of {task.kernel!r} was accepted: its settings are all "
            "the same; scaled features, or a kernel with fewer parameters, help",
            ConvergenceWarning,
        )
    states = [state for own in chains for state in own]
    tried = sum((one.objective.tried for one in each), first.objective.tried)
    if all(state is start for state in states):  # a limit came before
        return [first.setting(start, tried)], limit
    with one_thread():  # by the same landmarks for all
        others = [first.left_out(state) for own in chains[1:] for state in own]
    left_out = np.stack([*(state.left_out.ravel() for state in chains[0]), *others])
    chosen, weights = represent(left_out, n)
    told = (
        {"r_hat": np.empty(0)}
        if limit
        else _told(first, chains, left_out, weights @ left_out[chosen])
    )
    if told.get("seed_error", 0.0) > _LARGE_ERROR:
        warn(
            f"another seed would change the probabilities by {told['seed_error']:.2g} on average: "
            f"the draws of the hyperparameters of {task.kernel!r} have not converged; more models "
            "(n_models), or a kernel with fewer parameters, help",
            ConvergenceWarning,
        )
    found = [each[k // len(chains[0])].setting(states[k], tried, **told) for k in chosen]
    # The relevances are those of the chains, which the first setting stands for.
    found[0] = replace(found[0], relevance=first.relevance(states))
    pairs = zip(found, weights.tolist(), strict=True)
    return [replace(one, weight=weight) for one, weight in pairs], limit


def _told(
    density: Density, chains: Sequence[Sequence[Point]], left_out: Floats, mean: Floats
) -> dict[str, Any]:
    """Return what chains tell of themselves: split R-hat, and the change by other draws."""
    logs = [[density.logarithms(state.theta) for state in own] for own in chains]
    first, second = left_out.reshape(_CHAINS, -1, left_out.shape[1]).mean(axis=1)
    # The averages of two fits differ as much as a chain from the mean of both, times root 2.
    apart = float(np.abs(first - second).mean()) / math.sqrt(2)
    kept = float(np.abs(mean - (first + second) / 2).mean()) * math.sqrt(2)
    return {"r_hat": r_hat(logs), "seed_error": math.hypot(apart, kept)}


def _density(task: Task, seed: int) -> Density:
    objective = Objective(task, choose_landmarks(task, _LANDMARKS, seed))
    return Density(objective, spreads=True, noisy=task.plan.rates > 0)


def _states(
    each: Sequence[Density],
    chains: Sequence[Iterator[tuple[Point, float]]],
    length: int,
    threads: Threads,
) -> tuple[list[list[Point]], str]:
    """Return the states of a chain for each density, and the limit that ended them."""
    found: list[list[Point]] = [[] for _ in each]
    for _ in range(length):
        ahead = threads.keep(_next, chains)
        for density, own, state in zip(each, found, ahead, strict=True):
            density.objective.tell()
            if state is not None:
                own.append(state)
        if None in ahead:
            return found, next(density.limit for density in each if density.limit)
    return found, ""


def _next(chain: Iterator[tuple[Point, float]]) -> Point | None:
    """Return the next state of a chain, or None where a limit ends it."""
    try:
        return next(chain)[0]
    except LimitError:
        return None


def _deviations(kernel: Any, X: Any) -> Floats:
    """Return the standard deviation of what has a weight: a feature, or all of a group together."""
    if sparse.issparse(X):
        variances = np.asarray(X.multiply(X).mean(axis=0) - np.square(X.mean(axis=0))).ravel()
    else:
        variances = X.var(axis=0)
    for k, limit in enumerate(getattr(kernel, "limits", None) or ()):
        if math.isfinite(limit):  # half the probability of different levels, times its square
            shares = np.unique(X[:, k], return_counts=True)[1] / len(X)
            variances[k] = limit**2 * (1 - float(shares @ shares)) / 2
    groups = getattr(kernel, "groups", None)
    variances = variances if groups is None else np.bincount(groups, weights=variances)
    return np.asarray(np.sqrt(np.maximum(variances, 0.0)))
