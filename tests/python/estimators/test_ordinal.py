"""The classifier of ordered classes: orders, rules, and all that the other classifier has."""

import numpy as np
import pytest
from scipy import special
from sklearn.base import clone

from bayespoint import BayesPointClassifier, BayesPointOrdinalClassifier, kernels, load
from bayespoint.blocks import Blocks
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
BY_LEVEL = np.argsort(np.argsort(NAMES))
POINTS = 1.5 * np.random.default_rng(seed(1)).standard_normal((40, 2))


def by_level(values):
    """Return columns of sorted classes from the lowest level to the highest."""
    return values[..., BY_LEVEL]


@pytest.fixture(scope="module")
def model():
    return BayesPointOrdinalClassifier(classes=NAMES, **GIVEN).fit(X, NAMES[Y])


def test_names_in_their_order_are_numbers(model):
    numbers = BayesPointOrdinalClassifier(**GIVEN).fit(X, 10 * Y)
    np.testing.assert_array_equal(model.levels_, NAMES)
    np.testing.assert_array_equal(model.classes_, ["fair", "good", "low", "top"])
    np.testing.assert_array_equal(numbers.classes_, [0, 10, 20, 30])
    p = by_level(model.predict_proba(POINTS))
    np.testing.assert_array_equal(p, numbers.predict_proba(POINTS))
    np.testing.assert_array_equal(model.predict(POINTS), NAMES[p.argmax(axis=1)])
    # The reverse order is the same problem with another sign.
    other = BayesPointOrdinalClassifier(classes=NAMES[::-1], **GIVEN).fit(X, NAMES[Y])
    np.testing.assert_allclose(by_level(other.predict_proba(POINTS)), p, atol=0.08)
    # A level that does not occur is left out.
    more = BayesPointOrdinalClassifier(classes=[*NAMES, "best"], **GIVEN).fit(X, NAMES[Y])
    np.testing.assert_array_equal(by_level(more.predict_proba(POINTS)), p)
    grades = BayesPointOrdinalClassifier(**GIVEN).fit(X, 1 + Y / 2)
    np.testing.assert_array_equal(grades.predict_proba(POINTS), p)
    assert grades.score(X, 1 + Y / 2) == model.score(X, NAMES[Y]) > 0.6
    with pytest.raises(ValueError, match="Unknown label type: continuous"):
        grades.fit(X, X[:, 0])


def test_columns_are_those_of_sorted_classes(model):
    """All answers by class, of names and of numbers in the same order."""
    options = {"class_weight": {name: 1.0 + k for k, name in enumerate(NAMES)}}
    ours = BayesPointOrdinalClassifier(classes=NAMES, **GIVEN | options).fit(X, NAMES[Y])
    plain = BayesPointOrdinalClassifier(**GIVEN | {"class_weight": {k: 1.0 + k for k in range(4)}})
    plain.fit(X, Y)
    for ask in (
        lambda m: m.predict_proba(POINTS, method="mixture"),
        lambda m: m.predict_log_proba(POINTS),
        lambda m: m.predict_set(POINTS, 0.2),
        lambda m: m.predict_proba_interval(POINTS),
        lambda m: m.leave_one_out(),
        lambda m: m.leave_one_out(return_error=True)[0],
        lambda m: m.decision_function(POINTS),
        lambda m: m.class_weight_,
    ):
        np.testing.assert_array_equal(by_level(ask(ours)), ask(plain))
    ours.refine(tol=0.05)
    np.testing.assert_array_equal(by_level(ours.class_weight_), [1, 2, 3, 4])
    np.testing.assert_array_equal(ours.update(X[:3], NAMES[Y[:3]]).levels_, NAMES)


@pytest.mark.parametrize("names", [["bad", "good"], ["good", "bad"]])
def test_of_two_classes_the_second_is_positive(names):
    model = BayesPointOrdinalClassifier(classes=names, **GIVEN).fit(X, np.take(names, Y > 1))
    z = model.decision_function(POINTS)
    np.testing.assert_array_equal(model.predict(POINTS), np.where(z > 0, "good", "bad"))
    np.testing.assert_allclose(model.predict_proba(POINTS)[:, 1], special.ndtr(z), atol=1e-12)


def test_an_ordered_category_has_its_order(model):
    pandas = pytest.importorskip("pandas")
    y = pandas.Series(pandas.Categorical(NAMES[Y], categories=NAMES, ordered=True))
    found = BayesPointOrdinalClassifier(**GIVEN).fit(X, y)
    np.testing.assert_array_equal(found.levels_, NAMES)
    np.testing.assert_array_equal(found.predict_proba(POINTS), model.predict_proba(POINTS))


