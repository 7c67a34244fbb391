"""Section 4.3 and Lemma 4 of Herbrich, Graepel and Campbell, exactly, in three dimensions."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import optimize

from bayespoint.base.validation import Floats
from bayespoint.papers.displays import sphere
from bayespoint.papers.experiments.framework import Experiment, Report, Settings, Text
from bayespoint.papers.experiments.rows import Row, Rows, every, mean_of
from bayespoint.papers.experiments.toy import TRAINING, corners, cube, toys, widest
from bayespoint.plotting.style import below

POINTS = {
    "best": "maximiser of vol R(w)",
    "cm": "center of mass",
    "ball": "center of the largest ball",
    "svm": "SVM",
}
DIRECTIONS = 12
"""Great circles through a point, at equal angles, whose halves are compared."""
FLAT = 1e-9
"""Difference of two areas, as a share of them, that counts as none."""


def area(places: Floats) -> float:
    """Return the area of a convex spherical polygon from its corners (n, 3), in order.

    It is the sum of the triangles with the first corner, each by the formula of Van Oosterom and
    Strackee (1983).
    """
    first, second, third = places[0], places[1:-1], places[2:]
    volume = np.cross(second, third) @ first
    base = 1 + second @ first + third @ first + (second * third).sum(axis=1)
    return float(np.abs(2 * np.arctan2(volume, base).sum()))


def symmetric_part(normals: Floats, w: Floats) -> Floats:
    """Return the normals (2 m, 3) of the part R(w) of version space that is symmetric about w.

    The given normals (m, 3) point into version space, and w is one of its points, of length 1.
    """
    mirrored = 2 * np.outer(normals @ w, w) - normals
    return np.vstack([normals, mirrored])


def maximiser(normals: Floats, start: Floats) -> Floats:
    """Return the point of version space with the largest symmetric part, from a start inside."""
    tangents = np.stack(sphere.chart(start))

    def loss(place: Floats) -> float:
        w = sphere.scaled(start + place @ tangents)
        inside = (normals @ w > 0).all()
        return -np.sqrt(area(sphere.corners_of(symmetric_part(normals, w), w))) if inside else 0.0

    size = 0.3 * _room(normals, start)
    simplex = size * np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    found = optimize.minimize(
        loss, np.zeros(2), method="Nelder-Mead",
        options={"initial_simplex": simplex, "xatol": 1e-7 * size, "fatol": 1e-12},
    )  # fmt: skip
    return sphere.scaled(start + found.x @ tangents)


def imbalance(normals: Floats, w: Floats) -> float:
    """Return the largest difference of the halves that a great circle through w makes.

    As a share of the area of the polygon with these normals; over `DIRECTIONS` great circles.
    """
    whole = area(sphere.corners_of(normals, w))
    first, second = sphere.chart(w)
    worst = 0.0
    for angle in np.pi * np.arange(DIRECTIONS) / DIRECTIONS:
        cut = np.cos(angle) * first + np.sin(angle) * second
        near = sphere.scaled(w + 0.3 * _room(normals, w) * cut)
        half = area(sphere.corners_of(np.vstack([normals, cut]), near))
        worst = max(worst, abs(2 * half / whole - 1))
    return worst


def _room(normals: Floats, w: Floats) -> float:
    """Return the distance of a point from the nearest wall."""
    return float((normals @ w / np.linalg.norm(normals, axis=1)).min())


def _measure(unit: Row, settings: Settings) -> Row:
    X, y, X_test, y_test = cube(settings.seed_of(unit["toy"]))
    normals = y[:, None] * X
    places = corners(X, y)
    points = {
        "cm": sphere.center_of_mass(places),
        "ball": widest(sphere.scaled(X), y),
        "svm": widest(X, y),
    }
    points["best"] = maximiser(normals, points["cm"])
    found: Row = {"corners": len(places), "area": area(places)}
    for name, w in points.items():
        part = symmetric_part(normals, w)
        found[f"share {name}"] = area(sphere.corners_of(part, w)) / found["area"]
        found[f"error {name}"] = np.mean((X_test @ w > 0) != (y_test > 0))
        found[f"halves {name}"] = imbalance(part, w)
        found[f"whole {name}"] = imbalance(normals, w)
    return found


def _report(rows: Rows, settings: Settings) -> Report:
    lost = {name: np.log(rows["share best"] / rows[f"share {name}"]) for name in POINTS}
    lines = [
        [title, f"{rows.mean(f'share {name}'):.3f}", f"{mean_of(lost[name]):.3f}",
         rows.mean(f"error {name}", 100), f"{rows[f'halves {name}'].max():.0e}",
         f"{rows.mean(f'whole {name}'):.3f}"]
        for name, title in POINTS.items()
    ]  # fmt: skip
    table = _TEXT.table("points", lines, splits=settings.splits, directions=DIRECTIONS)
    more = (lost["cm"] > FLAT).sum()
    triangle = rows["corners"] == 3
    apart = [
        f"by {lost['cm'][kind].mean():.1g} nats in the mean in the {kind.sum()} {name}"
        for kind, name in ((triangle, "triangles"), (~triangle, "others"))
        if kind.any()
    ]
    halves = max(rows[f"halves {name}"].max() for name in POINTS)
    whole = np.min([rows[f"whole {name}"] for name in POINTS], axis=0)
    gain = mean_of(100 * (rows["error best"] - rows["error cm"]))
    claims = [
        _TEXT.claim(
            "not-maximal",
            more == len(rows),
            general=True,
            more=more,
            n=len(rows),
            apart=", ".join(apart),
        ),
        _TEXT.claim(
            "nearer", every(mean_of(lost[name] - lost["cm"]).above() for name in ("ball", "svm"))
        ),
        _TEXT.claim("lemma-4", halves < FLAT, halves=halves),
        _TEXT.claim("conversely", (whole > FLAT).all(), whole=whole.min()),
    ]
    return Report([table], claims, [_TEXT.fill("exact", gain=gain)])


def _draw(rows: Rows, settings: Settings, figure: Any) -> None:
    ax = figure.subplots()
    best = rows["share best"]
    for (name, title), color, marker in zip(
        list(POINTS.items())[1:], ("#0072B2", "#009E73", "#D55E00"), "o^x", strict=True
    ):
        ax.plot(
            best, rows[f"share {name}"], marker, color=color, markersize=4, label=title,
            markerfacecolor="none",
        )  # fmt: skip
    ax.plot([0, 1], [0, 1], color="black", linewidth=0.8, linestyle="dotted", label="the maximum")
    ax.set(xlabel="largest vol R(w) / vol V", ylabel="vol R(w) / vol V at the point",
           xlim=(best.min() - 0.02, 1.0), ylim=(0, 1.0))  # fmt: skip
    below(ax, ncols=2)


_TEXT = Text.of("bayesian-learning", "symmetric-maximum", training=TRAINING)

EXPERIMENTS = (
    Experiment(_TEXT, _report, _draw, toys, _measure, splits=200, quick_splits=10,
               size=(6.4, 5.6)),
)  # fmt: skip
