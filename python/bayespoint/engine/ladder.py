"""Runs that weigh a posterior: settings, label noise, and what becomes of the outcome."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from bayespoint import _core
from bayespoint._core import InfeasibleError
from bayespoint.base import memory, validation
from bayespoint.base.validation import Floats, Labels, RandomState
from bayespoint.kernels import sources
from bayespoint.results import Evidence

Callback: TypeAlias = Callable[[Mapping[str, Any]], object] | None

_PARTICLES = 16
"""Annealed particles of a trajectory, at the least."""

METHODS = ("auto", "bridge", "integration", "annealing")


class Space(Protocol):
    """What a run needs of a version space."""

    gram: sources.Gram
    y: Labels
    softness: Floats
    offset: float


@dataclass(frozen=True)
class Settings:
    """The checked settings of an evidence run."""

    method: str
    tol: float
    max_length: float
    n_trajectories: int
    n_threads: int
    seed: int
    callback: Callback

    @classmethod
    def check(
        cls,
        *,
        method: object,
        tol: object,
        max_length: object,
        n_trajectories: object,
        n_jobs: object,
        random_state: RandomState,
        callback: Callback,
    ) -> Settings:
        """Return the settings, or raise for one that is out of range."""
        if callback is not None and not callable(callback):
            raise TypeError(f"callback must be a callable or None; got {callback!r}")
        return cls(
            method=validation.choice("method", method, METHODS),
            tol=validation.real("tol", tol, low=0.0, low_open=True),
            max_length=validation.real("max_length", max_length, low=0.0, low_open=True),
            n_trajectories=validation.integer("n_trajectories", n_trajectories, low=1),
            n_threads=validation.threads(n_jobs),
            seed=validation.seed(random_state),
            callback=callback,
        )


def noise_rates(value: object) -> float | tuple[float, float] | Floats:
    """Return checked label noise: one rate, a tuple for the two classes, or an array of rates."""
    if isinstance(value, tuple):
        return validation.pair("label_noise", value, high=0.5, high_open=True)
    if isinstance(value, list):
        value = validation.dense("label_noise", value)
    if not isinstance(value, np.ndarray) or value.ndim == 0:
        if isinstance(value, np.ndarray):
            value = value.item()
        return validation.real("label_noise", value, low=0.0, high=0.5, high_open=True)
    array = validation.dense("label_noise", value)
    if array.ndim != 1 or len(array) == 0:
        raise ValueError(
            "label_noise must be one rate, a tuple of two for the classes, or an array of shape "
            f"(n,) with at least one rate; got an array of shape {array.shape}"
        )
    return np.array(
        [
            validation.real(f"label_noise[{i}]", rate, low=0.0, high=0.5, high_open=True)
            for i, rate in enumerate(array.tolist())
        ]
    )


def log_evidence(
    space: Space, rates: float | tuple[float, float] | Floats, settings: Settings
) -> Evidence:
    """Return ln p(y | label noise) for one rate, a pair of rates or an array of rates."""
    several = isinstance(rates, np.ndarray)
    noisy = bool(np.any(rates))
    method = settings.method
    if method == "auto":
        method = "integration" if several or noisy else "bridge"
    if method == "bridge" and (several or noisy):
        wanted = "label_noise" if noisy else "an array of rates"
        raise ValueError(
            f"method must be 'integration' or 'annealing' for {wanted}: a bridge has no rungs that "
            "let through, and misses modes of the posterior; got 'bridge'"
        )
    pair = rates if isinstance(rates, tuple) else (rates, rates)
    first, second = np.array(pair, dtype=np.float64).reshape(2, -1)
    # P(label | the other class) over P(label | its own class), seen - and seen +.
    negative, positive = second / (1 - first), first / (1 - second)
    transparencies = list(zip(negative.tolist(), positive.tolist(), strict=True))
    found = _run(space, transparencies, replace(settings, method=method))
    if not (found.value > -math.inf).any():
        # Of rates that differ one is 0, that of examples which truly are of one class.
        hard = np.ones(len(space.y), bool) if (first == second).all() else _hard(space.y, first)
        raise _infeasible(space, found, hard)
    n_positive = int((space.y > 0).sum())
    n_negative = len(space.y) - n_positive
    certain = n_positive * np.log1p(-second) + n_negative * np.log1p(-first)
    found = replace(found, value=found.value + certain)
    if several:
        return found
    return replace(
        found,
        value=float(found.value[0]),
        error=float(found.error[0]),
        lag=float(found.lag[0]),
    )


def complaint(found: Evidence, tol: float) -> str | None:
    """Return what is wrong with a run that was asked for the tolerance `tol`, if anything."""
    if found.converged:
        return None
    worst = float(np.max(found.error))
    spread = (
        ", and the weights of the annealed particles vary too much to be trusted"
        if worst <= tol
        else ""
    )
    text = (
        f"the evidence has an estimated standard error of {worst:.3g} nats after "
        f"{found.length:.4g} radians per trajectory on {found.n_rungs} rungs; "
        f"tol={tol:g} was asked for{spread}: raise max_length"
    )
    if np.isfinite(found.lag).any():
        lag = np.abs(np.nan_to_num(found.lag)).max()
        text += f". Its ways to and fro between the rungs suggest a bias of {lag:.2g} nats"
    return text


def _run(space: Space, transparencies: list[tuple[float, float]], settings: Settings) -> Evidence:
    """Return ln Z for walls of the given transparencies, (label -1, label +1)."""
    m = len(space.y)
    sources.require_matrix(space.gram, "the evidence")
    # A bridge keeps a matrix and half a factor for each of its rungs, about the root of m.
    matrices = 4 + 1.5 * math.sqrt(m) if settings.method == "bridge" else 2
    # Annealed particles fly one by one, and each leaves a number for each rung, two at the least.
    n = settings.n_trajectories
    balls = 16.0 * _PARTICLES * n if settings.method == "annealing" else memory.balls(n, m)
    memory.require(
        8.0 * matrices * m * m + balls,
        f"the evidence of {m} examples ({matrices:.0f} matrices of {memory.readable(8.0 * m * m)}"
        f"{'; the ladder of method=' * (settings.method == 'bridge')}"
        f"{'integration needs 2' * (settings.method == 'bridge')}; {memory.readable(balls)} for "
        f"n_trajectories={n})",
    )
    callback = settings.callback

    def report(progress: Mapping[str, Any]) -> object:
        assert callback is not None
        return callback({"length": progress["length"], "error": progress["center_error"]})

    # Next to the ends of the range, products of rungs leave it; a power of two changes no digit.
    size = float(np.max(space.gram.diagonal())) + space.offset + float(np.max(space.softness))
    scale = 1.0 if 1e-100 < size < 1e100 else 2.0 ** -round(math.log2(size))
    run = _core.evidence(
        space.gram if scale == 1.0 else np.multiply(space.gram, scale, dtype=np.float64),
        space.y,
        offset=space.offset * scale,
        softness=space.softness * scale,
        method=settings.method,
        transparencies=transparencies,
        tol=settings.tol,
        max_length=settings.max_length,
        n_trajectories=settings.n_trajectories,
        n_threads=settings.n_threads,
        seed=settings.seed,
        callback=None if callback is None else report,
    )
    return Evidence.from_run(run, settings.method)


def _hard(y: Labels, first: Floats) -> NDArray[np.bool_]:
    """Return which examples have hard walls, if one of the rates is 0: those labeled the other."""
    return np.asarray(y > 0 if first[0] == 0 else y < 0)


def _infeasible(space: Space, found: Evidence, hard: NDArray[np.bool_]) -> InfeasibleError:
    """Return the error for an evidence of zero, with the examples that have hard walls."""
    run = f"in {found.length:.4g} radians per trajectory"
    small = "too small for a run of this max_length"
    help_ = "Allow for noise: a positive softness, or label_noise"
    seen = np.flatnonzero(np.isfinite(found.log_share))
    # One at least, or the value would be finite: more is known where both classes count alike.
    fewest = 1
    if not hard.all():
        text = (
            "no weight vector that explains all examples of the class without label noise was met "
            f"{run}: there is one, but the part of the sphere that they leave is {small}. {help_} "
            "in both classes"
        )
    elif len(seen):
        fewest = int(seen[0])
        text = (
            f"no weight vector that explains all examples was met {run}; the fewest violated were "
            f"{fewest} of {len(found.log_share) - 1}: version space is empty, or {small}. {help_}"
        )
    else:
        text = (
            "no annealed particle satisfied all examples: version space is empty, or "
            f"{small}. {help_}"
        )
    error = InfeasibleError(text)
    error.violations = fewest
    # Any convex combination bounds the margin; a ladder knows of none better than the mean.
    error.certificate = hard / hard.sum()
    combined = space.y * error.certificate
    diagonal = space.gram.diagonal() + space.offset + space.softness
    square = combined @ (space.gram @ combined) + space.offset * combined.sum() ** 2
    square += combined @ (space.softness * combined)
    error.margin_bound = min(1.0, math.sqrt(max(square, 0.0) / float(diagonal.max())))
    return error
