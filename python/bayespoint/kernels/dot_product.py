"""Kernels of inner products of vectors: linear and polynomial."""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass
from functools import partial
from typing import Any

import numpy as np
from scipy import sparse

from bayespoint.base import validation
from bayespoint.base.validation import Floats
from bayespoint.kernels.base import Kernel
from bayespoint.kernels.products import (
    Mixed,
    Summand,
    Summands,
    inner,
    pair_of_vectors,
    squared,
    squares,
    sums_of_differences,
    vectors,
)
from bayespoint.kernels.protocol import (
    Bounds,
    Other,
    Parameters,
    Pulled,
    Slopes,
    check_optional,
    given,
    within,
)


@dataclass(frozen=True, repr=False)
class Linear(Kernel):
    """The kernel ``k(x, x') = <x, x'>``."""

    accepts_sparse = True
    accepts_limits = True

    def __call__(self, X: Floats, Y: Other = None) -> Floats:
        return inner(*pair_of_vectors(X, Y))

    def diag(self, X: Floats) -> Floats:
        return squares(vectors("X", X))

    def summands(self, d: int) -> Summands:
        return (Summand("product", 1.0, np.ones(d)),)

    def with_pullback(self, X: Any, Y: Other = None) -> Pulled:
        return inner(X, Y), lambda by: ({}, _by_weights(X, Y, by))

    def diag_with_pullback(self, X: Any) -> Pulled:
        square = squared(X)
        return squares(X), lambda by: ({}, 2 * np.asarray(by @ square).ravel())


@dataclass(frozen=True, repr=False)
class Polynomial(Kernel):
    """The kernel ``k(x, x') = (<x, x'> + coef0) ** degree``.

    Parameters
    ----------
    degree : int, default=3
        At least 1.
    coef0 : float, default=None
        At least 0, for monomials of that degree. None: found, from the mean squared length on.
    bounds : pair of floats, default=None
        Bounds of a `coef0` that is found. None: the start times exp(-7) and exp(7).
    """

    degree: int = 3
    coef0: float | None = None
    _: KW_ONLY
    bounds: Bounds | None = None
    _until = (("bounds", "coef0"),)

    accepts_sparse = True
    accepts_limits = True

    def __post_init__(self) -> None:
        degree = validation.integer("degree", self.degree, low=1)
        validation.set_fields(self, degree=degree)
        check_optional(self, "coef0", check=partial(validation.real, low=0.0))

    def __call__(self, X: Floats, Y: Other = None) -> Floats:
        gram = inner(*pair_of_vectors(X, Y))
        gram += given(self, "coef0")
        with validation.overflowing():  # `evaluate` refuses infinities
            for rows in validation.blocks(len(gram)):
                _raise_to(gram[rows], self.degree)
        return gram

    def diag(self, X: Floats) -> Floats:
        coef0: float = given(self, "coef0")
        return _raise_to(squares(vectors("X", X)) + coef0, self.degree)

    def parameters(self, X: Floats) -> Parameters:
        """Return `coef0` if it was left out; its start is the mean squared length of inputs."""
        if self.coef0 is not None:
            return ()
        mean = float(squares(vectors("X", X)).mean())
        start = mean if mean > 0 and math.isfinite(mean) else 1.0
        return (within(self.bounds, "coef0", start),)

    def with_pullback(self, X: Any, Y: Other = None) -> Pulled:
        coef0: float = given(self, "coef0")
        base = inner(X, Y)
        base += coef0

        def pullback(by_values: Floats) -> Slopes:
            by_base = self.degree * by_values
            if self.degree > 1:
                by_base *= _raise_to(base.copy(), self.degree - 1)
            return {"coef0": coef0 * float(by_base.sum())}, _by_weights(X, Y, by_base)

        return _raise_to(base.copy(), self.degree), pullback


def _by_weights(X: Any, Y: Any | None, by_products: Floats) -> Floats | None:
    """Return the derivatives by log weights, given those by products; None for sparse rows."""
    other = X if Y is None else Y
    if sparse.issparse(X) or sparse.issparse(other):
        return None
    is_mixed = isinstance(X, Mixed)
    left, right = (X.numbers, other.numbers) if is_mixed else (X, other)
    slopes = 2 * np.einsum("ij,ij->j", by_products.T @ left, right)
    if not is_mixed:
        return slopes
    left, right = X.categories, other.categories
    apart = sums_of_differences(left, right, by_products, np.ones_like(by_products))
    return np.append(slopes, left.limits**2 * by_products.sum() - apart)


def _raise_to(base: Floats, degree: int) -> Floats:
    """Raise `base` to a power of at least 1 in place, and return it."""
    factor = base.copy()
    for _ in range(degree - 1):
        base *= factor
    return base
