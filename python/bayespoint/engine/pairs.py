"""Whether a run has had enough tangent pairs for directions in which feature vectors are thin."""

from __future__ import annotations

import math

import numpy as np

from bayespoint.base import linalg
from bayespoint.base.validation import Floats
from bayespoint.kernels import sources
from bayespoint.results import BilliardResult

_NEEDED = 2.0
"""Pairs for each example, times the eigenvalue of the matrix of cosines, that give a direction its
share of the length. On RBF kernels of 10 to 300 examples, with softness from 0 to 0.1, center norms
were off by 2 % at most where nine tenths of the directions had half as many, by 5 % at a fifth, and
by up to 60 % where they had next to none."""

_CLOSED = 1.5
"""Eigenvalues above that are of directions which planes enough close: the walls turn them. Planes
that are orthogonal have 1, and turn nothing."""

_LOOKED_AT = 1000
"""Examples whose eigenvalues are looked at, at most."""

_PAIRS_PER_PLANE = 40
"""Where more examples than that have softness, each has a direction that hardly any other knows of,
whatever the eigenvalues of some: so many pairs for each are the least."""


def too_few_pairs(result: BilliardResult, gram: sources.Gram, *, chosen: bool) -> str | None:
    """Return what is wrong with a run whose pairs hardly turn the directions few examples know of.

    Softness gives each example one, and a smooth kernel has many in which all feature vectors are
    thin. A pair of examples turns a unit vector e by its cosines with their normals, the squares of
    which sum to the eigenvalue over all examples if e is an eigenvector of the matrix of cosines.
    `chosen`: the engine took pairs because fresh directions were not to be had.
    """
    if result.refresh != "pair":
        return None
    least, m = int(result.refreshes.min()), len(result.center)
    softness = np.broadcast_to(result.softness, m)
    try:
        needed = _needed(gram, result.offset, softness)
    except MemoryError:  # which must not take the result with it
        needed = float(_PAIRS_PER_PLANE * m)
    # Twice as many examples as features close all directions.
    if m > _LOOKED_AT and 2 * sources.most_free(gram, result.offset, softness) > m:
        if softness.any():
            needed = max(needed, float(_PAIRS_PER_PLANE * m))
        elif chosen:  # of so many dimensions that the eigenvalues of some examples do not tell
            needed = max(needed, float(m * m))
    if least >= needed:
        return None
    matrix = "" if isinstance(gram, np.ndarray) else ", with the matrix in memory,"
    return (
        f"{least} tangent pairs in a trajectory are too few for {m} examples: in a tenth of all "
        "directions their feature vectors are so thin, or so few know of them, that to turn them "
        f"takes {needed:.2g} pairs; center_norm and the votes of draws may be too large, and the "
        "center further off than its error says, in all trajectories alike; refresh='full'"
        f"{matrix} helps, or average='conditional' for the center"
    )


def _needed(gram: sources.Gram, offset: float, softness: Floats) -> float:
    """Return how many pairs nine tenths of the directions need, judged by some examples."""
    m = len(softness)
    some = np.unique(np.linspace(0, m - 1, min(m, _LOOKED_AT)).astype(np.intp))
    cosines = sources.between(gram, some, some) + offset
    cosines[np.diag_indices(len(some))] += softness[some]
    lengths = np.sqrt(np.diagonal(cosines))
    cosines /= lengths[:, None] * lengths
    with linalg.one_thread():
        values = np.linalg.eigvalsh(cosines)
    single = isinstance(gram, np.ndarray) and gram.dtype == np.float32
    rounding = len(some) * np.finfo(np.float32 if single else np.float64).eps
    values = values[values > rounding * values[-1]]
    thin = float(np.quantile(values, 0.1))
    # On a circle there is no direction to choose.
    return 0.0 if thin > _CLOSED or len(values) < 3 else math.ceil(_NEEDED * m / thin)
