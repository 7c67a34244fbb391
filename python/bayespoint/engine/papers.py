"""Runs of the engine for the papers: layers of training errors, and the correlation length."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bayespoint import _core
from bayespoint.engine.problem import Callback, Problem
from bayespoint.engine.settings import CorrelationSettings, OnionSettings


def layers(
    problem: Problem, settings: OnionSettings, *, n_threads: int, seed: int, callback: Callback
) -> dict[str, Any]:
    """Return what the engine computes; `bayespoint.papers.onion.OnionTable` has the fields."""
    run = {"n_threads": min(n_threads, settings.n_trajectories), "seed": seed}
    return _core.onion(problem, vars(settings) | run, callback=callback)


def correlation(
    problem: Problem,
    settings: CorrelationSettings,
    *,
    n_threads: int,
    seed: int,
    callback: Callback,
) -> Mapping[str, Any]:
    """Return ``pair_bounces``, ``pair_lengths`` and ``parted``, each (n_trajectories, n_pairs)."""
    run = {"n_threads": min(n_threads, settings.n_trajectories), "seed": seed}
    return _core.correlation(problem, settings.engine_values() | run, callback=callback)
