"""A few states of a chain that stand for all."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, optimize

from bayespoint.base.validation import Floats

_SUM = 10.0
"""Weight of the equation by which weights have sum 1, relative to the largest number."""


def represent(values: Floats, n: int) -> tuple[NDArray[np.intp], Floats]:
    """Return n of the (n_states, m) rows, and weights whose mean is near that of all rows.

    The weights are positive, with sum 1; there may be fewer than n rows. Each row is the one with
    which the distance from the mean, at the best weights, becomes the smallest.
    """
    away = values - values.mean(axis=0)
    # The same distances in as many dimensions as there are rows.
    triangle = np.atleast_2d(linalg.qr(away.T, mode="r", check_finite=False)[0])[: len(away)]
    size = _SUM * (float(np.abs(triangle).max()) or 1.0)
    columns = np.vstack([triangle, np.full(len(values), size)])
    target = np.append(np.zeros(len(triangle)), size)
    chosen: list[int] = []
    weights = np.empty(0)
    for _ in range(min(n, len(values))):
        best = np.inf
        for k in range(len(values)):
            if k in chosen:
                continue
            found, distance = optimize.nnls(columns[:, [*chosen, k]], target)
            if distance < best:
                best, following, weights = distance, k, found
        chosen.append(following)
    used = weights > 0
    return np.array(chosen)[used], weights[used] / weights.sum()
