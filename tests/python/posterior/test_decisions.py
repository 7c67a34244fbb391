"""Votes, random functions, abstention, labelings: the classifier against brute force."""

import itertools
import math

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning

from bayespoint import BayesPointClassifier, InfeasibleError, kernels
from helpers import seed

IRIS = load_iris(return_X_y=True)
SOFTNESS = 0.2
N = 1_000_000


class Problem:
    """A few examples and points of a Gaussian process, and draws from its posterior."""

    def __init__(self, m=5, points=4, index=0, noise=(0.0, 0.0)):
        rng = np.random.default_rng(seed(index))
        self.kernel = kernels.RBF(1.2)
        self.inputs = rng.standard_normal((m, 2))
        self.points = 1.5 * rng.standard_normal((points, 2))
        self.labels = np.where(rng.standard_normal(m) > 0, 1, -1)
        self.labels[:2] = 1, -1
        self.noise = noise
        everything = np.concatenate([self.inputs, self.points])
        matrix = self.kernel(everything) + 1 + SOFTNESS * np.eye(m + points)
        f = rng.standard_normal((N, m + points)) @ np.linalg.cholesky(matrix).T
        likelihood = self.likelihood(f[:, :m], self.labels)
        f = f[rng.uniform(size=N) < likelihood]
        # Values at the examples, at the points, and of w at the points.
        self.f, self.f_star = f[:, :m], f[:, m:]
        self.h_star = self.f @ np.linalg.solve(matrix[:m, :m], matrix[:m, m:])

    def likelihood(self, f, labels):
        """Return the probability of observing labels, for values of shape (n, n_labels)."""
        right = np.where(labels > 0, 1 - self.noise[1], 1 - self.noise[0])
        wrong = np.where(labels > 0, self.noise[0], self.noise[1])
        return np.where(f * labels > 0, right, wrong).prod(axis=1)

    def fit(self, **settings):
        run = {"n_draws": 4000, "tol": 0.004, "random_state": seed(0)} | settings
        model = BayesPointClassifier(
            kernel=self.kernel, softness=SOFTNESS, label_noise=self.noise, **run, standardize=False
        )
        return model.fit(self.inputs, self.labels)


@pytest.fixture(scope="module", params=[(4, (0.0, 0.0)), (6, (0.05, 0.15))], ids=str)
def fitted(request):
    m, noise = request.param
    problem = Problem(m=m, index=m, noise=noise)
    model = problem.fit()
    error = math.sqrt(1 / len(problem.f) + 1 / model.billiard_.ess)
    assert error < 0.03
    return problem, model, error


def test_blocks_do_not_change_predictions():
    rng = np.random.default_rng(seed(0))
    inputs, points = rng.standard_normal((30, 2)), rng.standard_normal((6000, 2))
    model = BayesPointClassifier(random_state=seed(0)).fit(inputs, inputs[:, 0] > 0)
    parts = [model.decision_function(points[k : k + 2000]) for k in (0, 2000, 4000)]
    np.testing.assert_allclose(model.decision_function(points), np.concatenate(parts), rtol=1e-9)


# --- votes and single draws ---


def test_votes_are_mean_signs(fitted):
    problem, model, error = fitted
    votes = model.posterior_.votes(problem.points)[:, 0]
    exact = np.sign(problem.h_star).mean(axis=0)
    assert np.abs(votes - exact).max() < 5 * error
    predicted = model.predict(problem.points, method="vote")
    np.testing.assert_array_equal(predicted, np.where(votes > 0, 1, -1))
    clear = np.abs(exact) > 5 * error
    assert clear.any()
    np.testing.assert_array_equal(predicted[clear], np.sign(exact[clear]))


def test_gibbs_labels_all_points_by_one_draw(fitted):
    problem, model, error = fitted
    exact = (problem.h_star > 0).mean(axis=0)
    generator = np.random.default_rng(seed(0))
    model.set_params(random_state=generator)
    calls = np.array([model.predict(problem.points, method="gibbs") > 0 for _ in range(1500)])
    spread = np.sqrt(exact * (1 - exact) / 1500) + 5 * error / 4
    assert (np.abs(calls.mean(axis=0) - exact) < 4 * spread + 1e-3).all()
    # All points of a call are labeled by the same weight vector.
    pairs = (problem.h_star[:, 0] > 0) & (problem.h_star[:, 1] > 0)
    both = (calls[:, 0] & calls[:, 1]).mean()
    assert abs(both - pairs.mean()) < 4 * math.sqrt(0.25 / 1500) + 2 * error
    model.set_params(random_state=seed(3))
    one, two = (model.predict(problem.points, method="gibbs") for _ in range(2))
    np.testing.assert_array_equal(one, two)
    model.set_params(random_state=seed(0))


# --- functions ---


