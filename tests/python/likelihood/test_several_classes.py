"""Several classes: the predictive distribution against rejection from the prior."""

import math

import numpy as np
import pytest
from scipy import special

from bayespoint import VersionSpace, kernels
from bayespoint.engine.likelihood import largest_probabilities
from bayespoint.likelihood import SeveralClasses, TwoClasses
from bayespoint.likelihood.two_classes import quantiles
from bayespoint.posterior.calibration import LeftOut
from helpers import seed
from objects import SmallProblem, decision_values, draws, mean_direction, mixture


def test_quantiles_keep_small_probabilities_and_their_complement():
    z = np.array([[40.0], [-41.0], [-45.0]])
    log_p = np.stack([np.zeros(1), special.log_ndtr(z[1]), special.log_ndtr(z[2])])
    found = quantiles(log_p)
    np.testing.assert_allclose(found[1:], z[1:], rtol=1e-12)
    assert found[0] == pytest.approx(41.0, rel=1e-12)


class Problem(SmallProblem):
    """A small problem of several classes."""

    def __init__(self, m, n_classes, softness, index):
        rng = np.random.default_rng(seed(index))
        super().__init__(m, softness, rng)
        more = rng.integers(n_classes, size=m - n_classes)
        self.labels, self.n_classes = np.concatenate([np.arange(n_classes), more]), n_classes

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
        return super().directions(u - u.mean(axis=1, keepdims=True))

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
def test_the_classifier_agrees_with_rejection(m, n_classes, softness, noise):
    """The whole fit: billiard, draws, lengths, integrals, label noise."""
    problem = Problem(m, n_classes, softness, index=3)
    expected, error = problem.exact(problem.accepted(14, noise), noise)
    model = problem.fit(label_noise=noise)
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
    direction = mean_direction(units, problem.matrix)
    apart = []
    for freedom in (2 * 5, 5):
        drawn = draws(units, freedom, *direction)
        p = mixture(SeveralClasses(3), drawn, problem.k_star, problem.variance)
        apart.append((np.abs(p - expected) > 5 * math.sqrt(2) * error).any())
    assert apart == [False, True]


def test_permuting_the_classes_permutes_all():
    problem, law = Problem(6, 3, 0.3, index=5), SeveralClasses(3, 0.1)
    units = problem.directions(problem.accepted(12, wanted=500))[:500]
    order, precision = np.array([2, 0, 1]), np.linalg.inv(problem.matrix).diagonal()

    def answers(units, labels):
        drawn = draws(units, 2 * 6, *mean_direction(units, problem.matrix))
        given = law, drawn, problem.k_star, problem.variance
        left_out = law.left_out(units @ problem.matrix, units, precision, labels, drawn.lengths)
        factor = LeftOut(law, left_out, labels).factor()
        votes = law.votes(drawn.values(problem.k_star))
        return [decision_values(*given), mixture(*given), votes, left_out.T], factor

    one, factor = answers(units, problem.labels)
    two, other = answers(units[:, order], order.argsort()[problem.labels])
    for ours, theirs in zip(one, two, strict=True):
        np.testing.assert_allclose(theirs, ours[:, order], rtol=1e-8)
    assert factor == pytest.approx(other, rel=1e-6)


def test_two_classes_are_a_binary_problem():
    """A unit vector w of two classes has the parts -w and w over the root of 2."""
    rng = np.random.default_rng(seed(6))
    X, points = rng.standard_normal((30, 2)), rng.standard_normal((40, 2))
    y = np.where(X[:, 0] + 0.5 * rng.standard_normal(30) > 0, 1, -1)
    kernel, softness, law = kernels.RBF(1.0), np.full(30, 0.3), SeveralClasses(2)
    gram = kernel(X)
    run = VersionSpace(gram, y, softness=softness).sample(tol=0.05, random_state=seed(0))
    matrix = gram + np.diag(softness)
    k_star = kernel(points, X)
    variance = 1.3 - np.einsum("im,im->i", k_star, np.linalg.solve(matrix, k_star.T).T)
    binary = run.draws.reshape(-1, 30)
    units = np.stack([-binary, binary], axis=1) / math.sqrt(2)
    drawn = draws(units, 30, *mean_direction(units, matrix))
    length = drawn.lengths.quantiles(len(units))
    h = length * (k_star @ binary.T)
    p = special.ndtr(h / np.sqrt(variance)[:, None])
    found = mixture(law, drawn, k_star, variance)
    np.testing.assert_allclose(found[:, 1], p.mean(axis=1), rtol=0, atol=1e-10)
    # The mean over all lengths is Student's distribution.
    student = TwoClasses().mixture(k_star @ binary.T, variance, drawn.lengths)
    np.testing.assert_allclose(found[:, 1:], student, rtol=0, atol=6e-3)
    shift = math.sqrt(2) * drawn.center_values(k_star)[1] - h.mean(axis=1)
    p = special.ndtr((h + shift[:, None]) / np.sqrt(variance)[:, None]).mean(axis=1)
    z = decision_values(law, drawn, k_star, variance)
    common = np.abs(p - 0.5) < 0.49
    assert common.sum() > 20
    np.testing.assert_allclose(z[common, 1], special.ndtri(p)[common], rtol=0, atol=1e-8)
    np.testing.assert_allclose(z[:, 0], -z[:, 1], rtol=1e-8)
    # Leave-one-out: harmonic means over the draws.
    precision = np.linalg.inv(matrix).diagonal()
    heights, label = binary @ matrix, (y > 0).astype(int)
    inside = length[:, None] * (heights - binary / precision) * np.sqrt(precision) * y
    alone = special.ndtri(1 / (1 / special.ndtr(inside)).mean(axis=0))
    both = np.stack([-heights, heights], axis=1) / math.sqrt(2)
    left_out = law.left_out(both, units, precision, label, drawn.lengths)
    np.testing.assert_allclose(left_out[label, np.arange(30)], alone, rtol=0, atol=1e-6)
    factor = LeftOut(TwoClasses(), alone, y).factor()
    assert LeftOut(law, left_out, label).factor() == pytest.approx(factor, abs=1e-4)


def test_probabilities_are_shares():
    law = SeveralClasses(3)
    found = np.exp(law.log_shares(np.array([[0.2, 0.2, 0.4], [1e-300, 3e-300, 1e-320], [0, 0, 0]])))
    np.testing.assert_allclose(found, [[0.25, 0.25, 0.5], [0.25, 0.75, 0], [1 / 3] * 3], atol=1e-15)
    np.testing.assert_allclose(np.exp(law.log_classes(np.full((1, 3), -450.0))), 1 / 3)
