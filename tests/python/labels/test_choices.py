"""Preferences and choices against draws from the prior, over all items and over landmarks."""

import math
from dataclasses import replace
from itertools import permutations, product

import numpy as np
import pytest
from scipy import special, stats

from bayespoint import BayesPointClassifier, BayesPointRanker, kernels
from bayespoint.blocks import Blocks
from bayespoint.data import choices
from bayespoint.engine.laws import largest_probabilities
from bayespoint.kernels import Differences
from bayespoint.labels import Labels
from bayespoint.tuning.objective import log_evidence_of
from helpers import seed

KERNEL = 2.0 * kernels.RBF(0.8)
SOFTNESS = 0.5
X = np.random.default_rng(3).uniform(-1, 1, (8, 2))
PAIRS = [[0, 1], [2, 1], [0, 3], [4, 5], [6, 4], [0, 6], [3, 2]]
SETS = [[0, 1, 2, 3], [4, 5, -1, -1], [6, 4, 7, -1], [0, 5, 7, 1]]
NEW = [[0, 2], [5, 6], [7, 1], [3, 4]]


def ranker(**more):
    """Return an accurate model; over landmarks these are all items."""
    given = {"softness": SOFTNESS, "standardize": False, "random_state": seed(0), "tol": 0.01}
    if more.get("approximation") == "landmarks":
        given |= {"n_components": len(X), "tol": 0.03}
    return BayesPointRanker(KERNEL, **given | {"n_draws": 500} | more)


def fitted(way, rows, **more):
    """Return a model: over all choices, over landmarks, or over these with choices in blocks."""
    rows, approximation = np.array(rows), None if way is None else "landmarks"
    if way == "blocks":
        rows = Blocks([rows[:3], lambda rows=rows: rows[3:]])
    return ranker(approximation=approximation, **more).fit(X, rows)


class Exact:
    """The posterior of utilities: draws from the prior, weighted by the choices' probabilities.

    A choice of k items has the probability right + (rest of) noise: the chosen one has the largest
    noisy utility, or each other one was taken for it with the odds of `noise`.
    """

    def __init__(self, rows, softness=SOFTNESS, noise=0.0, n=400_000):
        root = np.linalg.cholesky(KERNEL(X) + 1e-9 * np.eye(len(X)))
        self.f = np.random.default_rng(seed(1)).standard_normal((n, len(X))) @ root.T
        weights, ratio, self.softness, self.noise = np.ones(n), noise / (1 - noise), softness, noise
        for row in rows:
            of_set = self.f[:, [k for k in row if k >= 0]].T
            behind = (of_set.max(axis=0) - of_set) / math.sqrt(softness / 2)
            p = largest_probabilities(behind)[0]
            weights *= (p + ratio * (1 - p)) / (1 + (len(of_set) - 1) * ratio)
        self.log_evidence = math.log(weights.mean())
        self.error = weights.std() / weights.mean() / math.sqrt(n)
        self.p = weights / weights.sum()
        self.ess = 1 / (self.p**2).sum()

    def mean(self, values):
        """Return the mean and the deviation of values of the draws."""
        mean = self.p @ values
        return mean, np.sqrt(self.p @ (values - mean) ** 2)

    def distances(self, model):
        """Return how far a model's utilities, preferences and best items are, in errors."""
        ess = 1 / (1 / model.posterior_.first.draws.run.ess + 1 / self.ess)
        f, [first, second] = self.f, np.array(NEW).T
        mean, std = model.predict(X, return_std=True)
        exact, spread = self.mean(f)
        found = {
            "mean": np.abs(mean - exact) / spread * math.sqrt(ess),
            "std": np.abs(std / spread - 1) * math.sqrt(2 * ess),
        }
        p = special.ndtr((f[:, first] - f[:, second]) / math.sqrt(self.softness))
        exact, spread = self.mean(self.noise + (1 - 2 * self.noise) * p)
        p = model.predict_proba(X, NEW)
        found["p"] = np.abs(p - exact) / (spread + 1e-3) * math.sqrt(ess)
        wins, spread = self.mean(np.eye(len(X))[f.argmax(axis=1)])
        best = model.probability_best(X)
        found["best"] = np.abs(best - wins) / np.sqrt(spread**2 + 0.01) * math.sqrt(ess)
        away = (f - self.mean(f)[0]) * np.sqrt(self.p)[:, None]
        draws = model.sample_functions(X, random_state=seed(3))
        scatter = np.cov(draws.T) - away.T @ away
        found["covariance"] = np.abs(scatter) / f.var() * math.sqrt(ess / 2)
        return {name: float(each.max()) for name, each in found.items()}


CASES = {
    "pairs": (PAIRS, SOFTNESS, 0.0),
    "noisy pairs": (PAIRS, SOFTNESS, 0.15),
    "sets": (SETS, SOFTNESS, 0.0),
    "noisy sets": (SETS, SOFTNESS, 0.15),
    "sharp sets": (SETS, 0.01, 0.0),
    "noisy sharp sets": (SETS, 0.01, 0.1),
    "sets with much noise": (SETS, 10.0, 0.0),
}


@pytest.fixture(scope="module", params=CASES)
def case(request):
    rows, softness, noise = CASES[request.param]
    settings = {"softness": softness, "label_noise": noise}
    return rows, settings, Exact(rows, softness, noise)


WAYS = pytest.mark.parametrize("way", [None, "landmarks", "blocks"])


