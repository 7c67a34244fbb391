r"""Expectation propagation: a fast, differentiable approximation of the evidence.

The evidence of labels :math:`y` under :math:`f \sim N(0, K)` and
:math:`P(y_i | f_i) = \epsilon_i + s\,\Phi(y_i f_i / \sqrt{\lambda_i})` has no closed form. Here
:math:`\epsilon_i` is the probability that an example of the other class has this label, and
:math:`s = 1 - \epsilon_- - \epsilon_+`. Expectation propagation (Minka, 2001; Rasmussen and
Williams, *Gaussian Processes for Machine Learning*, 2006, Sections 3.6 and 5.5.2) gives a
deterministic approximation with derivatives.

All sites are updated in parallel, so that a sweep needs one factorization. Where many examples are
alike, each site makes a correction that one of them alone would have to make: the sweeps overshoot,
and may cycle. Steps are therefore damped after one that was turned back, and extrapolated near the
fixed point (Anderson acceleration; Walker and Ni, SIAM Journal on Numerical Analysis 49, 2011).

With label noise the likelihood is not log-concave: sites of examples that seem mislabeled have
negative precisions. With these the evidence is within half a nat of the exact one; truncated at
zero they would change it by many nats.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import linalg, special

from bayespoint.base.validation import Floats
from bayespoint.tuning.approximation import Approximation

_SWEEPS = 60  # largest number of sweeps; with label noise twice as many
_DAMPING = 0.7  # factor on the step size of the sites after a sweep that turns the one before back
_SMALLEST_STEP = 0.1  # smallest step size of the sites
_NOISY_STEP = 0.5  # first step size of the sites with label noise; without it is 1
_NEAR = 0.5  # change of ln Z in nats below which the steps are extrapolated
_EARLIER = 3  # number of earlier sweeps from which they are extrapolated
_KEPT = 0.3  # smallest part of a precision that an extrapolation keeps

_RESIDUAL = 100.0
"""Largest squared distance of the sites from their update, in units of the posterior and relative
to the change of ln Z at which to stop."""

_CHANGE = 1e-4  # change of ln Z at which to stop, nats
_FLAT = 1e-10  # smallest precision of a site or cavity that must be positive

_CANCELED = 1e-7
"""Product of site precision and posterior variance below which cancellation makes it inaccurate,
and the variance is computed in another way."""

_SMALLEST = 1e-14
"""Smallest posterior variance relative to the prior's; smaller ones are rounding errors."""

_LOG_NORMAL = -0.5 * np.log(2 * np.pi)


@dataclass(frozen=True, eq=False)
class Sites:
    """Gaussian factors that approximate the likelihood of each example."""

    precision: Floats
    """(m,) precisions."""

    shift: Floats
    """(m,) precisions times means."""


class _Path:
    """The last sweeps of a fixed-point iteration, from which the next point is extrapolated."""

    def __init__(self) -> None:
        self.points: list[Floats] = []
        self.residuals: list[Floats] = []

    def next(self, point: Floats, residual: Floats, units: Floats, size: float) -> Floats:
        """Return the point after `point`, at which the update is `residual` away.

        It is the affine combination of the sweeps so far of the smallest residual, measured in
        `units`, plus `size` times this residual.
        """
        self.points = [*self.points[-_EARLIER:], point]
        self.residuals = [*self.residuals[-_EARLIER:], residual]
        following = point + size * residual
        if len(self.points) == 1:
            return following
        moves, changes = np.diff(self.points, axis=0), np.diff(self.residuals, axis=0)
        share = np.linalg.lstsq((changes * units).T, residual * units, rcond=1e-6)[0]
        return np.asarray(following - share @ (moves + size * changes))


