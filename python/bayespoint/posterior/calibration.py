r"""Calibration: one factor on all decision values, from leave-one-out predictions.

The probabilities of a Gaussian process are correct if the data come from it. Otherwise the decision
values may rank points well, but be too small or too large. They are multiplied by the factor that
makes the labels most probable in leave-one-out predictions. These need no further fit.

Let h be the function values at the examples with their noise, of covariance :math:`C = K + \lambda
I`, and :math:`Q = C^{-1}`. Given all others, :math:`h_i` has the mean :math:`h_i - (Q h)_i /
Q_{ii}` and the variance :math:`1 / Q_{ii}`, and a draw of the posterior has :math:`Q h =
\rho\,\gamma`, its dual coefficients. The posterior without label i has the density of the posterior
divided by :math:`P(y_i | h_{-i})`, so that :math:`P(y_i | y_{-i})` is the harmonic mean of these
over the draws (Gelfand, Dey and Chang, 1992).

Several classes have one h each with the same Q, and the probabilities of the other classes are
means with the weights :math:`1 / P(y_i | h_{-i})`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import optimize, special

from bayespoint.base import validation
from bayespoint.base.validation import Floats
from bayespoint.engine.largest import largest_probabilities
from bayespoint.posterior.joint import chi_quantiles, quantiles
from bayespoint.posterior.predictive import chi_mean, observed, observed_class, share
from bayespoint.results import BilliardResult

LARGEST = 1000
"""Largest number of examples used."""

_MOST_DRAWS = 100
"""Largest number of draws used for several classes, whose probabilities are integrals."""

_COLUMNS = 128
"""Number of columns of the kernel matrix in one product."""

_LENGTHS = 8
"""Number of quantiles that represent the chi distribution of the weight vector's length."""

_MANY = 100
"""Dimension from which two points are used: one standard deviation below and above the mean."""

_SPREAD = 0.3
"""Standard deviation of the normal prior of the factor's logarithm, which keeps the factor near 1
for a few dozen examples."""

_RANGE = 2.0
"""Largest factor; the smallest is its inverse."""

_LARGEST_Z = 8.0
"""Absolute value to which decision values are clipped."""


