"""The bounds for a fitted classifier."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from bayespoint.base import validation
from bayespoint.base.validation import Floats, RandomState
from bayespoint.bounds.result import RiskBounds
from bayespoint.bounds.rows import Learned
from bayespoint.bounds.tables import bounds_of
from bayespoint.engine.problem import Problem
from bayespoint.version_space import InfeasibleError, VersionSpace

__all__ = ["risk_bounds"]

_AGREEMENT = 1e-4
"""Largest difference of decision values from those of a second fit, relative to the larger of 1,
which is the margin, and the value itself."""

_UNDETERMINED = (
    "The {d} examples with coefficients do not determine the classifier: a fit to them alone "
    "differs. The fit did not converge, or the free intercept is not determined."
)
_ORDERED = "the order of presentation was chosen without using the examples"

_REFUSALS = {
    "": "",
    "evidence": (
        "Kernel or softness were chosen by the evidence of these examples, among infinitely many: "
        "choose from a list fixed beforehand and pass its length as candidates."
    ),
    "length scale": (
        "The length scale was computed from the inputs of these examples: give a kernel with a "
        "length scale fixed beforehand, such as kernel=RBF(1.0)."
    ),
    "scale of the features": (
        "The features were standardized by the inputs of these examples: scale them by numbers "
        "fixed beforehand, and set standardize=False."
    ),
}
"""Why no bound holds for a classifier, by its `prior_from_examples_`."""

_CLASS_WEIGHTS = (
    "The classifier predicts with class weights, and the bounds are those of the rule without: fit "
    "with class_weight=None."
)
_SAMPLE_WEIGHTS = (
    "Examples have sample weights, and repeated examples are not independent: fit without "
    "sample_weight."
)


def risk_bounds(
    model: Any,
    delta: float = 0.05,
    *,
    gram: ArrayLike | None = None,
    candidates: int = 1,
    tol: float = 0.3,
    max_length: float = 1e5,
    n_jobs: int | None = None,
    random_state: RandomState = None,
) -> RiskBounds | list[RiskBounds]:
    """Return bounds on the probability that a fitted classifier errs on a new example.

    Parameters
    ----------
    model : BayesPointClassifier, MaxMarginClassifier or KernelPerceptron
        A fitted classifier.
    gram
        As for :meth:`BayesPointClassifier.risk_bounds`.
    delta, candidates, tol, max_length, n_jobs, random_state
        As for `table`.

    Returns
    -------
    RiskBounds or list of RiskBounds
        One table for two classes, otherwise one for each class against the rest.

    Raises
    ------
    TypeError
        If `model` is not one of these classifiers.
    ValueError
        If `gram` is needed and missing or does not fit, or a setting is out of range; for several
        classes jointly.
    """
    if not hasattr(model, "problems_over"):
        raise TypeError(
            "model must be a BayesPointClassifier, MaxMarginClassifier or KernelPerceptron; got "
            f"{model!r}"
        )
    check_is_fitted(model)
    if model.problems_[0].is_joint:
        raise ValueError(
            "risk_bounds are bounds for binary classifiers, and of several classes jointly there "
            f"is none; the classifier was fitted to {len(model.classes_)} classes: fit with "
            'multiclass="one_vs_rest", whose risk is at most the sum of those of the classes'
        )
    rng = np.random.default_rng(validation.seed(random_state))
    refusal = _REFUSALS[model.prior_from_examples_] or _refusal_by_weights(model)
    tables = []
    for k, problem in enumerate(model.problems_over(gram)):
        space, fitted = VersionSpace.over(problem), model.problems_[k]
        table = bounds_of(
            space,
            _learned(model, space, k, refused=bool(refusal)),
            delta=delta,
            label_noise=fitted.label_noise,
            draws=None if fitted.posterior is None else fitted.posterior.result.draws,
            candidates=candidates,
            refusal=refusal,
            tol=tol,
            max_length=max_length,
            n_jobs=n_jobs,
            random_state=rng,
        )
        tables.append(table)
    return tables[0] if len(tables) == 1 else tables


def _refusal_by_weights(model: Any) -> str:
    """Return why the weights of a classifier allow no bound; empty if they do."""
    if not hasattr(model, "posterior_"):
        return ""
    if model.posterior_.class_weight is not None:
        return _CLASS_WEIGHTS
    rows = model.sample_indices_
    whole = (model.problems_[0].softness == model.softness_).all()
    return "" if whole and len(np.unique(rows)) == len(rows) else _SAMPLE_WEIGHTS


def _learned(model: Any, space: VersionSpace, k: int, *, refused: bool) -> Learned:
    """Return the weight vector of one binary problem, and how it was found."""
    dual_coef = model.dual_coef_[k]
    if hasattr(model, "posterior_"):
        return Learned(dual_coef, "bayes_point")
    if hasattr(model, "n_mistakes_"):
        condition = "" if isinstance(model.order, str) else _ORDERED
        mistakes = int(model.n_mistakes_[k])
        return Learned(dual_coef, "perceptron", condition=condition, mistakes=mistakes)
    if refused:
        return Learned(dual_coef, "max_margin")
    bias = float(model.intercept_[k]) if isinstance(model.fit_intercept, str) else None
    determined = _determined_by_support(model, space, dual_coef, bias)
    reason = "" if determined else _UNDETERMINED.format(d=np.count_nonzero(dual_coef))
    return Learned(dual_coef, "max_margin", bias, undetermined=reason)


def _determined_by_support(
    model: Any, space: VersionSpace, dual_coef: Floats, bias: float | None
) -> bool:
    """Return whether a fit to the examples with coefficients alone gives the same values."""
    free = bias is not None
    kept = np.flatnonzero(dual_coef)
    y = space.y[kept]
    if len(kept) == 0 or (free and (y == y[0]).all()):
        return False
    gram = np.asarray(space.gram, dtype=np.float64)  # as in a fit
    few = VersionSpace.over(
        Problem(gram[np.ix_(kept, kept)], y, space.softness[kept], space.offset)
    )
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # the values are compared below
            found = few.max_margin(
                C=model.C, free_bias=free, tol=model.tol, max_iter=model.max_iter
            )
    except InfeasibleError:
        return False
    again = np.zeros(len(dual_coef))
    again[kept] = found.multipliers * y
    values = space.margins(dual_coef) + (bias or 0.0) * space.y
    difference = space.margins(again - dual_coef) + (found.bias - (bias or 0.0)) * space.y
    return bool((np.abs(difference) <= _AGREEMENT * np.maximum(np.abs(values), 1)).all())
