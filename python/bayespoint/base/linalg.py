"""Cholesky factors of Gram matrices, diagonals of their inverses, and the threads of BLAS."""

from __future__ import annotations

import math
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import linalg
from threadpoolctl import ThreadpoolController

from bayespoint.base import memory, validation
from bayespoint.base.validation import Floats

Report: TypeAlias = "Callable[[float], object]"
"""Called with the share of the work that is done, in (0, 1]."""

ONE_THREAD_ROWS = 2500
"""Largest number of examples for which BLAS gets one thread. Idle ones spin for some hundredths of
a second after each call, on processors that the trajectories need. Where another program runs too,
they wait for one another: two threads then took twice as long as one for fits of 2000 examples."""

_CERTAIN_PIVOT = 1e3
"""Smallest squared pivot of a matrix that is certainly not singular, relative to the diagonal
entry, in units of the number of rows times the machine epsilon."""

_STEP_WORK = 3e9
"""Multiplications between two checks for Ctrl-C: some hundredths of a second on one processor."""

_FACTOR_AT_ONCE = 3000
"""Largest number of rows of a matrix that is factored in one call."""

_MIN_COLUMNS = 32
_MAX_COLUMNS = 512
"""Smallest and largest number of columns that are factored together."""

_BLOCK = 256
"""Rows and columns of a block of the inverse of a larger one."""


@dataclass(frozen=True, eq=False)
class Factor:
    """A Cholesky factor of the training Gram matrix, pivoted where that is singular."""

    lower: Floats
    """(rank, rank) lower triangle L in Fortran order: L L^T is the Gram matrix of `pivots`."""

    pivots: NDArray[np.intp] | None
    """(rank,) examples whose feature vectors span all others; None for all examples in order."""

    invertible: bool = False
    """Whether the factor has no pivots and the matrix is far enough from singular to be
    inverted."""

    @property
    def rank(self) -> int:
        """Dimension of the span of the feature vectors."""
        return len(self.lower)

    def explained(self, k_star: Floats) -> Floats:
        """Return the (n,) values of ``k*^T A^-1 k*`` for rows ``k*`` of the (n, m) `k_star`."""
        solved = self.whitened(k_star)
        values: Floats = np.einsum("ij,ij->j", solved, solved)
        return values

    def whitened(self, k_star: Any) -> Floats:
        """Return the (rank, n) ``L^-1 k*``: coordinates of the points in an orthonormal basis."""
        right = k_star if self.pivots is None else k_star[:, self.pivots]
        # BLAS overwrites the transpose of a C-ordered copy without another copy.
        solved: Floats = linalg.blas.dtrsm(
            1.0, self.lower, np.array(right, order="C").T, lower=1, overwrite_b=1
        )
        return solved

    def inverse_diagonal(self, report: Report | None = None) -> Floats:
        """Return the (m,) diagonal of ``A^-1`` of an invertible matrix.

        Takes m^3 / 3 operations, and memory for 256 columns of ``L^-1``. Calls `report` for each
        block.
        """
        m = self.rank
        parts = list(validation.blocks(m, _BLOCK))
        with one_thread(beside_numpy=True):  # idle threads of SciPy's would disturb NumPy's
            corners = [
                linalg.lapack.dtrtri(np.asfortranarray(self.lower[rows, rows]), lower=1)[0]
                for rows in parts
            ]
        diagonal, done_work = np.empty(m), 0
        all_work = _BLOCK * math.comb(len(parts) + 1, 3)
        for k, columns in enumerate(parts):
            start = columns.start
            inverse = np.zeros((m - start, columns.stop - start), order="F")
            inverse[: columns.stop - start] = corners[k]
            for rows, corner in zip(parts[k + 1 :], corners[k + 1 :], strict=True):
                done = slice(0, rows.start - start)
                right = self.lower[rows, start : rows.start] @ inverse[done]
                inverse[rows.start - start : rows.stop - start] = -(corner @ right)
                done_work += rows.start - start
                if report is not None:
                    report(done_work / all_work)
            diagonal[columns] = np.einsum("ij,ij->j", inverse, inverse)
        return diagonal

    def dual_coef(self, coordinates: Floats, m: int) -> Floats:
        """Return the (n, m) dual coefficients of vectors given by (rank, n) coordinates."""
        solved = linalg.blas.dtrsm(1.0, self.lower, coordinates, lower=1, trans_a=1)
        if self.pivots is None:
            return np.ascontiguousarray(solved.T)
        dual = np.zeros((solved.shape[1], m))
        dual[:, self.pivots] = solved.T
        return dual