def test_decisions_give_the_probabilities(model):
    z, p = (by_level(f(POINTS)) for f in (model.decision_function, model.predict_proba))
    np.testing.assert_allclose(p, special.ndtr(z), atol=1e-12)
    np.testing.assert_allclose(np.log(p), by_level(model.predict_log_proba(POINTS)), rtol=1e-9)
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
    p = by_level(model.predict_proba(POINTS)) * [1.0, 2.0, 0.5, 4.0]
    p /= p.sum(axis=1, keepdims=True)
    for method in ("moments", "mixture"):
        proba = by_level(found.predict_proba(POINTS, method=method))
        np.testing.assert_allclose(proba, p, atol=0.03)
    np.testing.assert_allclose(by_level(found.predict_proba(POINTS)), p, atol=1e-9)
    np.testing.assert_array_equal(found.predict(POINTS), NAMES[p.argmax(axis=1)])
    assert set(found.predict(POINTS, method="vote")) <= set(NAMES)


def test_the_probability_of_labels_is_a_ratio_of_evidences(model):
    points = POINTS[:1]
    p = np.log(by_level(model.predict_proba(points, method="mixture")[0]))
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
    kept = np.arange(len(X)) < 60
    one = BayesPointOrdinalClassifier(**GIVEN).fit(X, Y, sample_weight=2 * kept)
    two = BayesPointOrdinalClassifier(**GIVEN).fit(X[kept], Y[kept])
    np.testing.assert_array_equal(one.predict_proba(POINTS), two.predict_proba(POINTS))


def test_a_matrix_of_kernel_values_does_as_well(model):
    kernel = kernels.RBF(1.5)
    given = GIVEN | {"kernel": "precomputed"}
    found = BayesPointOrdinalClassifier(**given).fit(kernel(X), Y)
    np.testing.assert_allclose(
        found.predict_proba(kernel(POINTS, X)), by_level(model.predict_proba(POINTS)), atol=1e-10
    )


LANDMARKS = {"approximation": "landmarks", "n_components": len(X), "n_draws": 400, "tol": 0.02}


@pytest.fixture(scope="module")
def over_landmarks():
    return BayesPointOrdinalClassifier(classes=NAMES, **GIVEN | LANDMARKS).fit(X, NAMES[Y])


def test_landmarks_at_all_examples_give_the_posterior_without(over_landmarks):
    settings = GIVEN | {"calibration": None, "tol": 0.01, "n_draws": 400}
    without = BayesPointOrdinalClassifier(classes=NAMES, **settings).fit(X, NAMES[Y])
    for method in ("moments", "mixture"):
        both = over_landmarks, without
        p, q = (model.predict_proba(POINTS, method=method) for model in both)
        assert np.abs(p - q).max() < 0.05
        assert np.abs(p - q).mean() < 0.008
    functions = [m.sample_functions(POINTS, random_state=seed(6)) for m in both]
    np.testing.assert_allclose(*(f.mean(axis=1) for f in functions), atol=0.25)
    np.testing.assert_allclose(*(f.std(axis=1) for f in functions), atol=0.25)
    draws = [m.models_[0].draws for m in both]
    ours, theirs = (d.thresholds() * d.lengths.quantiles(len(d))[:, None] for d in draws)
    error = np.sqrt(ours.var(axis=0) / over_landmarks.billiard_.ess + theirs.var(axis=0) / 200)
    assert (np.abs(ours.mean(axis=0) - theirs.mean(axis=0)) < 5 * error).all()
    np.testing.assert_allclose(ours.std(axis=0), theirs.std(axis=0), rtol=0.25)
    assert (np.diff(ours, axis=1) > 0).all()
    one, other = over_landmarks.evidence(), without.evidence(random_state=seed(7))
    assert abs(one.value - other.value) < 5 * np.hypot(one.error, other.error)
    left, out = over_landmarks.leave_one_out(X, NAMES[Y]), without.leave_one_out()
    assert np.abs(left - out).mean() < 0.02


