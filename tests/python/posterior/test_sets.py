"""Sets of labels, intervals of probabilities, and leave-one-out probabilities."""

import numpy as np
import pytest
from scipy import special

from bayespoint import BayesPointClassifier
from bayespoint.engine.laws import largest_probabilities
from bayespoint.kernels import RBF
from bayespoint.posterior import questions
from helpers import seed

GIVEN = {"softness": 0.2, "standardize": False, "tol": 0.2}


def drawn(rng, m, n_classes=2):
    """Return examples whose labels are the largest of some functions with noise."""
    X = rng.normal(size=(m, 2))
    f = [np.sin(2 * X[:, 0] + k) + np.cos((1.7 * X[:, 1] + 1) * (k + 1)) for k in range(n_classes)]
    f = np.array(f) + 0.6 * rng.normal(size=(n_classes, m))
    return X, f.argmax(axis=0) if n_classes > 2 else (f[0] > 0).astype(int)


def fitted(m=60, n_classes=2, index=0, **settings):
    """Return a classifier of these examples with a given kernel, and its examples."""
    X, y = drawn(np.random.default_rng(seed(index)), m, n_classes)
    settings = GIVEN | {"random_state": seed(0)} | settings
    return BayesPointClassifier(RBF(0.7), **settings).fit(X, y), X, y


NEW = np.random.default_rng(3).normal(size=(30, 2))


def by_hand(proba, own, weight, new, alpha):
    """Return the sets that these leave-one-out probabilities of labels make."""
    rank = (weight[:, None, None] * (own[:, None, None] <= proba + 1e-12)).sum(axis=0) + new
    return rank > alpha * (weight.sum() + new)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_sets_hold_the_label_as_often_as_they_should(n_classes):
    """Of small data sets, drawn again and again, whatever their source."""
    m, points, coverage, wrong = 19, 50, [], []
    for k in range(150):
        rng = np.random.default_rng([seed(k), n_classes])
        X, y = drawn(rng, m + points, n_classes)
        if len(np.unique(y[:m])) < n_classes:
            continue  # a class would be unknown
        settings = GIVEN | {"random_state": seed(k)}
        model = BayesPointClassifier(RBF(0.7), **settings).fit(X[:m], y[:m])
        new, truth = X[m:], y[m:]
        rows = np.arange(points)
        found = [model.predict_set(new, alpha)[rows, truth].mean() for alpha in (0.1, 0.2)]
        coverage.append(found)
        # Probabilities of the training labels that the labels themselves have changed.
        own, proba = (model.predict_proba(one, method="mixture") for one in (X[:m], new))
        own = own[np.arange(m), y[:m]]
        seen = [by_hand(proba, own, np.ones(m), 1.0, alpha) for alpha in (0.1, 0.2)]
        wrong.append([sets[rows, truth].mean() for sets in seen])
    error = np.std(coverage, axis=0) / np.sqrt(len(coverage))
    gap = np.mean(coverage, axis=0) - [0.9, 0.8]
    # The influence of one example of 19 on a prediction is neglected: about a hundredth.
    assert (np.abs(gap) < 4 * error + 0.01).all()
    assert (np.mean(wrong, axis=0) < [0.9, 0.8] - 6 * error).all()


@pytest.mark.parametrize("n_classes", [2, 3])
def test_sets_by_their_definition(n_classes):
    model, _, y = fitted(n_classes=n_classes, label_noise=0.05)
    own, proba = (
        model.leave_one_out()[np.arange(len(y)), y],
        model.predict_proba(NEW, method="mixture"),
    )
    before = np.ones((len(NEW), n_classes), dtype=bool)
    for alpha in (0.0, 0.01, 0.1, 0.5, 0.9, 1.0):
        sets = model.predict_set(NEW, alpha)
        assert sets.dtype == bool
        np.testing.assert_array_equal(sets, by_hand(proba, own, np.ones(len(y)), 1.0, alpha))
        assert (sets <= before).all()  # nested
        before = sets
    assert model.predict_set(NEW, 0.0).all()
    assert not model.predict_set(NEW, 1.0).any()


def test_certain_labels_are_in_their_sets():
    # Probabilities are so near to 1 that two moments and the draws differ by orders of magnitude.
    rng = np.random.default_rng(seed(4))
    X, new = rng.integers(0, 4, size=(2, 200, 3)).astype(float)
    y, truth = X[:, 0] > 1, (new[:, 0] > 1).astype(int)
    model = BayesPointClassifier(random_state=0, n_models=2).fit(X, y)
    proba = model.predict_proba(new)
    np.testing.assert_array_equal(proba.argmax(axis=1), truth)
    found = model.predict_set(new, 0.1)[np.arange(200), truth]
    assert 0.8 < found.mean() < 1.0
    own = model.leave_one_out()[np.arange(200), y.astype(int)]
    by_moments = by_hand(proba, own, np.ones(200), 1.0, 0.1)[np.arange(200), truth]
    assert by_moments.mean() < 0.7


