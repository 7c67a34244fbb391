"""Other scales of numbers."""

import numpy as np
import pytest
from scipy import stats
from sklearn.preprocessing import StandardScaler

from bayespoint.data.warps import RankNormal, Warped, warps
from helpers import seed


def test_scores_are_the_normal_quantiles_of_mean_ranks():
    column = np.array([3.0, 1.0, 1.0, 7.0, 2.0])
    scores = RankNormal.of(column[:, None]).transform(column[:, None])[:, 0]
    ranks = (stats.rankdata(column) - 0.5) / len(column)
    plain = stats.norm.ppf(ranks)
    np.testing.assert_allclose(scores, (plain - plain.mean()) / plain.std(), rtol=1e-12)


def test_scores_between_and_beyond_the_examples():
    X = np.linspace(0.0, 1.0, 5000)[:, None] ** 3
    scale = RankNormal.of(X)
    assert len(scale.values[0]) <= 1000
    new = np.array([[-5.0], [0.0], [0.5], [1.0], [1e300]])
    found = scale.transform(new)[:, 0]
    assert found[0] == found[1]
    assert found[3] == found[4]
    assert found[2] == pytest.approx(stats.norm.ppf(0.5 ** (1 / 3)), abs=0.01)
    np.testing.assert_array_equal(RankNormal.of(np.ones((3, 1))).transform(np.ones((2, 1))), 0.0)


def test_a_warp_comes_after_the_scaler():
    rng = np.random.default_rng(seed(2))
    X = np.column_stack([rng.standard_normal(200), np.exp(2 * rng.standard_normal(200))])
    scaler = StandardScaler().fit(X)
    for warp in warps(scaler.transform(X)[:, [1]]):
        found = Warped(scaler, warp, np.array([1])).transform(X)
        np.testing.assert_array_equal(found[:, 0], scaler.transform(X)[:, 0])
        assert stats.skew(found[:, 1]) < 1.5 < 3 < stats.skew(X[:, 1])
        assert found[:, 1].std() == pytest.approx(1.0, rel=1e-6)
