"""The billiard: what a run is prepared with, the run itself, and its result."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.exceptions import ConvergenceWarning

from bayespoint import _core
from bayespoint.base import linalg, validation
from bayespoint.base.linalg import Factor, factorize
from bayespoint.base.validation import Floats, RandomState
from bayespoint.base.warnings import warn
from bayespoint.engine import continuation, distributed
from bayespoint.engine.dynamics import Scattered
from bayespoint.engine.problem import Problem
from bayespoint.engine.settings import SampleSettings
from bayespoint.kernels import rows_on_demand
from bayespoint.results.billiard import BilliardResult

Callback = Callable[[Mapping[str, Any]], object] | None

_FEW_SINGLES = 2000
"""Examples up to which a factor in doubles is made beside a matrix of singles."""


def sample(
    problem: Problem,
    settings: SampleSettings,
    *,
    seed: RandomState = None,
    start: ArrayLike | None = None,
    callback: Callback = None,
    continue_from: BilliardResult | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    every: float = continuation.EVERY,
    n_jobs: int | None = None,
) -> BilliardResult:
    """Run the billiard; `VersionSpace.sample` has the parameters."""
    threads = validation.threads(n_jobs)
    if continue_from is not None:
        if start is not None:
            raise ValueError("start must be None with continue_from: the balls are under way")
        settings = continuation.resumed_settings(continue_from, settings)
    problem, settings = prepared(problem, settings)
    first = None if start is None else _checked_start(problem, start, opaque=settings.opaque)
    origin = continuation.begin(
        problem,
        settings,
        seed,
        first,
        continue_from=continue_from,
        checkpoint=checkpoint,
        every=every,
    )
    with distributed.sender(problem, settings, n_jobs, callback) as executor:
        run = fly(problem, settings, origin, threads, first, callback, executor)
    return concluded(problem, settings, origin, run)


def prepared(problem: Problem, settings: SampleSettings) -> tuple[Problem, SampleSettings]:
    """Return what a run is of: with an inverse exactly where the center has conditional means."""
    inverse = _inverse(problem, settings)
    return replace(problem, inverse=inverse), settings.resolved(conditional=inverse is not None)


def fly(
    problem: Problem,
    settings: SampleSettings,
    origin: continuation.Origin,
    n_threads: int,
    start: Floats | None = None,
    callback: Callback = None,
    executor: Callable[..., Any] | None = None,
) -> Mapping[str, Any]:
    """Return the compiled engine's run of what was `prepared`.

    With an `executor` the trajectories fly in other processes, to which it hands their steps.
    """
    if settings.refresh == "full" or isinstance(settings.motion, Scattered):
        what = "refresh='full'" if settings.refresh == "full" else "to scatter a ball"
        rows_on_demand.require_matrix(problem.gram, what)
    # More threads than trajectories would have no ball.
    given = {"n_threads": min(n_threads, settings.n_trajectories), "seed": origin.seed}
    return _core.run(
        problem,
        settings.engine_values() | given,
        start=start,
        **origin.arguments,
        callback=callback,
        executor=executor,
    )


def concluded(
    problem: Problem,
    settings: SampleSettings,
    origin: continuation.Origin,
    run: Mapping[str, Any],
) -> BilliardResult:
    """Return the result of a run, with a warning of what is wrong with it."""
    known = {
        "y": problem.y,
        "softness": problem.softness,
        "offset": problem.offset,
        "seed": origin.seed,
    }
    result = BilliardResult.from_run({**origin.concluded(run), **known}, settings.average)
    origin.keep(result)
    messages = result.convergence_messages(settings.ends()["tol"], settings.n_draws)
    if run["loses_softness"]:
        messages.append(
            f"the softness, {problem.softness[problem.softness > 0].min():.2g} at the least, is "
            "too small beside the feature vectors for double precision: center_norm is not that of "
            "the exact law. 1e-9 of the squared lengths is enough (1e-4 of a matrix of singles)"
        )
    for message in messages:
        warn(message, ConvergenceWarning)
    return result


def _inverse(problem: Problem, settings: SampleSettings) -> tuple[Factor, Floats] | None:
    """Return a factor of the Gram matrix and the diagonal of its inverse, where called for."""
    asked = settings.average == "conditional"
    affordable = isinstance(problem.gram, np.ndarray) and (
        problem.gram.dtype == np.float64 or len(problem) <= _FEW_SINGLES
    )
    soft = problem.softness.min() > 0
    if not (asked or (settings.may_be_conditional and affordable and soft)):
        return None
    if problem.inverse is not None:
        return problem.inverse
    rows_on_demand.require_matrix(problem.gram, "average='conditional'")
    with linalg.threads_for(len(problem)):
        factor = factorize(problem.gram, problem.offset, problem.softness)
        if factor.invertible:
            return factor, factor.inverse_diagonal()
    if not asked:
        return None
    raise ValueError(
        "average='conditional' needs a Gram matrix, with offset and softness, that is far "
        "from singular: a softness, or a larger one, makes it so"
    )


def _checked_start(problem: Problem, start: ArrayLike, *, opaque: bool) -> Floats:
    c = validation.dual_coef("start", start, len(problem))
    if not c.any():
        raise ValueError("start must not be the zero vector")
    size = float(np.abs(c).max())
    if not 1e-100 < size < 1e100:  # a direction: the square of its length would overflow
        c = c / size
    margins = problem.margins(c)
    if opaque and not (margins > 0).all():
        worst = int(np.argmin(margins))
        raise ValueError(
            "start must lie in version space, or the walls be transparent; got a point that "
            f"violates {int((margins <= 0).sum())} of {len(margins)} examples, example "
            f"{worst} with margin {margins[worst]:.3g}"
        )
    return c
