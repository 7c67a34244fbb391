"""Explicit features in place of a Gram matrix, and operations on either."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bayespoint.base import memory, validation
from bayespoint.base.validation import Floats
from bayespoint.kernels.products import inner, squares, vectors

Gram: TypeAlias = "NDArray[np.float64] | NDArray[np.float32] | FeatureRows"

_BLOCK_BYTES = 64 * 2**20  # approximate memory of a block of kernel values
_PANEL = 32  # number of examples in a panel of the engine


class FeatureRows:
    """The inner products of explicit features, (m, d) doubles in C order, computed when needed."""

    def __init__(self, X: Floats) -> None:
        self.X = X
        m, d = X.shape
        self.shape = (m, m)
        memory.require(8.0 * d * (m + _PANEL), f"a copy of the {m} x {d} features")

    def __repr__(self) -> str:
        m, d = self.X.shape
        return f"<FeatureRows: {m} examples with {d} features>"

    def __len__(self) -> int:
        return len(self.X)

    def __getitem__(self, index: tuple[Any, Any]) -> Floats:
        """Return the inner products of two sets of examples, each given by one index."""
        rows, columns = index
        return inner(self.X[rows], self.X[columns])

    def diagonal(self) -> Floats:
        """Return the (m,) squared lengths."""
        return squares(self.X)

    def _refuse(self, *args: object, **kwargs: object) -> Any:
        raise TypeError(
            "this needs the Gram matrix, but the version space has features: make it from the "
            "matrix, VersionSpace(X @ X.T, y)"
        )

    __array__ = __add__ = __radd__ = __mul__ = __rmul__ = __matmul__ = __rmatmul__ = _refuse


def feature_rows(X: ArrayLike) -> FeatureRows:
    """Check the features and return their `FeatureRows`."""
    array = validation.dense("X", X)
    if array.ndim != 2 or 0 in array.shape:
        raise ValueError(
            "X must have shape (n_samples, n_features) with at least one of each; got shape "
            f"{array.shape}"
        )
    return FeatureRows(vectors("X", array))


def require_matrix(gram: Gram, what: str) -> None:
    """Raise ValueError for explicit features: `what` needs a factor of the matrix."""
    if isinstance(gram, FeatureRows):
        raise ValueError(  # noqa: TRY004
            f"{what} needs a factor of the Gram matrix, which explicit features do not have: make "
            "the version space from the matrix, VersionSpace(X @ X.T, y)"
        )


def product(c: Floats, gram: Gram) -> Floats:
    """Return ``c @ gram`` in double precision for c of shape (..., m), in bounded memory."""
    if isinstance(gram, FeatureRows):
        return np.asarray((c @ gram.X) @ gram.X.T)
    if gram.dtype == np.float64:
        return np.asarray(c @ gram)
    m = len(gram)
    values = np.zeros_like(c)
    for rows in validation.blocks(m, max(1, _BLOCK_BYTES // (8 * m))):
        values += c[..., rows] @ gram[rows].astype(np.float64)
    return values


def part(gram: Gram, index: NDArray[np.intp]) -> Gram:
    """Return the Gram matrix of some of the examples."""
    if isinstance(gram, FeatureRows):
        return FeatureRows(gram.X[index])
    values: NDArray[Any] = np.ascontiguousarray(gram[np.ix_(index, index)])
    return values


def between(gram: Gram, rows: NDArray[np.intp], columns: NDArray[np.intp]) -> Floats:
    """Return the kernel values between two sets of examples."""
    if isinstance(gram, FeatureRows):
        return gram[rows, columns]
    return gram[np.ix_(rows, columns)].astype(np.float64, copy=False)
