"""Several classes jointly: the predictive distribution against rejection from the prior."""

import math

import numpy as np
import pytest
from scipy import special

from bayespoint import BayesPointClassifier, VersionSpace, kernels
from bayespoint.base.linalg import factorize
from bayespoint.engine.largest import largest_probabilities
from bayespoint.posterior import calibration, joint, predictive
from bayespoint.posterior.joint import JointPosterior
from helpers import seed

OFFSET = 1.0


def test_quantiles_keep_small_probabilities_and_their_complement():
    z = np.array([[40.0], [-41.0], [-45.0]])
    log_p = np.stack([np.zeros(1), special.log_ndtr(z[1]), special.log_ndtr(z[2])])
    found = joint.quantiles(log_p)
    np.testing.assert_allclose(found[1:], z[1:], rtol=1e-12)
    assert found[0] == pytest.approx(41.0, rel=1e-12)


class Problem:
    """A few examples of several classes and new points, with their joint Gaussian distribution."""

    def __init__(self, m, n_classes, softness, index):
        rng = np.random.default_rng(seed(index))
        self.kernel = kernels.RBF(1.2)
        self.inputs = rng.standard_normal((m, 2))
        # New points, and those of the examples, where the variance is smallest.
        self.points = np.concatenate([rng.standard_normal((6, 2)) * 1.5, self.inputs])
        self.labels = np.concatenate(
            [np.arange(n_classes), rng.integers(n_classes, size=m - n_classes)]
        )
        self.n_classes, self.softness = n_classes, np.full(m, softness)
        gram = self.kernel(self.inputs)
        self.matrix = gram + OFFSET + np.diag(self.softness)
        self.k_star = self.kernel(self.points, self.inputs) + OFFSET
        factor = factorize(gram, OFFSET, self.softness)
        own = self.kernel.diag(self.points) + OFFSET + softness
        self.variance = np.maximum(own - factor.explained(self.k_star), 0.0)
        if softness == 0.0:
            self.variance[6:] = 0.0

    def accepted(self, index, noise=0.0, wanted=5_000):
        """Return functions at the examples from the posterior, (n, C, m), by rejection."""
        rng = np.random.default_rng(seed(index))
        m, C = len(self.labels), self.n_classes
        root, kept = np.linalg.cholesky(self.matrix), []
        while sum(map(len, kept)) < wanted:
            u = rng.standard_normal((100_000, C, m)) @ root.T
            right = u.argmax(axis=1) == self.labels
            likelihood = np.where(right, 1 - noise, noise / (C - 1)).prod(axis=1)
            kept.append(u[rng.uniform(size=len(u)) * (1 - noise) ** m < likelihood])
        return np.concatenate(kept)

    def directions(self, u):
        """Return dual coefficients of unit vectors with the directions of u, class mean off."""
        u = u - u.mean(axis=1, keepdims=True)
        gamma = np.linalg.solve(self.matrix, np.moveaxis(u, 2, 0).reshape(len(self.labels), -1))
        gamma = np.moveaxis(gamma.reshape(len(self.labels), *u.shape[:2]), 0, 2)
        return gamma / np.sqrt(np.einsum("tcm,tcm->t", gamma, u))[:, None, None]

    def exact(self, u, noise=0.0):
        """Return the probabilities of the observed labels, (n_points, C), and their errors."""
        means = np.moveaxis(u @ np.linalg.solve(self.matrix, self.k_star.T), (1, 2), (0, 1))
        p = np.empty_like(means)
        for k, variance in enumerate(self.variance):
            behind = means[:, k].max(axis=0) - means[:, k]
            p[:, k] = (
                largest_probabilities(behind / math.sqrt(variance))
                if variance > 1e-12
                else behind == 0
            )
        p = noise / (self.n_classes - 1) * (1 - p) + (1 - noise) * p
        return p.mean(axis=2).T, p.std(axis=2).T / math.sqrt(len(u))


CASES = [
    pytest.param(5, 3, 0.0, 0.0, id="3-hard"),
    pytest.param(7, 3, 0.3, 0.0, id="3-soft", marks=pytest.mark.long),
    pytest.param(5, 3, 0.3, 0.15, id="3-noise", marks=pytest.mark.long),
    pytest.param(5, 4, 0.0, 0.0, id="4-hard", marks=pytest.mark.long),
    pytest.param(5, 4, 0.3, 0.0, id="4-soft", marks=pytest.mark.long),
    pytest.param(5, 4, 0.3, 0.2, id="4-noise", marks=pytest.mark.long),
]


