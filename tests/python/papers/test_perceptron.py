"""Perceptrons: Novikoff's theorem on random problems, sparsity, orders, margins."""

import os

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.estimator_checks import parametrize_with_checks

from bayespoint import VersionSpace, kernels
from bayespoint.papers.perceptron import KernelPerceptron

SEED = int(os.environ.get("BAYESPOINT_SEED", "0"))
IRIS = load_iris(return_X_y=True)


@pytest.mark.long
@parametrize_with_checks(
    [
        KernelPerceptron(),
        KernelPerceptron("linear", normalize=True, order="random"),
    ]
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def separable(index, intercept=True):
    """Examples at some distance from a plane, in a random scale, labeled by it."""
    rng = np.random.default_rng([SEED, index])
    d = int(rng.integers(1, 5))
    scale = np.exp(rng.uniform(-2, 2))
    x = scale * rng.standard_normal((int(rng.integers(3, 30)), d))
    w = rng.standard_normal(d)
    b = scale * rng.standard_normal() if intercept else 0.0
    values = x @ w + b
    keep = np.abs(values) > 0.1 * scale
    x, y = x[keep], np.where(values[keep] > 0, 1, -1)
    return (x, y) if len(np.unique(y)) == 2 else separable(index + 10_000, intercept)


# --- mistakes ---


@pytest.mark.long
def test_kernel_perceptron_keeps_its_bound_and_is_sparse_on_1000_problems():
    """The bound by the largest margin never rises with a normalized kernel."""
    tightest = {False: 0.0, True: 0.0}
    fallen = 0
    for index in range(1000):
        linear = index % 2 == 0
        x, y = separable(2000 + index, intercept=not linear)
        kernel = kernels.Linear() if linear else kernels.Polynomial(2, 1.0)
        gram = kernel(x)
        bounds = []
        for normalize in (False, True):
            model = KernelPerceptron(
                kernel,
                normalize=normalize,
                fit_intercept=False,
                max_epochs=10**6,
                order="random",
                random_state=index,
            ).fit(x, y)
            lengths = np.sqrt(gram.diagonal()) if normalize else np.ones(len(x))
            normalized = gram / np.outer(lengths, lengths)
            margin = VersionSpace(normalized, y).max_margin().margin
            mistakes = model.n_mistakes_[0]
            bounds.append(normalized.diagonal().max() / margin**2)
            assert 1 <= len(model.support_) <= mistakes <= bounds[-1] * (1 + 1e-9)
            assert mistakes <= model.mistake_bound_[0]
            np.testing.assert_array_equal(model.support_, np.flatnonzero(model.dual_coef_[0]))
            assert np.abs(model.dual_coef_).sum() == mistakes
            assert (model.predict(x) == y).all()
            assert model.mistake_bound_[0] >= bounds[-1] * (1 - 1e-9)
            tightest[normalize] = max(tightest[normalize], mistakes / bounds[-1])
        assert bounds[1] <= bounds[0] * (1 + 1e-9)
        fallen += bounds[1] < 0.9 * bounds[0]
    assert min(tightest.values()) > 0.3
    assert fallen > 500  # and most fall


def test_with_an_intercept_normalizing_may_raise_the_bound():
    """On a line all normalized examples are one of two points, which no intercept separates."""
    x, y = np.array([[1.0], [2.0], [4.0], [5.0]]), np.array([-1, -1, 1, 1])
    plain = KernelPerceptron("linear", max_epochs=10**4).fit(x, y)
    assert plain.n_mistakes_[0] <= plain.mistake_bound_[0] < np.inf
    with pytest.warns(ConvergenceWarning, match="still made mistakes"):
        normalized = KernelPerceptron("linear", normalize=True, max_epochs=100).fit(x, y)
    assert normalized.mistake_bound_[0] == np.inf


# --- orders ---


# --- margins ---


# --- the estimators ---


def test_strings_and_softness():
    texts = ["abab", "baba", "aabb", "bbaa", "abab"]
    labels = ["alternating", "alternating", "not", "not", "not"]
    with pytest.warns(ConvergenceWarning):  # the first and the last are the same string
        KernelPerceptron(kernels.Spectrum(2), max_epochs=20).fit(texts, labels)
    model = KernelPerceptron(kernels.Spectrum(2), normalize=True, softness=0.5).fit(texts, labels)
    assert model.geometric_margin_[0] > 0
    assert model.predict(["aaabbb", "bababa"]).tolist() == ["not", "alternating"]
    assert model.kernel_ == kernels.normalize(kernels.Spectrum(2))


@pytest.mark.parametrize(
    ("model", "error", "text"),
    [
        (KernelPerceptron(normalize=1), TypeError, "normalize must be True or False"),
        (KernelPerceptron(fit_intercept="free"), TypeError, "fit_intercept must be True or False"),
        (KernelPerceptron(softness=-1), ValueError, "softness must be"),
        (KernelPerceptron(learning_rate=np.inf), ValueError, "learning_rate must be"),
        (KernelPerceptron("precomputed", normalize=True), ValueError, "normalize must be False"),
    ],
)
def test_bad_settings(model, error, text):
    with pytest.raises(error, match=text):
        model.fit(*IRIS)
