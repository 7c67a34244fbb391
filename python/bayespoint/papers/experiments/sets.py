"""The seven data sets of Herbrich, Graepel and Campbell's Table 1, as the papers used them."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from bayespoint import datasets
from bayespoint.base.validation import Floats
from bayespoint.papers import data


class DataSet(NamedTuple):
    """How the papers used a data set."""

    load: Callable[[], tuple[Any, Any]]
    """Returns inputs and labels."""

    sigma: float
    """Length scale of the RBF kernel."""

    n_train: int
    """Examples for training; the others are for the test."""

    standardized: bool
    """Whether features are standardized on the training part."""


def _pair(name: str) -> tuple[Any, Any]:
    pair: tuple[Any, Any] = getattr(datasets, f"load_{name}")(return_X_y=True)
    return pair


def _waveform_file() -> Path | None:
    """Return Rätsch's file, if the folder of data has it."""
    folder = data.named_folder()
    path = folder / "waveform.csv" if folder else None
    return path if path and path.exists() else None


def source(name: str) -> str:
    """Return which data these are, where there are several of a name."""
    if name != "waveform":
        return "its origin's"
    return "Rätsch's 5000" if _waveform_file() else "5000 of the generator's"


def _waveform() -> tuple[Any, Any]:
    """Return Rätsch's 5000 if they are there, else as many of the generator's."""
    path = _waveform_file()
    if path is None:
        X, y = data.make_waveform(5000, random_state=0)
        return (X - X.mean(axis=0)) / X.std(axis=0), y
    table = np.loadtxt(path, delimiter=",", skiprows=1)
    return table[:, :-1], table[:, -1].astype(np.int64)


SETS = {
    "heart": DataSet(functools.partial(_pair, "heart"), 10.0, 162, True),
    "thyroid": DataSet(data.load_thyroid, 3.0, 129, True),
    "diabetes": DataSet(functools.partial(_pair, "diabetes"), 5.0, 461, True),
    "waveform": DataSet(_waveform, 20.0, 400, False),
    "banana": DataSet(functools.partial(_pair, "banana"), 0.5, 400, False),
    "sonar": DataSet(functools.partial(_pair, "sonar"), 1.0, 125, True),
    "ionosphere": DataSet(functools.partial(_pair, "ionosphere"), 1.5, 211, False),
}


def split(
    name: str, seed: int, n_train: int | None = None
) -> tuple[Floats, Floats, Floats, Floats]:
    """Return training inputs, test inputs, training labels and test labels of a random split."""
    used = SETS[name]
    X, y = used.load()
    order = np.random.default_rng(seed).permutation(len(y))
    train, test = np.split(order, [n_train or used.n_train])
    X_train, X_test = X[train], X[test]
    if used.standardized:
        X_train, X_test = standardize(X_train, X_test)
    return X_train, X_test, y[train], y[test]


def standardize(X_train: Floats, X_test: Floats) -> tuple[Floats, Floats]:
    """Return both parts with mean 0 and standard deviation 1 of the training part."""
    mean, scale = X_train.mean(axis=0), X_train.std(axis=0)
    scale[scale == 0] = 1.0
    return (X_train - mean) / scale, (X_test - mean) / scale


def error(K: Floats, dual_coef: Floats, y: Floats) -> float:
    """Return the share of wrong signs, 0 counting as negative."""
    return float(np.mean(np.where(K @ dual_coef > 0, 1, -1) != y))
