"""Fits that continue an earlier one: longer runs, more examples, other settings."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from bayespoint.base.validation import Floats
from bayespoint.engine import continuation
from bayespoint.engine.problem import Problem
from bayespoint.engine.settings import SampleSettings
from bayespoint.posterior.posterior import scaled
from bayespoint.results import BilliardResult

Continuation = Callable[[int, Problem, SampleSettings], Mapping[str, Any]]
"""Maps a problem, with its index and the settings of its new run, to the arguments of
:func:`bayespoint.engine.sampling.sample` that use the earlier run."""


@dataclass(frozen=True)
class PreviousFit:
    """The previous fit of a classifier, from which a new one may continue."""

    classes: NDArray[Any]
    index: NDArray[np.intp]
    inputs: Any
    """As the kernel got them; None with kernel="precomputed"."""
    scaler: Any
    setting: tuple[Any, float, tuple[float, float]]
    """Kernel, softness and label noise."""
    results: Sequence[BilliardResult]

    def continuation(
        self,
        classes: NDArray[Any],
        index: NDArray[np.intp],
        raw: Any,
        inputs: Any,
        kernel: Any,
        n_problems: int,
    ) -> Continuation | None:
        """Return how a fit continues whose first examples are the previous ones, otherwise None.

        `raw` are the inputs of the new fit, `inputs` the same as its kernel gets them.
        """
        m = len(self.index)
        if len(self.results) != n_problems:
            return None
        if not np.array_equal(self.classes, classes) or not np.array_equal(self.index, index[:m]):
            return None
        if self.inputs is not None and not _equal(self.inputs, scaled(self.scaler, raw[:m])):
            return None
        same = (
            self.inputs is not None
            and len(index) == m
            and self.setting[0] == kernel
            and _equal(self.inputs, inputs)
        )

        def run(k: int, problem: Problem, new: SampleSettings) -> Mapping[str, Any]:
            old = self.results[k]
            if same and continuation.can_continue(old, problem, new):
                settings = SampleSettings(
                    tol=new.tol, max_bounces=new.max_bounces, max_time=new.max_time
                )
                return {"settings": settings, "continue_from": old, "seed": None}
            return at_center(problem, new, old.center)

        return run


def longer(
    results: Sequence[BilliardResult], more_length: float | None, tol: float | None
) -> Continuation:
    """Return the continuation of runs by `more_length` radians, or to a tolerance."""

    def run(k: int, problem: Problem, new: SampleSettings) -> Mapping[str, Any]:
        length = None if more_length is None else results[k].length + more_length
        settings = SampleSettings(length=length, tol=tol, max_time=new.max_time)
        return {"settings": settings, "continue_from": results[k], "seed": None}

    return run


def at_center(problem: Problem, new: SampleSettings, center: Floats) -> Mapping[str, Any]:
    """Return a start at the center of a run on the first examples, if it is feasible.

    Runs with average="conditional" need none, since they start near the center.
    """
    if new.average == "conditional":
        return {}
    start = np.zeros((*center.shape[:-1], len(problem)))
    start[..., : center.shape[-1]] = center
    inside = not new.opaque or bool((problem.margins(start) > 0).all())
    return {"start": start} if inside else {}


def _equal(a: Any, b: Any) -> bool:
    """Return whether two sets of inputs are the same."""
    if sparse.issparse(a) != sparse.issparse(b) or a.shape != b.shape:
        return False
    return (a != b).nnz == 0 if sparse.issparse(a) else bool(np.array_equal(a, b))
