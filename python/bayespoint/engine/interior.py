"""Single weight vectors: feasible points, the maximal margin, and the kernel perceptron."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from bayespoint import _core
from bayespoint._core import InfeasibleError
from bayespoint.base import validation
from bayespoint.base.validation import Floats, RandomState
from bayespoint.base.warnings import warn
from bayespoint.engine.problem import Callback, Problem
from bayespoint.engine.settings import MarginSettings, PerceptronSettings
from bayespoint.results.points import MaxMargin


def feasible_point(
    problem: Problem,
    method: str = "light_trap",
    *,
    seed: RandomState = None,
    callback: Callback = None,
) -> Floats:
    """Return a unit vector; `VersionSpace.feasible_point` has the parameters."""
    methods = ("light_trap", "one_way", "perceptron", "max_margin")
    method, number = validation.choice("method", method, methods), validation.seed(seed)
    if method == "perceptron":
        problem.require_labels("method='perceptron'")
    found = _core.feasible_point(problem, method=method, seed=number, callback=callback)
    if found["method"] != method:
        warn(
            f"method={method!r} did not find a point of version space; this one is from the "
            "search for the largest margin",
            ConvergenceWarning,
        )
    return problem.from_planes(found["dual_coef"])


def light_trap(
    problem: Problem, *, seed: RandomState = None, callback: Callback = None
) -> Mapping[str, Any]:
    """Return the path of a ball with one-way walls: ``dual_coef``, ``errors``, ``bounces``."""
    problem.require_binary("the light trap of the paper")
    return _core.light_trap(problem, seed=validation.seed(seed), callback=callback)


def max_margin(
    problem: Problem,
    *,
    tol: float = 1e-8,
    max_iter: int = 10_000_000,
    callback: Callback = None,
) -> MaxMargin:
    """Return the largest margin; `VersionSpace.max_margin` has the parameters."""
    settings = MarginSettings(tol, max_iter)
    problem.require_labels("a maximal margin")
    found = _core.max_margin(problem, settings, callback=callback)
    found["dual_coef"] = problem.from_planes(found["dual_coef"])
    found["multipliers"] = problem.by_class(found["multipliers"])
    result = MaxMargin(**found)
    if not result.converged:
        warn(
            f"max_margin violates a condition by {result.kkt:.2g} margins after "
            f"{result.iterations} steps; tol={settings.tol:g} was asked for: raise max_iter",
            ConvergenceWarning,
        )
    return result


def perceptron(
    problem: Problem, settings: PerceptronSettings, *, order: NDArray[np.int64]
) -> Mapping[str, Any]:
    """Return ``dual_coef``, ``mistakes``, ``epochs``, ``converged`` of the kernel perceptron."""
    return _core.perceptron(problem, settings, order=order, callback=None)


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
