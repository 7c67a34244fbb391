"""The kernel for a setting, and its checked matrix of the training inputs."""

from __future__ import annotations

from copy import copy
from typing import Any

import numpy as np
from numpy.typing import DTypeLike
from sklearn.base import clone

from bayespoint.base import memory, validation
from bayespoint.base.validation import Array, Floats, Singles
from bayespoint.kernels import gaussian_process
from bayespoint.kernels.base import Kernel, Scaled
from bayespoint.kernels.dot_product import Linear, Polynomial
from bayespoint.kernels.functions import evaluate, is_semidefinite, parameters, replace
from bayespoint.kernels.products import count, in_rows
from bayespoint.kernels.protocol import AnyKernel, Inputs
from bayespoint.kernels.stationary import RBF, Matern

Gram = Floats | Singles
"""(m, m) kernel values of the examples, in C order."""

_NAMED: dict[str, Any] = {
    "linear": Linear(),
    "rbf": RBF(),
    "poly": Polynomial(),
    "precomputed": "precomputed",
}

_OTHERS = {
    "matern": ": write Matern(); a Matérn kernel is part of the default, kernel=None",
    "sigmoid": ": it is not positive definite; kernel=None is a good default",
}
"""What to write in place of other names, as the end of a message."""

_BLOCK = 2048  # number of examples in a block: enough for BLAS to be fast, and 32 MiB of doubles
_BLOCK_BYTES = 64 * 2**20  # approximate memory of a block of singles that are made doubles


def resolve(kernel: Any) -> AnyKernel | str:
    """Return the kernel of a setting; kernel objects are copied, since they may be changed."""
    if kernel is None:
        return Scaled(Matern(nu=2.5))
    hint = ""
    if isinstance(kernel, str):
        if kernel in _NAMED:
            return _NAMED[kernel]
        hint = _OTHERS.get(kernel, "")
    elif callable(kernel) and not isinstance(kernel, type):
        if gaussian_process.is_gp(kernel):
            gaussian_process.refuse_invalid(kernel)
            kernel = clone(kernel)
        # For ours a shallow copy is enough, since nested kernels are only ever replaced.
        return copy(kernel) if isinstance(kernel, Kernel) else kernel
    if isinstance(kernel, type):
        raise ValueError(  # noqa: TRY004 - as for other values
            f"kernel must be a kernel object; {kernel.__name__} is a class: write "
            f"{kernel.__name__}()"
        )
    names = ", ".join(map(repr, _NAMED))
    raise ValueError(
        f"kernel must be one of {names}, a kernel object or a callable k(X, Y); got {kernel!r}"
        f"{hint}"
    )


def at_start(kernel: object, X: Inputs) -> Any:
    """Return the kernel with the values from which a search for its parameters starts.

    `MaxMarginClassifier` and `KernelPerceptron`, which do not search, use these rules of thumb.

    Parameters
    ----------
    kernel : None, str, kernel object or callable
        A kernel as for :class:`BayesPointClassifier`.
    X : array of shape (n, n_features), or a sequence of n examples
        Inputs, which determine the length scale ``sqrt(n_features Var(X) / 2)``.

    Returns
    -------
    kernel object, callable or "precomputed"
        The kernel, in which every parameter is given.
    """
    resolved = resolve(kernel)
    return replace(resolved, {known.name: known.start for known in parameters(resolved, X)})


def training_gram(
    kernel: AnyKernel | str, X: Inputs, offset: float, softness: Floats
) -> tuple[Floats, bool]:
    """Return the checked kernel matrix of the training inputs, without offset and softness.

    For "precomputed", `X` is the matrix itself. The second value tells whether the matrix may be
    overwritten: not if it is the user's, or one that a callable may keep.
    """
    if isinstance(kernel, str):
        name, value = "X", X
    else:
        name, value = "kernel(X, X)", evaluate(kernel, X)
        if is_semidefinite(kernel):  # so of this package: the matrix is symmetric and new
            validation.positive_diagonal(value, offset, softness, name=name)
            return value, True
    gram, exact = validation.gram_matrix(value, name=name)
    validation.positive_semidefinite(gram, offset, softness, exact=exact, name=name)
    return gram, not np.may_share_memory(gram, value)


def gram_matrix(X: Inputs, kernel: AnyKernel, *, dtype: DTypeLike = np.float32) -> Array:
    """Return the kernel matrix of `X`, filled in blocks of 2048 x 2048 kernel values.

    It is symmetric to the last bit: :class:`bayespoint.VersionSpace` does not copy singles.

    Parameters
    ----------
    X : array of shape (m, n_features), or a sequence of m examples
        Inputs, at least one.
    kernel : callable
        A kernel of this module, or any symmetric function ``k(X, Y)``, with finite values.
    dtype : {np.float32, np.float64}, default=np.float32
        Type of the matrix. Kernel values are computed in doubles and then rounded.

    Returns
    -------
    ndarray of shape (m, m)
        In C order. Raises ValueError for other arguments, and MemoryError where it does not fit.
    """
    try:
        wanted = np.dtype(dtype)
    except TypeError as error:
        raise TypeError(f"dtype must be np.float32 or np.float64: {error}") from error
    if wanted not in (np.float32, np.float64):
        raise ValueError(f"dtype must be np.float32 or np.float64; got {wanted}")
    X = in_rows(X)
    m = count(X)
    if m == 0:
        raise ValueError("X must hold at least one example; got none")
    block = min(m, _BLOCK)
    needed = float(wanted.itemsize) * m * m + 3 * 8.0 * block * block
    memory.require(needed, f"the kernel matrix of {m} examples ({m} x {m} {wanted})")
    gram: Array = np.empty((m, m), dtype=wanted)
    for rows in validation.blocks(m, _BLOCK):
        left = X[rows]
        for columns in validation.blocks(rows.start, _BLOCK):
            values = evaluate(kernel, left, X[columns])
            gram[rows, columns] = values
            gram[columns, rows] = values.T
        corner = gram[rows, rows]
        corner[:] = evaluate(kernel, left)
        if not np.array_equal(corner, corner.T):
            lower = np.tril(corner)
            corner[:] = lower + np.tril(lower, -1).T
    return gram


def product(c: Floats, gram: Gram) -> Floats:
    """Return ``c @ gram`` in double precision for c of shape (..., m), in bounded memory."""
    if gram.dtype == np.float64:
        return c @ gram
    m = len(gram)
    values = np.zeros_like(c)
    for rows in validation.blocks(m, _BLOCK_BYTES // (8 * m)):
        values += c[..., rows] @ gram[rows].astype(np.float64)
    return values
