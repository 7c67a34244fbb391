"""The factor on decision values, and the leave-one-out predictions that determine it."""

import numpy as np
import pytest
from scipy import special

from bayespoint import BayesPointClassifier
from bayespoint.base.linalg import factorize
from bayespoint.kernels import RBF
from bayespoint.posterior import calibration
from helpers import seed


def problem(m=60, index=0, noise=0.5):
    rng = np.random.default_rng(seed(index))
    X = rng.normal(size=(m, 2))
    y = np.where(X[:, 0] + np.sin(2 * X[:, 1]) + noise * rng.normal(size=m) > 0, 1, -1)
    return X, y


def predicted(model, y, X):
    """Return the leave-one-out decision values of a fitted classifier, times the labels."""
    m = len(y)
    gram = model.kernel_(X)
    softness = np.full(m, model.softness_)
    found = calibration.LeaveOneOutPredictions(
        gram, 1.0, softness, model.billiard_, y.astype(np.int8), model.label_noise_, 0
    )
    return found.values(factorize(gram, 1.0, softness).explained(np.eye(m)))


@pytest.mark.long
@pytest.mark.parametrize("noise", [0.0, 0.1, (0.05, 0.2)])
def test_leave_one_out_is_what_a_fit_without_the_example_says(noise):
    X, y = problem(14, index=2)
    settings = {
        "softness": 0.4,
        "label_noise": noise,
        "n_draws": 4000,
        "tol": 0.01,
        "random_state": seed(0),
        "standardize": False,
    }
    model = BayesPointClassifier(RBF(1.0), **settings).fit(X, y)
    z = predicted(model, y, X)
    alone = np.empty(len(y))
    for i in range(len(y)):
        others = np.arange(len(y)) != i
        one = BayesPointClassifier(RBF(1.0), **settings).fit(X[others], y[others])
        seen = one.predict_proba(X[[i]], method="mixture")[0, int(y[i] > 0)]
        floor = model.label_noise_[0 if y[i] > 0 else 1]
        alone[i] = (seen - floor) / (1 - sum(model.label_noise_))
    np.testing.assert_allclose(special.ndtr(z), alone, atol=0.02)
    # They differ from the predictions of the full model.
    own = special.ndtr(y * model.decision_function(X))
    assert np.abs(special.ndtr(z) - own).max() > 0.1


@pytest.mark.parametrize("stretch", [0.7, 1.0, 1.6])
def test_the_factor_undoes_a_stretch(stretch):
    rng = np.random.default_rng(seed(4))
    z = rng.normal(size=4000)
    labels = np.where(rng.uniform(size=len(z)) < special.ndtr(z), 1, -1)
    found = calibration.best_factor(labels * z / stretch, labels, (0.0, 0.0))
    assert found == pytest.approx(stretch, rel=0.08)
    # With known label noise.
    rate = np.where(labels > 0, 0.05, 0.1)
    seen = np.where(rng.uniform(size=len(z)) < rate, -labels, labels)
    # Rates by true class: the first is the negative one.
    noisy = calibration.best_factor(seen * z / stretch, seen, (0.1, 0.05))
    assert noisy == pytest.approx(stretch, rel=0.12)
    ignored = calibration.best_factor(seen * z / stretch, seen, (0.0, 0.0))
    assert ignored < 0.93 * noisy


def test_few_examples_move_the_factor_little():
    certain = calibration.best_factor(np.full(3, 1.0), np.ones(3), (0.0, 0.0))
    assert 1.0 < certain < 1.2
    wrong = calibration.best_factor(np.full(500, -3.0), np.ones(500), (0.0, 0.0))
    assert wrong == pytest.approx(0.5, abs=0.01)


