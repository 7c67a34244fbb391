"""Posteriors of other densities by importance sampling (Ruján and Marchand, section 18.4)."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy import special
from sklearn.utils.validation import check_is_fitted

from bayespoint.base import validation
from bayespoint.base.validation import Floats
from bayespoint.base.warnings import warn
from bayespoint.engine.problem import Problem
from bayespoint.estimators.bayes_point import BayesPointClassifier
from bayespoint.posterior.updating import error_of_mean
from bayespoint.results import BilliardResult
from bayespoint.version_space import VersionSpace

__all__ = ["WeightedResult", "reweight"]

_MIN_ESS = 50.0  # least effective sample size without a warning, or half of the draws


@dataclass(frozen=True, eq=False, repr=False)
class WeightedResult:
    """The center of mass of a density on the version space of m examples, from weighted draws."""

    center: Floats
    """(m,) Dual coefficients of the center of mass, of unit length, or (n_classes, m)."""
    center_norm: float
    """Length of the weighted mean of the unit weight vectors, in (0, 1]."""
    center_error: float
    """Estimated angle between `center` and the exact center of mass, in radians, from the spread
    of trajectories or of batches, whichever is larger. NaN for a single batch."""
    weights: Floats
    """(n_trajectories, n_draws) Weights of the draws, which sum to 1."""
    log_mean_weight: float
    """ln of the mean weight: for a density relative to the prior the change of the log evidence."""
    ess: float
    """``1 / sum(weights**2)``, without the correlation of the draws: see `BilliardResult.ess`."""
    max_share: float
    """The largest of the `weights`."""

    def convergence_messages(self) -> list[str]:
        """Return the texts of convergence warnings, empty if there is no reason for one."""
        n = self.weights.size
        if self.ess >= min(_MIN_ESS, n / 2):
            return []
        return [
            f"the weights are worth {self.ess:.3g} of {n} draws, the largest has a share of "
            f"{self.max_share:.2g}: the density differs too much from the one sampled"
        ]

    def __repr__(self) -> str:
        classes = f"{len(self.center)} classes, " if self.center.ndim > 1 else ""
        return (
            f"<WeightedResult: m={self.center.shape[-1]}, {classes}{self.ess:.4g} of "
            f"{self.weights.size} draws, center_error={self.center_error:.2g} rad>"
        )


def reweight(
    space: VersionSpace | BayesPointClassifier,
    result: BilliardResult,
    weight: Callable[[Floats], ArrayLike],
    *,
    log: bool = False,
) -> WeightedResult:
    """Return the center of mass of a density on version space, from weighted draws.

    It is importance sampling (Ruján and Marchand, 2000, section 18.4), with a bias for few.

    Parameters
    ----------
    space : VersionSpace or BayesPointClassifier
        The version space, or a fitted classifier of one model, ``n_models=1``.
    result : BilliardResult
        A run of `sample` in this version space, or the classifier's `billiard_`.
    weight : callable
        The density, up to a factor, relative to that of the run (uniform with opaque walls). Called
        once with the (n, m) margins of the draws, it returns n weights, not all 0.
    log : bool, default=False
        Whether `weight` returns natural logarithms, -inf for 0, which do not underflow.

    Returns
    -------
    WeightedResult
        The center, weights and effective sample size; ConvergenceWarning if that is small.

    Raises
    ------
    TypeError, ValueError
        If an argument is of another type, `result` of another number of examples or classes, if
        weights are of a wrong shape or value, or if the weighted mean is zero; for a classifier
        with landmarks, or without its kernel matrix.
    """
    problem = space.problem if isinstance(space, VersionSpace) else _problem(space)
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
    values = _checked(weight(problem.margins(draws)), len(draws), log=log)
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
        center_error=error_of_mean(shares[:, None] * (rows - mean), flat, mean, n_trajectories),
        weights=shares.reshape(n_trajectories, n_draws),
        log_mean_weight=total - math.log(len(draws)),
        ess=float(1 / (shares @ shares)),
        max_share=float(shares.max()),
    )
    for message in found.convergence_messages():
        warn(message)
    return found


def _named(shape: tuple[int, ...]) -> str:
    """Return for instance ``3 classes and 20 examples``."""
    classes = f"{shape[0]} classes and " if len(shape) > 1 else ""
    return f"{classes}{shape[-1]} examples"


def _problem(model: BayesPointClassifier) -> Problem:
    """Return the labeled kernel matrix of the only model of a fitted classifier."""
    check_is_fitted(model)
    if len(model.models_) > 1:
        raise ValueError(
            "reweight needs one setting of the hyperparameters, n_models=1; got "
            f"{len(model.models_)} models, which have different margins"
        )
    return model.posterior_.first.problem("reweight")


def _checked(weights: ArrayLike, n: int, *, log: bool) -> Floats:
    """Return the checked values of a weight function: n weights, not all 0, or their logs."""
    least, wanted = 0.0, "finite numbers of at least 0"
    if log:
        least, wanted = -math.inf, "logarithms below infinity"
    array = validation.vector("the value of weight", weights, n, least, wanted, "draw")
    if (array == least).all():
        raise ValueError(f"weight must be positive at some draw; got 0 at all {n}")
    return array
