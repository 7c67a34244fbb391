"""Class weights: predictions for a population in which the classes have other frequencies."""

import pickle

import numpy as np
import pytest
from scipy import special
from sklearn.datasets import load_iris
from sklearn.svm import SVC

from bayespoint import BayesPointClassifier, kernels, load
from bayespoint.labels import Labels
from helpers import seed

IRIS = load_iris(return_X_y=True)
GIVEN = {"kernel": kernels.RBF(2.0), "softness": 0.3}


def classes(k=2, n=90):
    X, y = IRIS
    rows = np.random.default_rng(seed(0)).permutation(50 * k)[:n]
    return X[rows, 1:3], y[rows] if k == 3 else (y[rows] > 0).astype(int)


def pair(weights, k=2, **settings):
    """Return two fits of one posterior, without and with class weights, and test inputs."""
    X, y = classes(k) if k == 3 else overlapping()
    given = {**GIVEN, "random_state": seed(1)} | settings
    plain = BayesPointClassifier(**given).fit(X, y)
    weighted = BayesPointClassifier(class_weight=weights, **given).fit(X, y)
    points = np.random.default_rng(seed(2)).uniform(X.min() - 1, X.max() + 1, (200, X.shape[1]))
    return plain, weighted, points


def overlapping(n=80):
    rng = np.random.default_rng(seed(3))
    X = rng.standard_normal((n, 2))
    return X, (X[:, 0] + 0.7 * rng.standard_normal(n) > 0.3).astype(int)


# --- probabilities and decisions ---


@pytest.mark.parametrize("method", ["moments", "mixture"])
@pytest.mark.parametrize(
    ("k", "weights"), [(2, {0: 0.4, 1: 7.0}), (2, "balanced"), (3, {0: 1.0, 1: 0.2, 2: 5.0})]
)
def test_probabilities_are_multiplied_by_the_weights(k, weights, method):
    plain, weighted, points = pair(weights, k)
    np.testing.assert_array_equal(weighted.dual_coef_, plain.dual_coef_)
    expected = plain.predict_proba(points, method=method) * weighted.class_weight_
    expected /= expected.sum(axis=1, keepdims=True)
    found = weighted.predict_proba(points, method=method)
    np.testing.assert_allclose(found, expected, rtol=1e-9)
    log = weighted.predict_log_proba(points, method=method)
    np.testing.assert_allclose(log, np.log(expected), rtol=1e-9)


@pytest.mark.parametrize("k", [2, 3])
def test_decisions_probabilities_and_labels_agree(k):
    plain, weighted, points = pair({0: 1.0, 1: 30.0, 2: 3.0} if k == 3 else {0: 1.0, 1: 30.0}, k)
    z, p, labels = (
        getattr(weighted, name)(points)
        for name in ("decision_function", "predict_proba", "predict")
    )
    np.testing.assert_array_equal(labels, p.argmax(axis=1))
    if k == 2:
        np.testing.assert_allclose(special.ndtr(z), p[:, 1], rtol=1e-12)
        np.testing.assert_array_equal(labels, (z > 0).astype(int))
        np.testing.assert_array_equal(
            np.argsort(z, kind="stable"), np.argsort(plain.decision_function(points), kind="stable")
        )
        assert (z > plain.decision_function(points)).all()
    else:
        np.testing.assert_array_equal(labels, z.argmax(axis=1))
        shares = special.ndtr(z)
        np.testing.assert_allclose(shares / shares.sum(axis=1, keepdims=True), p, rtol=1e-12)
    assert (labels != plain.predict(points)).any()
    rejected = weighted.reject(points, 0.2)
    np.testing.assert_array_equal(rejected[0], labels)
    np.testing.assert_array_equal(rejected[1], 1 - p.max(axis=1) > 0.2)


