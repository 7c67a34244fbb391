"""The compiled approximation against the plain one."""

import numpy as np
import pytest
from scipy import linalg

import plain_propagation
from bayespoint.landmarks.features import Propagation, propagate
from helpers import seed

NOISES = [(0.0, 0.0), (0.05, 0.1), (0.0, 0.1)]


def problems(m, r, n, scale=1.0):
    """Return features and levels of m examples, and n problems that depend on the features."""
    rng = np.random.default_rng(seed(0))
    features, level = scale * rng.standard_normal((m, r)), rng.uniform(0.2, 2.0, m)
    values = features @ rng.standard_normal((r, n)) + scale * rng.standard_normal((m, n))
    return features, level, values.T > 0


def arrays(propagation, features, *, is_triangle=True):
    """Return all that a propagation tells, by name."""
    named = {name: getattr(propagation, name) for name in Propagation._fields}
    (m, r), rng = features.shape, np.random.default_rng(seed(3))
    factors = rng.standard_normal((r if is_triangle else r + 2, r))
    named["by values"] = named.pop("posteriors").by_values(
        np.triu(factors) if is_triangle else factors,
        features,
        rng.standard_normal(m),
        is_triangle=is_triangle,
        share=0.7,
        by_mean=0.3,
    )
    return named


def assert_same(found, expected, features, rtol=1e-8):
    for is_triangle in (True, False):
        found_all = arrays(found, features, is_triangle=is_triangle)
        for name, values in arrays(expected, features, is_triangle=is_triangle).items():
            size = np.abs(values).max()
            np.testing.assert_allclose(found_all[name], values, rtol, rtol * size, err_msg=name)


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("shape", [(300, 20, 1), (90, 57, 4), (40, 100, 2), (9, 1, 1)])
def test_agrees_with_the_plain_approximation(shape, noise):
    given = *problems(*shape), noise
    expected = plain_propagation.propagate(*given, change=1e-10)
    assert expected.converged.all()
    assert_same(propagate(*given, change=1e-10), expected, given[0])


@pytest.mark.parametrize("noise", NOISES[:2])
def test_rough_sweeps_are_those_of_the_plain_approximation(noise):
    # Each sweep changes the sites, so that their number and the size of their steps show.
    features, level, positive = problems(200, 30, 3, scale=3.0)
    for change in (1.0, 1e-2):
        given = features, 0.3 * level, positive, noise
        expected = plain_propagation.propagate(*given, change=change)
        assert_same(propagate(*given, change=change), expected, features)


def test_nearly_separable_problem():
    rng = np.random.default_rng(seed(1))
    features = rng.standard_normal((80, 5))
    given = 100 * features, np.full(80, 1e-3), (features[:, :1] > 0).T
    expected = plain_propagation.propagate(*given, change=1e-9)
    assert expected.left_out.min() < 0.9 < 0.999 < np.median(expected.left_out)
    assert_same(propagate(*given, change=1e-9), expected, given[0], rtol=1e-6)


@pytest.mark.parametrize("noise", NOISES[:2])
def test_starts_where_a_similar_setting_converged(noise):
    features, level, positive = problems(100, 10, 2)
    start = propagate(features, 1.3 * level, positive, noise, change=1e-3)
    start.converged[1] = False
    given = features, level, positive, noise
    found = propagate(*given, start, change=1e-3)
    assert_same(found, plain_propagation.propagate(*given, start, change=1e-3), features)
    fresh = propagate(*given, change=1e-3)
    assert (found.precision == fresh.precision).all(axis=1).tolist() == [False, True]


def test_sweeps_without_a_proper_posterior_go_halfway_back():
    # From precisions so negative that there is no posterior.
    features, level, positive = problems(100, 10, 2)
    start = propagate(features, level, positive, change=1e-3)
    start.precision[:] = -3.0
    given, noise = (features, level, positive), (0.05, 0.05)
    found = propagate(*given, noise, start, change=1e-8)
    assert_same(found, plain_propagation.propagate(*given, noise, start, change=1e-8), features)
    for one in (propagate, plain_propagation.propagate):
        with pytest.raises(linalg.LinAlgError):
            one(*given, start=start, change=1e-8)


@pytest.mark.parametrize("noise", NOISES[:2])
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_features_that_are_not_finite_raise(bad, noise):
    features, level, positive = problems(30, 4, 2)
    features[7, 2] = bad
    with pytest.raises(linalg.LinAlgError):
        propagate(features, level, positive, noise, change=1e-3)


def test_shapes_that_do_not_fit_raise():
    features, level, positive = problems(30, 4, 2)
    with pytest.raises(ValueError, match="positive"):
        propagate(features, level, positive[:, :-1], change=1e-3)


@pytest.mark.parametrize("shape", [(600, 30, 5), (3000, 120, 1)])
def test_bits_do_not_depend_on_threads(shape):
    given = *problems(*shape), (0.05, 0.1)
    one, two, many = (
        arrays(propagate(*given, change=1e-3, n_threads=n), given[0]) for n in (1, 2, 8)
    )
    for name, values in one.items():
        assert np.array_equal(two[name], values)
        assert np.array_equal(many[name], values)
