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


def power(xs: ArrayLike, values: Any) -> tuple[float, float]:
    """Return a of ``value ~ x^a`` by weighted least squares, and its standard error.

    `values` are pairs of a mean, positive, and its error. The error of a is that by the weights,
    times the root of the mean squared residual if this is more than 1: a power law need not fit.
    """
    means, errors = np.transpose(values)
    weights, x, y = (means / errors) ** 2, np.log(xs), np.log(means)
    x, y = (one - np.average(one, weights=weights) for one in (x, y))
    spread = (weights * x**2).sum()
    slope = float((weights * x * y).sum() / spread)
    excess = max(1.0, (weights * (y - slope * x) ** 2).sum() / max(len(x) - 2, 1))
    return slope, float(np.sqrt(excess / spread))


def plus_minus(mean: float, error: float, digits: int = 2) -> str:
    """Return a mean with its standard error as text."""
    return f"{mean:.{digits}f} ± {error:.{digits}f}" if error == error else f"{mean:.{digits}f}"
