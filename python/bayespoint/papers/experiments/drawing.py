"""Curves, legends and ticks of the experiments' pictures."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from bayespoint.papers.experiments.rows import Rows


def legend_below(figure: Any, axes: Iterable[Any], ncols: int, last: str = "") -> None:
    """Draw the legend of some axes below a figure, each label once, those with `last` last."""
    named = {
        label: handle
        for ax in axes
        for handle, label in zip(*ax.get_legend_handles_labels(), strict=True)
    }
    labels = sorted(named, key=lambda label: last in label) if last else list(named)
    handles = [named[label] for label in labels]
    figure.legend(handles, labels, loc="outside lower center", ncols=ncols, frameon=False)


def curve(ax: Any, rows: Rows, x: str, y: str, scale: float = 1, **style: Any) -> None:
    """Draw the mean of a column, times a factor, with its standard error against another column."""
    groups = rows.by(x)
    means, errors = zip(*(group.mean(y, scale) for group in groups.values()), strict=True)
    ax.errorbar(list(groups), means, errors, **style)


def vacuous_above(ax: Any, **style: Any) -> None:
    """Draw the line above which bounds are vacuous."""
    style = {"color": "black", "linewidth": 0.9, "linestyle": (0, (1, 3))} | style
    ax.axhline(1.0, label="vacuous above", **style)


def only_ticks(axis: Any, values: Iterable[float]) -> None:
    """Label these values on an axis, and no others."""
    values = list(values)
    axis.set_ticks(values, [f"{value:g}" for value in values])
    axis.set_ticks([], minor=True)
