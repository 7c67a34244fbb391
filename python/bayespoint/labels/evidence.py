"""The evidence: the log probability of the labels. At rate 0 it is the log volume."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np

from bayespoint.base import validation
from bayespoint.base.validation import Flags, Floats, RandomState
from bayespoint.base.warnings import warn
from bayespoint.engine import InfeasibleError, interior
from bayespoint.engine.problem import Callback, Problem
from bayespoint.engine.sampling import log_z
from bayespoint.engine.settings import EvidenceSettings
from bayespoint.results.evidence import Evidence

Rates = float | tuple[float, float] | Floats
Run = Callable[[list[tuple[float, float]]], Evidence]  # at these transparencies


def evidence(
    problem: Problem,
    label_noise: object,
    settings: EvidenceSettings,
    *,
    n_jobs: int | None = None,
    seed: RandomState = None,
    callback: Callback = None,
) -> Evidence:
    """Return the log evidence; `VersionSpace.evidence` has the parameters."""
    if callback is not None and not callable(callback):
        raise TypeError(f"callback must be a callable or None; got {callback!r}")
    run = partial(
        log_z,
        problem,
        settings,
        n_threads=validation.threads(n_jobs),
        seed=validation.seed(seed),
        callback=callback,
    )
    rates = _noise_rates(label_noise)
    if isinstance(rates, np.ndarray) and 0 < np.count_nonzero(rates) < len(rates):
        found = _with_rates_of_zero(problem, rates, run)
    else:
        has_ladder = problem.n_functions > 1 or isinstance(rates, np.ndarray)
        if has_ladder and not np.any(rates):  # a bridge makes this test itself
            error = interior.conflict(problem)
            if error is not None:
                raise error
        found = _log_evidence(problem, rates, run)
    if not found.converged:
        worst, lag = np.max(found.error), np.abs(np.nan_to_num(found.lag)).max()
        text = (
            f"the evidence has an estimated standard error of {worst:.3g} nats after "
            f"{found.length:.4g} radians per trajectory on {found.n_rungs} rungs; "
            f"tol={settings.tol:g} was asked for: raise max_length"
        )
        if np.isfinite(found.lag).any():
            text += (
                f". The difference between up and down the rungs indicates a bias of {lag:.2g} nats"
            )
        warn(text)
    return found


def _noise_rates(value: object) -> Rates:
    """Return checked label noise: one rate, a tuple for the two classes, or an array of rates."""
    if isinstance(value, tuple):
        return validation.label_noise(value)
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value.item()
    if not isinstance(value, (list, np.ndarray)):
        return validation.rate("label_noise", value)
    array = validation.dense("label_noise", value)
    if array.ndim != 1 or len(array) == 0:
        raise ValueError(
            "label_noise must be one rate, a tuple of two for the classes, or an array of shape "
            f"(n,) with at least one rate; got an array of shape {array.shape}"
        )
    return np.array([validation.rate(f"label_noise[{k}]", p) for k, p in enumerate(array.tolist())])


def _with_rates_of_zero(problem: Problem, rates: Floats, run: Run) -> Evidence:
    """Return the evidence for rates of which some are 0: minus infinity there after a conflict."""
    if interior.conflict(problem) is None:
        return _log_evidence(problem, rates, run)
    noisy = rates > 0
    found = _log_evidence(problem, rates[noisy], run)
    every = np.outer([-math.inf, 0.0, 0.0], np.ones(len(rates)))
    every[:, noisy] = found.value, found.error, found.lag
    value, error, lag = every
    return replace(found, value=value, error=error, lag=lag)


def _log_evidence(problem: Problem, rates: Rates, run: Run) -> Evidence:
    """Return ln p(y | label noise) for one rate, a pair of rates or an array of rates."""
    y, walls, several = problem.y, problem.walls, isinstance(rates, np.ndarray)
    if (problem.n_functions > 1 or walls is not None) and isinstance(rates, tuple):
        raise ValueError(
            "label_noise must be one rate or an array of rates for more than two classes, or "
            f"walls; got the pair {rates}"
        )
    pair = rates if isinstance(rates, tuple) else (rates, rates)
    first, second = np.array(pair, dtype=np.float64).reshape(2, -1)
    # P(label | other class) / P(label | its own class), for labels -1 and +1, all others alike.
    others = max(2, problem.n_functions) - 1
    negative, positive = second / others / (1 - first), first / others / (1 - second)
    if walls is not None and walls.constrained:
        if several:
            raise ValueError(
                "label_noise must be one rate with walls that always hold; got an array of "
                f"{len(first)} rates"
            )
        negative = np.zeros_like(negative)
    transparencies = list(zip(negative.tolist(), positive.tolist(), strict=True))
    found = run(transparencies)
    if not (found.value > -math.inf).any():
        if (first == second).all():
            hard = np.ones(len(y), dtype=bool)
        else:  # one of the rates is 0: only the examples of one label have hard walls
            hard = y > 0 if first[0] == 0 else y < 0
        raise _infeasible(problem, found, hard)
    n_labels = len(y) if walls is None else walls.observations.max() + 1
    n_positive = (y > 0).sum() if walls is None else 0
    certain = n_positive * np.log1p(-second) + (n_labels - n_positive) * np.log1p(-first)
    found = replace(found, value=found.value + certain)
    if several:
        return found
    value, error, lag = (float(array[0]) for array in (found.value, found.error, found.lag))
    return replace(found, value=value, error=error, lag=lag)


def _infeasible(problem: Problem, found: Evidence, hard: Flags) -> InfeasibleError:
    """Return the error for an evidence of zero, with the examples that have hard walls."""
    run, small = f"in {found.length:.4g} radians per trajectory", "too small for this max_length"
    advice = "Allow for noise: a positive softness, or label_noise"
    if hard.all():
        fewest = int(np.flatnonzero(np.isfinite(found.log_share))[0])
        what = (
            f"no weight vector that satisfies all examples was found {run}; the smallest number "
            f"of violated examples was {fewest} of {len(found.log_share) - 1}: version space is "
            f"empty, or {small}"
        )
    else:
        fewest = 1  # at least: with no violation the value would be finite
        what = (
            "no weight vector that satisfies all examples of the class without label noise was "
            f"found {run}: such vectors exist, but their part of the sphere is {small}"
        )
        advice += " in both classes"
    error = InfeasibleError(f"{what}. {advice}")
    error.what, error.advice = what, advice
    error.violations = fewest
    # Any convex combination of the examples bounds the margin. This is their mean.
    diagonal = problem.gram.diagonal() + problem.offset + problem.softness
    if problem.walls is not None:
        error.certificate, error.margin_bound = np.full(len(problem.walls), np.nan), 1.0
        return error
    if problem.n_functions > 1:
        own, weight = (problem.label, np.arange(len(problem))), 1 / (problem.n_functions - 1)
        error.certificate = np.full(problem.shape, weight / len(problem))
        error.certificate[own] = 0.0
        combined = -error.certificate
        combined[own] = 1 / len(problem)
        diagonal = 2 * diagonal
    else:
        error.certificate = hard / hard.sum()
        combined = problem.y * error.certificate
    square = (combined * problem.coordinates(combined)).sum()
    error.margin_bound = min(1.0, math.sqrt(max(square, 0.0) / diagonal.max()))
    return error
