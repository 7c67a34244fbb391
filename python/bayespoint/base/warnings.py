"""What long work tells: warnings that refer to the user's line, and progress."""

from __future__ import annotations

import os
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import sklearn
from sklearn.exceptions import ConvergenceWarning

Messages = list[tuple[str, type[Warning]]]

_FILES = (os.path.dirname(__file__), str(sklearn.__file__))
_SKIPPED = tuple(os.path.join(os.path.dirname(os.path.abspath(file)), "") for file in _FILES)
"""Folders of this package and of scikit-learn, whose pipelines and searches call `fit`."""

_local = threading.local()


def warn(message: str, category: type[Warning] = ConvergenceWarning) -> None:
    """Warn with the location of the nearest caller outside this package and scikit-learn."""
    if (kept := getattr(_local, "messages", None)) is not None:
        kept.append((message, category))
        return
    level, frame = 2, sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_SKIPPED):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)


@contextmanager
def kept_warnings() -> Iterator[Messages]:
    """Keep the warnings of this thread, for another that has the user's line on its stack."""
    _local.messages = []
    try:
        yield _local.messages
    finally:
        del _local.messages


PERCENT = 100  # number of steps of a task whose end is known

Advance = Callable[[int, str], None]  # called with the steps done and current figures


class Report:
    """Takes the progress of a fit. This base class shows nothing, for work that nobody watches."""

    verbose = 0  # 0: nothing is printed. 1: a line for each part. 2: also bars. 3: also each trial.

    def __init__(self) -> None:
        self._begin = time.perf_counter()

    @contextmanager
    def task(
        self, name: str, total: int | None = None, *, called: bool = True
    ) -> Iterator[Advance | None]:
        """Run a task; yields the function that reports steps, or None if nothing shows them.

        Without a `total` the steps are trials of the search; with called=False none is called back.
        """
        yield None

    @contextmanager
    def part(self, name: str) -> Iterator[Callable[[float], None] | None]:
        """Run a part of the work on a matrix; yields a function that takes the share done."""
        with self.task(name, PERCENT, called=False) as advance:
            yield None if advance is None else lambda share: advance(int(PERCENT * share), "")

    def tell(self, line: str) -> None:
        """Print a line."""

    def seconds(self) -> str:
        """Return the seconds since the last call as text."""
        begin, self._begin = self._begin, time.perf_counter()
        return f"{self._begin - begin:.2g} s"
