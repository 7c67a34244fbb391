"""Fits that are finished or did not happen."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any, TypeVar, cast

Fit = TypeVar("Fit", bound=Callable[..., Any])


@contextmanager
def rolled_back_on_error(estimator: Any) -> Iterator[None]:
    """Leave an estimator as it was if what is done to it is not finished.

    Otherwise it would predict by the coefficients of one fit and the examples of another.
    """
    before = vars(estimator).copy()
    try:
        yield
    except BaseException:
        vars(estimator).clear()
        vars(estimator).update(before)
        raise


def roll_back_on_error(fit: Fit) -> Fit:
    """Let a method change its object only if it comes to its end."""

    @wraps(fit)
    def whole(self: Any, *args: Any, **kwargs: Any) -> Any:
        with rolled_back_on_error(self):
            return fit(self, *args, **kwargs)

    return cast("Fit", whole)
