"""Figures 1 and 2 of Herbrich, Graepel and Campbell: the bounds."""

from __future__ import annotations

from typing import Any

import numpy as np

from bayespoint.papers import bounds
from bayespoint.papers.experiments.drawing import vacuous_above
from bayespoint.papers.experiments.framework import Experiment, Report, Settings, Text
from bayespoint.papers.experiments.rows import Rows
from bayespoint.plotting.style import below

DELTA = 0.05
# Palette of Okabe and Ito, which is safe for color blindness.
_COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7")
# Markers tell the curves apart in gray print too.
_STYLES = [
    {"color": color, "marker": marker, "markevery": 0.15, "markersize": 4}
    for color, marker in zip(_COLORS, "os^D", strict=True)
]


def _volumes(rows: Rows, settings: Settings) -> Report:
    lines = []
    for m in (100, 1000):
        for omega in (1.0, 0.01, 1e-10):
            log_volume = -np.log(omega) - m * np.log(2)
            if log_volume > -np.log(2):
                continue
            values = (f"{value:.3f}" for value in _vote_and_draw(m, log_volume))
            lines.append([f"{m}", f"{omega:g}", f"{log_volume:.1f}", *values])
    table = _FIGURE_1.table("volumes", lines, delta=DELTA)
    quoted = -np.log(0.01) - 100 * np.log(2)
    vote, draw = _vote_and_draw(100, quoted)
    shorter = draw - 2 * np.log(100) / 100
    random_labels = 1000 * np.log(2)
    largest = bounds.volume_bayes(1000, -random_labels, DELTA)
    half, vacuous = (_dimension(1000, limit) for limit in (0.5, 1.0))
    volume = np.exp(quoted)
    few, smaller = (_vote_and_draw(99, -np.log(omega) - 99 * np.log(2)) for omega in (0.01, 1e-20))
    claims = [
        _FIGURE_1.claim("truncated", 7.8e-29 <= volume < 7.9e-29, volume=volume),
        _FIGURE_1.claim("below-70", vote < 0.7, vote=vote, draw=draw),
        _FIGURE_1.claim(
            "below-half",
            largest < 0.5,
            half=half,
            vacuous=vacuous,
            largest=largest,
            random_labels=random_labels,
        ),
        _FIGURE_1.claim("below-100", few[0] < 1, vote=few[0], draw=few[1], smaller=smaller[0]),
    ]
    return Report([table], claims, [_FIGURE_1.fill("remark-70", shorter=shorter)])


def _vote_and_draw(m: Any, log_volume: Any) -> tuple[Any, Any]:
    """Return the bounds on the risk of the vote and of one draw."""
    return tuple(
        bound(m, log_volume, DELTA) for bound in (bounds.volume_bayes, bounds.volume_gibbs)
    )


def _dimension(m: int, limit: float) -> float:
    """Return the ln(1 / volume) at which the bound on the vote reaches a limit: it is linear."""
    return float((limit - bounds.volume_bayes(m, 0.0, DELTA)) * m / 2)


def _margins(rows: Rows, settings: Settings) -> Report:
    lines = []
    for m, n in ((500, 100), (1000, 100), (2000, 100), (5000, 100), (60_000, 400)):
        for inverse in (10.0, 100.0, 1000.0):
            margin = inverse**-0.5
            exact = bounds.cap_log_fraction(n, np.arcsin(margin))
            lines.append(
                [f"{m}", f"{n}", f"{inverse:g}",
                 f"{float(bounds.linear_svm(m, n, margin, DELTA)):.3f}",
                 f"{float(bounds.volume_bayes(m, exact, DELTA)):.3f}",
                 f"{float(bounds.luckiness(m, margin, DELTA)):.3g}"]
            )  # fmt: skip
    table = _FIGURE_2.table("margins", lines, delta=DELTA)
    new = [float(line[3]) for line in lines]
    old = [float(line[5]) for line in lines]
    useful = {m: bounds.linear_svm(m, 100, 0.1**0.5, DELTA) for m in (500, 2000, 5000)}
    digits = 60_000
    bound = bounds.linear_svm(digits, 400, 0.01, DELTA)
    known = bounds.luckiness(digits, 0.01, DELTA)
    claims = [
        _FIGURE_2.claim("vacuous", min(old) > 1),
        _FIGURE_2.claim("tiny", bound < 1 < known, bound=bound, known=known),
        _FIGURE_2.claim("below-theorem-1", all(a < b for a, b in zip(new, old, strict=True))),
        _FIGURE_2.claim(
            "predictive", useful[2000] < 1 <= useful[500], large=useful[2000], small=useful[500]
        ),
    ]
    return Report([table], claims)


