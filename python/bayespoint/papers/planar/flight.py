"""A ball that flies straight in a polygon and is reflected at its edges."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from bayespoint.base import validation
from bayespoint.base.validation import Floats, RandomState
from bayespoint.papers.planar.inscribed import Circle
from bayespoint.papers.planar.polygon import Polygon, point

_AT_CORNER = 1e-12  # distance from a vertex, relative to the size of the polygon
_CORNER, _SCATTERER = -1, -2  # hits that are no edge


@dataclass(frozen=True, eq=False, repr=False)
class Trajectory:
    """The path of a ball of unit speed through ``k`` bounces in a polygon."""

    positions: Floats
    """(k + 1, 2) The start and the places of all bounces."""

    directions: Floats
    """(k + 1, 2) The unit direction of flight after each of `positions`."""

    edges: np.ndarray[tuple[int], np.dtype[np.intp]]
    """(k,) The edge that each bounce hit, -1 at a corner, -2 at the scatterer."""

    lengths: Floats
    """(k,) Lengths of the flights between `positions`; with unit speed their durations."""

    centroid: Floats
    """(2,) The centroid of the table, without the disk of the scatterer, for comparison."""

    scatterer: Circle | None = None
    """The round scatterer, if there was one."""

    @property
    def length(self) -> float:
        """Length of the whole path."""
        return float(self.lengths.sum())

    @property
    def mean_position(self) -> Floats:
        """(2,) The time average of the position, exact: every flight is a straight segment."""
        middles = (self.positions[:-1] + self.positions[1:]) / 2
        mean: Floats = self.lengths @ middles / self.lengths.sum()
        return mean

    def __repr__(self) -> str:
        return f"<Trajectory: {len(self.edges)} bounces, length {self.length:.6g}>"


def billiard(
    polygon: Polygon,
    n_bounces: int = 1000,
    *,
    start: ArrayLike | None = None,
    angle: float | None = None,
    scatterer: Circle | None = None,
    random_state: RandomState = None,
) -> Trajectory:
    """Let a ball fly in a polygon, reflected elastically at the edges.

    Parameters
    ----------
    polygon : Polygon
        The table.
    n_bounces : int, default=1000
        Bounces to follow, at least 1.
    start : array-like of shape (2,), default=None
        Where it starts, inside the polygon and outside the scatterer. By default a point drawn
        uniformly.
    angle : float, default=None
        Direction in which it starts, in radians. By default drawn uniformly.
    scatterer : Circle, default=None
        A disk inside the polygon, away from its edges, that reflects the ball from outside. With
        it the dynamics is hyperbolic: neighboring paths part exponentially.
    random_state : int, numpy.random.Generator, numpy.random.RandomState or None, default=None
        Seed. None draws one from NumPy's global generator.

    Returns
    -------
    Trajectory
        Positions, directions, edges hit and the time-averaged position.

    Notes
    -----
    The dynamics leaves the uniform density over positions and directions unchanged, so the expected
    time average from a random start is the centroid. The average of a single path approaches it if
    the path covers the polygon evenly. Typical paths do; in a rectangle, which preserves the angles
    to its sides, most do, too. The speed of convergence is not known in general; the dynamics has
    zero entropy.

    A scatterer, as in Sinai's billiard, makes the entropy positive. The ball does not enter the
    disk, so the average is then the centroid of the rest of the polygon. If the disk is around the
    polygon's centroid, that is the same point.

    At a corner the reflection is not defined. A ball closer to one than 1e-12 of the polygon's size
    is put there and sent back, which is the limit of neighboring paths for a right angle.

    References
    ----------
    L. A. Bunimovich, "On the ergodic properties of nowhere dispersing billiards", Communications in
    Mathematical Physics 65 (1979), 295-312.

    Examples
    --------
    >>> from bayespoint.papers.planar import Polygon, billiard
    >>> square = Polygon([[0, 0], [2, 0], [2, 2], [0, 2]])
    >>> path = billiard(square, 4, start=[1, 0.5], angle=0.7853981633974483)
    >>> path.edges, path.positions[1:].round(12)
    (array([1, 2, 3, 0]), array([[2. , 1.5], [1.5, 2. ], [0. , 0.5], [0.5, 0. ]]))
    """
    n_bounces = validation.integer("n_bounces", n_bounces, low=1, high=validation.MANY)
    if scatterer is not None and not polygon.clearance(scatterer.center) > scatterer.radius > 0:
        raise ValueError(
            f"scatterer must be inside the polygon; got one of radius {scatterer.radius:.3g} "
            f"around {scatterer.center.tolist()}"
        )
    # The disk, relative to the centroid; one of radius 0 that is never met if there is none.
    disk = np.zeros(2) if scatterer is None else scatterer.center - polygon.centroid
    radius = 0.0 if scatterer is None else scatterer.radius
    rng = validation.generator(random_state)
    if start is None:
        while True:
            place = polygon.sample(1, random_state=rng)[0]
            if math.hypot(*(place - polygon.centroid - disk)) > radius:
                break
    else:
        place = point("start", start)
        if not polygon.clearance(place) > 0:
            raise ValueError(f"start must be inside the polygon; got {place.tolist()}")
        if math.hypot(*(place - polygon.centroid - disk)) < radius:
            raise ValueError(f"start must be outside the scatterer; got {place.tolist()}")
    turn = rng.uniform(0, 2 * math.pi) if angle is None else validation.real("angle", angle)

    # Relative to the centroid, so that no digits are lost far from the origin.
    normals = polygon.normals
    vertices = polygon.vertices - polygon.centroid
    ends = np.roll(vertices, -1, axis=0)
    distances = (normals * vertices).sum(axis=1)
    close = _AT_CORNER * polygon.size
    place = place - polygon.centroid
    direction = np.array([math.cos(turn), math.sin(turn)])

    positions, directions = np.empty((n_bounces + 1, 2)), np.empty((n_bounces + 1, 2))
    positions[0], directions[0] = place, direction
    edges, lengths = np.empty(n_bounces, dtype=np.intp), np.empty(n_bounces)
    times = np.empty(len(normals))
    for k in range(n_bounces):
        speed = normals @ direction
        if k > 0 and edges[k - 1] >= 0:
            speed[edges[k - 1]] = 0.0  # the edge just left; rounding may change its sign
        times.fill(math.inf)
        np.divide(distances - normals @ place, speed, out=times, where=speed > 0)
        edge = int(times.argmin())
        aside = place - disk
        toward = -float(aside @ direction)
        depth = toward**2 - float(aside @ aside) + radius**2
        meets = radius > 0 and toward > 0 and depth > 0
        if meets and toward - math.sqrt(depth) < times[edge]:
            outward = aside + max(toward - math.sqrt(depth), 0.0) * direction
            outward /= math.hypot(*outward)
            place, edge = disk + radius * outward, _SCATTERER
            direction = direction - 2 * (outward @ direction) * outward
        else:
            place = place + max(float(times[edge]), 0.0) * direction
            place += (distances[edge] - normals[edge] @ place) * normals[edge]
            for corner in (vertices[edge], ends[edge]):
                if math.hypot(*(place - corner)) <= close:
                    place, edge = corner, _CORNER
                    direction = -direction
                    break
            else:
                direction = direction - 2 * (normals[edge] @ direction) * normals[edge]
        direction /= math.hypot(*direction)
        lengths[k] = math.hypot(*(place - positions[k]))
        positions[k + 1], directions[k + 1], edges[k] = place, direction, edge
    hole = math.pi * radius**2
    centroid = polygon.centroid - disk * hole / (polygon.area - hole)
    return Trajectory(positions + polygon.centroid, directions, edges, lengths, centroid, scatterer)
