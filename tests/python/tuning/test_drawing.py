"""Settings drawn for an average are from their posterior."""

import math
from functools import partial
from itertools import islice

import numpy as np
import pytest
from scipy import stats
from sklearn.gaussian_process import kernels as gp

from bayespoint.base.linalg import one_thread
from bayespoint.tuning import defaults, hamiltonian
from bayespoint.tuning import density as densities
from bayespoint.tuning.density import Density
from bayespoint.tuning.drawing import controlled, drawn, renewed, represent
from helpers import SLOW, seed
from objects import objective, task

M = 12
OFFSET = 1.0
SOFTNESS = 7  # after three factors, two length scales and two weights


def density(X, y):
    """Return the density of the default, with as many landmarks as examples."""
    one = objective(defaults.default_kernel(X), X, y, offset=OFFSET)
    return Density.of(one, spreads=True)


def prior_draw(target, rng):
    """Return coordinates from the prior, with parameters within their bounds."""
    while True:
        u = rng.standard_normal(target.dimension)
        theta = target.logarithms(u)
        if (theta >= target.low).all() and (theta <= target.high).all():
            return u


def labels(target, u, rng, n_classes):
    """Return labels of functions with noise, drawn at these parameters."""
    theta = target.logarithms(u)
    setting = target.objective.setting(theta)
    covariance = target.objective.kernel(theta)(target.objective.task.examples.inputs)
    covariance += OFFSET + setting.softness * np.eye(M)
    values = np.linalg.cholesky(covariance) @ rng.standard_normal((M, n_classes))
    return np.where(values[:, 0] > 0, 1.0, -1.0) if n_classes == 2 else values.argmax(axis=1)


def ranks(n, n_classes=2, weight=1.0):
    """Return the ranks of the true coordinates among 13 draws, for n problems.

    The density is evidence times prior, to the power `weight`.
    """
    found = []
    for k in range(n):
        rng = np.random.default_rng([seed(0), k])
        X = rng.standard_normal((M, 2))
        of_prior = density(X, np.ones(M))
        truth = prior_draw(of_prior, rng)
        y = labels(of_prior, truth, rng, n_classes)
        if n_classes > 2 and y.max() < n_classes - 1:
            continue
        target = density(X, y)

        def powered(u, target=target):
            point = target(u)
            return point._replace(value=weight * point.value, slope=weight * point.slope)

        renew = partial(renewed, target, rng) if weight == 1 else lambda state: state
        start, units = np.zeros(target.dimension), np.ones(target.dimension)
        states = hamiltonian.chain(powered, start, units, rng, n_adapt=20, renew=renew)
        draws = np.stack([state.u for state in islice(states, 20, 72, 4)])
        found.append((draws < truth).sum(axis=0))
    return np.array(found)


def p_values(found):
    """Return the p-values of uniform ranks from 0 to 13, in seven bins, for each parameter."""
    counts = [np.bincount(column // 2, minlength=7) for column in found.T]
    return np.array([stats.chisquare(one).pvalue for one in counts])


@pytest.mark.long
@pytest.mark.slow
@pytest.mark.parametrize("n_classes", [2, 3])
def test_ranks_of_true_hyperparameters_are_uniform(n_classes):
    """Simulation-based calibration (Talts et al., 2018), with parameters drawn from the prior."""
    with one_thread():
        found = ranks(1000 if SLOW else 80, n_classes)
    if n_classes > 2:  # one class against the rest makes the softness seem known by an eighth more
        found, softness = np.delete(found, SOFTNESS, axis=1), found[:, SOFTNESS]
        assert softness.std() < 1.25 * np.sqrt((14**2 - 1) / 12)
    p = p_values(found)
    assert p.min() > 1e-3 / len(p)
    assert stats.combine_pvalues(p).pvalue > 1e-3


@pytest.mark.long
def test_draws_of_a_sharper_density_are_found_out():
    with one_thread():
        p = p_values(ranks(40, weight=3.0))
    assert stats.combine_pvalues(p).pvalue < 1e-4


def test_spreads_given_weights_have_their_law(monkeypatch):
    """The renewed coordinate has a known density; a prior of another width does not have it."""
    X = np.random.default_rng(seed(1)).standard_normal((M, 2))
    target = density(X, np.where(X[:, 0] > 0, 1.0, -1.0))
    u = prior_draw(target, np.random.default_rng(seed(2)))
    [(group, tau)] = target.spreads(u)
    square = ((tau * u[group]) ** 2).sum()
    x = np.linspace(-9, 9, 20_001)
    spread = densities._SPREAD[0] * np.exp(x)
    logs = -0.5 * x**2 - len(group) * np.log(spread) - 0.5 * square / spread**2
    law = np.cumsum(np.exp(logs - logs.max()))
    rng = np.random.default_rng(seed(3))

    def p_value():
        state, coordinates = target(u), []
        for _ in range(4000):
            state = renewed(target, rng, state)
            coordinates.append(state.u[-1])
        # Every tenth, since slices of one step are not independent.
        return stats.kstest(coordinates[::10], lambda at: np.interp(at, x, law / law[-1])).pvalue

    assert p_value() > 1e-4
    monkeypatch.setattr(densities, "_SPREAD", (0.1, 2.0))
    assert p_value() < 1e-6


def test_scores_tell_the_error_of_means():
    # Independent states of a normal distribution, of which the scores are minus the states.
    rng, plain, ours = np.random.default_rng(seed(9)), [], []
    for _ in range(200):
        u = rng.standard_normal((24, 5))
        values = np.tanh(u @ rng.standard_normal((5, 30)) / 2)  # of mean 0
        shares = controlled(-u)
        np.testing.assert_allclose(shares.sum(), 1.0)
        plain.append(values.mean(axis=0))
        ours.append(shares @ values)
    error = np.square(ours).mean() / np.square(plain).mean()
    assert error < 0.35  # measured: 0.2
    bias = np.mean(ours, axis=0) / np.std(ours, axis=0) * math.sqrt(200)
    assert np.square(bias).mean() < 2.0
    np.testing.assert_allclose(controlled(np.zeros((4, 3))), 0.25)


def test_few_states_represent_a_chain():
    rng = np.random.default_rng(seed(6))
    values = rng.random((40, 3)) @ rng.random((3, 100))
    chosen, weights = represent(values, values.mean(axis=0), 6)
    assert len(set(chosen)) == len(chosen) <= 6
    assert weights.sum() == pytest.approx(1.0)
    assert (weights > 0).all()
    away = np.abs(weights @ values[chosen] - values.mean(axis=0)).mean()
    assert away < 0.1 * np.abs(values[:6].mean(axis=0) - values.mean(axis=0)).mean()
    same, alone = represent(np.ones((5, 10)), np.ones(10), 3)
    assert len(same) == len(alone) >= 1
    assert alone.sum() == pytest.approx(1.0)


def test_kernels_without_derivatives_are_drawn_by_differences():
    X = np.random.default_rng(seed(7)).standard_normal((40, 2))
    y = np.where(X[:, 0] > 0, 1.0, -1.0)
    found, limit = drawn(task(gp.RBF(), X, y, offset=OFFSET), 3)
    assert 1 <= len(found) <= 3
    assert limit == ""
    assert sum(one.weight for one in found) == pytest.approx(1.0)
    [search] = {id(one.search.tried): one.search for one in found[:1]}.values()
    assert search.r_hat.shape == (2,)
    assert 0 <= search.seed_error < 0.2
