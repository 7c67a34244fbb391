"""Figure 6 of Herbrich, Graepel and Campbell: soft boundaries."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from bayespoint import SampleOptions, VersionSpace, kernels
from bayespoint.papers.experiments import sets
from bayespoint.papers.experiments.framework import (
    Claim,
    Experiment,
    Report,
    Row,
    Settings,
    Table,
    column,
    mean_and_error,
    plus_minus,
    select,
)
from bayespoint.papers.experiments.toy import cube

LAMBDAS = (0.0, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0)
QUICK_LAMBDAS = (0.0, 0.1, 10.0)
PROBLEMS = {"toy": "toy, linear kernel", "thyroid": "thyroid, RBF kernel, σ = 3"}
BOUNCES, QUICK_BOUNCES = 100_000, 5_000


def _lambdas(settings: Settings) -> tuple[float, ...]:
    return QUICK_LAMBDAS if settings.quick else LAMBDAS


def _units(settings: Settings) -> Iterator[Row]:
    for split in range(settings.splits):
        for problem in PROBLEMS:
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
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # "drift" records it
        found = space.sample(
            options=SampleOptions(max_bounces=QUICK_BOUNCES if settings.quick else BOUNCES),
            n_draws=1,
            random_state=seed,
        )
    svm = space.max_margin().dual_coef
    cosine = svm @ (K + unit["softness"] * np.eye(len(y))) @ found.center
    K_test = kernel(X_test, X)
    return {
        "svm": sets.error(K_test, svm, y_test),
        "bpm": sets.error(K_test, found.center, y_test),
        "angle": float(np.arccos(np.clip(cosine, -1, 1))),
        "center_error": float(found.center_error),
        "drift": float(found.drift),
    }


def _means(rows: list[Row], settings: Settings, problem: str, name: str) -> Any:
    """Return means and standard errors, a row for each λ."""
    return np.array(
        [
            mean_and_error(column(select(rows, problem=problem, softness=value), name))
            for value in _lambdas(settings)
        ]
    )


def _report(rows: list[Row], settings: Settings) -> Report:
    tables, claims = [], []
    for problem, title in PROBLEMS.items():
        svm, bpm, angle = (
            _means(rows, settings, problem, name) for name in ("svm", "bpm", "angle")
        )
        lines = [
            [f"{value:g}", _percent(svm[k]), _percent(bpm[k]),
             f"{100 * (bpm[k, 0] - svm[k, 0]):+.2f}", plus_minus(angle[k, 0], angle[k, 1], 3)]
            for k, value in enumerate(_lambdas(settings))
        ]  # fmt: skip
        tables.append(
            Table(
                f"{title}: test error in percent, {settings.splits} splits ± standard error",
                ["λ", "L2-soft SVM", "Bayes point", "difference", "angle, rad"],
                lines,
            )
        )
        best = svm[:, 0].argmin(), bpm[:, 0].argmin()
        off = svm[best[0], 0] - bpm[best[1], 0]
        error = float(np.hypot(svm[best[0], 1], bpm[best[1], 1]))
        claims.append(
            Claim(
                f"{problem}: the SVM's smallest error is close to, or just above, the Bayes "
                f"point's ({100 * svm[best[0], 0]:.2f} at λ = {_lambdas(settings)[best[0]]:g}, "
                f"{100 * bpm[best[1], 0]:.2f} at λ = {_lambdas(settings)[best[1]]:g})",
                bool(off > -2 * error),
            )
        )
        claims.append(
            Claim(
                f"{problem}: version space becomes regular for large λ: the angle between SVM and "
                f"Bayes point falls from {angle[0, 0]:.3f} to {angle[-1, 0]:.3f} rad",
                bool(angle[-1, 0] < angle[0, 0]),
            )
        )
    remarks = [
        "The paper does not print the numbers of its curves. λ is added to the diagonal of the "
        "training kernel matrix (after Eq. 18). The angle is that between SVM and Bayes point in "
        "the feature space of this matrix."
    ]
    return Report(tables, claims, remarks)


def _percent(pair: Any) -> str:
    return plus_minus(100 * float(pair[0]), 100 * float(pair[1]))


def _draw(rows: list[Row], settings: Settings, figure: Any) -> None:
    axes = figure.subplots(2, 2, sharex=True, height_ratios=[2, 1])
    lambdas = np.array(_lambdas(settings))
    for k, (problem, title) in enumerate(PROBLEMS.items()):
        top, bottom = axes[:, k]
        for name, label, color in (
            ("svm", "L2-soft SVM", "#D55E00"),
            ("bpm", "Bayes point", "#0072B2"),
        ):
            means = 100 * _means(rows, settings, problem, name)
            top.errorbar(lambdas, means[:, 0], means[:, 1], fmt="o-", color=color, label=label,
                         markersize=4)  # fmt: skip
        angle = _means(rows, settings, problem, "angle")
        bottom.errorbar(lambdas, angle[:, 0], angle[:, 1], fmt="o-", color="gray", markersize=4)
        top.set(title=title, ylabel="test error, %")
        bottom.set(xlabel="λ", ylabel="angle, rad", ylim=(0, None))
        bottom.set_xscale("symlog", linthresh=0.001)
        top.legend(frameon=False)


EXPERIMENTS = (
    Experiment(
        name="figure-6",
        title="Figure 6: soft boundaries, error against λ",
        paper="bayesian-learning",
        about=(
            "The Bayes point with a soft boundary and the L2-soft SVM have the same matrix K + λI. "
            "Toy: a new problem for each split, with 10 training and 10 000 test points, uniform "
            "in a cube and labeled by a random plane. Thyroid: random splits as in Table 1."
        ),
        units=_units,
        measure=_measure,
        report=_report,
        draw=_draw,
        splits=100,
        quick_splits=3,
        size=(9.6, 6.4),
    ),
)
