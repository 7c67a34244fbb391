"""Classifiers that average over settings of their hyperparameters."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from scipy import special

from bayespoint import kernels
from bayespoint.base import validation
from bayespoint.base.validation import Floats
from bayespoint.estimators.settings import FitSettings
from bayespoint.posterior.averaged import AveragedPosterior, average_weights
from bayespoint.posterior.class_weight import normalized
from bayespoint.results import Estimate, FeatureRelevance
from bayespoint.tuning import averaging
from bayespoint.tuning.averaging import Choice, Setting

MOST_EXAMPLES = 2000
"""Most examples for which several settings are averaged by default. With more the evidence is
sharper, and each model needs a matrix and its factor."""

N_MODELS = 6
"""Number of settings by default for two classes: six are about as good as twelve."""

_SHARED = (
    "classes_",
    "class_weight_",
    "sample_indices_",
    "_n_examples",
    "approximation_",
    "scaler_",
    "n_features_in_",
    "feature_names_in_",
)
"""What the models of an average share."""


def plan(model: Any, inputs: Any, n_classes: int, settings: FitSettings) -> list[Choice]:
    """Return what a classifier averages after its parameter `n_models`; nothing for one model."""
    n = model.n_models
    if isinstance(n, str):
        if n != "auto":
            raise ValueError(f'n_models must be an int of at least 1 or "auto"; got {n!r}')
    else:
        n = validation.integer("n_models", n, low=1)
    if n == 1 or (n == "auto" and model.approximation_ == "landmarks"):
        return []
    m = inputs.shape[0] if hasattr(inputs, "shape") else len(inputs)
    too_many = m > MOST_EXAMPLES or settings.softness == 0
    if model.kernel is None:
        if n != "auto":
            return averaging.default_choices(inputs, n)
        if too_many:
            return []
        return averaging.default_choices(inputs, N_MODELS if n_classes == 2 else None)
    kernel = kernels.resolve(model.kernel)
    named = isinstance(kernel, str)
    found = 0 if named else len(kernels.parameters(kernel, inputs))
    if n == "auto":
        plain = found <= averaging.FEW or too_many or n_classes > 2
        return [] if plain else [Choice(kernel, N_MODELS)]
    if named or not (found or settings.softness is None or settings.rates):
        reason = "with kernel='precomputed'" if named else "if nothing is left to find"
        raise ValueError(f"n_models must be 1 {reason}; got {n}")
    return [Choice(kernel, n)]


def members(model: Any, found: Sequence[Setting]) -> list[Any]:
    """Return a plain classifier for each setting, to be fitted."""
    several = len(model.classes_) > 2
    made = []
    for one in found:
        search = one.search
        params = model.get_params(deep=False) | {
            "kernel": search.kernel,
            "softness": search.softness,
            "label_noise": search.label_noise[0] if several else search.label_noise,
            "calibration": member_calibration(model.calibration, search.softness),
            "n_models": 1,
            "warm_start": False,
        }
        member = type(model)(**params)
        vars(member).update({name: vars(model)[name] for name in _SHARED if name in vars(model)})
        member.kernel_, member.softness_ = search.kernel, search.softness
        member.label_noise_, member.tuning_ = search.label_noise, search
        member._relevance = one.relevance
        set_models(member, [])
        made.append(member)
    return made


def member_calibration(calibration: str | None, softness: float) -> str | None:
    """Return the parameter `calibration` of a model of an average, for which nothing is found."""
    if calibration != "auto":
        return calibration
    return "leave-one-out" if softness > 0 else None


def set_models(model: Any, models: Sequence[Any]) -> None:
    """Set the attributes of a fitted classifier that averages these fitted models, or none."""
    if not models:
        model.models_, model.model_weights_ = (), np.ones(0)
        return
    logs = [one._leave_one_out for one in models]
    weights = np.full(len(models), 1 / len(models))
    if all(log_p is not None for log_p in logs):
        weights = average_weights(logs)
    order = np.argsort(-weights, kind="stable")
    models, weights = [models[k] for k in order], weights[order]
    parameters = model.get_params(deep=False)
    own = {name: value for name, value in vars(models[0]).items() if name not in parameters}
    vars(model).update(own)
    model.models_, model.model_weights_ = tuple(models), weights
    model.posterior_ = AveragedPosterior.of(
        [one.posterior_ for one in models], weights, normalized(model.class_weight_)
    )


def feature_relevance(model: Any) -> FeatureRelevance:
    """Return the relevance of the features of a fitted classifier."""
    pairs = [
        (one._relevance, weight)
        for one, weight in zip(model.models_, model.model_weights_, strict=True)
        if one._relevance.size
    ]
    if not pairs:
        raise AttributeError(
            "feature_relevance_ needs several models whose kernels have a weight for each feature: "
            f"n_models above 1, and 2 to {averaging.MOST_FEATURES} features with the default kernel"
        )
    states = np.concatenate([states for states, _ in pairs])
    weights = np.concatenate(
        [np.full(len(states), weight / len(states)) for states, weight in pairs]
    )
    names = getattr(model, "feature_names_in_", None)
    return FeatureRelevance.of(states, weights / weights.sum(), names)


def with_share(settings: FitSettings, n: int) -> FitSettings:
    """Return the settings with the time of one of `n` models that are left."""
    if settings.deadline is None or n == 1:
        return settings
    now = time.monotonic()
    return replace(settings, began=now, max_time=max(1e-3, (settings.deadline - now) / n))


def seed_of(seed: int, stream: int) -> int:
    """Return the seed of the billiard of one of several models; that of the first is `seed`."""
    if stream == 0:
        return seed
    return int(np.random.SeedSequence([seed, stream]).generate_state(1, np.uint64)[0])


def mean(found: Sequence[Estimate], weights: Floats) -> Estimate:
    """Return the logarithm of the average of probabilities, given as estimates of logarithms."""
    logs = np.array([one.value for one in found]) + np.log(weights)
    value = float(special.logsumexp(logs))
    if value == -math.inf:
        return found[0]
    errors = [one.error if math.isfinite(one.value) else 0.0 for one in found]
    return Estimate(value, float(np.linalg.norm(np.exp(logs - value) * errors)))
