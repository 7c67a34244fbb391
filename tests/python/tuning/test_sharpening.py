"""Length scales become shorter where leave-one-out predictions gain by it."""

from dataclasses import replace

import numpy as np
import pytest

from bayespoint.kernels import RBF, Matern
from bayespoint.tuning.climbing import climb, log_left_out, sharpened
from bayespoint.tuning.density import Density
from bayespoint.tuning.objective import Objective
from helpers import seed
from objects import objective, task


@pytest.mark.parametrize("n_classes", [2, 3])
def test_length_scales_become_shorter_where_that_predicts_better(n_classes):
    rng = np.random.default_rng(seed(6))
    X = rng.uniform(-1, 1, size=(300, 2))
    label = ((4 * X[:, 0]) // 1 % n_classes).astype(int)  # stripes
    y = np.where(label == 1, 1.0, -1.0) if n_classes == 2 else label
    target = Density.of(objective(Matern(nu=2.5), X, y), spreads=False)
    best = climb(target, 20)
    away = best.u.copy()
    away[0] += np.log(4.0) / target.spread[0]
    found = sharpened(target, target(away))
    steps = (away - found.u)[0] * target.spread[0] / np.log(1.5)
    assert steps == pytest.approx(round(steps))
    assert steps >= 1
    np.testing.assert_array_equal(found.u[1:], away[1:])
    losses = [-log_left_out(target, one).mean() for one in (target(away), found)]
    assert losses[1] < 0.95 * losses[0]
    # Where another step gains nothing the state stays.
    again = sharpened(target, found)
    np.testing.assert_array_equal(again.u, found.u)


def test_length_scales_that_made_the_labels_stay():
    moved = 0
    for k in range(10):
        rng = np.random.default_rng([seed(7), k])
        X = rng.uniform(-1, 1, size=(200, 2))
        covariance = RBF(0.5)(X) + 0.1 * np.eye(200)
        y = np.sign(np.linalg.cholesky(covariance) @ rng.standard_normal(200))
        target = Density.of(objective(RBF(), X, y), spreads=False)
        best = climb(target, 20)
        moved += sharpened(target, best) is not best
    assert moved <= 2  # beyond chance: by 1.5 standard errors


def test_a_limit_keeps_the_length_scales():
    rng = np.random.default_rng(seed(8))
    X = rng.uniform(-1, 1, size=(60, 2))
    y = np.sign(np.sin(6 * X[:, 0]))
    best = climb(Density.of(objective(RBF(), X, y), spreads=False), 20)
    wanted = task(RBF(), X, y)
    limited = replace(wanted, budget=replace(wanted.budget, max_iter=1))
    target = Density.of(Objective.of(limited, len(y), 0), spreads=False)
    assert sharpened(target, best) is best
    assert target.objective.record.limit == "max_iter"
