"""Posteriors of other densities by importance sampling (Ruján and Marchand, section 18.4)."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike
from scipy import special
from sklearn.exceptions import ConvergenceWarning

from bayespoint.base import validation
from bayespoint.base.validation import Floats
from bayespoint.base.warnings import warn
from bayespoint.engine.problem import Problem
from bayespoint.results.billiard import BilliardResult
from bayespoint.results.weighted import WeightedResult

_BATCHES = 10  # largest number of batches of a trajectory, for the error of the center
_BATCH_SIZE = 10  # smallest number of draws in a batch


def reweight(
    result: BilliardResult,
    weight: Callable[[Floats], ArrayLike],
    problem: Problem,
    *,
    log: bool = False,
) -> WeightedResult:
    """Return what :meth:`VersionSpace.reweight` does, for the problem of a version space."""
    if not isinstance(result, BilliardResult):
        raise TypeError(f"result must be a BilliardResult; got a {type(result).__name__}")
    (n_trajectories, n_draws), shape = result.draws.shape[:2], problem.shape
    if result.draws.shape[2:] != shape:
        raise ValueError(
            f"result must be of {_named(shape)}; got one of {_named(result.draws.shape[2:])}"
        )
    if not callable(weight):
        raise TypeError(f"weight must be a callable; got {weight!r}")
    log = validation.boolean("log", log)
    draws = result.draws.astype(np.float64, copy=False).reshape(-1, *shape)
    values = validation.weights("weight", weight(problem.margins(draws)), len(draws), log=log)
    if not log:
        with np.errstate(divide="ignore"):
            values = np.log(values)
    total = float(special.logsumexp(values))
    shares = np.exp(values - total)

    def flat(dual_coef: Floats) -> Floats:
        """Return the coordinates of rows of numbers as such rows."""
        rows = dual_coef.reshape(-1, *shape)
        return problem.coordinates(rows).reshape(dual_coef.shape)

    rows = draws.reshape(len(draws), -1)
    mean = shares @ rows
    squared = float(mean @ flat(mean))
    if not squared > 0:
        raise ValueError("weight must not make the weighted mean of the draws zero")
    norm = math.sqrt(squared)
    found = WeightedResult(
        center=(mean / norm).reshape(shape),
        center_norm=norm,
        center_error=error_of_mean(rows, shares, flat, mean, n_trajectories),
        weights=shares.reshape(n_trajectories, n_draws),
        log_mean_weight=total - math.log(len(draws)),
        ess=float(1 / (shares @ shares)),
        max_share=float(shares.max()),
    )
    for message in found.convergence_messages():
        warn(message, ConvergenceWarning)
    return found


def _named(shape: tuple[int, ...]) -> str:
    """Return for instance ``3 classes and 20 examples``."""
    classes = f"{shape[0]} classes and " if len(shape) > 1 else ""
    return f"{classes}{shape[-1]} examples"


def error_of_mean(
    draws: Floats,
    shares: Floats,
    coordinates: Callable[[Floats], Floats],
    mean: Floats,
    n_trajectories: int,
) -> float:
    """Return the standard error of the direction of the weighted mean of draws.

    `coordinates` of dual coefficients are their products with the Gram matrix.
    """
    # Batches shorter than the autocorrelation time underestimate the error, trajectories are few.
    n_draws = len(draws) // n_trajectories
    batches = min(_BATCHES, max(1, n_draws // _BATCH_SIZE))
    found, squared = math.nan, float(mean @ coordinates(mean))
    for n_pieces in {n_trajectories, n_trajectories * batches} - {1}:
        # The mean is a ratio of two sums. To first order, `parts` are the contributions of the
        # pieces to its error. Only the components orthogonal to the mean change its direction.
        pieces = np.array_split(np.arange(len(draws)), n_pieces)
        parts = np.stack([shares[rows] @ (draws[rows] - mean) for rows in pieces])
        images = coordinates(parts)
        along = images @ mean
        across = np.einsum("ij,ij->i", parts, images) - along**2 / squared
        variance = max(0.0, float(across.sum())) * n_pieces / (n_pieces - 1)
        found = float(np.fmax(found, math.sqrt(variance / squared)))
    return found
