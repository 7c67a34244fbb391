"""Results as text and as tables of notebooks, from the same rows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

Texts = Sequence[str]
Rows = Sequence[tuple[str, str]]


def as_columns(rows: Sequence[Texts], *, left: bool = False) -> list[str]:
    """Return lines of text with aligned columns, to the right or to the left."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
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
