"""Warps: other scales of the numbers of a table, which the evidence chooses.

A warp makes the distribution of a number with a long tail nearly normal. Numbers of one unit, such
as pixels, may matter in proportion to how much they vary: those that hardly vary are mostly noise.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import special

from bayespoint.base.stored import Stored
from bayespoint.base.validation import Floats, Indices

if TYPE_CHECKING:
    from sklearn.preprocessing import PowerTransformer, StandardScaler

_MOST_KNOTS = 1000  # of a rank-normal scale


@dataclass(frozen=True, eq=False)
class RankNormal(Stored):
    """The normal quantiles of the ranks, between which values are interpolated."""

    values: tuple[Floats, ...]  # distinct values of each feature, sorted
    scores: tuple[Floats, ...]  # what becomes of them, of variance 1 over the examples

    @classmethod
    def of(cls, X: Floats) -> RankNormal:
        """Return the scale of features by the examples; equal values have their mean rank."""
        values, scores = [], []
        for column in X.T:
            known, counts = np.unique(column, return_counts=True)
            share = counts / len(column)
            score = special.ndtri(np.cumsum(share) - share / 2)
            center = share @ score
            spread = np.sqrt(share @ (score - center) ** 2)
            kept = np.unique(np.linspace(0, len(known) - 1, _MOST_KNOTS).astype(np.intp))
            values.append(known[kept])
            scores.append(((score - center) / (spread if spread > 0 else 1.0))[kept])
        return cls(tuple(values), tuple(scores))

    def transform(self, X: Floats) -> Floats:
        """Return the scores; beyond the examples those of the outermost."""
        features = zip(X.T, self.values, self.scores, strict=True)
        return np.stack([np.interp(x, values, scores) for x, values, scores in features], axis=1)


@dataclass(frozen=True, eq=False)
class OneUnit(Stored):
    """All features in one unit, their standard deviation on average."""

    factors: Floats  # of the standardized features

    @classmethod
    def of(cls, scaler: StandardScaler) -> OneUnit:
        """Return the scale of features that `scaler` standardizes."""
        spread = np.sqrt(scaler.var_)
        return cls(spread / np.sqrt(np.mean(spread**2)))

    def transform(self, X: Floats) -> Floats:
        """Return standardized features in the unit."""
        return X * self.factors


@dataclass(frozen=True, eq=False)
class Warped(Stored):
    """Standardized inputs, some features of which are on another scale."""

    scaler: Any  # a StandardScaler
    warp: Any  # RankNormal, PowerTransformer or OneUnit
    places: Indices  # the features that are warped
    ends: Floats  # (2, n) their least and largest values: a power might grow beyond all bounds

    def transform(self, X: Any) -> Floats:
        """Return inputs as the kernel gets them."""
        return self.again(self.scaler.transform(X))

    def again(self, inputs: Floats) -> Floats:
        """Return standardized inputs as the kernel gets them."""
        moved = np.array(inputs)
        moved[:, self.places] = self.warp.transform(np.clip(moved[:, self.places], *self.ends))
        return moved


def warps(inputs: Floats) -> list[RankNormal | PowerTransformer]:
    """Return the warps of standardized numbers: rank-normal, and that of Yeo and Johnson (2000)."""
    from sklearn.preprocessing import PowerTransformer  # which takes long to import

    power = PowerTransformer()
    power.set_output(transform="default")
    return [RankNormal.of(inputs), power.fit(inputs)]
