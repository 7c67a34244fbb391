"""Checks of the estimators' parameters, and of what follows from them."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np
from sklearn.utils.class_weight import compute_class_weight

from bayespoint.base import memory, validation
from bayespoint.base.validation import Array, Floats, RandomState, boolean, choice, integer, real
from bayespoint.data.plan import Budget, Given
from bayespoint.estimators.base import Estimator
from bayespoint.estimators.inputs import is_precomputed

MAX_EXAMPLES = 6000  # of a fit without landmarks by default: time grows as their third power
_size = partial(integer, low=1)


def check(
    estimator: Estimator,
    *,
    random_state: RandomState,
    fit_intercept: object = False,
    calibration: object = None,
) -> tuple[Given, Budget]:
    """Return the checked parameters, and the budget of work that begins now."""
    began = time.monotonic()
    memory.require_blas()
    softness, label_noise = estimator.softness, estimator.label_noise
    rates = 1 if label_noise is None else 0
    if isinstance(label_noise, (tuple, list)) and any(rate is None for rate in label_noise):
        if list(label_noise) != [None, None]:
            raise ValueError(
                f"label_noise must be two rates, or None for both; got {label_noise!r}"
            )
        rates = 2
    calibration = choice("calibration", calibration, ("auto", "leave-one-out", None))
    softness = None if softness is None else real("softness", softness, low=0.0)
    if calibration == "leave-one-out" and softness == 0:
        raise ValueError(
            'softness must be positive with calibration="leave-one-out": with 0 an example '
            "may be determined by the others; got 0"
        )
    max_iter, max_time = estimator.max_iter, estimator.max_time
    validation.threads(estimator.n_jobs)
    given = Given(
        kernel=estimator.kernel,
        categories=estimator.categorical_features,
        standardize=boolean("standardize", estimator.standardize),
        approximation=choice("approximation", estimator.approximation, ("auto", "landmarks", None)),
        n_models=_unless_auto("n_models", estimator.n_models, _size),
        n_components=_unless_auto("n_components", estimator.n_components, _size),
        n_chains=_size("n_trajectories", estimator.n_trajectories),
        n_draws=_unless_auto("n_draws", estimator.n_draws, _size),
        tol=_unless_auto("tol", estimator.tol, validation.positive),
        offset=float(boolean("fit_intercept", fit_intercept)),
        softness=softness,
        label_noise=(0.0, 0.0) if rates else validation.label_noise(label_noise),
        rates=rates,
        calibrates=None if calibration == "auto" else calibration != "none",
        verbose=integer("verbose", estimator.verbose, low=0),
    )
    budget = Budget(
        validation.seed(random_state),
        n_jobs=estimator.n_jobs,
        max_iter=None if max_iter is None else _size("max_iter", max_iter),
        deadline=None if max_time is None else began + validation.positive("max_time", max_time),
    )
    return given, budget


def _unless_auto(name: str, value: Any, check: Callable[[str, object], Any]) -> Any:
    """Return a checked number, or None for "auto"."""
    if isinstance(value, str):
        if value != "auto":
            raise ValueError(f'{name} must be a positive number or "auto"; got {value!r}')
        return None
    return check(name, value)


def uses_landmarks(given: Given, n_examples: int) -> bool | None:
    """Return whether a fit uses landmarks, by `approximation` and the number of examples.

    None: it does if few of them stand for all examples.
    """
    if given.approximation == "landmarks":
        require_landmarks(given, "approximation='landmarks'")
        return True
    refused = is_precomputed(given.kernel) or given.softness == 0 or given.calibrates
    if given.approximation != "auto" or refused:
        return False
    return True if n_examples > MAX_EXAMPLES else None


def require_landmarks(given: Given, what: str) -> None:
    """Raise ValueError for parameters with which there can be no landmarks."""
    if is_precomputed(given.kernel):
        raise ValueError(
            f"kernel must not be 'precomputed' with {what}: landmarks need kernel values of other "
            "points"
        )
    if given.softness == 0:
        raise ValueError(f"softness must be positive or None with {what}; got 0")
    if given.calibrates:
        raise ValueError(f"calibration must be 'auto' or None with {what}; got 'leave-one-out'")


def class_weight(parameter: Any, classes: Array, totals: Floats) -> Floats:
    """Return the checked weights of the classes, whose observations have sums of weights."""
    if isinstance(parameter, str):
        if parameter == "balanced":
            return totals.sum() / (len(totals) * totals)
        raise ValueError(
            'class_weight must be None, "balanced" or a dictionary of weights by class; got '
            f"{parameter!r}"
        )
    for weight in parameter.values() if isinstance(parameter, Mapping) else ():
        validation.number("class_weight", weight, wanted="made of numbers")
    weights = compute_class_weight(parameter, classes=classes, y=classes)
    positive = np.isfinite(weights).all() and (weights > 0).all()
    if not positive or weights.min() < 1e-300 * weights.max():
        raise ValueError(
            "class_weight must give every class a positive weight, of ratios below 1e300; got "
            f"{parameter!r}"
        )
    return weights
