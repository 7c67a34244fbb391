"""Wall time of one fit: on one thread of this process, and on Dask clusters of one and two workers.

`python benches/dask_workers.py --examples 1500 --tol 0.01`. The fit averages several models,
each of which is a task. Every result must have the same bits. Needs `dask.distributed`, whose name
this file must not have. The first fit of each cluster, in which the workers import everything, is
not counted.
"""

import argparse
import time

import joblib
import numpy as np
from distributed import Client, LocalCluster

from bayespoint import BayesPointClassifier
from bayespoint.kernels import RBF


def timed(X, y, tol, repeats):
    """Return the shortest time of several fits, and the draws."""
    best, draws = np.inf, None
    for _ in range(repeats):
        model = BayesPointClassifier(RBF(), n_models=6, tol=tol, random_state=0, n_jobs=1)
        start = time.perf_counter()
        model.fit(X, y)
        best = min(best, time.perf_counter() - start)
        draws = np.stack([one.draws.run.draws for one in model.models_])
    return best, draws


def main():
    """Print a line for each."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--examples", type=int, default=1000)
    parser.add_argument("--tol", type=float, default=0.01, help="radians")
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2])
    given = parser.parse_args()
    rng = np.random.default_rng(0)
    X = rng.normal(size=(given.examples, 10))
    y = X[:, 0] + X[:, 1] ** 2 + 0.5 * rng.normal(size=len(X)) > 1.0
    here, draws = timed(X, y, given.tol, given.repeats)
    print(f"{given.examples} examples to {given.tol} rad")
    print(f"here, one thread  {here:7.2f} s")
    for n in given.workers:
        with (
            LocalCluster(n_workers=n, threads_per_worker=1, dashboard_address=None) as cluster,
            Client(cluster),
            joblib.parallel_config("dask"),
        ):
            timed(X[:100], y[:100], 0.1, 1)
            seconds, theirs = timed(X, y, given.tol, given.repeats)
            same = "the same bits" if np.array_equal(draws, theirs) else "OTHER BITS"
            print(f"{n} worker{'s' * (n > 1):1}         {seconds:7.2f} s   {same}")


if __name__ == "__main__":
    main()
