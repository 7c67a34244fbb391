"""The classifier of ordered classes: orders, rules, and all that the other classifier has."""

import numpy as np
import pytest
from sklearn.base import clone

from bayespoint import BayesPointClassifier, BayesPointOrdinalClassifier, kernels, load
from helpers import seed

GIVEN = {
    "kernel": kernels.RBF(1.5),
    "softness": 0.3,
    "random_state": seed(0),
    "standardize": False,
}
NAMES = np.array(["low", "fair", "good", "top"])


def data(m=80, index=0):
    rng = np.random.default_rng(seed(index))
    X = rng.standard_normal((m, 2))
    return X, np.digitize(X[:, 0] + 0.3 * rng.standard_normal(m), [-0.6, 0.2, 0.9])


X, Y = data()
POINTS = 1.5 * np.random.default_rng(seed(1)).standard_normal((40, 2))


@pytest.fixture(scope="module")
def model():
    return BayesPointOrdinalClassifier(classes=NAMES, **GIVEN).fit(X, NAMES[Y])


def test_names_in_their_order_are_numbers(model):
    numbers = BayesPointOrdinalClassifier(**GIVEN).fit(X, 10 * Y)
    np.testing.assert_array_equal(model.classes_, NAMES)
    np.testing.assert_array_equal(numbers.classes_, [0, 10, 20, 30])
    p = model.predict_proba(POINTS)
    np.testing.assert_array_equal(p, numbers.predict_proba(POINTS))
    np.testing.assert_array_equal(model.predict(POINTS), NAMES[p.argmax(axis=1)])
    # The reverse order is the same problem with another sign.
    other = BayesPointOrdinalClassifier(classes=NAMES[::-1], **GIVEN).fit(X, NAMES[Y])
    np.testing.assert_allclose(other.predict_proba(POINTS)[:, ::-1], p, atol=0.08)
    # A level that does not occur is left out.
    more = BayesPointOrdinalClassifier(classes=[*NAMES, "best"], **GIVEN).fit(X, NAMES[Y])
    np.testing.assert_array_equal(more.predict_proba(POINTS), p)


def test_an_ordered_category_has_its_order(model):
    pandas = pytest.importorskip("pandas")
    y = pandas.Series(pandas.Categorical(NAMES[Y], categories=NAMES, ordered=True))
    found = BayesPointOrdinalClassifier(**GIVEN).fit(X, y)
    np.testing.assert_array_equal(found.classes_, NAMES)
    np.testing.assert_array_equal(found.predict_proba(POINTS), model.predict_proba(POINTS))


def test_decisions_fall_and_give_the_probabilities(model):
    z, p = model.decision_function(POINTS), model.predict_proba(POINTS)
    assert z.shape == (40, 3)
    assert (np.diff(z, axis=1) <= 0).all()
    from scipy.special import ndtr

    np.testing.assert_allclose(np.cumsum(p[:, ::-1], axis=1)[:, 2::-1], ndtr(z), atol=1e-12)
    np.testing.assert_allclose(np.log(p), model.predict_log_proba(POINTS), rtol=1e-9)
    for rule, loss in (("median", 1), ("mean", 2)):
        other = clone(model).set_params(decision=rule).fit(X, NAMES[Y])
        k = np.arange(4)
        best = (p @ np.abs(k[:, None] - k) ** loss).argmin(axis=1)
        np.testing.assert_array_equal(other.predict(POINTS), NAMES[best])
    for method in ("vote", "gibbs"):
        assert (model.predict(POINTS, method=method) == NAMES[p.argmax(axis=1)]).mean() > 0.6
    labels, rejected = model.reject(POINTS, 0.3)
    np.testing.assert_array_equal(rejected, p.max(axis=1) < 0.7)
    nearest = np.abs(model.posterior_.votes(POINTS)).min(axis=1).argmin()
    assert model.suggest_query(POINTS)[0] == nearest
    assert set(labels) <= set(NAMES)


def test_class_weights_multiply_the_probabilities(model):
    weights = dict(zip(NAMES, [1.0, 2.0, 0.5, 4.0], strict=True))
    found = BayesPointOrdinalClassifier(classes=NAMES, class_weight=weights, **GIVEN)
    found.fit(X, NAMES[Y])
    p = model.predict_proba(POINTS) * [1.0, 2.0, 0.5, 4.0]
    p /= p.sum(axis=1, keepdims=True)
    for method in ("moments", "mixture"):
        np.testing.assert_allclose(found.predict_proba(POINTS, method=method), p, atol=0.03)
    np.testing.assert_allclose(found.predict_proba(POINTS), p, atol=1e-9)
    np.testing.assert_array_equal(found.predict(POINTS), NAMES[p.argmax(axis=1)])
    assert set(found.predict(POINTS, method="vote")) <= set(NAMES)


