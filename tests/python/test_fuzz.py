"""Bytes on the compiled functions, and made into files.

``BAYESPOINT_FUZZ=1000000`` sets the number of executions, of files a hundredth; `fuzz/python.py`
has the same targets for Atheris, which is guided by coverage. What either finds goes into
``tests/hostile/corpus``, which is played here first.
"""

import collections
import os
import sys
import time
from functools import partial
from pathlib import Path

import numpy as np
import pytest

import hostile_bytes
import hostile_files
from helpers import SHIFT as SEED
from helpers import SLOW
from hostile import PATIENCE

CORPUS = Path(__file__).parent.parent / "hostile" / "corpus"


@pytest.mark.filterwarnings("ignore")
def test_bytes(capsys):
    n = int(os.environ.get("BAYESPOINT_FUZZ") or (40_000 if SLOW else 1000))
    play("door", hostile_bytes.door, n, capsys)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("forges", [False, True], ids=["damaged", "forged"])
def test_files(forges, capsys):
    """No crash, no hang, little memory, no error but the documented ones."""
    hostile_files.originals()
    n = int(os.environ.get("BAYESPOINT_FUZZ") or 0) // 100 or (2700 if SLOW else 150)
    before = peak()
    outcomes = play("files", partial(hostile_files.door, forges=forges), n, capsys)
    assert peak() - before < 200 * 2**20
    assert outcomes["refused"] > sum(outcomes.values()) / 2


def peak():
    """Return the largest memory of this process so far, in bytes; 0 where it is not known."""
    resource = pytest.importorskip("resource")
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def play(folder, target, n, capsys):
    """Call a target with the corpus and n new inputs; return how often which outcome came."""
    seeds = [path.read_bytes() for path in sorted((CORPUS / folder).glob("*"))]
    assert seeds, "the corpus is not there"
    rng = np.random.default_rng(SEED)
    began, slowest, outcomes = time.perf_counter(), 0.0, collections.Counter()
    for k in range(len(seeds) + n):
        data = seeds[k] if k < len(seeds) else new(rng, seeds)
        start = time.perf_counter()
        try:
            outcomes[target(data)] += 1
        except BaseException as error:
            raise AssertionError(f"execution {k}: bytes.fromhex({data.hex()!r})") from error
        slowest = max(slowest, time.perf_counter() - start)
    seconds = time.perf_counter() - began
    with capsys.disabled():
        print(
            f"\n{n} executions and {len(seeds)} of the corpus in {seconds:.1f} s, "
            f"{n / seconds:.0f} a second, the slowest {slowest:.2f} s; {dict(outcomes)}"
        )
    assert slowest < PATIENCE
    return outcomes


def new(rng, seeds):
    """Return new bytes, or some of the corpus with a few changes."""
    if rng.random() < 0.5:
        return rng.bytes(int(rng.integers(1, 160)))
    data = bytearray(seeds[rng.integers(len(seeds))])
    for _ in range(rng.integers(1, 6)):
        at = int(rng.integers(len(data) + 1))
        data[at : at + int(rng.integers(2))] = rng.bytes(int(rng.integers(3)))
    return bytes(data)
