"""Hard margins side by side: processor time of a fit and training errors, as a Markdown table.

``python benches/peers/margin.py`` where bayespoint is installed. The data are those of the
papers' Table 1, with the papers' length scales and up to 400 examples. libsvm has
no hard margin: it gets C = 1e10, and 5 000 000 iterations at most. Its classifier has a free
intercept; ours is timed with one and without. The time is that of the processor, all threads
together and BLAS on one: what others do on the machine does not count.
"""

from __future__ import annotations

import argparse
import time
import warnings
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

from bayespoint import kernels
from bayespoint.papers.experiments import sets
from bayespoint.papers.max_margin import MaxMarginClassifier

EXAMPLES = 400


PATIENCE = 10.0
"""Seconds for one data set after which fits are not repeated."""


def timed(models: list[Any], X: Any, y: Any, repeats: int) -> list[tuple[float, int]]:
    """Return the median time of a fit in seconds, and the training errors, of each model.

    The models take turns, so that what slows the machine for a while slows all of them.
    """
    times: list[list[float]] = [[] for _ in models]
    started = time.process_time()
    while len(times[0]) < repeats and (not times[0] or time.process_time() < started + PATIENCE):
        for model, own in zip(models, times, strict=True):
            began = time.process_time()
            model.fit(X, y)
            own.append(time.process_time() - began)
    errors = [int((model.predict(X) != y).sum()) for model in models]
    return [(float(np.median(own)), wrong) for own, wrong in zip(times, errors, strict=True)]


def main() -> None:
    """Print the table."""
    threadpool_limits(1)
    warnings.filterwarnings("ignore", category=ConvergenceWarning, module="sklearn")
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=51, help="default: %(default)s")
    parser.add_argument("--seed", type=int, default=0, help="default: %(default)s")
    options = parser.parse_args()
    columns = "{} intercept, ms | ratio | errors | violation"
    print(f"| data | m | SVC, ms | errors | {columns.format('free')} | {columns.format('no')} |")
    print(f"|---|{'---:|' * 11}", flush=True)
    for name, used in sets.SETS.items():
        n = min(EXAMPLES, len(used.load()[1]))
        X, _, y, _ = sets.split(name, options.seed, n)
        rbf = kernels.RBF(used.sigma)
        rival = SVC(C=1e10, gamma=1 / (2 * used.sigma**2), max_iter=5_000_000)
        ours = [MaxMarginClassifier(rbf, C=np.inf, fit_intercept=b) for b in ("free", False)]
        svc, *found = timed([rival, *ours], X, y, options.repeats)
        cells = [f"{name}", f"{n}", f"{1e3 * svc[0]:.2f}", f"{svc[1]}"]
        for model, (seconds, errors) in zip(ours, found, strict=True):
            cells += [f"{1e3 * seconds:.2f}", f"{seconds / svc[0]:.2f}", f"{errors}"]
            cells.append(f"{model.kkt_[0]:.0e}")
        print(f"| {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
