"""Sections 4.1 and 5 of Herbrich, Graepel and Campbell: the bound with softness, and selection."""

from __future__ import annotations

from typing import Any

import numpy as np

from bayespoint import BayesPointClassifier, kernels
from bayespoint.papers import bounds
from bayespoint.papers.experiments import sets
from bayespoint.papers.experiments.drawing import curve, legend_below, only_ticks, vacuous_above
from bayespoint.papers.experiments.framework import Experiment, Report, Settings, Table, Text
from bayespoint.papers.experiments.rows import Row, Rows, mean_of

DELTA, TOLERANCE = 0.05, 0.3
DATA = "thyroid"
SIGMA = sets.SETS[DATA].sigma
QUICK_LAMBDAS = (0.0, 0.1, 1000.0)
SIGMAS = (0.3, 0.5, 1.0, 2.0, SIGMA, 5.0, 8.0, 12.0)
QUICK_SIGMAS = (0.5, SIGMA)
BOUNDS = {
    "vote": ("volume_bayes", "vote", "version space"),
    "center": ("point_mirror", "center", "symmetric part"),
}
COLORS = {"vote": "#0072B2", "center": "#D55E00", "test": "black", "training": "#009E73"}


def _candidates(settings: Settings) -> list[tuple[float, float]]:
    """Return λ and σ of all candidates: a list that is fixed before the examples are seen."""
    lambdas, sigmas = (QUICK_LAMBDAS, QUICK_SIGMAS) if settings.quick else (sets.LAMBDAS, SIGMAS)
    by_softness = [(softness, SIGMA) for softness in lambdas]
    return by_softness + [(0.0, sigma) for sigma in sigmas if sigma != SIGMA]


def _units(settings: Settings) -> list[Row]:
    return [
        {"softness": softness, "sigma": sigma, "split": split}
        for split in range(settings.splits)
        for softness, sigma in _candidates(settings)
    ]


def _measure(unit: Row, settings: Settings) -> Row:
    used = sets.SETS[DATA]
    seed = settings.seed_of(unit["split"])
    X, y = used.load()
    order = np.random.default_rng(seed).permutation(len(y))
    train, test = np.split(order, [used.n_train])
    # Scaled by the other part, so that the kernel does not depend on the training examples.
    X_test, X_train = sets.standardize(X[test], X[train])
    model = BayesPointClassifier(
        kernels.RBF(unit["sigma"]), softness=unit["softness"], fit_intercept=False,
        standardize=False, random_state=seed % 2**32,
    ).fit(X_train, y[train])  # fmt: skip
    table = bounds.risk_bounds(model, DELTA, tol=TOLERANCE, random_state=seed % 2**32)
    found: Row = {
        "m": len(train),
        "test": (model.predict(X_test) != y[test]).mean(),
        "training": (model.predict(X_train) != y[train]).mean(),
    }
    for key, (name, of, region) in BOUNDS.items():
        row = table.find(name, of=of, region=region)
        found[key] = row.value
        found[f"{key}_error"] = row.standard_error
    return found


def _report(rows: Rows, settings: Settings) -> Report:
    m = rows["m"][0]
    limit = bounds.volume_bayes(m, -m * np.log(2), DELTA)
    soft = rows.where(sigma=SIGMA)
    selected = _Selected(rows, _candidates(settings))
    tables = [_table(rows, settings), selected.table(m)]
    largest = soft["softness"].max()
    last = soft.where(softness=largest)["vote"]
    usable = soft["training"][(soft["training"] > 0) & (soft["vote"] < 1)]
    chosen = 100 * selected.chosen
    best = 100 * selected.errors[:, selected.errors.mean(axis=0).argmin()]
    gain = mean_of(selected.at_random - chosen)
    claims = [
        _TEXT.claim(
            "applies", len(usable) > 0, count=len(usable), largest=100 * usable.max(initial=0.0)
        ),
        _TEXT.claim(
            "trivial",
            (last > 1).all() and 0.95 * limit < last.mean() < 1.05 * limit,
            last=last.mean(),
            softness=largest,
            limit=limit,
        ),
        _TEXT.claim(
            "random",
            gain.above(0, 2),
            gain=gain,
            hard=mean_of(selected.hard - chosen),
        ),
        _TEXT.claim(
            "best", mean_of(chosen - best).below(1, 2), chosen=chosen.mean(), best=best.mean()
        ),
    ]
    return Report(tables, claims, [_TEXT.fill("conditions", error=np.nanmax(rows["vote_error"]))])


