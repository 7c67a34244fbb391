"""Rows of measurements, and means of their columns with standard errors."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

Row: TypeAlias = dict[str, Any]
"""A unit of work, its measurements, or both: numbers, also of NumPy, and texts by name."""


class Mean(NamedTuple):
    """A mean and its standard error, NaN for a single value.

    Its format is that of both numbers, with two digits by default; without an error that is 0.
    """

    value: float
    error: float

    def above(self, limit: float = 0.0, n: float = 3) -> bool | None:
        """Return whether the mean is above a limit: None if it is not n standard errors off."""
        gap = self.value - limit
        return bool(gap > 0) if abs(gap) > n * self.error else None

    def below(self, limit: float = 0.0, n: float = 3) -> bool | None:
        """Return whether the mean is below a limit: None if it is not n standard errors off."""
        return Mean(-self.value, self.error).above(-limit, n)

    def minus(self, other: Mean) -> Mean:
        """Return the difference from an independent mean."""
        return Mean(self.value - other.value, float(np.hypot(self.error, other.error)))

    def __format__(self, spec: str) -> str:
        value, error = (format(number, spec or ".2f") for number in self)
        return f"{value} ± {error}" if self.error > 0 else value

    def __str__(self) -> str:
        return format(self)


def every(verdicts: Iterable[bool | None]) -> bool | None:
    """Return whether all hold: False if one does not, else None if one is undecided."""
    known = set(verdicts)
    return False if False in known else None if None in known else True


def mean_of(values: ArrayLike) -> Mean:
    """Return the mean of independent values."""
    array = np.asarray(values, dtype=np.float64)
    error = array.std(ddof=1) / np.sqrt(len(array)) if len(array) > 1 else np.nan
    return Mean(float(array.mean()), float(error))


@dataclass(frozen=True)
class Rows:
    """Rows with the same columns."""

    rows: Sequence[Row]

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[Row]:
        return iter(self.rows)

    def __getitem__(self, name: str) -> Any:
        """Return a column as an array."""
        return np.array([row[name] for row in self.rows])

    def where(self, **wanted: Any) -> Rows:
        """Return the rows that have these values."""
        items = wanted.items()
        return Rows([row for row in self.rows if all(row[key] == value for key, value in items)])

    def by(self, name: str) -> dict[Any, Rows]:
        """Return the rows of each value of a column, the smallest first."""
        return {value: self.where(**{name: value}) for value in sorted({r[name] for r in self})}

    def mean(self, name: str, scale: float = 1) -> Mean:
        """Return the mean of a column, times a factor."""
        return mean_of(scale * self[name])


def grid(**values: Iterable[Any]) -> list[Row]:
    """Return a row for each combination of values, the last column changing fastest."""
    return [dict(zip(values, row, strict=True)) for row in product(*values.values())]


def power(xs: ArrayLike, means: Sequence[Mean]) -> Mean:
    """Return a of ``value ~ x^a`` by weighted least squares, and its standard error.

    Means are positive. The error of a is that by the weights, times the root of the mean squared
    residual if this is more than 1: a power law need not fit.
    """
    values, errors = np.transpose(means)
    weights, x, y = (values / errors) ** 2, np.log(xs), np.log(values)
    x, y = (logs - np.average(logs, weights=weights) for logs in (x, y))
    spread = (weights * x**2).sum()
    slope = float((weights * x * y).sum() / spread)
    excess = max(1.0, (weights * (y - slope * x) ** 2).sum() / max(len(x) - 2, 1))
    return Mean(slope, float(np.sqrt(excess / spread)))
