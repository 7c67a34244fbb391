"""Displays of several classes side by side."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bayespoint.plotting.style import Display, import_matplotlib

_COLUMNS = 3


class Panels:
    """The displays of the binary problems of several classes, one panel for each class.

    ``from_estimator`` returns it for a classifier with multiclass="one_vs_rest".

    Parameters
    ----------
    displays : dict
        The display of each class, by its label.

    Attributes
    ----------
    axes_ : list of matplotlib.axes.Axes
        The axes of the last drawing, one for each class.
    figure_ : matplotlib.figure.Figure
        The figure of the last drawing.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from sklearn.datasets import load_iris
    >>> from bayespoint import BayesPointClassifier
    >>> from bayespoint.plotting import WallsDisplay
    >>> X, y = load_iris(return_X_y=True)
    >>> model = BayesPointClassifier("rbf", multiclass="one_vs_rest", random_state=0)
    >>> model = model.fit(X[::5], y[::5])
    >>> panels = WallsDisplay.from_estimator(model, ax=Figure().subplots(1, 3))
    >>> list(panels.displays)
    [0, 1, 2]
    """

    def __init__(self, displays: Mapping[Any, Display]) -> None:
        self.displays = dict(displays)

    def plot(self, *, ax: Any = None, **how: Any) -> Panels:
        """Draw the panels.

        Parameters
        ----------
        ax : sequence of matplotlib.axes.Axes, default=None
            Axes to draw on, one for each class. None makes a new figure.
        **how
            Further arguments of `plot` of the displays.

        Returns
        -------
        Panels
            The panels themselves.

        Raises
        ------
        ValueError
            If `ax` has another number of axes.
        """
        n = len(self.displays)
        if ax is None:
            places = self._figure(n)
        else:
            places = list(getattr(ax, "flat", ax)) if hasattr(ax, "__len__") else [ax]
            if len(places) != n:
                raise ValueError(
                    f"ax must be a sequence of {n} axes, one for each class; got {len(places)} "
                    "(label=... draws a single class)"
                )
        self.axes_ = []
        for (label, display), place in zip(self.displays.items(), places, strict=False):
            display.plot(ax=place, **how)
            display.ax_.set_title(f"class {label}", fontsize="medium")
            self.axes_.append(display.ax_)
        if ax is not None:
            self.figure_ = self.axes_[0].figure
        return self

    def _figure(self, n: int) -> list[Any]:
        """Make a new figure, and return its parts for the panels."""
        columns = min(n, _COLUMNS)
        rows = -(-n // columns)
        width, height = next(iter(self.displays.values())).panel_size
        self.figure_ = import_matplotlib("pyplot").figure(
            figsize=(width * columns, height * rows), layout="constrained"
        )
        return list(self.figure_.subfigures(rows, columns, squeeze=False, wspace=0.03).flat)
