"""Table 18.1 and Figure 18.13 of Ruján and Marchand: sonar, split by aspect angle."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from bayespoint import VersionSpace, kernels
from bayespoint.papers.data import load_sonar_split
from bayespoint.papers.experiments import sets
from bayespoint.papers.experiments.drawing import curve, legend_below, only_ticks
from bayespoint.papers.experiments.framework import (
    SPLITS,
    Experiment,
    Report,
    Settings,
    Table,
    Text,
    units_of,
)
from bayespoint.papers.experiments.rows import Mean, Row, Rows, every, grid, mean_of
from bayespoint.papers.light_trap import light_trap
from bayespoint.papers.machine import BayesPointMachine
from bayespoint.papers.onion import onion
from bayespoint.papers.rollback import without_warnings

SIGMA = 4.4
THRESHOLD = 1.0
"""Added to all kernel values: the last coordinate of (Φ, 1) in Eqs. 18.18 to 18.26."""
# Test errors, of 104, for 0 to 5 violated rocks (rows) and mines.
PRINTED = np.array((
    (8, 9, 13, 18, 20, 21),
    (10, 7, 8, 8, 9, 11),
    (10, 8, 8, 6, 10, 16),
    (10, 9, 10, 6, 7, 9),
    (12, 10, 10, 9, 8, 8),
    (10, 10, 9, 9, 8, 7),
))  # fmt: skip
METHODS = {"straight": "straight rays", "projected": "great circles", "exact": "exact"}
SIGMAS = {
    "standardized": (0.5, 1, 1.5, 2, 3, 4, 4.4, 5, 6, 8, 12, 16, 24, 32, 64),
    "raw": (0.125, 0.25, 0.5, 0.75, 1, 1.5, 2, 4.4, 8),
}
QUICK_SIGMAS = {"standardized": (1, 4.4, 24), "raw": (1, 4.4)}
CURVES = {
    "svm": ("maximal margin", "#D55E00", "s-"),
    "flipper": ("flipper", "#56B4E9", "^-"),
    "best_layer": ("onion, best layer on the test", "#CC79A7", "D-"),
    "chosen_layer": ("onion, layer by leaving ten out", "#009E73", "v--"),
    "svm_bare": ("maximal margin, no threshold", "#7F7F7F", "x:"),
}
_SHOWN = [name for name in CURVES if name != "svm_bare"]
"""The methods with the threshold."""
BALLS, OUT = 4, 10
NEAR = 3.0
"""Errors within which results are good: the standard deviation of a count of about 8."""
FEW = 10
"""Errors of 104, about a tenth, that are relatively few at the start of the light trap."""
FAST = 2.0
"""Power of σ from which the growth of a path is called a divergence."""
BOUNCES, QUICK_BOUNCES = 100_000, 2_000
GIVEN_UP = 1000 * 104
"""Arrivals at walls after which the package gives up the light trap."""


class Sonar(NamedTuple):
    """The sonar problem for one kernel."""

    K: Any
    """(104, 104) Kernel values of the training examples."""

    K_test: Any
    """(104, 104) Kernel values of test and training examples."""

    y: Any
    """(104,) Labels of the training examples."""

    y_test: Any
    """(104,) Labels of the test examples."""

    @property
    def space(self) -> VersionSpace:
        """The version space of the training examples."""
        return VersionSpace(self.K, self.y, offset=THRESHOLD)


def problem(sigma: float, features: str = "standardized") -> Sonar:
    """Return the sonar problem for one kernel."""
    X, X_test, y, y_test = load_sonar_split()
    if features == "standardized":
        X, X_test = sets.standardize(X, X_test)
    kernel = kernels.RBF(sigma)
    return Sonar(kernel(X, X), kernel(X_test, X), y, y_test)


def _bounces(settings: Settings) -> int:
    return QUICK_BOUNCES if settings.quick else BOUNCES


def _flights(settings: Settings) -> int:
    """Return the flights of each of the balls of a straight-ray onion."""
    return _bounces(settings) // BALLS


def _size(settings: Settings) -> int:
    return 3 if settings.quick else 6


_FLIPPER = partial(sets.BILLIARD, motion="flipper", threshold=True, n_balls=BALLS)


# --- Table 18.1 ---


_table_units = units_of(run=SPLITS)


def _table_measure(unit: Row, settings: Settings) -> Row:
    here = problem(SIGMA)
    seed = settings.seed_of(unit["run"])
    size = _size(settings)
    straight = _FLIPPER(N_max=_flights(settings), errors=np.ones((size, size)), random_state=seed)
    flipper = _FLIPPER(N_max=_bounces(settings), random_state=seed)
    tables = {"straight": straight.fit(here.K, here.y).runs_[0]}
    with without_warnings():  # "center_error" records it
        for method in ("projected", "exact"):
            tables[method] = onion(
                here.space,
                (size - 1, size - 1),
                method=method,
                tol=0.2 if settings.quick else 0.05,
                max_length=200.0 if settings.quick else 5e3,
                random_state=seed,
            )
    found: Row = {
        "svm": sets.wrong(sets.MARGIN(), *here).sum(),
        "flipper": sets.wrong(flipper, *here).sum(),
        "center_error": np.nanmax(tables["exact"].center_error),
    }
    for method, table in tables.items():
        errors = table.test_errors(here.K_test, here.y_test)
        found |= {f"{method}_{a}_{b}": error for (a, b), error in np.ndenumerate(errors)}
    return found


def _errors(rows: Rows, method: str, size: int) -> Any:
    """Return the errors of all runs, of shape (size, size, runs)."""
    columns = [rows[f"{method}_{a}_{b}"] for a, b in np.ndindex(size, size)]
    return np.reshape(columns, (size, size, -1))


def _grid(title: str, errors: Any) -> Table:
    columns = ["", *(f"+{b}" for b in range(errors.shape[1]))]
    lines = [[f"-{a}", *(f"{count:.3g}" for count in row)] for a, row in enumerate(errors)]
    return Table(title, columns, lines)


def _best(errors: Any) -> str:
    least = np.nanmin(errors)
    cells = ", ".join(f"(-{a}, +{b})" for a, b in np.argwhere(errors == least))
    return f"{least:.3g} at {cells}"


def _table_report(rows: Rows, settings: Settings) -> Report:
    size = _size(settings)
    printed = PRINTED[:size, :size]
    lines: list[list[object]] = [["paper", f"{printed[0, 0]}", "", "", _best(printed), ""]]
    distances = {}
    for method, title in METHODS.items():
        runs = _errors(rows, method, size)
        totals = runs.mean(axis=2)
        likeness = np.corrcoef(totals.ravel(), printed.ravel())[0, 1]
        distances[method] = np.sqrt(np.mean((runs - printed[..., None]) ** 2, axis=(0, 1)))
        means = [mean_of(of_layer) for of_layer in runs.reshape(size**2, -1)]
        distance = np.sqrt(np.mean((totals - printed) ** 2))
        lines.append([title, means[0], f"{distance:.2f}", f"{likeness:.2f}",
                      _best(totals), f"{max(mean.error for mean in means):.2f}"])  # fmt: skip
    straight = _errors(rows, "straight", size)
    totals = straight.mean(axis=2)
    tables = [
        _grid("Errors of 104, paper", printed),
        _grid(f"The same, straight rays, means of {settings.splits} runs", totals),
        _TABLE.table("agreement", lines),
    ]
    flipper, n = rows["flipper"], len(rows)
    straight = straight.reshape(size**2, -1)
    nearest, *others = distances.values()
    claims = [
        _TABLE.claim(
            "eight",
            2 * (flipper == 8).sum() > n,
            general=True,
            count=(flipper == 8).sum(),
            n=n,
            flipper=mean_of(flipper),
            svm=rows["svm"].mean(),
        ),
        _TABLE.claim(
            "layer",
            mean_of(straight[0] - straight[totals.argmin()]).above(),
            best=_best(totals),
            bayes_point=totals[0, 0],
        ),
        _TABLE.claim(
            "straight",
            every(mean_of(far - nearest).above() for far in others),
        ),
    ]
    remarks = [_TABLE.fill("chosen", center_error=np.nanmax(rows["center_error"]))]
    return Report(tables, claims, remarks)


def _table_draw(rows: Rows, settings: Settings, figure: Any) -> None:
    size = _size(settings)
    grids = {"paper": PRINTED[:size, :size]}
    for method, title in METHODS.items():
        grids[title] = _errors(rows, method, size).mean(axis=2)
    axes = figure.subplots(1, len(grids), sharey=True)
    for ax, (title, totals) in zip(axes, grids.items(), strict=True):
        image = ax.imshow(totals, cmap="Blues", vmin=5, vmax=25)
        for a, b in np.ndindex(size, size):
            color = "white" if totals[a, b] > 15 else "black"
            ax.text(b, a, f"{totals[a, b]:.3g}", ha="center", va="center", color=color)
        ax.set_xticks(range(size), [f"+{k}" for k in range(size)])
        ax.set_yticks(range(size), [f"-{k}" for k in range(size)])
        ax.set(title=title, xlabel="mines given up")
    axes[0].set_ylabel("rocks given up")
    figure.colorbar(image, ax=axes, label="test errors of 104", shrink=0.8)


# --- Figure 18.13 ---


def _sweep_units(settings: Settings) -> list[Row]:
    runs = range(settings.splits)
    return [
        row
        for features, sigmas in (QUICK_SIGMAS if settings.quick else SIGMAS).items()
        for row in grid(features=[features], run=runs, sigma=map(float, sigmas))
    ]


def _sweep_measure(unit: Row, settings: Settings) -> Row:
    sigma, features = unit["sigma"], unit["features"]
    here = problem(sigma, features)
    key = round(1000 * sigma), unit["run"], list(SIGMAS).index(features)
    seeds = settings.seed_of(*key), settings.seed_of(*key, 1)
    size, flights = _size(settings), _flights(settings) // 4
    machines = {
        "svm": sets.MARGIN(),
        "svm_bare": sets.MARGIN(fit_intercept=False),
        "flipper": _FLIPPER(N_max=_bounces(settings), random_state=seeds[0]),
    }
    totals = {name: float(sets.wrong(machine, *here).sum()) for name, machine in machines.items()}
    straight = _FLIPPER(N_max=flights, errors=np.ones((size, size)), random_state=seeds[1])
    errors = straight.fit(here.K, here.y).runs_[0].test_errors(here.K_test, here.y_test)
    straight.set_params(N_max=flights * BALLS // OUT, n_balls=1)
    layer = choose_layer(here.K, here.y, straight, ~np.isnan(errors))
    [flight] = machines["flipper"].runs_
    launches = int(flight.escapes.sum()) + BALLS
    return {
        **totals,
        "best_layer": np.nanmin(errors),
        "chosen_layer": errors[layer],
        "escapes": flight.escape_fraction,
        "bounces": int(flight.run.bounces.sum()) / launches,
        "path": BALLS * float(flight.run.length) / launches,
    }


def choose_layer(K: Any, y: Any, machine: BayesPointMachine, candidates: Any) -> tuple[int, int]:
    """Return the layer with the fewest errors on examples left out, ten at a time.

    Ties go to the layer with the fewest training errors. Only `candidates`, a table, that have a
    center in every run of the machine are considered.
    """
    m = len(y)
    errors = np.where(candidates, 0.0, np.inf)
    rng = np.random.default_rng(machine.random_state)
    machine.set_params(random_state=rng)  # other flights in every run
    order = rng.permutation(m)
    for out in order[: m - m % OUT].reshape(-1, OUT):
        known = np.setdiff1d(order, out)
        [table] = machine.fit(K[np.ix_(known, known)], y[known]).runs_
        wrong = table.test_errors(K[np.ix_(out, known)], y[out])
        errors += np.where(np.isnan(wrong), np.inf, wrong)
    a, b = min(np.ndindex(errors.shape), key=lambda layer: (errors[layer], sum(layer), layer))
    return a, b


class Sweep:
    """The sweep over the length scale, for one preprocessing of the features."""

    def __init__(self, rows: Rows, features: str) -> None:
        self.rows = rows.where(features=features)
        self.cells = self.rows.by("sigma")
        self.sigmas = np.array(list(self.cells))

    def means(self, name: str) -> Any:
        """Return the mean over the runs of a column, for each length scale."""
        return np.array([cell.mean(name).value for cell in self.cells.values()])

    @property
    def closing(self) -> float:
        """The largest length scale up to which at least half as many flights escape as at most."""
        share = self.means("escapes")
        return float(self.sigmas[share >= share.max() / 2].max())

    def best(self, name: str) -> Any:
        """Return the length scales with the fewest errors of a method."""
        means = self.means(name)
        return self.sigmas[means == means.min()]

    def width(self, name: str) -> float:
        """Return the ratio of the ends of the longest range of length scales with good results.

        Good is within `NEAR` errors of the fewest of all methods with the threshold, on straight
        lines between the means over a logarithmic axis.
        """
        least = min(self.means(curve).min() for curve in _SHOWN)
        scales = np.geomspace(self.sigmas[0], self.sigmas[-1], 2001)
        errors = np.interp(np.log(scales), np.log(self.sigmas), self.means(name))
        ratio, first = 1.0, None
        for sigma, is_good in zip(scales, errors <= least + NEAR, strict=True):
            first = (sigma if first is None else first) if is_good else None
            ratio = max(ratio, sigma / first) if first is not None else ratio
        return float(ratio)


def _both(values: Iterable[float]) -> str:
    """Return the values for standardized and for raw features."""
    return " and ".join(f"{value:.3g}" for value in values)


def _listed(values: Any) -> str:
    return ", ".join(f"{value:g}" for value in values)


def _sweep_report(rows: Rows, settings: Settings) -> Report:
    sweeps = {features: Sweep(rows, features) for features in SIGMAS}
    tables, closings = [], dict[str, float]()
    titles = " | ".join(CURVES[name][0] for name in _SHOWN)
    for features, sweep in sweeps.items():
        lines = []
        for sigma, cell in sweep.cells.items():
            # The maximal margin does not depend on the seed.
            margin, *means = (cell.mean(name) for name in _SHOWN)
            share = cell["escapes"].mean()
            lines.append([f"{sigma:g}", f"{margin.value:.1f}", *(f"{mean:.1f}" for mean in means),
                          f"{share:.5f}"])  # fmt: skip
        known = {"features": features, "splits": settings.splits}
        tables.append(_FIGURE.table("sweep", lines, curves=titles, **known))
        late = sweep.sigmas >= sweep.closing
        if late.sum() > 1:
            bounces = sweep.means("bounces")[late]
            closings[features] = np.polyfit(np.log(sweep.sigmas[late]), np.log(bounces), 1)[0]
    claims = []
    never = [(row["features"], row["sigma"]) for row in rows if row["best_layer"] > row["svm"]]
    claims.append(
        _FIGURE.claim(
            "never-worse",
            not never,
            general=True,
            count=len(rows) - len(never),
            n=len(rows),
            exceptions="".join(f"; not at σ = {sigma:g}, {features}" for features, sigma in never),
        )
    )
    margins = [sweep.width("svm") for sweep in sweeps.values()]
    stable, before = {}, {}
    for name, text in (
        ("best_layer", "best layer"),
        ("chosen_layer", "layer chosen by leaving ten out, as the paper proposes"),
    ):
        widths = [sweep.width(name) for sweep in sweeps.values()]
        wider = (wide >= 2 and wide > one for wide, one in zip(widths, margins, strict=True))
        stable[f"{text} ({_both(widths)})"] = all(wider)
    for name, text in (("flipper", "flipper"), ("best_layer", "onion's best layer")):
        best = [sweep.best(name) for sweep in sweeps.values()]
        near = (
            ((of >= sweep.closing / 2) & (of <= sweep.closing)).all()
            for of, sweep in zip(best, sweeps.values(), strict=True)
        )
        before[f"{text} ({' and '.join(map(_listed, best))})"] = all(near)
    closed = _both(sweep.closing for sweep in sweeps.values())
    claims += [
        *_FIGURE.claims("stable", stable, general=True, near=NEAR, margins=_both(margins)),
        *_FIGURE.claims("just-before", before, general=True, closed=closed),
    ]
    texts, close = [], []
    for features, sweep in sweeps.items():
        first, *_, last = (cell.mean("escapes") for cell in sweep.cells.values())
        texts.append(f"{features}: from {first:.5f} to {last:.5f}")
        close.append(first.minus(Mean(2 * last.value, 2 * last.error)).above())
    claims.append(_FIGURE.claim("closes", every(close), falls="; ".join(texts)))
    powers = _both(closings.values())
    grows_fast = bool(closings) and min(closings.values()) >= FAST
    claims.append(_FIGURE.claim("diverges", grows_fast, powers=powers or "?", fast=FAST))
    bare = "; ".join(f"{f}: {s.means('svm_bare').min():.3g} at σ = {_listed(s.best('svm_bare'))}"
                     for f, s in sweeps.items())  # fmt: skip
    path = max(sweep.means("path").max() for sweep in sweeps.values())
    remarks = [_FIGURE.fill("gradual", path=path), _FIGURE.fill("threshold", bare=bare)]
    return Report(tables, claims, remarks)


def _sweep_draw(rows: Rows, settings: Settings, figure: Any) -> None:
    axes = figure.subplots(1, 3)
    sweeps = {features: Sweep(rows, features) for features in SIGMAS}
    for ax, (features, sweep) in zip(axes, sweeps.items(), strict=False):
        # The first ones broad, so that curves with the same values are seen below each other.
        for width, (name, (title, color, style)) in zip((6, 3.5, 1.2, 1.2, 1.2), CURVES.items(),
                                                        strict=True):  # fmt: skip
            curve(ax, sweep.rows, "sigma", name, fmt=style, color=color, markersize=3 + width,
                  capsize=2, linewidth=width, elinewidth=1.2, label=title)  # fmt: skip
        ax.axvline(sweep.closing, color="gray", linewidth=0.8, label="half closed")
        ax.axvline(SIGMA, color="black", linestyle="dotted", label=f"Table 18.1, σ = {SIGMA}")
        ticks = [4, 5, 7, 10, 15, 20, 30, 40, 60]
        ax.set(xlabel="σ", xscale="log", yscale="log", title=f"{features} features")
        only_ticks(ax.yaxis, ticks)
    axes[0].set_ylabel("test errors of 104, mean ± standard error")
    for (features, sweep), style, color in zip(
        sweeps.items(), ("o-", "s--"), ("#0072B2", "#D55E00"), strict=True
    ):
        curve(axes[2], sweep.rows, "sigma", "escapes", fmt=style, color=color, markersize=4,
              capsize=2, label=f"{features} features")  # fmt: skip
    axes[2].set(xlabel="σ", xscale="log", yscale="log", ylabel="share of flights that escape",
                title="the flipper closes")  # fmt: skip
    axes[2].legend(frameon=False, loc="lower left")
    legend_below(figure, [axes[0]], 4)
    _label_sigmas(axes)
    only_ticks(axes[2].yaxis, (0.0005, 0.001, 0.002, 0.005, 0.01, 0.02))


def _label_sigmas(axes: Any) -> None:
    """Label the powers of two, or of four, of logarithmic axes of length scales."""
    for ax in axes:
        low, high = ax.get_xlim()
        step = 2 if high / low > 256 else 1
        only_ticks(ax.xaxis, (2.0**k for k in range(-4, 8, step) if low <= 2.0**k <= high))


# --- Section 18.5.2 ---


def _trap_measure(unit: Row, settings: Settings) -> Row:
    here = problem(unit["sigma"], unit["features"])
    seed = settings.seed_of(round(1000 * unit["sigma"]), unit["run"])
    found = light_trap(here.space, random_state=seed)
    return {
        "start": found.errors[0],
        "end": found.errors[-1],
        "largest_step": np.diff(found.errors).min(initial=0),
        "bounces": found.bounces[-1],
        "caught": found.caught,
    }


def _trap_report(rows: Rows, settings: Settings) -> Report:
    tables = []
    for features in SIGMAS:
        lines = []
        for sigma, of_sigma in rows.where(features=features).by("sigma").items():
            trapped = of_sigma.where(caught=True)
            if not of_sigma["start"][0]:
                continue
            bounces = f"{np.median(trapped['bounces']):.0f}" if len(trapped) else ""
            lines.append([f"{sigma:g}", f"{of_sigma['start'][0]}",
                          f"{len(trapped)}", bounces])  # fmt: skip
        tables.append(_TRAP.table("flights", lines, features=features, splits=settings.splits))
    start, caught = rows["start"], rows["caught"].sum()
    near = (rows["features"] == "standardized") & (rows["sigma"] <= SIGMA)
    claims = [
        _TRAP.claim("one", (rows["largest_step"] >= -1).all()),
        *(
            _TRAP.claim("few", most <= FEW, where=where, most=most, limit=FEW)
            for where, most in (
                (f"standardized features and σ up to {SIGMA}, as in Table 18.1", start[near].max()),
                ("larger σ or raw features", start[~near].max()),
            )
        ),
    ]
    remarks = [_TRAP.fill("trapped", caught=caught, n=len(rows), end=rows["end"].max())]
    return Report(tables, claims, remarks)


def _trap_draw(rows: Rows, settings: Settings, figure: Any) -> None:
    left, right = figure.subplots(1, 2)
    for features, style, color in zip(SIGMAS, ("o-", "s--"), ("#0072B2", "#D55E00"), strict=True):
        chosen = rows.where(features=features)
        cells = chosen.by("sigma")
        starts = [cell["start"][0] for cell in cells.values()]
        left.plot(list(cells), starts, style, color=color, label=f"{features} features")
        caught = Rows([row for row in chosen if row["caught"] and row["bounces"]])
        right.plot(caught["sigma"], caught["bounces"], style[0], color=color,
                   markersize=4, alpha=0.6, label=f"{features} features")  # fmt: skip
        for sigma, lost in chosen.where(caught=False).by("sigma").items():
            right.plot(sigma, GIVEN_UP, "^", color=color, markerfacecolor="none",
                       label="not trapped at the limit, and how many")  # fmt: skip
            right.annotate(f"{len(lost)}", (sigma, GIVEN_UP), xytext=(0, 5),
                           textcoords="offset points", ha="center")  # fmt: skip
    left.set(xlabel="σ", xscale="log", ylabel="training errors at the class means, of 104")
    right.set(xlabel="σ", xscale="log", yscale="log", ylabel="bounces until trapped",
              ylim=(None, 3 * GIVEN_UP))  # fmt: skip
    _label_sigmas((left, right))
    legend_below(figure, [right], 3, last="not")


_FIGURE = Text.of("kernel-billiard", "figure-18-13", balls=BALLS, bounces=BOUNCES,
                  flights=BOUNCES // BALLS // 4)  # fmt: skip
_TABLE = Text.of("kernel-billiard", "table-18-1", balls=BALLS, flights=BOUNCES // BALLS)
_TRAP = Text.of("kernel-billiard", "light-trap")

EXPERIMENTS = (
    Experiment(_FIGURE, _sweep_report, _sweep_draw, _sweep_units, _sweep_measure, splits=3,
               quick_splits=1, size=(13.0, 5.6)),
    Experiment(_TABLE, _table_report, _table_draw, _table_units, _table_measure, splits=6,
               quick_splits=1, size=(14.0, 4.2)),
    Experiment(_TRAP, _trap_report, _trap_draw, _sweep_units, _trap_measure, splits=10,
               quick_splits=2),
)  # fmt: skip
