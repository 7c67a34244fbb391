"""The directive `thumbnails`: a card for each page of a list, with its title, question and picture.

The question is the first paragraph of the page, the picture its first one. Notebooks make theirs
when the site is built, so that the cards need no files of their own.
"""

from __future__ import annotations

from typing import Any

from docutils import nodes
from sphinx import addnodes
from sphinx.errors import ExtensionError
from sphinx.util.docutils import SphinxDirective


class Card(nodes.General, nodes.Element):
    """The place of a card, until all pages are read."""


class Thumbnails(SphinxDirective):
    """List the pages whose names are the lines of the content."""

    has_content = True

    def run(self) -> list[nodes.Node]:
        """Return the cards, and an invisible table of contents."""
        names = [line.strip() for line in self.content if line.strip()]
        cards = nodes.container(classes=["thumbnails"])
        for name in names:
            if name not in self.env.found_docs:
                raise self.error(f"there is no page {name!r}")
            self.env.note_dependency(self.env.doc2path(name))
            cards += Card(page=name)
        tree = addnodes.toctree(
            parent=self.env.docname,
            entries=[(None, name) for name in names],
            includefiles=names,
            hidden=True,
            glob=False,
            caption=None,
            maxdepth=1,
            numbered=0,
            titlesonly=False,
            includehidden=False,
        )
        return [cards, tree]


def _fill(app: Any, doctree: nodes.document, name: str) -> None:
    """Replace the cards by what their pages have."""
    for place in list(doctree.findall(Card)):
        page = place["page"]
        source = app.env.get_doctree(page)
        picture = next(source.findall(nodes.image), None)
        question = next(source.findall(nodes.paragraph), None)
        if picture is None or question is None:
            raise ExtensionError(f"page {page} needs a paragraph and a picture for its card")
        title = app.env.titles[page].astext()
        target = app.builder.get_relative_uri(name, page)
        image = nodes.image(uri=picture["uri"], candidates={"*": picture["uri"]}, alt="")
        card = nodes.container(classes=["thumbnail"])
        card += nodes.reference("", "", image, refuri=target, internal=True)
        card += nodes.paragraph(
            "", "", nodes.reference("", title, refuri=target, internal=True), classes=["title"]
        )
        card += nodes.paragraph("", question.astext())
        place.replace_self(card)


def setup(app: Any) -> dict[str, bool]:
    """Add the directive."""
    app.add_node(Card)
    app.add_directive("thumbnails", Thumbnails)
    app.connect("doctree-resolved", _fill)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
