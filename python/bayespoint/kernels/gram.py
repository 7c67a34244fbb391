"""The kernel matrix of many examples, filled in place."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from bayespoint.base import memory, validation
from bayespoint.kernels.functions import evaluate
from bayespoint.kernels.products import count, in_rows
from bayespoint.kernels.protocol import Inputs

_BLOCK = 2048
"""Examples of a block: large enough for BLAS, and 32 MiB of doubles."""


def gram_matrix(
    X: Inputs, kernel: Callable[..., Any], *, dtype: DTypeLike = np.float32
) -> NDArray[Any]:
    """Return the kernel matrix of `X`, filled in place block by block.

    For matrices that fill the memory: beside the matrix there is only a block of 2048 x 2048
    kernel values. Only one of two blocks across the diagonal is computed, so that the matrix is
    symmetric to the last bit, as :class:`bayespoint.VersionSpace` needs it not to copy singles.

    Parameters
    ----------
    X : array of shape (m, n_features), or a sequence of m examples
        What the kernel takes.
    kernel : callable
        A kernel of this module, or any ``k(X, Y)`` that is symmetric.
    dtype : {np.float32, np.float64}, default=np.float32
        Of the matrix: 4 or 8 bytes for each of m * m values. Kernel values are rounded to it once
        they are computed.

    Returns
    -------
    ndarray of shape (m, m)
        The kernel matrix in C order.

    Raises
    ------
    ValueError
        If `dtype` is another, there is no example, or the kernel returns an array of another shape
        or NaN or infinity.
    MemoryError
        If there is no room for the matrix.

    Examples
    --------
    >>> import numpy as np
    >>> from bayespoint.kernels import RBF, gram_matrix
    >>> X = np.random.default_rng(0).standard_normal((300, 5))
    >>> K = gram_matrix(X, RBF(2.0))
    >>> K.dtype.name, bool((K == K.T).all()), bool(np.abs(K - RBF(2.0)(X)).max() < 1e-7)
    ('float32', True, True)
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
    memory.require(
        float(wanted.itemsize) * m * m + 3 * 8.0 * block * block,
        f"the kernel matrix of {m} examples ({m} x {m} {wanted})",
    )
    gram: NDArray[Any] = np.empty((m, m), dtype=wanted)
    for rows in validation.blocks(m, _BLOCK):
        left = X[rows]
        for columns in validation.blocks(rows.start, _BLOCK):
            values = evaluate(kernel, left, X[columns])
            gram[rows, columns] = values
            gram[columns, rows] = values.T
        gram[rows, rows] = evaluate(kernel, left)
        if not np.array_equal(gram[rows, rows], gram[rows, rows].T):
            lower = np.tril(gram[rows, rows])
            gram[rows, rows] = lower + np.tril(lower, -1).T
    return gram
