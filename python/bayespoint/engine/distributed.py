"""Work for other processes: joblib's workers where its active backend is Dask's, Ray's or the like.

Local fits use the threads of the engine, which share one kernel matrix. Where joblib's active
backend hands tasks to processes that may be on other machines, a run is cut into tasks for these:
pure functions of arrays and seeds, which may be lost with their worker and done again.

A task names the kernel matrix it is about by a digest. A worker that has made that matrix or
received it before has it at hand; one that has not says so, and gets the task again with what it
takes: the inputs and the kernel, if these are smaller, or the matrix itself. What a worker makes
of the inputs must have the digest too, bit by bit. If it has not, as where processors differ, the
matrix is sent.
"""

from __future__ import annotations

import contextlib
import hashlib
import logging
import os
import socket
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, TypeVar

import numpy as np
from joblib.parallel import BACKENDS, get_active_backend  # type: ignore[import-untyped]
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils.parallel import Parallel, delayed
from threadpoolctl import threadpool_info, threadpool_limits

from bayespoint import _core, kernels
from bayespoint.base.linalg import Factor, factorize
from bayespoint.base.validation import Floats, Labels
from bayespoint.engine.dynamics import Geodesic
from bayespoint.engine.problem import Problem
from bayespoint.engine.settings import SampleSettings
from bayespoint.kernels.functions import is_semidefinite
from bayespoint.kernels.rows_on_demand import Gram, KernelRows

if TYPE_CHECKING:
    from typing_extensions import Self

R = TypeVar("R")

LOGGER = logging.getLogger("bayespoint.distributed")
"""Says of every task, at level DEBUG, in which process of which machine it ran."""

_LOCAL = tuple(
    BACKENDS[name]
    for name in ("sequential", "threading", "loky", "multiprocessing")
    if name in BACKENDS
)
"""Joblib's backends for this machine: its threads do better. Ray's is a subclass of one of them."""

_KEPT = 60.0
"""Seconds that a worker keeps a matrix after its last use."""


class Ground(NamedTuple):
    """What all trajectories of all problems of a fit share. A tuple: Dask must not scatter it.

    Scattered data are lost with the worker that holds them, the arguments of a task are not.
    """

    gram: Gram
    offset: float
    softness: Floats
    inverse: tuple[Factor, Floats] | None
    """A factor of the Gram matrix and the diagonal of its inverse, if at hand."""

    def copied(self) -> Ground:
        """Return the same as the engine takes it."""
        inverse = self.inverse
        if inverse is not None:
            inverse = replace(inverse[0], lower=laid(inverse[0].lower)), laid(inverse[1])
        gram = self.gram
        if isinstance(gram, KernelRows):
            gram = copy(gram)
            gram.inputs = laid(gram.inputs)
        else:
            gram = laid(gram)
        return Ground(gram, self.offset, laid(self.softness), inverse)


class Recipe(NamedTuple):
    """How to make a ground from inputs."""

    kernel: Any
    inputs: Floats
    offset: float
    softness: Floats
    inverse: bool
    threads: int
    """Threads of BLAS: with another number it may round differently."""

    def make(self) -> Ground:
        """Return the ground."""
        with threadpool_limits(limits=self.threads, user_api="blas"):
            inputs, softness = laid(self.inputs), laid(self.softness)
            gram, _ = kernels.training_gram(self.kernel, inputs, self.offset, softness)
            if not self.inverse:
                return Ground(gram, self.offset, softness, None)
            factor = factorize(gram, self.offset, softness)
            if not factor.invertible:  # by other rounding: the digest will say so
                return Ground(gram, self.offset, softness, None)
            return Ground(gram, self.offset, softness, (factor, factor.inverse_diagonal()))


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
    """Joblib's workers, for tasks about one ground, within a ``with`` block.

    Parameters
    ----------
    ground : Ground
        What the tasks are about.
    kernel : kernel object, callable, str or None
        The kernel of the matrix, if it is known.
    inputs : ndarray or None
        The inputs of the matrix, if they are known.
    n_jobs : int or None
        Tasks at a time, as joblib's backend understands it.
    """

    def __init__(self, ground: Ground, kernel: Any, inputs: Any, n_jobs: int | None) -> None:
        self.ground = ground
        self.key = _digest(ground)
        self.shipment: Ground | Recipe = ground
        known = is_semidefinite(kernel) and isinstance(inputs, np.ndarray)
        if known and inputs.dtype == np.float64 and not isinstance(ground.gram, KernelRows):
            size = ground.gram.nbytes
            if ground.inverse is not None:
                size += ground.inverse[0].lower.nbytes
            if inputs.nbytes < size:
                self.shipment = Recipe(
                    kernel,
                    inputs,
                    ground.offset,
                    ground.softness,
                    ground.inverse is not None,
                    _blas_threads(),
                )
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
        """Return ``work(ground, *arguments[i])`` of every task, in their order."""
        found: dict[int, R] = {}
        send = dict.fromkeys(range(len(arguments)), None if self._sent else self.shipment)
        while send:
            with _large_arguments(self.parallel):
                answers = self.parallel(
                    delayed(_task)(self.key, shipment, work, arguments[i])
                    for i, shipment in send.items()
                )
            again: dict[int, Ground | Recipe | None] = {}
            for i, answer in zip(send, answers, strict=True):
                LOGGER.debug("%s: %s", work.__name__, answer)
                if answer.state == "done":
                    found[i] = answer.value
                elif answer.state == "lacks":
                    again[i] = self.shipment
                else:
                    again[i] = self.ground
            send = again
        self._sent = True
        return [found[i] for i in range(len(arguments))]


