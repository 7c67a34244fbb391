"""Settings drawn for an average are from their posterior."""

import os
from itertools import islice

import numpy as np
import pytest
from scipy import stats

from bayespoint.base.linalg import one_thread
from bayespoint.tuning import defaults, hamiltonian
from bayespoint.tuning.density import Density
from bayespoint.tuning.objective import Point
from helpers import seed
from objects import examples, objective

SLOW = os.environ.get("BAYESPOINT_SLOW") == "1"
M = 12
OFFSET = 1.0


def density(X, y):
    kernel = defaults.average(X, 2)[0].kernel
    return Density(objective(kernel, X, y, offset=OFFSET), examples(X, y))


def prior_draw(target, rng):
    """Return logarithms of the parameters from the prior, within their bounds."""
    while True:
        theta = target.center + target.spread * rng.standard_normal(len(target.center))
        if (theta >= target.low).all() and (theta <= target.high).all():
            return theta


def labels(target, theta, rng):
    """Return labels of a function with noise, drawn at these parameters."""
    _, gram, softness, _ = target.objective.unpack(theta, False, target.examples)
    covariance = gram + OFFSET + softness * np.eye(len(gram))
    return np.where(np.linalg.cholesky(covariance) @ rng.standard_normal(len(gram)) > 0, 1.0, -1.0)


def ranks(n, weight):
    """Return the ranks of the true parameters among 13 draws, for n problems.

    The density is evidence times prior, to the power `weight`.
    """
    found = []
    for k in range(n):
        rng = np.random.default_rng([seed(0), k])
        X = rng.standard_normal((M, 2))
        truth = prior_draw(density(X, np.ones(M)), rng)
        target = density(X, labels(density(X, np.ones(M)), truth, rng))

        def powered(theta, target=target):
            value, slope = target(theta)
            return weight * value, weight * slope

        units = 0.5 * target.spread
        start = Point(target.center, *powered(target.center))
        states = hamiltonian.chain(powered, start, units, rng, n_adapt=20)
        draws = np.stack([state.theta for state, _ in islice(states, 20, 72, 4)])
        found.append((draws < truth).sum(axis=0))
    return np.array(found)


def p_values(found):
    """Return the p-values of uniform ranks from 0 to 13, in seven bins, for each parameter."""
    counts = [np.bincount(column // 2, minlength=7) for column in found.T]
    return np.array([stats.chisquare(one).pvalue for one in counts])


@pytest.mark.long
@pytest.mark.slow
def test_ranks_of_true_hyperparameters_are_uniform():
    """Simulation-based calibration (Talts et al., 2018), with parameters drawn from the prior."""
    with one_thread():
        p = p_values(ranks(1000 if SLOW else 100, 1.0))
    assert p.min() > 1e-3 / len(p)
    assert stats.combine_pvalues(p).pvalue > 1e-3


@pytest.mark.long
def test_draws_of_a_sharper_density_are_found_out():
    with one_thread():
        p = p_values(ranks(60, 3.0))
    assert stats.combine_pvalues(p).pvalue < 1e-4
