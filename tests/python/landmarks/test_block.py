"""Likelihoods of blocks, their derivatives and expectations."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import special, stats

from bayespoint.engine.laws import largest_probabilities
from bayespoint.labels import Labels
from bayespoint.landmarks import block as blocks
from bayespoint.landmarks.block import Block
from helpers import seed
from plain_laws import log_probabilities

MEAN = np.zeros(1, dtype=np.int64), np.zeros((1, 2))


def make(labels, n=40, r=3, *, dtype=np.float64):
    """Return a block of random features and labels; their scales and order are mixed."""
    rng = np.random.default_rng(seed(0))
    scale = 1 / rng.uniform(0.5, 2.0, n)
    rows = rng.standard_normal((labels.n_inputs, n, r)) * scale[:, None]
    label = rng.integers(0, len(labels.contrasts), n)
    return Block.of(rows.astype(dtype), label, scale, labels, seed(1))


TWO = Labels.two_classes()
ORDERED = replace(Labels.ordered(4, "median"), variance=2.0)
KINDS = {"two": TWO, "several": Labels.several(4), "ordered": ORDERED, "choices": Labels.choices(4)}
BLOCKS = {name: make(labels) for name, labels in KINDS.items()}
NOISY = {"two": (0.1, 0.03)}
BLOCKS |= {
    f"{name}, noisy": make(labels.with_noise(NOISY.get(name, (0.1, 0.1))))
    for name, labels in KINDS.items()
}


def weights(block, n=1, scale=1.0):
    """Return (n, D) random weights, of which those of thresholds rise."""
    inputs, _, r = block.rows.shape
    q = (block.table.shape[2] - block.n_shared) // inputs
    rng = np.random.default_rng(seed(2))
    w = scale * rng.standard_normal((n, q * r + block.n_shared))
    shared = w[:, q * r :]
    shared[:] = np.sort(shared, axis=1) + 0.2 * np.arange(block.n_shared)
    return w


def at_mean(block, w):
    """Return the contrasts of a mean, and of a place and a direction that are 0."""
    return block.at_paths(w * [[1.0], [0.0], [0.0]])


def log_likelihood(block, w):
    return float(block.observed.log_likelihoods(at_mean(block, w), MEAN)[0, 0])


def plain_contrasts(block, w):
    """Return the (n_contrasts, n) contrasts, one observation after the other."""
    w, shared = np.split(w, [len(w) - block.n_shared])
    w, found = w.reshape(-1, block.rows.shape[2]), []
    for i, y in enumerate(block.label):
        y = 0 if block.table.shape[1:] == (1, 1) else y  # whose rows have the signs
        values = (block.rows[:, i] @ w.T).ravel()
        at = block.table[y] @ np.append(values, block.scale[i] * shared)
        found.append(at + block.constants[block.label[i]])
    return np.array(found).T


@pytest.mark.parametrize("block", BLOCKS.values(), ids=BLOCKS)
def test_likelihoods_are_laws_of_contrasts(block):
    w = weights(block)[0]
    contrasts = plain_contrasts(block, w)
    np.testing.assert_allclose(block.at_paths(w[None])[0], contrasts, rtol=1e-12)
    exact = log_probabilities(block.observed, contrasts).sum()
    assert log_likelihood(block, w) == pytest.approx(exact, rel=1e-6)


@pytest.mark.parametrize("block", BLOCKS.values(), ids=BLOCKS)
def test_moments_at_a_point_are_derivatives(block):
    w, step = weights(block)[0], 1e-5
    found = block.moments(w, None)
    assert found.value == pytest.approx(log_likelihood(block, w), rel=1e-9)
    for k, unit in enumerate(step * np.eye(len(w))):
        slope = (log_likelihood(block, w + unit) - log_likelihood(block, w - unit)) / (2 * step)
        assert found.slope[k] == pytest.approx(slope, abs=2e-6)
        change = block.moments(w + unit, None).slope - block.moments(w - unit, None).slope
        np.testing.assert_allclose(found.precision[k], -change / (2 * step), atol=3e-6)
    if not len(block.observed.floors):
        assert np.linalg.eigvalsh(found.precision).min() > 0


@pytest.mark.parametrize("block", BLOCKS.values(), ids=BLOCKS)
def test_slopes_are_derivatives(block):
    w = weights(block, 5, 0.4)
    w[1:, w.shape[1] - block.n_shared :] *= 0.1  # so that the sum rises
    contrasts, trials = block.at_paths(w), (np.array([1]), np.array([[0.5, 2.0]]))
    exact = block.moments(w[0] + 0.5 * w[3] + 2.0 * w[4], None).slope
    [found] = block.slopes(contrasts, trials)
    np.testing.assert_allclose(found, exact, rtol=1e-6, atol=1e-7)
    by_factors = block.observed.log_likelihoods(contrasts, trials)[0, 1:]
    np.testing.assert_allclose(by_factors, w[3:] @ exact, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("factor", [-1.0, 0.0])
def test_a_wrong_sign_of_a_contrast_fails(monkeypatch, name, factor):
    """Of one weight: the first of functions, and the last, which may be of a threshold."""
    right = Block.by_weight
    for by in (0, -1):

        def wrong(block, by_contrast, by=by):
            found = np.array(right(block, by_contrast))
            found[:, by] *= factor
            return found

        monkeypatch.setattr(Block, "by_weight", wrong)
        with pytest.raises(AssertionError):
            test_moments_at_a_point_are_derivatives(BLOCKS[name])


def test_thresholds_that_meet_leave_no_room_whatever_the_noise():
    block = BLOCKS["ordered, noisy"]
    w = weights(block)[0]
    w[4] = w[3]
    assert log_likelihood(block, w) == -np.inf
    assert np.isfinite(block.slopes(at_mean(block, w), MEAN)).all()


def test_expectations_of_a_single_value_are_integrals():
    block = BLOCKS["two, noisy"]
    mean, root = np.array([0.5, -1.0, 0.3]), np.array([[0.3, 0.1, 0], [0, 0.2, 0.1], [0, 0, 0.2]])
    value, slope, curvature = block.expected(mean, root, np.random.default_rng())
    points, nodes = np.polynomial.hermite_e.hermegauss(60)
    nodes, rows, observed = nodes / nodes.sum(), block.rows[0], block.observed
    t = (rows @ mean)[:, None] + np.linalg.norm(rows @ root, axis=1)[:, None] * points
    p = observed.floors[:, None] + observed.spans[:, None] * special.ndtr(t)
    by_t = observed.spans[:, None] * stats.norm.pdf(t) / p
    np.testing.assert_allclose(value, np.log(p) @ nodes, atol=2e-2)
    np.testing.assert_allclose(slope[0], by_t @ nodes, atol=2e-2)
    np.testing.assert_allclose(curvature[0, 0], (by_t * (t + by_t)) @ nodes, atol=6e-2)


@pytest.mark.parametrize("labels", [Labels.several(3), Labels.choices(3)], ids=["several", "sets"])
def test_expectations_of_several_values_are_near_integrals(labels):
    """The mean over a draw of each few observations: many equal ones, for which it is accurate."""
    rng, n, label = np.random.default_rng(seed(5)), 4000, len(labels.contrasts) - 1
    rows = np.repeat(rng.standard_normal((labels.n_inputs, 1, 2)), n, axis=1)
    block = Block.of(rows, np.full(n, label), np.ones(n), labels, seed(6))
    d = labels.dimension(2)
    mean, root = 0.5 * rng.standard_normal(d), 0.4 * np.triu(rng.standard_normal((d, d)))
    drawn = block.part(slice(1)).contrasts(mean + rng.standard_normal((20_000, d)) @ root.T)
    behind = np.concatenate([np.zeros((1, 20_000)), drawn[..., 0].T])
    p = largest_probabilities(behind - behind.min(axis=0))[0]
    expected, error = float(np.log(p).mean()), 4 * float(np.log(p).std()) / math.sqrt(n / 8)
    assert block.moments(mean, root).value / n == pytest.approx(expected, abs=error)


@pytest.mark.parametrize("name", BLOCKS)
@pytest.mark.parametrize("root", [None, 0.3])
def test_moments_in_parts_are_those_of_all_observations(monkeypatch, name, root):
    block = BLOCKS[name]
    w = weights(block)[0]
    root = None if root is None else root * np.eye(len(w))
    whole = block.moments(w, root)
    monkeypatch.setattr(blocks, "ROWS", 16)
    parts = block.moments(w, root)
    assert parts.value == pytest.approx(whole.value, rel=1e-12)
    np.testing.assert_allclose(parts.slope, whole.slope, atol=1e-12)
    np.testing.assert_allclose(parts.precision, whole.precision, atol=1e-12)


@pytest.mark.parametrize("name", KINDS)
def test_contrasts_in_singles_are_near_those_in_doubles(name):
    single, double = make(KINDS[name], dtype=np.float32), BLOCKS[name]
    w = weights(double, 3)
    w[1:, w.shape[1] - double.n_shared :] *= 0.1
    trials = np.zeros(2, int), np.array([[1.0, 0.5], [0.0, 1.0]])
    assert single.at_paths(w)[0].dtype == np.float32
    found, exact = (
        block.observed.log_likelihoods(block.at_paths(w), trials) for block in (single, double)
    )
    np.testing.assert_allclose(found, exact, rtol=1e-4, atol=1e-3)
