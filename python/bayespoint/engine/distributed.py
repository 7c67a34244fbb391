"""Work for other processes: joblib's workers where its active backend is Dask's, Ray's or the like.

Local fits use the threads of the engine, which share one kernel matrix. Where joblib's active
backend hands tasks to processes that may be on other machines, the work is cut into tasks: pure
functions of arrays, states and seeds, which may be lost with their worker and done again.

All tasks of a fit share a problem, or the data of a search. It is sent with the first tasks. A
worker keeps the last one that it got, and later tasks name it by its digest. A worker that does
not have it, as one that is new, says so and gets the task again with it.
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
"""Says of every task, at level DEBUG, in which process it ran."""

_LOCAL = tuple(
    BACKENDS[name]
    for name in ("sequential", "threading", "loky", "multiprocessing")
    if name in BACKENDS
)
"""Joblib's backends for this machine: its threads do better. Ray's is a subclass of one of them."""

_SHARED: dict[str, Any] = {}
"""On a worker: what the tasks shared that it did last, by its digest."""

_LOCK = threading.Lock()


def active() -> bool:
    """Return whether joblib's active backend hands tasks to processes beyond this machine.

    Not within a task of such a backend: what runs there is cut up already.
    """
    backend, _ = get_active_backend()
    if type(backend) in _LOCAL or (backend.nesting_level or 0) > 0:
        return False
    # Dask's backend does not count how deep it is nested, and asks its threads as well.
    dask = sys.modules.get("distributed.worker")
    return dask is None or not hasattr(dask.thread_state, "execution_state")


class Workers:
    """Joblib's workers, for tasks that share something, within a ``with`` block.

    Parameters
    ----------
    shared : object
        What the tasks share.
    n_jobs : int or None
        Tasks at a time, as joblib's backend understands it.
    """

    def __init__(self, shared: object, n_jobs: int | None) -> None:
        # As bytes: arrays that come over a network may lie across words otherwise, and joblib's
        # Dask backend would scatter them, to be lost with the worker that holds them.
        self.packed = pickle.dumps(shared, protocol=5)
        self.digest = hashlib.blake2b(self.packed, digest_size=16).hexdigest()
        # Not several to a batch, as joblib has it after quick ones: those to come may be long.
        self.parallel = Parallel(n_jobs=n_jobs, batch_size=1)
        self._sent = False

    def __enter__(self) -> Self:
        # Ray starts processes for each call otherwise.
        self.parallel.__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        self.parallel.__exit__(*error)

    def each(self, work: Callable[..., R], arguments: Sequence[tuple[Any, ...]]) -> list[R]:
        """Return ``work(shared, *arguments[i])`` of every task, in their order."""
        found: dict[int, R] = {}
        packed = None if self._sent else self.packed
        while len(found) < len(arguments):
            missing = [i for i in range(len(arguments)) if i not in found]
            with _large_arguments(self.parallel):
                answers = self.parallel(
                    delayed(_task)(self.digest, packed, work, arguments[i]) for i in missing
                )
            for i, answer in zip(missing, answers, strict=True):
                if answer is not None:
                    process, found[i] = answer
                    LOGGER.debug("%s in process %d", work.__name__, process)
            packed = self.packed
        self._sent = True
        return [found[i] for i in range(len(arguments))]


def _task(
    digest: str, packed: bytes | None, work: Callable[..., R], arguments: tuple[Any, ...]
) -> tuple[int, R] | None:
    """One task, on its worker: its process and value, or None if what it shares is not there."""
    with _LOCK:  # one matrix for all threads that ask for it
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
    """Yield what hands steps of trajectories to joblib's workers, for the engine to call.

    None where the trajectories stay in this process.
    """
    # The other motions have a center or a sphere of their own that the engine does not hand over.
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
            return workers.each(_step, [(order, trajectory) for trajectory in trajectories])

        yield send


def _step(problem: Problem, order: bytes, trajectory: bytes) -> bytes:
    """Take a step of one trajectory, on a worker."""
    return _core.take_step(problem, order, trajectory)


@contextlib.contextmanager
def _large_arguments(parallel: Parallel) -> Iterator[None]:
    """Keep Dask from warning of arguments of more than 10 MB.

    What it recommends in their place is lost with the worker that holds it.
    """
    if parallel._backend.__class__.__name__ != "DaskDistributedBackend":
        yield
        return
    import dask

    with dask.config.set({"distributed.admin.large-graph-warning-threshold": "1 TiB"}):
        yield
