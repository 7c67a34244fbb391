"""The self-tuning classifier beside peers that are tuned, as a Markdown table.

``make bench-peers``, or ``python benches/peers/classifiers.py`` where bayespoint is installed, runs
on data that come with bayespoint and scikit-learn. With ``--data DIRECTORY`` (or the environment
variable BAYESPOINT_DATA) it runs on the eight data sets of the papers that the directory holds as
heart.csv, thyroid.csv and so on: a header, features, and in the last column the label.

Every classifier sees the same stratified splits, 60 % for training (400 examples of waveform and
banana), with features standardized on the training part, and is used as its users would: ours with
no arguments, the support vector machine on a grid of 7 x 7 values of C and gamma by five folds and
then with sigmoid probabilities by five folds, the Gaussian process with an optimized amplitude and
length scale, logistic regression and random forest with scikit-learn's defaults. Linear algebra
has one thread.

With ``--out FILE.csv`` the scores of each split are appended there, and what it already holds is
not computed again.
"""

from __future__ import annotations

import argparse
import csv
import os
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_breast_cancer, load_digits, load_wine
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process import GaussianProcessClassifier
from sklearn.gaussian_process.kernels import RBF
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import GridSearchCV, StratifiedShuffleSplit
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

from bayespoint import BayesPointClassifier
from bayespoint.datasets import load_sonar

Floats: TypeAlias = NDArray[np.float64]
Key: TypeAlias = tuple[str, str, int]

PAPERS = (
    "heart",
    "thyroid",
    "diabetes",
    "waveform",
    "banana",
    "sonar",
    "ionosphere",
    "wisconsin",
)
BUNDLED = ("sonar", "breast cancer", "wine", "digits, 3 against 8")
TRAINING: dict[str, float] = {"waveform": 400, "banana": 400}
TRAINING_SHARE = 0.6
METRICS = ("error %", "log loss", "Brier score", "seconds")
OURS = "BayesPointClassifier"


class TunedSVC(CalibratedClassifierCV):  # type: ignore[misc]
    """Grid search for C and gamma, then sigmoid probabilities for the best of the grid."""

    def fit(self, X: Floats, y: Any) -> TunedSVC:
        """Search, then calibrate."""
        # scikit-learn's own scale of gamma is 1 / d here; three decades to either side of it.
        grid = {"C": np.logspace(-2, 4, 7), "gamma": np.logspace(-3, 3, 7) / X.shape[1]}
        search = GridSearchCV(SVC(), grid, cv=5).fit(X, y)
        self.estimator = SVC(**search.best_params_)
        self.ensemble = False
        self.cv = 5
        super().fit(X, y)
        return self


class TunedGaussianProcess(GaussianProcessClassifier):  # type: ignore[misc]
    """Amplitude and length scale optimized from a start at the scale of standardized features."""

    def fit(self, X: Floats, y: Any) -> TunedGaussianProcess:
        """Set the start, then optimize."""
        self.kernel = 1.0 * RBF(np.sqrt(X.shape[1]))
        super().fit(X, y)
        return self


PEERS: dict[str, Callable[[int], Any]] = {
    OURS: lambda seed: BayesPointClassifier(random_state=seed),
    "SVC, tuned": lambda _: TunedSVC(),
    "GaussianProcessClassifier": lambda seed: TunedGaussianProcess(random_state=seed),
    "LogisticRegression": lambda _: LogisticRegression(max_iter=1000),
    "RandomForestClassifier": lambda seed: RandomForestClassifier(random_state=seed),
}


def load(directory: Path | None, name: str) -> tuple[Floats, Any]:
    """Return features and labels of a data set."""
    if directory is not None:
        table = np.loadtxt(directory / f"{name}.csv", delimiter=",", skiprows=1)
        return table[:, :-1], table[:, -1]
    if name == "digits, 3 against 8":
        digits, digit = load_digits(return_X_y=True)
        chosen = (digit == 3) | (digit == 8)
        return digits[chosen], digit[chosen]
    loaders = {"sonar": load_sonar, "breast cancer": load_breast_cancer, "wine": load_wine}
    X, y = loaders[name](return_X_y=True)
    return X, y


