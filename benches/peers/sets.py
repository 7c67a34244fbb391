"""Sets of labels: how often they hold the true one, and how large they are, beside others.

    BAYESPOINT_DATA=... python benches/peers/sets.py --out sets.csv
    python benches/peers/sets.py --out sets.csv --report
    python benches/peers/sets.py --given

The tables are the folders ``tabular`` and ``frames`` of BAYESPOINT_DATA, with at most 500 training
examples and 2000 others for the test. All sets are asked to hold the true label nine times in ten.
CatBoost has the sets of MAPIE (cross-conformal, five folds, the score "lac") and of crepes (a
fourth of the examples is held out). CatBoost, MAPIE, crepes and skrub must be installed. Every
method has one thread; a method that raises has no row, and a file that exists is continued.

``--given`` needs no data. It draws small data sets again and again, and fits given hyperparameters,
with each example left out in turn. So it compares the sets with exact full conformal prediction,
and leave-one-out probabilities with those of the fits.
"""

from __future__ import annotations

import argparse
import csv
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import frames
import numpy as np
import pandas as pd
import tables
from tables import Split
from threadpoolctl import threadpool_limits

from bayespoint import BayesPointClassifier, kernels

ALPHA, FOLDS, HELD = 0.1, 5, 0.25
POINTS = 10_000
"""Number of points of which the seconds are told."""

Sets = tuple[Any, Any]
"""Classes, and an (n, n_classes) array that says which are in the set of each point."""


def bayespoint(part: Split, seed: int) -> Callable[[pd.DataFrame], Sets]:
    """Return what makes sets of our classifier."""
    model = BayesPointClassifier(random_state=seed, n_jobs=1).fit(part.train, part.y)
    return lambda X: (model.classes_, model.predict_set(X, ALPHA))


def trees(seed: int) -> Any:
    """Return CatBoost, which is not fitted."""
    from catboost import CatBoostClassifier

    fixed = {"verbose": False, "thread_count": 1, "allow_writing_files": False}
    return CatBoostClassifier(random_seed=seed, **fixed)


def mapie(part: Split, seed: int) -> Callable[[pd.DataFrame], Sets]:
    """Return what makes cross-conformal sets of CatBoost."""
    from mapie.classification import CrossConformalClassifier

    model = CrossConformalClassifier(
        trees(seed), confidence_level=1 - ALPHA, cv=FOLDS, random_state=seed
    )
    classes, index = np.unique(part.y.astype(str), return_inverse=True)
    categories = {"cat_features": part.categories}
    model.fit_conformalize(part.train, index, fit_params=categories)
    return lambda X: (classes, model.predict_set(X)[1][:, :, 0])


def crepes(part: Split, seed: int) -> Callable[[pd.DataFrame], Sets]:
    """Return what makes sets of CatBoost with a part of the examples held out."""
    from crepes import WrapClassifier

    order = np.random.default_rng(seed).permutation(len(part.y))
    held, rest = np.split(order, [int(HELD * len(order))])
    classes, index = np.unique(part.y.astype(str), return_inverse=True)
    model = WrapClassifier(trees(seed))
    model.fit(part.train.iloc[rest], index[rest], cat_features=part.categories)
    model.calibrate(part.train.iloc[held], index[held], seed=seed)
    known = classes[model.learner.classes_.astype(int)]
    options = {"confidence": 1 - ALPHA, "smoothing": False, "labels": False}
    return lambda X: (known, np.asarray(model.predict_set(X, **options)) > 0)


METHODS = {"bayespoint": bayespoint, "MAPIE": mapie, "crepes": crepes}


def as_categories(part: Split) -> Split:
    """Return a split whose columns are numbers and categories, as CatBoost takes them."""
    kept = []

    def keep(split: Split, seed: int) -> Any:
        kept.append(split)
        return 0.0, [], np.zeros((1, 1))

    frames.native(keep, missing="missing")(part, 0)
    return kept[0]


def examples(options: argparse.Namespace) -> Iterator[tuple[str, int, Split, Split]]:
    """Yield the splits, with the form that other methods take."""
    folder = tables.Path(tables.os.environ["BAYESPOINT_DATA"]) / "tabular"
    for name in sorted(path.stem for path in folder.glob("*.csv")):
        if not options.only or name in options.only:
            X, y = tables.load(name)
            for seed in range(options.splits):
                part = tables.split(X, y, 500, seed)
                yield name, seed, part, part
    own = [one for one in frames.tables_of_people().index() if one in (options.only or [one])]
    options = argparse.Namespace(splits=options.splits, only=own)
    for name, _, seed, part in frames.examples(options) if own else ():
        yield name, seed, part, as_categories(part)


def figures(classes: Any, sets: Any, y: Any) -> dict[str, float]:
    """Return how often sets hold the label, and their sizes."""
    right = sets & (y.astype(str)[:, None] == np.asarray(classes).astype(str))
    size = sets.sum(axis=1)
    return {
        "coverage": right.any(axis=1).mean(),
        "size": size.mean(),
        "single": (size == 1).mean(),
        "empty": (size == 0).mean(),
    }


