"""The predictive distribution against rejection sampling of Gaussian draws."""

import math

import numpy as np
import pytest
from scipy import special, stats

from bayespoint import BayesPointClassifier, VersionSpace, kernels
from bayespoint.base.linalg import factorize
from bayespoint.posterior import posterior, predictive
from helpers import seed

OFFSET, SOFTNESS = 1.0, 0.2


class Problem:
    """A few examples and new points, with their joint Gaussian distribution."""

    def __init__(self, m, index, softness=SOFTNESS):
        rng = np.random.default_rng(seed(index))
        self.kernel = kernels.RBF(1.2)
        self.inputs = rng.standard_normal((m, 2))
        # New points, and those of the examples, where the variance is smallest.
        self.points = np.concatenate([rng.standard_normal((6, 2)) * 1.5, self.inputs])
        self.labels = np.where(rng.standard_normal(m) > 0, 1, -1)
        self.labels[:2] = 1, -1
        self.softness = np.full(m, softness)
        self.gram = self.kernel(self.inputs)
        self.matrix = self.gram + OFFSET + np.diag(self.softness)
        self.k_star = self.kernel(self.points, self.inputs) + OFFSET
        self.factor = factorize(self.gram, OFFSET, self.softness)
        own = self.kernel.diag(self.points) + OFFSET + softness
        self.variance = own - self.factor.explained(self.k_star)

    def accepted(self, index, noise=(0.0, 0.0), n=1_500_000):
        """Return 40000 draws of f at the examples or more from the posterior, by rejection."""
        rng = np.random.default_rng(seed(index))
        wrong = np.where(self.labels < 0, noise[1], noise[0])  # P(label | the other class)
        right = 1 - np.where(self.labels < 0, noise[0], noise[1])
        kept = []
        while sum(map(len, kept)) < 40_000:
            f = rng.standard_normal((n, len(self.labels))) @ np.linalg.cholesky(self.matrix).T
            likelihood = np.where(f * self.labels > 0, right, wrong).prod(axis=1)
            kept.append(f[rng.uniform(size=n) < likelihood])
        return np.concatenate(kept)

    def directions(self, f):
        """Return dual coefficients of unit vectors with the direction of f."""
        gamma = np.linalg.solve(self.matrix, f.T).T
        return gamma / np.sqrt(np.einsum("ij,ij->i", gamma, f))[:, None]

    def exact(self, f, noise=(0.0, 0.0)):
        """Return mean and standard error of P(observed +) and the moments of f at the points."""
        mean = np.linalg.solve(self.matrix, self.k_star.T).T @ f.T
        probability = special.ndtr(mean / np.sqrt(self.variance)[:, None])
        probability = noise[0] + (1 - sum(noise)) * probability
        error = probability.std(axis=1) / math.sqrt(len(f))
        return probability.mean(axis=1), error, mean.mean(axis=1), mean.var(axis=1)


@pytest.fixture(scope="module", params=[(3, 0), (4, 1), (5, 2)], ids="m={0[0]}".format)
def problem(request):
    return Problem(*request.param)


def test_moments(problem):
    """The mean and variance of f include the distribution of the length of w."""
    f = problem.accepted(index=10)
    _, _, mean, spread = problem.exact(f)
    units = problem.directions(problem.accepted(index=11))
    center = units.mean(axis=0)
    norm = math.sqrt(center @ problem.matrix @ center)
    n = problem.factor.rank
    z = predictive.decision_values(problem.k_star, problem.variance, units, center / norm, norm, n)
    expected = mean / np.sqrt(spread + problem.variance)
    # Both sides have a Monte Carlo error, of the means and of the variances.
    share = spread / (spread + problem.variance)
    error = np.sqrt((share + (expected * share) ** 2 / 2) * (1 / len(f) + 1 / len(units)))
    assert (np.abs(z - expected) < 5 * error).all()
    probability = problem.exact(f)[0]
    assert np.abs(special.ndtr(z) - probability).max() < 0.02
    # The test detects sqrt(n) in place of the mean of the chi distribution.
    wrong = z * math.sqrt(n) / predictive.chi_mean(n)
    assert (np.abs(wrong - expected) > 5 * error).any()


