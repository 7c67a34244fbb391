"""Random numbers of the tests shift with BAYESPOINT_SEED, or a reason says why they do not."""

import ast
import re
from pathlib import Path

import pytest

FILES = sorted(Path(__file__).parent.rglob("test_*.py"))

# A file that reads the variable, itself or from one that does: `helpers` and the like.
READS = re.compile(
    r"\bBAYESPOINT_SEED\b|^(from|import) (helpers|planar_cases)\b(?! import (SLOW, )?new_process$)",
    re.M,
)

# Files whose seeds are their own, and why.
FIXED = {
    "test_experiment_runs.py": "the rule for seeds of experiments itself",
    "test_out_of_memory.py": "asks for more than there is, whatever the numbers are",
    "test_peak_memory.py": "counts bytes, whatever the numbers are",
}


def literal_seeds(source):
    """Return the lines of a source where a random generator gets an integer as its seed."""
    found = set()
    for node in ast.walk(ast.parse(source)):
        seeds = []
        if isinstance(node, ast.Call):
            name = getattr(node.func, "attr", getattr(node.func, "id", ""))
            if name in ("default_rng", "RandomState", "PCG64", "Philox"):
                seeds += node.args[:1]
            seeds += [word.value for word in node.keywords if word.arg in ("random_state", "seed")]
        elif isinstance(node, ast.Dict):
            seeds += [
                value
                for key, value in zip(node.keys, node.values, strict=True)
                if isinstance(key, ast.Constant) and key.value in ("random_state", "seed")
            ]
        found |= {
            one.lineno for one in seeds if isinstance(one, ast.Constant) and type(one.value) is int
        }
    return sorted(found)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_literal_seeds_shift(path):
    source = path.read_text(encoding="utf-8")
    fixed = bool(literal_seeds(source)) and not READS.search(source)
    if fixed and path.name not in FIXED:
        pytest.fail(
            f"{path.name} has seeds in lines {literal_seeds(source)} and reads no BAYESPOINT_SEED: "
            "take them from helpers.seed, or name the file in FIXED with a reason"
        )
    assert fixed or path.name not in FIXED, f"{path.name} needs no place in FIXED any more"