@WAYS
def test_utilities_and_evidence_are_the_exact_ones(case, way):
    rows, settings, exact = case
    if way == "blocks" and settings["softness"] < SOFTNESS:
        pytest.skip("as slow as over landmarks in memory")
    model = fitted(way, rows, **settings)
    apart = exact.distances(model)
    assert max(apart.values()) < 5, apart
    tol = 0.03 if way is None else 0.5  # of landmarks from the draws there are
    found = model.evidence(tol=tol, random_state=seed(4))
    assert abs(found.value - exact.log_evidence) < 5 * math.hypot(found.error, exact.error)
    assert found.error < 0.2
    assert model.posterior_.first.labels.n_inputs == (1 if rows is PAIRS else 4)


@pytest.mark.parametrize("rows", [PAIRS, SETS], ids=["pairs", "sets"])
def test_choices_on_dask_are_those_in_blocks(rows):
    array = pytest.importorskip("dask.array").from_array(np.array(rows), chunks=(3, 1))
    of_dask = ranker(approximation="landmarks", tol=0.3, n_draws=50).fit(X, array)
    of_blocks = fitted("blocks", rows, tol=0.3, n_draws=50)
    np.testing.assert_allclose(of_dask.predict(X), of_blocks.predict(X), rtol=1e-12)
    np.testing.assert_allclose(
        of_dask.predict_proba(X, NEW), of_blocks.predict_proba(X, NEW), rtol=1e-12
    )


def test_empty_blocks_of_choices_change_nothing():
    rows = np.array(SETS)
    empty = rows[:0], np.empty((0, 4), dtype=object)
    found = [
        ranker(approximation="auto", n_components=8, tol=0.3, n_draws=50).fit(X, Blocks(parts))
        for parts in ([rows[:3], rows[3:]], [rows[:3], rows[3:], *empty])
    ]
    np.testing.assert_array_equal(found[0].predict(X), found[1].predict(X))
    with pytest.raises(TypeError, match="y must be choices in memory; got Blocks"):
        found[0].score(X, Blocks([rows]))


def test_choices_in_blocks_ask_for_memory():
    items = np.random.default_rng(0).normal(size=(10, 20_000))
    rows = np.broadcast_to(np.arange(10), (1_000_000, 10))
    text = r"blocks of up to 1000000 \(400010 numbers for each: .* needs 3.0 TiB, but only"
    with pytest.raises(MemoryError, match=text):
        BayesPointRanker().fit(items, Blocks([rows]))


@WAYS
@pytest.mark.parametrize("wrong", ["choice", "wall"])
def test_a_wrong_sign_fails(wrong, way, monkeypatch):
    rows, right = [[row[1], row[0], *row[2:]] for row in SETS], Labels.choices

    def turned(largest):
        labels, signs = right(largest), np.ones((largest - 1, largest - 1, 1))
        signs[-1, 1] = -1
        return replace(labels, contrasts=signs * labels.contrasts)

    if wrong == "wall":
        rows = SETS
        monkeypatch.setattr(Labels, "choices", turned)
    apart = Exact(SETS).distances(fitted(way, rows))
    assert max(apart.values()) > 10, apart


@WAYS
def test_independent_noise_of_the_walls_of_a_choice_fails(way):
    first, second, _ = choices.walls(np.array(SETS))
    pairs, exact = np.column_stack([first, second]), Exact(SETS)
    model = fitted(way, pairs)
    tol = 0.02 if way is None else 0.5
    wrong = model.evidence(tol=tol, random_state=seed(4))
    assert abs(wrong.value - exact.log_evidence) > 5 * math.hypot(wrong.error, exact.error)


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


def places(n, approximation=None, sign=1.0):
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
        model = ranker(tol=0.1, n_draws=100, approximation=approximation)
        draws = model.fit(X, rows).sample_functions(X, random_state=k)
        found.append((draws[:, 0] - draws[:, 1] < f[0] - f[1]).mean())
    return found


@pytest.mark.parametrize(
    ("n", "approximation"),
    [
        (60, None),
        pytest.param(60, "landmarks", marks=pytest.mark.long),
        pytest.param(1000, None, marks=[pytest.mark.slow, pytest.mark.long]),
    ],
)
def test_simulated_utilities_are_among_the_draws(n, approximation):
    assert stats.kstest(places(n, approximation), "uniform").pvalue > 1e-4


def test_utilities_of_the_wrong_sign_are_not_among_them():
    assert stats.kstest(places(60, sign=-1.0), "uniform").pvalue < 1e-4


def test_one_preference_is_over_landmarks():
    one = ranker(n_draws=100, tol="auto").fit(X, [[0, 1]])  # which a wall alone would not leave
    apart = Differences(KERNEL).diag(Differences.rows(X[:1], X[1:2]))[0]
    exact = 0.5 + math.asin(1 - SOFTNESS / (SOFTNESS + apart)) / math.pi
    assert abs(one.predict_proba(X, [[0, 1]])[0] - exact) < 0.03


@pytest.mark.parametrize(("rows", "near"), [(PAIRS, 0.1), (SETS, 0.6)], ids=["pairs", "sets"])
def test_the_search_has_nearly_the_evidence(rows, near):
    """It takes the pairs of a choice for independent ones."""
    model = ranker(tol=0.5, n_draws=100).fit(X, rows)
    found, hyper = model.evidence(tol=0.03, random_state=seed(12)), model.posterior_.first.hyper
    largest = len(rows[0])
    examples = choices.as_examples(X, np.array(rows), largest)
    labels = Labels.two_classes() if largest == 2 else Labels.choices(largest)
    value = log_evidence_of(hyper.kernel, *labels.compared(examples), offset=0.0, softness=SOFTNESS)
    assert value == pytest.approx(found.value, abs=near + 3 * found.error)
