"""The words of the experiments: the places of each part are filled, and the pages have them."""

import re
import string
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("matplotlib")

from bayespoint.papers.experiments import Claim, Table, Text
from bayespoint.papers.experiments.pages import PAPERS
from bayespoint.papers.experiments.registry import EXPERIMENTS
from bayespoint.papers.experiments.rows import Mean

DOCS = Path(__file__).parents[3] / "docs"


def test_parts_are_filled():
    parts = {"t": "Errors of {n} |  | σ = {s} | ours  |", "c": "it holds for {n:.1f}"}
    text = Text("paper", "name", "Title", "About.", parts)
    columns = ["", "σ = 1", "σ = 2", "ours "]
    assert text.table("t", [], n=3, s="1 | σ = 2") == Table("Errors of 3", columns, [])
    assert text.claim("c", True, n=2) == Claim("it holds for 2.0", True)
    with pytest.raises(KeyError, match="n"):
        text.fill("c")


def test_claims_with_one_verdict_are_one():
    text = Text("paper", "name", "Title", "About.", {"c": "below {n}: {names}"})
    verdicts = {"first": np.True_, "second": None, "third": True, "fourth": False}
    assert text.claims("c", verdicts, general=True, n=2) == [
        Claim("below 2: first; third", True, general=True),
        Claim("below 2: second", None, general=True),
        Claim("below 2: fourth", False, general=True),
    ]


def test_an_error_of_zero_is_not_written():
    assert [f"{Mean(1.0, error):.1f}" for error in (0.5, 0.0, np.nan)] == [
        "1.0 ± 0.5",
        "1.0",
        "1.0",
    ]


@pytest.mark.parametrize("name", sorted(EXPERIMENTS))
def test_the_pages_have_the_texts(name):
    """All but the numbers: those of the pages are from runs at full length."""
    text = EXPERIMENTS[name].text
    page = (DOCS / f"{text.paper}.md").read_text(encoding="utf-8")
    assert f"## {text.title}\n\n{text.about}\n" in page
    for part in text.parts.values():
        if "|" not in part:
            pieces = string.Formatter().parse(part)
            pattern = (re.escape(words) + ".*" * (place is not None) for words, place, *_ in pieces)
            assert re.search("".join(pattern), page), part


def test_figures_quoted_elsewhere_are_those_of_the_pages():
    """Means with standard errors in the table of all objects, and the bounds of the benchmarks."""
    pages = {paper: (DOCS / f"{paper}.md").read_text(encoding="utf-8") for paper in PAPERS}
    audit = (DOCS / "papers.md").read_text(encoding="utf-8")
    for mean in set(re.findall(r"[\d.]+ ± [\d.]+\d", audit)):
        assert any(mean in page for page in pages.values()), mean
    text = (DOCS.parent / "benches" / "README.md").read_text(encoding="utf-8")
    quoted = text.partition("\n## Risk bounds")[2].partition("\n## ")[0].splitlines()
    lines = pages["bayesian-learning"].splitlines()
    rows = [re.findall(r"\| +([\d.]+)(?= \|)", line)[:5] for line in lines]
    known = np.array([row for row in rows if len(row) == 5], dtype=float)
    for before, digits in ((r"\| ", 2), (r"\(", 3)):
        found = [re.findall(rf"{before}(\d\.\d{{{digits}}})\b", line) for line in quoted]
        figures = np.array([row for row in found if len(row) == 5], dtype=float)
        assert len(figures) > 3
        off = np.abs(figures[:, None] - known).max(axis=2).min(axis=1)
        assert off.max() < 0.51 * 10.0**-digits
