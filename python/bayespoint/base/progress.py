"""What long work says of its progress."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeAlias

PERCENT = 100  # number of steps of a task whose end is known

Advance: TypeAlias = Callable[[int, str], None]  # called with the steps done and current figures


class Report:
    """Takes the progress of a fit; this one that of work which nobody watches."""

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
