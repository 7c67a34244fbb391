r"""The likelihood of ordered classes: the place of one function with noise among thresholds.

Classes are the intervals between thresholds :math:`t_1 < ... < t_{K-1}` (Chu and Ghahramani,
"Gaussian processes for ordinal regression", Journal of Machine Learning Research 6, 2005, with
noise of variance :math:`\lambda`). A priori the thresholds are independent and normal, but for
their order, with the mean variance of a latent value: then all classes are equally probable. The
engine samples them with the function, as coordinates with walls between them.

Functions of a likelihood are here the differences :math:`g_k = f - t_k`, which fall with k, and
:math:`P(y \ge k) = \Phi(\rho\,g_k / s_*)` in the notation of `bayespoint.likelihood.two_classes`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special

from bayespoint.base.validation import Floats
from bayespoint.engine import likelihood as engine_likelihood
from bayespoint.engine.likelihood import Trials
from bayespoint.engine.problem import Problem
from bayespoint.engine.walls import joined
from bayespoint.kernels.explicit import Gram
from bayespoint.likelihood.several_classes import RARE, TINY, MoreClasses, with_lengths
from bayespoint.likelihood.two_classes import (
    LARGEST_Z,
    Codes,
    Inverse,
    of_variance,
    spread,
)
from bayespoint.results.lengths import Lengths


@dataclass(frozen=True)
class OrderedClasses(MoreClasses):
    """More than two classes in an order, with one function and thresholds."""

    rule: str = "probability"  # the class that is predicted: "probability", "median" or "mean"
    variance: float = 1.0  # variance of the thresholds a priori, for landmarks

    n_values = 2

    @property
    def n_functions(self) -> int:
        """Number of differences between the function and a threshold."""
        return self.n_classes - 1

    n_thresholds = n_functions

    @property
    def log_orders(self) -> float:
        """Logarithm of the number of orders of the thresholds, of which one is possible."""
        return math.lgamma(self.n_classes)

    def dimension(self, r: int) -> int:
        """Return the number of weights: of r features, then the thresholds by their deviation."""
        return r + self.n_functions

    def problem(
        self,
        gram: Gram,
        codes: Codes,
        softness: Floats,
        offset: float,
        inverse: Inverse = None,
        *,
        variance: float | None = None,
    ) -> Problem:
        """Return the engine's problem: the thresholds are coordinates after those of the examples.

        `variance` is that of the thresholds. None: the mean of the latent values at the examples.
        """
        m, n = len(codes), self.n_functions
        if variance is None:
            variance = float((gram.diagonal() + softness).mean()) + offset
        larger = np.zeros((m + n, m + n))
        larger[:m, :m] = gram
        larger[:m, :m] += offset
        index, thresholds = np.arange(m), m + np.arange(n)
        above, below = codes > 0, codes < n
        walls = joined(
            [
                (index[above], m + codes[above] - 1, index[above]),
                (m + codes[below], index[below], index[below]),
                (thresholds[1:], thresholds[:-1], np.full(n - 1, -1)),
            ]
        )
        if inverse is not None:
            factor, diagonal = inverse
            wider = factor.bordered(np.zeros((n, m)), variance * np.eye(n))
            inverse = wider, np.append(diagonal, np.full(n, 1 / variance))
        labels = np.append(codes, np.full(n, -1)).astype(np.int64)
        given = np.append(softness, np.full(n, variance)), 0.0, inverse, self.n_classes, walls
        return Problem(larger, labels, *given)

    def log_classes(self, z: Floats) -> Floats:
        """Return the (n, n_classes) log probabilities from (n, n_functions) decision values."""
        ends = np.full((len(z), 1), np.inf)
        high, low = np.concatenate([ends, z], axis=1), np.concatenate([z, -ends], axis=1)
        turned = low > 0  # where the smaller tails are
        high, low = np.where(turned, -low, high), np.where(turned, -high, low)
        log_high, log_low = special.log_ndtr(high), special.log_ndtr(low)
        with np.errstate(divide="ignore", invalid="ignore"):
            found = log_high + np.log1p(-np.exp(np.minimum(log_low - log_high, 0.0)))
        return np.asarray(np.where(np.isnan(found), -np.inf, found))

    def log_shares(self, p: Floats) -> Floats:
        """Return the logarithms of probabilities of classes, from the (n, n_functions) of above."""
        ends = np.ones((len(p), 1))
        each = -np.diff(np.concatenate([ends, p, 0 * ends], axis=1), axis=1)
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(np.maximum(each, 0.0)))

    def decision(self, log_p: Floats) -> Floats:
        """Return the (n, n_functions) decision values of log probabilities of classes."""
        log_p = log_p - special.logsumexp(log_p, axis=1, keepdims=True)
        below = np.logaddexp.accumulate(log_p, axis=1)[:, :-1]
        above = np.logaddexp.accumulate(log_p[:, ::-1], axis=1)[:, -2::-1]
        near = above < math.log(0.5)
        return np.asarray(np.where(near, special.ndtri_exp(above), -special.ndtri_exp(below)))

    def weighted(self, z: Floats, class_weight: Floats) -> Floats:
        """Return the decision values for weights that multiply the probabilities of the classes."""
        return self.decision(self.log_classes(z) + np.log(class_weight))

    def log_code(self, z: Floats, codes: Codes) -> Floats:
        """Return the log probabilities of labels from (n_functions, n) decision values."""
        return np.asarray(self.observed(self.log_classes(z.T))[np.arange(len(codes)), codes])

    def winner(self, z: Floats) -> NDArray[np.intp]:
        """Return the (n,) indices of the classes predicted by decision values; ties go down."""
        if self.rule == "median":
            return np.asarray((z > 0).sum(axis=1))
        if self.rule == "mean":
            return np.asarray(np.ceil(special.ndtr(z).sum(axis=1) - 0.5).astype(np.intp))
        return np.asarray(self.log_classes(z).argmax(axis=1))

    def decision_values(
        self, values: Floats, center: Floats, variance: Floats, lengths: Lengths
    ) -> Floats:
        r"""Return the (n, n_functions) decision values :math:`z_k = \Phi^{-1}(P(y \ge k))`.

        The draws are shifted so that their mean is the center, which is more accurate. Of
        probabilities below 1e-3 the draws tell little: they are at least the smaller of this and
        that of normal latent values.
        """
        f = with_lengths(values, variance, lengths)
        f += (center - f.mean(axis=-1))[..., None]
        z = _quantiles(f, variance)
        rare = special.ndtri(RARE)
        for of_draws, g, h, shifted in zip(z, values, center, f, strict=True):
            if (rows := np.flatnonzero(np.abs(of_draws) > -rare)).size:
                total = spread(g[rows], lengths) + variance[rows]
                normal = np.abs(of_variance(h[rows], total)[:, 0])
                most = np.maximum(np.minimum(np.abs(of_draws[rows]), normal), -rare)
                of_draws[rows] = np.copysign(most, shifted[rows].mean(axis=1))
        return np.minimum.accumulate(z, axis=0).T

    def mixture(self, values: Floats, variance: Floats, lengths: Lengths) -> Floats:
        """Return the (n, n_functions) means over draws of the probabilities to be above."""
        f = with_lengths(values, variance, lengths)
        return _above(f, variance).T

    def votes(self, values: Floats) -> Floats:
        """Return the (n, n_functions) mean signs of the draws' differences."""
        return np.asarray(np.sign(values).mean(axis=-1).T)

    def left_out(
        self, heights: Floats, dual_coef: Floats, precision: Floats, codes: Codes, lengths: Lengths
    ) -> Floats:
        """Return the (n_functions, n) values, at most 8, from `heights`, (T, n_functions, n)."""
        f = (heights - dual_coef[:, None] / precision) * np.sqrt(precision)
        f *= lengths.quantiles(len(heights))[:, None, None]
        above, below = special.ndtr(f), special.ndtr(-f)
        ends = np.ones((len(f), 1, f.shape[2]))
        each = -np.diff(np.concatenate([ends, above, 0 * ends], axis=1), axis=1)
        own = np.take_along_axis(each, codes[None, None, :], axis=1)
        with np.errstate(divide="ignore"):
            own = np.exp(self.observed(np.log(np.maximum(own, 0.0))))
        weight = 1 / np.maximum(own, special.ndtr(-LARGEST_Z))
        weight /= weight.sum(axis=0)
        above, below = ((each * weight).sum(axis=0) for each in (above, below))
        z = np.where(above < 0.5, special.ndtri(above), -special.ndtri(below))
        return np.asarray(np.clip(z, -LARGEST_Z, LARGEST_Z))

    def log_given(self, values: NDArray[Any], variance: Floats) -> Floats:
        """Return the (n, n_draws, C) log probabilities of true classes given each draw."""
        z = np.moveaxis(values / np.sqrt(variance)[:, None], 0, -1)
        return self.log_classes(z.reshape(-1, len(values))).reshape(*z.shape[:2], -1)

    def thresholds(self, label: NDArray[Any]) -> Floats:
        """Return the n_functions quantiles of a normal variate by the shares of the labels."""
        shares = np.cumsum(np.bincount(label, minlength=self.n_classes))[:-1] / len(label)
        least = 0.5 / len(label)
        return np.asarray(special.ndtri(np.clip(shares, least, 1 - least)))

    # --- functions over landmarks: the place in the interval of the label, and half its width -----

    def first_weights(self, r: int, label: NDArray[Any]) -> Floats:
        """Return weights to start from: a function that is 0, and thresholds that rise."""
        rising = self.thresholds(label) + 0.01 * np.arange(self.n_functions)
        return np.concatenate([np.zeros(r), rising])

    @property
    def middles(self) -> Floats:
        """(n_classes, n_functions) The middle of each interval, or its only end, by thresholds."""
        ends = np.eye(self.n_classes, self.n_functions)
        ends += np.eye(self.n_classes, self.n_functions, -1)
        return np.asarray(ends / ends.sum(axis=1, keepdims=True))

    @property
    def widths(self) -> Floats:
        """(n_classes, n_functions) The widths of the intervals by thresholds; 0 of the outer."""
        widths = np.eye(self.n_classes, self.n_functions)
        widths -= np.eye(self.n_classes, self.n_functions, -1)
        widths[[0, -1]] = 0.0
        return widths

    def log_likelihoods(
        self,
        values: Sequence[NDArray[Any]],
        trials: Trials,
        labels: NDArray[np.uint32],
        counts: Floats | None,
        *,
        by_value: bool = False,
    ) -> Floats:
        """Return those of `engine.likelihood.two_classes`, with bounded intervals."""
        floor, span = self.floor_and_span
        given = np.full(len(labels), floor) if floor else None, span, counts, self._bounded(labels)
        return engine_likelihood.two_classes(values, trials, *given, by_value=by_value)

    def derivatives(self, values: Floats, labels: NDArray[np.uint32]) -> Floats:
        """Return (6, n) log likelihoods at (2, n) values c and h with their derivatives.

        These are the first by c and h, then the negative second by c, by both, and by h.
        """
        (c, h), bounded, (floor, span) = values, self._bounded(labels), self.floor_and_span
        # As in `log_classes`, from the smaller tails.
        high, low = np.where(bounded, h - np.abs(c), c), np.where(bounded, -h - np.abs(c), -np.inf)
        log_high = special.log_ndtr(high)
        with np.errstate(divide="ignore", invalid="ignore"):
            log_p = log_high + np.log(-np.expm1(np.minimum(special.log_ndtr(low) - log_high, 0.0)))
            log_p = np.log(floor + span * np.exp(log_p)) if floor else log_p
            log_p[bounded & ~(h > 0)] = -np.inf
        ends = np.stack([np.where(bounded, c + h, c), c - h])
        log_density = -0.5 * (ends**2 + math.log(2 * math.pi)) + math.log(span)
        possible = log_p > -np.inf
        log_density -= np.where(possible, log_p, 0.0)
        a, b = np.exp(log_density) * [possible, bounded & possible]
        aa, bb, ab = a * (ends[0] + a), b * (b - ends[1]), -a * b
        by_h = np.stack([a + b, aa - bb, aa + bb - 2 * ab]) * bounded
        return np.stack([log_p, a - b, by_h[0], aa + bb + 2 * ab, by_h[1], by_h[2]])

    def _bounded(self, labels: NDArray[Any]) -> NDArray[np.bool_]:
        """Return whether the intervals of labels have two ends."""
        return (labels > 0) & (labels < self.n_functions)


def _above(f: Floats, variance: Floats) -> Floats:
    """Return the (F, n) means over draws of P(f + noise > 0); without variance ties count half."""
    with np.errstate(over="ignore"):
        z = f / np.maximum(np.sqrt(variance), TINY)[:, None]
    return np.asarray(special.ndtr(z).mean(axis=-1))


def _quantiles(f: Floats, variance: Floats) -> Floats:
    """Return the normal quantiles of these means, accurate in both tails."""
    above, below = _above(f, variance), _above(-f, variance)
    near = above < below
    z: Floats = np.where(near, special.ndtri(above), -special.ndtri(below))
    return z
