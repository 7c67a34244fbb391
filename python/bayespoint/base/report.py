"""Text and notebook representations of results, in HTML for light and dark pages."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

Rows = Sequence[tuple[str, str]]
Texts = Sequence[str]

# Inline, since notebooks drop style sheets; `color: inherit`, since some of them color tables.
_TABLE = (
    "border-collapse:collapse;margin:0.3em 0;font-size:0.9em;color:inherit;background:transparent;"
    "font-variant-numeric:tabular-nums"
)
_CAPTION = (
    "caption-side:top;text-align:left;font-weight:bold;padding:0.2em 0;color:inherit;"
    "white-space:nowrap"
)
_LINE = "border:0;border-bottom:1px solid rgba(128,128,128,0.35)"
_CELL = f"padding:0.15em 0.8em;background:transparent;color:inherit;{_LINE}"
_LEFT, _RIGHT = f"{_CELL};text-align:left", f"{_CELL};text-align:right"
_NAME = f"{_LEFT};font-weight:normal;opacity:0.75"


def as_columns(rows: Sequence[Texts], *, left: bool = False) -> list[str]:
    """Return lines of text with aligned columns, to the right or to the left."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    align = str.ljust if left else str.rjust
    return [
        "  ".join(align(text, width) for text, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]


def as_html(title: str, rows: Rows) -> str:
    """Return names and values as a table with a title."""
    body = "".join(
        f'<tr><th scope="row" style="{_NAME}">{escape(name)}</th>'
        f'<td style="{_LEFT}">{escape(value)}</td></tr>'
        for name, value in rows
    )
    return page(title, body)


def as_grid(
    title: str, head: Texts, cells: Iterable[Texts], *, names: bool = False, note: str = ""
) -> str:
    """Return a table below the names of its columns, of rows that with `names` begin with one."""
    top = "".join(
        f'<th scope="col" style="{_RIGHT if k or not names else _LEFT};font-weight:bold">'
        f"{escape(text)}</th>"
        for k, text in enumerate(head)
    )
    body = ""
    for row in cells:
        texts = [f'<td style="{_RIGHT}">{escape(text)}</td>' for text in row]
        if names:
            texts[0] = f'<th scope="row" style="{_NAME}">{escape(row[0])}</th>'
        body += f"<tr>{''.join(texts)}</tr>"
    return page(title, f"<thead><tr>{top}</tr></thead><tbody>{body}</tbody>", note)


def page(title: str, body: str, note: str = "") -> str:
    """Return a table of the HTML rows `body`, with a title above and a note below."""
    caption = f'<caption style="{_CAPTION}">{escape(title)}</caption>'
    small = escape(note).replace("\n", "<br>")
    below = f'<div style="font-size:0.8em;opacity:0.8">{small}</div>' if note else ""
    # A table wider than the page scrolls by itself.
    return (
        f'<div style="overflow-x:auto"><table style="{_TABLE}">{caption}{body}</table>{below}</div>'
    )