def test_examples_count_as_their_classes_do():
    model, X, y = fitted(class_weight={0: 1.0, 1: 4.0})
    own, proba = (
        model.leave_one_out()[np.arange(len(y)), y],
        model.predict_proba(NEW, method="mixture"),
    )
    weights = np.array([0.25, 1.0])
    expected = by_hand(proba, own, weights[y], weights, 0.2)
    np.testing.assert_array_equal(model.predict_set(NEW, 0.2), expected)
    # Odds that leave-one-out probabilities have without these weights.
    plain = fitted()[0].leave_one_out()
    ratio = (plain[:, 1] / plain[:, 0]) * 4
    np.testing.assert_allclose(model.leave_one_out()[:, 1], ratio / (1 + ratio), rtol=1e-9)
    some = BayesPointClassifier(RBF(0.7), **GIVEN, random_state=0)
    some.fit(X, y, sample_weight=np.arange(len(y)) % 3)
    assert len(some.leave_one_out()) == len(some.sample_indices_) == 40


def test_examples_count_alike_with_landmarks():
    X, y = drawn(np.random.default_rng(seed(0)), 60)
    settings = GIVEN | {"approximation": "landmarks", "n_components": 20, "random_state": 0}
    settings["softness"] = 1.0
    model = BayesPointClassifier(RBF(0.7), **settings).fit(X, y)
    own, proba = (
        model.leave_one_out(X, y)[np.arange(60), y],
        model.predict_proba(NEW, method="mixture"),
    )
    expected = by_hand(proba, own, np.ones(60), 1.0, 0.1)
    np.testing.assert_array_equal(model.predict_set(NEW, 0.1), expected)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_landmarks_and_all_examples_leave_out_alike(n_classes):
    # With a landmark at each example both are the same model.
    settings = {"softness": 1.0, "n_draws": 1500, "n_classes": n_classes}
    whole, X, y = fitted(40, **settings)
    some, *_ = fitted(40, approximation="landmarks", n_components=40, **settings)
    found, *errors = some.leave_one_out(X, y, return_error=True)
    expected, error = whole.leave_one_out(return_error=True)
    own, error = (np.arange(40), y), np.hypot(*errors, error)
    assert (np.abs(found - expected)[own] < 5 * error).all()
    assert np.sqrt((error**2).mean()) < 0.02
    np.testing.assert_allclose(found.sum(axis=1), 1.0, rtol=1e-9)
    assert np.abs(some.predict_proba(X) - expected).max() > 0.1  # not those of the whole fit
    np.testing.assert_array_equal(some.leave_one_out(X[5:9], y[5:9]), found[5:9])


def test_averages_weigh_models_as_without_the_label():
    X, y = drawn(np.random.default_rng(seed(1)), 80)
    model = BayesPointClassifier(random_state=0, n_models=3).fit(X, y)
    assert len(model.models_) > 1
    rows = np.arange(80)
    each = [one.left_out.log_classes(one.calibration) for one in model.models_]
    own = np.exp([logs[rows, y] for logs in each])
    expected = 1 / (model.model_weights_ @ (1 / own))
    np.testing.assert_allclose(model.leave_one_out()[rows, y], expected, rtol=1e-9)
    assert (expected < model.predict_proba(X)[rows, y]).mean() > 0.9


# --- intervals -----------------------------------------------------------------------------------


@pytest.mark.parametrize("n_classes", [2, 3])
def test_intervals_hold_the_true_probability(n_classes):
    """Where functions come from the prior, with its law."""
    softness, m, points, inside = 0.3, 25, 20, []
    for k in range(120):
        rng = np.random.default_rng([seed(k), n_classes, 1])
        X = rng.normal(size=(m + points, 2))
        covariance = RBF(0.7)(X) + 1 + 1e-9 * np.eye(len(X))
        rows = 1 if n_classes == 2 else n_classes
        f = np.linalg.cholesky(covariance) @ rng.normal(size=(m + points, rows))
        noisy = f[:m] + np.sqrt(softness) * rng.normal(size=(m, rows))
        y = noisy[:, 0] > 0 if n_classes == 2 else noisy.argmax(axis=1)
        if len(np.unique(y)) < n_classes:
            continue
        settings = {"softness": softness, "standardize": False, "random_state": seed(k)}
        model = BayesPointClassifier(RBF(0.7), **settings).fit(X[:m], y)
        t = f[m:].T / np.sqrt(softness)
        if n_classes == 2:
            truth = np.stack([special.ndtr(-t[0]), special.ndtr(t[0])], axis=1)
        else:
            truth = largest_probabilities((t.max(axis=0) - t)[:, None])[:, 0].T
        low, high = model.predict_proba_interval(X[m:], 0.8)
        inside.append(((low <= truth) & (truth <= high)).mean())
    error = np.std(inside) / np.sqrt(len(inside))
    assert abs(np.mean(inside) - 0.8) < 4 * error + 0.01
    assert error < 0.02


