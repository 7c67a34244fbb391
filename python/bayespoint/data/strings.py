"""Strings that are numbers or dates, as CSV files have them."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from bayespoint.base.warnings import warn
from bayespoint.data.columns import Column, Kind, Values

_LEAST = 10  # least number of different strings that tell that a column holds numbers or dates
_OTHERS, _SHARE = 2, 0.05  # most other strings there, or their share of the different ones
_NAMES = (50, 0.9)  # beyond this number and share of rows different strings are names of rows
_TOLD = 3  # strings that a warning shows

_CODE = re.compile(r"0\d+")  # as "007"
_NUMBER = re.compile(r"[+-]?(0|[1-9]\d*)?(\.\d*)?([eE][+-]?\d+)?")
_DATE = re.compile(
    r"(\d{4})([-/])(\d\d?)\2(\d\d?)"
    r"(?:[ T](\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?))?(?P<zone>Z|[+-]\d\d:?\d\d)?"
)
_MONTH = "(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*"
# What is not read: day and month may be meant in either order, a comma may divide thousands.
_ALIKE = re.compile(
    rf"(?:\d\d?([-/. ])(?:\d\d?|{_MONTH})\1\d{{4}}|\d\d?/\d\d?/\d\d|"
    rf"\d{{4}}[-/]\d\d?[-/]\d\d?|{_MONTH}[- ](?:\d\d?[a-z]*,? )?\d{{4}})(?!\d)|"
    r"(?=.*[,%$€£])[-+$€£ ]*\d+(?:[.,]\d+)*[%$€£ ]*$",
    re.IGNORECASE,
)


def _number(text: str) -> float | None:
    text = text.strip()
    try:
        number = float(text) if _NUMBER.fullmatch(text) else math.inf
    except ValueError:  # no digit
        return None
    return number if math.isfinite(number) else None


def _days(text: str, *, zoned: bool) -> float | None:
    """Return the days since 1970, in UTC with `zoned`; None for a string of the other sort."""
    match = _DATE.fullmatch(text.strip())
    if match is None or (match["zone"] is not None) != zoned:
        return None
    year, _, month, day, time, offset = match.groups()
    try:
        moment = np.datetime64(f"{year}-{month:0>2}-{day:0>2}T{time or '00:00'}", "us")
    except ValueError:  # no such day or time
        return None
    days = moment.astype(np.int64) / 8.64e10
    if offset in (None, "Z"):
        return days
    ahead = (60 * int(offset[1:3]) + int(offset[-2:])) / 1440
    return days - ahead if offset[0] == "+" else days + ahead


_WAYS: tuple[tuple[Kind, str, Callable[[str], float | None]], ...] = (
    ("number", "", _number),
    ("date", "", partial(_days, zoned=False)),
    ("date", "UTC", partial(_days, zoned=True)),
)


def _texts(values: Values) -> list[str]:
    """Return the different strings of a column of strings; none if it holds booleans, too."""
    if not values.is_text:
        return []
    levels = list(dict.fromkeys(values.present))
    return levels if all(isinstance(level, str) for level in levels) else []


def _others(known: Mapping[str, float | None]) -> tuple[str, ...]:
    """Return the strings that are not read."""
    return tuple(text for text, number in known.items() if number is None)


def recognized(values: Values) -> Values:
    """Return a category as numbers or dates if nearly all of its different strings are such.

    Others are missing then. Times with an offset are those of UTC.
    """
    texts = _texts(values)
    for kind, zone, read in _WAYS:
        known = {text: read(text) for text in texts}
        n, others = len(known), len(_others(known))
        if n - others >= _LEAST and others <= max(_OTHERS, _SHARE * n):
            return _read(values, kind, zone, known)
    return values


def read_as(values: Values, column: Column) -> Values:
    """Return strings of new rows as numbers or dates; others are missing.

    A warning tells those that were not missing in the fit.
    """
    if column.unread is None or not (texts := _texts(values)):
        return values
    ways = [
        (zone, {text: read(text) for text in texts})
        for kind, zone, read in _WAYS
        if kind == column.kind
    ]
    zone, known = min(ways, key=lambda way: len(_others(way[1])))
    if new := [text for text in _others(known) if text not in column.unread]:
        warn(
            f"column {values.name!r} of X holds strings that are no {column.kind}s, as those of "
            f"fit were, and count as missing: {_shown(new)}",
            UserWarning,
        )
    return _read(values, column.kind, zone, known)


def _shown(others: Sequence[str]) -> str:
    return ", ".join(map(repr, others[:_TOLD]))


def _read(values: Values, kind: Kind, zone: str, known: Mapping[str, float | None]) -> Values:
    """Return the strings as what they are known to be."""
    entries = np.array([known.get(entry) for entry in values.entries], dtype=np.float64)
    return replace(values, kind=kind, entries=entries, zone=zone, unread=_others(known))


def warn_of(columns: Sequence[Values]) -> None:
    """Warn of columns of strings that were read as numbers or dates, and of names of rows."""
    told = []
    for values in columns:
        if values.unread is not None:
            more = f"; missing where it is {_shown(values.unread)}" if values.unread else ""
            told.append(f"column {values.name!r} ({values.kind}s{more})")
    if told:
        warn(
            f"X holds strings that are numbers or dates, and they are read as such: "
            f"{', '.join(told)}. To keep them as categories, give them that type: "
            'astype("category")',
            UserWarning,
        )
    for values in columns:
        if values.kind == "category" and values.is_text:
            _warn_of_levels(values.name, values.present)


def warn_of_blocks(columns: Sequence[Values]) -> None:
    """Warn of columns of strings in blocks, which stay categories, that are numbers or dates."""
    for values in columns:
        if (other := recognized(values)).unread is not None:
            warn(
                f"column {values.name!r} of X holds strings that are {other.kind}s, which in "
                f"blocks are categories: make {other.kind}s of them (to_numeric, to_datetime), or "
                'give them that type, astype("category")',
                UserWarning,
            )


def _warn_of_levels(name: str, present: Sequence[Any]) -> None:
    """Warn of strings that stay categories but look like dates or numbers, or name rows."""
    levels = list(map(str, dict.fromkeys(present)))
    least, share = _NAMES
    alike = [
        level
        for level in levels
        if any(read(level) is not None for _, _, read in _WAYS) or _ALIKE.match(level.strip())
    ]
    coded = any(map(_CODE.fullmatch, levels))
    if len(alike) >= max(_LEAST, len(levels) / 2) and not coded:
        warn(
            f"column {name!r} of X holds strings such as {alike[0]!r}, which are taken as "
            "categories: if they are dates or numbers, convert them (pandas.to_datetime, "
            "pandas.to_numeric)",
            UserWarning,
        )
    elif (n := len(levels)) > max(least, share * len(present)):
        warn(
            f"column {name!r} of X holds {n} different strings in {len(present)} rows: "
            "as categories they tell nothing about other rows. Leave it out, or make numbers "
            "or dates of it",
            UserWarning,
        )
