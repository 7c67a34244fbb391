"""How long two neighboring balls of the billiard keep together (Ruján and Marchand, 2000)."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from bayespoint.base.io import Savable
from bayespoint.base.report import as_html, as_text
from bayespoint.base.validation import RandomState
from bayespoint.base.warnings import warn
from bayespoint.engine.correlation import correlation
from bayespoint.engine.dynamics import Geodesic, Scattered, resolve
from bayespoint.results.evidence import Estimate
from bayespoint.version_space import VersionSpace

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["CorrelationLength", "correlation_length"]


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


def correlation_length(
    space: VersionSpace,
    *,
    angle: float = 1e-3,
    n_pairs: int = 100,
    n_trajectories: int = 4,
    max_bounces: int = 100_000,
    dynamics: Geodesic | Scattered | str = "geodesic",
    n_jobs: int | None = None,
    random_state: RandomState = None,
    callback: Callable[[Mapping[str, Any]], object] | None = None,
) -> CorrelationLength:
    r"""Return how long two neighboring balls meet the same planes.

    Parameters
    ----------
    space : VersionSpace
        The version space, given by its matrix.
    angle : float, default=1e-3
        Angle in radians between the directions of the two balls of a pair at the start, in
        (0, 1).
    n_pairs : int, default=100
        Pairs of each trajectory, at least 1.
    n_trajectories : int, default=4
        Independent trajectories, at least 1.
    max_bounces : int, default=100000
        Bounces after which a pair is given up, at least 1.
    dynamics : Geodesic or Scattered, default="geodesic"
        As in `VersionSpace.sample`. With scattering="cosine" each ball of a pair draws its own
        direction. Bounces off a sphere count like those off planes, and a pair parts where one
        ball meets it and the other does not.
    n_jobs, random_state, callback
        As for `VersionSpace.sample`.

    Returns
    -------
    CorrelationLength
        Mean number of bounces and mean path, with their standard errors.

    Raises
    ------
    InfeasibleError
        If version space is empty, or no point of it was found.
    ValueError
        If a setting is out of range, the sphere does not fit into version space, or the feature
        vectors span fewer than three dimensions: then there are no neighboring directions.
    FloatingPointError
        If double precision gives out, as for `sample`.
    MemoryError
        If a factor of the Gram matrix does not fit in memory.

    Warns
    -----
    ConvergenceWarning
        If a pair was given up: the means are too small.

    Notes
    -----
    Ruján and Marchand (2000, section 18.4.2) define the correlation length as the average
    number of bounces after which two trajectories that were close in phase space meet
    different planes. Here a pair starts at a point that is uniform on version space (outside
    the scatterer), one of the directions is as random, the other `angle` off it, and both
    fly along great circles without refresh.

    Behind specular walls without a sphere, seen through the mirrors, both are great circles
    through one point, and never further apart than `angle`: nothing disperses them, and what
    parts them is an edge between two planes that comes to lie between them. So the angle
    belongs to the figure: the length grows as one over its square root where it is less than
    about a radian of path, and as one over the angle beyond. In few dimensions, and on
    orthogonal planes in any, some pairs never part: they go round the same cycle of planes for
    ever.

    `Scattered` is what the authors would shorten the length with. The sphere
    disperses: every bounce off it multiplies the angle, so that the length grows as the
    logarithm of one over the angle, where the sphere is met at all. The cosine law ends
    neighborhood at the first wall, and the length is hardly more than that bounce.

    Examples
    --------
    >>> import numpy as np
    >>> from bayespoint import VersionSpace
    >>> from bayespoint.papers.correlation import correlation_length
    >>> x = np.random.default_rng(0).normal(size=(20, 5))
    >>> found = correlation_length(VersionSpace(x @ x.T, np.sign(x[:, 0])), random_state=0)
    >>> bool(found.parted.all())
    True
    """
    motion = resolve(dynamics)
    run = correlation(
        space.problem,
        angle=angle,
        n_pairs=n_pairs,
        n_trajectories=n_trajectories,
        max_bounces=max_bounces,
        dynamics=motion,
        n_jobs=n_jobs,
        seed=random_state,
        callback=callback,
    )
    scattering = getattr(motion, "scattering", "specular")
    result = CorrelationLength.from_run(run, float(angle), scattering)
    together = int((~result.parted).sum())
    if together:
        warn(
            f"{together} of {result.parted.size} pairs met the same planes for all of "
            f"max_bounces={max_bounces}: the correlation length is larger than the mean "
            f"of {result.bounces:.4g} bounces",
            ConvergenceWarning,
        )
    return result


def _mean(values: NDArray[Any]) -> Estimate:
    """Return the mean and its error, by all pairs or by trajectories, whichever is larger."""

    def error(independent: NDArray[Any]) -> float:
        if len(independent) < 2:
            return math.nan
        return float(independent.std(ddof=1) / math.sqrt(len(independent)))

    errors = error(values.ravel()), error(values.mean(axis=1))
    return Estimate(float(values.mean()), float(np.fmax(*errors)))
