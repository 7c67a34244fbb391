"""The road from a thousand to a million examples, beside others: log loss, seconds, memory.

    python benches/peers/road.py --out road.csv [--sizes 1000 10000] [--methods ours lightgbm]
    python benches/peers/road.py --out road.csv --report

20 normal features; the labels follow a smooth function of some of them with noise, so that the best
log loss is known. Every method runs in a process of its own, with `--threads` threads, and with the
settings that a user would take: bayespoint's defaults; scikit-learn's `Nystroem` features with
logistic regression, gamma and C chosen by three folds on at most 5000 examples; LightGBM and
CatBoost with a tenth held out for early stopping. The file is continued if it exists.
"""

from __future__ import annotations

import argparse
import csv
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

SIZES = (1000, 10_000, 100_000, 1_000_000)
N_TEST = 20_000
N_FEATURES = 20
SEARCHED = 5000
FIELDS = ("method", "examples", "log_loss", "error", "fit", "predict", "gib")


def data(n: int, seed: int) -> tuple[Any, Any, Any]:
    """Return inputs, labels, and the true probabilities of the second class."""
    import numpy as np
    from scipy.special import ndtr

    teacher = np.random.default_rng(99)
    scales = 0.8 * np.exp(-np.arange(N_FEATURES) / 4)
    directions = teacher.standard_normal((N_FEATURES, 200)) * scales[:, None]
    phases = teacher.uniform(0, 2 * np.pi, 200)
    weights = teacher.standard_normal(200) * np.sqrt(2 / 200) * 2
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, N_FEATURES))
    f = np.empty(n)
    for first in range(0, n, 50_000):
        rows = slice(first, first + 50_000)
        f[rows] = np.cos(X[rows] @ directions + phases) @ weights + 0.7 * X[rows, 0]
    p = ndtr(f / 0.7)
    return X, (rng.random(n) < p).astype(int), p


def ours(X: Any, y: Any, threads: int, **settings: Any) -> Any:
    """Return the fitted default."""
    from bayespoint import BayesPointClassifier

    return BayesPointClassifier(random_state=0, n_jobs=threads, **settings).fit(X, y)


def nystroem(X: Any, y: Any, threads: int) -> Any:
    """Return logistic regression on features, the parameters of which are searched on a part."""
    from sklearn.kernel_approximation import Nystroem
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import GridSearchCV
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    pipeline = make_pipeline(
        StandardScaler(),
        Nystroem(n_components=500, random_state=0),
        LogisticRegression(max_iter=1000),
    )
    grid = {
        "nystroem__gamma": [0.003, 0.01, 0.03, 0.1],
        "logisticregression__C": [0.1, 1.0, 10.0, 100.0],
    }
    search = GridSearchCV(pipeline, grid, scoring="neg_log_loss", cv=3, n_jobs=threads)
    search.fit(X[:SEARCHED], y[:SEARCHED])
    return pipeline.set_params(**search.best_params_).fit(X, y)


def lightgbm(X: Any, y: Any, threads: int) -> Any:
    """Return trees, as many as a held-out tenth wants."""
    from lightgbm import LGBMClassifier, early_stopping

    n = len(y) // 10
    return LGBMClassifier(
        n_estimators=5000, learning_rate=0.05, n_jobs=threads, random_state=0, verbose=-1
    ).fit(
        X[n:],
        y[n:],
        eval_X=X[:n],
        eval_y=y[:n],
        eval_metric="binary_logloss",
        callbacks=[early_stopping(50, verbose=False)],
    )


def catboost(X: Any, y: Any, threads: int) -> Any:
    """Return trees, as many as a held-out tenth wants."""
    from catboost import CatBoostClassifier

    n = len(y) // 10
    return CatBoostClassifier(
        iterations=5000,
        random_seed=0,
        thread_count=threads,
        verbose=0,
        allow_writing_files=False,
        early_stopping_rounds=50,
    ).fit(X[n:], y[n:], eval_set=(X[:n], y[:n]))


METHODS: dict[str, Callable[..., Any]] = {
    "ours": ours,
    "ours, 1000 landmarks": lambda X, y, n: ours(X, y, n, n_components=1000),
    "nystroem": nystroem,
    "lightgbm": lightgbm,
    "catboost": catboost,
}


def measure(method: str, m: int, threads: int, out: Path) -> None:
    """Append a row of the table."""
    from sklearn.metrics import log_loss

    X_test, y_test, _ = data(N_TEST, 1)
    X, y, _ = data(m, 2)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    begin = time.perf_counter()
    model = METHODS[method](X, y, threads)
    middle = time.perf_counter()
    p = model.predict_proba(X_test)
    end = time.perf_counter()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    row = [
        method,
        m,
        log_loss(y_test, p),
        float(((p[:, 1] > 0.5) != y_test).mean()),
        middle - begin,
        end - middle,
        max(peak, before) / 2**20,
    ]
    with out.open("a", newline="") as file:
        csv.writer(file).writerow(row)


def report(out: Path) -> None:
    """Print the table."""
    import numpy as np

    _, y, p = data(N_TEST, 1)
    best = float(-np.log(np.where(y == 1, p, 1 - p)).mean())
    print(f"\nLog loss of the true probabilities: {best:.4f}\n")
    print("| method | examples | log loss | error | fit, s | 20 000 predictions, s | GiB |")
    print("|---|---:|---:|---:|---:|---:|---:|")
    with out.open(newline="") as file:
        for row in csv.DictReader(file, FIELDS):
            values = {name: float(row[name]) for name in FIELDS[1:]}
            print(
                f"| {row['method']} | {values['examples']:.0f} | {values['log_loss']:.4f} | "
                f"{values['error']:.4f} | {values['fit']:.1f} | {values['predict']:.2f} | "
                f"{values['gib']:.2f} |"
            )


def main() -> None:
    """Run every method at every size in a process of its own."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES)
    parser.add_argument("--methods", nargs="+", default=tuple(METHODS), choices=METHODS)
    parser.add_argument("--threads", type=int, default=2, help="default: %(default)s")
    parser.add_argument("--report", action="store_true", help="print the table")
    parser.add_argument("--one", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.report:
        report(options.out)
    elif options.one:
        measure(options.methods[0], options.sizes[0], options.threads, options.out)
    else:
        environment = os.environ | {"OMP_NUM_THREADS": str(options.threads)}
        for m in options.sizes:
            for method in options.methods:
                command = [sys.executable, __file__, "--one", "--out", str(options.out)]
                command += ["--threads", str(options.threads), "--sizes", str(m)]
                subprocess.run([*command, "--methods", method], check=True, env=environment)


if __name__ == "__main__":
    main()
