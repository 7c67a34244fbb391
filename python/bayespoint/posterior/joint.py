r"""Decision values and probabilities of several classes, from draws of their weight vectors.

Each class has a weight vector, with independent prior distributions, and the label is the class of
the largest latent value.

A function common to all classes changes no label. A draw :math:`b` is therefore a direction with
class mean zero, with dual coefficients :math:`\gamma` of shape (n_classes, m). Its length
:math:`\rho` is independent of it and has the chi distribution with :math:`(C - 1)\,n` degrees of
freedom, for C classes and the dimension n of the examples' span.

In the notation of :mod:`bayespoint.posterior.predictive`, a new point has the latent values
:math:`\rho\,h_c` plus independent Gaussian noise of variance :math:`s_*^2` for each class, so that

.. math:: P(c) = \int \varphi(v - \rho h_c / s_*) \prod_{j \ne c} \Phi(v - \rho h_j / s_*)\, dv.

Here v is the largest value. :mod:`bayespoint.engine.largest` computes these integrals.
Probabilities are means over the draws.

The functions take the arguments of :mod:`bayespoint.posterior.predictive`, but `draws` of shape
(n_draws, n_classes, m), `center` of shape (n_classes, m), and the degrees of freedom. Arrays of
latent values have the shape (n_classes, n_points, n_draws).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy import special

from bayespoint.base.validation import Floats
from bayespoint.engine.largest import largest_probabilities
from bayespoint.posterior.predictive import (
    SampledPosterior,
    length_moments,
    mean_of_draws,
    product,
    require_square,
)

RARE = 1e-3
"""Probability below which some hundreds of draws tell little."""

_TINY = 1e-300
"""Standard deviation in place of zero."""

_GOLDEN = (math.sqrt(5.0) - 1.0) / 2.0


def chi_quantiles(freedom: int | None, n: int) -> Floats:
    """Return n values of the chi distribution: quantiles of a sequence that fills (0, 1) evenly.

    They are ones for None, for draws with their own lengths.
    """
    if freedom is None:
        return np.ones(n)
    level = (_GOLDEN * np.arange(1, n + 1)) % 1.0
    return np.asarray(np.sqrt(special.chdtri(freedom, level)))


def latent_values(k_star: Floats, variance: Floats, draws: Floats, freedom: int | None) -> Floats:
    """Return the latent values of draws of the posterior, without noise."""
    values = np.empty((draws.shape[1], len(k_star), len(draws)))
    for one, dual_coef in zip(values, np.moveaxis(draws, 1, 0), strict=True):
        one[:] = product(k_star, dual_coef.T)
    require_square(np.maximum(np.abs(values).max(axis=(0, 2)), np.sqrt(variance)))
    values *= chi_quantiles(freedom, len(draws))
    return values


def mixture_probabilities(values: Floats, variance: Floats, weights: Floats | None) -> Floats:
    """Return the (n_classes, n_points) probabilities, means of those given each draw.

    Without variance they are the shares of the draws, ties counted in equal parts.
    """
    behind = values.max(axis=0) - values
    # Without variance all but the first are very far behind.
    scale = np.maximum(np.sqrt(variance), _TINY)
    with np.errstate(over="ignore"):
        behind /= scale[:, None]
    return mean_of_draws(largest_probabilities(behind), weights)


def decision_values(
    k_star: Floats,
    variance: Floats,
    draws: Floats,
    center: Floats,
    center_norm: float,
    freedom: int | None,
    weights: Floats | None = None,
) -> Floats:
    r"""Return the (n_classes, n_points) decision values :math:`z_c = \Phi^{-1}(P(c))`.

    The draws are shifted so that their mean is the center, which is more accurate. Of probabilities
    below 1e-3 the draws tell little: they are at least the smaller of this and :math:`P(f_c > f_j)`
    for the class j of the largest mean and normal latent values.
    """
    values = latent_values(k_star, variance, draws, freedom)
    mean = length_moments(freedom)[0] * center_norm * product(k_star, center.T).T
    values += (mean - mean_of_draws(values, weights))[..., None]
    with np.errstate(divide="ignore"):
        log_p = np.log(mixture_probabilities(values, variance, weights))
    rare = math.log(RARE)
    rows = np.flatnonzero((log_p < rare).any(axis=0))
    if len(rows):
        z = _against_first(values[:, rows], mean[:, rows], variance[rows], weights)
        log_p[:, rows] = np.maximum(log_p[:, rows], np.minimum(special.log_ndtr(z), rare))
    return quantiles(log_p)


def _against_first(
    values: Floats, mean: Floats, variance: Floats, weights: Floats | None
) -> Floats:
    """Return the decision values of two moments for each class against that of largest mean."""
    first = mean.argmax(axis=0)
    points = np.arange(len(first))
    top, gap = values[first, points], mean - mean[first, points]
    scale = np.stack([mean_of_draws((one - top) ** 2, weights) for one in values])
    scale = np.maximum(scale - gap**2, 0.0) + 2.0 * variance
    np.maximum(scale, 1e-16 * gap**2, out=scale)
    z: Floats = np.divide(gap, np.sqrt(scale), out=np.zeros_like(gap), where=scale > 0)
    return z


def quantiles(log_p: Floats) -> Floats:
    r"""Return :math:`\Phi^{-1}` of probabilities of classes (first axis), after scaling them to 1.

    Probabilities are given as logarithms, and that near 1 follows from the others.
    """
    log_p = log_p - special.logsumexp(log_p, axis=0)
    z: Floats = special.ndtri_exp(log_p)
    first = log_p.argmax(axis=0)[None]
    rest = log_p.copy()
    np.put_along_axis(rest, first, -np.inf, axis=0)
    near_one = np.take_along_axis(log_p, first, axis=0) > math.log(0.5)
    own = np.where(
        near_one,
        -special.ndtri_exp(special.logsumexp(rest, axis=0, keepdims=True)),
        np.take_along_axis(z, first, axis=0),
    )
    np.put_along_axis(z, first, own, axis=0)
    return z


@dataclass(frozen=True, eq=False)
class JointPosterior(SampledPosterior):
    """The posterior of several classes."""

    @property
    def freedom(self) -> int | None:
        """Degrees of freedom of the length of a weight vector; None if the draws have their own."""
        return None if self.rank is None else (len(self.center) - 1) * self.rank

    def decision_values(self, k_star: Floats, variance: Floats) -> Floats:
        """Return the calibrated decision values, (n_points, n_classes)."""
        z = decision_values(
            k_star, variance, self.draws, self.center, self.center_norm, self.freedom, self.weights
        )
        return self.calibration * z.T

    def probability(self, k_star: Floats, variance: Floats) -> Floats:
        """Return the calibrated mixture form of the probabilities, (n_points, n_classes)."""
        values = latent_values(k_star, variance, self.draws, self.freedom)
        p = mixture_probabilities(values, variance, self.weights).T
        if self.calibration == 1:
            return p
        return np.asarray(special.ndtr(self.calibration * special.ndtri(p)))

    def values_of(self, draw: Floats, k_star: Floats, variance: Floats | None) -> Floats:
        """Return the decision values given a draw; without a `variance` the latent values."""
        if variance is None:
            return product(k_star, draw.T)
        return decision_values(k_star, variance, draw[None], draw, 1.0, self.freedom).T

    def votes(self, k_star: Floats) -> Floats:
        """Return the shares of the draws for each class, ties in equal parts."""
        n_draws, n_classes, m = self.draws.shape
        values = product(k_star, self.draws.reshape(-1, m).T).reshape(-1, n_draws, n_classes)
        first = values == values.max(axis=2, keepdims=True)
        shares = first / first.sum(axis=2, keepdims=True)
        return mean_of_draws(np.moveaxis(shares, 1, 2), self.weights)
