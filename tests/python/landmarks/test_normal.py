"""The normal distribution nearest to a posterior."""

from dataclasses import replace

import numpy as np
import pytest

from bayespoint.labels import Labels
from bayespoint.landmarks import normal
from bayespoint.landmarks.block import Block
from helpers import seed


def of_rows(rows, noise=0.0):
    """Return the block of examples that are all of the second class."""
    ones, labels = np.ones(len(rows)), Labels.two_classes().with_noise((noise, noise))
    return Block.of(rows[None], ones.astype(np.intp), ones, labels)


def block(n=60, r=3, scale=1.0):
    rng = np.random.default_rng(seed(0))
    return of_rows(scale * rng.standard_normal((n, r)) + 0.3)


def bound(one, mean, root):
    value = one.moments(mean, root).value
    divergence = 0.5 * (np.vdot(root, root) + mean @ mean - len(mean))
    return value - divergence + np.log(np.abs(np.linalg.det(root)))


@pytest.mark.parametrize("scale", [0.1, 1.0, 30.0])
def test_no_other_normal_distribution_has_a_higher_bound(scale):
    one = block(scale=scale)
    found = normal.approximate(one.moments, np.zeros(3))
    assert found.converged
    best = bound(one, found.mean, found.root)
    assert best == pytest.approx(found.bound, abs=0.02)
    rng = np.random.default_rng(seed(1))
    for _ in range(50):
        mean = found.mean + found.root @ (0.2 * rng.standard_normal(3))
        root = found.root @ (np.eye(3) + 0.2 * np.triu(rng.standard_normal((3, 3))))
        assert bound(one, mean, root) < best + 1e-2


def test_a_start_saves_passes():
    one, counts = block(), []

    def run(mean):
        passes = []
        found = normal.approximate(one.moments, mean, report=lambda k, _: passes.append(k))
        counts.append(passes[-1])
        return found

    first = run(np.zeros(3))
    np.testing.assert_allclose(run(first.mean).mean, first.mean, atol=1e-2)
    assert counts[0] > counts[1]


def test_far_starts_are_approached_by_shorter_steps():
    # Newton's method alone overshoots where labels contradict a steep function.
    rng = np.random.default_rng(seed(2))
    rows = 20 * rng.standard_normal((500, 5)) * np.where(rng.random(500) < 0.8, 1, -1)[:, None]
    rows[:, 0] = np.abs(rows[:, 0])
    assert normal.approximate(of_rows(rows).moments, np.zeros(5)).converged


def wrong_labels(n, scale, noise):
    """A block with label noise, and wrong labels far from the boundary."""
    rng = np.random.default_rng(seed(0))
    rows = scale * rng.standard_normal((n, 60)) * np.where(rng.random(n) < 0.8, 1, -1)[:, None]
    rows[:, 0] = np.abs(rows[:, 0])
    return of_rows(rows, noise)


def test_covariances_that_swing_converge():
    # The whole way to each new covariance takes 39 passes and more.
    one, passes, fewer = wrong_labels(400, 1.0, 0.05), [], []
    start = np.zeros(60)
    found = normal.approximate(one.moments, start, report=lambda k, _: passes.append(k))
    assert found.converged
    assert passes[-1] <= 30
    rough = normal.approximate(one.moments, start, tol=0.5, report=lambda k, _: fewer.append(k))
    assert fewer[-1] < passes[-1]
    assert rough.bound == pytest.approx(found.bound, abs=2.0)


def test_errors_of_the_integrals_do_not_shorten_steps():
    one = wrong_labels(400, 1.0, 0.05)

    def passes(loss, tol=0.0):
        found = []

        def moments(mean, root):
            exact = one.moments(mean, root)
            return replace(exact, value=exact.value - loss * len(found))

        normal.approximate(moments, np.zeros(60), tol=tol, report=lambda k, _: found.append(k))
        return len(found)

    assert passes(0.045) <= passes(0.0) + 5
    assert passes(0.045, tol=0.5) < passes(0.0)
    assert passes(0.2) > passes(0.0)  # a loss that counts


def test_means_do_not_run_away():
    # The likelihood is flat where all labels count as wrong, and not concave on the way.
    one = wrong_labels(150, 8.0, 0.1)
    found = normal.approximate(one.moments, np.zeros(60))
    best = bound(one, found.mean, found.root)
    assert best == pytest.approx(found.bound, abs=1e-6)  # the best of all passes
    assert best > bound(one, np.zeros(60), np.eye(60)) - 150


def test_without_convergence_says_so(monkeypatch):
    monkeypatch.setattr(normal, "STEPS", 2)
    assert not normal.approximate(block(scale=30.0).moments, np.zeros(3)).converged
