"""Cholesky factors of Gram matrices, diagonals of their inverses, and the threads of BLAS."""

from __future__ import annotations

import math
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
from scipy import linalg
from threadpoolctl import ThreadpoolController

from bayespoint.base import memory, validation
from bayespoint.base.stored import Stored
from bayespoint.base.validation import Array, Floats, Indices

Report = Callable[[float], object] | None  # called with the share of the work done
ONE_THREAD_ROWS = 2500
"""Largest number of examples for which BLAS gets one thread. Idle threads spin after each call, on
processors that the trajectories need: beside another program, two threads took twice as long."""
_CERTAIN_PIVOT = 1e3  # least squared pivot that is certain, in n times epsilon times diagonal
_STEP_WORK = 3e9  # multiplications between two checks for Ctrl-C: some hundredths of a second
_FACTOR_AT_ONCE = 3000  # largest number of rows of a matrix that is factored in one call

_MIN_COLUMNS = 32
_MAX_COLUMNS = 512  # smallest and largest number of columns that are factored together
_BLOCK = 256  # rows and columns of a block of the inverse of a larger one


@dataclass(frozen=True, eq=False)
class Factor(Stored):
    """A Cholesky factor of the training Gram matrix, pivoted where that is singular."""

    _shapes = "rr: lower; r: pivots"

    lower: Floats  # (rank, rank) L in Fortran order: L L^T is the Gram matrix of `pivots`
    pivots: Indices | None  # (rank,) examples that span all others; None: all, in order
    invertible: bool = False  # whether the matrix is certainly far from singular, without pivots

    @property
    def rank(self) -> int:
        """Dimension of the span of the feature vectors."""
        return len(self.lower)

    def explained(self, k_star: Floats) -> Floats:
        """Return the (n,) values of ``k*^T A^-1 k*`` for rows ``k*`` of the (n, m) `k_star`."""
        solved = self.whitened(k_star)
        return np.einsum("ij,ij->j", solved, solved)

    def whitened(self, k_star: Any) -> Floats:
        """Return the (rank, n) ``L^-1 k*``: coordinates of the points in an orthonormal basis."""
        right = k_star if self.pivots is None else k_star[:, self.pivots]
        # BLAS overwrites the transpose of a C-ordered copy without another copy.
        copied = np.array(right, order="C").T
        return linalg.blas.dtrsm(1.0, self.lower, copied, lower=1, overwrite_b=1)

    def bordered(self, border: Floats, corner: Floats) -> Factor:
        """Return the factor with n more vectors, by inner products; LinAlgError if singular."""
        r, n = self.rank, len(corner)
        solved = self.whitened(border)
        rest = np.asfortranarray(corner - solved.T @ solved)
        if cholesky(rest):
            raise np.linalg.LinAlgError("the matrix with more rows is singular")
        clear_above(rest)
        lower = np.zeros((r + n, r + n), order="F")
        lower[:r, :r], lower[r:, :r], lower[r:, r:] = self.lower, solved.T, rest
        certain = _certain(rest.diagonal(), corner.diagonal(), r + n)
        return replace(self, lower=lower, invertible=self.invertible and certain)

    def inverse_diagonal(self, report: Report = None) -> Floats:
        """Return the (m,) diagonal of ``A^-1``, in m^3 / 3 operations and memory for 256 m."""
        m, parts = self.rank, list(validation.blocks(self.rank, _BLOCK))
        with one_thread(beside_numpy=True):  # idle threads of SciPy's would disturb NumPy's
            corners = [
                linalg.lapack.dtrtri(np.asfortranarray(self.lower[rows, rows]), lower=1)[0]
                for rows in parts
            ]
        diagonal, done_work = np.empty(m), 0
        all_work = _BLOCK * math.comb(len(parts) + 1, 3)
        for k, columns in enumerate(parts):
            start, width = columns.start, columns.stop - columns.start
            inverse = np.zeros((m - start, width), order="F")
            inverse[:width] = corners[k]
            for rows, corner in zip(parts[k + 1 :], corners[k + 1 :], strict=True):
                done = rows.start - start
                right = self.lower[rows, start : rows.start] @ inverse[:done]
                inverse[done : rows.stop - start] = -(corner @ right)
                done_work += done
                if report is not None:
                    report(done_work / all_work)
            diagonal[columns] = np.einsum("ij,ij->j", inverse, inverse)
        return diagonal

    def dual_coef(self, coordinates: Floats, m: int) -> Floats:
        """Return the (n, m) dual coefficients of vectors given by (rank, n) coordinates."""
        solved = linalg.blas.dtrsm(1.0, self.lower, coordinates, lower=1, trans_a=1).T
        if self.pivots is None:
            return np.ascontiguousarray(solved)
        dual = np.zeros((len(solved), m))
        dual[:, self.pivots] = solved
        return dual


Inverse = tuple[Factor, Floats]
"""The factor of a matrix, and the diagonal of its inverse."""


def interruptible_step(work: float) -> int:
    """Return how many rows of `work` multiplications each to process between checks for Ctrl-C."""
    return int(_STEP_WORK / max(work, 1.0))


