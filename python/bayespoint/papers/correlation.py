"""The correlation length of the billiard (Ruján and Marchand, 2000)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayespoint.base import validation
from bayespoint.base.validation import RandomState
from bayespoint.base.warnings import warn
from bayespoint.engine.problem import Callback
from bayespoint.papers.compiled import CorrelationSettings, correlation
from bayespoint.papers.dynamics import Scattered, engine_values
from bayespoint.results.evidence import Estimate
from bayespoint.version_space import VersionSpace

__all__ = ["CorrelationLength", "correlation_length"]


@dataclass(frozen=True, eq=False, repr=False)
class CorrelationLength:
    """Path and bounces of pairs of balls until the two met different planes."""

    bounces: float
    """Mean number of common bounces at planes and, if there is one, the sphere: the correlation
    length of Ruján and Marchand."""

    bounces_error: float
    """Its standard error."""

    length: float
    """Mean path to the first plane that the other ball did not meet, in radians. It counts the way
    straight through a sphere, as `BilliardResult.length` does."""

    length_error: float
    """Its standard error."""

    angle: float
    """Angle between the directions of a pair at the start, in radians."""

    scattering: str
    """``"specular"`` or ``"cosine"``: how walls reflect the balls."""

    scatterer: float | None
    """Radius of the reflecting sphere around the center, in radians; None without one."""

    pair_bounces: NDArray[np.uint64]
    """(n_trajectories, n_pairs) Bounces of each pair."""

    pair_lengths: NDArray[np.float64]
    """(n_trajectories, n_pairs) Path of each pair."""

    parted: NDArray[np.bool_]
    """(n_trajectories, n_pairs) Whether the pair parted. Pairs that did not within `max_bounces`
    count as if they had; then the means are too small."""

    def __repr__(self) -> str:
        return (
            f"<CorrelationLength: {self.bounces:.4g} ± {self.bounces_error:.2g} bounces, "
            f"{self.length:.4g} ± {self.length_error:.2g} rad, angle={self.angle:.3g}>"
        )


def correlation_length(
    space: VersionSpace,
    *,
    angle: float = 1e-3,
    n_pairs: int = 100,
    n_trajectories: int = 4,
    max_bounces: int = 100_000,
    motion: Scattered | None = None,
    n_jobs: int | None = None,
    random_state: RandomState = None,
    callback: Callback = None,
) -> CorrelationLength:
    r"""Return how long two neighboring balls stay together.

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
        Largest number of bounces of a pair, at least 1.
    motion : Scattered, default=None
        None: great circles. With scattering="cosine" each ball of a pair draws its own direction.
        Bounces at a sphere count like those at planes, and a pair parts if only one ball meets it.
    n_jobs, random_state, callback
        As for `VersionSpace.sample`.

    Returns
    -------
    CorrelationLength
        Mean number of bounces and mean path, with their standard errors.

    Raises
    ------
    InfeasibleError, FloatingPointError, MemoryError
        See the notes of :class:`VersionSpace`.
    ValueError
        If a setting is out of range, the sphere does not fit into version space, or the feature
        vectors span fewer than three dimensions, so that there are no neighboring directions.

    Warns
    -----
    ConvergenceWarning
        If a pair did not part within `max_bounces`: the means are too small.

    Notes
    -----
    Ruján and Marchand (2000, Section 18.5.1) define the correlation length as the average
    number of bounces after which two trajectories that were close in phase space meet
    different planes. Here the start of a pair is uniform on version space (outside the sphere). The
    direction of one ball is uniform, that of the other differs by `angle`. Both move along great
    circles without refresh.

    With specular walls and no sphere, reflecting space instead of the balls makes both paths great
    circles through one point, which are never further apart than `angle`. They part only where an
    edge between two planes lies between them, so the result depends on the angle: the length grows
    as one over its square root if it is below about one radian of path, and as one over the angle
    beyond. In few dimensions, and with orthogonal planes in any, some pairs never part, because
    they repeat the same cycle of planes.

    The authors propose `Scattered` to shorten the length. Every bounce at the sphere multiplies the
    angle, so the length grows as the logarithm of one over the angle if the sphere is met. With the
    cosine law the directions are independent after the first wall, and the length is hardly more
    than that bounce.

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
    if not (motion is None or isinstance(motion, Scattered)):
        raise TypeError(f"motion must be None or Scattered(...); got {motion!r}")
    values = None if motion is None else engine_values(motion)
    settings = CorrelationSettings(angle, n_pairs, n_trajectories, max_bounces, values)
    threads, seed = validation.threads(n_jobs), validation.seed(random_state)
    run = correlation(space.problem, settings, n_threads=threads, seed=seed, callback=callback)
    bounces, length = _mean(run["pair_bounces"]), _mean(run["pair_lengths"])
    result = CorrelationLength(
        bounces=bounces.value,
        bounces_error=bounces.error,
        length=length.value,
        length_error=length.error,
        angle=float(angle),
        scattering="specular" if motion is None else motion.scattering,
        **run,
    )
    together = int((~result.parted).sum())
    if together:
        warn(
            f"{together} of {result.parted.size} pairs met the same planes for all of "
            f"max_bounces={max_bounces}: the correlation length is larger than the mean "
            f"of {result.bounces:.4g} bounces"
        )
    return result


def _mean(values: NDArray[Any]) -> Estimate:
    """Return the mean and the larger of its standard errors, by pairs and by trajectories."""

    def error(independent: NDArray[Any]) -> float:
        if len(independent) < 2:
            return math.nan
        return float(independent.std(ddof=1) / math.sqrt(len(independent)))

    errors = error(values.ravel()), error(values.mean(axis=1))
    return Estimate(float(values.mean()), float(np.fmax(*errors)))
