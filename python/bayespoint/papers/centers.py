"""Other centers: the function closest to the vote, and that of the largest ellipsoid."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy import linalg, optimize

from bayespoint.base.validation import Floats, require_square
from bayespoint.data.inputs import scaled
from bayespoint.kernels.products import count
from bayespoint.papers.ellipsoid import inscribed_ellipsoid
from bayespoint.posterior import Model
from bayespoint.version_space import VersionSpace

__all__ = ["closest_to_vote", "largest_ellipsoid"]

_RIDGE = 1e-8  # relative to the mean eigenvalue
_NOTHING = 1e-12  # eigenvalues that count as zero, relative to the largest
_BALANCED = 1e-9  # residual of walls that enclose


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


def largest_ellipsoid(space: VersionSpace) -> Floats:
    """Return the center of the largest ellipsoid inscribed in version space.

    Ruján and Marchand (Sections 18.2 and 18.5.1) call it the best known estimate of the center of
    mass.

    Parameters
    ----------
    space : VersionSpace
        A version space of two classes, such as of a linear kernel.

    Returns
    -------
    ndarray of shape (m,)
        Dual coefficients of the center, a weight vector of length 1.

    Raises
    ------
    InfeasibleError
        If version space is empty.
    ValueError
        If it is not bounded in the plane below, as may be with few examples; or for more than two
        classes.

    Notes
    -----
    The paper's ellipsoids are in a polyhedron, not on a sphere. This one is in the plane that
    touches the sphere at the center of the largest ball, on which version space is projected from
    the origin. The time is O(m³).

    Examples
    --------
    >>> import numpy as np
    >>> from bayespoint import VersionSpace
    >>> from bayespoint.papers.centers import largest_ellipsoid
    >>> largest_ellipsoid(VersionSpace(np.eye(3), [1, 1, -1])).round(3)
    array([ 0.577,  0.577, -0.577])
    """
    problem = space.problem
    problem.require_binary("an inscribed ellipsoid")
    matrix = space.gram.astype(np.float64) + problem.offset + np.diag(space.softness)
    values, vectors = linalg.eigh(matrix)
    kept = values > _NOTHING * values[-1]
    roots, vectors = np.sqrt(values[kept]), vectors[:, kept]
    normals = space.y[:, None] * vectors * roots
    normals /= np.linalg.norm(normals, axis=1)[:, None]
    ball = VersionSpace(normals @ normals.T, np.ones(len(normals))).max_margin()
    center = ball.dual_coef @ normals
    tangents = linalg.null_space(center[None])
    walls = -normals @ tangents
    if optimize.nnls(walls.T, -walls.sum(axis=0))[1] > _BALANCED * len(walls):
        raise ValueError(
            f"space must be bounded around the center of its largest ball; its {len(walls)} "
            f"examples do not enclose it in {len(roots)} dimensions"
        )
    w = center + tangents @ inscribed_ellipsoid(walls, normals @ center).center
    dual_coef: Floats = vectors @ (w / np.linalg.norm(w) / roots)
    return dual_coef
