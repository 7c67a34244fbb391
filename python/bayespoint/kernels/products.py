"""Operations on rows, dense, sparse or mixed: number, inner products, lengths and distances."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from bayespoint import _core
from bayespoint.base import validation
from bayespoint.base.validation import Floats

_MAX_ENTRIES = 2**23
_MAX_WORK = 10**9  # most entries and products in a call, hundredths of a second
_BLOCK_ENTRIES = 2**20  # entries of a block

Terms = tuple[float, float, float]
"""Coefficients a, b and c of ``(a + b r + c r^2) exp(-rate r)``, a function of distances r."""


@dataclass(frozen=True, eq=False)
class Summand:
    """A multiple of a kernel of rows whose features are multiplied by factors.

    The logarithms of the factors are linear in those of the kernel's parameters.
    """

    measure: str  # what it is a function of: "city block", "distance" or "product"
    factor: float  # of the kernel
    scale: Floats  # (d,) of the features
    rate: float = 0.0
    terms: tuple[Terms, Terms] = ((0.0, 0.0, 0.0), (0.0, 0.0, 0.0))
    """With `rate`, for `of_distances`: values, and ``-2 dk / d(r^2)``, or ``-dk/dr`` of city
    blocks."""
    limits: tuple[float, ...] = ()  # of the last features, which are categories, as in `Mixed`


Summands = tuple[Summand, ...]  # a kernel as a sum; empty for one that is none


@dataclass(frozen=True, eq=False)
class Mixed:
    """Rows of numbers and, in the last columns, of categories.

    A difference of categories counts as the limit of the feature at most, and their codes are
    multiples of it: two levels are equal or the limit apart. In inner products a level is its
    indicator vector with length ``limit / sqrt(2)``.
    """

    values: Floats  # (n, d) numbers and codes
    limits: Floats  # (d,) infinite for numbers

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows and of features."""
        return len(self.values), len(self.limits)

    @property
    def numbers(self) -> Floats:
        """The columns of numbers."""
        return self.values[:, : self._n_numbers]

    @property
    def categories(self) -> Mixed:
        """The columns of categories."""
        n = self._n_numbers
        return Mixed(np.ascontiguousarray(self.values[:, n:]), self.limits[n:])

    @property
    def _n_numbers(self) -> int:
        return int(np.isinf(self.limits).sum())

    def __len__(self) -> int:
        return len(self.values)

    def __getitem__(self, index: Any) -> Mixed:
        rows, columns = index if isinstance(index, tuple) else (index, slice(None))
        return Mixed(self.values[rows, columns], self.limits[columns])

    def __mul__(self, factors: Floats) -> Mixed:
        return Mixed(self.values * factors, self.limits * factors)

    def __truediv__(self, units: Floats) -> Mixed:
        return Mixed(self.values / units, self.limits / units)


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
    """Return the rows of an array as finite doubles in C order, and others as they are."""
    if isinstance(X, Mixed) or (accepts_sparse and sparse.issparse(X)):
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


def joined(X: Any, Y: Any) -> Any:
    """Return the rows of two inputs of one kind."""
    if sparse.issparse(X) or sparse.issparse(Y):
        return sparse.vstack([X, Y], format="csr")
    return np.concatenate([X, Y])


def inner(X: Any, Y: Any | None) -> Floats:
    """Return ``X @ Y.T`` as a dense array, exactly symmetric for ``Y=None``."""
    if isinstance(X, Mixed):
        left, right = X.categories, None if Y is None else Y.categories
        square = float(left.limits @ left.limits) / 2
        [gram] = of_distances(left, right, terms=((square, 0.0, -0.5),))
        return gram + _dense(X.numbers, None if Y is None else Y.numbers)
    other = X if Y is None else Y
    if not (sparse.issparse(X) and sparse.issparse(other)):
        with validation.overflowing():
            if sparse.issparse(X) or sparse.issparse(other):
                return np.asarray(X @ other.T)  # dense, for one sparse side
            return _dense(X, Y)
    # In blocks, of which one is sparse; symmetric, as (i, j) and (j, i) add the same in one order.
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
        return X @ other.T
    step = min(_BLOCK_ENTRIES // max(1, len(other)), _MAX_WORK // max(1, other.size))
    gram = np.empty((n, len(other)))
    for rows in validation.blocks(n, step):
        part = X[rows]
        if Y is not None:
            np.matmul(part, other.T, out=gram[rows])
            continue
        before = slice(0, rows.start)
        np.matmul(part, X[before].T, out=gram[rows, before])
        gram[before, rows] = gram[rows, before].T
        gram[rows, rows] = part @ part.T
    return gram


def of_distances(
    X: Any,
    Y: Any | None,
    *,
    city_block: bool = False,
    rate: float = 0.0,
    terms: tuple[Terms, ...] = ((0.0, 1.0, 0.0),),
) -> Floats:
    """Return ``(a + b r + c r^2) exp(-rate r)`` of the distances r of rows, for each terms."""
    left, limits = _limited(X)
    right = None if Y is None else _limited(Y)[0]
    values = np.empty((len(terms), len(left), len(left if right is None else right)))
    _core.values_of_distances(left, right, city_block, rate, terms, values, limits)
    return values


def sums_of_differences(
    X: Any, Y: Any | None, a: Floats, b: Floats, *, city_block: bool = False
) -> Floats:
    """Return for each feature k the sum of ``a_ij b_ij |x_ik - y_jk|``, or of the squares."""
    left, limits = _limited(X)
    right = left if Y is None else _limited(Y)[0]
    by = np.ascontiguousarray(a)
    return _core.sums_of_differences(left, right, by, b, city_block=city_block, limits=limits)


def _limited(X: Any) -> tuple[Floats, list[float]]:
    """Return rows as an array, and the limits of the last features."""
    return (X.values, X.limits[np.isfinite(X.limits)].tolist()) if isinstance(X, Mixed) else (X, [])


def squared(X: Any) -> Any:
    """Return the squares of the entries; that of a category is the squared length of a level."""
    if isinstance(X, Mixed):
        return np.where(np.isinf(X.limits), X.values**2, X.limits**2 / 2)
    return X.multiply(X) if sparse.issparse(X) else X * X


def squares(X: Any) -> Floats:
    """Return the squared lengths of the rows."""
    with validation.overflowing():
        if isinstance(X, np.ndarray):
            return np.einsum("ij,ij->i", X, X)
        return np.asarray(squared(X).sum(axis=1), dtype=np.float64).reshape(-1)


def divided(X: Any, units: Floats) -> Any:
    """Return the rows with their features divided by `units`, one or (d,)."""
    if not sparse.issparse(X):
        return X / units
    if units.ndim == 0:
        return X / float(units)
    return X.tocsr() @ sparse.diags_array(1.0 / units)
