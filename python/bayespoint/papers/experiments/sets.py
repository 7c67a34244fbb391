"""The seven data sets of Table 1 of Herbrich, Graepel and Campbell, as used in the paper."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bayespoint import datasets
from bayespoint.base.validation import Array, Floats
from bayespoint.papers import data
from bayespoint.papers.machine import BayesPointMachine
from bayespoint.papers.max_margin import MaxMarginClassifier
from bayespoint.papers.rollback import without_warnings

BILLIARD = partial(BayesPointMachine, "precomputed", softness=0.0)
MARGIN = partial(MaxMarginClassifier, "precomputed", C=math.inf)
"""The machines that the papers compare, with hard walls."""
LAMBDAS = (0.0, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 100.0, 1000.0)
"""Values of the softness."""


class DataSet(NamedTuple):
    """A data set and its use in the paper."""

    load: Callable[[], tuple[Any, Any]]
    """Returns inputs and labels."""

    sigma: float
    """Length scale of the RBF kernel."""

    n_train: int
    """Number of examples for training; the others are for the test."""

    standardized: bool
    """Whether features are standardized on the training part."""


def source(name: str) -> str:
    """Return the origin of the data, which the rows record."""
    if name != "waveform":
        return "its origin's"
    return "Rätsch's 5000" if data.named_file("waveform.csv") else "5000 of the generator's"


def _waveform() -> tuple[Any, Any]:
    """Return Rätsch's 5000 examples if there is a file, else as many of `make_waveform`."""
    if table := named_table("waveform.csv"):
        return table
    X, y = data.make_waveform(5000, random_state=0)
    return (X - X.mean(axis=0)) / X.std(axis=0), y


def named_table(name: str) -> tuple[Any, Any] | None:
    """Return inputs and labels of a file in the named folder of data, or None without it."""
    path = data.named_file(name)
    if path is None:
        return None
    table = np.loadtxt(path, delimiter=",", skiprows=1)
    return table[:, :-1], table[:, -1].astype(np.int64)


SETS = {
    "heart": DataSet(lambda: datasets.load_heart(return_X_y=True), 10.0, 162, True),
    "thyroid": DataSet(data.load_thyroid, 3.0, 129, True),
    "diabetes": DataSet(lambda: datasets.load_diabetes(return_X_y=True), 5.0, 461, True),
    "waveform": DataSet(_waveform, 20.0, 400, False),
    "banana": DataSet(lambda: datasets.load_banana(return_X_y=True), 0.5, 400, False),
    "sonar": DataSet(lambda: datasets.load_sonar(return_X_y=True), 1.0, 125, False),
    "ionosphere": DataSet(lambda: datasets.load_ionosphere(return_X_y=True), 1.5, 211, False),
}


def split(
    name: str, seed: int, n_train: int | None = None, *, standardized: bool | None = None
) -> tuple[Floats, Floats, Floats, Floats]:
    """Return training inputs, test inputs, training labels and test labels of a random split.

    Number of examples and standardization are those of `SETS`, if not given.
    """
    used = SETS[name]
    X, y = used.load()
    order = np.random.default_rng(seed).permutation(len(y))
    train, test = np.split(order, [n_train or used.n_train])
    X_train, X_test = X[train], X[test]
    if used.standardized if standardized is None else standardized:
        X_train, X_test = standardize(X_train, X_test)
    return X_train, X_test, y[train], y[test]


def standardize(X_train: Floats, X_test: Floats) -> tuple[Floats, Floats]:
    """Return both parts, with mean 0 and standard deviation 1 in the training part."""
    mean, scale = X_train.mean(axis=0), X_train.std(axis=0)
    scale[scale == 0] = 1.0
    return (X_train - mean) / scale, (X_test - mean) / scale


@without_warnings()  # rows record how far a machine came
def wrong(machine: Any, K: Array, K_test: Array, y: Array, y_test: Array) -> NDArray[np.bool_]:
    """Fit a machine to kernel values, and return which test examples it takes for others."""
    return np.asarray(machine.fit(K, y).predict(K_test) != y_test)


def angle(K: Floats, *machines: Any) -> float:
    """Return the angle between the weight vectors of two machines, in radians."""
    a, b = (machine.dual_coef_[0] for machine in machines)
    apart = a / np.sqrt(a @ K @ a) - b / np.sqrt(b @ K @ b)
    return 2 * math.asin(min(1.0, math.sqrt(max(0.0, float(apart @ K @ apart))) / 2))
