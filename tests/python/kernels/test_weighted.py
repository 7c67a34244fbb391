"""Kernels of weighted features, and slopes of a function of the kernel matrix."""

import numpy as np
import pytest

from bayespoint import kernels
from bayespoint.kernels import RBF, Constant, Laplacian, Linear, Matern, RationalQuadratic, Weighted
from helpers import seed

RNG = np.random.default_rng(seed(0))
X = RNG.normal(size=(25, 3))
R = RNG.normal(size=(25, 25))
R += R.T
WEIGHTS = (0.5, 1.0, 2.0)
INNER = [
    kernels.Scaled(Matern(nu=2.5)) + kernels.Scaled(0.3 * Linear()),
    kernels.Scaled(Laplacian()) + Constant(),
    RBF(),
    RationalQuadratic(),
    2.0 * Matern(nu=1.5, per_feature=True) + Linear(),
]


@pytest.mark.parametrize("inner", INNER, ids=repr)
def test_slopes_are_those_of_differences(inner):
    kernel = Weighted(inner)
    declared = kernel.parameters(X)
    values = {one.name: 1.3 * one.start for one in declared}
    found = kernels.slopes(kernel.with_values(values), X, kernel.with_values(values)(X), R)
    assert set(found) >= set(values)
    for name in values:
        ahead, behind = (
            (R * kernel.with_values({**values, name: values[name] * np.exp(h)})(X)).sum()
            for h in (1e-4, -1e-4)
        )
        assert found[name] == pytest.approx((ahead - behind) / 2e-4, rel=1e-5, abs=1e-5)


def test_kernels_of_users_may_know_their_slopes():
    class Mine:
        def __call__(self, a, b):
            return a @ b.T

        def weighted_slopes(self, X, gram, by_gram):
            return Linear().weighted_slopes(X, gram, by_gram)

    mine, ours = Weighted(Mine(), WEIGHTS), Weighted(Linear(), WEIGHTS)
    assert mine.slopes(X, ours(X), R) == ours.slopes(X, ours(X), R)


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
    polynomial = Weighted(kernels.Polynomial(2, coef0=1.0), WEIGHTS)
    assert polynomial.weighted_slopes(X, polynomial(X), R) is None
    assert set(polynomial.slopes(X, polynomial(X), R)) == {"kernel.coef0"}
