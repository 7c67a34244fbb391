r"""Three laws: how the classes of a new row follow from its latent values.

A draw from version space, with dual coefficients :math:`\gamma`, is the direction of a draw from
the posterior. Its length :math:`\rho` is independent of it and has the chi distribution with as
many degrees of freedom as the span has dimensions. At a new point the latent value is :math:`\rho
h`, :math:`h = k_*^\top\gamma`, plus Gaussian noise of the variance :math:`s_*^2 = k(x, x) + \lambda
- k_*^\top A^{-1} k_*` (Rasmussen & Williams, *Gaussian Processes for Machine Learning*, 2006, Eq.
3.9 and Section 3.3). Probabilities are means over the draws.

Shapes: n points, T draws, C classes. `values` of draws have the shape (n_rows, n, T), the `center`
(n_rows, n); `variance` is the (n,) variance of the noise. Decision values z, (n, n_rows), are
quantiles of the normal distribution. The laws of observations are `bayespoint.engine.laws`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy import special

from bayespoint.base import validation
from bayespoint.base.stored import Stored
from bayespoint.base.validation import Floats, Indices, require_square
from bayespoint.engine.laws import largest_probabilities
from bayespoint.results.lengths import Lengths

LARGEST_Z = 8.0  # absolute value to which leave-one-out decision values are clipped
RARE = 1e-3  # probability below which some hundreds of draws tell little
_TINY = 1e-300  # standard deviation in place of zero
_BLOCK = 2**17  # number of values of Student's distribution function between two checks for Ctrl-C


@dataclass(frozen=True)
class Law(Stored):
    """How classes follow from latent values; the default is by quadrature over draws."""

    name: ClassVar[str]  # as in the engine
    by_moments: ClassVar[bool] = False  # whether decision values need two moments of f only

    def log_classes(self, z: Floats) -> Floats:
        """Return the (n, C) log probabilities of true classes from decision values."""
        raise NotImplementedError

    def decision(self, log_p: Floats) -> Floats:
        """Return the decision values of (n, C) log probabilities, which are scaled to sum to 1."""
        raise NotImplementedError

    def probabilities(self, f: Floats) -> Floats:
        """Return the (C, ...) probabilities of classes at (n_rows, ...) values over the noise's."""
        raise NotImplementedError

    def given_values(self, f: Floats, variance: Floats) -> Floats:
        """Return the `probabilities` at (n_rows, n, T) values before noise of this variance."""
        return self.probabilities(f / _deviation(variance))

    def log_given(self, f: Floats) -> Floats:
        """Return the logarithms of `probabilities`, (..., C)."""
        return np.moveaxis(log_of(self.probabilities(f)), 0, -1)

    def decision_values(
        self, values: Floats, center: Floats, variance: Floats, lengths: Lengths
    ) -> Floats:
        """Return the decision values of means over draws, shifted so that their mean is `center`.

        The center is more accurate than the mean of the draws.
        """
        raise NotImplementedError

    def mixture(self, values: Floats, variance: Floats, lengths: Lengths) -> Floats:
        """Return the (n, C) logarithms of means over draws of the probabilities given each."""
        f = _with_lengths(values, variance, lengths)
        return log_of(self.given_values(f, variance).mean(axis=-1)).T

    def given_direction(self, f: Floats, lengths: Lengths) -> Floats:
        """Return means over lengths of the `probabilities` at their multiples of f."""
        pairs = zip(*lengths.points(), strict=True)
        total: Any = sum(weight * self.probabilities(length * f) for length, weight in pairs)
        return total

    def votes(self, values: Floats) -> Floats:
        """Return the (n, n_rows) votes of the draws: mean signs, or shares of the classes."""
        return np.sign(values).mean(axis=-1).T

    def shares(self, votes: Floats) -> Floats:
        """Return the (n, C) shares of the draws for each class."""
        raise NotImplementedError

    def lead(self, votes: Floats) -> Floats:
        """Return the (n,) leads of the first class in votes, 0 where the draws disagree most."""
        return np.abs(votes).min(axis=1)

    def winner(self, z: Floats, rule: str) -> Indices:
        """Return the (n,) indices of the predicted classes."""
        if rule == "median":
            return (z > 0).sum(axis=1)
        if rule == "mean":
            return np.ceil(special.ndtr(z).sum(axis=1) - 0.5).astype(np.intp)
        return self.log_classes(z).argmax(axis=1)


