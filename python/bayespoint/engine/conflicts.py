"""Two examples that no weight vector can both satisfy."""

from __future__ import annotations

import math

import numpy as np

from bayespoint._core import InfeasibleError
from bayespoint.engine.problem import Problem
from bayespoint.kernels import sources


def refuse_conflicts(problem: Problem, fewest: int | None = None) -> None:
    """Raise InfeasibleError, with its proof, for two examples no vector can both satisfy.

    `fewest` is the smallest number of violated examples that was seen, if any vector was tried.
    """
    gram, y, softness, offset = problem.gram, problem.y, problem.softness, problem.offset
    if softness.min() > 0:
        return
    found = sources.conflict(gram, y, offset, softness)
    if found is None:
        return
    i, j = found
    kind = "the same" if y[i] != y[j] else "opposite"
    labels = "different labels" if y[i] != y[j] else "the same label"
    square = sources.squared_sine(gram, offset, i, j)
    verdict = (
        "no weight vector satisfies both"
        if square == 0
        else "what is between their planes, if anything, is at most "
        f"{math.sqrt(square):.1e} rad wide, which the rounding of kernel values hides"
    )
    error = InfeasibleError(
        f"examples {i} and {j} have feature vectors of {kind} direction and {labels}"
        f"{', to rounding' * (square > 0)}: {verdict}. Allow for noise: a positive softness, "
        "or label noise (transparency)"
    )
    diagonal = np.add(gram.diagonal(), offset, dtype=np.float64)
    lengths = np.sqrt(diagonal + softness)
    certificate = np.zeros(len(y))
    certificate[[i, j]] = 1 / lengths[[i, j]]
    # The sum of the unit normals is of length 2 sin(angle / 2).
    shortest = math.sqrt(2 * square / (1 + math.sqrt(max(1 - square, 0.0))))
    error.margin_bound = shortest / float(certificate.sum() * lengths.max())
    tried = sources.fewest_violated(gram, y, offset, softness, found)
    error.violations = tried if fewest is None else min(tried, fewest)
    error.certificate = certificate / certificate.sum()
    raise error
