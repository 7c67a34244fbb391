"""Drawings of polygons: the four figures of Ruján and Marchand's Section 18.2."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from bayespoint.base import validation
from bayespoint.base.validation import Floats
from bayespoint.papers.pictures import SHADES
from bayespoint.papers.planar.cuts import unit
from bayespoint.papers.planar.exact_center import bayes_line, bayes_lines, bayes_point
from bayespoint.papers.planar.flight import Trajectory
from bayespoint.papers.planar.inscribed import largest_circle, largest_ellipse
from bayespoint.papers.planar.polygon import Polygon
from bayespoint.plotting.style import COLORS, import_matplotlib, pick_axes

_BLUE, _VERMILION = COLORS
_WIDTH = 6.4  # of a new figure, inches
_MARGIN = 0.06  # around the polygon, as a share of its extent


def plot_bayes_line(polygon: Polygon, angle: float, *, ax: Any = None) -> Any:
    """Draw a polygon cut in halves by the line with a given normal (Figure 18.1).

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
    matplotlib.axes.Axes
        The axes drawn into.
    """
    line = bayes_line(polygon, angle)
    ax = _frame(polygon, ax)
    height = (polygon.vertices - line.segment[0]) @ line.normal
    for name, side, shade in (("A₁", height > 0, SHADES[2]), ("A₂", height <= 0, SHADES[0])):
        # The halves are convex, so the angle from their middle orders the corners.
        corners = np.vstack([polygon.vertices[side], line.segment])
        offsets = corners - corners.mean(axis=0)
        corners = corners[np.argsort(np.arctan2(offsets[:, 1], offsets[:, 0]))]
        ax.fill(*corners.T, facecolor=shade, alpha=0.75, zorder=0)
        ax.text(*corners.mean(axis=0), name, fontsize=16, ha="center", va="center", zorder=6)
    _outline(polygon, ax, fill=None)
    ax.plot(*line.segment.T, color="black", linewidth=1.8, linestyle="dashed", zorder=5)
    # Not in the middle, where the names of the areas are.
    foot = 0.8 * line.segment[0] + 0.2 * line.segment[1]
    size = 0.15 * float(np.hypot(*np.ptp(polygon.vertices, axis=0)))
    tip = foot + size * line.normal
    style = {"arrowstyle": "-|>", "linewidth": 1.8, "color": "black", "shrinkA": 0}
    ax.annotate("", xy=tip, xytext=foot, arrowprops=style, zorder=6)
    ax.text(*(tip + 0.2 * size * line.normal), "v", fontsize=14, ha="center", va="center")
    return ax


def plot_bayes_lines(
    polygon: Polygon, n_directions: int = 60, *, zoom: float = 1.0, ax: Any = None
) -> Any:
    """Draw the Bayes lines of many directions and the Bayes point (Figure 18.2).

    Parameters
    ----------
    polygon, ax
        As for `plot_bayes_line`.
    n_directions : int, default=60
        Lines to draw, at least 1.
    zoom : float, default=1.0
        Magnification around the Bayes point, at least 1.

    Returns
    -------
    matplotlib.axes.Axes
        The axes drawn into.
    """
    zoom = validation.real("zoom", zoom, low=1.0)
    lines, best = bayes_lines(polygon, n_directions), bayes_point(polygon)
    collections = import_matplotlib("collections")
    ax = _frame(polygon, ax)
    _outline(polygon, ax)
    ax.add_collection(
        collections.LineCollection(
            list(lines.segments), colors=_BLUE, linewidths=0.6, label="Bayes lines"
        )
    )
    _mark(ax, best.point, "o", _VERMILION, "Bayes point")
    _mark(ax, best.centroid, "x", "black", "center of mass")
    if zoom > 1:
        half = np.array([np.ptp(ax.get_xlim()), np.ptp(ax.get_ylim())]) / (2 * zoom)
        low, high = best.point - half, best.point + half
        ax.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]))
    return _legend(ax)


def plot_inscribed(polygon: Polygon, *, ax: Any = None) -> Any:
    """Draw the largest circle and ellipse in a polygon, and its center of mass (Figure 18.3).

    Parameters
    ----------
    polygon, ax
        As for `plot_bayes_line`.

    Returns
    -------
    matplotlib.axes.Axes
        The axes drawn into.
    """
    circle, ellipse = largest_circle(polygon), largest_ellipse(polygon)
    ax = _frame(polygon, ax)
    _outline(polygon, ax)
    around = unit(np.linspace(0, 2 * math.pi, 361))
    for points, color, stroke, label in (
        (circle.center + circle.radius * around, _BLUE, "solid", "largest circle"),
        (ellipse.center + around @ ellipse.shape, _VERMILION, "dashed", "largest ellipse"),
    ):
        ax.plot(*points.T, color=color, linewidth=1.8, linestyle=stroke, label=label)
    _mark(ax, circle.center, "o", _BLUE, "_center of the circle")
    _mark(ax, ellipse.center, "^", _VERMILION, "_center of the ellipse")
    _mark(ax, polygon.centroid, "x", "black", "center of mass")
    return _legend(ax)


def plot_trajectory(polygon: Polygon, trajectory: Trajectory, *, ax: Any = None) -> Any:
    """Draw the path of a billiard ball in a polygon (Figure 18.4).

    Parameters
    ----------
    polygon, ax
        As for `plot_bayes_line`.
    trajectory : Trajectory
        The path, from `billiard`.

    Returns
    -------
    matplotlib.axes.Axes
        The axes drawn into.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from bayespoint.papers.planar import Polygon, billiard, plot_trajectory
    >>> polygon = Polygon([[0, 0], [3, 0], [4, 2], [1, 3]])
    >>> path = billiard(polygon, 50, random_state=0)
    >>> ax = plot_trajectory(polygon, path, ax=Figure().add_subplot())
    >>> ax.get_legend_handles_labels()[1]
    ['50 bounces', 'start', 'mean position', 'center of mass']
    """
    ax = _frame(polygon, ax)
    _outline(polygon, ax)
    n = len(trajectory.edges)
    few = n < 100  # dashes, as in the paper, while they can be distinguished
    ax.plot(
        *trajectory.positions.T,
        color=_BLUE if few else SHADES[0],
        linewidth=1.2 if few else max(0.2, 12 / math.sqrt(n)),
        linestyle="dashed" if few else "solid",
        label=f"{n} bounces",
        zorder=2,
    )
    if (disk := trajectory.scatterer) is not None:
        around = disk.center + disk.radius * unit(np.linspace(0, 2 * math.pi, 181))
        ax.fill(*around.T, facecolor="white", edgecolor="black", linewidth=1.6, zorder=4)
    _mark(ax, trajectory.positions[0], "s", _BLUE, "start", "white")
    _mark(ax, trajectory.mean_position, "o", _VERMILION, "mean position", "white")
    _mark(ax, trajectory.centroid, "x", "black", "center of mass")
    return _legend(ax)


def _frame(polygon: Polygon, ax: Any) -> Any:
    """Return axes of equal scales with the polygon in their window."""
    low, high = polygon.vertices.min(axis=0), polygon.vertices.max(axis=0)
    pad = _MARGIN * float((high - low).max())
    low, high = low - pad, high + pad
    width, height = high - low
    tall = min(_WIDTH, max(_WIDTH / 3, 1.0 + 0.85 * _WIDTH * height / width))
    ax = pick_axes(ax, (_WIDTH, tall))
    ax.set_aspect("equal")
    ax.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]), xlabel="x1", ylabel="x2")
    return ax


def _outline(polygon: Polygon, ax: Any, fill: str | None = SHADES[1]) -> None:
    if fill is not None:
        ax.fill(*polygon.vertices.T, facecolor=fill, zorder=0)
    closed = np.vstack([polygon.vertices, polygon.vertices[:1]])
    ax.plot(*closed.T, color="black", linewidth=1.6, solid_joinstyle="round", zorder=5)


def _mark(ax: Any, place: Floats, marker: str, color: str, label: str, face: str = "none") -> None:
    # Rings, and a cross that fits into them, so that marks at one place stay visible.
    cross = marker == "x"
    ax.plot(
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


def _legend(ax: Any) -> Any:
    # Above the axes, because the label of the axis is below and the polygon inside.
    place = {"loc": "lower center", "bbox_to_anchor": (0.5, 1.0), "ncols": 4}
    legend = ax.legend(frameon=False, columnspacing=1.4, handletextpad=0.6, **place)
    for handle in legend.legend_handles:
        handle.set_linewidth(max(1.2, float(np.max(handle.get_linewidth()))))
    return ax
