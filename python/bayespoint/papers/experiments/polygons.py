"""Figures 18.1 to 18.4 of Ruján and Marchand: version space in the plane."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import spatial
from scipy.stats import qmc

from bayespoint.papers import planar
from bayespoint.papers.experiments.drawing import legend_below
from bayespoint.papers.experiments.framework import Experiment, Report, Row, Settings, Text
from bayespoint.papers.experiments.rows import column, mean_and_error, plus_minus, select

ANGLE = 0.4
BOUNCES = (1_000, 10_000, 100_000)
QUICK_BOUNCES = (1_000,)
STRETCHES = (1, 3, 10)
CORNERS = 10
"""Random points of which a random polygon is the convex hull."""
CENTERS = {
    "mass": ("center of mass", "#000000", "x"),
    "ellipse": ("largest ellipse", "#D55E00", "^"),
    "circle": ("largest circle", "#0072B2", "o"),
}
TURN = 1e-6
"""Radians between the directions of two neighboring balls."""
# The paper gives no coordinates; this polygon has about the shape of the one it shows.
POLYGON = planar.Polygon([[0.0, 0.0], [5.0, 0.6], [6.2, 1.7], [4.6, 2.2], [1.2, 1.3]])
SCATTERER = planar.Circle(POLYGON.centroid, POLYGON.clearance(POLYGON.centroid) / 2)
TABLES = {"polygon": None, "with a scatterer": SCATTERER}


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
    table = _LINE.table("lines", lines)
    return Report([table], [_LINE.claim("equal", worst < 1e-12, worst=worst)])


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
    table = _LINES.table(
        "points", [[name, _point(place), f"{missed[name]:.4f}"] for name, place in places.items()]
    )
    order = list(missed.values())
    claims = [
        _LINES.claim("apart", spread > 1e-6, spread=spread),
        _LINES.claim("mass", missed["center of mass"] < missed["center of the largest circle"]),
        _LINES.claim("best", order[0] <= min(order[1:])),
    ]  # fmt: skip
    return Report([table], claims)


def _polygons(settings: Settings) -> list[Row]:
    return [
        {"stretch": stretch, "polygon": k} for stretch in STRETCHES for k in range(settings.splits)
    ]


def _inscribe(unit: Row, settings: Settings) -> Row:
    rng = np.random.default_rng(settings.seed_of(unit["polygon"]))
    angle, radius = rng.uniform(0, 2 * np.pi, CORNERS), np.sqrt(rng.uniform(size=CORNERS))
    places = np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1)
    hull = places[spatial.ConvexHull(places).vertices]
    polygon = planar.Polygon(hull * [unit["stretch"], 1.0])
    best = planar.bayes_point(polygon).point
    centers = {
        "mass": polygon.centroid,
        "ellipse": planar.largest_ellipse(polygon).center,
        "circle": planar.largest_circle(polygon).center,
    }
    unit_length = np.sqrt(polygon.area)
    return {name: float(np.hypot(*(place - best))) / unit_length for name, place in centers.items()}


def _inscribed(rows: list[Row], settings: Settings) -> Report:
    lines, claims = [], []
    for stretch in STRETCHES:
        off = {name: column(select(rows, stretch=stretch), name) for name in CENTERS}
        nearer = {name: int((off["mass"] < off[name]).sum()) for name in ("ellipse", "circle")}
        means = (plus_minus(*mean_and_error(off[name]), 4) for name in CENTERS)
        of_all = f"of {settings.splits}"
        lines.append([f"{stretch}", *means, *(f"{n} {of_all}" for n in nearer.values())])
        if stretch == 1:
            continue
        for name, count in nearer.items():
            gain, error = mean_and_error(off[name] - off["mass"])
            claims.append(
                _INSCRIBED.claim(
                    "mass",
                    gain > 3 * error and 2 * count > settings.splits,
                    stretch=stretch,
                    name=name,
                    gain=plus_minus(gain, error, 3),
                    count=count,
                    of_all=of_all,
                )
            )
    gain, error = mean_and_error(column(rows, "circle") - column(rows, "ellipse"))
    claims.append(_INSCRIBED.claim("ellipse", gain > 3 * error, gain=plus_minus(gain, error, 3)))
    table = _INSCRIBED.table(
        "distances",
        lines,
        splits=settings.splits,
        centers=" | ".join(title for title, _, _ in CENTERS.values()),
    )
    return Report([table], claims)


def _paths(settings: Settings) -> list[Row]:
    return [
        {"table": table, "bounces": n, "start": start}
        for start in range(settings.splits)
        for table in TABLES
        for n in (QUICK_BOUNCES if settings.quick else BOUNCES)
    ]


def _fly(unit: Row, settings: Settings) -> Row:
    n, scatterer = unit["bounces"], TABLES[unit["table"]]
    rng = np.random.default_rng(settings.seed_of(unit["start"]))
    first = planar.billiard(POLYGON, 1, scatterer=scatterer, random_state=rng)
    start, angle = first.positions[0], float(np.arctan2(*first.directions[0][::-1]))
    path, near = (
        planar.billiard(POLYGON, n, start=start, angle=angle + turn, scatterer=scatterer)
        for turn in (0.0, TURN)
    )
    apart = np.flatnonzero(path.edges != near.edges)
    low, high = POLYGON.vertices.min(axis=0), POLYGON.vertices.max(axis=0)
    sequence = low + (high - low) * qmc.Sobol(2, rng=rng).random_base2(int(np.log2(2 * n)))
    means = {
        "distance": path.mean_position,
        "random": POLYGON.sample(n, random_state=rng).mean(axis=0),
        "sequence": sequence[POLYGON.contains(sequence)].mean(axis=0),
    }
    off = {name: float(np.hypot(*(mean - POLYGON.centroid))) for name, mean in means.items()}
    return {**off, "apart": int(apart[0]) if len(apart) else n}


def _trajectory(rows: list[Row], settings: Settings) -> Report:
    lines: list[list[str]] = []
    part: dict[str, float] = {}
    for n in sorted({row["bounces"] for row in rows}):
        for name in TABLES:
            of_table = select(rows, bounces=n, table=name)
            off = column(of_table, "distance")
            part[name] = float(np.median(column(of_table, "apart")))
            lines.append([f"{n}", f"ball, {name}", f"{np.median(off):.4f}", f"{off.max():.4f}",
                          f"{part[name]:.0f}"])  # fmt: skip
        for way, title in (("random", "independent points"), ("sequence", "Sobol's sequence")):
            off = column(select(rows, bounces=n, table="polygon"), way)
            lines.append([f"{n}", title, f"{np.median(off):.4f}", f"{off.max():.4f}", ""])
    table = _PATH.table("paths", lines, turn=TURN, splits=settings.splits)
    circle = planar.largest_circle(POLYGON)
    rival = float(np.linalg.norm(circle.center - POLYGON.centroid))
    claims = []
    for name in TABLES:
        of_table = select(rows, table=name)
        nearer = int((column(of_table, "distance") < rival).sum())
        claims.append(
            _PATH.claim(
                "nearer",
                nearer == len(of_table),
                name=name,
                rival=rival,
                nearer=nearer,
                n=len(of_table),
            )
        )
    claims.append(
        _PATH.claim(
            "scatterer",
            3 * part["with a scatterer"] < part["polygon"],
            after=part["with a scatterer"],
            without=part["polygon"],
        )
    )
    most = max(row["bounces"] for row in rows)
    ends = [
        float(np.median(column(select(rows, bounces=most, table=name), "distance")))
        for name in TABLES
    ]
    remarks = [_PATH.fill("two-things", most=most, scattered=ends[1], plain=ends[0])]
    return Report([table], claims, remarks)


def _draw_line(rows: list[Row], settings: Settings, figure: Any) -> None:
    planar.plot_bayes_line(POLYGON, ANGLE, ax=figure.add_subplot())


def _draw_lines(rows: list[Row], settings: Settings, figure: Any) -> None:
    axes = figure.subplots(2, 1)
    for ax, zoom, title in zip(axes, (1, 8), ("polygon", "magnified eight times"), strict=True):
        planar.plot_bayes_lines(POLYGON, zoom=zoom, ax=ax).set_title(title)
        ax.get_legend().remove()
    legend_below(figure, axes, 4)


def _draw_inscribed(rows: list[Row], settings: Settings, figure: Any) -> None:
    top, bottom = figure.subfigures(2, 1, height_ratios=[4, 3])
    planar.plot_inscribed(POLYGON, ax=top.add_subplot())
    ax = bottom.add_subplot()
    for k, (name, (title, color, marker)) in enumerate(CENTERS.items()):
        for n, stretch in enumerate(STRETCHES):
            mean, error = mean_and_error(column(select(rows, stretch=stretch), name))
            ax.errorbar(n + 0.12 * (k - 1), mean, 2 * error, fmt=marker, color=color, capsize=3,
                        label=None if n else title)  # fmt: skip
    ax.set_xticks(range(len(STRETCHES)), [f"{stretch}" for stretch in STRETCHES])
    ax.set(xlabel="stretched, times", yscale="log",
           ylabel="distance to the Bayes point\n/ √area, mean ± 2 s.e.")  # fmt: skip
    ax.legend(frameon=False, loc="upper left", bbox_to_anchor=(1, 1))


def _draw_path(rows: list[Row], settings: Settings, figure: Any) -> None:
    axes = figure.subplots(2, 1)
    seed = settings.seed_of(0)
    for ax, (title, scatterer) in zip(axes, TABLES.items(), strict=True):
        path = planar.billiard(POLYGON, BOUNCES[0], scatterer=scatterer, random_state=seed)
        planar.plot_trajectory(POLYGON, path, ax=ax).set_title(title)
        ax.get_legend().remove()
    legend_below(figure, axes, 4)


_LINE = Text.of("kernel-billiard", "figure-18-1")
_LINES = Text.of("kernel-billiard", "figure-18-2")
_INSCRIBED = Text.of("kernel-billiard", "figure-18-3", corners=CORNERS)
_PATH = Text.of("kernel-billiard", "figure-18-4")

EXPERIMENTS = (
    Experiment(_LINE, _halving_line, _draw_line, size=(7.0, 4.0)),
    Experiment(_LINES, _all_lines, _draw_lines, size=(7.0, 7.4)),
    Experiment(
        _INSCRIBED,
        _inscribed,
        _draw_inscribed,
        _polygons,
        _inscribe,
        splits=100,
        quick_splits=8,
        size=(7.0, 7.0),
    ),
    Experiment(
        _PATH, _trajectory, _draw_path, _paths, _fly, splits=20, quick_splits=5, size=(7.0, 7.4)
    ),
)
