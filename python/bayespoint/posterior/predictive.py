r"""From draws of the weight vector to decision values and probabilities.

A weight vector with an isotropic Gaussian law has plane coordinates
:math:`f \sim N(0, A)` with :math:`A = K + \mathrm{offset} + \Lambda`. Only its direction
decides which labels it gives, so a unit draw :math:`b` from version space with dual
coefficients :math:`\gamma` is the direction of a draw from the posterior. Its length
:math:`\rho` is independent of the direction and has the chi law with n degrees of freedom, n
the dimension of the span (m for a positive definite A). At a new point, with
:math:`k_* = k(X, x)`, :math:`h = k_*^\top\gamma` and

.. math:: s_*^2 = k(x, x) + \lambda - k_*^\top A^{-1} k_*,

the latent value is :math:`\rho h` plus Gaussian noise of variance :math:`s_*^2` (Rasmussen &
Williams, *Gaussian Processes for Machine Learning*, 2006, Eq. 3.9 and Section 3.3). All
functions take the mean over draws of what follows from that.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import linalg, special

from bayespoint import kernels
from bayespoint.base import memory, validation
from bayespoint.base.linalg import Factor, cholesky, clear_above, factorize, patient_step
from bayespoint.kernels.products import count
from bayespoint.results import BilliardResult

__all__ = [
    "Factor",
    "Posterior",
    "chi_mean",
    "decision_values",
    "factorize",
    "mixture_probability",
]

Floats: TypeAlias = NDArray[np.float64]

_RIDGE = 1e-8  # in units of the mean eigenvalue

BLOCK_BYTES = 64 * 2**20
"""About how much memory one block of test points may take."""

_LAWS = 2**17

_EXPONENT = 256
"""Of two, up to which numbers are squared as they are: sums of squares are far from overflow."""

_SMALLEST = float(np.finfo(np.float64).tiny)
"""Below it doubles have fewer digits."""


def chi_mean(n: int) -> float:
    r"""Return the mean of the chi law, :math:`\sqrt 2\,\Gamma((n+1)/2) / \Gamma(n/2)`.

    Examples
    --------
    >>> print(f"{chi_mean(1):.4f} {chi_mean(100):.4f}")
    0.7979 9.9750
    """
    x = n / 2
    if n <= 200:
        return math.sqrt(2) * math.exp(special.gammaln(x + 0.5) - special.gammaln(x))
    # Differences of log-gammas lose digits as n grows; the asymptotic series gains them.
    y = 1 / (8 * x)
    return math.sqrt(n) * (1 - y * (1 - y * (0.5 + y * (2.5 - y * 2.625))))


def decision_values(
    k_star: Floats,
    variance: Floats,
    draws: Floats,
    center: Floats,
    center_norm: float,
    n: int,
    weights: Floats | None = None,
) -> Floats:
    r"""Return the moment form of the predictive law: z with P(f > 0) close to Phi(z).

    Parameters
    ----------
    k_star : ndarray of shape (n_points, m)
        Kernel values between the points and the training examples, offset included.
    variance : ndarray of shape (n_points,)
        Predictive variance :math:`s_*^2`, at least 0.
    draws : ndarray of shape (n_draws, m)
        Dual coefficients of unit weight vectors.
    center : ndarray of shape (m,)
        Dual coefficients of the unit center of mass along the whole path. It is known better
        than the mean of the draws and gives z its sign.
    center_norm : float
        Length of the mean along the path.
    n : int
        Dimension of the span.
    weights : ndarray of shape (n_draws,), default=None
        Weights of the draws, of sum 1. None: all are equal.

    Returns
    -------
    ndarray of shape (n_points,)
        :math:`z = M / \sqrt{V + s_*^2}`. Here :math:`M = a_n |\bar b|\, k_*^\top c` for the
        center c and its norm :math:`|\bar b|`, :math:`a_n = E\rho`, and
        :math:`V = n\,\overline{h^2} - a_n^2\,\bar h^2`. Where V and :math:`s_*^2` are both
        negligible beside M, z is limited to 1e8 in size; where M is zero too, z = 0.

    Raises
    ------
    ValueError
        If values of f overflow.
    """
    a = chi_mean(n)
    numerator, h, variance = _in_range(
        a * center_norm * _product(k_star, center), _product(k_star, draws.T), variance
    )
    if weights is None:
        second = np.einsum("ij,ij->i", h, h) / h.shape[1]
    else:
        second = np.einsum("ij,ij,j->i", h, h, weights)
    spread = n * second - (a * _mean(h, weights)) ** 2
    scale = np.maximum(spread, 0.0) + variance
    np.maximum(scale, 1e-16 * numerator**2, out=scale)
    z: Floats = np.divide(numerator, np.sqrt(scale), out=np.zeros_like(numerator), where=scale > 0)
    return z


def _product(left: Floats, right: Floats) -> Floats:
    """Return the matrix product of kernel values and coefficients, or raise ValueError."""
    with np.errstate(over="ignore", invalid="ignore"):
        values: Floats = left @ right
    _require_finite(values)
    return values


def _require_finite(values: Floats) -> None:
    if not np.isfinite(values).all():
        raise ValueError("X must not be so large that decision values overflow")


def _in_range(mean: Floats, h: Floats, variance: Floats) -> tuple[Floats, Floats, Floats]:
    """Return f of each point in another unit where its square is out of the range of doubles.

    z does not depend on the unit: it is a power of two, so no bit is rounded. `h` is overwritten.
    """
    size = np.maximum(np.abs(mean), np.sqrt(variance))
    np.maximum(size, np.maximum(h.max(axis=1), -h.min(axis=1)), out=size)
    exponent = _far_exponent(size)
    if not exponent.any():
        return mean, h, variance
    with np.errstate(under="ignore"):  # what vanishes is nothing beside the largest
        np.ldexp(h, -exponent[:, None], out=h)
        return np.ldexp(mean, -exponent), h, np.ldexp(variance, -2 * exponent)


def _far_exponent(size: Floats) -> NDArray[np.integer]:
    """Return the exponents of two in numbers whose squares may be out of range, 0 of others."""
    _, exponent = np.frexp(size)
    return np.where(np.abs(exponent) > _EXPONENT, exponent, 0)


def _mean(values: Floats, weights: Floats | None) -> Floats:
    """Return the mean of each row, weighted if there are weights."""
    mean: Floats = values.mean(axis=1) if weights is None else values @ weights
    return mean


def mixture_probability(
    k_star: Floats, variance: Floats, draws: Floats, n: int, weights: Floats | None = None
) -> Floats:
    r"""Return P(f > 0) with the exact law of the length in each draw's direction.

    Parameters
    ----------
    k_star, variance, draws, n, weights
        As for `decision_values`.

    Returns
    -------
    ndarray of shape (n_points,)
        The mean over draws of :math:`F_{t,n}(\sqrt n\, h / s_*)`, the distribution function of
        Student's t; where :math:`s_* = 0` the share of draws with h > 0, ties counted half.

    Raises
    ------
    ValueError
        If values of f overflow.
    """
    h = _product(k_star, draws.T)
    certain = variance == 0
    with np.errstate(over="ignore", under="ignore"):  # to the limits of the law
        h[~certain] *= math.sqrt(n) / np.sqrt(variance[~certain, None])
    # A ten-millionth of a second each: Ctrl-C is heard between some tens of thousands.
    for rows in validation.blocks(len(h), max(1, _LAWS // h.shape[1])):
        spread = h[rows][~certain[rows]]
        h[rows][~certain[rows]] = special.stdtr(n, spread)
    h[certain] = (1 + np.sign(h[certain])) / 2
    # The weights sum to 1 up to rounding.
    return np.minimum(_mean(h, weights), 1.0)


def observed(
    log_first: Floats, log_second: Floats, noise: tuple[float, float]
) -> tuple[Floats, Floats]:
    """Return the log probabilities of observing the first and the second class.

    `log_first` and `log_second` are those of the true class. `noise` is the probability of a
    wrong label for examples of the first and of the second class:
    p(second) = noise[0] + (1 - noise[0] - noise[1]) P(second).
    """
    if not any(noise):
        return log_first, log_second
    rest = math.log1p(-noise[0] - noise[1])
    with np.errstate(divide="ignore"):
        floor = np.log(noise)
    return np.logaddexp(floor[1], rest + log_first), np.logaddexp(floor[0], rest + log_second)


def share(log_probability: Floats) -> Floats:
    """Scale the probabilities in each row to sum to 1, given and returned as logarithms."""
    total = special.logsumexp(log_probability, axis=1, keepdims=True)
    even = np.full_like(log_probability, -math.log(log_probability.shape[1]))
    shared: Floats = np.subtract(log_probability, total, out=even, where=np.isfinite(total))
    return shared


def _stretched(p: Floats, factor: float) -> Floats:
    """Return the probabilities with their decision values multiplied by a factor."""
    return np.asarray(special.ndtr(factor * special.ndtri(p)))


def _root(covariance: Floats) -> Floats:
    """Return R with R R^T the covariance, whose eigenvalues may be slightly negative."""
    lower = np.array(covariance, order="F")
    if cholesky(lower) == 0:
        clear_above(lower)
        return lower
    values, vectors = linalg.eigh(covariance)
    return np.asarray(vectors * np.sqrt(np.maximum(values, 0.0)))


@dataclass(frozen=True, eq=False)
class Posterior:
    """What a fit knows about f at new points; binary problems share all but the results."""

    kernel: Callable[..., Any] | str
    """The kernel, or "precomputed": then inputs are kernel values with the examples."""

    inputs: Floats | None
    """(m, d) training inputs; None for "precomputed"."""

    offset: float
    """Offset of all kernel values."""

    softness: float
    """Softness of a new point."""

    constant_diagonal: float | None
    """k(x, x) if it is the same for all training examples."""

    factor: Factor
    """Of the training Gram matrix."""

    results: list[BilliardResult]
    """One for each binary problem."""

    calibration: Floats
    """(n_problems,) factors on the decision values."""

    weights: list[Floats] | None = None
    """(n_draws,) weights of the draws of each problem, of sum 1; None where all are equal. They
    count in means over draws, so in `evaluate` and `votes`: `gibbs` and `functions` have none."""

    def _weights(self, problem: int) -> Floats | None:
        return None if self.weights is None else self.weights[problem]

    def blocks(self, X: Floats) -> Iterator[tuple[slice, Floats]]:
        """Yield blocks of kernel values, offset included, between points and examples."""
        n_trajectories, n_draws, m = self.results[0].draws.shape
        size = int(BLOCK_BYTES / (8 * (3 * m + 2 * n_trajectories * n_draws)))
        for rows in validation.blocks(count(X), max(1, size)):
            if isinstance(self.kernel, str):
                k_star = X[rows]
            else:
                k_star = kernels.evaluate(self.kernel, X[rows], self.inputs)
            yield rows, k_star + self.offset

    def is_positive(self, X: Floats) -> NDArray[np.bool_]:
        """Return where the center of the first problem predicts its positive class."""
        positive = np.empty(count(X), dtype=np.bool_)
        for rows, k_star in self.blocks(X):
            mean = self.results[0].center_norm * self.results[0].center
            positive[rows] = _product(k_star, mean) > 0
        return positive

    def evaluate(
        self, X: Floats, diag: ArrayLike | None, *, strict: bool = True, mixture: bool = False
    ) -> Floats:
        """Return z, or with `mixture` P(f > 0), for each point and binary problem.

        Where k(x, x) cannot be known that is an error if `strict`. Otherwise the point is taken
        to lie in the span of the training examples: its variance is then the softness. An error
        in any case are values k(x, x) beyond the range of doubles.
        """
        own = self._own_variance(X, diag, strict=strict)
        n = self.factor.rank
        values = np.empty((count(X), len(self.results)))
        for rows, k_star in self.blocks(X):
            variance = self._variance(own, rows, k_star)
            if strict:
                self._require_digits(own, rows, k_star)
            for column, result in enumerate(self.results):
                draws = result.draws.reshape(-1, k_star.shape[1])
                factor, weights = self.calibration[column], self._weights(column)
                if mixture:
                    p = mixture_probability(k_star, variance, draws, n, weights)
                    values[rows, column] = p if factor == 1 else _stretched(p, factor)
                else:
                    values[rows, column] = factor * decision_values(
                        k_star, variance, draws, result.center, result.center_norm, n, weights
                    )
        return values

    def log_probabilities(
        self,
        X: Floats,
        diag: ArrayLike | None,
        noise: tuple[float, float],
        *,
        mixture: bool,
    ) -> Floats:
        """Return the (n, n_classes) log probabilities of observing each label.

        `noise` is the probability of a wrong label for examples of the first and of the second
        class. Of several problems each column is a class against the rest, scaled to sum to 1.
        """
        value = self.evaluate(X, diag, mixture=mixture)
        if mixture:
            with np.errstate(divide="ignore"):
                negative, positive = np.log1p(-value), np.log(value)
        else:
            negative, positive = special.log_ndtr(-value), special.log_ndtr(value)
        negative, positive = observed(negative, positive, noise)
        if len(self.results) == 1:
            return np.concatenate([negative, positive], axis=1)
        return share(positive)

    def votes(self, X: Floats) -> Floats:
        """Return the (n, n_problems) means over draws of the sign of <w, phi(x)>."""
        votes = np.empty((count(X), len(self.results)))
        for rows, k_star in self.blocks(X):
            for column, result in enumerate(self.results):
                h = _product(k_star, result.draws.reshape(-1, k_star.shape[1]).T)
                votes[rows, column] = _mean(np.sign(h), self._weights(column))
        return votes

    def gibbs(self, X: Floats, diag: ArrayLike | None, rng: np.random.Generator) -> Floats:
        """Return the (n, n_problems) decision values of one random draw for each problem.

        For one problem only their signs matter: they are ``<w, phi(x)>``. For several they are
        z given the draw, so that functions of different spread can be compared.
        """
        several = len(self.results) > 1
        own = self._own_variance(X, diag, strict=False) if several else None
        chosen = []
        for result in self.results:
            draws = result.draws.reshape(-1, result.draws.shape[-1])
            chosen.append(draws[int(rng.integers(len(draws)))])
        values = np.empty((count(X), len(self.results)))
        for rows, k_star in self.blocks(X):
            variance = self._variance(own, rows, k_star) if several else None
            for column, draw in enumerate(chosen):
                values[rows, column] = (
                    _product(k_star, draw)
                    if variance is None
                    else decision_values(
                        k_star, variance, draw[None, :], draw, 1.0, self.factor.rank
                    )
                )
        return values

    def functions(
        self, X: Floats, between: Floats, rng: np.random.Generator, *, noise: bool
    ) -> Floats:
        """Return (n_problems, n_draws, n) joint draws of f; `between` is k between the points.

        With `noise` each point has its own, of variance `softness`.
        """
        n_trajectories, n_draws, _ = self.results[0].draws.shape
        total, rank, n = n_trajectories * n_draws, self.factor.rank, count(X)
        memory.require(
            8.0 * (2 * len(self.results) * total * n + 3 * n * n + rank * n),
            f"{total} functions at {n} points and the covariance of these",
        )
        covariance = between + self.offset
        covariance.flat[:: n + 1] += self.softness if noise else 0.0
        own = covariance.diagonal().copy()
        means = np.empty((len(self.results), total, n))
        solved = np.empty((rank, n))
        for rows, k_star in self.blocks(X):
            solved[:, rows] = self.factor.whitened(k_star)
            for problem, result in enumerate(self.results):
                means[problem, :, rows] = _product(result.draws.reshape(total, -1), k_star.T)
            self._require_digits(own, rows, k_star)
        for rows in validation.blocks(n, patient_step(n * rank)):
            covariance[rows] -= _product(solved[:, rows].T, solved)
        means *= np.sqrt(rng.chisquare(rank, size=(len(self.results), total, 1)))
        root, normal = _root(covariance), rng.standard_normal(means.shape)
        for rows in validation.blocks(n, patient_step(means.size)):
            means[..., rows] += normal @ root[rows].T
        return means

    def closest_to_vote(self, X: Floats) -> Floats:
        """Return the (n_problems, m) dual coefficients of the function closest to the votes."""
        rank, n, m = self.factor.rank, count(X), self.results[0].draws.shape[-1]
        small = min(rank, n)
        points = np.empty((rank, n), order="F")
        for rows, k_star in self.blocks(X):
            points[:, rows] = self.factor.whitened(k_star)
        votes = self.votes(X)
        _require_finite(points)
        # Of f in another unit, where its squares are out of range, the solution has the inverse.
        exponent = _far_exponent(np.maximum(points.max(), -points.min()))
        with np.errstate(under="ignore"):  # beside the largest it is nothing
            np.ldexp(points, -exponent, out=points)
        products = points @ points.T if rank <= n else points.T @ points
        ridge = _RIDGE * float(products.trace()) / small
        if ridge == 0.0:  # no tie between these points and any example
            return np.zeros((len(self.results), m))
        products.flat[:: small + 1] += ridge
        if rank <= n:
            solution = linalg.solve(products, points @ votes, assume_a="pos")
        else:
            solution = points @ linalg.solve(products, votes, assume_a="pos")
        with np.errstate(over="ignore"):
            solution = np.ldexp(solution, -exponent)
        dual = self.factor.dual_coef(np.asfortranarray(solution), m)
        if not np.isfinite(dual).all():
            raise ValueError("X must not be so small that dual coefficients overflow")
        return dual

    def _variance(self, own: Floats | None, rows: slice, k_star: Floats) -> Floats:
        """Return the predictive variance of the points in `rows`."""
        if own is None:
            return np.full(len(k_star), self.softness)
        # NaN is what overflows on the way to more than k(x, x): kernel values that cannot be.
        variance: Floats = np.fmax(own[rows] - self.factor.explained(k_star), 0.0)
        return variance

    def _require_digits(self, own: Floats | None, rows: slice, k_star: Floats) -> None:
        """Raise ValueError where k(x, x) has vanished though the point has a tie to examples."""
        if own is None or isinstance(self.kernel, str):
            return
        lost = np.flatnonzero(np.abs(own[rows]) < _SMALLEST)
        lost = lost[k_star[lost].any(axis=1)]
        if len(lost):
            raise ValueError(
                f"X must not be so small that k(x, x) vanishes; got {own[rows][lost[0]]:.3g} at "
                f"input {rows.start + lost[0]}, whose kernel values with the examples are not 0"
            )

    def _own_variance(self, X: Floats, diag: ArrayLike | None, *, strict: bool) -> Floats | None:
        """Return the prior variance of f at each point, or None if it cannot be known."""
        extra = self.offset + self.softness
        if diag is not None:
            if not isinstance(self.kernel, str):
                raise ValueError("diag must be None unless kernel='precomputed'")
            values = np.asarray(validation.dense("diag", diag), dtype=np.float64)
            if values.shape != (count(X),):
                raise ValueError(f"diag must have shape ({count(X)},); got shape {values.shape}")
            if not np.isfinite(values).all():
                raise ValueError("diag must be finite; it holds NaN or infinity")
            own: Floats = values + extra
            return own
        if not isinstance(self.kernel, str):
            return kernels.diagonal(self.kernel, X) + extra
        if self.constant_diagonal is not None:
            return np.full(count(X), self.constant_diagonal + extra)
        if strict:
            raise ValueError(
                "with kernel='precomputed' and a training matrix whose diagonal is not constant, "
                "diag must hold the (n_samples,) values k(x, x); got None"
            )
        return None
