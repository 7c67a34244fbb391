"""Checks that values of latent functions neither overflow nor underflow."""

from __future__ import annotations

import numpy as np

from bayespoint.base.validation import Floats

_LARGEST = 1e140  # value of f: sums of squares, and their inverses, are in the range of doubles


def product(left: Floats, right: Floats) -> Floats:
    """Return the matrix product of kernel values and coefficients, or raise ValueError."""
    with np.errstate(over="ignore", invalid="ignore"):
        values = np.asarray(left @ right)
    if not np.isfinite(values).all():
        raise ValueError("X must not be so large that decision values overflow")
    return values


def require_square(size: Floats) -> None:
    """Raise ValueError if squares of these absolute values of f overflow or underflow."""
    if (size > _LARGEST).any():
        raise ValueError("X must not be so large that decision values overflow")
    if ((size > 0) & (size < 1 / _LARGEST)).any():
        raise ValueError(
            "X must not be so small that the squares of decision values vanish: scale the inputs"
        )
