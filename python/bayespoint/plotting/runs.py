"""What a picture takes from an estimator: its run, and the version space of that."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from bayespoint.results import BilliardResult
from bayespoint.version_space import VersionSpace


def last_step(estimator: Any) -> Any:
    """Return the estimator, or what a pipeline ends in or a fitted search has found."""
    while True:
        if hasattr(estimator, "named_steps"):
            estimator = estimator[-1]
        elif hasattr(estimator, "best_estimator_"):
            estimator = estimator.best_estimator_
        else:
            return estimator


def not_ours(estimator: Any) -> TypeError:
    """Return the error for an estimator in which there is no classifier of ours."""
    return TypeError(
        "estimator must be a BayesPointClassifier, a pipeline that ends in one or a search that "
        f"was fitted with refit=True; got a {type(estimator).__name__}"
    )


def run_of(estimator: Any, label: Any) -> tuple[BilliardResult, int]:
    """Return the run of a fitted classifier, that of one class if there are several; its number."""
    check_is_fitted(estimator)
    final = last_step(estimator)
    results = getattr(final, "billiard_", None)
    if results is None:
        raise not_ours(final)
    if not isinstance(results, list):
        if label is not None:
            raise ValueError(f"label must be None for two classes; got {label!r}")
        return results, 0
    classes = final.classes_.tolist()
    if label not in classes:
        raise ValueError(
            f"label must say which class's run is meant, one of {classes}; got {label!r}"
        )
    number = classes.index(label)
    return results[number], number


def space_of(estimator: Any, number: int, question: str) -> VersionSpace:
    """Return the version space of one of a fitted classifier's binary problems."""
    return VersionSpace.over(last_step(estimator).kept_problems(question)[number])


def checked_run(result: object) -> BilliardResult:
    """Return a run, or raise TypeError."""
    if not isinstance(result, BilliardResult):
        raise TypeError(f"result must be a BilliardResult; got a {type(result).__name__}")
    return result


def checked_pair(result: object, space: object) -> tuple[BilliardResult, VersionSpace]:
    """Return a run and its version space, checked to be of the same examples."""
    run = checked_run(result)
    if not isinstance(space, VersionSpace):
        raise TypeError(f"space must be a VersionSpace; got a {type(space).__name__}")
    if len(space.y) != len(run.y) or not np.array_equal(space.y, run.y):
        raise ValueError(
            f"space must be the one that result is of, {len(run.y)} examples with its labels; got "
            f"{len(space.y)} examples"
        )
    return run, space
