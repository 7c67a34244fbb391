"""The largest circle and the largest ellipse in a polygon."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from bayespoint.base.validation import Floats
from bayespoint.papers.ellipsoid import inscribed_ellipsoid
from bayespoint.papers.planar.polygon import Polygon, inscribed

_TIGHT = 1e-9  # largest slack of an edge that is touched, relative to the radius
_PARALLEL = 1e-12  # sine of the angle between edges that count as parallel


@dataclass(frozen=True, eq=False)
class Circle:
    """A circle."""

    center: Floats
    """(2,) Its center."""

    radius: float
    """Its radius."""

    @property
    def area(self) -> float:
        """Area of the disk."""
        return math.pi * self.radius**2


@dataclass(frozen=True, eq=False)
class Ellipse:
    """An ellipse."""

    center: Floats
    """(2,) Its center."""

    shape: Floats
    """(2, 2) The symmetric B for which the ellipse is ``center + B @ u`` with ``|u| <= 1``."""

    @property
    def area(self) -> float:
        """Enclosed area."""
        return math.pi * float(np.linalg.det(self.shape))


def largest_circle(polygon: Polygon) -> Circle:
    """Return the largest circle in a polygon.

    Its center corresponds to the maximal-margin classifier, if all examples have the same length.

    Parameters
    ----------
    polygon : Polygon
        The polygon.

    Returns
    -------
    Circle
        The circle. If it can slide between parallel edges, it is in the middle of its range.

    Notes
    -----
    Linear program: the largest r with ``normals @ x + r <= offsets`` (the Chebyshev center).

    Examples
    --------
    >>> from bayespoint.papers.planar import Polygon, largest_circle
    >>> circle = largest_circle(Polygon([[0, 0], [6, 0], [6, 2], [0, 2]]))
    >>> circle.center.round(12), round(circle.radius, 12)
    (array([3., 1.]), 1.0)
    """
    normals = polygon.normals
    distances = (normals * (polygon.vertices - polygon.centroid)).sum(axis=1)
    unit = float(distances.min())  # the radius is between this and 3/2 of it
    distances = distances / unit
    place, radius = inscribed(normals, distances)
    slack = distances - normals @ place - radius
    touched = normals[slack <= _TIGHT]
    for normal in touched:
        along = np.array([-normal[1], normal[0]])
        if not ((touched @ normal < 0) & (np.abs(touched @ along) <= _PARALLEL)).any():
            continue
        speed = normals @ along
        ahead, behind = speed > 2 * _PARALLEL, speed < -2 * _PARALLEL
        farthest = (slack[ahead] / speed[ahead]).min()
        nearest = (slack[behind] / speed[behind]).max()
        place = place + along * (farthest + nearest) / 2
        radius = float((distances - normals @ place).min())
        break
    return Circle(polygon.centroid + unit * place, unit * radius)


def largest_ellipse(polygon: Polygon) -> Ellipse:
    """Return the ellipse of largest area in a polygon.

    Parameters
    ----------
    polygon : Polygon
        The polygon.

    Returns
    -------
    Ellipse
        The ellipse, which is unique. Its relative error in area is below 2e-13 times the number of
        edges.

    Notes
    -----
    `bayespoint.papers.ellipsoid.inscribed_ellipsoid` finds it in a rounder polygon, since
    affine maps preserve the largest ellipse.

    Examples
    --------
    >>> from bayespoint.papers.planar import Polygon, largest_ellipse
    >>> ellipse = largest_ellipse(Polygon([[0, 0], [6, 0], [6, 2], [0, 2]]))
    >>> ellipse.center.round(6), ellipse.shape.diagonal().round(6)
    (array([3., 1.]), array([3., 1.]))
    """
    frame = polygon.frame
    along = np.roll(frame.corners, -1, axis=0) - frame.corners
    normals = np.stack([along[:, 1], -along[:, 0]], axis=1)
    normals /= np.hypot(along[:, 0], along[:, 1])[:, None]
    found = inscribed_ellipsoid(normals, (normals * frame.corners).sum(axis=1))
    # The root by Cholesky: of a thin polygon the square would lose the shorter axis.
    outward = (frame.axes.T * frame.widths) @ np.linalg.cholesky(found.square)
    axes, semi_axes, _ = np.linalg.svd(outward)
    return Ellipse(frame.out(found.center), (axes * semi_axes) @ axes.T)