def splits(name: str, X: Floats, y: Any, number: int, seed: int) -> list[Any]:
    """Return stratified training and test indices."""
    size = TRAINING.get(name, TRAINING_SHARE)
    return list(StratifiedShuffleSplit(number, train_size=size, random_state=seed).split(X, y))


def scores(model: Any, X: Floats, y: Any, train: Any, test: Any) -> list[float]:
    """Fit on one split and return what `METRICS` names."""
    scaler = StandardScaler().fit(X[train])
    X_train, X_test = scaler.transform(X[train]), scaler.transform(X[test])
    began = time.perf_counter()
    model.fit(X_train, y[train])
    seconds = time.perf_counter() - began
    # A forest may give probability 0: held at the smallest that log loss can bear.
    probability = np.clip(model.predict_proba(X_test), 1e-15, 1 - 1e-15)
    one_hot = y[test][:, None] == model.classes_
    return [
        100 * float(np.mean(model.predict(X_test) != y[test])),
        float(log_loss(y[test], probability, labels=model.classes_)),
        # The mean squared distance to the label, halved: for two classes the usual Brier score.
        float(((probability - one_hot) ** 2).sum(axis=1).mean() / 2),
        seconds,
    ]


def known(path: Path | None) -> dict[Key, list[float]]:
    """Return the scores a file holds."""
    if path is None or not path.exists():
        return {}
    with path.open(newline="") as file:
        return {
            (row[0], row[1], int(row[2])): [float(value) for value in row[3:]]
            for row in csv.reader(file)
        }


def report(found: dict[Key, list[float]], sets: list[str], titles: list[str], number: int) -> None:
    """Print the table of means, and of paired differences in log loss to ours."""
    print(f"| data | classifier | {' | '.join(METRICS)} | log loss - ours |")
    print(f"|---|---|{'---:|' * (len(METRICS) + 1)}")
    for name in sets:
        ours = np.array([found[name, OURS, k] for k in range(number)])
        for title in titles:
            table = np.array([found[name, title, k] for k in range(number)])
            cells = []
            for column, digits in zip(table.T, (1, 3, 3, 2), strict=True):
                error = column.std(ddof=1) / np.sqrt(number)
                cells.append(f"{column.mean():.{digits}f} ± {error:.{digits}f}")
            difference = table[:, 1] - ours[:, 1]
            error = difference.std(ddof=1) / np.sqrt(number)
            cells.append(f"{difference.mean():+.3f} ± {error:.3f}" if title != OURS else "")
            print(f"| {name if title == OURS else ''} | {title} | {' | '.join(cells)} |")
    print()
    for title in titles:
        seconds = sum(found[name, title, k][3] for name in sets for k in range(number))
        print(f"{title}: {seconds:.1f} s for all fits")


def main() -> None:
    """Run what is missing and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    folder = os.environ.get("BAYESPOINT_DATA")
    parser.add_argument("--data", type=Path, default=folder, help="folder of the eight data sets")
    parser.add_argument("--splits", type=int, default=10, help="at least 2, default: %(default)s")
    parser.add_argument("--seed", type=int, default=0, help="default: %(default)s")
    parser.add_argument("--sets", nargs="+", help="some of the data sets; default: all")
    parser.add_argument("--only", nargs="+", choices=PEERS, default=list(PEERS))
    parser.add_argument("--out", type=Path, help="CSV file of the scores, to resume from")
    options = parser.parse_args()
    # Length scales at the edge of their range, which the Gaussian process reports in many splits.
    warnings.filterwarnings("ignore", category=ConvergenceWarning, module="sklearn")

    sets = options.sets or (BUNDLED if options.data is None else PAPERS)
    found = known(options.out)
    for name in sets:
        X, y = load(options.data, name)
        cuts = splits(name, X, y, options.splits, options.seed)
        for k, (train, test) in enumerate(cuts):
            for title in options.only:
                if (name, title, k) in found:
                    continue
                with threadpool_limits(limits=1, user_api="blas"):
                    row = scores(PEERS[title](options.seed + k), X, y, train, test)
                found[name, title, k] = row
                if options.out is not None:
                    with options.out.open("a", newline="") as file:
                        csv.writer(file).writerow([name, title, k, *row])
    if OURS in options.only:
        report(found, list(sets), options.only, options.splits)


if __name__ == "__main__":
    main()
