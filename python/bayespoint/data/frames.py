"""Tables as people have them: frames of pandas, polars and others, and arrays, read by column."""

from __future__ import annotations

import datetime
import decimal
import math
import numbers
import zoneinfo
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from bayespoint.base.validation import Array, Floats, lacks
from bayespoint.data import strings
from bayespoint.data.columns import Column, Columns, Records, Values, as_kind

_TEXT = (50, 0.5, 40)  # beyond these levels, share of rows and mean length strings are text
_SECONDS = 86_400.0  # of a day

_DATES = (datetime.date, np.datetime64)
_DURATIONS = (datetime.timedelta, np.timedelta64)
_EXACT = 2.0**53  # from here on doubles are not all whole numbers


class Frame(NamedTuple):
    """A table by its columns, as they were given."""

    names: list[str]
    columns: Sequence[Any]
    named: bool = False  # whether the names are those of a frame, not numbers

    def read(self, categories: Any) -> Records:
        """Return the rows, with the columns that `categorical_features` names as categories."""
        asked = chosen(categories, self.names)
        return Records(tuple(map(_values, self.names, self.columns, asked)))

    def recognized(self, categories: Any) -> Records:
        """Return the rows, with a warning where strings are numbers or dates, or names of rows."""
        columns = tuple(map(strings.recognized, self.read(categories).columns))
        strings.warn_of(columns)
        return Records(columns)

    def read_as(self, known: Columns) -> Records:
        """Return new rows of a table with known columns."""
        wanted = [column.name for column in known.columns]
        if self.named and self.names != wanted and sorted(self.names) == sorted(wanted):
            pairs = zip(self.names, wanted, strict=True)
            here, there = next(pair for pair in pairs if pair[0] != pair[1])
            raise ValueError(
                f"X must have its columns in the order of fit; got {here!r} for {there!r}"
            )
        return Records(tuple(map(_values_as, self.columns, known.columns)))


def typed(X: Any) -> Frame | None:
    """Return a table whose columns have types: a frame, an array of strings or dates; else None.

    Raises an error for a frame that is not in memory, or whose columns have no names of use.
    """
    if hasattr(X, "collect"):  # its columns might not be known
        raise TypeError(f"X must be a frame in memory; got {type(X).__name__}: call .collect()")
    if isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype.kind in "OMm":
        kinds = (str, *_DATES, *_DURATIONS)
        if X.dtype.kind == "O" and not any(isinstance(entry, kinds) for entry in X.flat):
            return None
        frame = numbered(X)
    elif hasattr(X, "columns") and (hasattr(X, "dtypes") or hasattr(X, "__dataframe__")):
        # The columns of Arrow are arrays.
        names = X.columns if hasattr(X, "iloc") else getattr(X, "column_names", X.columns)
        frame = Frame(list(map(str, names)), _series(X), named=True)
    else:
        return None
    if not frame.names:
        raise ValueError("X must have at least one column; got none")
    if hasattr(X, "iloc") and not X.columns.is_unique:
        twice = X.columns[X.columns.duplicated()][0]
        raise ValueError(f"X must have different names of columns; got {twice!r} twice")
    return frame


def numbered(X: Array) -> Frame:
    """Return an array as a table whose columns have numbers for names."""
    return Frame([str(k) for k in range(X.shape[1])], list(X.T))


def _series(X: Any) -> list[Any]:
    if hasattr(X, "get_columns"):  # polars
        return list(X.get_columns())
    if not hasattr(X, "iloc") and hasattr(X, "to_pandas"):  # Arrow and others
        X = X.to_pandas()
    return [X.iloc[:, k] for k in range(X.shape[1])]


def chosen(features: Any, names: Sequence[str]) -> list[bool | None]:
    """Return which columns `categorical_features` names; None leaves one to its type."""
    if isinstance(features, str) and features == "from_dtype":
        return [None] * len(names)
    wanted = np.asarray(() if features is None else features, dtype=object)
    if wanted.ndim != 1 or not all(
        isinstance(feature, (str, numbers.Integral, np.bool_)) for feature in wanted
    ):
        raise ValueError(
            'categorical_features must be "from_dtype", None, or an array of names, of numbers or '
            f"of bools of columns; got {features!r}"
        )
    if len(wanted) and all(isinstance(feature, (bool, np.bool_)) for feature in wanted):
        if len(wanted) != len(names):
            raise ValueError(
                f"categorical_features must hold one bool for each of {len(names)} columns; got "
                f"{len(wanted)}"
            )
        return list(map(bool, wanted))
    are_categories: list[bool | None] = [False] * len(names)
    for feature in wanted.tolist():
        try:
            place = names.index(feature) if isinstance(feature, str) else range(len(names))[feature]
        except (IndexError, TypeError, ValueError):  # TypeError for a bool of NumPy
            raise ValueError(
                f"categorical_features must name columns of X; got {feature!r}"
            ) from None
        are_categories[place] = True
    return are_categories


