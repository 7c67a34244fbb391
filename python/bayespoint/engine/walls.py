"""Walls in general: half-spaces of a Gaussian vector, and the observations that they make up."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from bayespoint.base import validation
from bayespoint.base.validation import Floats, Integers

MOST_TERMS = 3  # most coordinates of a wall


@dataclass(frozen=True, eq=False)
class Walls:
    r"""Walls :math:`\sum_j b_j z_j \ge 0` of a Gaussian vector z: preferences, ordered classes, ...

    Each has up to three coordinates. Walls of one observation are violated or not as a whole: where
    they are transparent, a ball passes with the same probability however many it violates.

    Parameters
    ----------
    coordinates : array-like of shape (n_walls, 1 to 3), int
        Indices j of the coordinates, the rows of the Gram matrix.
    coefficients : array-like of the same shape
        Finite b_j; 0 where a wall has fewer coordinates.
    observations : array-like of shape (n_walls,), int, default=None
        The observation of each wall, 0, 1, ...; -1: always holds, opaque. None: each is one.

    Raises
    ------
    ValueError, TypeError
        If there are no walls, shapes do not fit, numbers are missing, or coordinates repeated.

    Examples
    --------
    Item 0 is preferred to items 1 and 2:

    >>> from bayespoint import VersionSpace, Walls
    >>> walls = Walls([[0, 1], [0, 2]], [[1.0, -1.0], [1.0, -1.0]])
    >>> space = VersionSpace(np.eye(3), walls=walls)
    >>> bool(abs(space.evidence(random_state=0).value - np.log(1 / 3)) < 0.5)
    True
    """

    coordinates: Integers
    coefficients: Floats
    observations: Integers

    def __init__(
        self, coordinates: ArrayLike, coefficients: ArrayLike, observations: ArrayLike | None = None
    ) -> None:
        b = np.asarray(validation.dense("coefficients", coefficients), dtype=np.float64)
        j = _whole("coordinates", coordinates)
        if b.ndim != 2 or not 1 <= b.shape[1] <= MOST_TERMS or not len(b) or j.shape != b.shape:
            raise ValueError(
                "coordinates and coefficients must have one shape (n_walls, 1 to 3), n_walls > 0; "
                f"got shapes {j.shape} and {b.shape}"
            )
        validation.finite("coefficients", b)
        group = np.arange(len(b)) if observations is None else _whole("observations", observations)
        if group.shape != (len(b),):
            raise ValueError(f"observations must have shape ({len(b)},); got {group.shape}")
        known = np.unique(group[group >= 0])
        if (group < -1).any() or not np.array_equal(known, np.arange(len(known))):
            raise ValueError(f"observations must be -1, or 0, 1, ... without a gap; got {group}")
        used = np.where(b != 0, j, -1 - np.arange(b.shape[1]))
        apart = np.sort(used, axis=1)
        twice = (np.diff(apart, axis=1) == 0).any(axis=1)
        wrong = ~(b != 0).any(axis=1) | twice | ((b != 0) & (j < 0)).any(axis=1)
        if wrong.any():
            k = int(np.argmax(wrong))
            raise ValueError(
                "coordinates must be different indices from 0 on, with a coefficient other than 0 "
                f"for each wall; got {j[k].tolist()} with {b[k].tolist()} for wall {k}"
            )
        j = np.where(b != 0, j, 0)
        validation.set_fields(self, coordinates=j, coefficients=b, observations=group)

    def __len__(self) -> int:
        """Return the number of walls."""
        return len(self.observations)

    @property
    def constrained(self) -> bool:
        """Whether some walls always hold."""
        return bool((self.observations < 0).any())

    def values(self, z: Floats) -> Floats:
        """Return the (..., n_walls) sums of coefficients times the (..., n) coordinates."""
        return np.einsum("...wk,wk->...w", z[..., self.coordinates], self.coefficients)

    def require(self, n: int) -> None:
        """Raise ValueError if a coordinate is not one of n."""
        if (most := int(self.coordinates.max())) >= n:
            raise ValueError(f"walls must have coordinates below {n}, the rows of gram; got {most}")


def _whole(name: str, value: ArrayLike) -> Integers:
    array = validation.dense(name, value)
    if array.dtype.kind not in "iu":
        raise TypeError(f"{name} must hold whole numbers; got {array.dtype}")
    return np.ascontiguousarray(array, dtype=np.int64)
