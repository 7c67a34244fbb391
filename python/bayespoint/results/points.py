"""Single weight vectors: the maximal margin, and classifiers that are planes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from bayespoint import kernels
from bayespoint.base import validation
from bayespoint.base.validation import Array, Floats, Indices
from bayespoint.kernels.products import count
from bayespoint.results.result import Result


@dataclass(frozen=True, eq=False, repr=False)
class MaxMargin(Result):
    """The weight vector of the maximal margin.

    For feature vectors of one length it is the center of the largest ball in version space.
    """

    _title = "Maximal margin"
    _shapes = "*m: dual_coef multipliers"

    dual_coef: Floats
    """(m,) or (n_classes, m) Dual coefficients of the unit vector, labels included."""
    multipliers: Floats
    """(m,) Lagrange multipliers ``a_i``. With ``w = sum(a_i y_i phi_i)`` the examples
    on the margin have decision values of 1 in absolute value. With more than two classes
    (n_classes, m): those of the walls between the class of an example and every other."""
    norm: float
    """``|w|``."""
    margin: float
    """``min_i y_i <w, phi_i> / |w|``, positive inside version space."""
    bound: float
    """``|w| / sum(a_i)``: no margin is larger."""
    gap: float
    """Relative duality gap, ``1 - (margin / bound)^2``."""
    kkt: float
    """Largest violation of an optimality condition (Karush, Kuhn and Tucker), in units of the
    margin: how far margins are below 1 for multiplier 0, and from 1 for others."""
    iterations: int
    """Coordinate steps and changes of the active set."""
    converged: bool
    """Whether `kkt` is at most the tolerance, or the rounding error of the multipliers."""

    @property
    def support(self) -> Indices:
        """Indices of the support vectors: the examples with positive multipliers."""
        return np.flatnonzero(self.multipliers.reshape(-1, self.multipliers.shape[-1]).any(axis=0))

    def _rows(self) -> list[tuple[str, str]]:
        return [
            ("examples", f"{self.multipliers.shape[-1]}"),
            ("support vectors", f"{len(self.support)}"),
            ("margin", f"{self.margin:.6g}, at most {self.bound:.6g}"),
            ("relative duality gap", f"{self.gap:.1e}"),
            ("violation", f"{self.kkt:.1e} margins"),
            ("steps", f"{self.iterations}"),
            ("converged", "yes" if self.converged else "no"),
        ]

    def __repr__(self) -> str:
        end = "" if self.converged else ", not converged"
        return (
            f"<MaxMargin: margin={self.margin:.4g}, {len(self.support)} support vectors of "
            f"{self.multipliers.shape[-1]}{end}>"
        )


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
