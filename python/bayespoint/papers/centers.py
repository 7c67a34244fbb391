"""The Bayes point by its definition: the function closest to the vote."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy import linalg

from bayespoint.base.validation import Floats, require_square
from bayespoint.data.inputs import scaled
from bayespoint.kernels.products import count
from bayespoint.posterior import Model

__all__ = ["closest_to_vote"]

_RIDGE = 1e-8  # relative to the mean eigenvalue


def closest_to_vote(model: Model, X: ArrayLike) -> Floats:
    r"""Return the function closest to the vote of the draws at given points.

    Parameters
    ----------
    model : Model
        A fitted model, such as the first of ``BayesPointClassifier.models_``.
    X : array-like of shape (n_samples, n_features) or other inputs of the kernel
        The points, such as test inputs.

    Returns
    -------
    ndarray of shape (1, n_train) or (n_classes, n_train)
        Dual coefficients c, not normalized, of each function :math:`\sum_i c_i k(x_i, x)`, plus the
        intercept :math:`\sum_i c_i` with `fit_intercept`.

    Raises
    ------
    ValueError
        For ordered classes; if `X` does not fit, or values are too large or small to be squared.

    Notes
    -----
    So Herbrich et al. define the Bayes point (after their Eq. 7), with a density in place of the
    points. The vote is the mean sign of the draws, of several classes the share of the draws minus
    1 / n_classes, and the squares of the differences are summed.
    """
    if model.draws.n_shared:
        raise ValueError("ordered classes, whose thresholds are no functions, have no closest one")
    factor, inputs = model.basis.factor, scaled(model.hyper.transform, model.basis.inputs(X))
    rank, n, m = factor.rank, count(inputs), len(model.basis)
    small = min(rank, n)
    points = np.empty((rank, n), order="F")
    for rows, k_star in model.basis.blocks(inputs, len(model.draws)):
        points[:, rows] = factor.whitened(k_star)
    votes = model.votes(X)
    if len(model.classes) > 2:  # which sums to zero over the classes, as all functions do
        votes -= 1 / len(model.classes)
    # Only the largest matters: squares that underflow are negligible.
    require_square(np.maximum(points.max(), -points.min()))
    products = points @ points.T if rank <= n else points.T @ points
    ridge = _RIDGE * float(products.trace()) / small
    if ridge == 0.0:  # all kernel values between points and examples are zero
        return np.zeros((votes.shape[1], m))
    products.flat[:: small + 1] += ridge
    if rank <= n:
        solution = linalg.solve(products, points @ votes, assume_a="pos")
    else:
        solution = points @ linalg.solve(products, votes, assume_a="pos")
    return factor.dual_coef(np.asfortranarray(solution), m)
