"""Table 18.1 and Figure 18.13 of Ruján and Marchand: sonar, split by aspect angle."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from bayespoint import SampleOptions, VersionSpace, kernels
from bayespoint.papers.data import load_sonar_split
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

SIGMA = 4.4
# Errors on negative and on positive test examples, of 104, for 0 to 5 violated examples of either
# class.
PRINTED = (
    ((3, 5), (1, 8), (1, 12), (1, 17), (0, 20), (0, 21)),
    ((5, 5), (2, 5), (1, 7), (1, 7), (1, 8), (1, 10)),
    ((5, 5), (3, 5), (2, 6), (1, 5), (1, 9), (1, 15)),
    ((5, 5), (4, 5), (3, 7), (1, 5), (1, 6), (1, 8)),
    ((7, 5), (5, 5), (4, 6), (3, 6), (1, 7), (1, 7)),
    ((8, 2), (5, 5), (4, 5), (4, 5), (3, 5), (1, 6)),
)
METHODS = ("exact", "projected")
SIGMAS = (0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 3.5, 4.0, 4.4, 5.0, 6.0, 8.0)
QUICK_SIGMAS = (1.0, 4.4)
BOUNCES, QUICK_BOUNCES = 100_000, 2_000


def _problem(sigma: float) -> tuple[VersionSpace, Any, Any]:
    """Return version space, kernel values of the test examples and their labels."""
    X, X_test, y, y_test = load_sonar_split()
    X, X_test = sets.standardize(X, X_test)
    kernel = kernels.RBF(sigma)
    return VersionSpace(kernel(X, X), y), kernel(X_test, X), y_test


def _wrong(K: Any, dual_coef: Any, y: Any) -> int:
    return round(sets.error(K, dual_coef, y) * len(y))


def _size(settings: Settings) -> int:
    return 3 if settings.quick else 6


# --- Table 18.1 ---


def _table_units(settings: Settings) -> Iterator[Row]:
    for run in range(settings.splits):
        for method in METHODS:
            yield {"method": method, "run": run}


def _table_measure(unit: Row, settings: Settings) -> Row:
    space, K_test, y_test = _problem(SIGMA)
    seed = settings.seed_of(unit["run"])
    size = _size(settings)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # "center_error" records it
        onion = space.onion(
            (size - 1, size - 1),
            method=unit["method"],
            tol=0.2 if settings.quick else 0.05,
            max_length=200.0 if settings.quick else 5e3,
            random_state=seed,
        )
    errors = onion.test_errors(K_test, y_test, by_class=True)
    found: Row = {
        "svm": _wrong(K_test, space.max_margin().dual_coef, y_test),
        "center_error": float(np.nanmax(onion.center_error)),
    }
    for a in range(size):
        for b in range(size):
            for k, name in enumerate(("neg", "pos")):
                found[f"{name}_{a}_{b}"] = float(errors[a, b, k])
    return found


def _means(rows: list[Row], method: str, size: int) -> Any:
    """Return the mean errors, of shape (size, size, 2)."""
    of_method = select(rows, method=method)
    return np.array(
        [
            [
                [float(np.mean(column(of_method, f"{name}_{a}_{b}"))) for name in ("neg", "pos")]
                for b in range(size)
            ]
            for a in range(size)
        ]
    )


def _grid(title: str, errors: Any) -> Table:
    columns = ["", *(f"+{b}" for b in range(errors.shape[1]))]
    lines = [
        [f"-{a}", *(f"{pair.sum():.3g} ({pair[0]:.3g}, {pair[1]:.3g})" for pair in row)]
        for a, row in enumerate(errors)
    ]
    return Table(title, columns, lines)


def _best(errors: Any) -> str:
    totals = errors.sum(axis=2)
    least = np.nanmin(totals)
    cells = ", ".join(f"(-{a}, +{b})" for a, b in np.argwhere(totals == least))
    return f"{least:.3g} at {cells}"


def _table_report(rows: list[Row], settings: Settings) -> Report:
    size = _size(settings)
    printed = np.array(PRINTED, dtype=float)[:size, :size]
    tables = [_grid("Errors of 104 (on rocks, on mines), paper", printed)]
    grids = {"paper": printed}
    for method in METHODS:
        grids[method] = _means(rows, method, size)
        title = f"The same, {method} onion, means of {settings.splits} runs"
        tables.append(_grid(title, grids[method]))
        tables.append(
            Table(
                f"Difference to the paper in all errors, {method} onion",
                ["", *(f"+{b}" for b in range(size))],
                [
                    [f"-{a}", *(f"{value:+.3g}" for value in row)]
                    for a, row in enumerate((grids[method] - printed).sum(axis=2))
                ],
            )
        )
    tables.append(
        Table("Fewest errors", ["", "errors"], [[name, _best(g)] for name, g in grids.items()])
    )
    bayes = {method: float(grids[method][0, 0].sum()) for method in METHODS}
    svm = float(column(rows, "svm").mean())
    claims = [
        Claim(
            f"the Bayes point makes 8 errors (ours: {bayes['exact']:.3g} exact, "
            f"{bayes['projected']:.3g} projected; the maximal margin: {svm:.3g})",
            round(bayes["exact"]) == 8,
        ),
        Claim(
            "a layer with some training errors does better than the Bayes point",
            all(np.nanmin(g.sum(axis=2)) < g[0, 0].sum() for g in grids.values()),
        ),
    ]
    remarks = [
        "The best cell is chosen by the test examples, in the paper and here, so it does not "
        "estimate a test error. The paper says that other versions of the split are in "
        "circulation; this one is UCI's. The paper does not mention that features are "
        "standardized. The largest estimated error of a center is "
        f"{np.nanmax(column(rows, 'center_error')):.2f} rad."
    ]
    return Report(tables, claims, remarks)


def _table_draw(rows: list[Row], settings: Settings, figure: Any) -> None:
    size = _size(settings)
    grids = {"paper": np.array(PRINTED, dtype=float)[:size, :size]}
    grids |= {f"{method} onion": _means(rows, method, size) for method in METHODS}
    axes = figure.subplots(1, len(grids))
    for ax, (title, grid) in zip(axes, grids.items(), strict=True):
        totals = grid.sum(axis=2)
        image = ax.imshow(totals, cmap="YlOrRd", vmin=5, vmax=22)
        for a in range(size):
            for b in range(size):
                ax.text(b, a, f"{totals[a, b]:.3g}", ha="center", va="center", color="black")
        ax.set_xticks(range(size), [f"+{k}" for k in range(size)])
        ax.set_yticks(range(size), [f"-{k}" for k in range(size)])
        ax.set(title=title, xlabel="violated mines", ylabel="violated rocks")
    figure.colorbar(image, ax=axes, label="test errors of 104", shrink=0.8)


# --- Figure 18.13 ---


def _sweep_units(settings: Settings) -> Iterator[Row]:
    for run in range(settings.splits):
        for sigma in QUICK_SIGMAS if settings.quick else SIGMAS:
            yield {"sigma": sigma, "run": run}


def _sweep_measure(unit: Row, settings: Settings) -> Row:
    space, K_test, y_test = _problem(unit["sigma"])
    seed = settings.seed_of(round(100 * unit["sigma"]), unit["run"])
    bounces = QUICK_BOUNCES if settings.quick else BOUNCES
    size = _size(settings)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        flipper = space.sample(
            options=SampleOptions(dynamics="flipper", max_bounces=bounces),
            n_draws=1,
            random_state=seed,
        )
        exact = space.sample(
            options=SampleOptions(max_bounces=bounces), n_draws=1, random_state=seed
        )
        options: dict[str, Any] = {
            "method": "projected",
            "tol": 0.2 if settings.quick else 0.1,
            "max_length": 100.0 if settings.quick else 2e3,
            "random_state": seed,
        }
        onion = space.onion((size - 1, size - 1), **options)
        choice = space.choose_layer(
            (size - 1, size - 1), n_repeats=1 if settings.quick else None, **options
        )
    errors = onion.test_errors(K_test, y_test)
    return {
        "svm": _wrong(K_test, space.max_margin().dual_coef, y_test),
        "flipper": _wrong(K_test, flipper.center, y_test),
        "exact": _wrong(K_test, exact.center, y_test),
        "best_layer": float(np.nanmin(errors)),
        "chosen_layer": float(errors[choice.layer]),
        "layer": f"-{choice.layer[0]} +{choice.layer[1]}",
        "escapes": float(flipper.escape_fraction),
        "path": float(flipper.length),
        "center_error": float(exact.center_error),
    }


_CURVES = {
    "svm": ("maximal margin", "#D55E00"),
    "flipper": ("flipper", "#56B4E9"),
    "exact": ("geodesic billiard", "#0072B2"),
    "best_layer": ("onion, best layer on the test", "#CC79A7"),
    "chosen_layer": ("onion, layer by leave-10-out", "#009E73"),
}


def _sweep_report(rows: list[Row], settings: Settings) -> Report:
    lines = []
    for sigma in QUICK_SIGMAS if settings.quick else SIGMAS:
        of_sigma = select(rows, sigma=sigma)
        cells = [plus_minus(*mean_and_error(column(of_sigma, key)), 1) for key in _CURVES]
        escapes = float(column(of_sigma, "escapes").mean())
        lines.append([f"{sigma:g}", *cells, f"{escapes:.3f}"])
    table = Table(
        f"Errors of 104 test examples, means of {settings.splits} runs ± standard error",
        ["σ", *(title for title, _ in _CURVES.values()), "flipper, share of escapes"],
        lines,
    )
    gains = column(rows, "svm") - column(rows, "best_layer")
    first = float(column(select(rows, sigma=rows[0]["sigma"]), "escapes").mean())
    last = float(column(select(rows, sigma=rows[-1]["sigma"]), "escapes").mean())
    claims = [
        Claim(
            "the onion's best layer makes no more errors than the maximal margin at any σ",
            bool((gains >= 0).all()),
        ),
        Claim(
            "the billiard closes as σ grows: at the largest σ the flipper escapes at most half as "
            f"often as at the smallest ({last:.3f} and {first:.3f} of the flights)",
            2 * last <= first,
        ),
    ]
    remarks = [
        "The paper does not print the numbers of its figure, so there is no difference to show. It "
        "does not say how the layers were chosen. No choice can be better than the best layer on "
        "the test set; the layer chosen by leaving out ten training examples uses no test example."
    ]
    return Report([table], claims, remarks)


def _sweep_draw(rows: list[Row], settings: Settings, figure: Any) -> None:
    left, right = figure.subplots(1, 2, gridspec_kw={"width_ratios": [3, 2]})
    sigmas = sorted({row["sigma"] for row in rows})
    for key, (title, color) in _CURVES.items():
        means = [float(column(select(rows, sigma=s), key).mean()) for s in sigmas]
        left.plot(sigmas, means, "o-", color=color, label=title, markersize=4)
    left.set(xlabel="σ", ylabel="test errors of 104")
    left.legend(frameon=False, fontsize="small")
    right.plot(sigmas, [float(column(select(rows, sigma=s), "escapes").mean()) for s in sigmas],
               "o-", color="#56B4E9")  # fmt: skip
    right.set(xlabel="σ", ylabel="escapes per flight of the flipper")


_SETUP = (
    "The split by aspect angle has 104 examples for training and 104 for the test. Features are "
    "standardized on the training part. RBF kernel, hard boundary, no intercept."
)

EXPERIMENTS = (
    Experiment(
        name="figure-18-13",
        title="Figure 18.13: sonar against the length scale: maximal margin, flipper, onion",
        paper="kernel-billiard",
        about=_SETUP + f" Each of four balls makes {BOUNCES:,} bounces. The flipper is the "
        "dynamics of the paper; the geodesic billiard moves along great circles.",
        units=_sweep_units,
        measure=_sweep_measure,
        report=_sweep_report,
        draw=_sweep_draw,
        splits=3,
        quick_splits=1,
        size=(11.0, 4.8),
    ),
    Experiment(
        name="table-18-1",
        title="Table 18.1: the onion on sonar at σ = 4.4",
        paper="kernel-billiard",
        about=_SETUP + " Rows are numbers of violated rocks, columns of violated mines. Exact: the "
        "center of mass of each layer, sampled with half-transparent walls. Projected: the "
        "paper's method, along the rays of a billiard in version space.",
        units=_table_units,
        measure=_table_measure,
        report=_table_report,
        draw=_table_draw,
        splits=4,
        quick_splits=1,
        size=(12.0, 4.2),
    ),
)