def interruptible_step(work: float) -> int:
    """Return how many rows of `work` multiplications each to process between checks for Ctrl-C."""
    return max(1, int(_STEP_WORK / work)) if work > 0 else 1


def cholesky(matrix: Floats, report: Report | None = None) -> int:
    """Overwrite the lower triangle of a symmetric matrix in Fortran order by its Cholesky factor.

    Returns 0, or the number of the first leading minor that is not positive; the lower triangle is
    then undefined. Matrices of more than 3000 rows are factored in blocks of columns (LAPACK's
    left-looking algorithm), so that Ctrl-C can interrupt it. After each block it calls `report`.
    """
    m = len(matrix)
    if m <= _FACTOR_AT_ONCE:
        _, info = linalg.lapack.dpotrf(matrix, lower=1, clean=0, overwrite_a=1)
        return int(info)
    step = min(max(interruptible_step(m * m / 4), _MIN_COLUMNS), _MAX_COLUMNS)
    with one_thread(beside_numpy=True):
        for columns in validation.blocks(m, step):
            begin, end = columns.start, columns.stop
            done = matrix[begin:, :begin] @ matrix[columns, :begin].T
            top, below = matrix[columns, columns], matrix[end:, columns]
            corner, info = linalg.lapack.dpotrf(top - done[: end - begin], lower=1, clean=1)
            if info:
                return int(begin + info)
            np.copyto(top, corner, where=np.tri(end - begin, dtype=bool))
            below -= done[end - begin :]
            if end < m:
                below[:] = linalg.blas.dtrsm(1.0, corner, below, side=1, lower=1, trans_a=1)
            if report is not None:
                report((end / m) ** 2 * (3 - 2 * end / m))
    return 0


def factorize(
    gram: Any,
    offset: float,
    softness: Floats,
    *,
    overwrite: bool = False,
    report: Report | None = None,
) -> Factor:
    """Return the factor of ``gram + offset + diag(softness)``.

    `gram` is an (m, m) symmetric matrix in C order, `softness` has shape (m,). With `overwrite` the
    factor is computed in the memory of `gram`, which must hold doubles.
    """
    m = len(gram)
    if not overwrite:
        memory.require(8.0 * m * m, f"the factor of the Gram matrix ({m} x {m} doubles)")
        own = np.empty((m, m))
        for rows in validation.blocks(m):
            own[rows] = gram[rows]
        gram = own
    if offset:
        gram += offset
    gram.flat[:: m + 1] += softness
    diagonal = gram.diagonal().copy()
    matrix = gram.T  # the same symmetric matrix, in Fortran order for LAPACK
    info = cholesky(matrix, report)
    least = _CERTAIN_PIVOT * m * np.finfo(float).eps
    certain = info == 0 and bool((matrix.diagonal() ** 2 > least * diagonal).all())
    if certain or (info == 0 and softness.min() > 0):
        clear_above(matrix)
        return Factor(matrix, None, certain)
    # Singular or nearly so. Restore the overwritten triangle from the other one.
    for rows in validation.blocks(m):
        matrix[rows.stop :, rows] = matrix[rows, rows.stop :].T
        corner = np.triu(matrix[rows, rows], 1)
        matrix[rows, rows] = corner + corner.T
    matrix.flat[:: m + 1] = diagonal
    # With a unit diagonal the rank does not depend on the lengths of feature vectors.
    length = np.sqrt(diagonal)
    matrix /= length
    matrix /= length[:, None]
    matrix, order, rank, _ = linalg.lapack.dpstrf(matrix, lower=1, overwrite_a=1)
    clear_above(matrix)
    if rank < m:
        matrix = np.asfortranarray(matrix[:rank, :rank])
    pivots = order[:rank].astype(np.intp) - 1
    matrix *= length[pivots][:, None]
    return Factor(matrix, pivots)


