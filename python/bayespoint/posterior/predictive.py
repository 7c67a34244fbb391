r"""Decision values and probabilities from draws of the weight vector.

A weight vector with an isotropic Gaussian distribution has plane coordinates
:math:`f \sim N(0, A)` with :math:`A = K + \mathrm{offset} + \Lambda`. The labels that it assigns
depend only on its direction, so a draw :math:`b` from version space with dual coefficients
:math:`\gamma` is the direction of a draw from the posterior. Its length :math:`\rho` is
independent of the direction and has the chi distribution with n degrees of freedom, n the
dimension of the span (m if A is positive definite).

At a new point, with :math:`k_* = k(X, x)`, :math:`h = k_*^\top\gamma` and

.. math:: s_*^2 = k(x, x) + \lambda - k_*^\top A^{-1} k_*,

the latent value is :math:`\rho h` plus Gaussian noise of variance :math:`s_*^2` (Rasmussen &
Williams, *Gaussian Processes for Machine Learning*, 2006, Eq. 3.9 and Section 3.3). Decision
values and probabilities are means over the draws.

The functions take `k_star`, the (n_points, m) kernel values with the offset; `variance`, the
(n_points,) values of :math:`s_*^2`; `draws`, the (n_draws, m) dual coefficients of unit weight
vectors; `n`; and `weights`, the (n_draws,) weights of the draws, of sum 1, or None if all are
equal. With landmarks, m is their number, draws are functions with their own lengths, and `n` is
None. They raise ValueError if squares of values of f overflow or underflow.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import special

from bayespoint.base import validation
from bayespoint.base.io import deep_copy
from bayespoint.base.validation import Floats
from bayespoint.results import BilliardResult
from bayespoint.results.billiard import without_state_arrays
from bayespoint.results.slices import SliceResult
from bayespoint.results.weighted import WeightedResult

if TYPE_CHECKING:
    from typing_extensions import Self

_BLOCK = 2**17
"""Number of values of Student's distribution function between two checks for Ctrl-C."""

_LARGEST = 1e140
"""Largest value of f: sums of its squares, and their inverses, are in the range of doubles."""


def chi_mean(n: int) -> float:
    r"""Return the mean of the chi distribution with n degrees of freedom.

    It is :math:`\sqrt 2\,\Gamma((n+1)/2) / \Gamma(n/2)`.

    Examples
    --------
    >>> print(f"{chi_mean(1):.4f} {chi_mean(100):.4f}")
    0.7979 9.9750
    """
    x = n / 2
    if n <= 200:
        return math.sqrt(2) * math.exp(special.gammaln(x + 0.5) - special.gammaln(x))
    # Differences of log-gammas lose digits as n grows; the asymptotic series becomes more exact.
    y = 1 / (8 * x)
    return math.sqrt(n) * (1 - y * (1 - y * (0.5 + y * (2.5 - y * 2.625))))


def length_moments(n: int | None) -> tuple[float, float]:
    """Return the mean length of a weight vector and its mean square, in units of a draw's."""
    return (1.0, 1.0) if n is None else (chi_mean(n), float(n))


def decision_values(
    k_star: Floats,
    variance: Floats,
    draws: Floats,
    center: Floats,
    center_norm: float,
    n: int | None,
    weights: Floats | None = None,
) -> Floats:
    r"""Return the (n_points,) decision values z, for which P(f > 0) is close to Phi(z).

    They follow from two moments of f: :math:`z = M / \sqrt{V + s_*^2}`. Here :math:`M = a_n |\bar
    b|\, k_*^\top c` for the unit `center` c and the `center_norm` :math:`|\bar b|`, :math:`a_n =
    E\rho`, and :math:`V = n\,\overline{h^2} - a_n^2\,\bar h^2`. The center determines the sign of z
    since it is more accurate than the mean of the draws. The absolute value of z is at most 1e8,
    and z = 0 where M, V and :math:`s_*^2` are all zero.
    """
    a, square = length_moments(n)
    h = product(k_star, draws.T)
    numerator = a * center_norm * product(k_star, center)
    require_range(variance, h, numerator)
    if weights is None:
        second = np.einsum("ij,ij->i", h, h) / h.shape[1]
    else:
        second = np.einsum("ij,ij,j->i", h, h, weights)
    spread = square * second - (a * mean_of_draws(h, weights)) ** 2
    scale = np.maximum(spread, 0.0) + variance
    np.maximum(scale, 1e-16 * numerator**2, out=scale)
    z: Floats = np.divide(numerator, np.sqrt(scale), out=np.zeros_like(numerator), where=scale > 0)
    return z


