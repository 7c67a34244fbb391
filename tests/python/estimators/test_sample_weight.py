"""Sample weights: an example of weight w counts as w observations."""

import pickle
import warnings

import numpy as np
import pytest
from scipy import sparse, stats

from bayespoint import BayesPointClassifier, kernels
from bayespoint.blocks import Blocks
from bayespoint.data.examples import Examples
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


# --- whole numbers ---


@pytest.mark.parametrize(
    ("settings", "k"),
    [
        (GIVEN, 2),
        (GIVEN | {"class_weight": "balanced"}, 3),
        (GIVEN | {"softness": 0.0, "label_noise": 0.1}, 2),
        (GIVEN | {"kernel": "linear"}, 2),
        ({}, 2),
        pytest.param({"label_noise": None}, 3, marks=pytest.mark.long),
    ],
)
def test_whole_weights_repeat_the_examples(settings, k):
    X, y, weights = data(k=k)
    settings = {"random_state": seed(0), "tol": 0.1} | settings
    weighted = BayesPointClassifier(**settings).fit(X, y, sample_weight=weights)
    rows = np.repeat(np.arange(len(X)), weights.astype(int))
    repeated = BayesPointClassifier(**settings).fit(X[rows], y[rows])
    same(weighted, repeated, X)
    np.testing.assert_array_equal(weighted.sample_indices_, rows)
    np.testing.assert_array_equal(weighted.X_fit_, repeated.X_fit_)
    np.testing.assert_array_equal(weighted.scaler_.mean_, X[rows].mean(axis=0))
    np.testing.assert_array_equal(weighted.dual_coef_, repeated.dual_coef_)
    np.testing.assert_array_equal(weighted.class_weight_, repeated.class_weight_)
    assert weighted.kernel_ == repeated.kernel_


def test_ones_are_no_weights():
    X, y, _ = data()
    given = GIVEN | {"random_state": seed(0)}
    plain = BayesPointClassifier(**given).fit(X, y)
    for ones in (np.ones(len(X)), [1] * len(X), np.ones(len(X), dtype=bool), 1 + 1e-12 * y):
        same(BayesPointClassifier(**given).fit(X, y, ones), plain, X)
    np.testing.assert_array_equal(plain.sample_indices_, np.arange(len(X)))


def test_inputs_of_every_kind():
    X, y, weights = data()
    rows = np.repeat(np.arange(len(X)), weights.astype(int))
    given = {"softness": 0.3, "random_state": seed(0)}
    csr = sparse.csr_array(np.where(np.abs(X) > 0.5, X, 0.0))
    same(
        BayesPointClassifier("linear", **given).fit(csr, y, weights),
        BayesPointClassifier("linear", **given).fit(csr[rows], y[rows]),
        csr,
    )
    sets = [{int(10 * a), int(10 * b)} for a, b in X]
    kernel = kernels.SetIntersection(2.0) + 1.0
    same(
        BayesPointClassifier(kernel, **given).fit(sets, y, weights),
        BayesPointClassifier(kernel, **given).fit([sets[i] for i in rows], y[rows]),
        sets,
    )


def test_precomputed_rows_and_columns_are_repeated():
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
    for method in ("vote", "gibbs", "center"):
        np.testing.assert_array_equal(
            model.predict(between, method=method), other.predict(points, method=method)
        )
    assert model.sample_functions(between, gram=kernel(points)).shape == (400, 7)
    model.refine(tol=0.1, gram=gram)
    other.refine(tol=0.1)
    np.testing.assert_allclose(
        model.predict_proba(between, diag=diag), other.predict_proba(points), rtol=1e-9
    )
    assert len(model.billiard_.label) == int(weights.sum())
    with pytest.raises(ValueError, match=r"gram must have shape \(40, 40\)"):
        model.refine(tol=0.1, gram=kernel(model.sample_indices_[:, None].astype(float)))