def measured(method: str, part: Split, seed: int, *, again: bool) -> dict[str, float]:
    """Return the measures of a method, or print the error that it raises and return nothing."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            began = time.process_time()
            predict = METHODS[method](part, seed)
            seconds = time.process_time() - began
            began = time.process_time()
            classes, sets = predict(part.test)
            each = (time.process_time() - began) / len(part.test)
            found = figures(classes, sets, part.y_test)
            found |= {"fit": seconds, "predict": POINTS * each, "same": np.nan}
            if again:
                other = METHODS[method](part, 1000)(part.test)[1]
                found["same"] = (other == sets).all(axis=1).mean()
    except Exception as error:
        print(f"{type(error).__name__}: {error}", flush=True)
        return {}
    return found


def measure(options: argparse.Namespace) -> None:
    """Add a row to the file for each split and method that it has not."""
    old = pd.read_csv(options.out) if options.out.exists() else None
    done = (
        set() if old is None else set(zip(old["table"], old["split"], old["method"], strict=True))
    )
    for name, seed, own, others in examples(options):
        for method in options.methods:
            if (name, seed, method) in done:
                continue
            found = measured(
                method, own if method == "bayespoint" else others, seed, again=options.again
            )
            row = {"table": name, "split": seed, "method": method, **found}
            print(row, flush=True)
            if found:
                new = not options.out.exists()
                with options.out.open("a", newline="") as file:
                    writer = csv.DictWriter(file, list(row))
                    if new:
                        writer.writeheader()
                    writer.writerow(row)


def report(rows: pd.DataFrame) -> None:
    """Print coverage and size by table, and means over the tables."""
    methods = [name for name in METHODS if name in set(rows["method"])]
    means = rows.pivot_table(index="table", columns="method", values=["coverage", "size"])
    means = means.dropna()
    print(f"| data | {' | '.join(f'{one}: coverage | size' for one in methods)} |")
    print(f"|---|{'---:|---:|' * len(methods)}")
    for name, line in [*means.iterrows(), ("mean", means.mean())]:
        cells = (f"{line['coverage', one]:.3f} | {line['size', one]:.2f}" for one in methods)
        print(f"| {name} | {' | '.join(cells)} |")
    kept = rows[rows["table"].isin(means.index)]
    each = kept.groupby(["method", "table"])[["single", "empty", "fit", "predict", "same"]].mean()
    print(each.groupby("method").mean().loc[methods].round(3).to_string())
    spread = kept.groupby(["method", "table"])["coverage"].mean().groupby("method")
    print("range of coverage:", spread.agg(["min", "max"]).loc[methods].round(3).to_dict("index"))
    ratio = np.exp(np.log(means["size"].div(means["size"]["bayespoint"], axis=0)).mean())
    print("geometric mean of the ratios of sizes to ours:", ratio.round(3).to_dict())


def drawn(rng: np.random.Generator, m: int, classes: int) -> tuple[Any, Any]:
    """Return examples whose labels are the largest of some functions with noise."""
    X = rng.normal(size=(m, 2))
    f = [np.sin(2 * X[:, 0] + k) + np.cos((1.7 * X[:, 1] + 1) * (k + 1)) for k in range(classes)]
    noisy = np.array(f) + 0.6 * rng.normal(size=(classes, m))
    return X, noisy.argmax(axis=0) if classes > 2 else (noisy[0] > 0).astype(int)


def given(repetitions: int, points: int = 200) -> None:
    """Print coverage and size of our sets and of exact ones, given the hyperparameters."""
    print("| classes | examples | sets | alpha | coverage | size |\n|---:|---:|---|---:|---:|---:|")
    for classes, m in ((2, 19), (2, 49), (3, 19)):
        found: dict[tuple[str, float], list[Any]] = {}
        apart = []
        for k in range(repetitions):
            rng = np.random.default_rng([classes, m, k])
            X, y = drawn(rng, m + points, classes)
            if np.bincount(y[:m], minlength=classes).min() < 2:
                continue  # a class would be unknown
            settings = {"softness": 0.2, "standardize": False, "n_jobs": 1, "random_state": k}

            def fit(rows: Any, X: Any = X, y: Any = y, settings: Any = settings) -> Any:
                return BayesPointClassifier(kernels.RBF(0.7), **settings).fit(X[rows], y[rows])

            model = fit(np.arange(m))
            alone = np.empty((m, classes))
            rank = np.ones((points, classes))
            for i in range(m):
                one = fit(np.delete(np.arange(m), i))
                alone[i] = one.predict_proba(X[[i]], method="mixture")[0]
                rank += one.predict_proba(X[m:]) >= alone[i, y[i]]
            apart.append(np.abs(model.leave_one_out() - alone))
            for alpha in (0.1, 0.2):
                exact = rank > alpha * (m + 1)
                for name, sets in (("ours", model.predict_set(X[m:], alpha)), ("exact", exact)):
                    right = sets[np.arange(points), y[m:]].mean()
                    found.setdefault((name, alpha), []).append((right, sets.sum(axis=1).mean()))
        for (name, alpha), values in found.items():
            mean, error = np.mean(values, axis=0), np.std(values, axis=0) / len(values) ** 0.5
            cells = " | ".join(f"{a:.3f} ± {b:.3f}" for a, b in zip(mean, error, strict=True))
            print(f"| {classes} | {m} | {name} | {alpha} | {cells} |", flush=True)
        gap = np.concatenate(apart)
        print(f"leave-one-out and fits differ by {gap.mean():.4f}, at most {gap.max():.3f}")


def main() -> None:
    """Measure, or print the report of what was measured."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--splits", type=int, default=3)
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=list(METHODS))
    parser.add_argument("--only", nargs="+", help="names of tables")
    parser.add_argument("--out", type=Path, default=Path("sets.csv"))
    parser.add_argument("--again", action="store_true", help="compare the sets of another seed")
    parser.add_argument("--report", action="store_true", help="measure nothing")
    parser.add_argument("--given", type=int, nargs="?", const=200, help="number of small data sets")
    options = parser.parse_args()
    if options.given:
        given(options.given)
        return
    if not options.report:
        measure(options)
    report(pd.read_csv(options.out))


if __name__ == "__main__":
    with threadpool_limits(1):
        main()
