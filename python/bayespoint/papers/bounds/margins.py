"""Bounds by the margin, and for classifiers that are determined by few of their examples."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from bayespoint.base.validation import Floats
from bayespoint.papers import checks
from bayespoint.papers.checks import Numbers, plain, positive, reals, whole

_ROUNDING = 8 * np.finfo(np.float64).eps  # relative excess over a whole number that is rounding


def sparsity(m: ArrayLike, d: ArrayLike, delta: ArrayLike = 0.05) -> Numbers:
    r"""Bound the risk of a consistent classifier that is determined by d of the m examples.

    Parameters
    ----------
    m, d : array-like of whole numbers
        Examples, and how many of them, with nonzero dual coefficients, determine the classifier.
    delta : array-like of float, default=0.05
        Probability in (0, 1) with which the statement may fail.

    Returns
    -------
    float or ndarray
        :math:`\left(\ln\binom{m}{d} + \ln m + \ln\frac1\delta\right) / (m - d)`; infinite for d =
        m. Vacuous from about d = m / 3 on.

    Notes
    -----
    Graepel et al. (2001), Lemma 1, Theorem 3 and Eq. 7. The same algorithm must find this
    classifier from the d examples alone, and it must make no error on the others: true of the
    maximal margin, and of the perceptron. The term ln m allows d to depend on the examples.

    Examples
    --------
    A perceptron with 740 support vectors for the digit 0 (6.7 % in the paper's Table 1):

    >>> print(f"{100 * sparsity(60_000, 740):.1f} %")
    6.7 %
    """
    m, d, delta = checked(m, delta, d=whole("d", d, low=1))
    checks.at_most("d", d, "m", m)
    # Differences of log-gammas would lose all digits for m above 1e12.
    ways = -np.log1p(m) - special.betaln(m - d + 1, d + 1)
    with np.errstate(divide="ignore"):
        return plain((ways + np.log(m) - np.log(delta)) / (m - d))


def margin(
    m: ArrayLike, kappa: ArrayLike, delta: ArrayLike = 0.05, *, n: ArrayLike | None = None
) -> Numbers:
    r"""Bound the risk of the perceptron by the margin of any weight vector.

    Parameters
    ----------
    m, delta
        As for `sparsity`.
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
    vector has the margin :math:`\gamma`, the perceptron makes at most :math:`\kappa^*` updates in
    any order, and depends on at most as many examples, whatever the margin of the vector it finds.
    """
    m, kappa, delta = checked(m, delta, kappa=whole("kappa", kappa, low=1))
    if n is None:
        return sparsity(m, np.minimum(kappa, m), delta)
    ratio = reals("n", n, low=4.0)
    m, kappa, delta, ratio = checks.broadcast(m=m, kappa=kappa, delta=delta, n=ratio)
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
        Largest length R of a feature vector, at least `margin`; 1 for a normalized kernel.

    Returns
    -------
    float or ndarray
        :math:`\lceil (R / \gamma)^2 \rceil`, the :math:`\kappa^*` of `margin` and `pac_margin`. A
        perceptron that starts from zero has at most as many nonzero dual coefficients.

    Notes
    -----
    Novikoff's theorem (Graepel et al., 2001, Theorem 2, Definition 3 and Eq. 5), for a perceptron
    without a bias. One with the update :math:`b \leftarrow b + y R^2` is equal to one without on
    the vectors (x, R), of length at most :math:`\sqrt2 R`; `margin` is then that of (w, b / R).
    """
    gamma, radius = checks.broadcast(
        margin=positive("margin", margin),
        radius=positive("radius", radius),
    )
    return plain(_inverse_square(gamma, radius, 1.0))


def pac_margin(m: ArrayLike, kappa: ArrayLike, delta: ArrayLike = 0.05) -> Numbers:
    r"""Bound the risk of a consistent hyperplane by its margin: the form of 1998.

    Parameters
    ----------
    m, delta
        As for `sparsity`.
    kappa : array-like of whole numbers
        :math:`\kappa = \lceil (R / \gamma)^2 \rceil` of the hyperplane's own margin, at least 1.

    Returns
    -------
    float or ndarray
        :math:`\frac2m \left(64\kappa \log_2\frac{em}{8\kappa} \log_2(32m) + \log_2(2m) +
        \log_2\frac1\delta\right)`. For 64 kappa > 8 m, where the expression would decrease, its
        maximum. Vacuous unless m is 35 000 times kappa; `margin` has far smaller constants.

    Notes
    -----
    Quoted by Graepel et al. (2001), Section 5, for hyperplanes without a training error, from J.
    Shawe-Taylor, P. L. Bartlett, R. C. Williamson and M. Anthony, "Structural risk minimization
    over data-dependent hierarchies", IEEE Transactions on Information Theory 44, 1998.
    """
    m, kappa, delta = checked(m, delta, kappa=whole("kappa", kappa, low=1))
    return plain(2 / m * (_fat(64 * np.minimum(kappa, m), m) + np.log2(2 * m) - np.log2(delta)))


def luckiness(
    m: ArrayLike, margin: ArrayLike, delta: ArrayLike = 0.05, *, radius: ArrayLike = 1.0
) -> Numbers:
    r"""Bound the risk of a consistent hyperplane by its margin: the luckiness form of 1996.

    Parameters
    ----------
    m, delta
        As for `sparsity`.
    margin, radius : array-like of float, default=1.0 for `radius`
        As for `mistakes`, with the largest length of the feature vectors of all possible inputs.

    Returns
    -------
    float or ndarray
        :math:`\frac2m \left(\kappa \log_2\frac{8em}{\kappa} \log_2(32m) + \log_2\frac{8m}\delta
        \right)` with :math:`\kappa = \lceil 577 R^2/\gamma^2\rceil`. For kappa > 8 m, where the
        expression would decrease, its maximum. Vacuous unless m is above 350 000.

    Notes
    -----
    Herbrich et al. (1999), Theorem 1, where the first letter in the logarithm is Euler's e. It
    holds for any hyperplane without a training error.
    """
    gamma = positive("margin", margin)
    radius = positive("radius", radius)
    m, gamma, radius, delta = checked(m, delta, margin=gamma, radius=radius)
    kappa = _inverse_square(gamma, radius, 577.0)
    return plain(2 / m * (_fat(kappa, m) + np.log2(8 * m) - np.log2(delta)))


def checked(m: ArrayLike, delta: ArrayLike, **others: Floats) -> tuple[Floats, ...]:
    """Return m, `others` and delta, checked and broadcast to one shape."""
    return checks.broadcast(
        m=whole("m", m, low=1), **others, delta=checks.probability("delta", delta)
    )


def _inverse_square(margin: Floats, radius: Floats, factor: float) -> Floats:
    """Return ``ceil(factor (radius / margin)^2)`` for margins that are at most the radius."""
    checks.at_most("margin", margin * (1 - 1e-9), "radius", radius)
    with np.errstate(over="ignore"):
        square = factor * (radius / margin) ** 2
    if not np.isfinite(square).all():
        raise ValueError(
            "margin must be at least 1e-154 times radius, or its inverse square overflows; got "
            f"{float(np.min(margin / radius)):.3g} times radius"
        )
    return np.maximum(np.ceil(square * (1 - _ROUNDING)), 1.0)


def _fat(d: Floats, m: Floats) -> Floats:
    """Return ``d log2(8 e m / d) log2(32 m)``, constant from its maximum at d = 8 m on."""
    d = np.minimum(d, 8 * m)
    bits: Floats = d * np.log2(8 * math.e * m / d) * np.log2(32 * m)
    return bits
