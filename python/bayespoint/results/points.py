"""Single weight vectors: the maximal margin, and classifiers that are planes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bayespoint.base.validation import Floats, Indices
from bayespoint.results.result import Result, Rows


@dataclass(frozen=True, eq=False)
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
        return np.flatnonzero(np.atleast_2d(self.multipliers).any(axis=0))

    def _rows(self) -> Rows:
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
