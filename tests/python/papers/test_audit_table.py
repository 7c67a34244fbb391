"""Every function, attribute and experiment that the tables of docs/papers.md and errata.md name."""

import importlib
import importlib.util
import inspect
import re
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

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
    identifiers = [name for row in rows("papers.md", 5) for name in row[0].split(", ")]
    assert identifiers == [f"{part}{k + 1}" for part, n in COUNTS.items() for k in range(n)]


@pytest.mark.parametrize("row", rows("papers.md", 5), ids=lambda row: row[0])
def test_everything_that_a_row_names_exists(row):
    _, _, where, run, verdict = row
    assert names(where)
    assert names(run) or not run
    for name in names(where) + names(run):
        check(name)
    assert re.match(r"faithful($|; )|differs: .", verdict)


def test_everything_that_the_errata_name_exists():
    entries = rows("errata.md", 4)
    assert len(entries) > 40
    for entry in entries:
        for name in names(entry[3]):
            check(name)


def of_arcs(total, weight, b, of_b):
    """Add a unit vector by Eq. 18.27."""
    angle = np.arccos(total @ b)
    share = angle * of_b / (weight + of_b)
    return (np.sin(angle - share) * total + np.sin(share) * b) / np.sin(angle)


def of_chords(total, weight, t, of_t):
    """Add a unit vector by Eqs. 29 and 30 of the technical report."""
    mu, cosine = weight / (weight + of_t), total @ t
    first = mu * np.sqrt((2 - mu**2 * (1 - cosine)) / (1 + cosine))
    return first * total + (1 - mu**2 * (1 - cosine) - first * cosine) * t


def total(add, order):
    """Return the sum of vectors at right angles, one after the other, of the weights 1, 2, 3."""
    found, weight = np.eye(3)[order[0]], order[0] + 1.0
    for k in order[1:]:
        found, weight = add(found, weight, np.eye(3)[k], k + 1.0), weight + k + 1.0
    assert np.linalg.norm(found) == pytest.approx(1)
    return found


def test_both_sums_depend_on_the_order():
    np.testing.assert_allclose(total(of_arcs, [0, 1]), total(of_arcs, [1, 0]), atol=1e-12)
    assert np.abs(total(of_chords, [0, 1]) - total(of_chords, [1, 0])).max() > 0.05
    for add in (of_arcs, of_chords):
        assert np.abs(total(add, [0, 1, 2]) - total(add, [2, 1, 0])).max() > 0.02
