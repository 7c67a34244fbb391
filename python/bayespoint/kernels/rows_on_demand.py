"""Where a version space has its kernel values from: a matrix, or inputs and a kernel."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bayespoint.base import memory, validation
from bayespoint.base.validation import Floats, Labels
from bayespoint.kernels.algebra import Scaled
from bayespoint.kernels.bounded import Bounded
from bayespoint.kernels.dot_product import Linear, Polynomial
from bayespoint.kernels.functions import evaluate
from bayespoint.kernels.gram import resolve
from bayespoint.kernels.stationary import RBF, units_of

Gram: TypeAlias = "NDArray[np.float64] | NDArray[np.float32] | KernelRows"

_BLOCK_BYTES = 64 * 2**20
"""About how much memory a block of kernel values may take."""

_TRIED = 512
_PASSES = 8
"""Examples of which weight vectors are tried where no vector satisfies all, and such vectors."""

_PANEL = 32
"""The engine keeps the inputs in panels of so many."""

_FEWEST = 2
"""Rows that a reflection in a tangent pair reads."""

_NEAR = 1e-6
"""Unit vectors on one line, to the rounding that counts as none, are closer than this."""


class KernelRows:
    """Kernel values between examples, computed row by row when they are asked for.

    What a :class:`VersionSpace` made by :meth:`VersionSpace.from_features` has in the place of a
    matrix. The engine keeps the rows used last.

    Parameters
    ----------
    inputs : ndarray of shape (m, d)
        The inputs, finite doubles in C order: borrowed.
    kernel : Linear, RBF, Polynomial, or a positive multiple of one
        The kernel.
    cache_size : float
        Room for rows in the engine, in MB of 2**20 bytes.

    Attributes
    ----------
    X : ndarray of shape (m, d)
        The inputs.
    kernel : kernel object
        The kernel.
    cache_size : float
        Room for rows, in MB.
    shape : tuple of two ints
        Of the matrix that is not there.
    cached_rows : int
        Rows that there is room for.
    required : float
        Bytes that the engine takes for the cache and its copy of the inputs.

    Raises
    ------
    ValueError
        If the rows of this kernel cannot be computed on demand, or there is no room for two.
    MemoryError
        If there is no room for the cache and a copy of the inputs.
    """

    def __init__(self, inputs: Floats, kernel: Any, cache_size: float) -> None:
        self.X, self.kernel, self.cache_size = inputs, kernel, cache_size
        m, d = inputs.shape
        self.shape = (m, m)
        self.factor, base = _without_factor(kernel)
        self.sigma, self.degree, self.coef0 = 1.0, 1, 0.0
        # What the engine computes with: a length scale for each feature is taken out beforehand.
        self.inputs = inputs
        if type(base) is Linear:
            self.form = "linear"
        elif type(base) is Polynomial:
            self.form, self.degree, self.coef0 = "poly", base.degree, base.coef0
        elif type(base) is RBF:
            self.form = "rbf"
            if isinstance(base.sigma, tuple):
                self.inputs = np.ascontiguousarray(inputs / units_of(base.sigma, inputs))
            else:
                self.sigma = base.sigma
        else:
            raise ValueError(
                "kernel must be 'linear', 'rbf' or 'poly', or Linear, RBF, Polynomial or a "
                f"multiple of one, for rows on demand; got {kernel!r}: give VersionSpace the matrix"
            )
        # Beyond all rows there is nothing to keep.
        room = int(min(cache_size * 2**20 / (8 * m), m + _FEWEST))
        if room < min(_FEWEST, m):
            raise ValueError(
                f"cache_size must have room for {_FEWEST} rows of {m} kernel values, "
                f"{_FEWEST * 8 * m / 2**20:.3g} MB; got {cache_size!r}"
            )
        self.cached_rows = min(room, m)
        self.required = 8.0 * m * self.cached_rows + 8.0 * d * (m + _PANEL)
        memory.require(
            self.required,
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

    def part(self, index: NDArray[np.intp]) -> KernelRows:
        """Return the rows of some of the examples among themselves."""
        return KernelRows(self.X[index], self.kernel, self.cache_size)

    def product(self, c: Floats) -> Floats:
        """Return ``c @ K`` for dual coefficients of shape (..., m)."""
        if self.form == "linear":
            values: Floats = (self.factor * (c @ self.X)) @ self.X.T
            return values
        m = len(self)
        values = np.zeros_like(c)
        for rows in validation.blocks(m, max(1, _BLOCK_BYTES // (8 * m))):
            values += c[..., rows] @ self[rows, slice(None)]
        return values

    def conflict(self, labels: Labels, offset: float, softness: Floats) -> tuple[int, int] | None:
        """Return two examples that no vector can both satisfy, as :func:`_validation.conflict`.

        Without a sweep through all rows: of the pairs with nearly the same key.
        """
        m = len(self)
        keys = self._keys(offset)
        order = np.argsort(keys)
        keys = keys[order]
        square = self.diagonal() + offset + softness
        size = max(1, _BLOCK_BYTES // (16 * self.X.shape[1]))
        for step in range(1, m):
            near = np.flatnonzero(keys[step:] - keys[:-step] <= _NEAR)
            if len(near) == 0:
                return None
            for some in validation.blocks(len(near), size):
                first, second = order[near[some]], order[near[some] + step]
                inner = self._pairs(first, second) + offset
                nearly = validation.nearly_collinear(inner, square[first] * square[second])
                clash = nearly & (inner * labels[first] * labels[second] < 0)
                for k in np.flatnonzero(clash):
                    i, j = sorted((int(first[k]), int(second[k])))
                    if validation.collinear(self, offset, square, i, j):
                        return i, j
        return None

    def _keys(self, offset: float) -> Floats:
        """Return numbers that differ by no more than _NEAR if feature vectors are on one line.

        They are parts along a random direction: of the points themselves for an RBF kernel; of
        the unit vectors whose powers are the feature vectors for the others. As the engine's.
        """
        offset = offset / self.factor
        direction = np.random.default_rng(0).standard_normal(self.X.shape[1] + 1)
        direction /= np.linalg.norm(direction)
        if self.form == "rbf":
            points = (self.inputs - self.inputs.mean(axis=0)) / self.sigma
            longest = float(np.einsum("ij,ij->i", points, points).max())
            scale = np.sqrt(1.0 + offset + points.shape[1] * longest)
            return np.asarray(points @ direction[:-1] / scale)
        constant = math.sqrt(self.coef0 if self.form == "poly" else offset)
        squares = np.einsum("ij,ij->i", self.X, self.X) + constant**2
        part = self.X @ direction[:-1] + constant * direction[-1]
        share = 1.0
        if self.form == "poly" and squares.any():  # of the squared length, without the offset
            share = float((1.0 / (1.0 + offset / squares[squares > 0] ** self.degree)).min())
        safe = np.where(squares > 0, squares, 1.0)
        return np.asarray(np.abs(part) / np.sqrt(safe) * math.sqrt(share))

    def _pairs(self, first: NDArray[np.intp], second: NDArray[np.intp]) -> Floats:
        """Return the kernel values of pairs of examples."""
        if self.form == "rbf":
            steps = (self.inputs[first] - self.inputs[second]) / self.sigma
            return np.asarray(self.factor * np.exp(-0.5 * np.einsum("ij,ij->i", steps, steps)))
        inner = np.einsum("ij,ij->i", self.X[first], self.X[second])
        if self.form == "poly":
            inner = (inner + self.coef0) ** self.degree
        return np.asarray(self.factor * inner)

    def _refuse(self, *args: object, **kwargs: object) -> Any:
        raise TypeError(
            "this needs the Gram matrix, and the version space has rows on demand: make it of the "
            "matrix, VersionSpace(kernel(X), y)"
        )

    __array__ = __add__ = __radd__ = __mul__ = __rmul__ = __matmul__ = __rmatmul__ = _refuse


def _without_factor(kernel: Any) -> tuple[float, Any]:
    """Return the factors in front of a kernel, and the kernel without them."""
    factor = 1.0
    while type(kernel) in (Scaled, Bounded):
        factor, kernel = factor * getattr(kernel, "factor", 1.0), kernel.kernel
    return factor, kernel


def kernel_rows(X: ArrayLike, kernel: object, cache_size: object) -> KernelRows:
    """Return the rows of a kernel between checked inputs."""
    array = validation.dense("X", X)
    if array.ndim != 2 or 0 in array.shape:
        raise ValueError(
            "X must have shape (n_samples, n_features) with at least one of each; got shape "
            f"{array.shape}"
        )
    size = validation.real("cache_size", cache_size, low=0.0, low_open=True)
    if not (array.dtype == np.float64 and array.flags.c_contiguous and array.flags.aligned):
        array = np.array(array, dtype=np.float64, order="C")
    for rows in validation.blocks(len(array)):
        if not np.isfinite(array[rows]).all():
            raise ValueError("X must be finite; it holds NaN or infinity")
    return KernelRows(array, resolve(kernel, array), size)


def require_matrix(gram: Gram, what: str) -> None:
    """Raise ValueError if there is no matrix: `what` needs a factor of it."""
    if not isinstance(gram, KernelRows):
        return
    raise ValueError(
        f"{what} needs a factor of the Gram matrix, which rows on demand do not have: make the "
        "version space of the matrix, VersionSpace(kernel(X), y)"
    )


def require(gram: Gram, n_bytes: float, what: str, parts: Sequence[str] = ()) -> None:
    """Raise MemoryError if there is no room for `n_bytes` and what the engine takes for rows.

    `what` says what the memory is for, `parts` how much of it for what.
    """
    rows = gram.required if isinstance(gram, KernelRows) else 0.0
    if rows:
        parts = [*parts, f"{memory.readable(rows)} for rows on demand"]
    memory.require(n_bytes + rows, f"{what} ({', '.join(parts)})" if parts else what)


def product(c: Floats, gram: Gram) -> Floats:
    """Return ``c @ gram`` in double precision for c of shape (..., m), in bounded memory."""
    if isinstance(gram, KernelRows):
        return gram.product(c)
    if gram.dtype == np.float64:
        return np.asarray(c @ gram)
    m = len(gram)
    values = np.zeros_like(c)
    for rows in validation.blocks(m, max(1, _BLOCK_BYTES // (8 * m))):
        values += c[..., rows] @ gram[rows].astype(np.float64)
    return values


def part(gram: Gram, index: NDArray[np.intp]) -> Gram:
    """Return the kernel values of some of the examples among themselves."""
    if isinstance(gram, KernelRows):
        return gram.part(index)
    values: NDArray[Any] = np.ascontiguousarray(gram[np.ix_(index, index)])
    return values


def between(gram: Gram, rows: NDArray[np.intp], columns: NDArray[np.intp]) -> Floats:
    """Return the kernel values between two sets of examples."""
    if isinstance(gram, KernelRows):
        return gram[rows, columns]
    return gram[np.ix_(rows, columns)].astype(np.float64, copy=False)


def conflict(gram: Gram, labels: Labels, offset: float, softness: Floats) -> tuple[int, int] | None:
    """Return two examples that no vector can both satisfy, if there are such."""
    if isinstance(gram, KernelRows):
        return gram.conflict(labels, offset, softness)
    return validation.conflict(gram, labels, offset, softness)


def squared_sine(gram: Gram, offset: float, i: int, j: int) -> float:
    """Return an upper bound of the squared sine between two feature vectors, 0 if it is no angle.

    Of a matrix it is that of its entries, in exact arithmetic. Rows on demand are of inputs that
    may tell what rounding hides: 0 where these are the same, or what may be hidden is added.
    """
    if isinstance(gram, KernelRows):
        x, y = gram.X[i], gram.X[j]
        odd = gram.form == "linear" and offset == 0
        if (x == y).all() or (odd and (x == -y).all()):
            return 0.0
    block = between(gram, np.array([i, j]), np.array([i, j]))
    a, b, c = (Fraction(float(block[k])) + Fraction(offset) for k in ((0, 0), (1, 1), (0, 1)))
    sine = max(float((a * b - c * c) / (a * b)), 0.0)
    return sine + float(validation.NEARLY_SAME) if isinstance(gram, KernelRows) else sine


def fewest_violated(
    gram: Gram, labels: Labels, offset: float, softness: Floats, pair: tuple[int, int]
) -> int:
    """Return the fewest examples that one of some weight vectors violates.

    They are combinations of some hundred examples, which bounds the work: the normal of one of a
    pair, both ways, and some passes of a perceptron in batches from the difference of the means.
    """
    m = len(labels)
    some = np.unique([*pair, *np.linspace(0, m - 1, min(m, _TRIED)).astype(np.intp)])
    signs = labels.astype(np.float64)
    lengths = np.sqrt(np.add(gram.diagonal(), offset, dtype=np.float64) + softness)
    inner = between(gram, some, some) + offset + np.diag(softness[some])
    normals = signs[some] / lengths[some]
    one = np.where(some == pair[0], normals, 0.0)
    tried = [one, -one]
    c = normals / np.where(signs[some] > 0, (signs > 0).sum(), (signs < 0).sum()) * m
    for _ in range(_PASSES):
        tried.append(c)
        c = c + normals * (signs[some] * (c @ inner) <= 0)
    duals = np.array(tried)
    violated = np.zeros(len(duals), dtype=np.intp)
    for rows in validation.blocks(m, max(1, _BLOCK_BYTES // (8 * len(some)))):
        index = np.arange(m)[rows]
        values = between(gram, some, index) + offset + softness[index] * (some[:, None] == index)
        # What is less than the rounding of its terms has no sign: two examples on one line agree.
        rounding = len(some) * np.finfo(np.float64).eps * (np.abs(duals) @ np.abs(values))
        violated += (signs[index] * (duals @ values) <= rounding).sum(axis=1)
    return int(violated.min())


def most_free(gram: Gram, offset: float, softness: Floats) -> int:
    """Return how many examples can have linearly independent feature vectors at most."""
    m = len(softness)
    if isinstance(gram, KernelRows) and gram.form == "linear" and not softness.any():
        return min(m, int(gram.X.shape[1]) + int(offset > 0))
    return m
