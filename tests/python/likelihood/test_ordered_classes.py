"""Ordered classes: thresholds, predictions and evidence against rejection from the prior."""

import math
from dataclasses import replace
from itertools import product
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import special, stats

from bayespoint import BayesPointOrdinalClassifier, SampleOptions, VersionSpace, kernels
from bayespoint.data.examples import Examples
from bayespoint.data.plan import Budget
from bayespoint.engine.settings import EvidenceSettings
from bayespoint.likelihood import OrderedClasses
from bayespoint.likelihood.evidence import evidence
from bayespoint.tuning.objective import Objective, Task, approximate_log_evidence
from helpers import seed
from objects import SmallProblem, assert_slopes, plan


class Problem(SmallProblem):
    """A small problem of ordered classes, each of which occurs."""

    def __init__(self, m, n_classes, softness, index):
        rng = np.random.default_rng(seed(index))
        super().__init__(m, softness, rng)
        more = rng.integers(n_classes, size=m - n_classes)
        self.labels, self.n_classes = np.concatenate([np.arange(n_classes), more]), n_classes
        # Likely ones, so that rejection ends: in the order of a draw from the prior.
        order = (np.linalg.cholesky(self.matrix) @ rng.standard_normal(m)).argsort()
        self.labels[order] = np.sort(self.labels)
        self.variance_of_thresholds = float(self.matrix.diagonal().mean())

    def accepted(self, index, noise=0.0, wanted=2_000, factor=1.0):
        """Return values at the examples and thresholds of the posterior by rejection."""
        rng = np.random.default_rng(seed(index))
        m, K = len(self.labels), self.n_classes
        root, kept, total = np.linalg.cholesky(self.matrix), [], 0
        spread = math.sqrt(factor * self.variance_of_thresholds)
        while sum(len(z) for z, _ in kept) < wanted:
            z = rng.standard_normal((100_000, m)) @ root.T
            t = np.sort(spread * rng.standard_normal((len(z), K - 1)), axis=1)
            right = (z[:, :, None] > t[:, None]).sum(axis=2) == self.labels
            chance = np.where(right, 1 - noise, noise / (K - 1)).prod(axis=1) / (1 - noise) ** m
            some = rng.uniform(size=len(z)) < chance
            kept.append((z[some], t[some]))
            total += len(z)
        z, t = map(np.concatenate, zip(*kept, strict=True))
        log_evidence = math.log(len(z) / total) + m * math.log1p(-noise)
        return z, t, (log_evidence, 1 / math.sqrt(len(z)))

    def alternated(self, index, n=4_000, sweeps=300):
        """Return such values by Gibbs sampling, where hardly any draw is accepted: n chains."""
        rng = np.random.default_rng(seed(index))
        m, K, y = len(self.labels), self.n_classes, self.labels
        inverse, spread = np.linalg.inv(self.matrix), math.sqrt(self.variance_of_thresholds)
        t = np.tile(spread * special.ndtri(np.arange(1, K) / K), (n, 1))
        ends = [np.full((n, 1), -np.inf), np.full((n, 1), np.inf)]
        z = np.tile(spread * special.ndtri((y + 0.5) / K), (n, 1))

        def between(low, high, mean, scale):
            low, high = (special.ndtr((end - mean) / scale) for end in (low, high))
            return mean + scale * special.ndtri(low + (high - low) * rng.uniform(size=n))

        for _ in range(sweeps):
            edges = np.concatenate([ends[0], t, ends[1]], axis=1)
            for i in range(m):
                mean = z[:, i] - z @ inverse[i] / inverse[i, i]
                z[:, i] = between(edges[:, y[i]], edges[:, y[i] + 1], mean, inverse[i, i] ** -0.5)
            for k in range(K - 1):
                t[:, k] = between(z[:, y == k].max(1), z[:, y == k + 1].min(1), 0.0, spread)
        return z, t

    def exact(self, z, t, noise=0.0):
        """Return the probabilities of the observed labels, (n_points, K), and their errors."""
        mean = z @ np.linalg.solve(self.matrix, self.k_star.T)
        scale = np.sqrt(np.maximum(self.variance, 1e-20))
        above = special.ndtr((mean[:, :, None] - t[:, None]) / scale[:, None])
        ends = np.ones((*mean.shape, 1))
        p = -np.diff(np.concatenate([ends, above, 0 * ends], axis=2), axis=2)
        p = noise / (self.n_classes - 1) * (1 - p) + (1 - noise) * p
        return p.mean(axis=0), p.std(axis=0) / math.sqrt(len(z))

    def fit(self, **settings):
        accurate = {"n_draws": 4000, "tol": 0.004, "random_state": seed(0), "standardize": False}
        given = {"softness": self.softness, "calibration": None} | accurate | settings
        return BayesPointOrdinalClassifier(self.kernel, **given).fit(self.inputs, self.labels)


