"""Laws of predictions: decision values, votes and leave-one-out probabilities of draws."""

import math

import numpy as np
import pytest
from scipy import special

from bayespoint import VersionSpace, kernels
from bayespoint.labels import Labels
from bayespoint.labels.laws import Interval, LargestOf, OneWall, quantiles
from bayespoint.posterior.calibration import LeftOut
from bayespoint.results.lengths import chi_mean
from helpers import seed
from labels.small_problem import Problem
from objects import decision_values, draws, mean_direction, mixture

ALL = {"one wall": (OneWall(), 1), "interval": (Interval(), 3), "largest": (LargestOf(), 4)}
LAWS = pytest.mark.parametrize(("law", "n_rows"), ALL.values(), ids=ALL)


def values_of(law, n_rows, n, scale=1.5):
    """Return (n, n_rows) decision values; those of an interval fall."""
    z = scale * np.random.default_rng(seed(0)).standard_normal((n, n_rows))
    return -np.sort(-z, axis=1) if law == Interval() else z


@LAWS
def test_decision_values_and_probabilities_are_inverse(law, n_rows):
    for scale in (1.0, 10.0):
        log_p = law.log_classes(values_of(law, n_rows, 50, scale))
        np.testing.assert_allclose(special.logsumexp(log_p, axis=1), 0.0, atol=1e-12)
        again = law.log_classes(law.decision(log_p))
        np.testing.assert_allclose(again, log_p, rtol=1e-9, atol=1e-12)


@LAWS
def test_probabilities_given_values_are_those_with_noise(law, n_rows):
    """They sum to one, and are the shares of noisy values; their logarithms keep tails."""
    f = values_of(law, n_rows, 20).T
    p = law.probabilities(f)
    np.testing.assert_allclose(p.sum(axis=0), 1.0, atol=1e-12)
    np.testing.assert_allclose(np.exp(law.log_given(f)), p.T, atol=1e-12)
    rng, n = np.random.default_rng(seed(1)), 40_000
    shape = (n, n_rows if law == LargestOf() else 1, 20)  # an interval has the noise of one value
    noisy = f + rng.standard_normal(shape)
    label = noisy.argmax(axis=1) if law == LargestOf() else (noisy > 0).sum(axis=1)
    shares = np.stack([(label == c).mean(axis=0) for c in range(len(p))])
    assert (np.abs(shares - p) < 5 * np.sqrt((p * (1 - p) + 1e-4) / n)).all()


@LAWS
def test_other_weights_of_the_classes_multiply_their_odds(law, n_rows):
    labels = {1: Labels.two_classes(), 3: Labels.ordered(4, "mean"), 4: Labels.several(4)}[n_rows]
    weights = np.array([1.0, 0.5, 0.2, 0.1])[: labels.n_classes]
    for scale in (1.0, 20.0):  # also in tails
        z = values_of(law, n_rows, 30, scale)
        expected = labels.log_classes(z) + np.log(weights)
        expected -= special.logsumexp(expected, axis=1, keepdims=True)
        found = labels.log_classes(labels.weighted(z, weights))
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)
        assert labels.weighted(z, None) is z


@LAWS
def test_votes_are_shares_of_the_draws(law, n_rows):
    values = np.moveaxis(values_of(law, n_rows, 600).reshape(20, 30, n_rows), 2, 0)
    label = values.argmax(axis=0) if law == LargestOf() else (values > 0).sum(axis=0)
    n_classes = law.probabilities(values).shape[0]
    shares = np.stack([(label == c).mean(axis=1) for c in range(n_classes)], axis=1)
    votes = law.votes(values)
    np.testing.assert_allclose(law.shares(votes), shares, atol=1e-12)
    if law == OneWall():
        np.testing.assert_allclose(law.lead(votes), np.abs(shares[:, 1] - shares[:, 0]))
    if law == LargestOf():
        ordered = np.sort(shares, axis=1)
        np.testing.assert_allclose(law.lead(votes), ordered[:, -1] - ordered[:, -2], atol=1e-12)


def test_tails_keep_small_probabilities_and_their_complement():
    z = np.array([[40.0], [-41.0], [-45.0]])
    log_p = np.stack([np.zeros(1), special.log_ndtr(z[1]), special.log_ndtr(z[2])])
    found = quantiles(log_p)
    np.testing.assert_allclose(found[1:], z[1:], rtol=1e-12)
    assert found[0] == pytest.approx(41.0, rel=1e-12)
    np.testing.assert_allclose(np.exp(LargestOf().log_classes(np.full((1, 3), -450.0))), 1 / 3)
    z = np.array([[3.0, 0.5, -2.0], [-20.0, -21.0, -30.0], [30.0, 21.0, 20.0], [1.0, 1.0, -1.0]])
    log_p = Interval().log_classes(z)
    np.testing.assert_allclose(Interval().decision(log_p), z, rtol=1e-9)
    np.testing.assert_allclose(log_p[1, 1:], special.log_ndtr(z[1]), rtol=1e-6)
    assert log_p[3, 1] == -np.inf


def test_each_rule_minimizes_its_loss():
    p = np.random.default_rng(seed(7)).dirichlet(np.full(5, 0.7), size=300)
    z, k = Interval().decision(np.log(p)), np.arange(5)
    losses = {"probability": k[:, None] != k, "median": np.abs(k[:, None] - k)}
    losses["mean"] = losses["median"] ** 2
    for rule, loss in losses.items():
        found = Labels.ordered(5, rule).winner(z)
        np.testing.assert_array_equal(found, (p @ loss).argmin(axis=1), err_msg=rule)


