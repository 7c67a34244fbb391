"""Kernels of weighted features."""

import numpy as np
import pytest

from bayespoint import kernels
from bayespoint.kernels import RBF, Linear, Weighted
from helpers import seed

RNG = np.random.default_rng(seed(0))
X = RNG.normal(size=(25, 3))
WEIGHTS = (0.5, 1.0, 2.0)


def test_kernels_of_users_may_know_their_slopes():
    class Mine:
        def __call__(self, a, b):
            return a @ b.T

        def with_pullback(self, X, Y=None):
            return Linear().with_pullback(X, Y)

    mine, ours = Weighted(Mine(), WEIGHTS), Weighted(Linear(), WEIGHTS)
    for Y in (None, X[:4]):
        by_values = RNG.normal(size=mine(X, Y).shape)
        found, expected = (
            kernels.with_pullback(one, X, Y)[1](by_values)[0] for one in (mine, ours)
        )
        assert found == expected
        assert len(found) == 3
    by_diag = RNG.normal(size=25)
    pullbacks = (kernels.diag_with_pullback(one, X)[1] for one in (mine, ours))
    found, expected = (pullback(by_diag)[0] for pullback in pullbacks)
    assert found == pytest.approx(expected)


def test_parameters_of_weights():
    kernel = Weighted(RBF())
    names = [one.name for one in kernel.parameters(X)]
    assert names == ["kernel.sigma", "weights[0]", "weights[1]", "weights[2]"]
    marks = [(one.role, one.family) for one in (2.0 * kernel).parameters(X)]
    assert marks == [("length", ""), *[("weight", "kernel.weights")] * 3]
    found = kernel.with_values(dict(zip(names, (2.0, *WEIGHTS), strict=True)))
    assert (found.weights, found.kernel) == (WEIGHTS, RBF(2.0))
    np.testing.assert_array_equal(found(X, X[:4]), RBF(2.0)(X * WEIGHTS, X[:4] * WEIGHTS))
    assert repr(found) == "Weighted(RBF(sigma=2.0), weights=(0.5, 1, 2))"
