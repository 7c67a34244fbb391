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

import datetime
import math
import numbers
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from bayespoint.base.validation import Floats
from bayespoint.kernels import Kernel, Weighted, accepts_limits

Kind: TypeAlias = Literal["number", "category", "ordered", "date"]

_DEVIATION = 0.25
"""Distance of the levels of an ordered category as a category, relative to others'."""

_MISSING = 1.0
"""Distance of a missing value from the median, in standard deviations."""

_TEXT = (50, 0.5, 40)
"""More levels, share of the rows and mean length of strings from which on a column is text."""

_YEAR = 365.2425  # days
_PERIODS = ((_YEAR, 1.5 * _YEAR), (7.0, 14.0), (1.0, 2.0))
"""Days of a circle, and of the span from which on a date has it. Hours need times of the day."""

_SECONDS = 86_400.0  # of a day
_LEAST = 0.1
"""Least probability of two different levels by which their distance is scaled: rare levels would be
so far from others that these say nothing about them."""

_BOOLS = {bool, np.bool_, type(None)}


@dataclass(frozen=True, eq=False)
class Values:
    """The values of a column as they were read."""

    name: str
    kind: Kind
    entries: NDArray[Any]
    """(n,) Doubles, NaN where missing (dates in days since 1970), or objects, None where missing.
    """
    order: tuple[Any, ...] = ()
    """The levels of an ordered category, from the lowest on."""

    @property
    def missing(self) -> NDArray[np.bool_]:
        """(n,) Where values are missing."""
        if self.entries.dtype == object:
            return np.array([entry is None for entry in self.entries], dtype=bool)
        return np.asarray(np.isnan(self.entries))


