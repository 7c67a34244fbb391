"""Displays of the runs and the version spaces of fitted estimators."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from bayespoint.plotting.panels import Panels
from bayespoint.plotting.style import Display
from bayespoint.results import BilliardResult
from bayespoint.version_space import VersionSpace

Drawn = TypeVar("Drawn", bound=Display)


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


@dataclass(frozen=True, eq=False)
class Fit:
    """A problem of a fitted classifier, and its run."""

    model: Any
    number: int
    result: BilliardResult
    classes: tuple[str, ...]
    """Names of the classes that -1 and +1 stand for, or of all of several."""

    def space(self, question: str) -> VersionSpace:
        """Return its version space. The errors of a classifier without one name the question."""
        return VersionSpace.over(self.model.kept_problems(question)[self.number])


def draw(
    estimator: Any, label: Any, make: Callable[[Fit], Drawn], ax: Any, **how: Any
) -> Drawn | Panels:
    """Draw the displays that `make` returns, one for each problem.

    Parameters
    ----------
    estimator : BayesPointClassifier, a pipeline that ends in one, or a fitted search of either
        Fitted.
    label : class label or None
        With several problems, each class against the rest: the only one to draw.
    make : callable
        Returns the display of a fit, not drawn yet.
    ax : matplotlib.axes.Axes, a sequence of them for several displays, or None
        Axes to draw on. None makes a new figure.
    **how
        Arguments of the displays' `plot`.

    Returns
    -------
    Display or Panels
        The drawing.
    """
    check_is_fitted(estimator)
    model = last_step(estimator)
    results = getattr(model, "billiard_", None)
    if results is None:
        raise not_ours(model)
    classes = model.classes_.tolist()
    if not isinstance(results, list):
        if label is not None:
            raise ValueError(f"label must be None for a single billiard; got {label!r}")
        return make(Fit(model, 0, results, tuple(map(str, classes)))).plot(ax=ax, **how)
    fits = {
        one: Fit(model, k, result, ("others", str(one)))
        for k, (one, result) in enumerate(zip(classes, results, strict=True))
    }
    if label is None:
        return Panels({one: make(fit) for one, fit in fits.items()}).plot(ax=ax, **how)
    if label not in fits:
        raise ValueError(f"label must be one of the classes {classes} or None; got {label!r}")
    return make(fits[label]).plot(ax=ax, **how)


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
