"""How much sooner eight trajectories are done by two threads than by one.

``python benches/threads.py`` where bayespoint is installed, on a machine that does nothing else.
One thread and two take turns; the ratio is that of the medians of the turns.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
from threadpoolctl import threadpool_limits

from bayespoint import SampleOptions, VersionSpace
from bayespoint.kernels import RBF


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", type=int, nargs="+", default=(200, 1000, 4000))
    parser.add_argument("--turns", type=int, default=7)
    options = parser.parse_args()
    print("| m | bounces | one thread (s) | two threads (s) | ratio |\n|---:|---:|---:|---:|---:|")
    for m in options.sizes:
        X = np.random.default_rng(0).normal(size=(m, 10))
        y = np.where(X[:, 0] + np.sin(2 * X[:, 1]) / 2 > 0, 1, -1)
        space = VersionSpace(RBF(2.0)(X), y, softness=0.01)
        bounces = 2_000_000_000 // m
        seconds: dict[int, list[float]] = {1: [], 2: []}
        for _ in range(options.turns):
            for n_jobs, own in seconds.items():
                began = time.perf_counter()
                space.sample(
                    options=SampleOptions(max_bounces=bounces // 8),
                    n_trajectories=8,
                    n_jobs=n_jobs,
                    random_state=0,
                )
                own.append(time.perf_counter() - began)
        one, two = (float(np.median(own)) for own in seconds.values())
        print(f"| {m} | {bounces} | {one:.3f} | {two:.3f} | {one / two:.2f} |", flush=True)


if __name__ == "__main__":
    with threadpool_limits(1):
        main()
