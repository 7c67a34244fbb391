"""Balls with soft walls, on great circles about a normal approximation: exact draws.

The Boomerang sampler (Bierkens, Grazzi, Kamatani and Roberts, 2020) of a t density times a residual
that becomes flat as examples are added. The engine has the formulas, in ``src/soft``, and asks
`BlockSums` for what depends on the examples.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from bayespoint import _core
from bayespoint.base.validation import Floats
from bayespoint.landmarks.block import BlockSums
from bayespoint.landmarks.normal import Normal

BATCH = 8  # steps of a call, after which the values of all examples are computed anew
TOGETHER = 16  # least balls that fly together: products with many vectors are faster
ROWS_OF_VALUES = 5  # of an example for a ball: place, direction, before and after, and added
_LEAST_FREEDOM = 3.0  # of the t distribution: less makes draws of many dimensions worse


def together(n_chains: int) -> int:
    """Return the number of balls of n chains: as many of each, and enough in all."""
    return n_chains * -(-TOGETHER // n_chains)


@dataclass(frozen=True, eq=False)
class SoftDraws:
    """What `BATCH` steps of n balls found."""

    z: Floats  # (n, BATCH, D) places after each step
    residuals: Floats  # (n, BATCH) their log residuals
    reference: Floats  # (n, BATCH) those of independent draws of the t distribution
    trials: int  # number of angles tried
    bounces: int  # number of bounces


class Balls:
    """Balls that sample a posterior on circles, each from a draw of a normal distribution.

    Their draws do not depend on the number of threads or processes. The last `n_rising` weights
    rise, as thresholds of ordered classes: hard walls keep them from meeting.
    """

    def __init__(
        self, posterior: BlockSums, normal: Normal, n_balls: int, seed: int, n_rising: int = 0
    ) -> None:
        self.posterior, self.normal = posterior, normal
        d = len(normal.mean)
        freedom = max(_LEAST_FREEDOM, d)
        half = 0.5 * freedom  # the constant of the t density, relative to the prior's
        self._constant = math.lgamma(half) + 0.5 * d * math.log(half) - math.lgamma(half + d / 2)
        self._balls = _core.SoftBalls(d, n_balls, freedom, seed, n_rising)

    def steps(self) -> SoftDraws:
        """Take `BATCH` steps of each ball."""
        normal = self.normal
        found = self._balls.steps(BATCH, normal.mean, normal.root, self.posterior)
        return SoftDraws(
            found["draws"],
            found["residuals"] + self._constant,
            found["reference"] + self._constant,
            found["trials"],
            found["bounces"],
        )
