"""The probability that each of several normal values is the largest."""

import numpy as np
import pytest
from scipy import special

from bayespoint.engine.laws import largest_probabilities
from helpers import seed


def exact_integrals(behind):
    """Return the probabilities by many nodes and in logarithms."""
    v = np.linspace(-9.0, 9.0, 361)
    x = behind[:, None] + v[:, None]
    logs = special.log_ndtr(x)
    p = np.exp(logs.sum(axis=0) - logs - 0.5 * x**2).sum(axis=1)
    return p / p.sum(axis=0)


def random_behind(n_values, spread):
    a = spread * np.random.default_rng(seed(0)).standard_normal((n_values, 100))
    return a.max(axis=0) - a


@pytest.mark.parametrize(
    ("n_values", "tol"), [(2, 2e-11), (3, 2e-11), (10, 5e-9), (26, 5e-7), (50, 1e-5)]
)
@pytest.mark.parametrize("spread", [0.0, 0.5, 3.0, 30.0])
def test_integrals(n_values, tol, spread):
    behind = random_behind(n_values, spread)
    p = largest_probabilities(behind)
    np.testing.assert_allclose(p, exact_integrals(behind), rtol=0, atol=tol)
    np.testing.assert_allclose(p.sum(axis=0), 1.0, rtol=1e-14)
    # The order is that of the means.
    order = (-behind).argsort(axis=0, kind="stable")
    assert (np.diff(np.take_along_axis(p, order, axis=0), axis=0) >= -1e-15).all()


def test_values_far_behind_have_no_probability():
    behind = np.array([[11.0, 10.9, np.inf, 0.0], [0.0, 0.0, 0.0, 0.0], [np.inf, 30.0, 1e300, 0.0]])
    p = largest_probabilities(behind)
    assert (p[:, [0, 2]] == [[0, 0], [1, 1], [0, 0]]).all()
    assert p[0, 1] > 0
    assert p[2, 1] == 0
    np.testing.assert_allclose(p[:, 3], 1 / 3, rtol=1e-15)


@pytest.mark.parametrize(
    ("behind", "text"),
    [
        ([0.0, -1.0], "behind must be at least 0; got -1"),
        ([0.0, np.nan], "behind must be at least 0; got NaN"),
        ([1.0, 2.0], "behind must be 0 for the largest; got a column without 0"),
    ],
)
def test_what_is_no_distance_from_the_largest_is_an_error(behind, text):
    with pytest.raises(ValueError, match=text):
        largest_probabilities(np.array(behind)[:, None])
