"""Displays of the runs and the version spaces of fitted estimators."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from bayespoint.posterior import Mixture
from bayespoint.results import BilliardResult
from bayespoint.version_space import VersionSpace


def last_step(estimator: BaseEstimator) -> Any:
    """Return the estimator, the last step of a pipeline, or the best estimator of a search."""
    while True:
        if hasattr(estimator, "named_steps"):
            estimator = estimator[-1]
        elif hasattr(estimator, "best_estimator_"):
            estimator = estimator.best_estimator_
        else:
            return estimator


def posterior_of(estimator: BaseEstimator) -> Mixture:
    """Return the posterior of a fitted classifier, in a pipeline or search or alone."""
    check_is_fitted(estimator)
    posterior = getattr(last_step(estimator), "posterior_", None)
    if not isinstance(posterior, Mixture):
        raise TypeError(
            "estimator must be a BayesPointClassifier, a pipeline that ends in one or a search "
            f"that was fitted with refit=True; got a {type(last_step(estimator)).__name__}"
        )
    return posterior


def check_type(name: str, value: object, kind: type) -> None:
    """Raise TypeError if an argument is not of the given type."""
    if not isinstance(value, kind):
        article = "an" if kind.__name__[0] in "EO" else "a"
        raise TypeError(f"{name} must be {article} {kind.__name__}; got a {type(value).__name__}")


def check_pair(result: BilliardResult, space: VersionSpace) -> None:
    """Raise if the arguments are not a run and a version space with the same labels."""
    check_type("result", result, BilliardResult)
    check_type("space", space, VersionSpace)
    if not np.array_equal(space.y, result.y):
        raise ValueError(
            f"space must be that of result, with the same labels of {len(result.y)} examples; got "
            f"{len(space.y)} examples"
        )
