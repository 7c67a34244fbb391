"""Sample weights are relative: an example of weight w has noise of the variance softness / w."""

import pickle

import numpy as np
import pytest
from scipy import sparse, stats

from bayespoint import BayesPointClassifier, kernels
from bayespoint.blocks import Blocks
from helpers import seed

GIVEN = {"kernel": kernels.RBF(1.5), "softness": 0.3}


def data(n=40, k=2, index=0):
    rng = np.random.default_rng(seed(index))
    X = rng.standard_normal((n, 2))
    y = np.digitize(X[:, 0] + 0.5 * rng.standard_normal(n), [0.2, 1.0][: k - 1])
    y[:k] = np.arange(k)
    weights = rng.integers(0, 4, size=n).astype(float)
    weights[:k] = 2
    return X, y, weights


def same(one, two, X):
    for method in ("decision_function", "predict_proba", "predict"):
        np.testing.assert_array_equal(getattr(one, method)(X), getattr(two, method)(X))


# --- only ratios count ---


@pytest.mark.parametrize(
    ("settings", "k"),
    [
        (GIVEN | {"class_weight": "balanced"}, 3),
        (GIVEN | {"softness": 0.0, "label_noise": 0.1}, 2),
        (GIVEN | {"approximation": "landmarks", "n_components": 10}, 2),
        ({}, 2),
    ],
)
def test_equal_weights_change_nothing(settings, k):
    X, y, _ = data(k=k)
    settings = {"random_state": seed(0), "tol": 0.1} | settings
    plain = BayesPointClassifier(**settings).fit(X, y)
    assert plain.sample_indices_.tolist() == list(range(len(X)))
    for weights in (np.ones(len(X), dtype=bool), [2] * len(X), np.full(len(X), 1e6)):
        same(BayesPointClassifier(**settings).fit(X, y, weights), plain, X)


def test_examples_of_weight_0_are_left_out():
    X, y, weights = data()
    weights = (weights > 0) * 3.0
    rows = np.flatnonzero(weights)
    given = {"softness": 0.3, "random_state": seed(0)}
    csr = sparse.csr_array(np.where(np.abs(X) > 0.5, X, 0.0))
    sets = np.array([{int(10 * a), int(10 * b)} for a, b in X], dtype=object)
    kernel = kernels.SetIntersection(2.0) + 1.0
    for asked, some in ((None, X), ("linear", csr), (kernel, sets)):
        one = BayesPointClassifier(asked, **given).fit(some, y, weights)
        same(one, BayesPointClassifier(asked, **given).fit(some[rows], y[rows]), some)
        assert one.sample_indices_.tolist() == rows.tolist()


def test_weights_of_a_kernel_matrix():
    X, y, weights = data()
    kernel = kernels.Polynomial(3, 1.0)
    given = {"softness": 0.3, "random_state": seed(0), "tol": 0.2}
    gram = kernel(X)
    before = gram.copy()
    model = BayesPointClassifier("precomputed", **given).fit(gram, y, weights)
    other = BayesPointClassifier(kernel, **given, standardize=False).fit(X, y, weights)
    np.testing.assert_array_equal(gram, before)
    assert model.n_features_in_ == len(X)
    points = X[:7] + 0.1
    between, diag = kernel(points, X), kernel.diag(points)
    np.testing.assert_allclose(
        model.predict_proba(between, diag=diag), other.predict_proba(points), rtol=1e-9
    )
    assert model.sample_functions(between, gram=kernel(points)).shape == (400, 7)
    model.refine(tol=0.1, gram=gram)
    other.refine(tol=0.1)
    np.testing.assert_allclose(
        model.predict_proba(between, diag=diag), other.predict_proba(points), rtol=1e-9
    )
    assert len(model.billiard_.label) == np.count_nonzero(weights)
    with pytest.raises(ValueError, match=r"gram must have shape \(40, 40\)"):
        model.refine(tol=0.1, gram=kernel(model.sample_indices_[:, None].astype(float)))


