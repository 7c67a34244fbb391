"""Compares the engine's speed with that of another revision: ``make bench-compare BASE=main``.

The other revision is checked out into a worktree of git, and both are built. Then the benches below
run in turns, base and head, each by the processor time that it takes: other work on the machine is
in both, and changes it little. Ends with status 1 if a bench has become slower, see
`Change.is_slower`. Needs git, cargo, a Unix and Python.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from table import machine, readable

ROOT = Path(__file__).parent.parent
BENCHES = {
    "bounce": r"^(bounce/(bare/200|trajectory(_with_pairs)?/(200|1000))|classes/3/400)$",
    "engine": r"^engine/((refresh_full|run)/100|(soft_step|max_margin)/1000)$",
    "evidence": r"^evidence/bridge/100x20$",
}
"""A few of each bench, by file: those whose ratios vary least from turn to turn."""
BARE = "bounce/bare/200"
BASELINE = ROOT / "benches" / "baseline.json"
SHORT = ["--warm-up-time=0.05", "--measurement-time=0.2", "--sample-size=20", "--nresamples=100"]


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


def measured(executables: dict[str, str]) -> dict[str, float]:
    """Return the nanoseconds that an iteration of each bench takes, the first quartile."""
    with tempfile.TemporaryDirectory() as home:
        environment = {**os.environ, "CRITERION_HOME": home, "BAYESPOINT_CPU_TIME": "1"}
        for name, pattern in BENCHES.items():
            command = [executables[name], "--bench", "--noplot", *SHORT, pattern]
            done = subprocess.run(command, env=environment, capture_output=True, text=True)
            if done.returncode:
                sys.exit(f"error: {' '.join(command)}\n{done.stderr}")
        found = {}
        for file in sorted(Path(home).glob("**/new/sample.json")):
            sample = json.loads(file.read_text())
            times = [time / n for time, n in zip(sample["times"], sample["iters"], strict=True)]
            name = "/".join(file.relative_to(home).parts[:-2])
            found[name] = statistics.quantiles(times, n=4)[0]
        return found


@dataclass(frozen=True)
class Change:
    """Head over base, of a bench in each round."""

    ratios: list[float]

    @property
    def interval(self) -> tuple[float, float]:
        """The second smallest and second largest: 99.4 % hold the median, if there are twelve."""
        ordered = sorted(self.ratios)
        return ordered[1], ordered[-2]

    @property
    def median(self) -> float:
        """The median."""
        return statistics.median(self.ratios)

    def is_slower(self, threshold: float) -> bool:
        """Whether the median is above the threshold, and the interval above 1."""
        return self.median > threshold and self.interval[0] > 1.0


def in_turns(
    base: dict[str, str], head: dict[str, str], rounds: int
) -> list[list[dict[str, float]]]:
    """Return what was measured of base and head in each round; each is the first in every other."""
    found = []
    for k in range(rounds):
        order = (base, head) if k % 2 == 0 else (head, base)
        pair = [measured(one) for one in order]
        found.append(pair if k % 2 == 0 else pair[::-1])
        print(f"round {k + 1} of {rounds}", file=sys.stderr)
    return found


def git(*command: str | Path) -> str:
    """Return what a command of git prints."""
    done = subprocess.run(
        ["git", "-C", ROOT, *command], stdout=subprocess.PIPE, check=True, text=True
    )
    return done.stdout.strip()


def base_built(revision: str, target: Path) -> dict[str, str]:
    """Build a revision in a folder of its own: the engine's library has one name in all."""
    tree = target / "base"
    if tree.exists():  # left by a comparison that was ended
        git("worktree", "remove", "--force", tree)
    git("worktree", "add", "--quiet", "--force", "--detach", tree, revision)
    try:
        if not (tree / "benches" / "common" / "clock.rs").exists():
            sys.exit(f"error: the benches of {revision} do not measure processor time")
        return built(tree, target)
    finally:
        git("worktree", "remove", "--force", tree)


def report(rounds: list[list[dict[str, float]]], threshold: float) -> list[str]:
    """Print the table, and return the benches that are slower."""
    slower = []
    stored = json.loads(BASELINE.read_text())["in_bare_passes"] if BASELINE.exists() else {}
    print("| bench | base | head | head / base | interval | since the baseline |  |")
    print("|---|---:|---:|---:|---:|---:|---|")
    bare = statistics.median(head[BARE] for _, head in rounds)
    for name in rounds[0][1]:
        pairs = [(base[name], head[name]) for base, head in rounds if name in base]
        own = statistics.median(head[name] for _, head in rounds)
        since = f"{own / bare / stored[name]:.2f}" if name in stored else ""
        if not pairs:
            print(f"| {name} | | {readable(own)} | | | {since} | new |")
            continue
        change = Change([head / base for base, head in pairs])
        (low, high), base = change.interval, statistics.median(base for base, _ in pairs)
        if change.is_slower(threshold):
            slower.append(name)
        mark = "SLOWER" if name in slower else ""
        print(
            f"| {name} | {readable(base)} | {readable(own)} | {change.median:.3f} "
            f"| {low:.3f} to {high:.3f} | {since} | {mark} |"
        )
    return slower


def main() -> int:
    """Compare, and store a baseline if asked to."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("base", help="a revision of git")
    parser.add_argument("--rounds", type=int, default=12)
    parser.add_argument("--threshold", type=float, default=1.1, help="of the median ratio")
    parser.add_argument("--write", action="store_true", help="store head in benches/baseline.json")
    options = parser.parse_args()
    target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")).resolve()
    revision = git("describe", "--always", "--dirty")
    base = base_built(git("rev-parse", options.base), target / "compare")
    rounds = in_turns(base, built(ROOT, target), options.rounds)
    print(f"{machine()}; head {revision}; base {git('describe', '--always', options.base)}.\n")
    slower = report(rounds, options.threshold)
    if options.write:
        heads = [head for _, head in rounds]
        ratios = {n: statistics.median(h[n] / h[BARE] for h in heads) for n in heads[0]}
        text = {
            "revision": revision,
            "machine": machine(),
            "in_bare_passes": {n: round(x, 3) for n, x in ratios.items()},
        }
        BASELINE.write_text(json.dumps(text, indent=2) + "\n")
    print(f"\nslower than {options.threshold}: {', '.join(slower) or 'none'}")
    return 1 if slower else 0


if __name__ == "__main__":
    sys.exit(main())
