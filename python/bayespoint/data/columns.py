"""The columns of a table: numbers, categories and dates, as features of the kernel.

A feature is a number or the code of a level. All features of a column have one weight in the
default kernel, and any two levels are equally far apart, by a distance that is the *limit* of the
feature (:class:`bayespoint.kernels.Weighted`). Codes are multiples of it.

- A number is a feature; if values were missing at the fit, a second one says where.
- A category is the code of its level; a missing value is a level of its own.
- An ordered category is a number, the place of its level, and in part a category.
- A date is a number of years, and where they vary, the season, weekday and hour on circles.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from bayespoint.base.stored import Stored
from bayespoint.base.validation import Array, Flags, Floats, Indices
from bayespoint.kernels import Kernel, Weighted, accepts_limits

Kind = Literal["number", "category", "ordered", "date"]

_DEVIATION = 0.25  # distance of the levels of an ordered category, relative to a category's
_MISSING = 1.0  # distance of a missing value from the median, in standard deviations
_SECONDS = 86_400.0  # of a day
_YEAR = 365.2425  # days
_PERIODS = ((_YEAR, 1.5 * _YEAR), (7.0, 14.0), (1.0, 2.0))
"""Days of a circle, and of the span from which on a date has it. Hours need times of the day."""

_BOOLS = {bool, np.bool_, type(None)}
_LEAST = 0.1  # least probability of different levels for their distance, or rare ones are too far


@dataclass(frozen=True, eq=False)
class Values:
    """The values of a column as they were read."""

    name: str
    kind: Kind
    entries: Array  # (n,) doubles (dates in days since 1970) or objects; NaN, None: missing
    order: tuple[Any, ...] = ()  # the levels of an ordered category, from the lowest on
    zone: str = ""  # time zone of dates
    is_text: bool = False  # whether strings were read that no one has asked to be categories
    unread: tuple[str, ...] | None = None  # what is missing of strings read as numbers or dates

    @property
    def missing(self) -> Flags:
        """(n,) Where values are missing."""
        if self.entries.dtype == object:
            return np.equal(self.entries, np.array(None))
        return np.isnan(self.entries)

    @property
    def present(self) -> list[Any]:
        """Values of a category that are not missing."""
        return [entry for entry in self.entries.tolist() if entry is not None]


@dataclass(frozen=True, eq=False)
class Records:
    """Records of a table, as their columns."""

    columns: tuple[Values, ...]

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows and of columns."""
        return len(self.columns[0].entries), len(self.columns)

    def __getitem__(self, rows: Indices | slice) -> Records:
        """Return some of the rows."""
        columns = (replace(column, entries=column.entries[rows]) for column in self.columns)
        return Records(tuple(columns))

    def moments(self, share: Floats) -> tuple[Floats, Floats]:
        """Return means and variances by shares of the rows; zeros if not all are numbers."""
        if any(column.kind != "number" or column.missing.any() for column in self.columns):
            return (np.zeros(len(self.columns)),) * 2
        X = np.stack([column.entries for column in self.columns], axis=1)
        mean = share @ X
        return mean, share @ (X - mean) ** 2

    @classmethod
    def joined(cls, parts: Sequence[Records]) -> Records:
        """Return the rows of several parts of a table, one after another."""
        return cls(tuple(map(_joined, zip(*(part.columns for part in parts), strict=True))))


def _joined(parts: Sequence[Values]) -> Values:
    """Return the values of a column in several parts of a table."""
    known = [part for part in parts if not part.missing.all()] or parts[:1]
    kinds = dict.fromkeys(part.kind for part in known)
    mixed = next((kind for kind in ("number", "category") if kind in kinds), known[0].kind)
    alike = [as_kind(part, mixed) for part in parts]
    if any(part.kind != mixed for part in alike):
        raise TypeError(
            f"column {parts[0].name!r} of X must hold values of one kind in every block; got "
            f"{' and '.join(_WORDS[kind] for kind in kinds)}"
        )
    if len(zones := sorted({part.zone for part in known})) > 1:
        raise TypeError(
            f"column {parts[0].name!r} of X must hold times of one zone in every block; got "
            f"{' and '.join(zone or 'none' for zone in zones)}"
        )
    order = tuple(dict.fromkeys(level for part in alike for level in part.order))
    return replace(
        known[0], kind=mixed, entries=np.concatenate([p.entries for p in alike]), order=order
    )


def seen(parts: Sequence[Values]) -> Values:
    """Return the different values of a column in several parts; of numbers the extremes."""
    joined = _joined(parts)
    entries = joined.entries
    if entries.dtype == object:
        levels = np.fromiter(dict.fromkeys(entries.tolist()), dtype=object)
        return replace(joined, entries=levels)
    known = entries[~joined.missing]
    ends = [known.min(), known.max()] if len(known) else []
    fraction = known[known % 1 != 0][:1].tolist()  # a time of the day
    lacking = [math.nan] if len(known) < len(entries) else []
    return replace(joined, entries=np.array([*ends, *fraction, *lacking]))


