r"""Sample weights: an example of weight w counts as w observations.

With all kernel values each observation is a row. With landmarks an example has one row, whose
likelihood is raised to the power w. A fraction r of an observation is one whose noise has the variance softness / r. At f = 0 its
likelihood :math:`\Phi(y f \sqrt{r / \lambda})` has r times the Fisher information on f of a whole
observation.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bayespoint.base import validation
from bayespoint.base.validation import Floats

_ROUNDING = 1e-9
"""Distance of a weight from a whole number, relative to a weight above 1, that is rounding."""


@dataclass(frozen=True, eq=False)
class Repetition:
    """The numbers of observations for which the examples of a fit count."""

    whole: Floats
    """(n,) numbers of whole observations."""
    fraction: Floats
    """(n,) fractions of a further observation, in [0, 1)."""

    @classmethod
    def of(cls, sample_weight: ArrayLike | None, n: int) -> Repetition:
        """Return that of the parameter `sample_weight` for n examples."""
        if sample_weight is None:
            return cls(np.ones(n), np.zeros(n))
        weight = validation.sample_weight(sample_weight, n)
        nearest = np.rint(weight)
        exact = np.abs(weight - nearest) <= _ROUNDING * np.maximum(weight, 1.0)
        whole = np.where(exact, nearest, np.floor(weight))
        return cls(whole, np.where(exact, 0.0, weight - whole))

    @property
    def trivial(self) -> bool:
        """Whether every example counts once."""
        return bool((self.whole == 1).all() and not self.fraction.any())

    @property
    def counts(self) -> Floats:
        """(n,) numbers of observations, whole or not."""
        return self.whole + (self.fraction > 0)

    def examples(self) -> tuple[NDArray[np.intp], Floats]:
        """Return the examples that count at all, and their weights."""
        weight = self.whole + self.fraction
        indices = np.flatnonzero(weight)
        return indices, weight[indices]

    def observations(self) -> tuple[NDArray[np.intp], Floats]:
        """Return the example of each observation, in order, and its weight, 1 or below."""
        counts = self.counts.astype(np.intp)
        indices = np.repeat(np.arange(len(counts)), counts)
        weight = np.ones(len(indices))
        parts = self.fraction > 0
        weight[np.cumsum(counts)[parts] - 1] = self.fraction[parts]
        return indices, weight
