"""Progress of a fit: lines and bars, and a tree of tasks for callbacks of scikit-learn 1.9."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from sklearn.base import BaseEstimator
from tqdm import tqdm

from bayespoint.base.warnings import Advance, Report, warn

try:
    from sklearn.callback import CallbackSupportMixin, with_callbacks
except ImportError:  # scikit-learn < 1.9
    CallbackSupportMixin = type("CallbackSupportMixin", (), {})

    def with_callbacks(method: Callable[..., Any]) -> Callable[..., Any]:
        """Return the method unchanged, since this scikit-learn has no callbacks."""
        return method


__all__ = ["Bar", "CallbackSupportMixin", "Progress", "with_callbacks"]


class Bar(tqdm):  # type: ignore[misc]
    """A progress bar without tqdm's monitoring thread, which would outlive it."""

    monitor_interval = 0


class Progress(Report):
    """Progress of one fit: lines, bars and, given their data X and y, callbacks."""

    def __init__(self, estimator: BaseEstimator, verbose: int, n_tasks: int, **data: Any) -> None:
        super().__init__()
        self.verbose, self._estimator, self._data = verbose, estimator, data
        self._asked_to_stop = False
        self._root: Any = None
        if data and hasattr(estimator, "_init_callback_context"):
            self._root = self._begun(estimator._init_callback_context(max_subtasks=n_tasks))

    @contextmanager
    def task(
        self, name: str, total: int | None = None, *, called: bool = True
    ) -> Iterator[Advance | None]:
        """Run a task, with a bar and as one of the callbacks' tasks."""
        has_callbacks = bool(getattr(self._estimator, "_skl_callbacks", ()))
        called = called and self._root is not None and has_callbacks
        if not called and self.verbose < 2:
            yield None
            return
        task = None
        if called:
            task = self._begun(self._root.subcontext(task_name=name, max_subtasks=total))
        form = "{desc}: {percentage:3.0f}%|{bar}| " if total else "{desc}: {n_fmt} settings, "
        with Bar(
            desc=name,
            total=total,
            bar_format=form + "{elapsed}{postfix}",
            leave=False,
            dynamic_ncols=True,
            miniters=0,  # the figures change also where the percentage does not
            disable=self.verbose < 2,
        ) as bar:
            done = 0

            def advance(n: int, figures: str) -> None:
                nonlocal done
                for _ in range(done, n):
                    if task is not None:
                        self._end(self._begun(task.subcontext()))
                bar.set_postfix_str(figures, refresh=False)
                bar.update(n - done)
                done = n

            yield advance
        if task is not None:
            self._end(task)

    def tell(self, line: str) -> None:
        """Print a line to standard error, above the bars, unless nothing is printed."""
        if self.verbose:
            tqdm.write(line, file=sys.stderr)

    def done(self) -> None:
        """Report the end of the fit, after which the estimator can predict."""
        if self._root is not None:
            self._end(self._root, reconstruction_attributes={})
        if self._asked_to_stop:
            warn(
                "a callback asked to stop the fit, which is not supported: to stop a fit, raise an "
                "exception in the callback; for shorter fits choose a larger tol",
                UserWarning,
            )

    def _begun(self, task: Any) -> Any:
        task.call_on_fit_task_begin(estimator=self._estimator, **self._data)
        return task

    def _end(self, task: Any, reconstruction_attributes: Any = None) -> None:
        stop = task.call_on_fit_task_end(
            estimator=self._estimator,
            reconstruction_attributes=reconstruction_attributes,
            **self._data,
        )
        self._asked_to_stop = self._asked_to_stop or stop
