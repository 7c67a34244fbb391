"""One fit over a table of Dask: seconds and bytes that travelled, with one worker and two.

`python benches/dask_blocks.py`, on a table of 1.6 GB, more than a worker may hold. Needs
`dask.distributed`. Each block of 20 000 rows is made by the workers, which have a memory limit, and
never collected. The kernel is given, since a search would run in this process. With --kill a worker
is killed in the middle of the last fit. Every result must be the same to rounding. Bytes are those
sent over the loopback interface, of all that happens on the machine meanwhile. A round is a sum of
all blocks; the time of one whose tasks do nothing tells what Dask itself takes.
"""

from __future__ import annotations

import argparse
import os
import signal
import threading
import time
import warnings
from typing import Any

import dask
import dask.array as da
import numpy as np
import psutil
from distributed import Client, LocalCluster
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from bayespoint import BayesPointClassifier
from bayespoint.data import blocks, executors
from bayespoint.kernels import RBF

ROWS = 20_000


def block(number: int, features: int) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return inputs and labels of one block."""
    rng = np.random.default_rng([0, number])
    X = rng.standard_normal((ROWS, features))
    f = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.5 * X[:, 3]
    return X, (f + 0.5 * rng.standard_normal(ROWS) > 0).astype(int)


def table(n_blocks: int, features: int) -> tuple[da.Array, da.Array]:
    """Return the arrays of Dask."""
    parts = [dask.delayed(block)(number, features) for number in range(n_blocks)]
    X = [da.from_delayed(part[0], (ROWS, features), np.float64) for part in parts]
    y = [da.from_delayed(part[1], (ROWS,), np.int64) for part in parts]
    return da.concatenate(X), da.concatenate(y)


def kill_later(cluster: LocalCluster, seconds: float) -> None:
    """Kill the process of a worker after some seconds."""

    def kill() -> None:
        time.sleep(seconds)
        worker = next(iter(cluster.workers.values()))
        os.kill(worker.process.pid, signal.SIGKILL)

    threading.Thread(target=kill, daemon=True).start()


class Counted(executors.Dask):
    """Dask, with the number of rounds counted."""

    rounds = 0

    def total(self, *args: Any, **kwargs: Any) -> Any:
        """Return the sum."""
        Counted.rounds += 1
        return super().total(*args, **kwargs)


def empty_round(n_blocks: int) -> float:
    """Return the seconds of a round of tasks that do nothing."""
    executor = executors.Dask()
    begin = time.perf_counter()
    for _ in range(20):
        executor.total(float, (range(n_blocks),))
    return (time.perf_counter() - begin) / 20


def main() -> None:
    """Print a line for each cluster."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--blocks", type=int, default=25)
    parser.add_argument("--features", type=int, default=400)
    parser.add_argument("--landmarks", type=int, default=100)
    parser.add_argument("--memory", default="1.5GB", help="limit of a worker")
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--kill", type=float, help="seconds after which a worker is killed")
    options = parser.parse_args()
    warnings.simplefilter("ignore", ConvergenceWarning)
    size = options.blocks * ROWS * options.features * 8 / 2**30
    print(f"{options.blocks * ROWS} examples of {options.features} features, {size:.2f} GiB")
    blocks.Dask = Counted  # type: ignore[misc]
    first = None
    for n in options.workers:
        with (
            LocalCluster(
                n_workers=n,
                threads_per_worker=1,
                dashboard_address=None,
                memory_limit=options.memory,
            ) as cluster,
            Client(cluster),
        ):
            X, y = table(options.blocks, options.features)
            if options.kill is not None and n == options.workers[-1]:
                kill_later(cluster, options.kill)
            sent = psutil.net_io_counters(pernic=True)["lo"].bytes_sent
            begin = time.perf_counter()
            model = BayesPointClassifier(
                RBF(20.0), softness=1.0, n_components=options.landmarks, random_state=0
            ).fit(X, y)
            seconds = time.perf_counter() - begin
            rounds, Counted.rounds = Counted.rounds, 0
            travelled = psutil.net_io_counters(pernic=True)["lo"].bytes_sent - sent
            draws = model.billiard_.draws
            first = draws if first is None else first
            apart = float(np.abs(draws - first).max() / np.abs(first).max())
            print(
                f"{n} worker{'s' * (n > 1):1} {seconds:7.1f} s, {travelled / 1e6:.0f} MB, "
                f"{rounds} rounds, {1000 * empty_round(options.blocks):.0f} ms each without work, "
                f"draws {apart:.1e} apart",
                flush=True,
            )


if __name__ == "__main__":
    main()
