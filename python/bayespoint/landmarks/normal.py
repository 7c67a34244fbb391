r"""The normal distribution nearest to a posterior.

It maximizes :math:`E_q \ln p(y | w) - KL(q, p(w))`, a lower bound of the log evidence, over normal
distributions q (Opper and Archambeau, 2009): Newton's steps from sums over blocks need a few
passes. A posterior that is sampled about this distribution mixes three to eight times as fast as
about the one at the mode.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from scipy import linalg
from scipy.special import logsumexp

from bayespoint.base.validation import Floats
from bayespoint.kernels.products import squares
from bayespoint.landmarks.block import Moments

STEPS = 50  # largest number of passes
_GAIN = 1e-3  # expected gain of the bound, in nats, at which to stop
_LOSS = 0.05  # loss of the bound in a pass, in nats, that may come from its few nodes
_NEAR = 0.5  # expected gain at which passes no longer go to the mode, and take expectations
_SMALLEST_STEP = 1e-3  # share of a step towards the mode that is always taken
_CLOSING = 0.5  # largest part of a gap between weights that must rise by which a step closes it
_SMALLEST_SHARE = 1 / 16  # least part of the way to a new covariance
_FIRST_SHARE = 0.5  # that in the first pass
_LARGER = 2.0  # largest growth of this part from pass to pass
_SMALLEST_PRECISION = 1.0  # least eigenvalue, the prior's: with less, means may run away
_DRAWS = 128  # draws by which distributions are compared
_CHANGE = 5e-3  # change of the log determinant of the covariance, by dimension, at which to stop


class Normal(NamedTuple):
    """A normal distribution of D dimensions that approximates a posterior."""

    mean: Floats  # (D,)
    root: Floats  # (D, D) upper triangle R: the covariance is R R^T
    bound: float  # lower bound of the log evidence, nats
    converged: bool  # whether the passes ended before their largest number

    @property
    def prior_term(self) -> float:
        """Minus the divergence from the prior, nats: the bound without the log likelihood."""
        return _of_covariance(self.root) - 0.5 * float(self.mean @ self.mean)

    @property
    def log_det_root(self) -> float:
        """Logarithm of the determinant of `root`."""
        return _log_det(self.root)


def widest(
    log_likelihoods: Callable[[Floats], Floats], normals: Sequence[Normal], seed: int
) -> Normal:
    """Return the normal distribution that covers most of a posterior.

    The evidence is estimated by importance sampling with the same few draws for all. Where a
    posterior has several parts the estimate is larger for a distribution that covers more of them,
    which the bound may put behind one that fits a small part well (Burda et al., 2016).
    """
    z = np.random.default_rng(seed).standard_normal((_DRAWS, len(normals[0].mean)))
    own = 0.5 * squares(z)

    def evidence(normal: Normal) -> float:
        w = normal.mean + z @ normal.root.T
        prior = -0.5 * squares(w)
        return float(logsumexp(log_likelihoods(w) + prior + own) + normal.log_det_root)

    return max(normals, key=evidence)


def approximate(
    moments: Callable[[Floats, Floats | None], Moments],
    mean: Floats,
    *,
    n_rising: int = 0,
    tol: float = 0.0,
    report: Callable[[int, float], object] | None = None,
    over: Callable[[], bool] = lambda: False,
) -> Normal:
    """Return the normal distribution nearest to a posterior.

    `moments` are those of the log likelihood, given the mean and the root of the covariance of w.
    The first passes go to the mode, from `mean`, that of a similar posterior, or zeros. The last
    `n_rising` weights rise, and the logarithms of the gaps between those of the mean are
    added to the bound. `tol` is the change of the bound in a pass, in nats, at which to stop
    earlier. `report` is called after each pass with its number and the bound; passes end, too, when
    the time is `over`.
    """
    dimension, root, size = len(mean), None, 1.0
    step = np.zeros(dimension)
    before, log_det, change, ratio = -math.inf, math.inf, 0.0, 0.0
    last, share = np.empty((0, 0)), _FIRST_SHARE
    best = Normal(mean, np.eye(dimension), -math.inf, False)
    for k in range(STEPS):
        if k and over():
            break
        found = moments(mean, root)
        bound, precision = found.value - 0.5 * float(mean @ mean), found.precision
        precision.flat[:: dimension + 1] += 1.0
        gradient, rising = found.slope - mean, slice(dimension - n_rising, None)
        gaps = np.diff(mean[rising])
        if len(gaps):  # their logarithms, as the law is exponential where the mode is a gap of 0
            across = np.diff(np.eye(n_rising), axis=0).T / gaps
            bound += float(np.log(gaps).sum())
            gradient[rising] += across.sum(axis=1)
            precision[rising, rising] += across @ across.T
        if root is None:
            if bound < before - 1e-9 * abs(before) and size > _SMALLEST_STEP:
                size /= 2
                mean = mean - size * step
                continue
        else:
            bound += _of_covariance(root)
            # Of an error e of the precision the whole way leaves (1 - c) e, which may be larger
            # and of the other sign. A part s leaves (1 - s c) e: s = 1 / c is best.
            # After a pass that lost, steps of the mean are shorter too.
            if bound < before - _LOSS and not n_rising:  # else a bound but for the gaps
                share, size = share / 2, size / 2
            else:
                share *= min(1 / (1 - ratio), _LARGER) if ratio < 1 else 1.0
                size = min(2 * size, 1.0)
            if bound > best.bound:
                best = Normal(mean, root, bound, False)
            share = min(max(share, _SMALLEST_SHARE), 1.0)
            if last.size:
                precision = share * precision + (1 - share) * last
        last = precision
        lower = _cholesky(precision)
        following = linalg.lapack.dtrtri(lower, lower=True)[0].T
        now = -_log_det(lower)
        step = following @ (following.T @ gradient)
        size = 1.0 if root is None else size
        closing = size * float((-np.diff(step[rising]) / gaps).max(initial=0.0))
        size /= max(1.0, closing / _CLOSING)
        mean = mean + size * step
        gain = 0.5 * float(gradient @ step)
        if report is not None:
            report(k + 1, bound)
        if root is None:
            near = gain < _NEAR
            before, root = (-math.inf, following) if near else (bound, None)
        else:
            small = _CHANGE * dimension * share
            good_enough = abs(bound - before) < tol * share * size
            if (gain < _GAIN and abs(now - log_det) < small) or good_enough:
                return Normal(mean, following, bound, True)
            before, root = bound, following
            moved = (now - log_det) / share  # relative to the part of the way that was gone
            ratio = moved / change if change and abs(now - log_det) > small else 0.0
            change = moved
        log_det = now
    return best if best.bound > -math.inf else Normal(mean, following, bound, False)


def _cholesky(precision: Floats) -> Floats:
    """Return the Cholesky factor, with eigenvalues raised if label noise has made one negative."""
    precision = 0.5 * (precision + precision.T)
    try:
        return linalg.cholesky(precision, lower=True, check_finite=False)
    except linalg.LinAlgError:
        values, vectors = linalg.eigh(precision)
        raised = (vectors * np.maximum(values, _SMALLEST_PRECISION)) @ vectors.T
        return linalg.cholesky(raised, lower=True, check_finite=False)


def _of_covariance(root: Floats) -> float:
    """Return what the covariance adds to the bound."""
    return _log_det(root) + 0.5 * (len(root) - float(np.vdot(root, root)))


def _log_det(root: Floats) -> float:
    return float(np.log(root.diagonal()).sum())
