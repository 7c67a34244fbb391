"""Ordered classes on real tables: this package beside mord, statsmodels and regressors.

``python benches/ordinal.py --splits 2 --rows 200 --out ordinal.csv`` reads the tables of the folder
``BAYESPOINT_DATA`` and scikit-learn's diabetes, and prints log loss, ranked probability score, mean
absolute error in classes and seconds, with mean ranks by the ranked probability score. The most
probable class is predicted for the error, by regressors the nearest. Their probabilities are those
of a normal distribution about the prediction with the spread of cross-validated residuals. It needs
pandas, and compares with mord and statsmodels where these are installed.

``python benches/ordinal.py --large 10000 100000`` compares the two classifiers of this package with
landmarks, fitted to so many rows: of the table "magic", with the length of the shower in fifths,
and of Friedman's first function with noise (scikit-learn's ``make_friedman1``) in fifths. Scores
are those of 10 000 other rows, or as many as there are.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy import special, stats
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.datasets import load_diabetes, make_friedman1
from sklearn.ensemble import RandomForestRegressor
from sklearn.impute import SimpleImputer
from sklearn.linear_model import RidgeCV
from sklearn.model_selection import StratifiedShuffleSplit, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from bayespoint import BayesPointClassifier, BayesPointOrdinalClassifier

DATA = Path(os.environ.get("BAYESPOINT_DATA", "."))
FEWEST = 12
"""Rows of a class: rarer ones are left out."""


def tables() -> dict[str, tuple[pd.DataFrame, np.ndarray]]:
    """Return inputs, and the places of the labels in their order."""
    sys.path.insert(0, str(DATA / "frames"))
    load = importlib.import_module("load").load
    found: dict[str, tuple[pd.DataFrame, Any]] = {}
    X, y = load("used_cars")
    found["car"] = X, y.map({"unacc": 0, "acc": 1, "good": 2, "vgood": 3})
    X, y = load("compute_jobs")
    found["job time"] = X, y.map({"VF": 0, "F": 1, "M": 2, "L": 3})
    X, _ = load("bile_cirrhosis")
    found["cirrhosis stage"] = X.drop(columns="stage"), X["stage"]
    X = pd.read_csv(DATA / "tabular/mammographic.csv")
    found["mammography rating"] = X.drop(columns=["x0", "class"]), X["x0"]
    X = pd.read_csv(DATA / "tabular/contraceptive.csv")
    found["education"] = X.drop(columns=["x1", "class"]), X["x1"]
    found["standard of living"] = X.drop(columns=["x7", "class"]), X["x7"]
    X = pd.read_csv(DATA / "wisconsin.csv")
    found["clump thickness"] = X.drop(columns=[X.columns[0], "label"]), X[X.columns[0]]
    X, y = load_diabetes(return_X_y=True, as_frame=True)
    found["progression in fifths"] = X, pd.qcut(y, 5, labels=False)
    cleaned = {}
    for name, (inputs, label) in found.items():
        counts = label.value_counts()
        kept = label.isin(counts[counts >= FEWEST].index).to_numpy()
        places = np.unique(label[kept], return_inverse=True)[1]
        cleaned[name] = inputs[kept].reset_index(drop=True), places
    return cleaned


def large(name: str, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return inputs, and a number in fifths, of n rows to fit and the others."""
    if name == "magic":
        table = pd.read_csv(DATA / "tabular/magic.csv").drop(columns="class").to_numpy()
        table = np.random.default_rng(7).permutation(table)
        X, level = table[:, 1:], table[:, 0]
    else:
        X, level = make_friedman1(n + 10_000, noise=2.0, random_state=7)
    return X, pd.qcut(level, 5, labels=False)


def compare_large(sizes: list[int]) -> None:
    """Print a row for each table, size and classifier."""
    print("table,rows,model,landmarks,log loss,RPS,MAE,seconds")
    for n in sizes:
        for table in ("magic", "friedman"):
            X, y = large(table, n)
            if len(X) < n + 1000:
                continue
            for kind in (BayesPointOrdinalClassifier, BayesPointClassifier):
                began = time.perf_counter()
                model = kind(approximation="landmarks", random_state=0).fit(X[:n], y[:n])
                seconds = time.perf_counter() - began
                p = model.predict_proba(X[n : n + 10_000])
                found = scores(p, y[n : n + 10_000])
                print(
                    table, n, kind.__name__, len(model.X_fit_), *found, seconds, sep=",", flush=True
                )


