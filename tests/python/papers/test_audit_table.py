"""Every function, attribute and experiment that the tables of docs/papers.md and errata.md name."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import re
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from bayespoint.papers import bounds

pytest.importorskip("matplotlib")

from bayespoint.papers.experiments.registry import EXPERIMENTS

DOCS = Path(__file__).parents[3] / "docs"
COUNTS = {"A": 54, "B": 45, "C": 17, "D": 16, "E": 8, "F": 4}
COMMANDS = {*EXPERIMENTS, "drawings", "pages"}


def rows(page, columns):
    """Return the cells of all rows of a page's tables with so many columns, without the heads."""
    text = (DOCS / page).read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if line.startswith("|")]
    cells = [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines]
    assert {len(one) for one in cells} == {columns}
    return [one for one in cells if not set(one[0]) <= set("-:") and one[0] not in ("row", "place")]


def names(cell):
    return re.findall(r"`([^`]+)`", cell)


def found(name):
    """Return the object of a dotted name below `bayespoint` or `bayespoint.papers`."""
    for root in ("bayespoint", "bayespoint.papers"):
        at = importlib.import_module(root)
        for part in name.split("."):
            if hasattr(at, part):
                at = getattr(at, part)
            elif isinstance(at, ModuleType) and is_module(f"{at.__name__}.{part}"):
                at = importlib.import_module(f"{at.__name__}.{part}")
            elif inspect.isclass(at) and is_documented(at, part):
                at = f"attribute {part}"
            else:
                break
        else:
            return at
    raise LookupError(f"there is no {name}")


def is_module(name):
    return importlib.util.find_spec(name) is not None


def is_documented(kind, attribute):
    """Return whether an attribute is a field of a class, or in its or its parents' docstrings."""
    for one in kind.__mro__:
        if attribute in vars(one).get("__annotations__", {}):
            return True
        for line in (one.__doc__ or "").splitlines():
            if attribute in re.split(r",\s*", line.strip().split(" : ")[0]):
                return True
    return False


def check(name):
    if name in COMMANDS:
        return
    match = re.fullmatch(r"([\w.]+)(?:\((\w+)=\))?", name)
    assert match, f"{name} is neither an experiment nor a name"
    value = found(match[1])
    if match[2]:
        assert match[2] in inspect.signature(value).parameters, name


def test_all_rows_of_the_audit_are_there():
    identifiers = [row[0] for row in rows("papers.md", 5)]
    assert identifiers == [f"{part}{k + 1}" for part, n in COUNTS.items() for k in range(n)]


@pytest.mark.parametrize("row", rows("papers.md", 5), ids=lambda row: row[0])
def test_everything_that_a_row_names_exists(row):
    _, _, where, run, verdict = row
    assert names(where)
    assert names(run)
    for name in names(where) + names(run):
        check(name)
    assert re.match(r"works and faithful($|; )|differs: .", verdict)


def test_everything_that_the_errata_name_exists():
    entries = rows("errata.md", 4)
    assert len(entries) > 40
    for entry in entries:
        for name in names(entry[3]):
            check(name)


def sum_of_arcs(vectors, weights):
    """Add unit vectors one after the other by Eq. 18.27."""
    total, weight = vectors[0], weights[0]
    for b, of_b in zip(vectors[1:], weights[1:], strict=True):
        angle = np.arccos(total @ b)
        share = angle * of_b / (weight + of_b)
        total = (np.sin(angle - share) * total + np.sin(share) * b) / np.sin(angle)
        weight += of_b
    return total


def sum_of_chords(vectors, weights):
    """Add unit vectors one after the other by Eqs. 29 and 30 of the technical report."""
    total, weight = vectors[0], weights[0]
    for t, of_t in zip(vectors[1:], weights[1:], strict=True):
        mu, cosine = weight / (weight + of_t), total @ t
        first = mu * np.sqrt((2 - mu**2 * (1 - cosine)) / (1 + cosine))
        total = first * total + (1 - mu**2 * (1 - cosine) - first * cosine) * t
        weight += of_t
        assert np.linalg.norm(total) == pytest.approx(1)
    return total


def test_both_sums_depend_on_the_order():
    vectors, weights = np.eye(3), np.array([1.0, 2.0, 3.0])
    pair = vectors[:2], weights[:2]
    back = pair[0][::-1], pair[1][::-1]
    np.testing.assert_allclose(sum_of_arcs(*pair), sum_of_arcs(*back))
    assert np.abs(sum_of_chords(*pair) - sum_of_chords(*back)).max() > 0.05
    for add in (sum_of_arcs, sum_of_chords):
        turned = add(vectors[[2, 1, 0]], weights[[2, 1, 0]])
        assert np.abs(add(vectors, weights) - turned).max() > 0.02
        np.testing.assert_allclose(np.linalg.norm(turned), 1)


def test_lemma_2_is_true_of_even_exponents_too():
    for n in (3, 4, 5, 10, 100, 101, 400):
        for x in (0.01, 0.1, 0.3, 0.49):
            ratio = -bounds.cap_log_fraction(n, np.arccos(1 - 2 * x))
            assert ratio <= -(n - 2) * np.log(x) * (1 + 1e-12), (n, x)
