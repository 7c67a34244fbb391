"""Rows on disk, written as soon as they are measured, so that a run can be continued."""

from __future__ import annotations

import contextlib
import csv
import io
from collections.abc import Iterable
from pathlib import Path

from bayespoint.papers.data import write
from bayespoint.papers.experiments.rows import Row


class Store:
    """A CSV file of rows, each with its version and seed.

    Rows of another version or seed are not used, and are dropped when the file is next written.
    """

    def __init__(self, path: Path, version: str, seed: int) -> None:
        self.path = path
        self.origin = {"version": version, "seed": str(seed)}
        self.rows = [
            {key: _value(text) for key, text in row.items() if key not in self.origin}
            for row in _complete(path)
            if all(row.get(key) == value for key, value in self.origin.items())
        ]
        self.names = list(self.rows[0]) if self.rows else []

    def find(self, units: Iterable[Row]) -> list[Row | None]:
        """Return the row of each unit, or None."""
        keys = [{name: str(_value(str(value))) for name, value in unit.items()} for unit in units]
        known = {
            names: {tuple(str(row.get(name)) for name in names): row for row in self.rows}
            for names in {tuple(key) for key in keys}
        }
        return [known[tuple(key)].get(tuple(key.values())) for key in keys]

    def begin(self) -> None:
        """Rewrite the file without unused and incomplete rows, so that rows can be appended."""
        write(self._lines(self.rows, header=True) if self.rows else "", self.path)

    def add(self, row: Row) -> None:
        """Append a row."""
        first = not self.rows
        if first:
            self.names = list(row)
        if list(row) != self.names:
            raise ValueError(
                f"rows must have the columns of {self.path}, {self.names}; got {list(row)}. If the "
                "experiment was changed, delete that file"
            )
        self.rows.append({key: _value(str(value)) for key, value in row.items()})
        with self.path.open("a", encoding="utf-8", newline="") as file:
            file.write(self._lines([row], header=first))

    def _lines(self, rows: Iterable[Row], *, header: bool) -> str:
        buffer = io.StringIO()
        writer = csv.DictWriter(buffer, [*self.origin, *self.names], lineterminator="\n")
        if header:
            writer.writeheader()
        for row in rows:
            writer.writerow({**self.origin, **row})
        return buffer.getvalue()


def _complete(path: Path) -> list[dict[str, str]]:
    """Return the rows of a file, except an incomplete last one."""
    if not path.exists():
        return []
    text = path.read_text(encoding="utf-8")
    whole = text[: text.rfind("\n") + 1]
    rows = csv.DictReader(io.StringIO(whole))
    return [row for row in rows if None not in row and None not in row.values()]


def _value(text: str) -> float | int | str:
    """Return a text as a number if it is one."""
    with contextlib.suppress(ValueError):
        return int(text)
    with contextlib.suppress(ValueError):
        return float(text)
    return {"True": 1, "False": 0}.get(text, text)