CASES = [
    pytest.param(5, 3, 0.3, 0.0, id="3"),
    pytest.param(7, 5, 0.3, 0.0, id="5"),
    pytest.param(5, 3, 0.3, 0.15, id="3-noise"),
    pytest.param(5, 3, 0.01, 0.0, id="3-sharp", marks=pytest.mark.long),
]


@pytest.mark.parametrize(("m", "n_classes", "softness", "noise"), CASES)
def test_the_classifier_agrees_with_rejection(m, n_classes, softness, noise):
    """Billiard, thresholds, lengths, label noise, evidence; other thresholds are noticed."""
    problem = Problem(m, n_classes, softness, index=3)
    if n_classes == 3:
        z, t, (log_evidence, of_evidence) = problem.accepted(14, noise)
    else:
        z, t = problem.alternated(14)
    expected, error = problem.exact(z, t, noise)
    model = problem.fit(label_noise=noise)
    error += 0.5 / math.sqrt(model.billiard_.ess)
    assert error.max() < 0.02
    for method in ("mixture", "moments"):
        p = model.predict_proba(problem.points, method=method)
        np.testing.assert_allclose(p.sum(axis=1), 1.0)
        assert (np.abs(p - expected) < 4.5 * error).all(), method
    draws = model.models_[0].draws
    thresholds = draws.thresholds() * draws.lengths.quantiles(len(draws))[:, None]
    of_mean = 4.5 * t.std(axis=0) * (len(t) ** -0.5 + model.billiard_.ess**-0.5)
    assert (np.abs(thresholds.mean(axis=0) - t.mean(axis=0)) < of_mean).all()
    assert (np.diff(thresholds, axis=1) > 0).all()
    if n_classes == 3:
        found = model.evidence(tol=0.05, random_state=seed(1))
        assert abs(found.value - log_evidence) < 4 * math.hypot(found.error, of_evidence)
    # Values of functions with their noise tell the class.
    above = (model.sample_functions(problem.points[:6], random_state=seed(1)) > 0).mean(axis=1).T
    ends = np.ones((6, 1))
    shares = -np.diff(np.concatenate([ends, above, 0 * ends], axis=1), axis=1)
    shares = noise / (n_classes - 1) * (1 - shares) + (1 - noise) * shares
    assert (np.abs(shares - expected[:6]) < 4.5 * error[:6]).all()
    # Thresholds of another variance would show.
    if n_classes == 3:
        wrong, of_wrong = problem.exact(*problem.accepted(15, noise, factor=0.1)[:2], noise)
        assert (np.abs(wrong - expected) > 5 * np.hypot(error, of_wrong)).any()


def test_evidences_of_all_labelings_sum_to_one():
    rng = np.random.default_rng(seed(4))
    gram, law = kernels.RBF(1.0)(rng.standard_normal((3, 2))), OrderedClasses(3)
    total, variance = 0.0, 0.0
    for labels in product(range(3), repeat=3):
        problem = law.problem(gram, np.array(labels), np.full(3, 0.4), 1.0, variance=2.0)
        found = evidence(problem, 0.0, EvidenceSettings("auto", 0.1, 1e5), seed=seed(5))
        p = math.exp(found.value + law.log_orders)
        total, variance = total + p, variance + (p * found.error) ** 2
    assert abs(total - 1) < 4 * math.sqrt(variance) < 0.15


