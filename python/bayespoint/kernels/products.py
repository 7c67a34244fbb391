"""Operations on dense or sparse rows: their number, inner products, lengths and distances."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy import sparse

from bayespoint.base import validation
from bayespoint.kernels.protocol import Floats

_MAX_ENTRIES = 2**23
_MAX_WORK = 10**9
"""Most entries and multiplications of a product that is computed in one call, which takes
hundredths of a second. Larger ones are computed in blocks."""
_BLOCK_ENTRIES = 2**20
"""Entries of a block."""


def count(X: Any, name: str = "X") -> int:
    """Return the number of inputs in `X`, which may be a sparse matrix."""
    return int(X.shape[0]) if sparse.issparse(X) else len(sequence(name, X))


def counts(X: Any, Y: Any | None) -> tuple[int, int]:
    """Return the numbers of inputs in `X` and `Y`; ``Y=None`` stands for `X`."""
    n = count(X)
    return n, n if Y is None else count(Y, "Y")


def sequence(name: str, X: Any) -> Any:
    """Return `X` if it is a sequence of inputs; a string, which is one input, is refused."""
    indexable = hasattr(X, "__len__") and hasattr(X, "__getitem__") and getattr(X, "ndim", 1) > 0
    if not indexable or isinstance(X, (str, bytes, Mapping)) or sparse.issparse(X):
        raise TypeError(f"{name} must be a sequence of inputs; got {X!r}")
    if type(X) is not np.ndarray:
        validation.refuse_masked(name, X)
    return X


def vectors(name: str, X: Any, *, accepts_sparse: bool = True) -> Any:
    """Return the rows of an array as finite doubles in C order, and sparse ones as they are."""
    if accepts_sparse and sparse.issparse(X):
        return X
    array = validation.dense(name, X)
    if array.ndim != 2:
        raise ValueError(f"{name} must have shape (n, n_features); got shape {array.shape}")
    # For unaligned arrays NumPy does not use BLAS, and rounds differently.
    if array.dtype != np.float64 or not array.flags.carray:
        array = np.require(array, dtype=np.float64, requirements=["C", "A"])
    validation.finite(name, array)
    return array


def pair_of_vectors(
    X: Any, Y: Any | None, *, accepts_sparse: bool = True
) -> tuple[Any, Any | None]:
    """Return the rows of one array or of two with the same features."""
    X = vectors("X", X, accepts_sparse=accepts_sparse)
    if Y is None:
        return X, None
    Y = vectors("Y", Y, accepts_sparse=accepts_sparse)
    if X.shape[1] != Y.shape[1]:
        raise ValueError(f"Y must have as many features as X, {X.shape[1]}; got {Y.shape[1]}")
    return X, Y


def in_rows(X: Any) -> Any:
    """Return inputs that can be indexed by rows: sparse ones in CSR format."""
    return X.tocsr() if sparse.issparse(X) else X


def inner(X: Any, Y: Any | None) -> Floats:
    """Return ``X @ Y.T`` as a dense array, exactly symmetric for ``Y=None``."""
    other = X if Y is None else Y
    if not (sparse.issparse(X) and sparse.issparse(other)):
        with np.errstate(over="ignore", invalid="ignore"):
            if sparse.issparse(X) or sparse.issparse(other):
                return np.asarray(X @ other.T)  # dense, for one sparse side
            return _dense(X, Y)
    # In blocks, so that only one is in sparse form. For ``Y=None`` the result is symmetric: entries
    # (i, j) and (j, i) add the same products in the same order.
    X, transposed = X.tocsr(), other.T.tocsr()
    gram = np.empty((X.shape[0], other.shape[0]))
    for rows in validation.blocks(len(gram)):
        gram[rows] = (X[rows] @ transposed).toarray()
    return gram


def _dense(X: Floats, Y: Floats | None) -> Floats:
    """Return ``X @ Y.T``, large products in blocks, so that Ctrl-C can interrupt them."""
    other = X if Y is None else Y
    n = len(X)
    if n * len(other) <= _MAX_ENTRIES and n * other.size <= _MAX_WORK:
        return np.asarray(X @ other.T)
    step = max(1, min(_BLOCK_ENTRIES // max(1, len(other)), _MAX_WORK // max(1, other.size)))
    gram = np.empty((n, len(other)))
    for rows in validation.blocks(n, step):
        if Y is not None:
            np.matmul(X[rows], other.T, out=gram[rows])
            continue
        before = slice(0, rows.start)
        np.matmul(X[rows], X[before].T, out=gram[rows, before])
        gram[before, rows] = gram[rows, before].T
        gram[rows, rows] = X[rows] @ X[rows].T
    return gram


def squares(X: Any) -> Floats:
    """Return the squared lengths of the rows."""
    with np.errstate(over="ignore", invalid="ignore"):
        if sparse.issparse(X):
            return np.asarray(X.multiply(X).sum(axis=1), dtype=np.float64).reshape(-1)
        return np.asarray(np.einsum("ij,ij->i", X, X))


def divided(X: Any, units: Floats) -> Any:
    """Return the rows with their features divided by `units`, one or (d,)."""
    if not sparse.issparse(X):
        return X / units
    if units.ndim == 0:
        return X / float(units)
    return X.tocsr() @ sparse.diags_array(1.0 / units)
