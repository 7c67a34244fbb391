"""Figures 18.5 to 18.10 of Ruján and Marchand, and Figure 4 of Herbrich, Graepel and Campbell."""

from __future__ import annotations

import itertools
import math
import string
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import spatial

from bayespoint.base import validation
from bayespoint.base.validation import Floats, RandomState
from bayespoint.papers.checks import Labels
from bayespoint.papers.displays.sphere import chart, closed, corners_of, mesh, scaled
from bayespoint.papers.drawings.appendix import (
    arrow,
    at_wall,
    begin,
    circle,
    finish,
    fit_window,
    leg_of,
    line,
    mark,
)
from bayespoint.papers.drawings.flights import Path, fly
from bayespoint.papers.max_margin import MaxMarginClassifier
from bayespoint.papers.pictures import SHADES
from bayespoint.papers.planar import Polygon, billiard
from bayespoint.plotting.style import COLORS, MARKERS, below
from bayespoint.version_space import VersionSpace

_BLUE, _VERMILION = COLORS


def _plane_points(X: ArrayLike, y: ArrayLike) -> tuple[Floats, Labels]:
    points = np.array(validation.dense("X", X), dtype=np.float64)
    if points.ndim != 2 or points.shape[1] != 2:
        raise ValueError(f"X must have shape (m, 2); got shape {points.shape}")
    index, _ = validation.class_labels(y, len(points))
    labels = 2 * index - 1
    if (n := len(np.unique(labels))) != 2:
        raise ValueError(f"y must hold two classes; got {n}")
    return points, labels


def plot_connector(X: ArrayLike, y: ArrayLike, *, ax: Any = None) -> Any:
    """Draw the maximal margin and its dual, the shortest connection of the hulls (Figure 18.5).

    Parameters
    ----------
    X : array-like of shape (m, 2)
        Examples that a line can separate.
    y : array-like of shape (m,)
        Labels of two classes, at least three examples of each that are not on a line.
    ax : matplotlib.axes.Axes, default=None
        Where to draw; by default a new figure is made.

    Returns
    -------
    matplotlib.axes.Axes
        The axes drawn into: the convex hulls of the classes, the two parallel lines of the gap, the
        connector between the hulls, and the support vectors, A, B and so on.
    """
    points, labels = _plane_points(X, y)
    hulls = {}
    for sign in (-1, 1):
        members = points[labels == sign]
        if len(members) < 3 or np.linalg.matrix_rank(members - members[0]) < 2:
            raise ValueError("each class must have three examples not on a line for its hull")
        hulls[sign] = members[spatial.ConvexHull(members).vertices]
    model = MaxMarginClassifier("linear", C=math.inf, fit_intercept="free").fit(points, labels)
    w = model.dual_coef_[0] @ points
    ax = begin(ax)
    for sign, color, shade, marker in zip(
        (-1, 1), COLORS, (SHADES[0], SHADES[2]), MARKERS, strict=True
    ):
        ax.fill(*hulls[sign].T, facecolor=shade, alpha=0.4, label="_hull", zorder=0)
        name = "positive" if sign > 0 else "negative"
        ax.plot(*points[labels == sign].T, marker, color=color, label=name, zorder=3)
    along = np.array([-w[1], w[0]])
    for value, style in ((-1, "dashed"), (0, "solid"), (1, "dashed")):
        foot = (value - model.intercept_[0]) * w / (w @ w)
        line(ax, foot, along, f"_f = {value}", color="black", linestyle=style, linewidth=1.2)
    connector = model.hull_weights_[:, 0] @ points
    label = f"connector {model.connector_[0]:.3f}, gap {model.gap_[0]:.3f}"
    ax.plot(*connector.T, "o-", color="black", markersize=4, linewidth=2.2, label=label, zorder=4)
    for number, row in enumerate(model.support_.tolist()):
        mark(ax, points[row], string.ascii_uppercase[number])
    return finish(ax)


