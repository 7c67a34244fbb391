"""The function closest to the vote, against least squares."""

import math

import numpy as np
import pytest
from scipy import optimize
from sklearn.datasets import load_iris

from bayespoint import BayesPointClassifier, BayesPointOrdinalClassifier, VersionSpace
from bayespoint.datasets import make_teacher
from bayespoint.papers.centers import closest_to_vote, largest_ellipsoid
from bayespoint.papers.ellipsoid import inscribed_ellipsoid
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


def test_the_largest_ellipsoid_is_johns():
    """Weights at the walls that it touches make the sum of n zero and of n n^T the identity."""
    rng = np.random.default_rng(seed(3))
    for d, m in ((2, 5), (5, 40), (12, 200)):
        normals, offsets = rng.standard_normal((m, d)), rng.uniform(0.5, 2, m)
        normals[0] = -normals[1:].sum(axis=0)  # bounded
        center, square = inscribed_ellipsoid(normals, offsets)
        reach = np.sqrt(((normals @ square) * normals).sum(axis=1))
        slack = (offsets - normals @ center - reach) / reach
        assert slack.min() > -1e-9
        touched = normals[slack < 1e-6] @ np.linalg.cholesky(square)
        touched /= np.linalg.norm(touched, axis=1)[:, None]
        pairs = (touched[:, :, None] * touched[:, None, :]).reshape(len(touched), -1)
        target = np.append(np.eye(d).ravel(), np.zeros(d))
        assert optimize.nnls(np.hstack([pairs, touched]).T, target)[1] < 1e-5


def test_center_of_the_largest_ellipsoid():
    """It depends on neither the lengths of the examples nor their coordinates."""
    rng = np.random.default_rng(seed(4))
    X, y = make_teacher(60, 4, random_state=seed(4))
    w = largest_ellipsoid(VersionSpace(X @ X.T, y)) @ X
    assert np.linalg.norm(w) == pytest.approx(1)
    assert (y * (X @ w) > 0).all()
    longer = X * rng.uniform(0.5, 2, (60, 1))
    again = largest_ellipsoid(VersionSpace(longer @ longer.T, y, softness=1e-14)) @ longer
    np.testing.assert_allclose(again, w, atol=1e-6)
    two = np.array([[1, 0, 1], [-1, 0, 1], [0, 0.6, 0.8]])  # two touch the ball, and bound no plane
    with pytest.raises(ValueError, match="its 3 examples do not enclose it in 3 dimensions"):
        largest_ellipsoid(VersionSpace(two @ two.T, [1, 1, 1]))
