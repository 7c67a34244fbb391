"""Arguments that the engine's functions share: a labeled Gram matrix, a callback."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from bayespoint.base.linalg import Factor
from bayespoint.base.validation import Floats, Labels
from bayespoint.kernels import rows_on_demand
from bayespoint.kernels.rows_on_demand import Gram

Callback: TypeAlias = Callable[[Mapping[str, Any]], object] | None
"""Called with the progress of a run. An exception from it ends the run."""


@dataclass(frozen=True, eq=False)
class Problem:
    """A labeled Gram matrix of ``m`` examples: arrays that are already checked."""

    gram: Gram
    """(m, m) Kernel values, without offset and softness, or rows on demand."""

    y: Labels
    """(m,) Labels, -1 and +1, int8."""

    softness: Floats
    """(m,) Added to the diagonal."""

    offset: float
    """Added to every kernel value."""

    inverse: tuple[Factor, Floats] | None = None
    """A factor of the invertible Gram matrix, with offset and softness, and the diagonal of its
    inverse, if they have been computed."""

    def __len__(self) -> int:
        return len(self.y)

    def part(self, index: NDArray[np.intp]) -> Problem:
        """Return the problem of the examples with the given indices."""
        part = rows_on_demand.part(self.gram, index)
        return Problem(part, self.y[index], self.softness[index], self.offset)

    def coordinates(self, dual_coef: Floats) -> Floats:
        """Return the plane coordinates ``<w, phi_i>`` of dual coefficients of shape (..., m)."""
        f = rows_on_demand.product(dual_coef, self.gram)
        if self.offset:
            f += self.offset * dual_coef.sum(axis=-1, keepdims=True)
        f += dual_coef * self.softness
        return f

    def margins(self, dual_coef: Floats) -> Floats:
        """Return the margins ``y_i <w, phi_i>`` of dual coefficients of shape (..., m)."""
        with np.errstate(over="ignore", invalid="ignore"):
            f = self.coordinates(dual_coef)
            f *= self.y
        if not np.isfinite(f).all():
            raise ValueError("dual_coef must not be so large that margins overflow")
        return f
