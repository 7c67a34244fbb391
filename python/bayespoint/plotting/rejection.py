"""Display of the error among accepted points against their share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from bayespoint.base.validation import Floats
from bayespoint.plotting.style import COLORS, Display
from bayespoint.posterior.questions import rejection_curve


@dataclass(kw_only=True, eq=False, repr=False)
class RejectionDisplay(Display):
    """Error among the accepted points against the share of points accepted.

    The curve is that of :func:`bayespoint.posterior.rejection_curve`, with its errors.

    Attributes
    ----------
    line_ : matplotlib.lines.Line2D
        The curve.
    """

    coverage: Floats
    """(n_costs,) Share of the points accepted, rising to 1."""
    error: Floats
    """(n_costs,) Share of the accepted points that are wrong."""
    cost: Floats
    """(n_costs,) Expected losses that give each coverage."""
    name: str | None = None
    """For the legend."""

    @classmethod
    def from_estimator(
        cls,
        estimator: BaseEstimator,
        X: ArrayLike,
        y: ArrayLike,
        *,
        name: str | None = None,
        ax: Any = None,
    ) -> RejectionDisplay:
        """Draw the curve of a fitted classifier's probabilities.

        Parameters
        ----------
        estimator : fitted classifier
            Has ``predict_proba`` and ``classes_``.
        X, y : array-like of shape (n_samples, n_features) and (n_samples,)
            Test inputs, and their true labels.
        name : str, default=None
            For the legend; by default the name of the estimator's class.
        ax
            As for `plot`.

        Returns
        -------
        RejectionDisplay
            The drawing.
        """
        check_is_fitted(estimator)
        proba, labels = estimator.predict_proba(X), estimator.classes_
        name = type(estimator).__name__ if name is None else name
        return cls.from_predictions(y, proba, labels=labels, name=name, ax=ax)

    @classmethod
    def from_predictions(
        cls,
        y_true: ArrayLike,
        proba: ArrayLike,
        *,
        labels: ArrayLike | None = None,
        name: str | None = None,
        ax: Any = None,
    ) -> RejectionDisplay:
        """Draw the curve of given probabilities.

        Parameters
        ----------
        y_true, proba, labels
            As for :func:`bayespoint.posterior.rejection_curve`.
        name, ax
            As for `from_estimator`.

        Returns
        -------
        RejectionDisplay
            The drawing.
        """
        coverage, error, cost = rejection_curve(y_true, proba, labels=labels)
        return cls(coverage=coverage, error=error, cost=cost, name=name).plot(ax=ax)

    def plot(self, *, ax: Any = None, **kwargs: Any) -> RejectionDisplay:
        """Draw the display.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, default=None
            Axes to draw on. None makes a new figure. A further curve has another color.
        **kwargs : dict
            Further arguments of the line, such as ``linestyle="dashed"``.

        Returns
        -------
        RejectionDisplay
            The display itself.
        """
        ax = self._begin(ax, (5.0, 3.6))
        color = COLORS[len(ax.lines) % len(COLORS)]
        style = {"linewidth": 1.8, "drawstyle": "steps-post", "label": self.name, "color": color}
        [self.line_] = ax.plot(100 * self.coverage, 100 * self.error, **(style | kwargs))
        ax.set(xlabel="points accepted (%)", ylabel="errors among them (%)", xlim=(0, 100.5))
        top = max(np.max(line.get_ydata(), initial=0.0) for line in ax.lines)
        ax.set_ylim(0, 1.05 * top or 1)
        if ax.get_legend_handles_labels()[0]:
            ax.legend(frameon=False, loc="upper left")
        return self
