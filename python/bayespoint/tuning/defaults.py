"""The models of a fit, by the parameters `kernel` and `n_models` of a classifier."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy import sparse

from bayespoint import kernels
from bayespoint.data.columns import Columns
from bayespoint.data.plan import Given

N_MODELS = 8  # settings that are averaged by default; more gain little (docs/benchmarks.md)
N_MODELS_OF_SEVERAL = 6  # settings for more than two classes in no order

MOST_EXAMPLES = 500
"""Most examples for which settings are averaged by default. With more, one setting that is found
with more landmarks predicts as well, in less time (docs/benchmarks.md)."""

MOST_FEATURES = 100
"""Most features for which settings are drawn. With more, as in images, the evidence of a sum goes
to its linear part, and averages of its other parts predict better (docs/benchmarks.md)."""

_MOST_WEIGHTS = 1000  # most features that have weights
FEW = 4  # most parameters of a kernel for which one setting is enough: their posterior is narrow
_LINEAR = 1 / math.e  # variance of the linear part of f, relative to the other, at the start


def choose_models(
    given: Given,
    inputs: Any,
    n_examples: int,
    *,
    columns: Columns | None,
    n_problems: int,
    landmarks: bool | None,
) -> tuple[Any, int]:
    """Return the kernel of a fit, or several that are averaged, and the number of models."""
    n = given.n_models
    averages = not (landmarks or given.softness == 0)
    if given.kernel is None:
        if n is None and averages and len(several := default_kernels(inputs, columns)) > 1:
            return several, len(several)
        resolved = default_kernel(inputs, columns)
    else:
        resolved = kernels.resolve(given.kernel)
        if columns is not None:
            resolved = columns.kernel(resolved)
    named = isinstance(resolved, str)
    free = len(kernels.parameters(resolved, inputs))
    if n is None:
        many = N_MODELS if n_problems == 1 else N_MODELS_OF_SEVERAL
        averages = averages and n_examples <= MOST_EXAMPLES
        return resolved, many if free > FEW and averages else 1
    if n > 1 and (named or not (free or given.softness is None or given.rates)):
        reason = "with kernel='precomputed'" if named else "if nothing is left to find"
        raise ValueError(f"n_models must be 1 {reason}; got {n}")
    return resolved, n


def default_kernel(X: Any, columns: Columns | None = None) -> Any:
    """Return the kernel that stands for None: a Matérn, a Laplacian and a linear kernel.

    Beyond 100 columns it has no Laplacian, for 2 to 1000 each column has a weight, and for sparse
    inputs it is linear.
    """
    if sparse.issparse(X):
        return kernels.Scaled(kernels.Linear())
    matern, laplacian, linear = _parts(X, columns)
    few = _width(X, columns) <= MOST_FEATURES
    return _with_weights(matern + laplacian + linear if few else matern + linear, X, columns)


def default_kernels(X: Any, columns: Columns | None = None) -> tuple[Any, ...]:
    """Return the kernels that are averaged by default, beyond 100 columns two of its parts."""
    if sparse.issparse(X) or _width(X, columns) <= MOST_FEATURES:
        return (default_kernel(X, columns),)
    matern, laplacian, _ = _parts(X, columns)
    return tuple(_with_weights(part, X, columns) for part in (matern, laplacian))


def isotropic_kernel(X: Any, columns: Columns) -> Any:
    """Return the Matérn kernel and a linear one, with one length scale."""
    matern, _, linear = _parts(X, columns)
    return columns.kernel(matern + linear)


def _width(X: Any, columns: Columns | None) -> int:
    return X.shape[1] if columns is None else len(columns)


def _parts(X: Any, columns: Columns | None) -> tuple[Any, Any, Any]:
    """Return multiples of the kernels that the default is made of."""
    n = X.shape[1] if columns is None else columns.n_numbers
    with np.errstate(all="ignore"):
        total = X[:, :n].var(axis=0).sum()
        # A category varies as much as a number, unless nothing is scaled.
        if columns is not None:
            total += sum(column.is_category for column in columns.columns)
        factor = float(_LINEAR / total)
    linear = (factor if 0 < factor < math.inf else 1.0) * kernels.Linear()
    matern, laplacian = kernels.Matern(nu=2.5), kernels.Laplacian()
    return kernels.Scaled(matern), kernels.Scaled(laplacian), kernels.Scaled(linear)


def _with_weights(kernel: Any, X: Any, columns: Columns | None) -> Any:
    if 1 < _width(X, columns) <= _MOST_WEIGHTS:
        kernel = kernels.Weighted(kernel)
    return kernel if columns is None else columns.kernel(kernel)
