"""The function closest to the vote, against least squares."""

import math

import numpy as np
import pytest
from sklearn.datasets import load_iris

from bayespoint import BayesPointClassifier, BayesPointOrdinalClassifier
from bayespoint.papers.centers import closest_to_vote
from helpers import seed

IRIS = load_iris(return_X_y=True)


@pytest.mark.parametrize("points", [6, 300])
@pytest.mark.parametrize("classes", [2, 3])
def test_no_function_is_closer(points, classes):
    x, y = IRIS[0][::3], np.minimum(IRIS[1][::3], classes - 1)
    rng = np.random.default_rng(seed(0))
    some = IRIS[0][rng.integers(0, 150, points)] + 0.2 * rng.standard_normal((points, 4))
    model = BayesPointClassifier(
        softness=0.1, random_state=seed(0), standardize=False, n_models=1
    ).fit(x, y)
    dual = closest_to_vote(model.models_[0], some)
    assert dual.shape == model.dual_coef_.shape
    k_star = model.kernel_(some, x) + 1
    matrix = model.kernel_(x) + 1 + 0.1 * np.eye(len(x))
    votes, draws = model.posterior_.votes(some), model.billiard_.draws
    h = draws.reshape(-1, *draws.shape[2:]) @ k_star.T
    if classes == 3:
        shares = h.argmax(axis=1)[..., None] == np.arange(3)
        np.testing.assert_allclose(votes, shares.mean(axis=0))
        votes = votes - 1 / 3
    else:
        np.testing.assert_allclose(votes[:, 0], np.sign(h).mean(axis=0))
    # The minimum over the span, by least squares in an orthonormal basis.
    basis = np.linalg.solve(np.linalg.cholesky(matrix), k_star.T).T
    ridge = 1e-8 * (basis**2).sum() / min(basis.shape)
    stacked = np.vstack([basis, math.sqrt(ridge) * np.eye(len(x))])
    for row, vote, w in zip(dual, votes.T, model.dual_coef_, strict=True):
        target = np.concatenate([vote, np.zeros(len(x))])
        best = np.linalg.lstsq(stacked, target, rcond=None)[0]
        np.testing.assert_allclose(k_star @ row, basis @ best, atol=1e-5)
        clear = np.abs(vote) > (0.5 if classes == 2 else 0.3)
        assert np.mean(np.sign(k_star @ row)[clear] == np.sign(vote[clear])) > 0.95
        # Closer than the center of mass, scaled to any length.
        center = k_star @ w
        scale = (center @ vote) / (center @ center)
        distance = np.linalg.norm(k_star @ row - vote)
        assert distance < np.linalg.norm(scale * center - vote)


def test_in_a_small_span():
    rng = np.random.default_rng(seed(0))
    x = rng.standard_normal((40, 3))
    model = BayesPointClassifier(
        "linear", softness=0.0, random_state=seed(0), standardize=False
    ).fit(x, x[:, 0] > 0)
    points = rng.standard_normal((500, 3))
    dual = closest_to_vote(model.models_[0], points)
    basis = np.column_stack([points, np.ones(500)])
    vote = model.posterior_.votes(points)[:, 0]
    best = basis @ np.linalg.lstsq(basis, vote, rcond=None)[0]
    np.testing.assert_allclose((points @ x.T + 1) @ dual[0], best, atol=1e-5)


@pytest.mark.parametrize("classes", [2, 3])
def test_of_far_and_near_points(classes):
    """It scales inversely with the points and keeps its values at them."""
    X, rays = IRIS[0][::5], IRIS[0][1::30]
    labels = np.minimum(IRIS[1][::5], classes - 1)
    settings = {"softness": 0.1, "fit_intercept": False, "standardize": False, "tol": 0.3}
    model = BayesPointClassifier("linear", **settings, random_state=seed(0)).fit(X, labels)
    expected = closest_to_vote(model.models_[0], rays)
    for length in (2.0**-400, 2.0**400):
        found = closest_to_vote(model.models_[0], length * rays)
        np.testing.assert_allclose(found * length, expected, rtol=1e-9)
    with pytest.raises(ValueError, match="X must not be so large"):
        closest_to_vote(model.models_[0], 1e150 * rays)
    with pytest.raises(ValueError, match="X must not be so small"):
        closest_to_vote(model.models_[0], 1e-150 * rays)
    with pytest.raises(ValueError, match=r"X must have shape \(n, 4\)"):
        closest_to_vote(model.models_[0], rays[:, :2])


def test_ordered_classes_have_none():
    X, y = IRIS[0][::5], IRIS[1][::5]
    model = BayesPointOrdinalClassifier("linear", softness=0.1, random_state=seed(0)).fit(X, y)
    with pytest.raises(ValueError, match="ordered classes, whose thresholds are no functions"):
        closest_to_vote(model.models_[0], X)
