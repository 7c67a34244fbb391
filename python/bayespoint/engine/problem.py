"""Arguments that the engine's functions share: a labeled Gram matrix, a callback."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from bayespoint.base.linalg import Factor
from bayespoint.base.validation import Floats
from bayespoint.engine.settings import SampleSettings
from bayespoint.engine.walls import Walls
from bayespoint.kernels.gram import Gram, product

Callback: TypeAlias = Callable[[Mapping[str, Any]], object] | None
"""Called with the progress of a run. An exception from it ends the run."""


@dataclass(frozen=True, eq=False)
class Problem:
    """A labeled Gram matrix of ``m`` examples: arrays that are already checked.

    With more than two classes a weight vector has a part for each class: dual coefficients of shape
    (n_classes, m). What all parts share changes no label and is taken off, so that the coefficients
    of an example sum to zero.
    """

    gram: Gram  # (m, m) kernel values, without offset and softness
    label: NDArray[np.intp]  # (m,) indices of classes, of two of which the second is positive
    softness: Floats  # (m,) added to the diagonal
    offset: float  # added to every kernel value
    inverse: tuple[Factor, Floats] | None = None  # factor and diagonal of the inverse
    n_functions: int = 1  # weight vectors: 1 of two classes, otherwise one for each class
    walls: Walls | None = None
    """In place of labels, walls of the vector of m coordinates whose covariance is the matrix."""

    def __len__(self) -> int:
        return len(self.softness)

    @property
    def y(self) -> NDArray[Any]:
        """(m,) Labels -1 and +1, int8, or those of several classes."""
        if self.n_functions > 1:
            return self.label
        return np.where(self.label > 0, 1, -1).astype(np.int8)

    @property
    def is_joint(self) -> bool:
        """Whether a weight vector has a part for each class."""
        return self.n_functions > 1

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the dual coefficients of a weight vector: (m,) or (n_classes, m)."""
        return (self.n_functions, len(self)) if self.is_joint else (len(self),)

    def require_binary(self, what: str) -> None:
        """Raise ValueError for several classes: `what` is defined for two only."""
        if self.is_joint:
            raise ValueError(f"y must be of two classes for {what}; got {self.n_functions} classes")
        self.require_labels(what)

    def require_labels(self, what: str) -> None:
        """Raise ValueError for walls: `what` is defined for classes only."""
        if self.walls is not None:
            raise ValueError(f"walls must be None for {what}; got {len(self.walls)} walls")

    def smooths(self, settings: SampleSettings) -> bool:
        """Return whether the engine knows conditional means: not behind transparent walls."""
        return self.walls is None or settings.transparency == (0.0, 0.0)

    def part(self, index: NDArray[np.intp]) -> Problem:
        """Return the problem of the examples with the given indices."""
        self.require_labels("a part of the examples")
        gram: NDArray[Any] = np.ascontiguousarray(self.gram[np.ix_(index, index)])
        label, softness = self.label[index], self.softness[index]
        return replace(self, gram=gram, label=label, softness=softness, inverse=None)

    @cached_property
    def _planes(self) -> NDArray[np.intp]:
        """The places of the engine's planes in a flat array of shape (n_classes, m).

        Column s of n_functions - 1, of the examples sorted by class, has each one's plane towards
        class s, or s + 1 for examples of the classes up to s.
        """
        examples = np.argsort(self.y, kind="stable")
        columns = np.arange(self.n_functions - 1)[:, None]
        others = columns + (columns >= self.y[examples])
        return np.asarray(others * len(self) + examples, dtype=np.intp).ravel()

    def to_planes(self, dual_coef: NDArray[Any]) -> NDArray[Any]:
        """Return the engine's coefficients, (..., planes), of which these are `from_planes`."""
        if not self.is_joint:
            return dual_coef
        return -dual_coef.reshape(*dual_coef.shape[:-2], -1)[..., self._planes]

    def from_planes(self, dual: NDArray[Any]) -> NDArray[Any]:
        """Return dual coefficients, (..., n_classes, m), of the engine's, (..., planes)."""
        if not self.is_joint:
            return dual
        found, own = self.by_class(dual), np.arange(len(self))
        np.negative(found, out=found)
        found[..., self.y, own] = 0.0
        found[..., self.y, own] = 0.0 - found.sum(axis=-2)
        found += 0.0  # no negative zeros
        return found

    def by_class(self, values: NDArray[Any]) -> NDArray[Any]:
        """Return values of the engine's planes, 0 for each example's own class."""
        if not self.is_joint:
            return values
        found = np.zeros((*values.shape[:-1], self.n_functions * len(self)), dtype=values.dtype)
        found[..., self._planes] = values
        return found.reshape(*values.shape[:-1], self.n_functions, len(self))

    def plane_indices(self, planes: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the engine's planes as places in flat arrays of the shape of coefficients."""
        return self._planes[planes].astype(np.int64) if self.is_joint else planes

    def coordinates(self, dual_coef: Floats) -> Floats:
        """Return the values ``<w, phi_i>`` of dual coefficients, in their shape (..., m)."""
        f = product(dual_coef, self.gram)
        if self.offset:
            f += self.offset * dual_coef.sum(axis=-1, keepdims=True)
        f += dual_coef * self.softness
        return f

    def margins(self, dual_coef: Floats) -> Floats:
        """Return the (..., m) margins ``y_i <w, phi_i>``, leads of classes, or values of walls."""
        with np.errstate(over="ignore", invalid="ignore"):
            f = self.coordinates(dual_coef)
            if self.walls is not None:
                f = self.walls.values(f)
            elif self.is_joint:
                own = np.arange(len(self))
                leading = f[..., self.y, own]
                f[..., self.y, own] = -np.inf
                f = leading - f.max(axis=-2)
            else:
                f *= self.y
        if not np.isfinite(f).all():
            raise ValueError("dual_coef must not be so large that margins overflow")
        return f