def numbers() -> Any:
    """Return what makes columns numbers for the others."""
    kinds = make_column_selector(dtype_include="number")
    others = make_column_selector(dtype_exclude="number")
    encoder = OneHotEncoder(drop="first", handle_unknown="ignore", sparse_output=False)
    columns = (SimpleImputer(strategy="median"), kinds), (encoder, others)
    return make_pipeline(make_column_transformer(*columns), StandardScaler())


def by_regression(model: Any, X: np.ndarray, y: np.ndarray, new: np.ndarray) -> np.ndarray:
    """Return normal probabilities about the predictions of a regressor."""
    spread = np.std(y - cross_val_predict(model, X, y, cv=5)) + 1e-9
    ends = np.append(np.arange(y.max()) + 0.5, np.inf)
    above = special.ndtr((ends - model.fit(X, y).predict(new)[:, None]) / spread)
    return np.diff(above, axis=1, prepend=0.0)


def probabilities(name: str, X: pd.DataFrame, y: np.ndarray, new: pd.DataFrame) -> np.ndarray:
    """Return those of the classes for new rows."""
    if name == "ordinal":
        return BayesPointOrdinalClassifier(random_state=0).fit(X, y).predict_proba(new)
    if name == "nominal":
        return BayesPointClassifier(random_state=0).fit(X, y).predict_proba(new)
    prepared = numbers().fit(X)
    a, b = prepared.transform(X), prepared.transform(new)
    if name == "forest":
        return by_regression(
            RandomForestRegressor(200, min_samples_leaf=3, random_state=0), a, y, b
        )
    if name == "ridge":
        return by_regression(RidgeCV(np.logspace(-2, 4, 13)), a, y, b)
    if name == "mord":
        from mord import LogisticAT

        return LogisticAT(alpha=1.0).fit(a, y).predict_proba(b)
    from statsmodels.miscmodels.ordinal_model import OrderedModel

    kept = a.std(axis=0) > 0
    fitted = OrderedModel(y, a[:, kept], distr="probit").fit(method="bfgs", disp=0)
    return np.asarray(fitted.model.predict(fitted.params, exog=b[:, kept]))


def scores(p: np.ndarray, y: np.ndarray) -> tuple[float, float, float]:
    """Return log loss, ranked probability score and mean absolute error."""
    p = np.clip(p, 1e-12, None)
    p /= p.sum(axis=1, keepdims=True)
    log_loss = -np.log(p[np.arange(len(y)), y]).mean()
    below = np.cumsum(p, axis=1) - (np.arange(p.shape[1]) >= y[:, None])
    return log_loss, (below**2).sum(axis=1).mean(), np.abs(p.argmax(axis=1) - y).mean()


def main() -> None:
    """Print a row for each table and method, and the mean ranks."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--splits", type=int, default=2)
    parser.add_argument("--rows", type=int, default=200)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--large", type=int, nargs="+", metavar="ROWS")
    args = parser.parse_args()
    if args.large:
        compare_large(args.large)
        return
    names = ["ordinal", "nominal", "ridge", "forest"]
    peers = {"mord": "mord", "statsmodels": "probit"}
    names += [peer for package, peer in peers.items() if importlib.util.find_spec(package)]
    rows = []
    for table, (X, y) in tables().items():
        n = min(args.rows, int(0.6 * len(y)))
        cut = StratifiedShuffleSplit(args.splits, train_size=n, test_size=None, random_state=7)
        for split, (train, test) in enumerate(cut.split(X, y)):
            for name in names:
                began = time.perf_counter()
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    try:
                        p = probabilities(name, X.iloc[train], y[train], X.iloc[test[:1000]])
                    except (np.linalg.LinAlgError, ValueError) as error:
                        print(f"{table}, {name}: {error}", file=sys.stderr)
                        p = np.tile(np.bincount(y[train]) / n, (len(test[:1000]), 1))
                seconds = time.perf_counter() - began
                found = scores(p, y[test[:1000]])
                rows.append((table, split, y.max() + 1, name, *found, seconds))
                print(*rows[-1], sep=",", flush=True)
    columns = ["table", "split", "classes", "model", "log loss", "RPS", "MAE", "seconds"]
    frame = pd.DataFrame(rows, columns=columns)
    if args.out:
        frame.to_csv(args.out, index=False)
    means = frame.pivot_table(columns[4:], "table", "model")
    for what in columns[4:]:
        print(f"\n{what}\n{means[what][names].round(3).to_string()}")
    for what in columns[4:7]:
        ranks = stats.rankdata(means[what][names].to_numpy(), axis=1).mean(axis=0)
        print(f"mean rank by {what}:", dict(zip(names, ranks.round(2).tolist(), strict=True)))


if __name__ == "__main__":
    main()
