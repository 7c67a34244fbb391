"""Kernels whose feature vectors have length 1."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from bayespoint.base import validation
from bayespoint.kernels.base import CompoundKernel, Kernel, Scaled, derivatives, diagonal, evaluate
from bayespoint.kernels.protocol import Floats, Inputs, KernelGradient, Other, deferred


@dataclass(frozen=True, repr=False)
class Normalized(CompoundKernel):
    """The kernel of `normalize`.

    Parameters
    ----------
    kernel : kernel object or callable
        The kernel that is normalized.
    """

    kernel: Any

    @property
    def _inner(self) -> dict[str, Any]:
        return {"": self.kernel}

    def __call__(self, X: Inputs, Y: Other = None) -> Floats:
        gram = np.array(evaluate(self.kernel, X, Y), dtype=np.float64)
        left = self._inverse_lengths(X)
        right = left if Y is None else self._inverse_lengths(Y)
        for rows in validation.blocks(len(gram)):
            gram[rows] *= np.outer(left[rows], right)
        if Y is None:
            np.fill_diagonal(gram, left > 0)
        return gram

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

    def derivatives(self, X: Inputs, gram: Floats) -> Mapping[str, Floats]:
        """Return the scaled derivatives minus half the matrix times those of the log diagonal."""
        gradient = derivatives(self.kernel, X, evaluate(self.kernel, X))
        inverse = self._inverse_lengths(X)

        def finish(derivative: Floats) -> Floats:
            scaled = derivative * inverse[:, None] * inverse
            half = scaled.diagonal() / 2
            scaled -= gram * np.add.outer(half, half)
            return scaled

        return KernelGradient(deferred(gradient, finish))

    def __repr__(self) -> str:
        return f"normalize({self.kernel!r})"


def normalize(kernel: Callable[..., Any]) -> Kernel:
    """Return the kernel ``k(x, x') / sqrt(k(x, x) k(x', x'))``, with feature vectors of length 1.

    Version space does not change, since planes do not depend on the lengths of their normals.
    Perceptron updates, the maximal margin and the effect of softness do change. Where ``k(x, x)``
    is 0 all values are 0.

    Parameters
    ----------
    kernel : kernel object or callable
        Finite and at least 0 on the diagonal.

    Returns
    -------
    Normalized
        The kernel, without factors, which cancel.

    Examples
    --------
    >>> import numpy as np
    >>> from bayespoint.kernels import Linear, normalize
    >>> normalize(Linear())(np.array([[1.0, 0.0], [2.0, 2.0]])).round(4)
    array([[1.    , 0.7071],
           [0.7071, 1.    ]])
    """
    while isinstance(kernel, (Normalized, Scaled)):
        kernel = kernel.kernel
    return Normalized(kernel)
