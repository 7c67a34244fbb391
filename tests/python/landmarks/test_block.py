"""Likelihoods of blocks, their derivatives and expectations."""

import math

import numpy as np
import pytest
from scipy import special, stats

from bayespoint.engine.likelihood import largest_probabilities
from bayespoint.landmarks import block as blocks
from bayespoint.landmarks.block import BinaryBlock, JointBlock, OrderedBlock, contrasts
from bayespoint.likelihood import OrderedClasses, SeveralClasses, TwoClasses
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


def ordered_classes(n=40, r=3, n_classes=4, noise=0.0):
    rng = np.random.default_rng(seed(9))
    law = OrderedClasses(n_classes, noise)
    labels = rng.integers(0, n_classes, n).astype(np.uint32)
    psi, signs = rng.standard_normal((n, r)), np.where(labels == 0, -1.0, 1.0)
    scale = signs / rng.uniform(0.5, 2.0, n)
    rows = np.concatenate([psi, -law.middles[labels]], axis=1) * scale[:, None]
    counts = np.where(rng.random(n) < 0.5, 2.0, 1.0) if noise else None
    return OrderedBlock(rows, law, labels, counts=counts)


def rising(w, dimension):
    """Return weights of which the last rise, if they are thresholds."""
    w = np.array(w, dtype=np.float64)
    if dimension == 6:
        w[..., 3:] = np.sort(w[..., 3:]) + 0.2 * np.arange(3)
    return w


def log_likelihood(block, w):
    return float(block.log_likelihoods([*block.values(w[None])] * 3, MEAN)[0, 0])


BLOCKS = {
    "two": (two_classes(), 3),
    "two, noisy": (two_classes(noisy=True), 3),
    "several": (several_classes(), 9),
    "several, noisy": (several_classes(noise=0.1), 9),
    "ordered": (ordered_classes(), 6),
    "ordered, noisy": (ordered_classes(noise=0.1), 6),
}


@pytest.mark.parametrize(("block", "dimension"), BLOCKS.values(), ids=BLOCKS)
def test_moments_at_a_point_are_derivatives(block, dimension):
    w = rising(np.random.default_rng(seed(2)).standard_normal(dimension), dimension)
    found = block.moments(w, None)
    assert found.value == pytest.approx(log_likelihood(block, w), rel=1e-9)
    step = 1e-5
    for k, unit in enumerate(np.eye(dimension)):
        ahead, behind = w + step * unit, w - step * unit
        slope = (log_likelihood(block, ahead) - log_likelihood(block, behind)) / (2 * step)
        assert found.slope[k] == pytest.approx(slope, abs=1e-6)


