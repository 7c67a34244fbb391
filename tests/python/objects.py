"""Parts of a fit with most arguments left out: examples, plans, draws, searches, problems."""

import math
from types import SimpleNamespace

import numpy as np
import pytest

from bayespoint.data.examples import Examples
from bayespoint.data.plan import Budget, Plan
from bayespoint.labels import Labels
from bayespoint.landmarks.features import propagate
from bayespoint.results.draws import Draws
from bayespoint.results.lengths import Lengths
from bayespoint.tuning.climbing import most_probable
from bayespoint.tuning.objective import Objective, Task, log_evidence_of


def examples(X, y, weight=None):
    """Return labeled examples; y has the labels -1 and +1, or indices of classes."""
    y = np.asarray(y)
    label = (y > 0 if y.min() < 0 else y).astype(np.intp)
    return Examples(X, label, np.ones(len(y)) if weight is None else weight)


def labels(y):
    """Return those that `examples` takes, without label noise."""
    return Labels.of_classes(max(2, int(np.max(y)) + 1))


def plan(**settings):
    """Return the plan of a fit in which only the softness is left to be found."""
    defaults = {
        "kernel": None,
        "n_models": 1,
        "offset": 0.0,
        "softness": None,
        "label_noise": (0.0, 0.0),
        "rates": 0,
        "calibrates": None,
        "landmarks": False,
        "n_components": None,
        "n_chains": 4,
        "n_draws": 100,
        "tol": None,
    }
    return Plan(**defaults | settings)


def task(kernel, X, y, *, weight=None, **settings):
    """Return what a search has to find."""
    return Task(kernel, plan(**settings), examples(X, y, weight), labels(y), Budget(0))


def objective(kernel, X, y, *, weight=None, n_landmarks=None, **settings):
    """Return the evidence as a function of hyperparameters, by all examples or some landmarks."""
    return Objective.of(task(kernel, X, y, weight=weight, **settings), n_landmarks or len(y), 0)


def tune(kernel, X, y, *, weight=None, max_iter=None, trial=None, **settings):
    """Return the search for the most probable setting."""
    budget = Budget(0, max_iter=max_iter)
    wanted = Task(kernel, plan(**settings), examples(X, y, weight), labels(y), budget, trial)
    [setting], _ = most_probable(wanted)
    return setting.search


def log_evidence(kernel, X, y, softness, *, offset=0.0, noise=(0.0, 0.0)):
    """Return the approximate evidence that `tune` follows, without offset and label noise."""
    law = labels(y).with_noise(noise)
    return log_evidence_of(kernel, examples(X, y), law, offset=offset, softness=softness)


def propagated(gram, y, levels, noise=(0.0, 0.0), start=None, *, change=1e-8):
    """Return the normal approximation of labels -1 and +1 from a whole matrix."""
    root = np.linalg.cholesky(gram + 1e-10 * np.trace(gram) / len(gram) * np.eye(len(gram)))
    return propagate(root, levels, np.asarray(y)[None] > 0, noise, start, change=change)


def mean_direction(units, matrix):
    """Return the direction of the mean of unit vectors, and its length."""
    mean = units.mean(axis=0)
    norm = math.sqrt(np.sum(mean * (mean @ matrix)))
    return mean / norm, norm


def draws(units, freedom, center, norm):
    """Return unit vectors as the draws of a run with this center."""
    run = SimpleNamespace(draws=units[None], center=center, center_norm=norm)
    return Draws(run, Lengths(freedom))


def decision_values(law, drawn, k_star, variance):
    """Return the decision values at points by a law of predictions."""
    values, center = drawn.values(k_star), drawn.center_values(k_star)
    return law.decision_values(values, center, variance, drawn.lengths)


def mixture(law, drawn, k_star, variance):
    """Return the probabilities at points, means over the draws, by a law of predictions."""
    return np.exp(law.mixture(drawn.values(k_star), variance, drawn.lengths))


def assert_slopes(objective, theta, *, step=1e-3, **tolerance):
    """Assert that the gradient of an objective is that of finite differences."""
    for _ in range(20):  # an approximation goes on from the last one, and so converges
        slope = objective.point(theta).slope
    for k in range(len(theta)):
        move = step * np.eye(len(theta))[k]
        ahead, behind = (objective.point(theta + s * move).value for s in (1, -1))
        assert slope[k] == pytest.approx((ahead - behind) / (2 * step), **tolerance), k
