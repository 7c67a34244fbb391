"""The interface of kernels, their tunable parameters, and the derivatives for these."""

from __future__ import annotations

from collections import UserDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias, runtime_checkable

import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.float64]
Inputs: TypeAlias = NDArray[Any]
Bounds: TypeAlias = tuple[float, float]

ROWS = 256
"""Rows of a kernel matrix that are filled at a time."""


@runtime_checkable
class Kernel(Protocol):
    """The interface of a kernel.

    Inputs are the rows of an (n, d) array, or for kernels with ``requires_vector_input = False``
    (as in scikit-learn) the entries of an (n,) array of objects.
    """

    def __call__(self, X: Inputs, Y: Inputs | None = None) -> Floats:
        """Return the (n, n') matrix of kernel values; ``Y=None`` stands for `X`."""

    def diag(self, X: Inputs) -> Floats:
        """Return the (n,) values ``k(x, x)``."""


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
    """Derivatives of a kernel matrix with respect to log parameters, each computed on access.

    It is made from functions that return them. With a length scale for each of many features, the
    matrices may not all fit into memory.
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

    def compute(name: str) -> Callable[[], Floats]:
        return lambda: finish(gradient[name])

    return {prefix + name: compute(name) for name in gradient}
