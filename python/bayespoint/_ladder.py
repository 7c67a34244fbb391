"""Runs of the transparency ladder: settings, label noise, and what becomes of the outcome."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import special

from bayespoint import _core, _memory, _validation
from bayespoint._core import InfeasibleError
from bayespoint._validation import Floats, Labels, RandomState
from bayespoint.results import Evidence

Callback: TypeAlias = Callable[[Mapping[str, Any]], object] | None

REPLICAS = 8
"""Independent ladders whose spread is the error of what no single ladder knows the error of."""


class Space(Protocol):
    """What a run needs of a version space."""

    gram: Floats
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
        return cls(
            method=_validation.choice("method", method, ("integration", "annealing")),
            tol=_validation.real("tol", tol, low=0.0, low_open=True),
            max_length=_validation.real("max_length", max_length, low=0.0, low_open=True),
            n_trajectories=_validation.integer("n_trajectories", n_trajectories, low=1),
            n_threads=_validation.threads(n_jobs),
            seed=_validation.seed(random_state),
            callback=callback,
        )


def noise_rates(value: object) -> float | tuple[float, float] | Floats:
    """Return checked label noise: one rate, a tuple for the two classes, or an array of rates."""
    if isinstance(value, tuple):
        return _validation.pair("label_noise", value, high=0.5, high_open=True)
    if np.ndim(value) == 0:  # type: ignore[arg-type]
        if isinstance(value, np.ndarray):
            value = value.item()
        return _validation.real("label_noise", value, low=0.0, high=0.5, high_open=True)
    array = _validation.dense("label_noise", value)  # type: ignore[arg-type]
    if array.ndim != 1 or len(array) == 0:
        raise ValueError(
            "label_noise must be one rate, a tuple of two for the classes, or an array of shape "
            f"(n,) with at least one rate; got an array of shape {array.shape}"
        )
    return np.array(
        [
            _validation.real(f"label_noise[{i}]", rate, low=0.0, high=0.5, high_open=True)
            for i, rate in enumerate(array.tolist())
        ]
    )


def log_evidence(
    space: Space, rates: float | tuple[float, float] | Floats, settings: Settings
) -> Evidence:
    """Return ln p(y | label noise) for one rate, a pair of rates or an array of rates."""
    m = len(space.y)
    if isinstance(rates, tuple):
        if rates[0] != rates[1]:
            return _two_rates(space, rates, settings)
        rates = rates[0]
    several = np.atleast_1d(rates)
    with np.errstate(divide="ignore"):
        targets = -(np.log(several) - np.log1p(-several))
    found = _ladder(space, targets.tolist(), settings)
    if not (found.value > -math.inf).any():
        raise _infeasible(found)
    found = replace(found, value=found.value + m * np.log1p(-several))
    if isinstance(rates, np.ndarray):
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
        f"{found.length:.4g} radians per trajectory on {len(found.log_transparency)} rungs; "
        f"tol={tol:g} was asked for{spread}: raise max_length"
    )
    if np.isfinite(found.lag).any():
        lag = np.abs(np.nan_to_num(found.lag)).max()
        text += f". Its ways up and down the ladder suggest a bias of {lag:.2g} nats"
    return text


def _ladder(space: Space, targets: list[float], settings: Settings) -> Evidence:
    """Return ln Z at each target s = -ln kappa, from one ladder."""
    m = len(space.y)
    _memory.require(
        2 * 8.0 * m * m,
        f"the evidence ({_memory.readable(16.0 * m * m)} for a factor of the Gram matrix of {m} "
        "examples)",
    )
    callback = settings.callback

    def report(progress: Mapping[str, Any]) -> object:
        assert callback is not None
        return callback({"length": progress["length"], "error": progress["center_error"]})

    run = _core.evidence(
        space.gram,
        space.y,
        offset=space.offset,
        softness=space.softness,
        method=settings.method,
        targets=targets,
        tol=settings.tol,
        max_length=settings.max_length,
        n_trajectories=settings.n_trajectories,
        n_threads=settings.n_threads,
        seed=settings.seed,
        callback=None if callback is None else report,
    )
    return Evidence.from_run(run, settings.method)


def _infeasible(found: Evidence) -> InfeasibleError:
    """Return the error for an evidence of zero."""
    seen = np.flatnonzero(np.isfinite(found.log_share))
    # Annealed particles do not tell: one at least, or the value would be finite.
    fewest = int(seen[0]) if len(seen) else 1
    error = InfeasibleError(
        f"no weight vector that explains all examples was met in {found.length:.4g} radians per "
        f"trajectory; the fewest violated were {fewest} of {len(found.log_share) - 1}: "
        "version space is empty, or too small for a run of this max_length. Allow for noise: a "
        "positive softness, or label_noise"
        if len(seen)
        else "no annealed particle satisfied all examples: version space is empty, or too small "
        "for a run of this max_length. Allow for noise: a positive softness, or label_noise"
    )
    error.violations, error.margin_bound = fewest, 1.0
    return error


# --- two rates of label noise ----------------------------------------------------------------


def _two_rates(space: Space, rates: tuple[float, float], settings: Settings) -> Evidence:
    """Return ln p(y) for label noise that differs between the classes.

    Ladders of equal transparencies tell the share of the sphere that violates v planes, and the
    shares therein of every (n_-, n_+): that is all the evidence needs. How well the latter are
    known no single ladder tells, so there are several independent ones: the estimate is their
    mean Z, its error comes from their spread.
    """
    if settings.method != "integration":
        raise ValueError(
            "method must be 'integration' for label noise that differs between the classes; got "
            f"{settings.method!r}, which does not tell violations of the two classes apart"
        )
    first, second = rates
    m = len(space.y)
    # P(label | the other class) over P(label | its own class), seen - and seen +.
    kappa = second / (1 - first), first / (1 - second)
    lowest, highest = sorted(kappa)
    # Where a plane is opaque for one class: far enough down that it hardly lets anything through.
    target = -math.log(lowest) if lowest > 0 else 2 + math.log(m) - math.log(highest)
    positive = int((space.y > 0).sum())
    certain = positive * math.log1p(-second) + (m - positive) * math.log1p(-first)
    seeds = np.random.default_rng(settings.seed)
    n_trajectories = -(-settings.n_trajectories // 2)
    share = n_trajectories / settings.n_trajectories
    found: list[Evidence] = []
    values: list[float] = []
    length = 0.0
    while True:
        before = length
        for _ in range(REPLICAS):
            run = _replica(space, target, settings, n_trajectories, seeds)
            found.append(run)
            values.append(_reweighted(run, kappa))
            length += share * run.length
        value, error = _log_mean(np.array(values))
        if error <= settings.tol or length + (length - before) > settings.max_length:
            break
    result = replace(_pooled(found), length=length)
    if value == -math.inf:
        raise _infeasible(result)
    converged = error <= settings.tol
    return replace(result, value=certain + value, error=error, lag=math.nan, converged=converged)


def _replica(
    space: Space,
    target: float,
    settings: Settings,
    n_trajectories: int,
    seeds: np.random.Generator,
) -> Evidence:
    """Return one of several independent ladders."""
    one = replace(
        settings,
        # The mean of all is to have the tolerance.
        tol=settings.tol * math.sqrt(REPLICAS),
        max_length=settings.max_length / REPLICAS,
        n_trajectories=n_trajectories,
        n_threads=min(settings.n_threads, n_trajectories),
        seed=_validation.seed(seeds),
    )
    return _ladder(space, [target], one)


def _reweighted(found: Evidence, kappa: tuple[float, float]) -> float:
    """Return ln Z with transparencies `kappa` for labels -1 and +1."""
    layers = found.layers
    powers = _log_powers(kappa[0], layers[:, 0]) + _log_powers(kappa[1], layers[:, 1])
    total = found.log_share[layers.sum(axis=1)] + np.log(found.layer_shares)
    return float(special.logsumexp(total + powers))


def _log_powers(kappa: float, n: NDArray[np.int64]) -> Floats:
    """Return n ln(kappa), 0 for n = 0 and kappa = 0 too."""
    log = math.log(kappa) if kappa > 0 else -math.inf
    powers: Floats = np.multiply(n, log, out=np.zeros(len(n)), where=n > 0)
    return powers


def _log_mean(values: Floats) -> tuple[float, float]:
    """Return ln of the mean of exp(values) and its standard error, by their spread."""
    largest = float(values.max())
    if largest == -math.inf:
        return largest, math.inf
    z = np.exp(values - largest)
    mean = float(z.mean())
    return largest + math.log(mean), float(z.std(ddof=1)) / mean / math.sqrt(len(z))


def _pooled(found: list[Evidence]) -> Evidence:
    """Return the first ladder with the shares of the sphere averaged over all."""
    logs = np.stack([run.log_share for run in found])
    log_share = special.logsumexp(logs, axis=0) - math.log(len(found))
    table: dict[tuple[int, int], float] = {}
    for run in found:
        known = log_share > -math.inf
        weights = np.exp(np.where(known, run.log_share, 0.0) - np.where(known, log_share, 0.0))
        for (negative, positive), share in zip(
            run.layers.tolist(), run.layer_shares.tolist(), strict=True
        ):
            weight = float(weights[negative + positive]) / len(found)
            table[negative, positive] = table.get((negative, positive), 0.0) + weight * share
    layers = sorted(table)
    return replace(
        found[0],
        log_share=log_share,
        layers=np.array(layers, dtype=np.int64).reshape(-1, 2),
        layer_shares=np.array([table[layer] for layer in layers]),
    )
