"""How long two neighboring balls of the billiard keep together."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bayespoint.base.io import Savable
from bayespoint.base.report import as_html, as_text
from bayespoint.results import Estimate

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["CorrelationLength"]


@dataclass(frozen=True, eq=False, repr=False)
class CorrelationLength(Savable):
    """How far pairs of balls got from a common point before they met different planes."""

    bounces: float
    """Mean number of bounces off the same planes (and the sphere, if there is one): the correlation
    length of Ruján and Marchand."""

    bounces_error: float
    """Its standard error."""

    length: float
    """Mean path to the first plane that the other ball did not meet, in radians. It leads straight
    through a sphere, as `BilliardResult.length` does."""

    length_error: float
    """Its standard error."""

    angle: float
    """Angle between the directions of a pair at the start, in radians."""

    scattering: str
    """``"specular"`` or ``"cosine"``: how walls threw the balls back."""

    scatterer: float | None
    """Radius of the reflecting sphere around the center, in radians; None without one."""

    pair_bounces: NDArray[np.uint64]
    """(n_trajectories, n_pairs) Bounces of each pair."""

    pair_lengths: NDArray[np.float64]
    """(n_trajectories, n_pairs) Path of each pair."""

    parted: NDArray[np.bool_]
    """(n_trajectories, n_pairs) Whether the pair parted. Those that did not within the bounces
    allowed count as if they had then: with any of them the means are too small."""

    @classmethod
    def from_run(cls, run: Any, angle: float, scattering: str) -> Self:
        """Return the result of an engine's run."""
        bounces, length = _mean(run["pair_bounces"]), _mean(run["pair_lengths"])
        return cls(
            bounces=bounces.value,
            bounces_error=bounces.error,
            length=length.value,
            length_error=length.error,
            angle=angle,
            scattering=scattering,
            **run,
        )

    def _rows(self) -> list[tuple[str, str]]:
        n_trajectories, n_pairs = self.parted.shape
        sphere = "none" if self.scatterer is None else f"radius {self.scatterer:.3g} rad"
        return [
            ("bounces", f"{self.bounces:.4g} ± {self.bounces_error:.2g}"),
            ("path", f"{self.length:.4g} ± {self.length_error:.2g} rad"),
            ("angle at the start", f"{self.angle:.3g} rad"),
            ("scattering", self.scattering),
            ("scatterer", sphere),
            ("pairs", f"{n_trajectories} x {n_pairs}, {int((~self.parted).sum())} never parted"),
        ]

    def summary(self) -> str:
        """Return the main figures as text, one to a line.

        Returns
        -------
        str
            The text, without a newline at its end.
        """
        return as_text("Correlation length", self._rows())

    def __repr__(self) -> str:
        return (
            f"<CorrelationLength: {self.bounces:.4g} ± {self.bounces_error:.2g} bounces, "
            f"{self.length:.4g} ± {self.length_error:.2g} rad, angle={self.angle:.3g}>"
        )

    def _repr_html_(self) -> str:
        return as_html("Correlation length", self._rows())


def _mean(values: NDArray[Any]) -> Estimate:
    """Return the mean and its error, by all pairs or by trajectories, whichever is larger."""

    def error(independent: NDArray[Any]) -> float:
        if len(independent) < 2:
            return math.nan
        return float(independent.std(ddof=1) / math.sqrt(len(independent)))

    errors = error(values.ravel()), error(values.mean(axis=1))
    return Estimate(float(values.mean()), float(np.fmax(*errors)))
