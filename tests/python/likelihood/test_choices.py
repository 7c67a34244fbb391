"""Preferences and choices against rejection from the prior, several classes and simulation."""

import math
from itertools import permutations, product

import numpy as np
import pytest
from scipy import stats

from bayespoint import BayesPointClassifier, BayesPointRanker, kernels
from bayespoint.data import choices
from bayespoint.data.examples import Examples
from bayespoint.engine import sampling
from bayespoint.engine.settings import SampleSettings
from bayespoint.engine.walls import Walls
from bayespoint.kernels import Differences
from bayespoint.likelihood import Choices, TwoClasses
from bayespoint.tuning.objective import approximate_log_evidence
from helpers import seed

KERNEL = 2.0 * kernels.RBF(0.8)
SOFTNESS = 0.5
X = np.random.default_rng(3).uniform(-1, 1, (8, 2))
PAIRS = [[0, 1], [2, 1], [0, 3], [4, 5], [6, 4], [0, 6], [3, 2]]
SETS = [[0, 1, 2, 3], [4, 5, -1, -1], [6, 4, 7, -1], [0, 5, 7, 1]]
NEW = [[0, 2], [5, 6], [7, 1], [3, 4]]


def ranker(**more):
    given = {"softness": SOFTNESS, "standardize": False, "random_state": seed(0), "tol": 0.01}
    return BayesPointRanker(KERNEL, **given | {"n_draws": 500} | more)


def rejection(rows, noise=0.0, wanted=4_000):
    """Return utilities of the posterior, their share, and the log evidence, by rejection."""
    rng, root = (
        np.random.default_rng(seed(1)),
        np.linalg.cholesky(KERNEL(X) + 1e-9 * np.eye(len(X))),
    )
    kept, total, ratio = [], 0, noise / (1 - noise)
    while sum(map(len, kept)) < wanted:
        f = rng.standard_normal((200_000, len(X))) @ root.T
        chance = np.ones(len(f))
        for row in rows:
            items = [k for k in row if k >= 0]
            seen = f[:, items] + math.sqrt(SOFTNESS / 2) * rng.standard_normal((len(f), len(items)))
            best = 1 / (1 + (len(items) - 1) * ratio)
            chance *= np.where(seen.argmax(axis=1) == 0, best, ratio * best)
        kept.append(f[rng.uniform(size=len(f)) < chance])
        total += len(f)
    f = np.concatenate(kept)
    return f, math.log(len(f) / total), 1 / math.sqrt(len(f))


def probabilities(f, noise=0.0):
    """Return those of new preferences for utilities."""
    p = stats.norm.cdf(
        (f[:, np.array(NEW)[:, 0]] - f[:, np.array(NEW)[:, 1]]) / math.sqrt(SOFTNESS)
    )
    return noise + (1 - 2 * noise) * p


def distances(model, f, noise=0.0):
    """Return how far utilities, preferences and the best are from those by rejection, in errors."""
    n = 1 / (1 / model.posterior_.first.billiard.ess + 1 / len(f))
    mean, std = model.predict(X, return_std=True)
    p, best = model.predict_proba(X, NEW), model.probability_best(X)
    exact, wins = probabilities(f, noise), np.bincount(f.argmax(axis=1), minlength=len(X)) / len(f)
    return {
        "mean": np.abs(mean - f.mean(axis=0)).max() / (f.std() / math.sqrt(n)),
        "std": np.abs(std / f.std(axis=0) - 1).max() * math.sqrt(2 * n),
        "p": np.abs((p - exact.mean(axis=0)) / exact.std(axis=0)).max() * math.sqrt(n),
        "best": (np.abs(best - wins) / np.sqrt(wins * (1 - wins) + 0.01)).max() * math.sqrt(n),
    }


CASES = {"pairs": (PAIRS, 0.0), "noisy pairs": (PAIRS, 0.15), "sets": (SETS, 0.0)}
CASES |= {"noisy sets": (SETS, 0.15)}


@pytest.fixture(scope="module", params=CASES.values(), ids=CASES.keys())
def case(request):
    rows, noise = request.param
    return rows, noise, rejection(rows, noise), ranker(label_noise=noise).fit(X, rows)


