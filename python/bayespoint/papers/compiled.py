"""What of the compiled engine only the papers use: settings of its runs, and the calls.

No other file of the papers imports the compiled module.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayespoint import _core
from bayespoint.base.validation import Floats, choice, integer, number
from bayespoint.engine.problem import Callback, Problem
from bayespoint.engine.settings import convert, optional


@dataclass(frozen=True)
class OnionSettings:
    """Settings of `bayespoint.papers.onion.onion`."""

    max_errors: tuple[int, int]
    method: str
    tol: float
    volume_tol: float | None
    max_length: float
    n_trajectories: int

    def __post_init__(self) -> None:
        choice("method", self.method, ("exact", "projected"))
        limits = {"tol": number, "volume_tol": optional(number), "max_length": number}
        convert(self, "onion", **limits, n_trajectories=integer)


@dataclass(frozen=True)
class PerceptronSettings:
    """Settings of the kernel perceptron."""

    learning_rate: float
    max_epochs: int

    def __post_init__(self) -> None:
        convert(self, "perceptron", learning_rate=number, max_epochs=integer)


@dataclass(frozen=True)
class CorrelationSettings:
    """Settings of `bayespoint.papers.correlation.correlation_length`."""

    angle: float
    n_pairs: int
    n_trajectories: int
    max_bounces: int
    motion: Mapping[str, Any] | None

    def __post_init__(self) -> None:
        counts = dict.fromkeys(("n_pairs", "n_trajectories", "max_bounces"), integer)
        convert(self, "correlation", angle=number, **counts)


def check(kind: str, values: dict[str, Any]) -> None:
    """Raise ValueError if settings of a run, or of a motion, are out of range."""
    _core.check_settings(kind, values)


def fly(
    problem: Problem, settings: dict[str, Any], *, start: Floats | None, callback: Callback
) -> Mapping[str, Any]:
    """Return what a run of a motion computes, by its "motion" and by the "run", as of `sample`."""
    return _core.fly(problem, settings, start=start, callback=callback)


def layers(
    problem: Problem, settings: OnionSettings, *, n_threads: int, seed: int, callback: Callback
) -> dict[str, Any]:
    """Return what the engine computes; `bayespoint.papers.onion.OnionTable` has the fields."""
    more = {"n_threads": min(n_threads, settings.n_trajectories), "seed": seed}
    return _core.onion(problem, vars(settings) | more, callback=callback)


def correlation(
    problem: Problem,
    settings: CorrelationSettings,
    *,
    n_threads: int,
    seed: int,
    callback: Callback,
) -> Mapping[str, Any]:
    """Return ``pair_bounces``, ``pair_lengths`` and ``parted``, each (n_trajectories, n_pairs)."""
    more = {"n_threads": min(n_threads, settings.n_trajectories), "seed": seed}
    return _core.correlation(problem, vars(settings) | more, callback=callback)


def light_trap(problem: Problem, *, seed: int, callback: Callback) -> Mapping[str, Any]:
    """Return the path of a ball with one-way walls: ``dual_coef``, ``errors``, ``bounces``."""
    return _core.light_trap(problem, seed=seed, callback=callback)


def perceptron(
    problem: Problem, settings: PerceptronSettings, *, order: NDArray[np.int64]
) -> Mapping[str, Any]:
    """Return ``dual_coef``, ``mistakes``, ``epochs``, ``converged`` of the kernel perceptron."""
    return _core.perceptron(problem, settings, order=order, callback=None)
