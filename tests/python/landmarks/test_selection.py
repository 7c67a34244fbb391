"""The choice of landmarks in the metric of a kernel, also among tables with categories."""

import math
from dataclasses import replace

import numpy as np
from sklearn.gaussian_process import kernels as gp

from bayespoint import kernels
from bayespoint.kernels import RBF, Linear, Matern, Scaled, Weighted
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


def test_the_metric_of_kernels():
    weighted = Weighted(RBF((2.0, 4.0, 0.5)), (3.0, 5.0), groups=(0, 0, 1), limits=(np.inf, 1, 2))
    for kernel in (weighted, 2.0 * weighted, weighted + Linear(), kernels.normalize(weighted)):
        found = kernels.metric(kernel, 3)
        np.testing.assert_array_equal(found.scale, [1.5, 0.75, 10.0])
        np.testing.assert_array_equal(found.limits, [np.inf, 1.0, 2.0])
        np.testing.assert_array_equal(found.groups, [0, 0, 1])
    for kernel in (RBF(2.0), RBF(), Linear(), len, gp.PairwiseKernel(metric=len)):
        plain = kernels.metric(kernel, 2)
        np.testing.assert_array_equal(plain.scale, [1.0, 1.0])
        np.testing.assert_array_equal(plain.limits, [np.inf, np.inf])
        np.testing.assert_array_equal(plain.groups, [0, 1])


def test_landmarks_follow_the_metric_of_a_kernel_of_a_user():
    class Stretched(kernels.Kernel):
        def metric(self, d):
            return replace(super().metric(d), scale=np.array([0.1, 30.0]))

    X = np.random.default_rng(seed(3)).standard_normal((200, 2))
    expected = choose(Weighted(RBF(1.0), (0.1, 30.0)), X, 12, 0)
    np.testing.assert_array_equal(choose(Stretched(), X, 12, 0), expected)
    assert not np.array_equal(choose(RBF(1.0), X, 12, 0), expected)