@pytest.mark.parametrize(("block", "dimension"), BLOCKS.values(), ids=BLOCKS)
def test_slopes_are_derivatives(block, dimension):
    w = rising(0.4 * np.random.default_rng(seed(8)).standard_normal((5, dimension)), dimension)
    values, trials = list(block.values(w)), (np.array([1]), np.array([[0.5, 2.0]]))
    exact = block.moments(w[0] + 0.5 * w[3] + 2.0 * w[4], None).slope
    [found] = block.slopes(values, trials)
    np.testing.assert_allclose(found, exact, rtol=1e-6, atol=1e-8)
    by_factors = block.log_likelihoods(values, trials)[0, 1:]
    np.testing.assert_allclose(by_factors, w[3:] @ exact, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize(("by", "sign"), [(3, -1), (5, -1), (0, -1), (4, 0)])
def test_a_wrong_sign_of_a_threshold_fails(monkeypatch, by, sign):
    right, wrong = OrderedBlock._by_weight, np.ones(6)
    wrong[by] = sign
    monkeypatch.setattr(OrderedBlock, "_by_weight", lambda *args: right(*args) * wrong)
    for test in (test_moments_at_a_point_are_derivatives, test_slopes_are_derivatives):
        with pytest.raises(AssertionError):
            test(*BLOCKS["ordered"])


@pytest.mark.parametrize("name", ["two", "several", "ordered", "ordered, noisy"])
def test_precision_is_the_negative_second_derivative(name):
    block, dimension = BLOCKS[name]
    w = rising(np.random.default_rng(seed(3)).standard_normal(dimension), dimension)
    step, precision = 1e-5, block.moments(w, None).precision
    for k, unit in enumerate(np.eye(dimension)):
        change = block.moments(w + step * unit, None).slope
        change = (change - block.moments(w - step * unit, None).slope) / (2 * step)
        np.testing.assert_allclose(precision[k], -change, atol=1e-6)
    if "noisy" not in name:
        assert np.linalg.eigvalsh(precision).min() > 0


@pytest.mark.parametrize("noise", [0.0, 0.1])
def test_ordered_classes_are_probabilities_of_intervals(noise):
    block, w = ordered_classes(noise=noise), rising(np.linspace(-1, 1, 6), 6)
    t, law = w[3:], block.likelihood
    ends = np.concatenate([[-np.inf], t, [np.inf]])
    labels = block.given.astype(int)
    scale = np.abs(block.rows[:, 3:]).sum(axis=1)
    f = block.rows[:, :3] @ w[:3] * np.where(labels == 0, -1.0, 1.0) / scale
    p = np.diff(special.ndtr(scale[:, None] * (ends - f[:, None])), axis=1)
    p = p if noise == 0 else noise / 3 + (1 - noise - noise / 3) * p
    counts = 1.0 if block.counts is None else block.counts
    exact = np.log(p[np.arange(len(f)), labels])
    assert log_likelihood(block, w) == pytest.approx((counts * exact).sum(), rel=1e-10)
    # They sum to 1 over the labels, in tails too, as those of decisions do.
    z = (f[:, None] - t) * scale[:, None]
    np.testing.assert_allclose(np.exp(law.observed(law.log_classes(z))), p, atol=1e-12)
    # Thresholds that have met leave no room, whatever the noise.
    w[4] = w[3]
    assert log_likelihood(block, w) == -np.inf
    assert np.isfinite(block.slopes([*block.values(w[None])] * 3, MEAN)).all()


def test_intervals_in_tails_are_accurate():
    # ln(Phi(c + h) - Phi(c - h)) by quadrature of the density, relative to that at the near end.
    points, weights = np.polynomial.legendre.leggauss(60)
    c = np.array([-35.0, -9.0, -3.0, -0.2, 0.0, 0.7, 6.0, 30.0])[:, None] * np.ones(5)
    h = np.ones(8)[:, None] * [1e-5, 0.01, 0.3, 1.0, 3.0]
    c, h = c.ravel(), h.ravel()
    near = np.maximum(np.abs(c) - h, 0.0)
    # All mass is within 12 / max(near, 1) of the near end.
    low = np.where(near > 0, near, np.abs(c) - h)
    high = np.minimum(np.abs(c) + h, low + 14 / np.maximum(near, 1.0))
    t = 0.5 * (low + high)[:, None] + 0.5 * (high - low)[:, None] * points
    inside = np.exp(0.5 * (near[:, None] ** 2 - t**2)) @ weights * 0.5 * (high - low)
    exact = np.log(inside) - 0.5 * (near**2 + math.log(2 * math.pi))
    values, ones = np.stack([c, h]), np.ones(len(c), dtype=np.uint32)
    found = OrderedClasses(3).derivatives(values, ones)
    np.testing.assert_allclose(found[0], exact, rtol=1e-8, atol=1e-8)
    # The engine, one example at a time.
    for k in range(len(c)):
        one = np.ascontiguousarray(values[:, [k]])
        law = OrderedClasses(3).log_likelihoods
        [engine] = law([one, [[1.0], [0.0]], [[0.0], [1.0]]], MEAN, ones[:1], None)
        np.testing.assert_allclose(engine, found[:3, k], rtol=1e-7, atol=1e-8)


def test_two_ordered_classes_are_two_classes_with_a_threshold():
    block = ordered_classes(n_classes=2)
    other = BinaryBlock(block.rows, TwoClasses())
    w = np.random.default_rng(seed(10)).standard_normal((5, 4))
    trials = np.array([0, 1]), np.array([[1.0, 0.5], [0.3, -1.0]])
    ours, theirs = (one.log_likelihoods(list(one.values(w)), trials) for one in (block, other))
    np.testing.assert_allclose(ours, theirs, rtol=1e-12)
    for root in (None, 0.3 * np.eye(4)):
        ours, theirs = (one.moments(w[0], root) for one in (block, other))
        np.testing.assert_allclose(ours.slope, theirs.slope, rtol=1e-10)
        np.testing.assert_allclose(ours.precision, theirs.precision, atol=1e-10)


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
    w = rising(np.random.default_rng(seed(7)).standard_normal(dimension), dimension)
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