@dataclass(frozen=True, eq=False)
class Records:
    """Records of a table, as their columns."""

    columns: tuple[Values, ...]

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.columns[0].entries)

    def __getitem__(self, rows: NDArray[np.intp] | slice) -> Records:
        """Return some of the rows."""
        return Records(tuple(replace(one, entries=one.entries[rows]) for one in self.columns))

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns."""
        return tuple(one.name for one in self.columns)

    def moments(self, weight: Floats) -> tuple[Floats, Floats]:
        """Return the weighted means of the columns, if all are numbers, and sums of squares.

        The squares are of differences from the mean. If values are missing, or no numbers, both are
        zero.
        """
        if any(one.kind != "number" or one.missing.any() for one in self.columns):
            return np.zeros(len(self.columns)), np.zeros(len(self.columns))
        X = np.stack([one.entries for one in self.columns], axis=1)
        mean = weight @ X / max(float(weight.sum()), np.finfo(float).tiny)
        return mean, weight @ (X - mean) ** 2

    @classmethod
    def joined(cls, parts: Sequence[Records]) -> Records:
        """Return the rows of several parts of a table, one after another."""
        return cls(tuple(map(_joined, zip(*(part.columns for part in parts), strict=True))))


def _joined(parts: Sequence[Values]) -> Values:
    """Return the values of a column in several parts of a table."""
    known = [part for part in parts if not part.missing.all()] or parts[:1]
    kinds = dict.fromkeys(part.kind for part in known)
    if len(kinds) > 1:
        raise TypeError(
            f"column {parts[0].name!r} of X must hold values of one kind in every block; got "
            f"{' and '.join(_WORDS[kind] for kind in kinds)}"
        )
    first = known[0]
    order = tuple(dict.fromkeys(level for part in known for level in part.order))
    entries = np.concatenate([_as_kind(part, first.kind).entries for part in parts])
    return replace(first, entries=entries, order=order)


def seen(parts: Sequence[Values]) -> Values:
    """Return the different values of a column in several parts; of numbers the extremes."""
    joined = _joined(parts)
    entries = joined.entries
    if entries.dtype == object:
        few = np.empty(len(levels := dict.fromkeys(entries.tolist())), dtype=object)
        few[:] = list(levels)
        return replace(joined, entries=few)
    known = entries[~joined.missing]
    ends = [known.min(), known.max()] if len(known) else []
    fraction = known[known % 1 != 0][:1].tolist()  # a time of the day
    lacking = [math.nan] if len(known) < len(entries) else []
    return replace(joined, entries=np.array([*ends, *fraction, *lacking]))


def _as_kind(values: Values, kind: Kind) -> Values:
    """Return values of a kind; if all are missing, they may be of any type."""
    if values.kind == kind or not values.missing.all():
        return values
    lacking = None if kind in ("category", "ordered") else math.nan
    entries = np.full(len(values.entries), lacking)
    return replace(values, kind=kind, entries=entries)


@dataclass(frozen=True)
class Column:
    """What became of a column."""

    name: str
    kind: Kind
    centers: tuple[float, ...] = ()
    """Medians of its numbers, which stand for missing ones."""
    periods: tuple[float, ...] = ()
    """Days of the circles of a date."""
    levels: tuple[Any, ...] = ()
    """Levels of a category, in order."""
    limit: float = math.inf
    """Distance of two levels, or of a missing value from others; infinity for numbers alone."""

    @classmethod
    def of(cls, values: Values, weight: Floats, *, scaled: bool, known: Values) -> Column:
        """Return what becomes of a column whose rows have weights.

        `known` holds the different values, of which `values` may be a sample. If `scaled`, a
        category varies as much as a number of variance 1, otherwise levels are as far apart as
        indicators.
        """
        name, kind = known.name, known.kind
        values = _as_kind(values, kind)
        present, absent = ~values.missing, known.missing
        if kind in ("category", "ordered"):
            levels = set(known.entries.tolist()) - {None}
            column = cls(name, kind, levels=known.order or tuple(sorted(levels, key=_sorting)))
            codes = column._codes(values)
            shares = np.bincount(np.unique(codes, return_inverse=True)[1], weights=weight)
            apart = 1 - float(np.square(shares / weight.sum()).sum())
            limit = math.sqrt(2 / max(apart, _LEAST) if scaled else 2.0)
            if kind == "category":
                return replace(column, limit=limit)
            return replace(column, centers=(_median(codes[present]),), limit=limit * _DEVIATION)
        periods: tuple[float, ...] = ()
        if kind == "date" and not absent.all():
            days = known.entries[~absent]
            span, has_times = float(np.ptp(days)), bool((days % 1 != 0).any())
            periods = tuple(p for p, least in _PERIODS if span >= least and (p != 1 or has_times))
        column = cls(name, kind, periods=periods)
        centers = tuple(_median(part[present]) for part in column._numbers(values))
        lacks = _MISSING if scaled else math.sqrt(2.0)
        return replace(column, centers=centers, limit=lacks if absent.any() else math.inf)

    @property
    def is_category(self) -> bool:
        """Whether the column has levels."""
        return self.kind in ("category", "ordered")

    def of_kind(self, values: Values) -> Values:
        """Return new values as those of the fit, or raise TypeError if they are of another kind."""
        values = _as_kind(values, self.kind)
        if values.kind == self.kind or (
            self.is_category and values.kind in ("category", "ordered")
        ):
            return values
        raise TypeError(
            f"column {self.name!r} of X must hold {_WORDS[self.kind]}, as in fit; got "
            f"{_WORDS[values.kind]}"
        )

    def features(self, values: Values) -> tuple[list[Floats], list[Floats]]:
        """Return the features that are numbers, and those that are codes."""
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
        codes = [numbers.setdefault(level, -len(numbers)) for level in values.entries.tolist()]
        return np.array(codes, dtype=np.float64)

    def _numbers(self, values: Values) -> list[Floats]:
        """Return the numbers of a column, with missing ones."""
        if self.kind == "number":
            return [values.entries]
        days: Floats = values.entries
        parts: list[Any] = [days / _YEAR]
        for period in self.periods:
            # 1970-01-01 was a Thursday; where the circle begins does not matter.
            angle = 2 * math.pi * (days / period % 1)
            parts += [np.cos(angle), np.sin(angle)]
        return parts


@dataclass(frozen=True, eq=False)
class Columns:
    """The columns of a table, and the features that they became.

    First come the features that are numbers, then the codes, in the order of the columns.
    """

    columns: tuple[Column, ...]

    @classmethod
    def of(
        cls,
        rows: Records,
        weight: Floats,
        *,
        scaled: bool,
        seen: Sequence[Values] | None = None,
    ) -> Columns:
        """Return the columns of a table whose rows, perhaps a sample of all, have weights.

        `seen` holds the different values in all rows. Numbers are to be `scaled` to variance 1.
        """
        each = zip(rows.columns, seen or rows.columns, strict=True)
        return cls(tuple(Column.of(one, weight, scaled=scaled, known=all) for one, all in each))

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
        return all(column.kind == "number" and math.isinf(column.limit) for column in self.columns)

    @property
    def groups(self) -> tuple[int, ...]:
        """(n_features,) The column of each feature."""
        parts = [[k] * len(one.centers) for k, one in enumerate(self.columns)]
        codes = [[k] for k, one in enumerate(self.columns) if math.isfinite(one.limit)]
        return tuple(k for each in parts + codes for k in each)

    @property
    def limits(self) -> tuple[float, ...]:
        """(n_features,) Distance of two levels; infinity for numbers."""
        limits = [one.limit for one in self.columns if math.isfinite(one.limit)]
        return (math.inf,) * self.n_numbers + tuple(limits)

    @property
    def n_numbers(self) -> int:
        """Number of the features that are numbers."""
        return sum(len(one.centers) for one in self.columns)

    @property
    def shares(self) -> Floats:
        """(n_numbers,) Standard deviations of the numbers after scaling: of a date less than 1."""
        sizes = [len(one.centers) for one in self.columns]
        return np.repeat(1 / np.sqrt(np.maximum(sizes, 1)), sizes)

    def features(self, rows: Records) -> Floats:
        """Return the (n, n_features) features of rows of a table with the same columns."""
        numbers, codes = list[Floats](), list[Floats]()
        for column, values in zip(self.columns, rows.columns, strict=True):
            own, coded = column.features(column.of_kind(values))
            numbers += own
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
        return replace(kernel, groups=self.groups, limits=self.limits)


_WORDS = {
    "number": "numbers",
    "category": "categories",
    "ordered": "ordered categories",
    "date": "dates",
}


def _median(values: Floats) -> float:
    return float(np.median(values)) if len(values) else 0.0


def _sorting(level: Any) -> tuple[str, Any]:
    """Return a key that sorts levels of different types."""
    number = isinstance(level, numbers.Real)
    return ("", level) if number else (type(level).__name__, str(level))


# --- reading -------------------------------------------------------------------------------------


def names(X: Any, table: Any) -> list[str]:
    """Return the names of the columns of `X`, or their numbers; `table` has as many."""
    if is_frame(X):
        return [str(name) for name in X.columns]
    return [str(k) for k in range(table.shape[1])]


def chosen(features: Any, names: Sequence[str]) -> list[bool | None]:
    """Return which columns are categories by the parameter `categorical_features`.

    None leaves a column to its type.
    """
    if isinstance(features, str):
        if features == "from_dtype":
            return [None] * len(names)
        raise _wrong(features)
    if features is None:
        return [False] * len(names)
    try:
        given = np.asarray(features)
    except ValueError:
        raise _wrong(features) from None
    if given.ndim != 1 or (given.dtype.kind not in "biuUO" and given.size):
        raise _wrong(features)
    if given.dtype == bool:
        if len(given) != len(names):
            raise ValueError(
                f"categorical_features must hold one bool for each of {len(names)} columns; got "
                f"{len(given)}"
            )
        return [bool(is_category) for is_category in given]
    found: list[bool | None] = [False] * len(names)
    for feature in given.tolist():
        try:
            place = names.index(feature) if isinstance(feature, str) else range(len(names))[feature]
        except (IndexError, TypeError, ValueError):
            raise ValueError(
                f"categorical_features must name columns of X; got {feature!r}"
            ) from None
        found[place] = True
    return found


def _wrong(features: object) -> ValueError:
    return ValueError(
        'categorical_features must be "from_dtype", None, or an array of names, of numbers or of '
        f"bools of columns; got {features!r}"
    )


def read(X: Any, names: Sequence[str], chosen: Sequence[bool | None]) -> Records:
    """Return the rows of a frame or an array.

    `chosen` says which columns are categories: True, False, or None where the type decides.
    """
    columns: Iterable[Any] = X.T if isinstance(X, np.ndarray) else _series(X)
    each = zip(names, columns, chosen, strict=True)
    return Records(tuple(_values(name, column, is_category) for name, column, is_category in each))


def read_as(known: Columns, X: Any) -> Records:
    """Return new rows of a table with known columns."""
    names = [column.name for column in known.columns]
    return read(X, names, [column.is_category or None for column in known.columns])


def is_frame(X: Any) -> bool:
    """Return whether X is a data frame."""
    return hasattr(X, "columns") and (hasattr(X, "dtypes") or hasattr(X, "__dataframe__"))


def has_types(X: Any) -> bool:
    """Return whether the columns of a table have types: of a frame, or an array with strings."""
    if isinstance(X, np.ndarray) and X.dtype == object and X.ndim == 2:
        return any(isinstance(entry, str) for entry in X.flat)
    return is_frame(X)


def _series(X: Any) -> list[Any]:
    """Return the columns of a frame."""
    if hasattr(X, "get_columns"):  # polars
        return list(X.get_columns())
    if not hasattr(X, "iloc") and hasattr(X, "to_pandas"):  # Arrow and others
        X = X.to_pandas()
    return [X.iloc[:, k] for k in range(X.shape[1])]


def _values(name: str, column: Any, is_category: bool | None) -> Values:
    """Return the values of a column."""
    kind, entries, order = _typed(name, column)
    if is_category and kind == "number":
        found = entries.astype(object)
        found[np.isnan(entries)] = None
        return Values(name, "category", found)
    if is_category is False and kind == "category" and set(map(type, entries)) <= _BOOLS:
        kind, entries = "number", np.array([math.nan if e is None else e for e in entries], float)
    if is_category is False and kind in ("category", "ordered"):
        raise TypeError(
            f"column {name!r} of X must hold numbers, or be one of categorical_features; got "
            f"{column.dtype}"
        )
    if kind == "number" and np.isinf(entries).any():
        raise ValueError(f"column {name!r} of X must not hold infinity")
    return Values(name, kind, entries, order)


def _typed(name: str, column: Any) -> tuple[Kind, NDArray[Any], tuple[Any, ...]]:
    """Return the kind of a column, its entries, and its order."""
    dtype = column.dtype
    text = str(dtype).lower()
    if hasattr(column, "to_list") and text.startswith(("cat", "enum")):
        return _categories(column)
    kind = getattr(dtype, "kind", "")
    if not kind:  # of polars
        kind = "f" if dtype.is_numeric() else "M" if text.startswith("date") else "O"
    if kind == "b" and hasattr(column, "isna") and not column.isna().any():
        return "category", np.asarray(column).astype(object), ()
    if kind in "iuf":
        return "number", _doubles(column), ()
    if kind == "M":
        if getattr(dtype, "tz", None) is not None:
            column = column.dt.tz_localize(None)
        return "date", _days(np.asarray(column.to_numpy())), ()
    if kind == "m":
        return "number", _days(np.asarray(column.to_numpy())), ()
    if kind == "c":
        raise TypeError(f"column {name!r} of X must hold real numbers; got {dtype}")
    return _of_objects(name, column)


def _doubles(column: Any) -> Floats:
    """Return numbers as doubles, missing ones as NaN."""
    if hasattr(column, "to_numpy") and hasattr(column, "isna"):
        return np.asarray(column.to_numpy(dtype=np.float64, na_value=math.nan))
    if hasattr(column, "to_numpy"):
        return np.asarray(column.to_numpy(), dtype=np.float64)
    return np.asarray(column, dtype=np.float64)


def _days(entries: NDArray[Any]) -> Floats:
    """Return dates or durations in days, missing ones as NaN."""
    unit = entries.dtype.kind
    seconds = entries.astype(f"{unit}8[us]").astype(np.int64) / 1e6
    return np.where(np.isnat(entries), math.nan, seconds / _SECONDS)


def _categories(column: Any) -> tuple[Kind, NDArray[Any], tuple[Any, ...]]:
    """Return the levels of a column of categories."""
    known = getattr(column, "cat", None)
    if hasattr(known, "codes"):
        levels = column.cat.categories.tolist()
        each = np.empty(len(levels) + 1, dtype=object)
        each[:-1], each[-1] = levels, None
        entries = each[np.asarray(column.cat.codes)]
        ordered = bool(column.cat.ordered)
        return ("ordered" if ordered else "category"), entries, tuple(levels) if ordered else ()
    return "category", np.array(column.to_list(), dtype=object), ()


def _of_objects(name: str, column: Any) -> tuple[Kind, NDArray[Any], tuple[Any, ...]]:
    """Return the kind and the entries of a column of objects, by their types."""
    entries = np.empty(len(column), dtype=object)
    entries[:] = [None if _lacks(entry) else entry for entry in column]
    present = [entry for entry in entries if entry is not None]
    if all(isinstance(entry, (str, bool, np.bool_)) for entry in present):
        _refuse_text(name, present)
        return "category", entries, ()
    if all(isinstance(entry, numbers.Real) for entry in present):
        return "number", np.array([math.nan if e is None else e for e in entries], dtype=float), ()
    if all(isinstance(entry, (datetime.date, np.datetime64)) for entry in present):
        return "date", _days(np.array(entries, dtype="M8[us]")), ()
    types = sorted({type(entry).__name__ for entry in present})
    raise TypeError(
        f"column {name!r} of X must hold values of one kind: numbers, strings, booleans or dates; "
        f"got {', '.join(types)}"
    )


def _lacks(entry: Any) -> bool:
    """Return whether an entry says that a value is missing: None, NaN, NaT, NA of pandas."""
    if entry is None or type(entry).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(entry, float) and math.isnan(entry)


def require_labels(y: Any) -> None:
    """Raise ValueError if labels that may be objects are missing."""
    labels = np.asarray(y)
    if labels.dtype != object or labels.ndim == 0:
        return
    for row, label in enumerate(labels.ravel()):
        if _lacks(label):
            raise ValueError(f"y must not lack labels; got {label!r} in row {row}")


def _refuse_text(name: str, present: Sequence[Any]) -> None:
    """Raise ValueError for a column of text, in which nearly all rows differ."""
    distinct = set(present)
    least, share, length = _TEXT
    if len(distinct) <= max(least, share * len(present)):
        return
    mean = sum(len(str(entry)) for entry in distinct) / len(distinct)
    if mean > length:
        raise ValueError(
            f"column {name!r} of X must hold categories; it holds text, {len(distinct)} different "
            f"strings of {mean:.0f} characters on average. Leave it out, or make numbers of it "
            "before the classifier: make_pipeline(skrub.TableVectorizer(), BayesPointClassifier())"
        )
