"""Convergence of the center with each dynamics, compared with Hoeffding's inequality."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy import stats

from bayespoint import BilliardResult, VersionSpace
from bayespoint.datasets import make_teacher
from bayespoint.papers import bounds
from bayespoint.papers.displays import sphere
from bayespoint.papers.dynamics import Chord, Flipper
from bayespoint.papers.experiments.billiards import fly, fly_straight
from bayespoint.papers.experiments.drawing import legend_below
from bayespoint.papers.experiments.framework import Experiment, Report, Row, Settings, Text
from bayespoint.papers.experiments.rows import column, mean_and_error, select
from bayespoint.papers.experiments.toy import corners, cube

DYNAMICS: dict[str, tuple[str, str]] = {
    "geodesic": ("geodesic, refresh chosen", "#0072B2"),
    "bare": ("geodesic, no refresh", "#56B4E9"),
    "chord": ("chord (Herbrich et al.)", "#D55E00"),
    "flipper": ("flipper (Ruján and Marchand)", "#009E73"),
}
STRAIGHT: dict[str, Chord | Flipper] = {"chord": Chord(), "flipper": Flipper()}
MARKERS = dict(zip(DYNAMICS, "osD^", strict=True))
BOUNCES = (300, 1_000, 3_000, 10_000, 30_000, 100_000, 300_000)
QUICK_BOUNCES = (300, 10_000)
PROBLEMS = {
    "polygon": "polygon, 10 planes in 3 dimensions, exact center",
    "teacher": "teacher, 100 examples in 20 dimensions, long run as center",
}
LONG, QUICK_LONG = 0.0004, 0.02


@functools.lru_cache(maxsize=32)
def _problem(problem: str, seed: int, tol: float) -> tuple[VersionSpace, Any, Any, float]:
    """Return version space, inputs, the center of mass as a unit vector and its error."""
    if problem == "polygon":
        X, y, _, _ = cube(seed)
        return VersionSpace(X @ X.T, y), X, sphere.center_of_mass(corners(X, y)), 0.0
    X, y = make_teacher(100, 20, random_state=seed)
    space = VersionSpace(X @ X.T, y)
    found = space.sample(tol=tol, n_draws=1, random_state=seed)
    center = found.center @ X
    return space, X, center / np.linalg.norm(center), float(found.center_error)


def _bounces(settings: Settings) -> tuple[int, ...]:
    return QUICK_BOUNCES if settings.quick else BOUNCES


def _units(settings: Settings) -> Iterator[Row]:
    for run in range(settings.splits):
        for problem in PROBLEMS:
            for dynamics in DYNAMICS:
                for bounces in _bounces(settings):
                    yield {"problem": problem, "run": run, "dynamics": dynamics, "asked": bounces}


def _measure(unit: Row, settings: Settings) -> Row:
    seed = settings.seed_of(unit["run"])
    tol = QUICK_LONG if settings.quick else LONG
    space, X, exact, reference_error = _problem(unit["problem"], seed, tol)
    away, found, escapes = zip(
        *(_deviation(space, X, exact, unit, settings, run) for run in (0, 1)), strict=True
    )
    return {
        "angle": float(np.arctan(np.linalg.norm(away[0]))),
        # The error of the reference is common to both runs.
        "product": float(away[0] @ away[1]) - reference_error**2,
        "bounces": int(found[0].bounces.sum()),
        "escapes": escapes[0],
        "ess": float(found[0].ess),
        "reference_error": reference_error,
    }


def _deviation(
    space: VersionSpace, X: Any, exact: Any, unit: Row, settings: Settings, run: int
) -> tuple[Any, BilliardResult, float]:
    """Return the deviation of a run's center from the exact one, in its tangent plane.

    Also the run, and the share of its flights that escaped.
    """
    seed, bounces = settings.seed_of(unit["run"], unit["asked"], run), unit["asked"]
    if unit["dynamics"] in STRAIGHT:
        flight = fly_straight(space, STRAIGHT[unit["dynamics"]], bounces, seed, balls=1)
        found, escapes = flight.run, flight.escape_fraction if flight.escapes.any() else 0.0
    else:
        refresh = "auto" if unit["dynamics"] == "geodesic" else None
        found, escapes = fly(space, bounces, seed, balls=1, refresh=refresh), 0.0
    center = found.center @ X
    return center / (center @ exact) - exact, found, escapes


def _report(rows: list[Row], settings: Settings) -> Report:
    tables, claims = [], []
    most = _bounces(settings)[-1]
    for problem, title in PROBLEMS.items():
        lines = []
        for bounces in _bounces(settings):
            found = {key: _errors(rows, problem, key, bounces) for key in DYNAMICS}
            n = 3 if problem == "polygon" else 20
            asked = float(bounds.hoeffding_samples(n, _rms(found["geodesic"])))
            cells = [f"{np.median(each):.4f} ({_rms(each):.4f})" for each in found.values()]
            lines.append([f"{bounces}", *cells, f"{asked:.3g}"])
        tables.append(
            _TEXT.table(
                "angles",
                lines,
                title=title,
                splits=settings.splits,
                dynamics=" | ".join(text for text, _ in DYNAMICS.values()),
            )
        )
        exponent, spread = _exponent(select(rows, problem=problem, dynamics="geodesic"))
        claims.append(
            _TEXT.claim(
                "rate",
                exponent - 3 * spread <= -0.5,
                problem=problem,
                exponent=exponent,
                spread=spread,
            )
        )
        claims.append(
            _TEXT.claim(
                "hoeffding",
                all(float(line[-1]) > float(line[0]) for line in lines),
                problem=problem,
            )
        )
    lines = []
    for problem in PROBLEMS:
        for dynamics, (label, _) in DYNAMICS.items():
            chosen = select(rows, problem=problem, dynamics=dynamics, asked=most)
            products, squares = column(chosen, "product"), column(chosen, "angle") ** 2
            mean, error = mean_and_error(products)
            p = _bias_p_value(products)
            biased = dynamics in ("chord", "flipper")
            lines.append(
                [problem, label, f"{np.sqrt(squares.mean()):.4f}",
                 f"{np.sqrt(max(0.0, mean)):.4f}", f"{mean / squares.mean():.2f}",
                 f"{mean / error:.1f}", f"{(products > 0).sum()} of {len(products)}", f"{p:.2g}"]
            )  # fmt: skip
            claims.append(
                _TEXT.claim(
                    "bias",
                    bool((p < 0.001) == biased),
                    problem=problem,
                    label=label,
                    verdict="biased" if biased else "not visibly biased",
                    most=most,
                    p=p,
                )
            )
    tables.append(
        _TEXT.table("biases", lines, most=most)
    )  # fmt: skip
    remarks = [
        _TEXT.fill("draws", reference_error=column(rows, "reference_error").max()),
        _TEXT.fill("twice"),
        _TEXT.fill("slow"),
    ]
    return Report(tables, claims, remarks)


def _errors(rows: list[Row], problem: str, dynamics: str, bounces: int) -> Any:
    return column(select(rows, problem=problem, dynamics=dynamics, asked=bounces), "angle")


def _rms(values: Any) -> float:
    return float(np.sqrt(np.mean(values**2)))


def _bias_p_value(products: Any) -> float:
    """Return the p-value of the test that two runs deviate in the same direction."""
    return float(stats.wilcoxon(products, alternative="greater").pvalue)


def _exponent(rows: list[Row]) -> tuple[float, float]:
    """Return the exponent of the error as a power of the bounces, and its standard error.

    Least squares of the logarithms, with one exponent for all problems and one factor for each:
    some version spaces are so thin that all dynamics are slow in them.
    """
    runs = column(rows, "run")
    x, y = np.log(column(rows, "asked")), np.log(column(rows, "angle"))
    for run in np.unique(runs):
        here = runs == run
        x[here] -= x[here].mean()
        y[here] -= y[here].mean()
    exponent = float(x @ y / (x @ x))
    freedom = max(1, len(y) - len(np.unique(runs)) - 1)
    rest = y - exponent * x
    return exponent, float(np.sqrt(rest @ rest / freedom / (x @ x)))


def _draw(rows: list[Row], settings: Settings, figure: Any) -> None:
    for ax, (problem, title) in zip(figure.subplots(1, 2), PROBLEMS.items(), strict=True):
        bounces = np.array(_bounces(settings))
        for dynamics, (label, color) in DYNAMICS.items():
            found = [_errors(rows, problem, dynamics, n) for n in bounces]
            ax.loglog(bounces, [np.median(each) for each in found], f"{MARKERS[dynamics]}-",
                      color=color, label=label, markersize=5)  # fmt: skip
            ax.loglog(bounces, [_rms(each) for each in found], "--", color=color, linewidth=1)
        ax.loglog([], [], "--", color="gray", linewidth=1, label="the same, root mean square")
        start = np.median(_errors(rows, problem, "geodesic", bounces[0]))
        ax.loglog(bounces, start * np.sqrt(bounces[0] / bounces), ":", color="gray",
                  label="bounces$^{-1/2}$")  # fmt: skip
        # Error of the mean of as many independent draws, by Lemma 18.1.
        n = 3 if problem == "polygon" else 20
        allowed = np.sqrt(n * 4 / (2 * bounces) * np.log(2 * n / 0.05))
        ax.loglog(bounces, allowed, "-.", color="black", label="Hoeffding, as many draws")
        ax.set(xlabel="bounces", ylabel="error of the center, rad (medians)")
        ax.set_title(title, fontsize="medium")
    legend_below(figure, [ax], 4)


_TEXT = Text.of("beyond", "convergence")

EXPERIMENTS = (
    Experiment(_TEXT, _report, _draw, _units, _measure, splits=50, quick_splits=6,
               size=(11.0, 5.6)),
)  # fmt: skip
