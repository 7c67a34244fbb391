"""Convergence of the center with each dynamics, compared with Hoeffding's inequality."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
from scipy import stats

from bayespoint import VersionSpace
from bayespoint.datasets import make_teacher
from bayespoint.papers import bounds
from bayespoint.papers.displays import sphere
from bayespoint.papers.experiments import sets
from bayespoint.papers.experiments.billiards import fly
from bayespoint.papers.experiments.drawing import legend_below
from bayespoint.papers.experiments.framework import (
    SPLITS,
    Experiment,
    Report,
    Settings,
    Text,
    units_of,
)
from bayespoint.papers.experiments.rows import Mean, Row, Rows
from bayespoint.papers.experiments.toy import corners, cube

DYNAMICS: dict[str, tuple[str, str]] = {
    "geodesic": ("geodesic, refresh chosen", "#0072B2"),
    "bare": ("geodesic, no refresh", "#56B4E9"),
    "chord": ("chord (Herbrich et al.)", "#D55E00"),
    "flipper": ("flipper (Ruján and Marchand)", "#009E73"),
}
MARKERS = dict(zip(DYNAMICS, "osD^", strict=True))
BOUNCES = (300, 1_000, 3_000, 10_000, 30_000, 100_000, 300_000)
QUICK_BOUNCES = (300, 10_000)
PROBLEMS = {
    "polygon": "polygon, 10 planes in 3 dimensions, exact center",
    "teacher": "teacher, 100 examples in 20 dimensions, long run as center",
}
SPACES = {"polygon": 3, "teacher": 20}
"""Dimensions."""
LONG, QUICK_LONG = 0.0004, 0.02
BIASED = 0.001
"""Level of the test for a bias."""


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


_units = units_of(
    {"asked": QUICK_BOUNCES}, run=SPLITS, problem=PROBLEMS, dynamics=DYNAMICS, asked=BOUNCES
)


def _measure(unit: Row, settings: Settings) -> Row:
    seed = settings.seed_of(unit["run"])
    tol = QUICK_LONG if settings.quick else LONG
    space, X, exact, reference_error = _problem(unit["problem"], seed, tol)
    away = [_deviation(space, X, exact, unit, settings, run) for run in (0, 1)]
    return {
        "angle": np.arctan(np.linalg.norm(away[0])),
        # The error of the reference is common to both runs.
        "product": float(away[0] @ away[1]) - reference_error**2,
        "reference_error": reference_error,
    }


def _deviation(
    space: VersionSpace, X: Any, exact: Any, unit: Row, settings: Settings, run: int
) -> Any:
    """Return the deviation of a run's center from the exact one, in its tangent plane."""
    seed, bounces = settings.seed_of(unit["run"], unit["asked"], run), unit["asked"]
    if unit["dynamics"] in ("chord", "flipper"):
        machine = sets.BILLIARD(motion=unit["dynamics"], N_max=bounces, random_state=seed)
        found = machine.fit(space.gram, space.y).runs_[0].run
    else:
        refresh = "auto" if unit["dynamics"] == "geodesic" else None
        found = fly(space, bounces, seed, balls=1, refresh=refresh)
    center = found.center @ X
    return center / (center @ exact) - exact


def _report(rows: Rows, settings: Settings) -> Report:
    tables = []
    rates, slower, unbiased, biased = {}, {}, {}, {}
    most = rows["asked"].max()
    for problem, title in PROBLEMS.items():
        lines = []
        for bounces, of_length in rows.where(problem=problem).by("asked").items():
            errors = {key: of_length.where(dynamics=key)["angle"] for key in DYNAMICS}
            asked = bounds.hoeffding_samples(SPACES[problem], _rms(errors["geodesic"]))
            cells = [f"{np.median(away):.4f} ({_rms(away):.4f})" for away in errors.values()]
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
        rate = _exponent(rows.where(problem=problem, dynamics="geodesic"))
        rates[f"{problem} {rate}"] = rate.above(-0.5) is not True
        slower[problem] = all(float(line[-1]) > float(line[0]) for line in lines)
    lines = []
    for problem in PROBLEMS:
        for dynamics, (label, _) in DYNAMICS.items():
            chosen = rows.where(problem=problem, dynamics=dynamics, asked=most)
            products, squares = chosen["product"], chosen["angle"] ** 2
            mean = chosen.mean("product").value
            p = _bias_p_value(products)
            name = f"{problem}, {label}"
            if dynamics in ("chord", "flipper"):
                biased[name] = (p < BIASED) or None
            else:
                unbiased[name] = p >= BIASED
            lines.append(
                [problem, label, f"{np.sqrt(squares.mean()):.4f}",
                 f"{np.sqrt(max(0.0, mean)):.4f}", f"{mean / squares.mean():.2f}",
                 f"{(products > 0).sum()}", f"{p:.2g}"]
            )  # fmt: skip
    tables.append(_TEXT.table("biases", lines, most=most, splits=settings.splits))
    claims = [
        *_TEXT.claims("rate", rates, general=True),
        *_TEXT.claims("hoeffding", slower),
        *_TEXT.claims("unbiased", unbiased, general=True, most=most, level=BIASED),
        *_TEXT.claims("biased", biased, most=most, level=BIASED),
    ]
    remarks = [
        _TEXT.fill("draws", reference_error=rows["reference_error"].max()),
        _TEXT.fill("twice"),
        _TEXT.fill("slow"),
    ]
    return Report(tables, claims, remarks)


def _rms(values: Any) -> float:
    return float(np.sqrt(np.mean(values**2)))


def _bias_p_value(products: Any) -> float:
    """Return the p-value of the test that two runs deviate in the same direction."""
    return float(stats.wilcoxon(products, alternative="greater").pvalue)


def _exponent(rows: Rows) -> Mean:
    """Return the exponent of the error as a power of the bounces, and its standard error.

    Least squares of the logarithms, with one exponent for all problems and one factor for each:
    some version spaces are so thin that all dynamics are slow in them.
    """
    runs = rows["run"]
    x, y = np.log(rows["asked"]), np.log(rows["angle"])
    for run in np.unique(runs):
        here = runs == run
        x[here] -= x[here].mean()
        y[here] -= y[here].mean()
    exponent = x @ y / (x @ x)
    freedom = max(1, len(y) - len(np.unique(runs)) - 1)
    rest = y - exponent * x
    return Mean(exponent, float(np.sqrt(rest @ rest / freedom / (x @ x))))


def _draw(rows: Rows, settings: Settings, figure: Any) -> None:
    for ax, (problem, title) in zip(figure.subplots(1, 2), PROBLEMS.items(), strict=True):
        of_problem = rows.where(problem=problem)
        bounces, medians = np.unique(of_problem["asked"]), {}
        for dynamics, (label, color) in DYNAMICS.items():
            groups = of_problem.where(dynamics=dynamics).by("asked").values()
            medians[dynamics] = [np.median(group["angle"]) for group in groups]
            ax.loglog(bounces, medians[dynamics], f"{MARKERS[dynamics]}-",
                      color=color, label=label, markersize=5)  # fmt: skip
            means = [_rms(group["angle"]) for group in groups]
            ax.loglog(bounces, means, "--", color=color, linewidth=1)
        ax.loglog([], [], "--", color="gray", linewidth=1, label="the same, root mean square")
        start = medians["geodesic"][0]
        ax.loglog(bounces, start * np.sqrt(bounces[0] / bounces), ":", color="gray",
                  label="bounces$^{-1/2}$")  # fmt: skip
        # Error of the mean of as many independent draws, by Lemma 18.1.
        n = SPACES[problem]
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
