"""Figures 1 and 2 of Herbrich, Graepel and Campbell: the bounds."""

from __future__ import annotations

from typing import Any

import numpy as np

from bayespoint import bounds
from bayespoint.papers.bound_figures import plot_margin_bounds, plot_volume_bounds
from bayespoint.papers.experiments.framework import Claim, Experiment, Report, Row, Settings, Table

DELTA = 0.05


def _units(settings: Settings) -> list[Row]:
    return []


def _measure(unit: Row, settings: Settings) -> Row:
    raise NotImplementedError("formulas alone: there is no unit of work")


def _volumes(rows: list[Row], settings: Settings) -> Report:
    lines = []
    for m in (100, 300, 1000):
        for omega in (1.0, 0.01, 1e-10):
            log_volume = -np.log(omega) - m * np.log(2)
            if log_volume > -np.log(2):
                continue
            vote, draw = (
                float(bound(m, log_volume, DELTA))
                for bound in (bounds.volume_bayes, bounds.volume_gibbs)
            )
            lines.append([f"{m}", f"{omega:g}", f"{log_volume:.1f}", f"{vote:.3f}", f"{draw:.3f}"])
    table = Table(
        f"Bounds for a version space of the share 2^-m / ω (δ = {DELTA})",
        ["m", "ω", "ln volume", "vote (Eq. 17)", "one draw"],
        lines,
    )
    quoted = -np.log(0.01) - 100 * np.log(2)
    vote, draw = (
        float(bound(100, quoted, DELTA)) for bound in (bounds.volume_bayes, bounds.volume_gibbs)
    )
    largest = float(bounds.volume_bayes(1000, -200.0, DELTA))
    volume = np.exp(quoted)
    claims = [
        Claim(
            f"100 · 2^-100 is 7.8 · 10^-29 ({volume:.3g}, so truncated)",
            7.8e-29 <= volume < 7.9e-29,
        ),
        Claim(
            f"there the vote's guarantee is less than 70 % (Eq. 17 gives {vote:.3f}: nothing; "
            f"that of one draw is {draw:.3f})",
            vote < 0.7,
        ),
        Claim(
            f"for m = 1000 the bound is consistently below 0.5, up to ln(1/volume) = 200 "
            f"({largest:.3f} there)",
            largest < 0.5,
        ),
    ]
    return Report([table], claims)


def _margins(rows: list[Row], settings: Settings) -> Report:
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
    table = Table(
        f"Bounds by the margin (δ = {DELTA})",
        ["m", "n", "1/γ²", "Corollary 2", "exact volume", "Theorem 1"],
        lines,
    )
    new = [float(line[3]) for line in lines]
    old = [float(line[5]) for line in lines]
    useful = {m: float(bounds.linear_svm(m, 100, 0.1**0.5, DELTA)) for m in (500, 2000, 5000)}
    claims = [
        Claim("Theorem 1 is above the line of triviality everywhere", min(old) > 1),
        Claim(
            "Corollary 2 is below Theorem 1 everywhere",
            all(a < b for a, b in zip(new, old, strict=True)),
        ),
        Claim(
            "with m/n ≥ 20 Corollary 2 is predictive where the margin is large "
            f"(1/γ² = 10, m/n = 20: {useful[2000]:.3f}; m/n = 5: {useful[500]:.3f})",
            useful[2000] < 1 <= useful[500],
        ),
    ]
    return Report([table], claims)


def _draw_volumes(rows: list[Row], settings: Settings, figure: Any) -> None:
    plot_volume_bounds(delta=DELTA, axes=figure.subplots(1, 2))


def _draw_margins(rows: list[Row], settings: Settings, figure: Any) -> None:
    plot_margin_bounds(delta=DELTA, axes=figure.subplots(1, 2))


EXPERIMENTS = (
    Experiment(
        name="figure-1",
        title="Figure 1: bounds by the volume of version space",
        paper="bayesian-learning",
        about="Formulas alone. Left: a version space of the share 2^-m / ω of the sphere. Right: "
        "against ln(1/volume), the effective dimension.",
        units=_units,
        measure=_measure,
        report=_volumes,
        draw=_draw_volumes,
        size=(10.4, 5.0),
    ),
    Experiment(
        name="figure-2",
        title="Figure 2: bounds by the margin",
        paper="bayesian-learning",
        about="Formulas alone. Left: Corollary 2 for several numbers of examples. Right: it and "
        "Theorem 1 for handwritten digits (m = 60 000, n = 400). Dotted lines: the exact volume of "
        "the ball.",
        units=_units,
        measure=_measure,
        report=_margins,
        draw=_draw_margins,
        size=(10.4, 5.0),
    ),
)
