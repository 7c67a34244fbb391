"""The largest circle and the largest ellipse in a polygon."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from bayespoint.base.validation import Floats
from bayespoint.papers.planar.polygon import Polygon, inscribed

_TIGHT = 1e-9  # largest slack of an edge that is touched, relative to the radius
_PARALLEL = 1e-12  # sine of the angle between edges that count as parallel
_WEIGHT = 1e13  # final weight of the area against the barrier; beyond it rounding dominates
_GROWTH = 5.0  # factor by which the weight grows
_CENTERED = 0.25  # Newton decrement below which the weight may grow
_MAX_STEPS = 20_000  # 100 are typical; 1000 edges take 500

# Quadratic forms of which -log(z @ form @ z / 2) is a barrier: the determinant of a symmetric 2x2
# matrix given as (b11, b12, b22), and the cone s > |w| given as (s, w1, w2).
_DETERMINANT = np.array([[0.0, 0.0, 1.0], [0.0, -2.0, 0.0], [1.0, 0.0, 0.0]])
_CONE = np.diag([2.0, -2.0, -2.0])


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

    semi_axes: Floats
    """(2,) Half the lengths of its axes, the longer first."""

    angle: float
    """Direction of the longer axis, in radians, in [0, π)."""

    @property
    def area(self) -> float:
        """Enclosed area."""
        return math.pi * float(self.semi_axes[0]) * float(self.semi_axes[1])

    @property
    def shape(self) -> Floats:
        """(2, 2) The symmetric B for which the ellipse is ``center + B @ u`` with ``|u| <= 1``."""
        cos, sin = math.cos(self.angle), math.sin(self.angle)
        axes = np.array([[cos, -sin], [sin, cos]])
        shape: Floats = (axes * self.semi_axes) @ axes.T
        return shape


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
    place, radius = inscribed(normals, distances, (0.0, None))
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
    Among the ellipses ``c + B @ u``, ``|u| <= 1``, with B symmetric, it has the largest log det B
    subject to ``|B @ n_i| + n_i @ c <= offset_i`` (Boyd & Vandenberghe, Section 8.4.2). It is found
    by a barrier method in five variables, with damped Newton steps for self-concordant functions,
    which never leave the polygon. The polygon is first mapped to a round one; affine maps preserve
    the largest ellipse.

    References
    ----------
    S. Boyd, L. Vandenberghe, "Convex Optimization", Cambridge University Press, 2004.

    Examples
    --------
    >>> from bayespoint.papers.planar import Polygon, largest_ellipse
    >>> ellipse = largest_ellipse(Polygon([[0, 0], [6, 0], [6, 2], [0, 2]]))
    >>> ellipse.center.round(6), ellipse.semi_axes.round(6)
    (array([3., 1.]), array([3., 1.]))
    """
    frame = polygon.frame
    along = np.roll(frame.corners, -1, axis=0) - frame.corners
    normals = np.stack([along[:, 1], -along[:, 0]], axis=1)
    normals /= np.hypot(along[:, 0], along[:, 1])[:, None]
    distances = (normals * frame.corners).sum(axis=1)

    # x holds b11, b12, b22, c1, c2; edge i requires (s, w) = (distance - n @ c, B @ n) in the cone.
    maps = np.zeros((len(normals), 3, 5))
    maps[:, 0, 3:] = -normals
    maps[:, 1, 0] = maps[:, 2, 1] = normals[:, 0]
    maps[:, 1, 1] = maps[:, 2, 2] = normals[:, 1]
    shifts = np.zeros((len(normals), 3))
    shifts[:, 0] = distances
    matrix = np.eye(1, 3, 0)[0] + np.eye(1, 3, 2)[0]
    x = np.append(matrix * distances.min() / 2, [0.0, 0.0])

    weight = 1.0
    for _ in range(_MAX_STEPS):
        gradient, hessian = _barrier(maps, shifts, _CONE, x)
        of_area, curvature = _barrier(np.eye(3, 5)[None], np.zeros((1, 3)), _DETERMINANT, x)
        gradient, hessian = gradient + weight * of_area, hessian + weight * curvature
        step = -np.linalg.solve(hessian, gradient)
        decrement = math.sqrt(max(float(-gradient @ step), 0.0))
        x = x + step / (1 + decrement)
        if decrement <= _CENTERED:
            # On the central path the log area is too small by 2 / weight for each cone.
            if weight >= _WEIGHT:
                break
            weight *= _GROWTH
    else:
        raise RuntimeError(f"the largest ellipse was not found in {_MAX_STEPS} Newton steps")
    outward = (frame.axes.T * frame.widths) @ np.array([[x[0], x[1]], [x[1], x[2]]])
    axes, semi_axes, _ = np.linalg.svd(outward)
    return Ellipse(
        center=frame.out(x[3:]),
        semi_axes=semi_axes,
        angle=math.atan2(axes[1, 0], axes[0, 0]) % math.pi,
    )


def _barrier(maps: Floats, shifts: Floats, form: Floats, x: Floats) -> tuple[Floats, Floats]:
    """Return gradient and Hessian of the sum of -log(z @ form @ z / 2) over z = map @ x + shift."""
    z = maps @ x + shifts
    slope = z @ form
    value = (z * slope).sum(axis=1)[:, None] / 2
    first = np.einsum("ik,ikj->ij", slope / value, maps)
    second = np.einsum("ikj,kl,ilm->jm", maps, form, maps / value[:, :, None])
    return -first.sum(axis=0), first.T @ first - second
