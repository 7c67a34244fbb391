"""Figure 6 of Herbrich, Graepel and Campbell: soft boundaries."""

from __future__ import annotations

from typing import Any

import numpy as np

from bayespoint import kernels
from bayespoint.papers.experiments import sets
from bayespoint.papers.experiments.drawing import curve
from bayespoint.papers.experiments.framework import Experiment, Report, Settings, Text
from bayespoint.papers.experiments.rows import Row, Rows, every, grid, mean_of
from bayespoint.papers.experiments.toy import cube

QUICK_LAMBDAS = (0.0, 0.1, 10.0)
TOYS = 5
"""Toys for each split of thyroid: they vary more, and cost less."""
PROBLEMS = {"toy": "toy, linear kernel", "thyroid": "thyroid, RBF kernel, σ = 3"}
BOUNCES = {"toy": 20_000, "thyroid": 100_000}
QUICK_BOUNCES = 5_000


def _units(settings: Settings) -> list[Row]:
    lambdas = QUICK_LAMBDAS if settings.quick else sets.LAMBDAS
    toys, n = range(settings.splits * TOYS), range(settings.splits)
    return grid(problem=["toy"], split=toys, softness=lambdas) + grid(
        problem=["thyroid"], split=n, softness=lambdas
    )


def _measure(unit: Row, settings: Settings) -> Row:
    seed = settings.seed_of(unit["split"])
    if unit["problem"] == "toy":
        X, y, X_test, y_test = cube(seed)
        kernel: Any = kernels.Linear()
    else:
        X, X_test, y, y_test = sets.split("thyroid", seed)
        kernel = kernels.RBF(sets.SETS["thyroid"].sigma)
    K, softness = kernel(X), unit["softness"]
    bounces = QUICK_BOUNCES if settings.quick else BOUNCES[unit["problem"]]
    machines = {
        "svm": sets.MARGIN(fit_intercept=False, softness=softness),
        "bpm": sets.BILLIARD(
            motion="geodesic", softness=softness, N_max=bounces, n_balls=4, random_state=seed
        ),
    }
    pairs = np.triu_indices(len(y), 1)
    squares = (np.add.outer(K.diagonal(), K.diagonal()) - 2 * K)[pairs] + 2 * softness
    matrices = K, kernel(X_test, X), y, y_test
    errors = {key: sets.wrong(machine, *matrices).mean() for key, machine in machines.items()}
    return {
        **errors,
        "angle": sets.angle(K + softness * np.eye(len(y)), *machines.values()),
        "distances": np.sqrt(max(0.0, squares.min()) / squares.max()),
    }


def _report(rows: Rows, settings: Settings) -> Report:
    tables = []
    judged: dict[str, dict[str, bool | None]] = {}
    for problem, title in PROBLEMS.items():
        cells = rows.where(problem=problem).by("softness")
        svm, bpm = (
            np.array([100 * cell[name] for cell in cells.values()]) for name in ("svm", "bpm")
        )
        angles = np.array([cell["angle"] for cell in cells.values()])
        lines = [
            [f"{softness:g}", cell.mean("svm", 100), cell.mean("bpm", 100), mean_of(gains),
             f"{mean_of(angle):.3f}", f"{cell.mean('distances').value:.3f}"]
            for (softness, cell), gains, angle in zip(cells.items(), svm - bpm, angles, strict=True)
        ]  # fmt: skip
        tables.append(_TEXT.table("errors", lines, title=title, splits=svm.shape[1]))
        for key, (figures, holds) in _judged(list(cells), svm, bpm, angles).items():
            judged.setdefault(key, {})[f"{problem} ({figures})"] = holds
    claims = [claim for key, verdicts in judged.items() for claim in _TEXT.claims(key, verdicts)]
    return Report(tables, claims, [_TEXT.fill("numbers")])


def _judged(lambdas: Any, svm: Any, bpm: Any, angle: Any) -> dict[str, tuple[str, bool | None]]:
    """Return figures and verdict of each claim for one problem.

    Errors, in percent, and angles have the shape (values of λ, splits).
    """
    best_svm, best_bpm = svm.mean(axis=1).argmin(), bpm.mean(axis=1).argmin()
    least = bpm[best_bpm].mean()
    off = mean_of(svm[best_svm] - bpm[best_bpm])
    closer = mean_of(svm[0] - bpm[0] - svm[best_svm] + bpm[best_bpm])
    positive = 1 + bpm[1:].mean(axis=1).argmin()
    helps = mean_of(bpm[0] - bpm[positive])
    first, *_, last = means = angle.mean(axis=1)
    top = means.argmax()
    # It falls at each step, and to less than a half.
    falls = [*np.diff(angle[top:], axis=0), angle[-1] - angle[0] / 2]
    at = lambdas[best_svm], lambdas[best_bpm], lambdas[positive], lambdas[top]
    return {
        "close": (
            f"{svm[best_svm].mean():.2f} at λ = {at[0]:g}, {least:.2f} at λ = {at[1]:g}, "
            f"difference {off}: {100 * off.value / least:.0f} %",
            every([off.below(least / 10, 2), off.below(0, 2) is not True]),
        ),
        "closer": (f"by {closer}", closer.above(0, 2)),
        "helps": (f"by {helps} at λ = {at[2]:g}", helps.above(0, 2)),
        "meet": (
            f"from {means[top]:.3f} rad at λ = {at[3]:g} to {last:.3f}, {first:.3f} at λ = 0",
            every(mean_of(fall).below() for fall in falls),
        ),
    }


def _draw(rows: Rows, settings: Settings, figure: Any) -> None:
    axes = figure.subplots(2, 2, sharex=True, height_ratios=[2, 1])
    for (problem, title), (top, bottom) in zip(PROBLEMS.items(), axes.T, strict=True):
        of_problem = rows.where(problem=problem)
        for name, label, color, style in (
            ("svm", "L2-soft SVM", "#D55E00", "s--"),
            ("bpm", "Bayes point", "#0072B2", "o-"),
        ):
            curve(top, of_problem, "softness", name, 100, fmt=style, color=color, label=label,
                  markersize=4)  # fmt: skip
        curve(bottom, of_problem, "softness", "angle", fmt="o-", color="black", markersize=4)
        top.set(title=title, ylabel="test error, %")
        bottom.set(xlabel="λ", ylabel="SVM to Bayes\npoint, rad", ylim=(0, None))
        bottom.set_xscale("symlog", linthresh=0.001)
        top.legend(frameon=False, title="means ± standard error")


_TEXT = Text.of("bayesian-learning", "figure-6")

EXPERIMENTS = (
    Experiment(_TEXT, _report, _draw, _units, _measure, splits=100, quick_splits=3,
               size=(9.6, 6.4)),
)  # fmt: skip
