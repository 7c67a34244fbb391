"""How the time of an effective sample grows with the number of examples.

``python benches/growth.py`` where bayespoint is installed, on one thread. Normal points in ten
dimensions, y = sign(x_0 + sin(2 x_1) / 2), RBF kernel of length scale 2, softness 0.01. The time is
that of the path alone: a call less one of a tenth of its path. The effective samples are the
smallest over the plane coordinates that the billiard watches. The exponent is the slope of a line
through the logarithms, with its standard error.
"""

from __future__ import annotations

import argparse
import time
import warnings

import numpy as np
from scipy import stats
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

from bayespoint import BilliardResult, SampleOptions, VersionSpace
from bayespoint.kernels import RBF

SIZES = (100, 300, 1000, 3000, 10_000)
PILOT = 20_000
"""Bounces that tell how long a run has to be."""

LEAST_SECONDS = 0.5
DRAWS = 100
"""Least duration of a timed run in seconds, and the number of draws that it keeps."""


def problem(m: int, seed: int) -> VersionSpace:
    """Return the version space of m examples."""
    X = np.random.default_rng(seed).normal(size=(m, 10))
    y = np.where(X[:, 0] + np.sin(2 * X[:, 1]) / 2 > 0, 1, -1)
    return VersionSpace(RBF(2.0)(X), y, softness=0.01)


def seconds_each(space: VersionSpace, seed: int, effective: float) -> float:
    """Return the seconds of an effective sample: those of a radian by those in a radian."""

    def run(
        draws: int, length: float | None = None, max_bounces: int | None = None
    ) -> tuple[float, BilliardResult]:
        began = time.perf_counter()
        result = space.sample(
            length=length,
            n_draws=draws,
            n_trajectories=1,
            n_jobs=1,
            random_state=seed,
            options=SampleOptions(max_bounces=max_bounces),
        )
        return time.perf_counter() - began, result

    draws = round(5 * effective)
    pilot = run(draws, max_bounces=PILOT)[1]
    length = float(pilot.length) * max(1.0, effective / pilot.ess)
    each_radian = run(draws, length=length)[1].ess / length
    while (taken := run(DRAWS, length=length)[0]) < LEAST_SECONDS:
        length *= max(2.0, 1.2 * LEAST_SECONDS / taken)
    return (taken - run(DRAWS, length=length / 10)[0]) / (0.9 * length * each_radian)


def main() -> None:
    """Print a table and the exponent."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES)
    parser.add_argument("--problems", type=int, default=2, help="of each size")
    parser.add_argument("--effective", type=float, default=200.0, help="samples of each")
    args = parser.parse_args()
    warnings.simplefilter("ignore", ConvergenceWarning)
    print("\n| m | milliseconds per effective sample |\n|---:|---|")
    sizes, times = [], []
    for m in args.sizes:
        own = [
            seconds_each(problem(m, seed), seed, args.effective) for seed in range(args.problems)
        ]
        print(f"| {m} | {', '.join(f'{1e3 * value:.3g}' for value in own)} |", flush=True)
        sizes += [m] * len(own)
        times += own
    line = stats.linregress(np.log(sizes), np.log(times))
    print(f"\nexponent {line.slope:.2f} ± {line.stderr:.2f}")


if __name__ == "__main__":
    with threadpool_limits(1):
        main()
