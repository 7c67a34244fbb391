"""Slopes of kernels beside central differences."""

import math

import numpy as np
import pytest

from bayespoint import kernels


def assert_slopes(kernel, values, points, rng, *, names=None, of_diagonal=False):
    """Assert that slopes by log parameters and log weights of features are those of differences.

    Of the parameters with these values only some may have known slopes, `names`. Returns the
    slopes by weights, None where they are not known.
    """
    evaluate, pulled = kernels.evaluate, kernels.with_pullback
    if of_diagonal:
        evaluate, pulled = kernels.diagonal, kernels.diag_with_pullback
    complete = kernels.replace(kernel, values)
    found, pullback = pulled(complete, *points)
    before, by_values = found.copy(), rng.standard_normal(found.shape)
    np.testing.assert_allclose(found, evaluate(complete, *points), rtol=1e-12)
    slopes, by_weights = pullback(by_values)
    np.testing.assert_array_equal(found, before)
    assert pullback(by_values)[0] == slopes
    close = {"rel": 1e-6, "abs": 1e-9 * np.abs(by_values * found).sum()}

    def difference(changed, step=1e-5):
        ahead, behind = (evaluate(*changed(math.exp(sign * step))) for sign in (1, -1))
        return np.vdot(by_values, ahead - behind) / (2 * step)

    for name in values if names is None else names:

        def replaced(change, name=name):
            return kernels.replace(kernel, {**values, name: values[name] * change}), *points

        assert slopes[name] == pytest.approx(difference(replaced), **close), name
    for k, slope in enumerate(() if by_weights is None else by_weights):

        def weighted(change, k=k):
            weights = np.where(np.arange(len(by_weights)) == k, change, 1.0)
            return complete, *(x * weights for x in points)

        assert slope == pytest.approx(difference(weighted), **close), f"of weight {k}"
    return by_weights
