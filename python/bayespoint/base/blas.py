"""BLAS on one thread, where more would take longer."""

from __future__ import annotations

import os
import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import cache
from typing import Any

import numpy as np
from scipy import linalg
from threadpoolctl import ThreadpoolController

from bayespoint.base import memory

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


def _own_limit(library: Any) -> bool:
    """Return whether each thread of the program has its own number of threads of a library."""
    return getattr(library, "threading_layer", None) == "openmp"


def _set_threads(library: Any, threads: int) -> None:
    """Set the number of threads of a library, whichever thread of the program set it last.

    From 3.8 on threadpoolctl hears the first thread only, and lets the others believe they were
    heard. It is set free again for limits of the user's own.
    """
    free = getattr(library, "clear_controlling_thread", lambda force: None)
    free(force=True)
    library.set_num_threads(threads)
    free(force=True)


class _Holds:
    """Who holds which BLAS library to one thread, in all threads of the program.

    The number of threads is the whole process's: were each to set back what it had found, the first
    to leave would give the others more threads (and other last bits) in the midst of their work,
    and the last would leave one thread behind.
    """

    def __init__(self) -> None:
        """Nobody holds anything."""
        self.lock = threading.Lock()
        self.holders: dict[str, Counter[int]] = {}
        self.before: dict[str, int] = {}

    def take(self, libraries: Sequence[Any]) -> None:
        """Hold libraries on behalf of this thread."""
        with self.lock:
            for library in libraries:
                holders = self.holders.setdefault(library.filepath, Counter())
                if not holders:
                    self.before[library.filepath] = library.num_threads
                    _set_threads(library, 1)
                holders[threading.get_ident()] += 1

    def leave(self, libraries: Sequence[Any]) -> None:
        """Let go of libraries: the last thread to do so gives them their threads again."""
        thread = threading.get_ident()
        with self.lock:
            for library in libraries:
                self.holders[library.filepath][thread] -= 1
                self._give_back(library)

    def forked(self) -> None:
        """Drop the holds of threads that a forked child does not have."""
        self.lock = threading.Lock()
        if not any(self.holders.values()):
            return
        thread = threading.get_ident()
        for library in _controller().lib_controllers:
            if self.holders.get(library.filepath):
                own = self.holders[library.filepath][thread]
                self.holders[library.filepath] = Counter({thread: own})
                self._give_back(library)

    def _give_back(self, library: Any) -> None:
        """Forget threads that hold nothing, and the limit if nobody is left."""
        self.holders[library.filepath] = +self.holders[library.filepath]
        if not self.holders[library.filepath]:
            _set_threads(library, self.before.pop(library.filepath))


_HOLDS = _Holds()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_HOLDS.forked)


@contextmanager
def _held(libraries: Sequence[Any]) -> Iterator[None]:
    own = [library.filepath for library in libraries if _own_limit(library)]
    shared = [library for library in libraries if not _own_limit(library)]
    with _controller().select(filepath=own).limit(limits=1):
        _HOLDS.take(shared)
        try:
            yield
        finally:
            _HOLDS.leave(shared)


def one_thread() -> AbstractContextManager[Any]:
    """Hold BLAS to one thread, until the last of the threads of the program that ask is done."""
    settle()
    return _held(_controller().lib_controllers)


def threads_for(m: int) -> AbstractContextManager[Any]:
    """Hold BLAS to one thread if there are few examples."""
    settle()
    return one_thread() if m <= FEW else nullcontext()


def numpy_alone() -> AbstractContextManager[Any]:
    """Hold a BLAS that SciPy brought beside NumPy's to one thread, while both are called in turn.

    The threads of either spin for a while after each call, on the other's processors.
    """
    libraries = _controller().lib_controllers
    beside = [library for library in libraries if "scipy.libs" in library.filepath]
    return _held(beside) if len(beside) < len(libraries) else nullcontext()


_settled = False


def settle() -> None:
    """Have BLAS take its buffers while there is room for them, where memory is limited.

    OpenBLAS takes them in its first call, and where the limit refuses them it asks for ever.
    Raises MemoryError if there is no room.
    """
    global _settled
    if _settled:
        return
    room = memory.limited()
    if room is None:
        return
    libraries = _controller().info()
    needed = sum(_BUFFER * library["num_threads"] for library in libraries)
    if room < needed:
        raise MemoryError(
            f"BLAS needs {memory.readable(needed)} for buffers of its threads, but the limit "
            f"leaves {memory.readable(room)}: raise it, or OPENBLAS_NUM_THREADS=1 takes fewer"
        )
    matrix = np.eye(400)  # large enough for all threads
    np.matmul(matrix, matrix)
    linalg.blas.dgemm(1.0, matrix, matrix)
    linalg.lapack.dpotrf(matrix)
    _settled = True
