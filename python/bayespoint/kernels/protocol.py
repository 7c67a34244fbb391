"""What a kernel is, and the parameters by which it can be tuned."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias, runtime_checkable

import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.float64]
Inputs: TypeAlias = NDArray[Any]

ROWS = 256
"""Rows of a kernel matrix that are filled at a time."""


@runtime_checkable
class Kernel(Protocol):
    """What the kernels of this module offer.

    Inputs are the rows of an (n, d) array, or the entries of an (n,) array of objects for kernels
    that say ``requires_vector_input = False``, as scikit-learn's do.
    """

    def __call__(self, X: Inputs, Y: Inputs | None = None) -> Floats:
        """Return the (n, n') matrix of kernel values; ``Y=None`` stands for `X`."""

    def diag(self, X: Inputs) -> Floats:
        """Return the values ``k(x, x)``.

        Parameters
        ----------
        X : array of shape (n, n_features), or a sequence of n examples
            What the kernel takes.

        Returns
        -------
        ndarray of shape (n,)
            One value for each example.
        """


@dataclass(frozen=True)
class Parameter:
    """A positive parameter of a kernel that can be tuned."""

    name: str
    """Its name, as ``with_values`` takes it."""

    low: float
    """Lower bound of the search."""

    high: float
    """Upper bound of the search."""

    start: float
    """Where the search starts."""


class Slopes(Mapping[str, Floats]):
    """Derivatives of a kernel matrix by the logarithms of parameters, computed when asked for.

    One matrix at a time: a kernel with a length scale for each of many features has as many
    derivatives.
    """

    def __init__(self, known: Mapping[str, Callable[[], Floats]]) -> None:
        self._known = known

    def __getitem__(self, name: str) -> Floats:
        return self._known[name]()

    def __contains__(self, name: object) -> bool:
        return name in self._known

    def __iter__(self) -> Iterator[str]:
        return iter(self._known)

    def __len__(self) -> int:
        return len(self._known)
