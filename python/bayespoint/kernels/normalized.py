"""Kernels whose feature vectors have length 1."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from bayespoint.base import validation
from bayespoint.base.validation import Floats
from bayespoint.kernels.base import CompoundKernel, Kernel, Scaled
from bayespoint.kernels.functions import (
    diagonal,
    evaluate,
    part_diag_with_pullback,
    part_with_pullback,
)
from bayespoint.kernels.protocol import AnyKernel, Inputs, Other, Pulled, Slopes, added


@dataclass(frozen=True)
class Normalized(CompoundKernel):
    """The kernel of `normalize`.

    Parameters
    ----------
    kernel : kernel object or callable
        The kernel that is normalized.
    """

    kernel: Any

    _prefix = ""

    def __call__(self, X: Inputs, Y: Other = None) -> Floats:
        return self._with_lengths(evaluate(self.kernel, X, Y), X, Y)[0]

    def _with_lengths(self, products: Floats, X: Inputs, Y: Other) -> tuple[Floats, Floats, Floats]:
        """Return inner products divided by lengths, and the inverse lengths of both inputs."""
        cosines = np.array(products, dtype=np.float64)
        left = self._inverse_lengths(X)
        right = left if Y is None else self._inverse_lengths(Y)
        for rows in validation.blocks(len(cosines)):
            cosines[rows] *= np.outer(left[rows], right)
        if Y is None:
            np.fill_diagonal(cosines, left > 0)
        return cosines, left, right

    def diag(self, X: Inputs) -> Floats:
        """Return the (n,) values ``k(x, x)``: ones, or zero where the kernel has zero."""
        return (self._inverse_lengths(X) > 0).astype(np.float64)

    def _inverse_lengths(self, X: Inputs) -> Floats:
        squares = diagonal(self.kernel, X)
        if not (squares >= 0).all():
            i = int(np.argmin(squares >= 0))
            raise ValueError(
                f"a kernel must be at least 0 on the diagonal to be normalized; got "
                f"{float(squares[i])!r} at input {i}"
            )
        roots = np.sqrt(squares)
        return np.divide(1.0, roots, out=np.zeros_like(roots), where=roots > 0)

    def with_pullback(self, X: Inputs, Y: Other = None) -> Pulled:
        products, inner = part_with_pullback(self.kernel, X, Y)
        values, left, right = self._with_lengths(products, X, Y)

        def pullback(by_values: Floats) -> Slopes:
            """Return the derivatives by the inner products, and by the squared lengths."""
            by_lengths = by_values * values
            by_left, by_right = (
                by_lengths.sum(axis=k) * inverse**2 / -2 for k, inverse in ((1, left), (0, right))
            )
            return added(
                (
                    inner(by_values * np.outer(left, right)),
                    part_diag_with_pullback(self.kernel, X)[1](by_left),
                    part_diag_with_pullback(self.kernel, X if Y is None else Y)[1](by_right),
                )
            )

        return values, pullback

    def __repr__(self) -> str:
        return f"normalize({self.kernel!r})"


def normalize(kernel: AnyKernel) -> Kernel:
    """Return the kernel ``k(x, x') / sqrt(k(x, x) k(x', x'))``, with feature vectors of length 1.

    Version space does not change, since planes do not depend on the lengths of their normals.
    Updates of perceptrons, maximal margins and softness do. Where ``k(x, x)`` is 0 all are 0.

    Parameters
    ----------
    kernel : kernel object or callable
        Finite and at least 0 on the diagonal.

    Returns
    -------
    Normalized
        The kernel, without factors, which cancel.
    """
    while isinstance(kernel, (Normalized, Scaled)):
        kernel = kernel.kernel
    return Normalized(kernel)
