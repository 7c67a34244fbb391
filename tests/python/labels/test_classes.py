"""Two, several and ordered classes: fits and evidence against rejection from the prior."""

import math
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from scipy import stats

from bayespoint import BayesPointOrdinalClassifier, SampleOptions, VersionSpace, kernels
from bayespoint.data.examples import Examples
from bayespoint.engine.settings import EvidenceSettings
from bayespoint.labels import Labels
from bayespoint.labels.evidence import evidence
from bayespoint.tuning.objective import log_evidence_of
from helpers import seed
from labels.small_problem import Problem

CASES = {
    "two, noise by class": ("two", 5, 2, 0.2, (0.05, 0.2)),
    "several, hard": ("several", 5, 3, 0.0, 0.0),
    "four, noise": ("several", 5, 4, 0.3, 0.2),
    "ordered": ("ordered", 5, 3, 0.3, 0.0),
    "ordered, noise": ("ordered", 5, 3, 0.3, 0.15),
}


@pytest.mark.parametrize(("kind", "m", "n_classes", "softness", "noise"), CASES.values(), ids=CASES)
def test_the_classifier_agrees_with_rejection(kind, m, n_classes, softness, noise):
    """Billiard, thresholds, lengths, integrals and label noise."""
    problem = Problem(kind, m, n_classes, softness, index=3)
    u, t = problem.accepted(14, noise)
    expected, error = problem.exact(u, t, noise)
    model = problem.fit(label_noise=noise)
    error += 0.5 / math.sqrt(model.billiard_.ess)
    assert error.max() < 0.02
    of_moments = problem.of_moments(u, noise) if kind == "two" else expected
    for method, exact in (("mixture", expected), ("moments", of_moments)):
        p = model.predict_proba(problem.points, method=method)
        np.testing.assert_allclose(p.sum(axis=1), 1.0)
        assert (np.abs(p - exact) < 4.5 * error).all(), method
    if kind == "ordered":  # thresholds of another variance would show
        wrong, of_wrong = problem.exact(*problem.accepted(15, noise, factor=0.1), noise)
        assert (np.abs(wrong - expected) > 5 * np.hypot(error, of_wrong)).any()


@pytest.mark.parametrize("kind", ["several", "ordered"])
@pytest.mark.parametrize("noise", [0.0, pytest.param(0.2, marks=pytest.mark.long)])
def test_evidences_of_all_labelings_sum_to_one(kind, noise):
    rng = np.random.default_rng(seed(4))
    gram = kernels.RBF(1.0)(rng.standard_normal((3, 2)))
    labels = Labels.several(3) if kind == "several" else Labels.ordered(3, "median")
    labels = replace(labels.with_noise((noise, noise)), variance=2.0)
    total, variance = 0.0, 0.0
    for label in map(np.array, product(range(3), repeat=3)):
        problem = labels.problem(gram, label, np.full(3, 0.4), 1.0)
        found = evidence(problem, labels.noise, EvidenceSettings(0.1, 1e5), seed=seed(5))
        p = math.exp(found.value + labels.log_constant(label))
        total, variance = total + p, variance + (p * found.error) ** 2
    assert abs(total - 1) < 4 * math.sqrt(variance) < 0.15


@pytest.mark.filterwarnings("ignore:the 1 x 19 draws")
@pytest.mark.parametrize(("factor", "good"), [(1.0, True), (0.1, False)])
def test_simulated_data_sets_are_calibrated(factor, good):
    """Ranks of what made the labels among draws are uniform, unless the prior is another."""
    m, n_draws, ranks, softness = 8, 19, [], np.full(8, 0.3)
    labels = replace(Labels.ordered(3, "median"), variance=1.3 * factor)
    for index in range(300):
        rng = np.random.default_rng(seed(1000 + index))
        gram = kernels.RBF(1.0)(rng.standard_normal((m, 2)))
        z = np.linalg.cholesky(gram + np.diag(softness)) @ rng.standard_normal(m)
        t = np.sort(math.sqrt(1.3) * rng.standard_normal(2))
        problem = labels.problem(gram, (z[:, None] > t).sum(axis=1), softness, 0.0)
        options = SampleOptions(refresh="full", refresh_rate=0.5)
        run = VersionSpace.over(problem).sample(
            length=300.0, n_trajectories=1, n_draws=n_draws, random_state=index, options=options
        )
        lengths = np.sqrt(rng.chisquare(m + 2, size=(n_draws, 1)))
        drawn = lengths * problem.coordinates(run.draws[0])
        true = np.append(z, t)
        of = [lambda z: z[-1], lambda z: z[-1] - z[-2], lambda z: z[0]][index % 3]
        ranks.append(sum(of(one) < of(true) for one in drawn))
    counts = np.bincount(np.array(ranks) // 2, minlength=10)
    assert (stats.chisquare(counts).pvalue > 1e-4) == good


def test_the_approximate_evidence_is_near_the_exact_one():
    rng = np.random.default_rng(seed(10))
    X = rng.standard_normal((40, 2))
    y = np.digitize(X[:, 0] + 0.3 * rng.standard_normal(40), [-0.6, 0.3, 1.0])
    models = {}
    for softness in (0.05, 1.0):
        model = BayesPointOrdinalClassifier(
            kernels.RBF(2.0), softness=softness, standardize=False, random_state=seed(0)
        ).fit(X, y)
        near = log_evidence_of(
            kernels.RBF(2.0),
            Examples(X, y, np.ones(40)),
            model.models_[0].labels,
            offset=1.0,
            softness=softness,
        )
        models[softness] = model.evidence(random_state=seed(1)).value, near
    # Thresholds are given to one and random in the other; differences tell of hyperparameters.
    exact, near = np.subtract(*models.values())
    assert abs(exact - near) < 0.15 * abs(exact) + 1.0
    assert exact > 3
