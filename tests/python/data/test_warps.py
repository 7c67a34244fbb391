"""Other scales of numbers."""

import numpy as np
import pytest
from scipy import special, stats
from sklearn.preprocessing import PowerTransformer, StandardScaler

from bayespoint.data.warps import RankNormal, Warped, warps
from helpers import seed

RNG = np.random.default_rng(seed(0))
X = np.column_stack([RNG.lognormal(0.0, 2.0, 200), RNG.integers(0, 5, 200), np.full(200, 3.0)])


def test_scores_are_normal_quantiles_of_mid_ranks():
    scores = RankNormal.of(X).transform(X)
    for k in (0, 1):
        expected = special.ndtri((stats.rankdata(X[:, k]) - 0.5) / 200)
        expected = (expected - expected.mean()) / expected.std()
        np.testing.assert_allclose(scores[:, k], expected, rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(scores[:, 2], 0.0)


def test_values_between_and_beyond_the_examples():
    warp = RankNormal.of(np.array([[0.0], [0.0], [1.0], [4.0]]))
    low, middle, high = warp.scores[0]
    new = np.array([-1e300, 0.0, 0.25, 1.0, 2.5, 4.0, 1e300])
    found = warp.transform(new[:, None])[:, 0]
    between = [low + (middle - low) / 4, middle, (middle + high) / 2]
    np.testing.assert_allclose(found, [low, low, *between, high, high])


def test_many_values_have_a_thousand_knots():
    X = RNG.exponential(size=(5000, 1))
    warp = RankNormal.of(X)
    assert len(warp.values[0]) == len(warp.scores[0]) == 1000
    assert warp.values[0][[0, -1]].tolist() == [X.min(), X.max()]
    expected = stats.zscore(special.ndtri((stats.rankdata(X) - 0.5) / 5000))
    error = warp.transform(X)[:, 0] - expected
    assert np.abs(error[np.abs(expected) < 2.0]).max() < 0.02
    assert np.sqrt((error**2).mean()) < 0.02
    np.testing.assert_allclose(warp.transform(X).std(), 1.0, atol=1e-3)


@pytest.mark.parametrize("k", [0, 1])
def test_warped_inputs(k):
    scaler, places = StandardScaler().fit(X), np.array([0, 2])
    Z = scaler.transform(X)
    warp = warps(Z[:, places])[k]
    assert isinstance(warp, (RankNormal, PowerTransformer)[k])
    warped = Warped(
        scaler, warp, places, ends := np.stack([Z.min(axis=0), Z.max(axis=0)])[:, places]
    )
    found = warped.transform(X)
    np.testing.assert_array_equal(found, warped.again(Z))
    np.testing.assert_array_equal(found[:, 1], Z[:, 1])
    np.testing.assert_array_equal(found[:, places], warp.transform(Z[:, places]))
    np.testing.assert_array_equal(Z, scaler.transform(X))  # not changed
    beyond = warped.transform(np.stack([X[0] - 1e6, X[0] + 1e6]))
    np.testing.assert_array_equal(beyond[:, places], warp.transform(ends))
    np.testing.assert_allclose(found[:, 0].std(), 1.0)
    assert abs(stats.skew(found[:, 0])) < stats.skew(Z[:, 0]) / 3
