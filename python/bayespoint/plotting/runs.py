"""Access to the run and the version space of a fitted estimator."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from bayespoint.results import BilliardResult
from bayespoint.version_space import VersionSpace


def last_step(estimator: Any) -> Any:
    """Return the estimator, the last step of a pipeline, or the best estimator of a search."""
    while True:
        if hasattr(estimator, "named_steps"):
            estimator = estimator[-1]
        elif hasattr(estimator, "best_estimator_"):
            estimator = estimator.best_estimator_
        else:
            return estimator


def not_ours(estimator: Any) -> TypeError:
    """Return the error for an estimator without a BayesPointClassifier."""
    return TypeError(
        "estimator must be a BayesPointClassifier, a pipeline that ends in one or a search that "
        f"was fitted with refit=True; got a {type(estimator).__name__}"
    )


def run_of(estimator: Any, label: Any) -> tuple[BilliardResult, int]:
    """Return the run of a fitted classifier, or that of one of several classes, and its index."""
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
            f"label must be one of the classes {classes}, whose run is drawn; got {label!r}"
        )
    number = classes.index(label)
    return results[number], number


def space_of(estimator: Any, number: int, question: str) -> VersionSpace:
    """Return the version space of the binary problem with a given index."""
    return VersionSpace.over(last_step(estimator).kept_problems(question)[number])


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
