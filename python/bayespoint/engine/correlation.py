"""What :class:`VersionSpace` tells of the memory of its billiard, as a mixin of its own."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from sklearn.exceptions import ConvergenceWarning

from bayespoint import _core
from bayespoint.base import memory, validation
from bayespoint.base.validation import Floats, Labels, RandomState
from bayespoint.base.warnings import warn
from bayespoint.engine import settings
from bayespoint.kernels import sources
from bayespoint.results.correlation import CorrelationLength

_PAIR = 48
"""Bytes of what is measured of a pair, twice."""


class CorrelationMixin:
    """The methods of a version space that measure how fast its billiard mixes."""

    gram: sources.Gram
    y: Labels
    softness: Floats
    offset: float

    def _refuse_conflicts(self) -> None:
        raise NotImplementedError

    def correlation_length(
        self,
        *,
        angle: float = 1e-3,
        n_pairs: int = 100,
        n_trajectories: int = 4,
        max_bounces: int = 100_000,
        scattering: str = "specular",
        scatterer: float | str | None = None,
        n_jobs: int | None = None,
        random_state: RandomState = None,
        callback: Callable[[Mapping[str, Any]], object] | None = None,
    ) -> CorrelationLength:
        r"""Return how long two neighboring balls meet the same planes.

        Parameters
        ----------
        angle : float, default=1e-3
            Angle in radians between the directions of the two balls of a pair at the start, in
            (0, 1).
        n_pairs : int, default=100
            Pairs of each trajectory, at least 1.
        n_trajectories : int, default=4
            Independent trajectories, at least 1.
        max_bounces : int, default=100000
            Bounces after which a pair is given up, at least 1.
        scattering : {"specular", "cosine"}, default="specular"
            How a wall throws the ball back, as in `sample`. With "cosine" each ball of a pair draws
            a direction of its own.
        scatterer : float or "auto", default=None
            Radius in radians, at least 1e-6, of a reflecting sphere around the center, as in
            `sample`. Bounces off it count like those off planes, and a pair parts where one ball
            meets it and the other does not.
        n_jobs : int, default=None
            Threads, as joblib counts them: None is 1, -1 all processors. It does not change the
            result.
        random_state : None, int, Generator or RandomState, default=None
            Seed. None asks NumPy's global generator.
        callback : callable, default=None
            Called about ten times a second, on the calling thread, with a mapping. What it raises
            ends the run.

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
        TypeError
            If a setting is of the wrong type.
        FloatingPointError
            If double precision gives out, as for `sample`.
        MemoryError
            If there is no room for a factor of the Gram matrix.

        Warns
        -----
        ConvergenceWarning
            If a pair was given up: the means are too small.

        Notes
        -----
        Ruján and Marchand (2000, section 18.4.2) define the correlation length as the average
        number of bounces after which two trajectories that were close in phase space meet
        different planes. Here a pair starts at a point that is uniform on version space (outside
        the `scatterer`), one of the directions is as random, the other `angle` off it, and both
        fly along great circles without refresh.

        Behind specular walls without a sphere, seen through the mirrors, both are great circles
        through one point, and never further apart than `angle`: nothing disperses them, and what
        parts them is an edge between two planes that comes to lie between them. So the angle
        belongs to the figure: the length grows as one over its square root where it is less than
        about a radian of path, and as one over the angle beyond. In few dimensions, and on
        orthogonal planes in any, some pairs never part: they go round the same cycle of planes for
        ever.

        `scattering` and `scatterer` are what the authors would shorten the length with. The sphere
        disperses: every bounce off it multiplies the angle, so that the length grows as the
        logarithm of one over the angle, where the sphere is met at all. The cosine law ends
        neighborhood at the first wall, and the length is hardly more than that bounce.

        Examples
        --------
        >>> import numpy as np
        >>> from bayespoint import VersionSpace
        >>> x = np.random.default_rng(0).normal(size=(20, 5))
        >>> found = VersionSpace(x @ x.T, np.sign(x[:, 0])).correlation_length(random_state=0)
        >>> bool(found.parted.all())
        True
        """
        angle = validation.real("angle", angle, low=0.0, low_open=True, high=1.0, high_open=True)
        n_trajectories = validation.integer("n_trajectories", n_trajectories, low=1)
        n_pairs = validation.integer("n_pairs", n_pairs, low=1)
        max_bounces = validation.integer("max_bounces", max_bounces, low=1)
        scattering = settings.scattering_law(scattering)
        radius, fits_scatterer = settings.scatterer_radius(scatterer)
        n_threads = min(validation.threads(n_jobs), n_trajectories)
        seed = validation.seed(random_state)
        sources.require_matrix(self.gram, "the correlation length")
        self._refuse_conflicts()
        m = len(self.y)
        factor, balls = 2 * 8.0 * m * m, memory.balls(n_trajectories, m)
        pairs = float(_PAIR) * n_trajectories * n_pairs
        memory.require(
            factor + balls + pairs,
            f"the correlation length ({memory.readable(factor)} for a factor of the Gram matrix, "
            f"{memory.readable(balls)} for n_trajectories={n_trajectories}, "
            f"{memory.readable(pairs)} for n_pairs={n_pairs} of each)",
        )
        run = _core.correlation(
            self.gram,
            self.y,
            offset=self.offset,
            softness=self.softness,
            angle=angle,
            n_trajectories=n_trajectories,
            n_pairs=n_pairs,
            max_bounces=max_bounces,
            scattering=scattering,
            scatterer=radius,
            fits_scatterer=fits_scatterer,
            n_threads=n_threads,
            seed=seed,
            callback=callback,
        )
        result = CorrelationLength.from_run(run, angle, scattering)
        together = int((~result.parted).sum())
        if together:
            warn(
                f"{together} of {result.parted.size} pairs met the same planes for all of "
                f"max_bounces={max_bounces}: the correlation length is larger than the mean "
                f"of {result.bounces:.4g} bounces",
                ConvergenceWarning,
            )
        return result
