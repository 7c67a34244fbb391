"""What fits and runs are wrapped in: restoring an estimator whose fit fails, and silence."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any, TypeVar, cast

from sklearn.exceptions import ConvergenceWarning

Fit = TypeVar("Fit", bound=Callable[..., Any])


@contextmanager
def without_warnings() -> Iterator[None]:
    """Ignore warnings that a run has not converged."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        yield


def roll_back_on_error(fit: Fit) -> Fit:
    """Decorate a method to restore the attributes of its object if it raises an exception."""

    @wraps(fit)
    def wrapped(self: Any, *args: Any, **kwargs: Any) -> Any:
        before = vars(self).copy()
        try:
            return fit(self, *args, **kwargs)
        except BaseException:
            vars(self).clear()
            vars(self).update(before)
            raise

    return cast("Fit", wrapped)
