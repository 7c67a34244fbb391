"""Means and variances of several models with the same points, in one pass and in singles."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from bayespoint import _core
from bayespoint.base.validation import Floats, Singles
from bayespoint.kernels.functions import summands
from bayespoint.kernels.products import Summand, Summands

Predictor = _core.Predictor
"""The compiled predictions of some models."""


class Coefficients(NamedTuple):
    """What the predictions of a model are made of, with its kernel as a sum."""

    parts: Summands
    offset: float  # constant that is added to all kernel values
    softness: float  # variance of the noise
    center: Floats  # (m,) coefficients of the mean function
    span: Singles  # (m, r) directions P in which kernel values k are largest, r a multiple of 6
    form: Singles  # (m + r, m + r) upper triangle, its quadratic form that of (k - P a, P^T k)


def parts_of(kernel: Any, d: int) -> Summands:
    """Return a kernel of rows with d features as a sum; empty if `predictor` takes none such."""
    parts = summands(kernel, d)
    measures = {part.measure for part in parts}
    # One sum of differences serves each measure.
    return parts if len(measures) == len(parts) and len(_limits(parts)) == 1 else ()


def predictor(points: Floats, models: Sequence[Coefficients]) -> Predictor | None:
    """Return the compiled predictions; None if the models have other categories."""
    limits = _limits([part for model in models for part in model.parts])
    if len(limits) != 1:
        return None
    return Predictor(points, limits.pop(), models)


def _limits(parts: Sequence[Summand]) -> set[tuple[float, ...]]:
    return {part.limits for part in parts}
