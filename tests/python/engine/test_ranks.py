"""Samplers against exact laws: simulation-based calibration, closed forms, rejection.

The harness of the engine is tests/laws; what the door and the classifier add is checked here.
"""

import math

import numpy as np
import pytest
from scipy import stats

from bayespoint import BayesPointClassifier, SampleOptions, VersionSpace
from bayespoint.kernels import RBF
from bayespoint.results import diagnostics
from helpers import SLOW, seed

ALPHA = 1e-3  # of a whole test, by Bonferroni
DRAWS = 63
QUANTITIES = {
    "f(x_1)": lambda f: f[..., 0],
    "f(x_1) - f(x_2)": lambda f: f[..., 0] - f[..., 1],
    "f(x_1) f(x_2)": lambda f: f[..., 0] * f[..., 1],
    "|f(x_3)|": lambda f: np.abs(f[..., 2]),
}


def prior_values(rng, X, softness):
    """Return values at X of a function drawn from the prior, with the noise of the softness."""
    covariance = RBF(1.0)(X) + 1.0 + softness * np.eye(len(X))
    return np.linalg.cholesky(covariance) @ rng.standard_normal(len(X))


def ranks(data_sets, softness, noise, assumed, salt):
    """Return the ranks of true values among draws of the posterior, (data_sets, quantities)."""
    found = np.empty((data_sets, len(QUANTITIES)), int)
    for index in range(data_sets):
        rng = np.random.default_rng(seed(100_000 * salt + index))
        while True:  # sets with a single class cannot be fitted; this depends on the data alone
            X = rng.standard_normal((18, 2))
            values = prior_values(rng, X, softness)
            flipped = rng.uniform(size=15) < noise
            y = np.where((values[:15] > 0) ^ flipped, 1, -1)
            if abs(y.sum()) < 15:
                break
        model = BayesPointClassifier(
            RBF(1.0),
            softness=softness,
            label_noise=assumed,
            calibration=None,
            n_draws=100,
            tol=0.05,
            random_state=int(rng.integers(2**31)),
        ).fit(X[:15], y)
        functions = model.sample_functions(X[15:], random_state=int(rng.integers(2**31)))
        thinned = functions.reshape(4, 100, 3)[:, ::6].reshape(-1, 3)[:DRAWS]
        for k, quantity in enumerate(QUANTITIES.values()):
            found[index, k] = np.sum(quantity(thinned) < quantity(values[15:]))
    return found


def unevenness(found):
    """Return the p-value of uniform ranks in eight bins, for each quantity."""
    bins = found * 8 // (DRAWS + 1)
    return [stats.chisquare(np.bincount(column, minlength=8)).pvalue for column in bins.T]


CASES = {"soft": (0.5, 0.0), "noisy": (0.2, 0.15)}


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_true_values_have_uniform_ranks(case):
    softness, noise = CASES[case]
    p = unevenness(
        ranks(1000 if SLOW else 200, softness, noise, noise, 1 + list(CASES).index(case))
    )
    assert min(p) * len(p) > ALPHA, dict(zip(QUANTITIES, p, strict=True))


def test_a_wrong_noise_rate_has_not():
    p = unevenness(ranks(200, 0.2, 0.3, 0.01, 3))
    assert min(p) < 1e-6, p


def _worth(u):
    """Return the effective sample size of (chains, draws) values, at most their number."""
    return min(float(diagnostics.ess_bulk(u[..., None])[0]), u.size)


@pytest.mark.long
@pytest.mark.parametrize("transparency", [0.0, 0.1])
def test_rejection_agrees(transparency):
    rng = np.random.default_rng(seed(6))
    x = rng.standard_normal((8, 3))
    y = np.where(x @ rng.standard_normal(3) > 0, 1, -1)
    run = VersionSpace(x @ x.T, y).sample(
        n_trajectories=16,
        n_draws=400,
        length=1200.0,
        options=SampleOptions(transparency=transparency, refresh="full"),
        random_state=seed(7),
    )
    w = rng.standard_normal((1_500_000, 3))
    w /= np.linalg.norm(w, axis=1, keepdims=True)
    violated = np.sum((w @ x.T) * y <= 0, axis=1)
    accepted = w[rng.uniform(size=len(w)) < np.power(transparency, violated)]
    center, exact = run.center @ x, accepted.mean(axis=0)
    assert center @ exact / np.linalg.norm(center) / np.linalg.norm(exact) >= 0.999
    found = run.draws @ x
    scores = []
    axis = exact / np.linalg.norm(exact)
    for _ in range(20):
        test = rng.standard_normal(3)
        test -= 0.7 * (test @ axis) * axis
        votes, share = (found @ test > 0).astype(float), np.mean(accepted @ test > 0)
        if 0.02 < share < 0.98:
            worth = _worth(votes)
            error = math.sqrt(share * (1 - share) * (1 / worth + 1 / len(accepted)))
            scores.append((votes.mean() - share) / error)
    assert len(scores) >= 5
    p = 2 * stats.norm.sf(np.abs(scores))
    assert min(p) * len(p) > ALPHA, scores
