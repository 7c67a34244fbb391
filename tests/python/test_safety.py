"""The engine has no unsafe code, and what keeps it out is in its place."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

pytestmark = pytest.mark.skipif(
    not (ROOT / "src" / "lib.rs").exists(), reason="the sources of the engine are not here"
)


def without_comments(text):
    text = re.sub(r"//[^\n]*", "", text)
    return re.sub(r'"(?:\\.|[^"\\])*"', '""', text)


def test_no_unsafe_code():
    """Neither a block nor a permission for one, the door included."""
    sources = sorted((ROOT / "src").rglob("*.rs"))
    assert len(sources) > 50
    for source in sources:
        found = re.findall(r"\bunsafe\w*", without_comments(source.read_text(encoding="utf-8")))
        expected = ["unsafe_code"] if source.name == "lib.rs" else []
        assert found == expected, source


def test_the_compiler_forbids_it():
    library = (ROOT / "src" / "lib.rs").read_text(encoding="utf-8")
    assert '#![cfg_attr(not(feature = "python"), forbid(unsafe_code))]' in library
    manifest = (ROOT / "Cargo.toml").read_text(encoding="utf-8")
    assert 'unsafe_code = "deny"' in manifest
