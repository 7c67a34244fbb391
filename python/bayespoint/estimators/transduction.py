"""The joint probability of the labels of several points."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from bayespoint import kernels
from bayespoint.base import validation
from bayespoint.base.validation import RandomState
from bayespoint.estimators import inputs as estimators_inputs
from bayespoint.kernels.products import count
from bayespoint.posterior import Posterior
from bayespoint.posterior.posterior import scaled
from bayespoint.results import Estimate, Evidence
from bayespoint.version_space import InfeasibleError, VersionSpace


def log_labeling_probability(
    posterior: Posterior,
    inputs: Any,
    y: ArrayLike,
    *,
    tol: float,
    max_length: float,
    n_jobs: int | None,
    random_state: RandomState,
) -> Estimate:
    """Return the log evidence of examples and points minus that of the examples.

    The parameters are those of :meth:`BayesPointClassifier.log_labeling_probability`.
    """
    if len(posterior.problems) > 1:
        raise ValueError(
            'log_labeling_probability needs multiclass="joint" for more than two classes; the '
            f"classifier was fitted to {len(posterior.classes)}, each against the rest"
        )
    if posterior.class_weight is not None:
        raise ValueError(
            "log_labeling_probability needs a classifier without class weights, which are defined "
            "for the labels of single points; got one with class_weight="
            f"{posterior.class_weight.tolist()}: fit with class_weight=None"
        )
    if isinstance(posterior.kernel, str) or posterior.inputs is None:
        raise ValueError(
            "log_labeling_probability needs a kernel that can be evaluated; got "
            "kernel='precomputed'"
        )
    n = count(inputs)
    new = estimators_inputs.known_labels(posterior.classes, y, n)
    several = len(posterior.classes) > 2
    tol = validation.positive("tol", tol)
    everything = estimators_inputs.joined(posterior.inputs, scaled(posterior.scaler, inputs))
    gram = kernels.evaluate(posterior.kernel, everything)
    softness = np.concatenate([posterior.example_softness, np.full(n, posterior.softness)])
    labels = np.concatenate([posterior.problems[0].y, new if several else 2 * new - 1])
    rng = np.random.default_rng(validation.seed(random_state))

    def evidence(size: int) -> Evidence:
        space = VersionSpace(
            np.ascontiguousarray(gram[:size, :size]),
            labels[:size],
            softness=softness[:size],
            offset=posterior.offset,
        )
        return space.evidence(
            posterior.label_noise[0] if several else posterior.label_noise,
            tol=tol / math.sqrt(2),
            max_length=max_length,
            n_jobs=n_jobs,
            random_state=rng,
        )

    examples = evidence(len(labels) - n)
    try:
        joint = evidence(len(labels))
    except InfeasibleError:
        return Estimate(-math.inf, math.inf)
    return Estimate(joint.value - examples.value, math.sqrt(examples.error**2 + joint.error**2))
