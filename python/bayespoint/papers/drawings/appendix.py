"""Figures 7 to 10 of Herbrich, Graepel and Campbell: flights, reflections and mirrors."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from bayespoint.base import validation
from bayespoint.base.validation import Floats
from bayespoint.papers.bounds.mirror import mirrored_space
from bayespoint.papers.drawings.flights import Leg, Path
from bayespoint.plotting.style import COLORS, below, import_matplotlib, pick_axes
from bayespoint.version_space import VersionSpace

_BLUE, _VERMILION = COLORS


def begin(ax: Any, size: tuple[float, float] = (4.6, 4.4), **how: Any) -> Any:
    """Return the axes to draw into, with equal scales; a new figure if there are none."""
    ax = pick_axes(ax, size, **how)
    ax.set_aspect("equal")
    return ax


def arrow(
    ax: Any,
    tail: ArrayLike,
    tip: ArrayLike,
    name: str,
    color: str = "black",
    *,
    at: float = 0.5,
    left: bool = True,
) -> None:
    """Draw an arrow with its name beside it, to the left or right, at a share of its length."""
    tail, tip = np.asarray(tail, dtype=np.float64), np.asarray(tip, dtype=np.float64)
    style = {"arrowstyle": "-|>", "linewidth": 1.8, "color": color, "shrinkA": 0, "shrinkB": 0}
    ax.annotate("", xy=tip, xytext=tail, arrowprops=style, zorder=4)
    along = (tip - tail) / (np.linalg.norm(tip - tail) or 1.0)
    aside = np.array([-along[1], along[0]]) * (1 if left else -1)
    # The text begins beside the arrow, so that it never lies on it.
    horizontal, vertical = np.where(np.abs(aside) < 0.3, 0, np.sign(aside)).astype(int)
    ax.annotate(
        name,
        tail + at * (tip - tail),
        xytext=5 * aside,
        textcoords="offset points",
        color=color,
        fontsize=12,
        ha=("center", "left", "right")[horizontal],
        va=("center", "bottom", "top")[vertical],
        zorder=6,
    )


def line(ax: Any, through: ArrayLike, along: ArrayLike, label: str, **how: Any) -> None:
    """Draw the plane of an example, seen from its edge."""
    ax.axline(
        np.asarray(through), np.asarray(through) + np.asarray(along), label=label, zorder=1, **how
    )


def leg_of(path: Path, leg: int) -> Leg:
    """Return a flight of a path by its number."""
    number = validation.integer("leg", leg, low=0)
    if number >= len(path.legs):
        raise ValueError(f"leg must be below the number of flights, {len(path.legs)}; got {leg!r}")
    return path.legs[number]


def plot_flight(path: Path, leg: int = 0, *, ax: Any = None) -> Any:
    """Draw a straight flight to a plane and back to the sphere (Figure 7).

    The picture is in the plane of the flight. After the flight time the line from b along v meets
    the plane of the example. Scaled to length 1, that is the point where the great circle meets it.

    Parameters
    ----------
    path : Path
        A path of the engine, from `fly`.
    leg : int, default=0
        Which of its flights, at least 0. It must be shorter than a quarter of a turn.
    ax : matplotlib.axes.Axes, default=None
        Where to draw; by default a new figure is made.

    Returns
    -------
    matplotlib.axes.Axes
        The axes drawn into.

    Raises
    ------
    ValueError, TypeError
        If there is no such flight, or the straight line misses the plane.
    """
    flight = leg_of(path, leg)
    normal = path.X[flight.wall] * path.y[flight.wall]  # toward the satisfied side
    nu = float(normal @ flight.direction)
    time = -float(normal @ flight.start) / nu
    if time <= 0:
        raise ValueError(f"leg must be a flight of less than pi / 2; got one of {flight.arc:.3g}")
    ax = begin(ax)
    circle(ax, 0.0, max(math.pi / 2, flight.arc))
    landing = np.array([math.cos(flight.arc), math.sin(flight.arc)])
    line(ax, (0, 0), landing, "plane of φ(x)", color=_BLUE, linewidth=1.6)
    arrow(ax, (1, 0), (1, min(time, 1.0)), "v", _VERMILION, left=False)
    ax.plot([1, 1], [0, time], color=_VERMILION, linestyle="dashed", label=f"τ = {time:.3f}")
    seen = np.array([normal @ flight.start, nu]) / np.linalg.norm(normal)
    arrow(ax, landing / 2, landing / 2 + 0.4 * seen / np.linalg.norm(seen), "φ(x)", _BLUE)
    for place, name in (((1.0, 0.0), "b"), ((1.0, time), "b + τv"), (landing, "b'")):
        mark(ax, place, name)
    ax.set(xlim=(-0.15, 1.5), ylim=(-0.15, max(1.2, time + 0.15)))
    return finish(ax)


def circle(ax: Any, first: float, last: float) -> None:
    """Draw an arc of the unit circle around the origin."""
    turn = np.linspace(first, last, 181)
    ax.plot(np.cos(turn), np.sin(turn), color="gray", linewidth=1.0, label="_sphere", zorder=1)
    ax.plot(0, 0, "+", color="gray", label="_origin")


def mark(ax: Any, place: ArrayLike, name: str, away: tuple[float, float] = (7, 4)) -> None:
    """Draw a point with its name to the right, or so many typographic points away."""
    ax.plot(*np.asarray(place), "o", color="black", markersize=5, label=f"_{name}", zorder=5)
    ax.annotate(name, place, xytext=away, textcoords="offset points", fontsize=12, zorder=6)


def fit_window(ax: Any, points: ArrayLike, margin: float) -> None:
    """Set the limits of the axes around points, with a margin as a share of their extent."""
    low, high = np.min(points, axis=0), np.max(points, axis=0)
    pad = margin * float((high - low).max())
    ax.set(xlim=(low[0] - pad, high[0] + pad), ylim=(low[1] - pad, high[1] + pad))


def finish(ax: Any) -> Any:
    """Remove the ticks and add a legend if any artist has a label."""
    ax.set(xticks=[], yticks=[])
    if ax.get_legend_handles_labels()[1]:
        below(ax, ncols=2, y=0.0, fontsize="small")
    return ax


def plot_chord_and_arc(path: Path, leg: int = 0, *, ax: Any = None) -> Any:
    """Draw the length of a flight in Euclidean space and on the sphere (Figure 8).

    Parameters
    ----------
    path, leg, ax
        As for `plot_flight`.

    Returns
    -------
    matplotlib.axes.Axes
        The axes drawn into: the legend has both lengths.
    """
    flight = leg_of(path, leg)
    chord = float(np.linalg.norm(flight.end - flight.start))
    ax = begin(ax)
    circle(ax, -0.3, max(math.pi / 2, flight.arc + 0.3))
    turn = np.linspace(0, flight.arc, 91)
    on_sphere = np.stack([np.cos(turn), np.sin(turn)], axis=1)
    ax.plot(*on_sphere.T, color=_BLUE, linewidth=2.4, label=f"arc {flight.arc:.3f}")
    ends = on_sphere[[0, -1]]
    ax.plot(*ends.T, color=_VERMILION, linewidth=1.8, label=f"chord {chord:.3f}")
    for end, name in zip(ends, ("b", "b'"), strict=True):
        ax.plot(*np.stack([np.zeros(2), end], axis=1), color="gray", linewidth=0.8, label="_radius")
        mark(ax, end, name)
    return finish(ax)


def at_wall(path: Path, leg: int) -> tuple[Leg, Floats]:
    """Return a flight and two unit vectors at its end: along the wall, and its inward normal."""
    flight = leg_of(path, leg)
    normal = path.X[flight.wall] / np.linalg.norm(path.X[flight.wall]) * path.y[flight.wall]
    along = flight.arrival - (flight.arrival @ normal) * normal
    size = float(np.linalg.norm(along))
    if size < 1e-9:
        raise ValueError("leg must not meet its wall at a right angle; got one that does")
    return flight, np.stack([along / size, normal])


def plot_reflection(path: Path, leg: int = 0, *, axes: Any = None) -> Any:
    """Draw a reflection at a plane, which changes the direction along its normal (Figure 9).

    Parameters
    ----------
    path : Path
        A path of the engine, from `fly`.
    leg : int, default=0
        The flight that ends with the reflection, not at a right angle; the next one is drawn too.
    axes : pair of matplotlib.axes.Axes, default=None
        Where to draw; by default a new figure is made.

    Returns
    -------
    ndarray of two Axes
        The axes drawn into: on the left v, v' and φ, on the right v' = v + cφ.
    """
    leg_of(path, leg + 1)
    flight, frame = at_wall(path, leg)
    if flight.passed:
        raise ValueError("leg must end with a reflection; got one that passes through the wall")
    if axes is None:
        figure = import_matplotlib("pyplot").figure(figsize=(7.6, 3.4), layout="constrained")
        axes = figure.subplots(1, 2)
    axes = np.ravel(np.asarray(axes, dtype=object))
    if len(axes) != 2:
        raise ValueError(f"axes must be two; got {len(axes)}")
    v, after = frame @ flight.arrival, frame @ path.legs[leg + 1].direction
    for ax in axes:
        begin(ax)
        line(ax, (0, 0), (1, 0), "_plane", color="black", linewidth=1.4)
        ax.set(xlim=(-1.15, 1.15), ylim=(-0.35, 1.15))
    arrow(axes[0], -v, (0, 0), "v", _BLUE)
    arrow(axes[0], (0, 0), after, "v'", _VERMILION)
    arrow(axes[0], (0, 0), (0, 0.9), "φ(x)", at=0.85)
    origin = (0.0, 0.0)
    axes[1].set(xlim=(-0.15, 1.55), ylim=(-1.1, 1.1))
    arrow(axes[1], origin, v, "v", _BLUE, left=False)
    arrow(axes[1], origin, after, "v'", _VERMILION)
    arrow(axes[1], v, after, "c φ(x)", at=0.7, left=False)
    for ax, name in zip(axes, "ab", strict=True):
        finish(ax).set_title(f"({name})")
    return axes


def plot_point_mirror(
    X: ArrayLike, y: ArrayLike, w: ArrayLike, *, example: int = 0, ax: Any = None
) -> Any:
    r"""Draw the mirror image of a plane at a point (Figure 10).

    Parameters
    ----------
    X : array-like of shape (m, 2)
        Examples of a linear classifier without intercept, not all on a line.
    y : array-like of shape (m,)
        Their labels.
    w : array-like of shape (2,)
        The weight vector to mirror at, in version space; of any length.
    example : int, default=0
        The example whose plane is mirrored, from 0 to m - 1.
    ax : matplotlib.axes.Axes, default=None
        Where to draw; by default a new figure is made.

    Returns
    -------
    matplotlib.axes.Axes
        The axes drawn into.

    Notes
    -----
    The mirrored normal is computed as for the bounds, which use the part of version space that is
    symmetric about w: :math:`2\langle w, \phi\rangle w - \phi`. (The paper omits the factor w.)
    """
    points = np.array(validation.dense("X", X), dtype=np.float64)
    if points.ndim != 2 or points.shape[1] != 2 or np.linalg.matrix_rank(points) < 2:
        raise ValueError(f"X must span two dimensions, shape (m, 2); got shape {points.shape}")
    vector = validation.dual_coef("w", w, 2)
    example = validation.integer("example", example, low=0)
    if example >= len(points):
        raise ValueError(f"example must be below {len(points)}; got {example}")
    back = np.linalg.pinv(points)
    both = mirrored_space(VersionSpace(points @ points.T, y), vector @ back)
    # The mirrored normal from its inner products with the examples.
    mirrored = back @ both.gram[: len(points), len(points) + example]
    unit, normal = vector / np.linalg.norm(vector), points[example]
    ax = begin(ax)
    circle(ax, 0.0, 2 * math.pi)
    for phi, color, name in ((normal, _BLUE, "φ(x)"), (mirrored, _VERMILION, "φ(x')")):
        line(ax, (0, 0), (-phi[1], phi[0]), f"plane of {name}", color=color, linewidth=1.6)
        # Names on the side of w', where no plane passes.
        left = bool(phi[0] * unit[1] - phi[1] * unit[0] > 0)
        arrow(ax, (0, 0), phi / np.linalg.norm(phi) * 0.9, name, color, at=0.8, left=left)
    arrow(ax, (0, 0), unit, "w'", at=0.8)
    ax.set(xlim=(-1.2, 1.2), ylim=(-1.2, 1.2))
    return finish(ax)
