"""Seconds of a fit by default, with one model, and with kernel and softness given, on one thread.

``python benches/fit_time.py`` where bayespoint is installed: examples of normal features, of which
two decide the label, three data sets of each size.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from bayespoint import BayesPointClassifier
from bayespoint.kernels import RBF

SIZES = ((150, 10), (500, 20), (1000, 20), (4000, 20))
"""Numbers of examples and of features."""

SETTINGS: dict[str, dict[str, Any]] = {
    "default": {},
    "one model": {"n_models": 1},
    "given": {"kernel": RBF(np.sqrt(10.0)), "softness": 0.1, "tol": 0.1},
}


def main() -> None:
    """Print the table."""
    print("| examples x features | settings | seconds |")
    print("|---|---|---|")
    for m, d in SIZES:
        for name, settings in SETTINGS.items():
            seconds = []
            for seed in range(3):
                rng = np.random.default_rng(seed)
                X = rng.normal(size=(m, d))
                y = X[:, 0] + np.sin(2 * X[:, 1]) / 2 > 0
                start = time.perf_counter()
                BayesPointClassifier(random_state=0, **settings).fit(X, y)
                seconds.append(time.perf_counter() - start)
            print(f"| {m} x {d} | {name} | {', '.join(f'{value:.2f}' for value in seconds)} |")


if __name__ == "__main__":
    with threadpool_limits(1):
        main()