def plot_cone(X: ArrayLike, y: ArrayLike, *, ax: Any = None) -> Any:
    """Draw version space as a cone through the unit sphere, with the maximal margin (Figure 18.6).

    Parameters
    ----------
    X : array-like of shape (m, 2)
        Examples that a line can separate. Each gives a plane in the space of (w, b): its normal
        is (x, 1), with the sign of the label.
    y : array-like of shape (m,)
        Labels of two classes.
    ax : mpl_toolkits.mplot3d.axes3d.Axes3D, default=None
        Where to draw; by default a new figure is made.

    Returns
    -------
    Axes3D
        The axes drawn into: the cone's edges and faces, with the letters of their support vectors
        in `plot_connector`, the arcs that bound version space, and the ray of the maximal margin.
    """
    points, labels = _plane_points(X, y)
    extended = np.column_stack([points, np.ones(len(points))])
    normals = np.asarray(extended * labels[:, None], dtype=np.float64)
    space = VersionSpace(points @ points.T, labels, offset=1.0)
    margin = space.max_margin()
    ray = margin.dual_coef @ extended
    corners = corners_of(normals, ray)
    if ax is None:
        ax = begin(None, (6.4, 6.0), projection="3d")
    # Orders by hand: matplotlib's would draw the faces over the ray inside.
    ax.computed_zorder = False
    ax.plot_wireframe(*mesh(12), color="gray", linewidth=0.3, label="_sphere", zorder=1)
    letters = dict(zip(margin.support.tolist(), string.ascii_uppercase, strict=False))
    around = closed(corners)
    for number, (first, second) in enumerate(itertools.pairwise(around)):
        arc = spatial.geometric_slerp(first, second, np.linspace(0, 1, 31))
        face = np.stack([np.zeros((31, 3)), 1.3 * arc])
        ax.plot_surface(*np.moveaxis(face, -1, 0), color=SHADES[0], alpha=0.35, zorder=2)
        edge = 1.3 * np.stack([np.zeros(3), first], axis=1)
        ax.plot(*edge, color=_BLUE, label="_edge" if number else "edges of the cone", zorder=3)
        label = "_arc" if number else "version space on the sphere"
        ax.plot(*arc.T, color="black", linewidth=2.4, label=label, zorder=4)
        plane = int(np.abs(normals @ np.stack([first, second], axis=1)).sum(axis=1).argmin())
        if plane in letters:
            ax.text(*(1.4 * arc[15]), letters[plane], fontsize=13, ha="center", zorder=6)
    ray_line = np.outer(ray, [0, 1.5])
    ax.plot(*ray_line, color=_VERMILION, linewidth=2.6, label="maximal margin", zorder=5)
    ax.plot(*ray[:, None], "o", color=_VERMILION, label="_on the sphere", zorder=5)
    ax.view_init(*_viewpoint(corners.mean(axis=0)))
    ax.set(xticks=[], yticks=[], zticks=[], xlabel="w₁", ylabel="w₂", zlabel="b")
    ax.legend(frameon=False, loc="upper left")
    return ax


def _viewpoint(toward: Floats) -> tuple[float, float]:
    """Return elevation and azimuth of a viewpoint beside a direction, in degrees."""
    elevation = math.degrees(math.asin(toward[2] / np.linalg.norm(toward)))
    azimuth = math.degrees(math.atan2(toward[1], toward[0]))
    return float(np.clip(elevation + 25, -80, 80)), azimuth + 40


