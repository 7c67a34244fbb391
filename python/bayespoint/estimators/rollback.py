"""Restoring an estimator if its fit fails."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any, TypeVar, cast

Fit = TypeVar("Fit", bound=Callable[..., Any])


@contextmanager
def rolled_back_on_error(estimator: Any) -> Iterator[None]:
    """Restore all attributes of an estimator if the block raises an exception."""
    before = vars(estimator).copy()
    try:
        yield
    except BaseException:
        vars(estimator).clear()
        vars(estimator).update(before)
        raise


def roll_back_on_error(fit: Fit) -> Fit:
    """Decorate a method to restore the attributes of its object if it raises an exception."""

    @wraps(fit)
    def wrapped(self: Any, *args: Any, **kwargs: Any) -> Any:
        with rolled_back_on_error(self):
            return fit(self, *args, **kwargs)

    return cast("Fit", wrapped)
