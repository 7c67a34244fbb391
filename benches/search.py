"""Seconds and result of the search for hyperparameters with several classes, on one thread.

``BAYESPOINT_DATA=... python benches/search.py`` where bayespoint is installed: the default kernel,
standardized features, three random splits with at most 500 training examples. Seconds are of the
processor; the log loss is that of the classifier on at most 600 other examples.
"""

from __future__ import annotations

import csv
import os
import time
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_digits, load_iris, load_wine
from sklearn.metrics import log_loss
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from bayespoint import BayesPointClassifier, kernels
from bayespoint.tuning import tune

BUNDLED = {"wine": load_wine, "iris": load_iris, "digits": load_digits}
TABLES = ("contraceptive", "vehicle", "segment")


def load(name: str) -> tuple[Any, Any]:
    """Return features and labels of a table."""
    if name in BUNDLED:
        X, y = BUNDLED[name](return_X_y=True)
        return X, y
    with Path(os.environ["BAYESPOINT_DATA"], f"{name}.csv").open() as file:
        rows = list(csv.reader(file))[1:]
    return np.array([row[:-1] for row in rows], float), np.array([row[-1] for row in rows])


def main() -> None:
    """Print the table."""
    print("| table | classes | examples | settings | seconds | log evidence | log loss |")
    print("|---|---:|---:|---:|---:|---:|---:|")
    for name in (*BUNDLED, *(TABLES if "BAYESPOINT_DATA" in os.environ else ())):
        X, y = load(name)
        m, rows = min(500, len(y) * 3 // 4), []
        for seed in range(3):
            order = np.random.default_rng(seed).permutation(len(y))
            train, test = order[:m], order[m : m + 600]
            scaler = StandardScaler().fit(X[train])
            inputs, classes = scaler.transform(X[train]), np.unique(y)
            labels = np.where(y[train] == classes[:, None], 1.0, -1.0)
            start = time.process_time()
            found = tune(kernels.resolve(None), inputs, labels, offset=1.0)
            seconds = time.process_time() - start
            model = BayesPointClassifier(
                found.kernel,
                softness=found.softness,
                calibration="leave-one-out",
                standardize=False,
                random_state=0,
            ).fit(inputs, y[train])
            loss = log_loss(y[test], model.predict_proba(scaler.transform(X[test])), labels=classes)
            rows.append((len(found.tried), seconds, found.log_evidence, loss))
        tried, seconds, evidence, loss = np.mean(rows, axis=0)
        print(
            f"| {name} | {len(classes)} | {m} | {tried:.0f} | {seconds:.2f} | {evidence:.1f} "
            f"| {loss:.3f} |"
        )


if __name__ == "__main__":
    with threadpool_limits(1):
        main()