def product(left: Floats, right: Floats) -> Floats:
    """Return the matrix product of kernel values and coefficients, or raise ValueError."""
    with np.errstate(over="ignore", invalid="ignore"):
        values: Floats = left @ right
    if not np.isfinite(values).all():
        raise ValueError("X must not be so large that decision values overflow")
    return values


def require_range(variance: Floats, h: Floats, mean: Floats | float = 0.0) -> None:
    """Raise ValueError if squares of f overflow or underflow, which would give a wrong z."""
    size = np.maximum(np.abs(mean), np.sqrt(variance))
    size = np.maximum(size, np.maximum(h.max(axis=1), -h.min(axis=1)))
    require_square(size)


def require_square(size: Floats) -> None:
    """Raise ValueError if squares of these absolute values of f overflow or underflow."""
    if (size > _LARGEST).any():
        raise ValueError("X must not be so large that decision values overflow")
    if ((size > 0) & (size < 1 / _LARGEST)).any():
        raise ValueError(
            "X must not be so small that the squares of decision values vanish: scale the inputs"
        )


def mean_of_draws(values: Floats, weights: Floats | None) -> Floats:
    """Return the means over the last axis, weighted if there are weights."""
    mean: Floats = values.mean(axis=-1) if weights is None else values @ weights
    return mean