def plot_version_space(
    X: ArrayLike,
    y: ArrayLike,
    *,
    n_balls: int = 20,
    length: float = 6.0,
    random_state: RandomState = None,
    ax: Any = None,
) -> Any:
    """Draw version space in three dimensions with its centers and the bounces (Figure 4).

    Parameters
    ----------
    X : array-like of shape (m, 3)
        Examples of a linear classifier without intercept.
    y : array-like of shape (m,)
        Labels of two classes, or -1 and +1.
    n_balls : int, default=20
        Number of balls, at least 1. A single one may stay in a part of version space.
    length : float, default=6.0
        Length of the path of each, in radians, above 0.
    random_state, ax
        As for `fly` and `plot_connector`.

    Returns
    -------
    matplotlib.axes.Axes
        The axes drawn into, in a chart around the center of the largest ball, where great circles
        are straight. The Bayes point is from another run, with an error of 0.01 radians.

    Raises
    ------
    FloatingPointError
        If double precision is not sufficient.
    """
    n_balls = validation.integer("n_balls", n_balls, low=1)
    rng = validation.generator(random_state)
    paths = [fly(X, y, length=length, random_state=rng) for _ in range(n_balls)]
    path = paths[0]
    signed = _in_space(path)
    # The largest ball is that of the maximal margin of examples of length 1.
    normals = scaled(path.X)
    ball = VersionSpace(normals @ normals.T, path.y).max_margin().dual_coef @ normals
    center = path.space.sample(tol=0.01, random_state=rng).center @ path.X
    polygon, frame = _flat_polygon(signed, scaled(ball))
    ax = begin(ax)
    ax.fill(*polygon.T, facecolor=SHADES[1], edgecolor="black", label="_outline")
    bounces = np.array([leg.end for each in paths for leg in each.legs])
    for points, how in (
        (bounces, {"marker": ".", "color": SHADES[0], "label": f"{len(bounces)} bounces"}),
        (center[None], {"marker": "D", "color": _BLUE, "label": "Bayes point"}),
        (ball[None], {"marker": "x", "color": _VERMILION, "label": "center of the largest ball"}),
    ):
        flat = points @ frame.T / (points @ ball)[:, None]
        ax.plot(*flat.T, linestyle="none", **how)
    ax.set(xlabel="tangent of the angle to the ball's center", ylabel="the same, across")
    below(ax, ncols=2, fontsize="small")
    return ax


def _flat_polygon(normals: Floats, center: Floats) -> tuple[Floats, Floats]:
    """Return the corners in the chart around a center, and the chart's two tangents."""
    frame, corners = np.stack(chart(center)), corners_of(normals, center)
    return corners @ frame.T / (corners @ center)[:, None], frame


def _in_space(path: Path) -> Floats:
    """Return the normals that point into version space, after a check for three dimensions."""
    if not isinstance(path, Path):
        raise TypeError(f"path must be a Path; got a {type(path).__name__}")
    if path.X.shape[1] != 3:
        raise ValueError(f"path must be in three dimensions; got {path.X.shape[1]}")
    return np.asarray(path.X * path.y[:, None])


def plot_bounce(
    polygon: Polygon, *, start: ArrayLike, angle: float, margin: float = 0.1, ax: Any = None
) -> Any:
    """Draw a ball that bounces on a plane, with its flight time (Figure 18.7).

    Parameters
    ----------
    polygon : Polygon
        The billiard table, whose edge is the plane.
    start : array-like of shape (2,)
        W, the place of the ball, inside the polygon.
    angle : float
        Direction of flight V, in radians; not into a corner.
    margin : float, default=0.1
        Margin of the picture, as a share of its size, at least 0.
    ax : matplotlib.axes.Axes, default=None
        Where to draw; by default a new figure is made.

    Returns
    -------
    matplotlib.axes.Axes
        The axes drawn into: the flight from W to W', the new direction V', and the distances
        from the plane of W and V whose negative ratio is the flight time.
    """
    margin = validation.real("margin", margin, low=0.0)
    path = billiard(polygon, 1, start=start, angle=angle)
    edge = int(path.edges[0])
    if edge < 0:
        raise ValueError("angle must not lead into a corner of the polygon; got one that does")
    normal = -polygon.normals[edge]
    (before, after), (v, reflected) = path.positions, path.directions
    distance, speed = float(normal @ (before - after)), float(normal @ v)
    time = -distance / speed
    ax = begin(ax)
    edges = polygon.vertices[[edge, (edge + 1) % len(polygon.vertices)]]
    ax.plot(*edges.T, color="black", linewidth=2.0, label="_plane")
    ax.plot(*path.positions.T, color=_BLUE, linestyle="dashed", label=f"flight, τ = {time:.3f}")
    foot = before - distance * normal
    label = f"d⊥ = {distance:.3f}, V⊥ = {speed:.3f}"
    ax.plot(*np.stack([before, foot]).T, color="gray", linestyle="dotted", label=label)
    size = 0.45 * time
    # Names on the sides of X and V' that are away from each other.
    turns = reflected[0] * normal[1] - reflected[1] * normal[0] < 0
    arrow(ax, before, before + size * v, "V", _BLUE, left=bool(turns))
    corner = before + size * (v - speed * normal)
    arrow(ax, corner, before + size * v, "V⊥", "gray", left=not turns)
    aside = "left" if turns else "right"
    ax.annotate(" d⊥ ", foot + 0.4 * (before - foot), color="gray", ha=aside, fontsize=12)
    arrow(ax, after, after + size * reflected, "V'", _VERMILION, at=0.7, left=bool(turns))
    arrow(ax, after, after + size * normal, "X", at=0.8, left=not turns)
    mark(ax, before, "W")
    mark(ax, after, "W'", (5, -16 if normal[1] > 0 else 8))
    seen = np.stack([*edges, before, after + size * reflected, after + size * normal])
    fit_window(ax, seen, margin)
    return finish(ax)


