"""Slices on great circles sample the stated posterior, and a wrong slice does not."""

import os

import numpy as np
import pytest
from scipy import special, stats

from bayespoint.data.executors import Threads
from bayespoint.landmarks import circles
from bayespoint.landmarks.block import BinaryBlock, BlockSums, JointBlock
from bayespoint.landmarks.circles import BATCH, Circles
from bayespoint.landmarks.normal import Normal, approximate
from bayespoint.likelihood import SeveralClasses, TwoClasses
from bayespoint.results import diagnostics
from helpers import seed

PROBLEMS = 1000 if os.environ.get("BAYESPOINT_SLOW") == "1" else 150
LEAST_P = 1e-4
NEXT_ANGLES, BEGIN_STEP = circles._Chain.next_angles, circles._Chain.begin_step


def problem(rng, n, r, *, noise=0.0, n_classes=2):
    """Labels of a function drawn from the prior, as a block; and the function."""
    rows = rng.standard_normal((n, r)) * 1.5
    if n_classes > 2:
        w = rng.standard_normal((n_classes, r))
        labels = (rows @ w.T + rng.standard_normal((n, n_classes))).argmax(axis=1)
        return JointBlock(rows, SeveralClasses(n_classes), labels.astype(np.uint32)), w
    w = rng.standard_normal(r)
    signs = np.where(rows @ w + rng.standard_normal(n) > 0, 1.0, -1.0)
    signs = np.where(rng.random(n) < noise, -signs, signs)
    floors = np.full(n, noise) if noise else None
    return BinaryBlock(rows * signs[:, None], TwoClasses((noise, noise)), floors), w


def draws(block, dimension, n_batches, index=0, n_chains=4, normal=None):
    """Return draws of w, shape (n_chains, n_draws, D), and the normal approximation."""
    blocks = BlockSums(Threads(1), [block])
    if normal is None:
        normal = approximate(blocks.moments, dimension)
    chains = Circles(blocks, normal, n_chains, seed(index))
    z = np.concatenate([chains.steps()[0] for _ in range(n_batches)], axis=1)[:, 2 * BATCH :]
    return normal.mean + z @ normal.root.T, normal


def log_posterior(block, w):
    likelihood = block.log_likelihoods(block.values(w), np.eye(len(w)))
    return likelihood - 0.5 * np.einsum("ij,ij->i", w, w)


def grid_moments(block, size=161, reach=6.0):
    """Return the mean, variance and log evidence of a posterior of two dimensions."""
    axis = np.linspace(-reach, reach, size)
    w = np.stack(np.meshgrid(axis, axis, indexing="ij"), axis=-1).reshape(-1, 2)
    logs = np.concatenate([log_posterior(block, part) for part in np.array_split(w, 200)])
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


@pytest.mark.parametrize(("n", "noise"), [(3, 0.0), (15, 0.0), (200, 0.0), (15, 0.1)])
def test_two_dimensions_agree_with_quadrature(n, noise):
    block, _ = problem(np.random.default_rng(seed(n)), n, 2, noise=noise)
    w, _ = draws(block, 2, 300)
    mean, variance, _ = grid_moments(block)
    assert_moments(w, mean, variance)


def test_three_classes_agree_with_quadrature():
    block, _ = problem(np.random.default_rng(seed(1)), 12, 1, n_classes=3)
    w, _ = draws(block, 2, 300)
    mean, variance, _ = grid_moments(block)
    assert_moments(w, mean, variance)


