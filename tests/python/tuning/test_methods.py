"""The evidence with landmarks as a function of hyperparameters."""

import numpy as np
import pytest

from bayespoint import kernels
from bayespoint.data.plan import Budget
from bayespoint.tuning import methods
from bayespoint.tuning.methods import Task, WithLandmarks
from bayespoint.tuning.objective import Objective
from helpers import seed
from objects import assert_slopes, examples, likelihood, plan


@pytest.mark.parametrize(("n_classes", "rates"), [(2, 0), (2, 2), (3, 0)])
def test_slopes_with_landmarks_are_derivatives(n_classes, rates, monkeypatch):
    # Values as accurate as differences of them need.
    monkeypatch.setattr(methods, "_ROUGH_CHANGE", 1e-9)
    rng = np.random.default_rng(seed(0))
    X, weight = rng.standard_normal((120, 2)), rng.uniform(0.5, 1.0, 120)
    y = np.digitize(
        X[:, 0] * X[:, 1] + 0.4 * rng.standard_normal(120), [-0.3, 0.3][: n_classes - 1]
    )
    some, kernel = examples(X, y, weight), kernels.Scaled(kernels.RBF())
    task = Task(kernel, plan(offset=1.0, rates=rates), some, likelihood(y), Budget(0, n_jobs=1))
    one = Objective(task, WithLandmarks(task, 15))
    theta = np.append(one.start(1.2, 0.3), np.log([0.05, 0.1][:rates]))
    assert_slopes(one, some, theta, noisy=bool(rates), rel=0.02, abs=0.05)