def each_alone(
    work: Callable[..., R], arguments: Sequence[tuple[Any, ...]], n_jobs: int | None
) -> list[R]:
    """Return ``work(*arguments[i])`` of tasks that are about no ground, in their order."""
    answers = Parallel(n_jobs=n_jobs, batch_size=1)(
        delayed(_task_alone)(work, each) for each in arguments
    )
    for answer in answers:
        LOGGER.debug("%s: %s", work.__name__, answer)
    return [answer.value for answer in answers]


def _divides(settings: SampleSettings) -> bool:
    """Return whether the trajectories of a run can fly in other processes."""
    # The other motions have a center or a sphere of their own that the engine does not hand over.
    return isinstance(settings.motion, Geodesic) and settings.n_trajectories > 1


@contextlib.contextmanager
def sender(
    problem: Problem,
    settings: SampleSettings,
    n_jobs: int | None,
    callback: Callable[[Mapping[str, Any]], object] | None,
) -> Iterator[Callable[..., list[bytes]] | None]:
    """Yield what hands steps of trajectories to joblib's workers, for the engine to call.

    None where the trajectories stay here.
    """
    if not (active() and _divides(settings)):
        yield None
        return
    ground = Ground(problem.gram, problem.offset, problem.softness, problem.inverse)
    with Workers(ground, *problem.source, n_jobs) as workers:
        yield lambda *step: _send(workers, problem.y, callback, *step)


def _send(
    workers: Workers,
    y: Labels,
    callback: Callable[[Mapping[str, Any]], object] | None,
    order: bytes,
    trajectories: list[bytes],
    progress: Mapping[str, Any],
) -> list[bytes]:
    """Let every trajectory take a step."""
    if callback is not None:
        callback(progress)
    return workers.each(_step, [(y, order, trajectory) for trajectory in trajectories])


def _step(ground: Ground, y: Labels, order: bytes, trajectory: bytes) -> bytes:
    """Take a step of one trajectory, on a worker."""
    return _core.take_step(
        Problem(ground.gram, laid(y), ground.softness, ground.offset, ground.inverse),
        order,
        trajectory,
    )


class _Answer(NamedTuple):
    """What a task came back with."""

    state: str
    """``"done"``, ``"lacks"`` (the ground was neither here nor sent) or ``"differs"`` (what was
    made is not what was meant)."""

    process: int
    machine: str
    value: Any

    def __str__(self) -> str:
        return f"{self.state} in process {self.process} of {self.machine}"


def _task(
    key: str, shipment: Ground | Recipe | None, work: Callable[..., Any], arguments: tuple[Any, ...]
) -> _Answer:
    """One task, on its worker."""
    process, machine = os.getpid(), socket.gethostname()
    ground = _SHELF.find(key, shipment)
    if isinstance(ground, str):
        return _Answer(ground, process, machine, None)
    return _Answer("done", process, machine, work(ground, *arguments))


def _task_alone(work: Callable[..., Any], arguments: tuple[Any, ...]) -> _Answer:
    """One task about no ground, on its worker."""
    return _Answer("done", os.getpid(), socket.gethostname(), work(*arguments))


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


def laid(array: Any) -> Any:
    """Return an array as the engine takes it: what came over a network may lie across words."""
    if sparse.issparse(array):  # which the engine never sees
        return array
    return array if array.flags.aligned else array.copy(order="K")


class _Shelf:
    """The ground that a worker used last."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.key: str | None = None
        self.ground: Ground | None = None
        self.uses = 0
        self.timer: threading.Timer | None = None

    def find(self, key: str, shipment: Ground | Recipe | None) -> Ground | str:
        """Return the ground of a digest, or what is wrong: ``"lacks"`` or ``"differs"``."""
        with self.lock:  # one matrix for all threads that ask for it
            ground = self.ground if self.key == key else None
            if ground is None:
                if shipment is None:
                    return "lacks"
                if isinstance(shipment, Recipe):
                    ground = shipment.make()
                    if _digest(ground) != key:
                        return "differs"
                else:
                    ground = shipment.copied()
                self.key, self.ground = key, ground
            self.uses += 1
            if self.timer is not None:
                self.timer.cancel()
            self.timer = threading.Timer(_KEPT, self.clear, (self.uses,))
            self.timer.daemon = True
            self.timer.start()
            return ground

    def clear(self, uses: int) -> None:
        """Forget the ground, if it was not used since."""
        with self.lock:
            if self.uses == uses:
                self.key = self.ground = None


_SHELF = _Shelf()


def _blas_threads() -> int:
    """Return how many threads BLAS has here."""
    pools = [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]
    return max(pools, default=1)


def _digest(ground: Ground) -> str:
    """Return a digest of every bit that the engine sees of a ground."""
    gram = ground.gram
    arrays: list[Any] = [np.array([ground.offset]), ground.softness]
    about = ""
    if isinstance(gram, KernelRows):
        arrays.append(gram.inputs)
        about = repr((gram.form, gram.sigma, gram.degree, gram.coef0, gram.factor))
    else:
        arrays.append(gram)
    if ground.inverse is not None:
        # In Fortran order: its transpose is what lies in memory.
        arrays += [ground.inverse[0].lower.T, ground.inverse[1]]
    digest = hashlib.blake2b(about.encode(), digest_size=16)
    for array in arrays:
        digest.update(repr((array.shape, array.dtype.str)).encode())
        digest.update(np.ascontiguousarray(array).data)
    return digest.hexdigest()
