"""The most probable setting of the hyperparameters.

The most probable length scales of several kernels are too long for images, whose functions are no
draws of such a process: they are divided by 1.5 while this makes the calibrated leave-one-out
predictions better, beyond chance.
"""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from scipy import optimize, sparse

from bayespoint import kernels
from bayespoint.base.linalg import one_thread
from bayespoint.base.validation import Floats
from bayespoint.labels.laws import log_of
from bayespoint.posterior.calibration import LeftOut
from bayespoint.results.hyperparameters import Hyperparameters
from bayespoint.tuning.density import Density, families
from bayespoint.tuning.hamiltonian import State
from bayespoint.tuning.objective import Objective, Record, Task

LEVELS = ((1000, 100, 15), (8000, 400, 6))
"""Examples, landmarks and steps of a search for the most probable setting.

With fewer landmarks the evidence takes for noise what they miss, and length scales become too long
(docs/benchmarks.md). More steps gain little."""

_LARGEST_SUM = 16_000  # most examples times problems in that search, for several classes
_RELATIVE_GAIN = 1e-5  # smallest gain of the density for which the steps go on, relative to it
_GAIN = 0.01  # smallest gain of evidence, in nats, for which there is label noise
_ROUNDS = 200  # rounds of the maximization of weights: each gains less than the one before
_SHARPER = 1.5  # what length scales are divided by
_SURE = 1.5  # standard errors of the gain of the leave-one-out log loss for which this is done

Found = tuple[list[Hyperparameters], str]  # of each model, and the limit that ended the search


class _StoppedError(Exception):
    """Ends the optimizer between two evaluations, which nothing else does."""


def climb(density: Density, steps: int, start: Floats | None = None) -> State:
    """Return a state near the largest density, by steps from `start` or the medians."""
    origin = np.zeros(density.dimension)
    best = State(origin, -math.inf, origin)

    def loss(u: Floats) -> tuple[float, Floats]:
        nonlocal best
        state = density(u)
        density.objective.record.tell()
        if math.isfinite(state.value) and state.value > best.value:
            best = state
        if state.stopped:
            raise _StoppedError
        return (-state.value, -state.slope) if math.isfinite(state.value) else (1e10, origin)

    bounds = None
    if not density.groups:
        bounds = ((np.stack([density.low, density.high]) - density.center) / density.spread).T
    with contextlib.suppress(_StoppedError):
        if density.dimension:
            optimize.minimize(
                loss,
                origin if start is None else start,
                jac=True,
                method="L-BFGS-B",
                bounds=bounds,
                options={"maxiter": steps, "ftol": _RELATIVE_GAIN},
            )
        else:
            loss(origin)
    return best


def most_probable(task: Task) -> Found:
    """Return the most probable setting of each kernel, with weights, and the limit reached."""
    settings, left_out, limit, used = [], [], "", 0
    several = task.kernel if isinstance(task.kernel, tuple) else (task.kernel,)
    for k, kernel in enumerate(several):
        left = len(several) - k
        budget = task.budget.part(1 / left).rest(used, left)
        budget = replace(budget, n_jobs=task.budget.n_jobs)
        density, state = _climbed(replace(task, kernel=kernel, budget=budget))
        record = density.objective.record
        if len(several) > 1 and not record.limit:
            state = sharpened(density, state)
        setting = density.hyperparameters(state, np.array(record.rows))
        settings.append(replace(setting, relevance=relevance(density, [state])))
        used += len(record.rows)
        left_out.append(log_left_out(density, state))
        limit = limit or record.limit
    weights = [1.0 / len(settings)] * len(settings)
    # After a limit the probabilities may be of different examples.
    if len(settings) > 1 and not limit and all(map(len, left_out)):
        weights = stacked(np.exp(left_out)).tolist()
    pairs = zip(settings, weights, strict=True)
    return [replace(setting, weight=weight) for setting, weight in pairs], limit


