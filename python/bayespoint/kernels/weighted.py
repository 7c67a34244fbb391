"""Kernels of inputs whose features have weights."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any

import numpy as np

from bayespoint.base import validation
from bayespoint.base.validation import Floats
from bayespoint.kernels.base import CompoundKernel
from bayespoint.kernels.functions import (
    diagonal,
    evaluate,
    part_diag_with_pullback,
    part_with_pullback,
    summands,
)
from bayespoint.kernels.products import Mixed, Summands, pair_of_vectors, vectors
from bayespoint.kernels.protocol import (
    Bounds,
    ByName,
    Metric,
    Other,
    Parameters,
    Pulled,
    Slopes,
    check_optional,
    given,
    within,
)
from bayespoint.kernels.stationary import scales

_REACH = (math.exp(-5), math.exp(5))  # bounds of a weight
_SPREAD = 0.4
"""Spread of a weight where one setting is found: two of three are between 0.67 and 1.5. On public
tables 0.8 has the same log loss, and twice the differences between seeds."""


@dataclass(frozen=True)
class Weighted(CompoundKernel):
    """A kernel of inputs whose features are multiplied by weights: ``k(w * x, w * x')``.

    The smaller the weight, the less influence a feature has. In a sum of kernels a feature has one
    weight for all parts. Features may be categories, whose levels are all equally far apart.

    Parameters
    ----------
    kernel : kernel object
        The kernel of the weighted inputs; of callables, weights are found by differences.
    weights : array-like of shape (n_features,), default=None
        Positive weights. None: found by :class:`BayesPointClassifier` (automatic relevance
        determination), averaged by `n_models`. With `groups` they are one for each group.
    groups : array-like of int of shape (n_features,), default=None
        The weight of each feature: 0, 1, ..., each for at least one. None: each has its own.
    limits : array-like of shape (n_features,), default=None
        Infinite for numbers, which come first. Positive for categories, whose levels are multiples
        of it: different ones are the limit apart. In inner products a level is its indicator
        vector, of length ``limit / sqrt(2)``. None: all are numbers.
    bounds : pair of floats, default=None
        Bounds of weights that are found. None: exp(-5) and exp(5).

    Examples
    --------
    With a number and a category of three levels:

    >>> from bayespoint.kernels import RBF
    >>> kernel = Weighted(RBF(sigma=1.0), [1.0, 2.0], limits=[np.inf, 1.0])
    >>> kernel(np.array([[0.0, 0.0], [0.0, 1.0], [0.0, 2.0]])).round(4)
    array([[1.    , 0.1353, 0.1353],
           [0.1353, 1.    , 0.1353],
           [0.1353, 0.1353, 1.    ]])
    """

    kernel: Any
    weights: tuple[float, ...] | None = None
    _: KW_ONLY
    groups: tuple[int, ...] | None = None
    limits: tuple[float, ...] | None = None
    bounds: Bounds | None = None

    _until = (("bounds", "weights"),)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_optional(self, "weights", check=scales)
        if isinstance(self.weights, float):
            raise TypeError(f"weights must hold one number for each feature; got {self.weights:g}")
        if self.groups is not None:
            validation.set_fields(self, groups=_groups(self.groups))
            if self.weights is not None and len(self.weights) != len(set(self.groups)):
                raise ValueError(
                    f"weights must hold one for each of {len(set(self.groups))} groups; got "
                    f"{len(self.weights)}"
                )
        if self.limits is not None:
            validation.set_fields(self, limits=_limits(self.limits))
            if not self.accepts_limits:
                raise TypeError(
                    f"limits must be None for {self.kernel!r}, which takes numbers only"
                )
        accepts_limits = self.limits is None and self.accepts_limits
        validation.set_fields(self, accepts_sparse=False, accepts_limits=accepts_limits)

    def __call__(self, X: Floats, Y: Other = None) -> Floats:
        X, Y = pair_of_vectors(X, Y, accepts_sparse=False)
        return evaluate(self.kernel, self._weighted(X), self._weighted(Y))

    def diag(self, X: Floats) -> Floats:
        return diagonal(self.kernel, self._weighted(vectors("X", X, accepts_sparse=False)))

    def _weighted(self, X: Any) -> Any:
        """Return the weighted rows; None stays None."""
        if X is None:
            return None
        each = factors_of(self)
        if X.shape[1] != len(each):
            raise ValueError(
                f"{'weights' if self.groups is None else 'groups'} must hold one for each of "
                f"{X.shape[1]} features; got {len(each)}"
            )
        return self._limited(X) * each

    def _limited(self, X: Any) -> Any:
        limits = self.limits
        if limits is None:
            return X
        if X.shape[1] != len(limits):
            raise ValueError(
                f"limits must hold one for each of {X.shape[1]} features; got {len(limits)}"
            )
        return Mixed(X, np.array(limits)) if math.isfinite(limits[-1]) else X

    def parameters(self, X: Floats) -> Parameters:
        """Return "kernel.<name>" for those of the kernel, then "weights[0]", "weights[1]", ...."""
        X = vectors("X", X, accepts_sparse=False)
        if self.weights is not None:
            return super().parameters(self._weighted(X))
        inner = super().parameters(self._limited(X))
        n = X.shape[1] if self.groups is None else len(set(self.groups))
        return inner + tuple(
            within(
                self.bounds,
                f"weights[{k}]",
                1.0,
                _REACH,
                _SPREAD,
                role="weight",
                family="weights",
            )
            for k in range(n)
        )

    def summands(self, d: int) -> Summands:
        inner = summands(self.kernel, d)
        if any(one.limits for one in inner):  # which would not be multiplied
            return ()
        factors, limits = factors_of(self), tuple(filter(math.isfinite, self.limits or ()))
        return tuple(replace(one, scale=factors * one.scale, limits=limits) for one in inner)

    def metric(self, d: int) -> Metric:
        inner, groups = super().metric(d), self.groups
        return Metric(
            factors_of(self) * inner.scale,
            inner.limits if self.limits is None else np.array(self.limits),
            inner.groups if groups is None else np.array(groups),
        )

    def with_pullback(self, X: Floats, Y: Other = None) -> Pulled:
        values, pullback = part_with_pullback(self.kernel, self._weighted(X), self._weighted(Y))
        return values, lambda by_values: self._named(*pullback(by_values))

    def diag_with_pullback(self, X: Floats) -> Pulled:
        values, pullback = part_diag_with_pullback(self.kernel, self._weighted(X))
        return values, lambda by_diag: self._named(*pullback(by_diag))

    def _named(self, inner: ByName, by_features: Floats | None) -> Slopes:
        """Return the derivatives of a weighted kernel, given those of the kernel."""
        named = {f"kernel.{name}": slope for name, slope in inner.items()}
        if by_features is not None:
            each = by_features if self.groups is None else np.bincount(self.groups, by_features)
            named |= {f"weights[{k}]": slope for k, slope in enumerate(each.tolist())}
        # Weights of inputs outside of this kernel would not multiply the limits.
        return named, by_features if self.limits is None else None

    def __repr__(self) -> str:
        several = {"weights": self.weights, "groups": self.groups, "limits": self.limits}
        shown = [f"{name}=({_first(each)})" for name, each in several.items() if each is not None]
        return f"Weighted({', '.join([repr(self.kernel), *shown])})"


def factors_of(kernel: Weighted) -> Floats:
    """Return the weight of each feature."""
    weights = np.array(given(kernel, "weights"))
    return weights if kernel.groups is None else weights[list(kernel.groups)]


def _first(values: tuple[float, ...]) -> str:
    """Return the first four of several numbers as text."""
    return ", ".join([f"{value:.3g}" for value in values[:4]] + ["..."] * (len(values) > 4))


def _groups(values: Any) -> tuple[int, ...]:
    found = tuple(validation.integer(name, one, low=0) for name, one in _each("groups", values))
    if set(found) != set(range(len(set(found)))):
        raise ValueError(f"groups must hold each of 0 to {max(found)}; got {found!r}")
    return found


def _limits(values: Any) -> tuple[float, ...]:
    found = tuple(
        math.inf if isinstance(one, float) and one == math.inf else validation.positive(name, one)
        for name, one in _each("limits", values)
    )
    if any(map(math.isfinite, found[: found.count(math.inf)])):
        raise ValueError(f"limits must be infinite for numbers, which come first; got {found!r}")
    return found


def _each(name: str, values: Any) -> Iterator[tuple[str, Any]]:
    """Return the values of all features, of which there are some, and the names of these."""
    if isinstance(values, str) or not isinstance(values, (Sequence, np.ndarray)) or not len(values):
        raise TypeError(f"{name} must hold one number for each feature; got {values!r}")
    return ((f"{name}[{k}]", value) for k, value in enumerate(values))
