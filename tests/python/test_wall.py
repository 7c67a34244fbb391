"""The wall of random problems: the stated law everywhere, and other laws are noticed.

At full length (BAYESPOINT_SLOW=1) all cells have problems of their own each week.
"""

import time
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

import plain_posterior
import wall
from helpers import SHIFT, SLOW, seed

FEW = ["two/all/large", "several/all/large", "ordered/all/large", "sets/all/small"]
WEEK = int(time.time()) // 604_800 if SLOW else SHIFT


@pytest.mark.long
@pytest.mark.slow
@pytest.mark.parametrize("cell", wall.CELLS if SLOW else FEW)
def test_what_is_stated_is_the_posterior(cell):
    n = 8 if SLOW else 4
    found = wall.problems([cell], n, WEEK)
    again = f"python tests/python/wall.py --cell {cell} --problems {n} --seed {WEEK}"
    assert not wall.excesses(found), "\n".join([again, *wall.table(found)])


def more_noise(problem):
    return replace(problem, noise=tuple(rate + 0.03 for rate in problem.noise))


def more_softness(problem):
    return replace(problem, softness=1.5 * problem.softness)


@pytest.mark.long
@pytest.mark.parametrize(
    ("cell", "wrong"), [("two/all/small", more_noise), ("two/all/large", more_softness)]
)
def test_another_law_is_noticed(cell, wrong):
    assert wall.excesses(wall.problems([cell], 10, SHIFT, wrong))


def test_the_reference_has_the_probabilities_of_a_quadrant():
    for correlation in (0.5, -0.9):
        right, floor = np.array([0.9, 0.8]), np.array([0.1, 0.3])
        joint = np.array([[1.0, correlation], [correlation, 1.0]])
        law = plain_posterior.Law(joint, np.eye(2), np.arange(2), right, floor)
        both = 0.25 + np.arcsin(correlation) / (2 * np.pi)
        exact = both * (right.prod() + floor.prod())
        exact += (0.5 - both) * (right[0] * floor[1] + floor[0] * right[1])
        found, error = plain_posterior.sample(law, 4000, np.random.default_rng(seed(0))).evidence
        assert abs(found - np.log(exact)) < 5 * error
        assert error < 0.01


@pytest.mark.parametrize("n_classes", [3, 5])
def test_the_reference_agrees_with_rejection(n_classes):
    """Of several classes with label noise: evidence, means and the largest."""
    rng = np.random.default_rng(seed(n_classes))
    root = rng.standard_normal((3, 3))
    covariance = np.kron(np.eye(n_classes), root @ root.T + np.eye(3))
    rows = np.eye(3 * n_classes)
    labels, noise = [0, 1, 2], 0.1
    contrasts = [
        rows[i + 3 * y] - rows[i + 3 * c]
        for i, y in enumerate(labels)
        for c in range(n_classes)
        if c != y
    ]
    group = np.arange(3).repeat(n_classes - 1)
    right, floor = np.full(3, 1 - noise), np.full(3, noise / (n_classes - 1))
    law = plain_posterior.Law(covariance, np.array(contrasts), group, right, floor)
    drawn = plain_posterior.sample(law, 2000, rng)
    wanted = rows[0::3] - rows[0::3].mean(axis=0)
    mean, error = drawn.estimate(drawn.means(drawn.rows(law.given(wanted)[0])))
    u = rng.multivariate_normal(np.zeros(len(rows)), covariance, 400_000)
    agree = u.reshape(-1, n_classes, 3).argmax(axis=1) == labels
    weight = np.where(agree, right, floor).prod(axis=1)
    value, error_of_z = drawn.evidence
    spread = weight.std() / weight.mean() / np.sqrt(len(u))
    assert abs(value - np.log(weight.mean())) < 5 * np.hypot(error_of_z, spread)
    plain = weight @ (u @ wanted.T) / weight.sum()
    size = np.sqrt(len(u) / (weight.sum() ** 2 / (weight**2).sum())) * 2
    assert (np.abs(mean - plain) < 5 * np.hypot(error, size / np.sqrt(len(u)) * 2)).all()


def test_z_is_normal_where_the_law_is_right():
    """Means of normal numbers have Student's distribution, whose quantile z is."""
    rng = np.random.default_rng(seed(1))
    ours, error = 0.3 * rng.standard_normal((4000, wall.SEEDS)), 0.1
    right = error * rng.standard_normal(4000)
    z = [wall.normal(a - b, error) for a, b in zip(ours, right, strict=True)]
    assert stats.kstest(z, "norm").pvalue > 1e-4
