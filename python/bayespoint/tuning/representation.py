"""Weights of settings: of a few states of a chain that stand for all, and of several kernels."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, optimize

from bayespoint.base.validation import Floats

_SUM = 10.0  # weight of the equation by which weights have sum 1, relative to the largest number
_ROUNDS = 200  # rounds of the maximization of the weights: each gains less than the one before


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


def stacked(left_out: Floats) -> Floats:
    r"""Return the (n_models,) weights of models by the leave-one-out probabilities of the labels.

    Stacking (Yao et al., 2018) maximizes :math:`\sum_i \ln \sum_k w_k p_k(y_i)` for the
    (n_models, m) probabilities p. Its weights follow the training examples, equal ones do not:
    halfway between them is better on public tables.
    """
    equal = np.full(len(left_out), 1 / len(left_out))
    weights = equal
    for _ in range(_ROUNDS):  # expectation maximization
        parts = weights[:, None] * left_out
        weights = (parts / parts.sum(axis=0)).mean(axis=1)
    return np.asarray((weights + equal) / 2)