def as_kind(values: Values, kind: Kind) -> Values:
    """Return values as those of a kind if they can be: missing ones as any, booleans as numbers."""
    if values.kind == kind:
        return values
    if (values.kind, kind) == ("ordered", "category"):
        return replace(values, kind=kind, order=())
    if kind == "number" and set(map(type, values.entries)) <= _BOOLS:
        return replace(values, kind=kind, entries=values.entries.astype(np.float64))
    if not values.missing.all():
        return values
    lacking = None if kind in ("category", "ordered") else math.nan
    entries = np.full(len(values.entries), lacking)
    return replace(values, kind=kind, entries=entries)


@dataclass(frozen=True)
class Column(Stored):
    """What became of a column."""

    name: str
    kind: Kind
    centers: tuple[float, ...] = ()  # medians of its numbers, which stand for missing ones
    periods: tuple[float, ...] = ()  # days of the circles of a date
    levels: tuple[Any, ...] = ()  # levels of a category, in order
    limit: float = math.inf  # distance of two levels, or of a missing value; infinity for numbers
    is_empty: bool = False  # whether all values were missing in `fit`: the feature is always 0
    zone: str = ""  # time zone of a date, to which other times are converted
    unread: tuple[str, ...] | None = None  # as of its `Values` in `fit`

    @classmethod
    def of(cls, values: Values, weight: Floats, *, scaled: bool, known: Values) -> Column:
        """Return what becomes of a column whose rows have weights.

        `known` holds the different values, of which `values` may be a sample. If `scaled`, a
        category varies as much as a number of variance 1, otherwise levels are as far apart as
        indicators.
        """
        name, kind = known.name, known.kind
        values = as_kind(values, kind)
        present, absent = ~values.missing, known.missing
        if absent.all():
            return cls(name, kind, centers=(0.0,), is_empty=True)
        if kind in ("category", "ordered"):
            levels = known.order or tuple(sorted(set(known.present), key=_sorting))
            column = cls(name, kind, levels=levels)
            codes = column._codes(values)
            shares = np.bincount(np.unique(codes, return_inverse=True)[1], weights=weight)
            apart = 1 - np.square(shares / weight.sum()).sum()
            limit = math.sqrt(2 / max(apart, _LEAST) if scaled else 2.0)
            if kind == "category":
                return replace(column, limit=limit)
            return replace(column, centers=(_median(codes[present]),), limit=limit * _DEVIATION)
        periods: tuple[float, ...] = ()
        if kind == "date":
            days = known.entries[~absent]
            span, has_times = np.ptp(days), (days % 1 != 0).any()
            periods = tuple(p for p, least in _PERIODS if span >= least and (p != 1 or has_times))
        column = cls(name, kind, periods=periods, zone=known.zone, unread=known.unread)
        centers = tuple(_median(part[present]) for part in column._numbers(values))
        lacks = _MISSING if scaled else math.sqrt(2.0)
        return replace(column, centers=centers, limit=lacks if absent.any() else math.inf)

    @property
    def is_category(self) -> bool:
        """Whether the column has levels."""
        return self.kind in ("category", "ordered")

    def of_kind(self, values: Values) -> Values:
        """Return new values as those of the fit, or raise TypeError if they are of another kind."""
        values = as_kind(values, self.kind)
        if self.is_empty:
            return values
        wanted, got = _WORDS[self.kind], _WORDS[values.kind]
        if values.kind != self.kind and not {values.kind, self.kind} <= {"category", "ordered"}:
            hint = {"number": ": pandas.to_numeric", "date": ": pandas.to_datetime"}
            more = hint.get(self.kind, "") if values.is_text else ""
            if more:
                got, more = "strings", f"{more} makes {wanted} of them"
            raise TypeError(
                f"column {self.name!r} of X must hold {wanted}, as in fit; got {got}{more}"
            )
        if values.zone != self.zone and not values.missing.all():
            wanted, got = (
                f"the zone {zone!r}" if zone else "no zone" for zone in (self.zone, values.zone)
            )
            raise TypeError(
                f"column {self.name!r} of X must hold times with {wanted}, as in fit; got {got}"
            )
        if self.is_category:  # 1 would silently be another level than "1"
            types = set(map(_type_of, self.levels))
            for entry in values.present:
                if _type_of(entry) not in types:
                    wanted = " or ".join(sorted(types))
                    if all(isinstance(level, (bool, np.bool_)) for level in self.levels):
                        wanted = "booleans"
                    raise TypeError(
                        f"column {self.name!r} of X must hold {wanted}, as in fit; got {entry!r}"
                    )
        return values

    def features(self, values: Values) -> tuple[list[Floats], list[Floats]]:
        """Return the features that are numbers, and those that are codes."""
        if self.is_empty:
            return [np.zeros(len(values.entries))], []
        absent = values.missing
        if self.is_category:
            codes = self._codes(values)
            places = [np.where(codes < 0, center, codes) for center in self.centers]
            return places, [codes * self.limit]
        parts = [
            np.where(absent, center, part)
            for center, part in zip(self.centers, self._numbers(values), strict=True)
        ]
        return parts, [np.where(absent, self.limit, 0.0)] if math.isfinite(self.limit) else []

    def _codes(self, values: Values) -> Floats:
        """Return the (n,) numbers of the levels; missing ones are -1, each other level is new."""
        numbers = {level: number for number, level in enumerate(self.levels)} | {None: -1}
        codes = [numbers.setdefault(level, -1 - len(numbers)) for level in values.entries.tolist()]
        return np.array(codes, dtype=np.float64)

    def _numbers(self, values: Values) -> list[Floats]:
        if self.kind == "number":
            return [values.entries]
        parts: list[Any] = [values.entries / _YEAR]
        # Rounded, so that a circle on which all dates are at one place is constant.
        seconds = np.round(values.entries * _SECONDS, 3)
        for period in self.periods:
            # 1970-01-01 was a Thursday; where the circle begins does not matter.
            size = period * _SECONDS
            angle = 2 * math.pi * (seconds % size / size)
            parts += [np.cos(angle), np.sin(angle)]
        return parts


