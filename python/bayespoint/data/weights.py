"""Sample weights: numbers of observations, or relative precisions.

Whole numbers are counts: an example of weight w stands for w observations of its label, each with
its own noise, and is w rows or, with landmarks, one row whose likelihood has the power w. Other
weights are relative: their mean is made 1, and the noise of an example has the variance softness /
w. At f = 0 its likelihood then has w times the Fisher information on f of one of weight 1.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bayespoint.base import validation
from bayespoint.base.validation import Floats

_ROUNDING = 1e-9
"""Distance of a weight from a whole number, relative to the larger of 1 and the weight, that is
attributed to rounding; also a relative weight, of mean 1, that counts for nothing."""


@dataclass(frozen=True, eq=False)
class SampleWeight:
    """The sample weights of a fit."""

    counts: Floats  # (n,) whole numbers of observations; of relative weights 0 or 1
    precision: Floats  # (n,) relative weights of mean 1; 1 for counts

    @classmethod
    def of(cls, sample_weight: ArrayLike | None, n: int) -> SampleWeight:
        """Return those of the parameter `sample_weight` for n examples."""
        if sample_weight is None:
            return cls(np.ones(n), np.ones(n))
        weight = validation.sample_weight(sample_weight, n)
        return cls.relative(weight) if not_whole(weight) else cls(np.rint(weight), np.ones(n))

    @classmethod
    def relative(cls, weight: Floats) -> SampleWeight:
        """Return relative weights."""
        precision = weight / weight[weight > 0].mean()
        return cls((precision > _ROUNDING).astype(np.float64), precision)

    @property
    def trivial(self) -> bool:
        """Whether every example counts once."""
        return bool((self.counts == 1).all() and (self.precision == 1).all())

    def rows(self, *, repeated: bool) -> NDArray[np.intp]:
        """Return the examples that count, in order, `repeated` once for each observation."""
        if repeated:
            return np.repeat(np.arange(len(self.counts)), self.counts.astype(np.intp))
        return np.flatnonzero(self.counts)


def not_whole(weight: Floats) -> bool:
    """Return whether weights are relative, since they are not all whole numbers."""
    return bool((np.abs(weight - np.rint(weight)) > _ROUNDING * np.maximum(weight, 1.0)).any())
