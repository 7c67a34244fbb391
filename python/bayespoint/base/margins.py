"""Margins of labeled examples."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayespoint.base.validation import Floats


def margins_of(f: Floats, y: NDArray[Any]) -> Floats:
    """Return the (..., m) margins of examples, given their plane coordinates, which are changed.

    For labels -1 and +1 (int8) these are ``y_i f_i`` for coordinates of shape (..., m). For indices
    of several classes (int64) they are the lead of each example's own class over the best other
    one, for coordinates of shape (..., n_classes, m).
    """
    if y.dtype == np.int8:
        f *= y
        return f
    own = np.arange(len(y))
    leading = f[..., y, own]
    f[..., y, own] = -np.inf
    margins: Floats = leading - f.max(axis=-2)
    return margins
