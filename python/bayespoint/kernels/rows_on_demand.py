"""Kernel rows computed on demand in place of a Gram matrix, and operations on either."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bayespoint.base import memory, validation
from bayespoint.base.validation import Floats
from bayespoint.kernels.algebra import Scaled
from bayespoint.kernels.base import given
from bayespoint.kernels.dot_product import Linear, Polynomial
from bayespoint.kernels.functions import evaluate
from bayespoint.kernels.gram import at_start
from bayespoint.kernels.products import vectors
from bayespoint.kernels.stationary import RBF, units_of

Gram: TypeAlias = "NDArray[np.float64] | NDArray[np.float32] | KernelRows"

_BLOCK_BYTES = 64 * 2**20
"""Approximate memory of a block of kernel values."""

_PANEL = 32
"""Number of inputs in a panel of the engine."""

_MIN_ROWS = 2
"""Smallest number of cached rows: a pair refresh reads two."""


class KernelRows:
    """Kernel values between examples, computed row by row when the engine reads them.

    :meth:`VersionSpace.from_features` uses it in place of a matrix, for `Linear`, `RBF` and
    `Polynomial` kernels and their positive multiples. The engine caches the `cached_rows` most
    recently used rows, in `cache_size` MB of 2**20 bytes. The inputs `X`, finite doubles in C
    order, are not copied.

    Raises ValueError for another kernel or if two rows do not fit into the cache, and MemoryError
    if the cache and the engine's copy of the inputs do not fit into memory.
    """

    def __init__(self, inputs: Floats, kernel: Any, cache_size: float) -> None:
        self.X, self.kernel, self.cache_size = inputs, kernel, cache_size
        m, d = inputs.shape
        self.shape = (m, m)
        self.factor, base = _without_factor(kernel)
        self.sigma, self.degree, self.coef0 = 1.0, 1, 0.0
        self.inputs = inputs
        if type(base) is Linear:
            self.form = "linear"
        elif type(base) is Polynomial:
            self.form, self.degree, self.coef0 = "poly", base.degree, given(base, "coef0")
        elif type(base) is RBF:
            self.form = "rbf"
            if isinstance(base.sigma, tuple):  # the engine takes a single length scale
                self.inputs = np.ascontiguousarray(inputs / units_of(base.sigma, inputs))
            else:
                self.sigma = given(base, "sigma")
        else:
            raise ValueError(
                "kernel must be 'linear', 'rbf' or 'poly', or Linear, RBF, Polynomial or a "
                f"multiple of one, for rows on demand; got {kernel!r}: give VersionSpace the matrix"
            )
        self.cached_rows = int(min(cache_size * 2**20 / (8 * m), m))
        if self.cached_rows < min(_MIN_ROWS, m):
            raise ValueError(
                f"cache_size must have room for {_MIN_ROWS} rows of {m} kernel values, "
                f"{_MIN_ROWS * 8 * m / 2**20:.3g} MB; got {cache_size!r}"
            )
        memory.require(
            8.0 * m * self.cached_rows + 8.0 * d * (m + _PANEL),
            f"rows on demand (a cache of {self.cached_rows} rows of {m} doubles, and a copy of the "
            f"{m} x {d} inputs)",
        )

    def __repr__(self) -> str:
        m, d = self.X.shape
        return f"<KernelRows: {self.kernel!r} of {m} examples with {d} features>"

    def __len__(self) -> int:
        return len(self.X)

    def __getitem__(self, index: tuple[Any, Any]) -> Floats:
        """Return the kernel values between two sets of examples, each given by one index."""
        rows, columns = index
        values: Floats = evaluate(self.kernel, self.X[rows], self.X[columns])
        return values

    def diagonal(self) -> Floats:
        """Return the (m,) values ``k(x, x)``."""
        with np.errstate(over="ignore"):  # positive_diagonal names the example
            values: Floats = self.kernel.diag(self.X)
        return values

    def _refuse(self, *args: object, **kwargs: object) -> Any:
        raise TypeError(
            "this needs the Gram matrix, but the version space computes rows on demand: make it "
            "from the matrix, VersionSpace(kernel(X), y)"
        )

    __array__ = __add__ = __radd__ = __mul__ = __rmul__ = __matmul__ = __rmatmul__ = _refuse


def _without_factor(kernel: Any) -> tuple[float, Any]:
    """Return the product of the factors of a kernel, and the kernel without them."""
    factor = 1.0
    while type(kernel) is Scaled:
        factor, kernel = factor * given(kernel, "factor"), kernel.kernel
    return factor, kernel


def kernel_rows(X: ArrayLike, kernel: object, cache_size: object) -> KernelRows:
    """Check the inputs and return their `KernelRows`."""
    array = validation.dense("X", X)
    if array.ndim != 2 or 0 in array.shape:
        raise ValueError(
            "X must have shape (n_samples, n_features) with at least one of each; got shape "
            f"{array.shape}"
        )
    size = validation.positive("cache_size", cache_size)
    array = vectors("X", array)
    return KernelRows(array, at_start(kernel, array), size)


def require_matrix(gram: Gram, what: str) -> None:
    """Raise ValueError for rows on demand: `what` needs a factor of the matrix."""
    if isinstance(gram, KernelRows):
        raise ValueError(  # noqa: TRY004
            f"{what} needs a factor of the Gram matrix, which rows on demand do not have: make the "
            "version space from the matrix, VersionSpace(kernel(X), y)"
        )


def product(c: Floats, gram: Gram) -> Floats:
    """Return ``c @ gram`` in double precision for c of shape (..., m), in bounded memory."""
    if isinstance(gram, KernelRows) and gram.form == "linear":
        return np.asarray((gram.factor * (c @ gram.X)) @ gram.X.T)
    if isinstance(gram, np.ndarray) and gram.dtype == np.float64:
        return np.asarray(c @ gram)
    m = len(gram)
    values = np.zeros_like(c)
    for rows in validation.blocks(m, max(1, _BLOCK_BYTES // (8 * m))):
        values += c[..., rows] @ gram[rows, :].astype(np.float64, copy=False)
    return values


def part(gram: Gram, index: NDArray[np.intp]) -> Gram:
    """Return the Gram matrix of some of the examples."""
    if isinstance(gram, KernelRows):
        return KernelRows(gram.X[index], gram.kernel, gram.cache_size)
    values: NDArray[Any] = np.ascontiguousarray(gram[np.ix_(index, index)])
    return values


def between(gram: Gram, rows: NDArray[np.intp], columns: NDArray[np.intp]) -> Floats:
    """Return the kernel values between two sets of examples."""
    if isinstance(gram, KernelRows):
        return gram[rows, columns]
    return gram[np.ix_(rows, columns)].astype(np.float64, copy=False)