class _NormalPosterior:
    """The Gaussian posterior of f under a prior and sites."""

    def __init__(self, gram: Floats, sites: Sites) -> None:
        self.gram, self.sites = gram, sites
        self.log_concave = bool(sites.precision.min() > 0)
        if self.log_concave:
            root = np.sqrt(sites.precision)
            matrix = gram * root
            matrix *= root[:, None]
            matrix.flat[:: len(root) + 1] += 1.0
            self.root = root
            # LAPACK overwrites the transpose of an array in C order without a copy.
            factor = linalg.cholesky(matrix.T, lower=True, overwrite_a=True, check_finite=False)
            self.inverse, _ = linalg.lapack.dtrtri(factor, lower=1, overwrite_c=1)
            # K - K S^1/2 B^-1 S^1/2 K with B = I + S^1/2 K S^1/2 is S^-1/2 (I - B^-1) S^-1/2.
            product = 1.0 - np.einsum("ij,ij->j", self.inverse, self.inverse)
            self.variance = product / sites.precision
            rounded = np.flatnonzero(product < _CANCELED)
            if len(rounded):
                half = linalg.blas.dtrmm(
                    1.0, self.inverse, (gram[rounded] * root).T, lower=1, overwrite_b=1
                )
                squares = np.einsum("ij,ij->j", half, half)
                self.variance[rounded] = gram.diagonal()[rounded] - squares
            prior = gram @ sites.shift
            half = linalg.blas.dtrmv(self.inverse, root * prior, lower=1)
            solved = linalg.blas.dtrmv(self.inverse, half, lower=1, trans=1, overwrite_x=1)
            self.mean = prior - gram @ (root * solved)
            self.half_log_det = -float(np.log(self.inverse.diagonal()).sum())
            self.proper = True
            np.maximum(self.variance, _SMALLEST * gram.diagonal(), out=self.variance)
            return
        # The posterior is proper if all eigenvalues of I + K S are positive. Then the determinant
        # and the variances are positive, too.
        matrix = gram * sites.precision
        matrix.flat[:: len(matrix) + 1] += 1.0
        self.lu = linalg.lu_factor(matrix, overwrite_a=True, check_finite=False)
        covariance = linalg.lu_solve(self.lu, gram, check_finite=False)
        self.variance = covariance.diagonal().copy()
        self.mean = covariance @ sites.shift
        pivots = self.lu[0].diagonal()
        swaps = np.count_nonzero(self.lu[1] != np.arange(len(pivots)))
        negative = np.count_nonzero(pivots < 0) + swaps
        self.half_log_det = float(0.5 * np.log(np.abs(pivots)).sum())
        self.proper = bool(negative % 2 == 0 and self.variance.min() > 0)

    def between_sites(self) -> Floats:
        """Return (K + S^-1)^-1."""
        if self.log_concave:
            half, _ = linalg.lapack.dlauum(self.inverse, lower=1)
            # Above the diagonal, `half` has the zeros of the factor.
            inverse = half + half.T
            inverse.flat[:: len(half) + 1] *= 0.5
            inverse *= self.root
            inverse *= self.root[:, None]
        else:
            inverse = linalg.lu_solve(self.lu, np.eye(len(self.mean)), check_finite=False)
            inverse *= self.sites.precision[:, None]
        return np.asarray(inverse)


