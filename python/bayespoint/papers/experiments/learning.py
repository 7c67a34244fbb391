"""Figures 18.11 and 18.12 of Ruján and Marchand: learning from a teacher."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
from scipy import stats

from bayespoint import VersionSpace
from bayespoint.datasets import make_teacher
from bayespoint.papers import learning_curves
from bayespoint.papers.experiments.drawing import legend_below, only_ticks
from bayespoint.papers.experiments.framework import (
    SPLITS,
    Experiment,
    Report,
    Settings,
    Text,
    units_of,
)
from bayespoint.papers.experiments.rows import Mean, Row, Rows, every, mean_of
from bayespoint.papers.experiments.toy import risk

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


_units = units_of({"alpha": QUICK_ALPHAS}, run=SPLITS, alpha=ALPHAS)


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
        "bayes": risk(found.center @ X, teacher),
        "max_margin": risk(space.max_margin().dual_coef @ X, teacher),
        "gibbs": np.mean([risk(draw, teacher) for draw in draws]),
        "adaline": risk(np.linalg.lstsq(X, y, rcond=None)[0], teacher),
        "center_error": found.center_error,
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


def _limit(rows: Rows, settings: Settings) -> float:
    """Return the |t| that the largest of all tests exceeds with the probability `LEVEL`."""
    share = LEVEL / 2 / len(rows.by("alpha"))
    return float(stats.t.isf(share, settings.splits - 1)) if settings.splits > 1 else np.nan


def _against_theory(rows: Rows, settings: Settings) -> Report:
    agree, limit, cells = {}, _limit(rows, settings), rows.by("alpha")
    lines = {alpha: [f"{alpha:g}"] for alpha in cells}
    for rule, (title, curve, *_) in RULES.items():
        off = []
        for alpha, of_alpha in cells.items():
            theory, mean = curve(alpha), of_alpha.mean(rule)
            t = (mean.value - theory) / mean.error
            if not abs(t) <= limit:
                off.append(f"{alpha:g} (t = {t:.1f})")
            lines[alpha] += [f"{theory:.4f}", f"{mean:.4f} ({t:+.1f})"]
        if rule != "adaline":
            agree[f"{title}, not at {', '.join(off)}" if off else title] = not off
    titles = " | ".join(f"{title}, theory | {title}" for title, *_ in RULES.values())
    size = {"dimension": DIMENSION, "splits": settings.splits}
    table = _FIGURE_11.table("errors", lines.values(), rules=titles, **size)
    claims = _FIGURE_11.claims("consistent", agree, general=True, limit=limit)
    return Report([table], claims, [_FIGURE_11.fill("finite")])


def _against_margin(rows: Rows, settings: Settings) -> Report:
    lines, below, worse = [], [], 0
    gains: list[Mean] = []
    for alpha, of_alpha in rows.by("alpha").items():
        bayes, margin = of_alpha["bayes"], of_alpha["max_margin"]
        lost = (margin > bayes).sum()
        worse += lost
        difference = mean_of(margin - bayes)
        gains.append(difference)
        if difference.above() is not True:
            below.append(f"{alpha:g}")
        theory = [float(RULES[rule][1](alpha)) for rule in ("bayes", "max_margin")]
        lines.append([f"{alpha:g}", f"{difference:.4f}", f"{theory[1] - theory[0]:.4f}",
                      f"{lost}"])  # fmt: skip
    table = _FIGURE_12.table("runs", lines, dimension=DIMENSION, splits=settings.splits)
    total = len(rows)
    claims = [
        _FIGURE_12.claim(
            "mean",
            every(gain.above() for gain in gains),
            exceptions=f"; not at {', '.join(below)}" if below else "",
        ),
        _FIGURE_12.claim(
            "single", worse == total, general=True, worse=worse, total=total, better=total - worse
        ),
    ]
    return Report([table], claims)


def _points(ax: Any, rows: Rows, rule: str, *, right: bool) -> None:
    """Draw means with the standard deviation of a single run, of errors or of right answers."""
    title, _, color, marker = RULES[rule]
    values = {alpha: of_alpha[rule] for alpha, of_alpha in rows.by("alpha").items()}
    means = np.array([errors.mean() for errors in values.values()])
    spread = [errors.std(ddof=1) if len(errors) > 1 else 0.0 for errors in values.values()]
    ax.errorbar(
        list(values),
        1 - means if right else means,
        spread,
        fmt=marker,
        color=color,
        markersize=4,
        capsize=2.5,
        linewidth=1,
        label=f"{title}, runs (mean, standard deviation)",
    )


def _draw_theory(rows: Rows, settings: Settings, figure: Any) -> None:
    axes = figure.subplots(1, 2)
    alpha = np.geomspace(0.4, 11, 200)
    for rule, (title, theory, color, _) in RULES.items():
        axes[0].plot(alpha, 1 - theory(alpha), color=color, linewidth=1.2, label=f"{title}, theory")
        axes[1].plot(alpha, theory(alpha), color=color, linewidth=1.2)
        axes[1].plot(alpha, learning_curves.asymptote(alpha, rule), color=color, linestyle="dotted")
        for ax in axes:
            _points(ax, rows, rule, right=ax is axes[0])
    axes[1].plot([], [], color="black", linestyle="dotted", label="asymptotes, on the right")
    axes[0].set(xlabel="α = m / D", ylabel="probability of a right answer", ylim=(0.5, 1))
    axes[1].set(xlabel="α = m / D", ylabel="error of generalization", xscale="log", yscale="log",
                ylim=(0.03, 0.6))  # fmt: skip
    only_ticks(axes[1].xaxis, (0.5, 1, 2, 3, 4, 6, 8, 10))
    only_ticks(axes[1].yaxis, (0.03, 0.05, 0.1, 0.2, 0.3, 0.5))
    legend_below(figure, figure.axes, 2, last="runs")


def _draw_margin(rows: Rows, settings: Settings, figure: Any) -> None:
    axes = figure.subplots(1, 2)
    alpha = np.linspace(0.4, 11, 200)
    for rule in ("bayes", "max_margin"):
        title, theory, color, _ = RULES[rule]
        axes[0].plot(alpha, 1 - theory(alpha), color=color, linewidth=1, label=f"{title}, theory")
        _points(axes[0], rows, rule, right=True)
    axes[0].set(xlabel="α = m / D", ylabel="probability of a right answer")
    top = max(rows["max_margin"].max(), rows["bayes"].max())
    axes[1].plot([0, top], [0, top], color="black", linewidth=0.8, linestyle="dotted",
                 label="both equal, on the right")  # fmt: skip
    axes[1].plot(rows["bayes"], rows["max_margin"], ".", color="#0072B2")
    axes[1].set(xlabel="error of the Bayes point", ylabel="error of the maximal margin")
    axes[1].set_title("a dot for each run", fontsize="medium")
    legend_below(figure, figure.axes, 2, last="runs")


_FIGURE_11 = Text.of("kernel-billiard", "figure-18-11", dimension=DIMENSION)
_FIGURE_12 = Text.of("kernel-billiard", "figure-18-12")

_Shared = functools.partial(
    Experiment, units=_units, measure=_measure, splits=40, quick_splits=6, rows="learning"
)
"""Experiments with the same units, whose rows are in one file."""

EXPERIMENTS = (
    _Shared(_FIGURE_11, _against_theory, _draw_theory, size=(10.0, 6.0)),
    _Shared(_FIGURE_12, _against_margin, _draw_margin, size=(10.0, 5.2)),
)
