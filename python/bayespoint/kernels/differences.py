"""The kernel of differences of a function: of pairs of inputs in place of inputs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from bayespoint.base import validation
from bayespoint.base.validation import Floats, Indices
from bayespoint.kernels.base import CompoundKernel
from bayespoint.kernels.functions import diagonal, evaluate, paired, parameters, part_with_pullback
from bayespoint.kernels.protocol import (
    Inputs,
    Metric,
    Other,
    Parameters,
    Pulled,
    Slopes,
    plain_metric,
)

_DENSE = 64  # values of a kernel for each pair, above which they are computed pair by pair

PAIR, ALONE = -1.0, -2.0  # last columns of rows of a pair, and of an input alone


@dataclass(frozen=True)
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
        return _distinct(_ends(X)[there])[0]

    def __call__(self, X: Inputs, Y: Other = None) -> Floats:
        if Y is None:
            return self.with_pullback(X)[0]
        # Many comparisons are of few items.
        (items, place), (others, other) = _distinct(_ends(X)), _distinct(_ends(Y))
        values = evaluate(self.kernel, items, others)
        first, second = np.split(values[:, other], 2, axis=1)
        values = first + _signs(Y) * second
        first, second = np.split(values[place], 2)
        return first + _signs(X)[:, None] * second

    def diag(self, X: Inputs) -> Floats:
        """Return the (n,) variances of the differences."""
        first, second = np.split(_ends(X), 2)
        (items, place), (others, other) = _distinct(first), _distinct(second)
        if len(items) * len(others) <= _DENSE * len(X):
            across = evaluate(self.kernel, items, others)[place, other]
        else:
            across = paired(self.kernel, first, second)
        own, signs = diagonal(self.kernel, items)[place], _signs(X)
        own += signs**2 * diagonal(self.kernel, others)[other]
        found = np.maximum(own + 2 * signs * across, 0.0)
        return np.where((signs < 0) & (first == second).all(axis=1), 0.0, found)

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


def _distinct(inputs: Floats) -> tuple[Floats, Indices]:
    """Return the different ones of inputs, and the place of each among them."""
    # Sums of multiples are sorted far faster than rows, and hardly ever equal for different ones.
    rng, key = np.random.default_rng(0), np.zeros(len(inputs))
    with validation.overflowing():
        for column in inputs.T:
            key += rng.random() * column
    _, first, place = np.unique(key, return_index=True, return_inverse=True)
    if np.array_equal(inputs[first][place], inputs):
        return inputs[first], place
    different, place = np.unique(inputs, axis=0, return_inverse=True)
    return different, place.reshape(-1)


def _ends(X: Inputs) -> Floats:
    """Return the inputs a of all rows, and then the inputs b."""
    width = (X.shape[1] - 1) // 2
    return np.concatenate([X[:, :width], X[:, width:-1]])


def _signs(X: Inputs) -> Floats:
    """Return the signs of f(b): 0 where it is not there."""
    return np.where(X[:, -1] == ALONE, 0.0, -1.0)
