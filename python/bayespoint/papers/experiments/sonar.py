"""Table 18.1 and Figure 18.13 of Ruján and Marchand: sonar, split by aspect angle."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from bayespoint import VersionSpace, kernels
from bayespoint.papers.data import load_sonar_split
from bayespoint.papers.dynamics import Flight, Flipper
from bayespoint.papers.experiments import sets
from bayespoint.papers.experiments.billiards import fly_straight
from bayespoint.papers.experiments.drawing import legend_below, only_ticks
from bayespoint.papers.experiments.flipper_onion import flipper_onion
from bayespoint.papers.experiments.framework import Experiment, Report, Row, Settings, Table, Text
from bayespoint.papers.experiments.rows import column, mean_and_error, plus_minus, select
from bayespoint.papers.light_trap import light_trap
from bayespoint.papers.onion import onion

SIGMA = 4.4
THRESHOLD = 1.0
"""Added to all kernel values: the last coordinate of (Φ, 1) in Eqs. 18.18 to 18.26."""
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
BALLS, OUT = 4, 10
NEAR = 3.0
"""Errors within which results are good: the standard deviation of a count of about 8."""
FAST = 2.0
"""Power of σ from which the growth of a path is called a divergence."""
BOUNCES, QUICK_BOUNCES = 100_000, 2_000
GIVEN_UP = 1000 * 104
"""Arrivals at walls after which the package gives up the light trap."""


class Sonar(NamedTuple):
    """The sonar problem for one kernel."""

    space: VersionSpace
    """Version space of the training examples."""

    gram: Any
    """(104, 104) Kernel values of the training examples, with the threshold."""

    y: Any
    """(104,) Their labels."""

    K_test: Any
    """(104, 104) Kernel values of test and training examples, with the threshold."""

    y_test: Any
    """(104,) Labels of the test examples."""

    def errors(self, dual_coef: Any) -> Any:
        """Return errors on negative and on positive test examples, (..., 2); NaN for NaN."""
        values = dual_coef @ self.K_test.T
        wrong = (values > 0) != (self.y_test > 0)
        counts = np.stack([wrong[..., self.y_test < 0].sum(axis=-1),
                           wrong[..., self.y_test > 0].sum(axis=-1)], axis=-1)  # fmt: skip
        return np.where(np.isnan(values).any(axis=-1)[..., None], np.nan, counts)

    def total(self, dual_coef: Any) -> float:
        """Return the errors on all test examples."""
        return float(self.errors(dual_coef).sum())


def problem(sigma: float, features: str = "standardized", threshold: float = THRESHOLD) -> Sonar:
    """Return the sonar problem for one kernel."""
    X, X_test, y, y_test = load_sonar_split()
    if features == "standardized":
        X, X_test = sets.standardize(X, X_test)
    kernel = kernels.RBF(sigma)
    gram = kernel(X, X)
    space = VersionSpace(gram, y, offset=threshold)
    return Sonar(space, gram + threshold, y, kernel(X_test, X) + threshold, y_test)


def _flights(settings: Settings) -> int:
    """Return the flights of each of the balls of a straight-ray onion."""
    return (QUICK_BOUNCES if settings.quick else BOUNCES) // BALLS


def _size(settings: Settings) -> int:
    return 3 if settings.quick else 6


def _flipper(of: Sonar, settings: Settings, seed: int) -> Flight:
    bounces = QUICK_BOUNCES if settings.quick else BOUNCES
    return fly_straight(of.space, Flipper(), bounces, seed, balls=BALLS)


# --- Table 18.1 ---


def _table_units(settings: Settings) -> Iterator[Row]:
    for run in range(settings.splits):
        yield {"run": run}


def _table_measure(unit: Row, settings: Settings) -> Row:
    here = problem(SIGMA)
    seed = settings.seed_of(unit["run"])
    size = _size(settings)
    margin = here.space.max_margin().dual_coef
    straight = flipper_onion(
        here.gram,
        here.y,
        np.tile(margin, (BALLS, 1)),
        _flights(settings),
        np.random.default_rng(seed),
        size=size,
    )
    tables = {"straight": straight.merged()}
    flipper = _flipper(here, settings, seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # "center_error" records it
        for method in ("projected", "exact"):
            table = onion(
                here.space,
                (size - 1, size - 1),
                method=method,
                tol=0.2 if settings.quick else 0.05,
                max_length=200.0 if settings.quick else 5e3,
                random_state=seed,
            )
            tables[method] = table.centers
    found: Row = {
        "svm": here.total(margin),
        "flipper": here.total(flipper.run.center),
        "center_error": float(np.nanmax(table.center_error)),
    }
    for method, centers in tables.items():
        errors = here.errors(centers)
        for a, b in np.ndindex(size, size):
            for k, name in enumerate(("neg", "pos")):
                found[f"{method}_{name}_{a}_{b}"] = float(errors[a, b, k])
    return found


def _means(rows: list[Row], method: str, size: int) -> Any:
    """Return the mean errors, of shape (size, size, 2)."""
    grid = [
        [float(column(rows, f"{method}_{name}_{a}_{b}").mean()) for name in ("neg", "pos")]
        for a, b in np.ndindex(size, size)
    ]
    return np.reshape(grid, (size, size, 2))


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
    lines = [["paper", f"{printed[0, 0].sum():.3g}", "", "", _best(printed), ""]]
    grids, distances = {}, {}
    for method, title in METHODS.items():
        grid = grids[method] = _means(rows, method, size)
        tables.append(_grid(f"The same, {title}, means of {settings.splits} runs", grid))
        off = grid.sum(axis=2) - printed.sum(axis=2)
        likeness = np.corrcoef(grid.sum(axis=2).ravel(), printed.sum(axis=2).ravel())[0, 1]
        distances[method] = float(np.sqrt(np.mean(off**2)))
        errors = [
            mean_and_error(sum(column(rows, f"{method}_{name}_{a}_{b}") for name in ("neg", "pos")))
            for a, b in np.ndindex(size, size)
        ]
        lines.append([title, plus_minus(*errors[0]), f"{distances[method]:.2f}",
                      f"{likeness:.2f}", _best(grid),
                      f"{max(error for _, error in errors):.2f}"])  # fmt: skip
    tables.append(_TABLE.table("agreement", lines))
    flipper, n = column(rows, "flipper"), len(rows)
    totals = grids["straight"].sum(axis=2)
    claims = [
        _TABLE.claim(
            "eight",
            2 * int((flipper == 8).sum()) > n,
            count=(flipper == 8).sum(),
            n=n,
            flipper=plus_minus(*mean_and_error(flipper)),
            svm=column(rows, "svm").mean(),
        ),
        _TABLE.claim(
            "layer",
            np.nanmin(totals) < totals[0, 0],
            best=_best(grids["straight"]),
            bayes_point=totals[0, 0],
        ),
        _TABLE.claim(
            "straight", min(distances, key=lambda method: distances[method]) == "straight"
        ),
    ]
    remarks = [_TABLE.fill("chosen", center_error=np.nanmax(column(rows, "center_error")))]
    return Report(tables, claims, remarks)


def _table_draw(rows: list[Row], settings: Settings, figure: Any) -> None:
    size = _size(settings)
    grids = {"paper": np.array(PRINTED, dtype=float)[:size, :size]}
    grids |= {title: _means(rows, method, size) for method, title in METHODS.items()}
    axes = figure.subplots(1, len(grids), sharey=True)
    for ax, (title, grid) in zip(axes, grids.items(), strict=True):
        totals = grid.sum(axis=2)
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


def _sweep_units(settings: Settings) -> Iterator[Row]:
    for features, sigmas in (QUICK_SIGMAS if settings.quick else SIGMAS).items():
        for run in range(settings.splits):
            for sigma in sigmas:
                yield {"features": features, "sigma": float(sigma), "run": run}


def _sweep_measure(unit: Row, settings: Settings) -> Row:
    sigma, features = unit["sigma"], unit["features"]
    here = problem(sigma, features)
    bare = problem(sigma, features, 0.0)
    key = round(1000 * sigma), unit["run"], list(SIGMAS).index(features)
    size, flights = _size(settings), _flights(settings) // 4
    margin = here.space.max_margin().dual_coef
    flipper = _flipper(here, settings, settings.seed_of(*key))
    starts = np.tile(margin, (BALLS, 1))
    rng = np.random.default_rng(settings.seed_of(*key, 1))
    straight = flipper_onion(here.gram, here.y, starts, flights, rng, size=size)
    errors = here.errors(straight.merged()).sum(axis=-1)
    layer = choose_layer(here, flights * BALLS // OUT, rng, ~np.isnan(errors))
    launches = int(flipper.escapes.sum()) + BALLS
    return {
        "svm": here.total(margin),
        "svm_bare": bare.total(bare.space.max_margin().dual_coef),
        "flipper": here.total(flipper.run.center),
        "best_layer": float(np.nanmin(errors)),
        "chosen_layer": float(errors[layer]),
        "layer": f"-{layer[0]} +{layer[1]}",
        "escapes": float(flipper.escape_fraction),
        "bounces": int(flipper.run.bounces.sum()) / launches,
        "path": BALLS * float(flipper.run.length) / launches,
    }


def choose_layer(
    of: Sonar, n_flights: int, rng: np.random.Generator, candidates: Any
) -> tuple[int, int]:
    """Return the layer with the fewest errors on examples left out, ten at a time.

    Ties go to the layer with the fewest training errors. Only `candidates`, a square table, that
    have a center in every run are considered.
    """
    m, size = len(of.y), len(candidates)
    left_out = rng.permutation(m)[: m - m % OUT].reshape(-1, OUT)
    known = np.ones((len(left_out), m), dtype=bool)
    np.put_along_axis(known, left_out, False, axis=1)
    starts = np.zeros(known.shape)
    for start, those in zip(starts, known, strict=True):
        space = VersionSpace(of.gram[np.ix_(those, those)], of.y[those])
        start[those] = space.max_margin().dual_coef
    straight = flipper_onion(of.gram, of.y, starts, n_flights, rng, size=size, known=known)
    errors = np.where(candidates, 0.0, np.inf)
    for centers, out in zip(straight.centers, left_out, strict=True):
        values = centers @ of.gram[:, out]
        wrong = ((values > 0) != (of.y[out] > 0)).sum(axis=-1)
        errors += np.where(np.isnan(values).any(axis=-1), np.inf, wrong)
    a, b = min(np.ndindex(size, size), key=lambda layer: (errors[layer], sum(layer), layer))
    return a, b


@dataclass(frozen=True)
class Sweep:
    """The means of the sweep over the length scale, for one preprocessing of the features."""

    sigmas: Any
    """(n,) Length scales, ascending."""

    means: dict[str, Any]
    """(n,) Mean over the runs of each column."""

    standard_errors: dict[str, Any]
    """(n,) Its standard errors."""

    @classmethod
    def of(cls, rows: list[Row], features: str) -> Sweep:
        """Return the means of the rows for one preprocessing."""
        chosen = select(rows, features=features)
        sigmas = sorted({row["sigma"] for row in chosen})
        found = {
            name: np.array(
                [mean_and_error(column(select(chosen, sigma=s), name)) for s in sigmas]
            ).T
            for name in (*CURVES, "escapes", "bounces", "path")
        }
        return cls(
            np.array(sigmas),
            {name: means for name, (means, _) in found.items()},
            {name: errors for name, (_, errors) in found.items()},
        )

    @property
    def closing(self) -> float:
        """The largest length scale up to which at least half as many flights escape as at most."""
        share = self.means["escapes"]
        return float(self.sigmas[share >= share.max() / 2].max())

    def best(self, name: str) -> Any:
        """Return the length scales with the fewest errors of a method."""
        return self.sigmas[self.means[name] == self.means[name].min()]

    def width(self, name: str) -> float:
        """Return the ratio of the ends of the longest range of length scales with good results.

        Good is within `NEAR` errors of the fewest of all methods with the threshold, on straight
        lines between the means over a logarithmic axis.
        """
        least = min(self.means[each].min() for each in CURVES if each != "svm_bare")
        grid = np.geomspace(self.sigmas[0], self.sigmas[-1], 2001)
        errors = np.interp(np.log(grid), np.log(self.sigmas), self.means[name])
        ratio, first = 1.0, None
        for sigma, is_good in zip(grid, errors <= least + NEAR, strict=True):
            first = (sigma if first is None else first) if is_good else None
            ratio = max(ratio, sigma / first) if first is not None else ratio
        return float(ratio)


def _listed(values: Any) -> str:
    return ", ".join(f"{value:g}" for value in values)


def _sweep_report(rows: list[Row], settings: Settings) -> Report:
    sweeps = {features: Sweep.of(rows, features) for features in SIGMAS}
    tables, closings = [], dict[str, float]()
    for features, sweep in sweeps.items():
        lines = []
        for k, sigma in enumerate(sweep.sigmas):
            # The maximal margin does not depend on the seed.
            cells = [
                plus_minus(
                    sweep.means[c][k],
                    np.nan if c.startswith("svm") else sweep.standard_errors[c][k],
                    1,
                )
                for c in CURVES
            ]
            lines.append(
                [f"{sigma:g}", *cells,
                 plus_minus(sweep.means["escapes"][k], sweep.standard_errors["escapes"][k], 5),
                 f"{sweep.means['bounces'][k]:.0f}", f"{sweep.means['path'][k]:.2f}"]
            )  # fmt: skip
        tables.append(
            _FIGURE.table(
                "sweep",
                lines,
                features=features,
                splits=settings.splits,
                curves=" | ".join(title for title, *_ in CURVES.values()),
            )
        )
        late = sweep.sigmas >= sweep.closing
        if late.sum() > 1:
            power = np.polyfit(np.log(sweep.sigmas[late]), np.log(sweep.means["bounces"][late]), 1)
            closings[features] = float(power[0])
    claims = []
    never = [(row["features"], row["sigma"]) for row in rows if row["best_layer"] > row["svm"]]
    claims.append(
        _FIGURE.claim(
            "never-worse",
            not never,
            count=len(rows) - len(never),
            n=len(rows),
            exceptions="".join(
                (f"; not at σ = {sigma:g}, {features}" for features, sigma in never)
            ),
        )
    )
    for name, text in (
        ("best_layer", "the best layer"),
        ("chosen_layer", "the layer chosen by leaving ten out, as the paper proposes"),
    ):
        widths = {f: (s.width(name), s.width("svm")) for f, s in sweeps.items()}
        ranges = "; ".join(
            f"{features}: {wide:.3g}, maximal margin {narrow:.3g}"
            for features, (wide, narrow) in widths.items()
        )
        claims.append(
            _FIGURE.claim(
                "stable",
                all(wide >= 2 and wide > narrow for wide, narrow in widths.values()),
                text=text,
                near=NEAR,
                ranges=ranges,
            )
        )
    for name, text in (("flipper", "the flipper"), ("best_layer", "the onion's best layer")):
        found = {f: (s.best(name), s.closing) for f, s in sweeps.items()}
        places = "; ".join(
            f"{features}: fewest errors at σ = {_listed(best)}, half closed beyond {closing:g}"
            for features, (best, closing) in found.items()
        )
        claims.append(
            _FIGURE.claim(
                "just-before",
                all(
                    ((best >= closing / 2) & (best <= closing)).all()
                    for best, closing in found.values()
                ),
                text=text,
                places=places,
            )
        )
    shares = {
        f: [(s.means["escapes"][k], s.standard_errors["escapes"][k]) for k in (0, -1)]
        for f, s in sweeps.items()
    }
    falls = "; ".join(
        f"{features}: from {plus_minus(*first, 5)} to {plus_minus(*last, 5)} of the flights"
        for features, (first, last) in shares.items()
    )
    claims.append(
        _FIGURE.claim(
            "closes", all(2 * last[0] <= first[0] for first, last in shares.values()), falls=falls
        )
    )
    powers = " and ".join(f"{power:.1f} ({f} features)" for f, power in closings.items())
    grows_fast = bool(closings) and min(closings.values()) >= FAST
    claims.append(_FIGURE.claim("diverges", grows_fast, powers=powers or "?", fast=FAST))
    bare = "; ".join(f"{f}: {s.means['svm_bare'].min():.3g} at σ = {_listed(s.best('svm_bare'))}"
                     for f, s in sweeps.items())  # fmt: skip
    remarks = [
        _FIGURE.fill("numbers"),
        _FIGURE.fill("gradual"),
        _FIGURE.fill("threshold", bare=bare),
    ]
    return Report(tables, claims, remarks)


def _sweep_draw(rows: list[Row], settings: Settings, figure: Any) -> None:
    axes = figure.subplots(1, 3)
    sweeps = {features: Sweep.of(rows, features) for features in SIGMAS}
    for ax, (features, sweep) in zip(axes, sweeps.items(), strict=False):
        # The first ones broad, so that curves with the same values are seen below each other.
        for width, (name, (title, color, style)) in zip((6, 3.5, 1.2, 1.2, 1.2), CURVES.items(),
                                                        strict=True):  # fmt: skip
            ax.errorbar(sweep.sigmas, sweep.means[name], sweep.standard_errors[name], fmt=style,
                        color=color, markersize=3 + width, capsize=2, linewidth=width,
                        elinewidth=1.2, label=title)  # fmt: skip
        ax.axvline(sweep.closing, color="gray", linewidth=0.8, label="half closed")
        ax.axvline(SIGMA, color="black", linestyle="dotted", label=f"Table 18.1, σ = {SIGMA}")
        ticks = [4, 5, 7, 10, 15, 20, 30, 40, 60]
        ax.set(xlabel="σ", xscale="log", yscale="log", title=f"{features} features")
        only_ticks(ax.yaxis, ticks)
    axes[0].set_ylabel("test errors of 104, mean ± standard error")
    for (features, sweep), style, color in zip(
        sweeps.items(), ("o-", "s--"), ("#0072B2", "#D55E00"), strict=True
    ):
        axes[2].errorbar(sweep.sigmas, sweep.means["escapes"], sweep.standard_errors["escapes"],
                         fmt=style, color=color, markersize=4, capsize=2,
                         label=f"{features} features")  # fmt: skip
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
        "start": int(found.errors[0]),
        "end": int(found.errors[-1]),
        "largest_step": int(np.diff(found.errors).min(initial=0)),
        "bounces": int(found.bounces[-1]),
        "caught": found.caught,
    }


def _trap_report(rows: list[Row], settings: Settings) -> Report:
    tables = []
    for features in SIGMAS:
        chosen = select(rows, features=features)
        lines = []
        for sigma in sorted({row["sigma"] for row in chosen}):
            of_sigma = select(chosen, sigma=sigma)
            trapped = select(of_sigma, caught=True)
            bounces = f"{np.median(column(trapped, 'bounces')):.0f}" if trapped else ""
            lines.append([f"{sigma:g}", f"{of_sigma[0]['start']}",
                          f"{len(trapped)} of {len(of_sigma)}", bounces])  # fmt: skip
        tables.append(_TRAP.table("flights", lines, features=features, splits=settings.splits))
    smaller = int(min(np.unique(load_sonar_split()[2], return_counts=True)[1]))
    start, caught = column(rows, "start"), int(column(rows, "caught").sum())
    claims = [
        _TRAP.claim("one", bool((column(rows, "largest_step") >= -1).all())),
        _TRAP.claim(
            "few",
            bool(start.max() < smaller and start.min() == 0),
            most=start.max(),
            smaller=smaller,
        ),
    ]
    remarks = [
        _TRAP.fill("trapped", caught=caught, n=len(rows), end=int(column(rows, "end").max()))
    ]
    return Report(tables, claims, remarks)


def _trap_draw(rows: list[Row], settings: Settings, figure: Any) -> None:
    left, right = figure.subplots(1, 2)
    for features, style, color in zip(SIGMAS, ("o-", "s--"), ("#0072B2", "#D55E00"), strict=True):
        chosen = select(rows, features=features)
        sigmas = sorted({row["sigma"] for row in chosen})
        starts = [select(chosen, sigma=sigma)[0]["start"] for sigma in sigmas]
        left.plot(sigmas, starts, style, color=color, label=f"{features} features")
        caught = [row for row in chosen if row["caught"] and row["bounces"]]
        right.plot(column(caught, "sigma"), column(caught, "bounces"), style[0], color=color,
                   markersize=4, alpha=0.6, label=f"{features} features")  # fmt: skip
        lost = [row["sigma"] for row in chosen if not row["caught"]]
        for sigma in sorted(set(lost)):
            right.plot(sigma, GIVEN_UP, "^", color=color, markerfacecolor="none",
                       label="not trapped at the limit, and how many")  # fmt: skip
            right.annotate(f"{lost.count(sigma)}", (sigma, GIVEN_UP), xytext=(0, 5),
                           textcoords="offset points", ha="center")  # fmt: skip
    left.set(xlabel="σ", xscale="log", ylabel="training errors at the class means, of 104")
    right.set(xlabel="σ", xscale="log", yscale="log", ylabel="bounces until trapped",
              ylim=(None, 3 * GIVEN_UP))  # fmt: skip
    _label_sigmas((left, right))
    legend_below(figure, [right], 3, last="not")


_SETUP = Text.of("kernel-billiard", "sonar").about

_FIGURE = Text.of("kernel-billiard", "figure-18-13", setup=_SETUP, balls=BALLS, bounces=BOUNCES,
                  flights=BOUNCES // BALLS // 4)  # fmt: skip
_TABLE = Text.of(
    "kernel-billiard", "table-18-1", setup=_SETUP, balls=BALLS, flights=BOUNCES // BALLS
)
_TRAP = Text.of("kernel-billiard", "light-trap", setup=_SETUP)

EXPERIMENTS = (
    Experiment(_FIGURE, _sweep_report, _sweep_draw, _sweep_units, _sweep_measure, splits=3,
               quick_splits=1, size=(13.0, 5.6)),
    Experiment(_TABLE, _table_report, _table_draw, _table_units, _table_measure, splits=6,
               quick_splits=1, size=(14.0, 4.2)),
    Experiment(_TRAP, _trap_report, _trap_draw, _sweep_units, _trap_measure, splits=10,
               quick_splits=2),
)  # fmt: skip
