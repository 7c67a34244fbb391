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
from typing import Any

import numpy as np
from scipy import linalg

from bayespoint import kernels
from bayespoint.base import validation
from bayespoint.base.linalg import times_upper
from bayespoint.base.validation import Floats
from bayespoint.landmarks.blocks import Blocks
from bayespoint.landmarks.executors import Threads
from bayespoint.landmarks.features import JITTER, Features
from bayespoint.landmarks.model import TwoClasses
from bayespoint.landmarks.variational import Normal, approximate

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
    features: Features,
    X: Any,
    y: Floats,
    softness: Floats,
    *,
    noise: tuple[float, float] = (0.0, 0.0),
    mean: Floats | None = None,
    root: Floats | None = None,
    n_threads: int = 1,
    tol: float = 0.0,
) -> Bound:
    """Return the bound for labels -1 and +1.

    Parameters
    ----------
    features : Features
        Kernel and landmarks.
    X : (m, d) inputs
        Examples.
    y, softness : ndarray of shape (m,)
        Labels, and noise variances without what the features miss.
    noise : pair of floats, default=(0.0, 0.0)
        Probabilities of a wrong label for negative and for positive examples.
    mean, root : ndarrays of shape (r,) and (r, r), default=None
        Mean and root of the covariance of the normal distribution of a similar setting.
    n_threads : int, default=1
        Number of threads, which does not change the result.
    tol : float, default=0
        Change of the bound in a pass, in nats, at which to stop earlier. If positive, the products
        are computed in singles, and the derivatives are left out.

    Returns
    -------
    Bound
        The bound and its derivatives.
    """
    kernel, landmarks = features.kernel, features.landmarks
    cross = kernels.evaluate(kernel, X, landmarks)
    psi = np.ascontiguousarray(features.factor.whitened(cross + features.offset).T)
    variance = softness + features.missed(X, psi)
    scale = y / np.sqrt(variance)
    rows: Any = (psi * scale[:, None]).astype(np.float32 if tol else np.float64)
    floors = np.where(y > 0, noise[0], noise[1]) if any(noise) else None
    span = 1.0 - noise[0] - noise[1]
    parts = list(validation.blocks(len(y), max(1024, -(-len(y) // 4))))
    blocks = [
        TwoClasses(rows[part], None if floors is None else floors[part], span) for part in parts
    ]
    executor = Threads(n_threads)
    with executor.running():
        moments = Blocks(executor, blocks).moments
        normal = approximate(moments, psi.shape[1], mean=mean, root=root, tol=tol)
    if tol:
        return Bound(normal.bound, {}, np.empty(0), normal)
    expected = TwoClasses(rows, floors, span).expected(normal.mean, normal.root)
    value = float(expected[0].sum()) + normal.prior_term
    half = times_upper(rows, normal.root)
    by_rows = np.outer(expected[1], normal.mean)
    by_rows -= (expected[2][:, None] * half) @ normal.root.T
    by_variance = -0.5 * np.einsum("ij,ij->i", by_rows, rows) / variance
    by_psi = by_rows * scale[:, None]
    by_psi -= 2 * by_variance[:, None] * psi
    lower = features.factor.lower
    by_cross = linalg.solve_triangular(lower, by_psi.T, lower=True, trans="T").T
    inner = linalg.solve_triangular(lower, psi.T @ by_psi, lower=True, trans="T")
    by_landmarks = linalg.solve_triangular(lower, inner.T, lower=True, trans="T")
    by_landmarks = -0.25 * (by_landmarks + by_landmarks.T)
    # The jitter is a multiple of the mean of the diagonal.
    by_landmarks.flat[:: len(lower) + 1] += JITTER * by_landmarks.trace() / len(lower)
    slopes = dict(kernels.slopes(kernel, X, cross, by_cross, landmarks))
    if slopes:
        gram = kernels.evaluate(kernel, landmarks)
        _add(slopes, kernels.slopes(kernel, landmarks, gram, by_landmarks))
        for part in validation.blocks(len(y), _DIAGONAL):
            gram = kernels.evaluate(kernel, X[part])
            _add(slopes, kernels.slopes(kernel, X[part], gram, np.diag(by_variance[part])))
    return Bound(value, slopes, by_variance, normal)


def _add(slopes: dict[str, float], more: Any) -> None:
    """Add the slopes of another part, which has them all."""
    for name in slopes:
        slopes[name] += more[name]
