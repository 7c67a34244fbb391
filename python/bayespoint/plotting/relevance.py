"""Display of the posterior of the features' weights."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from bayespoint.base import validation
from bayespoint.plotting.style import COLORS, GRAY, Display, check_type, last_step, posterior_of
from bayespoint.results import FeatureRelevance


@dataclass(kw_only=True, eq=False, repr=False)
class RelevanceDisplay(Display):
    """Posterior mean and 90 % interval of each feature's weight, the largest at the top.

    Attributes
    ----------
    points_ : matplotlib.lines.Line2D
        The means.
    intervals_ : matplotlib.collections.LineCollection or None
        The intervals, if there are any.
    """

    relevance: FeatureRelevance
    """The weights."""
    max_features: int = 20
    """Number of features drawn, at least 1: those of the largest weights."""

    def __post_init__(self) -> None:
        self.max_features = validation.integer("max_features", self.max_features, low=1)

    @classmethod
    def from_estimator(
        cls, estimator: BaseEstimator, *, max_features: int = 20, ax: Any = None
    ) -> RelevanceDisplay:
        """Draw the relevances of a fitted classifier's features.

        Parameters
        ----------
        estimator : BayesPointClassifier, a pipeline that ends in one, or a fitted search of either
            Fitted, with several models and a kernel of weighted features; else AttributeError.
        max_features, ax
            As for the class and for `plot`.

        Returns
        -------
        RelevanceDisplay
            The drawing.
        """
        posterior_of(estimator)
        relevance = last_step(estimator).feature_relevance_
        return cls.from_result(relevance, max_features=max_features, ax=ax)

    @classmethod
    def from_result(
        cls, relevance: FeatureRelevance, *, max_features: int = 20, ax: Any = None
    ) -> RelevanceDisplay:
        """Draw relevances.

        Parameters
        ----------
        relevance : FeatureRelevance
            The attribute `feature_relevance_` of a classifier.
        max_features, ax
            As for `from_estimator`.

        Returns
        -------
        RelevanceDisplay
            The drawing.
        """
        check_type("relevance", relevance, FeatureRelevance)
        return cls(relevance=relevance, max_features=max_features).plot(ax=ax)

    def _draw(self, ax: Any) -> None:
        relevance = self.relevance
        shown = relevance.ranking[: self.max_features]
        ax = self._begin(ax, (5.0, 0.8 + 0.26 * len(shown)))
        rows = np.arange(len(shown))
        self.intervals_ = None
        if not np.isnan(relevance.low).any():
            low, high = relevance.low[shown], relevance.high[shown]
            self.intervals_ = ax.hlines(rows, low, high, color=COLORS[0], linewidth=1.8)
        [self.points_] = ax.plot(relevance.mean[shown], rows, "o", color=COLORS[0], markersize=5)
        ax.axvline(1.0, color=GRAY, linewidth=0.8, linestyle="dashed")
        ax.set_yticks(rows, [relevance.names[j] for j in shown])
        ax.set_xlim(left=0.0)
        n, total = len(shown), len(relevance.mean)
        label = "feature" if n == total else f"first {n} of {total} features"
        ax.set(ylim=(n - 0.5, -0.5), ylabel=label, xlabel="weight (dashed: if all mattered alike)")