def test_utilities_are_those_by_rejection(case):
    _, noise, (f, log_evidence, error), model = case
    assert max(distances(model, f, noise).values()) < 5, distances(model, f, noise)
    draws = model.sample_functions(X, random_state=seed(3))
    n = 1 / (1 / model.posterior_.first.billiard.ess + 1 / len(f))
    scatter = np.abs(np.cov(draws.T) - np.cov(f.T)).max() / f.var()
    assert scatter * math.sqrt(n / 2) < 5
    found = model.evidence(tol=0.03, random_state=seed(4))
    assert abs(found.value - log_evidence) < 5 * math.hypot(found.error, error)


def test_a_wrong_sign_fails(case):
    rows, noise, (f, _, _), _ = case
    turned = [[row[1], row[0], *row[2:]] for row in rows]
    wrong = ranker(label_noise=noise).fit(X, turned)
    assert max(distances(wrong, f, noise).values()) > 10


def test_independent_noise_of_the_walls_of_a_choice_fails(monkeypatch):
    _, log_evidence, error = rejection(SETS)
    monkeypatch.setattr(Choices, "shared", 0.0)
    wrong = ranker().fit(X, SETS).evidence(tol=0.03, random_state=seed(4))
    assert abs(wrong.value - log_evidence) > 8 * math.hypot(wrong.error, error)


def test_transparency_of_each_wall_fails():
    noise = 0.15
    f, _, _ = rejection(SETS, noise, wanted=20_000)
    first, second, choice = choices.walls(np.array(SETS))
    kernel = Differences(KERNEL, SOFTNESS / 2)
    rows = Differences.rows(X[first], X[second], choice)
    gram, soft, ones = kernel(rows), np.full(len(rows), SOFTNESS / 2), np.ones(len(rows), np.int8)
    to_items = kernel(Differences.rows(X), rows)
    settings = SampleSettings(tol=0.005, n_draws=2000, transparency=noise / (1 - noise))

    def distance(observations):
        law = Choices((noise, noise), choices=observations)
        run = sampling.sample(law.problem(gram, ones, soft, 0.0), settings, seed=seed(5))
        length = math.sqrt(2) * math.exp(
            math.lgamma((len(rows) + 1) / 2) - math.lgamma(len(rows) / 2)
        )
        mean = length * to_items @ run.center * run.center_norm
        n = 1 / (1 / run.ess + 1 / len(f))
        return np.abs(mean - f.mean(axis=0)).max() / (f.std() / math.sqrt(n))

    assert distance(choice) < 5
    assert distance(np.arange(len(rows))) > 8


@pytest.mark.parametrize("noise", [0.0, 0.2])
def test_evidences_of_all_outcomes_sum_to_one(noise):
    total, square = 0.0, 0.0
    outcomes = product(
        [[0, 1], [1, 0]], [r for r in permutations([2, 3, 4, 0]) if list(r[1:]) == sorted(r[1:])]
    )
    for pair, of_four in outcomes:
        rows = [[*pair, -1, -1], list(of_four)]
        model = ranker(label_noise=noise, tol=0.5, n_draws=100).fit(X, rows)
        found = model.evidence(tol=0.03, random_state=seed(6))
        total += math.exp(found.value)
        square += (math.exp(found.value) * found.error) ** 2
    assert abs(total - 1) < 5 * math.sqrt(square)
    assert square < 0.02**2


def test_choices_out_of_the_classes_are_several_classes():
    """A class for each of three functions: the best of three items of independent utility."""
    softness, rng = 0.4, np.random.default_rng(seed(7))
    points, label = rng.uniform(-1, 1, (7, 2)), np.array([0, 1, 2, 0, 2, 1, 1])
    given = {"standardize": False, "random_state": seed(8), "tol": 0.01, "n_draws": 500}
    classes = BayesPointClassifier(
        KERNEL, softness=softness / 2, fit_intercept=False, calibration=None, **given
    ).fit(points, label)

    def kernel(a, b):
        return KERNEL(a[:, :2], b[:, :2]) * (a[:, 2:] == b[:, 2])

    items = np.column_stack([np.repeat(points, 3, axis=0), np.tile(np.arange(3.0), 7)])
    rows = [[3 * i + c for c in (k, *{0, 1, 2} - {k})] for i, k in enumerate(label)]
    choosing = BayesPointRanker(kernel, softness=softness, **given).fit(items, rows)
    a, b = (one.evidence(tol=0.03, random_state=seed(9)) for one in (classes, choosing))
    assert abs(a.value - b.value) < 5 * math.hypot(a.error, b.error)
    f = classes.sample_functions(points, noise=False, random_state=seed(10))
    mean = choosing.predict(items).reshape(7, 3)
    mean -= mean.mean(axis=1, keepdims=True)
    n = 1 / (1 / classes.billiard_.ess + 1 / choosing.posterior_.first.billiard.ess)
    assert np.abs(mean.T - f.mean(axis=1)).max() < 5 * f.std() / math.sqrt(n)


