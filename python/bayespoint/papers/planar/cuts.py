"""Areas on the sides of lines, and averages over the directions of lines through a point."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from bayespoint.base import validation
from bayespoint.base.validation import Floats
from bayespoint.papers.planar.polygon import Frame, Polygon

TOLERANCE = 1e-13  # error of the integrals over directions, whose integrands are about 1
_ROUNDING = 1e-16  # smallest error requested in one interval
_MAX_INTERVALS = 20_000  # intervals beyond which none is halved
_BLOCK = 50_000  # distances of corners from lines computed at a time
_GAUSS = np.polynomial.legendre.leggauss(16)


def unit(angles: Floats) -> Floats:
    """Return the (k, 2) unit vectors of k directions."""
    return np.stack([np.cos(angles), np.sin(angles)], axis=1)


def normals_in(frame: Frame, normals: Floats) -> tuple[Floats, Floats]:
    """Return unit normals in the coordinates of a frame, and factors, from normals by its axes.

    The line ``normal @ (x - origin) == t`` is ``across @ z == t / factor``.
    """
    stretched = normals * frame.widths
    factor = np.hypot(stretched[:, 0], stretched[:, 1])
    return stretched / factor[:, None], factor


def cut(corners: Floats, normals: Floats, levels: Floats) -> tuple[Floats, Floats, Floats]:
    """Cut a polygon by k lines ``normal @ z == level``.

    Returns the area above each line, the length of its chord, which is minus the derivative of the
    area with respect to the level, and the derivative of the chord. By Green's theorem the area is
    the integral of max(height, 0) along the boundary, over the coordinate along the line.
    """
    width = np.stack([-normals[:, 1], normals[:, 0]], axis=1) @ corners.T
    width = np.roll(width, -1, axis=1) - width
    height = normals @ corners.T
    # A line that misses the polygon is moved to touch it, which keeps heights small.
    height -= np.clip(levels, height.min(axis=1), height.max(axis=1))[:, None]
    after = np.roll(height, -1, axis=1)
    above, above_after = np.maximum(height, 0), np.maximum(after, 0)
    crossing = (height > 0) != (after > 0)
    rise = np.where(crossing, np.abs(after - height), 1.0)
    share = np.where(crossing, (above + above_after) / rise, height > 0)
    area = (width * share * (above + above_after)).sum(axis=1) / 2
    return area, (width * share).sum(axis=1), -(width * crossing / rise).sum(axis=1)


def average(
    polygon: Polygon, place: Floats, integrand: Callable[[Floats, Floats, Floats, Floats], Floats]
) -> tuple[Floats, float]:
    """Return the mean of an integrand over directions, and an estimate of its error.

    The integrand is called for k directions with the (k, 2) normals in the frame, the differences
    of areas, the chords and their derivatives, all for an area of 1, and returns one row for each.
    It is analytic between the directions of lines to vertices, where Gauss' rule converges fast.
    Intervals are halved until the halves agree with the whole.

    Directions are measured from the long axis of the polygon: for a thin polygon the integrand
    varies near that axis, and angles near 0 have the smallest rounding errors.
    """
    frame = polygon.frame
    nodes, weights = _GAUSS
    block = max(1, _BLOCK // len(frame.corners))

    def integrate(start: Floats, end: Floats) -> Floats:
        half = (end - start)[:, None] / 2
        angles = (start[:, None] + half * (1 + nodes)).ravel()
        across, _ = normals_in(frame, np.stack([-np.sin(angles), np.cos(angles)], axis=1))
        levels = across @ place
        parts = [
            cut(frame.corners, across[rows], levels[rows])
            for rows in validation.blocks(len(angles), block)
        ]
        above, chord, slope = np.concatenate(parts, axis=1) / frame.area
        values = integrand(across, 2 * above - 1, chord, slope)
        sums: Floats = (values.reshape(*half.shape[:1], len(nodes), -1) * weights[:, None]).sum(
            axis=1
        )
        return sums * half

    away = (frame.corners - place) * frame.widths
    away = away[np.abs(away).max(axis=1) > 0]
    with np.errstate(divide="ignore", over="ignore"):
        kinks = np.arctan(away[:, 1] / away[:, 0])
    kinks = np.unique(np.append(kinks, [-math.pi / 2, math.pi / 2]))
    start, end = kinks[:-1], kinks[1:]
    whole = integrate(start, end)
    total, error = np.zeros(whole.shape[1]), 0.0
    while len(start):
        middle = (start + end) / 2
        left, right = integrate(start, middle), integrate(middle, end)
        change = np.abs(left + right - whole).max(axis=1)
        done = change <= np.maximum(TOLERANCE * (end - start), _ROUNDING)
        if len(done) > _MAX_INTERVALS:
            done[:] = True
        total += (left + right)[done].sum(axis=0)
        error += float(change[done].sum())
        start = np.concatenate([start[~done], middle[~done]])
        end = np.concatenate([middle[~done], end[~done]])
        whole = np.concatenate([left[~done], right[~done]])
    return total / math.pi, error / math.pi
