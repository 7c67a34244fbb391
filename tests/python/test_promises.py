"""The page of promises names tests that there are, and that run the program as it is shipped."""

import ast
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


LIMIT = re.compile(r"_*[A-Z][A-Z0-9_]+|available|_memory")


def replaced(text, test):
    """Return the constants and limits that a test replaces, in its fixtures and helpers too."""
    parts = {part.name: part for part in ast.parse(text).body if hasattr(part, "name")}
    autouse = [name for name in parts if f"autouse=True)\ndef {name}" in text]
    limits, left = set(), [test, *autouse]
    while left:
        if (part := parts.pop(left.pop(), None)) is None:
            continue
        nodes = list(ast.walk(part))
        texts = [str(node.value) for node in nodes if isinstance(node, ast.Constant)]
        words = {value.rpartition(".")[2] for value in texts}
        names = {node.id for node in nodes if isinstance(node, ast.Name)}
        names |= {node.arg for node in nodes if isinstance(node, ast.arg)}
        attributes = [node for node in nodes if isinstance(node, ast.Attribute)]
        if {"setattr", "patch"} & (names | {node.attr for node in attributes}):
            limits |= set(filter(LIMIT.fullmatch, words))
        assigned = {node.attr for node in attributes if isinstance(node.ctx, ast.Store)}
        limits |= set(filter(LIMIT.fullmatch, assigned))
        left += names | words
    return limits


@pytest.mark.parametrize("held_by", [row[1] for row in ROWS], ids=[row[0][:40] for row in ROWS])
def test_no_test_of_a_promise_replaces_a_limit_without_saying_so(held_by):
    for part in held_by.split(";"):
        said = dict(re.findall(r"`(\w+)` \(replaces (\w+)\)", part))
        for name in re.findall(r"`(tests/\S+\.py)`", part):
            text = (ROOT / name).read_text(encoding="utf-8")
            tests = real_tests(name, text)
            for test in tests & set(re.findall(r"`(\w+)`", part)) or tests:
                assert replaced(text, test) == set(filter(None, [said.get(test)])), test


@pytest.mark.parametrize(
    ("text", "limits"),
    [
        ("def test_a(monkeypatch):\n    monkeypatch.setattr(module, '_MOST', 3)", {"_MOST"}),
        ("def test_a():\n    with mock.patch('a.b.MOST_DRAWS', 3):\n        pass", {"MOST_DRAWS"}),
        ("def test_a():\n    memory.available = lambda: 1", {"available"}),
        ("@fixture\ndef b(m):\n    m.setattr(c, 'TOL', 3)\n\ndef test_a(b):\n    pass", {"TOL"}),
        ("@fixture(autouse=True)\ndef b(m):\n    m.setattr(c, 'D', 3)\n", set()),
        ("@fixture(autouse=True)\ndef b(m):\n    m.setattr(c, 'DE', 3)\n", {"DE"}),
        ("def b(m):\n    m.setattr(c, 'TOL', 3)\n\ndef test_a():\n    pass", set()),
        ("def test_a(m):\n    for n in ('_A1', 'b'):\n        m.setattr(f'c.{n}', 1)", {"_A1"}),
        ("def test_a(monkeypatch):\n    monkeypatch.setattr(_core, 'run', fails)", set()),
    ],
)
def test_replaced_limits_are_seen(text, limits):
    assert replaced(text, "test_a") == limits


def test_there_are_promises():
    assert len(ROWS) > 20
    assert all(len(row) == 2 for row in ROWS)