def test_functions_have_the_joint_law_of_the_posterior(fitted):
    problem, model, error = fitted
    f = model.sample_functions(problem.points, random_state=seed(0))
    n = len(problem.points)
    assert f.shape == (16_000, n)
    scale = problem.f_star.std(axis=0)
    np.testing.assert_array_less(
        np.abs(f.mean(axis=0) - problem.f_star.mean(axis=0)), 5 * error * scale
    )
    covariance, exact = np.cov(f.T), np.cov(problem.f_star.T)
    assert (np.abs(covariance - exact) < 7 * error * np.outer(scale, scale)).all()
    # Without noise the same functions, without the independent part of each point.
    below = np.cov(model.sample_functions(problem.points, noise=False, random_state=seed(1)).T)
    exact_below = exact - SOFTNESS * np.eye(n)
    assert (7 * error * scale**2 < SOFTNESS).any()  # otherwise noise could not be detected
    assert (np.abs(below - exact_below) < 7 * error * np.outer(scale, scale)).all()
    # Some points are correlated, unlike independent noise.
    alone = covariance - np.diag(np.diag(covariance))
    assert np.abs(alone).max() > 20 * error * scale.min() ** 2
    for signs in itertools.product([-1, 1], repeat=n):
        share = (f * signs > 0).all(axis=1).mean()
        expected = (problem.f_star * signs > 0).all(axis=1).mean()
        assert abs(share - expected) < 5 * error / 2
    # The share of positive signs is the mixture form, before label noise.
    mixture = model.predict_proba(problem.points, method="mixture")[:, 1]
    first, second = problem.noise
    clean = (mixture - first) / (1 - first - second)
    assert (np.abs((f > 0).mean(axis=0) - clean) < 4 * math.sqrt(0.25 / len(f))).all()


def test_functions_are_the_same_from_a_given_matrix():
    x, y = IRIS
    given = {"softness": 0.1, "n_draws": 10, "random_state": seed(0)}
    for classes, shape in ((2, (40, 7)), (3, (3, 40, 7))):
        labels = np.minimum(y, classes - 1)
        model = BayesPointClassifier(kernel=kernels.RBF(1.5), **given, standardize=False)
        model.fit(x, labels)
        points = x[:7] + 0.1
        one = model.sample_functions(points, random_state=seed(1))
        assert one.shape == shape
        np.testing.assert_array_equal(one, model.sample_functions(points, random_state=seed(1)))
        assert (one != model.sample_functions(points, random_state=seed(2))).all()
        gram = kernels.RBF(1.5)(x)
        other = BayesPointClassifier(kernel="precomputed", **given)
        other.fit(gram, labels)
        k_star, between = kernels.RBF(1.5)(points, x), kernels.RBF(1.5)(points)
        two = other.sample_functions(k_star, gram=between, random_state=seed(1))
        np.testing.assert_allclose(one, two, rtol=1e-6, atol=1e-9)
        with pytest.raises(ValueError, match="gram must hold the"):
            other.sample_functions(k_star)
        with pytest.raises(ValueError, match=r"gram must have shape \(7, 7\)"):
            other.sample_functions(k_star, gram=between[:6, :6])
        with pytest.raises(ValueError, match="gram must be None unless"):
            model.sample_functions(points, gram=between)


def test_functions_without_softness():
    """Without softness the functions satisfy all labels; the matrix is singular."""
    rng = np.random.default_rng(seed(0))
    x = rng.standard_normal((30, 3))
    y = x @ [1.0, 2.0, -1.0] > 0
    model = BayesPointClassifier(
        "linear", fit_intercept=False, standardize=False, softness=0.0, random_state=seed(0)
    ).fit(x, y)
    f = model.sample_functions(x, random_state=seed(0))
    assert ((f > 0) == y).mean() > 0.999  # up to the noise of size 1e-8
    assert np.linalg.matrix_rank(f, tol=1e-4 * np.linalg.norm(f)) == 3


# --- abstention ---


@pytest.mark.parametrize("classes", [2, 3])
def test_points_of_larger_loss_than_the_cost_are_rejected(classes):
    x, y = IRIS
    labels = np.array(["a", "b", "c"])[np.where(y == 0, classes - 1, y - 1)]
    model = BayesPointClassifier(random_state=seed(0)).fit(x[::3], labels[::3])
    for method in ("moments", "mixture"):
        probability = model.predict_proba(x, method=method)
        for cost in (0.0, 0.01, 0.1, 0.3, 0.5, 0.7, 1.0):
            predicted, rejected = model.reject(x, cost, method=method)
            np.testing.assert_array_equal(rejected, 1 - probability.max(axis=1) > cost)
            if method == "moments":
                expected = model.classes_[probability.argmax(axis=1)]
                np.testing.assert_array_equal(predicted, expected)
    assert 0 < model.reject(x, 0.1)[1].mean() < 1
    for cost in (-0.1, 1.1, math.nan):
        with pytest.raises(ValueError, match="cost must be"):
            model.reject(x, cost)


