"""The seven data sets of Herbrich, Graepel and Campbell's Table 1, as the papers used them.

They are read from the folder that the environment variable BAYESPOINT_DATA names, or from
``../shared/data`` beside the repository: CSV files with a header row, the last column the label.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

FOLDER = Path(
    os.environ.get("BAYESPOINT_DATA") or Path(__file__).resolve().parents[2] / ".." / "shared/data"
)


class DataSet(NamedTuple):
    """How the papers used a data set."""

    sigma: float
    """Length scale of the RBF kernel."""

    n_train: int
    """Examples for training; the others are for the test."""

    standardized: bool
    """Whether features are standardized on the training part."""


SETS = {
    "heart": DataSet(10.0, 162, True),
    "thyroid": DataSet(3.0, 129, True),
    "diabetes": DataSet(5.0, 461, True),
    "waveform": DataSet(20.0, 400, False),
    "banana": DataSet(0.5, 400, False),
    "sonar": DataSet(1.0, 125, True),
    "ionosphere": DataSet(1.5, 211, False),
}


def split(name: str, seed: int, n_train: int | None = None) -> tuple[Any, Any, Any, Any]:
    """Return training inputs, test inputs, training labels and test labels of a random split."""
    table = np.loadtxt(FOLDER / f"{name}.csv", delimiter=",", skiprows=1)
    order = np.random.default_rng(seed).permutation(len(table))
    parts = np.split(order, [n_train or SETS[name].n_train])
    X, X_test = (table[part, :-1] for part in parts)
    if SETS[name].standardized:
        mean, scale = X.mean(axis=0), X.std(axis=0)
        scale[scale == 0] = 1.0
        X, X_test = (X - mean) / scale, (X_test - mean) / scale
    y, y_test = (table[part, -1] for part in parts)
    return X, X_test, y, y_test
