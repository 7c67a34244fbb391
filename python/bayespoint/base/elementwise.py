"""Checks of arguments that may be one number or an array of them, for functions that broadcast.

A message says three things: which argument, what is wanted, what came.
"""

from __future__ import annotations

import math
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from bayespoint.base import validation
from bayespoint.base.validation import Floats

Numbers: TypeAlias = Any
"""What a function that broadcasts returns: a float for numbers, an array for arrays."""

_MOST = 1e300
"""Of what is counted: products with it must not overflow."""


def reals(
    name: str,
    value: ArrayLike,
    *,
    low: float = -math.inf,
    high: float = math.inf,
    low_open: bool = False,
    high_open: bool = False,
) -> Floats:
    """Return `value` as an array of finite doubles between `low` and `high`."""
    interval = (f"[{low:g}, " if math.isfinite(low) and not low_open else f"({low:g}, ") + (
        f"{high:g}]" if math.isfinite(high) and not high_open else f"{high:g})"
    )
    array = _numbers(name, value, f"finite and in {interval}")
    inside = np.isfinite(array)
    inside &= array > low if low_open else array >= low
    inside &= array < high if high_open else array <= high
    if not inside.all():
        raise ValueError(f"{name} must be finite and in {interval}; got {_first(array, ~inside)}")
    return array


def whole(name: str, value: ArrayLike, *, low: int) -> Floats:
    """Return `value` as an array of doubles that are whole numbers of at least `low`."""
    wanted = f"a whole number of at least {low}, at most {_MOST:g}"
    array = _numbers(name, value, wanted)
    fit = (array >= low) & (array <= _MOST) & (array == np.floor(array))
    if not fit.all():
        raise ValueError(f"{name} must be {wanted}; got {_first(array, ~fit)}")
    return array


def at_most(name: str, array: Floats, other: str, limit: Floats) -> None:
    """Raise if an element of `array` exceeds that of `limit`, the argument called `other`."""
    array, limit = np.broadcast_arrays(array, limit)
    above = array > limit
    if above.any():
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


def _numbers(name: str, value: ArrayLike, wanted: str) -> Floats:
    array = validation.dense(name, value)
    if array.dtype.kind == "b":
        raise TypeError(f"{name} must be {wanted}; got a boolean")
    return np.array(array, dtype=np.float64)


def _first(array: Floats, where: Any) -> str:
    """Return the first element of `array` where `where` is true, and its place, as text."""
    place = np.argwhere(where)[0]
    at = f" at [{', '.join(str(k) for k in place)}]" if array.ndim else ""
    return f"{array[tuple(place)]:.10g}{at}"
