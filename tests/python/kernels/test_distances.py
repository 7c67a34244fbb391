"""Kernels of distances and their slopes agree with SciPy's distances and sums over all pairs."""

import numpy as np
import pytest
from scipy.spatial import distance

from bayespoint import kernels
from helpers import seed

RNG = np.random.default_rng(seed(0))
SQRT_5 = 5**0.5
OF_DISTANCES = [
    (kernels.Laplacian, "cityblock", lambda r: np.exp(-r)),
    (lambda s: kernels.Matern(s, nu=0.5), "euclidean", lambda r: np.exp(-r)),
    (
        lambda s: kernels.Matern(s, nu=1.5),
        "euclidean",
        lambda r: (1 + 3**0.5 * r) * np.exp(-(3**0.5) * r),
    ),
    (
        lambda s: kernels.Matern(s, nu=2.5),
        "euclidean",
        lambda r: (1 + SQRT_5 * r + 5 / 3 * r * r) * np.exp(-SQRT_5 * r),
    ),
    (lambda s: kernels.RationalQuadratic(s, 0.7), "sqeuclidean", lambda r: (1 + r / 1.4) ** -0.7),
    (kernels.RBF, "sqeuclidean", lambda r: np.exp(-r / 2)),
]


@pytest.mark.parametrize("columns", [1, 7, 8, 9, 33])
@pytest.mark.parametrize(("kind", "metric", "function"), OF_DISTANCES)
def test_values_and_slopes_agree_with_all_pairs(kind, metric, function, columns):
    rows, d = 70, 5
    X, Y = RNG.standard_normal((rows, d)), RNG.standard_normal((columns, d))
    scales, by_gram = RNG.uniform(1, 4, d), RNG.standard_normal((rows, columns))
    kernel = kind(scales)
    gram, pullback = kernel.with_pullback(X, Y)
    np.testing.assert_array_equal(gram, kernel(X, Y))
    np.testing.assert_allclose(gram, function(distance.cdist(X / scales, Y / scales, metric)))
    known, each = pullback(by_gram)
    step = 1e-6
    for k in range(d):
        higher, lower = ((s * np.eye(d)[k] + 1) * scales for s in (step, -step))
        slope = np.vdot(by_gram, kind(higher)(X, Y) - kind(lower)(X, Y)) / (2 * step)
        assert known[f"sigma[{k}]"] == pytest.approx(slope, rel=1e-5, abs=1e-6)
        assert each[k] == pytest.approx(-slope, rel=1e-5, abs=1e-6)


@pytest.mark.parametrize(("kind", "metric", "function"), OF_DISTANCES)
def test_matrices_of_one_set_are_symmetric(kind, metric, function):
    for n in (1, 7, 64, 130):
        X = RNG.standard_normal((n, 3))
        gram = kind(1.5)(X)
        assert (gram == gram.T).all()
        assert (gram.diagonal() == 1).all()
        np.testing.assert_allclose(gram, function(distance.cdist(X / 1.5, X / 1.5, metric)))


def test_close_and_far_points_keep_their_digits():
    X = 1e8 + np.array([[0.0, 0.0], [1.0, 2.0]])
    for kind, metric, function in OF_DISTANCES[:-1]:
        expected = function(distance.cdist(X, X, metric))
        np.testing.assert_allclose(kind(1.0)(X), expected, rtol=1e-14)
        far = kind(1.0)(X, [[1e150, -1e150]])
        np.testing.assert_allclose(far, function(distance.cdist(X, [[1e150, -1e150]], metric)))
