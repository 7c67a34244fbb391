"""Bounds by the volume of a part of version space, and the number of draws for a mean."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from bayespoint.base.validation import Floats
from bayespoint.papers import checks
from bayespoint.papers.bounds.margins import checked
from bayespoint.papers.checks import Numbers, plain, positive, probability, reals, whole

_SMALLEST = 1e-280  # share of a half sphere below which log beta is computed directly
_STEPS = 200  # most steps of its continued fraction; about twenty are enough


def volume_gibbs(m: ArrayLike, log_volume: ArrayLike, delta: ArrayLike = 0.05) -> Numbers:
    r"""Bound the mean risk of the weight vectors in a part of version space.

    Parameters
    ----------
    m, delta
        As for `sparsity`.
    log_volume : array-like of float
        ln of the part's share of the sphere, or its probability by another prior, fixed before the
        examples: at most 0. For all of version space the value of :meth:`VersionSpace.evidence`.

    Returns
    -------
    float or ndarray
        :math:`\left(\ln\frac1{\mathrm{vol}} + \ln\frac1\delta + 2\ln m + 1\right) / m`, for all
        measurable parts at once. Vacuous for volumes below about :math:`e^{-m}`.

    Notes
    -----
    Herbrich et al. (1999), Theorem 2, Eq. 15, by D. A. McAllester, "Some PAC-Bayesian theorems",
    Proceedings of the Eleventh Annual Conference on Computational Learning Theory, 1998. The risk
    is that of one weight vector drawn at random (Gibbs classifier).

    Examples
    --------
    The volume :math:`100 \cdot 2^{-100}` at 100 examples, by the three bounds. The paper's text has
    "less than 70 %": without the term :math:`2\ln m` of its Eq. 15 the first is 0.687.

    >>> log_volume = np.log(100) - 100 * np.log(2)
    >>> gibbs, bayes = volume_gibbs(100, log_volume), volume_bayes(100, log_volume)
    >>> print(f"{gibbs:.3f}, {bayes:.3f}, {pac_bayes_kl(100, -log_volume):.3f}")
    0.779, 1.558, 0.507
    """
    m, log_volume, delta = checked(m, delta, log_volume=reals("log_volume", log_volume, high=0.0))
    return plain((2 * np.log(m) + 1 - log_volume - np.log(delta)) / m)


def volume_bayes(m: ArrayLike, log_volume: ArrayLike, delta: ArrayLike = 0.05) -> Numbers:
    """Bound the risk of the vote of the weight vectors in a part of version space.

    Parameters
    ----------
    m, log_volume, delta
        As for `volume_gibbs`.

    Returns
    -------
    float or ndarray
        Twice `volume_gibbs`. Vacuous for volumes below about :math:`e^{-m/2}`.

    Notes
    -----
    Herbrich et al. (1999), Theorem 3, Eq. 17 and Corollary 1: where the majority errs, at least
    half of the weight vectors err. The vote of a part that is symmetric about w is the decision of
    w, so this bounds the maximal margin (`linear_svm`) and the Bayes point (`point_mirror`), too.
    """
    return 2 * volume_gibbs(m, log_volume, delta)


def linear_svm(m: ArrayLike, n: ArrayLike, margin: ArrayLike, delta: ArrayLike = 0.05) -> Numbers:
    r"""Bound the risk of a consistent hyperplane in n dimensions by its margin.

    Parameters
    ----------
    m, delta
        As for `sparsity`.
    n : array-like of whole numbers
        Dimension of feature space, or of the span of the examples' feature vectors; at least 1.
    margin : array-like of float
        :math:`\gamma = \min_i y_i \langle w, \phi_i\rangle / (|w| |\phi_i|)`, in (0, 1].

    Returns
    -------
    float or ndarray
        :math:`\frac2m \left(n \ln\frac4{\gamma^2} + 2\ln m + \ln\frac1\delta + 1\right)`. Vacuous
        unless m exceeds :math:`2 n \ln(4/\gamma^2)`.

    Notes
    -----
    Herbrich et al. (1999), Corollary 2 and Appendix B.1: the points within :math:`\gamma` of w are
    symmetric about w; Lemma 2 bounds their volume. By the exact volume, ``volume_bayes(m,
    cap_log_fraction(n, arcsin(margin)), delta)``, it is never larger.
    """
    gamma = positive("margin", margin, high=1.0)
    m, n, gamma, delta = checked(m, delta, n=whole("n", n, low=1), margin=gamma)
    ratio = n * 2 * (np.log(2) - np.log(gamma))
    return plain(2 * (ratio + 2 * np.log(m) - np.log(delta) + 1) / m)


def pac_bayes_kl(
    m: ArrayLike, kl: ArrayLike, delta: ArrayLike = 0.05, *, empirical_error: ArrayLike = 0.0
) -> Numbers:
    r"""Bound the mean risk under a posterior by inverting the binary relative entropy.

    Parameters
    ----------
    m, delta
        As for `sparsity`.
    kl : array-like of float
        Relative entropy of the posterior to the prior in nats, at least 0. With minus ln of the
        volume of a part this is tighter than `volume_gibbs`, and twice it than `volume_bayes`.
    empirical_error : array-like of float, default=0.0
        Mean share of the examples that a weight vector of the posterior misclassifies, in [0, 1].

    Returns
    -------
    float or ndarray
        The largest p with :math:`\mathrm{kl}(\hat e \,\|\, p) \le \left(\mathrm{KL} +
        \ln\frac{2\sqrt m}\delta\right) / m`, where :math:`\mathrm{kl}(q \,\|\, p) = q \ln\frac qp +
        (1-q) \ln\frac{1-q}{1-p}`. In [0, 1]; vacuous if it is 1.

    Notes
    -----
    The theorem of M. Seeger, "PAC-Bayesian generalisation error bounds for Gaussian process
    classification", Journal of Machine Learning Research 3, 2002, with the constant of A. Maurer,
    "A note on the PAC Bayesian theorem", arXiv:cs/0411099, 2004. It holds for all posteriors at
    once, also with training errors and label noise.
    """
    q = reals("empirical_error", empirical_error, low=0.0, high=1.0)
    m, kl, q, delta = checked(m, delta, kl=reals("kl", kl, low=0.0), empirical_error=q)
    budget = (kl + np.log(2) + np.log(m) / 2 - np.log(delta)) / m
    low = np.zeros(q.shape)
    high = np.minimum(1 - q, np.sqrt(budget / 2))  # Pinsker's inequality
    # Bisect the distance p - q down to neighboring doubles, and round it up.
    for _ in range(1100):
        middle = (low + high) / 2
        if ((middle <= low) | (middle >= high)).all():
            break
        with np.errstate(divide="ignore"):
            value = -special.xlog1py(q, middle / np.where(q > 0, q, 1)) - special.xlog1py(
                1 - q, -middle / np.where(q < 1, 1 - q, 1)
            )
        inside = value <= budget
        low, high = np.where(inside, middle, low), np.where(inside, high, middle)
    # Without errors there is a closed form.
    return plain(np.where(q == 0, -np.expm1(-budget), np.minimum(q + high, 1.0)))


def cap_log_fraction(n: ArrayLike, angle: ArrayLike) -> Numbers:
    r"""Return ln of the volume of a spherical cap, relative to the sphere's.

    Parameters
    ----------
    n : array-like of whole numbers
        Dimension of the space, at least 1.
    angle : array-like of float
        Radius :math:`\Psi` of the cap in radians, in (0, pi]: that of the largest ball about a
        weight vector with the margin :math:`\gamma` is :math:`\arcsin\gamma`; the points at a
        distance of at most :math:`\gamma`, as in the paper, have :math:`\cos\Psi = 1 - \gamma^2/2`.

    Returns
    -------
    float or ndarray
        :math:`\ln \int_0^\Psi \sin^{n-2}\theta\,d\theta - \ln \int_0^\pi
        \sin^{n-2}\theta\,d\theta`, finite for all arguments.

    Notes
    -----
    Herbrich et al. (1999), Lemma 1, where the upper integral runs to pi, not :math:`2\pi` as
    printed. Up to a right angle the share is :math:`\frac12 I_{\sin^2\Psi}\left(\frac{n-1}2,
    \frac12\right)` by the regularized incomplete beta function; beyond it, it is 1 minus that of
    the opposite cap.

    Examples
    --------
    A cap of 60 degrees takes a quarter of the sphere in three dimensions, and less in more:

    >>> cap_log_fraction([3, 100, 1_000_000], np.pi / 3).round(3).tolist()
    [-1.386, -16.794, -143848.026]
    """
    radius = positive("angle", angle, high=float(np.pi))
    n, angle = checks.broadcast(n=whole("n", n, low=1), angle=radius)
    # For n = 1 the sphere is two points, one of them within any angle below pi: see below.
    a = np.where(n == 1, 1.0, (n - 1) / 2)
    sine, cosine = np.sin(angle), np.cos(angle)
    # The smaller of the two opposite caps, by the form whose argument is not close to 1.
    half = np.where(
        sine**2 < 0.5, special.betainc(a, 0.5, sine**2), special.betaincc(0.5, a, cosine**2)
    )
    half /= 2
    with np.errstate(divide="ignore"):
        value = np.where(cosine >= 0, np.log(half), np.log1p(-half))
    small = (cosine > 0) & (half < _SMALLEST)
    if small.any():
        value[small] = _log_small_cap(a[small], sine[small], cosine[small])
    value = np.where(n == 1, np.where(angle < np.pi, -np.log(2), 0.0), value)
    return plain(value + 0.0)  # no -0


def _log_small_cap(a: Floats, sine: Floats, cosine: Floats) -> Floats:
    """Return ln of half the incomplete beta function I_{sine^2}(a, 1/2), where it is tiny."""
    # Its continued fraction (NIST Digital Library of Mathematical Functions, 8.17.22) by Lentz's
    # algorithm converges fast for x well below (a + 1) / (a + 5/2). hyp2f1 fails for large a.
    b, x = 0.5, sine**2
    front = 2 * a * np.log(sine) + np.log(cosine) - np.log(2 * a) - special.betaln(a, b)
    tail, forward, backward = np.ones_like(a), np.ones_like(a), np.zeros_like(a)
    for step in range(1, _STEPS + 1):
        k = step // 2
        if step % 2:
            term = -((a + k) / (a + 2 * k)) * ((a + b + k) / (a + 2 * k + 1)) * x
        else:
            term = (k / (a + 2 * k - 1)) * ((b - k) / (a + 2 * k)) * x
        backward = 1 / (1 + term * backward)
        forward = 1 + term / forward
        change = forward * backward
        tail *= change
        if (np.abs(change - 1) < 1e-15).all():
            break
    else:  # pragma: no cover - all values of this form converge in fewer steps
        raise RuntimeError(f"the continued fraction did not converge in {_STEPS} steps")
    log: Floats = front - np.log(tail)
    return log


def hoeffding_samples(
    n: ArrayLike,
    epsilon: ArrayLike,
    eta: ArrayLike = 0.05,
    *,
    low: ArrayLike = -1.0,
    high: ArrayLike = 1.0,
) -> Numbers:
    r"""Return the number of independent draws for a mean of vectors of given accuracy.

    Parameters
    ----------
    n : array-like of whole numbers
        Number of components of the vectors, at least 1; for dual coefficients one per example.
    epsilon : array-like of float
        Distance from the true mean, positive.
    eta : array-like of float, default=0.05
        Probability in (0, 1) that the distance is exceeded.
    low, high : array-like of float, default=-1.0 and 1.0
        Interval of all components, ``low < high``: [-1, 1] for unit weight vectors.

    Returns
    -------
    float or ndarray
        The smallest whole number above :math:`\frac{n (b-a)^2}{2\epsilon^2} \ln\frac{2n}\eta` for
        the interval [a, b]. Far fewer suffice, since the components cannot all be large.

    Notes
    -----
    Lemma 18.1, Eqs. 18.13, 18.29 and 18.31, of P. Ruján and M. Marchand, "Computing the Bayes
    Kernel Classifier", in Advances in Large Margin Classifiers, MIT Press, 2000: Hoeffding's
    inequality for each component and a union bound. The effective number of a billiard's draws is
    ``BilliardResult.ess``.
    """
    n, epsilon, eta, low, high = checks.broadcast(
        n=whole("n", n, low=1),
        epsilon=positive("epsilon", epsilon),
        eta=probability("eta", eta),
        low=reals("low", low),
        high=reals("high", high),
    )
    if not (low < high).all():
        i = tuple(np.argwhere(low >= high)[0])
        raise ValueError(f"low must be below high; got {low[i]:.10g} and {high[i]:.10g}")
    with np.errstate(over="ignore"):
        draws = n * ((high - low) / epsilon) ** 2 / 2 * (np.log(2 * n) - np.log(eta))
    if not np.isfinite(draws).all():
        raise ValueError(
            "epsilon must not be so small against high - low that the number of draws overflows; "
            f"got {float(epsilon[~np.isfinite(draws)].flat[0]):.3g}"
        )
    return plain(np.floor(draws) + 1)
