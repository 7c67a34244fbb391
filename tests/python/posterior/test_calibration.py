"""The factor on decision values, and the leave-one-out predictions that determine it."""

import numpy as np
import pytest
from scipy import special
from sklearn.exceptions import ConvergenceWarning

from bayespoint import BayesPointClassifier, BayesPointOrdinalClassifier
from bayespoint.kernels import RBF
from bayespoint.labels import Labels
from bayespoint.posterior.calibration import LeftOut
from helpers import seed


def problem(m=60, index=0, noise=0.5):
    rng = np.random.default_rng(seed(index))
    X = rng.normal(size=(m, 2))
    y = np.where(X[:, 0] + np.sin(2 * X[:, 1]) + noise * rng.normal(size=m) > 0, 1, -1)
    return X, y


TWO, THREE = Labels.two_classes(), Labels.several(3)

KINDS = {
    "two": (BayesPointClassifier, [0.0]),
    "three": (BayesPointClassifier, [-0.5, 0.5]),
    "ordered": (BayesPointOrdinalClassifier, [-0.5, 0.5]),
}


def alone(kind, m, softness, noise=0.0, index=0, only=None, **settings):
    """Return a fitted model, its leave-one-out probabilities and their errors, and the examples.

    With landmarks one is at each example, so that the law is the same.
    """
    make, ends = KINDS[kind]
    X, _ = problem(m, index=2)
    y = np.digitize(X[:, 0] + 0.5 * np.random.default_rng(seed(2)).normal(size=m), ends)
    some = np.arange(m) if only is None else only
    given = {"softness": softness, "label_noise": noise, "standardize": False}
    model = make(RBF(1.0), random_state=seed(index), **given, **settings).fit(X[some], y[some])
    points = (X, y) if "n_components" in settings else ()
    found = None if only is not None else model.leave_one_out(*points, return_error=True)
    return model, found, X, y


LANDMARKS = {"approximation": "landmarks", "n_components": 15}


NOISY = [("two", 0.1), ("two", (0.05, 0.2)), ("three", 0.1), ("ordered", 0.1)]


@pytest.mark.parametrize(
    ("kind", "noise"),
    [
        *((kind, 0.0) for kind in KINDS),
        *(pytest.param(*case, marks=pytest.mark.long) for case in NOISY),
    ],
)
def test_leave_one_out_is_what_a_fit_without_the_example_says(kind, noise):
    m, rows = 15, np.arange(0, 15, 2)
    refits = np.empty((2, len(rows), 2 if kind == "two" else 3))
    for place, i in enumerate(rows):
        others = np.delete(np.arange(m), i)
        for k, expected in enumerate(refits[:, place]):
            settings = {"only": others, "index": k, "n_draws": 1000, "tol": 0.02}
            model, _, X, y = alone(kind, m, 1.0, noise, **settings)
            expected[:] = model.predict_proba(X[[i]], method="mixture")[0]
    expected, apart = refits.mean(axis=0), refits[0] - refits[1]
    for basis in ({}, LANDMARKS):
        model, (p, error), X, y = alone(kind, m, 1.0, noise, n_draws=1000, tol=0.03, **basis)
        own = np.arange(len(rows)), y[rows]
        total = np.sqrt(error[rows] ** 2 + (apart**2).mean() / 4)
        z = (p[rows] - expected)[own] / total
        assert np.sqrt((z**2).mean()) < 2, (basis, z)
        assert np.sqrt((total**2).mean()) < 0.03
        np.testing.assert_allclose(p[rows], expected, atol=6 * total.max())
        # They are not the predictions of the full model.
        assert np.abs(model.predict_proba(X[rows], method="mixture") - expected).max() > 0.05


@pytest.mark.parametrize(
    ("kind", "softness", "basis"),
    [
        ("two", 0.1, {}),
        ("three", 0.15, {}),
        ("three", 0.5, {}),
        ("ordered", 0.2, {}),
        ("two", 2.0, LANDMARKS),
        ("three", 2.0, LANDMARKS),
        ("ordered", 2.0, LANDMARKS),
    ],
)
def test_the_error_of_leave_one_out_is_that_of_another_seed(kind, softness, basis):
    own, errors = np.empty((2, 12, 15))
    for k in range(12):
        _, (p, errors[k]), _, y = alone(kind, 15, softness, index=k, tol=0.1, **basis)
        own[k] = p[np.arange(15), y]
    ratio = np.sqrt(own.var(axis=0, ddof=1).mean() / (errors**2).mean())
    assert 0.7 < ratio < 1.5


def test_uncertain_predictions_are_told():
    with pytest.warns(ConvergenceWarning, match=r"labels have a standard error of 0\.\d+ \(root"):
        alone("two", 6, 0.02, noise=0.0, **LANDMARKS)
    certain = LeftOut(TWO, np.ones((9, 1)), np.ones(9, int), error=np.full(9, 1.0))
    with pytest.warns(ConvergenceWarning, match=r"labels have a standard error of 0\.14"):
        certain.checked_factor()
    with pytest.warns(ConvergenceWarning, match=r"labels have a standard error of 0\.069"):
        certain.checked_factor(4)
    certain.checked_factor(16)


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


def test_evidence_of_a_singular_precomputed_matrix_is_refused():
    gram, y = np.outer([-2.0, -1.0, 1.0, 2.0], [-2.0, -1.0, 1.0, 2.0]), [0, 0, 1, 1]
    model = BayesPointClassifier("precomputed", softness=0.0).fit(gram, y)
    with pytest.raises(ValueError, match="evidence needs the kernel matrix"):
        model.evidence()
