"""The kernels of a fit, by the parameters `kernel` and `n_models` of a classifier."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from bayespoint import kernels
from bayespoint.base import validation
from bayespoint.data.examples import Examples
from bayespoint.data.plan import Choice, Plan
from bayespoint.kernels.products import in_rows

MAX_AVERAGED_EXAMPLES = 2000
"""Most examples for which several settings are averaged by default. With more the evidence is
sharper, and each model needs a matrix and its factor."""

N_MODELS = 6
"""Number of settings by default for two classes: six are about as good as twelve."""

MOST_FEATURES = 100
"""Most features for which each has a weight: with more the draws take too long, and features are
often alike, as in images."""

_MOST_WEIGHTS = 1000
"""The same with landmarks, where one setting is found. Averages of settings end at fewer, since a
draw takes dozens of evaluations."""

FEW = 4
"""Largest number of parameters of a kernel for which one setting is enough: with so few their
posterior is narrow."""

_LINEAR = 1 / math.e
"""Variance of the linear part of f over the examples, relative to the other, to start from."""


def choices(
    kernel: Any, n_models: object, examples: Examples, n_classes: int, plan: Plan
) -> tuple[Choice, ...]:
    """Return the kernels of a fit, and how their hyperparameters are found.

    `kernel` and `n_models` are parameters of the classifier; `plan` has no kernels yet.
    """
    auto = isinstance(n_models, str)
    if auto and n_models != "auto":
        raise ValueError(f'n_models must be an int of at least 1 or "auto"; got {n_models!r}')
    n = None if auto else validation.integer("n_models", n_models, low=1)
    inputs, searches = examples.inputs, plan.softness is None or plan.rates > 0
    if n == 1 or (auto and plan.landmarks):
        default = landmark_kernel(inputs) if plan.landmarks and kernel is None else kernel
        resolved = kernels.resolve(default)
        # A kernel that does not know its derivatives is found without landmarks.
        by_landmarks = (
            plan.landmarks
            and (searches or kernels.parameters(resolved, inputs))
            and knows_slopes(resolved, inputs)
        )
        return (Choice(resolved, how="landmarks" if by_landmarks else "evidence"),)
    too_many = len(examples.label) > MAX_AVERAGED_EXAMPLES or plan.softness == 0
    if kernel is None:
        if n is None and too_many:
            return (Choice(kernels.resolve(None)),)
        if n_classes == 2:
            return (Choice(averaged_kernel(inputs), n or N_MODELS, "drawn"),)
        return average(inputs, n)
    resolved = kernels.resolve(kernel)
    found = 0 if isinstance(resolved, str) else len(kernels.parameters(resolved, inputs))
    if n is None:
        plain = found <= FEW or too_many or n_classes > 2
        return (Choice(resolved) if plain else Choice(resolved, N_MODELS, "drawn"),)
    if isinstance(resolved, str) or not (found or searches):
        named = isinstance(resolved, str)
        reason = "with kernel='precomputed'" if named else "if nothing is left to find"
        raise ValueError(f"n_models must be 1 {reason}; got {n}")
    return (Choice(resolved, n, "drawn"),)


def averaged_kernel(X: Any) -> Any:
    """Return the kernel that stands for None where settings are drawn for two classes.

    It is the sum of the Matérn kernel with nu = 5/2, the Laplacian and a linear kernel, for 2 to
    100 features with a weight for each.
    """
    matern, linear, laplacian = _parts(X)
    total = matern + laplacian + linear
    return kernels.Weighted(total) if 1 < X.shape[1] <= MOST_FEATURES else total


def average(X: Any, n: int | None) -> tuple[Choice, ...]:
    """Return the kernels over which the default averages for more than two classes.

    They are the Matérn kernel with nu = 5/2 and the Laplacian; for 2 to 100 features the same with
    a weight for each feature and a linear kernel added. If there are these, settings are drawn for
    them alone: the others have few parameters, and each its best setting. `n` is the number of
    settings in all, at least 2; None stands for one of each kernel, the best.
    """
    matern, linear, laplacian = _parts(X)
    plain = [Choice(matern), Choice(laplacian)]
    if not 1 < X.shape[1] <= MOST_FEATURES:
        return _shared(plain, n)
    weighted = [Choice(kernels.Weighted(one.kernel + linear)) for one in plain]
    if n is None:  # with many parameters the most probable setting
        how = "posterior" if len(kernels.parameters(weighted[0].kernel, X)) > FEW else "evidence"
        return (*(replace(one, how=how) for one in weighted), *plain)
    single = plain if n >= 2 * len(plain) else []
    return (*_shared(weighted, n - len(single)), *single)


def _shared(parts: Sequence[Choice], n: int | None) -> tuple[Choice, ...]:
    """Return kernels that share n draws; the first have one more if they do not divide."""
    if n is None:
        return tuple(parts)
    each, more = divmod(n, len(parts))
    return tuple(replace(one, n=each + (k < more), how="drawn") for k, one in enumerate(parts))


def landmark_kernel(X: Any) -> Any:
    """Return the kernel that stands for None with landmarks.

    A Matérn, a Laplacian and a linear kernel; for 2 to 1000 features with a weight for each, and
    for more than 100 without the Laplacian, which takes long there and gains nothing.
    """
    matern, linear, laplacian = _parts(X)
    d = X.shape[1]
    if d == 1:
        return matern + laplacian + linear
    if d > _MOST_WEIGHTS:
        return matern + linear
    if d > MOST_FEATURES:
        return kernels.Weighted(matern + linear)
    return kernels.Weighted(matern + linear) + kernels.Weighted(laplacian)


def _parts(X: Any) -> tuple[Any, Any, Any]:
    """Return multiples of the kernels that defaults are made of: Matérn, linear and Laplacian."""
    with np.errstate(over="ignore", divide="ignore"):
        factor = float(_LINEAR / X.var(axis=0).sum())
    linear = (factor if 0 < factor < math.inf else 1.0) * kernels.Linear()
    matern, laplacian = kernels.Matern(nu=2.5), kernels.Laplacian()
    return kernels.Scaled(matern), kernels.Scaled(linear), kernels.Scaled(laplacian)


def knows_slopes(kernel: Any, X: Any) -> bool:
    """Return whether a kernel knows the derivatives by all of its parameters, also between inputs.

    Without them a search would take an evaluation for each parameter.
    """
    start, few = kernels.at_start(kernel, X), in_rows(X)[:2]
    known = kernels.slopes(start, few, kernels.evaluate(start, few, few), np.zeros((2, 2)), few)
    return {one.name for one in kernels.parameters(kernel, X)} <= known.keys()
