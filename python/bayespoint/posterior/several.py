"""Several models fitted side by side: in threads here, or where joblib's backend has workers."""

from __future__ import annotations

import contextlib
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import CancelledError, ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from contextvars import copy_context
from dataclasses import replace
from functools import partial
from typing import TypeVar

from joblib.parallel import BACKENDS, get_active_backend  # type: ignore[import-untyped]
from sklearn.utils.parallel import Parallel, delayed

from bayespoint.base import memory
from bayespoint.base.linalg import ONE_THREAD_ROWS
from bayespoint.base.stored import pack, unpack
from bayespoint.base.warnings import Advance, Messages, Report, kept_warnings, warn
from bayespoint.data.examples import Examples
from bayespoint.data.plan import Budget
from bayespoint.posterior.fitting import Fit, fit_model
from bayespoint.posterior.model import Model
from bayespoint.results.hyperparameters import Hyperparameters

T = TypeVar("T")

_NAMES = ("sequential", "threading", "loky", "multiprocessing")
_LOCAL = tuple(BACKENDS[name] for name in _NAMES if name in BACKENDS)
"""Joblib's local backends, where threads that share examples are faster. Ray's is a subclass."""


def fit_models(
    hypers: Sequence[Hyperparameters], fit: Fit, budget: Budget, report: Report
) -> list[Model]:
    """Return the models of `fit_model` for each setting, to the bit wherever they are made."""
    landmarks = fit.plan.landmarks
    if len(hypers) > 1 and not landmarks and _elsewhere():
        return _fit_elsewhere(hypers, fit, budget)

    m = 0 if landmarks else len(fit.examples)  # blocks are in threads already
    return each(partial(fit_model, fit=fit), hypers, budget, report, m)


def each(
    fit: Callable[[T, Budget, Report], Model],
    items: Sequence[T],
    budget: Budget,
    report: Report,
    m: int,
) -> list[Model]:
    """Return ``fit(item, ...)`` for every item, some at a time in threads; an error ends all."""
    n, at_once = len(items), 1
    if 0 < m <= ONE_THREAD_ROWS:  # the products of larger matrices have the threads of BLAS
        # Each has a kernel matrix of m examples and keeps its factor.
        possible = int(memory.available() / (8.0 * m * m)) - n
        at_once = max(1, min(n, budget.n_threads, possible))

    def one(k: int, report: Report) -> Model:
        rounds, n_threads = -(-(n - k) // at_once), max(1, budget.n_threads // at_once)
        return fit(items[k], budget.of_model(k, rounds, n_threads), report)

    if at_once == 1:
        return [one(k, report) for k in range(n)]
    ended, lock = threading.Event(), threading.Lock()

    def in_thread(k: int) -> tuple[Model, Messages]:
        with kept_warnings() as messages:
            return one(k, _Relay(report, lock, ended)), messages

    with ThreadPoolExecutor(at_once) as pool:
        # With the settings of the caller, such as those of NumPy's floating-point errors.
        futures = [pool.submit(copy_context().run, in_thread, k) for k in range(n)]
        try:
            for future in as_completed(futures):
                future.result()  # or its exception, as soon as there is one
        except BaseException:
            ended.set()
            pool.shutdown(wait=True, cancel_futures=True)
            raise
    return _with_warnings([future.result() for future in futures])


def _with_warnings(found: Iterable[tuple[Model, Messages]]) -> list[Model]:
    """Return the models, and issue the warnings of their fits."""
    for _, messages in found:
        for message, category in messages:
            warn(message, category)
    return [model for model, _ in found]


class _Relay(Report):
    """Reports from a thread, one at a time; ends its work if that of another has failed."""

    def __init__(self, report: Report, lock: threading.Lock, ended: threading.Event) -> None:
        super().__init__()
        self._report, self._lock, self._ended = report, lock, ended
        self.verbose = report.verbose

    @contextmanager
    def task(
        self, name: str, total: int | None = None, *, called: bool = True
    ) -> Iterator[Advance]:
        """Run a task."""
        stack = contextlib.ExitStack()
        with self._lock:
            shown = stack.enter_context(self._report.task(name, total, called=called))

        def advance(n: int, figures: str) -> None:
            if self._ended.is_set():
                raise CancelledError
            if shown is not None:
                with self._lock:
                    shown(n, figures)

        try:
            yield advance
        finally:
            with self._lock:
                stack.close()

    def tell(self, line: str) -> None:
        """Print a line."""
        with self._lock:
            self._report.tell(line)


def _elsewhere() -> bool:
    """Return whether joblib's active backend may have workers on other machines."""
    backend, _ = get_active_backend()
    if type(backend) in _LOCAL or (backend.nesting_level or 0) > 0:  # or its work is divided
        return False
    # Dask's backend does not count its nesting level. Its worker threads have this attribute.
    dask = sys.modules.get("distributed.worker")
    return dask is None or not hasattr(dask.thread_state, "execution_state")


def _fit_elsewhere(hypers: Sequence[Hyperparameters], fit: Fit, budget: Budget) -> list[Model]:
    """Return the models that joblib's workers fit, with one thread each."""
    # As bytes: arrays that joblib's Dask backend scatters are lost with the worker that holds them.
    # The plan goes as it is: its kernel may be a function that only joblib's backend can send.
    packed = pack(fit.examples)
    fit_of = partial(Fit, labels=fit.labels, classes=fit.classes, plan=fit.plan)
    seconds = None if budget.deadline is None else budget.left  # clocks differ between machines
    tasks = [
        delayed(_fit_packed)(packed, fit_of, hyper, budget.of_model(k, 1, 1), seconds)
        for k, hyper in enumerate(hypers)
    ]
    # Dask warns of arguments of more than 10 MB, and recommends scattered data.
    dask = sys.modules.get("dask")
    limits = {"distributed.admin.large-graph-warning-threshold": "1 TiB"}
    with dask.config.set(limits) if dask else contextlib.nullcontext():
        return _with_warnings(Parallel(n_jobs=budget.n_jobs, batch_size=1)(tasks))


def _fit_packed(
    packed: bytes,
    fit_of: Callable[[Examples], Fit],
    hyper: Hyperparameters,
    budget: Budget,
    seconds: float | None,
) -> tuple[Model, Messages]:
    """Fit one model in a worker."""
    if seconds is not None:
        budget = replace(budget, deadline=time.monotonic() + seconds)
    with kept_warnings() as messages:
        return fit_model(hyper, budget, Report(), fit_of(unpack(packed))), messages
