"""The parts of an experiment, and the layout of its results."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib import resources
from typing import Any

import numpy as np

from bayespoint.papers.experiments.rows import Row, Rows, grid


@dataclass(frozen=True)
class Settings:
    """Settings of an experiment."""

    splits: int
    """Repetitions: random splits, runs or orders."""

    quick: bool = False
    """Whether to run a reduced form, for tests."""

    seed: int = 0
    """Seed of all random numbers."""

    def seed_of(self, *numbers: int) -> int:
        """Return a seed for the unit of work that the numbers identify."""
        state = np.random.SeedSequence([self.seed, *numbers]).generate_state(1, np.uint64)
        return int(state[0])


SPLITS = range(0)
"""Stands for the numbers of the repetitions, in `units_of`."""


def units_of(
    quick: Mapping[str, Iterable[Any]] | None = None, **columns: Iterable[Any]
) -> Callable[[Settings], list[Row]]:
    """Return the function of all combinations of some values, in the quick form of others."""

    def units(settings: Settings) -> list[Row]:
        chosen = columns | dict(quick or {}) if settings.quick else columns
        splits = range(settings.splits)
        return grid(**{key: splits if chosen[key] is SPLITS else chosen[key] for key in chosen})

    return units


@dataclass(frozen=True)
class Table:
    """A table of texts."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]

    def markdown(self) -> str:
        """Return the table in Markdown, its columns aligned."""
        lines = [self.columns, *self.rows]
        first, *others = (max(map(len, column)) for column in zip(*lines, strict=True))
        rule = ["-" * (first + 2), *("-" * (width + 1) + ":" for width in others)]
        head, *rest = (
            " | ".join([name.ljust(first), *map(str.rjust, cells, others)])
            for name, *cells in lines
        )
        return "\n".join(
            [f"**{self.title}**", "", f"| {head} |", f"|{'|'.join(rule)}|"]
            + [f"| {line} |" for line in rest]
        )


VERDICTS = {True: "Holds", False: "**Does not hold**", None: "Undecided"}
"""Words for what became of a claim."""


@dataclass(frozen=True)
class Claim:
    """A statement of the paper or of the theory, and whether it holds here."""

    text: str
    holds: bool | None
    """None: undecided, neither it nor the contrary is shown."""

    general: bool = False
    """Whether it says that nothing differs, or that all agree, which few units do not refute."""


@dataclass(frozen=True)
class Report:
    """The results of an experiment."""

    tables: Sequence[Table]
    claims: Sequence[Claim] = ()
    remarks: Sequence[str] = ()

    def markdown(self) -> str:
        """Return the report in Markdown."""
        parts = [table.markdown() for table in self.tables]
        if self.claims:
            lines = [f"- {VERDICTS[claim.holds]}: {claim.text}" for claim in self.claims]
            parts.append("\n".join(lines))
        return "\n\n".join([*parts, *self.remarks])