@pytest.mark.parametrize(("m", "n_classes", "softness", "noise"), CASES)
def test_the_classifier_against_rejection(m, n_classes, softness, noise):
    """The whole fit: billiard, draws, lengths, integrals, label noise."""
    problem = Problem(m, n_classes, softness, index=3)
    expected, error = problem.exact(problem.accepted(14, noise), noise)
    model = BayesPointClassifier(
        kernel=problem.kernel,
        softness=softness,
        label_noise=noise,
        n_draws=4000,
        tol=0.004,
        random_state=seed(0),
        standardize=False,
    ).fit(problem.inputs, problem.labels)
    error += 0.5 / math.sqrt(model.billiard_.ess)
    assert error.max() < 0.02
    for method in ("mixture", "moments"):
        p = model.predict_proba(problem.points, method=method)
        np.testing.assert_allclose(p.sum(axis=1), 1.0)
        assert (np.abs(p - expected) < 4.5 * error).all(), method
    # Functions with their noise have these labels.
    u = model.sample_functions(problem.points[:6], random_state=seed(1))
    np.testing.assert_allclose(u.sum(axis=0), 0.0, atol=1e-12 * np.abs(u).max())
    shares = np.stack([(u.argmax(axis=0) == c).mean(axis=0) for c in range(n_classes)], axis=1)
    shares = noise / (n_classes - 1) * (1 - shares) + (1 - noise) * shares
    assert (np.abs(shares - expected[:6]) < 4.5 * error[:6]).all()


def test_the_length_of_the_weight_vector_matters():
    """Directions by rejection give the exact probabilities, and not with other lengths."""
    problem = Problem(5, 3, 0.3, index=3)
    expected, error = problem.exact(problem.accepted(10))
    units = problem.directions(problem.accepted(11))
    values = joint.latent_values(problem.k_star, problem.variance, units, 2 * 5)
    p = joint.mixture_probabilities(values, problem.variance, None).T
    assert (np.abs(p - expected) < 5 * math.sqrt(2) * error).all()
    wrong = joint.latent_values(problem.k_star, problem.variance, units, 5)
    p = joint.mixture_probabilities(wrong, problem.variance, None).T
    assert (np.abs(p - expected) > 5 * math.sqrt(2) * error).any()


class Run:
    """What a posterior needs of a run."""

    def __init__(self, draws, matrix):
        mean = draws.mean(axis=0)
        self.center_norm = math.sqrt(np.sum(mean * (mean @ matrix)))
        self.center, self.draws = mean / self.center_norm, draws[None]


@pytest.fixture(scope="module")
def fitted():
    """Return a problem of three classes, and its posterior from few draws by rejection."""
    problem = Problem(6, 3, 0.3, index=5)
    units = problem.directions(problem.accepted(12, wanted=500))[:500]
    return problem, units, JointPosterior(problem.labels, Run(units, problem.matrix), 6)


def test_permuting_the_classes_permutes_all(fitted):
    problem, units, posterior = fitted
    order = np.array([2, 0, 1])
    labels = order.argsort()[problem.labels]
    other = JointPosterior(labels, Run(units[:, order], problem.matrix), 6)
    given = problem.k_star, problem.variance
    for law in ("decision_values", "probability"):
        one, two = getattr(posterior, law)(*given), getattr(other, law)(*given)
        np.testing.assert_allclose(two, one[:, order], rtol=1e-10)
    np.testing.assert_allclose(other.votes(given[0]), posterior.votes(given[0])[:, order])
    loo = [
        calibration.LeaveOneOutPredictions(
            problem.matrix - np.diag(problem.softness),
            0.0,
            problem.softness,
            each.result,
            each.y,
            (0.1, 0.1),
            0,
        )
        for each in (posterior, other)
    ]
    diagonal = np.linalg.inv(problem.matrix).diagonal()
    one, two = (each.values(diagonal) for each in loo)
    np.testing.assert_allclose(two, one[order], rtol=1e-8)
    assert loo[0].factor(one) == pytest.approx(loo[1].factor(two), rel=1e-6)