@pytest.mark.long
def test_mixture(problem):
    """The mixture form is exact: only Monte Carlo error is left."""
    f = problem.accepted(index=12)
    expected, error, _, _ = problem.exact(f)
    units = problem.directions(problem.accepted(index=13))[:100_000]
    probability = predictive.mixture_probability(
        problem.k_star, problem.variance, units, problem.factor.rank
    )
    assert (np.abs(probability - expected) < 5 * error * math.sqrt(1 + len(f) / 1e5)).all()


@pytest.mark.long
@pytest.mark.parametrize("noise", [0.0, 0.1, (0.05, 0.2)])
def test_the_classifier_against_rejection(noise):
    """The whole fit: billiard, draws, predictive distribution, label noise of either class."""
    problem = Problem(5, 3)
    pair = noise if isinstance(noise, tuple) else (noise, noise)
    f = problem.accepted(index=14, noise=pair)
    expected, error, mean, spread = problem.exact(f, pair)
    model = BayesPointClassifier(
        kernel=problem.kernel,
        softness=SOFTNESS,
        label_noise=noise,
        n_draws=4000,
        tol=0.004,
        random_state=seed(0),
        standardize=False,
    ).fit(problem.inputs, problem.labels)
    # The error of correlated draws follows from their effective sample size.
    error += 0.5 / math.sqrt(model.billiard_.ess)
    assert error.max() < 0.02
    mixture = model.predict_proba(problem.points, method="mixture")
    np.testing.assert_allclose(mixture.sum(axis=1), 1.0)
    assert (np.abs(mixture[:, 1] - expected) < 4 * error).all()
    # The moment form is exact for the moments, but f is not Gaussian.
    gaussian = special.ndtr(mean / np.sqrt(spread + problem.variance))
    moments = model.predict_proba(problem.points)[:, 1]
    assert (np.abs(moments - pair[0] - (1 - sum(pair)) * gaussian) < 4 * error).all()


def test_without_softness_the_span_may_be_smaller():
    """A singular matrix has a pivoted factor, and n is its rank."""
    rng = np.random.default_rng(seed(0))
    inputs, points = rng.standard_normal((40, 3)), rng.standard_normal((9, 3))
    factor = factorize(inputs @ inputs.T, 0.0, np.zeros(40))
    assert factor.rank == 3
    np.testing.assert_allclose(
        factor.explained(points @ inputs.T), (points**2).sum(axis=1), rtol=1e-10
    )
    assert factorize(inputs @ inputs.T, 1.0, np.zeros(40)).rank == 4


def test_a_short_feature_vector_counts_for_the_rank():
    lengths = np.array([1e-20, 1.0, 1e20])
    gram = np.array([[1.0, 0.5, 0.2], [0.5, 1.0, 0.1], [0.2, 0.1, 1.0]])
    scaled = gram * np.outer(lengths, lengths)
    factor = factorize(scaled, 0.0, np.zeros(3))
    assert factor.rank == 3
    k_star = np.array([[0.3, -0.4, 0.5]])
    expected = k_star @ np.linalg.solve(gram, k_star.T)
    np.testing.assert_allclose(factor.explained(k_star * lengths), expected.ravel(), rtol=1e-10)


@pytest.mark.long
@pytest.mark.parametrize("softness", [0.0, 0.3, 1e-14])
@pytest.mark.parametrize("overwrite", [True, False])
def test_factor(softness, overwrite):
    """The same predictions for any softness; the matrix is overwritten only if allowed."""
    rng = np.random.default_rng(seed(1))
    inputs = rng.standard_normal((700, 2))
    softness = np.full(700, softness)
    gram = kernels.RBF(0.6)(inputs)
    k_star = kernels.RBF(0.6)(inputs[:50] + 0.01, inputs) + OFFSET
    before = gram.copy()
    factor = factorize(gram, OFFSET, softness, overwrite=overwrite)
    if not overwrite:
        np.testing.assert_array_equal(gram, before)
    matrix = before + OFFSET + np.diag(softness)
    chosen = slice(None) if factor.pivots is None else factor.pivots
    assert factor.lower.flags.f_contiguous
    np.testing.assert_array_equal(factor.lower, np.tril(factor.lower))
    np.testing.assert_allclose(factor.lower @ factor.lower.T, matrix[chosen][:, chosen], atol=1e-11)
    explained = factor.explained(k_star)
    if softness[0] > 0.1:
        expected = np.einsum("ij,ji->i", k_star, np.linalg.solve(matrix, k_star.T))
        np.testing.assert_allclose(explained, expected, rtol=1e-6)
        assert factor.rank == 700
        return
    # For a singular matrix double precision does not determine the explained variance of a point
    # near an isolated example. Bounds are k(x, x), and the explained variance with noise of
    # variance 1e-9. The pivoted factor is below the latter by at most (sum r) / 1e-9 of the rest,
    # with the residuals r of k(x, x).
    assert factor.rank < 700
    root = np.linalg.solve(factor.lower, matrix[chosen])
    residuals = matrix.trace() - np.square(root).sum()
    assert residuals < 1e-10
    noisy = np.linalg.solve(matrix + 1e-9 * np.eye(700), k_star.T)
    least = np.einsum("ij,ji->i", k_star, noisy)
    assert (explained <= 1 + OFFSET + 1e-9).all()
    assert (explained >= least - 0.1 * (1 + OFFSET - least) - 1e-9).all()


