"""Single weight vectors: feasible points and the maximal margin."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import numpy as np

from bayespoint import _core
from bayespoint._core import InfeasibleError
from bayespoint.base import validation
from bayespoint.base.validation import Floats, RandomState
from bayespoint.base.warnings import warn
from bayespoint.engine.problem import Callback, Problem
from bayespoint.engine.settings import MarginSettings
from bayespoint.results.points import MaxMargin


def feasible_point(
    problem: Problem,
    method: str,
    *,
    seed: RandomState,
    callback: Callback = None,
) -> Floats:
    """Return a unit vector; `VersionSpace.feasible_point` has the parameters."""
    method = validation.choice("method", method, ("light_trap", "max_margin"))
    found = _core.feasible_point(problem, method, validation.seed(seed), callback)
    if found["method"] != method:
        warn(
            f"method={method!r} did not find a point of version space; this one is from the "
            "search for the largest margin"
        )
    return found["dual_coef"].reshape(problem.shape)


def max_margin(problem: Problem, settings: MarginSettings, callback: Callback = None) -> MaxMargin:
    """Return the largest margin; `VersionSpace.max_margin` has the parameters."""
    problem.require_labels("a maximal margin")
    found = _core.max_margin(problem, settings, callback)
    for name in ("dual_coef", "multipliers"):
        found[name] = found[name].reshape(problem.shape)
    result = MaxMargin(**found)
    if not result.converged:
        warn(
            f"max_margin violates a condition by {result.kkt:.2g} margins after "
            f"{result.iterations} steps; tol={settings.tol:g} was asked for: raise max_iter"
        )
    return result


@contextlib.contextmanager
def advising(advice: str) -> Iterator[None]:
    """Give an InfeasibleError of the calls inside the advice of the caller."""
    try:
        yield
    except InfeasibleError as error:
        error.advice = advice
        error.args = (f"{error.what}. {advice}",)
        raise


def conflict(problem: Problem) -> InfeasibleError | None:
    """Return the error for an empty version space if two examples prove it, otherwise None."""
    try:
        feasible_point(problem, "max_margin", seed=0)
    except FloatingPointError:
        return None
    except InfeasibleError as error:
        return error if np.count_nonzero(error.certificate) == 2 else None
    return None
