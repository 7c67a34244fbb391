"""Settings drawn from the posterior of the hyperparameters.

With many parameters the largest evidence overfits. An average over settings drawn in proportion to
evidence times prior, by Hamiltonian Monte Carlo, does not: a few of them, weighted, stand for all.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial

import numpy as np
from scipy import linalg, optimize

from bayespoint.base.linalg import one_thread
from bayespoint.base.validation import Floats, Indices
from bayespoint.base.warnings import warn
from bayespoint.data.executors import Threads
from bayespoint.results.diagnostics import r_hat
from bayespoint.tuning import hamiltonian
from bayespoint.tuning.climbing import LEVELS, Found, climb, relevance
from bayespoint.tuning.density import FAR, Density, spread_at
from bayespoint.tuning.hamiltonian import State
from bayespoint.tuning.objective import NOWHERE, Objective, Task

_LANDMARKS = 100  # largest number of landmarks for draws, which take hundreds of evaluations

_CHAINS = 2  # number of chains, side by side, whose difference tells how far others would be

_ADAPTED = 9  # first states of a chain, which adapt its step
_STATES = 12  # least number of states after them
_CHANGE = 0.3
"""Change of a problem's evidence, in nats, at which the approximation ends. It is off by .02 nats
at most, and by .5 with other landmarks."""

_LARGE_ERROR = 0.05  # mean change of probabilities from seed to seed for which a warning is given
_STUCK = 4  # number of equal states above which a chain does not move
_CLIMB = 10  # largest number of steps towards the most probable setting, where the chains start
_DISTANCE = 0.1  # distance over which the second derivatives are differences
_RIDGE = 0.3  # ridge of the regression on control variates, relative to their variance
_SUM = 10.0  # weight of the equation by which weights have sum 1, relative to the largest number


def drawn(task: Task, n: int) -> Found:
    """Return at most n settings drawn from the posterior, and the limit that ended the draws.

    They stand for the states of two chains, with weights by which they do so best. Each chain has
    landmarks of its own, so that the chains differ by what other landmarks would change, too.
    """
    task = task.of(LEVELS[-1][0])
    seeds = np.random.SeedSequence(task.budget.choice_seed).generate_state(_CHAINS).tolist()
    first = _density(task, seeds[0])
    record = first.objective.record
    threads = Threads(min(_CHAINS, task.budget.n_threads))
    with threads.running():
        start = climb(first, _CLIMB)
        first.require(start)
        units = _units(first, start)
        record.tell()
        if record.limit:
            return [first.hyperparameters(start, np.array(record.rows))], record.limit
        part = replace(task, budget=task.budget.rest(len(record.rows), _CHAINS))
        densities = [_density(part, seed) for seed in seeds]
        chains = [
            hamiltonian.chain(
                density,
                start.u,
                units,
                rng,
                n_adapt=_ADAPTED,
                renew=partial(renewed, density, rng),
            )
            for density, rng in zip(densities, map(np.random.default_rng, seeds), strict=True)
        ]
        states, limit = _states(densities, chains, _ADAPTED + max(_STATES, n), threads)
    least = max(1, min(map(len, states)) - _ADAPTED)
    states = [(chain[_ADAPTED:] or [start])[:least] for chain in states]
    if any(len(chain) > _STUCK and all(s is chain[0] for s in chain) for chain in states):
        warn(
            f"no draw of the hyperparameters of {task.kernel!r} was accepted: its settings are all "
            "the same; scaled features, or a kernel with fewer parameters, help"
        )
    together = [state for chain in states for state in chain]
    rows = (density.objective.record.rows for density in densities)
    tried = np.array(sum(rows, record.rows))
    if all(state is start for state in together):  # a limit came before
        return [first.hyperparameters(start, tried)], limit
    with one_thread():  # by the same landmarks for all
        others = [_left_out(first, state) for state in together[least:]]
    left_out = np.stack([*(state.point.left_out.ravel() for state in states[0]), *others])
    shares = controlled(np.stack([state.slope for state in together]))
    mean = shares @ left_out
    chosen, weights = represent(left_out, mean, n)
    mixing, seed_error = np.empty(0), math.nan
    if not limit:
        logs = [[first.logarithms(state.u) for state in chain] for chain in states]
        mixing = r_hat(logs)
        by_chain = left_out.reshape(_CHAINS, least, -1).mean(axis=1)
        seed_error = _seed_error(by_chain, mean, weights @ left_out[chosen])
    if seed_error > _LARGE_ERROR:
        warn(
            f"another seed would change the probabilities by {seed_error:.2g} on average: "
            f"the draws of the hyperparameters of {task.kernel!r} have not converged; more models "
            "(n_models), or a kernel with fewer parameters, help"
        )
    settings = [
        replace(
            densities[k // least].hyperparameters(together[k], tried, mixing, seed_error),
            weight=weight,
        )
        for k, weight in zip(chosen, weights.tolist(), strict=True)
    ]
    # The relevances are those of the chains, which the first setting stands for.
    settings[0] = replace(settings[0], relevance=relevance(first, together))
    return settings, limit


def _density(task: Task, seed: int) -> Density:
    return Density.of(Objective.of(task, _LANDMARKS, seed, change=_CHANGE), spreads=True)


def _units(density: Density, state: State) -> Floats:
    """Return the scales of the coordinates near a state; of weights of features they are 1."""
    units = np.ones(density.dimension)
    for k in np.setdiff1d(np.arange(len(units)), np.concatenate([[], *density.groups])):
        if density.objective.record.limit:
            break
        moved = state.u.copy()
        moved[k] += _DISTANCE
        curvature = (state.slope[k] - density(moved).slope[k]) / _DISTANCE
        units[k] /= math.sqrt(max(1.0, float(curvature)))
    return units


def renewed(density: Density, rng: np.random.Generator, state: State) -> State:
    """Return a state with spreads drawn given the weights of the features, which stay.

    Steps along the coordinates alone would change all weights of a group with their spread, and
    mix slowly where the weights are well known (Yu and Meng, 2011). The evidence stays, too.
    """
    if state.point is NOWHERE:
        return state
    u = state.u.copy()
    for k, (group, tau) in enumerate(density.spreads(u), len(density.center)):
        weights = tau * u[group]
        square, size = float(weights @ weights), len(group)

        def log_density(x: float, square: float = square, size: int = size) -> float:
            tau = spread_at(x)
            return -0.5 * x * x - size * math.log(tau) - 0.5 * square / tau**2

        u[k] = _slice(log_density, float(u[k]), rng)
        u[group] = weights / spread_at(float(u[k]))
    return density.state(u, state.point)


def _slice(log_density: Callable[[float], float], x: float, rng: np.random.Generator) -> float:
    """Return a step of slice sampling from x, within a bracket that shrinks towards it."""
    level, low, high = log_density(x) + math.log(rng.random()), -FAR, FAR
    while high - low > 1e-9:
        ahead = rng.uniform(low, high)
        if log_density(ahead) > level:
            return ahead
        low, high = (ahead, high) if ahead < x else (low, ahead)
    return x


def _states(
    densities: Sequence[Density], chains: Sequence[Iterator[State]], length: int, threads: Threads
) -> tuple[list[list[State]], str]:
    """Return the states of a chain for each density, and the limit that ended them."""
    states: list[list[State]] = [[] for _ in chains]
    for _ in range(length):
        ahead = threads.keep(lambda chain: next(chain, None), (chains,))
        for density, chain, state in zip(densities, states, ahead, strict=True):
            density.objective.record.tell()
            if state is not None:
                chain.append(state)
        limits = (density.objective.record.limit for density in densities)
        if limit := next(filter(None, limits), ""):
            return states, limit
    return states, ""


def _left_out(density: Density, state: State) -> Floats:
    """Return the leave-one-out probabilities at a state, by the landmarks of a density."""
    try:
        return density.objective.left_out(density.logarithms(state.u)).ravel()
    except np.linalg.LinAlgError:  # with other landmarks
        return state.point.left_out.ravel()


def controlled(scores: Floats) -> Floats:
    """Return the (n_states,) weights of states in the mean over them.

    The expectation of the (n_states, n) derivatives of the log density is 0, so that what their
    mean is not tells the error of other means: they are control variates (Mira et al., 2013), of
    which a ridge regression on all states tells the factors.
    """
    n = len(scores)
    apart = scores - scores.mean(axis=0)
    size = scores.std(axis=0)
    apart, scores = (
        np.divide(x, size, where=size > 0, out=np.zeros_like(x)) for x in (apart, scores)
    )
    gram = apart @ apart.T + _RIDGE * n * np.eye(n)
    others = linalg.solve(gram, apart, assume_a="pos") @ scores.mean(axis=0)
    return 1 / n - (others - others.mean())


def represent(values: Floats, mean: Floats, n: int) -> tuple[Indices, Floats]:
    """Return n of the (n_states, m) rows, and weights with which their mean is near the given one.

    The weights are positive, with sum 1; there may be fewer than n rows. Each row is the one with
    which the distance from the mean, at the best weights, becomes the smallest.
    """
    away = values - mean
    # The same distances in as many dimensions as there are rows.
    triangle = np.atleast_2d(linalg.qr(away.T, mode="r", check_finite=False)[0])[: len(away)]
    size = _SUM * (float(np.abs(triangle).max()) or 1.0)
    columns = np.vstack([triangle, np.full(len(values), size)])
    target = np.append(np.zeros(len(triangle)), size)
    chosen: list[int] = []
    weights = np.empty(0)
    for _ in range(min(n, len(values))):
        best = np.inf
        for k in range(len(values)):
            if k in chosen:
                continue
            parts, distance = optimize.nnls(columns[:, [*chosen, k]], target)
            if distance < best:
                best, following, weights = distance, k, parts
        chosen.append(following)
    used = weights > 0
    return np.array(chosen)[used], weights[used] / weights.sum()


def _seed_error(by_chain: Floats, mean: Floats, kept: Floats) -> float:
    """Return the mean absolute change of probabilities with another seed, from two chains.

    They are approximate probabilities of the m labels, each given all others: the plain means over
    each chain, the mean over all states and over those that are kept. Plain, since the regression
    of control variates on so few states would promise half of the true change.
    """
    first, second = by_chain
    # The averages of two fits differ as much as a chain from the mean of both, times root 2.
    apart = float(np.abs(first - second).mean()) / math.sqrt(2)
    return math.hypot(apart, float(np.abs(mean - kept).mean()) * math.sqrt(2))