@np.errstate(over="ignore", divide="ignore", invalid="ignore")
def approximate(
    gram: Floats,
    y: Floats,
    softness: Floats,
    *,
    noise: tuple[float, float] = (0.0, 0.0),
    start: Sites | None = None,
    derivatives: bool = False,
    change: float = _CHANGE,
) -> Approximation:
    """Return the expectation-propagation evidence of labels -1 and +1.

    `gram` is the (m, m) covariance of f, without the (m,) positive `softness`, and `noise` the
    probability of a wrong label for truly negative and for truly positive examples. `start` are
    sites of a similar setting, which are not changed. With `derivatives` there is `by_gram`. The
    sweeps end when the evidence changes by less than `change` nats. Raises LinAlgError if `gram` is
    far from positive semidefinite.
    """
    m, noisy = len(y), any(noise)
    sites = Sites(np.full(m, _FLAT), np.zeros(m)) if start is None else start
    lowest = -np.inf if noisy else _FLAT
    size = _NOISY_STEP if noisy else 1.0
    floor, span = np.where(y > 0, noise[0], noise[1]), 1.0 - noise[0] - noise[1]
    log_floor = np.log(floor)
    before, value, converged = -np.inf, -np.inf, False
    moved, path = 0.0, _Path()
    for sweep in range(2 * _SWEEPS if noisy else _SWEEPS):
        if sweep == _SWEEPS:
            size *= 0.5  # oscillating sites may converge with smaller steps
        posterior = _NormalPosterior(gram, sites)
        if not posterior.proper:
            # Go halfway to flat sites, for which the posterior is proper.
            sites, path = Sites(0.5 * sites.precision, 0.5 * sites.shift), _Path()
            continue
        mean, variance = posterior.mean, posterior.variance
        cavity_precision = np.maximum(1 / variance - sites.precision, _FLAT)
        cavity_variance = 1 / cavity_precision
        cavity_mean = cavity_variance * (mean / variance - sites.shift)
        scale = np.sqrt(softness + cavity_variance)
        z = y * cavity_mean / scale
        log_normal = special.log_ndtr(z)
        log_z = np.logaddexp(log_floor, np.log(span) + log_normal) if noisy else log_normal
        slope = y / scale * span * np.exp(-0.5 * z**2 + _LOG_NORMAL - log_z)
        curvature = slope**2 + slope * y * z / scale
        total = np.maximum(cavity_precision + sites.precision, _FLAT)
        mixed = sites.precision * cavity_mean - 2 * sites.shift
        value = float(
            log_z.sum()
            + 0.5 * np.log(total * cavity_variance).sum()
            - posterior.half_log_det
            + 0.5 * sites.shift @ mean
            - 0.5 * (sites.shift**2 / total).sum()
            + 0.5 * (cavity_mean * cavity_precision / total * mixed).sum()
        )
        if not np.isfinite(value):
            break
        step, before = value - before, value
        rest = np.maximum(1 - cavity_variance * curvature, 1e-10)
        precision = np.maximum(curvature / rest, lowest)
        shift = (slope + cavity_mean * curvature) / rest
        at = np.concatenate([sites.precision, sites.shift])
        residual = np.concatenate([precision, shift]) - at
        units = np.concatenate([variance, np.sqrt(variance)])
        tolerance = change * max(1.0, 1e-3 * abs(value))
        if abs(step) < tolerance and ((units * residual) ** 2).sum() < _RESIDUAL * tolerance:
            converged = True
            break
        if np.isfinite(step):
            if step * moved < 0 and abs(step) > 0.5 * abs(moved):
                size = max(size * _DAMPING, _SMALLEST_STEP)
            moved = step
        if abs(step) > _NEAR or sweep >= _SWEEPS:
            path = _Path()
        following = path.next(at, residual, units, size)
        if not noisy:  # an extrapolated precision stays positive
            least = np.maximum(_KEPT * np.minimum(sites.precision, precision), lowest)
            np.maximum(following[:m], least, out=following[:m])
        sites = Sites(following[:m], following[m:])
    if not np.isfinite([value, sites.precision.sum(), sites.shift.sum()]).all():
        # The matrix is not positive semidefinite, or it makes the labels impossible.
        by_gram = np.zeros((m, m)) if derivatives else None
        return Approximation(-np.inf, np.zeros(m), np.zeros(2), by_gram, sites, False)
    by_softness = -0.5 * slope * cavity_mean / scale**2
    right = np.exp(log_normal - log_z)
    wrong = np.exp(special.log_ndtr(-z) - log_z)
    by_noise = np.array(
        [np.where(y > 0, wrong, -right).sum(), np.where(y < 0, wrong, -right).sum()]
    )
    by_gram = None
    if derivatives:
        inverse = posterior.between_sites()
        b = sites.shift - inverse @ (gram @ sites.shift)
        by_gram = 0.5 * (np.outer(b, b) - inverse)
    return Approximation(value, by_softness, by_noise, by_gram, sites, converged)
