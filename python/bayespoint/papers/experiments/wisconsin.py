"""The Wisconsin data in Section 18.6 of Ruján and Marchand: leave ten out."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from bayespoint import datasets, kernels
from bayespoint.papers.experiments import sets
from bayespoint.papers.experiments.drawing import legend_below
from bayespoint.papers.experiments.framework import (
    SPLITS,
    Experiment,
    Report,
    Settings,
    Text,
    units_of,
)
from bayespoint.papers.experiments.rows import Row, Rows, mean_of

SIGMA, OUT, FOLDS, QUICK_FOLDS = 1.75, 10, 67, 6
BOUNCES, QUICK_BOUNCES = 100_000, 3_000
BALLS = 4
METHODS = {
    "svm": ("maximal margin", 25, "#D55E00", "o"),
    "flipper": ("flipper", 23, "#56B4E9", "^"),
    "bpm": ("geodesic billiard", 23, "#0072B2", "s"),
}
"""Title, errors printed in the paper, and how to draw it."""
THRESHOLDS = {"": ("without threshold", False), "_threshold": ("with threshold", True)}
"""Whether there is one (Eqs. 18.18 to 18.26), by the end of the column's name."""


def _folds(settings: Settings) -> int:
    return QUICK_FOLDS if settings.quick else FOLDS


_units = units_of({"fold": range(QUICK_FOLDS)}, order=SPLITS, fold=range(FOLDS))


def _measure(unit: Row, settings: Settings) -> Row:
    X, y = datasets.load_wisconsin(return_X_y=True)
    order = np.random.default_rng(settings.seed_of(unit["order"])).permutation(len(y))
    test = order[OUT * unit["fold"] : OUT * (unit["fold"] + 1)]
    train = np.setdiff1d(order, test)
    kernel = kernels.RBF(SIGMA)
    gram, K_test = kernel(X[train]), kernel(X[test], X[train])
    bounces = QUICK_BOUNCES if settings.quick else BOUNCES
    seed = settings.seed_of(unit["order"], unit["fold"])
    found: Row = {}
    for ending, (_, threshold) in THRESHOLDS.items():
        billiard = partial(sets.BILLIARD, threshold=threshold, n_balls=BALLS, random_state=seed)
        machines = {
            "svm": sets.MARGIN(fit_intercept=threshold),
            "flipper": billiard(motion="flipper", N_max=bounces // BALLS),
            "bpm": billiard(motion="geodesic", N_max=bounces),
        }
        for name, machine in machines.items():
            wrong = sets.wrong(machine, gram, K_test, y[train], y[test])
            found[name + ending] = wrong.sum()
        found["center_error" + ending] = machine.runs_[0].center_error
    return found


def _totals(rows: Rows, name: str) -> Any:
    return np.array([of_order[name].sum() for of_order in rows.by("order").values()])


def _report(rows: Rows, settings: Settings) -> Report:
    tests = OUT * _folds(settings)
    part = tests / (OUT * FOLDS)
    lines, same, fewer = [], {}, {}
    for ending, (threshold, _) in THRESHOLDS.items():
        totals = {name: _totals(rows, name + ending) for name in METHODS}
        for name, (title, printed, *_) in METHODS.items():
            mean = mean_of(totals[name])
            lines.append([f"{title}, {threshold}", f"{printed * part:.3g}",
                          f"{mean:.1f}", f"{mean.value - printed * part:+.1f}",
                          f"{totals[name].min()} to {totals[name].max()}"])  # fmt: skip
            within = totals[name].min() <= printed * part <= totals[name].max()
            same[f"{title}, {threshold}"] = within
        gain = mean_of(totals["svm"] - totals["flipper"])
        fewer[f"{threshold} (by {gain:.1f})"] = gain.above()
    claims = [
        *_TEXT.claims("printed", same, general=True, tests=OUT * FOLDS),
        *_TEXT.claims("fewer", fewer),
    ]
    table = _TEXT.table("errors", lines, tests=tests, splits=settings.splits)
    largest = max(np.median(rows["center_error" + ending]) for ending in THRESHOLDS)
    return Report([table], claims, [_TEXT.fill("cases", largest=largest)])


def _draw(rows: Rows, settings: Settings, figure: Any) -> None:
    axes = figure.subplots(1, 2, sharey=True)
    for ax, (ending, (threshold, _)) in zip(axes, THRESHOLDS.items(), strict=True):
        for k, (name, (title, printed, color, marker)) in enumerate(METHODS.items()):
            totals = np.sort(_totals(rows, name + ending))
            # Equal numbers side by side.
            among = np.array([(totals[:i] == total).sum() for i, total in enumerate(totals)])
            equal = np.array([(totals == total).sum() for total in totals])
            ax.plot(k + 0.1 * (among - (equal - 1) / 2), totals, marker, color=color,
                    label=f"an order, {title}")  # fmt: skip
            mean, error = mean_of(totals)
            ax.errorbar(k - 0.36, mean, error, fmt="_", color="black", capsize=4, markersize=12,
                        label="mean ± standard error" if k == 0 else None)  # fmt: skip
            ax.plot(k + 0.36, printed * OUT * _folds(settings) / 670, "D", color="black",
                    markerfacecolor="none", markersize=7,
                    label="paper" if k == 0 else None)  # fmt: skip
        ax.set_xticks(range(len(METHODS)), [title for title, *_ in METHODS.values()])
        ax.set(xlim=(-0.6, 2.6), title=threshold)
    low, high = axes[0].get_ylim()
    axes[0].set_yticks(range(int(np.floor(low)), int(np.ceil(high)) + 1))
    axes[0].set_ylabel(f"errors of {OUT * _folds(settings)} tests")
    legend_below(figure, [axes[0]], 3)


_TEXT = Text.of(
    "kernel-billiard",
    "wisconsin",
    balls=BALLS,
    flipper=BOUNCES // BALLS,
    bounces=BOUNCES,
    folds=FOLDS,
)

EXPERIMENTS = (
    Experiment(_TEXT, _report, _draw, _units, _measure, splits=6, quick_splits=2, size=(10.0, 5.4)),
)
