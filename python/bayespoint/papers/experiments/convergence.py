"""Convergence of the center with each dynamics, compared with Hoeffding's inequality."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from bayespoint import SampleOptions, VersionSpace, bounds
from bayespoint.datasets import make_teacher
from bayespoint.papers.experiments.framework import (
    Claim,
    Experiment,
    Report,
    Row,
    Settings,
    Table,
    column,
    select,
)
from bayespoint.papers.experiments.toy import corners, cube
from bayespoint.plotting import sphere

DYNAMICS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "geodesic": ("geodesic, refresh chosen", "#0072B2", {}),
    "bare": ("geodesic, no refresh", "#56B4E9", {"refresh": None}),
    "chord": ("chord (Herbrich et al.)", "#D55E00", {"dynamics": "chord"}),
    "flipper": ("flipper (Ruján and Marchand)", "#009E73", {"dynamics": "flipper"}),
}
BOUNCES = (300, 1_000, 3_000, 10_000, 30_000, 100_000, 300_000)
QUICK_BOUNCES = (300, 10_000)
PROBLEMS = {
    "polygon": "spherical polygon, 10 planes in 3 dimensions, exact center",
    "teacher": "teacher, 100 examples in 20 dimensions, center of a long run",
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
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # some dynamics are biased
        found = space.sample(
            n_trajectories=1,
            n_draws=1,
            random_state=settings.seed_of(unit["run"], unit["asked"]),
            options=SampleOptions(max_bounces=unit["asked"], **DYNAMICS[unit["dynamics"]][2]),
        )
    center = found.center @ X
    cosine = center @ exact / np.linalg.norm(center)
    away = center / np.linalg.norm(center) - cosine * exact
    return {
        "angle": float(np.arctan2(np.linalg.norm(away), cosine)),
        "bounces": int(found.bounces.sum()),
        "escapes": float(found.escape_fraction) if found.escapes.any() else 0.0,
        "ess": float(found.ess),
        "reference_error": reference_error,
    }


def _report(rows: list[Row], settings: Settings) -> Report:
    tables, claims = [], []
    most = _bounces(settings)[-1]
    for problem, title in PROBLEMS.items():
        lines = []
        for bounces in _bounces(settings):
            cells = [f"{_rms(rows, problem, dynamics, bounces):.4f}" for dynamics in DYNAMICS]
            n = 3 if problem == "polygon" else 20
            geodesic = _rms(rows, problem, "geodesic", bounces)
            asked = float(bounds.hoeffding_samples(n, geodesic))
            lines.append([f"{bounces}", *cells, f"{asked:.3g}"])
        tables.append(
            Table(
                f"{title}: angle of the center to the exact one in radians, root mean "
                f"square of {settings.splits} problems, one ball",
                ["bounces", *(text for text, *_ in DYNAMICS.values()), "draws by Hoeffding"],
                lines,
            )
        )
        exponent, spread = _exponent(select(rows, problem=problem, dynamics="geodesic"))
        claims.append(
            Claim(
                f"{problem}: the geodesic billiard's error falls like bounces^-1/2 or faster "
                f"(fitted exponent {exponent:.2f} ± {spread:.2f}, 3 standard errors allowed)",
                exponent - 3 * spread <= -0.5,
            )
        )
        claims.append(
            Claim(
                f"{problem}: Hoeffding's inequality requires more draws than the billiard makes "
                "bounces",
                all(float(line[-1]) > float(line[0]) for line in lines),
            )
        )
    for dynamics in ("chord", "flipper"):
        bias = _rms(rows, "polygon", dynamics, most)
        geodesic = _rms(rows, "polygon", "geodesic", most)
        claims.append(
            Claim(
                f"the {dynamics} dynamics is biased: after {most} bounces in the polygons its "
                f"error is {bias:.4f} rad, that of the geodesic dynamics {geodesic:.4f}",
                bool(bias > geodesic),
            )
        )
    remarks = [
        "Draws by Hoeffding: the number of independent draws after which, by Lemma 18.1 of Ruján "
        "and Marchand, the error of their mean is at most that of the geodesic billiard with "
        "probability 0.95. The reference of the teacher problems has an "
        f"estimated error of {column(rows, 'reference_error').max():.4f} rad."
    ]
    return Report(tables, claims, remarks)


def _rms(rows: list[Row], problem: str, dynamics: str, bounces: int) -> float:
    chosen = select(rows, problem=problem, dynamics=dynamics, asked=bounces)
    return float(np.sqrt(np.mean(column(chosen, "angle") ** 2)))


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
        for dynamics, (label, color, _) in DYNAMICS.items():
            values = [_rms(rows, problem, dynamics, n) for n in bounces]
            ax.loglog(bounces, values, "o-", color=color, label=label, markersize=4)
        start = _rms(rows, problem, "geodesic", bounces[0])
        ax.loglog(bounces, start * np.sqrt(bounces[0] / bounces), ":", color="gray",
                  label="bounces^-1/2")  # fmt: skip
        # Error of the mean of as many independent draws, by Lemma 18.1.
        n = 3 if problem == "polygon" else 20
        allowed = np.sqrt(n * 4 / (2 * bounces) * np.log(2 * n / 0.05))
        ax.loglog(bounces, allowed, "--", color="black", label="Hoeffding, as many draws")
        ax.set(xlabel="bounces", ylabel="error of the center, rad")
        ax.set_title(title, fontsize="small")
        ax.legend(frameon=False, fontsize="small")


EXPERIMENTS = (
    Experiment(
        name="convergence",
        title="Convergence of the center, by dynamics",
        paper="beyond",
        about=(
            "The error of the center against the number of bounces, for the exact (geodesic) "
            "dynamics with and without a refresh and for the two dynamics of the papers, and the "
            "number of independent draws that Hoeffding's inequality requires (Ruján and Marchand, "
            "Eqs. 18.13 and 18.31)."
        ),
        units=_units,
        measure=_measure,
        report=_report,
        draw=_draw,
        splits=20,
        quick_splits=3,
        size=(11.0, 5.0),
    ),
)
