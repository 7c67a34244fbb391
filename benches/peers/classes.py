"""Seconds of the default fit with several classes, by part, beside those of a tuned SVC.

``BAYESPOINT_DATA=... python benches/peers/classes.py`` where bayespoint is installed. One thread;
seconds are those of the processor, the least of three fits, and one of the SVC.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any
from unittest import mock

import numpy as np
from tables import METHODS, load, split
from threadpoolctl import threadpool_limits

from bayespoint import BayesPointClassifier
from bayespoint.estimators import bayes_point

PARTS = {
    "search": (bayes_point.search, "resolve_hyperparameters"),
    "matrix": (bayes_point.kernels, "training_gram"),
    "factor": (bayes_point, "factored"),
    "billiard": (bayes_point, "sample_each"),
}
CASES = (("segment", 500), ("digits", 898), ("vehicle", 500), ("usps", 1000))


def clocked(function: Callable[..., Any], seconds: list[float]) -> Callable[..., Any]:
    """Return the function, which adds its seconds to a list."""

    def call(*args: Any, **kwargs: Any) -> Any:
        began = time.process_time()
        result = function(*args, **kwargs)
        seconds.append(time.process_time() - began)
        return result

    return call


def fit_by_part(X: Any, y: Any) -> list[float]:
    """Return the seconds of the parts of a fit, of all else and of the whole."""
    spent: dict[str, list[float]] = {name: [] for name in PARTS}
    began = time.process_time()
    with ExitStack() as stack:
        for part, (place, name) in PARTS.items():
            function = clocked(getattr(place, name), spent[part])
            stack.enter_context(mock.patch.object(place, name, function))
        BayesPointClassifier(n_models=1, random_state=0).fit(X, y)
    whole = time.process_time() - began
    parts = [sum(one) for one in spent.values()]
    return [*parts, whole - sum(parts), whole]


def main() -> None:
    """Print the table."""
    print("| data | classes | examples | search | matrix | factor | billiard | rest | fit | SVC |")
    print("|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|")
    total = np.zeros(2)
    for name, size in CASES:
        X, y = load(name)
        examples = split(X, y, size, 0)
        numbers, _ = examples.numbers()
        times = min((fit_by_part(numbers, examples.y) for _ in range(3)), key=lambda one: one[-1])
        rival, *_ = METHODS["SVC"](examples, 0)
        total += [times[-1], rival]
        cells = " | ".join(f"{one:.2f}" for one in [*times, rival])
        print(f"| {name} | {len(np.unique(y))} | {len(numbers)} | {cells} |", flush=True)
    print(f"| sum | | | | | | | | {total[0]:.2f} | {total[1]:.2f} |")


if __name__ == "__main__":
    with threadpool_limits(1):
        main()
