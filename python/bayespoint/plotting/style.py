"""Colors, axes, the base class of the displays, and what they draw of fitted estimators."""

from __future__ import annotations

from importlib import import_module
from typing import Any, Self

from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from bayespoint.posterior import Mixture

# Blue and vermilion of Okabe and Ito, which can be distinguished with every common form of color
# blindness. Marks also differ in shape, stroke or hatching, for printing in gray.
COLORS = ("#0072B2", "#D55E00")
MARKERS = ("o", "^")
GRAY = "#8A8A8A"
"""Color of auxiliary lines, visible on white and on black."""

_FEW_DECADES = 150.0  # ratio of the ends of an axis below which 2 and 5 are labeled, too


def import_matplotlib(module: str) -> Any:
    """Import a module of matplotlib; the error names the package to install."""
    try:
        return import_module(f"matplotlib.{module}")
    except ImportError as error:
        raise ImportError(
            "plotting needs matplotlib, which is not installed: run `pip install matplotlib`"
        ) from error


def pick_axes(ax: Any, size: tuple[float, float] | None = None, **kwargs: Any) -> Any:
    """Return the given axes, or new ones in the given part of a figure or a figure of `size`."""
    if ax is None:
        ax = import_matplotlib("pyplot").figure(figsize=size, layout="constrained")
    return ax.add_subplot(**kwargs) if hasattr(ax, "add_subplot") else ax


def ink() -> Any:
    """Return the text color of the matplotlib style in use."""
    return import_matplotlib("pyplot").rcParams["text.color"]


def below(ax: Any, ncols: int = 3, y: float = -0.13, **kwargs: Any) -> None:
    """Draw a legend below the axes."""
    ax.legend(loc="upper center", bbox_to_anchor=(0.5, y), ncols=ncols, frameon=False, **kwargs)


def label_decades(ax: Any) -> None:
    """Label the powers of ten on logarithmic axes, and on short ones numbers between them."""
    ticker = import_matplotlib("ticker")
    for axis in (ax.xaxis, ax.yaxis):
        if axis.get_scale() == "log":
            low, high = sorted(axis.get_view_interval())
            if high / low < _FEW_DECADES:
                axis.set_major_locator(ticker.LogLocator(subs=(1, 2, 5)))
                axis.set_major_formatter(ticker.StrMethodFormatter("{x:g}"))
            axis.set_minor_formatter(ticker.NullFormatter())


class Display:
    """Base class of the displays. Those that do not override `plot` implement `_draw`."""

    ax_: Any
    """The matplotlib axes of the last drawing."""
    figure_: Any
    """Their figure."""

    def _begin(self, ax: Any, size: tuple[float, float], **kwargs: Any) -> Any:
        """Return the axes to draw on, and keep them and their figure."""
        self.ax_ = pick_axes(ax, size, **kwargs)
        self.figure_ = self.ax_.figure
        return self.ax_

    def plot(self, *, ax: Any = None) -> Self:
        """Draw the display.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, default=None
            Axes to draw on. None makes a new figure.

        Returns
        -------
        display
            The display itself.
        """
        self._draw(ax)
        return self

    def _draw(self, ax: Any) -> None:
        raise NotImplementedError


def last_step(estimator: BaseEstimator) -> Any:
    """Return the estimator, the last step of a pipeline, or the best estimator of a search."""
    while True:
        if hasattr(estimator, "named_steps"):
            estimator = estimator[-1]
        elif hasattr(estimator, "best_estimator_"):
            estimator = estimator.best_estimator_
        else:
            return estimator


def posterior_of(estimator: BaseEstimator) -> Mixture:
    """Return the posterior of a fitted classifier, in a pipeline or search or alone."""
    check_is_fitted(estimator)
    posterior = getattr(last_step(estimator), "posterior_", None)
    if not isinstance(posterior, Mixture):
        raise TypeError(
            "estimator must be a BayesPointClassifier, a pipeline that ends in one or a search "
            f"that was fitted with refit=True; got a {type(last_step(estimator)).__name__}"
        )
    return posterior


def check_type(name: str, value: object, kind: type) -> None:
    """Raise TypeError if an argument is not of the given type."""
    if not isinstance(value, kind):
        article = "an" if kind.__name__[0] in "EO" else "a"
        raise TypeError(f"{name} must be {article} {kind.__name__}; got a {type(value).__name__}")