def test_five_dimensions_agree_with_a_random_walk():
    block, _ = problem(np.random.default_rng(seed(2)), 20, 5)
    w, normal = draws(block, 5, 300)
    rng = np.random.default_rng(seed(3))
    n_chains = 64
    state = normal.mean + rng.standard_normal((n_chains, 5)) @ normal.root.T
    logs, kept = log_posterior(block, state), []
    for step in range(6000):
        tried = state + 0.8 * rng.standard_normal((n_chains, 5)) @ normal.root.T
        ahead = log_posterior(block, tried)
        moved = np.log(rng.random(n_chains)) < ahead - logs
        state = np.where(moved[:, None], tried, state)
        logs = np.where(moved, ahead, logs)
        if step >= 500:
            kept.append(state)
    walk = np.stack(kept, axis=1)
    for power in (1, 2):
        ours, theirs = w**power, walk**power
        error = ours.var(axis=(0, 1)) / diagnostics.ess_bulk(ours)
        error = np.sqrt(error + theirs.var(axis=(0, 1)) / diagnostics.ess_bulk(theirs))
        assert (np.abs(ours.mean(axis=(0, 1)) - theirs.mean(axis=(0, 1))) < 5 * error).all()


def rank_p_value(n_problems, **settings):
    """Return the p-value that ranks of true functions among draws are uniform.

    The quantities are the first weight and the length of the weight vector.
    """
    ranks = []
    for k in range(n_problems):
        rng = np.random.default_rng([seed(4), k])
        block, truth = problem(rng, 12, 3, **settings)
        dimension = 3 * (settings.get("n_classes", 2) - 1)
        w, _ = draws(block, dimension, 22, index=100 + k, n_chains=1)
        w = w[0, ::8][:19]
        if "n_classes" in settings:
            # Values of functions of which a common one does not count.
            truth = truth - truth.mean(axis=0)
            values = [block.values(one[None])[0, :, 0] for one in w]
            own = truth @ block.rows[0]
            pairs = [(np.array(values)[:, 0], own[0]), (np.array(values)[:, 1], own[1])]
        else:
            pairs = [(w[:, 0], truth[0]), ((w**2).sum(axis=1), (truth**2).sum())]
        ranks.append([int((values < own).sum()) for values, own in pairs])
    counts = np.array([np.bincount(one, minlength=20) for one in np.array(ranks).T])
    pooled = counts.reshape(2, 5, 4).sum(axis=2)
    return min(stats.chisquare(one).pvalue for one in pooled)


@pytest.mark.parametrize("settings", [{}, {"noise": 0.1}, {"n_classes": 3}], ids=str)
def test_ranks_of_true_functions_are_uniform(settings):
    assert rank_p_value(PROBLEMS, **settings) > LEAST_P


def accept_second(self, n):
    """Shrink the bracket as it should be, but take the second angle whatever its residual."""
    if self.first is None:
        self.level = -np.inf
    return NEXT_ANGLES(self, n)


def without_scale(self):
    """Begin a step as if the approximation were normal."""
    BEGIN_STEP(self)
    self.scale = 1.0


@pytest.mark.parametrize(
    ("width", "name", "wrong"),
    [(1.0, "next_angles", accept_second), (0.5, "begin_step", without_scale)],
)
def test_a_wrong_slice_fails(width, name, wrong, monkeypatch):
    block, _ = problem(np.random.default_rng(seed(7)), 8, 2)
    mean, variance, _ = grid_moments(block)
    # About the prior, where most angles are rejected, and about one with lighter tails.
    normal = Normal(np.zeros(2), width * np.eye(2), 0.0, True)
    assert_moments(draws(block, 2, 300, normal=normal)[0], mean, variance)
    monkeypatch.setattr(circles._Chain, name, wrong)
    with pytest.raises(AssertionError):
        assert_moments(draws(block, 2, 300, normal=normal)[0], mean, variance)


@pytest.mark.parametrize("n", [3, 40])
def test_evidence_agrees_with_quadrature(n):
    block, _ = problem(np.random.default_rng(seed(5)), n, 2)
    blocks = BlockSums(Threads(1), [block])
    normal = approximate(blocks.moments, 2)
    exact = grid_moments(block)[2]
    assert normal.bound < exact
    chains = Circles(blocks, normal, 4, seed(6))
    reference = np.concatenate([chains.steps()[2].ravel() for _ in range(100)])
    found = normal.log_det_root + special.logsumexp(reference) - np.log(len(reference))
    spread = np.exp(reference - reference.max())
    error = spread.std() / spread.mean() / np.sqrt(len(reference))
    assert abs(found - exact) < 5 * error
