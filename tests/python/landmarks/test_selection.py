"""The choice of landmarks among tables with categories."""

import math

import numpy as np

from bayespoint.kernels import Matern, Scaled, Weighted
from bayespoint.landmarks.selection import choose
from helpers import seed


def test_landmarks_of_categories_are_examples():
    rng = np.random.default_rng(seed(0))
    X = np.column_stack([rng.standard_normal(400), 0.5 * rng.integers(0, 5, (400, 2))])
    kernel = Weighted(Scaled(Matern(1.0), 1.0), (0.1, 3.0, 3.0), limits=(math.inf, 0.5, 0.5))
    points = choose(kernel, X, 40, seed(1))
    assert 20 < len(points) <= 40
    assert len(np.unique(points, axis=0)) == len(points)
    assert (points[:, None] == X).all(axis=2).any(axis=1).all()
    # By far the most influential features have 25 combinations.
    assert len(np.unique(points[:, 1:], axis=0)) >= 15
    again = choose(kernel, X, 40, seed(1))
    np.testing.assert_array_equal(points, again)


def test_limits_of_numbers_change_nothing():
    X = np.random.default_rng(seed(0)).standard_normal((300, 2))
    plain, limited = (
        Weighted(Matern(1.0), (1.0, 2.0), limits=limits) for limits in (None, [math.inf] * 2)
    )
    np.testing.assert_array_equal(choose(plain, X, 20, 3), choose(limited, X, 20, 3))
