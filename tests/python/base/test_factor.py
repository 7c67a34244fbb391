"""Factors of kernel matrices: rank, explained variances."""

import numpy as np
import pytest

from bayespoint import kernels
from bayespoint.base.linalg import factorize
from helpers import seed

OFFSET = 1.0


def test_without_softness_the_span_may_be_smaller():
    """A singular matrix has a pivoted factor, and n is its rank."""
    rng = np.random.default_rng(seed(0))
    inputs, points = rng.standard_normal((40, 3)), rng.standard_normal((9, 3))
    factor = factorize(inputs @ inputs.T, 0.0, np.zeros(40))
    assert factor.rank == 3
    np.testing.assert_allclose(
        factor.explained(points @ inputs.T), (points**2).sum(axis=1), rtol=1e-10
    )
    assert factorize(inputs @ inputs.T, 1.0, np.zeros(40)).rank == 4


def test_a_short_feature_vector_counts_for_the_rank():
    lengths = np.array([1e-20, 1.0, 1e20])
    gram = np.array([[1.0, 0.5, 0.2], [0.5, 1.0, 0.1], [0.2, 0.1, 1.0]])
    scaled = gram * np.outer(lengths, lengths)
    factor = factorize(scaled, 0.0, np.zeros(3))
    assert factor.rank == 3
    k_star = np.array([[0.3, -0.4, 0.5]])
    expected = k_star @ np.linalg.solve(gram, k_star.T)
    np.testing.assert_allclose(factor.explained(k_star * lengths), expected.ravel(), rtol=1e-10)


@pytest.mark.long
@pytest.mark.parametrize("softness", [0.0, 0.3, 1e-14])
@pytest.mark.parametrize("overwrite", [True, False])
def test_explained_variances(softness, overwrite):
    """The same predictions for any softness; the matrix is overwritten only if allowed."""
    rng = np.random.default_rng(seed(1))
    inputs = rng.standard_normal((700, 2))
    softness = np.full(700, softness)
    gram = kernels.RBF(0.6)(inputs)
    k_star = kernels.RBF(0.6)(inputs[:50] + 0.01, inputs) + OFFSET
    before = gram.copy()
    factor = factorize(gram, OFFSET, softness, overwrite=overwrite)
    if not overwrite:
        np.testing.assert_array_equal(gram, before)
    matrix = before + OFFSET + np.diag(softness)
    chosen = slice(None) if factor.pivots is None else factor.pivots
    assert factor.lower.flags.f_contiguous
    np.testing.assert_array_equal(factor.lower, np.tril(factor.lower))
    np.testing.assert_allclose(factor.lower @ factor.lower.T, matrix[chosen][:, chosen], atol=1e-11)
    explained = factor.explained(k_star)
    if softness[0] > 0.1:
        expected = np.einsum("ij,ji->i", k_star, np.linalg.solve(matrix, k_star.T))
        np.testing.assert_allclose(explained, expected, rtol=1e-6)
        assert factor.rank == 700
        return
    # For a singular matrix double precision does not determine the explained variance of a point
    # near an isolated example. Bounds are k(x, x), and the explained variance with noise of
    # variance 1e-9. The pivoted factor is below the latter by at most (sum r) / 1e-9 of the rest,
    # with the residuals r of k(x, x).
    assert factor.rank < 700
    root = np.linalg.solve(factor.lower, matrix[chosen])
    residuals = matrix.trace() - np.square(root).sum()
    assert residuals < 1e-10
    noisy = np.linalg.solve(matrix + 1e-9 * np.eye(700), k_star.T)
    least = np.einsum("ij,ji->i", k_star, noisy)
    assert (explained <= 1 + OFFSET + 1e-9).all()
    assert (explained >= least - 0.1 * (1 + OFFSET - least) - 1e-9).all()
