"""Work in other processes, through joblib's backends for Dask, Ray and the like.

Local fits use the threads of the engine, which share one kernel matrix. A backend that may have
workers on other machines gets tasks instead: pure functions of arrays, states and seeds, which can
be repeated elsewhere if a worker is lost.

All tasks of a fit share a problem, or the data of a search, which is sent with the first tasks. A
worker keeps the last one it received, and later tasks refer to it by its digest. A worker that does
not have it, for example a new one, says so, and the task is repeated with the data.
"""

from __future__ import annotations

import contextlib
import hashlib
import logging
import os
import pickle
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from joblib.parallel import BACKENDS, get_active_backend  # type: ignore[import-untyped]
from sklearn.utils.parallel import Parallel, delayed

from bayespoint import _core
from bayespoint.engine.dynamics import Geodesic
from bayespoint.engine.problem import Problem
from bayespoint.engine.settings import SampleSettings

if TYPE_CHECKING:
    from typing_extensions import Self

R = TypeVar("R")

LOGGER = logging.getLogger("bayespoint.distributed")
"""Reports the process of every task, at level DEBUG."""

_LOCAL = tuple(
    BACKENDS[name]
    for name in ("sequential", "threading", "loky", "multiprocessing")
    if name in BACKENDS
)
"""Joblib's local backends, where the engine's own threads are faster. Ray's is a subclass."""

_SHARED: dict[str, Any] = {}
"""On a worker: the shared data of its last task, by digest."""

_LOCK = threading.Lock()


def active() -> bool:
    """Return whether joblib's active backend may have workers on other machines.

    False within a task of such a backend, whose work has been divided already.
    """
    backend, _ = get_active_backend()
    if type(backend) in _LOCAL or (backend.nesting_level or 0) > 0:
        return False
    # Dask's backend does not count its nesting level. Its worker threads have this attribute.
    dask = sys.modules.get("distributed.worker")
    return dask is None or not hasattr(dask.thread_state, "execution_state")


class Workers:
    """Joblib's workers for tasks that share data, as a context manager.

    Parameters
    ----------
    shared : object
        The shared data.
    n_jobs : int or None
        Number of tasks at a time, as joblib's backend understands it.
    """

    def __init__(self, shared: object, n_jobs: int | None) -> None:
        # As bytes, because arrays received over a network may be unaligned, and because joblib's
        # Dask backend would scatter arrays: they would be lost with the worker that holds them.
        self.packed = pickle.dumps(shared, protocol=5)
        self.digest = hashlib.blake2b(self.packed, digest_size=16).hexdigest()
        # Joblib would batch tasks after quick ones, but later tasks may be long.
        self.parallel = Parallel(n_jobs=n_jobs, batch_size=1)
        self._sent = False

    def __enter__(self) -> Self:
        # Otherwise Ray starts processes for each call.
        self.parallel.__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        self.parallel.__exit__(*error)

    def each(self, work: Callable[..., R], arguments: Sequence[tuple[Any, ...]]) -> list[R]:
        """Return ``work(shared, *arguments[i])`` for every task, in order."""
        answers: list[tuple[int, R] | None] = [None] * len(arguments)
        packed = None if self._sent else self.packed
        while missing := [i for i, answer in enumerate(answers) if answer is None]:
            tasks = (delayed(_task)(self.digest, packed, work, arguments[i]) for i in missing)
            with _large_arguments():
                for i, answer in zip(missing, self.parallel(tasks), strict=True):
                    answers[i] = answer
            packed = self.packed
        self._sent = True
        found = []
        for process, value in filter(None, answers):
            LOGGER.debug("%s in process %d", work.__name__, process)
            found.append(value)
        return found


def _task(
    digest: str, packed: bytes | None, work: Callable[..., R], arguments: tuple[Any, ...]
) -> tuple[int, R] | None:
    """Return the process and the value of a task on a worker; None without the shared data."""
    with _LOCK:  # one copy for all threads of the worker
        if digest not in _SHARED:
            if packed is None:
                return None
            _SHARED.clear()
            _SHARED[digest] = pickle.loads(packed)
        shared = _SHARED[digest]
    return os.getpid(), work(shared, *arguments)


@contextlib.contextmanager
def sender(
    problem: Problem,
    settings: SampleSettings,
    n_jobs: int | None,
    callback: Callable[[Mapping[str, Any]], object] | None,
) -> Iterator[Callable[..., list[bytes]] | None]:
    """Yield a function that sends steps of trajectories to joblib's workers, for the engine.

    Yield None if the trajectories stay in this process. Their starting points are found here.
    """
    # The state of other dynamics is not sent.
    divides = isinstance(settings.motion, Geodesic) and settings.n_trajectories > 1
    if not (divides and active()):
        yield None
        return
    with Workers(problem, n_jobs) as workers:

        def send(
            order: bytes, trajectories: list[bytes], progress: Mapping[str, Any]
        ) -> list[bytes]:
            if callback is not None:
                callback(progress)
            return workers.each(_core.take_step, [(order, state) for state in trajectories])

        yield send


def _large_arguments() -> contextlib.AbstractContextManager[object]:
    """Suppress Dask's warning of arguments of more than 10 MB.

    Scattered data, which it recommends instead, are lost with the worker that holds them.
    """
    dask = sys.modules.get("dask")
    limits = {"distributed.admin.large-graph-warning-threshold": "1 TiB"}
    quiet: contextlib.AbstractContextManager[object]
    quiet = dask.config.set(limits) if dask else contextlib.nullcontext()
    return quiet
