r"""Learning curves of perceptrons for random examples: the theory for infinite dimension.

A teacher, a unit vector in D dimensions, labels m independent Gaussian examples by the sign of
its inner product with them. For :math:`D \to \infty` at a fixed ratio :math:`\alpha = m / D` the
probability that a student errs on the next example depends on its rule and on :math:`\alpha` alone.
It is the angle between teacher and student over :math:`\pi` for a student that is a single weight
vector. All functions take one ratio or an array of them, and raise ValueError or TypeError for a
ratio that is not finite, not a number, or too small.

References
----------
M. Opper and D. Haussler, "Generalization performance of Bayes optimal classification
algorithm for learning a perceptron", Physical Review Letters 66, 1991.

M. Opper, W. Kinzel, J. Kleinz and R. Nehl, "On the ability of the optimal perceptron to
generalise", Journal of Physics A 23, 1990.

M. Opper and W. Kinzel, "Statistical mechanics of generalization", in Models of Neural
Networks III, Springer, 1996.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from bayespoint.base import validation
from bayespoint.base.validation import Floats
from bayespoint.papers.checks import Numbers, plain, reals

__all__ = [
    "adaline_error",
    "asymptote",
    "bayes_error",
    "gibbs_error",
    "max_margin_error",
    "overlap",
]

_STEP = 0.125
_GRID = np.arange(-14.0, 14.0 + _STEP / 2, _STEP)
"""Nodes of the trapezoidal rule. For these integrands, analytic in a strip of half-width 2.8 and
with Gaussian tails, its error is below double precision."""

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(200)
_REACH = 14.0
_ROWS = 4096

_ratio = partial(reals, "alpha", low=0.0, high=1e300)

RULES = ("bayes", "gibbs", "max_margin", "adaline")


def overlap(alpha: ArrayLike) -> Numbers:
    r"""Return the cosine between the teacher and a random consistent student.

    Parameters
    ----------
    alpha : array-like of float
        Examples per dimension, at least 0.

    Returns
    -------
    float or ndarray
        R in [0, 1): the inner product of the teacher with a unit vector drawn from version space
        (Gibbs' student), and of two such vectors with each other. The center of mass has the
        inner product :math:`\sqrt R` with the teacher.

    Notes
    -----
    The solution of

    .. math:: \frac{R}{\sqrt{1-R}} = \frac\alpha\pi \int Dx\, \frac{e^{-R x^2 / 2}}{H(\sqrt R x)}

    with the standard normal measure Dx and its upper tail H (Opper and Haussler).

    Examples
    --------
    >>> print(f"{overlap(5.0):.4f}")
    0.9321
    """
    R, _ = _solution(alpha)
    return plain(R)


def bayes_error(alpha: ArrayLike) -> Numbers:
    r"""Return the error of the Bayes classifier, and of the center of mass of version space.

    Parameters
    ----------
    alpha : array-like of float
        Examples per dimension, at least 0.

    Returns
    -------
    float or ndarray
        :math:`\arccos(\sqrt R) / \pi` with R from `overlap`: no rule has a smaller mean error. It
        tends to :math:`0.442 / \alpha`.

    Examples
    --------
    >>> print(", ".join(f"{error:.4f}" for error in bayes_error([2.0, 5.0, 10.0])))
    0.1745, 0.0839, 0.0436
    """
    R, rest = _solution(alpha)
    return plain(np.arctan2(np.sqrt(rest), np.sqrt(R)) / np.pi)


def gibbs_error(alpha: ArrayLike) -> Numbers:
    r"""Return the error of a random consistent student.

    Parameters
    ----------
    alpha : array-like of float
        Examples per dimension, at least 0.

    Returns
    -------
    float or ndarray
        :math:`\arccos(R) / \pi` with R from `overlap`. It tends to :math:`0.625 / \alpha`.

    Examples
    --------
    >>> print(f"{gibbs_error(5.0):.4f}")
    0.1180
    """
    R, rest = _solution(alpha)
    return plain(np.arctan2(np.sqrt(rest * (1 + R)), R) / np.pi)


def max_margin_error(alpha: ArrayLike) -> Numbers:
    r"""Return the error of the maximal margin, the optimal perceptron.

    Parameters
    ----------
    alpha : array-like of float
        Examples per dimension, positive.

    Returns
    -------
    float or ndarray
        :math:`\theta / \pi` with the angle :math:`\theta` to the teacher. It tends to
        :math:`0.501 / \alpha`.

    Notes
    -----
    A student with margin :math:`\kappa` at the angle :math:`\theta` exists up to where
    :math:`\alpha \langle(\kappa - z)_+^2\rangle = \sin^2\theta`, with the stability :math:`z =
    \cos\theta\,|a| + \sin\theta\,g` for standard normal a and g. The largest :math:`\kappa` is
    at the angle where the left side over the right has its minimum (the replica-symmetric solution
    of Opper et al., which Gordon's comparison theorem makes exact). With
    :math:`k = \kappa / \sin\theta` that is

    .. math:: \tan\theta = \frac{\sqrt{\pi/2}}{\alpha\,(k\,\Phi(k) + \varphi(k))},
        \qquad 2 \alpha \sin\theta \int_{-\infty}^k (k-t)^2\, \varphi(t \sin\theta)\,
        \Phi(t \cos\theta)\, dt = 1.

    Examples
    --------
    >>> print(", ".join(f"{error:.4f}" for error in max_margin_error([2.0, 5.0, 10.0])))
    0.1885, 0.0938, 0.0492
    """
    alpha = _ratio(alpha, low_open=True)

    def slack(k: Floats) -> Floats:
        tangent = _margin_tangent(alpha, k)
        cosine = 1 / np.sqrt(1 + tangent**2)
        sine = tangent * cosine
        # The integrand is Gaussian in t with both factors together.
        top = np.minimum(k, _REACH)
        half = (top + _REACH) / 2

        def mean(k: Floats, top: Floats, half: Floats, sine: Floats, cosine: Floats) -> Floats:
            t = top - half * (1 - _NODES)
            density = np.exp(-((t * sine) ** 2) / 2) / np.sqrt(2 * np.pi)
            values = (k - t) ** 2 * density * special.ndtr(t * cosine)
            return np.asarray(values @ _WEIGHTS)

        left: Floats = 2 * alpha * sine * half * _by_blocks(mean, k, top, half, sine, cosine)
        return left - 1

    k = _root(slack, np.zeros_like(alpha), 2 + 2 / np.sqrt(alpha))
    return plain(np.arctan(_margin_tangent(alpha, k)) / np.pi)


def adaline_error(alpha: ArrayLike) -> Numbers:
    r"""Return the error of Adaline: least squares on the labels.

    Parameters
    ----------
    alpha : array-like of float
        Examples per dimension, at least 0.

    Returns
    -------
    float or ndarray
        :math:`\arccos(\rho) / \pi` with the cosine :math:`\rho` to the teacher. It tends to
        :math:`0.24 / \sqrt\alpha`, and is 1/2 at :math:`\alpha = 1`.

    Notes
    -----
    The label is :math:`\sqrt{2/\pi}` times the teacher's inner product plus a rest of variance
    :math:`1 - 2/\pi`, uncorrelated with the example. Least squares has the teacher's direction
    from the first part and a random one from the second: :math:`\tan^2\theta = (\pi/2 - 1) /
    (\alpha - 1)` for :math:`\alpha > 1`. With fewer examples than dimensions it is the shortest
    vector that gives each label exactly, and :math:`\rho^2 = \frac2\pi \alpha(1-\alpha) / (1 -
    2\alpha/\pi)`.

    Examples
    --------
    More examples can make the error larger:

    >>> print(", ".join(f"{error:.4f}" for error in adaline_error([0.5, 1.0, 10.0])))
    0.3395, 0.5000, 0.0785
    """
    alpha = _ratio(alpha)
    few = alpha < 1
    share = 2 / np.pi
    below = np.where(few, alpha, 0.5)
    square = share * below * (1 - below) / (1 - share * below)
    with np.errstate(divide="ignore"):
        tangent = np.sqrt((np.pi / 2 - 1) / np.where(few, 1.0, alpha - 1))
    angle = np.where(few, np.arccos(np.sqrt(square)), np.arctan(tangent))
    return plain(angle / np.pi)


def asymptote(alpha: ArrayLike, rule: str = "bayes") -> Numbers:
    r"""Return the asymptote of a learning curve for many examples.

    Parameters
    ----------
    alpha : array-like of float
        Examples per dimension, positive.
    rule : {"bayes", "gibbs", "max_margin", "adaline"}, default="bayes"
        The rule of learning.

    Returns
    -------
    float or ndarray
        :math:`0.442 / \alpha`, :math:`0.625 / \alpha`, :math:`0.501 / \alpha` or
        :math:`0.2405 / \sqrt\alpha`.

    Notes
    -----
    With :math:`I = \int e^{-x^2} / (\sqrt{2\pi} H(x))\, dx` Bayes' constant is :math:`1 / I`
    and Gibbs' :math:`\sqrt2 / I`. That of the maximal margin is :math:`1 / (\sqrt{2\pi}\,
    (k\Phi(k) + \varphi(k)))` at the root of :math:`(1 - k^2)(k\Phi(k) + \varphi(k)) =
    k\Phi(k)`, and Adaline's :math:`\sqrt{\pi/2 - 1} / \pi`.

    Examples
    --------
    The constants that Herbrich, Graepel and Campbell quote as 0.44, 0.62, 0.50 and 0.24:

    >>> print(", ".join(f"{asymptote(1.0, rule):.4f}" for rule in RULES))
    0.4417, 0.6247, 0.5005, 0.2405
    """
    alpha = _ratio(alpha, low_open=True)
    rule = validation.choice("rule", rule, RULES)
    if rule == "adaline":
        return plain(np.sqrt(np.pi / 2 - 1) / np.pi / np.sqrt(alpha))
    if rule == "max_margin":
        k = _root(
            lambda k: k * special.ndtr(k) - (1 - k**2) * _mean_slack(k), np.zeros(()), np.ones(())
        )
        return plain(1 / (np.sqrt(2 * np.pi) * _mean_slack(k)) / alpha)
    constant = 1 / _integral(np.ones(()))
    return plain((np.sqrt(2) if rule == "gibbs" else 1.0) * constant / alpha)


def _solution(alpha: ArrayLike) -> tuple[Floats, Floats]:
    """Return R of Opper and Haussler and 1 - R, each to full relative accuracy."""
    alpha = _ratio(alpha)
    # s = R / sqrt(1 - R), the left side. The integral hardly depends on R, from 2 at 0 to 2.26 at
    # 1: each round of the iteration gains about two digits.
    s = 2 * alpha / np.pi
    for _ in range(60):
        before, s = s, alpha / np.pi * _integral(_of_left_side(s)[0])
        if np.allclose(s, before, rtol=1e-15, atol=0.0):
            break
    return _of_left_side(s)


def _of_left_side(s: Floats) -> tuple[Floats, Floats]:
    """Return R and 1 - R for s = R / sqrt(1 - R), without cancellation."""
    root = s + np.hypot(s, 2.0)
    return 2 * (s / root), (2 / root) ** 2


def _integral(R: Floats) -> Floats:
    """Return the integral over Dx of exp(-R x^2 / 2) / H(sqrt(R) x)."""

    def sums(R: Floats) -> Floats:
        exponent = -(1 + R) * _GRID**2 / 2 - special.log_ndtr(-np.sqrt(R) * _GRID)
        return np.asarray(np.exp(exponent).sum(axis=-1))

    integral: Floats = _by_blocks(sums, R) * _STEP / np.sqrt(2 * np.pi)
    return integral


def _by_blocks(function: Callable[..., Floats], *columns: Floats) -> Floats:
    """Return a function of the elements of arrays of one shape, called with blocks of columns.

    Blocks limit the memory: the function makes hundreds of numbers from each element.
    """
    flat = [np.asarray(column, dtype=np.float64).reshape(-1, 1) for column in columns]
    values = np.empty(len(flat[0]))
    for rows in validation.blocks(len(values), _ROWS):
        values[rows] = function(*(column[rows] for column in flat))
    return values.reshape(np.shape(columns[0]))


def _mean_slack(k: Floats) -> Floats:
    """Return the mean of (k - g)_+ for standard normal g."""
    mean: Floats = k * special.ndtr(k) + np.exp(-(k**2) / 2) / np.sqrt(2 * np.pi)
    return mean


def _margin_tangent(alpha: Floats, k: Floats) -> Floats:
    tangent: Floats = np.sqrt(np.pi / 2) / (alpha * _mean_slack(k))
    return tangent


def _root(rising: Callable[[Floats], Floats], low: Floats, high: Floats) -> Floats:
    """Return where a rising function is zero, element by element, by bisection."""
    for _ in range(200):
        middle = (low + high) / 2
        if ((middle <= low) | (middle >= high)).all():
            break
        above = rising(middle) > 0
        low, high = np.where(above, low, middle), np.where(above, middle, high)
    return (low + high) / 2
