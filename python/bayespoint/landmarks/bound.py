r"""The lower bound of the log evidence with landmarks, and its derivatives.

At the best normal distribution q the bound does not change with q, to first order. Its derivatives
are therefore those of the expected log likelihood for the features and the noise: with the rows
:math:`a_i = y_i \psi_i / \sqrt{v_i}`, the mean :math:`\mu` and covariance :math:`\Sigma` of q, the
expected slopes g and negative second derivatives W of the log likelihood,

.. math:: \partial / \partial a_i = g_i \mu - W_i \Sigma a_i.

The features follow from kernel values with the landmarks, and the noise contains what they miss.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from bayespoint import kernels
from bayespoint.base import validation
from bayespoint.base.linalg import times_upper
from bayespoint.base.validation import Floats
from bayespoint.data.executors import Threads
from bayespoint.landmarks.basis import JITTER, Basis
from bayespoint.landmarks.block import BinaryBlock, BlockSums
from bayespoint.landmarks.normal import Normal, approximate
from bayespoint.likelihood import TwoClasses

_DIAGONAL = 100
"""Examples in a square block of the kernel matrix, of which only the diagonal counts."""


@dataclass(frozen=True, eq=False)
class Bound:
    """The bound and its derivatives."""

    value: float
    """Nats."""
    slopes: dict[str, float]
    """By the logarithms of those parameters of the kernel whose derivatives it knows."""
    by_softness: Floats
    """(m,) By the softness of each example."""
    normal: Normal
    """The normal distribution, a start for similar settings."""


def evaluate(
    basis: Basis,
    X: Any,
    y: NDArray[Any],
    softness: Floats,
    likelihood: TwoClasses,
    *,
    mean: Floats | None = None,
    root: Floats | None = None,
    n_threads: int = 1,
    tol: float = 0.0,
) -> Bound:
    """Return the bound for m labels -1 and +1 with noise variances `softness`.

    To these is added what the features of the basis miss. `mean` and `root` are of the normal
    distribution of a similar setting. With a `tol`, the change of the bound in a pass at which to
    stop earlier, in nats, the products are in singles and the derivatives are left out.
    """
    kernel, landmarks, lower = basis.kernel, basis.points, basis.factor.lower
    cross = kernels.evaluate(kernel, X, landmarks)
    psi = np.ascontiguousarray(basis.factor.whitened(cross + basis.offset).T)
    variance = softness + basis.missed(X, psi)
    scale = y / np.sqrt(variance)
    rows: Any = (psi * scale[:, None]).astype(np.float32 if tol else np.float64)
    whole = BinaryBlock(rows, likelihood, likelihood.floors(y > 0))
    blocks = [whole.part(some) for some in validation.blocks(len(y), max(1024, -(-len(y) // 4)))]
    executor = Threads(n_threads)
    with executor.running():
        moments = BlockSums(executor, blocks).moments
        normal = approximate(moments, psi.shape[1], mean=mean, root=root, tol=tol)
    if tol:
        return Bound(normal.bound, {}, np.empty(0), normal)
    log_p, slope, curvature = whole.expected(normal.mean, normal.root)
    half = times_upper(rows, normal.root)
    by_rows = np.outer(slope, normal.mean)
    by_rows -= (curvature[:, None] * half) @ normal.root.T
    by_variance = -0.5 * np.einsum("ij,ij->i", by_rows, rows) / variance
    by_psi = by_rows * scale[:, None]
    by_psi -= 2 * by_variance[:, None] * psi
    by_cross = linalg.solve_triangular(lower, by_psi.T, lower=True, trans="T").T
    inner = linalg.solve_triangular(lower, psi.T @ by_psi, lower=True, trans="T")
    by_landmarks = linalg.solve_triangular(lower, inner.T, lower=True, trans="T")
    by_landmarks = -0.25 * (by_landmarks + by_landmarks.T)
    # The jitter is a multiple of the mean of the diagonal.
    by_landmarks.flat[:: len(lower) + 1] += JITTER * by_landmarks.trace() / len(lower)
    slopes = dict(kernels.slopes(kernel, X, cross, by_cross, landmarks))
    if slopes:
        rows = validation.blocks(len(y), _DIAGONAL)
        diagonal = ((X[some], np.diag(by_variance[some])) for some in rows)
        for points, by_gram in chain([(landmarks, by_landmarks)], diagonal):
            more = kernels.slopes(kernel, points, kernels.evaluate(kernel, points), by_gram)
            slopes = {name: slope + more[name] for name, slope in slopes.items()}
    value = float(log_p.sum()) + normal.prior_term
    return Bound(value, slopes, by_variance, normal)