# --- the labeling of a test set ---


def test_labelings_have_their_share_of_the_functions(fitted):
    problem, model, _ = fitted
    points = problem.points[:2]
    total, variance = 0.0, 0.0
    for labels in itertools.product([-1, 1], repeat=2):
        likelihood = problem.likelihood(problem.f_star[:, :2], np.array(labels))
        exact = math.log(likelihood.mean())
        error = likelihood.std() / likelihood.mean() / math.sqrt(len(likelihood))
        found = model.log_labeling_probability(points, labels, tol=0.05, random_state=seed(1))
        assert 0 < found.error <= 0.05
        assert abs(found.value - exact) < 4 * math.hypot(found.error, error)
        total += math.exp(found.value)
        variance += (math.exp(found.value) * found.error) ** 2
    # All share the evidence of the examples, whose error does not average out.
    assert abs(total - 1) < 4 * math.sqrt(variance) + 4 * 0.05


def test_impossible_labelings_have_no_probability():
    x = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    model = BayesPointClassifier(
        "linear", fit_intercept=False, softness=0.0, random_state=seed(0), standardize=False
    )
    model.fit(x, [0, 1, 1])
    assert model.log_labeling_probability(x[1:2] * 2, [0]) == (-math.inf, math.inf)
    found = model.log_labeling_probability(x[1:2] * 2, [1], random_state=seed(0))
    assert abs(found.value) < 4 * found.error
    with pytest.raises(InfeasibleError):
        BayesPointClassifier("linear", fit_intercept=False, softness=0.0, standardize=False).fit(
            -x[[0, 0, 1]], [0, 1, 1]
        )


@pytest.mark.long
def test_error_names_the_argument_of_a_labeling():
    x, y = IRIS
    two = np.minimum(y, 1)
    model = BayesPointClassifier(random_state=seed(0)).fit(x, two)
    with pytest.raises(ValueError, match=r"labels among \[0, 1\]; got 2"):
        model.log_labeling_probability(x[:2], [0, 2])
    with pytest.raises(ValueError, match=r"y must have shape \(2,\)"):
        model.log_labeling_probability(x[:2], [0])
    with pytest.raises(ValueError, match="tol must be"):
        model.log_labeling_probability(x[:2], [0, 1], tol=0.0)
    with pytest.warns(ConvergenceWarning, match="standard error of"):
        model.log_labeling_probability(x[:2], [0, 1], tol=1e-3, max_length=10.0)
    gram = kernels.RBF(1.0)(x)
    other = BayesPointClassifier(kernel="precomputed", random_state=seed(0)).fit(gram, two)
    with pytest.raises(ValueError, match="needs a kernel that can be evaluated"):
        other.log_labeling_probability(gram[:1], [0])


# --- queries ---


def test_queries_have_the_closest_votes(fitted):
    problem, model, _ = fitted
    assert model.posterior_.votes(problem.points).shape == (4, 1)
    rng = np.random.default_rng(seed(0))
    many = 2 * rng.standard_normal((50, 2))
    many = np.concatenate([many, many])  # each vote twice
    votes = np.abs(model.posterior_.votes(many)[:, 0])
    for n in (1, 5, 100):
        chosen = model.suggest_query(many, n)
        np.testing.assert_array_equal(chosen, np.argsort(votes, kind="stable")[:n])
    chosen = model.suggest_query(many, 6)
    np.testing.assert_array_equal(chosen[1::2], chosen[::2] + 50)  # ties in order
    assert model.suggest_query(many).shape == (1,)
    for n in (0, -1, 101):
        with pytest.raises(ValueError, match="n must be"):
            model.suggest_query(many, n)
    with pytest.raises(TypeError, match="n must be"):
        model.suggest_query(many, 1.5)


def test_labels_of_any_type():
    problem = Problem(m=4, points=1)
    names = np.where(problem.labels > 0, "yes", "no")
    model = BayesPointClassifier(problem.kernel, softness=SOFTNESS, random_state=seed(0))
    model.fit(problem.inputs, names)
    exact = math.log((problem.f_star[:, 0] > 0).mean())
    found = model.log_labeling_probability(problem.points, ["yes"], random_state=seed(0))
    assert abs(found.value - exact) < 4 * found.error + 0.01
    share = np.where(problem.labels > 0, 5.5, 1.5)
    heavy = BayesPointClassifier(problem.kernel, softness=SOFTNESS, random_state=seed(0)).fit(
        problem.inputs, names, sample_weight=share
    )
    one = heavy.log_labeling_probability(problem.points, ["yes"], tol=0.05, random_state=seed(0))
    proba = heavy.predict_proba(problem.points, method="mixture")[0, 1]
    assert abs(one.value - math.log(proba)) < 4 * one.error + 0.05
