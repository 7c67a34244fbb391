"""BLAS on one thread, where more would take longer."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from functools import cache
from typing import Any

import numpy as np
from scipy import linalg
from threadpoolctl import ThreadpoolController

from bayespoint import _memory

_BUFFER = 34 * 2**20
"""What OpenBLAS takes for each of its threads when it is first called, and keeps."""

FEW = 1500
"""Examples up to which all that a fit asks of BLAS is done before a second thread pays: those of
OpenBLAS spin for some hundredths of a second after each call, on processors that the billiard
wants."""


@cache
def _controller() -> Any:
    """Return the handle of all BLAS libraries: NumPy's and SciPy's, which are loaded by now.

    Looking for them takes milliseconds, a limit by what was found microseconds.
    """
    return ThreadpoolController().select(user_api="blas")


def one_thread() -> AbstractContextManager[Any]:
    """Hold BLAS to one thread. Of several threads of the program the first one's word counts."""
    settle()
    limit: AbstractContextManager[Any] = _controller().limit(limits=1)
    return limit


def threads_for(m: int) -> AbstractContextManager[Any]:
    """Hold BLAS to one thread if there are few examples."""
    settle()
    return one_thread() if m <= FEW else nullcontext()


def numpy_alone() -> AbstractContextManager[Any]:
    """Hold a BLAS that SciPy brought beside NumPy's to one thread, while both are called in turn.

    The threads of either spin for a while after each call, on the other's processors.
    """
    paths = [str(library["filepath"]) for library in _controller().select(user_api="blas").info()]
    beside = [path for path in paths if "scipy.libs" in path]
    limit: AbstractContextManager[Any] = nullcontext()
    if len(beside) < len(paths):
        limit = _controller().select(filepath=beside).limit(limits=1)
    return limit


_settled = False


def settle() -> None:
    """Have BLAS take its buffers while there is room for them, where memory is limited.

    OpenBLAS takes them in its first call, and where the limit refuses them it asks for ever.
    Raises MemoryError if there is no room.
    """
    global _settled
    if _settled:
        return
    room = _memory.limited()
    if room is None:
        return
    libraries = _controller().info()
    needed = sum(_BUFFER * library["num_threads"] for library in libraries)
    if room < needed:
        raise MemoryError(
            f"BLAS needs {_memory.readable(needed)} for buffers of its threads, but the limit "
            f"leaves {_memory.readable(room)}: raise it, or OPENBLAS_NUM_THREADS=1 takes fewer"
        )
    matrix = np.eye(400)  # large enough for all threads
    np.matmul(matrix, matrix)
    linalg.blas.dgemm(1.0, matrix, matrix)
    linalg.lapack.dpotrf(matrix)
    _settled = True
