"""Figures 18.1 to 18.4 of Ruján and Marchand: version space in the plane."""

from __future__ import annotations

from typing import Any

import numpy as np

from bayespoint.papers import planar
from bayespoint.papers.experiments.framework import (
    Claim,
    Experiment,
    Report,
    Row,
    Settings,
    Table,
    column,
)

ANGLE = 0.4
BOUNCES = (1_000, 10_000, 100_000)
QUICK_BOUNCES = (1_000,)
# The paper gives no coordinates; this polygon has about the shape of the one it shows.
POLYGON = planar.Polygon([[0.0, 0.0], [5.0, 0.6], [6.2, 1.7], [4.6, 2.2], [1.2, 1.3]])


def _point(place: Any) -> str:
    return f"({place[0]:.4f}, {place[1]:.4f})"


def _halving_line(rows: list[Row], settings: Settings) -> Report:
    lines, worst = [], 0.0
    for angle in (ANGLE, ANGLE + 0.8, ANGLE + 1.6, ANGLE + 2.4):
        line = planar.bayes_line(POLYGON, angle)
        middle = line.segment.mean(axis=0)
        difference = float(planar.area_difference(POLYGON, middle, angle))
        worst = max(worst, abs(difference))
        lines.append([f"{angle:.1f}", f"{_point(line.segment[0])} to {_point(line.segment[1])}",
                      f"{difference:+.1e}"])  # fmt: skip
    table = Table("Bayes lines", ["angle of the normal", "line", "(A₁ - A₂) / (A₁ + A₂)"], lines)
    return Report(
        [table], [Claim(f"both areas are equal (to {worst:.0e} of the whole)", worst < 1e-12)]
    )


def _all_lines(rows: list[Row], settings: Settings) -> Report:
    lines = planar.bayes_lines(POLYGON, 180)
    best = planar.bayes_point(POLYGON)
    circle, ellipse = planar.largest_circle(POLYGON), planar.largest_ellipse(POLYGON)
    spread = float(np.ptp(lines.envelope, axis=0).max())
    places = {
        "Bayes point": best.point,
        "center of mass": POLYGON.centroid,
        "center of the largest ellipse": ellipse.center,
        "center of the largest circle": circle.center,
    }
    missed = {
        name: float(np.sqrt(planar.bayes_objective(POLYGON, place)))
        for name, place in places.items()
    }
    table = Table(
        "Root mean square of the area difference over all directions, as a share of the area",
        ["point", "place", "difference"],
        [[name, _point(place), f"{missed[name]:.4f}"] for name, place in places.items()],
    )
    order = list(missed.values())
    claims = [
        Claim(f"the Bayes lines do not meet in one point (their envelope is {spread:.2f} wide)",
              spread > 1e-6),
        Claim("the center of mass has a smaller difference than the circle's center",
              missed["center of mass"] < missed["center of the largest circle"]),
        Claim("no other point is better than the Bayes point", order[0] <= min(order[1:])),
    ]  # fmt: skip
    return Report([table], claims)


def _inscribed(rows: list[Row], settings: Settings) -> Report:
    circle, ellipse = planar.largest_circle(POLYGON), planar.largest_ellipse(POLYGON)
    best = planar.bayes_point(POLYGON).point
    places = {
        "largest circle": (circle.center, circle.area),
        "largest ellipse": (ellipse.center, ellipse.area),
        "center of mass": (POLYGON.centroid, POLYGON.area),
    }
    distance = {name: float(np.linalg.norm(place - best)) for name, (place, _) in places.items()}
    table = Table(
        "Approximations of the Bayes point",
        ["", "center", "area", "distance to the Bayes point"],
        [[name, _point(place), f"{area:.4f}", f"{distance[name]:.4f}"]
         for name, (place, area) in places.items()],
    )  # fmt: skip
    mass = distance["center of mass"]
    claims = [
        Claim("the ellipse's center is better than the circle's",
              distance["largest ellipse"] < distance["largest circle"]),
        Claim("the center of mass is better than the circle's center",
              mass < distance["largest circle"]),
        Claim("the center of mass is better than the ellipse's center",
              mass < distance["largest ellipse"]),
    ]  # fmt: skip
    return Report([table], claims)


