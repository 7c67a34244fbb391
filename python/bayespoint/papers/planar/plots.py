"""Pictures of polygons: the four drawings of Ruján and Marchand's Section 18.2.

They need the optional extra ``plot`` (matplotlib). Every class keeps what it draws, the axes in
``ax_`` and the figure in ``figure_``; ``from_polygon`` computes and draws, ``plot`` draws again.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from bayespoint.base import validation
from bayespoint.base.validation import Floats, RandomState
from bayespoint.papers.pictures import SHADES
from bayespoint.papers.planar.exact_center import (
    BayesLine,
    BayesLines,
    BayesPoint,
    bayes_line,
    bayes_lines,
    bayes_point,
)
from bayespoint.papers.planar.flight import Trajectory, billiard
from bayespoint.papers.planar.inscribed import Circle, Ellipse, largest_circle, largest_ellipse
from bayespoint.papers.planar.polygon import Polygon
from bayespoint.plotting.style import COLORS, Display, import_matplotlib

__all__ = [
    "BayesLineDisplay",
    "BayesLinesDisplay",
    "InscribedDisplay",
    "TrajectoryDisplay",
]

_BLUE, _VERMILION = COLORS
_TABLE = "#F7F7F7"
_WIDTH = 6.4  # of a new figure, inches
_MARGIN = 0.06  # around the polygon, as a share of its extent


class _Display(Display):
    """The frame that all pictures share."""

    polygon: Polygon

    def _frame(self, ax: Any) -> Any:
        low, high = self.polygon.vertices.min(axis=0), self.polygon.vertices.max(axis=0)
        room = _MARGIN * float((high - low).max())
        low, high = low - room, high + room
        width, height = high - low
        tall = min(_WIDTH, max(_WIDTH / 3, 1.0 + 0.85 * _WIDTH * height / width))
        ax = self._begin(ax, (_WIDTH, tall))
        ax.set_aspect("equal")
        ax.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]), xlabel="x1", ylabel="x2")
        return ax

    def _outline(self, fill: str | None = _TABLE) -> None:
        if fill is not None:
            self.ax_.fill(*self.polygon.vertices.T, facecolor=fill, zorder=0)
        closed = np.vstack([self.polygon.vertices, self.polygon.vertices[:1]])
        self.ax_.plot(*closed.T, color="black", linewidth=1.6, solid_joinstyle="round", zorder=5)

    def _mark(self, place: Floats, marker: str, color: str, label: str, face: str = "none") -> None:
        # Rings, and a cross that fits into them: what falls together is still seen apart.
        cross = marker == "x"
        self.ax_.plot(
            *place,
            marker=marker,
            markersize=6 if cross else 11,
            markeredgewidth=2.0,
            markeredgecolor=color,
            markerfacecolor=face,
            linestyle="none",
            label=label,
            zorder=8 if cross else 7,
        )

    def _legend(self) -> None:
        # Above the axes: below there is the label of the axis, inside there is the polygon.
        legend = self.ax_.legend(
            loc="lower center",
            bbox_to_anchor=(0.5, 1.0),
            ncols=4,
            frameon=False,
            columnspacing=1.4,
            handletextpad=0.6,
        )
        for handle in legend.legend_handles:
            handle.set_linewidth(max(1.2, float(np.max(handle.get_linewidth()))))


class BayesLineDisplay(_Display):
    """A polygon cut in halves by a line with a given normal (Fig. 18.1).

    Parameters
    ----------
    polygon : Polygon
        The polygon.
    line : BayesLine
        The line that halves it.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from bayespoint.papers.planar import BayesLineDisplay, Polygon
    >>> polygon = Polygon([[0, 0], [3, 0], [4, 2], [1, 3]])
    >>> display = BayesLineDisplay.from_polygon(polygon, 0.4, ax=Figure().add_subplot())
    >>> [text.get_text() for text in display.ax_.texts if text.get_text()]
    ['A₁', 'A₂', 'v']
    """

    def __init__(self, polygon: Polygon, line: BayesLine) -> None:
        self.polygon = polygon
        self.line = line

    @classmethod
    def from_polygon(cls, polygon: Polygon, angle: float, *, ax: Any = None) -> BayesLineDisplay:
        """Compute the Bayes line of a direction and draw it.

        Parameters
        ----------
        polygon : Polygon
            The polygon.
        angle : float
            Direction of the normal, in radians.
        ax : matplotlib.axes.Axes, default=None
            Where to draw; by default a new figure is made.

        Returns
        -------
        BayesLineDisplay
            The drawing.

        Raises
        ------
        ValueError, TypeError
            As `bayes_line`.
        """
        return cls(polygon, bayes_line(polygon, angle)).plot(ax=ax)

    def plot(self, *, ax: Any = None) -> BayesLineDisplay:
        """Draw the display.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, default=None
            Where to draw; None: a new figure.

        Returns
        -------
        BayesLineDisplay
            The display itself.
        """
        ax = self._frame(ax)
        line = self.line
        height = (self.polygon.vertices - line.segment[0]) @ line.normal
        for name, side, shade in (("A₁", height > 0, SHADES[2]), ("A₂", height <= 0, SHADES[0])):
            # The halves are convex: around their middle the corners are in order of angle.
            corners = np.vstack([self.polygon.vertices[side], line.segment])
            away = corners - corners.mean(axis=0)
            corners = corners[np.argsort(np.arctan2(away[:, 1], away[:, 0]))]
            ax.fill(*corners.T, facecolor=shade, alpha=0.75, zorder=0)
            ax.text(*corners.mean(axis=0), name, fontsize=16, ha="center", va="center", zorder=6)
        self._outline(fill=None)
        ax.plot(*line.segment.T, color="black", linewidth=1.8, linestyle="dashed", zorder=5)
        # Off the middle, where the areas' names stand.
        foot = 0.8 * line.segment[0] + 0.2 * line.segment[1]
        size = 0.15 * float(np.hypot(*np.ptp(self.polygon.vertices, axis=0)))
        tip = foot + size * line.normal
        ax.annotate(
            "",
            xy=tip,
            xytext=foot,
            arrowprops={"arrowstyle": "-|>", "linewidth": 1.8, "color": "black", "shrinkA": 0},
            zorder=6,
        )
        ax.text(*(tip + 0.2 * size * line.normal), "v", fontsize=14, ha="center", va="center")
        return self


class BayesLinesDisplay(_Display):
    """The Bayes lines of many directions, with the point that misses them least (Fig. 18.2).

    Parameters
    ----------
    polygon : Polygon
        The polygon.
    lines : BayesLines
        Its Bayes lines.
    point : BayesPoint
        Its Bayes point, drawn beside the centroid.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from bayespoint.papers.planar import BayesLinesDisplay, Polygon
    >>> polygon = Polygon([[0, 0], [3, 0], [4, 2], [1, 3]])
    >>> display = BayesLinesDisplay.from_polygon(polygon, 30, ax=Figure().add_subplot())
    >>> display.ax_.get_legend_handles_labels()[1]
    ['Bayes lines', 'Bayes point', 'center of mass']
    """

    def __init__(self, polygon: Polygon, lines: BayesLines, point: BayesPoint) -> None:
        self.polygon = polygon
        self.lines = lines
        self.point = point

    @classmethod
    def from_polygon(
        cls, polygon: Polygon, n_directions: int = 60, *, zoom: float = 1.0, ax: Any = None
    ) -> BayesLinesDisplay:
        """Compute the Bayes lines and the Bayes point and draw them.

        Parameters
        ----------
        polygon : Polygon
            The polygon.
        n_directions : int, default=60
            Lines to draw, at least 1.
        zoom : float, default=1.0
            Magnification around the Bayes point, at least 1.
        ax : matplotlib.axes.Axes, default=None
            Where to draw; by default a new figure is made.

        Returns
        -------
        BayesLinesDisplay
            The drawing.

        Raises
        ------
        ValueError, TypeError
            As `bayes_lines`, and for a `zoom` below 1.
        """
        lines = bayes_lines(polygon, n_directions)
        return cls(polygon, lines, bayes_point(polygon)).plot(zoom=zoom, ax=ax)

    def plot(self, *, zoom: float = 1.0, ax: Any = None) -> BayesLinesDisplay:
        """Draw the display.

        Parameters
        ----------
        zoom : float, default=1.0
            How much to magnify, at least 1.
        ax : matplotlib.axes.Axes, default=None
            Where to draw; None: a new figure.

        Returns
        -------
        BayesLinesDisplay
            The display itself.

        Raises
        ------
        ValueError
            If `zoom` is below 1.
        """
        zoom = validation.real("zoom", zoom, low=1.0)
        collections = import_matplotlib("collections")
        ax = self._frame(ax)
        self._outline()
        ax.add_collection(
            collections.LineCollection(
                list(self.lines.segments), colors=_BLUE, linewidths=0.6, label="Bayes lines"
            )
        )
        self._mark(self.point.point, "o", _VERMILION, "Bayes point")
        self._mark(self.point.centroid, "x", "black", "center of mass")
        if zoom > 1:
            half = np.array([np.ptp(ax.get_xlim()), np.ptp(ax.get_ylim())]) / (2 * zoom)
            low, high = self.point.point - half, self.point.point + half
            ax.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]))
        self._legend()
        return self


class InscribedDisplay(_Display):
    """The largest circle and ellipse in a polygon, and its center of mass (Fig. 18.3).

    Parameters
    ----------
    polygon : Polygon
        The polygon.
    circle : Circle
        The largest circle in it.
    ellipse : Ellipse
        The largest ellipse in it.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from bayespoint.papers.planar import InscribedDisplay, Polygon
    >>> polygon = Polygon([[0, 0], [3, 0], [4, 2], [1, 3]])
    >>> display = InscribedDisplay.from_polygon(polygon, ax=Figure().add_subplot())
    >>> display.ax_.get_legend_handles_labels()[1]
    ['largest circle', 'largest ellipse', 'center of mass']
    """

    def __init__(self, polygon: Polygon, circle: Circle, ellipse: Ellipse) -> None:
        self.polygon = polygon
        self.circle = circle
        self.ellipse = ellipse

    @classmethod
    def from_polygon(cls, polygon: Polygon, *, ax: Any = None) -> InscribedDisplay:
        """Compute the largest circle and ellipse and draw them.

        Parameters
        ----------
        polygon : Polygon
            The polygon.
        ax : matplotlib.axes.Axes, default=None
            Where to draw; by default a new figure is made.

        Returns
        -------
        InscribedDisplay
            The drawing.
        """
        return cls(polygon, largest_circle(polygon), largest_ellipse(polygon)).plot(ax=ax)

    def plot(self, *, ax: Any = None) -> InscribedDisplay:
        """Draw the display.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, default=None
            Where to draw; None: a new figure.

        Returns
        -------
        InscribedDisplay
            The display itself.
        """
        ax = self._frame(ax)
        self._outline()
        circle, ellipse = self.circle, self.ellipse
        turn = np.linspace(0, 2 * math.pi, 361)
        around = np.stack([np.cos(turn), np.sin(turn)], axis=1)
        ax.plot(
            *(circle.center + circle.radius * around).T,
            color=_BLUE,
            linewidth=1.8,
            label="largest circle",
        )
        ax.plot(
            *(ellipse.center + around @ ellipse.shape).T,
            color=_VERMILION,
            linewidth=1.8,
            linestyle="dashed",
            label="largest ellipse",
        )
        self._mark(circle.center, "o", _BLUE, "_center of the circle")
        self._mark(ellipse.center, "^", _VERMILION, "_center of the ellipse")
        self._mark(self.polygon.centroid, "x", "black", "center of mass")
        self._legend()
        return self


class TrajectoryDisplay(_Display):
    """The path of a billiard ball in a polygon (Fig. 18.4).

    Parameters
    ----------
    polygon : Polygon
        The table.
    trajectory : Trajectory
        The path.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from bayespoint.papers.planar import Polygon, TrajectoryDisplay
    >>> polygon = Polygon([[0, 0], [3, 0], [4, 2], [1, 3]])
    >>> display = TrajectoryDisplay.from_polygon(
    ...     polygon, 50, random_state=0, ax=Figure().add_subplot()
    ... )
    >>> display.ax_.get_legend_handles_labels()[1]
    ['50 bounces', 'start', 'mean position', 'center of mass']
    """

    def __init__(self, polygon: Polygon, trajectory: Trajectory) -> None:
        self.polygon = polygon
        self.trajectory = trajectory

    @classmethod
    def from_polygon(
        cls,
        polygon: Polygon,
        n_bounces: int = 1000,
        *,
        start: ArrayLike | None = None,
        angle: float | None = None,
        random_state: RandomState = None,
        ax: Any = None,
    ) -> TrajectoryDisplay:
        """Let a ball fly and draw its path.

        Parameters
        ----------
        polygon : Polygon
            The table.
        n_bounces : int, default=1000
            Bounces to follow, at least 1.
        start, angle, random_state
            As in `billiard`.
        ax : matplotlib.axes.Axes, default=None
            Where to draw; by default a new figure is made.

        Returns
        -------
        TrajectoryDisplay
            The drawing.

        Raises
        ------
        ValueError, TypeError
            As `billiard`.
        """
        path = billiard(polygon, n_bounces, start=start, angle=angle, random_state=random_state)
        return cls(polygon, path).plot(ax=ax)

    def plot(self, *, ax: Any = None) -> TrajectoryDisplay:
        """Draw the display.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, default=None
            Where to draw; None: a new figure.

        Returns
        -------
        TrajectoryDisplay
            The display itself.
        """
        ax = self._frame(ax)
        self._outline()
        path = self.trajectory
        few = len(path.edges) < 100  # dashes, as in the paper, as long as they can be told apart
        ax.plot(
            *path.positions.T,
            color=_BLUE if few else SHADES[0],
            linewidth=1.2 if few else max(0.2, 12 / math.sqrt(len(path.edges))),
            linestyle="dashed" if few else "solid",
            label=f"{len(path.edges)} bounces",
            zorder=2,
        )
        self._mark(path.positions[0], "s", _BLUE, "start", "white")
        self._mark(path.mean_position, "o", _VERMILION, "mean position", "white")
        self._mark(self.polygon.centroid, "x", "black", "center of mass")
        self._legend()
        return self
