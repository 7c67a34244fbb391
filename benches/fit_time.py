"""Processor seconds of a fit by its parts, on one thread: search, models and their calibration.

``python benches/fit_time.py`` where bayespoint is installed: normal features, of which two decide
the label, medians of three data sets. The default, then one model, and kernel and softness given.
The search includes the choice of the scale of numbers, the models the kernel matrices.
"""

from __future__ import annotations

import time
from collections import Counter
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from bayespoint import BayesPointClassifier
from bayespoint.estimators import base
from bayespoint.kernels import RBF
from bayespoint.posterior import fitting, several
from bayespoint.tuning import scale

SIZES = ((150, 10, 2), (500, 20, 2), (1000, 20, 2), (4000, 20, 2), (300, 10, 4), (500, 20, 4))
"""Numbers of examples, of features and of classes."""

SETTINGS: dict[str, dict[str, Any]] = {
    "default": {},
    "one model": {"n_models": 1},
    "given": {"kernel": RBF(np.sqrt(10.0)), "softness": 0.1, "tol": 0.1},
}

SPENT: Counter[str] = Counter()
"""Seconds of each part."""


def timed(module: Any, function: str, part: str) -> None:
    """Make a function of the package add its seconds to a part."""
    call = getattr(module, function)

    def measured(*arguments: Any, **named: Any) -> Any:
        start = time.process_time()
        try:
            return call(*arguments, **named)
        finally:
            SPENT[part] += time.process_time() - start

    setattr(module, function, measured)


def seconds(m: int, d: int, classes: int, settings: dict[str, Any], seed: int) -> list[float]:
    """Return the seconds of a fit, and those of its parts."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(m, d))
    f = X[:, 0] + np.sin(2 * X[:, 1]) / 2
    y = np.digitize(f, np.quantile(f, np.arange(1, classes) / classes) if classes > 2 else [0.0])
    SPENT.clear()
    start = time.process_time()
    BayesPointClassifier(random_state=0, **settings).fit(X, y)
    fit = time.process_time() - start
    models = SPENT["models"] - SPENT["calibration"]
    return [fit, SPENT["search"], models, SPENT["calibration"]]


def main() -> None:
    """Print the table."""
    timed(scale, "choose", "search")
    timed(base, "search", "search")
    timed(several, "fit_models", "models")
    timed(fitting, "_calibrated", "calibration")
    seconds(50, 2, 2, {}, 0)  # what is imported at the first fit
    print("| examples x features, classes | settings | fit, s | search | models | calibration |")
    print("|---|---|---:|---:|---:|---:|")
    for m, d, classes in SIZES:
        for name, settings in SETTINGS.items():
            parts = np.median([seconds(m, d, classes, settings, k) for k in range(3)], axis=0)
            cells = " | ".join(f"{value:.2f}" for value in parts)
            print(f"| {m} x {d}, {classes} | {name} | {cells} |", flush=True)


if __name__ == "__main__":
    with threadpool_limits(1):
        main()
