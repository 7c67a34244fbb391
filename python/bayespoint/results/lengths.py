"""The law of the lengths of the weight vectors that draws stand for.

A billiard draws directions. The length of a weight vector has a chi distribution, with as many
degrees of freedom as dimensions. Draws of functions over landmarks have their own lengths.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy import linalg, special

from bayespoint.base.stored import Stored
from bayespoint.base.validation import Floats

_GOLDEN = (math.sqrt(5.0) - 1.0) / 2.0
_MANY = 100  # dimension from which lengths hardly vary
_POINTS = ((10, 8), (_MANY, 4), (math.inf, 2))
"""Numbers of points that represent the distribution, for dimensions below a number: from 10 on
quantiles of Student's distribution up to 3 are right to .003."""
_REACH, _NODES = 9.0, 200  # of the integrals that give the points: radius, and number of nodes


def chi_mean(n: int) -> float:
    """Return the mean of the chi distribution, ``sqrt(2) Gamma((n + 1) / 2) / Gamma(n / 2)``."""
    x = n / 2
    if n <= 200:
        return math.sqrt(2) * math.exp(special.gammaln(x + 0.5) - special.gammaln(x))
    # Differences of log-gammas lose digits as n grows; the asymptotic series becomes more exact.
    y = 1 / (8 * x)
    return math.sqrt(n) * (1 - y * (1 - y * (0.5 + y * (2.5 - y * 2.625))))


@dataclass(frozen=True)
class Lengths(Stored):
    """The law of the lengths of draws: of directions a chi distribution, of functions length 1."""

    freedom: int | None  # degrees of freedom; None for draws that are functions as they are

    @property
    def mean(self) -> float:
        """Mean length."""
        return 1.0 if self.freedom is None else chi_mean(self.freedom)

    @property
    def mean_square(self) -> float:
        """Mean squared length."""
        return 1.0 if self.freedom is None else float(self.freedom)

    @property
    def vary(self) -> bool:
        """Whether their standard deviation is above 7 percent of their mean."""
        return self.freedom is not None and self.freedom < _MANY

    def quantiles(self, n: int) -> Floats:
        """Return n quantiles, for a sequence of levels that fills (0, 1) evenly."""
        if self.freedom is None:
            return np.ones(n)
        level = (_GOLDEN * np.arange(1, n + 1)) % 1.0
        return np.sqrt(special.chdtri(self.freedom, level))

    def points(self) -> tuple[Floats, Floats]:
        """Return points that represent the distribution, and their weights."""
        if self.freedom is None:
            return np.ones(1), np.ones(1)
        number = next(k for below, k in _POINTS if self.freedom < below)
        return _quadrature(self.freedom, number)

    def probability(self, ratio: Floats) -> Floats:
        """Return P(length * h + s * normal > 0) for h / s times the root mean squared length."""
        return special.ndtr(ratio) if self.freedom is None else special.stdtr(self.freedom, ratio)

    def draw(self, rng: np.random.Generator, shape: tuple[int, ...]) -> Floats:
        """Return random lengths."""
        if self.freedom is None:
            return np.ones(shape)
        return np.sqrt(rng.chisquare(self.freedom, size=shape))


@lru_cache(maxsize=64)
def _quadrature(n: int, number: int) -> tuple[Floats, Floats]:
    """Return points and weights of Gauss's quadrature for the chi distribution.

    They are the eigenvalues of the matrix of its orthogonal polynomials, and the squares of first
    entries of its eigenvectors (Golub and Welsch, 1969).
    """
    x, weight = np.polynomial.legendre.leggauss(_NODES)
    low, high = max(0.0, math.sqrt(n) - _REACH), math.sqrt(n) + _REACH
    x = (high - low) / 2 * x + (high + low) / 2
    log_density = (n - 1) * np.log(x) - x**2 / 2
    weight = weight * np.exp(log_density - log_density.max())
    before, polynomial = np.zeros_like(x), np.sqrt(np.full_like(x, 1 / weight.sum()))
    diagonal, beside = np.empty(number), np.zeros(number + 1)
    for k in range(number):
        diagonal[k] = weight @ (x * polynomial**2)
        following = (x - diagonal[k]) * polynomial - beside[k] * before
        beside[k + 1] = math.sqrt(weight @ following**2)
        before, polynomial = polynomial, following / beside[k + 1]
    points, vectors = linalg.eigh_tridiagonal(diagonal, beside[1:-1])
    return points, vectors[0] ** 2