def require_none(features: Any) -> None:
    """Raise ValueError if the parameter `categorical_features` names columns of what has none."""
    if features is not None and not (isinstance(features, str) and features == "from_dtype"):
        raise ValueError(
            f"categorical_features must name columns of a dense table, which X is not; got "
            f"{features!r}"
        )


def _values_as(column: Any, known: Column) -> Values:
    """Return new values of a column of the fit."""
    values = _values(known.name, column, known.is_category or None, known.zone)
    return strings.read_as(values, known)


def _values(name: str, column: Any, is_category: bool | None, zone: str = "") -> Values:
    values = _typed(name, column, zone)
    values = replace(values, is_text=values.is_text and is_category is None)
    kind, entries = values.kind, values.entries
    if is_category and kind == "number":
        levels = entries.astype(object)
        levels[values.missing] = None
        for k in np.flatnonzero(np.abs(entries) >= _EXACT):
            levels[k] = np.asarray(column, dtype=object)[k]
        return Values(name, "category", levels)
    if is_category and kind == "date":
        raise TypeError(
            f"column {name!r} of X must hold categories; got dates: make strings of them, or leave "
            "the column out of categorical_features"
        )
    if kind == "number" and np.isinf(entries).any():
        raise ValueError(f"column {name!r} of X must not hold infinity")
    if is_category is None and kind == "category" and not _is_categorical(column):
        _refuse_text(values)
    if is_category is False and kind in ("category", "ordered"):
        values = as_kind(values, "number")
        if values.kind != "number":
            raise TypeError(
                f"column {name!r} of X must hold numbers, or be one of categorical_features; got "
                f"{column.dtype}"
            )
    return values


def _typed(name: str, column: Any, zone: str) -> Values:
    """Return the values of a column by its type; times with a zone in that which is wanted."""
    dtype = column.dtype
    if _is_categorical(column):
        return _categories(name, column)
    kind = getattr(dtype, "kind", "")
    if not kind:  # of polars
        kind = "f" if dtype.is_numeric() else "M" if str(dtype).startswith("Date") else "O"
    if kind == "b" and hasattr(column, "isna") and not column.isna().any():
        return Values(name, "category", np.asarray(column).astype(object))
    if kind in "iuf":
        return Values(name, "number", _doubles(column))
    column, own = _local(column, zone)
    if kind in "Mm" and (entries := np.asarray(column)).dtype.kind == kind:
        return Values(name, "date" if kind == "M" else "number", _days(entries), zone=own)
    if kind == "c":
        raise TypeError(f"column {name!r} of X must hold real numbers; got {dtype}")
    return _of_objects(name, column, zone)


def _local(column: Any, wanted: str) -> tuple[Any, str]:
    """Return times of a frame as local ones of the wanted zone or their own, and this zone.

    Row by row, as objects are read, a million times would take half a minute.
    """
    dtype = column.dtype
    arrow = getattr(dtype, "pyarrow_dtype", None)
    of_pandas = getattr(dtype, "tz", None) or getattr(arrow, "tz", None)
    own = str(of_pandas or getattr(dtype, "time_zone", None) or "")
    if not own:
        return column, ""
    zone, times = wanted or own, column.dt
    if of_pandas is None:
        return times.convert_time_zone(zone).dt.replace_time_zone(None), zone
    moved = column if zone == own else times.tz_convert(zone)
    return moved.dt.tz_localize(None), zone


def _is_categorical(column: Any) -> bool:
    return hasattr(column, "to_list") and str(column.dtype).lower().startswith(("cat", "enum"))


