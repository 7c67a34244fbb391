"""Kernels of weighted features."""

import numpy as np
import pytest

from bayespoint import kernels
from bayespoint.kernels import RBF, Linear, Matern, Weighted
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


def test_weights_multiply_features():
    inner = Matern(sigma=1.5, nu=2.5)
    kernel = Weighted(inner, np.array(WEIGHTS))
    np.testing.assert_array_equal(kernel(X), inner(X * WEIGHTS))
    np.testing.assert_array_equal(kernel(X, X[:4]), inner(X * WEIGHTS, X[:4] * WEIGHTS))
    linear = Weighted(Linear(), WEIGHTS)
    np.testing.assert_allclose(linear.diag(X), linear(X).diagonal())
    assert not kernel.parameters(X)
    assert kernels.evaluate(kernel, X).shape == (25, 25)


def test_parameters_of_weights():
    kernel = Weighted(RBF())
    names = [one.name for one in kernel.parameters(X)]
    assert names == ["kernel.sigma", "weights[0]", "weights[1]", "weights[2]"]
    marks = [(one.role, one.family) for one in (2.0 * kernel).parameters(X)]
    assert marks == [("length", ""), *[("weight", "kernel.weights")] * 3]
    found = kernel.with_values(dict(zip(names, (2.0, *WEIGHTS), strict=True)))
    assert (found.weights, found.kernel) == (WEIGHTS, RBF(2.0))
    assert repr(found) == "Weighted(RBF(sigma=2.0), weights=(0.5, 1, 2))"
    assert repr(kernel) == "Weighted(RBF())"


def test_wrong_weights_are_refused():
    with pytest.raises(ValueError, match="weights must hold one for each of 3 features; got 2"):
        Weighted(RBF(1.0), (1.0, 2.0))(X)
    with pytest.raises(ValueError, match=r"weights\[1\] must be a finite number in"):
        Weighted(RBF(1.0), (1.0, 0.0))
    with pytest.raises(ValueError, match=r"weights of .* must be given outside a fit"):
        Weighted(RBF(1.0))(X)
