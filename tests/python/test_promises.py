"""The page of promises names tests that there are."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "promises.md"
ROWS = [
    [cell.strip() for cell in line.strip("|").split("|")]
    for line in PAGE.read_text(encoding="utf-8").splitlines()
    if line.startswith("|") and not line.startswith(("|---", "| promise"))
]


@pytest.mark.parametrize("held_by", [row[1] for row in ROWS], ids=[row[0][:40] for row in ROWS])
def test_every_promise_names_its_tests(held_by):
    for part in held_by.split(";"):
        cited = re.findall(r"`([^`]+)`", part)
        files = [name for name in cited if "/" in name]
        assert files, part
        texts = [(ROOT / name).read_text(encoding="utf-8") for name in files]
        for name in cited:
            if name not in files:
                assert any(re.search(rf"\b(def|fn) {name}\b", text) for text in texts), name


def test_there_are_promises():
    assert len(ROWS) > 20
    assert all(len(row) == 2 for row in ROWS)
