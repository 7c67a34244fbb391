"""Parameters of kernels: given or left out, checked, and read and set by name."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping
from typing import Any

from bayespoint.base import validation
from bayespoint.kernels.protocol import Bounds, Parameter


def given(kernel: Any, name: str) -> Any:
    """Return a parameter of a kernel; raise ValueError if it was left out."""
    value = getattr(kernel, name)
    if value is None:
        raise ValueError(
            f"{name} of {kernel!r} must be given outside a fit; got None: give a number, or take "
            "the rule of thumb of bayespoint.kernels.at_start(kernel, X)"
        )
    return value


def check_optional(
    kernel: Any,
    name: str,
    bounds: str = "bounds",
    *,
    check: Callable[[str, Any], Any] = validation.positive,
    check_bound: Callable[[str, Any], float] = validation.positive,
) -> None:
    """Check and set a parameter that may be left out, and its bounds."""
    value, pair = getattr(kernel, name), getattr(kernel, bounds)
    if value is not None:
        value = check(name, value)
        if pair is not None:
            raise ValueError(f"{bounds} must be None with {name} given, {value!r}; got {pair!r}")
    elif pair is not None:
        low, high = pair = validation.pair(bounds, pair, check_bound)
        if not low < high:
            raise ValueError(f"{bounds} must be in order, the lower one first; got {pair!r}")
    validation.set_fields(kernel, **{name: value, bounds: pair})


def within(
    bounds: Bounds | None,
    name: str,
    start: float,
    reach: tuple[float, float],
    spread: float = Parameter.spread,
    *,
    role: str = "",
    family: str = "",
) -> Parameter:
    """Return a parameter to be searched within the user's bounds, or from and to start * reach."""
    low, high = bounds or (start * reach[0], start * reach[1])
    if not low < start < high:
        start = math.sqrt(low) * math.sqrt(high)  # the geometric mean of the bounds
    return Parameter(name, low, high, start, spread, role, family)


def inside(parameter: Parameter, prefix: str) -> Parameter:
    """Return the parameter of a kernel inside another one, which adds a prefix to names."""
    family = prefix + parameter.family if parameter.family else ""
    return dataclasses.replace(parameter, name=prefix + parameter.name, family=family)


def shown(value: object) -> str:
    """Return the repr of a value, with four significant digits."""
    if isinstance(value, float):
        return repr(float(f"{value:.4g}"))
    if isinstance(value, tuple):
        return f"({', '.join(map(shown, value))}{',' * (len(value) == 1)})"
    return repr(value)


def fields_of(kernel: Any) -> dict[str, Any]:
    """Return the fields of a kernel; empty for a user's class that is not a dataclass."""
    known: tuple[Any, ...] = dataclasses.fields(kernel) if dataclasses.is_dataclass(kernel) else ()
    return {each.name: getattr(kernel, each.name) for each in known}


def numbered(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parts of a sum or product by their numbers."""
    return {str(number): part for number, part in enumerate(fields.get("parts", ()))}


def has_params(value: object) -> bool:
    """Return whether a value is an object with parameters by name, such as a kernel."""
    return hasattr(value, "get_params") and not isinstance(value, type)