@pytest.mark.filterwarnings("ignore:the 1 x 19 draws")
@pytest.mark.parametrize(("factor", "good"), [(1.0, True), (0.1, False)])
def test_simulated_data_sets_are_calibrated(factor, good):
    """Ranks of what made the labels among draws are uniform, unless the prior is another."""
    m, n_draws, ranks = 8, 19, []
    law, softness = OrderedClasses(3), np.full(m, 0.3)
    for index in range(300):
        rng = np.random.default_rng(seed(1000 + index))
        gram = kernels.RBF(1.0)(rng.standard_normal((m, 2)))
        z = np.linalg.cholesky(gram + np.diag(softness)) @ rng.standard_normal(m)
        t = np.sort(math.sqrt(1.3) * rng.standard_normal(2))
        labels = (z[:, None] > t).sum(axis=1)
        problem = law.problem(gram, labels, softness, 0.0, variance=1.3 * factor)
        space = VersionSpace.over(problem)
        options = SampleOptions(refresh="full", refresh_rate=0.5)
        run = space.sample(
            length=300.0, n_trajectories=1, n_draws=n_draws, random_state=index, options=options
        )
        lengths = np.sqrt(rng.chisquare(m + 2, size=(n_draws, 1)))
        drawn = lengths * problem.coordinates(run.draws[0])
        true = np.append(z, t)
        of = [lambda z: z[-1], lambda z: z[-1] - z[-2], lambda z: z[0]][index % 3]
        ranks.append(sum(of(one) < of(true) for one in drawn))
    counts = np.bincount(np.array(ranks) // 2, minlength=10)
    assert (stats.chisquare(counts).pvalue > 1e-4) == good


def test_decision_values_and_probabilities_are_inverse():
    law = OrderedClasses(4)
    z = np.array([[3.0, 0.5, -2.0], [-20.0, -21.0, -30.0], [30.0, 21.0, 20.0], [1.0, 1.0, -1.0]])
    log_p = law.log_classes(z)
    np.testing.assert_allclose(special.logsumexp(log_p, axis=1), 0.0, atol=1e-12)
    np.testing.assert_allclose(law.decision(log_p), z, rtol=1e-9)
    np.testing.assert_allclose(log_p[1, 1:], special.log_ndtr(z[1]), rtol=1e-6)
    assert log_p[3, 1] == -np.inf
    weights = np.array([1.0, 0.5, 0.2, 0.1])
    expected = np.exp(log_p) * weights
    found = np.exp(law.log_classes(law.weighted(z, weights)))
    np.testing.assert_allclose(found, expected / expected.sum(axis=1, keepdims=True), atol=1e-12)
    np.testing.assert_allclose(law.log_shares(special.ndtr(z[:1])), log_p[:1], rtol=1e-9)


def test_each_rule_minimizes_its_loss():
    p = np.random.default_rng(seed(7)).dirichlet(np.full(5, 0.7), size=300)
    z = OrderedClasses(5).decision(np.log(p))
    k = np.arange(5)
    losses = {"probability": k[:, None] != k, "median": np.abs(k[:, None] - k)}
    losses["mean"] = losses["median"] ** 2
    for rule, loss in losses.items():
        found = OrderedClasses(5, rule=rule).winner(z)
        np.testing.assert_array_equal(found, (p @ loss).argmin(axis=1), err_msg=rule)


def test_left_out_probabilities_are_those_without_the_label():
    problem, law, m = Problem(5, 3, 0.5, index=8), OrderedClasses(3), 5
    z, t, _ = problem.accepted(16)
    inverse = np.linalg.inv(problem.matrix)
    heights, dual = z[:, None] - t[..., None], z @ inverse
    lengths = SimpleNamespace(quantiles=np.ones)
    found = law.left_out(heights, dual, inverse.diagonal(), problem.labels, lengths)
    p, i = np.exp(law.log_classes(found.T)), m - 1
    rest = np.arange(m) != i
    less = Problem(5, 3, 0.5, index=8)
    less.labels, less.matrix = problem.labels[rest], problem.matrix[np.ix_(rest, rest)]
    less.k_star, less.variance = problem.matrix[[i]][:, rest], np.array([1 / inverse[i, i]])
    expected, error = less.exact(*less.accepted(17)[:2])
    assert (np.abs(p[i] - expected[0]) < 8 * error[0]).all()


@pytest.mark.parametrize("rates", [0, 1])
@pytest.mark.parametrize("softness", [None, 0.3])
def test_the_search_has_the_gradient_of_its_evidence(softness, rates):
    rng = np.random.default_rng(seed(9))
    X = rng.standard_normal((50, 2))
    y = np.digitize(X[:, 0] + 0.5 * rng.standard_normal(50), [-0.6, 0.3, 1.0])
    kernel = kernels.Scaled(kernels.RBF()) + kernels.Scaled(kernels.Linear())
    noise = (0.05, 0.05) if rates else (0.0, 0.0)
    given = plan(offset=1.0, softness=softness, rates=rates, label_noise=noise)
    examples = Examples(X, y, np.ones(50))
    task = Task(kernel, given, examples, OrderedClasses(4), Budget(0))
    found = Objective.of(task, 50, 0)
    found = replace(found, approximation=replace(found.approximation, change=1e-9))
    theta = np.log([1.3, 0.9, 0.4, 0.2, 0.1])
    theta = theta[: 3 + (softness is None) + rates]
    if softness is not None and rates:
        theta[-1] = math.log(0.1)
    assert_slopes(found, theta, step=1e-4, rel=1e-3, abs=1e-3)


def test_the_approximate_evidence_is_near_the_exact_one():
    rng = np.random.default_rng(seed(10))
    X = rng.standard_normal((40, 2))
    y = np.digitize(X[:, 0] + 0.3 * rng.standard_normal(40), [-0.6, 0.3, 1.0])
    models = {}
    for softness in (0.05, 1.0):
        model = BayesPointOrdinalClassifier(
            kernels.RBF(2.0), softness=softness, standardize=False, random_state=seed(0)
        ).fit(X, y)
        examples, law = model.models_[0].examples, model.models_[0].likelihood
        near = approximate_log_evidence(
            kernels.RBF(2.0), examples, law, offset=1.0, softness=softness
        )
        models[softness] = model.evidence(random_state=seed(1)).value, near
    # Thresholds are given to one and random in the other; differences tell of hyperparameters.
    exact, near = np.subtract(*models.values())
    assert abs(exact - near) < 0.15 * abs(exact) + 1.0
    assert exact > 3
