"""Sections 4.1 and 5 of Herbrich, Graepel and Campbell: the bound with softness, and selection."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from bayespoint import BayesPointClassifier, kernels
from bayespoint.papers import bounds
from bayespoint.papers.experiments import sets
from bayespoint.papers.experiments.drawing import legend_below, only_ticks
from bayespoint.papers.experiments.framework import Experiment, Report, Row, Settings, Table, Text
from bayespoint.papers.experiments.rows import column, mean_and_error, mean_by, plus_minus, select

DELTA, TOLERANCE = 0.05, 0.3
DATA = "thyroid"
SIGMA = sets.SETS[DATA].sigma
LAMBDAS = (0.0, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 100.0, 1000.0)
QUICK_LAMBDAS = (0.0, 0.1, 1000.0)
SIGMAS = (0.3, 0.5, 1.0, 2.0, SIGMA, 5.0, 8.0, 12.0)
QUICK_SIGMAS = (0.5, SIGMA)
BOUNDS = {
    "vote": ("volume_bayes", "vote", "version space"),
    "center": ("point_mirror", "center", "symmetric part"),
}
COLORS = {"vote": "#0072B2", "center": "#D55E00", "test": "black", "training": "#009E73"}


def _lambdas(settings: Settings) -> tuple[float, ...]:
    return QUICK_LAMBDAS if settings.quick else LAMBDAS


def _candidates(settings: Settings) -> list[tuple[float, float]]:
    """Return λ and σ of all candidates: a list that is fixed before the examples are seen."""
    sigmas = QUICK_SIGMAS if settings.quick else SIGMAS
    by_softness = [(value, SIGMA) for value in _lambdas(settings)]
    return by_softness + [(0.0, sigma) for sigma in sigmas if sigma != SIGMA]


def _units(settings: Settings) -> Iterator[Row]:
    for split in range(settings.splits):
        for softness, sigma in _candidates(settings):
            yield {"softness": softness, "sigma": sigma, "split": split}


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
        "test": float((model.predict(X_test) != y[test]).mean()),
        "training": float((model.predict(X_train) != y[train]).mean()),
    }
    for key, (name, of, region) in BOUNDS.items():
        row = table.find(name, of=of, region=region)
        found[key] = row.value
        found[f"{key}_error"] = row.standard_error
    return found


def _report(rows: list[Row], settings: Settings) -> Report:
    m = int(rows[0]["m"])
    limit = float(bounds.volume_bayes(m, -m * np.log(2), DELTA))
    tables = [
        _table(rows, f"the softness λ (σ = {SIGMA:g})", "λ", "softness", _soft(rows)),
        _table(rows, "the width σ (λ = 0)", "σ", "sigma", select(rows, softness=0.0)),
        _selected(rows, settings),
    ]
    soft = _soft(rows)
    last = column(select(soft, softness=_lambdas(settings)[-1]), "vote")
    usable = [row for row in soft if row["training"] > 0 and row["vote"] < 1]
    largest = max((row["training"] for row in usable), default=0.0)
    chosen, others = _errors(rows, settings)
    gain, error = mean_and_error(100 * (others.mean(axis=1) - chosen))
    hard = mean_and_error(100 * (_hard(others, settings).mean(axis=1) - chosen))
    best = others.mean(axis=0).min()
    claims = [
        _TEXT.claim("applies", bool(usable), count=len(usable), largest=100 * largest),
        _TEXT.claim(
            "trivial",
            bool((last > 1).all()) and 0.95 * limit < last.mean() < 1.05 * limit,
            last=last.mean(),
            softness=_lambdas(settings)[-1],
            limit=limit,
        ),
        _TEXT.claim(
            "random",
            gain > (2 * error if error == error else 0),
            gain=plus_minus(gain, error),
            hard=plus_minus(*hard),
        ),
        _TEXT.claim(
            "best", 100 * (chosen.mean() - best) < 1, chosen=100 * chosen.mean(), best=100 * best
        ),
    ]
    remarks = [_TEXT.fill("conditions", error=np.nanmax(column(rows, "vote_error")))]
    return Report(tables, claims, remarks)


def _soft(rows: list[Row]) -> list[Row]:
    return select(rows, sigma=SIGMA)


def _table(rows: list[Row], title: str, symbol: str, parameter: str, chosen: list[Row]) -> Table:
    cells = [
        [
            plus_minus(scale * mean, scale * error, digits)
            for mean, error in mean_by(chosen, parameter, name)
        ]
        for name, scale, digits in (
            ("vote", 1, 3),
            ("center", 1, 3),
            ("training", 100, 2),
            ("test", 100, 2),
        )
    ]
    return _TEXT.table(
        "against",
        [
            [f"{value:g}", *line]
            for value, *line in zip(np.unique(column(chosen, parameter)), *cells, strict=True)
        ],
        data=DATA,
        title=title,
        delta=DELTA,
        m=rows[0]["m"],
        symbol=symbol,
    )


def _errors(rows: list[Row], settings: Settings) -> tuple[Any, Any]:
    """Return the test errors of the candidate with the smallest bound, and of all candidates.

    Arrays of shape (n_splits,) and (n_splits, n_candidates).
    """
    shape = settings.splits, len(_candidates(settings))
    errors, bound = (column(rows, name).reshape(shape) for name in ("test", "vote"))
    return errors[np.arange(len(errors)), _smallest(bound)], errors


def _smallest(bound: Any) -> Any:
    """Return the candidate with the smallest bound of each split; refused bounds are NaN."""
    return np.where(np.isnan(bound), np.inf, bound).argmin(axis=1)


def _hard(errors: Any, settings: Settings) -> Any:
    """Return the errors of the candidates with λ = 0."""
    return errors[:, [softness == 0 for softness, _ in _candidates(settings)]]


def _selected(rows: list[Row], settings: Settings) -> Table:
    candidates = _candidates(settings)
    chosen, errors = _errors(rows, settings)
    bound = column(rows, "vote").reshape(errors.shape)
    least = _smallest(bound)
    # delta is divided by the number of candidates.
    price = 2 * np.log(len(candidates)) / rows[0]["m"]
    selected = bound[np.arange(len(bound)), least] + price
    best = int(errors.mean(axis=0).argmin())
    picks = [candidates[k] for k in least]
    often = max(set(picks), key=picks.count)
    return _TEXT.table("selected", [
            ["smallest bound",
             f"{often[0]:g}, {often[1]:g} in {picks.count(often)} of {len(picks)} splits",
             plus_minus(*mean_and_error(selected), 3), plus_minus(*mean_and_error(100 * chosen))],
            ["at random", "", "", plus_minus(*mean_and_error(100 * errors.mean(axis=1)))],
            ["at random with λ = 0", "", "",
             plus_minus(*mean_and_error(100 * _hard(errors, settings).mean(axis=1)))],
            ["best on the test parts", f"{candidates[best][0]:g}, {candidates[best][1]:g}", "",
             plus_minus(*mean_and_error(100 * errors[:, best]))],
        ], n=len(candidates))  # fmt: skip


def _draw(rows: list[Row], settings: Settings, figure: Any) -> None:
    left, right = figure.subplots(1, 2, sharey=True)
    for ax, parameter, chosen in (
        (left, "softness", _soft(rows)),
        (right, "sigma", select(rows, softness=0.0)),
    ):
        for name, label, style in (
            ("vote", "bound on the vote", "o-"),
            ("center", "bound on the Bayes point", "s--"),
            ("test", "test error", "x-"),
            ("training", "training error", "^:"),
        ):
            means = mean_by(chosen, parameter, name)
            ax.errorbar(
                np.unique(column(chosen, parameter)), *means.T, fmt=style, color=COLORS[name],
                markersize=4, label=label,
            )  # fmt: skip
        ax.axhline(1.0, color="gray", linewidth=0.9, linestyle=(0, (1, 3)), label="vacuous above")
        ax.set(ylim=(0, None))
    left.set_xscale("symlog", linthresh=0.001)
    only_ticks(left.xaxis, (0.0, 0.001, 0.01, 0.1, 1.0, 10.0, 100.0, 1000.0))
    left.set_xlim(-0.0004, 2000)
    left.set(xlabel="λ", ylabel="bound, error (± s.e.)", title=f"σ = {SIGMA:g}")
    right.set(xscale="log", xlabel="σ", title="λ = 0")
    only_ticks(right.xaxis, np.unique(column(rows, "sigma")))
    legend_below(figure, [left], 5)


_TEXT = Text.of("bayesian-learning", "bound-selection")

EXPERIMENTS = (
    Experiment(_TEXT, _report, _draw, _units, _measure, splits=20, quick_splits=2,
               size=(10.4, 5.0)),
)  # fmt: skip
