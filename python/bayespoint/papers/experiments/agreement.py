"""Eq. 18.11 of Ruján and Marchand: vote, Bayes point and center of mass in high dimension."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import special

from bayespoint import VersionSpace
from bayespoint.base.validation import Floats
from bayespoint.datasets import make_teacher
from bayespoint.papers.centers import largest_ellipsoid
from bayespoint.papers.displays import sphere
from bayespoint.papers.experiments.billiards import fly
from bayespoint.papers.experiments.drawing import curve, legend_below, only_ticks
from bayespoint.papers.experiments.framework import (
    SPLITS,
    Experiment,
    Report,
    Settings,
    Text,
    units_of,
)
from bayespoint.papers.experiments.rows import Mean, Row, Rows, every, mean_of, power
from bayespoint.papers.experiments.toy import widest

DIMENSIONS = (3, 5, 10, 30, 100)
HIGH = 10
"""The smallest dimension for which the claims are judged."""
LOADS = (1, 3, 10)
"""Examples per dimension."""
DRAWS, QUICK_DRAWS = 10_000, 2_000
"""Draws of each of two balls."""
INPUTS = 200
MOST = 0.1
"""Largest excess of the center's error that counts as none, in percent of the vote's."""
PAIRS = {
    "vote": ("vote and center of mass", "o-"),
    "between": ("vote and Bayes point", "s:"),
    "point": ("Bayes point and center of mass", "^--"),
}
RULES = {"point": ("Bayes point", "^--"), "center": ("center of mass", "o-")}
CENTERS = {
    "mass": "center of mass",
    "ellipsoid": "center of the largest ellipsoid",
    "ball": "center of the largest ball",
    "svm": "maximal margin",
}
COLORS = dict(zip(LOADS, ("#0072B2", "#D55E00", "#009E73"), strict=True))


_units = units_of(
    {"dimension": DIMENSIONS[:3:2], "load": LOADS[1:2]},
    run=SPLITS, dimension=DIMENSIONS, load=LOADS,
)  # fmt: skip


def _measure(unit: Row, settings: Settings) -> Row:
    dimension, m = unit["dimension"], unit["load"] * unit["dimension"]
    seed = settings.seed_of(dimension, unit["load"], unit["run"])
    X, y = make_teacher(m, dimension, random_state=seed)
    n = QUICK_DRAWS if settings.quick else DRAWS
    found = fly(VersionSpace(X @ X.T, y), 10 * n + 2000 * m, seed, balls=2, draws=n)
    draws = sphere.scaled(found.draws @ X)
    # Another seed than that of the examples, whose numbers they would be.
    rng = np.random.default_rng(settings.seed_of(dimension, unit["load"], unit["run"], 1))
    inputs = rng.standard_normal((INPUTS, dimension))
    halves = [_half(draws[k], draws[1 - k], inputs) for k in (0, 1)]
    row: Row = {}
    for key in PAIRS:
        one, two = (half[0][key] for half in halves)
        mean = (one + two) / 2
        row[f"product {key}"] = (one * two).mean()
        row[f"square {key}"] = (mean**2).mean()
        row[f"size {key}"] = np.abs(mean).mean()
    errors = [half[1] for half in halves]
    return row | {key: (errors[0][key] + errors[1][key]) / 2 for key in errors[0]}


def _half(own: Floats, other: Floats, inputs: Floats) -> tuple[dict[str, Floats], dict[str, float]]:
    """Return how far apart two rules decide, and the error of each if the other draws are teachers.

    A normal input is moved along the center w: x = u + t w, where u is orthogonal to w and t
    normal. The center decides otherwise beyond t = 0, a draw v beyond t = -<v, u> / <v, w>, and the
    vote beyond the median of these t. The share of inputs between two of them is the difference of
    their normal distribution functions, which are returned for each u, less 1/2 for the center.
    """
    center = own.mean(axis=0)
    center /= np.linalg.norm(center)
    point = _bayes_point(own, center)
    across = inputs - np.outer(inputs @ center, center)
    vote = special.ndtr(np.median(_crossings(own, across, center), axis=1)) - 0.5
    at = special.ndtr(_crossings(point[None], across, center)[:, 0]) - 0.5
    teachers = special.ndtr(_crossings(other, across, center)) - 0.5
    errors = {
        f"error {rule}": np.abs(teachers - place[:, None]).mean()
        for rule, place in (("vote", vote), ("point", at), ("center", np.zeros(len(at))))
    }
    return {"vote": vote, "between": vote - at, "point": at}, errors


def _crossings(vectors: Floats, across: Floats, center: Floats) -> Any:
    """Return the t at which each vector decides otherwise; infinite for an angle above π/2."""
    along, sides = vectors @ center, across @ vectors.T
    ahead = along > 0
    return np.where(ahead, -sides / np.where(ahead, along, 1.0), -np.inf * np.sign(sides))


def _bayes_point(draws: Any, start: Any, tol: float = 1e-7) -> Any:
    """Return the unit vector with the smallest mean angle to the draws.

    Each of Weiszfeld's steps weights every draw by one over the sine of its angle.
    """
    while True:
        cosines = draws @ start
        sines = np.sqrt(np.maximum(1 - cosines**2, 1e-12))
        point = (draws / sines[:, None]).mean(axis=0)
        point /= np.linalg.norm(point)
        if np.linalg.norm(point - start) < tol:
            return point
        start = point


def _share(rows: Rows, pair: str) -> Mean:
    """Return the percentage of inputs where two rules differ, and its standard error (jackknife).

    The product of both halves' values is free of the bias of a few draws. It can be negative.
    """

    def share(values: Floats) -> float:
        product, square, size = values.mean(axis=0)
        return 100 * float(size * np.sqrt(max(product, 0.0) / square))

    names = [f"{name} {pair}" for name in ("product", "square", "size")]
    values = np.stack([rows[name] for name in names], axis=1)
    n = len(values)
    without = np.array([share(np.delete(values, k, axis=0)) for k in range(n)])
    return Mean(share(values), float(without.std() * np.sqrt(n - 1)))


def _excess(rows: Rows, rule: str) -> Mean:
    """Return the excess of a rule's error over the vote's, in percent of it, with its error."""
    vote = rows["error vote"]
    return mean_of(100 * (rows[f"error {rule}"] - vote) / vote.mean())


def _report(rows: Rows, settings: Settings) -> Report:
    lines, most = [], Mean(-np.inf, 0.0)
    powers: dict[str, list[Mean]] = {"vote": [], "point": []}
    for load, of_load in rows.by("load").items():
        cells = of_load.by("dimension")
        high = [dimension for dimension in cells if dimension >= HIGH or settings.quick]
        for dimension, cell in cells.items():
            excess = _excess(cell, "center")
            if dimension in high:
                most = max(most, excess, key=lambda mean: mean.value + 3 * mean.error)
            shares = [f"{_share(cell, pair):.3f}" for pair in powers]
            lines.append([f"{load}", f"{dimension}", *shares, cell.mean("error vote", 100),
                          f"{excess:.3f}"])  # fmt: skip
        for pair in powers:
            powers[pair].append(power(high, [_share(cells[at], pair) for at in high]))
    falls, fast = {}, {}
    for pair, slopes in powers.items():
        title = PAIRS[pair][0]
        known = f"{title} {', '.join(map(str, slopes))}"
        falls[known] = every(slope.below() for slope in slopes)
        fast[title] = every(slope.below(-0.5) for slope in slopes)
    claims = [
        *_TEXT.claims("falls", falls, high=HIGH),
        *_TEXT.claims("fast", fast),
        _TEXT.claim("errors", most.below(MOST), high=HIGH, excess=f"{most:.3f}", most=MOST),
    ]
    table = _TEXT.table("shares", lines, splits=settings.splits)
    return Report([table], claims, [_TEXT.fill("metric"), _TEXT.fill("noise")])


def _draw(rows: Rows, settings: Settings, figure: Any) -> None:
    left, right = figure.subplots(1, 2)
    for load, of_load in rows.by("load").items():
        cells = of_load.by("dimension")
        dimensions = list(cells)
        for ax, measure, styles in ((left, _share, PAIRS), (right, _excess, RULES)):
            for name, (_, style) in styles.items():
                values = np.transpose([measure(cell, name) for cell in cells.values()])
                ax.errorbar(dimensions, *values, fmt=style, color=COLORS[load], markersize=4)
        left.plot([], [], color=COLORS[load], label=f"m = {load} D")
    for title, style in PAIRS.values():
        left.plot([], [], style, color="black", label=title)
    for title, style in RULES.values():
        right.plot([], [], style, color="black", label=f"{title}, on the right")
    ends = np.array([HIGH, dimensions[-1]])
    left.plot(ends, 10 / ends, color="gray", linewidth=1, label="like 1/D")
    left.set(xscale="log", yscale="log", xlabel="dimension D", ylabel="inputs that differ, %")
    right.axhline(0, color="gray", linewidth=0.8, linestyle="dotted")
    right.set(xscale="log", xlabel="dimension D", ylabel="error above the vote's, % of it (± s.e.)")
    for ax in (left, right):
        only_ticks(ax.xaxis, dimensions)
    legend_below(figure, (left, right), 3, last="right")


_cones = units_of({"dimension": (3, 10)}, run=SPLITS, dimension=(3, 5, 10, 20))


def _inscribe(unit: Row, settings: Settings) -> Row:
    dimension, m = unit["dimension"], LOADS[-1] * unit["dimension"]
    seed = settings.seed_of(dimension, unit["run"])
    X, y = make_teacher(m, dimension, random_state=seed)
    space = VersionSpace(X @ X.T, y)
    n = QUICK_DRAWS if settings.quick else DRAWS
    found = fly(space, 10 * n + 2000 * m, seed, balls=2, draws=n)
    centers = {
        "mass": found.center @ X,
        "ellipsoid": largest_ellipsoid(space) @ X,
        "ball": widest(sphere.scaled(X), y),
        "svm": widest(X, y),
    }
    draws = sphere.scaled((found.draws @ X).reshape(-1, dimension))
    point = _bayes_point(draws, sphere.scaled(centers["mass"]))
    spread = np.sqrt((np.arccos(draws @ point) ** 2).mean())
    return {name: sphere.angle(w, point) / spread for name, w in centers.items()}


def _inscribed(rows: Rows, settings: Settings) -> Report:
    cells = rows.by("dimension")
    lines = [[at, *(f"{cell.mean(name):.3f}" for name in CENTERS)] for at, cell in cells.items()]
    claims = []
    for key, rival in (("mass", "ellipsoid"), ("ellipsoid", "ball")):
        gains = [mean_of(cell[rival] - cell[key]) for cell in (*cells.values(), rows)]
        nearer = every(gain.above() for gain in gains)
        claims.append(_ELLIPSOID.claim(key, nearer, gain=f"{gains[-1]:.3f}"))
    known = {"splits": settings.splits, "centers": " | ".join(CENTERS.values())}
    return Report([_ELLIPSOID.table("centers", lines, **known)], claims)


def _draw_inscribed(rows: Rows, settings: Settings, figure: Any) -> None:
    ax = figure.subplots()
    for (name, title), marker in zip(CENTERS.items(), "osD^", strict=True):
        curve(ax, rows, "dimension", name, fmt=f"{marker}-", label=title, markersize=5)
    ax.set(
        xscale="log", yscale="log", xlabel="dimension D", ylabel="angle to the Bayes point / spread"
    )
    only_ticks(ax.xaxis, rows.by("dimension"))
    legend_below(figure, [ax], 2)


_TEXT = Text.of("kernel-billiard", "agreement", draws=2 * DRAWS, inputs=INPUTS)
_ELLIPSOID = Text.of("kernel-billiard", "ellipsoid", load=LOADS[-1])

EXPERIMENTS = (
    Experiment(_TEXT, _report, _draw, _units, _measure, splits=24, quick_splits=4,
               size=(10.4, 6.0)),
    Experiment(_ELLIPSOID, _inscribed, _draw_inscribed, _cones, _inscribe, splits=40,
               quick_splits=4, size=(6.4, 5.0)),
)  # fmt: skip