class LeaveOneOutPredictions:
    """Leave-one-out predictions of the training examples, at most a random thousand.

    `gram` is the (m, m) kernel matrix without offset and softness, to which no reference is kept.
    `labels` are -1 and +1, or indices of several classes, of which the `result` then is. `noise` is
    the label noise of the negative and of the positive class; for several classes both are the
    same. `seed` is for the choice of examples.
    """

    def __init__(
        self,
        gram: Floats,
        offset: float,
        softness: Floats,
        result: BilliardResult,
        labels: NDArray[Any],
        noise: tuple[float, float],
        seed: int,
    ) -> None:
        m = len(gram)
        chosen = np.arange(m)
        if m > LARGEST:
            chosen = np.sort(np.random.default_rng(seed).permutation(m)[:LARGEST])
        draws = result.draws.astype(np.float64, copy=False)
        draws = draws.reshape(-1, *draws.shape[2:])
        self._joint = draws.ndim == 3
        if self._joint:
            draws = draws[:: -(-len(draws) // _MOST_DRAWS)]
        heights = np.empty((*draws.shape[:-1], len(chosen)))
        for part in validation.blocks(len(chosen), _COLUMNS):
            heights[..., part] = draws @ gram[:, chosen[part]]
        heights += offset * draws.sum(axis=-1, keepdims=True)
        heights += softness[chosen] * draws[..., chosen]
        self.examples, self.labels, self.noise = chosen, labels[chosen], noise
        self._precision: Floats | None = None
        self.heights, self.draws = heights, draws[..., chosen]

    @classmethod
    def of_functions(
        cls, values: Floats, variance: Floats, labels: NDArray[Any], noise: tuple[float, float]
    ) -> LeaveOneOutPredictions:
        """Return those of examples whose labels are independent given a function.

        `values` are the (n_draws, [n_classes,] n) values at the examples of functions drawn from
        the posterior, and `variance` is that of the noise.
        """
        made = cls.__new__(cls)
        made._joint = values.ndim == 3
        if made._joint:
            values = values[:: -(-len(values) // _MOST_DRAWS)]
        made.examples, made.labels, made.noise = np.arange(len(labels)), labels, noise
        made.heights, made.draws = values, np.zeros_like(values)
        made._precision = 1.0 / variance
        return made

    def values(self, inverse_diagonal: Floats | None = None) -> Floats:
        """Return the leave-one-out decision values: (n,), times the labels, or (n_classes, n).

        `inverse_diagonal` is the (m,) diagonal of the inverse of the matrix with offset and
        softness; None for those of functions.
        """
        if inverse_diagonal is None:
            assert self._precision is not None
            precision, m = self._precision, None
        else:
            precision, m = inverse_diagonal[self.examples], len(inverse_diagonal)
        if self._joint:
            return joint_leave_one_out(
                self.heights, self.draws, precision, self.labels, self.noise[0], m
            )
        return leave_one_out(self.heights, self.draws, precision, self.labels, self.noise, m)

    def factor(self, z: Floats) -> float:
        """Return the factor on decision values, `values`, that makes them most probable."""
        if self._joint:
            return best_joint_factor(z, self.labels, self.noise[0])
        return best_factor(z, self.labels, self.noise)

    def log_probabilities(self, z: Floats) -> Floats:
        """Return ln of the probability of each label, given the decision values."""
        if self._joint:
            log_p = observed_class(share(special.log_ndtr(z.T)), self.noise[0], len(z))
            return np.asarray(log_p[np.arange(len(self.labels)), self.labels])
        floor, log_span = _noise(self.labels, self.noise)
        return np.asarray(np.logaddexp(floor, log_span + special.log_ndtr(z)))


def log_leave_one_out(
    predictions: Sequence[LeaveOneOutPredictions], factors: Floats, values: Sequence[Floats]
) -> Floats:
    """Return ln of the probability of each example's label given all others.

    `values` are those of the problems, one or each class against the rest, and `factors` their
    calibration.
    """
    if len(predictions) == 1:
        return predictions[0].log_probabilities(factors[0] * values[0])
    labels = np.stack([one.labels for one in predictions])
    z = (factors[:, None] * np.stack(values) * labels).T
    seen = observed(special.log_ndtr(-z), special.log_ndtr(z), predictions[0].noise)[1]
    log_p = share(seen)
    return np.asarray(log_p[np.arange(labels.shape[1]), labels.argmax(axis=0)])


def leave_one_out(
    heights: Floats,
    draws: Floats,
    precision: Floats,
    labels: NDArray[Any],
    noise: tuple[float, float],
    n: int | None,
) -> Floats:
    r"""Return the leave-one-out decision values of examples, times their labels.

    These are z with :math:`\Phi(z)` the probability of the label before label noise, at most 8 in
    absolute value. `heights` are the (n_draws, n_examples) function values, noise included, of
    draws of unit length, `draws` their dual coefficients, `precision` the diagonal entries of
    :math:`C^{-1}`, and `n` is the dimension of the span, or None for draws with their own lengths.
    """
    z = labels * (heights - draws / precision) * np.sqrt(precision)
    floor, log_span = _noise(labels, noise)
    inverse = np.zeros(len(labels))
    lengths = _lengths(n)
    # Inverse probabilities may overflow: the result is clipped below.
    with np.errstate(over="ignore", divide="ignore"):
        for length in lengths:
            p = special.ndtr(length * z)
            p *= math.exp(log_span)
            p += np.exp(floor)
            np.divide(1.0, p, out=p)
            inverse += p.mean(axis=0) / len(lengths)
    right = (1 / inverse - np.exp(floor)) / math.exp(log_span)
    tail = special.ndtr(-_LARGEST_Z)
    return np.asarray(special.ndtri(np.clip(right, tail, 1.0 - 1e-15)))


def joint_leave_one_out(
    heights: Floats,
    draws: Floats,
    precision: Floats,
    labels: NDArray[Any],
    noise: float,
    n: int | None,
) -> Floats:
    """Return the (n_classes, n_examples) leave-one-out decision values of several classes.

    The parameters are those of `leave_one_out`, but `heights` and `draws` have the shape (n_draws,
    n_classes, n_examples), `labels` are indices of classes and `noise` is one rate.
    """
    values = np.moveaxis((heights - draws / precision) * np.sqrt(precision), 1, 0)
    freedom = None if n is None else (len(values) - 1) * n
    values *= chi_quantiles(freedom, len(draws))[:, None]
    p = largest_probabilities(values.max(axis=0) - values)
    own = np.take_along_axis(p, labels[None, None, :], axis=0)
    with np.errstate(divide="ignore"):
        own = np.exp(observed_class(np.log(own), noise, len(p)))
        p /= np.maximum(own, special.ndtr(-_LARGEST_Z))
        z = quantiles(np.log(p.sum(axis=1)))
    return np.clip(z, -_LARGEST_Z, _LARGEST_Z)


def _lengths(n: int | None) -> list[float]:
    """Return equally weighted points that represent the chi distribution of n dimensions."""
    if n is None:
        return [1.0]
    if n < _MANY:
        middles = (np.arange(_LENGTHS) + 0.5) / _LENGTHS
        return [math.sqrt(square) for square in special.chdtri(n, 1.0 - middles)]
    mean = chi_mean(n)
    spread = math.sqrt(n - mean**2)
    return [mean - spread, mean + spread]


def best_factor(z: Floats, labels: NDArray[Any], noise: tuple[float, float]) -> float:
    """Return the factor of the largest posterior probability, from 1/2 to 2, by `leave_one_out`."""
    floor, log_span = _noise(labels, noise)

    def fit(factor: float) -> float:
        log_p = np.logaddexp(floor, log_span + special.log_ndtr(factor * z))
        return float(log_p.sum())

    return _most_probable(fit)


def best_joint_factor(z: Floats, labels: NDArray[Any], noise: float) -> float:
    """Return the factor as `best_factor`, from the values of `joint_leave_one_out`."""

    def fit(factor: float) -> float:
        log_p = observed_class(share(special.log_ndtr(factor * z.T)), noise, len(z))
        return float(log_p[np.arange(len(labels)), labels].sum())

    return _most_probable(fit)


def _most_probable(fit: Callable[[float], float]) -> float:
    """Return the factor with the largest sum of `fit`, a log likelihood, and log prior."""

    def loss(log_factor: float) -> float:
        return 0.5 * (log_factor / _SPREAD) ** 2 - fit(math.exp(log_factor))

    limit = math.log(_RANGE)
    found = optimize.minimize_scalar(loss, bounds=(-limit, limit), method="bounded")
    return math.exp(found.x)


def _noise(labels: NDArray[Any], noise: tuple[float, float]) -> tuple[Floats, float]:
    """Return the logs of P(label | other class) for each example, and of ``1 - sum(noise)``."""
    with np.errstate(divide="ignore"):
        floor = np.log(np.where(labels > 0, noise[0], noise[1]))
    return floor, math.log1p(-noise[0] - noise[1])