def clear_above(matrix: Floats) -> None:
    """Set the entries above the diagonal to zero."""
    for rows in validation.blocks(len(matrix)):
        matrix[rows, rows.stop :] = 0.0
        matrix[rows, rows] = np.tril(matrix[rows, rows])


def weighted_outer(rows: NDArray[Any], weights: NDArray[Any]) -> Floats:
    """Return the (r, r) sum of the outer products of (n, r) rows, times (n,) weights of any sign.

    It is computed in the precision of the rows, as symmetric products, which halves the work.
    """
    scaled = rows * np.sqrt(np.abs(weights)).astype(rows.dtype)[:, None]
    negative = weights < 0
    if not negative.any():
        return np.asarray(scaled.T @ scaled, dtype=np.float64)
    below, above = scaled[negative], scaled[~negative]
    return np.asarray(above.T @ above - below.T @ below, dtype=np.float64)


def times_upper(rows: NDArray[Any], upper: Floats) -> NDArray[Any]:
    """Return the product of (n, r) rows and an upper triangle, in the type of the rows.

    SciPy's routine for triangles holds the interpreter lock: threads would wait for each other.
    """
    upper = upper.astype(rows.dtype, copy=False)
    found = np.empty_like(rows)
    for part in validation.blocks(len(upper), _BLOCK):
        np.matmul(rows[:, : part.stop], upper[: part.stop, part], out=found[:, part])
    return found


# --- threads of BLAS -------------------------------------------------------------------------


@cache
def _libraries() -> Any:
    """Return the handles of NumPy's and SciPy's BLAS; the search takes milliseconds."""
    return ThreadpoolController().select(user_api="blas").lib_controllers


_lock = threading.Lock()
_holders: dict[object, int] = {}
_threads_before: dict[object, int] = {}


def _replace_lock() -> None:
    """Replace the lock, which another thread may have held when the process was forked."""
    global _lock
    _lock = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_replace_lock)


def _set_threads(library: Any, threads: int) -> None:
    # Since 3.8 threadpoolctl silently ignores calls from all threads but the first that made one,
    # until this is cleared.
    clear = getattr(library, "clear_controlling_thread", lambda force: None)
    clear(force=True)
    library.set_num_threads(threads)
    clear(force=True)


@contextmanager
def one_thread(*, beside_numpy: bool = False) -> Iterator[None]:
    """Limit BLAS to one thread; with `beside_numpy` only SciPy's, if it differs from NumPy's.

    The number of threads belongs to the process, so callers are counted and the last one restores
    it. If each restored the number it had found, as `threadpool_limits` does, the first to leave
    would change the number of threads of the others, and so the last bits of their results.
    """
    libraries = _libraries()
    if beside_numpy:
        scipys = [library for library in libraries if "scipy.libs" in library.filepath]
        libraries = scipys if len(scipys) < len(libraries) else []
    # With OpenMP the number belongs to the calling thread.
    keys = [
        (each.filepath, getattr(each, "threading_layer", "") == "openmp" and threading.get_ident())
        for each in libraries
    ]
    with _lock:
        for key, library in zip(keys, libraries, strict=True):
            _holders[key] = _holders.get(key, 0) + 1
            if _holders[key] == 1:
                _threads_before[key] = library.num_threads
                _set_threads(library, 1)
    try:
        yield
    finally:
        with _lock:
            for key, library in zip(keys, libraries, strict=True):
                _holders[key] -= 1
                if not _holders[key]:
                    _set_threads(library, _threads_before[key])


def threads_for(m: int) -> AbstractContextManager[None]:
    """Limit BLAS to one thread if there are at most `ONE_THREAD_ROWS` examples."""
    return one_thread() if m <= ONE_THREAD_ROWS else nullcontext()
