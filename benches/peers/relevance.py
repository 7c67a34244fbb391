"""The relevances of features of which only the first five matter.

python benches/peers/relevance.py

The problems are those of the suite "irrelevant" of tables.py. The columns are the smallest and the
mean weight of the five, the mean and the largest weight of the others, and how many of the five are
among the five largest weights.
"""

from __future__ import annotations

import numpy as np
from tables import IRRELEVANT, load, split
from threadpoolctl import threadpool_limits

from bayespoint import BayesPointClassifier


def main() -> None:
    """Print a line for each problem."""
    print("| data | examples | five: smallest | mean | others: mean | largest | found |")
    print("|---|---:|---:|---:|---:|---:|---:|")
    for name in IRRELEVANT:
        X, y = load(name)
        for size in (100, 300):
            part = split(X, y, size, 0)
            model = BayesPointClassifier(random_state=0).fit(part.numbers()[0], part.y)
            mean = model.feature_relevance_.mean
            five, others = mean[:5], mean[5:]
            found = np.sum(np.argsort(-mean)[:5] < 5)
            rest = f"{others.mean():.2f} | {others.max():.2f}" if len(others) else " | "
            print(f"| {name} | {size} | {five.min():.2f} | {five.mean():.2f} | {rest} | {found} |")


if __name__ == "__main__":
    with threadpool_limits(1):
        main()
