"""The default classifier on public tables, with the features as they are: log loss, error, seconds.

    BAYESPOINT_DATA=... python benches/peers/tables.py --splits 5

It reads ``tabular/*.csv`` in the folder BAYESPOINT_DATA: a header, rows, the class in the last
column. Categories become indicators. At most 500 rows are for training, at most 2000 others for
the test. It runs with any version of the package, so that two can be compared.
"""

import argparse
import csv
import os
import time
import warnings
from pathlib import Path

import numpy as np
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split

from bayespoint import BayesPointClassifier

N_TRAIN, N_TEST = 500, 2000


def table(path):
    """Return inputs and labels of a file."""
    with path.open(newline="") as lines:
        rows = np.array(list(csv.reader(lines))[1:], dtype=object)
    columns = []
    for values in rows[:, :-1].T:
        try:
            columns.append(values.astype(float)[:, None])
        except ValueError:  # noqa: PERF203
            columns.append((values[:, None] == np.unique(values.astype(str))).astype(float))
    return np.hstack(columns), rows[:, -1].astype(str)


def split(X, y, seed):
    """Return training and test examples, with the shares of the classes kept."""
    n_train = min(N_TRAIN, int(0.7 * len(y)))
    X_train, X_test, y_train, y_test = train_test_split(
        X, y, train_size=n_train, stratify=y, random_state=seed
    )
    return X_train, X_test[:N_TEST], y_train, y_test[:N_TEST]


def main():
    """Print a line for each table, and the means."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--splits", type=int, default=5)
    options = parser.parse_args()
    lines = []
    for path in sorted((Path(os.environ["BAYESPOINT_DATA"]) / "tabular").glob("*.csv")):
        X, y = table(path)
        figures = []
        for seed in range(options.splits):
            X_train, X_test, y_train, y_test = split(X, y, seed)
            start = time.process_time()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                model = BayesPointClassifier(random_state=seed).fit(X_train, y_train)
                seconds = time.process_time() - start
                p = model.predict_proba(X_test)
            wrong = model.classes_[p.argmax(axis=1)] != y_test
            figures.append([log_loss(y_test, p, labels=model.classes_), wrong.mean(), seconds])
        lines.append(np.mean(figures, axis=0))
        print(report(path.stem, lines[-1]), flush=True)
    print(report("mean", np.mean(lines, axis=0)))


def report(name, figures):
    """Return a line of the table."""
    return "{:15} log loss {:.4f}, error {:.4f}, {:.2f} s of the processor".format(name, *figures)


if __name__ == "__main__":
    main()
