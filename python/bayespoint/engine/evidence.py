"""The normalizing constants of distributions on the sphere, for the evidence."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from bayespoint import _core
from bayespoint.engine.problem import Callback, Problem
from bayespoint.engine.settings import EvidenceSettings
from bayespoint.results.evidence import Evidence


def log_z(
    problem: Problem,
    settings: EvidenceSettings,
    transparencies: list[tuple[float, float]],
    *,
    n_threads: int,
    seed: int,
    callback: Callback,
) -> Evidence:
    """Return ln Z for walls of the given transparencies, (label -1, label +1)."""

    def report(progress: Mapping[str, Any]) -> object:
        assert callback is not None
        return callback({"length": progress["length"], "error": progress["center_error"]})

    # Rescale extreme values, whose products overflow or underflow. A power of two is exact.
    size = float(np.max(problem.gram.diagonal())) + problem.offset + float(problem.softness.max())
    scale = 1.0 if 1e-100 < size < 1e100 else 2.0 ** -round(math.log2(size))
    if scale != 1.0:
        gram = np.multiply(problem.gram, scale, dtype=np.float64)
        softness, offset = problem.softness * scale, problem.offset * scale
        problem = replace(problem, gram=gram, softness=softness, offset=offset, inverse=None)
    values = vars(settings) | {"targets": transparencies}
    values |= {"n_threads": n_threads, "seed": seed}
    found = _core.evidence(problem, values, callback=None if callback is None else report)
    return Evidence.from_run(found)
