"""The correlation length: how long two neighboring balls meet the same planes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bayespoint import _core
from bayespoint.base import validation
from bayespoint.base.validation import RandomState
from bayespoint.engine.dynamics import Dynamics
from bayespoint.engine.problem import Callback, Problem
from bayespoint.engine.settings import CorrelationSettings
from bayespoint.kernels import explicit


def correlation(
    problem: Problem,
    *,
    angle: float,
    n_pairs: int,
    n_trajectories: int,
    max_bounces: int,
    dynamics: Dynamics | str = "geodesic",
    n_jobs: int | None = None,
    seed: RandomState = None,
    callback: Callback = None,
) -> Mapping[str, Any]:
    """Return ``pair_bounces``, ``pair_lengths`` and ``parted``, each (n_trajectories, n_pairs).

    The parameters are those of `bayespoint.papers.correlation.correlation_length`.
    """
    settings = CorrelationSettings(angle, n_pairs, n_trajectories, max_bounces, dynamics)
    threads, number = validation.threads(n_jobs), validation.seed(seed)
    explicit.require_matrix(problem.gram, "the correlation length")
    given = {"n_threads": min(threads, settings.n_trajectories), "seed": number}
    return _core.correlation(problem, settings.engine_values() | given, callback=callback)
