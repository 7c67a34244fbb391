"""Compression bounds, for classifiers that are determined by few of their examples."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from bayespoint.base import validation
from bayespoint.base.validation import Floats, Numbers, plain, reals, whole

__all__ = ["margin", "mistakes", "sparsity"]

_ROUNDING = 8 * np.finfo(np.float64).eps
"""Relative distance above a whole number that is attributed to rounding."""


def sparsity(m: ArrayLike, d: ArrayLike, delta: ArrayLike = 0.05) -> Numbers:
    r"""Bound the risk of a consistent classifier that is determined by d of the m examples.

    Parameters
    ----------
    m : array-like of whole numbers
        Examples, at least 1.
    d : array-like of whole numbers
        Number of examples that determine the classifier, from 1 to m: those with nonzero dual
        coefficients.
    delta : array-like of float, default=0.05
        Probability in (0, 1) with which the statement may fail.

    Returns
    -------
    float or ndarray
        :math:`\left(\ln\binom{m}{d} + \ln m + \ln\frac1\delta\right) / (m - d)`; infinite for
        d = m.

    See Also
    --------
    margin : The same with the number of examples that the margin guarantees.

    Notes
    -----
    Graepel et al. (2001), Lemma 1, Theorem 3 and Eq. 7. The same algorithm must find this
    classifier from the d examples alone, and it must make no error on the others. Both hold for the
    maximal margin, and for the perceptron, since examples without an update do not influence it.
    The term ln m allows d to depend on the examples. Vacuous from about d = m / 3 on.

    Examples
    --------
    A perceptron with 740 support vectors for the digit 0 among 60 000 (6.7 % in the paper's
    Table 1):

    >>> print(f"{100 * sparsity(60_000, 740):.1f} %")
    6.7 %
    """
    m, d, delta = validation.broadcast(
        m=whole("m", m, low=1), d=whole("d", d, low=1), delta=confidence(delta)
    )
    validation.at_most("d", d, "m", m)
    return plain(_sparsity(m, d, delta))


def margin(
    m: ArrayLike, kappa: ArrayLike, delta: ArrayLike = 0.05, *, n: ArrayLike | None = None
) -> Numbers:
    r"""Bound the risk of the perceptron by the margin of any weight vector.

    Parameters
    ----------
    m, delta
        Number of examples and probability of failure, as for `sparsity`.
    kappa : array-like of whole numbers
        :math:`\kappa^* = \lceil (R / \gamma)^2 \rceil`, at least 1: see `mistakes`.
    n : array-like of float, default=None
        At least 4, with ``kappa < m / n``: return the relaxed, larger form.

    Returns
    -------
    float or ndarray
        `sparsity` at d = kappa, infinite from kappa = m on; the relaxed form is
        :math:`\frac{n}{n-1}\,\frac1m \left(\kappa^* \ln\frac{em}{\kappa^*} + \ln m +
        \ln\frac1\delta\right)`.

    Notes
    -----
    Graepel et al. (2001), Theorem 4 and Eq. 8, and Section 5 for the relaxed form. If any weight
    vector separates the examples with margin :math:`\gamma`, and no feature vector is longer than
    R, the perceptron makes at most :math:`\kappa^*` updates in any order of presentation. It
    therefore depends on at most as many examples. The bound is for the vector that it finds,
    whatever the margin of that vector.

    Examples
    --------
    The paper's :math:`\kappa^* = 600` for handwritten digits, exactly and relaxed:

    >>> print(f"{margin(60_000, 600):.4f}, {margin(60_000, 600, n=99):.4f}")
    0.0567, 0.0568
    """
    m, kappa, delta = validation.broadcast(
        m=whole("m", m, low=1), kappa=whole("kappa", kappa, low=1), delta=confidence(delta)
    )
    if n is None:
        return plain(_sparsity(m, np.minimum(kappa, m), delta))
    m, kappa, delta, ratio = validation.broadcast(
        m=m, kappa=kappa, delta=delta, n=reals("n", n, low=4.0)
    )
    if not (kappa < m / ratio).all():
        i = tuple(np.argwhere(kappa >= m / ratio)[0])
        raise ValueError(
            f"kappa must be below m / n = {m[i] / ratio[i]:.10g} for the relaxed form; got "
            f"{kappa[i]:.10g}"
        )
    terms = kappa * (1 + np.log(m / kappa)) + np.log(m) - np.log(delta)
    return plain(ratio / (ratio - 1) * terms / m)


def mistakes(margin: ArrayLike, radius: ArrayLike = 1.0) -> Numbers:
    r"""Bound the number of updates the perceptron makes before it stops.

    Parameters
    ----------
    margin : array-like of float
        :math:`\gamma = \min_i y_i \langle w, \phi_i\rangle / |w|` of any separating w, positive.
    radius : array-like of float, default=1.0
        Largest length R of a feature vector, at least `margin`. It is 1 for a normalized kernel,
        for which the bound is never larger than without normalization.

    Returns
    -------
    float or ndarray
        The whole number :math:`\lceil (R / \gamma)^2 \rceil`, the :math:`\kappa^*` of `margin`
        and `pac_margin`. A perceptron that starts from zero has at most as many nonzero dual
        coefficients.

    Notes
    -----
    Novikoff's theorem in feature space (Graepel et al., 2001, Theorem 2, Definition 3 and Eq. 5),
    for a perceptron without a bias. One with the update :math:`b \leftarrow b + y R^2` is equal to
    one without a bias on the vectors (x, R), of length at most :math:`\sqrt2 R`; `margin` is then
    that of (w, b / R).

    Examples
    --------
    Two parallel lines in the unit ball at a distance of the square root of 2 (footnote 2 of the
    paper), each half of that from the plane between them:

    >>> mistakes(np.sqrt(2) / 2)
    2.0
    """
    gamma, radius = validation.broadcast(
        margin=reals("margin", margin, low=0.0, low_open=True),
        radius=reals("radius", radius, low=0.0, low_open=True),
    )
    return plain(inverse_square(gamma, radius, 1.0))


def _sparsity(m: Floats, d: Floats, delta: Floats) -> Floats:
    # Differences of log-gammas would lose all digits for m above 1e12.
    ways = -np.log1p(m) - special.betaln(m - d + 1, d + 1)
    with np.errstate(divide="ignore"):
        bound: Floats = (ways + np.log(m) - np.log(delta)) / (m - d)
    return bound


def inverse_square(margin: Floats, radius: Floats, factor: float) -> Floats:
    """Return ``ceil(factor (radius / margin)^2)`` for margins that are at most the radius."""
    validation.at_most("margin", margin * (1 - 1e-9), "radius", radius)
    with np.errstate(over="ignore"):
        square = factor * (radius / margin) ** 2
    if not np.isfinite(square).all():
        raise ValueError(
            "margin must be at least 1e-154 times radius, or its inverse square overflows; got "
            f"{float(np.min(margin / radius)):.3g} times radius"
        )
    rounded = np.ceil(square * (1 - _ROUNDING))
    return np.maximum(rounded, 1.0)


def confidence(value: ArrayLike) -> Floats:
    """Return `delta`, checked to be a probability of failure."""
    return reals("delta", value, low=0.0, high=1.0, low_open=True, high_open=True)
