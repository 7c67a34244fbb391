"""Samplers against exact laws: simulation-based calibration.

The harness of the engine is tests/laws; what the door and the classifier add is checked here.
"""

import numpy as np
import pytest
from scipy import stats

from bayespoint import BayesPointClassifier
from bayespoint.kernels import RBF
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
