"""Rows of measurements, and means of their columns with standard errors."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from bayespoint.papers.experiments.framework import Row


def select(rows: Iterable[Row], **wanted: Any) -> list[Row]:
    """Return the rows that have these values."""
    return [row for row in rows if all(row[key] == value for key, value in wanted.items())]


def column(rows: Iterable[Row], name: str) -> Any:
    """Return one value of each row as an array."""
    return np.array([row[name] for row in rows])


def mean_by(rows: list[Row], key: str, name: str) -> Any:
    """Return the mean of a column and its standard error, a row for each value of `key`."""
    parts = (select(rows, **{key: value}) for value in np.unique(column(rows, key)))
    return np.array([mean_and_error(column(part, name)) for part in parts])


def mean_and_error(values: ArrayLike) -> tuple[float, float]:
    """Return the mean and its standard error, NaN for a single value."""
    array = np.asarray(values, dtype=np.float64)
    error = array.std(ddof=1) / np.sqrt(len(array)) if len(array) > 1 else np.nan
    return float(array.mean()), float(error)


def plus_minus(mean: float, error: float, digits: int = 2) -> str:
    """Return a mean with its standard error as text."""
    return f"{mean:.{digits}f} ± {error:.{digits}f}" if error == error else f"{mean:.{digits}f}"
