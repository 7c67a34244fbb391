"""Two classes: the predictive distribution against rejection sampling of Gaussian draws."""

import math

import numpy as np
import pytest
from scipy import special

from bayespoint import VersionSpace
from bayespoint.likelihood import TwoClasses
from bayespoint.results.lengths import chi_mean
from helpers import seed
from objects import SmallProblem, decision_values, draws, mean_direction, mixture

LAW = TwoClasses()


class Problem(SmallProblem):
    """A small problem of two classes."""

    def __init__(self, m, index):
        rng = np.random.default_rng(seed(index))
        super().__init__(m, 0.2, rng)
        self.labels = np.where(rng.standard_normal(m) > 0, 1, -1)
        self.labels[:2] = 1, -1

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


def test_decision_values_have_the_moments_of_f(problem):
    """The mean and variance of f include the distribution of the length of w."""
    f = problem.accepted(index=10)
    _, _, mean, spread = problem.exact(f)
    units = problem.directions(problem.accepted(index=11))
    n = len(problem.labels)
    drawn = draws(units, n, *mean_direction(units, problem.matrix))
    z = decision_values(LAW, drawn, problem.k_star, problem.variance)[:, 0]
    expected = mean / np.sqrt(spread + problem.variance)
    # Both sides have a Monte Carlo error, of the means and of the variances.
    share = spread / (spread + problem.variance)
    error = np.sqrt((share + (expected * share) ** 2 / 2) * (1 / len(f) + 1 / len(units)))
    assert (np.abs(z - expected) < 5 * error).all()
    probability = problem.exact(f)[0]
    assert np.abs(special.ndtr(z) - probability).max() < 0.02
    # The test detects sqrt(n) in place of the mean of the chi distribution.
    wrong = z * math.sqrt(n) / chi_mean(n)
    assert (np.abs(wrong - expected) > 5 * error).any()


@pytest.mark.long
def test_mixture_is_exact(problem):
    """The mixture form is exact: only Monte Carlo error is left."""
    f = problem.accepted(index=12)
    expected, error, _, _ = problem.exact(f)
    units = problem.directions(problem.accepted(index=13))[:100_000]
    drawn = draws(units, len(problem.labels), *mean_direction(units, problem.matrix))
    probability = mixture(LAW, drawn, problem.k_star, problem.variance)[:, 0]
    assert (np.abs(probability - expected) < 5 * error * math.sqrt(1 + len(f) / 1e5)).all()


@pytest.mark.long
@pytest.mark.parametrize("noise", [0.0, 0.1, (0.05, 0.2)])
def test_the_classifier_agrees_with_rejection(noise):
    """The whole fit: billiard, draws, predictive distribution, label noise of either class."""
    problem = Problem(5, 3)
    pair = noise if isinstance(noise, tuple) else (noise, noise)
    f = problem.accepted(index=14, noise=pair)
    expected, error, mean, spread = problem.exact(f, pair)
    model = problem.fit(label_noise=noise)
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


def test_without_variance_decision_values_are_finite():
    """z = 0 at a point unrelated to the examples, and a limit for draws without spread."""
    drawn = draws(np.eye(2), 2, np.ones(2) / math.sqrt(2), 0.7)
    k_star = np.array([[0.0, 0.0], [0.0, 0.0], [1.0, 1.0]])
    z = decision_values(LAW, drawn, k_star, np.array([0.0, 1.0, 0.0]))[:, 0]
    assert z[:2].tolist() == [0.0, 0.0]
    assert np.isfinite(z).all()
    assert not decision_values(LAW, drawn, k_star * 0, np.zeros(3)).any()
    shares = mixture(LAW, drawn, k_star, np.zeros(3))[:, 0]
    assert shares.tolist() == [0.5, 0.5, 1.0]


def test_label_noise_mixes_probabilities():
    z = np.array([-60.0, -1.0, 0.0, 2.0, 60.0])
    clean = LAW.log_classes(z[:, None])
    assert LAW.observed(clean) is clean
    first, second = np.exp(TwoClasses((0.1, 0.3)).observed(clean)).T
    np.testing.assert_allclose(second, 0.1 + 0.6 * special.ndtr(z))
    np.testing.assert_allclose(first + second, 1.0)


def test_the_sign_is_that_of_the_center():
    """If the mean of the draws and the center disagree, the center decides."""
    space = VersionSpace(np.eye(3), [1, 1, -1])
    result = space.sample(length=100.0, n_draws=50, random_state=seed(0))
    drawn = draws(result.draws.reshape(-1, 3), 3, result.center, result.center_norm)
    k_star = np.random.default_rng(seed(0)).standard_normal((200, 3))
    z = decision_values(LAW, drawn, k_star, np.zeros(200))[:, 0]
    np.testing.assert_array_equal(z > 0, k_star @ result.center > 0)