def cholesky(matrix: Floats, report: Report = None) -> int:
    """Overwrite a lower triangle in Fortran order by its Cholesky factor; return LAPACK's info."""
    m = len(matrix)
    if m <= _FACTOR_AT_ONCE:
        return int(linalg.lapack.dpotrf(matrix, lower=1, clean=0, overwrite_a=1)[1])
    # In blocks of columns, so that Ctrl-C can interrupt it.
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
    gram: Any, offset: float, softness: Floats, *, overwrite: bool = False, report: Report = None
) -> Factor:
    """Return the factor of ``gram + offset + diag(softness)``, in its memory for `overwrite`."""
    m = len(gram)
    if not overwrite:  # else it holds doubles in C order
        memory.require(8.0 * m * m, f"the factor of the Gram matrix ({m} x {m} doubles)")
        gram = np.array(gram, dtype=np.float64, order="C")
    if offset:
        gram += offset
    gram.flat[:: m + 1] += softness
    diagonal = gram.diagonal().copy()
    matrix = gram.T  # the same symmetric matrix, in Fortran order for LAPACK
    info = cholesky(matrix, report)
    certain = info == 0 and _certain(matrix.diagonal(), diagonal, m)
    if certain or (info == 0 and softness.min() > 0):
        clear_above(matrix)
        return Factor(matrix, None, certain)
    # Singular or nearly so. Restore the overwritten triangle from the other one.
    for rows in validation.blocks(m):
        matrix[rows.stop :, rows] = matrix[rows, rows.stop :].T
        corner = np.triu(matrix[rows, rows], 1)
        matrix[rows, rows] = corner + corner.T
    matrix.flat[:: m + 1] = diagonal
    length = np.sqrt(diagonal)  # with a unit diagonal the rank does not depend on lengths
    matrix /= length
    matrix /= length[:, None]
    matrix, order, rank, _ = linalg.lapack.dpstrf(matrix, lower=1, overwrite_a=1)
    clear_above(matrix)
    if rank < m:
        matrix = np.asfortranarray(matrix[:rank, :rank])
    pivots = order[:rank].astype(np.intp) - 1
    matrix *= length[pivots][:, None]
    return Factor(matrix, pivots)


def _certain(pivots: Floats, diagonal: Floats, m: int) -> bool:
    """Return whether a matrix of m rows with these pivots is certainly not singular."""
    return bool((pivots**2 > _CERTAIN_PIVOT * m * np.finfo(float).eps * diagonal).all())


def clear_above(matrix: Floats) -> None:
    """Set the entries above the diagonal to zero, of a matrix in Fortran order."""
    for column in range(1, len(matrix)):
        matrix[:column, column] = 0.0


def weighted_outer(rows: Array, weights: Array) -> Floats:
    """Return the (r, r) sum of the outer products of (n, r) rows times (n,) weights of any sign."""
    # In the precision of the rows, as symmetric products, which halves the work.
    scaled = rows * np.sqrt(np.abs(weights)).astype(rows.dtype)[:, None]
    negative = weights < 0
    if not negative.any():
        return np.asarray(scaled.T @ scaled, dtype=np.float64)
    below, above = scaled[negative], scaled[~negative]
    return np.asarray(above.T @ above - below.T @ below, dtype=np.float64)


def times_upper(rows: Array, upper: Floats) -> Array:
    """Return the product of (n, r) rows and an upper triangle, in the type of the rows."""
    # SciPy's routine for triangles holds the interpreter lock: threads would wait for each other.
    upper = upper.astype(rows.dtype, copy=False)
    found = np.empty_like(rows)
    for part in validation.blocks(len(upper), _BLOCK):
        np.matmul(rows[:, : part.stop], upper[: part.stop, part], out=found[:, part])
    return found


@cache
def _libraries() -> Any:
    """Return the handles of NumPy's and SciPy's BLAS; the search takes milliseconds."""
    return ThreadpoolController().select(user_api="blas").lib_controllers


def blas_threads() -> int:
    """Return the number of threads of BLAS, which other work takes, too."""
    return max((library.num_threads for library in _libraries()), default=1)


_lock = threading.Lock()
_holders: dict[object, tuple[int, int]] = {}
"""Numbers of callers that hold a library to one thread, and of its threads before."""


if hasattr(os, "register_at_fork"):  # when another thread may have held the lock
    os.register_at_fork(after_in_child=lambda: globals().update(_lock=threading.Lock()))


def _set_threads(library: Any, threads: int) -> None:
    # threadpoolctl 3.8 ignores calls from all threads but the first, until this is cleared.
    clear = getattr(library, "clear_controlling_thread", lambda force: None)
    clear(force=True)
    library.set_num_threads(threads)
    clear(force=True)


@contextmanager
def one_thread(*, beside_numpy: bool = False) -> Iterator[None]:
    """Limit BLAS to one thread; with `beside_numpy` only SciPy's, if it differs from NumPy's."""
    # The number of threads belongs to the process, so callers are counted and the last restores it.
    # With `threadpool_limits` the first to leave would change the last bits of others' results.
    libraries = _libraries()
    if beside_numpy:
        scipys = [library for library in libraries if "scipy.libs" in library.filepath]
        libraries = scipys if len(scipys) < len(libraries) else []
    # With OpenMP the number belongs to the calling thread.
    held = {
        (
            each.filepath,
            getattr(each, "threading_layer", "") == "openmp" and threading.get_ident(),
        ): each
        for each in libraries
    }
    with _lock:
        for key, library in held.items():
            count, before = _holders.get(key, (0, library.num_threads))
            _holders[key] = count + 1, before
            if not count:
                _set_threads(library, 1)
    try:
        yield
    finally:
        with _lock:
            for key, library in held.items():
                count, before = _holders.pop(key)
                if count > 1:
                    _holders[key] = count - 1, before
                else:
                    _set_threads(library, before)


def threads_for(m: int) -> AbstractContextManager[None]:
    """Limit BLAS to one thread if there are at most `ONE_THREAD_ROWS` examples."""
    return one_thread() if m <= ONE_THREAD_ROWS else nullcontext()
