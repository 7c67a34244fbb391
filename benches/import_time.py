"""Milliseconds that ``import bayespoint`` adds to ``import sklearn.base``, and where they go.

``python benches/import_time.py`` where bayespoint is installed: processor time, the median over
processes; then the modules that take longest by themselves, from one of them.
"""

from __future__ import annotations

import argparse
import subprocess
import sys

import numpy as np

TIMED = """
import sklearn.base, time
began = time.process_time()
import bayespoint
print(time.process_time() - began)
"""


def main() -> None:
    """Print the median and the longest."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=15, help="default: %(default)s")
    parser.add_argument("--modules", type=int, default=12, help="default: %(default)s")
    options = parser.parse_args()

    def python(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, *arguments], capture_output=True, text=True, check=True
        )

    seconds = [float(python("-c", TIMED).stdout) for _ in range(options.repeats)]
    low, median, high = 1e3 * np.quantile(seconds, [0.25, 0.5, 0.75])
    print(f"{median:.0f} ms (quartiles {low:.0f} and {high:.0f})")
    lines = python("-X", "importtime", "-c", "import sklearn.base, bayespoint").stderr.splitlines()
    names = [line.rpartition("|")[2].strip() for line in lines]
    own = []
    for line, name in list(zip(lines, names, strict=True))[names.index("sklearn.base") + 1 :]:
        own.append((int(line.split(":")[1].split("|")[0]), name))
    for microseconds, name in sorted(own, reverse=True)[: options.modules]:
        print(f"{microseconds / 1e3:8.1f}  {name}")


if __name__ == "__main__":
    main()