def _paths(settings: Settings) -> list[Row]:
    return [
        {"bounces": n, "start": start}
        for start in range(settings.splits)
        for n in (QUICK_BOUNCES if settings.quick else BOUNCES)
    ]


def _fly(unit: Row, settings: Settings) -> Row:
    seed = settings.seed_of(unit["start"])
    path = planar.billiard(POLYGON, unit["bounces"], random_state=seed)
    off = np.linalg.norm(path.mean_position - POLYGON.centroid)
    return {"distance": float(off), "length": float(path.length)}


def _trajectory(rows: list[Row], settings: Settings) -> Report:
    lines = []
    for n in sorted({row["bounces"] for row in rows}):
        off = column([row for row in rows if row["bounces"] == n], "distance")
        lines.append([f"{n}", f"{np.median(off):.4f}", f"{off.max():.4f}"])
    table = Table(
        f"Mean position of the ball: its distance to the center of mass ({settings.splits} starts)",
        ["bounces", "median", "largest"],
        lines,
    )
    circle = planar.largest_circle(POLYGON)
    rival = float(np.linalg.norm(circle.center - POLYGON.centroid))
    nearer = int((column(rows, "distance") < rival).sum())
    claim = Claim(
        f"the mean position is nearer to the center of mass than the circle's center is "
        f"({rival:.3f} away), in {nearer} of {len(rows)} paths",
        nearer == len(rows),
    )
    return Report([table], [claim])


def _draw_line(rows: list[Row], settings: Settings, figure: Any) -> None:
    planar.plot_bayes_line(POLYGON, ANGLE, ax=figure.add_subplot())


def _draw_lines(rows: list[Row], settings: Settings, figure: Any) -> None:
    axes = figure.subplots(2, 1)
    planar.plot_bayes_lines(POLYGON, ax=axes[0])
    planar.plot_bayes_lines(POLYGON, zoom=8, ax=axes[1])


def _draw_inscribed(rows: list[Row], settings: Settings, figure: Any) -> None:
    planar.plot_inscribed(POLYGON, ax=figure.add_subplot())


def _draw_path(rows: list[Row], settings: Settings, figure: Any) -> None:
    path = planar.billiard(POLYGON, BOUNCES[0], random_state=settings.seed_of(0))
    planar.plot_trajectory(POLYGON, path, ax=figure.add_subplot())


_OWN = " The paper gives no coordinates; the polygon is ours."

EXPERIMENTS = (
    Experiment(
        name="figure-18-1",
        title="Figure 18.1: a line that halves a polygon",
        paper="kernel-billiard",
        about="The Bayes line of a direction halves the area of the polygon." + _OWN,
        report=_halving_line,
        draw=_draw_line,
        size=(7.0, 4.0),
    ),
    Experiment(
        name="figure-18-2",
        title="Figure 18.2: the Bayes lines of all directions",
        paper="kernel-billiard",
        about="The lines do not meet in one point. The Bayes point is the point with the smallest "
        "mean squared difference of the areas on both sides, over all directions." + _OWN,
        report=_all_lines,
        draw=_draw_lines,
        size=(7.0, 8.0),
    ),
    Experiment(
        name="figure-18-3",
        title="Figure 18.3: the largest circle, the largest ellipse and the center of mass",
        paper="kernel-billiard",
        about="Approximations of the Bayes point in an elongated polygon." + _OWN,
        report=_inscribed,
        draw=_draw_inscribed,
        size=(7.0, 4.0),
    ),
    Experiment(
        name="figure-18-4",
        title="Figure 18.4: a billiard in the polygon, 1000 bounces",
        paper="kernel-billiard",
        about="The mean position of a ball and the center of mass." + _OWN,
        units=_paths,
        measure=_fly,
        report=_trajectory,
        draw=_draw_path,
        splits=20,
        quick_splits=5,
        size=(7.0, 4.0),
    ),
)