class Interval(Law):
    r"""The place of one value among thresholds: rows are differences :math:`g_k = f - t_k`.

    They fall with k, and decision values are :math:`z_k = \Phi^{-1}(P(y \ge k))`.
    """

    name = "interval"

    def log_classes(self, z: Floats) -> Floats:
        ends = np.full((len(z), 1), np.inf)
        high, low = np.hstack([ends, z]), np.hstack([z, -ends])
        turned = low > 0  # where the smaller tails are
        high, low = np.where(turned, -low, high), np.where(turned, -high, low)
        log_high, log_low = special.log_ndtr(high), special.log_ndtr(low)
        with np.errstate(all="ignore"):
            log_p = log_high + np.log1p(-np.exp(np.minimum(log_low - log_high, 0.0)))
        return np.where(np.isnan(log_p), -np.inf, log_p)

    def decision(self, log_p: Floats) -> Floats:
        log_p = log_p - special.logsumexp(log_p, axis=1, keepdims=True)
        below = np.logaddexp.accumulate(log_p, axis=1)[:, :-1]
        above = np.logaddexp.accumulate(log_p[:, ::-1], axis=1)[:, -2::-1]
        near = above < math.log(0.5)
        return np.where(near, special.ndtri_exp(above), -special.ndtri_exp(below))

    def probabilities(self, f: Floats) -> Floats:
        return self._between(special.ndtr(f))

    def given_direction(self, f: Floats, lengths: Lengths) -> Floats:
        if not lengths.vary:
            return super().given_direction(f, lengths)
        return self._between(lengths.probability(math.sqrt(lengths.mean_square) * f))

    def _between(self, above: Floats) -> Floats:
        """Return the probabilities of classes from those to be above each threshold."""
        ends = np.ones((1, *above.shape[1:]))
        return np.maximum(-np.diff(np.concatenate([ends, above, 0 * ends]), axis=0), 0.0)

    def log_given(self, f: Floats) -> Floats:
        z = np.moveaxis(f, 0, -1)
        return self.log_classes(z.reshape(-1, len(f))).reshape(*z.shape[:-1], -1)

    def decision_values(
        self, values: Floats, center: Floats, variance: Floats, lengths: Lengths
    ) -> Floats:
        """Return decision values of means over shifted draws.

        Of probabilities below 1e-3 the draws tell little: they are at least the smaller of this and
        that of normal latent values.
        """
        f = _about(center, _with_lengths(values, variance, lengths))
        noisy = f / _deviation(variance)
        # Accurate in both tails.
        above, below = special.ndtr(noisy).mean(axis=-1), special.ndtr(-noisy).mean(axis=-1)
        z = np.where(above < below, special.ndtri(above), -special.ndtri(below))
        rare = special.ndtri(RARE)
        for of_draws, g, h, shifted in zip(z, values, center, f, strict=True):
            rows = np.flatnonzero(np.abs(of_draws) > -rare)
            normal = np.abs(of_moments(h[rows], spread(g[rows], lengths) + variance[rows]))
            most = np.maximum(np.minimum(np.abs(of_draws[rows]), normal), -rare)
            of_draws[rows] = np.copysign(most, shifted[rows].mean(axis=-1))
        return np.minimum.accumulate(z, axis=0).T

    def shares(self, votes: Floats) -> Floats:
        return self._between((1 + votes.T) / 2).T


