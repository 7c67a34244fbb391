"""Convex polygons."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import optimize

from bayespoint.base import validation
from bayespoint.base.validation import Floats, RandomState

_EXTENT = (1e-150, 1e150)  # coordinates whose products neither overflow nor underflow
_FLATTEST = 1e-10  # smallest width over length; below it areas have less than six digits
_CORNER = 1e-12  # smallest distance of a corner from its neighbors' line, in the frame
_TOUCH = 1e-12  # rounding of a distance, relative to the size of the polygon
_BLOCK = 100_000  # points between two checks for Ctrl-C


@dataclass(frozen=True, eq=False)
class Frame:
    """Coordinates z in which the polygon is about as wide as long.

    They run along the axes of the polygon, in units of its widths: ``x = origin + (z * widths) @
    axes``. Affine maps preserve ratios of areas, so these are computed here, where a thin or tiny
    polygon loses no digits.
    """

    origin: Floats
    """(2,) The centroid."""

    axes: Floats
    """(2, 2) A rotation; its rows are the directions in which the polygon is longest and widest."""

    widths: Floats
    """(2,) Standard deviations of the vertices in these directions, the larger first."""

    corners: Floats
    """(n, 2) The vertices, counterclockwise."""

    area: float
    """The area in these coordinates."""

    def out(self, points: Floats) -> Floats:
        """Return the points x of points z, (..., 2)."""
        return self.origin + (points * self.widths) @ self.axes

    def place(self, points: Floats) -> Floats:
        """Return the points z of points x, (..., 2)."""
        return (points - self.origin) @ self.axes.T / self.widths


class Polygon:
    """A convex polygon in the plane.

    Parameters
    ----------
    vertices : array-like of shape (n_vertices, 2)
        The corners, at least three, in any order. Each must be a corner of the convex hull, more
        than 1e-12 of the width away from the line through its neighbors. The width must be more
        than 1e-10 of the length, and the extent between 1e-150 and 1e150.

    Attributes
    ----------
    vertices : ndarray of shape (n_vertices, 2)
        The corners, counterclockwise from the first one given.
    edges : ndarray of shape (n_vertices, 2, 2)
        Start and end of each edge; edge i runs from vertex i to the next.
    normals : ndarray of shape (n_vertices, 2)
        Unit normals of the edges that point out of the polygon.
    offsets : ndarray of shape (n_vertices,)
        The polygon is where ``normals @ x <= offsets``.
    lengths : ndarray of shape (n_vertices,)
        Lengths of the edges.
    perimeter : float
        Their sum.
    area : float
        The area.
    centroid : ndarray of shape (2,)
        The center of mass of the uniform density.
    frame : Frame
        Coordinates in which the polygon is about as wide as long.
    size : float
        Largest distance of a vertex from the centroid.

    Raises
    ------
    ValueError
        If the vertices are fewer than three, not finite, on a line or not in convex position.
    TypeError
        If the vertices are not real numbers.

    Notes
    -----
    The arrays are read-only. Area and centroid are sums over the edges (Green's theorem); their
    relative error is about 1e-16 times length over width.

    Examples
    --------
    >>> from bayespoint.papers.planar import Polygon
    >>> square = Polygon([[0, 0], [2, 2], [2, 0], [0, 2]])
    >>> square.vertices
    array([[0., 0.], [2., 0.], [2., 2.], [0., 2.]])
    >>> square.area, square.perimeter, square.centroid
    (4.0, 8.0, array([1., 1.]))
    >>> square.contains([[1, 1], [3, 1]])
    array([ True, False])
    """

    def __init__(self, vertices: ArrayLike) -> None:
        given = points("vertices", vertices)
        if given.ndim != 2 or len(given) < 3:
            raise ValueError(
                "vertices must have shape (n_vertices, 2) with at least three of them; "
                f"got shape {given.shape}"
            )
        middle = given.mean(axis=0)
        local, axes, widths = _whiten(given - middle)
        order = np.argsort(np.arctan2(local[:, 1], local[:, 0]), kind="stable")
        order = np.roll(order, -int(np.argmin(order)))
        corners = local[order]
        depth = _depth(corners)
        flattest = int(np.argmin(depth))
        if not depth[flattest] > _CORNER:
            i = int(order[flattest])
            raise ValueError(
                "vertices must be the corners of a convex polygon, each given once; got "
                f"{given[i].tolist()} as vertex {i}, which is no corner of their convex hull"
            )
        ends = np.roll(corners, -1, axis=0)
        twice = _cross(corners, ends)
        area = float(twice.sum()) / 2
        shift = twice @ (corners + ends) / (6 * area)
        origin = middle + (shift * widths) @ axes
        self.frame = Frame(origin, axes, widths, corners - shift, area)

        self.vertices = given[order]
        self.edges = np.stack([self.vertices, np.roll(self.vertices, -1, axis=0)], axis=1)
        along = self.edges[:, 1] - self.edges[:, 0]
        self.lengths = np.hypot(along[:, 0], along[:, 1])
        self.normals = np.stack([along[:, 1], -along[:, 0]], axis=1) / self.lengths[:, None]
        self.offsets = (self.normals * self.vertices).sum(axis=1)
        self.perimeter = float(self.lengths.sum())
        self.area = area * float(widths[0]) * float(widths[1])
        self.centroid = self.frame.origin
        self.size = float(np.hypot(*(self.vertices - self.centroid).T).max())
        self._rounding = _TOUCH * self.size + 4 * float(np.spacing(np.abs(given).max()))
        own = self.vertices, self.edges, self.lengths, self.normals, self.offsets
        for array in (*own, origin, axes, widths, self.frame.corners):
            array.setflags(write=False)

    def __repr__(self) -> str:
        return (
            f"<Polygon: {len(self.vertices)} vertices, area {self.area:.6g}, centroid "
            f"[{self.centroid[0]:.6g}, {self.centroid[1]:.6g}]>"
        )

    def clearance(self, point: ArrayLike) -> Any:
        """Return the distances of points from the boundary.

        Parameters
        ----------
        point : array-like of shape (2,) or (..., 2)
            One point or many.

        Returns
        -------
        float or ndarray of shape (...)
            Distance to the nearest line through an edge: the radius of the largest circle around
            the point in the polygon; negative outside.

        Examples
        --------
        >>> from bayespoint.papers.planar import Polygon
        >>> Polygon([[0, 0], [4, 0], [0, 4]]).clearance([[1, 0.5], [1, -3]])
        array([ 0.5, -3. ])
        """
        place = points("point", point)
        # offsets - normals @ x would lose digits far from the origin.
        away = self.vertices - place[..., None, :]
        distance = (self.normals * away).sum(axis=-1).min(axis=-1)
        return float(distance) if distance.ndim == 0 else distance

    def contains(self, point: ArrayLike) -> Any:
        """Return whether points are in the polygon or, up to rounding, on its boundary.

        Parameters
        ----------
        point : array-like of shape (2,) or (..., 2)
            One point or many.

        Returns
        -------
        bool or ndarray of shape (...)
            Whether `clearance` is at least -1e-12 times the largest distance of a vertex from the
            centroid, less the rounding of the vertices' coordinates.
        """
        inside = np.asarray(self.clearance(point)) >= -self._rounding
        return bool(inside) if inside.ndim == 0 else inside

    def sample(self, n_points: int, *, random_state: RandomState = None) -> Floats:
        """Draw independent points, uniform over the polygon.

        Parameters
        ----------
        n_points : int
            Number of points, at least 1.
        random_state : int, numpy.random.Generator, numpy.random.RandomState or None, default=None
            Seed. None draws one from NumPy's global generator.

        Returns
        -------
        ndarray of shape (n_points, 2)
            The points.

        Examples
        --------
        >>> from bayespoint.papers.planar import Polygon
        >>> triangle = Polygon([[0, 0], [1, 0], [0, 1]])
        >>> draws = triangle.sample(100, random_state=0)
        >>> draws.shape, bool(triangle.contains(draws).all())
        ((100, 2), True)
        """
        n_points = validation.integer("n_points", n_points, low=1, high=validation.MANY)
        rng = validation.generator(random_state)
        # Triangles between the centroid and an edge; the square root makes each uniform.
        corners = self.frame.corners
        following = np.roll(corners, -1, axis=0)
        shares = _cross(corners, following)
        shares /= shares.sum()
        found = np.empty((n_points, 2))
        for rows in validation.blocks(n_points, _BLOCK):
            n = len(found[rows])
            edge = rng.choice(len(corners), size=n, p=shares)
            outward = np.sqrt(rng.uniform(size=(n, 1)))
            along = rng.uniform(size=(n, 1))
            inside = outward * (corners[edge] + along * (following[edge] - corners[edge]))
            found[rows] = self.frame.out(inside)
        return found


def inscribed(normals: Floats, distances: Floats) -> tuple[Floats, float]:
    """Return center and radius of the largest circle in some half-planes.

    Linear program: the largest r with ``normals @ x + r <= distances`` (the Chebyshev center).
    """
    solution = optimize.linprog(
        [0.0, 0.0, -1.0],
        A_ub=np.column_stack([normals, np.ones(len(normals))]),
        b_ub=distances,
        bounds=[(None, None), (None, None), (0, None)],
        method="highs-ds",
        options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
    )
    if solution.x is None:
        raise RuntimeError(f"linear programming failed: {solution.message}")
    return solution.x[:2], float(solution.x[2])


def points(name: str, value: ArrayLike) -> Floats:
    """Return `value` as finite points of shape (..., 2)."""
    array = validation.dense(name, value)
    if array.ndim == 0 or array.shape[-1] != 2:
        raise ValueError(f"{name} must have shape (..., 2); got shape {array.shape}")
    array = np.array(array, dtype=np.float64)
    if not (np.abs(array) <= _EXTENT[1]).all():
        raise ValueError(
            f"{name} must be finite and within {_EXTENT[1]:g} of the origin; it holds NaN or more"
        )
    return array


def point(name: str, value: ArrayLike) -> Floats:
    """Return `value` as one finite point of shape (2,)."""
    array = points(name, value)
    if array.shape != (2,):
        raise ValueError(f"{name} must have shape (2,); got shape {array.shape}")
    return array


def _cross(a: Floats, b: Floats) -> Floats:
    return a[:, 0] * b[:, 1] - a[:, 1] * b[:, 0]


def _depth(corners: Floats) -> Floats:
    """Return the distance of each corner from the line through its neighbors, outward."""
    before, after = np.roll(corners, 1, axis=0), np.roll(corners, -1, axis=0)
    base = after - before
    length = np.hypot(base[:, 0], base[:, 1])
    return _cross(corners - before, base) / np.where(length > 0, length, 1.0)


def _whiten(centered: Floats) -> tuple[Floats, Floats, Floats]:
    """Return coordinates of unit variance along the principal axes, the axes and the widths."""
    extent = float(np.abs(centered).max())
    if extent == 0:
        raise ValueError(f"vertices must differ; got {len(centered)} times the same point")
    low, high = _EXTENT
    if not low <= extent <= high:
        raise ValueError(
            f"vertices must be from {low:g} to {high:g} away from their middle, at most; got "
            f"{extent:.3g}"
        )
    _, widths, axes = np.linalg.svd(centered, full_matrices=False)
    if not widths[1] > _FLATTEST * widths[0]:
        raise ValueError(
            "vertices must not lie on a line; got points whose spread across it is "
            f"{widths[1] / widths[0]:.3g} of that along it"
        )
    axes[1] *= np.sign(axes[0, 0] * axes[1, 1] - axes[0, 1] * axes[1, 0])  # a rotation
    widths = widths / math.sqrt(len(centered))
    return centered @ axes.T / widths, axes, widths