def test_copies_change_nothing_without_softness():
    """Their walls coincide."""
    X = np.random.default_rng(seed(1)).standard_normal((40, 5))
    y, weights = (X[:, 0] > 0.1).astype(int), data()[2] + 1
    given = {"kernel": "linear", "softness": 0.0, "n_draws": 500}
    given |= {"random_state": seed(0), "tol": 0.02}
    plain = BayesPointClassifier(**given, standardize=False).fit(X, y)
    weighted = BayesPointClassifier(**given, standardize=False).fit(X, y, weights)
    errors = [m.billiard_.center_error for m in (plain, weighted)]
    # The angle between the centers, as vectors in the space of functions.
    gram = X @ X.T + 1
    folded = np.bincount(weighted.sample_indices_, weights=weighted.dual_coef_[0])
    cosine = folded @ gram @ plain.dual_coef_[0]
    cosine /= np.sqrt(folded @ gram @ folded)
    assert np.arccos(min(cosine, 1.0)) < 4 * np.hypot(*errors)


@pytest.mark.long
def test_the_order_of_examples_does_not_change_the_law():
    """Repeated examples in another order have other draws of the same posterior."""
    X, y, weights = data()
    order = np.random.default_rng(seed(1)).permutation(len(X))
    rows = np.repeat(np.arange(len(X)), weights.astype(int))
    given = GIVEN | {"n_draws": 4000, "tol": 0.01}
    one = BayesPointClassifier(random_state=seed(1), **given)
    two = BayesPointClassifier(random_state=seed(2), **given)
    one.fit(X[order], y[order], sample_weight=weights[order])
    two.fit(X[rows], y[rows])
    points = np.random.default_rng(seed(2)).uniform(-2, 2, (20, 2))
    p, variance = [], 0.0
    for model in (one, two):
        h = model.sample_functions(points, noise=False, random_state=seed(3))
        each = stats.norm.cdf(h / np.sqrt(model.softness_))
        p.append(each.mean(axis=0))
        variance += each.var(axis=0) / model.billiard_.ess
    z = (p[0] - p[1]) / np.sqrt(variance)
    assert np.abs(z).max() < 5
    found = [m.evidence(tol=0.05, random_state=seed(4)) for m in (one, two)]
    assert abs(found[0].value - found[1].value) < 4 * np.hypot(found[0].error, found[1].error)


# --- relative weights ---


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
    ("weight", "noise"), [(w, 0.0) for w in (0.05, 0.4, 0.9, 1.5, 2.25, 50.5)] + [(1e-8, 0.1)]
)
def test_relative_weights_divide_the_noise(weight, noise):
    """A faint label is a coin toss, with label noise as without."""
    p, error = found(weight, 0.5, label_noise=noise)
    expected = 0.5 if noise else exact([4 * weight / (weight + 3)], 0.5)
    assert abs(p - expected) < 4 * error + 1e-3 * (noise > 0)
    assert error < 0.01


@pytest.mark.parametrize("weight", [1, 2, 4])
def test_whole_weights_are_counts(weight):
    p, error = found(weight, 0.5)
    assert abs(p - exact([1.0] * weight, 0.5)) < 4 * error


def test_the_scale_of_relative_weights_does_not_matter():
    X, y, _ = data()
    given = GIVEN | {"random_state": seed(0)}
    weights = np.random.default_rng(seed(3)).gamma(2.0, size=len(X))
    one = BayesPointClassifier(**given).fit(X, y, weights)
    np.testing.assert_allclose(one.models_[0].basis.softness, 0.3 * weights.mean() / weights)
    for factor in (2.0**-1000, 2.0**-10, 2.0**10):
        same(BayesPointClassifier(**given).fit(X, y, factor * weights), one, X)
    # Examples of weight 0 do not count in the mean, as if they were not there.
    weights[3] = 0.0
    kept = np.flatnonzero(weights)
    without = BayesPointClassifier(**given).fit(X[kept], y[kept], weights[kept])
    same(BayesPointClassifier(**given).fit(X, y, weights), without, X)


# --- many observations ---


