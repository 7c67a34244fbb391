"""The kernel of a fit, by the parameters `kernel` and `n_models` of a classifier."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy import sparse

from bayespoint import kernels
from bayespoint.base import validation
from bayespoint.data.examples import Examples
from bayespoint.data.plan import Plan

N_MODELS, N_MODELS_OF_SEVERAL = 8, 6
"""Number of settings by default, for two classes and for more: more of them gain little. With
landmarks it is one: averages of as many landmarks gain nothing (docs/benchmarks.md)."""

MOST_FEATURES = 100
"""Most features for which settings are drawn. With more, as in images, the evidence of a sum goes
to its linear part, and averages of kernels predict better (docs/benchmarks.md)."""

_MOST_WEIGHTS = 1000  # most features for which each has a weight

FEW = 4
"""Largest number of parameters of a kernel for which one setting is enough: with so few their
posterior is narrow."""

_LINEAR = 1 / math.e
"""Variance of the linear part of f over the examples, relative to the other, to start from."""


def choice(
    kernel: Any, n_models: object, examples: Examples, n_classes: int, plan: Plan
) -> tuple[Any, int]:
    """Return the kernel of a fit, and the number of settings of its hyperparameters.

    `kernel` and `n_models` are parameters of the classifier; `plan` has no kernel yet.
    """
    auto = isinstance(n_models, str)
    if auto and n_models != "auto":
        raise ValueError(f'n_models must be an int of at least 1 or "auto"; got {n_models!r}')
    n = None if auto else validation.integer("n_models", n_models, low=1)
    inputs, searches = examples.inputs, plan.softness is None or plan.rates > 0
    single = plan.landmarks or plan.softness == 0
    if kernel is None and n is None and not single:
        given = default_kernels(inputs)
        if len(given) > 1:
            return given, len(given)
    resolved = default_kernel(inputs) if kernel is None else kernels.resolve(kernel)
    named = isinstance(resolved, str)
    found = 0 if named else len(kernels.parameters(resolved, inputs))
    if n is None:
        many = N_MODELS if n_classes == 2 else N_MODELS_OF_SEVERAL
        n = many if found > FEW and not single else 1
    elif n > 1 and (named or not (found or searches)):
        reason = "with kernel='precomputed'" if named else "if nothing is left to find"
        raise ValueError(f"n_models must be 1 {reason}; got {n}")
    return resolved, n


def default_kernel(X: Any) -> Any:
    """Return the kernel that stands for None.

    It is the sum of the Matérn kernel with nu = 5/2, up to 100 features the Laplacian, and a linear
    kernel, for 2 to 1000 features with a weight for each; for sparse inputs the linear kernel.
    """
    if sparse.issparse(X):
        return kernels.Scaled(kernels.Linear())
    matern, laplacian, linear = _parts(X)
    few = X.shape[1] <= MOST_FEATURES
    return _with_weights(matern + laplacian + linear if few else matern + linear, X)


def default_kernels(X: Any) -> tuple[Any, ...]:
    """Return the kernels whose most probable settings are averaged by default.

    For more than 100 features they are the three parts, otherwise the default kernel alone.
    """
    if sparse.issparse(X) or X.shape[1] <= MOST_FEATURES:
        return (default_kernel(X),)
    return tuple(_with_weights(part, X) for part in _parts(X))


def _parts(X: Any) -> tuple[Any, Any, Any]:
    """Return multiples of the kernels that the default is made of."""
    with np.errstate(over="ignore", divide="ignore"):
        factor = float(_LINEAR / X.var(axis=0).sum())
    linear = (factor if 0 < factor < math.inf else 1.0) * kernels.Linear()
    parts = kernels.Matern(nu=2.5), kernels.Laplacian(), linear
    matern, laplacian, linear = map(kernels.Scaled, parts)
    return matern, laplacian, linear


def _with_weights(kernel: Any, X: Any) -> Any:
    return kernels.Weighted(kernel) if 1 < X.shape[1] <= _MOST_WEIGHTS else kernel
