"""Effective samples per second of samplers of polytopes, side by side, as Markdown tables.

``python benches/peers/samplers/run.py`` where bayespoint is installed; the peers are installed
from the package index, each into an environment of its own below ``--folder``. The problem:
normals ``y_i x_i / |x_i|`` of m normal points in r dimensions labeled by a teacher; wanted are
directions in the cone, all alike. Peers sample a standard Gaussian there, or all of the cone and
a box. Effective sample sizes are the bulk ones of 20 fixed linear functionals of w/|w|; the
tables give the least and the median of the 20, divided by the seconds. One thread. Finding a
start, and the peers' warming up, are not counted; the billiard's start is.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import venv
from pathlib import Path

import numpy as np

from bayespoint.results.diagnostics import ess_bulk

HERE = Path(__file__).parent
PEERS = {
    "hopsy": "hopsy==1.7.0",
    "polytopewalk": "polytopewalk==1.1.0",
    "tmg-hmc": "tmg-hmc==1.0.4",
}
SIZES = ((100, 20), (300, 100), (1000, 100), (1000, 500))
PATIENCE = 6
"""Times the seconds asked for after which a sampler is given up."""


def environment(folder: Path, requirement: str) -> str:
    """Return the interpreter of an environment that has a package; make it if it is not there."""
    python = folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    if not (folder / "ready").exists():
        venv.create(folder, with_pip=True, clear=True)
        install = [str(python), "-m", "pip", "install", "--quiet", requirement]
        subprocess.run(install, check=True)
        (folder / "ready").touch()
    return str(python)


def timed(
    command: list[str], size: tuple[int, int], options: argparse.Namespace
) -> tuple[float, float, int, float, str] | str:
    """Return least and median effective samples a second, draws, seconds, words; or what failed."""
    out = options.folder / "draws.npz"
    out.unlink(missing_ok=True)
    more = ["--size", *map(str, size), "--seed", str(options.seed), "--out", str(out)]
    more += ["--seconds", str(options.seconds)]
    threads = dict.fromkeys(
        ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "RAYON_NUM_THREADS"), "1"
    )
    try:
        run = subprocess.run(
            [*command, *more],
            env={**os.environ, **threads},
            capture_output=True,
            text=True,
            timeout=PATIENCE * options.seconds + 60,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return "too slow"
    if run.returncode:
        return (run.stderr.strip().splitlines() or ["failed"])[-1]
    with np.load(out) as found:
        values, seconds = found["values"], float(found["seconds"])
    rates = ess_bulk(values[None]) / seconds
    return float(rates.min()), float(np.median(rates)), len(values), seconds, run.stdout


def main() -> None:
    """Run all, one after the other, and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--folder", type=Path, default=Path("target/peers"))
    parser.add_argument("--seconds", type=float, default=20.0, help="of each, default: %(default)s")
    parser.add_argument("--seed", type=int, default=0, help="default: %(default)s")
    parser.add_argument("--sizes", type=int, default=len(SIZES), help="how many, default: all")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    ours = [sys.executable, str(HERE / "ours.py")]
    commands = {("bayespoint", "geodesic billiard"): [*ours, "geodesic billiard"]}
    for peer, requirement in PEERS.items():
        script = [
            environment(options.folder / peer, requirement),
            str(HERE / f"{peer.replace('-', '_')}_samplers.py"),
        ]
        names = subprocess.run([*script, "list"], check=True, capture_output=True, text=True)
        commands |= {(peer, name): [*script, name] for name in names.stdout.splitlines()}
    for m, r in SIZES[: options.sizes]:
        print(f"\n{m} planes in {r} dimensions:\n")
        columns = "least ESS/s | median ESS/s | draws | seconds | ours / its median"
        print(f"| package | sampler | {columns} |")
        print("|---|---|---:|---:|---:|---:|---:|")
        first, remarks = float("nan"), ""
        for (peer, name), command in commands.items():
            found = timed(command, (m, r), options)
            if isinstance(found, str):
                print(f"| {peer} | {name} | {found} | | | | |", flush=True)
                continue
            least, median, n, seconds, said = found
            if peer == "bayespoint":
                first, remarks = median, said
            cells = f"{least:.3g} | {median:.3g} | {n} | {seconds:.1f} | {first / median:.3g}"
            print(f"| {peer} | {name} | {cells} |", flush=True)
        print(f"\nThe billiard: {remarks}", end="", flush=True)


if __name__ == "__main__":
    main()
