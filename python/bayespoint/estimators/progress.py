"""How far a fit has come, for people: lines and bars on standard error, scikit-learn's callbacks.

Callbacks (:mod:`sklearn.callback`, scikit-learn 1.9 and newer) see a fit as a tree of tasks: one
for the search by evidence with a task for each setting tried, and one for each billiard with a
hundred tasks, a percent of the way to its tolerance each.
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from bayespoint.base.warnings import warn
from bayespoint.kernels.functions import short
from bayespoint.results import BilliardResult, Search
from bayespoint.results.search import rates

try:
    from sklearn.callback import CallbackSupportMixin, with_callbacks
except ImportError:  # scikit-learn < 1.9

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Nothing: this scikit-learn has no callbacks."""

    def with_callbacks(method: Callable[..., Any]) -> Callable[..., Any]:
        """Return the method as it is: this scikit-learn has no callbacks."""
        return method


__all__ = ["CallbackSupportMixin", "Progress", "handed_on", "with_callbacks"]

_PERCENT = 100


class Progress:
    """One fit, told as it goes on.

    Parameters
    ----------
    estimator : estimator
        What is fitted. Its callbacks are told.
    verbose : int
        0: nothing is printed. 1: a line for what is done. 2: bars for what goes on, too. 3: a line
        for each setting tried, too.
    names : list of str
        A name for each billiard.
    X, y : array-like
        The training examples.
    """

    def __init__(self, estimator: Any, verbose: int, names: list[str], X: Any, y: Any) -> None:
        self._estimator, self._verbose, self._data = estimator, verbose, {"X": X, "y": y}
        self._names = iter(names)
        self._begin = time.perf_counter()
        self._told = bool(getattr(estimator, "_skl_callbacks", ()))
        self._wants_to_stop = False
        self._root: Any = None
        if hasattr(estimator, "_init_callback_context"):
            self._root = estimator._init_callback_context(max_subtasks=1 + len(names))
            self._root.call_on_fit_task_begin(estimator=estimator, **self._data)

    @contextmanager
    def search(self) -> Iterator[Callable[[Mapping[str, float]], None] | None]:
        """Give what to call with each setting tried, if anybody listens."""
        with self._task("search by evidence", None) as task, self._bar() as bar:
            best = -math.inf

            def report(setting: Mapping[str, float]) -> None:
                nonlocal best
                best = max(best, setting["log_evidence"])
                if self._verbose > 2:
                    _tell(", ".join(f"{name}={value:.4g}" for name, value in setting.items()))
                bar("search by evidence", None, f"log_evidence {best:.2f}")
                self._step(task)

            yield report if self._told or self._verbose > 1 else None

    @contextmanager
    def billiard(self, tol: float) -> Iterator[Callable[[Mapping[str, Any]], None] | None]:
        """Give what to call while the next billiard is played, if anybody listens."""
        name = next(self._names)
        with self._task(name, _PERCENT) as task, self._bar() as bar:
            done = 0

            def report(progress: Mapping[str, Any]) -> None:
                nonlocal done
                error = progress["center_error"]
                # The error falls with the square root of the path. The end says when it is done.
                share = min(0.99, (tol / error) ** 2) if error > 0 else 0.0
                for _ in range(done, int(_PERCENT * share)):
                    self._step(task)
                done = max(done, int(_PERCENT * share))
                bar(
                    name,
                    done,
                    f"{progress['bounces']} bounces, center_error {error:.2g} rad (tol {tol:.2g})",
                )

            yield report if self._told or self._verbose > 1 else None

    def found_setting(self, found: Search | None) -> None:
        """Say what the search found."""
        if not self._verbose or found is None:
            return
        noise = f", label noise {rates(found.label_noise)}" if any(found.label_noise) else ""
        _tell(
            f"search by evidence: {len(found.tried)} settings on {found.n_examples} examples, "
            f"{self._seconds()}: {short(found.kernel)}, softness {found.softness:.4g}{noise}, "
            f"log evidence {found.log_evidence:.2f}"
        )

    def found_center(self, name: str, result: BilliardResult, tol: float) -> None:
        """Say how a billiard ended."""
        if self._verbose:
            _tell(
                f"{name}: {int(result.bounces.sum())} bounces, {self._seconds()}: center_error "
                f"{result.center_error:.2g} rad (tol {tol:.2g}), "
                f"{len(result.support)} of {len(result.hits)} examples put up a wall"
            )

    def done(self) -> None:
        """End the fit: the estimator can predict."""
        if self._root is not None:
            self._heed(
                self._root.call_on_fit_task_end(
                    estimator=self._estimator, reconstruction_attributes={}, **self._data
                )
            )
        if self._wants_to_stop:
            warn(
                "a callback asked to stop the fit, which went on to its end: to stop earlier, "
                "raise tol or an exception",
                UserWarning,
            )

    def _seconds(self) -> str:
        begin, self._begin = self._begin, time.perf_counter()
        return f"{self._begin - begin:.2g} s"

    @contextmanager
    def _task(self, name: str, n_steps: int | None) -> Iterator[Any]:
        """Tell callbacks that a task begins, and that it has ended."""
        if not self._told:
            yield None
            return
        task = self._root.subcontext(task_name=name, max_subtasks=n_steps)
        task.call_on_fit_task_begin(estimator=self._estimator, **self._data)
        yield task
        self._heed(task.call_on_fit_task_end(estimator=self._estimator, **self._data))

    def _step(self, task: Any) -> None:
        """Tell callbacks of a step of a task."""
        if task is not None:
            step = task.subcontext()
            step.call_on_fit_task_begin(estimator=self._estimator, **self._data)
            self._heed(step.call_on_fit_task_end(estimator=self._estimator, **self._data))

    def _heed(self, stop: bool) -> None:
        self._wants_to_stop = self._wants_to_stop or stop

    @contextmanager
    def _bar(self) -> Iterator[Callable[[str, int | None, str], None]]:
        """Give what shows a bar from the first call on: a name, a percentage or None, and news."""
        bar: Any = None

        def show(name: str, percent: int | None, news: str) -> None:
            nonlocal bar
            if self._verbose < 2:
                return
            if bar is None:
                from bayespoint.base.progress_bar import Bar

                form = (
                    "{desc}: {n_fmt} settings, {elapsed}{postfix}"
                    if percent is None
                    else "{desc}: {percentage:3.0f}%|{bar}| {elapsed}{postfix}"
                )
                bar = Bar(
                    desc=name,
                    total=None if percent is None else _PERCENT,
                    initial=1 if percent is None else percent,
                    postfix=news,
                    bar_format=form,
                    leave=False,
                    dynamic_ncols=True,
                )
                return
            bar.set_postfix_str(news, refresh=False)
            bar.update(1 if percent is None else percent - bar.n)

        try:
            yield show
        finally:
            if bar is not None:
                bar.close()


@contextmanager
def handed_on(outer: Any, inner: Any, X: Any, y: Any) -> Iterator[None]:
    """Hand the callbacks of an estimator on to the one inside it, which is fitted meanwhile."""
    if not hasattr(outer, "_init_callback_context"):
        yield
        return
    root = outer._init_callback_context(max_subtasks=1)
    root.call_on_fit_task_begin(estimator=outer, X=X, y=y)
    task = root.subcontext(task_name="fit the classifier inside")
    with task.propagate_callback_context(inner):
        task.call_on_fit_task_begin(estimator=outer, X=X, y=y)
        yield
        task.call_on_fit_task_end(estimator=outer, X=X, y=y)
    root.call_on_fit_task_end(estimator=outer, X=X, y=y, reconstruction_attributes={})


def _tell(line: str) -> None:
    from tqdm import tqdm  # as in _bar: only who asks for lines and bars pays for its import

    tqdm.write(line, file=sys.stderr)
