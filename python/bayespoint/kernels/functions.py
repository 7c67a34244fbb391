"""What can be asked of any kernel: of this package, of scikit-learn, or a function."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from bayespoint.base import validation
from bayespoint.kernels import gaussian_process
from bayespoint.kernels.params import ParamsMixin
from bayespoint.kernels.products import count, counts, in_rows
from bayespoint.kernels.protocol import Floats, Inputs, Parameter

_DECIMAL = re.compile(r"\b\d+\.\d+(e[-+]?\d+)?\b|\b\d+e[-+]?\d+\b")

# --- parameters ------------------------------------------------------------------------------


def parameters(kernel: object, X: Inputs) -> tuple[Parameter, ...]:
    """Return what a kernel declares by a method ``parameters(X)``, if it has one.

    Gaussian-process kernels of scikit-learn declare theirs in their own way.

    Parameters
    ----------
    kernel : kernel object or callable
        Of this module, of scikit-learn's Gaussian processes, or any ``k(X, Y)``.
    X : array of shape (n, n_features), or a sequence of n examples
        What the kernel takes.

    Returns
    -------
    tuple of Parameter
        What can be tuned, with bounds; empty for a kernel that declares nothing.
    """
    if gaussian_process.is_gp(kernel):
        return gaussian_process.parameters(kernel)
    declare = getattr(kernel, "parameters", None)
    return tuple(declare(X)) if callable(declare) else ()


def replace(kernel: Any, values: Mapping[str, float]) -> Any:
    """Return the kernel with other values of parameters.

    Parameters
    ----------
    kernel : kernel object or callable
        Of this module, of scikit-learn's Gaussian processes, or any ``k(X, Y)``.
    values : mapping of str to float
        New values, under the names that `parameters` gives.

    Returns
    -------
    kernel object
        Another one, or the same if there are no values.
    """
    if not values:
        return kernel
    if hasattr(kernel, "with_values"):
        return kernel.with_values(values)
    if gaussian_process.is_gp(kernel):
        return gaussian_process.replace(kernel, values)
    return dataclasses.replace(kernel, **values)


def derivatives(kernel: object, X: Inputs, gram: Floats) -> Mapping[str, Floats]:
    """Return the derivatives of a kernel matrix by the logarithms of parameters, as far as known.

    Parameters
    ----------
    kernel : kernel object or callable
        Of this module, of scikit-learn's Gaussian processes, or any ``k(X, Y)``.
    X : array of shape (n, n_features), or a sequence of n examples
        What the kernel takes.
    gram : ndarray of shape (n, n)
        Its matrix on `X`.

    Returns
    -------
    mapping of str to ndarray of shape (n, n)
        By names of parameters, each computed when it is asked for.
    """
    if gaussian_process.is_gp(kernel):
        return gaussian_process.derivatives(kernel, X)
    known = getattr(kernel, "derivatives", None)
    return known(X, gram) if callable(known) else {}


# --- evaluation ------------------------------------------------------------------------------


def requires_vectors(kernel: object) -> bool | None:
    """Return whether a kernel takes the rows of a numeric array; None if it takes anything.

    It does unless it has an attribute ``requires_vector_input`` that is false, by which
    scikit-learn's mean that they take anything.

    Parameters
    ----------
    kernel : kernel object or callable
        Of this module, of scikit-learn's Gaussian processes, or any ``k(X, Y)``.

    Returns
    -------
    bool or None
        None: rows of arrays and anything else.
    """
    value = getattr(kernel, "requires_vector_input", True)
    if value is None or (not value and gaussian_process.is_gp(kernel)):
        return None
    return bool(value)


def accepts_sparse(kernel: object) -> bool:
    """Return whether a kernel takes the rows of sparse matrices.

    It says so by an attribute ``accepts_sparse``, which is None for one that takes anything.

    Parameters
    ----------
    kernel : kernel object or callable
        Of this module, of scikit-learn's Gaussian processes, or any ``k(X, Y)``.

    Returns
    -------
    bool
        False for a kernel without the attribute.
    """
    return getattr(kernel, "accepts_sparse", False) is not False


def evaluate(kernel: Callable[..., Any], X: Inputs, Y: Inputs | None = None) -> Floats:
    """Return ``kernel(X, Y)`` checked for shape and finite values; ``Y=None`` stands for `X`.

    The kernels of this module and scikit-learn's are told that both arguments are the same; any
    other callable is given both.

    Parameters
    ----------
    kernel : kernel object or callable
        Of this module, of scikit-learn's Gaussian processes, or any ``k(X, Y)``.
    X : array of shape (n, n_features), or a sequence of n examples
        What the kernel takes.
    Y : array of shape (n', n_features), or a sequence of n' examples, default=None
        The other examples; None: `X`.

    Returns
    -------
    ndarray of shape (n, n')
        Kernel values.

    Raises
    ------
    ValueError
        If the kernel returns an array of another shape, or NaN or infinity.
    """
    _require_callable(kernel)
    if isinstance(kernel, ParamsMixin) or gaussian_process.is_gp(kernel):
        value: Any = kernel(X, Y)
    else:
        value = kernel(X, X if Y is None else Y)
    gram = validation.dense("the value of kernel(X, Y)", value)
    shape = counts(X, Y)
    if gram.shape != shape:
        raise ValueError(f"kernel(X, Y) must have shape {shape}; got shape {gram.shape}")
    for rows in validation.blocks(len(gram)):
        if not np.isfinite(gram[rows]).all():
            raise ValueError("kernel(X, Y) must be finite; it returned NaN or infinity")
    return gram


def _require_callable(kernel: Any) -> None:
    if not callable(kernel) or isinstance(kernel, type):
        raise TypeError(f"kernel must be a kernel object or a callable k(X, Y); got {kernel!r}")


def diagonal(kernel: Callable[..., Any], X: Inputs) -> Floats:
    """Return the values ``k(x, x)``, from the kernel's own ``diag`` where it has one.

    Parameters
    ----------
    kernel : kernel object or callable
        Of this module, of scikit-learn's Gaussian processes, or any ``k(X, Y)``.
    X : array of shape (n, n_features), or a sequence of n examples
        What the kernel takes.

    Returns
    -------
    ndarray of shape (n,)
        One value for each example.

    Raises
    ------
    ValueError
        If the kernel returns an array of another shape, or NaN or infinity.
    """
    if hasattr(kernel, "diag"):
        with np.errstate(over="ignore", invalid="ignore"):
            values = np.asarray(
                validation.dense("the value of kernel.diag(X)", kernel.diag(X)), dtype=np.float64
            )
        if values.shape != (count(X),):
            raise ValueError(
                f"kernel.diag(X) must have shape ({count(X)},); got shape {values.shape}"
            )
        if not np.isfinite(values).all():
            raise ValueError("kernel.diag(X) must be finite; it returned NaN or infinity")
    else:
        X = in_rows(X)
        values = np.empty(count(X))
        for rows in validation.blocks(len(values), 32):
            values[rows] = evaluate(kernel, X[rows], X[rows]).diagonal()
    return values


def short(kernel: object) -> str:
    """Return a kernel's text with its numbers to four digits, for people.

    Parameters
    ----------
    kernel : kernel object, callable or str
        A kernel, or a name of one.

    Returns
    -------
    str
        Of a function its name and place.
    """
    if not (isinstance(kernel, ParamsMixin) or gaussian_process.is_gp(kernel)):
        return repr(kernel)
    return _DECIMAL.sub(lambda found: f"{float(found[0]):.4g}", repr(kernel))
