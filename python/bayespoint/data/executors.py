"""Where the blocks of a fit lie and are worked on: threads of this process, or Dask.

An executor applies a function to every block. What it keeps stays where the block is; sums are
formed there too, always in the same order, so that results do not depend on the number of threads
or workers. Functions are pure: Dask repeats them if a worker is lost.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial, reduce
from operator import add
from typing import Any, TypeVar
from uuid import uuid4

from bayespoint.base.linalg import one_thread
from bayespoint.base.stored import pack, unpack

_T = TypeVar("_T")
Work = Callable[..., _T]  # arguments that all blocks share are in a `partial`
BlockArguments = Sequence[Sequence[Any]]
"""Arguments of the work, each for every block: as they are, kept or deferred."""

_BRANCHES = 8  # number of results that Dask adds in one task


def _value(argument: Any) -> Any:
    """Return an argument; one that is deferred, a call, is computed."""
    if not isinstance(argument, partial):
        return argument
    return argument.func(*map(_value, argument.args), **argument.keywords)


class Threads:
    """Threads of this process, each with a block at a time and one thread of BLAS."""

    def __init__(self, n_threads: int) -> None:
        self.n_threads = n_threads
        self._pool: ThreadPoolExecutor | None = None

    @contextmanager
    def running(self) -> Iterator[None]:
        """Keep the threads for as long as the context, which is around all other calls."""
        with one_thread():
            if self.n_threads == 1:
                yield
                return
            self._pool = ThreadPoolExecutor(self.n_threads)
            try:
                yield
            finally:
                # After Ctrl-C the tasks that have not begun are dropped.
                self._pool.shutdown(cancel_futures=True)
                self._pool = None

    def keep(self, work: Work[_T], arguments: BlockArguments) -> list[_T]:
        """Return the results of the work on each block."""
        return list(self._results(work, arguments))

    def defer(self, work: Work[Any], arguments: BlockArguments) -> list[Any]:
        """Return what stands for the results, which are computed anew at every use."""
        return [partial(work, *row) for row in zip(*arguments, strict=True)]

    def total(self, work: Work[_T], arguments: BlockArguments) -> _T:
        """Return the sum of the results, to which each is added when it is there."""
        return reduce(add, self._results(work, arguments))

    def _results(self, work: Work[_T], arguments: BlockArguments) -> Iterator[_T]:
        """Yield the results in order, with at most two for each thread in memory."""

        def task(row: tuple[Any, ...]) -> _T:
            return work(*map(_value, row))

        rows = list(zip(*arguments, strict=True))
        if self._pool is None or len(rows) == 1:
            yield from map(task, rows)
            return
        waiting = deque[Future[_T]]()
        for row in rows:
            waiting.append(self._pool.submit(task, row))
            if len(waiting) == 2 * self.n_threads:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()


class Dask:
    """Dask's scheduler: the active cluster, or its threads in this process."""

    running = staticmethod(one_thread)
    """Limits this process to one thread of BLAS; the workers of Dask are running already."""

    def keep(self, work: Work[Any], arguments: BlockArguments) -> list[Any]:
        """Return delayed objects of results that are kept on the workers."""
        return list(dask().persist(*self.defer(work, arguments)))

    def defer(self, work: Work[Any], arguments: BlockArguments) -> list[Any]:
        """Return delayed objects of results that are computed at every use."""
        delayed = dask().delayed
        shared = delayed(pack(work), pure=False)  # sent once, not with each task
        task = delayed(_in_one_thread, pure=False)
        # Dask plans with the mean time of tasks of one name.
        name = f"{getattr(work, 'func', work).__name__.strip('_')}-{uuid4().hex}"
        rows = enumerate(zip(*arguments, strict=True))
        return [task(shared, *row, dask_key_name=f"{name}-{k}") for k, row in rows]

    def total(self, work: Work[_T], arguments: BlockArguments) -> Any:
        """Return the sum of the results, formed on the workers in groups."""
        parts = self.defer(work, arguments)
        join = dask().delayed(reduce, pure=False)
        while len(parts) > 1:
            parts = [join(add, parts[k : k + _BRANCHES]) for k in range(0, len(parts), _BRANCHES)]
        [total] = dask().compute(parts[0])
        return total


Executor = Threads | Dask


def dask() -> Any:
    """Return the module, which is an optional dependency."""
    import dask as module

    return module


def _in_one_thread(shared: bytes, *arguments: Any) -> Any:
    """Call a function with one thread of BLAS, since Dask runs as many tasks as there are cores."""
    work = unpack(shared)
    with one_thread():
        return work(*arguments)
