"""Classifiers side by side: test error, calibration and fit time, as a Markdown table.

``make bench-peers``, or ``python benches/peers/classifiers.py`` where bayespoint is installed.
Every classifier sees the same stratified splits, 60 % for training and 40 % for the test, with
features standardized on the training part. All data come with bayespoint or with scikit-learn.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_breast_cancer, load_digits, load_wine
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process import GaussianProcessClassifier
from sklearn.gaussian_process.kernels import RBF
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import StratifiedShuffleSplit
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from bayespoint import BayesPointClassifier
from bayespoint.datasets import load_sonar

SPLITS = 10
TEST_SHARE = 0.4
METRICS = ("error %", "log loss", "Brier score", "fit seconds")
DIGITS = (1, 3, 3, 3)  # to print of each

CLASSIFIERS: dict[str, Callable[[int], Any]] = {
    "BayesPointClassifier": lambda seed: BayesPointClassifier(random_state=seed),
    "SVC, calibrated": lambda _: CalibratedClassifierCV(SVC(kernel="rbf"), ensemble=False),
    "GaussianProcessClassifier": lambda seed: GaussianProcessClassifier(
        1.0 * RBF(), random_state=seed
    ),
    "LogisticRegression": lambda _: LogisticRegression(max_iter=1000),
}


def data_sets() -> dict[str, tuple[Any, Any]]:
    """Return inputs and labels under the name of the data set."""
    digits, digit = load_digits(return_X_y=True)
    chosen = (digit == 3) | (digit == 8)
    return {
        "sonar": load_sonar(return_X_y=True),
        "breast cancer": load_breast_cancer(return_X_y=True),
        "wine": load_wine(return_X_y=True),
        "digits, 3 against 8": (digits[chosen], digit[chosen]),
    }


def scores(
    make: Callable[[int], Any], X: Any, y: Any, train: Any, test: Any, seed: int
) -> tuple[float, ...]:
    """Fit on one split and return what `METRICS` names."""
    scaler = StandardScaler().fit(X[train])
    X_train, X_test = scaler.transform(X[train]), scaler.transform(X[test])
    model = make(seed)
    began = time.perf_counter()
    model.fit(X_train, y[train])
    seconds = time.perf_counter() - began
    probability = model.predict_proba(X_test)
    one_hot = y[test][:, None] == model.classes_
    # The mean squared distance to the label, halved: for two classes the usual Brier score.
    brier = ((probability - one_hot) ** 2).sum(axis=1).mean() / 2
    return (
        100 * float(np.mean(model.predict(X_test) != y[test])),
        float(log_loss(y[test], probability, labels=model.classes_)),
        float(brier),
        seconds,
    )


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--splits", type=int, default=SPLITS, help="default: %(default)s")
    parser.add_argument("--seed", type=int, default=0, help="default: %(default)s")
    options = parser.parse_args()
    # Length scales at the edge of their range, which the Gaussian process reports in many splits.
    warnings.filterwarnings("ignore", category=ConvergenceWarning, module="sklearn")

    print(f"| data | classifier | {' | '.join(METRICS)} |")
    print(f"|---|---|{'---:|' * len(METRICS)}", flush=True)
    for name, (X, y) in data_sets().items():
        splitter = StratifiedShuffleSplit(
            options.splits, test_size=TEST_SHARE, random_state=options.seed
        )
        splits = list(splitter.split(X, y))
        shape = f"{name} ({len(splits[0][0])} x {X.shape[1]})"
        for title, make in CLASSIFIERS.items():
            table = np.array(
                [scores(make, X, y, train, test, options.seed) for train, test in splits]
            )
            cells = [
                f"{value:.{digits}f}"
                for value, digits in zip(table.mean(0), (1, 3, 3, 3), strict=True)
            ]
            if len(table) > 1:
                error = table.std(0, ddof=1) / np.sqrt(len(table))
                cells = [
                    f"{cell} ± {value:.{k}f}"
                    for cell, value, k in zip(cells, error, DIGITS, strict=True)
                ]
            print(f"| {shape} | {title} | {' | '.join(cells)} |", flush=True)
            shape = ""


if __name__ == "__main__":
    main()