@dataclass(frozen=True)
class Text:
    """The words of an experiment: its title, its description, its claims and its remarks.

    They are templates of :meth:`str.format`, whose places are filled with measured numbers.
    """

    paper: str
    """Its paper: a key of `bayespoint.papers.experiments.pages.PAPERS`."""

    name: str
    """Name of the experiment on the command line."""

    title: str
    """Heading, one line."""

    about: str
    """Description, for the page of the paper."""

    parts: Mapping[str, str] = field(default_factory=dict)
    """Tables, claims and remarks by their keys. A table is its title and its column names."""

    @classmethod
    def of(cls, paper: str, name: str, **values: Any) -> Text:
        """Read ``texts/PAPER/NAME.md``: title, description, each part below a heading, its key.

        Lines are joined. The values fill the places of the description.
        """
        path = resources.files(__package__) / "texts" / paper / f"{name}.md"
        _, title, about, *rest = re.split(r"^#+ (.+)\n", path.read_text("utf-8"), flags=re.M)
        about, *parts = (re.sub(r"\n+", " ", body.strip("\n")) for body in (about, *rest[1::2]))
        parts_by_key = dict(zip(rest[::2], parts, strict=True))
        return cls(paper, name, title, about.format(**values), parts_by_key)

    def fill(self, key: str, **values: Any) -> str:
        """Return a part with its places filled."""
        return self.parts[key].format(**values)

    def table(self, key: str, rows: Iterable[Iterable[object]], **values: Any) -> Table:
        """Return a table with its title and the names of its columns, their places filled.

        A value may hold the names of several columns, with `` | `` between them.
        """
        title, *columns = self.fill(key, **values).removesuffix(" |").split(" | ")
        return Table(title, columns, [[f"{cell}" for cell in row] for row in rows])

    def claim(
        self, key: str, holds: bool | np.bool_ | None, *, general: bool = False, **values: Any
    ) -> Claim:
        """Return a claim with its places filled."""
        verdict = None if holds is None else bool(holds)
        return Claim(self.fill(key, **values), verdict, general)

    def claims(
        self,
        key: str,
        verdicts: Mapping[str, bool | np.bool_ | None],
        *,
        general: bool = False,
        **values: Any,
    ) -> list[Claim]:
        """Return one claim for each verdict, with those that it is of at the place `names`."""
        names: dict[bool | None, list[str]] = {}
        for name, holds in verdicts.items():
            names.setdefault(None if holds is None else bool(holds), []).append(name)
        return [
            self.claim(key, holds, general=general, names="; ".join(those), **values)
            for holds, those in names.items()
        ]

    def unless(self, key: str, exceptions: Sequence[str], words: str, **values: Any) -> Claim:
        """Return a general claim but for exceptions, which end its sentence after `words`."""
        ending = f"{words}{', '.join(exceptions)}" if exceptions else ""
        return self.claim(key, not exceptions, general=True, exceptions=ending, **values)


def no_units(settings: Settings) -> list[Row]:
    """Return no units of work, for experiments that compute everything in the report."""
    return []


def measure_nothing(unit: Row, settings: Settings) -> Row:
    """Raise an error, because there are no units."""
    raise NotImplementedError("there are no units of work")


@dataclass(frozen=True)
class Experiment:
    """A table or a figure of a paper."""

    text: Text
    """Its words."""

    report: Callable[[Rows, Settings], Report]
    """Makes the report of all rows, in the order of the units."""

    draw: Callable[[Rows, Settings, Any], None]
    """Draws all rows into a matplotlib figure."""

    units: Callable[[Settings], Iterable[Row]] = no_units
    """The units of work, distinguished by their values; by default none."""

    measure: Callable[[Row, Settings], Row] = measure_nothing
    """Measures a unit, possibly in another process."""

    splits: int = 0
    """Default number of repetitions; 0 if there is nothing to repeat."""

    quick_splits: int = 0
    """Number of repetitions in the quick form."""

    rows: str = ""
    """Name of the file of rows, if not that of the experiment: experiments with the same units
    share one."""

    size: tuple[float, float] = (9.6, 4.8)
    """Size of the picture, in inches."""

    def judged(self, rows: Rows, settings: Settings) -> Report:
        """Return the report; claims that the units of a reduced form do not show are undecided."""
        report = self.report(rows, settings)
        if not settings.quick or self.units is no_units:
            return report
        claims = [
            replace(claim, holds=(claim.holds and not claim.general) or None)
            for claim in report.claims
        ]
        return replace(report, claims=claims)

    @property
    def name(self) -> str:
        """Name on the command line."""
        return self.text.name

    @property
    def paper(self) -> str:
        """The paper that it is of."""
        return self.text.paper

    def settings(
        self, *, quick: bool = False, splits: int | None = None, seed: int = 0
    ) -> Settings:
        """Return settings, with the default number of repetitions if `splits` is None.

        Raises
        ------
        ValueError
            If `splits` is given but there is nothing to repeat.
        """
        if splits is not None and not self.splits:
            raise ValueError(
                f"splits must be None for {self.name}, which repeats nothing; got {splits}"
            )
        default = self.quick_splits if quick else self.splits
        return Settings(default if splits is None else splits, quick, seed)
