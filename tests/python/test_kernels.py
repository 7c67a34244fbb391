"""Kernels against direct formulas; what callables may and may not return."""

import tracemalloc

import numpy as np
import pytest
from sklearn.gaussian_process import kernels as gp
from sklearn.metrics import pairwise

from bayespoint import kernels

RNG = np.random.default_rng(0)
X, Y = RNG.standard_normal((300, 7)), RNG.standard_normal((41, 7))
PAIRS = [
    (kernels.Linear(), lambda a, b: a @ b.T),
    (kernels.Polynomial(), lambda a, b: (a @ b.T + 1) ** 3),
    (kernels.Polynomial(degree=2, coef0=0.5), lambda a, b: (a @ b.T + 0.5) ** 2),
    (kernels.Polynomial(degree=1, coef0=0.0), lambda a, b: a @ b.T),
    (kernels.RBF(1.7), lambda a, b: pairwise.rbf_kernel(a, b, gamma=1 / (2 * 1.7**2))),
]


@pytest.mark.parametrize(("kernel", "formula"), PAIRS, ids=[repr(pair[0]) for pair in PAIRS])
def test_values(kernel, formula):
    np.testing.assert_allclose(kernel(X, Y), formula(X, Y), rtol=1e-12, atol=1e-13)
    gram = kernel(X)
    np.testing.assert_allclose(gram, formula(X, X), rtol=1e-11, atol=1e-13)
    np.testing.assert_array_equal(gram, gram.T)
    np.testing.assert_allclose(gram.diagonal(), kernel.diag(X), rtol=1e-13)
    assert isinstance(kernel, kernels.Kernel)
    assert eval(repr(kernel), vars(kernels)) == kernel


def test_the_gaussian_kernel_does_not_depend_on_the_origin():
    """Nor on how the points are split into blocks, to the last bits."""
    kernel, far = kernels.RBF(2.0), 1e6
    reference = kernel(X, Y)
    np.testing.assert_allclose(kernel(X + far, Y + far), reference, rtol=1e-8)
    pieces = [kernel(X[k : k + 7], Y) for k in range(0, len(X), 7)]
    np.testing.assert_allclose(np.concatenate(pieces), reference, rtol=1e-13)
    assert kernel(X).max() == 1.0


@pytest.mark.parametrize("kernel", [kernels.Linear(), kernels.Polynomial(), kernels.RBF()])
def test_memory_beyond_the_matrix_is_small(kernel):
    points = np.random.default_rng(1).standard_normal((2500, 5))
    tracemalloc.start()
    gram = kernel(points)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1.25 * gram.nbytes


def test_names():
    assert kernels.resolve("linear", X) == kernels.Linear()
    assert kernels.resolve("poly", X) == kernels.Polynomial(degree=3, coef0=1.0)
    assert kernels.resolve("precomputed", X) == "precomputed"
    for scale in (2.0**-600, 2.0**-520, 1.0, 2.0**520, 2.0**1000):
        assert kernels.resolve("rbf", scale * X).sigma == scale * np.sqrt(7 * X.var() / 2)
    scaled = kernels.resolve("rbf", X)
    gamma = 1 / (X.shape[1] * X.var())
    np.testing.assert_allclose(scaled(X, Y), pairwise.rbf_kernel(X, Y, gamma=gamma), rtol=1e-12)
    assert np.isfinite(kernels.resolve("rbf", np.ones((3, 2))).sigma)


@pytest.mark.parametrize(
    "make",
    [
        lambda: kernels.RBF(0.0),
        lambda: kernels.RBF(np.nan),
        lambda: kernels.RBF("wide"),
        lambda: kernels.Polynomial(degree=0),
        lambda: kernels.Polynomial(degree=1.5),
        lambda: kernels.Polynomial(coef0=-1.0),
        lambda: kernels.resolve("gaussian", X),
        lambda: kernels.resolve(3, X),
        lambda: kernels.resolve(kernels.RBF, X),
    ],
)
def test_bad_parameters(make):
    with pytest.raises((ValueError, TypeError), match="must be"):
        make()


def test_callables_are_checked():
    def returning(value):
        return lambda a, b: value

    with pytest.raises(ValueError, match=r"must have shape \(300, 41\); got shape \(41, 300\)"):
        kernels.evaluate(returning(np.ones((41, 300))), X, Y)
    with pytest.raises(ValueError, match=r"kernel\(X, Y\) must be finite"):
        kernels.evaluate(returning(np.full((300, 41), np.nan)), X, Y)
    with pytest.raises(TypeError, match="must hold real numbers"):
        kernels.evaluate(returning(np.ones((300, 41), dtype=complex)), X, Y)
    with pytest.raises(ValueError, match=r"kernel\(X, Y\) must be finite"):
        kernels.evaluate(kernels.Polynomial(degree=9), 1e40 * X)


def test_diagonals_of_callables():
    """From the kernel's own ``diag``, or else from small blocks of its matrix."""
    mixed = gp.RBF(2.0) * gp.DotProduct(1.0)
    expected = mixed.diag(X)
    np.testing.assert_allclose(kernels.diagonal(mixed, X), expected)
    np.testing.assert_allclose(kernels.diagonal(lambda a, b: mixed(a, b), X), expected)

    class Wrong:
        def __call__(self, a, b):
            return mixed(a, b)

        def diag(self, a):
            return np.ones((len(a), 1))

    with pytest.raises(ValueError, match=r"kernel.diag\(X\) must have shape \(300,\)"):
        kernels.diagonal(Wrong(), X)
