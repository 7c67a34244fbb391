"""The kernel of differences of a function: of pairs of inputs in place of inputs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from bayespoint.base import validation
from bayespoint.base.validation import Floats
from bayespoint.kernels.base import CompoundKernel
from bayespoint.kernels.functions import parameters, part_with_pullback
from bayespoint.kernels.protocol import (
    Inputs,
    Metric,
    Other,
    Parameters,
    Pulled,
    Slopes,
    plain_metric,
)

PAIR, ALONE = -1.0, -2.0  # last columns of rows of a pair, and of an input alone


@dataclass(frozen=True, repr=False)
class Differences(CompoundKernel):
    r"""The covariance of differences :math:`f(a) - f(b)` of a function f with a kernel k.

    :math:`k(a, a') + k(b, b') - k(a, b') - k(b, a')`, with the features of a, those of b and a
    number in each row: `PAIR`, or `ALONE` for f(a).

    Parameters
    ----------
    kernel : kernel object or callable
        The kernel of f.
    """

    kernel: Any

    _prefix = ""

    @staticmethod
    def rows(a: Floats, b: Floats | None = None) -> Floats:
        """Return the rows of pairs of inputs, or of inputs alone."""
        kind = np.full(len(a), ALONE if b is None else PAIR)
        return np.column_stack([a, np.zeros_like(a) if b is None else b, kind])

    @staticmethod
    def between(first: Floats, second: Floats) -> Floats:
        """Return the rows of pairs, from those of inputs alone."""
        width = (first.shape[1] - 1) // 2
        return Differences.rows(first[:, :width], second[:, :width])

    def items(self, X: Inputs) -> Floats:
        """Return the different inputs in rows."""
        there = np.concatenate([np.full(len(X), True), X[:, -1] != ALONE])
        return np.unique(_ends(X)[there], axis=0)

    def __call__(self, X: Inputs, Y: Other = None) -> Floats:
        return self.with_pullback(X, Y)[0]

    def diag(self, X: Inputs) -> Floats:
        """Return the (n,) variances of the differences."""
        parts = (self(X[rows]).diagonal() for rows in validation.blocks(len(X), 32))
        return np.concatenate([*parts])

    def metric(self, d: int) -> Metric:
        """Return plain distances: rows of pairs have no features."""
        return plain_metric(d)

    def parameters(self, X: Inputs) -> Parameters:
        return parameters(self.kernel, self.items(X))

    def with_pullback(self, X: Inputs, Y: Other = None) -> Pulled:
        other = X if Y is None else Y
        values, inner = part_with_pullback(self.kernel, _ends(X), None if Y is None else _ends(Y))
        left, right, n, m = _signs(X)[:, None], _signs(other), len(X), len(other)
        found = values[:n, :m] + left * right * values[n:, m:]
        found += right * values[:n, m:] + left * values[n:, :m]

        def pullback(by: Floats) -> Slopes:
            """Return the derivatives by the values of all inputs."""
            return inner(np.block([[by, right * by], [left * by, left * right * by]]))[0], None

        return found, pullback

    def __repr__(self) -> str:
        return repr(self.kernel)


def _ends(X: Inputs) -> Floats:
    """Return the inputs a of all rows, and then the inputs b."""
    width = (X.shape[1] - 1) // 2
    return np.concatenate([X[:, :width], X[:, width:-1]])


def _signs(X: Inputs) -> Floats:
    """Return the signs of f(b): 0 where it is not there."""
    return np.where(X[:, -1] == ALONE, 0.0, -1.0)
