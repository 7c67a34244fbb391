"""Figure 6 of Herbrich, Graepel and Campbell: soft boundaries."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from bayespoint import VersionSpace, kernels
from bayespoint.papers.experiments import sets
from bayespoint.papers.experiments.billiards import fly
from bayespoint.papers.experiments.framework import Claim, Experiment, Report, Row, Settings, Text
from bayespoint.papers.experiments.rows import column, mean_and_error, mean_by, plus_minus, select
from bayespoint.papers.experiments.toy import cube

LAMBDAS = (0.0, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 100.0, 1000.0)
QUICK_LAMBDAS = (0.0, 0.1, 10.0)
TOYS = 5
"""Toys for each split of thyroid: they vary more, and cost less."""
PROBLEMS = {"toy": "toy, linear kernel", "thyroid": "thyroid, RBF kernel, σ = 3"}
BOUNCES = {"toy": 20_000, "thyroid": 100_000}
QUICK_BOUNCES = 5_000


def _lambdas(settings: Settings) -> tuple[float, ...]:
    return QUICK_LAMBDAS if settings.quick else LAMBDAS


def _units(settings: Settings) -> Iterator[Row]:
    for problem in PROBLEMS:
        for split in range(settings.splits * (TOYS if problem == "toy" else 1)):
            for softness in _lambdas(settings):
                yield {"problem": problem, "softness": softness, "split": split}


def _measure(unit: Row, settings: Settings) -> Row:
    seed = settings.seed_of(unit["split"])
    if unit["problem"] == "toy":
        X, y, X_test, y_test = cube(seed)
        kernel: Any = kernels.Linear()
    else:
        X, X_test, y, y_test = sets.split("thyroid", seed)
        kernel = kernels.RBF(sets.SETS["thyroid"].sigma)
    K = kernel(X)
    space = VersionSpace(K, y, softness=unit["softness"])
    bounces = QUICK_BOUNCES if settings.quick else BOUNCES[unit["problem"]]
    found = fly(space, bounces, seed)
    svm = space.max_margin().dual_coef
    # From the difference, because the cosine of a small angle has no digits of it.
    apart = svm - found.center
    squared = float(apart @ (K @ apart + unit["softness"] * apart))
    pairs = np.triu_indices(len(y), 1)
    squares = (np.add.outer(K.diagonal(), K.diagonal()) - 2 * K)[pairs] + 2 * unit["softness"]
    K_test = kernel(X_test, X)
    return {
        "svm": sets.error(K_test, svm, y_test),
        "bpm": sets.error(K_test, found.center, y_test),
        "angle": 2 * float(np.arcsin(min(1.0, np.sqrt(max(0.0, squared)) / 2))),
        "distances": float(np.sqrt(max(0.0, squares.min()) / squares.max())),
        "center_error": float(found.center_error),
        "drift": float(found.drift),
    }


def _report(rows: list[Row], settings: Settings) -> Report:
    tables, claims = [], []
    lambdas = _lambdas(settings)
    for problem, title in PROBLEMS.items():
        svm, bpm = (
            np.array([100 * column(select(rows, problem=problem, softness=value), name)
                      for value in lambdas])
            for name in ("svm", "bpm")
        )  # fmt: skip
        angle, distances = (
            mean_by(select(rows, problem=problem), "softness", name)
            for name in ("angle", "distances")
        )
        lines = [
            [f"{value:g}",
             *(plus_minus(*mean_and_error(values)) for values in (svm[k], bpm[k], svm[k] - bpm[k])),
             plus_minus(angle[k, 0], angle[k, 1], 3), f"{distances[k, 0]:.3f}"]
            for k, value in enumerate(lambdas)
        ]  # fmt: skip
        tables.append(
            _TEXT.table("errors", lines, title=title, splits=svm.shape[1])
        )  # fmt: skip
        claims += _claims(problem, lambdas, svm, bpm, angle[:, 0])
    remarks = [_TEXT.fill("numbers")]
    return Report(tables, claims, remarks)


def _claims(problem: str, lambdas: Any, svm: Any, bpm: Any, angle: Any) -> list[Claim]:
    """Return the claims on one problem.

    Errors are in percent, of shape (values of λ, splits); angles are means, one for each λ.
    """
    best_svm, best_bpm = svm.mean(axis=1).argmin(), bpm.mean(axis=1).argmin()
    least = bpm[best_bpm].mean()
    off, error = mean_and_error(svm[best_svm] - bpm[best_bpm])
    closer, closer_error = mean_and_error(svm[0] - bpm[0] - svm[best_svm] + bpm[best_bpm])
    positive = 1 + bpm[1:].mean(axis=1).argmin()
    helps, helps_error = mean_and_error(bpm[0] - bpm[positive])
    top = angle.argmax()
    return [
        _TEXT.claim(
            "close",
            bool(-2 * error < off < least / 10 + 2 * error),
            problem=problem,
            svm=svm[best_svm].mean(),
            svm_at=lambdas[best_svm],
            least=least,
            bpm_at=lambdas[best_bpm],
            off=plus_minus(off, error),
            share=100 * off / least,
        ),
        _TEXT.claim(
            "closer",
            bool(closer > 2 * closer_error),
            problem=problem,
            closer=plus_minus(closer, closer_error),
        ),
        _TEXT.claim(
            "helps",
            bool(helps > 2 * helps_error),
            problem=problem,
            bpm_at=lambdas[best_bpm],
            positive=lambdas[positive],
            helps=plus_minus(helps, helps_error),
        ),
        _TEXT.claim(
            "meet",
            bool((np.diff(angle[top:]) < 0).all() and angle[-1] < angle[0] / 2),
            problem=problem,
            top=lambdas[top],
            first=angle[top],
            last=angle[-1],
            hard=angle[0],
            end=": it grows first)" if top else ")",
        ),
    ]


def _draw(rows: list[Row], settings: Settings, figure: Any) -> None:
    axes = figure.subplots(2, 2, sharex=True, height_ratios=[2, 1])
    lambdas = np.array(_lambdas(settings))
    for k, (problem, title) in enumerate(PROBLEMS.items()):
        top, bottom = axes[:, k]
        for name, label, color, style in (
            ("svm", "L2-soft SVM", "#D55E00", "s--"),
            ("bpm", "Bayes point", "#0072B2", "o-"),
        ):
            means = 100 * mean_by(select(rows, problem=problem), "softness", name)
            top.errorbar(lambdas, means[:, 0], means[:, 1], fmt=style, color=color, label=label,
                         markersize=4)  # fmt: skip
        angle = mean_by(select(rows, problem=problem), "softness", "angle")
        bottom.errorbar(lambdas, angle[:, 0], angle[:, 1], fmt="o-", color="black", markersize=4)
        top.set(title=title, ylabel="test error, %")
        bottom.set(xlabel="λ", ylabel="SVM to Bayes\npoint, rad", ylim=(0, None))
        bottom.set_xscale("symlog", linthresh=0.001)
        top.legend(frameon=False, title="means ± standard error")


_TEXT = Text.of("bayesian-learning", "figure-6")

EXPERIMENTS = (
    Experiment(_TEXT, _report, _draw, _units, _measure, splits=100, quick_splits=3,
               size=(9.6, 6.4)),
)  # fmt: skip
