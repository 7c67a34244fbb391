"""Pairs of neighboring balls, and how long they meet the same planes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from bayespoint import _core
from bayespoint.base import validation
from bayespoint.base.validation import RandomState
from bayespoint.engine import dynamics as engine_dynamics
from bayespoint.engine.problem import Problem
from bayespoint.kernels import rows_on_demand


def correlation(
    problem: Problem,
    *,
    angle: float,
    n_pairs: int,
    n_trajectories: int,
    max_bounces: int,
    dynamics: object = "geodesic",
    n_jobs: int | None = None,
    seed: RandomState = None,
    callback: Callable[[Mapping[str, Any]], object] | None = None,
) -> Mapping[str, Any]:
    """Return ``pair_bounces``, ``pair_lengths`` and ``parted``, each (n_trajectories, n_pairs).

    The function `bayespoint.papers.correlation.correlation_length` has the parameters.
    """
    angle = validation.real("angle", angle, low=0.0, low_open=True, high=1.0, high_open=True)
    n_trajectories = validation.integer("n_trajectories", n_trajectories, low=1)
    n_pairs = validation.integer("n_pairs", n_pairs, low=1)
    max_bounces = validation.integer("max_bounces", max_bounces, low=1)
    motion = engine_dynamics.resolve(dynamics)
    if isinstance(motion, engine_dynamics.STRAIGHT):
        raise TypeError(f"dynamics must be Geodesic() or Scattered(...); got {motion}")
    threads, number = validation.threads(n_jobs), validation.seed(seed)
    rows_on_demand.require_matrix(problem.gram, "the correlation length")
    return _core.correlation(
        problem,
        angle=angle,
        n_trajectories=n_trajectories,
        n_pairs=n_pairs,
        max_bounces=max_bounces,
        dynamics=motion,
        n_threads=min(threads, n_trajectories),
        seed=number,
        callback=callback,
    )
