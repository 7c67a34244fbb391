"""Section 18.5.1 of Ruján and Marchand: the correlation length, and the cost of the center."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from bayespoint import VersionSpace
from bayespoint.base.validation import Floats
from bayespoint.datasets import make_teacher
from bayespoint.papers.correlation import correlation_length
from bayespoint.papers.experiments.billiards import fly
from bayespoint.papers.experiments.drawing import curve, legend_below, only_ticks
from bayespoint.papers.experiments.framework import Experiment, Report, Settings, Text
from bayespoint.papers.experiments.rows import Mean, Row, Rows, grid, mean_of, power
from bayespoint.papers.rollback import without_warnings

SIZES, QUICK_SIZES = (50, 100, 200, 400, 800, 1600), (50, 100)
FAMILIES = {"fixed": "D = 20", "growing": "D = m / 4"}
LARGE = 200
"""The smallest m for the powers of m."""
REFERENCE, QUICK_REFERENCE = 200_000, 20_000
"""Bounces of each of the four balls whose center is the exact one."""
BOUNCES, BALLS = 3_000, 4
ACCURACY = 0.1
"""Angle to the center of mass, in units of the root mean squared angle of a draw."""
RIVALS = {"margin": "maximal margin", "analytic": "analytic center"}
COSTS = {"cost center": "billiard", **{f"cost {key}": title for key, title in RIVALS.items()}}
NAMES = ("length", "bounces", *COSTS)
COLORS = dict(zip(("Λ", *COSTS.values()), ("black", "#0072B2", "#D55E00", "#009E73"), strict=True))


def _units(settings: Settings) -> list[Row]:
    sizes = QUICK_SIZES if settings.quick else SIZES
    return grid(run=range(settings.splits), family=FAMILIES, m=sizes)


def _measure(unit: Row, settings: Settings) -> Row:
    m = unit["m"]
    dimension = 20 if unit["family"] == "fixed" else m // 4
    seed = settings.seed_of(m, dimension, unit["run"])
    X, y, teacher = make_teacher(m, dimension, return_teacher=True, random_state=seed)
    space = VersionSpace(X @ X.T, y)
    with without_warnings():  # "together" counts them
        pairs = correlation_length(space, n_pairs=25, max_bounces=20_000, random_state=seed)
    long = fly(space, QUICK_REFERENCE if settings.quick else REFERENCE, seed, draws=100)
    center = long.center @ X
    draws = long.draws.reshape(-1, m) @ X
    spread = np.sqrt(np.mean([_angle(draw, center) ** 2 for draw in draws]))
    # A run with one bounce finds the start and ends.
    runs = [
        [_timed(functools.partial(fly, space, n, seed + k, balls=1)) for k in range(1, BALLS + 1)]
        for n in (1, BOUNCES)
    ]
    start, whole = (min(seconds for _, seconds in run) for run in runs)
    square = np.mean([_angle(found.center @ X, center) ** 2 for found, _ in runs[1]])
    bounces = BOUNCES * float(square) / (ACCURACY * spread) ** 2
    margin, seconds = _timed(space.max_margin)
    inside = margin.dual_coef @ X
    middle, more = _timed(lambda: _analytic_center(y[:, None] * X, inside))
    row: Row = {
        "length": pairs.bounces,
        "together": int((~pairs.parted).sum()),
        "bounces": bounces,
        "cost center": 1000 * (start + bounces * (whole - start) / BOUNCES),
        "cost margin": 1000 * seconds,
        "cost analytic": 1000 * (seconds + more),
        "error center": _angle(center, teacher) / np.pi,
    }
    for key, w in (("margin", inside), ("analytic", middle)):
        row[f"away {key}"] = _angle(w, center) / spread
        row[f"error {key}"] = _angle(w, teacher) / np.pi
    return row


def _timed(work: Callable[[], Any]) -> tuple[Any, float]:
    """Return a result and the seconds of the processor that it took."""
    began = time.process_time()
    return work(), time.process_time() - began


def _angle(a: Floats, b: Floats) -> float:
    return float(np.arccos(np.clip(a @ b / np.linalg.norm(a) / np.linalg.norm(b), -1, 1)))


def _analytic_center(walls: Floats, w: Floats) -> Floats:
    """Return the unit vector with the largest product of distances from the walls, from w inside.

    Damped Newton steps minimize ``|w|^2 / 2 - mean(log <w, n_i>)``, m times which is
    self-concordant, so they stay inside; the minimum has the length 1.
    """
    walls = walls / np.linalg.norm(walls, axis=1, keepdims=True)
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
    lines, ratios = [], []
    powers: dict[str, list[Mean]] = {name: [] for name in NAMES}
    for family, title in FAMILIES.items():
        cells = rows.where(family=family).by("m")
        large = [m for m in cells if m >= LARGE or settings.quick]
        for m, cell in cells.items():
            ratios.append(mean_of(np.log(cell["cost center"] / cell["cost margin"])))
            lines.append(
                [title, f"{m}", *(f"{cell.mean(name):.0f}" for name in ("length", "bounces")),
                 *(f"{cell.mean(name):.1f}" for name in COSTS),
                 *(cell.mean(f"away {key}") for key in RIVALS),
                 *(cell.mean(f"error {key}", 100) for key in ("center", *RIVALS))]
            )  # fmt: skip
        for name in NAMES:
            powers[name].append(power(large, [cells[m].mean(name) for m in large]))
        fitted = [powers[name][-1] for name in NAMES]
        lines.append([title, "power of m", *fitted, *[""] * (2 * len(RIVALS) + 1)])
    known = {name: " and ".join(map(str, slopes)) for name, slopes in powers.items()}
    flat = {name: all(slope.low(3) < 0 for slope in slopes) for name, slopes in powers.items()}
    slower = [
        slope.minus(ours).low(3) > 0
        for key in RIVALS
        for slope, ours in zip(powers[f"cost {key}"], powers["cost center"], strict=True)
    ]
    away = [rows.mean(f"away {key}") for key in RIVALS]
    times = ", ".join(f"{title} {known[name]}" for name, title in COSTS.items())
    least, most = np.exp(min(ratios).value), np.exp(max(ratios).value)
    slow = min(ratio.low(3) for ratio in ratios) > 0
    apart = min(mean.low(3) for mean in away) > ACCURACY
    claims = [
        _TEXT.claim("length", flat["length"], large=LARGE, powers=known["length"]),
        _TEXT.claim("bounces", flat["bounces"], powers=known["bounces"]),
        _TEXT.claim("superior", all(slower), powers=times),
        _TEXT.claim("slow", slow, least=least, most=most),
        _TEXT.claim("away", apart, accuracy=ACCURACY, away=" and ".join(map(str, away))),
    ]
    together = int(rows["together"].sum())
    remark = _TEXT.fill("together", together=together, pairs=100 * len(rows), large=LARGE)
    return Report([_TEXT.table("growth", lines, splits=settings.splits)], claims, [remark])


def _draw(rows: Rows, settings: Settings, figure: Any) -> None:
    axes = figure.subplots(1, 3)
    panels = (
        ("common bounces Λ", {"length": "Λ"}),
        ("processor's time, ms", COSTS),
        ("angle to the center / spread", {f"away {key}": title for key, title in RIVALS.items()}),
    )
    for ax, (label, names) in zip(axes, panels, strict=True):
        for name, title in names.items():
            for family, line in (("fixed", "-"), ("growing", "--")):
                curve(ax, rows.where(family=family), "m", name, fmt="o" + line, markersize=4,
                      color=COLORS[title], label=f"{title}, {FAMILIES[family]}")  # fmt: skip
        ax.set(xscale="log", xlabel="examples m", ylabel=label)
        ax.set(**({"yscale": "log"} if names is COSTS else {"ylim": (0, None)}))
        only_ticks(ax.xaxis, rows.by("m"))
    axes[2].axhline(ACCURACY, color=COLORS["billiard"], linestyle="dotted")
    legend_below(figure, axes[:2], 4)


_TEXT = Text.of(
    "kernel-billiard", "correlation-length", balls=BALLS, bounces=BOUNCES, accuracy=ACCURACY
)

EXPERIMENTS = (
    Experiment(_TEXT, _report, _draw, _units, _measure, splits=12, quick_splits=3,
               size=(12.0, 5.0)),
)  # fmt: skip
