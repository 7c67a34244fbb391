"""What kernels tell of themselves: parameters to be found, metric, derivatives."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from bayespoint.base.validation import Array, Floats, Indices

Inputs: TypeAlias = Array
Other: TypeAlias = Inputs | None  # second inputs of a kernel; None stands for the first ones
Bounds: TypeAlias = tuple[float, float]
ByName: TypeAlias = Mapping[str, float]  # a number for each of some parameters, by its name
Slopes: TypeAlias = tuple[ByName, Floats | None]
"""Derivatives of a number by log parameters, as far as they are known, and by log weights of the
features, by which these are multiplied, at weights of 1; None if they are unknown."""
Pullback: TypeAlias = Callable[[Floats], Slopes]
"""Turns the derivatives of a number by kernel values into those by what the values depend on."""


Pulled: TypeAlias = tuple[Floats, Pullback]
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
    """What the parameters of all features share where each has its own, as "sigma"; or empty."""


@dataclass(frozen=True, eq=False)
class Metric:
    """How a kernel measures distances of vectors with d features."""

    scale: Floats
    """(d,) Factors of the features."""
    limits: Floats
    """(d,) Infinite for numbers; of a category how far its levels are apart, before the factor."""
    groups: Indices
    """(d,) The weight of each feature, from 0 on, which several may share."""


def plain_metric(d: int) -> Metric:
    """Return the metric of plain distances."""
    return Metric(np.ones(d), np.full(d, np.inf), np.arange(d))


def unknown(by_values: Floats) -> Slopes:
    """Return no derivatives: the pullback of a kernel that knows none."""
    return {}, None


def added(parts: Iterable[Slopes]) -> Slopes:
    """Return the sums of derivatives; those by weights are None if a part does not know them."""
    total, by_weights = dict[str, float](), list[Floats | None]()
    for named, each in parts:
        total |= {name: total.get(name, 0.0) + slope for name, slope in named.items()}
        by_weights.append(each)
    known = [each for each in by_weights if each is not None]
    return total, sum(known[1:], known[0]) if known and len(known) == len(by_weights) else None
