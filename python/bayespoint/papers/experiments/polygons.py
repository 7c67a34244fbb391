"""Section 18.2 of Ruján and Marchand, with Figures 18.1 to 18.4: version space in the plane."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import spatial
from scipy.stats import qmc

from bayespoint import VersionSpace
from bayespoint.papers import planar
from bayespoint.papers.experiments.billiards import fly
from bayespoint.papers.experiments.drawing import legend_below
from bayespoint.papers.experiments.framework import (
    SPLITS,
    Experiment,
    Report,
    Settings,
    Text,
    units_of,
)
from bayespoint.papers.experiments.rows import Row, Rows, every, grid, mean_of

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
ORDERS = {"rectangle": 4, "triangle": 12}
"""Directions of one path at most: twice the least common denominator of the angles over π."""
RATIONAL = {
    "rectangle": planar.Polygon([[0.0, 0.0], [3.0, 0.0], [3.0, 2.0], [0.0, 2.0]]),
    "triangle": planar.Polygon([[0.0, 0.0], [3.0, 0.0], [0.0, np.sqrt(3.0)]]),
    "polygon of Figure 18.4": POLYGON,
}
OCTANT = "octant of the sphere"
SHOWN = 4
"""The start of the picture."""
TABLES = {"polygon": None, "with a scatterer": SCATTERER}
WAYS = (
    ("ball, polygon", "polygon", "distance"),
    ("ball, with a scatterer", "with a scatterer", "distance"),
    ("independent points", "polygon", "random"),
    ("Sobol's sequence", "polygon", "sequence"),
)
"""Title, table and column of each mean of places."""


def _halving_line(rows: Rows, settings: Settings) -> Report:
    lines, worst = [], 0.0
    for angle in (ANGLE, ANGLE + 0.8, ANGLE + 1.6, ANGLE + 2.4):
        line = planar.bayes_line(POLYGON, angle)
        middle = line.segment.mean(axis=0)
        difference = planar.area_difference(POLYGON, middle, angle)
        worst = max(worst, abs(difference))
        lines.append([f"{angle:.1f}", f"{difference:+.1e}"])
    table = _LINE.table("lines", lines)
    return Report([table], [_LINE.claim("equal", worst < 1e-12, worst=worst)])


def _all_lines(rows: Rows, settings: Settings) -> Report:
    lines = planar.bayes_lines(POLYGON, 180)
    best = planar.bayes_point(POLYGON)
    circle, ellipse = planar.largest_circle(POLYGON), planar.largest_ellipse(POLYGON)
    spread = np.ptp(lines.envelope, axis=0).max()
    places = {
        "Bayes point": best.point,
        "center of mass": POLYGON.centroid,
        "center of the largest ellipse": ellipse.center,
        "center of the largest circle": circle.center,
    }
    missed = {
        name: np.sqrt(planar.bayes_objective(POLYGON, place)) for name, place in places.items()
    }
    table = _LINES.table("points", [[name, f"{off:.4f}"] for name, off in missed.items()])
    order = list(missed.values())
    claims = [
        _LINES.claim("apart", spread > 1e-6, spread=spread),
        _LINES.claim("mass", missed["center of mass"] < missed["center of the largest circle"]),
        _LINES.claim("best", order[0] <= min(order[1:])),
    ]  # fmt: skip
    return Report([table], claims)


_polygons = units_of(stretch=STRETCHES, polygon=SPLITS)


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


def _inscribed(rows: Rows, settings: Settings) -> Report:
    lines, better = [], {}
    for stretch, off in rows.by("stretch").items():
        nearer = {name: (off["mass"] < off[name]).sum() for name in ("ellipse", "circle")}
        means = (f"{off.mean(name):.4f}" for name in CENTERS)
        lines.append([f"{stretch}", *means, *map(str, nearer.values())])
        if stretch == 1:
            continue
        for name, count in nearer.items():
            gain = mean_of(off[name] - off["mass"])
            known = f"the {name}'s at {stretch} times (by {gain:.3f})"
            better[known] = every([gain.above(), 2 * count > settings.splits])
    gain = mean_of(rows["circle"] - rows["ellipse"])
    claims = [
        *_INSCRIBED.claims("mass", better),
        _INSCRIBED.claim("ellipse", gain.above(), gain=f"{gain:.3f}"),
    ]
    table = _INSCRIBED.table(
        "distances",
        lines,
        splits=settings.splits,
        centers=" | ".join(title for title, _, _ in CENTERS.values()),
    )
    return Report([table], claims)


_paths = units_of({"bounces": QUICK_BOUNCES}, start=SPLITS, table=TABLES, bounces=BOUNCES)


def _fly(unit: Row, settings: Settings) -> Row:
    n, scatterer = unit["bounces"], TABLES[unit["table"]]
    rng = np.random.default_rng(settings.seed_of(unit["start"]))
    first = planar.billiard(POLYGON, 1, scatterer=scatterer, random_state=rng)
    start, angle = first.positions[0], np.arctan2(*first.directions[0][::-1])
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
    off = {name: np.hypot(*(mean - POLYGON.centroid)) for name, mean in means.items()}
    return {**off, "apart": int(apart[0]) if len(apart) else n}


def _trajectory(rows: Rows, settings: Settings) -> Report:
    lines: list[list[str]] = []
    part: dict[str, float] = {}
    middle: dict[str, float] = {}
    lengths = [n for n in BOUNCES if n in rows["bounces"]]
    longest = lengths[-1]
    for title, name, way in WAYS:
        of_table = rows.where(table=name)
        medians = [np.median(of_table.where(bounces=n)[way]) for n in lengths]
        apart = ""
        if way == "distance":
            middle[name] = medians[-1]
            part[name] = np.median(of_table.where(bounces=longest)["apart"])
            apart = f"{part[name]:.0f}"
        lines.append([title, *(f"{off:.4f}" for off in medians), apart])
    counts = " | ".join(f"{n:,}" for n in lengths)
    table = _PATH.table("paths", lines, turn=TURN, splits=settings.splits, counts=counts)
    circle = planar.largest_circle(POLYGON)
    rival = np.linalg.norm(circle.center - POLYGON.centroid)
    nearer = {}
    for name in TABLES:
        near = rows.where(table=name)["distance"] < rival
        nearer[f"{name} ({near.sum()} of {len(near)})"] = near.all()
    after, without = part["with a scatterer"], part["polygon"]
    plain, scattered = (middle[name] for name in TABLES)
    claims = [
        *_PATH.claims("nearer", nearer, general=True, rival=rival),
        _PATH.claim("scatterer", 3 * after < without, after=after, without=without),
        _PATH.claim(
            "faster", scattered < plain, general=True, most=longest, scattered=scattered,
            plain=plain,
        ),
    ]  # fmt: skip
    return Report([table], claims)


def _draw_line(rows: Rows, settings: Settings, figure: Any) -> None:
    planar.plot_bayes_line(POLYGON, ANGLE, ax=figure.add_subplot())


def _draw_several(figure: Any, axes: Any) -> None:
    """Draw one legend below some drawings of a polygon, instead of theirs."""
    legend_below(figure, axes[:2], 4)
    for ax in axes:
        ax.get_legend().remove()


def _draw_lines(rows: Rows, settings: Settings, figure: Any) -> None:
    axes = figure.subplots(2, 1)
    for ax, zoom, title in zip(axes, (1, 8), ("polygon", "magnified eight times"), strict=True):
        planar.plot_bayes_lines(POLYGON, zoom=zoom, ax=ax).set_title(title)
    _draw_several(figure, axes)


def _draw_inscribed(rows: Rows, settings: Settings, figure: Any) -> None:
    top, bottom = figure.subfigures(2, 1, height_ratios=[4, 3])
    planar.plot_inscribed(POLYGON, ax=top.add_subplot())
    ax = bottom.add_subplot()
    for k, (name, (title, color, marker)) in enumerate(CENTERS.items()):
        for n, of_stretch in enumerate(rows.by("stretch").values()):
            mean, error = of_stretch.mean(name)
            ax.errorbar(n + 0.12 * (k - 1), mean, 2 * error, fmt=marker, color=color, capsize=3,
                        label=None if n else title)  # fmt: skip
    ax.set_xticks(range(len(STRETCHES)), [f"{stretch}" for stretch in STRETCHES])
    ax.set(xlabel="stretched, times", yscale="log",
           ylabel="distance to the Bayes point\n/ √area, mean ± 2 s.e.")  # fmt: skip
    ax.legend(frameon=False, loc="upper left", bbox_to_anchor=(1, 1))


def _draw_path(rows: Rows, settings: Settings, figure: Any) -> None:
    axes = figure.subplots(2, 1)
    seed = settings.seed_of(0)
    for ax, (title, scatterer) in zip(axes, TABLES.items(), strict=True):
        path = planar.billiard(POLYGON, BOUNCES[0], scatterer=scatterer, random_state=seed)
        planar.plot_trajectory(POLYGON, path, ax=ax).set_title(title)
    _draw_several(figure, axes)


# --- Integrable and rational billiards ---


def _rational_units(settings: Settings) -> list[Row]:
    starts = range(settings.splits)
    return grid(table=RATIONAL, square=(True, False), start=starts) + grid(
        table=[OCTANT], square=[False], start=starts
    )


def _rational(unit: Row, settings: Settings) -> Row:
    seed = settings.seed_of(unit["start"])
    n = BOUNCES[0] if settings.quick else BOUNCES[1]
    if unit["table"] == OCTANT:
        space, pole = VersionSpace(np.eye(3), [1, 1, 1]), np.full(3, 1 / np.sqrt(3))
        runs = {way: fly(space, n, seed, balls=1, average="arc", refresh=refresh)
                for way, refresh in (("kept", None), ("refreshed", "full"))}  # fmt: skip
        off = {way: np.linalg.norm(run.center - pole) for way, run in runs.items()}
        return {**off, "directions": 0}
    polygon = RATIONAL[unit["table"]]
    rng = np.random.default_rng(seed)
    kept, refreshed = _both_paths(polygon, n, unit["square"], rng)
    off = {
        way: np.hypot(*(path.mean_position - polygon.centroid)) / np.sqrt(polygon.area)
        for way, path in (("kept", kept), ("refreshed", refreshed))
    }
    directions = len(np.unique(kept.directions.round(6) + 0.0, axis=0))
    return {**off, "directions": directions}


def _both_paths(
    polygon: planar.Polygon, n: int, square: bool, rng: np.random.Generator
) -> tuple[planar.Trajectory, planar.Trajectory]:
    """Return a path, and one from the same place with a new direction every ten mean flights.

    The first direction is at a right angle to the first edge, or random. The second path changes
    its direction at equal lengths, which leaves the uniform distribution of places as it is.
    """
    start = polygon.sample(1, random_state=rng)[0]
    angle = float(np.arctan2(*polygon.normals[0][::-1])) if square else rng.uniform(0, 2 * np.pi)
    kept = planar.billiard(polygon, n, start=start, angle=angle)
    around = np.linalg.norm(polygon.vertices - np.roll(polygon.vertices, 1, axis=0), axis=1).sum()
    length = 10 * np.pi * polygon.area / around  # by Cauchy's formula for the mean chord
    places, ways = [], []
    for _ in range(n // 10):
        path = planar.billiard(polygon, 50, start=start, random_state=rng)
        ends = np.append(0.0, np.cumsum(path.lengths))
        k = int(np.searchsorted(ends, length)) - 1
        start = path.positions[k] + (length - ends[k]) * path.directions[k]
        places.append(path.positions[: k + 1])
        ways.append(path.directions[: k + 1])
    positions = np.vstack([*places, start])
    flights = np.linalg.norm(np.diff(positions, axis=0), axis=1)
    edges = np.zeros(len(flights), dtype=np.intp)
    directions = np.vstack([*ways, ways[-1][-1]])
    return kept, planar.Trajectory(positions, directions, edges, flights, polygon.centroid)


def _rational_report(rows: Rows, settings: Settings) -> Report:
    lines, nearer, median = [], {}, {}
    for name, square in dict.fromkeys((row["table"], row["square"]) for row in rows):
        of_case = rows.where(table=name, square=square)
        kept, refreshed = of_case["kept"], of_case["refreshed"]
        nearer[name, square] = (refreshed < kept).sum()
        median[name, square] = np.median(kept), np.median(refreshed)
        first = "at a right angle" if square else "random"
        most = f"{of_case['directions'].max()}" if name in RATIONAL else ""
        lines.append([name, first, most, *(f"{value:.4f}" for value in median[name, square]),
                      f"{nearer[name, square]}"])  # fmt: skip
    directions = {name: rows.where(table=name)["directions"] for name in RATIONAL}
    *rational, irregular = RATIONAL
    closed = min(median[name, True][0] / median[name, True][1] for name in rational)
    bounces = BOUNCES[0] if settings.quick else BOUNCES[1]
    n = len(rows.where(table=OCTANT))
    typical = max(median[name, False][0] / median[name, False][1] for name in rational)
    claims = [
        _RATIONAL.claim(
            "few",
            all(directions[name].max() <= ORDERS[name] for name in rational)
            and directions[irregular].min() > 100,
            most=" and ".join(f"{directions[name].max()}" for name in rational),
            least=directions[irregular].min(),
        ),
        _RATIONAL.claim("closed", closed > 3, closed=closed),
        _RATIONAL.claim("octant", nearer[OCTANT, False] == n, count=nearer[OCTANT, False], n=n),
        _RATIONAL.claim("typical", typical < 1, typical=typical),
    ]
    return Report([_RATIONAL.table("paths", lines, bounces=bounces, n=n)], claims)


def _draw_rational(rows: Rows, settings: Settings, figure: Any) -> None:
    for number, (line, title) in enumerate(
        zip(figure.subplots(2, 3), ("kept", "refreshed"), strict=True)
    ):
        for ax, (name, polygon) in zip(line, RATIONAL.items(), strict=True):
            rng = np.random.default_rng(settings.seed_of(SHOWN))
            path = _both_paths(polygon, 100, name != list(RATIONAL)[-1], rng)[number]
            planar.plot_trajectory(polygon, path, ax=ax).set_title(f"{name}, {title}")
            ax.get_legend().remove()
            ax.set(xticks=[], yticks=[], xlabel="", ylabel="")
    legend_below(figure, figure.axes[:1], 4)


_LINE = Text.of("kernel-billiard", "figure-18-1")
_LINES = Text.of("kernel-billiard", "figure-18-2")
_INSCRIBED = Text.of("kernel-billiard", "figure-18-3", corners=CORNERS)
_PATH = Text.of("kernel-billiard", "figure-18-4")
_RATIONAL = Text.of("kernel-billiard", "rational-billiards")

EXPERIMENTS = (
    Experiment(_LINE, _halving_line, _draw_line, size=(7.0, 4.0)),
    Experiment(_LINES, _all_lines, _draw_lines, size=(7.0, 7.4)),
    Experiment(_INSCRIBED, _inscribed, _draw_inscribed, _polygons, _inscribe, splits=100,
               quick_splits=8, size=(7.0, 7.0)),
    Experiment(_PATH, _trajectory, _draw_path, _paths, _fly, splits=20, quick_splits=5,
               size=(7.0, 7.4)),
    Experiment(_RATIONAL, _rational_report, _draw_rational, _rational_units, _rational, splits=20,
               quick_splits=5, size=(9.6, 5.6)),
)  # fmt: skip