def _draw_volumes(rows: Rows, settings: Settings, figure: Any) -> None:
    """Draw the bounds against m and against ln(1 / volume); dashed: of one draw."""
    left, right = figure.subplots(1, 2)
    m = np.unique(np.geomspace(10, 1000, 200).round())
    for omega, style in zip((1.0, 0.01, 1e-10, 1e-20), _STYLES, strict=True):
        log_volume = -np.log(omega) - m * np.log(2)
        possible = log_volume <= -np.log(2)  # the first example leaves half of the sphere
        x, y, label = m[possible], log_volume[possible], f"ω = {omega:g}"
        _plot_both(left, x, _vote_and_draw(x, y), label, style)
    dimension = np.linspace(0, 250, 101)
    for size, style in zip((100, 300, 1000), _STYLES, strict=False):
        _plot_both(right, dimension, _vote_and_draw(size, -dimension), f"m = {size}", style)
    for ax, label, x in ((left, "examples", m), (right, "ln(1 / volume)", dimension)):
        ax.plot([], [], color="gray", label="vote")
        ax.plot([], [], color="gray", linestyle="dashed", label="one draw")
        ax.set(xlabel=label, xlim=(x[0], x[-1]), ylim=(0, 2))
        _finish(ax)


def _plot_both(ax: Any, x: Any, values: tuple[Any, Any], label: str, style: Any) -> None:
    ax.plot(x, values[0], label=label, **style)
    ax.plot(x, values[1], linestyle="dashed", **style)


def _draw_margins(rows: Rows, settings: Settings, figure: Any) -> None:
    """Draw the bounds against 1 / margin²; dotted: with the exact volume of the ball."""
    left, right = figure.subplots(1, 2)
    inverse = np.geomspace(1, 1e4, 200)
    margin = inverse**-0.5
    exact = bounds.cap_log_fraction(100, np.arcsin(margin))
    for size, style in zip((500, 1000, 2000, 5000), _STYLES, strict=True):
        values = bounds.linear_svm(size, 100, margin, DELTA)
        left.plot(inverse, values, label=f"m = {size}", **style)
        values = bounds.volume_bayes(size, exact, DELTA)
        left.plot(inverse, values, linestyle="dotted", **style)
    left.plot([], [], color="gray", label="Corollary 2")
    left.plot([], [], color="gray", linestyle="dotted", label="exact volume")
    left.set(title="n = 100", ylim=(0, 2))
    m, n = 60_000, 400
    exact = bounds.cap_log_fraction(n, np.arcsin(margin))
    for values, style, line, label in (
        (bounds.luckiness(m, margin, DELTA), _STYLES[1], "solid", "Theorem 1"),
        (bounds.linear_svm(m, n, margin, DELTA), _STYLES[0], "solid", "Corollary 2"),
        (bounds.volume_bayes(m, exact, DELTA), _STYLES[0], "dotted", "exact volume"),
    ):
        right.plot(inverse, values, linestyle=line, label=label, **style)
    right.set(title=f"m = {m}, n = {n}", yscale="log")
    for ax in (left, right):
        ax.set(xscale="log", xlim=(inverse[0], inverse[-1]), xlabel="1 / margin²")
        _finish(ax)


def _finish(ax: Any) -> None:
    vacuous_above(ax)
    ax.set_ylabel("bound on the risk")
    below(ax, fontsize="small")


_FIGURE_1 = Text.of("bayesian-learning", "figure-1")
_FIGURE_2 = Text.of("bayesian-learning", "figure-2")

EXPERIMENTS = (
    Experiment(_FIGURE_1, _volumes, _draw_volumes, size=(10.4, 5.0)),
    Experiment(_FIGURE_2, _margins, _draw_margins, size=(10.4, 5.0)),
)