def plot_arc_sum(
    angle: float = 1.2, weights: tuple[float, float] = (1.0, 2.0), *, ax: Any = None
) -> Any:
    """Draw the sum of two weighted unit vectors on their arc (Figure 18.8).

    Parameters
    ----------
    angle : float, default=1.2
        Angle between a and b, in radians, in (0, pi).
    weights : pair of floats, default=(1.0, 2.0)
        Weights of a and b, at least 0 and not both 0.
    ax : matplotlib.axes.Axes, default=None
        Where to draw; by default a new figure is made.

    Returns
    -------
    matplotlib.axes.Axes
        The axes drawn into: c divides the arc in proportion to the weights (Eq. 18.27).
    """
    angle = validation.real("angle", angle, low=0.0, low_open=True, high=math.pi, high_open=True)
    first, second = validation.pair("weights", weights, partial(validation.real, low=0.0))
    if first + second == 0:
        raise ValueError("weights must not both be 0; got (0, 0)")
    a, b = np.array([1.0, 0.0]), np.array([math.cos(angle), math.sin(angle)])
    c = spatial.geometric_slerp(a, b, second / (first + second))
    ax = begin(ax)
    circle(ax, 0.0, max(math.pi / 2, angle))
    for vector, name, color in (
        (a, f"a, ρ = {first:g}", _BLUE),
        (b, f"b, ρ = {second:g}", _BLUE),
        (c, f"c, ρ = {first + second:g}", _VERMILION),
    ):
        arrow(ax, (0, 0), vector, "", color)
        mark(ax, vector, name)
    ax.set(xlim=(min(-0.1, b[0] - 0.1), 1.5), ylim=(-0.15, 1.2))
    return finish(ax)


def plot_half_mirror(path: Path, *, ax: Any = None) -> Any:
    """Draw a half-transparent wall, which reflects from above and passes from below (Figure 18.9).

    Parameters
    ----------
    path : Path
        A path of the engine among half-transparent walls, from `fly`. It must have been reflected
        from the satisfied side of a wall, and have passed the same wall from the violated side.
    ax : matplotlib.axes.Axes, default=None
        Where to draw; by default a new figure is made.

    Returns
    -------
    matplotlib.axes.Axes
        The axes drawn into, each event in the plane of its flight and the wall's normal. The
        satisfied side is above.
    """
    reflected, passed = _both_ways(path)
    ax = begin(ax)
    line(ax, (0, 0), (1, 0), "_plane", color="black", linewidth=1.6)
    for leg, place, color, name in (
        (reflected, -0.9, _BLUE, "from above: reflected"),
        (passed, 0.9, _VERMILION, "from below: passes"),
    ):
        flight, frame = at_wall(path, leg)
        away = frame @ path.legs[leg + 1].direction
        spot = np.array([place, 0.0])
        arrow(ax, spot - frame @ flight.arrival, spot, "V", color)
        arrow(ax, spot, spot + away, "V'", color)
        ax.plot(*spot, "o", color=color, label=name)
    ax.set(xlim=(-2, 2), ylim=(-1.1, 1.1))
    return finish(ax)


