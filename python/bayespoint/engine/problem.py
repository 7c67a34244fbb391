"""What every function of the engine takes first: a labeled Gram matrix."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from bayespoint.base.factor import Factor
from bayespoint.base.validation import Floats, Labels
from bayespoint.kernels.sources import Gram


@dataclass(frozen=True, eq=False)
class Problem:
    """A labeled Gram matrix of ``m`` examples: arrays that have been checked already."""

    gram: Gram
    """(m, m) Kernel values, without offset and softness, or rows on demand."""

    y: Labels
    """(m,) Labels, -1 and +1, int8."""

    softness: Floats
    """(m,) Added to the diagonal."""

    offset: float
    """Added to every kernel value."""

    inverse: tuple[Factor, Floats] | None = None
    """A factor of the Gram matrix, with offset and softness, and the diagonal of its inverse, if
    at hand: an invertible one is not computed again."""

    source: tuple[Any, Any] = (None, None)
    """Kernel and inputs that the matrix is of, if known: other machines make it of these."""

    def __len__(self) -> int:
        return len(self.y)
