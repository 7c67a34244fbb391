"""Margin bounds from the theory of fat-shattering dimensions, for comparison."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from bayespoint.base import validation
from bayespoint.base.validation import Floats, Numbers, plain, reals, whole
from bayespoint.bounds.compression import confidence, inverse_square

__all__ = ["luckiness", "pac_margin"]


def pac_margin(m: ArrayLike, kappa: ArrayLike, delta: ArrayLike = 0.05) -> Numbers:
    r"""Bound the risk of a consistent hyperplane by its margin: the form of 1998.

    Parameters
    ----------
    m, delta
        Number of examples and probability of failure, as for `sparsity`.
    kappa : array-like of whole numbers
        :math:`\kappa = \lceil (R / \gamma)^2 \rceil` of the hyperplane's own margin, at least 1:
        see `mistakes`.

    Returns
    -------
    float or ndarray
        :math:`\frac2m \left(64\kappa \log_2\frac{em}{8\kappa} \log_2(32m) + \log_2(2m) +
        \log_2\frac1\delta\right)`. For 64 kappa > 8 m, where the expression would decrease, its
        maximum.

    See Also
    --------
    margin : A bound for the perceptron by the margin, with far smaller constants.

    Notes
    -----
    Quoted by Graepel et al. (2001), Section 5, from [1]_, for hyperplanes without a training error
    and feature vectors no longer than R. Vacuous unless m is at least 35 000 times kappa.

    References
    ----------
    .. [1] J. Shawe-Taylor, P. L. Bartlett, R. C. Williamson and M. Anthony, "Structural risk
       minimization over data-dependent hierarchies", IEEE Transactions on Information Theory 44,
       1998.

    Examples
    --------
    The very large sample that Graepel et al. compute for :math:`\kappa = 600`:

    >>> print(f"{pac_margin(410_743_386, 600):.4f}")
    0.1120
    """
    m, kappa, delta = validation.broadcast(
        m=whole("m", m, low=1), kappa=whole("kappa", kappa, low=1), delta=confidence(delta)
    )
    return plain(2 / m * (_fat(64 * np.minimum(kappa, m), m) + np.log2(2 * m) - np.log2(delta)))


def luckiness(
    m: ArrayLike, margin: ArrayLike, delta: ArrayLike = 0.05, *, radius: ArrayLike = 1.0
) -> Numbers:
    r"""Bound the risk of a consistent hyperplane by its margin: the luckiness form of 1996.

    Parameters
    ----------
    m, delta
        Number of examples and probability of failure, as for `sparsity`.
    margin : array-like of float
        :math:`\gamma = \min_i y_i \langle w, \phi_i\rangle / |w|`, positive.
    radius : array-like of float, default=1.0
        Radius R, at least `margin`, of a ball around 0 that contains the feature vectors of all
        possible inputs. For feature vectors scaled to unit length it is 1.

    Returns
    -------
    float or ndarray
        :math:`\frac2m \left(\kappa \log_2\frac{8em}{\kappa} \log_2(32m) + \log_2\frac{8m}\delta
        \right)` with :math:`\kappa = \lceil 577 R^2/\gamma^2\rceil`. For kappa > 8 m, where the
        expression would decrease, its maximum.

    Notes
    -----
    Herbrich et al. (1999), Theorem 1, where the first letter inside the logarithm is Euler's e, not
    the confidence. It holds for any hyperplane without a training error. Vacuous for every margin
    unless m is above 350 000.

    Examples
    --------
    For 60 000 handwritten digits it is vacuous even for the largest possible margin (Figure 2b of
    the paper):

    >>> print(f"{luckiness(60_000, 1.0):.2f}")
    4.47
    """
    m, gamma, delta, radius = validation.broadcast(
        m=whole("m", m, low=1),
        margin=reals("margin", margin, low=0.0, low_open=True),
        delta=confidence(delta),
        radius=reals("radius", radius, low=0.0, low_open=True),
    )
    kappa = inverse_square(gamma, radius, 577.0)
    return plain(2 / m * (_fat(kappa, m) + np.log2(8 * m) - np.log2(delta)))


def _fat(d: Floats, m: Floats) -> Floats:
    """Return ``d log2(8 e m / d) log2(32 m)``, constant from its maximum at d = 8 m on."""
    d = np.minimum(d, 8 * m)
    bits: Floats = d * np.log2(8 * math.e * m / d) * np.log2(32 * m)
    return bits
