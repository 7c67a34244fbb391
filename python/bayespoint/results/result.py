"""The base classes of results: with a summary, as text or a table, and with draws of chains."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from functools import cached_property
from html import escape
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from bayespoint.base.io import Savable
from bayespoint.base.validation import Floats
from bayespoint.results import diagnostics

Texts = Sequence[str]
Rows = Sequence[tuple[str, ...]]  # which begin with a name


def as_columns(rows: Sequence[Texts], *, left: bool = False) -> list[str]:
    """Return lines of text with aligned columns, to the right or to the left."""
    widths = [max(len(row[k]) for row in rows) for k in range(len(rows[0]))]
    align = str.ljust if left else str.rjust
    return [
        "  ".join(align(text, width) for text, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]


def as_html(title: str, rows: Iterable[Texts], head: Texts = (), note: str = "") -> str:
    """Return rows that begin with a name as a table; colors and lines are those of the page."""
    top = "".join(f'<th scope="col">{escape(text)}</th>' for text in head)
    top = f"<thead><tr>{top}</tr></thead>" if head else ""
    body = "".join(
        f'<tr><th scope="row">{escape(name)}</th>'
        f"{''.join(f'<td>{escape(text)}</td>' for text in texts)}</tr>"
        for name, *texts in rows
    )
    return (
        f"<table><caption>{escape(title)}</caption>{top}"
        f"<tbody>{body}</tbody></table>{escape(note).replace(chr(10), '<br>')}"
    )


def with_fields(kind: type[Any], values: Mapping[str, Any]) -> Any:
    """Return a value of a dataclass; `values` of other names than its fields are left out."""
    names = [field.name for field in fields(kind)]
    return kind(**{name: values[name] for name in names if name in values})


MAX_R_HAT_TOL = 1.05  # largest at which a run with a tolerance ends, with many effective draws
CHANCE_TOL = 1e-3  # chance that R-hat of as few independent draws as it needs exceeds its limit
MIN_SHARE_TOL = 0.25  # least effective sample size, as a share of many draws

MIN_ESS = 100.0  # least effective sample size without a warning, or half of the draws
LEAST_DRAWS = 4  # smallest number of draws per chain for R-hat and effective sample size


class Result(Savable):
    """A result with a summary, as text and in notebooks."""

    _title: str
    _head: ClassVar[Texts] = ()

    def _rows(self) -> Rows:
        """Return the rows of the summary."""
        raise NotImplementedError

    def summary(self) -> str:
        """Return the main figures as text, one to a line.

        Returns
        -------
        str
            The text, without a newline at its end.
        """
        lines = as_columns([self._head, *self._rows()][not self._head :], left=True)
        return "\n".join([self._title, *(f"  {line}" for line in lines)])

    def _repr_html_(self) -> str:
        return as_html(self._title, self._rows(), self._head)


class Run(Result):
    """Draws of several chains, and whether they have converged."""

    draws: NDArray[np.floating]
    functionals: Floats

    @cached_property
    def ess(self) -> float:
        """The smallest bulk effective sample size of the draws, over `functionals`.

        For a billiard also of the squares of those that change sign. NaN for fewer than 4 draws a
        chain.
        """
        values = diagnostics.ess_bulk(self._watched())
        return float(np.fmin.reduce(values, initial=np.nan))

    @cached_property
    def r_hat(self) -> float:
        """The largest rank-normalized split R-hat of these, of up to 1000 draws a trajectory."""
        values = diagnostics.r_hat(self._watched(thinned=True))
        return float(np.fmax.reduce(values, initial=np.nan))

    @property
    def least_ess(self) -> float:
        """The effective sample size that is enough: 100, or half of the draws if that is less."""
        return min(MIN_ESS, math.prod(self.draws.shape[:2]) / 2)

    @property
    def largest_r_hat(self) -> float:
        """The R-hat below which the chains of a run with a tolerance agree."""
        worth = max(self.least_ess, MIN_SHARE_TOL * math.prod(self.draws.shape[:2]))
        return allowed_r_hat(len(self.draws), worth, MAX_R_HAT_TOL, CHANCE_TOL)

    def _watched(self, thinned: bool = False) -> Floats:
        """Return the quantities of the diagnostics; those of R-hat may be thinned."""
        return self.functionals


def allowed_r_hat(n_chains: int, ess: float, least: float, chance: float) -> float:
    """Return `least`, or what R-hat exceeds by this chance at an effective sample size of `ess`."""
    # The ratio of variances between half chains and within is nearly chi-square over its freedom.
    freedom = 2 * n_chains - 1
    ratio = stats.chi2.isf(chance, freedom) / freedom
    return max(least, math.sqrt(1 + (ratio - 1) / max(ess / (freedom + 1), 1.0)))
