"""Checks of arrays of arguments, in the words of `bayespoint.base.validation`."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bayespoint.base.validation import Flags, Floats, dense, interval

Labels: TypeAlias = NDArray[np.int8]  # -1 and +1
Numbers: TypeAlias = Any  # what a function returns that broadcasts: a float or an array


def reals(name: str, value: ArrayLike, **limits: Any) -> Floats:
    """Return `value` as an array of finite doubles within the limits of `interval`."""
    text, inside = interval(**limits)
    return _numbers(name, value, f"finite and in {text}", inside)


positive = partial(reals, low=0.0, low_open=True)
probability = partial(positive, high=1.0, high_open=True)


def whole(name: str, value: ArrayLike, *, low: int) -> Floats:
    """Return `value` as an array of doubles that are whole numbers of at least `low`."""
    # The limit keeps products of counts from overflowing.
    wanted = f"a whole number of at least {low}, at most 1e+300"
    return _numbers(name, value, wanted, lambda x: (x >= low) & (x <= 1e300) & (x == np.floor(x)))


def at_most(name: str, array: Floats, other: str, limit: Floats) -> None:
    """Raise if an element of `array` exceeds that of `limit`, the argument called `other`."""
    array, limit = np.broadcast_arrays(array, limit)
    if (above := array > limit).any():
        raise ValueError(
            f"{name} must be at most {other}; got {_first(array, above)} for {other} = "
            f"{limit[above].flat[0]:.10g}"
        )


def broadcast(**arrays: Floats) -> tuple[Floats, ...]:
    """Return the arrays with one common shape, or raise naming the shapes that do not fit."""
    try:
        return tuple(np.broadcast_arrays(*arrays.values()))
    except ValueError as error:
        shapes = ", ".join(f"{name} {array.shape}" for name, array in arrays.items())
        raise ValueError(f"shapes must broadcast together; got {shapes}") from error


def plain(array: Any) -> Numbers:
    """Return an array as it is, and one without dimensions as a float."""
    return float(array) if np.ndim(array) == 0 else array


def _numbers(name: str, value: ArrayLike, wanted: str, right: Callable[[Floats], Flags]) -> Floats:
    array = dense(name, value)
    if array.dtype.kind == "b":
        raise TypeError(f"{name} must be {wanted}; got a boolean")
    array = np.array(array, dtype=np.float64)
    if not (fit := np.asarray(right(array))).all():
        raise ValueError(f"{name} must be {wanted}; got {_first(array, ~fit)}")
    return array


def _first(array: Floats, where: Any) -> str:
    """Return the first element of `array` where `where` is true, and its index, as text."""
    place = np.argwhere(where)[0]
    at = f" at [{', '.join(map(str, place))}]" if array.ndim else ""
    return f"{array[tuple(place)]:.10g}{at}"
