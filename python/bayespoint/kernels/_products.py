"""Inner products of the rows of arrays, dense or sparse, and what else kernels ask of rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from bayespoint import _validation
from bayespoint.kernels._protocol import ROWS, Floats

_ENTRIES = 2**20
_WORK = 10**9
"""Entries and multiplications of a product made in one call: some hundredths of a second."""

_PAIRS = 4096
"""Pairs of rows that are subtracted at a time."""


def count(X: Any) -> int:
    """Return how many inputs `X` holds; a sparse matrix does not know its length."""
    return int(X.shape[0]) if sparse.issparse(X) else len(X)


def in_rows(X: Any) -> Any:
    """Return inputs of which rows can be taken: sparse ones in CSR form."""
    return X.tocsr() if sparse.issparse(X) else X


def inner(X: Any, Y: Any | None) -> Floats:
    """Return ``X @ Y.T`` as a dense array, exactly symmetric for ``Y=None``.

    BLAS computes only half of ``X @ X.T``. Of sparse rows the product is computed block by
    block: there is never more of it in sparse form than one block, and the rows stay sparse. Both
    (i, j) and (j, i) add the same products in the order of the features.
    """
    other = X if Y is None else Y
    if not (sparse.issparse(X) and sparse.issparse(other)):
        with np.errstate(over="ignore", invalid="ignore"):
            if sparse.issparse(X) or sparse.issparse(other):
                # Of one sparse side SciPy makes a dense product.
                return np.asarray(X @ other.T)
            return _dense(X, None if Y is None else other)
    X, turned = X.tocsr(), other.T.tocsr()
    gram = np.empty((X.shape[0], other.shape[0]))
    for rows in _validation.blocks(len(gram), ROWS):
        gram[rows] = (X[rows] @ turned).toarray()
    return gram


def _dense(X: Floats, Y: Floats | None) -> Floats:
    """Return ``X @ Y.T``; a large product block by block, between which Ctrl-C is heard."""
    other = X if Y is None else Y
    step = max(1, min(_ENTRIES // max(1, len(other)), _WORK // max(1, other.size)))
    if len(X) <= max(step, ROWS):
        return np.asarray(X @ other.T)
    gram = np.empty((len(X), len(other)))
    for rows in _validation.blocks(len(X), step):
        if Y is not None:
            gram[rows] = X[rows] @ other.T
            continue
        before = slice(0, rows.start)
        gram[rows, before] = X[rows] @ X[before].T
        gram[before, rows] = gram[rows, before].T
        gram[rows, rows] = X[rows] @ X[rows].T
    return gram


def squares(X: Any) -> Floats:
    """Return the squared lengths of the rows."""
    if sparse.issparse(X):
        with np.errstate(over="ignore", invalid="ignore"):
            return np.asarray(X.multiply(X).sum(axis=1), dtype=np.float64).reshape(-1)
    with np.errstate(over="ignore", invalid="ignore"):
        values: Floats = np.einsum("ij,ij->i", X, X)
    return values


def divided(X: Any, units: Floats) -> Any:
    """Return the rows with their features divided by `units`, one or (d,)."""
    if not sparse.issparse(X):
        return X / units
    if units.ndim == 0:
        return X / float(units)
    return X.tocsr() @ sparse.diags_array(1.0 / units)


def squared_distances(
    X: Any, i: NDArray[np.intp], Y: Any, j: NDArray[np.intp], units: Floats
) -> Floats:
    """Return the squared distances of pairs of rows in `units`, from differences of features."""
    values = np.empty(len(i))
    for pairs in _validation.blocks(len(i), _PAIRS):
        left, right = X[i[pairs]], Y[j[pairs]]
        if sparse.issparse(left) != sparse.issparse(right):
            left, right = sparse.csr_matrix(left), sparse.csr_matrix(right)
        values[pairs] = squares(divided(left - right, units))
    return values


def column(X: Any, k: int) -> Floats:
    """Return feature `k` of all rows as a dense (n,) array."""
    if sparse.issparse(X):
        return np.asarray(X[:, [k]].toarray()).reshape(-1)
    values: Floats = X[:, k]
    return values