def test_two_classes_are_a_binary_problem():
    """A unit vector w of two classes has the parts -w and w over the root of 2."""
    rng = np.random.default_rng(seed(6))
    X, points = rng.standard_normal((30, 2)), rng.standard_normal((40, 2))
    y = np.where(X[:, 0] + 0.5 * rng.standard_normal(30) > 0, 1, -1)
    kernel, softness = kernels.RBF(1.0), np.full(30, 0.3)
    gram = kernel(X)
    run = VersionSpace(gram, y, softness=softness).sample(tol=0.05, random_state=seed(0))
    matrix = gram + np.diag(softness)
    k_star = kernel(points, X)
    variance = 1.3 - np.einsum("im,im->i", k_star, np.linalg.solve(matrix, k_star.T).T)
    binary = run.draws.reshape(-1, 30)
    draws = np.stack([-binary, binary], axis=1) / math.sqrt(2)
    posterior = JointPosterior((y > 0).astype(int), Run(draws, matrix), 30)
    length = joint.chi_quantiles(30, len(draws))
    h = length * (k_star @ binary.T)
    p = special.ndtr(h / np.sqrt(variance)[:, None])
    found = posterior.probability(k_star, variance)
    np.testing.assert_allclose(found[:, 1], p.mean(axis=1), rtol=0, atol=1e-10)
    # The mean over all lengths is Student's distribution.
    student = predictive.mixture_probability(k_star, variance, binary, 30)
    np.testing.assert_allclose(found[:, 1], student, rtol=0, atol=6e-3)
    center = posterior.center[1] * math.sqrt(2)
    shift = predictive.chi_mean(30) * posterior.center_norm * (k_star @ center) - h.mean(axis=1)
    p = special.ndtr((h + shift[:, None]) / np.sqrt(variance)[:, None]).mean(axis=1)
    z = posterior.decision_values(k_star, variance)
    common = np.abs(p - 0.5) < 0.49
    assert common.sum() > 20
    np.testing.assert_allclose(z[common, 1], special.ndtri(p)[common], rtol=0, atol=1e-8)
    np.testing.assert_allclose(z[:, 0], -z[:, 1], rtol=1e-8)
    # Leave-one-out: harmonic means over the draws.
    precision = np.linalg.inv(matrix).diagonal()
    heights = binary @ matrix
    inside = length[:, None] * (heights - binary / precision) * np.sqrt(precision) * y
    alone = special.ndtri(1 / (1 / special.ndtr(inside)).mean(axis=0))
    both = np.stack([-heights, heights], axis=1) / math.sqrt(2)
    loo = calibration.joint_leave_one_out(both, draws, precision, posterior.y, 0.0, 30)
    np.testing.assert_allclose(loo[posterior.y, np.arange(30)], alone, rtol=0, atol=1e-6)
    one = calibration.best_factor(alone, y, (0.0, 0.0))
    assert calibration.best_joint_factor(loo, posterior.y, 0.0) == pytest.approx(one, abs=1e-4)


@pytest.mark.long
@pytest.mark.parametrize("noise", [0.0, 0.1])
def test_leave_one_out_is_what_a_fit_without_the_example_says(noise):
    rng = np.random.default_rng(seed(2))
    X = rng.normal(size=(15, 2))
    y = np.digitize(X[:, 0] + 0.5 * rng.normal(size=15), [-0.5, 0.5])
    settings = {
        "softness": 0.4,
        "label_noise": noise,
        "n_draws": 4000,
        "tol": 0.01,
        "random_state": seed(0),
        "standardize": False,
    }
    model = BayesPointClassifier(kernels.RBF(1.0), **settings).fit(X, y)
    gram, softness = model.kernel_(X), np.full(15, 0.4)
    diagonal = factorize(gram, 1.0, softness).inverse_diagonal()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(calibration, "_MOST_DRAWS", 20_000)
        z = calibration.LeaveOneOutPredictions(
            gram, 1.0, softness, model.billiard_, y, model.label_noise_, 0
        ).values(diagonal)
    own = model.predict_proba(X, method="mixture").T
    alone = np.empty((3, 15))
    for i in range(15):
        others = np.arange(15) != i
        one = BayesPointClassifier(kernels.RBF(1.0), **settings).fit(X[others], y[others])
        seen = one.predict_proba(X[[i]], method="mixture")[0]
        alone[:, i] = (seen - noise / 2) / (1 - 1.5 * noise)
    np.testing.assert_allclose(special.ndtr(z), alone, atol=0.03)
    assert np.abs(own - alone).max() > 0.1


@pytest.mark.parametrize("stretch", [0.7, 1.0, 1.6])
def test_the_factor_undoes_a_stretch(stretch):
    rng = np.random.default_rng(seed(4))
    p = rng.dirichlet([0.5, 0.7, 0.9], size=4000).T
    labels = (p.cumsum(axis=0) < rng.uniform(size=4000)).sum(axis=0)
    z = joint.quantiles(np.log(np.maximum(p, 1e-12)))
    found = calibration.best_joint_factor(z / stretch, labels, 0.0)
    assert found == pytest.approx(stretch, rel=0.08)
    wrong = rng.uniform(size=4000) < 0.1
    seen = np.where(wrong, (labels + rng.integers(1, 3, size=4000)) % 3, labels)
    assert calibration.best_joint_factor(z / stretch, seen, 0.1) == pytest.approx(stretch, rel=0.12)
    assert calibration.best_joint_factor(z / stretch, seen, 0.0) < 0.95 * found
