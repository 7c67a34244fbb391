"""The three-dimensional toy problem of Herbrich, Graepel and Campbell, Section 6."""

from __future__ import annotations

from typing import Any

import numpy as np

TRAINING, TEST = 10, 10_000


def cube(seed: int) -> tuple[Any, Any, Any, Any]:
    """Return training and test points, uniform in a cube and labeled by a random plane.

    Parameters
    ----------
    seed : int
        Seed. Problems whose training points are all of one class are passed over.

    Returns
    -------
    X, y, X_test, y_test : ndarray
        Inputs in [-1, 1]^3 and labels -1 and +1.
    """
    rng = np.random.default_rng(seed)
    while True:
        teacher = rng.standard_normal(3)
        X = rng.uniform(-1, 1, (TRAINING + TEST, 3))
        y = np.where(X @ teacher > 0, 1, -1)
        if abs(y[:TRAINING].sum()) < TRAINING:
            return X[:TRAINING], y[:TRAINING], X[TRAINING:], y[TRAINING:]