@pytest.mark.parametrize("n_classes", [2, 3])
def test_intervals_are_nested_and_in_range(n_classes, monkeypatch):
    model, *_ = fitted(n_classes=n_classes, label_noise=0.1)
    least = 0.1 / (n_classes - 1)
    before = np.array(2 * [model.predict_proba_interval(NEW, 0.0)[0]])
    for level in (0.5, 0.9, 1.0):
        low, high = model.predict_proba_interval(NEW, level)
        assert (low <= before[0]).all()
        assert (high >= before[1]).all()
        before = low, high
    assert before[0].min() >= least - 1e-12
    assert before[1].max() <= 0.9 + 1e-12
    if n_classes == 2:
        np.testing.assert_allclose(before[0][:, 0], 1 - before[1][:, 1], atol=1e-12)
    whole = model.predict_proba_interval(NEW)
    monkeypatch.setattr(questions, "_VALUES", 1)  # a point at a time
    np.testing.assert_allclose(model.predict_proba_interval(NEW), whole, rtol=1e-9)


def test_intervals_include_models_weights_and_calibration():
    X, y = drawn(np.random.default_rng(seed(1)), 80)
    settings = {"random_state": 0, "n_models": 3}
    model = BayesPointClassifier(**settings).fit(X, y)
    low, high = model.predict_proba_interval(NEW)
    middle = model.predict_proba(NEW, method="mixture")
    assert ((low < middle) & (middle < high)).mean() > 0.9
    weighted = BayesPointClassifier(class_weight={0: 1, 1: 3}, **settings).fit(X, y)
    expected = 3 * high[:, 1] / (1 + 2 * high[:, 1])  # three times the odds
    found = weighted.predict_proba_interval(NEW)[1, :, 1]
    np.testing.assert_allclose(found, expected, rtol=1e-6)
    gram = fitted()[0].kernel_(X)
    one = BayesPointClassifier("precomputed", **GIVEN, random_state=0).fit(gram, y)
    diag = np.ones(80)
    given = one.predict_proba_interval(gram, diag=diag)
    np.testing.assert_array_equal(given, one.predict_proba_interval(gram))
    with pytest.raises(ValueError, match="diag must have shape"):
        one.predict_proba_interval(gram, diag=diag[1:])


def test_hard_labels_are_certain_given_a_function():
    X, y = np.array([[-2.0], [-1.0], [1.0], [2.0]]), [0, 0, 1, 1]
    model = BayesPointClassifier("linear", softness=0.0, random_state=0).fit(X, y)
    low, high = model.predict_proba_interval([[0.05], [3.0]])
    np.testing.assert_array_equal(low, [[0, 0], [0, 1]])
    np.testing.assert_array_equal(high, [[1, 1], [0, 1]])


# --- inputs, files and errors --------------------------------------------------------------------


def test_what_leave_one_out_needs():
    X, y = np.array([[-2.0], [-1.0], [1.0], [2.0]]), [0, 0, 1, 1]
    hard = BayesPointClassifier("linear", softness=0.0, random_state=0).fit(X, y)
    model, X, y = fitted()
    with pytest.raises(ValueError, match="leave-one-out predictions need softness > 0"):
        hard.predict_set([[1.0]], 0.1)
    for alpha in (-0.1, 1.1, np.nan, True, "0.1", None):
        with pytest.raises((TypeError, ValueError), match="alpha must be a finite number in"):
            model.predict_set(NEW, alpha)
    with pytest.raises(ValueError, match="level must be a finite number in"):
        model.predict_proba_interval(NEW, 90)
    with pytest.raises(ValueError, match="X, y and sample_weight must be None without landmarks"):
        model.leave_one_out(X, y)
    with pytest.raises(TypeError, match="return_error must be True or False; got 1"):
        model.leave_one_out(return_error=1)
    some, *_ = fitted(approximation="landmarks", n_components=20)
    with pytest.raises(ValueError, match="X and y must be training examples"):
        some.leave_one_out()
    with pytest.raises(ValueError, match="y must have shape"):
        some.leave_one_out(X, y[1:])
