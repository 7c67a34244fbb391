"""Section 18.5.1 of Ruján and Marchand: the correlation length, and the cost of the center."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.svm import SVC

from bayespoint import VersionSpace
from bayespoint.base.validation import Floats
from bayespoint.datasets import make_teacher
from bayespoint.papers.correlation import CorrelationLength, correlation_length
from bayespoint.papers.displays import sphere
from bayespoint.papers.dynamics import Flipper, Scattered
from bayespoint.papers.experiments.billiards import fly
from bayespoint.papers.experiments.drawing import curve, legend_below, only_ticks
from bayespoint.papers.experiments.framework import (
    Experiment,
    Report,
    Settings,
    Text,
)
from bayespoint.papers.experiments.rows import Mean, Row, Rows, every, grid, mean_of, power
from bayespoint.papers.rollback import without_warnings

SIZES, QUICK_SIZES = (50, 100, 200, 400, 800, 1600), (50, 100)
FAMILIES = {"fixed": "D = 20", "growing": "D = m / 4"}
FEW, MIDDLE = (3, 5, 10), 100
"""Dimensions, beside 20, and examples of the problems with a reflecting sphere."""
SPHERE = Scattered(scattering="specular", scatterer="auto")
ANGLES = {"length": 1e-3, "close": 1e-5}
"""Radians between the directions of two balls."""
FLAT = 0.1
"""Power of m below which something does not grow."""
LARGE = 200
"""The smallest m for the powers of m."""
REFERENCE, QUICK_REFERENCE = 200_000, 20_000
"""Bounces of each of the four balls whose center is the exact one."""
BOUNCES, BALLS = 3_000, 4
POINTS = 50_000
"""Bouncing points of each ball of the flipper."""
ACCURACY = 0.1
"""Angle to the center of mass, in units of the root mean squared angle of a draw."""
RIVALS = {"margin": "maximal margin", "analytic": "analytic center"}
COSTS = {
    "cost start": ("billiard's start", "#56B4E9"),
    "cost flight": ("its flight", "#0072B2"),
    "cost margin": ("maximal margin", "#D55E00"),
    "cost analytic": ("analytic center", "#009E73"),
    "cost libsvm": ("libsvm", "#CC79A7"),
}
NAMES = (*ANGLES, "bounces", *COSTS)
LOGS = ("angle", "slow", "exact", "libsvm")
"""Logarithms of ratios: of Λ, and of times."""


def _units(settings: Settings) -> list[Row]:
    sizes, runs = QUICK_SIZES if settings.quick else SIZES, range(settings.splits)
    return grid(run=runs, family=FAMILIES, m=sizes) + grid(run=runs, family=FEW, m=[MIDDLE])


def _measure(unit: Row, settings: Settings) -> Row:
    m = unit["m"]
    family = unit["family"]
    dimension = 20 if family == "fixed" else m // 4 if family == "growing" else family
    seed = settings.seed_of(m, dimension, unit["run"])
    X, y = make_teacher(m, dimension, random_state=seed)
    space = VersionSpace(X @ X.T, y)
    pairs = {name: _neighbors(space, seed, angle=angle) for name, angle in ANGLES.items()}
    long = fly(space, QUICK_REFERENCE if settings.quick else REFERENCE, seed, draws=100)
    center = long.center @ X
    draws = long.draws.reshape(-1, m) @ X
    spread = np.sqrt(np.mean([sphere.angle(draw, center) ** 2 for draw in draws]))
    # A run with one bounce finds the start and ends.
    runs = [
        [_timed(functools.partial(fly, space, n, seed + k, balls=1)) for k in range(1, BALLS + 1)]
        for n in (1, BOUNCES)
    ]
    start, whole = (min(seconds for _, seconds in run) for run in runs)
    square = np.mean([sphere.angle(found.center @ X, center) ** 2 for found, _ in runs[1]])
    bounces = BOUNCES * float(square) / (ACCURACY * spread) ** 2
    flight = bounces * max(whole - start, 0) / BOUNCES
    margin, seconds = _timed(space.max_margin)
    inside = margin.dual_coef @ X
    middle, more = _timed(lambda: _analytic_center(y[:, None] * X, inside))
    _, libsvm = _timed(lambda: SVC(C=1e10, kernel="precomputed").fit(space.gram, y))
    row: Row = {
        **{name: found.bounces for name, found in pairs.items()},
        "together": (~pairs["length"].parted).sum(),
        "bounces": bounces,
        "cost start": 1000 * start,
        "cost flight": 1000 * flight,
        "cost margin": 1000 * seconds,
        "cost analytic": 1000 * (seconds + more),
        "cost libsvm": 1000 * libsvm,
    }
    for key, w in (("margin", inside), ("analytic", middle)):
        row[f"away {key}"] = sphere.angle(w, center) / spread
    row |= {
        "cost center": 1000 * (start + flight),
        "log angle": np.log(pairs["close"].bounces / pairs["length"].bounces),
        "log slow": np.log((start + flight) / seconds),
        "log exact": np.log((start + 100 * flight) / seconds),
        "log libsvm": np.log(libsvm / (start + flight)),
        "sphere": np.nan,
        "points": np.nan,
    }
    if m == MIDDLE:
        points = fly(space, POINTS, seed, motion=Flipper(average="bounces"))
        row["sphere"] = _neighbors(space, seed, motion=SPHERE).bounces
        row["points"] = sphere.angle(points.center @ X, center) / spread
    return row


@without_warnings()  # "together" counts the pairs that do not part
def _neighbors(space: VersionSpace, seed: int, **settings: Any) -> CorrelationLength:
    return correlation_length(space, n_pairs=25, max_bounces=20_000, random_state=seed, **settings)


def _timed(work: Callable[[], Any]) -> tuple[Any, float]:
    """Return a result and the seconds of the processor that it took."""
    began = time.process_time()
    return work(), time.process_time() - began


def _analytic_center(walls: Floats, w: Floats) -> Floats:
    """Return the unit vector with the largest product of distances from the walls, from w inside.

    Damped Newton steps minimize ``|w|^2 / 2 - mean(log <w, n_i>)``, m times which is
    self-concordant, so they stay inside; the minimum has the length 1.
    """
    walls = sphere.scaled(walls)
    w, m = w / np.linalg.norm(w), len(walls)
    while True:
        scaled = walls / (walls @ w)[:, None]
        hessian = np.eye(len(w)) + scaled.T @ scaled / m
        step = np.linalg.solve(hessian, scaled.mean(axis=0) - w)
        decrement = np.sqrt(m * step @ hessian @ step)
        w = w + step / (1 + decrement)
        if decrement < 1e-6:
            return w


def _report(rows: Rows, settings: Settings) -> Report:
    lines = []
    powers: dict[str, list[Mean]] = {name: [] for name in (*NAMES, "cost center")}
    logs: dict[str, list[Mean]] = {name: [] for name in LOGS}
    for family, title in FAMILIES.items():
        of_family = rows.where(family=family)
        cells = of_family.by("m")
        large = [m for m in cells if m >= LARGE or settings.quick]
        for m, cell in cells.items():
            name = title if m == SIZES[0] else ""
            lines.append(
                [name, f"{m}", *(f"{cell.mean(key):.0f}" for key in (*ANGLES, "bounces")),
                 *(f"{cell.mean(key):.1f}" for key in COSTS),
                 *(cell.mean(f"away {key}") for key in RIVALS)]
            )  # fmt: skip
        for name, slopes in powers.items():
            slopes.append(power(large, [cells[m].mean(name) for m in large]))
        for name, means in logs.items():
            means.append(of_family.mean(f"log {name}"))
        fitted = [powers[name][-1] for name in NAMES]
        lines.append(["", "power of m", *fitted, *[""] * len(RIVALS)])
    known = {name: " and ".join(map(str, slopes)) for name, slopes in powers.items()}
    flat = {name: every(slope.below(FLAT) for slope in slopes) for name, slopes in powers.items()}
    slower = every(
        slope.minus(ours).above()
        for key in RIVALS
        for slope, ours in zip(powers[f"cost {key}"], powers["cost center"], strict=True)
    )
    titles = {"cost center": "billiard", **{f"cost {key}": title for key, title in RIVALS.items()}}
    times = ", ".join(f"{title} {known[name]}" for name, title in titles.items())
    middle = [rows.where(family=f, m=MIDDLE) for f in (*FEW, "fixed")]
    shorter = [mean_of(np.log(cell["length"] / cell["sphere"])) for cell in middle]
    points = [cell.mean("points") for cell in middle]
    spheres = [
        [f"{dimension}", *(f"{cell.mean(name):.0f}" for name in ("length", "sphere")),
         f"{cell.mean('points'):.3f}"]
        for dimension, cell in zip((*FEW, 20), middle, strict=True)
    ]  # fmt: skip
    away = [rows.mean(f"away {key}") for key in RIVALS]
    larger = {name: every(log.above() for log in logs[name]) for name in LOGS}
    factors = {
        name: " and ".join(f"{np.exp(log.value):.1f}" for log in logs[name]) for name in LOGS
    }
    claims = [
        _TEXT.claim("length", flat["length"], large=large[0], powers=known["length"], flat=FLAT),
        _TEXT.claim("bounces", flat["bounces"], powers=known["bounces"]),
        _TEXT.claim("superior", slower, powers=times),
        _TEXT.claim("angle", larger["angle"], factors=factors["angle"]),
        *_TEXT.claims("slow", {
            f"{factors[name]} times as long to {accuracy:g} of the spread": larger[name]
            for name, accuracy in (("slow", ACCURACY), ("exact", ACCURACY / 10))
        }),
        _TEXT.claim("libsvm", larger["libsvm"], factors=factors["libsvm"], accuracy=ACCURACY),
        _TEXT.claim(
            "away", every(mean.above(ACCURACY) for mean in away),
            accuracy=ACCURACY, away=" and ".join(map(str, away)),
        ),
        _TEXT.claim("sphere", every(gain.above() for gain in shorter[:2]), where="3 and 5"),
        _TEXT.claim("sphere", every(gain.above() for gain in shorter[2:]), where="10 and 20"),
        _TEXT.claim("points", every(off.below(ACCURACY) for off in points[2:]), accuracy=ACCURACY),
    ]  # fmt: skip
    together = rows["together"].sum()
    remark = _TEXT.fill("together", together=together, pairs=100 * len(rows), large=large[0])
    tables = [
        _TEXT.table("growth", lines, splits=settings.splits),
        _TEXT.table("spheres", spheres, m=MIDDLE, points=4 * POINTS),
    ]
    return Report(tables, claims, [remark])


def _draw(rows: Rows, settings: Settings, figure: Any) -> None:
    axes = figure.subplots(1, 3)
    panels = (
        (
            "common bounces Λ",
            {"length": ("0.001 rad", "black"), "close": ("1e-5 rad", "gray")},
        ),
        ("processor's time, ms", COSTS),
        (
            "angle to the center / spread",
            {f"away {key}": COSTS[f"cost {key}"] for key in RIVALS},
        ),
    )
    for ax, (label, names) in zip(axes, panels, strict=True):
        for name, (title, color) in names.items():
            for family, line in (("fixed", "-"), ("growing", "--")):
                curve(ax, rows.where(family=family), "m", name, fmt="o" + line, markersize=4,
                      color=color, label=f"{title}, {FAMILIES[family]}")  # fmt: skip
        ax.set(xscale="log", xlabel="examples m", ylabel=label)
        ax.set(**({"ylim": (0, None)} if ax is axes[2] else {"yscale": "log"}))
        only_ticks(ax.xaxis, rows.by("m"))
    axes[2].axhline(ACCURACY, color=COSTS["cost flight"][1], linestyle="dotted")
    legend_below(figure, axes[:2], 4)


_TEXT = Text.of(
    "kernel-billiard", "correlation-length", balls=BALLS, bounces=BOUNCES, accuracy=ACCURACY
)

EXPERIMENTS = (
    Experiment(_TEXT, _report, _draw, _units, _measure, splits=12, quick_splits=3,
               size=(12.0, 5.0)),
)  # fmt: skip
