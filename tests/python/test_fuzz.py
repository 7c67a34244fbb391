"""Bytes on the compiled functions.

``BAYESPOINT_FUZZ=1000000`` sets the number of executions; `fuzz/python.py`
has the same target for Atheris, which is guided by coverage. What either finds goes into
``tests/hostile/corpus``, which is played here first.
"""

import os
import time
from pathlib import Path

import numpy as np
import pytest

from hostile import SEED, SLOW
from hostile_bytes import door

CORPUS = Path(__file__).parent.parent / "hostile" / "corpus"


@pytest.mark.filterwarnings("ignore")
def test_bytes(capsys):
    seeds = [path.read_bytes() for path in sorted((CORPUS / "door").glob("*"))]
    assert seeds, "the corpus is not there"
    for data in seeds:
        door(data)
    n = int(os.environ.get("BAYESPOINT_FUZZ") or (40_000 if SLOW else 1000))
    rng = np.random.default_rng(SEED)
    began, slowest = time.perf_counter(), 0.0
    for k in range(n):
        data = new(rng, seeds)
        start = time.perf_counter()
        try:
            door(data)
        except BaseException as error:
            raise AssertionError(f"execution {k}: bytes.fromhex({data.hex()!r})") from error
        slowest = max(slowest, time.perf_counter() - start)
    seconds = time.perf_counter() - began
    with capsys.disabled():
        print(
            f"\n{n} executions and {len(seeds)} of the corpus in {seconds:.1f} s, "
            f"{n / seconds:.0f} a second, the slowest {slowest:.2f} s"
        )


def new(rng, seeds):
    """Return new bytes, or some of the corpus with a few changes."""
    if rng.random() < 0.5:
        return rng.bytes(int(rng.integers(1, 160)))
    data = bytearray(seeds[rng.integers(len(seeds))])
    for _ in range(rng.integers(1, 6)):
        at = int(rng.integers(len(data) + 1))
        data[at : at + int(rng.integers(2))] = rng.bytes(int(rng.integers(3)))
    return bytes(data)
