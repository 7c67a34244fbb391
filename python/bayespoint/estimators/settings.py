"""Checks of the classifier's parameters, which become the plan of its model and its budget."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.class_weight import compute_class_weight

from bayespoint.base import validation
from bayespoint.base.validation import Floats, RandomState, boolean, choice, integer, real
from bayespoint.data.plan import Budget, Plan
from bayespoint.estimators.inputs import is_precomputed

Params: TypeAlias = Mapping[str, Any]  # what ``get_params(deep=False)`` returns

MAX_EXAMPLES = 6000  # of a fit without landmarks by default: time grows as their third power
RULES = ("probability", "median", "mean")
_REPEATED = 1000  # observations that may be more than twice as many as the examples


def check(params: Params, random_state: RandomState, began: float) -> tuple[Plan, Budget]:
    """Return the plan, without kernels yet, and the budget of a fit that `began` at this time."""
    softness, label_noise = params["softness"], params["label_noise"]
    rates = 1 if label_noise is None else 0
    if isinstance(label_noise, (tuple, list)) and any(rate is None for rate in label_noise):
        if list(label_noise) != [None, None]:
            raise ValueError(
                f"label_noise must be two rates, or None for both; got {label_noise!r}"
            )
        rates = 2
    calibration = choice("calibration", params["calibration"], ("auto", "leave-one-out", None))
    softness = None if softness is None else real("softness", softness, low=0.0)
    if calibration == "leave-one-out" and softness == 0:
        raise ValueError(
            'softness must be positive with calibration="leave-one-out": with 0 an example '
            "may be determined by the others; got 0"
        )
    max_iter, max_time = params["max_iter"], params["max_time"]
    validation.threads(params["n_jobs"])
    plan = Plan(
        kernel=None,
        n_models=1,
        offset=float(boolean("fit_intercept", params["fit_intercept"])),
        softness=softness,
        label_noise=(0.0, 0.0) if rates else validation.label_noise(label_noise),
        rates=rates,
        calibrates=None if calibration == "auto" else calibration != "none",
        landmarks=False,
        n_components=_unless_auto("n_components", params["n_components"], integer, low=1),
        n_chains=integer("n_trajectories", params["n_trajectories"], low=1),
        n_draws=integer("n_draws", params["n_draws"], low=1),
        tol=_unless_auto("tol", params["tol"], validation.positive),
        rule=choice("decision", params["decision"], RULES) if "decision" in params else None,
    )
    budget = Budget(
        validation.seed(random_state),
        n_jobs=params["n_jobs"],
        max_iter=None if max_iter is None else integer("max_iter", max_iter, low=1),
        deadline=None if max_time is None else began + validation.positive("max_time", max_time),
    )
    return plan, budget


def _unless_auto(name: str, value: Any, check: Any, **limits: Any) -> Any:
    """Return a checked number, or None for "auto"."""
    if isinstance(value, str):
        if value != "auto":
            raise ValueError(f'{name} must be a positive number or "auto"; got {value!r}')
        return None
    return check(name, value, **limits)


def verbosity(params: Params) -> int:
    """Return the checked parameter `verbose`."""
    verbose = params["verbose"]
    return integer("verbose", int(verbose) if isinstance(verbose, np.bool_) else verbose, low=0)


def uses_landmarks(params: Params, n_examples: int, n_observations: float, plan: Plan) -> bool:
    """Return whether a fit uses landmarks, by `approximation` and the number of observations."""
    wanted = choice("approximation", params["approximation"], ("auto", "landmarks", None))
    if wanted == "landmarks":
        require_landmarks(params, plan, "approximation='landmarks'")
        return True
    refused = is_precomputed(params["kernel"]) or plan.softness == 0 or plan.calibrates
    most = min(MAX_EXAMPLES, max(_REPEATED, 2 * n_examples))
    return wanted == "auto" and not refused and n_observations > most


def require_landmarks(params: Params, plan: Plan, what: str) -> None:
    """Raise ValueError for parameters with which there can be no landmarks."""
    if is_precomputed(params["kernel"]):
        raise ValueError(
            f"kernel must not be 'precomputed' with {what}: landmarks need kernel values of other "
            "points"
        )
    if plan.softness == 0:
        raise ValueError(f"softness must be positive or None with {what}; got 0")
    if plan.calibrates:
        raise ValueError(f"calibration must be 'auto' or None with {what}; got 'leave-one-out'")


def class_weight(params: Params, classes: NDArray[Any], totals: Floats) -> Floats:
    """Return the checked weights of the classes, whose observations have sums of weights."""
    given = params["class_weight"]
    if isinstance(given, str):
        if given == "balanced":
            return np.asarray(totals.sum() / (len(totals) * totals))
        raise ValueError(
            'class_weight must be None, "balanced" or a dictionary of weights by class; got '
            f"{given!r}"
        )
    for weight in given.values() if isinstance(given, Mapping) else ():
        validation.number("class_weight", weight, wanted="made of numbers")
    weights: Floats = compute_class_weight(given, classes=classes, y=classes)
    positive = np.isfinite(weights).all() and (weights > 0).all()
    if not positive or weights.min() < 1e-300 * weights.max():
        raise ValueError(
            "class_weight must give every class a positive weight, of ratios below 1e300; got "
            f"{given!r}"
        )
    return weights


def require_kernel_object(kernel: object, params: Mapping[str, Any]) -> None:
    """Raise ValueError for parameters ``kernel__...`` of a kernel setting that has none."""
    nested = [name for name in params if name.startswith("kernel__")]
    if nested and not hasattr(kernel, "set_params"):
        raise ValueError(
            f"{nested[0]} is a parameter of a kernel object: give one, as in "
            f"kernel=bayespoint.kernels.RBF(); got kernel={kernel!r}"
        )
