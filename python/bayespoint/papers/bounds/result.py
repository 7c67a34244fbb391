"""Results: a bound on the risk of one classifier, and the table of all bounds."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from bayespoint.results.result import as_columns, as_html

_HEAD = ("bound", "of", "region", "value")


@dataclass(frozen=True, eq=False, repr=False)
class RiskBound:
    """A bound on the risk of a classifier, with a probability of at least ``1 - delta``."""

    name: str
    """Name of the function of :mod:`bayespoint.papers.bounds`."""
    of: str
    """The classifier: "one draw", the "vote" of all, the "center", or another "weight vector"."""
    value: float
    """The bound; NaN if it is refused."""
    standard_error: float = 0.0
    """One standard error of `value` from the estimated volume; 0 if nothing was estimated."""
    region: str = ""
    """Part of version space whose volume is used; empty for none."""
    quantities: Mapping[str, float] = field(default_factory=dict)
    """Arguments of the function by name. `delta` is divided by the number of candidates."""
    condition: str = ""
    """An assumption beyond those of the theorem; empty for none."""
    reason: str = ""
    """Why the bound does not hold here and is refused; empty if it holds."""

    @property
    def refused(self) -> bool:
        """Whether the bound is refused."""
        return bool(self.reason)

    @property
    def vacuous(self) -> bool:
        """Whether the bound is refused, or at least 1."""
        return not self.value < 1

    def _figures(self) -> str:
        if self.refused:
            return "refused"
        error = f" ± {self.standard_error:.2g}" if self.standard_error else ""
        return f"{self.value:.4g}{error}{' (vacuous)' if self.vacuous else ''}"

    def _note(self) -> str:
        if self.refused:
            return self.reason
        return f"If {self.condition}." if self.condition else ""

    def __repr__(self) -> str:
        region = f", {self.region}" if self.region else ""
        return f"<RiskBound: {self.name} of {self.of}{region}: {self._figures()}>"


@dataclass(frozen=True, eq=False, repr=False)
class RiskBounds:
    """The bounds that apply to a classifier, and those that do not, with the reason.

    A sequence of `RiskBound`. Each holds by itself with probability at least ``1 - delta``: to
    use the smallest of k of them, compute them with ``delta / k``.
    """

    rows: tuple[RiskBound, ...]
    """The bounds, those refused last."""
    delta: float
    """Probability with which each may fail."""
    m: int
    """Number of examples."""

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[RiskBound]:
        return iter(self.rows)

    def __getitem__(self, index: int) -> RiskBound:
        return self.rows[index]

    def find(self, name: str, *, of: str | None = None, region: str | None = None) -> RiskBound:
        """Return the first bound with the given name, classifier and region.

        Parameters
        ----------
        name, of, region : str, default=None for `of` and `region`
            The attributes of `RiskBound`; None for any.

        Returns
        -------
        RiskBound
            The bound, which may be refused or vacuous. KeyError is raised if there is none.
        """
        for row in self.rows:
            if row.name == name and of in (None, row.of) and region in (None, row.region):
                return row
        known = ", ".join(sorted({row.name for row in self.rows}))
        asked = f"{name!r}, {of!r}, {region!r}"
        raise KeyError(f"name, of and region must be those of a row; got {asked} (names: {known})")

    def _notes(self) -> dict[str, str]:
        """Return the mark of each condition and reason."""
        notes = dict.fromkeys(row._note() for row in self.rows if row._note())
        return {note: f"[{k}] " for k, note in enumerate(notes, start=1)}

    def _cells(self) -> list[tuple[str, str, str, str]]:
        marks = self._notes()
        return [
            (row.name, row.of, row.region, f"{row._figures()} {marks.get(row._note(), '')}".strip())
            for row in self.rows
        ]

    def _title(self) -> str:
        return f"Risk bounds, {self.m} examples, each with probability {1 - self.delta:g}"

    def summary(self) -> str:
        """Return the table as text, with conditions and reasons of refusal below.

        Returns
        -------
        str
            The text, without a newline at its end.
        """
        lines = as_columns([_HEAD, *self._cells()], left=True)
        for note, mark in self._notes().items():
            lines += textwrap.wrap(note, 96, initial_indent=mark, subsequent_indent=" " * len(mark))
        return "\n".join([self._title(), *(f"  {line}" for line in lines)])

    def __repr__(self) -> str:
        refused = sum(row.refused for row in self.rows)
        return (
            f"<RiskBounds: {len(self.rows) - refused} bounds and {refused} refused, m={self.m}, "
            f"delta={self.delta:g}>"
        )

    def _repr_html_(self) -> str:
        note = "\n".join(f"{mark}{note}" for note, mark in self._notes().items())
        return as_html(self._title(), self._cells(), _HEAD, note)