def _doubles(column: Any) -> Floats:
    """Return numbers as doubles, missing ones as NaN."""
    if hasattr(column, "isna"):
        return column.to_numpy(dtype=np.float64, na_value=math.nan)
    return np.asarray(column.cast(float) if hasattr(column, "cast") else column, dtype=np.float64)


def _days(entries: Array) -> Floats:
    """Return dates or durations in days, missing ones as NaN."""
    unit = entries.dtype.kind
    seconds = entries.astype(f"{unit}8[us]").astype(np.int64) / 1e6
    return np.where(np.isnat(entries), math.nan, seconds / _SECONDS)


def _categories(name: str, column: Any) -> Values:
    known: Any = getattr(column, "cat", None)
    if hasattr(known, "codes"):
        # Intervals, dates and other objects by their text, which a file can hold.
        plain = (str, np.bool_, numbers.Real)
        levels = [level if isinstance(level, plain) else str(level) for level in known.categories]
        entries = np.array([*levels, None], dtype=object)[np.asarray(known.codes)]
        if known.ordered:
            return Values(name, "ordered", entries, tuple(levels))
        return Values(name, "category", entries)
    entries = np.array(column.to_list(), dtype=object)
    if str(column.dtype).lower().startswith("enum"):  # of polars, whose order counts
        return Values(name, "ordered", entries, tuple(column.dtype.categories))
    return Values(name, "category", entries)


def _of_objects(name: str, column: Any, zone: str) -> Values:
    """Return the values of a column of objects, by their types."""
    entries = np.fromiter((None if lacks(entry) else entry for entry in column), dtype=object)
    types = {type(entry) for entry in entries if entry is not None}

    def are(kinds: tuple[type, ...]) -> bool:
        return all(issubclass(kind, kinds) for kind in types)

    if are((str, bool, np.bool_)):
        return Values(name, "category", entries, is_text=not are((bool, np.bool_)))
    if are(_DURATIONS):  # those of NumPy are Real, too
        return Values(name, "number", _days(np.array(entries, dtype="m8[us]")))
    if are((numbers.Real, decimal.Decimal)):
        try:
            return Values(name, "number", entries.astype(np.float64))
        except OverflowError:  # of a whole number
            raise ValueError(f"column {name!r} of X must hold numbers below 1.8e308") from None
    if are(_DATES):
        local, zone = _without_zones(name, entries, zone)
        return Values(name, "date", _days(np.array(local, dtype="M8[us]")), zone=zone)
    raise TypeError(
        f"column {name!r} of X must hold numbers, strings, booleans or dates, all of one kind; got "
        f"{', '.join(sorted(kind.__name__ for kind in types))}"
    )


def _without_zones(name: str, entries: Array, wanted: str) -> tuple[list[Any], str]:
    """Return dates as local times of one zone, and this: the wanted one, their own, or UTC."""
    zones = {str(getattr(entry, "tzinfo", None) or "") for entry in entries if entry is not None}
    if zones <= {""}:
        return list(entries), ""
    if "" in zones:
        raise TypeError(
            f"column {name!r} of X must hold times that all have a zone, or none of them"
        )
    zone = wanted or (zones.pop() if len(zones) == 1 else "UTC")
    target = _zone_of(zone) if zones - {zone} else None
    moved = [entry and entry.astimezone(target) for entry in entries] if target else entries
    return [entry and entry.replace(tzinfo=None) for entry in moved], zone


def _zone_of(name: str) -> datetime.tzinfo | None:
    """Return the zone of a name, which may be an offset as Python writes it."""
    if name.startswith(("UTC+", "UTC-")):
        return datetime.datetime.strptime(name, "UTC%z").tzinfo
    return zoneinfo.ZoneInfo(name)


def _refuse_text(values: Values) -> None:
    """Raise ValueError for a column of text, in which nearly all rows differ."""
    present, (least, share, length) = values.present, _TEXT
    distinct = set(present)
    if len(distinct) <= max(least, share * len(present)):
        return
    mean = sum(len(str(entry)) for entry in distinct) / len(distinct)
    if mean > length:
        raise ValueError(
            f"column {values.name!r} of X must hold categories; it holds text, {len(distinct)} "
            f"different strings of {mean:.0f} characters on average. Leave it out, give it the "
            'type "category", or make numbers of it before the classifier: '
            "make_pipeline(skrub.TableVectorizer(), BayesPointClassifier())"
        )
