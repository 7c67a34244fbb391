"""Kernels of inner products of vectors: linear and polynomial."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from scipy import sparse

from bayespoint.base import validation
from bayespoint.kernels.base import Kernel
from bayespoint.kernels.parameters import check_optional, given, within
from bayespoint.kernels.products import inner, pair_of_vectors, squares, vectors
from bayespoint.kernels.protocol import Bounds, Floats, KernelGradient, Other, Parameter, Slopes


@dataclass(frozen=True, repr=False)
class Linear(Kernel):
    """The kernel ``k(x, x') = <x, x'>``.

    Examples
    --------
    >>> import numpy as np
    >>> from bayespoint.kernels import Linear
    >>> Linear()(np.array([[1.0, 2.0], [3.0, 4.0]]))
    array([[ 5., 11.],
           [11., 25.]])
    """

    accepts_sparse = True

    def __call__(self, X: Floats, Y: Other = None) -> Floats:
        return inner(*pair_of_vectors(X, Y))

    def diag(self, X: Floats) -> Floats:
        return squares(vectors("X", X))

    def weighted_slopes(self, X: Any, gram: Floats, by_gram: Floats, Y: Other = None) -> Slopes:
        products = by_gram @ (X if Y is None else Y)
        if sparse.issparse(X):
            return {}, 2 * np.asarray(X.multiply(products).sum(axis=0)).ravel()
        return {}, 2 * np.einsum("ij,ij->j", X, products)

    def diag_slopes(self, X: Any, by_diag: Floats) -> Slopes:
        square = X.multiply(X) if sparse.issparse(X) else X * X
        return {}, 2 * np.asarray(by_diag @ square).ravel()


@dataclass(frozen=True, repr=False)
class Polynomial(Kernel):
    """The kernel ``k(x, x') = (<x, x'> + coef0) ** degree``.

    Parameters
    ----------
    degree : int, default=3
        At least 1.
    coef0 : float, default=None
        At least 0. With 0 the features are the monomials of exactly that degree. None: found, from
        the mean squared length of the inputs on.
    bounds : pair of floats, default=None
        Bounds of a `coef0` that is found. None: the start times exp(-7) and exp(7).
    """

    degree: int = 3
    coef0: float | None = None
    bounds: Bounds | None = field(default=None, kw_only=True, metadata={"until": "coef0"})

    accepts_sparse = True

    def __post_init__(self) -> None:
        degree = validation.integer("degree", self.degree, low=1)
        validation.set_fields(self, degree=degree)
        check_optional(self, "coef0", check=partial(validation.real, low=0.0))

    def __call__(self, X: Floats, Y: Other = None) -> Floats:
        gram = inner(*pair_of_vectors(X, Y))
        gram += given(self, "coef0")
        with np.errstate(over="ignore", invalid="ignore"):  # `evaluate` refuses infinities
            for rows in validation.blocks(len(gram)):
                _raise_to(gram[rows], self.degree)
        return gram

    def diag(self, X: Floats) -> Floats:
        coef0: float = given(self, "coef0")
        return _raise_to(squares(vectors("X", X)) + coef0, self.degree)

    def parameters(self, X: Floats) -> tuple[Parameter, ...]:
        """Return `coef0` if it was left out; its start is the mean squared length of inputs."""
        if self.coef0 is not None:
            return ()
        mean = float(squares(vectors("X", X)).mean())
        start = mean if mean > 0 and math.isfinite(mean) else 1.0
        return (within(self.bounds, "coef0", start, (math.exp(-7), math.exp(7))),)

    def derivatives(self, X: Floats, gram: Floats) -> Mapping[str, Floats]:
        """Return dK / d ln(coef0) = degree coef0 (x . x' + coef0) ** (degree - 1)."""
        coef0: float = given(self, "coef0")
        if coef0 == 0:
            return {}

        def by_coef0() -> Floats:
            base = inner(X, None) + coef0
            power = _raise_to(base, self.degree - 1) if self.degree > 1 else np.ones_like(base)
            power *= self.degree * coef0
            return power

        return KernelGradient({"coef0": by_coef0})


def _raise_to(base: Floats, degree: int) -> Floats:
    """Raise `base` to a power of at least 1 in place, and return it."""
    factor = base.copy()
    for _ in range(degree - 1):
        base *= factor
    return base