def _climbed(task: Task) -> tuple[Density, State]:
    """Return the density on the most examples with its largest state, noisy if it gains by that."""
    most = max(LEVELS[0][0], _LARGEST_SUM // task.labels.n_functions)
    record, best, pace = Record(task), list[tuple[Density, State]](), 0.0
    with one_thread():
        for n, n_landmarks, steps in LEVELS:
            some, began, tried = task.of(min(n, most)), time.monotonic(), len(record.rows)
            work = len(some.examples.label) * n_landmarks**2  # of an evaluation
            if best and task.budget.left < pace * work:
                record.limit = "max_time"
            if record.limit:
                break
            noisy = Objective.of(some, n_landmarks, task.budget.choice_seed, record)
            objectives = [noisy.without_rates(), noisy] if task.plan.rates else [noisy]
            ahead = []
            for k, objective in enumerate(objectives):
                if not record.limit:
                    density = Density.of(objective, spreads=False)
                    start = best[k][1].u if k < len(best) else None
                    ahead.append((density, climb(density, steps, start)))
            if not best or len(ahead) == len(objectives):  # of other examples they are no match
                best = ahead
            m = len(task.examples.label)
            pace = (time.monotonic() - began) / (max(1, len(record.rows) - tried) * work)
            if record.limit or (len(some.examples.label) == m and n_landmarks >= m):
                break
    gains = best[-1][1].point.value - _GAIN > best[0][1].point.value
    density, state = best[-1 if gains else 0]
    density.require(state)
    return density, state


def stacked(left_out: Floats) -> Floats:
    r"""Return the (n_models,) weights of models by the leave-one-out probabilities of the labels.

    Stacking (Yao et al., 2018) maximizes :math:`\sum_i \ln \sum_k w_k p_k(y_i)` for the
    (n_models, m) probabilities p. Its weights follow the training examples, equal ones do not:
    halfway between them is better on public tables.
    """
    equal = np.full(len(left_out), 1 / len(left_out))
    weights = equal
    for _ in range(_ROUNDS):  # expectation maximization
        parts = weights[:, None] * left_out
        weights = (parts / parts.sum(axis=0)).mean(axis=1)
    return (weights + equal) / 2


def sharpened(density: Density, state: State) -> State:
    """Return the state, length scales divided by 1.5 while this predicts better."""
    parameters = density.objective.task.parameters
    scales = [k for k, parameter in enumerate(parameters) if parameter.role == "length"]
    log_p = log_left_out(density, state)
    with one_thread():
        while scales:
            u = state.u.copy()
            u[scales] -= math.log(_SHARPER) / density.spread[scales]
            ahead = density(u)
            density.objective.record.tell()
            if ahead.stopped or not ahead.point.left_out.size:
                break
            gain = log_left_out(density, ahead) - log_p
            if not gain.sum() > _SURE * gain.std() * math.sqrt(len(gain)):
                break
            state, log_p = ahead, log_p + gain
    return state


def log_left_out(density: Density, state: State) -> Floats:
    """Return the log probabilities of the labels given all others, calibrated if the fit is."""
    task, label = density.objective.task, density.objective.task.examples.label
    labels = task.labels.with_noise((0.0, 0.0))
    z = labels.decision_left_out(state.point.left_out, label)
    if z is None:
        return log_of(state.point.left_out)
    predictions = LeftOut(labels, z, label)
    calibrates = task.plan.calibrates_with(searched=True)
    return predictions.log_labels(predictions.factor() if calibrates else 1.0)


def relevance(density: Density, states: Sequence[State]) -> Floats:
    """Return the weights of the features in some states; empty if there are none."""
    task = density.objective.task
    inputs, groups = task.examples.inputs, families(task.parameters)
    if len(groups) != 1:
        return np.empty((0, 0))
    deviations = _deviations(kernels.at_start(task.kernel, inputs), inputs)
    if len(groups[0]) != len(deviations):
        return np.empty((0, 0))
    sign = 1.0 if task.parameters[groups[0][0]].role == "weight" else -1.0
    logs = sign * np.stack([density.logarithms(state.u)[groups[0]] for state in states])
    values = np.exp(logs - logs.max(axis=1, keepdims=True)) * deviations
    size = np.sqrt((values**2).mean(axis=1, keepdims=True))
    return values / np.where(size > 0, size, 1.0)


def _deviations(kernel: object, X: Any) -> Floats:
    """Return the standard deviation of what has a weight: a feature, or all of a group together."""
    if sparse.issparse(X):
        variances = np.asarray(X.multiply(X).mean(axis=0) - np.square(X.mean(axis=0))).ravel()
    else:
        variances = X.var(axis=0)
    metric = kernels.metric(kernel, len(variances))
    for k in np.flatnonzero(np.isfinite(metric.limits)):
        # Half the probability of different levels, times the square of how far they are apart.
        shares = np.unique(X[:, k], return_counts=True)[1] / len(X)
        variances[k] = metric.limits[k] ** 2 * (1 - float(shares @ shares)) / 2
    variances = np.bincount(metric.groups, weights=variances)
    return np.sqrt(np.maximum(variances, 0.0))