def test_landmarks_have_all_that_the_other_classifier_has(over_landmarks):
    model = over_landmarks
    assert model.approximation_ == "landmarks"
    assert model.sample_functions(POINTS[:5]).shape == (3, 1600, 5)
    assert model.predict_set(POINTS, 0.1).shape == (40, 4)
    lower, upper = model.predict_proba_interval(POINTS)
    p = model.predict_proba(POINTS)
    assert ((lower < p) & (p < upper))[p > 1e-3].all()  # a few draws make smaller ones
    best = NAMES[by_level(p).argmax(axis=1)]
    for method in ("vote", "gibbs"):
        assert (model.predict(POINTS, method=method) == best).mean() > 0.6
    assert model.suggest_query(POINTS)[0] in range(40)
    own = np.log(by_level(model.predict_proba(POINTS[:1], method="mixture")[0]))
    found = model.log_labeling_probability(POINTS[:1], [NAMES[2]])
    assert found.value == pytest.approx(own[2], abs=1e-6)
    with pytest.raises(ValueError, match="landmarks"):
        model.refine(0.01)


def test_weights_and_averages_with_landmarks():
    settings = GIVEN | LANDMARKS
    weights = np.where(np.arange(len(X)) < 30, 3, 1)
    one = BayesPointOrdinalClassifier(**settings).fit(X, Y, sample_weight=weights)
    two = BayesPointOrdinalClassifier(**GIVEN).fit(X, Y, sample_weight=weights)
    assert np.abs(one.predict_proba(POINTS) - two.predict_proba(POINTS)).max() < 0.06
    plain = BayesPointOrdinalClassifier(**settings).fit(X, Y)
    assert np.abs(one.predict_proba(POINTS) - plain.predict_proba(POINTS)).max() > 0.06
    # Class weights multiply the probabilities, and averages are of several models.
    settings |= {"class_weight": "balanced", "label_noise": None, "n_models": 3, "n_components": 30}
    found = BayesPointOrdinalClassifier(**settings | {"kernel": kernels.RBF()}).fit(X, Y)
    assert len(found.models_) > 1
    assert found.approximation_ == "landmarks"
    assert found.score(X, Y) > 0.6
    np.testing.assert_allclose(found.predict_proba(POINTS).sum(axis=1), 1.0)


@pytest.mark.parametrize("more", [{}, LANDMARKS], ids=["dense", "landmarks"])
def test_files_keep_the_model(more, tmp_path):
    model = BayesPointOrdinalClassifier(classes=NAMES, **GIVEN | more).fit(X, NAMES[Y])
    model.save(tmp_path / "model")
    again = load(tmp_path / "model")
    for ask in (lambda one: one.predict_proba(POINTS), lambda one: one.predict(POINTS)):
        np.testing.assert_array_equal(ask(again), ask(model))


def test_refinements_are_fits_to_a_smaller_tolerance():
    finer = BayesPointOrdinalClassifier(classes=NAMES, **GIVEN).fit(X, NAMES[Y]).refine(0.01)
    assert finer.billiard_.center_error <= 0.01
    whole = BayesPointOrdinalClassifier(classes=NAMES, tol=0.01, **GIVEN).fit(X, NAMES[Y])
    np.testing.assert_allclose(finer.predict_proba(POINTS), whole.predict_proba(POINTS), atol=1e-12)


def test_blocks_and_collections_of_dask_have_the_order_of_the_classes():
    da = pytest.importorskip("dask.array")
    X, Y = data(1200, index=4)
    settings = GIVEN | {"classes": NAMES, "approximation": "landmarks", "n_components": 30}
    whole = BayesPointOrdinalClassifier(**settings).fit(X, NAMES[Y])
    parts = Blocks(np.split(X, 3)), Blocks(np.split(NAMES[Y], 3))
    blocks = BayesPointOrdinalClassifier(**settings).fit(*parts)
    array, labels = da.from_array(X, chunks=(400, 2)), da.from_array(NAMES[Y], chunks=400)
    found = BayesPointOrdinalClassifier(**settings).fit(array, labels)
    np.testing.assert_array_equal(found.levels_, NAMES)
    np.testing.assert_array_equal(found.decision_function(array), blocks.decision_function(X))
    np.testing.assert_array_equal(found.billiard_.draws, blocks.billiard_.draws)
    np.testing.assert_array_equal(found.predict(array).compute(), blocks.predict(X))
    p, q = (model.predict_proba(X) for model in (found, whole))
    assert np.abs(p - q).mean() < 0.01  # with other landmarks


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
        ({"approximation": "landmarks", "softness": 0.0}, Y, "softness must be positive or None"),
        ({"approximation": "landmarks", "label_noise": (0.1, 0.1)}, Y, "label_noise must be one"),
    ],
)
def test_errors_name_the_argument(settings, y, match):
    with pytest.raises(ValueError, match=match):
        BayesPointOrdinalClassifier(**GIVEN | settings).fit(X, y)
