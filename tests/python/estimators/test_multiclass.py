"""Several classes jointly: all that a classifier of two classes has."""

import math
import pickle

import numpy as np
import pytest
import skops.io
from scipy import special
from sklearn.base import clone

import bayespoint
from bayespoint import BayesPointClassifier, kernels
from bayespoint.estimators.settings import tolerance
from bayespoint.results import BilliardResult, Evidence
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
        assert tolerance("auto", m, n_classes) == pytest.approx(expected)
    assert tolerance(0.5, 2000, 10) == 0.5


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
    assert len(model.problems_) == 1
    assert model.dual_coef_.shape == (3, 90)
    np.testing.assert_allclose(model.dual_coef_.sum(axis=0), 0.0, atol=1e-12)
    np.testing.assert_allclose(model.intercept_, model.dual_coef_.sum(axis=1))
    assert model.calibration_.tolist() == [1.0]
    assert model.n_iter_.shape == (1,)
    np.testing.assert_array_equal(model.support_, np.flatnonzero(model.billiard_.hits.sum(axis=0)))
    assert model.score(X, Y) > 0.7


def test_two_classes_do_not_depend_on_the_parameter():
    two = (Y == "ant").astype(int)
    one, other = (
        BayesPointClassifier(**GIVEN, multiclass=how).fit(X, two)
        for how in ("joint", "one_vs_rest")
    )
    np.testing.assert_array_equal(one.predict_proba(POINTS), other.predict_proba(POINTS))
    with pytest.raises(ValueError, match="multiclass must be one of 'joint', 'one_vs_rest'; got 1"):
        BayesPointClassifier(multiclass=1).fit(X, Y)


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


def test_class_weights_multiply_the_probabilities(model):
    weights = {"ant": 1.0, "bee": 5.0, "cat": 0.5}
    given = GIVEN | {"label_noise": 0.1}
    plain = BayesPointClassifier(**given).fit(X, Y)
    weighted = BayesPointClassifier(**given, class_weight=weights).fit(X, Y)
    for method in ("moments", "mixture"):
        true = (plain.predict_proba(POINTS, method=method) - 0.05) / 0.85
        expected = true * np.array(list(weights.values()))
        expected = 0.05 + 0.85 * expected / expected.sum(axis=1, keepdims=True)
        found = weighted.predict_proba(POINTS, method=method)
        np.testing.assert_allclose(found, expected, atol=1e-12)
    np.testing.assert_array_equal(weighted.predict(POINTS), NAMES[found.argmax(axis=1)])
    votes = plain.posterior_.votes(POINTS)
    np.testing.assert_allclose(votes.sum(axis=1), 1.0)
    elected = NAMES[(votes * list(weights.values())).argmax(axis=1)]
    np.testing.assert_array_equal(weighted.predict(POINTS, method="vote"), elected)
    np.testing.assert_array_equal(plain.predict(POINTS, method="vote"), NAMES[votes.argmax(axis=1)])
    # Only draws decide about queries.
    np.testing.assert_array_equal(weighted.suggest_query(POINTS, 5), plain.suggest_query(POINTS, 5))
    heavy = weighted.predict(POINTS, method="gibbs") == "bee"
    assert heavy.sum() > (plain.predict(POINTS, method="gibbs") == "bee").sum()


def test_queries_and_abstention(model):
    votes = np.sort(model.posterior_.votes(POINTS), axis=1)
    lead = votes[:, 2] - votes[:, 1]
    np.testing.assert_array_equal(
        model.suggest_query(POINTS, 7), np.argsort(lead, kind="stable")[:7]
    )
    p = model.predict_proba(POINTS)
    labels, rejected = model.reject(POINTS, 0.3)
    np.testing.assert_array_equal(labels, NAMES[p.argmax(axis=1)])
    np.testing.assert_array_equal(rejected, 1 - p.max(axis=1) > 0.3)
    assert 0 < rejected.mean() < 1


@pytest.mark.long
def test_evidence_and_the_probability_of_a_label():
    x, y = X[:20], Y[:20]
    model = BayesPointClassifier(**GIVEN).fit(x, y)
    found = model.evidence(tol=0.2, random_state=seed(0))
    assert isinstance(found, Evidence)
    assert -20 * math.log(3) < found.value < 0
    for k in range(2):
        point, label = POINTS[[k]], model.predict(POINTS[[k]])
        joint = model.log_labeling_probability(point, label, tol=0.2, random_state=seed(1))
        expected = model.predict_log_proba(point)[0].max()
        assert abs(joint.value - expected) < 4 * joint.error + 0.03
    each = BayesPointClassifier(**GIVEN, multiclass="one_vs_rest").fit(x, y)
    assert len(each.evidence(tol=3.0, random_state=seed(0))) == 3


def test_bounds_are_refused_with_the_way_out(model):
    with pytest.raises(ValueError, match=r"of several classes jointly there is none.*one_vs_rest"):
        model.risk_bounds()
    each = BayesPointClassifier(**GIVEN, multiclass="one_vs_rest").fit(X, Y)
    assert len(each.risk_bounds(max_length=100.0, random_state=seed(0))) == 3