@pytest.mark.parametrize("k", [2, 3])
def test_counts_over_landmarks_are_powers_of_likelihoods(k):
    """Landmarks at all examples lose nothing: the draws are those of repeated rows."""
    X, y, weights = data(k=k)
    given = GIVEN | {"n_draws": 2000, "tol": 0.02, "n_components": len(X)}
    over = BayesPointClassifier(random_state=seed(1), approximation="landmarks", **given)
    rows = np.repeat(np.arange(len(X)), weights.astype(int))
    over.fit(X, y, weights)
    assert len(over.sample_indices_) == np.count_nonzero(weights)
    repeated = BayesPointClassifier(random_state=seed(2), **given).fit(X[rows], y[rows])
    points = np.random.default_rng(seed(2)).uniform(-2, 2, (20, 2))
    ours, theirs = (np.log(m.predict_proba(points, method="mixture")) for m in (over, repeated))
    np.testing.assert_allclose(ours, theirs, atol=0.1)
    unweighted = BayesPointClassifier(random_state=seed(2), **given).fit(X, y)
    other = np.log(unweighted.predict_proba(points, method="mixture"))
    assert np.abs(ours - other).max() > 0.2


@pytest.mark.parametrize("kind", ["counts", "relative", "small", "almost nothing"])
def test_weights_of_blocks_are_those_of_arrays(kind):
    X, y, weights = data(200)
    kept, scale = weights > 1, 2.0 ** (-1000 * (kind == "small"))
    weights = (1 + y) * kept + 0.5 * (kind != "counts")  # one class counts twice
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


def test_many_observations_of_few_examples():
    rng = np.random.default_rng(seed(4))
    X = np.repeat(rng.standard_normal((15, 2)), 2, axis=0)
    y = np.tile([0, 1], 15)
    p = np.repeat(stats.norm.cdf(X[::2, 0]), 2)
    counts = np.rint(1e6 * np.where(y == 1, p, 1 - p))
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        model = BayesPointClassifier(kernels.RBF(1.5), random_state=seed(0)).fit(X, y, counts)
    assert len(model.sample_indices_) == 30
    np.testing.assert_allclose(model.predict_proba(X)[:, 1], p, atol=0.02)
    with pytest.warns(UserWarning, match=r"20 examples count as 2e\+07 observations"):
        BayesPointClassifier(**GIVEN).fit(
            X[::2].repeat(2, axis=0)[:20] + np.arange(20)[:, None], y[:20], np.full(20, 1e6)
        )


@pytest.mark.parametrize("n", [30, 100, 1000])
def test_samples_of_observations(n):
    rng = np.random.default_rng(seed(0))
    label, counts = rng.integers(0, 2, 50), rng.integers(1, 40, 50).astype(float)
    label[0], label[1:] = 2, np.minimum(label[1:], 1)
    counts[0] = 1
    examples = Examples(np.arange(50.0)[:, None], label, np.ones(50), counts)
    some = examples.sample(n, seed(1))
    assert some.counts is None
    assert len(some) == min(n, counts.sum())
    assert set(some.label) == {0, 1, 2}
    times = np.bincount(some.inputs[:, 0].astype(int), minlength=50)
    expected = counts * min(1.0, n / counts.sum())
    assert np.abs(times - expected)[1:].max() <= 2


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
        (np.r_[0.5, 1e300, np.ones(38)], {}, ValueError, r"got 1e\+300 for example 1"),
        (1.0 - data()[1], {}, ValueError, "for class 1"),
        (["one"] * 40, {}, TypeError, "must hold real numbers"),
        (np.r_[1.5, np.ones(39)], {"softness": 0.0}, ValueError, "whole numbers with softness=0"),
    ],
)
def test_bad_weights(weights, settings, error, text):
    X, y, _ = data()
    model = BayesPointClassifier(**GIVEN | settings)
    with pytest.raises(error, match=f"sample_weight .*{text}"):
        model.fit(X, y, weights)
    assert not hasattr(model, "classes_")


@pytest.mark.parametrize(("far", "text"), [(1e155, r"got 1e\+155 for example 1"), (0, "class 1")])
def test_bad_weights_of_blocks(far, text):
    X, y, _ = data()
    with pytest.raises(ValueError, match=f"sample_weight .*{text}"):
        BayesPointClassifier(**GIVEN).fit(Blocks([X]), Blocks([y]), Blocks([np.where(y, far, 1)]))


def test_counts_beyond_memory_are_refused():
    X, y, _ = data()
    with pytest.raises(MemoryError, match="fitting 1000000000039 examples"):
        BayesPointClassifier(**GIVEN, approximation=None).fit(X, y, np.r_[1e12, np.ones(39)])


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