# --- what they mean ---


def exact(shares, softness):
    """Return the probability of a further label 1 at a point with labels 1 of these precisions.

    The function has the variance 1, and the other examples are independent.
    """
    shares = [*shares, 1.0]
    covariance = np.ones((len(shares), len(shares))) + np.diag(softness / np.array(shares))
    normal = stats.multivariate_normal(np.zeros(len(shares)), covariance, maxpts=2_000_000)
    before = stats.multivariate_normal(np.zeros(len(shares) - 1), covariance[:-1, :-1])
    given = 0.5 if len(shares) == 2 else before.cdf(np.zeros(len(shares) - 1))
    return normal.cdf(np.zeros(len(shares))) / given


def found(weight, softness, **settings):
    """Return the same by a fit, and its standard error."""
    runs = {"n_draws": 5000, "tol": 0.01, "fit_intercept": False, "random_state": seed(5)}
    model = BayesPointClassifier("precomputed", softness=softness, **runs)
    model.set_params(**settings).fit(np.eye(4), [1, 0, 1, 0], [weight, 1.0, 1.0, 1.0])
    p = model.predict_proba([[1.0, 0.0, 0.0, 0.0]], method="mixture")[0, 1]
    return p, 0.5 / np.sqrt(model.billiard_.ess)


@pytest.mark.parametrize(
    ("weight", "noise"), [(w, 0.0) for w in (0.05, 0.4, 0.9, 1, 2, 4, 50)] + [(1e-8, 0.1)]
)
def test_relative_weights_divide_the_noise(weight, noise):
    """A faint label is a coin toss, with label noise as without."""
    p, error = found(weight, 0.5, label_noise=noise)
    expected = 0.5 if noise else exact([4 * weight / (weight + 3)], 0.5)
    assert abs(p - expected) < 4 * error + 1e-3 * (noise > 0)
    assert error < 0.01


@pytest.mark.parametrize("whole", [False, True])
def test_the_scale_does_not_matter(whole):
    X, y, _ = data()
    given = GIVEN | {"random_state": seed(0)}
    weights = np.random.default_rng(seed(3)).gamma(2.0, size=len(X))
    weights = np.ceil(weights) if whole else weights
    one = BayesPointClassifier(**given).fit(X, y, weights)
    np.testing.assert_allclose(one.models_[0].basis.softness, 0.3 * weights.mean() / weights)
    for factor in (2.0**-1000, 2.0**-10, 2.0**1000):
        same(BayesPointClassifier(**given).fit(X, y, factor * weights), one, X)
    # Examples of weight 0 do not count in the mean, as if they were not there.
    weights[3] = 0.0
    kept = np.flatnonzero(weights)
    without = BayesPointClassifier(**given).fit(X[kept], y[kept], weights[kept])
    same(BayesPointClassifier(**given).fit(X, y, weights), without, X)


# --- blocks ---


@pytest.mark.parametrize("kind", ["whole", "small", "almost nothing"])
def test_weights_of_blocks_are_those_of_arrays(kind):
    X, y, weights = data(200)
    kept, scale = weights > 1, 2.0 ** (-1000 * (kind == "small"))
    weights = 9 * (1 + y) * kept + 0.5 * (kind != "whole")
    weights = np.where(kept, 1.0, 1e-300) if kind == "almost nothing" else scale * weights
    given = GIVEN | {"approximation": "landmarks", "n_components": 40, "tol": 0.1, "n_draws": 200}
    given["random_state"] = seed(0)
    one = BayesPointClassifier(**given).fit(X, y, weights)
    blocks = [Blocks([each[:90], each[90:]]) for each in (X, y, weights)]
    two = BayesPointClassifier(**given).fit(*blocks)
    for name in ("mean_", "scale_"):
        ours, theirs = (getattr(model.scaler_, name) for model in (one, two))
        np.testing.assert_allclose(ours, theirs, rtol=1e-9)
    unweighted = BayesPointClassifier(**given).fit(X, y).predict_proba(X)
    np.testing.assert_allclose(one.predict_proba(X), two.predict_proba(X), atol=0.1)
    assert np.abs(one.predict_proba(X) - unweighted).max() > 0.1