def test_another_density(model):
    flat = model.reweight(lambda margins: np.ones(len(margins)))
    # Its center is the mean of the draws, without the accuracy of the path.
    np.testing.assert_allclose(flat.predict_proba(POINTS), model.predict_proba(POINTS), atol=0.03)
    np.testing.assert_allclose(
        flat.predict_proba(POINTS, method="mixture"),
        model.predict_proba(POINTS, method="mixture"),
        rtol=1e-6,
    )
    seen = []
    certain = model.reweight(lambda margins: (seen.append(margins), margins.mean(axis=1))[1])
    assert seen[0].shape == (400, 90)
    assert (seen[0] > 0).all()
    assert certain.weighted[0].center.shape == (3, 90)
    assert (
        certain.predict_proba(POINTS).max(axis=1).mean()
        > flat.predict_proba(POINTS).max(axis=1).mean()
    )
    assert certain.sample_functions(POINTS[:4], random_state=seed(0)).shape == (3, 400, 4)


def same(one, other):
    for name in ("dual_coef_", "calibration_", "support_"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
    for method in ("moments", "mixture"):
        np.testing.assert_array_equal(
            one.predict_proba(POINTS, method=method), other.predict_proba(POINTS, method=method)
        )


@pytest.mark.parametrize("softness", [0.3, 0.0])
def test_fits_are_continued_saved_and_repeated(softness, tmp_path):
    given = GIVEN | {"softness": softness, "kernel": kernels.RBF(0.3), "tol": 0.1}
    given["calibration"] = "leave-one-out" if softness else None
    model = BayesPointClassifier(**given).fit(X, Y)
    path = tmp_path / "model"
    skops.io.dump(model, path)
    read = skops.io.load(path, trusted=bayespoint.export.TRUSTED_TYPES)
    copies = [read, pickle.loads(pickle.dumps(model))]
    assert len(pickle.dumps(model)) < 1.5 * model.billiard_.draws.nbytes + 40 * 90 * 90
    longer = clone(model).set_params(tol=0.05).fit(X, Y)
    for copy in copies:
        same(copy, model)
        same(copy.refine(tol=0.05), longer)
    warm = clone(model).set_params(warm_start=True).fit(X, Y)
    same(warm, model)
    same(warm.set_params(tol=0.05).fit(X, Y), longer)
    same(clone(model).set_params(n_jobs=2).fit(X, Y), model)
    # The other way does not continue the joint run.
    each = warm.set_params(multiclass="one_vs_rest", tol=0.1).fit(X, Y)
    same(each, clone(model).set_params(multiclass="one_vs_rest").fit(X, Y))
    same(each.set_params(multiclass="joint").fit(X, Y), model)


def test_weights_repeat_examples():
    weights = np.where(np.arange(90) % 3 == 0, 2.0, 1.0)
    order = np.repeat(np.arange(90), weights.astype(int))
    weighted = BayesPointClassifier(**GIVEN).fit(X, Y, sample_weight=weights)
    same(weighted, BayesPointClassifier(**GIVEN).fit(X[order], Y[order]))
    half = BayesPointClassifier(**GIVEN).fit(X, Y, sample_weight=np.full(90, 0.5))
    same_noise = BayesPointClassifier(**GIVEN | {"softness": 0.6}).fit(X, Y)
    np.testing.assert_array_equal(half.dual_coef_, same_noise.dual_coef_)


def test_a_given_matrix_is_the_same_fit(model):
    kernel = GIVEN["kernel"]
    given = GIVEN | {"kernel": "precomputed"}
    other = BayesPointClassifier(**given).fit(kernel(X), Y)
    k_star = kernel(POINTS, X)
    np.testing.assert_allclose(other.predict_proba(k_star), model.predict_proba(POINTS), rtol=1e-7)
    np.testing.assert_array_equal(other.predict(k_star), model.predict(POINTS))
    functions = other.sample_functions(k_star[:5], gram=kernel(POINTS[:5]), random_state=seed(0))
    np.testing.assert_allclose(
        functions, model.sample_functions(POINTS[:5], random_state=seed(0)), rtol=1e-5, atol=1e-8
    )
    found = other.evidence(tol=1.0, random_state=seed(0))
    assert abs(found.value - model.evidence(tol=1.0, random_state=seed(1)).value) < 8.0


def test_a_failed_fit_leaves_the_classifier_as_it_was(model):
    again = clone(model).fit(X, Y)
    before = dict(vars(again))

    class Stop(Exception):  # noqa: N818
        pass

    def kernel(A, B):
        raise Stop

    with pytest.raises(Stop):
        again.set_params(kernel=kernel).fit(X, Y)
    again.set_params(kernel=GIVEN["kernel"])
    assert vars(again).keys() == before.keys()
    same(again, model)


@pytest.mark.long
def test_searched_and_calibrated():
    found = BayesPointClassifier(label_noise=None, random_state=seed(0), n_models=1).fit(X, Y)
    assert found.tuning_ is not None
    assert found.calibration_.shape == (1,)
    assert found.calibration_[0] != 1.0
    plain = clone(found).set_params(calibration=None).fit(X, Y)
    z = plain.decision_function(POINTS)
    np.testing.assert_allclose(found.decision_function(POINTS), found.calibration_[0] * z)
    np.testing.assert_array_equal(found.predict(POINTS), plain.predict(POINTS))
    expected = special.ndtr(found.calibration_[0] * z)
    expected /= expected.sum(axis=1, keepdims=True)
    rate = found.label_noise_[0]
    expected = rate / 2 * (1 - expected) + (1 - rate) * expected
    np.testing.assert_allclose(found.predict_proba(POINTS), expected, rtol=1e-8)
