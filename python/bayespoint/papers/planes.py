"""Planes in feature space: what several of the papers' classifiers have found."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from bayespoint import kernels
from bayespoint.base import validation
from bayespoint.base.validation import Array, Floats
from bayespoint.kernels.products import count

_BLOCK_BYTES = 64 * 2**20  # approximate memory of one block of test points


@dataclass(frozen=True, eq=False)
class Hyperplanes:
    """Planes in feature space, one for each binary problem."""

    classes: Array
    kernel: Any
    points: Any  # (r,) inputs with coefficients; None for kernel="precomputed"
    dual_coef: Floats  # (n_problems, r)
    intercept: Floats  # (n_problems,)
    norm: Floats | None  # (n_problems,) lengths that divide the values; None: values

    def values(self, X: Any) -> Floats:
        """Return the (n, n_problems) values at inputs, or from (n, r) kernel values."""
        values = np.empty((count(X), len(self.dual_coef)))
        size = max(1, int(_BLOCK_BYTES / (8 * max(1, self.dual_coef.shape[1]))))
        with np.errstate(over="ignore", invalid="ignore"):
            for rows in validation.blocks(len(values), size):
                k_star = X[rows]
                if self.points is not None:
                    k_star = kernels.evaluate(self.kernel, X[rows], self.points)
                values[rows] = k_star @ self.dual_coef.T
            values += self.intercept
        return finite(values, self.norm)


def finite(values: Floats, norms: Floats | None) -> Floats:
    """Return (n, n_problems) values, divided by the lengths of weight vectors but 0, or raise."""
    if norms is not None:
        with np.errstate(over="ignore"):
            values = values / np.where(norms > 0, norms, 1.0)
    if not np.isfinite(values).all():
        raise ValueError("X must not be so large that decision values overflow")
    return values
