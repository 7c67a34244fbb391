"""Runs of the billiard and of the evidence: preparation, the engine's run, and its result."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from bayespoint import _core
from bayespoint.base import linalg, validation
from bayespoint.base.linalg import Inverse, factorize
from bayespoint.base.validation import Floats, RandomState
from bayespoint.base.warnings import warn
from bayespoint.engine import continuation
from bayespoint.engine.problem import Callback, Problem
from bayespoint.engine.settings import EvidenceSettings, SampleSettings
from bayespoint.results.billiard import BilliardResult
from bayespoint.results.evidence import Evidence
from bayespoint.results.result import with_fields

LEAST_TIME = 1e-3  # seconds that a run has at least, also if its preparation took all of its time
_MAX_SINGLES = 2000  # most examples of which singles are factorized in doubles by default


def sample(
    problem: Problem,
    settings: SampleSettings,
    *,
    seed: RandomState = None,
    start: ArrayLike | None = None,
    callback: Callback = None,
    continue_from: BilliardResult | None = None,
    n_jobs: int | None = None,
) -> BilliardResult:
    """Run the billiard; `VersionSpace.sample` and `SampleOptions` have the parameters."""
    began, threads = time.monotonic(), validation.threads(n_jobs)
    if continue_from is not None:
        if start is not None:
            raise ValueError("start must be None with continue_from")
        settings = continuation.resumed_settings(continue_from, settings)
    problem = replace(problem, inverse=_inverse(problem, settings))
    settings = problem.resolved(settings)
    first = None if start is None else checked_start(problem, start).ravel()
    number, state = continuation.begin(problem, seed, continue_from)
    if settings.max_time is not None:
        left = settings.max_time - (time.monotonic() - began)
        settings = replace(settings, max_time=max(left, LEAST_TIME))
    values = settings.engine_values()
    first_class, second_class = values["transparency"]
    if first_class != second_class:
        problem.require_binary("a transparency that depends on the class")
    if problem.walls is not None and problem.walls.constrained:
        values["transparency"] = 0.0, second_class
    values |= {"n_threads": min(threads, settings.n_trajectories), "seed": number}
    run = _core.run(problem, values, start=first, state=state, callback=callback)
    result = _result(problem, settings, number, run)
    messages = result.convergence_messages(settings.limits()["tol"], settings.n_draws)
    if run["loses_softness"]:
        messages.append(
            f"the smallest softness, {problem.softness[problem.softness > 0].min():.2g}, is too "
            "small for double precision, relative to the feature vectors: center_norm is not that "
            "of the exact law. 1e-9 of their squared lengths is enough (1e-4 with singles)"
        )
    for message in messages:
        warn(message)
    return result


def _result(
    problem: Problem, settings: SampleSettings, seed: int, run: Mapping[str, Any]
) -> BilliardResult:
    about = {"settings": settings.plain(), "problem": continuation.digests(problem)}
    draws = run["draws"]
    known = {
        "label": problem.label,
        "softness": problem.softness,
        "offset": problem.offset,
        "seed": seed,
        "state": {**run["state"], **about},
        "draws": draws.reshape(*draws.shape[:2], *problem.shape),
    }
    for name in ("arc_center", "impulse_center", "hits"):
        known[name] = run[name].reshape(problem.shape)
    center = "impulse_center" if settings.average == "impulse" else "arc_center"
    return with_fields(BilliardResult, {**run, **known, "center": known[center]})


def _inverse(problem: Problem, settings: SampleSettings) -> Inverse | None:
    """Return a factor and the diagonal of the inverse if conditional means are to be used."""
    asked = settings.average == "conditional"
    possible = settings.average == "auto" and settings.refresh in ("auto", "full")
    affordable = problem.gram.dtype == np.float64 or len(problem) <= _MAX_SINGLES
    if not (asked or (possible and affordable and problem.softness.min() > 0)):
        return None
    if problem.inverse is not None:
        return problem.inverse
    with linalg.threads_for(len(problem)):
        factor = factorize(problem.gram, problem.offset, problem.softness)
        if factor.invertible:
            return factor, factor.inverse_diagonal()
    if not asked:
        return None
    raise ValueError(
        "average='conditional' needs a Gram matrix, with offset and softness, that is far "
        "from singular: increase the softness"
    )


def checked_start(problem: Problem, start: ArrayLike) -> Floats:
    """Return the dual coefficients of a start, or raise ValueError for an impossible one."""
    c = validation.dual_coef("start", start, problem.shape)
    if problem.n_functions > 1:  # what all functions share moves no wall
        c = c - c.mean(axis=0)
    if not c.any():
        raise ValueError("start must not be the zero vector")
    size = float(np.abs(c).max())
    # Only the direction matters; the squared length would overflow.
    return c if 1e-100 < size < 1e100 else c / size


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
    values = vars(settings) | {"targets": transparencies, "n_threads": n_threads, "seed": seed}
    found = _core.evidence(problem, values, callback=None if callback is None else report)
    return Evidence.from_run(found)
