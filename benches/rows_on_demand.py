"""Rows on demand beside the matrix in memory: the same run, and how much slower it is.

``python benches/rows_on_demand.py`` where bayespoint is installed: RBF kernel, normal inputs, a
curved boundary. The same seed on the matrix of doubles and on rows computed from the inputs, with
a cache of all rows, of a quarter and of a twentieth of them. 20 000 examples take 3.2 GB.
"""

from __future__ import annotations

import argparse
import resource
import time
import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

from bayespoint import SampleOptions, VersionSpace
from bayespoint.kernels import RBF, gram_matrix
from bayespoint.results import BilliardResult


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--examples", type=int, default=20_000, help="default: %(default)s")
    parser.add_argument("--features", type=int, default=20, help="default: %(default)s")
    parser.add_argument("--bounces", type=int, default=20_000, help="default: %(default)s")
    parser.add_argument("--softness", type=float, default=0.1, help="default: %(default)s")
    options = parser.parse_args()
    m = options.examples
    rng = np.random.default_rng(0)
    X = rng.standard_normal((m, options.features))
    y = np.where(X[:, 0] + np.sin(2 * X[:, 1]) / 2 > 0, 1, -1)
    kernel = RBF(float(np.sqrt(options.features)))
    print(f"\n{m} examples of {options.features} features, {options.bounces} bounces, one thread\n")
    print("| kernel values | seconds | of the matrix | GiB at most so far | the same center |")
    print("|---|---:|---:|---:|---|")
    start = VersionSpace.from_features(X, y, kernel, softness=options.softness).feasible_point(
        "perceptron"
    )

    def run(space: VersionSpace) -> tuple[BilliardResult, float]:
        begin = time.process_time()
        # With a matrix in memory "auto" takes what rows on demand have no factor for.
        result = space.sample(
            options=SampleOptions(
                start=start, max_bounces=options.bounces, refresh="pair", average="arc"
            ),
            n_trajectories=1,
            n_draws=10,
            random_state=0,
        )
        return result, time.process_time() - begin

    rows: list[tuple[str, float, BilliardResult, float]] = []
    for share in (0.05, 0.25, 1.0):
        size = 8.0 * m * (share * m + 1) / 2**20
        space = VersionSpace.from_features(X, y, kernel, softness=options.softness, cache_size=size)
        rows.append((f"on demand, {share:.0%} kept", *reversed(run(space)), peak()))
    gram = gram_matrix(X, kernel, dtype=np.float64)
    result, seconds = run(VersionSpace(gram, y, softness=options.softness))
    print(f"| a matrix of doubles | {seconds:.1f} | 1 | {peak():.2f} | |")
    for name, own, computed, most in rows:
        same = bool((computed.center == result.center).all())
        angle = np.sqrt(max(0.0, float(np.square(computed.center - result.center).sum())))
        print(
            f"| {name} | {own:.1f} | {own / seconds:.1f} | {most:.2f} | "
            f"{'to the last bit' if same else f'{angle:.1e} off'} |"
        )


def peak() -> float:
    """Return the peak of the memory so far in GiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


if __name__ == "__main__":
    warnings.simplefilter("ignore", ConvergenceWarning)
    with threadpool_limits(1):
        main()