def test_tails_keep_their_order_and_value():
    z = np.array([-1e8, -1e4, -60.0, -9.0, -1.0, 0.0, 1.0, 9.0, 60.0, 1e4, 1e8])[:, None]
    for odds in (1e-3, 50.0):
        found = Labels.two_classes().weighted(z, np.array([1.0, odds]) / max(1.0, odds))
        assert np.isfinite(found).all()
        assert (np.diff(found[:, 0]) > 0).all()
        before = special.log_ndtr(z) - special.log_ndtr(-z)
        after = special.log_ndtr(found) - special.log_ndtr(-found)
        np.testing.assert_allclose(after, before + np.log(odds), rtol=1e-9)


@pytest.mark.parametrize("weights", [None, {0: 3.0, 1: 3.0}, "equal counts"])
def test_equal_weights_have_the_bits_of_none(weights):
    X, y = overlapping()
    order = np.argsort(y, kind="stable")
    size = min(np.bincount(y))
    rows = np.concatenate([order[:size], order[-size:]])
    X, y = X[rows], y[rows]
    given = {**GIVEN, "random_state": seed(0)}
    plain = BayesPointClassifier(**given).fit(X, y)
    weights = "balanced" if weights == "equal counts" else weights
    same = BayesPointClassifier(class_weight=weights, **given).fit(X, y)
    assert same.posterior_.class_weight is None
    for method in ("decision_function", "predict_proba", "predict"):
        np.testing.assert_array_equal(getattr(same, method)(X), getattr(plain, method)(X))


@pytest.mark.parametrize("method", ["moments", "mixture"])
def test_label_noise_of_three_classes_follows_the_weights(method):
    plain, weighted, points = pair({0: 1.0, 1: 5.0, 2: 0.5}, 3, label_noise=0.1)
    true = (plain.predict_proba(points, method=method) - 0.05) / 0.85 * [1.0, 5.0, 0.5]
    expected = 0.05 + 0.85 * true / true.sum(axis=1, keepdims=True)
    found = weighted.predict_proba(points, method=method)
    np.testing.assert_allclose(found, expected, atol=1e-12)


def test_label_noise_follows_the_weights():
    """A population has true classes; its labels are wrong as often as before."""
    noise = (0.1, 0.2)
    plain, weighted, points = pair({0: 1.0, 1: 20.0}, label_noise=noise)
    true = special.ndtr(plain.decision_function(points))
    true = 20 * true / (20 * true + 1 - true)
    expected = noise[0] + (1 - sum(noise)) * true
    np.testing.assert_allclose(weighted.predict_proba(points)[:, 1], expected, rtol=1e-9)
    np.testing.assert_array_equal(weighted.predict(points), (true > 0.5).astype(int))


def test_votes_and_single_draws_are_weighted():
    for k, weights in ((2, [1.0, 9.0]), (3, [9.0, 1.0, 0.5])):
        plain, weighted, points = pair(dict(enumerate(weights)), k)
        share = plain.posterior_.votes(points)
        share = np.concatenate([1 - share, 1 + share], axis=1) if k == 2 else share
        vote = weighted.predict(points, method="vote")
        np.testing.assert_array_equal(vote, (share * weights).argmax(axis=1))
        assert (vote != plain.predict(points, method="vote")).any()
        # The disagreement of draws does not depend on the population.
        np.testing.assert_array_equal(
            weighted.suggest_query(points, 5), plain.suggest_query(points, 5)
        )
        gibbs = weighted.predict(points, method="gibbs")
        one = weighted.posterior_.gibbs(points, random_state=seed(1))
        chosen = (one[:, 0] > 0).astype(int) if k == 2 else one.argmax(axis=1)
        np.testing.assert_array_equal(gibbs, chosen)
        before = plain.predict(points, method="gibbs")
        heavy = int(np.argmax(weights))
        assert (gibbs == heavy).sum() > (before == heavy).sum()
        assert (gibbs[before == heavy] == heavy).all()


