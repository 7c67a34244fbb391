"""Compares the speed of the engine with that at another revision, for ``make bench-compare``.

The other revision is checked out into a worktree of git, and both are built. Then the benches below run in turns, base and
head, so that what else the machine does is in both; ``python benches/compare.py BASE`` needs git, cargo and Python only.
Ends with status 1 if a bench has become slower: see `verdict`.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parent.parent
BENCHES = {
    "bounce": r"^(bounce/(bare|trajectory|trajectory_with_pairs)/(200|1000)|classes/3/400)$",
    "engine": r"^engine/(refresh_full/1000|soft_step/1000|max_margin/1000|run/100)$",
    "evidence": r"^evidence/bridge/100x20$",
    "sources": r"^(sources/row_features/1000|near_walls/near/2000x20)$",
}
SHORT = "--warm-up-time 0.05 --measurement-time 0.2 --sample-size 20 --nresamples 100".split()


def built(folder: Path, target: Path) -> dict[str, str]:
    """Return the executable of each bench."""
    command = ["cargo", "bench", "--locked", "--no-run", "--message-format=json"]
    environment = {**os.environ, "CARGO_TARGET_DIR": str(target)}
    done = subprocess.run(command, cwd=folder, env=environment, stdout=subprocess.PIPE, check=True)
    artifacts = [json.loads(line) for line in done.stdout.splitlines()]
    return {
        one["target"]["name"]: one["executable"]
        for one in artifacts
        if one.get("executable") and one["target"]["kind"] == ["bench"]
    }


def measured(executables: dict[str, str]) -> dict[str, list[float]]:
    """Return, for each bench, the nanoseconds of an iteration in each sample."""
    with tempfile.TemporaryDirectory() as home:
        for name, pattern in BENCHES.items():
            command = [executables[name], "--bench", "--noplot", *SHORT, pattern]
            environment = {**os.environ, "CRITERION_HOME": home}
            subprocess.run(command, env=environment, capture_output=True, check=True)
        found = {}
        for file in sorted(Path(home).glob("**/new/sample.json")):
            sample = json.loads(file.read_text())
            times = [time / n for time, n in zip(sample["times"], sample["iters"], strict=True)]
            found["/".join(file.relative_to(home).parts[:-2])] = times
        return found
