"""Likelihoods of blocks, their derivatives and expectations."""

import math

import numpy as np
import pytest
from scipy import special, stats

from bayespoint.engine.largest import largest_probabilities
from bayespoint.landmarks import block as blocks
from bayespoint.landmarks.block import BinaryBlock, JointBlock, contrasts
from bayespoint.likelihood import SeveralClasses, TwoClasses
from helpers import seed

MEAN = np.zeros(1, dtype=np.int64), np.zeros((1, 2))


def two_classes(n=40, r=3, *, noisy=False, dtype=np.float64):
    rng = np.random.default_rng(seed(0))
    rows = rng.standard_normal((n, r)).astype(dtype)
    floors = np.where(rng.random(n) < 0.5, 0.1, 0.03) if noisy else None
    return BinaryBlock(rows, TwoClasses((0.1, 0.03) if noisy else (0.0, 0.0)), floors)


def several_classes(n=30, r=3, n_classes=4, noise=0.0):
    rng = np.random.default_rng(seed(1))
    labels = rng.integers(0, n_classes, n).astype(np.uint32)
    law = SeveralClasses(n_classes, noise)
    return JointBlock(rng.standard_normal((n, r)), law, labels)


def log_likelihood(block, w):
    return float(block.log_likelihoods([*block.values(w[None])] * 3, MEAN)[0, 0])


BLOCKS = {
    "two": (two_classes(), 3),
    "two, noisy": (two_classes(noisy=True), 3),
    "several": (several_classes(), 9),
    "several, noisy": (several_classes(noise=0.1), 9),
}


@pytest.mark.parametrize(("block", "dimension"), BLOCKS.values(), ids=BLOCKS)
def test_moments_at_a_point_are_derivatives(block, dimension):
    w = np.random.default_rng(seed(2)).standard_normal(dimension)
    found = block.moments(w, None)
    assert found.value == pytest.approx(log_likelihood(block, w), rel=1e-9)
    step = 1e-5
    for k, unit in enumerate(np.eye(dimension)):
        ahead, behind = w + step * unit, w - step * unit
        slope = (log_likelihood(block, ahead) - log_likelihood(block, behind)) / (2 * step)
        assert found.slope[k] == pytest.approx(slope, abs=1e-6)


@pytest.mark.parametrize(("block", "dimension"), BLOCKS.values(), ids=BLOCKS)
def test_slopes_are_derivatives(block, dimension):
    w = 0.4 * np.random.default_rng(seed(8)).standard_normal((5, dimension))
    values, trials = list(block.values(w)), (np.array([1]), np.array([[0.5, 2.0]]))
    exact = block.moments(w[0] + 0.5 * w[3] + 2.0 * w[4], None).slope
    [found] = block.slopes(values, trials)
    np.testing.assert_allclose(found, exact, rtol=1e-6, atol=1e-8)
    by_factors = block.log_likelihoods(values, trials)[0, 1:]
    np.testing.assert_allclose(by_factors, w[3:] @ exact, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("name", ["two", "several"])
def test_precision_is_the_negative_second_derivative(name):
    block, dimension = BLOCKS[name]
    w = np.random.default_rng(seed(3)).standard_normal(dimension)
    step, precision = 1e-5, block.moments(w, None).precision
    for k, unit in enumerate(np.eye(dimension)):
        change = block.moments(w + step * unit, None).slope
        change = (change - block.moments(w - step * unit, None).slope) / (2 * step)
        np.testing.assert_allclose(precision[k], -change, atol=1e-6)
    assert np.linalg.eigvalsh(precision).min() > 0


def test_expectations_of_two_classes_are_integrals():
    block, _ = BLOCKS["two, noisy"]
    mean, root = np.array([0.5, -1.0, 0.3]), np.array([[0.3, 0.1, 0], [0, 0.2, 0.1], [0, 0, 0.2]])
    value, slope, curvature = block.expected(mean, root)
    points, weights = np.polynomial.hermite_e.hermegauss(60)
    weights = weights / weights.sum()
    spread = np.linalg.norm(block.rows @ root, axis=1)
    t = (block.rows @ mean)[:, None] + spread[:, None] * points
    span = block.likelihood.span
    p = block.given[:, None] + span * special.ndtr(t)
    by_t = span * stats.norm.pdf(t) / p
    np.testing.assert_allclose(value, np.log(p) @ weights, atol=1e-2)
    np.testing.assert_allclose(slope, by_t @ weights, atol=1e-2)
    np.testing.assert_allclose(curvature, (by_t * (t + by_t)) @ weights, atol=3e-2)


def test_expectations_of_several_classes_are_near_integrals():
    # The mean over a draw of each few examples: many equal examples, for which it is accurate.
    rng = np.random.default_rng(seed(5))
    n = 4000
    rows = np.tile(rng.standard_normal(2), (n, 1))
    block = JointBlock(rows, SeveralClasses(3), np.zeros(n, dtype=np.uint32))
    mean, root = 0.5 * rng.standard_normal(4), 0.4 * np.triu(rng.standard_normal((4, 4)))
    f = block.values(mean + rng.standard_normal((20_000, 4)) @ root.T)[:, :, 0]
    p = largest_probabilities((f.max(axis=1, keepdims=True) - f).T)[0]
    expected = float(np.log(p).mean())
    error = 4 * float(np.log(p).std()) / math.sqrt(n / 8)
    assert block.moments(mean, root).value / n == pytest.approx(expected, abs=error)


@pytest.mark.parametrize("name", BLOCKS)
@pytest.mark.parametrize("root", [None, 0.3])
def test_moments_in_parts_are_those_of_all_examples(monkeypatch, name, root):
    block, dimension = BLOCKS[name]
    w = np.random.default_rng(seed(7)).standard_normal(dimension)
    root = None if root is None else root * np.eye(dimension)
    whole = block.moments(w, root)
    monkeypatch.setattr(blocks, "ROWS", 16)
    parts = block.moments(w, root)
    assert parts.value == pytest.approx(whole.value, rel=1e-12)
    np.testing.assert_allclose(parts.slope, whole.slope, atol=1e-12)
    np.testing.assert_allclose(parts.precision, whole.precision, atol=1e-12)


def test_values_in_singles_are_near_those_in_doubles():
    single, double = two_classes(dtype=np.float32), two_classes()
    w = np.random.default_rng(seed(6)).standard_normal((3, 3))
    trials = np.array([0, 0]), np.array([[1.0, 0.5], [0.0, 2.0]])
    found = single.log_likelihoods(list(single.values(w)), trials)
    exact = double.log_likelihoods(list(double.values(w)), trials)
    np.testing.assert_allclose(found, exact, rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize("n", [2, 3, 7])
def test_contrasts_are_orthonormal_and_sum_to_zero(n):
    basis = contrasts(n)
    np.testing.assert_allclose(basis.T @ basis, np.eye(n - 1), atol=1e-12)
    np.testing.assert_allclose(basis.sum(axis=0), 0, atol=1e-12)
