"""Legends and ticks of the experiments' pictures."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any


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


def only_ticks(axis: Any, values: Iterable[float]) -> None:
    """Label these values on an axis, and no others."""
    values = list(values)
    axis.set_ticks(values, [f"{value:g}" for value in values])
    axis.set_ticks([], minor=True)
