"""Types of kernels, their tunable parameters, and the derivatives for these."""

from __future__ import annotations

from collections import UserDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.float64]
Inputs: TypeAlias = NDArray[Any]
Other: TypeAlias = Inputs | None
"""Second inputs of a kernel; None stands for the first ones."""
Bounds: TypeAlias = tuple[float, float]
ByName: TypeAlias = Mapping[str, float]
"""A number for each of some parameters, by its name."""
Slopes: TypeAlias = tuple[ByName, Floats] | None
"""Derivatives by log parameters, and by log weights of the features; None if it knows none."""


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


class KernelGradient(UserDict[str, Any]):
    """Derivatives of a kernel matrix by log parameters, each computed by a function on access.

    With a length scale for each of many features, the matrices may not all fit into memory.
    """

    def __getitem__(self, name: str) -> Floats:
        values: Floats = self.data[name]()
        return values


def deferred(
    gradient: Mapping[str, Floats],
    finish: Callable[[Floats], Floats] = lambda derivative: derivative,
    prefix: str = "",
) -> dict[str, Callable[[], Floats]]:
    """Return functions that compute the entries of a gradient and then apply `finish`."""
    return {prefix + name: partial(lambda key: finish(gradient[key]), name) for name in gradient}


def prefixed(prefix: str, values: ByName) -> dict[str, float]:
    """Return the values for a part of a kernel by the names of its parameters in the whole."""
    return {prefix + name: value for name, value in values.items()}