def places(n, sign=1.0):
    """Return the places of true differences of utilities among those of the posterior."""
    rng, root = np.random.default_rng(seed(11)), np.linalg.cholesky(KERNEL(X) + 1e-9 * np.eye(8))
    found = []
    for k in range(n):
        f, rows = root @ rng.standard_normal(8), []
        for size in (2, 2, 3, 4):
            items = rng.choice(8, size, replace=False)
            seen = f[items] + math.sqrt(SOFTNESS / 2) * rng.standard_normal(size)
            order = np.argsort(-sign * seen)
            rows.append(items[order].tolist())
        draws = ranker(tol=0.1, n_draws=100).fit(X, rows).sample_functions(X, random_state=k)
        found.append((draws[:, 0] - draws[:, 1] < f[0] - f[1]).mean())
    return found


@pytest.mark.parametrize("n", [60, pytest.param(1000, marks=[pytest.mark.slow, pytest.mark.long])])
def test_simulated_utilities_are_among_the_draws(n):
    assert stats.kstest(places(n), "uniform").pvalue > 1e-4


def test_utilities_of_the_wrong_sign_are_not_among_them():
    assert stats.kstest(places(60, sign=-1.0), "uniform").pvalue < 1e-4


def test_pairs_over_landmarks_are_the_same_posterior():
    f, log_evidence, error = rejection(PAIRS)
    model = ranker(approximation="landmarks", tol=0.03).fit(X, PAIRS)
    n = 1 / (1 / model.posterior_.first.draws.run.ess + 1 / len(f))
    assert np.abs(model.predict(X) - f.mean(axis=0)).max() < 5 * f.std() / math.sqrt(n)
    found = model.evidence(tol=0.5)
    assert abs(found.value - log_evidence) < 5 * math.hypot(found.error, error)
    assert isinstance(model.posterior_.first.likelihood, TwoClasses)
    one = ranker(n_draws=100, tol="auto").fit(X, [[0, 1]])  # which a wall alone would not leave
    exact = (
        0.5
        + math.asin(
            1 - SOFTNESS / (SOFTNESS + Differences(KERNEL).diag(Differences.rows(X[:1], X[1:2]))[0])
        )
        / math.pi
    )
    assert abs(one.predict_proba(X, [[0, 1]])[0] - exact) < 0.03


@pytest.mark.parametrize(("rows", "near"), [(PAIRS, 0.1), (SETS, 0.6)], ids=["pairs", "sets"])
def test_the_search_has_nearly_the_evidence(rows, near):
    model = ranker(tol=0.5, n_draws=100).fit(X, rows)
    found, first = model.evidence(tol=0.03, random_state=seed(12)), model.posterior_.first
    examples = Examples(
        first.basis.points, np.ones(len(first.basis), np.intp), np.ones(len(first.basis))
    )
    value = approximate_log_evidence(
        first.hyper.kernel, examples, first.likelihood, offset=0.0, softness=SOFTNESS
    )
    assert value == pytest.approx(found.value, abs=near + 3 * found.error)


def test_walls_of_a_choice_are_one_observation():
    law = Choices((0.1, 0.1), choices=np.array([0, 0, 1]))
    walls = law.problem(np.eye(3), np.ones(3, np.int8), np.ones(3), 0.0).walls
    assert isinstance(walls, Walls)
    np.testing.assert_array_equal(walls.observations, [0, 0, 1])
    assert law.log_orders == pytest.approx(-math.log(0.9 + 0.2))
    assert (
        Choices(choices=law.choices).problem(np.eye(3), np.ones(3, np.int8), np.ones(3), 0.0).walls
        is None
    )
