"""Functions of any kernels: objects of this package, of scikit-learn, and callables of a user."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
from scipy import sparse

from bayespoint.base import validation
from bayespoint.base.stored import Stored
from bayespoint.base.validation import Floats
from bayespoint.kernels import gaussian_process
from bayespoint.kernels.products import Summands, count, counts, in_rows
from bayespoint.kernels.protocol import (
    AnyKernel,
    ByName,
    Inputs,
    Metric,
    Other,
    Parameters,
    Pulled,
    Slopes,
    added,
    plain_metric,
    unknown,
)

_DIAGONAL = 100  # examples in a square block of kernel values, of which only the diagonal counts


def parameters(kernel: object, X: Inputs) -> Parameters:
    """Return the parameters that a kernel declares, to be found by a search."""
    if gaussian_process.is_gp(kernel):
        return gaussian_process.parameters(kernel)
    declare = getattr(kernel, "parameters", None)
    return tuple(declare(X)) if callable(declare) else ()


def replace(kernel: Any, values: ByName) -> Any:
    """Return the kernel with other values of its declared parameters."""
    if not values:
        return kernel
    if hasattr(kernel, "with_values"):
        return kernel.with_values(values)
    if gaussian_process.is_gp(kernel):
        return gaussian_process.replace(kernel, values)
    return dataclasses.replace(kernel, **values)


def with_pullback(kernel: Any, X: Inputs, Y: Other = None) -> Pulled:
    """Return what a kernel's `with_pullback` does, with values checked."""
    with validation.overflowing():  # infinities are refused
        values, pullback = part_with_pullback(kernel, X, Y)
    return _checked("kernel(X, Y)", values, counts(X, Y)), pullback


def part_with_pullback(kernel: Any, X: Inputs, Y: Other = None) -> Pulled:
    """Return the same without checks, for a part of a kernel; callables know no derivatives."""
    known = getattr(kernel, "with_pullback", None)
    return known(X, Y) if callable(known) else (evaluate(kernel, X, Y), unknown)


def diag_with_pullback(kernel: Any, X: Inputs) -> Pulled:
    """Return what a kernel's `diag_with_pullback` does, with values checked."""
    with validation.overflowing():
        values, pullback = part_diag_with_pullback(kernel, X)
    return _checked("kernel.diag(X)", values, (count(X),)), pullback


def part_diag_with_pullback(kernel: Any, X: Inputs) -> Pulled:
    """Return the same without checks, for a part of a kernel."""
    known = getattr(kernel, "diag_with_pullback", None)
    return known(X) if callable(known) else diag_by_blocks(kernel, X)


def diag_by_blocks(kernel: Any, X: Inputs) -> Pulled:
    """Return the diagonal, with its derivatives from square blocks of kernel values."""
    rows_of = in_rows(X)

    def pullback(by_diag: Floats) -> Slopes:
        return added(
            part_with_pullback(kernel, rows_of[rows])[1](np.diag(by_diag[rows]))
            for rows in validation.blocks(len(by_diag), _DIAGONAL)
        )

    return diagonal(kernel, X), pullback


def metric(kernel: object, d: int) -> Metric:
    """Return how a kernel measures distances of vectors with d features, if it tells."""
    known = None if gaussian_process.is_gp(kernel) else getattr(kernel, "metric", None)
    return known(d) if callable(known) else plain_metric(d)


def summands(kernel: object, d: int) -> Summands:
    """Return a kernel of vectors with d features as a sum; empty if it is none."""
    known = getattr(kernel, "summands", None)
    return known(d) if callable(known) else ()


def is_function(kernel: object) -> bool:
    """Return whether a kernel is a callable without attributes of kernels."""
    return (
        callable(kernel) and not isinstance(kernel, (Stored, type)) and not hasattr(kernel, "diag")
    )


def requires_vectors(kernel: object) -> bool | None:
    """Return whether a kernel takes the rows of a numeric array; None if it takes any inputs.

    A function may take any, as with scikit-learn's `SVC`.
    """
    value = getattr(kernel, "requires_vector_input", None if is_function(kernel) else True)
    if value is None or (not value and gaussian_process.is_gp(kernel)):
        return None
    return bool(value)


def accepts_sparse(kernel: object) -> bool:
    """Return whether a kernel takes sparse matrices: by `accepts_sparse`; functions may."""
    return bool(getattr(kernel, "accepts_sparse", is_function(kernel)))


def accepts_limits(kernel: object) -> bool:
    """Return whether a kernel takes categories, as its attribute `accepts_limits` says."""
    return bool(getattr(kernel, "accepts_limits", False))


def is_semidefinite(kernel: object) -> bool:
    """Return whether a kernel is known to be positive semidefinite: only those of this package."""
    return isinstance(kernel, Stored) and bool(getattr(kernel, "semidefinite", False))


def is_reproducible(kernel: object) -> bool:
    """Return whether a second evaluation surely gives the same values: not for callables."""
    return is_semidefinite(kernel) or gaussian_process.is_gp(kernel)


def evaluate(kernel: AnyKernel, X: Inputs, Y: Other = None) -> Floats:
    """Return ``kernel(X, Y)``, checked; callables of other origins get `X` twice for ``Y=None``."""
    if not callable(kernel) or isinstance(kernel, type):
        raise TypeError(f"kernel must be a kernel object or a callable k(X, Y); got {kernel!r}")
    if Y is None and not (isinstance(kernel, Stored) or gaussian_process.is_gp(kernel)):
        Y = X
    return _checked("kernel(X, Y)", kernel(X, Y), counts(X, Y))


def diagonal(kernel: AnyKernel, X: Inputs) -> Floats:
    """Return the checked values ``k(x, x)``, by the kernel's method ``diag`` if it has one."""
    if hasattr(kernel, "diag"):
        with validation.overflowing():
            values = kernel.diag(X)
        return np.asarray(_checked("kernel.diag(X)", values, (count(X),)), dtype=np.float64)
    X = in_rows(X)
    return paired(kernel, X, X)


def paired(kernel: AnyKernel, X: Inputs, Y: Inputs) -> Floats:
    """Return the checked values ``k(x, y)`` of pairs of inputs, from blocks of kernel values."""
    values = np.empty(count(X))
    for rows in validation.blocks(len(values), 32):
        values[rows] = evaluate(kernel, X[rows], Y[rows]).diagonal()
    return values


def _checked(name: str, value: Any, shape: tuple[int, ...]) -> Floats:
    """Return the values of a kernel, checked for shape and finiteness."""
    if sparse.issparse(value):
        value = value.toarray()
    array = validation.dense(f"the value of {name}", value)
    if array.shape != shape:
        raise ValueError(f"{name} must have shape {shape}; got shape {array.shape}")
    validation.finite(name, array)
    return array