def mixture_probability(
    k_star: Floats, variance: Floats, draws: Floats, n: int | None, weights: Floats | None = None
) -> Floats:
    r"""Return the (n_points,) values of P(f > 0), means of the exact ones given the directions.

    It is the mean over draws of :math:`F_{t,n}(\sqrt n\, h / s_*)`, with the distribution function
    of Student's t; where :math:`s_* = 0` the share of draws with h > 0, ties counted half.
    """
    h = product(k_star, draws.T)
    require_range(variance, h)
    certain = variance == 0
    with np.errstate(over="ignore", under="ignore"):  # probabilities 0 and 1
        h[~certain] *= math.sqrt(length_moments(n)[1]) / np.sqrt(variance[~certain, None])
    for rows in validation.blocks(len(h), max(1, _BLOCK // h.shape[1])):
        spread = h[rows][~certain[rows]]
        h[rows][~certain[rows]] = special.ndtr(spread) if n is None else special.stdtr(n, spread)
    h[certain] = (1 + np.sign(h[certain])) / 2
    # The weights sum to 1 up to rounding.
    return np.minimum(mean_of_draws(h, weights), 1.0)


def observed(
    log_first: Floats, log_second: Floats, noise: tuple[float, float]
) -> tuple[Floats, Floats]:
    """Return the log probabilities of observing the first and the second class, from the true ones.

    `noise` is the probability of a wrong label for examples of the first and of the second class:
    p(second) = noise[0] + (1 - noise[0] - noise[1]) P(second).
    """
    if not any(noise):
        return log_first, log_second
    rest = math.log1p(-noise[0] - noise[1])
    with np.errstate(divide="ignore"):
        floor = np.log(noise)
    return np.logaddexp(floor[1], rest + log_first), np.logaddexp(floor[0], rest + log_second)


def observed_class(log_p: Floats, noise: float, n_classes: int) -> Floats:
    """Return the log probabilities of observing one of several classes, from the true ones.

    With the probability `noise` a label is wrong, and then any other with equal probability.
    """
    if not noise:
        return log_p
    other = noise / (n_classes - 1)
    return np.logaddexp(math.log(other), math.log1p(-noise - other) + log_p)


def share(log_probability: Floats) -> Floats:
    """Normalize the probabilities in each row, given and returned as logarithms."""
    total = special.logsumexp(log_probability, axis=1, keepdims=True)
    even = np.full_like(log_probability, -math.log(log_probability.shape[1]))
    shared: Floats = np.subtract(log_probability, total, out=even, where=np.isfinite(total))
    return shared


@dataclass(frozen=True, eq=False)
class SampledPosterior:
    """What the posteriors of one problem have in common: the draws of its run."""

    y: NDArray[np.integer]
    """(m,) labels of the examples: -1 or +1, of several classes their indices; empty with
    landmarks."""

    result: BilliardResult | SliceResult
    """The run."""

    rank: int | None
    """Dimension of the span of the examples. None: the draws are functions over landmarks, with
    their own lengths."""

    calibration: float = 1.0
    """Factor on the decision values."""

    weighted: WeightedResult | None = None
    """The weighted draws and their center, for a density other than the one sampled."""

    def __getstate__(self) -> dict[str, Any]:
        """Return what is pickled and saved: all but the arrays that continue the run."""
        if isinstance(self.result, SliceResult):
            return vars(self)
        return vars(self) | {"result": without_state_arrays(self.result)}

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        copied: Self = deep_copy(self, memo)
        return copied

    @property
    def freedom(self) -> int | None:
        """Degrees of freedom of the length of a weight vector; None if the draws have their own."""
        return self.rank

    @property
    def draws(self) -> Floats:
        """Dual coefficients of the draws of all trajectories, (n_draws, [n_classes,] m)."""
        draws = self.result.draws.astype(np.float64, copy=False)
        return draws.reshape(-1, *draws.shape[2:])

    @property
    def weights(self) -> Floats | None:
        """(n_draws,) weights of the draws, of sum 1; None if all are equal."""
        return None if self.weighted is None else self.weighted.weights.ravel()

    @property
    def center(self) -> Floats:
        """Dual coefficients of the unit center of mass, ([n_classes,] m)."""
        return (self.weighted or self.result).center

    @property
    def center_norm(self) -> float:
        """Length of the mean of the unit weight vectors."""
        return (self.weighted or self.result).center_norm

    def one_draw(self, rng: np.random.Generator) -> Floats:
        """Return the dual coefficients of a draw chosen at random."""
        if self.weights is None:
            chosen = int(rng.integers(len(self.draws)))
        else:
            chosen = int(rng.choice(len(self.draws), p=self.weights))
        return np.asarray(self.draws[chosen])

    def equal_draws(self, rng: np.random.Generator) -> Floats:
        """Return the draws; if they are weighted, a random sample of the same size."""
        if self.weights is None:
            return self.draws
        return self.draws[rng.choice(len(self.draws), size=len(self.draws), p=self.weights)]


@dataclass(frozen=True, eq=False)
class BinaryPosterior(SampledPosterior):
    """The posterior of one binary problem."""

    def decision_values(self, k_star: Floats, variance: Floats) -> Floats:
        """Return the calibrated decision values z."""
        return self.calibration * decision_values(
            k_star, variance, self.draws, self.center, self.center_norm, self.rank, self.weights
        )

    def probability(self, k_star: Floats, variance: Floats) -> Floats:
        """Return the calibrated mixture form of P(f > 0)."""
        p = mixture_probability(k_star, variance, self.draws, self.rank, self.weights)
        if self.calibration == 1:
            return p
        return np.asarray(special.ndtr(self.calibration * special.ndtri(p)))

    def values_of(self, draw: Floats, k_star: Floats, variance: Floats | None) -> Floats:
        """Return the decision values given a draw; without a `variance` those of f itself."""
        if variance is None:
            return product(k_star, draw)
        return decision_values(k_star, variance, draw[None, :], draw, 1.0, self.rank)

    def votes(self, k_star: Floats) -> Floats:
        """Return the means over draws of the sign of <w, phi(x)>."""
        return mean_of_draws(np.sign(product(k_star, self.draws.T)), self.weights)
