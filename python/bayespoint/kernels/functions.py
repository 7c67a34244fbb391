"""Functions of any kernel: of this package, of scikit-learn's Gaussian processes, or a callable."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from bayespoint.base import validation
from bayespoint.kernels import gaussian_process
from bayespoint.kernels.base import KernelObject
from bayespoint.kernels.products import count, counts, in_rows
from bayespoint.kernels.protocol import Floats, Inputs, Parameter


def parameters(kernel: object, X: Inputs) -> tuple[Parameter, ...]:
    """Return the parameters that a kernel declares, to be found by a search."""
    if gaussian_process.is_gp(kernel):
        return gaussian_process.parameters(kernel)
    declare = getattr(kernel, "parameters", None)
    return tuple(declare(X)) if callable(declare) else ()


def replace(kernel: Any, values: Mapping[str, float]) -> Any:
    """Return the kernel with other values of its declared parameters."""
    if not values:
        return kernel
    if hasattr(kernel, "with_values"):
        return kernel.with_values(values)
    if gaussian_process.is_gp(kernel):
        return gaussian_process.replace(kernel, values)
    return dataclasses.replace(kernel, **values)


def derivatives(kernel: object, X: Inputs, gram: Floats) -> Mapping[str, Floats]:
    """Return the known derivatives of ``gram = kernel(X)`` with respect to log parameters."""
    if gaussian_process.is_gp(kernel):
        return gaussian_process.derivatives(kernel, X)
    known = getattr(kernel, "derivatives", None)
    return known(X, gram) if callable(known) else {}


def slopes(
    kernel: object, X: Inputs, gram: Floats, by_gram: Floats, Y: Inputs | None = None
) -> Mapping[str, float]:
    """Return ``sum(by_gram * derivative)`` for each of the known derivatives."""
    if isinstance(kernel, KernelObject):
        return kernel.slopes(X, gram, by_gram, Y)
    if Y is not None:
        return {}
    known = derivatives(kernel, X, gram)
    return {name: float(np.vdot(by_gram, known[name])) for name in known}


def weighted_slopes(
    kernel: object, X: Floats, gram: Floats, by_gram: Floats, Y: Floats | None = None
) -> tuple[Mapping[str, float], Floats] | None:
    """Return a kernel's `weighted_slopes`; None if it does not know them."""
    if isinstance(kernel, KernelObject):
        return kernel.weighted_slopes(X, gram, by_gram, Y)
    return None


def requires_vectors(kernel: object) -> bool | None:
    """Return whether a kernel takes the rows of a numeric array; None if it takes any inputs.

    The default is True. A false attribute ``requires_vector_input`` means False, for kernels of
    scikit-learn None.
    """
    value = getattr(kernel, "requires_vector_input", True)
    if value is None or (not value and gaussian_process.is_gp(kernel)):
        return None
    return bool(value)


def accepts_sparse(kernel: object) -> bool:
    """Return whether a kernel takes sparse matrices, as its attribute `accepts_sparse` says."""
    return bool(getattr(kernel, "accepts_sparse", False))


def is_semidefinite(kernel: object) -> bool:
    """Return whether a kernel is known to be positive semidefinite: only those of this package."""
    return isinstance(kernel, KernelObject) and kernel.semidefinite


def is_reproducible(kernel: object) -> bool:
    """Return whether a second evaluation surely gives the same values: not for callables."""
    return is_semidefinite(kernel) or gaussian_process.is_gp(kernel)


def evaluate(kernel: Callable[..., Any], X: Inputs, Y: Inputs | None = None) -> Floats:
    """Return ``kernel(X, Y)`` checked for shape and finite values; ``Y=None`` stands for `X`.

    Kernels of this module and of scikit-learn are called with None, other callables with `X` twice.
    """
    if not callable(kernel) or isinstance(kernel, type):
        raise TypeError(f"kernel must be a kernel object or a callable k(X, Y); got {kernel!r}")
    if isinstance(kernel, KernelObject) or gaussian_process.is_gp(kernel):
        value: Any = kernel(X, Y)
    else:
        value = kernel(X, X if Y is None else Y)
    return _checked("kernel(X, Y)", value, counts(X, Y))


def diagonal(kernel: Callable[..., Any], X: Inputs) -> Floats:
    """Return the checked values ``k(x, x)``, by the kernel's method ``diag`` if it has one."""
    if hasattr(kernel, "diag"):
        with np.errstate(over="ignore", invalid="ignore"):
            found = kernel.diag(X)
        return np.asarray(_checked("kernel.diag(X)", found, (count(X),)), dtype=np.float64)
    X = in_rows(X)
    values = np.empty(count(X))
    for rows in validation.blocks(len(values), 32):
        values[rows] = evaluate(kernel, X[rows], X[rows]).diagonal()
    return values


def _checked(name: str, value: Any, shape: tuple[int, ...]) -> Floats:
    """Return the values of a kernel, checked for shape and finiteness."""
    array = validation.dense(f"the value of {name}", value)
    if array.shape != shape:
        raise ValueError(f"{name} must have shape {shape}; got shape {array.shape}")
    validation.finite(name, array, verb="returned")
    return array
