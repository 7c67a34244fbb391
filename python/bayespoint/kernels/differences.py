"""The kernel of differences of a function: of pairs of inputs in place of inputs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayespoint.base import validation
from bayespoint.kernels.base import (
    CompoundKernel,
    diagonal,
    evaluate,
    parameters,
    part_with_pullback,
)
from bayespoint.kernels.protocol import Floats, Inputs, Other, Parameter, Pullback, Slopes

PAIR, ALONE = -1.0, -2.0
"""Last columns of rows of a pair outside any set, and of an input alone."""


@dataclass(frozen=True, repr=False)
class Differences(CompoundKernel):
    r"""The covariance of differences :math:`g = f(a) - f(b)` of a function f with a kernel k.

    :math:`k(a, a') + k(b, b') - k(a, b') - k(b, a')`, with the features of a, those of b and a
    number in each row: the set from 0 on out of which a was chosen, `PAIR`, or `ALONE` for f(a).

    Parameters
    ----------
    kernel : kernel object or callable
        The kernel of f.
    shared : float, default=0.0
        Covariance of the noise of pairs of one set.
    """

    kernel: Any
    shared: float = 0.0

    @property
    def _inner(self) -> dict[str, Any]:
        return {"": self.kernel}

    @staticmethod
    def rows(a: Floats, b: Floats | None = None, sets: NDArray[Any] | None = None) -> Floats:
        """Return the rows of pairs of inputs, or of inputs alone."""
        column = np.full(len(a), ALONE if b is None else PAIR) if sets is None else sets
        return np.column_stack([a, np.zeros_like(a) if b is None else b, column])

    @staticmethod
    def ends(X: Inputs) -> tuple[Floats, Floats]:
        """Return the inputs a and b of rows, as the kernel of f takes them."""
        width = (X.shape[1] - 1) // 2
        return np.ascontiguousarray(X[:, :width]), np.ascontiguousarray(X[:, width:-1])

    def items(self, X: Inputs) -> Floats:
        """Return the different inputs in rows."""
        a, b = self.ends(X)
        return np.asarray(np.unique(np.concatenate([a, b[X[:, -1] != ALONE]]), axis=0))

    def __call__(self, X: Inputs, Y: Other = None) -> Floats:
        pairs = self._stacked(X), None if Y is None else self._stacked(Y)
        return self._differences(evaluate(self.kernel, *pairs), X, Y)

    def _stacked(self, X: Inputs) -> Floats:
        return np.concatenate(self.ends(X))

    def _differences(self, values: Floats, X: Inputs, Y: Other) -> Floats:
        """Return covariances of differences from those of all inputs."""
        n, signs, others = len(X), _second(X), _second(X if Y is None else Y)
        m = len(others)
        found = values[:n, :m] + np.multiply.outer(signs, others) * values[n:, m:]
        found -= others * values[:n, m:] + signs[:, None] * values[n:, :m]
        if self.shared:
            left, right = X[:, -1:], (X if Y is None else Y)[:, -1]
            found += self.shared * ((left == right) & (left >= 0))
        return np.asarray(found)

    def diag(self, X: Inputs) -> Floats:
        """Return the (n,) variances of the differences."""
        a, b = self.ends(X)
        second, found = _second(X), diagonal(self.kernel, a)
        found = found + second * diagonal(self.kernel, b) + self.shared * (X[:, -1] >= 0)
        for rows in validation.blocks(len(a), 100):
            found[rows] -= 2 * second[rows] * evaluate(self.kernel, a[rows], b[rows]).diagonal()
        return np.asarray(found)

    def parameters(self, X: Inputs) -> tuple[Parameter, ...]:
        return parameters(self.kernel, self.items(X))

    def with_pullback(self, X: Inputs, Y: Other = None) -> tuple[Floats, Pullback]:
        pairs = self._stacked(X), None if Y is None else self._stacked(Y)
        values, inner = part_with_pullback(self.kernel, *pairs)
        left, right = _second(X)[:, None], _second(X if Y is None else Y)

        def pullback(by_values: Floats) -> Slopes:
            """Return the derivatives by the values of all inputs."""
            by_left = -left * by_values
            above = np.hstack([by_values, -right * by_values])
            return inner(np.vstack([above, np.hstack([by_left, -right * by_left])]))[0], None

        return self._differences(values, X, Y), pullback

    def __repr__(self) -> str:
        return repr(self.kernel)


def _second(X: Inputs) -> Floats:
    """Return 1 for rows of pairs, and 0 for inputs alone."""
    return np.asarray((X[:, -1] != ALONE).astype(np.float64))
