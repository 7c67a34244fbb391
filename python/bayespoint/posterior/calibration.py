r"""How far the decision values are to be stretched for calibrated probabilities.

The probabilities of a Gaussian process are right if the data came from it. Where they did not,
decision values rank points well all the same, but can be too cautious or too bold throughout. One
factor for all of them, by which the training examples predict each other best, sets that right; and
what the others say of an example is known without another fit.

Let h be the function values at the examples with their noise, of covariance :math:`C = K + \lambda
I`, and :math:`Q = C^{-1}`. Given all others, :math:`h_i` has the mean :math:`h_i - (Q h)_i /
Q_{ii}` and the variance :math:`1 / Q_{ii}`, and a draw of the posterior has :math:`Q h =
\rho\,\gamma`, its dual coefficients. The posterior without label i has the density of the posterior
divided by :math:`P(y_i | h_{-i})`, so that :math:`P(y_i | y_{-i})` is the harmonic mean of these
over the draws (Gelfand, Dey and Chang, 1992).
"""

from __future__ import annotations

import math

import numpy as np
from scipy import optimize, special

from bayespoint.base import validation
from bayespoint.base.validation import Floats, Labels
from bayespoint.posterior.predictive import chi_mean
from bayespoint.results import BilliardResult

LARGEST = 1000
"""Examples that predict each other, at most."""

_COLUMNS = 128
"""Columns of the kernel matrix that are looked at together."""

_LENGTHS = 8
"""Lengths of the weight vector that stand for its chi law in few dimensions."""

_MANY = 100
"""Dimensions in which two do, one standard deviation from the mean."""

_SPREAD = 0.3
"""Standard deviation of the normal prior of the factor's logarithm: a few dozen examples do not
move it far."""

_RANGE = 2.0
_CERTAIN = 8.0
"""Largest factor, and largest decision value that counts."""


class LeaveOneOutPredictions:
    """What the examples that predict each other, all or a random thousand, say of each other.

    Parameters
    ----------
    gram : ndarray of shape (m, m)
        Kernel matrix without offset and softness. It is not needed any more afterwards.
    offset : float
        Added to all entries.
    softness : ndarray of shape (m,)
        Added to the diagonal.
    result : BilliardResult
        The billiard of a binary problem.
    labels : ndarray of shape (m,)
        -1 or +1.
    noise : tuple of two floats
        Label noise of the negative and of the positive class.
    seed : int
        For the choice of examples.
    """

    def __init__(
        self,
        gram: Floats,
        offset: float,
        softness: Floats,
        result: BilliardResult,
        labels: Labels,
        noise: tuple[float, float],
        seed: int,
    ) -> None:
        m = len(gram)
        chosen = np.arange(m)
        if m > LARGEST:
            chosen = np.sort(np.random.default_rng(seed).permutation(m)[:LARGEST])
        draws = result.draws.reshape(-1, m)
        heights = np.empty((len(draws), len(chosen)))
        for part in validation.blocks(len(chosen), _COLUMNS):
            heights[:, part] = draws @ gram[:, chosen[part]]
        heights += offset * draws.sum(axis=1)[:, None]
        heights += softness[chosen] * draws[:, chosen]
        self.examples, self.labels, self.noise = chosen, labels[chosen], noise
        self.heights, self.draws = heights, draws[:, chosen]

    def values(self, inverse_diagonal: Floats) -> Floats:
        """Return the decision values of the examples from all others, times their label.

        `inverse_diagonal` is that of the inverse of the matrix with offset and softness, (m,).
        """
        precision, m = inverse_diagonal[self.examples], len(inverse_diagonal)
        return leave_one_out(self.heights, self.draws, precision, self.labels, self.noise, m)

    def factor(self, inverse_diagonal: Floats) -> float:
        """Return the factor on decision values by which they predict each other best."""
        return best_factor(self.values(inverse_diagonal), self.labels, self.noise)


def leave_one_out(
    heights: Floats,
    draws: Floats,
    precision: Floats,
    labels: Labels,
    noise: tuple[float, float],
    n: int,
) -> Floats:
    r"""Return the decision values of examples from all others, times their label.

    Parameters
    ----------
    heights : ndarray of shape (n_draws, n_examples)
        Function values, noise included, of draws of unit length.
    draws : ndarray of shape (n_draws, n_examples)
        Dual coefficients of the same examples.
    precision : ndarray of shape (n_examples,)
        Diagonal entries of :math:`C^{-1}`.
    labels : ndarray of shape (n_examples,)
        -1 or +1.
    noise : tuple of two floats
        Label noise of the negative and of the positive class.
    n : int
        Dimension of the span.

    Returns
    -------
    ndarray of shape (n_examples,)
        z with :math:`\Phi(z)` the probability of the label before label noise, at most 8 in size.
    """
    z = labels * (heights - draws / precision) * np.sqrt(precision)
    floor, log_span = _noise(labels, noise)
    inverse = np.zeros(len(labels))
    lengths = _lengths(n)
    # Of what is next to impossible the inverse is infinite: it is clipped in the end.
    with np.errstate(over="ignore", divide="ignore"):
        for length in lengths:
            p = special.ndtr(length * z)
            p *= math.exp(log_span)
            p += np.exp(floor)
            np.divide(1.0, p, out=p)
            inverse += p.mean(axis=0) / len(lengths)
    right = (1 / inverse - np.exp(floor)) / math.exp(log_span)
    tail = special.ndtr(-_CERTAIN)
    return np.asarray(special.ndtri(np.clip(right, tail, 1.0 - 1e-15)))


def _lengths(n: int) -> list[float]:
    """Return lengths of equal weight that stand for the chi law with n degrees of freedom."""
    if n < _MANY:
        middles = (np.arange(_LENGTHS) + 0.5) / _LENGTHS
        return [math.sqrt(square) for square in special.chdtri(n, 1.0 - middles)]
    mean = chi_mean(n)
    spread = math.sqrt(n - mean**2)
    return [mean - spread, mean + spread]


def best_factor(z: Floats, labels: Labels, noise: tuple[float, float]) -> float:
    """Return the factor on decision values that predicts best, between 1/2 and 2.

    Parameters
    ----------
    z, labels, noise
        As `leave_one_out` returns and takes them.
    """
    floor, log_span = _noise(labels, noise)

    def loss(log_factor: float) -> float:
        fit = np.logaddexp(floor, log_span + special.log_ndtr(math.exp(log_factor) * z)).sum()
        return 0.5 * (log_factor / _SPREAD) ** 2 - float(fit)

    limit = math.log(_RANGE)
    found = optimize.minimize_scalar(loss, bounds=(-limit, limit), method="bounded")
    return math.exp(found.x)


def _noise(labels: Labels, noise: tuple[float, float]) -> tuple[Floats, float]:
    """Return the logs of the chance of a label by error alone, and of what is left."""
    with np.errstate(divide="ignore"):
        floor = np.log(np.where(labels > 0, noise[0], noise[1]))
    return floor, math.log1p(-noise[0] - noise[1])
