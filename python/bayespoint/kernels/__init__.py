"""Kernels: functions ``k(X, Y)`` that return the matrix of inner products of feature vectors.

Any callable ``k(X, Y) -> (n, n')`` will do. The kernels here can be added, multiplied with each
other and with positive numbers, and normalized; they know which of their parameters can be tuned,
and most know their derivatives. `Linear`, `Polynomial` and `RBF`, and what is made of them, take
sparse matrices; `SetIntersection` and `Spectrum` take lists of sets and of strings. Kernels of
scikit-learn's Gaussian processes are tuned as those here.

>>> from bayespoint.kernels import RBF, Linear, normalize
>>> RBF(sigma=2.0) + 0.5 * normalize(Linear())
RBF(sigma=2.0) + 0.5 * normalize(Linear())
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from typing import Any

import numpy as np
from sklearn.base import clone

from bayespoint.base import validation
from bayespoint.kernels import gaussian_process
from bayespoint.kernels.algebra import (
    Base,
    Constant,
    Normalized,
    Product,
    Scaled,
    Sum,
    is_semidefinite,
    normalize,
)
from bayespoint.kernels.bounded import Bounded, refuse_unknown_bounds
from bayespoint.kernels.functions import (
    accepts_sparse,
    derivatives,
    diagonal,
    evaluate,
    parameters,
    replace,
    requires_vectors,
)
from bayespoint.kernels.gram import gram_matrix
from bayespoint.kernels.length_scale import class_distance, scale_of
from bayespoint.kernels.protocol import Floats, Inputs, Kernel, Parameter
from bayespoint.kernels.structured import SetIntersection, Spectrum
from bayespoint.kernels.vectors import RBF, Laplacian, Linear, Matern, Polynomial, RationalQuadratic

__all__ = [
    "RBF",
    "Base",
    "Bounded",
    "Constant",
    "Kernel",
    "Laplacian",
    "Linear",
    "Matern",
    "Normalized",
    "Parameter",
    "Polynomial",
    "Product",
    "RationalQuadratic",
    "Scaled",
    "SetIntersection",
    "Spectrum",
    "Sum",
    "accepts_sparse",
    "class_distance",
    "derivatives",
    "diagonal",
    "evaluate",
    "gram_matrix",
    "normalize",
    "parameters",
    "replace",
    "requires_vectors",
    "resolve",
    "training_gram",
]

NAMES = ("linear", "rbf", "poly", "precomputed")


def resolve(kernel: object, X: Inputs) -> Callable[..., Any] | str:
    """Return the kernel a setting means for the training inputs `X`.

    A name stands for a kernel of this module: ``"rbf"`` has the length scale
    ``sigma = sqrt(d Var(X) / 2)`` for d features, ``"poly"`` is ``(x . x' + 1) ** 3``; None is
    once Matérn's of nu = 5/2 with the same length scale. ``"precomputed"`` stays a name. A kernel
    object is copied, for parameters of the setting may be changed after the fit; any other
    callable is returned as it is.

    Parameters
    ----------
    kernel : None, str, kernel object or callable
        The setting.
    X : array of shape (n, n_features), or a sequence of n examples
        What the kernel takes.

    Returns
    -------
    kernel object, callable or "precomputed"
        The kernel.

    Raises
    ------
    ValueError
        If it is none of these, or has bounds (`Bounded`) of a parameter that there is not.
    """
    if kernel is None:
        return Scaled(Matern(scale_of(X), nu=2.5), 1.0)
    if isinstance(kernel, str):
        if kernel == "linear":
            return Linear()
        if kernel == "poly":
            return Polynomial()
        if kernel == "rbf":
            # As scikit-learn's gamma="scale": gamma = 1 / (d Var(X)), or 1 for constant inputs.
            return RBF(scale_of(X))
        if kernel == "precomputed":
            return kernel
    elif callable(kernel) and not isinstance(kernel, type):
        if gaussian_process.is_gp(kernel):
            gaussian_process.refuse_what_is_no_kernel(kernel)
        elif not isinstance(kernel, Base):
            return kernel
        # What is inside ours is never changed, only replaced.
        copied: Callable[..., Any] = copy(kernel) if isinstance(kernel, Base) else clone(kernel)
        refuse_unknown_bounds(copied, X)
        return copied
    raise ValueError(
        f"kernel must be one of {', '.join(map(repr, NAMES))}, a kernel object or a callable "
        f"k(X, Y); got {kernel!r}"
    )


def training_gram(
    kernel: Callable[..., Any] | str, X: Inputs, offset: float, softness: Floats
) -> tuple[Floats, bool]:
    """Return the checked kernel matrix of the training inputs, without offset and softness.

    The kernels of this module are positive semidefinite by construction, other matrices are
    tested. The second value tells whether the matrix is ours to overwrite: nobody else's, such
    as the user's or one that a callable keeps.

    Parameters
    ----------
    kernel : kernel object, callable or "precomputed"
        What `resolve` gives.
    X : array of shape (n, n_features), or a sequence of n examples
        What the kernel takes.
    offset : float
        What will be added to every value.
    softness : ndarray of shape (n,)
        What will be added to the diagonal.

    Returns
    -------
    gram : ndarray of shape (n, n)
        Kernel values.
    is_own : bool
        Whether they may be overwritten.

    Raises
    ------
    ValueError
        If the matrix is not square, finite, symmetric and, with offset and softness, positive
        semidefinite with a positive diagonal.
    """
    if isinstance(kernel, str):
        name, value = "X", X
    else:
        name, value = "kernel(X, X)", evaluate(kernel, X)
        if is_semidefinite(kernel):  # and symmetric, and ours
            validation.positive_diagonal(value, offset, softness, name=name)
            return value, True
    gram, exact = validation.gram_matrix(value, name=name)
    validation.positive_diagonal(gram, offset, softness, name=name)
    validation.positive_semidefinite(gram, offset, softness, exact=exact, name=name)
    return gram, not np.may_share_memory(gram, value)
