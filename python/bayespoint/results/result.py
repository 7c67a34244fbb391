"""The base class of results with a summary."""

from __future__ import annotations

from bayespoint.base.io import Savable
from bayespoint.base.report import as_html, as_text


class Result(Savable):
    """A result with a summary, as text and in notebooks."""

    _title: str

    def _rows(self) -> list[tuple[str, str]]:
        """Return the names and values of the summary."""
        raise NotImplementedError

    def summary(self) -> str:
        """Return the main figures as text, one to a line.

        Returns
        -------
        str
            The text, without a newline at its end.
        """
        return as_text(self._title, self._rows())

    def _repr_html_(self) -> str:
        return as_html(self._title, self._rows())
