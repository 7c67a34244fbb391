"""Kernels of inner products of vectors: linear and polynomial."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from bayespoint.base import validation
from bayespoint.kernels.algebra import Base
from bayespoint.kernels.products import inner, pair_of_vectors, squares, vectors
from bayespoint.kernels.protocol import ROWS, Floats, KernelGradient, Parameter


@dataclass(frozen=True)
class Linear(Base):
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

    def __call__(self, X: Floats, Y: Floats | None = None) -> Floats:
        return inner(*pair_of_vectors(X, Y))

    def diag(self, X: Floats) -> Floats:
        return squares(vectors("X", X))


@dataclass(frozen=True)
class Polynomial(Base):
    """The kernel ``k(x, x') = (<x, x'> + coef0) ** degree``.

    Parameters
    ----------
    degree : int, default=3
        At least 1.
    coef0 : float, default=1.0
        At least 0. With 0 the features are the monomials of exactly that degree. A positive value
        can be tuned.
    """

    degree: int = 3
    coef0: float = 1.0

    accepts_sparse = True

    def __post_init__(self) -> None:
        degree = validation.integer("degree", self.degree, low=1)
        validation.set_fields(
            self, degree=degree, coef0=validation.real("coef0", self.coef0, low=0.0)
        )

    def __call__(self, X: Floats, Y: Floats | None = None) -> Floats:
        gram = inner(*pair_of_vectors(X, Y))
        gram += self.coef0
        with np.errstate(over="ignore", invalid="ignore"):  # `evaluate` refuses infinities
            for rows in validation.blocks(len(gram), ROWS):
                _raise_to(gram[rows], self.degree)
        return gram

    def diag(self, X: Floats) -> Floats:
        return _raise_to(squares(vectors("X", X)) + self.coef0, self.degree)

    def parameters(self, X: Floats) -> tuple[Parameter, ...]:
        """Return `coef0` if it is positive; its start is the mean squared length of the inputs."""
        if self.coef0 == 0:
            return ()
        mean = float(squares(X).mean())
        start = mean if mean > 0 and math.isfinite(mean) else 1.0
        return (Parameter("coef0", start * math.exp(-7), start * math.exp(7), start),)

    def derivatives(self, X: Floats, gram: Floats) -> Mapping[str, Floats]:
        """Return dK / d ln(coef0) = degree coef0 (x . x' + coef0) ** (degree - 1)."""
        if self.coef0 == 0:
            return {}

        def by_coef0() -> Floats:
            base = inner(X, None) + self.coef0
            power = _raise_to(base, self.degree - 1) if self.degree > 1 else np.ones_like(base)
            power *= self.degree * self.coef0
            return power

        return KernelGradient({"coef0": by_coef0})


def _raise_to(base: Floats, degree: int) -> Floats:
    """Raise `base` to a power of at least 1 in place, and return it."""
    factor = base.copy()
    for _ in range(degree - 1):
        base *= factor
    return base