def test_auto_calibrates_what_was_tuned():
    X, y = problem()
    tuned = BayesPointClassifier(random_state=seed(0)).fit(X, y)
    assert tuned.calibration_.shape == (1,)
    assert tuned.calibration_[0] != 1.0
    given = {"softness": 0.3, "random_state": seed(0)}
    assert BayesPointClassifier(RBF(1.0), **given).fit(X, y).calibration_ == [1.0]
    plain = BayesPointClassifier(calibration=None, random_state=seed(0)).fit(X, y)
    assert plain.calibration_ == [1.0]
    np.testing.assert_array_equal(plain.dual_coef_, tuned.dual_coef_)


def test_the_factor_stretches_every_decision_value():
    X, y = problem()
    settings = {"softness": 0.3, "label_noise": 0.05, "random_state": seed(0)}
    plain = BayesPointClassifier(RBF(1.0), **settings).fit(X, y)
    model = BayesPointClassifier(RBF(1.0), calibration="leave-one-out", **settings).fit(X, y)
    factor = model.calibration_[0]
    assert abs(factor - 1) > 0.01
    z = plain.decision_function(X)
    np.testing.assert_allclose(model.decision_function(X), factor * z, rtol=1e-12)
    expected = 0.05 + 0.9 * special.ndtr(factor * z)
    np.testing.assert_allclose(model.predict_proba(X)[:, 1], expected, rtol=1e-10)
    mixture = (plain.predict_proba(X, method="mixture")[:, 1] - 0.05) / 0.9
    expected = 0.05 + 0.9 * special.ndtr(factor * special.ndtri(mixture))
    found = model.predict_proba(X, method="mixture")[:, 1]
    np.testing.assert_allclose(found, expected, rtol=1e-8)
    np.testing.assert_array_equal(model.predict(X), plain.predict(X))


def test_more_than_a_thousand_examples(monkeypatch):
    X, y = problem(120)
    settings = {"softness": 0.3, "calibration": "leave-one-out"}
    whole = BayesPointClassifier(RBF(1.0), random_state=seed(0), **settings).fit(X, y)
    monkeypatch.setattr(calibration, "LARGEST", 80)
    part = BayesPointClassifier(RBF(1.0), random_state=seed(0), **settings).fit(X, y)
    assert part.calibration_[0] != whole.calibration_[0]
    assert part.calibration_[0] == pytest.approx(whole.calibration_[0], abs=0.2)


def test_singular_matrices_and_bad_settings():
    X, y = np.array([[-2.0], [-1.0], [1.0], [2.0]]), [0, 0, 1, 1]
    hard = {"softness": 0.0, "random_state": seed(0)}
    assert BayesPointClassifier("linear", **hard).fit(X, y).calibration_ == [1.0]
    with pytest.raises(ValueError, match=r"softness must be positive with calibration=.*got 0"):
        BayesPointClassifier("linear", calibration="leave-one-out", **hard).fit(X, y)
    with pytest.raises(ValueError, match="calibration must be one of 'auto', 'leave-one-out'"):
        BayesPointClassifier(calibration="platt").fit(X, y)


def test_evidence_is_that_of_a_given_matrix():
    X, y = problem(30)
    settings = {"softness": 0.5, "random_state": seed(0)}
    model = BayesPointClassifier(RBF(1.0), **settings).fit(X, y)
    found = model.evidence(tol=0.1, random_state=seed(1))
    gram = model.kernel_(X)
    given = BayesPointClassifier("precomputed", **settings).fit(gram, y)
    assert abs(given.evidence(tol=0.1, random_state=seed(1)).value - found.value) < 6 * found.error
    noisy = BayesPointClassifier(RBF(1.0), label_noise=0.2, **settings).fit(X, y)
    assert noisy.evidence(tol=0.1, random_state=seed(1)).value != found.value


def test_evidence_of_a_singular_precomputed_matrix_is_refused():
    gram, y = np.outer([-2.0, -1.0, 1.0, 2.0], [-2.0, -1.0, 1.0, 2.0]), [0, 0, 1, 1]
    model = BayesPointClassifier("precomputed", softness=0.0).fit(gram, y)
    with pytest.raises(ValueError, match="evidence needs the kernel matrix"):
        model.evidence()
