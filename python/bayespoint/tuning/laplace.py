r"""Laplace's approximation of the evidence of several classes: fast, with derivatives.

Each class has a function :math:`f_c \sim N(0, K)` and noise of variance :math:`\lambda_i`, and the
label is the class of the largest sum of both. Noise of Gumbel's distribution instead of a normal
one gives the softmax :math:`\pi` of :math:`f_c(i) / (\tau \sqrt{\lambda_i})`; with
:math:`\tau = \sqrt 2 / 1.702` the probabilities of two classes differ by less than 0.01.

The evidence of the softmax is approximated by a normal distribution at the mode (Rasmussen and
Williams, *Gaussian Processes for Machine Learning*, 2006, Sections 3.5 and 5.5.1): C + 1 Cholesky
factors of m rows for each step towards it.

With label noise the label of an example i is random with probability :math:`1 - r_i`, which is
approximated apart from the functions: the likelihood is :math:`\pi^{r_i}`, which keeps it
log-concave, and the evidence becomes a lower bound (mean field), maximized over :math:`r`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, special

from bayespoint.base.validation import Floats
from bayespoint.tuning.approximation import Approximation

_SQUARED_SCALE = 2 / 1.702**2
"""Squared scale of the softmax in units of the softness: 1.702 is the factor by which the logistic
function is nearest to the normal distribution function (Camilli, 1994)."""

_STEPS = 100  # largest number of steps to a mode
_CHANGE = 1e-6  # expected gain of the log posterior at which to stop, nats

_REUSE = 0.7
"""Largest ratio of the expected gains of two steps for which an old factor is used again. A step
costs O(C m^2), and a factor O(C m^3)."""

_SMALLEST_STEP = 1e-3  # smallest step size
_ROUNDS = 40  # largest number of rounds over the probabilities of random labels
_ROUND_CHANGE = 1e-3  # change of these probabilities at which to stop
_LAST_CHANGE = 0.1  # largest change of these probabilities after the last round
_SMALLEST = 1e-12  # smallest precision of the likelihood, which is divided by


_IN_PLACE: Any = {"overwrite_a": True, "check_finite": False}
"""LAPACK overwrites the transpose of an array in C order without a copy."""


@dataclass(frozen=True)
class Mode:
    """A mode, the starting point for similar settings."""

    dual: Floats
    """(n_classes, m) dual coefficients of the functions at the mode."""

    share: Floats
    """(m,) probabilities that a label is not random."""

    curvature: _Curvature | None = None
    """The curvature near the mode."""


class _Curvature:
    """The matrix :math:`M = W (I + K W)^{-1}` for the precision W of the likelihood.

    Of each example, W has the C x C block ``diag(d) - d d^T / sum(d)``. With
    ``E_c = (K + diag(1 / d_c))^-1`` and T their sum, M has the blocks ``E_c - E_c T^-1 E_c`` and
    ``-E_c T^-1 E_c'``, and ``|I + K W| = |T| prod_c |I + K diag(d_c)| / prod_i sum(d_i)``
    (Rasmussen and Williams, Eq. 3.43 to 3.47).
    """

    def __init__(self, gram: Floats, precision: Floats) -> None:
        self.precision, self.total = precision, precision.sum(axis=0)
        self.half_log_det = -0.5 * float(np.log(self.total).sum())
        self.by_class = []
        self.sum = np.zeros_like(gram)
        for d in precision:
            root = np.sqrt(d)
            matrix = gram * root
            matrix *= root[:, None]
            matrix.flat[:: len(root) + 1] += 1.0
            factor = linalg.cholesky(matrix.T, lower=True, **_IN_PLACE)
            self.half_log_det += float(np.log(factor.diagonal()).sum())
            half, _ = linalg.lapack.dpotri(factor, lower=1, overwrite_c=1)
            # Above the diagonal, `half` has the zeros of the factor.
            inverse = half + half.T
            inverse.flat[:: len(root) + 1] *= 0.5
            inverse *= root
            inverse *= root[:, None]
            self.by_class.append(inverse)
            self.sum += inverse
        self.factor = linalg.cholesky(self.sum.copy().T, lower=True, **_IN_PLACE)
        self.half_log_det += float(np.log(self.factor.diagonal()).sum())

    def times(self, right: Floats) -> Floats:
        """Return M times (n_classes, m) numbers."""
        each = np.stack([one @ x for one, x in zip(self.by_class, right, strict=True)])
        shared = linalg.cho_solve((self.factor, True), each.sum(axis=0), check_finite=False)
        return np.asarray(each - np.stack([one @ shared for one in self.by_class]))

    def details(self) -> tuple[Floats, Floats, Floats]:
        """Return parts of the posterior covariance S and of M.

        These are the variances S_cc of each example, the products of its C x C block of S with
        its d / sum(d), both of shape (n_classes, m), and the sum of the diagonal blocks of M.
        """
        inverse, _ = linalg.lapack.dtrtri(self.factor, lower=1)
        blocks = self.sum.copy()
        variance, product = np.empty_like(self.precision), np.empty_like(self.precision)
        # With V_c = L^-1 E_c K, in which E_c K is I - E_c / d_c, the blocks of S are
        # K - K E_c K + V_c^T V_c and V_c^T V_c'.
        weighted = inverse - self.factor.T / self.total  # the sum of V_c d_c / sum(d)
        for c, (own, d) in enumerate(zip(self.by_class, self.precision, strict=True)):
            half = linalg.blas.dtrmm(1.0, inverse, own.T, lower=1)
            blocks -= half.T @ half
            half /= -d
            half += inverse
            alone = (1.0 - own.diagonal() / d) / d
            variance[c] = alone + np.einsum("ij,ij->j", half, half)
            product[c] = alone * d / self.total + np.einsum("ij,ij->j", half, weighted)
        return variance, product, blocks


def approximate(
    gram: Floats,
    y: NDArray[np.intp],
    n_classes: int,
    softness: Floats,
    *,
    noise: float = 0.0,
    start: Mode | None = None,
) -> Approximation:
    """Return Laplace's approximation of the evidence of (m,) labels 0 to n_classes - 1.

    `gram` is the (m, m) covariance of the function of each class, without the (m,) positive
    `softness`. With the probability `noise` a label is any other class. `start` is the mode of a
    similar setting. Raises LinAlgError if `gram` is far from positive semidefinite.
    """
    scale = 1 / np.sqrt(_SQUARED_SCALE * softness)
    scaled = gram * scale
    scaled *= scale[:, None]
    m = len(y)
    if start is None:
        # From 1 the shares may stay at a maximum at which the functions explain all wrong labels.
        start = Mode(np.zeros((n_classes, m)), np.full(m, 0.5))
    wrong = noise / (n_classes - 1)
    right = 1 - noise - wrong
    share = start.share if noise else np.ones(m)
    for _ in range(_ROUNDS):
        found, by_share = _at_mode(scaled, y, share, start)
        start, converged = found.end, found.converged
        if not noise:
            break
        # The best probability of each label to be random: the bound's derivative by it is 0.
        following = special.expit(np.log(right / wrong) + by_share)
        following = np.maximum(following, _SMALLEST)
        change = float(np.abs(following - share).max())
        if change < _ROUND_CHANGE:
            break
        share = following
    else:  # the rounds may end slowly, at a bound that is hardly larger
        share = found.end.share
        converged = converged and change < _LAST_CHANGE
    value, by_noise = found.log_evidence, np.zeros(2)
    if noise:
        random = 1 - share
        value += float(share.sum() * np.log(right) + random.sum() * np.log(wrong))
        value += float((special.entr(share) + special.entr(random)).sum())
        by_noise += 0.5 * random.sum() / noise
        by_noise -= 0.5 * share.sum() * n_classes / (n_classes - 1) / right
    by_gram = found.by_gram
    assert by_gram is not None
    by_softness = -np.einsum("ij,ij->i", by_gram, scaled) / softness
    by_gram *= scale
    by_gram *= scale[:, None]
    return Approximation(value, by_softness, by_noise, by_gram, found.end, converged)


def _at_mode(
    gram: Floats, y: NDArray[np.intp], share: Floats, start: Mode
) -> tuple[Approximation, Floats]:
    """Return that for ``softmax(f) ** share`` without softness, and the derivatives by shares."""
    dual, values, top, converged = _mode(gram, y, share, start)
    p = special.softmax(values, axis=0)
    curvature = _Curvature(gram, np.maximum(share * p, _SMALLEST))
    variance, product, blocks = curvature.details()
    # The derivative of the log determinant by the values at the mode, and what it changes there.
    change = variance - 2 * product
    slope = -0.5 * share * p * (change - (p * change).sum(axis=0))
    moved = slope - curvature.times(slope @ gram)
    cross = moved.T @ dual
    by_gram = 0.5 * (dual.T @ dual - blocks + cross + cross.T)
    residual = -p
    residual[y, np.arange(len(y))] += 1.0
    by_share = np.log(p[y, np.arange(len(y))]) - 0.5 * (p * (variance - product)).sum(axis=0)
    by_share += ((moved @ gram) * residual).sum(axis=0)
    mode = Mode(dual, share, curvature)
    value, nothing = top - curvature.half_log_det, np.empty(0)
    return Approximation(value, nothing, nothing, by_gram, mode, converged), by_share


def _mode(
    gram: Floats, y: NDArray[np.intp], share: Floats, start: Mode
) -> tuple[Floats, Floats, float, bool]:
    """Return dual coefficients, values and log posterior at the mode, and if it converged."""
    # Newton's method, with a factor that is used again, even that of another setting, for as long
    # as the steps become shorter quickly.
    examples = np.arange(len(y))

    def log_posterior(dual: Floats, values: Floats) -> float:
        log_p = values[y, examples] - special.logsumexp(values, axis=0)
        return float(share @ log_p - 0.5 * np.vdot(dual, values))

    dual, curvature = start.dual, start.curvature
    values = dual @ gram
    top, origin = log_posterior(dual, values), np.zeros_like(dual)
    if log_posterior(origin, origin) > top:
        dual, values, curvature = origin, origin, None
        top = log_posterior(dual, values)
    before, fresh = np.inf, False
    for _ in range(_STEPS):
        p = special.softmax(values, axis=0)
        residual = -share * p
        residual[y, examples] += share
        residual -= dual
        if curvature is None:
            curvature = _Curvature(gram, np.maximum(share * p, _SMALLEST))
            fresh, before = True, np.inf
        step = residual - curvature.times(residual @ gram)
        change = step @ gram
        gain = 0.5 * float(np.vdot(residual, change))
        if abs(gain) < _CHANGE:
            return dual, values, top, True
        if not fresh and not 0 < gain < _REUSE * before:
            curvature = None
            continue
        size = 1.0
        while True:
            ahead = log_posterior(dual + size * step, values + size * change)
            if ahead > top or size < _SMALLEST_STEP:
                break
            size *= 0.5
        if size < 1 and not fresh:
            curvature = None
            continue
        dual, values, top = dual + size * step, values + size * change, ahead
        before, fresh = gain, False
    return dual, values, top, False
