"""Formulas as MathML, which browsers draw by themselves: the site needs no script from the net."""

from typing import Any

from docutils import nodes
from latex2mathml.converter import convert
from sphinx.util import logging

logger = logging.getLogger(__name__)


def _convert(node: nodes.Node, **how: str) -> str:
    """Return the formula; a command that the converter does not know is a warning."""
    markup = convert(node.astext(), **how)
    if "\\" in markup:
        logger.warning("TeX that has no form in MathML: %s", node.astext(), location=node)
    return markup


def _inline(translator: Any, node: nodes.math) -> None:
    translator.body.append(_convert(node))
    raise nodes.SkipNode


def _block(translator: Any, node: nodes.math_block) -> None:
    number = f'<span class="eqno">({node["number"]})</span>' if node["number"] else ""
    formula = _convert(node, display="block")
    translator.body.append(f'<div class="math">{number}{formula}</div>\n')
    raise nodes.SkipNode


def setup(app: Any) -> dict[str, bool]:
    """Offer the renderer to Sphinx."""
    app.add_html_math_renderer("mathml", (_inline, None), (_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