@pytest.mark.parametrize(("kind", "law"), [("two", OneWall()), ("several", LargestOf())])
def test_the_length_of_the_weight_vector_matters(kind, law):
    """Directions by rejection give the exact probabilities, and not with other lengths."""
    n_classes = 3 if kind == "several" else 2
    problem = Problem(kind, 4, n_classes, 0.3, index=3)
    expected, error = problem.exact(*problem.accepted(10, wanted=20_000))
    units = problem.directions(problem.accepted(11, wanted=20_000)[0])
    direction, m = mean_direction(units, problem.matrix), len(problem.labels)
    apart = []
    for freedom in ((n_classes - 1) * m, (n_classes - 1) * m + 6):
        drawn = draws(units, freedom, *direction)
        p = mixture(law, drawn, problem.k_star, problem.variance)
        apart.append((np.abs(p - expected) > 5 * math.sqrt(2) * error).any())
    assert apart == [False, True]


def test_decision_values_of_one_wall_have_the_moments_of_f():
    """The mean and variance of f include the distribution of the length of w."""
    problem = Problem("two", 4, 2, 0.2, index=1)
    u, units = problem.accepted(10, wanted=40_000)[0], problem.accepted(11, wanted=40_000)[0]
    f, units = problem.means(u)[:, 0], problem.directions(units)
    drawn = draws(units, 4, *mean_direction(units, problem.matrix))
    z = decision_values(OneWall(), drawn, problem.k_star, problem.variance)[:, 0]
    total = f.var(axis=0) + problem.variance
    expected, share = f.mean(axis=0) / np.sqrt(total), f.var(axis=0) / total
    # Both sides have a Monte Carlo error, of the means and of the variances.
    error = np.sqrt((share + (expected * share) ** 2 / 2) * (1 / len(f) + 1 / len(units)))
    assert (np.abs(z - expected) < 5 * error).all()
    # The test detects the root of m in place of the mean of the chi distribution.
    assert (np.abs(z * 2 / chi_mean(4) - expected) > 5 * error).any()


def test_permuting_the_classes_permutes_all():
    problem = Problem("several", 6, 3, 0.3, index=5)
    law, labels = LargestOf(), Labels.several(3).with_noise((0.1, 0.1))
    units = problem.directions(problem.accepted(12, wanted=500)[0])[:500]
    order, precision = np.array([2, 0, 1]), np.linalg.inv(problem.matrix).diagonal()

    def answers(units, label):
        drawn = draws(units, 2 * 6, *mean_direction(units, problem.matrix))
        given = law, drawn, problem.k_star, problem.variance
        left_out = labels.left_out(units @ problem.matrix, units, precision, label, drawn.lengths).z
        factor = LeftOut(labels, left_out, label).factor()
        votes = law.votes(drawn.values(problem.k_star))
        return [decision_values(*given), mixture(*given), votes, left_out], factor

    one, factor = answers(units, problem.labels)
    two, other = answers(units[:, order], order.argsort()[problem.labels])
    for ours, theirs in zip(one, two, strict=True):
        np.testing.assert_allclose(theirs, ours[:, order], rtol=1e-8)
    assert factor == pytest.approx(other, rel=1e-6)


def test_the_larger_of_two_is_a_wall():
    """A unit vector w of two classes has the parts -w and w over the root of 2."""
    rng = np.random.default_rng(seed(6))
    X, points = rng.standard_normal((30, 2)), rng.standard_normal((40, 2))
    y = np.where(X[:, 0] + 0.5 * rng.standard_normal(30) > 0, 1, -1)
    kernel, softness, law = kernels.RBF(1.0), np.full(30, 0.3), LargestOf()
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
    student = np.exp(OneWall().mixture((k_star @ binary.T)[None], variance, drawn.lengths))
    np.testing.assert_allclose(found, student, rtol=0, atol=6e-3)
    shift = math.sqrt(2) * drawn.center_values(k_star)[1] - h.mean(axis=1)
    p = special.ndtr((h + shift[:, None]) / np.sqrt(variance)[:, None]).mean(axis=1)
    z = decision_values(law, drawn, k_star, variance)
    common = np.abs(p - 0.5) < 0.49
    assert common.sum() > 20
    np.testing.assert_allclose(z[common, 1], special.ndtri(p)[common], rtol=0, atol=1e-8)
    np.testing.assert_allclose(z[:, 0], -z[:, 1], rtol=1e-8)


def test_without_variance_decision_values_are_finite():
    """z = 0 at a point unrelated to the examples, and a limit for draws without spread."""
    law, drawn = OneWall(), draws(np.eye(2), 2, np.ones(2) / math.sqrt(2), 0.7)
    k_star = np.array([[0.0, 0.0], [0.0, 0.0], [1.0, 1.0]])
    z = decision_values(law, drawn, k_star, np.array([0.0, 1.0, 0.0]))[:, 0]
    assert z[:2].tolist() == [0.0, 0.0]
    assert np.isfinite(z).all()
    assert not decision_values(law, drawn, k_star * 0, np.zeros(3)).any()
    shares = mixture(law, drawn, k_star, np.zeros(3))[:, 1]
    assert shares.tolist() == [0.5, 0.5, 1.0]


def test_the_sign_is_that_of_the_center():
    """If the mean of the draws and the center disagree, the center decides."""
    space = VersionSpace(np.eye(3), [1, 1, -1])
    result = space.sample(length=100.0, n_draws=50, random_state=seed(0))
    drawn = draws(result.draws.reshape(-1, 3), 3, result.center, result.center_norm)
    k_star = np.random.default_rng(seed(0)).standard_normal((200, 3))
    z = decision_values(OneWall(), drawn, k_star, np.zeros(200))[:, 0]
    np.testing.assert_array_equal(z > 0, k_star @ result.center > 0)
