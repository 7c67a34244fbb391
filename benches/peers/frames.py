"""The default classifier on tables as people have them, beside others.

    BAYESPOINT_DATA=... python benches/peers/frames.py --out frames.csv
    python benches/peers/frames.py --out frames.csv --report

The tables are in the folder ``frames`` of BAYESPOINT_DATA: strings, categories, booleans, dates and
missing values. At most 500 examples are for training, and at most 2000 others for the test. skrub,
CatBoost and LightGBM must be installed (``make bench-peers`` does so), and for "EBM" interpret.

Our classifier has the frame as it is, and again behind skrub's default pipeline, as have those that
take only numbers. Boosted trees have strings, categories and booleans as categories, and dates as
numbers. Measures, seconds and files are those of ``tables.py``. A method that raises has no row.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import skrub
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegressionCV
from tables import (
    Method,
    Split,
    TunedSVC,
    catboost,
    lightgbm,
    measure,
    report,
    timed,
    weighted,
)
from threadpoolctl import threadpool_limits

from bayespoint import BayesPointClassifier


def bayes_point(seed: int) -> Any:
    """Return our classifier."""
    return BayesPointClassifier(random_state=seed, n_jobs=1)


def as_it_is(split: Split, seed: int) -> tuple[float, Any, Any]:
    """Run our classifier on the frame."""
    return clipped(timed(bayes_point(seed), split.train, split.test, split.y))


def one_weight_a_column(split: Split, seed: int) -> tuple[float, Any, Any]:
    """Run our classifier on the frame, with numbers that are only standardized."""
    model = bayes_point(seed).set_params(kernel=weighted(split.train.shape[1]), n_models=8)
    return clipped(timed(model, split.train, split.test, split.y))


def clipped(result: tuple[float, Any, Any]) -> tuple[float, Any, Any]:
    """Return the results of `timed` with probabilities of at least 1e-15."""
    seconds, classes, p = result
    return seconds, classes, np.clip(np.asarray(p, float), 1e-15, 1)


def behind_skrub(model: Callable[[int], Any]) -> Method:
    """Return a method behind skrub's default pipeline for its kind."""

    def method(split: Split, seed: int) -> tuple[float, Any, Any]:
        make = getattr(skrub, "tabular_pipeline", None) or skrub.tabular_learner
        pipeline = make(model(seed))
        pipeline[0].set_params(high_cardinality=skrub.StringEncoder(random_state=seed))
        return clipped(timed(pipeline, split.train, split.test, split.y))

    return method


def dates_as_numbers(X: pd.DataFrame) -> pd.DataFrame:
    """Return a frame whose dates are days since 1970, year, month, weekday and hour."""
    columns: dict[Any, Any] = {}
    for name, column in X.items():
        if pd.api.types.is_datetime64_any_dtype(column):
            columns[f"{name} days"] = (column - pd.Timestamp(0)) / pd.Timedelta(days=1)
            for part in ("year", "month", "weekday", "hour"):
                columns[f"{name} {part}"] = getattr(column.dt, part)
        else:
            columns[name] = column
    return pd.DataFrame(columns)


def native(method: Method, missing: str | None = None, max_levels: float = np.inf) -> Method:
    """Return a method that has what is no number as categories.

    Levels that training does not have are missing. With `missing` they stay, and missing values are
    a level of that name. Columns of more than `max_levels` levels are ordinal numbers.
    """

    def run(split: Split, seed: int) -> tuple[float, Any, Any]:
        train, test = dates_as_numbers(split.train), dates_as_numbers(split.test)
        for name, column in train.items():
            if pd.api.types.is_numeric_dtype(column) and not pd.api.types.is_bool_dtype(column):
                continue
            texts = [frame[name].astype("string").astype(object) for frame in (train, test)]
            levels = sorted(texts[0].dropna().unique())
            if missing is not None:
                texts = [text.fillna(missing) for text in texts]
                levels = sorted(set(texts[0]) | set(texts[1]))
            for frame, text in zip((train, test), texts, strict=True):
                values = pd.Categorical(text.where(text.isin(levels)), levels)
                codes = np.where(values.codes < 0, np.nan, values.codes)
                frame[name] = values if len(levels) <= max_levels else codes
        return clipped(method(Split(train, test, split.y, split.y_test), seed))

    return run


def histogram(split: Split, seed: int) -> tuple[float, Any, Any]:
    """Run scikit-learn's boosted trees, which take the categories of a frame."""
    model = HistGradientBoostingClassifier(categorical_features="from_dtype", random_state=seed)
    return timed(model, split.train, split.test, split.y)


def additive(split: Split, seed: int) -> tuple[float, Any, Any]:
    """Run boosted additive trees."""
    from interpret.glassbox import ExplainableBoostingClassifier

    model = ExplainableBoostingClassifier(random_state=seed, n_jobs=1)
    return timed(model, split.train, split.test, split.y)


def logistic(seed: int) -> LogisticRegressionCV:
    """Return logistic regression, with its penalty chosen by the log loss."""
    return LogisticRegressionCV(max_iter=2000, scoring="neg_log_loss", use_legacy_attributes=False)


METHODS: dict[str, Method] = {
    "bayespoint": as_it_is,
    "one weight a column": one_weight_a_column,
    "behind skrub": behind_skrub(bayes_point),
    "earlier, behind skrub": behind_skrub(bayes_point),
    "CatBoost": native(catboost, missing="missing"),
    "LightGBM": native(lightgbm),
    "HistGradientBoosting": native(histogram, max_levels=255),
    "forest": behind_skrub(lambda seed: RandomForestClassifier(500, random_state=seed)),
    "logistic": behind_skrub(logistic),
    "SVC": behind_skrub(lambda seed: TunedSVC()),
    "EBM": native(additive),
}
"""By name. "earlier, behind skrub" is our classifier in an environment with that version."""

OURS = ("bayespoint", "one weight a column", "behind skrub", "earlier, behind skrub")
OPTIONAL = ("one weight a column", "earlier, behind skrub", "EBM")


def tables_of_people() -> Any:
    """Return the module that reads the tables."""
    path = Path(os.environ["BAYESPOINT_DATA"]) / "frames" / "load.py"
    spec = importlib.util.spec_from_file_location("frames_data", path)
    assert spec is not None
    assert spec.loader is not None
    data = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(data)
    return data


def examples(options: argparse.Namespace) -> Iterator[tuple[str, int, int, Split]]:
    """Yield the splits of each table with its name, size and the split's number."""
    data = tables_of_people()
    for name in options.only or data.index():
        X, y = data.load(name)
        labels = y.astype(str).to_numpy(object)
        for seed, (train, test) in enumerate(data.splits(X, y, n=options.splits)):
            part = Split(X.iloc[train], X.iloc[test], labels[train], labels[test])
            yield name, len(train), seed, part


def main() -> None:
    """Measure, or print the report of what was measured."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--splits", type=int, default=3)
    default = [name for name in METHODS if name not in OPTIONAL]
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=default)
    parser.add_argument("--only", nargs="+", help="names of tables")
    parser.add_argument("--out", type=Path, default=Path("frames.csv"))
    parser.add_argument("--report", action="store_true", help="measure nothing")
    options = parser.parse_args()
    if not options.report:
        measure(options.out, examples(options), {name: METHODS[name] for name in options.methods})
    rows = pd.read_csv(options.out)
    measured = set(rows["method"])
    report(rows, METHODS, tuple(name for name in OURS if name in measured) or OURS)


if __name__ == "__main__":
    with threadpool_limits(1):
        main()
