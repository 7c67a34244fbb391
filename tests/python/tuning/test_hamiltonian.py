"""Hamiltonian Monte Carlo against known laws."""

from itertools import islice

import numpy as np
import pytest

from bayespoint.tuning import hamiltonian
from bayespoint.tuning.hamiltonian import State
from helpers import seed

SCALES = np.array([0.3, 1.0, 4.0])


def normal(theta):
    """Return the log density of independent normal variables, with its gradient."""
    return State(theta, -0.5 * float(((theta / SCALES) ** 2).sum()), -theta / SCALES**2)


def states(density, start, n=4000, units=0.5):
    rng = np.random.default_rng(seed(0))
    draws = hamiltonian.chain(density, start, units * SCALES, rng, n_adapt=50)
    u = np.stack([state.u for state in islice(draws, 50, 50 + n)])
    return u, np.mean((np.diff(u, axis=0) != 0).any(axis=1))


def spread_error(values):
    """Return the standard error of a mean, from means of batches."""
    batches = values.reshape(40, -1).mean(axis=1)
    return batches.std(ddof=1) / np.sqrt(len(batches))


@pytest.mark.parametrize("units", [0.8, 8.0])  # of too short and too long first steps
def test_a_normal_law_is_sampled(units):
    theta, acceptance = states(normal, np.ones(3), units=units)
    assert 0.45 < acceptance < 0.85
    for k, scale in enumerate(SCALES):
        for power, expected in ((1, 0.0), (2, scale**2)):
            values = theta[:, k] ** power
            assert abs(values.mean() - expected) < 4 * spread_error(values)


def test_a_wrong_slope_changes_only_the_acceptance():
    # The decision corrects the leapfrog steps for any gradient.
    def biased(theta):
        point = normal(theta)
        return point._replace(slope=0.8 * point.slope)

    theta, acceptance = states(biased, np.ones(3))
    assert acceptance < 0.95
    squares = theta[:, 1] ** 2
    assert abs(squares.mean() - 1.0) < 4 * spread_error(squares)


def test_without_the_decision_the_law_is_missed(monkeypatch):
    monkeypatch.setattr(hamiltonian.math, "exp", lambda _: 1.0)

    def biased(theta):
        point = normal(theta)
        return point._replace(slope=0.5 * point.slope)

    theta, _ = states(biased, np.ones(3))
    squares = theta[:, 1] ** 2
    assert abs(squares.mean() - 1.0) > 4 * spread_error(squares)


def test_no_state_leaves_the_support():
    def half(theta):
        if theta[1] < 0:
            return State(theta, -np.inf, np.zeros(3))
        return normal(theta)

    theta, _ = states(half, np.ones(3))
    assert theta[:, 1].min() >= 0
    assert abs(theta[:, 1].mean() - np.sqrt(2 / np.pi)) < 4 * spread_error(theta[:, 1])


def test_a_chain_ends_where_the_density_stops():
    calls = []

    def stopping(u):
        calls.append(u)
        return normal(u)._replace(stopped=len(calls) == 12)

    draws = hamiltonian.chain(
        stopping, np.ones(3), 0.5 * SCALES, np.random.default_rng(seed(0)), n_adapt=50
    )
    assert len(list(draws)) == 2  # a start and four steps to each proposal
    assert len(calls) == 12