@dataclass(frozen=True, eq=False)
class Columns(Stored):
    """The columns of a table; their features are first all numbers, then all codes."""

    columns: tuple[Column, ...]

    @classmethod
    def of(
        cls, rows: Records, weight: Floats, *, scaled: bool, seen: Sequence[Values] | None = None
    ) -> Columns:
        """Return the columns of a table, `scaled` to variance 1 or not, with all values `seen`."""
        pairs = zip(rows.columns, seen or rows.columns, strict=True)
        return cls(tuple(Column.of(some, weight, scaled=scaled, known=all) for some, all in pairs))

    def __repr__(self) -> str:
        kinds = [column.kind for column in self.columns]
        counts = {kind: kinds.count(kind) for kind in dict.fromkeys(kinds)}
        return f"<Columns: {', '.join(f'{n} {kind}' for kind, n in counts.items())}>"

    def __len__(self) -> int:
        """Return the number of columns."""
        return len(self.columns)

    @property
    def plain(self) -> bool:
        """Whether every column is one number that was never missing: a feature is a column."""
        return all(
            column.kind == "number" and math.isinf(column.limit) and not column.is_empty
            for column in self.columns
        )

    @property
    def groups(self) -> tuple[int, ...]:
        """(n_features,) The column of each feature."""
        parts = [[k] * len(column.centers) for k, column in enumerate(self.columns)]
        codes = [[k] for k, column in enumerate(self.columns) if math.isfinite(column.limit)]
        return tuple(k for places in parts + codes for k in places)

    @property
    def limits(self) -> tuple[float, ...]:
        """(n_features,) Distance of two levels; infinity for numbers."""
        limits = [column.limit for column in self.columns if math.isfinite(column.limit)]
        return (math.inf,) * self.n_numbers + tuple(limits)

    @property
    def n_numbers(self) -> int:
        """Number of the features that are numbers."""
        return sum(len(column.centers) for column in self.columns)

    @property
    def shares(self) -> Floats:
        """(n_numbers,) Standard deviations of the numbers after scaling: of a date less than 1."""
        sizes = [len(column.centers) for column in self.columns]
        return np.repeat(1 / np.sqrt(np.maximum(sizes, 1)), sizes)

    def features(self, rows: Records) -> Floats:
        """Return the (n, n_features) features of rows of a table with the same columns."""
        numbers, codes = [], []
        for column, values in zip(self.columns, rows.columns, strict=True):
            parts, coded = column.features(column.of_kind(values))
            numbers += parts
            codes += coded
        return np.stack(numbers + codes, axis=1)

    def kernel(self, kernel: Any) -> Any:
        """Return a kernel for the features, in which those of a column have one weight."""
        if self.plain:
            return kernel
        if not isinstance(kernel, Kernel) or not accepts_limits(kernel):
            if all(column.kind == "number" for column in self.columns):
                raise ValueError(
                    f"X must not hold NaN for {kernel!r}: impute it before the classifier"
                )
            raise TypeError(
                f"X must hold numbers only for {kernel!r}: encode categories and dates before the "
                "classifier, or use the default kernel or one of distances"
            )
        if not isinstance(kernel, Weighted):
            kernel = Weighted(kernel, (1.0,) * len(self))
        groups, asked = self.groups, kernel.groups
        if asked is not None:
            if len(asked) != len(self):
                raise ValueError(
                    f"groups must hold one for each of {len(self)} columns; got {len(asked)}"
                )
            groups = tuple(asked[k] for k in groups)
        return replace(kernel, groups=groups, limits=self.limits)


_WORDS = {
    "number": "numbers",
    "category": "categories",
    "ordered": "ordered categories",
    "date": "dates",
}


def _median(values: Floats) -> float:
    return 2 * float(np.median(values / 2)) if len(values) else 0.0  # a sum might overflow


def _sorting(level: Any) -> tuple[str, Any]:
    """Return a key that sorts levels of different types."""
    number = isinstance(level, numbers.Real)
    return ("", level) if number else (type(level).__name__, str(level))


def _type_of(level: Any) -> str:
    """Return in words the type of a level; booleans are numbers."""
    return "numbers" if isinstance(level, (numbers.Real, np.bool_)) else "strings"
