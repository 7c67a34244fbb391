"""BLAS on one thread, where more would take longer."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from functools import cache
from typing import Any

from threadpoolctl import ThreadpoolController

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


def one_thread() -> AbstractContextManager[Any]:
    """Hold BLAS to one thread. Of several threads of the program the first one's word counts."""
    limit: AbstractContextManager[Any] = _controller().limit(limits=1)
    return limit


def threads_for(m: int) -> AbstractContextManager[Any]:
    """Hold BLAS to one thread if there are few examples."""
    return one_thread() if m <= FEW else nullcontext()
