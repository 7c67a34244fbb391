"""Colors, axes and the frame that all pictures share."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from typing_extensions import Self

# Blue and vermilion of Okabe and Ito: told apart with every common form of color blindness. What
# they mark differs in shape, stroke or hatching too, so that pictures survive a gray printer.
COLORS = ("#0072B2", "#D55E00")
MARKERS = ("o", "^")
HATCHES = ("", "////")
PALE = "#A6BDDB"
"""Fill behind lines and text, light enough for both inks."""
GRAY = "#8A8A8A"
"""Of helping lines: seen on white and on black."""

_FEW_DECADES = 150.0  # a ratio below which powers of ten are too few numbers on an axis


def import_matplotlib(module: str) -> Any:
    """Import a module of matplotlib, or say which extra brings it."""
    try:
        return import_module(f"matplotlib.{module}")
    except ImportError as error:
        raise ImportError(
            "plotting needs matplotlib, which is not installed: run "
            "`pip install 'bayespoint[plot]'`"
        ) from error


def pick_axes(ax: Any, size: tuple[float, float] | None = None, **how: Any) -> Any:
    """Return the axes given or, without any, those of a new figure of a size in inches."""
    if ax is None:
        figure = import_matplotlib("pyplot").figure(figsize=size, layout="constrained")
        ax = figure.add_subplot(**how)
    return ax


def ink() -> Any:
    """Return the color of text, which the style in use has chosen to be seen on its background."""
    return import_matplotlib("pyplot").rcParams["text.color"]


def contrasting(color: Any) -> str:
    """Return black or white, whichever is read better on a color."""
    red, green, blue, _ = import_matplotlib("colors").to_rgba(color)
    # Relative luminance, roughly; 0.45 is where both contrasts are alike to the eye.
    return "black" if 0.30 * red + 0.59 * green + 0.11 * blue > 0.45 else "white"


def below(ax: Any, ncols: int = 3, y: float = -0.13, **how: Any) -> None:
    """Name what has a label below the axes, where it hides nothing."""
    ax.legend(loc="upper center", bbox_to_anchor=(0.5, y), ncols=ncols, frameon=False, **how)


def label_decades(ax: Any) -> None:
    """Label logarithmic axes so that numbers do not run into each other, nor are too few."""
    ticker = import_matplotlib("ticker")
    for axis in (ax.xaxis, ax.yaxis):
        if axis.get_scale() == "log":
            low, high = sorted(axis.get_view_interval())
            if high / low < _FEW_DECADES:
                axis.set_major_locator(ticker.LogLocator(subs=(1, 2, 5)))
                axis.set_major_formatter(ticker.StrMethodFormatter("{x:g}"))
            axis.set_minor_formatter(ticker.NullFormatter())


class Display:
    """What a picture keeps beside its data."""

    ax_: Any
    """The matplotlib axes of the last drawing."""

    figure_: Any
    """Their figure."""

    def _begin(self, ax: Any, size: tuple[float, float] | None = None, **how: Any) -> Any:
        self.ax_ = pick_axes(ax, size, **how)
        self.figure_ = self.ax_.figure
        return self.ax_

    def plot(self, *, ax: Any = None) -> Self:
        """Draw the display.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, default=None
            Where to draw; None: a new figure.

        Returns
        -------
        display
            The display itself.
        """
        raise NotImplementedError
