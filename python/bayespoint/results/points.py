"""The weight vector of the largest margin."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bayespoint.base.io import Savable
from bayespoint.base.report import as_html, as_text


@dataclass(frozen=True, eq=False, repr=False)
class MaxMargin(Savable):
    """The weight vector of the largest margin.

    If all feature vectors have the same length, the hard margin is the center of the largest ball
    inscribed in version space.
    """

    dual_coef: NDArray[np.float64]
    """(m,) Dual coefficients of the unit vector, labels included."""

    multipliers: NDArray[np.float64]
    """(m,) Lagrange multipliers ``a_i``, from 0 to C: ``w = sum(a_i y_i phi_i)`` gives the
    examples on the margin the value 1."""

    bias: float
    """The bias b that belongs to the w of the multipliers; 0 unless it is free."""

    norm: float
    """``|w|``."""

    margin: float
    """``min_i y_i (<w, phi_i> + b) / |w|``, positive inside version space."""

    bound: float
    """``|w| / sum(a_i)``: no margin is larger (weak duality). With a free bias twice that is the
    length of the minimal connector between the convex hulls of the two classes."""

    gap: float
    """Relative duality gap that was reached: for a hard margin ``1 - (margin / bound)^2``."""

    kkt: float
    """Largest violation of a condition for the optimum, in units of the margin: how far margins
    are below 1 for multiplier 0, above 1 for multiplier C, and from 1 for others."""

    iterations: int
    """Coordinate steps and changes of the active set."""

    converged: bool
    """Whether the violation is at most the tolerance, or what rounding of the multipliers can
    cause."""

    @property
    def support(self) -> NDArray[np.intp]:
        """Indices of the support vectors: the examples with positive multipliers."""
        return np.flatnonzero(self.multipliers)

    def _rows(self) -> list[tuple[str, str]]:
        return [
            ("examples", f"{len(self.multipliers)}"),
            ("support vectors", f"{len(self.support)}"),
            ("margin", f"{self.margin:.6g}, at most {self.bound:.6g}"),
            ("bias", f"{self.bias:.6g}"),
            ("relative duality gap", f"{self.gap:.1e}"),
            ("violation", f"{self.kkt:.1e} margins"),
            ("steps", f"{self.iterations}"),
            ("converged", "yes" if self.converged else "no"),
        ]

    def summary(self) -> str:
        """Return the main figures as text, one to a line.

        Returns
        -------
        str
            The text, without a newline at its end.
        """
        return as_text("Maximal margin", self._rows())

    def __repr__(self) -> str:
        end = "" if self.converged else ", not converged"
        return (
            f"<MaxMargin: margin={self.margin:.4g}, {len(self.support)} support vectors of "
            f"{len(self.multipliers)}{end}>"
        )

    def _repr_html_(self) -> str:
        return as_html("Maximal margin", self._rows())
