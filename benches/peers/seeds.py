"""How far two seeds of a classifier differ, and how its log loss and time change with the rows.

    BAYESPOINT_DATA=... python benches/peers/seeds.py seeds --seeds 2
    BAYESPOINT_DATA=... python benches/peers/seeds.py rows --sizes 100 200 500 1000 2000 4000 5000
    BAYESPOINT_DATA=... python benches/peers/seeds.py wide

- "seeds": mean change of the probability of a class between seeds, labels that change, and what
  `posterior_.seed_error` says; 500 training examples of each table, beside a random forest of 500
  trees and, if it is installed, CatBoost.
- "rows": log loss on up to 2000 other rows, and seconds of processor time for the fit, of the
  default or with other numbers of models and landmarks.
- "wide": log loss with 100 examples of 1500 or 2000 features, beside SVC, logistic regression and
  our linear kernel.
"""

from __future__ import annotations

import argparse
import itertools
import time
import warnings
from typing import Any

import numpy as np
from frames import tables_of_people
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegressionCV
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from tables import load, split
from threadpoolctl import threadpool_limits

from bayespoint import BayesPointClassifier, kernels

TABLES = ("sonar", "ionosphere", "heart", "diabetes", "bands", "crx", "spambase", "chess")
LARGE = ("magic", "phoneme", "banana", "waveform", "spambase", "chess")
FRAMES = ("caravan_policy", "covid_tests", "hotel_parking", "telco_customers")


def ours(seed: int, **settings: Any) -> Any:
    """Return our classifier."""
    return BayesPointClassifier(random_state=seed, n_jobs=1, **settings)


def forest(seed: int) -> Any:
    """Return a random forest."""
    return RandomForestClassifier(500, random_state=seed)


def catboost(seed: int) -> Any:
    """Return CatBoost, with categories as indicators."""
    from catboost import CatBoostClassifier

    return CatBoostClassifier(
        random_seed=seed, verbose=False, thread_count=1, allow_writing_files=False
    )


def methods() -> dict[str, Any]:
    """Return the methods that are installed."""
    found = {"ours": ours, "forest": forest}
    try:
        import catboost as _  # noqa: F401
    except ImportError:
        return found
    return found | {"CatBoost": catboost}


def compare_seeds(options: argparse.Namespace) -> None:
    """Print the differences between seeds."""
    print("| data | method | log loss | change | labels that change | stated | seconds |")
    print("|---|---|---:|---:|---:|---:|---:|")
    means: dict[str, list[list[float]]] = {}
    for name in options.only or TABLES:
        X, y = load(name)
        for label, make in methods().items():
            rows = []
            for k in range(options.splits):
                part = split(X, y, 500, k)
                own = label == "ours"  # takes categories as they are
                train, test = (part.train, part.test) if own else part.numbers()
                probabilities, losses, stated, began = [], [], [], time.process_time()
                for seed in range(options.seeds):
                    settings = {"n_models": options.n_models or "auto"} if own else {}
                    model = make(seed, **settings).fit(train, part.y)
                    probabilities.append(model.predict_proba(test))
                    losses.append(log_loss(part.y_test, probabilities[-1]))
                    stated.append(model.posterior_.seed_error if own else np.nan)
                seconds = (time.process_time() - began) / options.seeds
                pairs = list(itertools.combinations(probabilities, 2))
                change = np.mean([np.abs(a - b).mean() for a, b in pairs])
                flips = np.mean([(a.argmax(axis=1) != b.argmax(axis=1)).mean() for a, b in pairs])
                rows.append([np.mean(losses), change, flips, np.mean(stated), seconds])
            mean = np.mean(rows, axis=0).tolist()
            means.setdefault(label, []).append(mean)
            show(name, label, mean)
    for label, rows in means.items():
        show("mean", label, np.mean(rows, axis=0).tolist())


def show(name: str, label: str, mean: list[float]) -> None:
    """Print a row."""
    loss, change, flips, stated, seconds = mean
    told = "" if np.isnan(stated) else f"{stated:.4f}"
    figures = f"{loss:.4f} | {change:.4f} | {flips:.2%} | {told} | {seconds:.1f}"
    print(f"| {name} | {label} | {figures} |", flush=True)


def curve(options: argparse.Namespace) -> None:
    """Print log loss on the same test rows, and seconds, by the number of rows."""
    print("| data | rows | log loss | seconds |")
    print("|---|---:|---:|---:|")
    frames, settings = tables_of_people(), {"n_models": options.n_models or "auto"}
    if options.n_components:
        settings |= {"approximation": "landmarks", "n_components": options.n_components}
    for name in options.only or LARGE + FRAMES:
        X, y = frames.load(name) if name in frames.index() else load(name)
        shape = {"test_size": min(2000, len(y) // 3), "stratify": y}
        rest = [train_test_split(X, y, **shape, random_state=k) for k in range(options.splits)]
        for size in options.sizes:
            if size > len(rest[0][0]):
                continue
            rows = []
            for k, (train, test, labels, y_test) in enumerate(rest):
                began = time.process_time()
                model = ours(k, **settings).fit(train[:size], labels[:size])
                seconds = time.process_time() - began
                rows.append([log_loss(y_test, model.predict_proba(test)), seconds])
            loss, seconds = np.mean(rows, axis=0)
            print(f"| {name} | {size} | {loss:.4f} | {seconds:.1f} |", flush=True)


def wide(options: argparse.Namespace) -> None:
    """Print log losses on data with more features than examples."""
    linear = kernels.Scaled(kernels.Linear())
    each = {
        "ours": ours(0),
        "ours, linear": BayesPointClassifier(linear, random_state=0, n_jobs=1),
        "SVC": CalibratedClassifierCV(SVC(), ensemble=False),
        "logistic": LogisticRegressionCV(
            max_iter=2000, scoring="neg_log_loss", use_legacy_attributes=False
        ),
    }
    print(f"| problem | {' | '.join(each)} |")
    print(f"|---|{'---:|' * len(each)}")
    for k in range(5):
        shape = {"n_informative": 15, "n_redundant": 40, "class_sep": 1.6, "random_state": k}
        X, y = make_classification(500, 2000 if k == 0 else 1500, **shape)
        losses = []
        for model in each.values():
            fitted = make_pipeline(StandardScaler(), model).fit(X[:100], y[:100])
            losses.append(log_loss(y[100:], fitted.predict_proba(X[100:])))
        print(f"| {k} | {' | '.join(f'{loss:.3f}' for loss in losses)} |", flush=True)


PARTS = {"seeds": compare_seeds, "rows": curve, "wide": wide}


def main() -> None:
    """Measure a part."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("part", choices=PARTS)
    parser.add_argument("--only", nargs="+", help="names of data sets")
    parser.add_argument("--splits", type=int, default=3)
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--n-models", type=int, help="models of ours that are averaged")
    parser.add_argument("--n-components", type=int, help="landmarks of ours (rows)")
    parser.add_argument("--sizes", type=int, nargs="+", default=(100, 200, 500, 1000, 2000, 4000))
    options = parser.parse_args()
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore")
        PARTS[options.part](options)


if __name__ == "__main__":
    main()