def test_files_and_refinements_keep_the_model(model, tmp_path):
    model.save(tmp_path / "model")
    again = load(tmp_path / "model")
    np.testing.assert_array_equal(again.predict_proba(POINTS), model.predict_proba(POINTS))
    np.testing.assert_array_equal(again.predict(POINTS), model.predict(POINTS))
    finer = BayesPointOrdinalClassifier(classes=NAMES, **GIVEN).fit(X, NAMES[Y])
    finer.refine(0.01)
    assert finer.billiard_.center_error <= 0.01
    whole = BayesPointOrdinalClassifier(classes=NAMES, tol=0.01, **GIVEN).fit(X, NAMES[Y])
    np.testing.assert_allclose(finer.predict_proba(POINTS), whole.predict_proba(POINTS), atol=1e-12)
    assert len(finer.support_) <= len(X)
    assert finer.dual_coef_.shape == (1, len(X))


def test_the_probability_of_labels_is_a_ratio_of_evidences(model):
    points = POINTS[:1]
    p = np.log(model.predict_proba(points, method="mixture")[0])
    best = int(p.argmax())
    found = model.log_labeling_probability(points, [NAMES[best]], random_state=seed(2))
    assert abs(found.value - p[best]) < 4 * found.error + 0.1
    assert model.evidence(tol=0.5, random_state=seed(3)).value < 0


def test_hyperparameters_label_noise_and_weights_are_found():
    rng = np.random.default_rng(seed(5))
    y = np.where(rng.uniform(size=len(Y)) < 0.15, rng.integers(4, size=len(Y)), Y)
    found = BayesPointOrdinalClassifier(
        kernels.RBF(), label_noise=None, random_state=seed(0), n_models=1
    ).fit(X, y)
    assert 0.01 < found.label_noise_[0] == found.label_noise_[1] < 0.45
    assert found.score(X, Y) > 0.6
    assert found.calibration_ != 1
    averaged = BayesPointOrdinalClassifier(random_state=seed(0), n_models=3).fit(X[:50], Y[:50])
    assert 1 < len(averaged.models_) <= 3
    p = averaged.predict_proba(POINTS)
    np.testing.assert_allclose(p.sum(axis=1), 1.0)
    assert averaged.feature_relevance_.mean.shape == (2,)
    # A point that counts twice is two points.
    count = np.where(np.arange(len(X)) < 10, 2, 1)
    one = BayesPointOrdinalClassifier(**GIVEN).fit(X, Y, sample_weight=count)
    two = BayesPointOrdinalClassifier(**GIVEN).fit(np.repeat(X, count, 0), np.repeat(Y, count))
    np.testing.assert_array_equal(one.predict_proba(POINTS), two.predict_proba(POINTS))


def test_a_matrix_of_kernel_values_does_as_well(model):
    kernel = kernels.RBF(1.5)
    given = GIVEN | {"kernel": "precomputed"}
    found = BayesPointOrdinalClassifier(**given).fit(kernel(X), Y)
    np.testing.assert_allclose(
        found.predict_proba(kernel(POINTS, X)), model.predict_proba(POINTS), atol=1e-10
    )


def test_two_classes_are_those_of_the_other_classifier():
    y = np.where(Y > 1, "yes", "no")
    one = BayesPointOrdinalClassifier(classes=["no", "yes"], **GIVEN).fit(X, y)
    two = BayesPointClassifier(**GIVEN).fit(X, y)
    np.testing.assert_array_equal(one.predict_proba(POINTS), two.predict_proba(POINTS))


@pytest.mark.parametrize(
    ("settings", "y", "match"),
    [
        ({}, NAMES[Y], "classes must list the labels from the lowest"),
        ({"classes": ["low", "fair"]}, NAMES[Y], "classes must list each label of y once"),
        ({"classes": ["low", *NAMES]}, NAMES[Y], "classes must list each label of y once"),
        ({"decision": "mode"}, Y, "decision must be"),
        ({"label_noise": (0.1, 0.2)}, Y, "label_noise must be one rate"),
        ({"approximation": "landmarks"}, Y, "approximation must be None or 'auto'"),
    ],
)
def test_errors_name_the_argument(settings, y, match):
    with pytest.raises(ValueError, match=match):
        BayesPointOrdinalClassifier(**GIVEN | settings).fit(X, y)


def test_what_is_not_defined_is_an_error(model):
    for call in (lambda: model.bayes_point(POINTS), lambda: model.risk_bounds()):
        with pytest.raises(ValueError, match="classes"):
            call()
