"""Notebooks of pages of the gallery: ``python docs/_notebooks.py`` runs them and writes examples/.

``--check`` runs nothing: it exits with 1 where a notebook lacks output, or its cells are not those
of its page. Needs nbclient and ipykernel, which the extra "docs" brings.
"""

from __future__ import annotations

import argparse
import base64
import io
import re
import sys
from pathlib import Path

import nbformat
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook
from PIL import Image

HERE = Path(__file__).parent
NOTEBOOKS = HERE.parent / "examples"
PAGES = {
    "table": "categories",
    "kernel-matrix": "kernel-matrix",
    "billiard": "version-space",
    "papers-in-ten-pictures": "ten-pictures",
}
"""The page of each notebook."""

FENCE = re.compile(r"^```\{code-cell\} python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def text(part: str) -> str:
    """Return Markdown that notebooks show: no directives or roles, links from examples/."""
    part = re.sub(r"\A---\n.*?\n---\n", "", part, flags=re.DOTALL)
    part = re.sub(r"^.*\{nb-download\}.*$", "", part, flags=re.MULTILINE)
    part = re.sub(r"\{\w+\}`([^`<]*?)(?: <[^`]*>)?`", r"\1", part)
    part = re.sub(r"\]\(\.\./", "](../docs/", part)
    part = re.sub(r"\]\((?!\w+:|\.\./|#)", "](../docs/examples/", part)
    return part.strip()


def notebook(page: str) -> nbformat.NotebookNode:
    """Return the notebook of a page, without outputs."""
    parts = FENCE.split((HERE / "examples" / f"{page}.md").read_text(encoding="utf-8"))
    cells = []
    for k, part in enumerate(parts):
        if k % 2:
            cells.append(new_code_cell(part.strip()))
        elif words := text(part):
            cells.append(new_markdown_cell(words))
    for k, cell in enumerate(cells):
        cell.id = f"cell-{k}"  # else random
    names = {"display_name": "Python 3", "language": "python", "name": "python3"}
    return new_notebook(cells=cells, metadata={"kernelspec": names})


def small(picture: str) -> str:
    """Return a PNG picture in base64 with 64 colors and at most 560 pixels in width."""
    image, file = Image.open(io.BytesIO(base64.b64decode(picture))).convert("RGB"), io.BytesIO()
    image.thumbnail((560, 560))
    image.quantize(64).save(file, "png", optimize=True)
    return base64.b64encode(file.getvalue()).decode()


def executed(made: nbformat.NotebookNode) -> nbformat.NotebookNode:
    """Return a notebook with the outputs of its cells."""
    from nbclient import NotebookClient

    client = NotebookClient(made, timeout=600, record_timing=False, coalesce_streams=True)
    client.execute()
    for count, cell in enumerate((each for each in made.cells if each.cell_type == "code"), 1):
        cell.execution_count = count
        for output in cell.outputs:
            if "execution_count" in output:
                output.execution_count = count
            if "image/png" in output.get("data", {}):
                output.data["image/png"] = small(output.data["image/png"])
    made.metadata.pop("language_info", None)  # the version of the interpreter
    return made


def faults(name: str, page: str) -> list[str]:
    """Return what is wrong with a notebook that is there."""
    path = NOTEBOOKS / f"{name}.ipynb"
    found, wanted = nbformat.read(path, as_version=4), notebook(page)
    texts = [[cell.source for cell in each.cells] for each in (found, wanted)]
    wrong = [] if texts[0] == texts[1] else [f"{path.name} is not that of {page}.md"]
    if not any(cell.get("outputs") for cell in found.cells):
        wrong.append(f"{path.name} has no output")
    return wrong


def main() -> int:
    """Write the notebooks, or check them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("names", nargs="*", choices=[*PAGES, []], help="all by default")
    options = parser.parse_args()
    chosen = {name: PAGES[name] for name in options.names or PAGES}
    if options.check:
        wrong = [fault for name, page in chosen.items() for fault in faults(name, page)]
        print("\n".join([*wrong, "run make notebooks"] if wrong else ["all as they are"]))
        return bool(wrong)
    NOTEBOOKS.mkdir(exist_ok=True)
    for name, page in chosen.items():
        made = executed(notebook(page))
        nbformat.write(made, NOTEBOOKS / f"{name}.ipynb")
        print(f"{name}.ipynb")
    return 0


if __name__ == "__main__":
    sys.exit(main())
