"""The flights of a billiard ball, recovered from densely spaced draws of the engine."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from sklearn.exceptions import ConvergenceWarning

from bayespoint import _validation
from bayespoint._validation import Floats, Labels, RandomState
from bayespoint.results import BilliardResult
from bayespoint.version_space import VersionSpace

SPACING = 0.004
"""Radians between draws: a flight without any draw of its own is then a rare one."""

_AGREES = 1e-7  # between a draw of the engine and its place on the recovered path


@dataclass(frozen=True, eq=False)
class Leg:
    """One flight along a great circle, from wall to wall."""

    start: Floats
    """(d,) Unit vector where it begins."""

    direction: Floats
    """(d,) Unit tangent there."""

    arc: float
    """Length in radians."""

    wall: int
    """The example whose plane it ends at."""

    satisfied: bool
    """Whether it comes from the side where that example is satisfied."""

    passed: bool
    """Whether it went through the wall, or was reflected."""

    @property
    def end(self) -> Floats:
        """(d,) Unit vector where it ends."""
        return self.at(self.arc)

    @property
    def arrival(self) -> Floats:
        """(d,) Unit tangent at the end, before the wall changes it."""
        return np.asarray(math.cos(self.arc) * self.direction - math.sin(self.arc) * self.start)

    def at(self, arc: ArrayLike) -> Floats:
        """Return points of the way.

        Parameters
        ----------
        arc : array-like of float
            How far along it they are, in radians.

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
    """Let the engine fly one ball, and recover its flights.

    Nothing changes its direction but walls, so that it may keep to a part of version space.

    Parameters
    ----------
    X : array-like of shape (m, d)
        Examples of a linear classifier without intercept.
    y : array-like of shape (m,)
        Labels of two classes, or -1 and +1.
    length : float, default=20.0
        Path in radians, above 0.
    transparency : float, default=0.0
        Of the walls, in [0, 1], as in :meth:`VersionSpace.sample`.
    random_state : None, int, Generator or RandomState, default=None
        Seed. None asks NumPy's global generator.

    Returns
    -------
    Path
        The flights. Every draw of the engine lies on them, to 1e-7.

    Raises
    ------
    InfeasibleError
        If the examples cannot be separated.
    RuntimeError
        If the draws of the engine are not on a path of great circles and reflections.
    ValueError, TypeError
        As :class:`VersionSpace` and :meth:`VersionSpace.sample`.

    Examples
    --------
    >>> import numpy as np
    >>> from bayespoint.gallery import fly
    >>> path = fly(np.eye(3), [1, 1, 1], random_state=0)
    >>> leg = path.legs[0]
    >>> bool(abs(leg.end[leg.wall]) < 1e-12)
    True
    """
    points = np.array(_validation.dense("X", X), dtype=np.float64)
    if points.ndim != 2:
        raise ValueError(f"X must have shape (m, d); got shape {points.shape}")
    length = _validation.real("length", length, low=0.0, low_open=True)
    space = VersionSpace(points @ points.T, y)
    with warnings.catch_warnings():
        # One ball without refresh, which may go round a cycle: its flights are asked for, not its
        # center.
        warnings.filterwarnings("ignore", "the trajectories disagree", ConvergenceWarning)
        warnings.filterwarnings("ignore", ".*are worth .* independent ones", ConvergenceWarning)
        warnings.filterwarnings("ignore", ".*go round a short cycle", ConvergenceWarning)
        run = space.sample(
            n_trajectories=1,
            n_draws=max(4, math.ceil(length / SPACING)),
            length=length,
            transparency=transparency,
            refresh=None,
            random_state=random_state,
        )
    draws = run.draws[0] @ points
    return Path(points, space.y, space, run, _legs(points, space.y, draws, run.length / len(draws)))


def _legs(X: Floats, y: Labels, draws: Floats, spacing: float) -> list[Leg]:
    """Return the flights between the walls that a path through the draws meets."""
    first = 0
    while True:  # a wall between the first two draws would hide the direction
        if first + 1 == len(draws):
            raise RuntimeError("no flight is longer than the spacing of the draws")
        here = draws[first]
        away = (draws[first + 1] - math.cos(spacing) * here) / math.sin(spacing)
        if abs(float(np.linalg.norm(away)) - 1) < _AGREES:
            break
        first += 1
    legs: list[Leg] = []
    clock, k, last = 0.0, first + 1, -1
    while True:
        f, g = X @ here, X @ away
        times = np.arctan2(f, -g) % math.pi
        if last >= 0:
            times[last] = math.pi  # the plane just left
        wall = int(times.argmin())
        arc = float(times[wall])
        leg = Leg(here, away, arc, wall, bool(y[wall] * f[wall] > 0), passed=False)
        n = max(0, min(len(draws), first + 1 + int((clock + arc) / spacing)) - k)
        seen = leg.at((np.arange(k, k + n) - first) * spacing - clock)
        if n and np.abs(seen - draws[k : k + n]).max() > _AGREES:
            raise RuntimeError("the draws are not on a path of great circles and reflections")
        k += n
        if k == len(draws):
            return legs
        # It passes from the violated side, and where the next draw is on that side.
        passed = not leg.satisfied or bool(y[wall] * (X[wall] @ draws[k]) < 0)
        legs.append(Leg(here, away, arc, wall, leg.satisfied, passed))
        here, away = leg.end, leg.arrival
        if not passed:
            away = away - 2 * (X[wall] @ away) / (X[wall] @ X[wall]) * X[wall]
        clock, last = clock + arc, wall
