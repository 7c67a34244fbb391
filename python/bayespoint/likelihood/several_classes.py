r"""The likelihood of several classes: the largest of one function for each, with noise.

A function common to all classes changes no label. A draw is therefore a direction with class mean
zero, with dual coefficients of shape (n_classes, m), and its length :math:`\rho` has the chi
distribution with :math:`(C - 1)\,n` degrees of freedom, n the dimension of the examples' span. With
independent noise of variance :math:`s_*^2` for each class

.. math:: P(c) = \int \varphi(v - \rho h_c / s_*) \prod_{j \ne c} \Phi(v - \rho h_j / s_*)\, dv

at a new point (:mod:`bayespoint.engine.likelihood`). Probabilities are means over the draws.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import special

from bayespoint.base.validation import Floats, require_square
from bayespoint.engine import likelihood as engine_likelihood
from bayespoint.engine.likelihood import NODES, Trials, largest_probabilities
from bayespoint.likelihood.two_classes import LARGEST_Z, Classes, Codes, quantiles
from bayespoint.results.lengths import Lengths

if TYPE_CHECKING:
    from typing_extensions import Self

RARE = 1e-3  # probability below which some hundreds of draws tell little
MOST_LEFT_OUT = 100  # largest number of draws of a leave-one-out prediction: integrals
TINY = 1e-300  # standard deviation in place of zero
_FAR = 11.0  # standard deviations behind the largest value at which an example's slope is kept


@dataclass(frozen=True)
class MoreClasses(Classes):
    """What more than two classes have in common, in an order or in none."""

    n_classes: int  # number of classes, at least 3
    noise: float = 0.0  # probability of a wrong label, any other with equal probability

    @property
    def label_noise(self) -> tuple[float, float]:
        """The rate, twice."""
        return self.noise, self.noise

    def with_noise(self, noise: tuple[float, float]) -> Self:
        """Return the same with another label noise."""
        return replace(self, noise=noise[0])

    @property
    def transparency(self) -> float:
        """P(label | another class) / P(label | own class)."""
        return self.noise / ((self.n_classes - 1) * (1 - self.noise))

    @property
    def floor_and_span(self) -> tuple[float, float]:
        """Probability of a label for another class, and what is gained for its own."""
        other = self.noise / (self.n_classes - 1)
        return other, 1.0 - self.noise - other

    def codes(self, index: Codes) -> Codes:
        """Return the indices."""
        return index

    def observed(self, log_p: Floats) -> Floats:
        """Return the log probabilities of observing each class, from those of the true ones.

        With the rate r of noise, p(c) becomes ``r / (C - 1) + (1 - r - r / (C - 1)) p(c)``.
        """
        if not self.noise:
            return log_p
        other = self.noise / (self.n_classes - 1)
        return np.logaddexp(math.log(other), math.log1p(-self.noise - other) + log_p)


@dataclass(frozen=True)
class SeveralClasses(MoreClasses):
    """More than two classes, with a function each; the functions sum to zero."""

    @property
    def n_functions(self) -> int:
        """Number of functions, one for each class."""
        return self.n_classes

    n_problems = n_values = n_functions

    def dimension(self, r: int) -> int:
        """Return the number of weights of functions of r features."""
        return r * (self.n_classes - 1)

    def winner(self, values: Floats) -> NDArray[np.intp]:
        """Return the (n,) indices of the classes of the largest values; a tie goes to the first."""
        return np.asarray(values.argmax(axis=1))

    def log_classes(self, z: Floats) -> Floats:
        """Return log probabilities from (n, n_classes) decision values, scaled to sum to 1."""
        return _normalized(special.log_ndtr(z))

    def log_shares(self, p: Floats) -> Floats:
        """Return the logarithms of (n, n_classes) probabilities, scaled to sum to 1."""
        with np.errstate(divide="ignore"):
            return _normalized(np.log(p))

    def decision(self, log_p: Floats) -> Floats:
        """Return the (n, n_classes) decision values."""
        return quantiles(log_p.T).T

    def log_code(self, z: Floats, codes: Codes) -> Floats:
        """Return the log probabilities of labels from (n_classes, n) decision values."""
        log_p = self.observed(_normalized(special.log_ndtr(z.T)))
        return np.asarray(log_p[np.arange(len(codes)), codes])

    def decision_values(
        self, values: Floats, center: Floats, variance: Floats, lengths: Lengths
    ) -> Floats:
        r"""Return the (n, n_classes) decision values :math:`z_c = \Phi^{-1}(P(c))`.

        The draws are shifted so that their mean is the center, which is more accurate. Of
        probabilities below 1e-3 the draws tell little: they are at least the smaller of this and
        :math:`P(f_c > f_j)` for the class j of the largest mean and normal latent values.
        """
        f = with_lengths(values, variance, lengths)
        f += (center - f.mean(axis=-1))[..., None]
        with np.errstate(divide="ignore"):
            log_p = np.log(_probabilities(f, variance))
        rare = math.log(RARE)
        rows = np.flatnonzero((log_p < rare).any(axis=0))
        if len(rows):
            z = _against_first(f[:, rows], center[:, rows], variance[rows])
            log_p[:, rows] = np.maximum(log_p[:, rows], np.minimum(special.log_ndtr(z), rare))
        return quantiles(log_p).T

    def mixture(self, values: Floats, variance: Floats, lengths: Lengths) -> Floats:
        """Return the (n, n_classes) means over draws of the probabilities given each."""
        return _probabilities(with_lengths(values, variance, lengths), variance).T

    def votes(self, values: Floats) -> Floats:
        """Return the (n, n_classes) shares of the draws for each class, ties in equal parts."""
        first = values == values.max(axis=0)
        return np.asarray((first / first.sum(axis=0)).mean(axis=-1).T)

    def left_out(
        self, heights: Floats, dual_coef: Floats, precision: Floats, codes: Codes, lengths: Lengths
    ) -> Floats:
        """Return the (n_classes, n) leave-one-out decision values, at most 8 in size."""
        values = np.moveaxis((heights - dual_coef / precision) * np.sqrt(precision), 1, 0)
        values *= lengths.quantiles(len(heights))[:, None]
        p = largest_probabilities(values.max(axis=0) - values)
        own = np.take_along_axis(p, codes[None, None, :], axis=0)
        with np.errstate(divide="ignore"):
            own = np.exp(self.observed(np.log(own)))
            p /= np.maximum(own, special.ndtr(-LARGEST_Z))
            z = quantiles(np.log(p.sum(axis=1)))
        return np.clip(z, -LARGEST_Z, LARGEST_Z)

    def log_given(self, values: NDArray[Any], variance: Floats) -> Floats:
        """Return the (n, n_draws, C) log probabilities of true classes given each draw."""
        f = values / np.sqrt(variance)[:, None]
        with np.errstate(divide="ignore"):
            return np.moveaxis(np.log(largest_probabilities(f.max(axis=0) - f)), 0, -1)

    # --- functions divided by the deviation of the noise ------------------------------------------

    def log_likelihoods(
        self,
        values: Sequence[NDArray[Any]],
        trials: Trials,
        labels: NDArray[np.uint32],
        counts: Floats | None,
        *,
        by_value: bool = False,
    ) -> Floats:
        """Return those of `engine.likelihood.several_classes`."""
        law = engine_likelihood.several_classes
        return law(values, trials, labels, self.noise, counts, by_value=by_value)

    def derivatives(self, f: Floats, labels: NDArray[np.uint32]) -> tuple[Floats, Floats, Floats]:
        """Return the log likelihood at (n_classes, n) values with its derivatives.

        These are (n_classes, n) slopes, and (n, n_classes, n_classes) negative second derivatives.
        """
        examples, classes = np.arange(len(labels)), np.arange(self.n_classes)
        own = f[labels, examples]
        behind = np.minimum(f.max(axis=0) - own, _FAR)
        u = NODES + behind[:, None]
        ahead = (own - f).T  # 0 for the class itself, which is left out below
        t = u[:, :, None] + ahead[:, None, :]
        log_below = special.log_ndtr(t)
        hazard = np.exp(-0.5 * (t * t + math.log(2 * math.pi)) - log_below)
        log_below[examples, :, labels] = 0.0
        hazard[examples, :, labels] = 0.0
        log_weight = log_below.sum(axis=2) - 0.5 * (u * u + math.log(2 * math.pi))
        log_p = special.logsumexp(log_weight, axis=1) + math.log(NODES[1] - NODES[0])
        weight = special.softmax(log_weight, axis=1)
        first = np.einsum("ik,ikc->ic", weight, hazard)
        second = -np.einsum("ikc,ikd->icd", weight[:, :, None] * hazard, hazard)
        second += first[:, :, None] * first[:, None, :]
        second[:, classes, classes] = np.einsum("ik,ikc->ic", weight, hazard * t) + first**2
        # From distances to values: f of the label minus f of another class.
        slope = -first
        slope[examples, labels] = first.sum(axis=1)
        rows = second.sum(axis=2)
        second[examples, labels, :] = -rows
        second[examples, :, labels] = -rows
        second[examples, labels, labels] = rows.sum(axis=1)
        if self.noise:
            other, span = self.floor_and_span
            noisy = np.log(other + span * np.exp(log_p))
            share = span * np.exp(log_p - noisy)
            slope *= share[:, None]
            second *= share[:, None, None]
            log_p = noisy
        return log_p, slope.T, second


def with_lengths(values: Floats, variance: Floats, lengths: Lengths) -> Floats:
    """Return latent values of draws with their lengths, without noise."""
    require_square(np.maximum(np.abs(values).max(axis=(0, 2)), np.sqrt(variance)))
    return values * lengths.quantiles(values.shape[2])


def _probabilities(values: Floats, variance: Floats) -> Floats:
    """Return the (n_classes, n) mean probabilities; without variance shares, ties in equal ones."""
    behind = values.max(axis=0) - values
    # Without variance all but the first are very far behind.
    scale = np.maximum(np.sqrt(variance), TINY)
    with np.errstate(over="ignore"):
        behind /= scale[:, None]
    return np.asarray(largest_probabilities(behind).mean(axis=-1))


def _against_first(values: Floats, mean: Floats, variance: Floats) -> Floats:
    """Return the decision values of two moments for each class against that of largest mean."""
    first = mean.argmax(axis=0)
    points = np.arange(len(first))
    top, gap = values[first, points], mean - mean[first, points]
    scale = np.stack([((one - top) ** 2).mean(axis=-1) for one in values])
    scale = np.maximum(scale - gap**2, 0.0) + 2.0 * variance
    np.maximum(scale, 1e-16 * gap**2, out=scale)
    z: Floats = np.divide(gap, np.sqrt(scale), out=np.zeros_like(gap), where=scale > 0)
    return z


def _normalized(log_p: Floats) -> Floats:
    """Scale the probabilities in each row to sum to 1, given and returned as logarithms."""
    total = special.logsumexp(log_p, axis=1, keepdims=True)
    even = np.full_like(log_p, -math.log(log_p.shape[1]))
    shared: Floats = np.subtract(log_p, total, out=even, where=np.isfinite(total))
    return shared
