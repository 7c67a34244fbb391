"""Expectation propagation against the exact evidence, and the search on top of it."""

import numpy as np
import pytest

from bayespoint import BayesPointClassifier, VersionSpace, _ep, kernels, tuning
from bayespoint.datasets import load_sonar


def problem(m=60, d=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(m, d))
    y = np.where(X[:, 0] + np.sin(2 * X[:, 1]) + 0.3 * rng.normal(size=m) > 0, 1.0, -1.0)
    return X, y


def test_one_example_is_exact():
    found = _ep.approximate(np.array([[2.0]]), np.array([1.0]), np.array([0.5]))
    assert found.converged
    assert found.log_evidence == pytest.approx(np.log(0.5), abs=1e-8)


def test_two_examples_are_close_to_the_orthant():
    rho = 0.6
    gram = np.array([[1.0, rho], [rho, 1.0]])
    found = _ep.approximate(gram, np.ones(2), np.full(2, 0.25))
    exact = 0.25 + np.arcsin(rho / 1.25) / (2 * np.pi)
    assert found.log_evidence == pytest.approx(np.log(exact), abs=2e-3)


def test_derivatives():
    X, y = problem()
    softness = np.full(len(y), 0.3)

    def value(sigma=1.5, factor=1.0, derivatives=False):
        gram = kernels.RBF(sigma)(X) + 1.0
        return _ep.approximate(gram, y, softness * factor, derivatives=derivatives)

    at = value(derivatives=True)
    h = 1e-3
    slope = kernels.RBF(1.5).derivatives(X, kernels.RBF(1.5)(X))["sigma"]
    difference = (
        value(sigma=1.5 * np.exp(h)).log_evidence - value(sigma=1.5 * np.exp(-h)).log_evidence
    ) / (2 * h)
    tolerance = {"rel": 0.02, "abs": 0.02}
    assert np.vdot(at.by_gram, slope) == pytest.approx(difference, **tolerance)
    difference = (value(factor=np.exp(h)).log_evidence - value(factor=np.exp(-h)).log_evidence) / (
        2 * h
    )
    assert at.by_softness @ softness == pytest.approx(difference, **tolerance)


def test_class_weights_reach_the_sites():
    X, y = problem()
    gram = kernels.RBF(1.5)(X)
    even = _ep.approximate(gram, y, np.full(len(y), 0.3)).log_evidence
    uneven = _ep.approximate(gram, y, np.where(y > 0, 0.03, 3.0)).log_evidence
    assert abs(even - uneven) > 0.1


def test_search_finds_the_best_of_a_grid():
    X, y = problem()
    found = tuning.tune(kernels.RBF(), X, y[None], offset=1.0)
    grid = [
        _ep.approximate(kernels.RBF(s)(X) + 1.0, y, np.full(len(y), v)).log_evidence
        for s in np.geomspace(0.2, 20, 15)
        for v in np.geomspace(1e-3, 30, 15)
    ]
    assert found.log_evidence >= max(grid) - 0.01
    assert found.names == ("sigma", "softness", "log_evidence")
    assert found.tried.shape[1] == 3
    best = found.tried[np.argmax(found.tried[:, -1])]
    assert found.kernel.sigma == pytest.approx(best[0])
    assert found.softness == pytest.approx(best[1])
    assert "settings tried" in repr(found)


def test_fixed_settings_stay():
    X, y = problem()
    found = tuning.tune(kernels.Linear(), X, y[None], softness=0.7)
    assert (found.softness, len(found.tried)) == (0.7, 1)
    only_softness = tuning.tune(kernels.Linear(), X, y[None], offset=1.0)
    assert len(only_softness.tried) > 3
    assert isinstance(only_softness.kernel, kernels.Linear)


def test_kernel_without_derivatives():
    class Numeric(kernels.RBF):
        derivatives = None

    X, y = problem()
    exact = tuning.tune(kernels.RBF(), X, y[None], offset=1.0)
    numeric = tuning.tune(Numeric(), X, y[None], offset=1.0)
    assert numeric.log_evidence == pytest.approx(exact.log_evidence, abs=0.1)


def test_large_problems_are_searched_on_a_stratified_part():
    labels = np.where(np.arange(3000) % 10 == 0, 1.0, -1.0)[None]
    chosen = tuning._subset(labels, 0)
    assert len(chosen) == tuning.LARGEST
    assert len(np.unique(chosen)) == len(chosen)
    assert (labels[0, chosen] > 0).sum() == 100


def test_the_approximation_is_near_the_exact_evidence():
    X, y = problem()
    gram, softness = kernels.RBF(1.5)(X), 0.3
    approximate = _ep.approximate(gram + 1.0, y, np.full(len(y), softness)).log_evidence
    space = VersionSpace(gram, y, softness=softness, offset=1.0)
    exact = space.log_volume(tol=0.1, random_state=0)
    assert abs(approximate - exact.value) < 4 * exact.error + 0.3


def test_sonar_is_tuned_better_than_by_the_default():
    X, y = load_sonar(return_X_y=True)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    y = y.astype(float)
    found = tuning.tune(kernels.RBF(), X, y[None], offset=1.0)
    default = _ep.approximate(kernels.resolve("rbf", X)(X) + 1.0, y, np.full(len(y), 0.1))
    assert found.log_evidence > default.log_evidence + 1.0


@pytest.mark.parametrize("kernel", [None, kernels.RBF(0.01)])
def test_a_classifier_tunes_itself(kernel):
    X, y = problem(120)
    settings = {"softness": "evidence", "optimizer": "evidence", "random_state": 0}
    model = BayesPointClassifier(kernel, **settings).fit(X, y)
    search = model.tuning_
    assert model.kernel_ == search.kernel
    assert model.softness_ == search.softness
    # The start of the search is the data's scale, whatever the kernel came with.
    assert 0.3 < model.kernel_.sigma < 10
    fixed = BayesPointClassifier(random_state=0).fit(X, y)
    assert fixed.tuning_ is None
    given = BayesPointClassifier(search.kernel, softness=search.softness, random_state=0).fit(X, y)
    np.testing.assert_array_equal(given.dual_coef_, model.dual_coef_)


def test_only_the_softness_of_a_fixed_kernel_is_searched():
    X, y = problem(80)
    settings = {"softness": "evidence", "optimizer": "evidence", "random_state": 0}
    named = BayesPointClassifier("rbf", **settings).fit(X, y)
    assert named.kernel_ == kernels.resolve("rbf", X)
    assert named.tuning_.names == ("softness", "log_evidence")
    gram = named.kernel_(X)
    given = BayesPointClassifier("precomputed", **settings).fit(gram, y)
    called = BayesPointClassifier(lambda a, b: named.kernel_(a, b), **settings).fit(X, y)
    assert given.softness_ == pytest.approx(named.softness_, rel=1e-3)
    assert called.softness_ == pytest.approx(named.softness_, rel=1e-3)


def test_several_classes_share_their_parameters():
    X, y = problem(90)
    y = np.where(X[:, 2] > 0.5, 2.0, y)
    settings = {"softness": "evidence", "optimizer": "evidence", "random_state": 0}
    model = BayesPointClassifier(**settings).fit(X, y)
    labels = np.where(y == model.classes_[:, None], 1.0, -1.0)
    alone = tuning.tune(kernels.resolve("rbf", X), X, labels, offset=1.0)
    assert model.tuning_.log_evidence == pytest.approx(alone.log_evidence, abs=0.05)
