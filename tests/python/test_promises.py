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

# Between `#[test]` and its function there may be other attributes, but none that keeps it from
# running, except under Miri and that of the long tests, which `make test-all` runs.
RUST = re.compile(
    r"^[ \t]*#\[test\]\s*\n"
    r"(?:[ \t]*(?:#\[(?!ignore(?! = .long: make test-all)|cfg_attr(?!\(miri))[^\n]*|//[^\n]*)\n)*"
    r"[ \t]*fn (\w+)\(",
    re.MULTILINE,
)
PYTHON = re.compile(r"^def (test_\w+)\(", re.MULTILINE)


def real_tests(name, text):
    """Return the names of the tests that run of a file: helpers are none."""
    if name.endswith(".rs"):
        return set(RUST.findall(text))
    return set(PYTHON.findall(text)) if Path(name).name.startswith("test_") else set()


@pytest.mark.parametrize("held_by", [row[1] for row in ROWS], ids=[row[0][:40] for row in ROWS])
def test_every_promise_names_its_tests(held_by):
    for part in held_by.split(";"):
        cited = re.findall(r"`([^`]+)`", part)
        files = [name for name in cited if "/" in name]
        assert files, part
        tests = {
            name: real_tests(name, (ROOT / name).read_text(encoding="utf-8")) for name in files
        }
        assert all(tests.values()), f"a file without tests: {part}"
        for name in cited:
            if name not in files:
                assert any(name in found for found in tests.values()), name


@pytest.mark.parametrize(
    ("name", "text", "found"),
    [
        ("tests/a.rs", "#[test]\nfn holds() {\n", {"holds"}),
        ("tests/a.rs", "#[test]\nfn holds() {}\n\nfn helper() {\n", {"holds"}),
        ("tests/a.rs", '#[test]\n#[ignore = "long: make test-all"]\nfn holds() {\n', {"holds"}),
        ("tests/a.rs", '#[test]\n#[ignore = "slow"]\nfn left_out() {\n', set()),
        ("tests/a.rs", "// #[test]\nfn left_out() {\n", set()),
        ("tests/test_a.py", "@seed(1)\ndef test_holds(x):\n", {"test_holds"}),
        ("tests/test_a.py", "def helper(x):\n    def test_inside():\n", set()),
        ("tests/a.py", "def test_of_no_file_of_tests():\n", set()),
    ],
)
def test_helpers_are_no_tests(name, text, found):
    assert real_tests(name, text) == found


def test_there_are_promises():
    assert len(ROWS) > 20
    assert all(len(row) == 2 for row in ROWS)