@pytest.mark.parametrize(
    ("weights", "error"),
    [
        ("balance", ValueError),
        ({0: 1.0, 1: "2"}, TypeError),
        ({0: 1.0, 1: np.timedelta64(2, "D")}, TypeError),
        ({0: 1.0, 1: 0.0}, ValueError),
        ({0: 1.0, 1: np.nan}, ValueError),
        ({0: 1e-200, 1: 1e200}, ValueError),
    ],
)
def test_bad_weights(weights, error):
    with pytest.raises(error, match="class_weight must"):
        BayesPointClassifier(class_weight=weights, **GIVEN).fit(*overlapping())


def test_precomputed_needs_the_diagonal_as_for_decision_values():
    X, y = overlapping()
    kernel = kernels.Polynomial(3, 1.0)
    given = {"softness": 0.3, "class_weight": "balanced", "random_state": seed(0)}
    model = BayesPointClassifier(kernel, **given, standardize=False).fit(X, y)
    matrix = BayesPointClassifier("precomputed", **given).fit(kernel(X), y)
    between, diag = kernel(X + 0.3, X), kernel.diag(X + 0.3)
    for method in ("center", "gibbs"):
        found = matrix.predict(between, method=method, diag=diag)
        np.testing.assert_array_equal(found, model.predict(X + 0.3, method=method))


# --- which weights ---


def test_balanced_weights_are_those_of_scikit_learn():
    X, y = classes(3)
    model = BayesPointClassifier(class_weight="balanced", **GIVEN).fit(X, y)
    svc = SVC(class_weight="balanced").fit(X, y)
    np.testing.assert_allclose(model.class_weight_, svc.class_weight_)
    assert BayesPointClassifier(**GIVEN).fit(X, y).class_weight_.tolist() == [1, 1, 1]


def test_refine_takes_the_present_weights():
    X, y = overlapping()
    plain = BayesPointClassifier(random_state=seed(0), tol=0.2, **GIVEN).fit(X[:60], y[:60])
    draws = plain.billiard_.draws
    plain.set_params(class_weight={0: 1.0, 1: 4.0}).refine(tol=1.0)
    np.testing.assert_array_equal(plain.billiard_.draws, draws)
    assert plain.class_weight_.tolist() == [1, 4]
    odds = special.logit(plain.predict_proba(X)[:, 1])
    plain.set_params(class_weight=None).refine(tol=0.2)
    np.testing.assert_allclose(odds - special.logit(plain.predict_proba(X)[:, 1]), np.log(4))
    plain.set_params(class_weight="balanced").refine(tol=0.2)
    balanced = 60 / 2 / np.bincount(y[:60])
    np.testing.assert_allclose(plain.class_weight_, balanced)
    with pytest.raises(ValueError, match="class_weight"):
        plain.set_params(class_weight={0: 1.0, 1: 0.0}).refine(tol=0.2)
    np.testing.assert_allclose(plain.class_weight_, balanced)


def test_stored_posteriors_keep_the_weights(tmp_path):
    _, weighted, points = pair({0: 1.0, 1: 4.0})
    weighted.save(tmp_path / "model")
    for copy in (load(tmp_path / "model"), pickle.loads(pickle.dumps(weighted))):
        np.testing.assert_array_equal(copy.predict_proba(points), weighted.predict_proba(points))


def test_what_the_weights_leave_alone():
    plain, weighted, points = pair({0: 1.0, 1: 4.0})
    same = {"random_state": seed(4)}
    assert weighted.evidence(**same).value == plain.evidence(**same).value
    np.testing.assert_array_equal(
        weighted.sample_functions(points[:5], **same), plain.sample_functions(points[:5], **same)
    )
    np.testing.assert_array_equal(weighted.calibration_, plain.calibration_)


def test_what_is_refused_with_weights():
    _, weighted, points = pair({0: 1.0, 1: 4.0}, standardize=False)
    with pytest.raises(ValueError, match="without class weights"):
        weighted.log_labeling_probability(points[:2], [0, 1])
    pytest.importorskip("onnx")
    from bayespoint.export.onnx import to_onnx

    with pytest.raises(ValueError, match=r"class_weight must be None for the export.* multiply"):
        to_onnx(weighted)
