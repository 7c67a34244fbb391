"""Section 5 of Graepel, Herbrich and Williamson: two margin bounds compared."""

from __future__ import annotations

import math
from bisect import bisect_left
from typing import Any

import numpy as np

from bayespoint.papers import bounds
from bayespoint.papers.experiments.drawing import vacuous_above
from bayespoint.papers.experiments.framework import Experiment, Report, Settings, Text
from bayespoint.papers.experiments.rows import Rows
from bayespoint.plotting.style import below, label_decades

DELTA = 0.05
KAPPA = 600
"""The paper's κ* for handwritten digits."""
PRINTED_M, PRINTED_BOUND = 410_743_386, 0.112
WEAKEST = 4.0
"""The smallest n of the relaxed form: it holds for κ* below m / 4."""
LIMIT = 128 / math.log(2) * KAPPA / (KAPPA + 1)
"""Of the ratio of the two bounds over log2(32 m), for m to infinity and κ* = 600."""
FAR = (1e6, 1e12, 1e24)


def _ratio(m: Any, kappa: Any) -> Any:
    """Return the PAC margin bound over Theorem 4."""
    return bounds.pac_margin(m, kappa, DELTA) / bounds.margin(m, kappa, DELTA)


def _needed(bound: Any, value: float) -> int:
    """Return the smallest number of examples at which a bound for κ* = 600 is at most `value`."""
    sizes = range(KAPPA, 10**12)
    return sizes[bisect_left(sizes, True, key=lambda m: bound(m, KAPPA, DELTA) <= value)]


def _compared() -> tuple[int, int, int]:
    """Return the number of settings, and in how many the exact and relaxed form are larger."""
    tried, exact, relaxed = 0, 0, 0
    delta = np.array([1e-300, 1e-30, 1e-6, 0.01, 0.05, 0.5, 0.99])
    for m in np.unique(np.geomspace(10, 1e12, 67).round()):
        kappa = np.unique(np.geomspace(1, m, 67).round())
        kappa = kappa[kappa < m / WEAKEST][:, None]
        old = bounds.pac_margin(m, kappa, delta)
        tried += old.size
        exact += int((bounds.margin(m, kappa, delta) >= old).sum())
        relaxed += int((bounds.margin(m, kappa, delta, n=WEAKEST) >= old).sum())
    return tried, exact, relaxed


def _report(rows: Rows, settings: Settings) -> Report:
    lines = []
    for m in (6e4, 1e6, PRINTED_M, *FAR[1:]):
        ratio = _ratio(m, KAPPA)
        values = (
            bounds.margin(m, KAPPA, DELTA),
            bounds.margin(m, KAPPA, DELTA, n=WEAKEST),
            bounds.pac_margin(m, KAPPA, DELTA),
        )
        size = f"{m:,.0f}" if m < 1e9 else f"{m:.0e}".replace("e+", "e")
        texts = (f"{value:.3g}" for value in values)
        lines.append([size, *texts, f"{ratio:.0f}", f"{ratio / math.log2(32 * m):.1f}"])
    table = _TEXT.table("bounds", lines, kappa=KAPPA, delta=DELTA)
    needed = {
        (name, value): _needed(bound, value)
        for name, bound in (("new", bounds.margin), ("old", bounds.pac_margin))
        for value in (1.0, PRINTED_BOUND)
    }
    sizes = _TEXT.table("needed", [
            ["1 (not vacuous)", f"{needed['new', 1.0]:,}", f"{needed['old', 1.0]:,}", ""],
            [f"{PRINTED_BOUND}", f"{needed['new', PRINTED_BOUND]:,}",
             f"{needed['old', PRINTED_BOUND]:,}", f"{PRINTED_M:,}"],
        ], kappa=KAPPA)  # fmt: skip
    slower = [_ratio(m, KAPPA) / math.log2(32 * m) for m in FAR]
    tried, exact, relaxed = _compared()
    off = needed["old", PRINTED_BOUND] / PRINTED_M - 1
    claims = [
        _TEXT.claim(
            "slower",
            slower == sorted(slower) and 0.9 * LIMIT < slower[-1] < LIMIT,
            limit=LIMIT,
            ratios=", ".join(f"{value:.1f}" for value in slower),
        ),
        _TEXT.claim(
            "smaller",
            exact == relaxed == 0,
            exact=exact or "none",
            tried=tried,
            relaxed=relaxed or "none",
        ),
        _TEXT.claim(
            "examples",
            0 < off < 0.001,
            kappa=KAPPA,
            printed_m=PRINTED_M,
            printed_bound=PRINTED_BOUND,
            needed=needed["old", PRINTED_BOUND],
            off=100 * off,
        ),
    ]
    remarks = [_TEXT.fill("two")]
    return Report([table, sizes], claims, remarks)


def _draw(rows: Rows, settings: Settings, figure: Any) -> None:
    left, right = figure.subplots(1, 2)
    m = np.geomspace(3e3, 1e12, 200).round()
    for values, color, style, label in (
        (bounds.pac_margin(m, KAPPA, DELTA), "#D55E00", "solid", "PAC margin bound"),
        (bounds.margin(m, KAPPA, DELTA, n=WEAKEST), "#0072B2", "dashed", "Theorem 4, relaxed"),
        (bounds.margin(m, KAPPA, DELTA), "#0072B2", "solid", "Theorem 4"),
    ):
        left.plot(m, values, color=color, linestyle=style, label=label)
    left.plot(PRINTED_M, PRINTED_BOUND, "D", color="black", label="printed, PAC margin bound")
    vacuous_above(left)
    left.set(ylabel="bound on the risk", xlim=(m[0], m[-1]), title=f"κ* = {KAPPA}")
    m = np.geomspace(10, 1e12, 200).round()
    for kappa, color, style in (
        (1, "#009E73", "solid"), (30, "#CC79A7", "dashed"), (KAPPA, "#0072B2", "dashdot"),
    ):  # fmt: skip
        x = m[m > WEAKEST * kappa]
        right.plot(x, _ratio(x, kappa), color=color, linestyle=style, label=f"κ* = {kappa}")
    right.plot(m, LIMIT * np.log2(32 * m), color="gray", linestyle="dotted",
               label=f"{LIMIT:.1f} · log2(32 m)")  # fmt: skip
    right.set(ylabel="PAC margin bound / Theorem 4", xlim=(m[0], m[-1]), title="ratio")
    for ax in (left, right):
        ax.set(xscale="log", yscale="log", xlabel="m, examples")
        label_decades(ax)
        below(ax, ncols=2, fontsize="small")


_TEXT = Text.of("margin-to-sparsity", "margin-bounds")

EXPERIMENTS = (Experiment(_TEXT, _report, _draw, size=(10.4, 5.0)),)
