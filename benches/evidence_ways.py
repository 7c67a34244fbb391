"""The evidence by the bridge and on the ladder of transparencies, where both are possible.

`python benches/evidence_ways.py [m ...]` prints values, errors and processor times of one thread,
means over two seeds. The problems have m normal points in five dimensions under a Matérn kernel, or
in m / 4 under a linear one, and the labels of a random function with noise. The last column is the
time that the ladder would need for the error of the bridge, in times of the bridge: errors fall
with the root of the time.
"""

from __future__ import annotations

import os

os.environ["OPENBLAS_NUM_THREADS"] = "1"

import sys
import time
import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from bayespoint import Evidence, VersionSpace, kernels

SEEDS = 2
SIZES = (100, 300)
PROBLEMS = [("linear", 0.0), *(("Matérn", softness) for softness in (0.0, 1e-6, 0.1, 1.0, 1e2))]


def problem(m: int, kernel: str, softness: float) -> VersionSpace:
    """Return a version space with the labels of a function drawn from the prior."""
    rng = np.random.default_rng(1000 * m)
    x = rng.standard_normal((m, m // 4 if kernel == "linear" else 5))
    gram = x @ x.T if kernel == "linear" else kernels.Matern(2.0, nu=1.5)(x)
    values, vectors = np.linalg.eigh(gram)
    function = vectors @ (np.sqrt(np.maximum(values, 0)) * rng.standard_normal(m))
    noisy = function + np.sqrt(softness) * rng.standard_normal(m)
    return VersionSpace(gram, np.where(noisy > 0, 1, -1), softness=softness)


def measured(space: VersionSpace, rates: list[float]) -> tuple[float, float, float]:
    """Return the first value, its error and the seconds, as means over the seeds."""

    def run(seed: int) -> tuple[Evidence, float]:
        start = time.process_time()
        found = space.evidence(rates, n_jobs=1, random_state=seed)
        return found, time.process_time() - start

    runs = [run(seed) for seed in range(SEEDS)]
    value, error, seconds = np.mean([(e.value[0], e.error[0], s) for e, s in runs], axis=0)
    return float(value), float(error), float(seconds)


def main(sizes: list[int]) -> None:
    """Print the table."""
    print("| m | kernel | softness | label noise | bridge | s | ladder | s | ratio |")
    print("|---:|---|---:|---:|---:|---:|---:|---:|---:|")
    for m in sizes:
        for kernel, softness in PROBLEMS:
            space = problem(m, kernel, softness)
            value, error, seconds = measured(space, [0.0])
            other, of_other, longer = measured(space, [0.0, 0.4])
            ratio = longer / seconds * (of_other / error) ** 2
            print(
                f"| {m} | {kernel} | {softness:g} | 0 | {value:.2f} ± {error:.2f} | {seconds:.2g} "
                f"| {other:.2f} ± {of_other:.2f} | {longer:.2g} | {ratio:.2g} |",
                flush=True,
            )
        value, error, seconds = measured(problem(m, "Matérn", 0.1), [0.05])
        print(f"| {m} | Matérn | 0.1 | 0.05 | | | {value:.2f} ± {error:.2f} | {seconds:.2g} | |")


if __name__ == "__main__":
    warnings.simplefilter("ignore", ConvergenceWarning)
    main([int(size) for size in sys.argv[1:]] or list(SIZES))
