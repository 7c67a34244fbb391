"""Figures 18.11 and 18.12 of Ruján and Marchand: learning from a teacher."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy import stats

from bayespoint import VersionSpace
from bayespoint.datasets import make_teacher
from bayespoint.papers import learning_curves
from bayespoint.papers.experiments.drawing import legend_below, only_ticks
from bayespoint.papers.experiments.framework import Experiment, Report, Row, Settings, Text
from bayespoint.papers.experiments.rows import column, mean_and_error, plus_minus, select

DIMENSION = 100
ALPHAS = (0.5, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0)
QUICK_ALPHAS = (0.5, 3.0)
TOLERANCE = 0.05
"""Error of the center, in units of its theoretical angle to the teacher. It raises the error of
generalization by one part in 800."""
LEVEL = 0.01

RULES = {
    "bayes": ("Bayes point", learning_curves.bayes_error, "#0072B2", "o"),
    "max_margin": ("maximal margin", learning_curves.max_margin_error, "#D55E00", "s"),
    "gibbs": ("random student", learning_curves.gibbs_error, "#009E73", "^"),
    "adaline": ("Adaline", learning_curves.adaline_error, "#CC79A7", "D"),
}


def _alphas(settings: Settings) -> tuple[float, ...]:
    return QUICK_ALPHAS if settings.quick else ALPHAS


def _units(settings: Settings) -> Iterator[Row]:
    for run in range(settings.splits):
        for alpha in _alphas(settings):
            yield {"alpha": alpha, "run": run}


def _measure(unit: Row, settings: Settings) -> Row:
    alpha = unit["alpha"]
    seed = settings.seed_of(int(100 * alpha), unit["run"])
    X, y, teacher = make_teacher(
        round(alpha * DIMENSION), DIMENSION, return_teacher=True, random_state=seed
    )
    space = VersionSpace(X @ X.T, y)
    tol = TOLERANCE * np.pi * float(learning_curves.bayes_error(alpha))
    found = space.sample(tol=tol, n_draws=20, random_state=seed)
    # Another seed than that of the examples, whose first numbers are the teacher.
    rng = np.random.default_rng(settings.seed_of(int(100 * alpha), unit["run"], 1))
    draws = _completed(found.draws.reshape(-1, len(y)) @ X, X, rng)
    return {
        "bayes": _error(found.center @ X, teacher),
        "max_margin": _error(space.max_margin().dual_coef @ X, teacher),
        "gibbs": float(np.mean([_error(draw, teacher) for draw in draws])),
        "adaline": _error(np.linalg.lstsq(X, y, rcond=None)[0], teacher),
        "center_error": float(found.center_error),
        "bounces": int(found.bounces.sum()),
    }


def _completed(draws: Any, X: Any, rng: np.random.Generator) -> Any:
    """Return random students of the whole space, from unit vectors in the span of the examples.

    With fewer examples than dimensions, version space does not depend on the component orthogonal
    to the span. That component is normal, and the length of the other has the chi distribution.
    """
    m, dimension = X.shape
    if m >= dimension:
        return draws
    basis = np.linalg.qr(X.T)[0]
    across = rng.standard_normal((len(draws), dimension))
    across -= (across @ basis) @ basis.T
    return np.sqrt(rng.chisquare(m, (len(draws), 1))) * draws + across


def _error(w: Any, teacher: Any) -> float:
    """Return the probability that w errs on a Gaussian example: its angle over pi."""
    return float(np.arccos(np.clip(w @ teacher / np.linalg.norm(w), -1, 1)) / np.pi)


def _statistics(rows: list[Row], settings: Settings, rule: str) -> list[tuple[Any, ...]]:
    """Return alpha, theory, mean, its error and t for each alpha."""
    found = []
    for alpha in _alphas(settings):
        theory = float(RULES[rule][1](alpha))
        mean, error = mean_and_error(column(select(rows, alpha=alpha), rule))
        found.append((alpha, theory, mean, error, (mean - theory) / error))
    return found


def _limit(settings: Settings) -> float:
    """Return the |t| that the largest of all tests exceeds with the probability `LEVEL`."""
    share = LEVEL / 2 / len(_alphas(settings))
    return float(stats.t.isf(share, settings.splits - 1)) if settings.splits > 1 else np.nan


def _against_theory(rows: list[Row], settings: Settings) -> Report:
    tables, limit, off = [], _limit(settings), {}
    for rule, (title, *_) in RULES.items():
        found = _statistics(rows, settings, rule)
        off[rule] = [f"{alpha:g} (t = {t:.1f})" for alpha, *_, t in found if not abs(t) <= limit]
        lines = [
            [f"{alpha:g}", f"{theory:.4f}", plus_minus(mean, error, 4), f"{mean - theory:+.4f}",
             f"{t:+.1f}", f"{float(learning_curves.asymptote(alpha, rule)):.4f}"]
            for alpha, theory, mean, error, t in found
        ]  # fmt: skip
        tables.append(
            _FIGURE_11.table(
                "errors", lines, title=title, dimension=DIMENSION, splits=settings.splits
            )
        )
    claims = [
        _FIGURE_11.claim(
            "consistent",
            not off[rule],
            title=title,
            limit=limit,
            exceptions=f"; not at {', '.join(off[rule])}" if off[rule] else "",
        )
        for rule, (title, *_) in RULES.items()
        if rule != "adaline"
    ]
    remarks = [_FIGURE_11.fill("finite")]
    return Report(tables, claims, remarks)


def _against_margin(rows: list[Row], settings: Settings) -> Report:
    lines, below, worse = [], [], 0
    for alpha in _alphas(settings):
        of_alpha = select(rows, alpha=alpha)
        bayes, margin = (column(of_alpha, rule) for rule in ("bayes", "max_margin"))
        lost = int((margin > bayes).sum())
        worse += lost
        difference, error = mean_and_error(margin - bayes)
        if not difference > 0:
            below.append(f"{alpha:g}")
        theory = [float(RULES[rule][1](alpha)) for rule in ("bayes", "max_margin")]
        lines.append(
            [f"{alpha:g}", plus_minus(*mean_and_error(bayes), 4),
             plus_minus(*mean_and_error(margin), 4), plus_minus(difference, error, 4),
             f"{theory[1] - theory[0]:.4f}", f"{lost} of {len(of_alpha)}"]
        )  # fmt: skip
    table = _FIGURE_12.table("runs", lines, dimension=DIMENSION, splits=settings.splits)
    total = len(rows)
    claims = [
        _FIGURE_12.claim(
            "mean", not below, exceptions=f"; not at {', '.join(below)}" if below else ""
        ),
        _FIGURE_12.claim("single", worse == total, worse=worse, total=total, better=total - worse),
    ]
    return Report([table], claims)


def _points(ax: Any, rows: list[Row], settings: Settings, rule: str, *, right: bool) -> None:
    """Draw means with the standard deviation of a single run, of errors or of right answers."""
    title, _, color, marker = RULES[rule]
    alphas = _alphas(settings)
    values = [column(select(rows, alpha=alpha), rule) for alpha in alphas]
    means = np.array([float(of_alpha.mean()) for of_alpha in values])
    spread = [float(of_alpha.std(ddof=1)) if len(of_alpha) > 1 else 0.0 for of_alpha in values]
    ax.errorbar(
        alphas,
        1 - means if right else means,
        spread,
        fmt=marker,
        color=color,
        markersize=4,
        capsize=2.5,
        linewidth=1,
        label=f"{title}, runs (mean, standard deviation)",
    )


def _draw_theory(rows: list[Row], settings: Settings, figure: Any) -> None:
    axes = figure.subplots(1, 2)
    grid = np.geomspace(0.4, 11, 200)
    for rule, (title, theory, color, _) in RULES.items():
        axes[0].plot(grid, 1 - theory(grid), color=color, linewidth=1.2, label=f"{title}, theory")
        axes[1].plot(grid, theory(grid), color=color, linewidth=1.2)
        axes[1].plot(grid, learning_curves.asymptote(grid, rule), color=color, linestyle="dotted")
        for ax in axes:
            _points(ax, rows, settings, rule, right=ax is axes[0])
    axes[1].plot([], [], color="black", linestyle="dotted", label="asymptotes, on the right")
    axes[0].set(xlabel="α = m / D", ylabel="probability of a right answer", ylim=(0.5, 1))
    axes[1].set(xlabel="α = m / D", ylabel="error of generalization", xscale="log", yscale="log",
                ylim=(0.03, 0.6))  # fmt: skip
    only_ticks(axes[1].xaxis, (0.5, 1, 2, 3, 4, 6, 8, 10))
    only_ticks(axes[1].yaxis, (0.03, 0.05, 0.1, 0.2, 0.3, 0.5))
    legend_below(figure, figure.axes, 2, last="runs")


def _draw_margin(rows: list[Row], settings: Settings, figure: Any) -> None:
    axes = figure.subplots(1, 2)
    grid = np.linspace(0.4, 11, 200)
    for rule in ("bayes", "max_margin"):
        title, theory, color, _ = RULES[rule]
        axes[0].plot(grid, 1 - theory(grid), color=color, linewidth=1, label=f"{title}, theory")
        _points(axes[0], rows, settings, rule, right=True)
    axes[0].set(xlabel="α = m / D", ylabel="probability of a right answer")
    top = max(column(rows, "max_margin").max(), column(rows, "bayes").max())
    axes[1].plot([0, top], [0, top], color="black", linewidth=0.8, linestyle="dotted",
                 label="both equal, on the right")  # fmt: skip
    axes[1].plot(column(rows, "bayes"), column(rows, "max_margin"), ".", color="#0072B2")
    axes[1].set(xlabel="error of the Bayes point", ylabel="error of the maximal margin")
    axes[1].set_title("a dot for each run", fontsize="medium")
    legend_below(figure, figure.axes, 2, last="runs")


_SETUP = Text.of("kernel-billiard", "learning", dimension=DIMENSION).about

_FIGURE_11 = Text.of("kernel-billiard", "figure-18-11", setup=_SETUP)
_FIGURE_12 = Text.of("kernel-billiard", "figure-18-12", setup=_SETUP)

_Shared = functools.partial(
    Experiment, units=_units, measure=_measure, splits=40, quick_splits=6, rows="learning"
)
"""Experiments with the same units, whose rows are in one file."""

EXPERIMENTS = (
    _Shared(_FIGURE_11, _against_theory, _draw_theory, size=(10.0, 6.0)),
    _Shared(_FIGURE_12, _against_margin, _draw_margin, size=(10.0, 5.2)),
)