def test_chi_mean():
    for n in (1, 2, 3, 17, 200):
        assert predictive.chi_mean(n) == pytest.approx(stats.chi(n).mean(), rel=1e-12)
    for n in (200, 201, 5000, 10**6):  # a_n a_(n+1) = n, across both formulas
        product = predictive.chi_mean(n) * predictive.chi_mean(n + 1)
        assert product == pytest.approx(n, rel=1e-12)


def test_nothing_known_and_nothing_uncertain():
    """z = 0 at a point unrelated to the examples, and a limit for draws without spread."""
    draws, center = np.eye(2), np.ones(2) / math.sqrt(2)
    k_star = np.array([[0.0, 0.0], [0.0, 0.0], [1.0, 1.0]])
    z = predictive.decision_values(k_star, np.array([0.0, 1.0, 0.0]), draws, center, 0.7, 2)
    assert z[:2].tolist() == [0.0, 0.0]
    assert np.isfinite(z).all()
    far = predictive.decision_values(k_star * 0, np.zeros(3), draws * 0, center, 0.7, 2)
    assert far.tolist() == [0.0, 0.0, 0.0]
    votes = predictive.mixture_probability(k_star, np.zeros(3), draws, 2)
    assert votes.tolist() == [0.5, 0.5, 1.0]


def test_observed_probabilities():
    z = np.array([-60.0, -1.0, 0.0, 2.0, 60.0])
    clean = special.log_ndtr(-z), special.log_ndtr(z)
    first, second = predictive.observed(*clean, (0.0, 0.0))
    np.testing.assert_array_equal((first, second), clean)
    first, second = predictive.observed(*clean, (0.1, 0.3))
    np.testing.assert_allclose(np.exp(second), 0.1 + 0.6 * special.ndtr(z))
    np.testing.assert_allclose(np.exp(first) + np.exp(second), 1.0)


def test_shares():
    logs = np.log([[0.2, 0.2, 0.4], [1e-300, 3e-300, 0.0 + 1e-320]])
    np.testing.assert_allclose(np.exp(predictive.share(logs))[0], [0.25, 0.25, 0.5])
    np.testing.assert_allclose(np.exp(predictive.share(logs))[1, :2], [0.25, 0.75])
    np.testing.assert_allclose(predictive.share(logs - 1e5)[0], predictive.share(logs)[0])
    never = np.full((1, 4), -np.inf)
    np.testing.assert_allclose(np.exp(predictive.share(never)), 0.25)


def test_blocks_do_not_change_predictions(monkeypatch):
    rng = np.random.default_rng(seed(0))
    inputs, points = rng.standard_normal((30, 2)), rng.standard_normal((50, 2))
    model = BayesPointClassifier(random_state=seed(0)).fit(inputs, inputs[:, 0] > 0)
    whole = model.decision_function(points)
    monkeypatch.setattr(posterior, "BLOCK_BYTES", 8 * 3 * (3 * 30 + 2 * 400))
    np.testing.assert_allclose(model.decision_function(points), whole, rtol=1e-9)


def test_the_sign_is_that_of_the_center():
    """If the mean of the draws and the center disagree, the center decides."""
    space = VersionSpace(np.eye(3), [1, 1, -1])
    result = space.sample(length=100.0, n_draws=50, random_state=seed(0))
    draws = result.draws.reshape(-1, 3)
    k_star = np.random.default_rng(seed(0)).standard_normal((200, 3))
    z = predictive.decision_values(
        k_star, np.zeros(200), draws, result.center, result.center_norm, 3
    )
    np.testing.assert_array_equal(z > 0, k_star @ result.center > 0)
