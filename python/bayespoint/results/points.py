"""Single weight vectors in version space: of the largest margin, and where a light trap ends."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bayespoint.base.io import Savable
from bayespoint.base.report import as_html, as_text


@dataclass(frozen=True, eq=False, repr=False)
class MaxMargin(Savable):
    """The weight vector with the largest smallest distance to the planes.

    Only where all feature vectors have the same length is that a distance on the sphere: then
    the hard margin is the center of the largest ball inscribed in version space.
    """

    dual_coef: NDArray[np.float64]
    """(m,) Dual coefficients of the unit vector, labels included."""

    multipliers: NDArray[np.float64]
    """(m,) Lagrange multipliers ``a_i``, from 0 to C: ``w = sum(a_i y_i phi_i)`` gives the
    examples on the margin the value 1."""

    bias: float
    """b beside the w of the multipliers; 0 unless it is free."""

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
    of examples with multiplier 0 are below 1, with multiplier C above 1, others off 1."""

    iterations: int
    """Coordinate steps and changes of the active set."""

    converged: bool
    """Whether the violation is below the tolerance, or not above what rounding of the
    multipliers explains."""

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


@dataclass(frozen=True, eq=False, repr=False)
class LightTrap(Savable):
    """The way of a ball into version space through one-way mirrors."""

    dual_coef: NDArray[np.float64]
    """(m,) Dual coefficients of a unit vector in version space."""

    errors: NDArray[np.int64]
    """(k,) Violated examples at the start, and whenever they became fewer. Empty where there was
    nothing to fly through: all feature vectors parallel."""

    bounces: NDArray[np.uint64]
    """(k,) Bounces before each of them."""

    caught: bool
    """Whether the trap caught the ball. If not, `dual_coef` is from the search for the largest
    margin."""

    def _rows(self) -> list[tuple[str, str]]:
        rows = [
            ("examples", f"{len(self.dual_coef)}"),
            ("caught", "yes" if self.caught else "no: the point is from the search for margins"),
        ]
        if len(self.errors):
            rows += [
                ("violated at the start", f"{self.errors[0]}"),
                ("violated at the end", f"{self.errors[-1]} after {self.bounces[-1]} bounces"),
            ]
        return rows

    def summary(self) -> str:
        """Return the main figures as text, one to a line.

        Returns
        -------
        str
            The text, without a newline at its end.
        """
        return as_text("Light trap", self._rows())

    def __repr__(self) -> str:
        way = f"{self.errors[0]} to {self.errors[-1]} errors" if len(self.errors) else "no flight"
        return f"<LightTrap: {way}, {'caught' if self.caught else 'not caught'}>"

    def _repr_html_(self) -> str:
        return as_html("Light trap", self._rows())
