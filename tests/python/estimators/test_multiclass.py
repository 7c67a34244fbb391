"""Several classes jointly: all that a classifier of two classes has."""

import numpy as np
import pytest
from scipy import special
from sklearn.base import clone

from bayespoint import BayesPointClassifier, kernels
from bayespoint.estimators import settings
from bayespoint.results import BilliardResult
from helpers import seed

GIVEN = {
    "kernel": kernels.RBF(1.5),
    "softness": 0.3,
    "random_state": seed(0),
    "standardize": False,
}
NAMES = np.array(["ant", "bee", "cat"])


def test_the_tolerance_grows_with_examples_and_classes():
    auto = {
        (100, 2): 0.03,
        (2000, 2): 0.06,
        (500, 3): 0.06,
        (2000, 3): 0.12,
        (8000, 2): 0.1,
        (50, 10): 0.15,
    }
    for (m, n_classes), expected in auto.items():
        assert plan("auto", 1).tolerance(m, n_classes) == pytest.approx(expected)
        assert plan("auto", 4).tolerance(m, n_classes) == pytest.approx(2 * expected)
    assert plan(0.5, 1).tolerance(2000, 10) == 0.5


def plan(tol, n_models):
    given, _ = settings.check(BayesPointClassifier(tol=tol), random_state=0)
    return given.plan(None, n_models, landmarks=False)


def data(m=90, index=0):
    rng = np.random.default_rng(seed(index))
    X = rng.standard_normal((m, 2))
    return X, NAMES[np.digitize(X[:, 0] + 0.5 * rng.standard_normal(m), [-0.5, 0.5])]


X, Y = data()
POINTS = 1.5 * np.random.default_rng(seed(1)).standard_normal((60, 2))


@pytest.fixture(scope="module")
def model():
    return BayesPointClassifier(**GIVEN).fit(X, Y)


def test_one_billiard_and_its_attributes(model):
    assert isinstance(model.billiard_, BilliardResult)
    assert model.billiard_.draws.shape == (4, 100, 3, 90)
    assert model.dual_coef_.shape == (3, 90)
    np.testing.assert_allclose(model.dual_coef_.sum(axis=0), 0.0, atol=1e-12)
    np.testing.assert_allclose(model.intercept_, model.dual_coef_.sum(axis=1))
    assert model.calibration_ == 1.0
    assert isinstance(model.n_iter_, int)
    assert model.n_iter_ == model.billiard_.bounces.max()
    np.testing.assert_array_equal(model.support_, np.flatnonzero(model.billiard_.hits.sum(axis=0)))
    assert model.score(X, Y) > 0.7


def test_decisions_probabilities_and_labels_agree(model):
    far = np.concatenate([POINTS, 100 * POINTS])
    z, p = model.decision_function(far), model.predict_proba(far)
    assert z.shape == p.shape == (120, 3)
    np.testing.assert_allclose(p.sum(axis=1), 1.0, rtol=1e-12)
    np.testing.assert_allclose(special.ndtr(z), p, atol=1e-12)  # without calibration
    np.testing.assert_allclose(model.predict_log_proba(far), np.log(p), atol=1e-9)
    np.testing.assert_array_equal(NAMES[z.argmax(axis=1)], model.predict(far))
    np.testing.assert_array_equal(NAMES[p.argmax(axis=1)], model.predict(far))
    mixture = model.predict_proba(far, method="mixture")
    np.testing.assert_allclose(mixture, p, atol=0.03)
    assert np.abs(mixture - p).max() > 1e-6


def test_sure_predictions_have_logarithms_and_an_order():
    rng = np.random.default_rng(seed(2))
    x = rng.standard_normal((45, 3))
    y = x.argmax(axis=1)
    sure = BayesPointClassifier(
        "linear", softness=0.0, random_state=seed(0), standardize=False, fit_intercept=False
    ).fit(x, y)
    points = np.concatenate([x, 10 * np.eye(3)])
    z, logs = sure.decision_function(points), sure.predict_log_proba(points)
    assert np.isfinite(z).all()
    assert np.isfinite(logs).all()
    np.testing.assert_array_equal(z.argmax(axis=1), sure.predict(points))
    np.testing.assert_array_equal(logs.argmax(axis=1), sure.predict(points))
    np.testing.assert_array_equal(sure.predict(points)[-3:], np.arange(3))
    assert sure.score(x, y) == 1.0


@pytest.mark.long
def test_searched_and_calibrated():
    found = BayesPointClassifier(label_noise=None, random_state=seed(0), n_models=1).fit(X, Y)
    assert found.tuning_ is not None
    assert found.calibration_ != 1.0
    plain = clone(found).set_params(calibration=None).fit(X, Y)
    z = plain.decision_function(POINTS)
    np.testing.assert_allclose(found.decision_function(POINTS), found.calibration_ * z)
    np.testing.assert_array_equal(found.predict(POINTS), plain.predict(POINTS))
    expected = special.ndtr(found.calibration_ * z)
    expected /= expected.sum(axis=1, keepdims=True)
    rate = found.label_noise_[0]
    expected = rate / 2 * (1 - expected) + (1 - rate) * expected
    np.testing.assert_allclose(found.predict_proba(POINTS), expected, rtol=1e-8)
