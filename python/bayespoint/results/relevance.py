"""How much a classifier's predictions depend on each feature."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bayespoint.base.validation import Floats
from bayespoint.results.result import Result, Rows, as_columns

_INTERVAL, _FEWEST = (0.05, 0.95), 10  # quantiles of the interval, and fewest states for it


@dataclass(frozen=True, eq=False)
class FeatureRelevance(Result):
    """The posterior of the weights of the features.

    The kernel multiplies features by their weights, scaled to a mean square of 1: if all features
    mattered alike, each would have the weight 1. If features are not standardized each weight is
    multiplied by the feature's standard deviation.
    """

    _title, _head = "Relevance of the features", ("feature", "weight", "90 %")
    _shapes = "f: mean low high names"

    mean: Floats
    """(n_features,) posterior means."""
    low: Floats
    """(n_features,) 5 % quantiles; NaN for fewer than ten draws."""
    high: Floats
    """(n_features,) 95 % quantiles, as `low`."""
    names: tuple[str, ...]
    """Names of the features: those seen in the fit, or their numbers."""

    @classmethod
    def of(
        cls, states: Floats, weights: Floats, names: Sequence[str] | None = None
    ) -> FeatureRelevance:
        """Return the relevance by (n_states, n_features) weights in weighted states."""
        d = states.shape[1]
        low = high = np.full(d, np.nan)
        if len(states) >= _FEWEST:
            low, high = np.array([_quantiles(states[:, j], weights) for j in range(d)]).T
        chosen = names if names is not None and len(names) == d else range(d)
        return cls(weights @ states, low, high, tuple(map(str, chosen)))

    @property
    def ranking(self) -> list[int]:
        """Indices of the features, the most relevant first."""
        return np.argsort(-self.mean, kind="stable").tolist()

    def _rows(self) -> Rows:
        pairs = zip(self.low, self.high, strict=True)
        ends = ["" if np.isnan(low) else f"{low:.2f} to {high:.2f}" for low, high in pairs]
        return [(self.names[j], f"{self.mean[j]:.2f}", ends[j]) for j in self.ranking]

    def __repr__(self) -> str:
        return "\n".join(as_columns([self._head, *self._rows()]))


def _quantiles(values: Floats, weights: Floats) -> list[float]:
    order = np.argsort(values)
    below = np.cumsum(weights[order]) - 0.5 * weights[order]
    return np.interp(_INTERVAL, below, values[order]).tolist()
