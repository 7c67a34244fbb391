"""Kernels of distances and their slopes agree with SciPy's distances and sums over all pairs."""

from functools import partial

import numpy as np
import pytest
from scipy.spatial import distance

from bayespoint import kernels
from helpers import seed
from kernel_slopes import assert_slopes

RNG = np.random.default_rng(seed(0))
SQRT_5 = 5**0.5
OF_DISTANCES = [
    (kernels.Laplacian, "cityblock", lambda r: np.exp(-r)),
    (partial(kernels.Matern, nu=0.5), "euclidean", lambda r: np.exp(-r)),
    (
        partial(kernels.Matern, nu=1.5),
        "euclidean",
        lambda r: (1 + 3**0.5 * r) * np.exp(-(3**0.5) * r),
    ),
    (
        partial(kernels.Matern, nu=2.5),
        "euclidean",
        lambda r: (1 + SQRT_5 * r + 5 / 3 * r * r) * np.exp(-SQRT_5 * r),
    ),
    (partial(kernels.RationalQuadratic, alpha=0.7), "sqeuclidean", lambda r: (1 + r / 1.4) ** -0.7),
    (kernels.RBF, "sqeuclidean", lambda r: np.exp(-r / 2)),
]


@pytest.mark.parametrize("columns", [1, 7, 8, 9, 33])
@pytest.mark.parametrize(("kind", "metric", "function"), OF_DISTANCES)
def test_values_and_slopes_agree_with_all_pairs(kind, metric, function, columns):
    X, Y = RNG.standard_normal((70, 5)), RNG.standard_normal((columns, 5))
    scales = RNG.uniform(1, 4, 5)
    expected = function(distance.cdist(X / scales, Y / scales, metric))
    np.testing.assert_allclose(kind(scales)(X, Y), expected)
    values = {f"sigma[{k}]": scale for k, scale in enumerate(scales.tolist())}
    assert_slopes(kind(per_feature=True), values, (X, Y), RNG)


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
