"""Arguments that the engine's functions share: a labeled Gram matrix, a callback."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from bayespoint.base import validation
from bayespoint.base.linalg import Inverse
from bayespoint.base.validation import Array, Floats, Indices
from bayespoint.engine.settings import SampleSettings
from bayespoint.engine.walls import Walls
from bayespoint.kernels.gram import Gram, product

Callback = Callable[[Mapping[str, Any]], object] | None
"""Called with the progress of a run. An exception from it ends the run."""


@dataclass(frozen=True, eq=False)
class Problem:
    """A labeled Gram matrix of ``m`` examples: arrays that are already checked.

    With more than two classes a weight vector has a part for each class: dual coefficients of shape
    (n_classes, m). What all parts share changes no label and is taken off, so that the coefficients
    of an example sum to zero.
    """

    gram: Gram  # (m, m) kernel values, without offset and softness
    label: Indices  # (m,) indices of classes, of two of which the second is positive
    softness: Floats  # (m,) added to the diagonal
    offset: float  # added to every kernel value
    inverse: Inverse | None = None
    n_functions: int = 1  # weight vectors: 1 of two classes, otherwise one for each class
    walls: Walls | None = None
    """In place of labels, walls of the vector of m coordinates whose covariance is the matrix."""

    def __len__(self) -> int:
        return len(self.softness)

    @property
    def y(self) -> Array:
        """(m,) Labels -1 and +1, int8, or those of several classes."""
        if self.n_functions > 1:
            return self.label
        return np.where(self.label > 0, 1, -1).astype(np.int8)

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the dual coefficients of a weight vector: (m,) or (n_classes, m)."""
        return (self.n_functions, len(self)) if self.n_functions > 1 else (len(self),)

    def require_binary(self, what: str) -> None:
        """Raise ValueError for several classes: `what` is defined for two only."""
        if self.n_functions > 1:
            raise ValueError(f"y must be of two classes for {what}; got {self.n_functions} classes")
        self.require_labels(what)

    def require_labels(self, what: str) -> None:
        """Raise ValueError for walls: `what` is defined for classes only."""
        if self.walls is not None:
            raise ValueError(f"walls must be None for {what}; got {len(self.walls)} walls")

    def resolved(self, settings: SampleSettings) -> SampleSettings:
        """Return settings with `average` resolved: to conditional means where they are known."""
        # The engine knows none behind transparent walls.
        smooths = self.walls is None or settings.transparency == (0.0, 0.0)
        if self.inverse is not None and smooths:
            return replace(settings, average="conditional")
        return replace(settings, average="arc") if settings.average == "auto" else settings

    def coordinates(self, dual_coef: Floats) -> Floats:
        """Return the values ``<w, phi_i>`` of dual coefficients, in their shape (..., m)."""
        f = product(dual_coef, self.gram)
        if self.offset:
            f += self.offset * dual_coef.sum(axis=-1, keepdims=True)
        f += dual_coef * self.softness
        return f

    def margins(self, dual_coef: Floats) -> Floats:
        """Return the (..., m) margins ``y_i <w, phi_i>``, leads of classes, or values of walls."""
        with validation.overflowing():
            f = self.coordinates(dual_coef)
            if self.walls is not None:
                f = self.walls.values(f)
            elif self.n_functions > 1:
                of_label = ..., self.label, np.arange(len(self))
                leading = f[of_label]
                f[of_label] = -np.inf
                f = leading - f.max(axis=-2)
            else:
                f *= self.y
        if not np.isfinite(f).all():
            raise ValueError("dual_coef must not be so large that margins overflow")
        return f