def _both_ways(path: Path) -> tuple[int, int]:
    """Return two flights to one wall: one reflected from above, one passing from below.

    Those that meet the wall at angles closest to 45 degrees are chosen.
    """
    best: dict[tuple[int, bool], tuple[float, int]] = {}
    for number, leg in enumerate(path.legs[:-1]):
        if leg.satisfied == leg.passed:
            continue
        normal = path.X[leg.wall]
        steepness = abs(float(normal @ leg.arrival)) / float(np.linalg.norm(normal))
        found = (abs(steepness - math.sqrt(0.5)), number)
        key = (leg.wall, leg.passed)
        best[key] = min(best.get(key, found), found)
    both = [wall for wall, passed in best if passed and (wall, False) in best]
    if not both:
        raise ValueError(
            "path must meet a wall from both sides, reflected from above and let through from "
            "below; got none that does: fly longer, with a transparency"
        )
    wall = min(both, key=lambda wall: max(best[wall, False], best[wall, True]))
    return best[wall, False][1], best[wall, True][1]


def plot_projected_flight(path: Path, leg: int = 0, *, max_errors: int = 3, ax: Any = None) -> Any:
    """Draw a flight continued beyond version space, into the onion's layers (Figure 18.10).

    Parameters
    ----------
    path : Path
        A path of the engine in three dimensions behind opaque walls, from `fly`.
    leg : int, default=0
        Which of its flights, at least 0.
    max_errors : int, default=3
        Number of planes to cross, at least 1.
    ax : matplotlib.axes.Axes, default=None
        Where to draw; by default a new figure is made.

    Returns
    -------
    matplotlib.axes.Axes
        The axes drawn into, in a chart around the maximal margin where great circles are straight.
        The number at each crossing counts the violated examples beyond it.
    """
    signed = _in_space(path)
    flight = leg_of(path, leg)
    limit = validation.integer("max_errors", max_errors, low=1)
    margin = path.space.max_margin().dual_coef @ path.X
    polygon, frame = _flat_polygon(signed, margin)

    def flat(points: Floats) -> Floats:
        return np.asarray(points @ frame.T / (points @ margin)[:, None])

    # Sorted flight times; only points in the hemisphere of the chart can be drawn.
    times = np.sort(np.arctan2(path.X @ flight.start, -(path.X @ flight.direction)) % math.pi)
    times = times[times > flight.arc - 1e-9]
    times = times[flight.at(times) @ margin > 0.1][: limit + 1]
    beyond = [int((signed @ flight.at(time + 1e-9) < 0).sum()) for time in times]
    ax = begin(ax)
    for x in signed:
        across = frame @ x
        foot = -(x @ margin) * across / (across @ across)
        line(ax, foot, (-across[1], across[0]), "_plane", color="gray", linewidth=0.8)
    ax.fill(*polygon.T, facecolor=SHADES[0], alpha=0.5, label="no errors")
    inside = flat(np.stack([flight.start, flight.end]))
    ax.plot(*inside.T, color=_BLUE, linewidth=2.2, label="flight")
    ray = flat(flight.at(np.append(flight.arc, times)))
    ax.plot(*ray.T, color=_VERMILION, linestyle="dashed", label="continued")
    crossings = flat(flight.at(times))
    ax.plot(*crossings.T, "o", color=_VERMILION, markersize=4, label="_crossings", zorder=5)
    for place, errors in zip(crossings, beyond, strict=True):
        ax.annotate(str(errors), place, xytext=(5, 5), textcoords="offset points", fontsize=11)
    fit_window(ax, np.vstack([polygon, crossings]), 0.08)
    return finish(ax)
