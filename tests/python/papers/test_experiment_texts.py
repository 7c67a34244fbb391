"""The words of the experiments: each is used, and each of its places is filled."""

from __future__ import annotations

import ast
import re
import string
from importlib import resources
from pathlib import Path

import pytest

pytest.importorskip("matplotlib")

from bayespoint.papers import experiments
from bayespoint.papers.experiments import Claim, Table, Text
from bayespoint.papers.experiments.registry import EXPERIMENTS

DOCS = Path(__file__).parents[3] / "docs"
HEADINGS = {"Tables", "Claims", "Remarks"}
TEXTS = resources.files(experiments) / "texts"


def read(module: str) -> dict[str, tuple[ast.Call, dict[str, ast.Call]]]:
    """Return the call that reads each text of a module, and the uses of its parts by key."""
    tree = ast.parse(module)
    reads = {
        node.targets[0].id: node.value
        for node in tree.body
        if isinstance(node, ast.Assign)
        and isinstance(node.value, ast.Call)
        and ast.unparse(node.value.func) == "Text.of"
    }
    uses: dict[str, dict[str, ast.Call]] = {name: {} for name in reads}
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            owner = ast.unparse(node.func.value)
            if owner in reads and node.func.attr in ("fill", "claim", "table"):
                uses[owner][node.args[0].value] = node
    return {name: (call, uses[name]) for name, call in reads.items()}


USED = {
    "/".join(argument.value for argument in call.args): (call, uses)
    for path in Path(experiments.__file__).parent.glob("*.py")
    for call, uses in read(path.read_text(encoding="utf-8")).values()
}
"""By the file of the text, without its ending."""


def places(template: str) -> set[str]:
    """Return the names of the places of a template."""
    return {name for _, name, _, _ in string.Formatter().parse(template) if name is not None}


def filled(call: ast.Call) -> set[str | None]:
    """Return the names of the values that a call gives."""
    return {keyword.arg for keyword in call.keywords}


@pytest.mark.parametrize("file", sorted(USED))
def test_every_part_is_used_and_every_place_filled(file: str) -> None:
    source = (TEXTS / f"{file}.md").read_text(encoding="utf-8")
    keys = re.findall(r"^#+ (.+)$", source, flags=re.MULTILINE)[1:]
    assert len(keys) == len(set(keys))
    call, uses = USED[file]
    assert set(uses) == set(keys) - HEADINGS
    about = source.split("\n\n")[1]
    assert places(about) == filled(call)
    parts = EXPERIMENTS[file.split("/")[1]].text.parts
    for key, use in uses.items():
        assert places(parts[key]) == filled(use), key


def test_parts_are_filled() -> None:
    parts = {"t": "Errors of {n} |  | σ = {s} | ours  |", "c": "it holds for {n:.1f}"}
    text = Text("paper", "name", "Title", "About.", parts)
    columns = ["", "σ = 1", "σ = 2", "ours "]
    assert text.table("t", [], n=3, s="1 | σ = 2") == Table("Errors of 3", columns, [])
    assert text.claim("c", True, n=2) == Claim("it holds for 2.0", True)
    with pytest.raises(KeyError, match="n"):
        text.fill("c")


@pytest.mark.parametrize("name", sorted(EXPERIMENTS))
def test_the_pages_have_the_texts(name: str) -> None:
    """All but the numbers: those of the pages are from runs at full length."""
    text = EXPERIMENTS[name].text
    page = (DOCS / f"{text.paper}.md").read_text(encoding="utf-8")
    assert f"## {text.title}\n\n{text.about}\n" in page
    _, uses = USED[f"{text.paper}/{name}"]
    for key, use in uses.items():
        if use.func.attr == "table":
            continue
        pattern = "".join(
            re.escape(words) + (".*" if place is not None else "")
            for words, place, _, _ in string.Formatter().parse(text.parts[key])
        )
        assert re.search(pattern, page), key