class OneWall(Interval):
    r"""The sign of one value: one row, and the decision value of the second class."""

    name = "one wall"
    by_moments = True

    def log_classes(self, z: Floats) -> Floats:
        return np.hstack([special.log_ndtr(-z), special.log_ndtr(z)])

    def probabilities(self, f: Floats) -> Floats:
        p = np.empty((2, *f.shape[1:]))
        np.subtract(1.0, special.ndtr(f[0], out=p[1]), out=p[0])
        return p

    def decision_values(
        self, values: Floats, center: Floats, variance: Floats, lengths: Lengths
    ) -> Floats:
        r"""Return the decision values from two moments of f.

        :math:`z = M / \sqrt{V + s_*^2}` with the mean function's value M, the `center`, which is
        more accurate than the mean of the draws, and :math:`V = E\rho^2\,\overline{h^2} -
        (E\rho)^2\,\bar h^2` over the values h of unit draws. The absolute value of z is at most
        1e8, and z = 0 where all three are zero.
        """
        require_range(values, variance, center[0])
        return of_moments(center[0], spread(values[0], lengths) + variance)[:, None]

    def mixture(self, values: Floats, variance: Floats, lengths: Lengths) -> Floats:
        r"""Return the (n, 2) logarithms of means over draws of P(f > 0 | direction).

        With chi lengths it is :math:`F_{t,n}(\sqrt n\, h / s_*)`, with the distribution function of
        Student's t; where :math:`s_* = 0` the share of draws with h > 0, ties counted half.
        """
        require_range(values, variance)
        with np.errstate(all="ignore"):  # without variance infinite, or NaN for ties
            p = values[0] * (math.sqrt(lengths.mean_square) / np.sqrt(variance)[:, None])
        for rows in validation.blocks(len(p), _BLOCK // p.shape[1]):
            p[rows] = lengths.probability(p[rows])
        mean = np.nan_to_num(p, nan=0.5).mean(axis=1)
        with np.errstate(divide="ignore"):
            return np.stack([np.log1p(-mean), np.log(mean)], axis=1)


class LargestOf(Law):
    r"""The largest of several values: a row and a decision value :math:`\Phi^{-1}(P(c))` each.

    .. math:: P(c) = \int \varphi(v - f_c / s_*) \prod_{j \ne c} \Phi(v - f_j / s_*)\, dv
    """

    name = "largest"

    def log_classes(self, z: Floats) -> Floats:
        log_p = special.log_ndtr(z)
        total = special.logsumexp(log_p, axis=1, keepdims=True)
        even = np.full_like(log_p, -math.log(log_p.shape[1]))
        return np.subtract(log_p, total, out=even, where=np.isfinite(total))

    def decision(self, log_p: Floats) -> Floats:
        return quantiles(log_p.T).T

    def probabilities(self, f: Floats) -> Floats:
        return largest_probabilities(f.max(axis=0) - f)

    def decision_values(
        self, values: Floats, center: Floats, variance: Floats, lengths: Lengths
    ) -> Floats:
        """Return decision values of means over shifted draws.

        Of probabilities below 1e-3 the draws tell little: they are at least the smaller of this and
        :math:`P(f_c > f_j)` for the class j of the largest mean and normal latent values.
        """
        f = _about(center, _with_lengths(values, variance, lengths))
        log_p = log_of(self.given_values(f, variance).mean(axis=-1))
        rare = math.log(RARE)
        rows = np.flatnonzero((log_p < rare).any(axis=0))
        z = _against_first(f[:, rows], center[:, rows], variance[rows])
        log_p[:, rows] = np.maximum(log_p[:, rows], np.minimum(special.log_ndtr(z), rare))
        return quantiles(log_p).T

    def given_values(self, f: Floats, variance: Floats) -> Floats:
        """Return `probabilities`; without variance shares, ties in equal ones."""
        behind = f.max(axis=0) - f  # without variance all but the first are very far behind
        with np.errstate(over="ignore"):
            behind /= _deviation(variance)
        return largest_probabilities(behind)

    def votes(self, values: Floats) -> Floats:
        first = values == values.max(axis=0)
        return (first / first.sum(axis=0)).mean(axis=-1).T

    def shares(self, votes: Floats) -> Floats:
        return votes

    def lead(self, votes: Floats) -> Floats:
        ordered = np.sort(votes, axis=1)
        return ordered[:, -1] - ordered[:, -2]

    def winner(self, z: Floats, rule: str) -> Indices:
        return z.argmax(axis=1)


def log_of(p: Floats) -> Floats:
    """Return natural logarithms, minus infinity of 0."""
    with np.errstate(divide="ignore"):
        return np.log(p)


def spread(values: Floats, lengths: Lengths) -> Floats:
    """Return the (n,) variances V of latent values over (n, T) values of the draws."""
    second = np.einsum("ij,ij->i", values, values) / values.shape[1]
    first = lengths.mean * values.mean(axis=1)
    return np.maximum(lengths.mean_square * second - first**2, 0.0)


def of_moments(center: Floats, total: Floats) -> Floats:
    """Return the (n,) decision values from the center and :math:`V + s_*^2`."""
    require_square(np.maximum(np.abs(center), np.sqrt(total)))
    scale = np.maximum(total, 1e-16 * center**2)
    return np.divide(center, np.sqrt(scale), out=np.zeros_like(center), where=scale > 0)


def quantiles(log_p: Floats) -> Floats:
    r"""Return :math:`\Phi^{-1}` of log probabilities of classes (first axis), scaled to 1."""
    log_p = log_p - special.logsumexp(log_p, axis=0)
    z = special.ndtri_exp(log_p)
    first = log_p.argmax(axis=0)[None]
    rest = log_p.copy()
    np.put_along_axis(rest, first, -np.inf, axis=0)
    of_rest = -special.ndtri_exp(special.logsumexp(rest, axis=0, keepdims=True))
    near_one = np.take_along_axis(log_p, first, axis=0) > math.log(0.5)
    of_first = np.where(near_one, of_rest, np.take_along_axis(z, first, axis=0))
    np.put_along_axis(z, first, of_first, axis=0)
    return z


def _with_lengths(values: Floats, variance: Floats, lengths: Lengths) -> Floats:
    """Return latent values of draws with their lengths, without noise."""
    require_range(values, variance)
    return values * lengths.quantiles(values.shape[2])


def _about(center: Floats, f: Floats) -> Floats:
    """Return (n_rows, n, T) values of draws, moved so that their mean is the center."""
    f += (center - f.mean(axis=-1))[..., None]
    return f


def _deviation(variance: Floats) -> Floats:
    """Return the (n, 1) deviations of the noise, tiny in place of zero."""
    return np.maximum(np.sqrt(variance), _TINY)[:, None]


def _against_first(values: Floats, mean: Floats, variance: Floats) -> Floats:
    """Return the decision values of two moments for each class against that of largest mean."""
    first = mean.argmax(axis=0)
    points = np.arange(len(first))
    top, gap = values[first, points], mean - mean[first, points]
    scale = np.stack([((of_class - top) ** 2).mean(axis=-1) for of_class in values])
    scale = np.maximum(scale - gap**2, 0.0) + 2.0 * variance
    np.maximum(scale, 1e-16 * gap**2, out=scale)
    return np.divide(gap, np.sqrt(scale), out=np.zeros_like(gap), where=scale > 0)


def require_range(values: Floats, variance: Floats, mean: Floats | float = 0.0) -> None:
    """Raise ValueError if squares of f overflow or underflow, which would give a wrong z."""
    size = np.maximum(np.abs(mean), np.sqrt(variance))
    largest = np.maximum(values.max(axis=(0, 2)), -values.min(axis=(0, 2)))
    require_square(np.maximum(size, largest))
