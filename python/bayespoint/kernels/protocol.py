"""What kernels tell of themselves: parameters, given or to be found, metric and derivatives."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from bayespoint.base import validation
from bayespoint.base.validation import Array, Floats, Indices

AnyKernel = Callable[..., Any]  # an object of this package or scikit-learn's, or a function k(X, Y)
Inputs = Array
Other = Inputs | None  # second inputs of a kernel; None stands for the first ones
Bounds = tuple[float, float]
ByName = Mapping[str, float]  # a number for each of some parameters, by its name
Slopes = tuple[ByName, Floats | None]
"""Derivatives of a number: by the logarithms of parameters, those that are known, by name; and by
the logarithms of factors on the features, at factors of 1, or None if they are unknown."""
Pullback = Callable[[Floats], Slopes]
"""Turns the derivatives of a number by kernel values into those by what the values depend on."""


Pulled = tuple[Floats, Pullback]
"""Kernel values, and the function for the derivatives of what is made of them."""


@dataclass(frozen=True)
class Parameter:
    """A positive parameter of a kernel that is to be found."""

    name: str
    """Its name, a key of the mapping for ``with_values``."""
    low: float
    """Lower bound of the search."""
    high: float
    """Upper bound of the search."""
    start: float
    """Where the search starts, and the median of its prior where it is averaged."""
    spread: float = 1.5
    """Standard deviation of the logarithm under the prior, a log-normal distribution."""
    role: str = ""
    """"length" of a length scale, "weight" of a weight of features, which scale them; or empty."""
    family: str = ""
    """Common name of parameters of which each feature has one, such as "sigma"; or empty."""
    is_bounded: bool = False
    """Whether the bounds are those of a user, who is told where a search ends at one."""


@dataclass(frozen=True, eq=False)
class Metric:
    """How a kernel measures distances of vectors with d features."""

    scale: Floats
    """(d,) Factors of the features."""
    limits: Floats
    """(d,) Infinite for numbers; of a category how far its levels are apart, before the factor."""
    groups: Indices
    """(d,) The weight of each feature, from 0 on, which several may share."""


Parameters = tuple[Parameter, ...]


def plain_metric(d: int) -> Metric:
    """Return the metric of plain distances."""
    return Metric(np.ones(d), np.full(d, np.inf), np.arange(d))


def unknown(by_values: Floats) -> Slopes:
    """Return no derivatives: the pullback of a kernel that knows none."""
    return {}, None


def added(parts: Iterable[Slopes]) -> Slopes:
    """Return the sums of derivatives; those by weights are None if a part does not know them."""
    total, of_parts = dict[str, float](), []
    for named, by_weights in parts:
        total |= {name: total.get(name, 0.0) + slope for name, slope in named.items()}
        of_parts.append(by_weights)
    known = [by_weights for by_weights in of_parts if by_weights is not None]
    return total, sum(known[1:], known[0]) if known and len(known) == len(of_parts) else None


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
    reach: tuple[float, float] = (math.exp(-7), math.exp(7)),
    spread: float = Parameter.spread,
    *,
    role: str = "",
    family: str = "",
) -> Parameter:
    """Return a parameter to be searched within the user's bounds, or from and to start * reach."""
    low, high = bounds or (start * reach[0], start * reach[1])
    if not low < start < high:
        start = math.sqrt(low) * math.sqrt(high)  # the geometric mean of the bounds
    return Parameter(name, low, high, start, spread, role, family, bounds is not None)


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
    return {field.name: getattr(kernel, field.name) for field in known}


def numbered(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parts of a sum or product by their numbers."""
    return {str(number): part for number, part in enumerate(fields.get("parts", ()))}


def has_params(value: object) -> bool:
    """Return whether a value is an object with parameters by name, such as a kernel."""
    return hasattr(value, "get_params") and not isinstance(value, type)
