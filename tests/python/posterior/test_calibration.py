"""The factor on decision values, and the leave-one-out predictions that determine it."""

import numpy as np
import pytest
from scipy import special
from sklearn.exceptions import ConvergenceWarning

from bayespoint import BayesPointClassifier, BayesPointOrdinalClassifier
from bayespoint.kernels import RBF
from bayespoint.labels import Labels
from bayespoint.posterior import calibration
from bayespoint.posterior.calibration import LeftOut
from helpers import seed


def problem(m=60, index=0, noise=0.5):
    rng = np.random.default_rng(seed(index))
    X = rng.normal(size=(m, 2))
    y = np.where(X[:, 0] + np.sin(2 * X[:, 1]) + noise * rng.normal(size=m) > 0, 1, -1)
    return X, y


def left_out(model):
    """Return the leave-one-out predictions of a fitted classifier."""
    [one] = model.models_
    return one.left_out


@pytest.mark.long
@pytest.mark.parametrize(
    ("kind", "n_classes", "noise"),
    [
        (BayesPointClassifier, 2, 0.0),
        (BayesPointClassifier, 2, 0.1),
        (BayesPointClassifier, 2, (0.05, 0.2)),
        (BayesPointClassifier, 3, 0.0),
        (BayesPointClassifier, 3, 0.1),
        (BayesPointOrdinalClassifier, 3, 0.0),
        (BayesPointOrdinalClassifier, 3, 0.1),
    ],
)
def test_leave_one_out_is_what_a_fit_without_the_example_says(kind, n_classes, noise, monkeypatch):
    X, y = problem(15, index=2)
    if n_classes == 3:
        y = np.digitize(X[:, 0] + 0.5 * np.random.default_rng(seed(2)).normal(size=15), [-0.5, 0.5])
    settings = {
        "softness": 0.4,
        "label_noise": noise,
        "n_draws": 4000,
        "tol": 0.01,
        "random_state": seed(0),
        "standardize": False,
    }
    monkeypatch.setattr(calibration, "MOST_LEFT_OUT", 20_000)
    model = kind(RBF(1.0), **settings).fit(X, y)
    found, alone = left_out(model), np.empty((15, n_classes))
    for i in range(15):
        others = np.arange(15) != i
        one = kind(RBF(1.0), **settings).fit(X[others], y[others])
        alone[i] = one.predict_proba(X[[i]], method="mixture")[0]
    p = np.exp(found.labels.observed(found.log_classes(1.0)))
    np.testing.assert_allclose(p, alone, atol=0.01 * n_classes)
    own_class = p[np.arange(15), np.searchsorted(model.classes_, y)]
    np.testing.assert_allclose(np.exp(found.log_labels(1.0)), own_class)
    # They differ from the predictions of the full model.
    assert np.abs(model.predict_proba(X, method="mixture") - alone).max() > 0.1


TWO, THREE = Labels.two_classes(), Labels.several(3)


def factor(labels, z, label):
    return LeftOut(labels, z, label).factor()


@pytest.mark.parametrize("stretch", [0.7, 1.0, 1.6])
def test_the_factor_undoes_a_stretch(stretch):
    rng = np.random.default_rng(seed(4))
    z = rng.normal(size=(4000, 1))
    label = (rng.uniform(size=len(z)) < special.ndtr(z[:, 0])).astype(int)
    assert factor(TWO, z / stretch, label) == pytest.approx(stretch, rel=0.08)
    # With known label noise, by true class.
    rates = 0.1, 0.05
    seen = np.where(rng.uniform(size=len(z)) < np.array(rates)[label], 1 - label, label)
    noisy = factor(TWO.with_noise(rates), z / stretch, seen)
    assert noisy == pytest.approx(stretch, rel=0.12)
    assert factor(TWO, z / stretch, seen) < 0.93 * noisy


@pytest.mark.parametrize("stretch", [0.7, 1.0, 1.6])
def test_the_factor_of_several_classes_undoes_a_stretch(stretch):
    rng = np.random.default_rng(seed(4))
    p = rng.dirichlet([0.5, 0.7, 0.9], size=4000)
    label = (p.cumsum(axis=1) < rng.uniform(size=(4000, 1))).sum(axis=1)
    z = THREE.predicts.decision(np.log(np.maximum(p, 1e-12))) / stretch
    found = factor(THREE, z, label)
    assert found == pytest.approx(stretch, rel=0.08)
    wrong = rng.uniform(size=4000) < 0.1
    seen = np.where(wrong, (label + rng.integers(1, 3, size=4000)) % 3, label)
    assert factor(THREE.with_noise((0.1, 0.1)), z, seen) == pytest.approx(stretch, rel=0.12)
    assert factor(THREE, z, seen) < 0.95 * found


def test_few_examples_move_the_factor_little():
    certain = factor(TWO, np.full((3, 1), 1.0), np.ones(3, int))
    assert 1.0 < certain < 1.2
    with pytest.warns(ConvergenceWarning, match="calibration ended at its bound, 8 or"):
        wrong = LeftOut(TWO, np.full((500, 1), -3.0), np.ones(500, int)).checked_factor()
    assert wrong == pytest.approx(1 / 8, abs=0.01)


def test_auto_calibrates_what_was_tuned():
    X, y = problem()
    tuned = BayesPointClassifier(random_state=seed(0)).fit(X, y)
    assert tuned.calibration_ != 1.0
    given = {"softness": 0.3, "random_state": seed(0)}
    assert BayesPointClassifier(RBF(1.0), **given).fit(X, y).calibration_ == 1.0
    plain = BayesPointClassifier(calibration=None, random_state=seed(0)).fit(X, y)
    assert plain.calibration_ == 1.0
    np.testing.assert_array_equal(plain.dual_coef_, tuned.dual_coef_)


def test_the_factor_stretches_every_decision_value():
    X, y = problem()
    settings = {"softness": 0.3, "label_noise": 0.05, "random_state": seed(0)}
    plain = BayesPointClassifier(RBF(1.0), **settings).fit(X, y)
    model = BayesPointClassifier(RBF(1.0), calibration="leave-one-out", **settings).fit(X, y)
    factor = model.calibration_
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


def test_calibration_needs_softness():
    X, y = np.array([[-2.0], [-1.0], [1.0], [2.0]]), [0, 0, 1, 1]
    hard = {"softness": 0.0, "random_state": seed(0)}
    assert BayesPointClassifier("linear", **hard).fit(X, y).calibration_ == 1.0
    with pytest.raises(ValueError, match=r"softness must be positive with calibration=.*got 0"):
        BayesPointClassifier("linear", calibration="leave-one-out", **hard).fit(X, y)
    with pytest.raises(ValueError, match="calibration must be one of 'auto', 'leave-one-out'"):
        BayesPointClassifier(calibration="platt").fit(X, y)


def test_evidence_of_a_singular_precomputed_matrix_is_refused():
    gram, y = np.outer([-2.0, -1.0, 1.0, 2.0], [-2.0, -1.0, 1.0, 2.0]), [0, 0, 1, 1]
    model = BayesPointClassifier("precomputed", softness=0.0).fit(gram, y)
    with pytest.raises(ValueError, match="evidence needs the kernel matrix"):
        model.evidence()
