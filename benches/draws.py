"""What draws cost that suffice for probabilities, beside fits that end with an accurate center.

``python benches/draws.py`` where bayespoint is installed: two to five minutes. The kernel's
parameters are found once for each data set. Then fits with these are timed: with the default
number of draws, and with so few (19 for each trajectory) that nothing can be told of them and a
fit ends once its center is accurate. The last columns are the changes of the probabilities
("mixture", at the training examples) from one seed to another.
"""

from __future__ import annotations

import argparse
import itertools
import time
from collections.abc import Callable

import numpy as np
from sklearn.datasets import load_wine, make_classification, make_moons
from threadpoolctl import threadpool_limits

from bayespoint import BayesPointClassifier

FEW = 19


def noise(m: int) -> tuple[np.ndarray, np.ndarray]:
    """Return ten normal features and random labels."""
    rng = np.random.default_rng(0)
    return rng.standard_normal((m, 10)), rng.integers(0, 2, m)


DATA: dict[str, Callable[[], tuple[np.ndarray, np.ndarray]]] = {
    "moons, 200 x 2": lambda: make_moons(200, noise=0.3, random_state=0),
    "wine, one class against the others, 178 x 13": lambda: (
        load_wine().data,
        load_wine().target == 1,
    ),
    "two classes, 400 x 10": lambda: make_classification(400, 10, class_sep=1.0, random_state=1),
    "30 % of the labels flipped, 1000 x 20": lambda: make_classification(
        1000, flip_y=0.3, random_state=0
    ),
    "random labels, 1000 x 10": lambda: noise(1000),
    "two classes, 8000 x 20": lambda: make_classification(8000, random_state=0),
}


def main(names: list[str], seeds: int) -> None:
    """Print the table."""
    print("| data | search | center | center and draws | ess | r_hat | change, largest | mean |")
    print("|---|---:|---:|---:|---:|---:|---:|---:|")
    for name in names:
        X, y = DATA[name]()
        start = time.process_time()
        found = BayesPointClassifier(approximation=None, n_draws=FEW, random_state=0).fit(X, y)
        whole = time.process_time() - start
        seconds: dict[int, list[float]] = {FEW: [], 100: []}
        fits = []
        for seed in range(seeds):
            for n_draws, spent in seconds.items():
                start = time.process_time()
                fit = BayesPointClassifier(
                    found.kernel_,
                    softness=found.softness_,
                    label_noise=found.label_noise_,
                    approximation=None,
                    n_draws=n_draws,
                    random_state=seed,
                ).fit(X, y)
                spent.append(time.process_time() - start)
            fits.append(fit)
        p = [fit.predict_proba(X, method="mixture")[:, 1] for fit in fits]
        change = [abs(a - b) for a, b in itertools.combinations(p, 2)]
        ess = min(fit.billiard_.ess for fit in fits)
        r_hat = max(fit.billiard_.r_hat for fit in fits)
        few, default = (float(np.median(spent)) for spent in seconds.values())
        print(
            f"| {name} | {max(whole - few, 0.0):.2f} | {few:.2f} | {default:.2f} "
            f"| {ess:.0f} | {r_hat:.3f} | {np.max(change):.3f} | {np.mean(change):.4f} |",
            flush=True,
        )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="What draws cost that carry probabilities.")
    parser.add_argument("names", nargs="*", default=list(DATA), help=", ".join(DATA))
    parser.add_argument("--seeds", type=int, default=3)
    given = parser.parse_args()
    with threadpool_limits(1):
        main(given.names, given.seeds)
