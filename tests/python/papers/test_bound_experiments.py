"""The parts of the experiments on bounds: priors, variants of the perceptron, two margin bounds."""

import numpy as np
import pytest

from bayespoint.papers import bounds
from bayespoint.papers.experiments import Settings, margin_bounds, risk, sparsity
from bayespoint.papers.perceptron import KernelPerceptron
from helpers import seed


def separable(m=60, offset=0):
    rng = np.random.default_rng(seed(offset))
    X = rng.standard_normal((m + 40, 5))
    y = np.where(X[:, 0] + 0.5 * X[:, 1] > 0, 1, -1)
    K = X @ X[:m].T
    return K[:m], K[m:], y[:m], y[m:]


def test_disagreement_is_that_of_all_pairs():
    K, K_test, y, y_test = separable(offset=3)
    settings = Settings(1, quick=True)
    found = sparsity._permuted(K, K_test, y, y_test, settings, seed(4))
    rng = np.random.default_rng(seed(4))
    seeds = [int(rng.integers(2**32)) for _ in range(sparsity.QUICK_ORDERS)]
    signs = [
        KernelPerceptron("precomputed", fit_intercept=False, order="random", random_state=one)
        .fit(K, y)
        .dual_coef_[0]
        @ K_test.T
        > 0
        for one in seeds
    ]
    pairs = [(a != b).mean() for k, a in enumerate(signs) for b in signs[:k]]
    assert found["orders_disagree"] == pytest.approx(np.mean(pairs))
    assert found["orders"] == found["orders_consistent"] == sparsity.QUICK_ORDERS
    assert found["orders_least_support"] <= found["orders_most_support"]
    assert found["orders_most_support"] <= found["orders_most_mistakes"]


def test_relative_entropy_to_a_biased_prior():
    rng = np.random.default_rng(seed(5))
    teacher = np.eye(risk.DIMENSION)[0]
    # Over the whole sphere the posterior is the prior; over a half of it around the teacher the
    # relative entropy is minus ln of the prior probability of that half.
    draws = rng.standard_normal((100_000, risk.DIMENSION))
    half = draws * np.where(draws[:, :1] > 0, 1, -1)
    whole = risk._biased(draws, teacher, 0.0, 100, rng)
    some = risk._biased(half, teacher, -np.log(2), 100, rng)
    shape = (risk.DIMENSION - 3) / 2
    x = np.linspace(-1, 1, 200_001)
    density = np.exp(risk.CONCENTRATION * (x - 1)) * (1 - x**2) ** shape
    share = density[x > 0].sum() / density.sum()
    # Five standard errors of the means of the density over the draws.
    cosine = draws[:, 0] / np.linalg.norm(draws, axis=1)
    weights = np.exp(risk.CONCENTRATION * np.array([cosine, -abs(cosine)]))
    errors = 5 * weights.std(axis=1) / weights.mean(axis=1) / np.sqrt(len(draws))
    assert whole["kl, right prior"] < errors[0]
    assert some["kl, wrong prior"] == pytest.approx(-np.log(1 - share), abs=errors[1])
    assert some["bound, wrong prior"] == bounds.pac_bayes_kl(100, some["kl, wrong prior"])
    assert some["risk, wrong prior"] > some["risk, irrelevant prior"] > some["risk, right prior"]
    # The mean angle to the teacher under the prior with its center opposite, within the half.
    angle = np.arccos(x[x > 0]) / np.pi
    weight = np.exp(-risk.CONCENTRATION * x[x > 0]) * (1 - x[x > 0] ** 2) ** shape
    assert some["risk, wrong prior"] == pytest.approx(angle @ weight / weight.sum(), rel=0.02)


def test_examples_needed_for_a_bound():
    for bound in (bounds.margin, bounds.pac_margin):
        m = margin_bounds._needed(bound, 0.112)
        assert bound(m, margin_bounds.KAPPA) <= 0.112 < bound(m - 1, margin_bounds.KAPPA)
