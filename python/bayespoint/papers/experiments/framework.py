"""What an experiment is made of, and how its results are laid out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

Row: TypeAlias = dict[str, Any]
"""A unit of work, what was measured of it, or both: numbers and texts by name."""


@dataclass(frozen=True)
class Settings:
    """How to run an experiment."""

    splits: int
    """Repetitions: random splits, runs or orders."""

    quick: bool = False
    """Whether a reduced form is wanted, for tests."""

    seed: int = 0
    """Seed of everything."""

    def seed_of(self, *numbers: int) -> int:
        """Return a seed for a unit of work, from the numbers that tell it from the others."""
        state = np.random.SeedSequence([self.seed, *numbers]).generate_state(1, np.uint64)
        return int(state[0])


@dataclass(frozen=True)
class Table:
    """A table of texts."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]

    def markdown(self) -> str:
        """Return the table in Markdown, its columns aligned."""
        lines = [list(self.columns), *(list(row) for row in self.rows)]
        widths = [max(len(line[k]) for line in lines) for k in range(len(self.columns))]
        texts = [
            " | ".join(
                cell.ljust(width) if k == 0 else cell.rjust(width)
                for k, (cell, width) in enumerate(zip(line, widths, strict=True))
            )
            for line in lines
        ]
        rule = "|".join(
            "-" * (width + 2) if k == 0 else "-" * (width + 1) + ":"
            for k, width in enumerate(widths)
        )
        head, *rest = (f"| {text} |" for text in texts)
        return "\n".join([f"**{self.title}**", "", head, f"|{rule}|", *rest])


@dataclass(frozen=True)
class Claim:
    """Something that the paper or the theory says, and whether it came out here."""

    text: str
    holds: bool


@dataclass(frozen=True)
class Report:
    """What all units of an experiment together say."""

    tables: Sequence[Table]
    claims: Sequence[Claim] = ()
    remarks: Sequence[str] = ()


def no_units(settings: Settings) -> list[Row]:
    """Return no units of work: for what is computed while it is laid out."""
    return []


def nothing(unit: Row, settings: Settings) -> Row:
    """Measure no unit, because there is none."""
    raise NotImplementedError("computed while it is laid out: there is no unit of work")


@dataclass(frozen=True)
class Experiment:
    """A table or a figure of a paper."""

    name: str
    """What it is called on the command line."""

    title: str
    """One line."""

    paper: str
    """Which paper: a key of `bayespoint.papers.experiments.pages.PAPERS`."""

    about: str
    """What is done, for the page of the paper."""

    units: Callable[[Settings], Iterable[Row]]
    """The units of work, distinguished by their values."""

    measure: Callable[[Row, Settings], Row]
    """Measures a unit, maybe in another process."""

    report: Callable[[list[Row], Settings], Report]
    """Makes tables of all rows, in the order of the units."""

    draw: Callable[[list[Row], Settings, Any], None]
    """Draws all rows into a matplotlib figure."""

    splits: int = 0
    """Repetitions by default; 0 where there is nothing to repeat."""

    quick_splits: int = 0
    """Repetitions in the quick form."""

    rows: str = ""
    """Name of the file of rows, if it is not that of the experiment: experiments with the same
    units share it."""

    size: tuple[float, float] = field(default=(9.6, 4.8))
    """Of the picture, in inches."""

    def settings(
        self, *, quick: bool = False, splits: int | None = None, seed: int = 0
    ) -> Settings:
        """Return settings, the repetitions by default if they are not given.

        Raises
        ------
        ValueError
            If repetitions are given where there is nothing to repeat.
        """
        if splits is not None and not self.splits:
            raise ValueError(
                f"splits must be None for {self.name}, which repeats nothing; got {splits}"
            )
        default = self.quick_splits if quick else self.splits
        return Settings(default if splits is None else splits, quick, seed)


def select(rows: Iterable[Row], **wanted: Any) -> list[Row]:
    """Return the rows that have these values."""
    return [row for row in rows if all(row[key] == value for key, value in wanted.items())]


def column(rows: Iterable[Row], name: str) -> Any:
    """Return one value of each row as an array."""
    return np.array([row[name] for row in rows])


def mean_and_error(values: ArrayLike) -> tuple[float, float]:
    """Return the mean and its standard error, NaN for a single value."""
    array = np.asarray(values, dtype=np.float64)
    error = array.std(ddof=1) / np.sqrt(len(array)) if len(array) > 1 else np.nan
    return float(array.mean()), float(error)


def plus_minus(mean: float, error: float, digits: int = 2) -> str:
    """Return a mean with its standard error as text."""
    return f"{mean:.{digits}f} ± {error:.{digits}f}" if error == error else f"{mean:.{digits}f}"
