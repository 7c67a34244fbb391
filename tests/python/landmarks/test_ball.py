"""A ball with soft walls samples the stated posterior, and a wrong one does not."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from scipy import special, stats

from bayespoint import SampleOptions, VersionSpace
from bayespoint.data.executors import Dask, Threads
from bayespoint.labels import Labels
from bayespoint.landmarks.block import Block, BlockSums
from bayespoint.landmarks.normal import Normal, approximate, widest
from bayespoint.landmarks.sampling import BATCH, Balls
from bayespoint.results import diagnostics
from helpers import SLOW, seed
from landmarks.plain_ball import PlainBalls

PROBLEMS = 1000 if SLOW else 150
LEAST_P = 1e-4
DRAW, REFLECT = PlainBalls.directions, PlainBalls.changes
ORDERED = {"n_classes": 3, "ordered": True}
CHOICES = {"largest": 4}
BY_WEIGHT = Block.by_weight


def of_kind(noise=0.0, n_classes=2, ordered=False, largest=None):
    """Return labels; thresholds have the variance 1."""
    labels = Labels.of_classes(n_classes, "median" if ordered else None)
    labels = labels if largest is None else Labels.choices(largest)
    return replace(labels.with_noise((noise, noise)), variance=1.0)


def make(rows, label, labels, softness=1.0):
    """Return a block of observations with this softness of each latent value."""
    scale = np.full(len(label), softness**-0.5)
    return Block.of(rows * softness**-0.5, label, scale, labels)


def problem(rng, n, r, softness=1.0, **kind):
    """Labels of a function drawn from the prior, as a block; and the function."""
    labels, noise = of_kind(**kind), kind.get("noise", 0.0)
    k = labels.n_inputs
    rows = rng.standard_normal((k, n, r)) * (1.5 if k == 1 else 1.0)
    while True:  # until all ordered classes occur
        w = rng.standard_normal((labels.n_functions, r))
        noise_of_values = rng.standard_normal((k, n, labels.n_functions))
        seen = rows @ w.T + np.sqrt(softness) * noise_of_values
        thresholds = np.sort(rng.standard_normal(labels.n_shared))
        if k > 1:
            label = rng.integers(len(labels.contrasts), size=n)  # sizes of sets
            sizes = label + 2
            there = np.arange(k)[:, None] < sizes
            first = np.where(there, seen[..., 0], -np.inf).argmax(axis=0)
            first = np.where(
                rng.random(n) < noise_of_sets(noise, sizes), other(rng, first, sizes), first
            )
            each = np.arange(n)
            rows[0], rows[first, each] = rows[first, each], rows[0].copy()
            break
        if labels.n_functions > 1:
            label = seen[0].argmax(axis=1)
        else:
            label = (seen[0] > (thresholds if labels.n_shared else 0.0)).sum(axis=1)
        wrong = rng.random(n) < noise
        label = np.where(wrong, other(rng, label, labels.n_classes), label)
        if not labels.n_shared or len(np.unique(label)) == labels.n_classes:
            break
    w = w[0] if labels.n_functions == 1 else w
    block = make(rows, label, labels, softness)
    return block, np.append(w, thresholds) if labels.n_shared else w


def other(rng, index, n):
    """Return one of the n - 1 other indices."""
    return (index + rng.integers(1, n, len(index))) % n


def noise_of_sets(noise, sizes):
    """Return the probability of a wrong choice: each other item has the same odds as of two."""
    return (sizes - 1) * noise / (1 + (sizes - 2) * noise)


def draws(block, dimension, n_batches, index=0, n_chains=4, normal=None, kind=Balls):
    """Return draws of w, shape (n_chains, n_draws, D), and the normal approximation."""
    blocks = BlockSums(Threads(1), [block])
    if normal is None:
        normal = approximation(blocks, block, dimension)
    balls = kind(blocks, normal, n_chains, seed(index), n_rising(block))
    z = np.concatenate([balls.steps().draws for _ in range(n_batches)], axis=1)[:, 2 * BATCH :]
    return normal.mean + z @ normal.root.T, normal


def n_rising(block):
    return block.n_shared


def dimension_of(block):
    inputs, _, r = block.rows.shape
    return (block.table.shape[2] - block.n_shared) // inputs * r + block.n_shared


def approximation(blocks, block, dimension):
    mean = np.zeros(dimension)
    if block.n_shared:
        mean = of_kind(0.0, block.n_shared + 1, True)
        mean = mean.first_weights(dimension - block.n_shared, block.label)
    tried = [
        approximate(partial(blocks.moments, softness=softness), mean, n_rising=n_rising(block))
        for softness in (0.0, 0.03, 1.0)
    ]
    return widest(blocks.log_likelihoods_at, tried, seed=0)


def log_posterior(block, w):
    trials = np.arange(len(w)), np.tile([1.0, 0.0], (len(w), 1))
    pairs = np.stack([w, 0 * w], axis=1).reshape(-1, w.shape[1])
    paths = block.at_paths(np.concatenate([0 * w[:1], pairs]))
    return block.observed.log_likelihoods(paths, trials)[:, 0] - 0.5 * np.einsum("ij,ij->i", w, w)


def grid_moments(block, size=801, reach=6.0):
    """Return the mean, variance and log evidence of a posterior of two dimensions."""
    axis = np.linspace(-reach, reach, size)
    w = np.stack(np.meshgrid(axis, axis, indexing="ij"), axis=-1).reshape(-1, 2)
    ends = (w[:, 0] == w[:, 1]) & (block.n_shared > 0)  # of the density, where thresholds meet
    w[ends, 1] += 1e-9
    # All weights are combinations of a place and a direction.
    paths = block.at_paths(np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]]))
    logs = block.observed.log_likelihoods(paths, (np.zeros(len(w), int), w))[:, 0]
    logs -= 0.5 * (w**2).sum(axis=1) + np.log(2) * ends
    p = special.softmax(logs)
    mean = p @ w
    log_z = special.logsumexp(logs) + 2 * np.log(axis[1] - axis[0]) - np.log(2 * np.pi)
    return mean, p @ (w - mean) ** 2, log_z


def assert_moments(w, mean, variance):
    """Assert that draws have these moments, within five standard errors."""
    effective = diagnostics.ess_bulk(w)
    found = w.reshape(-1, w.shape[-1])
    error = np.sqrt(variance / effective)
    assert (np.abs(found.mean(axis=0) - mean) < 5 * error).all()
    effective = diagnostics.ess_bulk((w - mean) ** 2)
    squares = (found - mean) ** 2
    error = squares.std(axis=0) / np.sqrt(effective)
    assert (np.abs(squares.mean(axis=0) - variance) < 5 * error).all()


STEPS = [(8, 0.25, 1e-3), (15, 0.1, 1e-4), (15, 0.2, 1e-6), (15, 0.0, 1e-5)]
"""Numbers of examples, label noise and softness of potentials that are steps."""


@pytest.mark.parametrize(
    ("n", "noise", "softness"),
    [(3, 0.0, 1.0), (200, 0.0, 1.0), (15, 0.1, 1.0), (15, 0.4, 100.0), *STEPS],
)
def test_two_dimensions_agree_with_quadrature(n, noise, softness):
    block, _ = problem(np.random.default_rng(seed(n)), n, 2, softness, noise=noise)
    w, _ = draws(block, 2, 300)
    mean, variance, _ = grid_moments(block)
    assert_moments(w, mean, variance)


class CoarseBalls(PlainBalls):
    shares = np.linspace(0, 1, 6)


def test_a_ball_whose_steps_are_all_accepted_is_noticed():
    n, noise, softness = STEPS[1]
    block, _ = problem(np.random.default_rng(seed(n)), n, 2, softness, noise=noise)
    mean, variance, _ = grid_moments(block)
    with pytest.raises(AssertionError):  # its bounces are between nodes
        assert_moments(draws(block, 2, 100, kind=CoarseBalls)[0], mean, variance)


@pytest.mark.parametrize("softness", [1.0, 1e-4])
@pytest.mark.parametrize(
    ("r", "kind"), [(1, {"n_classes": 3}), (2, CHOICES), (2, CHOICES | {"noise": 0.1})], ids=str
)
def test_several_values_agree_with_quadrature(r, kind, softness):
    block, _ = problem(np.random.default_rng(seed(1)), 12, r, softness, **kind)
    w, _ = draws(block, 2, 300 if softness >= 1 else 60)
    mean, variance, _ = grid_moments(block, size=401)
    assert_moments(w, mean, variance)


@pytest.mark.parametrize(
    "labels",
    # Of the last, the noise explains the class between.
    [[0, 1, 2], [0, 0, 1, 2, 2, 2, 2, 0], [0] * 9 + [1] * 2 + [2] * 30, [0] * 25 + [1] + [2] * 25],
)
@pytest.mark.parametrize("noise", [0.0, 0.2])
@pytest.mark.parametrize("kind", [Balls, pytest.param(PlainBalls, marks=pytest.mark.long)])
def test_thresholds_agree_with_quadrature(labels, noise, kind):
    block = make(np.zeros((1, len(labels), 0)), np.array(labels), of_kind(noise, 3, True))
    w, _ = draws(block, 2, 300 if kind is Balls else 100, kind=kind)
    mean, variance, _ = grid_moments(block)
    assert_moments(w, mean, variance)
    assert (w[..., 1] > w[..., 0]).all()


def assert_same_moments(ours, theirs):
    """Assert that draws of two samplers have the same means and squares, within five errors."""
    for power in (1, 2):
        one, two = ours**power, theirs**power
        error = one.var(axis=(0, 1)) / diagnostics.ess_bulk(one)
        error = np.sqrt(error + two.var(axis=(0, 1)) / diagnostics.ess_bulk(two))
        assert (np.abs(one.mean(axis=(0, 1)) - two.mean(axis=(0, 1))) < 5 * error).all()


@pytest.mark.parametrize(("r", "noise"), [(3, 0.1), (4, 0.0), (5, 0.1)])
def test_a_few_dimensions_agree_with_a_random_walk(r, noise):
    block, _ = problem(np.random.default_rng(seed(2)), 20, r, noise=noise)
    w, normal = draws(block, r, 300)
    rng = np.random.default_rng(seed(3))
    n_chains = 64
    state = normal.mean + rng.standard_normal((n_chains, r)) @ normal.root.T
    logs, kept = log_posterior(block, state), []
    for step in range(2500):
        tried = state + 0.8 * rng.standard_normal((n_chains, r)) @ normal.root.T
        ahead = log_posterior(block, tried)
        moved = np.log(rng.random(n_chains)) < ahead - logs
        state = np.where(moved[:, None], tried, state)
        logs = np.where(moved, ahead, logs)
        if step >= 500:
            kept.append(state)
    assert_same_moments(w, np.stack(kept, axis=1))


def hard_draws(block, labels, softness=1.0, length=1500.0):
    """Return draws of the same posterior, (n_chains, n_draws, D), of a ball with hard walls.

    There the softness of each value is a dimension more; w given the draw of what the values span
    is normal.
    """
    there, n = labels.present(block.label)[:, : labels.n_inputs], labels.n_shared
    psi = block.rows.swapaxes(0, 1)[there]
    if labels.contrasts.shape[1:] == (1, 1):  # rows have the signs
        psi = psi * labels.contrasts[block.label, 0]
    m, r = psi.shape
    soft = np.full(m, softness)
    run = VersionSpace.over(labels.problem(psi @ psi.T, block.label, soft, 0.0)).sample(
        length=length,
        n_draws=1000,
        random_state=seed(12),
        options=SampleOptions(transparency=labels.transparency),
    )
    rng = np.random.default_rng(seed(13))
    dual = run.draws.reshape(*run.draws.shape[:2], -1, m + n)
    dual = np.einsum("fq,tdfm->tdqm", labels.basis, dual)
    n_chains, n_draws, parts, _ = dual.shape
    dual *= np.sqrt(rng.chisquare(labels.dimension(m), size=(n_chains, n_draws, 1, 1)))
    known = np.linalg.solve(psi @ psi.T + np.diag(soft), psi)
    root = np.linalg.cholesky(np.eye(r) - psi.T @ known)
    rest = rng.standard_normal((n_chains, n_draws, parts, r)) @ root.T
    w = (dual[..., :m] @ psi + rest).reshape(n_chains, n_draws, -1)
    return np.concatenate([w, dual[:, :, 0, m:]], axis=2)


KINDS = {}, {"n_classes": 3}, ORDERED, CHOICES
LAWS = [kind | {"noise": noise} for kind in KINDS for noise in (0.0, 0.1)]
LAWS += [{"n_classes": 4, "ordered": True}]  # with two walls between thresholds


@pytest.mark.filterwarnings("ignore:the trajectories disagree")  # the errors include it
@pytest.mark.parametrize("settings", LAWS, ids=str)
def test_hard_walls_with_softness_as_dimensions_give_the_same_draws(settings):
    block, _ = problem(np.random.default_rng(seed(14)), 30, 4, **settings)
    w, _ = draws(block, dimension_of(block), 300)
    labels = of_kind(**settings)
    assert_same_moments(w, hard_draws(block, labels))
    with pytest.raises(AssertionError):
        assert_same_moments(w, hard_draws(block, labels, softness=5.0))


def rank_p_value(n_problems, **settings):
    """Return the p-value that ranks of true functions among draws are uniform.

    The quantities are the first weight and the length of the weight vector.
    """
    ranks = []
    for k in range(n_problems):
        rng = np.random.default_rng([seed(4), k])
        block, truth = problem(rng, 12, 3, **settings)
        w, _ = draws(block, dimension_of(block), 22, index=100 + k, n_chains=1)
        w = w[0, ::8][:19]
        if "ordered" in settings:  # a weight, and the width of an interval
            pairs = [(w[:, 0], truth[0]), (w[:, -1] - w[:, -2], truth[-1] - truth[-2])]
        elif "n_classes" in settings:
            # Values of functions of which a common one does not count.
            truth, basis = truth - truth.mean(axis=0), of_kind(**settings).basis
            values = [basis @ one.reshape(-1, 3) @ block.rows[0, 0] for one in w]
            own = truth @ block.rows[0, 0]
            pairs = [(np.array(values)[:, 0], own[0]), (np.array(values)[:, 1], own[1])]
        else:
            pairs = [(w[:, 0], truth[0]), ((w**2).sum(axis=1), (truth**2).sum())]
        ranks.append([int((values < own).sum()) for values, own in pairs])
    counts = np.array([np.bincount(one, minlength=20) for one in np.array(ranks).T])
    pooled = counts.reshape(2, 5, 4).sum(axis=2)
    return min(stats.chisquare(one).pvalue for one in pooled)


@pytest.mark.long
@pytest.mark.parametrize("settings", LAWS, ids=str)
def test_ranks_of_true_functions_are_uniform(settings):
    assert rank_p_value(PROBLEMS, **settings) > LEAST_P


def with_descents(self, heights):
    """Subtract descents, without the positive part."""
    return np.maximum.accumulate(heights - heights[:, :1], axis=1)


def without_factor(self, v, off):
    """Reflect too little."""
    return 0.85 * REFLECT(self, v, off)


def too_fast(self):
    """Draw directions that are too long."""
    return 1.3 * DRAW(self)


def without_scale(self):
    """Draw directions as if the approximation were normal."""
    return self.rng.standard_normal(self.z.shape)


WRONG = {
    "descents": (1.0, "climbed", with_descents),
    "no factor": (1.0, "changes", without_factor),
    "too fast": (1.0, "directions", too_fast),
    "no scale": (0.5, "directions", without_scale),
}


@pytest.mark.parametrize(("width", "name", "wrong"), WRONG.values(), ids=WRONG)
def test_a_wrong_ball_fails(width, name, wrong, monkeypatch):
    block, _ = problem(np.random.default_rng(seed(7)), 8, 2)
    mean, variance, _ = grid_moments(block)
    # About the prior, where the ball bounces most, and about one with lighter tails.
    normal = Normal(np.zeros(2), width * np.eye(2), 0.0, True)
    options = {"normal": normal, "kind": PlainBalls}
    assert_moments(draws(block, 2, 300, normal=normal)[0], mean, variance)
    assert_moments(draws(block, 2, 150, **options)[0], mean, variance)
    monkeypatch.setattr(PlainBalls, name, wrong)
    with pytest.raises(AssertionError):
        assert_moments(draws(block, 2, 150, **options)[0], mean, variance)


def other_sign(self, by_contrast):
    """Differentiate by the last threshold with the other sign."""
    return BY_WEIGHT(self, by_contrast) * [1.0, -1.0]


WRONG_WALLS = {
    "sign": (Block, "by_weight", other_sign),
    "no factor": (PlainBalls, "changes", without_factor),
}


@pytest.mark.parametrize(("place", "name", "wrong"), WRONG_WALLS.values(), ids=WRONG_WALLS)
def test_wrong_walls_between_thresholds_fail(place, name, wrong, monkeypatch):
    # With label noise, where the potential is finite.
    block = make(np.zeros((1, 4, 0)), np.array([0, 1, 2, 2]), of_kind(0.1, 3, True))
    mean, variance, _ = grid_moments(block)
    normal = Normal(np.array([-1.0, 1.0]), np.eye(2), 0.0, True)
    options = {"normal": normal, "kind": PlainBalls}
    assert_moments(draws(block, 2, 100, **options)[0], mean, variance)
    monkeypatch.setattr(place, name, wrong)
    with pytest.raises(AssertionError):
        assert_moments(draws(block, 2, 100, **options)[0], mean, variance)


@pytest.mark.long
@pytest.mark.parametrize("settings", [{"n_classes": 3}, ORDERED | {"noise": 0.1}, CHOICES], ids=str)
def test_flights_bounce_as_often_as_those_of_the_plain_twin(settings):
    block, _ = problem(np.random.default_rng(seed(15)), 60, 6, **settings)
    blocks = BlockSums(Threads(1), [block])
    normal = approximation(blocks, block, dimension_of(block))
    found = []
    for kind in (Balls, PlainBalls):
        balls = kind(blocks, normal, 16, seed(16), n_rising(block))
        found.append(np.array([balls.steps().bounces for _ in range(25)]))
    error = np.sqrt(sum(bounces.var() / len(bounces) for bounces in found))
    assert abs(found[0].mean() - found[1].mean()) < 5 * error


@pytest.mark.parametrize("settings", [{"noise": 0.1}, {"n_classes": 3}, ORDERED, CHOICES], ids=str)
def test_blocks_and_threads_change_nothing(settings):
    block, _ = problem(np.random.default_rng(seed(8)), 40, 3, **settings)
    blocks = BlockSums(Threads(1), [block])
    normal = approximation(blocks, block, dimension_of(block))
    parts = [block.part(slice(0, 15)), block.part(slice(15, 40))]
    found = []
    for n_threads, blocks in [(1, [block]), (1, parts), (2, parts)]:
        executor = Threads(n_threads)
        with executor.running():
            balls = Balls(BlockSums(executor, blocks), normal, 3, seed(9), n_rising(block))
            found.append(balls.steps())
    for whole, in_parts, in_threads in zip(*map(arrays, found), strict=True):
        np.testing.assert_allclose(in_parts, whole, rtol=1e-9, atol=1e-9)
        np.testing.assert_array_equal(in_threads, in_parts)


@pytest.mark.parametrize("settings", [{"noise": 0.1}, ORDERED], ids=str)
def test_dask_gives_the_same_bits(settings):
    dask = pytest.importorskip("dask")
    block, _ = problem(np.random.default_rng(seed(10)), 40, 3, **settings)
    parts = [block.part(slice(0, 15)), block.part(slice(15, 40))]
    blocks, n = BlockSums(Threads(1), parts), n_rising(block)
    normal = approximation(blocks, block, dimension_of(block))
    expected = Balls(blocks, normal, 3, seed(11), n).steps()
    executor = Dask()
    with executor.running():
        delayed = [dask.delayed(part) for part in parts]
        found = Balls(BlockSums(executor, delayed), normal, 3, seed(11), n).steps()
    for ours, theirs in zip(arrays(found), arrays(expected), strict=True):
        np.testing.assert_array_equal(ours, theirs)


def arrays(found):
    return found.draws, found.residuals, found.reference


@pytest.mark.parametrize("n", [3, 40])
def test_evidence_agrees_with_quadrature(n):
    block, _ = problem(np.random.default_rng(seed(5)), n, 2)
    blocks = BlockSums(Threads(1), [block])
    normal = approximate(blocks.moments, np.zeros(2))
    exact = grid_moments(block)[2]
    assert normal.bound < exact
    balls = Balls(blocks, normal, 4, seed(6))
    reference = np.concatenate([balls.steps().reference.ravel() for _ in range(100)])
    found = normal.log_det_root + special.logsumexp(reference) - np.log(len(reference))
    spread = np.exp(reference - reference.max())
    error = spread.std() / spread.mean() / np.sqrt(len(reference))
    assert abs(found - exact) < 5 * error
