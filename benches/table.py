"""Prints the last figures of Criterion as Markdown tables with their revisions: ``make bench``.

``python benches/table.py --write`` also writes them into benches/README.md. It needs only Python.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
from pathlib import Path

ROOT = Path(__file__).parent.parent
BEGIN, END = "<!-- figures: begin -->\n", "<!-- figures: end -->\n"
BOUNCE = ("bare", "pass", "pass_over_singles", "trajectory", "trajectory_with_pairs")
UNITS = ((1e9, "s"), (1e6, "ms"), (1e3, "µs"), (1.0, "ns"))

Times = dict[str, dict[str, float]]
"""Nanoseconds by function and parameter, in the order of the parameters."""


def readable(nanoseconds: float) -> str:
    """Return a time of three digits with its unit."""
    scale, unit = next((one for one in UNITS if nanoseconds >= one[0]), UNITS[-1])
    return f"{nanoseconds / scale:.3g} {unit}"


def last_figures(folder: Path) -> tuple[dict[str, Times], dict[str, list[str]]]:
    """Return the median of every bench, per bounce if the elements are bounces.

    Of each bench the newest is taken of those that are stored under a revision. Those of each group
    are returned, too.
    """
    groups: dict[str, Times] = {}
    revisions: dict[str, list[str]] = {}
    stored: dict[Path, Path] = {}
    for file in sorted(
        folder.glob("*/*/*/*/estimates.json"), key=lambda file: file.stat().st_mtime
    ):
        if file.parent.name not in ("base", "change", "new"):
            stored[file.parents[1]] = file
    for file in stored.values():
        about = json.loads((file.parent / "benchmark.json").read_text())
        median = json.loads(file.read_text())["median"]
        group, name, parameter = about["group_id"], about["function_id"], about["value_str"]
        of_bounces = group == "classes" or name.startswith(("trajectory", "near", "all"))
        each = about["throughput"]["Elements"] if of_bounces else 1
        times = groups.setdefault(group, {}).setdefault(name, {})
        times[parameter] = median["point_estimate"] / each
        if file.parent.name not in revisions.setdefault(group, []):
            revisions[group].append(file.parent.name)
    return groups, revisions


def size(parameter: str) -> list[int]:
    """Return the numbers that a parameter is ordered by."""
    return [int(number) for number in parameter.split("x")]


def table(times: Times, names: list[str], *, ratios: bool = False) -> str:
    """Return functions as columns and parameters as rows; times, or ratios to the first column."""
    parameters = sorted({own for name in names for own in times[name]}, key=size)
    lines = ["| m | " + " | ".join(name.replace("_", " ") for name in names) + " |"]
    lines.append("|---:|" + "---:|" * len(names))
    for parameter in parameters:
        cells = []
        for name in names:
            value, first = times[name].get(parameter), times[names[0]].get(parameter)
            if value is None:
                cells.append("")
            elif ratios and first is not None and name != names[0]:
                cells.append(f"{value / first:.2f}")
            else:
                cells.append(readable(value))
        lines.append(f"| {parameter} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def said(command: list[str]) -> str:
    """Return the first line that a command prints."""
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()[
        0
    ]


def machine() -> str:
    """Return the machine and the compiler."""
    model = platform.processor() or platform.machine()
    info = Path("/proc/cpuinfo")
    if info.exists():
        lines = info.read_text().splitlines()
        model = next((x.split(":")[1].strip() for x in lines if x.startswith("model name")), model)
    compiler = said(["rustc", "--version"])
    return f"{model}, {os.cpu_count()} cores, {platform.system()}; {compiler}"


def report(folder: Path) -> str:
    """Return the tables."""
    groups, revisions = last_figures(folder)
    parts = [f"{machine()}."]
    for group, times in sorted(groups.items()):
        title = (
            f"**{group.replace('_', ' ').capitalize()}** ({', '.join(revisions[group])}): median"
        )
        if group == "bounce":
            parts.append(f"{title} time of the bare pass; the others relative to it.")
            parts.append(table(times, [name for name in BOUNCE if name in times], ratios=True))
        else:
            parts.append(f"{title} times.")
            names = sorted(times, key=lambda name: (name.isdigit() and len(name), name))
            parts.append(table(times, names))
    return "\n\n".join(parts) + "\n"


def main() -> None:
    """Print the tables, and write them."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    parser.add_argument("--folder", type=Path, default=target / "criterion")
    parser.add_argument("--write", action="store_true", help="also into benches/README.md")
    options = parser.parse_args()
    text = report(options.folder)
    print(text)
    if options.write:
        readme = ROOT / "benches" / "README.md"
        before, rest = readme.read_text().split(BEGIN)
        readme.write_text(before + BEGIN + text + END + rest.split(END)[1])


if __name__ == "__main__":
    main()