# --- copies ---


def test_copies_are_told():
    X, y, _ = data(100)
    for n in (30, 100):
        rows = np.concatenate([np.arange(100), np.arange(n)])
        text = f"X holds {100 + n} rows, of which 100 are different, and equal rows have equal"
        with pytest.warns(UserWarning, match=text):
            BayesPointClassifier(**GIVEN).fit(X[rows], y[rows])


def test_few_levels_and_other_labels_are_no_copies():
    """Warnings are errors."""
    X, y, _ = data(100)
    rows, rng = np.arange(200) % 100, np.random.default_rng(seed(1))
    other = np.where(rng.uniform(size=200) < 0.1, 1 - y[rows], y[rows])
    BayesPointClassifier(**GIVEN).fit(X[rows], other)  # measured twice
    BayesPointClassifier(**GIVEN).fit(X[rows[:105]], y[rows[:105]])  # five
    levels = rng.integers(0, 4, (300, 3))
    assert 20 < len(np.unique(levels, axis=0)) < 150
    BayesPointClassifier(**GIVEN).fit(levels, levels.sum(axis=1) > 4)


# --- the search, bad weights ---


def test_the_search_has_the_weights():
    X, y, _ = data(80)
    y = np.where(np.arange(80) % 4 == 0, 1 - y, y)  # wrong labels
    light = np.where(np.arange(80) % 4 == 0, 0.01, 1.0)
    settings = {"random_state": seed(0), "tol": 0.2}
    kernel = kernels.RBF(1.5)
    all_alike = BayesPointClassifier(kernel, **settings).fit(X, y)
    weighted = BayesPointClassifier(kernel, **settings).fit(X, y, light)
    assert weighted.tuning_.log_evidence > all_alike.tuning_.log_evidence + 5
    assert weighted.softness_ < all_alike.softness_


@pytest.mark.parametrize(
    ("weights", "settings", "error", "text"),
    [
        (np.ones(39), {}, ValueError, r"must have shape \(40,\).* got shape \(39,\)"),
        (2.0, {}, ValueError, r"got shape \(\)"),
        (np.r_[np.ones(39), -1], {}, ValueError, "got -1.0 for example 39"),
        (np.r_[np.nan, np.ones(39)], {}, ValueError, "got nan for example 0"),
        (np.r_[np.inf, np.ones(39)], {}, ValueError, "got inf for example 0"),
        (1.0 - data()[1], {}, ValueError, "for class 1"),
        (["one"] * 40, {}, TypeError, "must hold real numbers"),
        (
            np.r_[2, np.ones(39)],
            {"softness": 0.0},
            ValueError,
            "equal for all examples, or 0",
        ),
    ],
)
def test_bad_weights(weights, settings, error, text):
    X, y, _ = data()
    model = BayesPointClassifier(**GIVEN | settings)
    with pytest.raises(error, match=f"sample_weight .*{text}"):
        model.fit(X, y, weights)
    assert not hasattr(model, "classes_")


def test_bad_weights_of_blocks():
    X, y, _ = data()
    with pytest.raises(ValueError, match=r"sample_weight .*class 1"):
        BayesPointClassifier(**GIVEN).fit(Blocks([X]), Blocks([y]), Blocks([1 - y]))


# --- continued fits ---


def test_fits_that_continue():
    X, y, weights = data()
    weights[3] = 1.5
    given = GIVEN | {"random_state": seed(0), "tol": 0.2}
    model = BayesPointClassifier(**given).fit(X, y, weights)
    fine = BayesPointClassifier(**given | {"tol": 0.1}).fit(X, y, weights)
    same(model.refine(tol=0.1), fine, X)
    restored = pickle.loads(pickle.dumps(model))
    same(restored, fine, X)


# --- tools of scikit-learn ---
