"""The law of the lengths of the weight vectors that draws stand for.

A billiard draws directions. The length of a weight vector has a chi distribution, with as many
degrees of freedom as dimensions. Draws of functions over landmarks have their own lengths.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy import special

from bayespoint.base.stored import Stored
from bayespoint.base.validation import Floats

_GOLDEN = (math.sqrt(5.0) - 1.0) / 2.0
_POINTS, _MANY = 8, 100  # quantiles of the distribution, and dimension from which two are enough


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

    def without(self, n: int) -> Lengths:
        """Return the law with n dimensions less, of at least one."""
        return Lengths(None if self.freedom is None else max(1, self.freedom - n))

    def quantiles(self, n: int) -> Floats:
        """Return n quantiles, for a sequence of levels that fills (0, 1) evenly."""
        if self.freedom is None:
            return np.ones(n)
        level = (_GOLDEN * np.arange(1, n + 1)) % 1.0
        return np.sqrt(special.chdtri(self.freedom, level))

    def points(self) -> list[float]:
        """Return equally weighted points that represent the distribution."""
        if self.freedom is None:
            return [1.0]
        if self.vary:
            middles = (np.arange(_POINTS) + 0.5) / _POINTS
            return [math.sqrt(square) for square in special.chdtri(self.freedom, 1.0 - middles)]
        spread = math.sqrt(self.freedom - self.mean**2)
        return [self.mean - spread, self.mean + spread]

    def probability(self, ratio: Floats) -> Floats:
        """Return P(length * h + s * normal > 0) for h / s times the root mean squared length."""
        return special.ndtr(ratio) if self.freedom is None else special.stdtr(self.freedom, ratio)

    def draw(self, rng: np.random.Generator, shape: tuple[int, ...]) -> Floats:
        """Return random lengths."""
        if self.freedom is None:
            return np.ones(shape)
        return np.sqrt(rng.chisquare(self.freedom, size=shape))
