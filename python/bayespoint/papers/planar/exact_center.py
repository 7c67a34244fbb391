"""Bayes lines, which halve a polygon, and the Bayes point."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from bayespoint.base import validation
from bayespoint.base.validation import Floats
from bayespoint.base.warnings import warn
from bayespoint.papers.planar.cuts import TOLERANCE, average, cut, normals_in, unit
from bayespoint.papers.planar.polygon import Polygon
from bayespoint.papers.planar.polygon import point as _point

_STEP = 1e-9  # length of a step at which the search ends, in the frame
_MAX_STEPS = 60
_MAX_HALVINGS = 20


@dataclass(frozen=True, eq=False)
class BayesLine:
    """A line that halves the area of a polygon."""

    angle: float
    """Direction of the normal, in radians."""

    normal: Floats
    """(2,) The unit normal, ``[cos(angle), sin(angle)]``."""

    offset: float
    """The line is where ``normal @ x == offset``."""

    segment: Floats
    """(2, 2) Its ends on the boundary of the polygon; the normal points to its left."""


@dataclass(frozen=True, eq=False)
class BayesLines:
    """The lines that halve the area of a polygon, one for each of ``k`` directions."""

    angles: Floats
    """(k,) Directions of the normals, in radians."""

    normals: Floats
    """(k, 2) The unit normals."""

    offsets: Floats
    """(k,) Line j is where ``normals[j] @ x == offsets[j]``."""

    segments: Floats
    """(k, 2, 2) The ends of each on the boundary; its normal points to its left."""

    @property
    def envelope(self) -> Floats:
        """(k, 2) The points where the lines touch their envelope.

        They are the middles of the segments: a line that keeps halving a convex area turns about
        the middle of its chord.
        """
        middles: Floats = self.segments.mean(axis=1)
        return middles


@dataclass(frozen=True, eq=False, repr=False)
class BayesPoint:
    """The point with the smallest mean squared difference between the areas on either side."""

    point: Floats
    """(2,) The Bayes point."""

    point_error: float
    """Estimated error, from those of the integration and the last step of the search."""

    objective: float
    """Mean square of `area_difference` over all directions, in [0, 1]."""

    centroid: Floats
    """(2,) The center of mass."""

    centroid_objective: float
    """The objective there, at least `objective` up to rounding."""

    def __repr__(self) -> str:
        return (
            f"<BayesPoint: [{self.point[0]:.6g}, {self.point[1]:.6g}], objective "
            f"{self.objective:.4g}, at the centroid {self.centroid_objective:.4g}>"
        )


def bayes_line(polygon: Polygon, angle: float) -> BayesLine:
    """Return the line with a given normal that halves the area of a polygon.

    Parameters
    ----------
    polygon : Polygon
        The polygon.
    angle : float
        Direction of the normal, in radians.

    Returns
    -------
    BayesLine
        The line and its part in the polygon.

    Notes
    -----
    The area on one side of a line that moves along its normal is a quadratic function between two
    vertices, so the equation for one half is solved exactly. The two areas agree to about 1e-15 of
    their sum, apart from the rounding of `offset` and `segment`.

    Examples
    --------
    >>> from bayespoint.papers.planar import Polygon, bayes_line
    >>> triangle = Polygon([[0, 0], [1, 0], [0, 1]])
    >>> print(f"{bayes_line(triangle, 0.0).offset:.12f}")  # 1 - sqrt(1/2)
    0.292893218813
    """
    angle = validation.real("angle", angle)
    lines = _halving(polygon, np.array([angle]))
    return BayesLine(angle, lines.normals[0], float(lines.offsets[0]), lines.segments[0])


def bayes_lines(polygon: Polygon, n_directions: int = 180) -> BayesLines:
    """Return the lines that halve the area of a polygon, in all directions.

    Parameters
    ----------
    polygon : Polygon
        The polygon.
    n_directions : int, default=180
        Number of directions, at least 1. Their normals are equally spaced over half a turn from
        angle 0; the other half has the same lines.

    Returns
    -------
    BayesLines
        The lines, their parts in the polygon and their envelope.

    Notes
    -----
    The lines meet in one point if, and only if, the polygon is point-symmetric (Herbrich et al.,
    1999, Lemma 4). The envelope of a triangle encloses 3/4 ln 2 - 1/2 of it, about 2 %.

    Examples
    --------
    >>> from bayespoint.papers.planar import Polygon, bayes_lines
    >>> lines = bayes_lines(Polygon([[0, 0], [2, 0], [2, 2], [0, 2]]), 4)
    >>> bool((abs(lines.envelope - [1, 1]) < 1e-15).all())
    True
    """
    n_directions = validation.integer("n_directions", n_directions, low=1, high=validation.MANY)
    return _halving(polygon, np.linspace(0.0, math.pi, n_directions, endpoint=False))


def area_difference(polygon: Polygon, point: ArrayLike, angles: ArrayLike) -> Any:
    """Return the difference of the areas into which lines through a point cut a polygon.

    Parameters
    ----------
    polygon : Polygon
        The polygon.
    point : array-like of shape (2,)
        Point on the lines, inside the polygon or not.
    angles : float or array-like
        Directions of their normals, in radians.

    Returns
    -------
    float or ndarray of the shape of `angles`
        The area on the side that the normal points to, less that on the other, as a share of the
        area of the polygon: in [-1, 1]. At the centroid it is from -1/9 to 1/9.

    Examples
    --------
    >>> from bayespoint.papers.planar import Polygon, area_difference
    >>> square = Polygon([[0, 0], [2, 0], [2, 2], [0, 2]])
    >>> area_difference(square, [0.5, 1.0], [0.0, 1.5707963267948966]).round(12)
    array([0.5, 0. ])
    """
    place = polygon.frame.place(_point("point", point))
    turned = validation.dense("angles", angles).astype(np.float64)
    if not np.isfinite(turned).all():
        raise ValueError("angles must be finite; they hold NaN or infinity")
    frame = polygon.frame
    across, _ = normals_in(frame, unit(turned.ravel()) @ frame.axes.T)
    above, _, _ = cut(frame.corners, across, across @ place)
    difference = (2 * above / frame.area - 1).reshape(turned.shape)
    return float(difference) if difference.ndim == 0 else difference


def bayes_objective(polygon: Polygon, point: ArrayLike) -> float:
    r"""Return the mean squared difference of the areas into which lines through a point cut.

    .. math:: Q(p) = \frac{1}{\pi} \int_0^\pi
        \left( \frac{A_1(p, \theta) - A_2(p, \theta)}{A_1 + A_2} \right)^2 d\theta

    where the line through p with normal :math:`(\cos\theta, \sin\theta)` cuts the polygon into
    areas A₁ and A₂.

    Parameters
    ----------
    polygon : Polygon
        The polygon.
    point : array-like of shape (2,)
        The point p, in the polygon or not.

    Returns
    -------
    float
        Q(p), in [0, 1], with an absolute error of about 1e-12.

    Notes
    -----
    "The Bayes point is defined here as the point for which the direction-averaged squared
    area-difference is minimal" (Ruján & Marchand, Section 18.2, without an equation). The division
    by the squared area is added here, so that Q does not depend on the unit of length. The integral
    is adaptive, over the intervals on which the line meets the same two edges.

    Examples
    --------
    >>> from bayespoint.papers.planar import Polygon, bayes_objective
    >>> square = Polygon([[0, 0], [2, 0], [2, 2], [0, 2]])
    >>> print(f"{bayes_objective(square, [1, 1]):.6f} {bayes_objective(square, [1.2, 1]):.6f}")
    0.000000 0.025299
    """
    return _objective(polygon, polygon.frame.place(_point("point", point)))


def bayes_point(polygon: Polygon) -> BayesPoint:
    """Return the Bayes point of a polygon: the point where `bayes_objective` is smallest.

    Parameters
    ----------
    polygon : Polygon
        The polygon.

    Returns
    -------
    BayesPoint
        The point and the centroid, with the objective at each.

    Warns
    -----
    ConvergenceWarning
        If the search did not converge; `point_error` then estimates the error.

    Notes
    -----
    Newton's method from the centroid, with exact first and second derivatives of the areas under
    the integral over directions. The objective is not convex far from its minimum. It is not proved
    that the minimum is unique, but no counterexample is known.

    Examples
    --------
    >>> from bayespoint.papers.planar import Polygon, bayes_point
    >>> found = bayes_point(Polygon([[0, 0], [4, 0], [0, 1]]))
    >>> found
    <BayesPoint: [1.22858, 0.345128], objective 0.004175, at the centroid 0.008694>
    """
    frame = polygon.frame
    place = np.zeros(2)
    value, gradient, hessian, error = _derivatives(polygon, place)
    for _ in range(_MAX_STEPS):
        curvature, axes = np.linalg.eigh(hessian)
        # Absolute values, so that the step leads downhill if a curvature is negative.
        curvature = np.abs(curvature)
        step = -axes @ (axes.T @ gradient / curvature)
        length = float(np.hypot(*step))
        for _ in range(_MAX_HALVINGS):
            there = _derivatives(polygon, place + step)
            if there[0] <= value + TOLERANCE:
                break
            step /= 2
        place = place + step
        value, gradient, hessian, error = there
        if length <= _STEP:
            break
    else:
        warn(
            f"the search for the Bayes point did not converge in {_MAX_STEPS} steps; the last was "
            f"{length:.2g} of the polygon's width"
        )
    # Shift of the minimum by errors of the gradient, each up to `error`.
    moved = length + np.abs(axes / curvature).sum() * error
    return BayesPoint(
        point=frame.out(place),
        point_error=float(moved * frame.widths[0]),
        objective=_objective(polygon, place),
        centroid=polygon.centroid,
        centroid_objective=_objective(polygon, np.zeros(2)),
    )


def _halving(polygon: Polygon, angles: Floats) -> BayesLines:
    """Return the halving lines with normals at the given angles."""
    frame = polygon.frame
    corners = frame.corners
    normals = unit(angles)
    across, factor = normals_in(frame, normals @ frame.axes.T)
    half = frame.area / 2
    levels = np.sort(across @ corners.T, axis=1)
    each = np.arange(len(angles))
    # Between two neighboring levels the area above is a quadratic function of the level. Find the
    # pair that encloses one half by bisection of the ranks, then solve from its middle.
    low, high = np.zeros(len(angles), dtype=int), np.full(len(angles), len(corners) - 1)
    while (high - low).max() > 1:
        middle = (low + high) // 2
        more = cut(corners, across, levels[each, middle])[0] >= half
        low, high = np.where(more, middle, low), np.where(more, high, middle)
    bottom, top = levels[each, low], levels[each, high]
    level = (bottom + top) / 2
    area, chord, slope = cut(corners, across, level)
    excess = area - half
    # Chord at the root of area - chord * step - slope * step**2 / 2 = half.
    chord_there = np.sqrt(np.maximum(chord**2 + 2 * slope * excess, 0))
    level = np.clip(level + 2 * excess / (chord + chord_there), bottom, top)

    height = across @ corners.T - level[:, None]
    above, after = height > 0, np.roll(height > 0, -1, axis=1)
    ends = []
    for leaving in (~above & after, above & ~after):
        edge = np.argmax(leaving, axis=1)
        start, end = height[each, edge], height[each, (edge + 1) % len(corners)]
        share = (start / (start - end))[:, None]
        ends.append((1 - share) * corners[edge] + share * corners[(edge + 1) % len(corners)])
    return BayesLines(
        angles=angles,
        normals=normals,
        offsets=normals @ frame.origin + factor * level,
        segments=frame.out(np.stack(ends[::-1], axis=1)),
    )


def _objective(polygon: Polygon, place: Floats) -> float:
    """Return the objective at a point of the frame."""

    def integrand(across: Floats, difference: Floats, chord: Floats, slope: Floats) -> Floats:
        return difference[:, None] ** 2

    return float(average(polygon, place, integrand)[0][0])


def _derivatives(polygon: Polygon, place: Floats) -> tuple[float, Floats, Floats, float]:
    """Return objective, gradient and Hessian in the frame, and an error estimate for all of them.

    With D the difference and L the chord, dD = -2 L along the normal, and dL is the slope.
    """

    def integrand(across: Floats, difference: Floats, chord: Floats, slope: Floats) -> Floats:
        x, y = across.T
        first = -4 * difference * chord
        second = 8 * chord**2 - 4 * difference * slope
        columns = (
            difference**2,
            first * x,
            first * y,
            second * x * x,
            second * x * y,
            second * y * y,
        )
        return np.stack(columns, axis=1)

    mean, error = average(polygon, place, integrand)
    return float(mean[0]), mean[1:3], mean[[3, 4, 4, 5]].reshape(2, 2), error
