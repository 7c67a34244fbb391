"""The flights of a billiard ball, recovered from densely spaced draws of the engine."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from sklearn.exceptions import ConvergenceWarning

from bayespoint import SampleOptions
from bayespoint.base import validation
from bayespoint.base.validation import Floats, RandomState
from bayespoint.papers.checks import Labels
from bayespoint.results import BilliardResult
from bayespoint.version_space import VersionSpace

SPACING = 0.004
"""Radians between draws, so short that few flights are without a draw."""

_AGREES = 1e-7  # largest distance between a draw and the recovered path
_STRAIGHT = 1e-11  # error of the norm of a direction computed from two draws on one flight
_FAILURES = 1000  # failed branches after which the search is given up


@dataclass(frozen=True, eq=False)
class Leg:
    """One flight along a great circle, from wall to wall."""

    start: Floats
    """(d,) Unit vector at its start."""

    direction: Floats
    """(d,) Unit tangent there."""

    arc: float
    """Length in radians."""

    wall: int
    """The example whose plane it ends at."""

    satisfied: bool
    """Whether it arrives from the side where that example is satisfied."""

    passed: bool
    """Whether the ball then passes through the wall; otherwise it is reflected."""

    @property
    def end(self) -> Floats:
        """(d,) Unit vector where it ends."""
        return self.at(self.arc)

    @property
    def arrival(self) -> Floats:
        """(d,) Unit tangent at the end, before the wall changes it."""
        return np.asarray(math.cos(self.arc) * self.direction - math.sin(self.arc) * self.start)

    def at(self, arc: ArrayLike) -> Floats:
        """Return points of the flight.

        Parameters
        ----------
        arc : array-like of float
            Distances from the start, in radians.

        Returns
        -------
        ndarray of shape (..., d)
            Unit vectors.
        """
        turn = np.asarray(arc, dtype=np.float64)[..., None]
        return np.asarray(np.cos(turn) * self.start + np.sin(turn) * self.direction)


@dataclass(frozen=True, eq=False)
class Path:
    """The path of one ball among the planes of linear examples."""

    X: Floats
    """(m, d) Examples: the normals of the planes."""

    y: Labels
    """(m,) Labels, -1 and +1."""

    space: VersionSpace
    """Their version space."""

    run: BilliardResult
    """The run of the engine."""

    legs: list[Leg]
    """Complete flights, one after the other."""


def fly(
    X: ArrayLike,
    y: ArrayLike,
    *,
    length: float = 20.0,
    transparency: float = 0.0,
    random_state: RandomState = None,
) -> Path:
    """Run one ball, and recover its flights.

    Only walls change its direction, so it may stay in a part of version space.

    Parameters
    ----------
    X : array-like of shape (m, d)
        Examples of a linear classifier without intercept.
    y : array-like of shape (m,)
        Labels of two classes, or -1 and +1.
    length : float, default=20.0
        Path in radians, above 0.
    transparency : float, default=0.0
        Transparency of the walls, in [0, 1], as in :meth:`VersionSpace.sample`.
    random_state : None, int, Generator or RandomState, default=None
        Seed. None draws one from NumPy's global generator.

    Returns
    -------
    Path
        The flights. Every draw of the engine lies on them, to 1e-7.

    Raises
    ------
    InfeasibleError, FloatingPointError
        See the notes of :class:`VersionSpace`.
    RuntimeError
        If the draws of the engine are not on a path of great circles and reflections.
    ValueError, TypeError
        As :class:`VersionSpace` and :meth:`VersionSpace.sample`.

    Examples
    --------
    >>> import numpy as np
    >>> from bayespoint.papers.drawings import fly
    >>> path = fly(np.eye(3), [1, 1, 1], random_state=0)
    >>> leg = path.legs[0]
    >>> bool(abs(leg.end[leg.wall]) < 1e-12)
    True
    """
    points = np.array(validation.dense("X", X), dtype=np.float64)
    if points.ndim != 2:
        raise ValueError(f"X must have shape (m, d); got shape {points.shape}")
    length = validation.positive("length", length)
    space = VersionSpace(points @ points.T, y)
    with warnings.catch_warnings():
        # Warnings about the center of one ball without refresh: only its flights are used.
        warnings.filterwarnings("ignore", "the trajectories disagree", ConvergenceWarning)
        warnings.filterwarnings("ignore", ".*are worth .* independent ones", ConvergenceWarning)
        run = space.sample(
            n_trajectories=1,
            n_draws=max(4, math.ceil(length / SPACING)),
            length=length,
            options=SampleOptions(transparency=transparency, refresh=None),
            random_state=random_state,
        )
    draws = run.draws[0] @ points
    return Path(points, space.y, space, run, _legs(points, space.y, draws, run.length / len(draws)))


def _legs(X: Floats, y: Labels, draws: Floats, spacing: float) -> list[Leg]:
    """Return the flights of the path through the draws.

    Whether a transparent wall reflected the ball shows at the next draw, unless other walls
    changed its direction before. So both cases are tried, the likelier one first.
    """
    first = 0
    while True:  # find two draws without a wall between them
        if first + 1 == len(draws):
            raise RuntimeError("no flight is longer than the spacing of the draws")
        here = draws[first]
        away = (draws[first + 1] - math.cos(spacing) * here) / math.sin(spacing)
        if abs(float(np.linalg.norm(away)) - 1) < _STRAIGHT:
            break
        first += 1
    legs: list[Leg] = []
    forks: list[_Fork] = []
    way = _Fork(here, away, 0.0, first + 1, -1, 0)
    failures = 0
    while True:
        f, g = X @ way.here, X @ way.away
        times = np.arctan2(f, -g) % math.pi
        if way.last >= 0:
            times[way.last] = math.pi  # the plane just left
        wall = int(times.argmin())
        arc, clock, k = float(times[wall]), way.clock, way.k
        leg = Leg(way.here, way.away, arc, wall, bool(y[wall] * f[wall] > 0), passed=False)
        n = max(0, min(len(draws), first + 1 + int((clock + arc) / spacing)) - k)
        seen = leg.at((np.arange(k, k + n) - first) * spacing - clock)
        if n and np.abs(seen - draws[k : k + n]).max() > _AGREES:
            failures += 1
            if not forks or failures > _FAILURES:
                raise RuntimeError("the draws are not on a path of great circles and reflections")
            way = forks.pop()
            del legs[way.legs :]
            legs[-1] = replace(legs[-1], passed=not legs[-1].passed)
            continue
        k += n
        if k == len(draws):
            return legs
        # From the violated side it always passes; from the other if the next draw is violated.
        passed = not leg.satisfied or bool(y[wall] * (X[wall] @ draws[k]) < 0)
        legs.append(replace(leg, passed=passed))
        turned = leg.arrival - 2 * (X[wall] @ leg.arrival) / (X[wall] @ X[wall]) * X[wall]
        ways = [
            _Fork(leg.end, direction, clock + arc, k, wall, len(legs))
            for direction in (turned, leg.arrival)
        ]
        way = ways[passed]
        if leg.satisfied:
            forks.append(ways[not passed])


class _Fork(NamedTuple):
    """The start of a flight."""

    here: Floats
    """(d,) Unit vector."""

    away: Floats
    """(d,) Unit tangent."""

    clock: float
    """Length of the path until there, in radians."""

    k: int
    """The next draw."""

    last: int
    """The wall just left; -1 for none."""

    legs: int
    """Number of flights until there."""
