"""A normal approximation of a posterior at the training examples, and its evidence."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from bayespoint.base.validation import Floats


@dataclass(frozen=True)
class Approximation:
    """The approximate evidence and its derivatives."""

    log_evidence: float
    """Nats; minus infinity if it could not be computed."""

    by_softness: Floats
    """(m,) derivatives by the softness of each example."""

    by_noise: Floats
    """(2,) derivatives by the label noise of the negative and of the positive class; for several
    classes halves of that by the one rate."""

    by_gram: Floats | None
    """(m, m) matrix R: the derivative by a parameter t of K is sum(R * dK/dt)."""

    end: Any
    """Where the iteration ended: the start for a similar setting."""

    converged: bool
    """Whether it stopped changing."""