def _table(rows: Rows, settings: Settings) -> Table:
    lines: list[list[object]] = []
    for softness, sigma in _candidates(settings):
        cell = rows.where(softness=softness, sigma=sigma)
        values = (f"{cell.mean(name):.3f}" for name in BOUNDS)
        errors = (cell.mean(name, 100) for name in ("training", "test"))
        lines.append([f"{softness:g}", f"{sigma:g}", *values, *errors])
    return _TEXT.table("against", lines, data=DATA, delta=DELTA, m=rows["m"][0])


class _Selected:
    """Test errors of all candidates, and which of them has the smallest bound in each split."""

    def __init__(self, rows: Rows, candidates: list[tuple[float, float]]) -> None:
        shape = -1, len(candidates)
        self.candidates, self.errors = candidates, rows["test"].reshape(shape)
        bound = rows["vote"].reshape(shape)
        # Refused bounds are NaN.
        self.least = np.where(np.isnan(bound), np.inf, bound).argmin(axis=1)
        every = np.arange(len(bound))
        self.chosen, self.bound = self.errors[every, self.least], bound[every, self.least]
        is_hard = [softness == 0 for softness, _ in candidates]
        self.at_random = 100 * self.errors.mean(axis=1)
        self.hard = 100 * self.errors[:, is_hard].mean(axis=1)

    def table(self, m: int) -> Table:
        # delta is divided by the number of candidates.
        price = 2 * np.log(len(self.candidates)) / m
        best = int(self.errors.mean(axis=0).argmin())
        picks = [self.candidates[k] for k in self.least]
        often = max(set(picks), key=picks.count)
        return _TEXT.table("selected", [
                ["smallest bound",
                 f"{often[0]:g}, {often[1]:g} in {picks.count(often)} of {len(picks)} splits",
                 f"{mean_of(self.bound + price):.3f}", mean_of(100 * self.chosen)],
                ["at random", "", "", mean_of(self.at_random)],
                ["at random with λ = 0", "", "", mean_of(self.hard)],
                ["best on the test parts", "{:g}, {:g}".format(*self.candidates[best]), "",
                 mean_of(100 * self.errors[:, best])],
            ], n=len(self.candidates))  # fmt: skip


def _draw(rows: Rows, settings: Settings, figure: Any) -> None:
    left, right = figure.subplots(1, 2, sharey=True)
    for ax, parameter, chosen in (
        (left, "softness", rows.where(sigma=SIGMA)),
        (right, "sigma", rows.where(softness=0.0)),
    ):
        for name, label, style in (
            ("vote", "bound on the vote", "o-"),
            ("center", "bound on the Bayes point", "s--"),
            ("test", "test error", "x-"),
            ("training", "training error", "^:"),
        ):
            curve(ax, chosen, parameter, name, fmt=style, color=COLORS[name], markersize=4,
                  label=label)  # fmt: skip
        vacuous_above(ax, color="gray")
        ax.set(ylim=(0, None))
    left.set_xscale("symlog", linthresh=0.001)
    only_ticks(left.xaxis, (0.0, 0.001, 0.01, 0.1, 1.0, 10.0, 100.0, 1000.0))
    left.set_xlim(-0.0004, 2000)
    left.set(xlabel="λ", ylabel="bound, error (± s.e.)", title=f"σ = {SIGMA:g}")
    right.set(xscale="log", xlabel="σ", title="λ = 0")
    only_ticks(right.xaxis, rows.by("sigma"))
    legend_below(figure, [left], 5)


_TEXT = Text.of("bayesian-learning", "bound-selection")

EXPERIMENTS = (
    Experiment(_TEXT, _report, _draw, _units, _measure, splits=20, quick_splits=2,
               size=(10.4, 5.0)),
)  # fmt: skip
