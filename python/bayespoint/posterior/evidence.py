"""The evidence of a fitted model, and the joint probability of the labels of several points."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from bayespoint import kernels
from bayespoint.base import validation
from bayespoint.base.validation import Floats, Indices
from bayespoint.base.warnings import warn
from bayespoint.engine import InfeasibleError
from bayespoint.engine.settings import EvidenceSettings
from bayespoint.kernels.products import count, joined
from bayespoint.labels.evidence import evidence as billiard_evidence
from bayespoint.posterior import Mixture, Model
from bayespoint.results import Estimate, Evidence, LandmarkResult
from bayespoint.results.diagnostics import ess_bulk


def evidence(
    model: Model, settings: EvidenceSettings, *, n_jobs: int | None, rng: np.random.Generator
) -> Evidence:
    """Return the log evidence as `BayesPointClassifier.evidence` says."""
    run = model.draws.run
    if isinstance(run, LandmarkResult):
        found = run.evidence(settings.tol)
        if not found.converged:
            warn(
                f"the evidence has an estimated standard error of {found.error:.3g} nats from the "
                f"draws of the fit; tol={settings.tol:g} was asked for: raise n_draws, or lower "
                "the tol of the classifier"
            )
    else:
        problem = model.problem("evidence")
        found = billiard_evidence(problem, model.labels.noise, settings, n_jobs=n_jobs, seed=rng)
    return replace(found, value=found.value + model.labels.log_constant(model.label))


def log_labeling_probability(
    posterior: Mixture,
    X: Any,
    y: ArrayLike,
    *,
    tol: float,
    max_length: float,
    n_jobs: int | None,
    random_state: validation.RandomState,
) -> Estimate:
    """Return the average over the models as `BayesPointClassifier` says."""
    if posterior.class_weight is not None:
        raise ValueError(
            "log_labeling_probability needs a classifier without class weights, which are defined "
            "for the labels of single points; got one with class_weight="
            f"{posterior.class_weight.tolist()}: fit with class_weight=None"
        )
    index = validation.known_labels(posterior.classes, y, count(X))
    tol = validation.positive("tol", tol)
    rng = validation.generator(random_state)
    settings, found = EvidenceSettings(tol / math.sqrt(2), max_length), []
    for model in posterior.models:
        if not model.basis.is_all:
            found.append(_over_draws(model, X, index, tol))
            continue
        own = rng if len(posterior.models) == 1 else validation.generator(rng)
        evidence_of = partial(billiard_evidence, settings=settings, n_jobs=n_jobs, seed=own)
        found.append(_by_evidence(model, X, index, evidence_of))
    return found[0] if len(found) == 1 else _mean(found, posterior.weights)


def _over_draws(model: Model, X: Any, index: Indices, tol: float) -> Estimate:
    """Return ln of the mean over the draws of the probability of all labels, with landmarks."""
    logs = model.log_labels(X, index)
    chains = logs.reshape(model.draws.run.draws.shape[:2])
    weights = np.exp(chains - chains.max())
    n = ess_bulk(chains[..., None])[0]
    error = float(weights.std() / weights.mean()) / math.sqrt(max(n, 1.0))
    if not error <= tol:
        warn(
            f"the log probability of the labels has an estimated standard error of {error:.3g} "
            f"nats from the draws of the fit; tol={tol:g} was asked for: raise n_draws"
        )
    return Estimate(float(special.logsumexp(logs)) - math.log(len(logs)), error)


def _by_evidence(
    model: Model, X: Any, index: Indices, evidence_of: Callable[..., Evidence]
) -> Estimate:
    """Return the log evidence of examples and points minus that of the examples."""
    hyper, basis = model.hyper, model.basis
    if isinstance(hyper.kernel, str):
        raise ValueError(  # noqa: TRY004
            "log_labeling_probability needs a kernel that can be evaluated; got "
            "kernel='precomputed'"
        )
    softness = np.concatenate([basis.softness, np.full(len(index), hyper.softness)])
    label = np.concatenate([model.label, index])
    gram = kernels.evaluate(hyper.kernel, joined(basis.points, model.points(X)))

    def log_p(size: int) -> Evidence:
        part = np.ascontiguousarray(gram[:size, :size])
        problem = model.labels.problem(part, label[:size], softness[:size], basis.offset)
        found = evidence_of(problem, model.labels.noise)
        return replace(found, value=found.value + model.labels.log_constant(label[:size]))

    examples = log_p(len(model.label))
    try:
        both = log_p(len(label))
    except InfeasibleError:
        return Estimate(-math.inf, math.inf)
    return Estimate(both.value - examples.value, math.sqrt(examples.error**2 + both.error**2))


def _mean(estimates: Sequence[Estimate], weights: Floats) -> Estimate:
    """Return the logarithm of the average of probabilities, given as estimates of logarithms."""
    logs = np.array([estimate.value for estimate in estimates]) + np.log(weights)
    value = float(special.logsumexp(logs))
    if value == -math.inf:
        return estimates[0]
    errors = [estimate.error if math.isfinite(estimate.value) else 0.0 for estimate in estimates]
    return Estimate(value, float(np.linalg.norm(np.exp(logs - value) * errors)))
