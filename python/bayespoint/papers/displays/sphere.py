"""Geometry of version spaces in three dimensions: feature vectors, charts, corners."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, spatial

from bayespoint.base.validation import Floats
from bayespoint.version_space import VersionSpace

_NEGLIGIBLE = 1e-9
"""An eigenvalue of the Gram matrix, relative to the largest, that counts as zero."""


def has_three_dimensions(space: VersionSpace) -> bool:
    """Return whether the Gram matrix, with offset and softness, is of rank 3."""
    if len(space.y) > 3 and space.softness.all():
        return False  # each softness adds a dimension
    return _spectrum(space)[0] == 3


def feature_vectors(space: VersionSpace, purpose: str) -> Floats:
    """Return the (m, 3) feature vectors of a version space in three dimensions, up to a rotation.

    Their inner products are the kernel values with offset and softness. Error messages name the
    purpose.

    Raises
    ------
    ValueError
        If the Gram matrix is not of rank 3.
    """
    m = len(space.y)
    rank, values, vectors = _spectrum(space)
    if rank != 3:
        found = f"{rank}" if rank < 4 else "4 or more"
        hint = "; softness adds a dimension for each example" * bool(space.softness.any())
        raise ValueError(
            f"space must have three dimensions for {purpose}: a Gram matrix, with offset and "
            f"softness, of rank 3; got rank {found} for {m} examples{hint}; "
            "BilliardDisplay.from_result(result, space, view='projection') draws any"
        )
    points: Floats = vectors[:, -3:] * np.sqrt(values[-3:])
    return points


def _spectrum(space: VersionSpace) -> tuple[int, Floats, Floats]:
    """Return the rank, 4 for more, and the largest four eigenvalues with their vectors."""
    m = len(space.y)
    matrix = np.asarray(space.gram, dtype=np.float64) + space.offset + np.diag(space.softness)
    values, vectors = linalg.eigh(matrix, subset_by_index=(max(0, m - 4), m - 1))
    return int((values > _NEGLIGIBLE * values[-1]).sum()), values, vectors


def scaled(vectors: Floats) -> Floats:
    """Return vectors (..., d) scaled to length 1."""
    return np.asarray(vectors / np.linalg.norm(vectors, axis=-1, keepdims=True))


def angle(a: Floats, b: Floats) -> float:
    """Return the angle between two vectors."""
    return float(np.arccos(np.clip(a @ b / np.linalg.norm(a) / np.linalg.norm(b), -1, 1)))


def chart(center: Floats) -> tuple[Floats, Floats]:
    """Return two orthonormal tangents at a unit vector in three dimensions.

    In the chart ``p -> (p @ first, p @ second) / (p @ center)`` great circles are straight lines.
    """
    helper = np.eye(3)[np.abs(center).argmin()]
    first = np.cross(center, helper)
    first /= np.linalg.norm(first)
    return first, np.cross(center, first)


def corners_of(normals: Floats, inside: Floats) -> Floats:
    """Return the (n, 3) corners of a spherical polygon, in order.

    The normals point into the polygon, and `inside` is one of its points. In the chart at the
    normalized sum of the unit normals the edges are straight lines. Two of them meet if their dual
    points ``normal / distance`` are neighbors on the convex hull of all dual points.

    Raises
    ------
    ValueError
        If the point is not inside, or the edges do not enclose a polygon.
    """
    pole = scaled(normals).sum(axis=0)
    pole /= np.linalg.norm(pole)
    frame, middle = np.stack(chart(pole)), inside / (inside @ pole)
    outward, distances = -normals @ frame.T, normals @ middle
    if not (distances > 0).all():
        raise ValueError("the point is not inside")
    dual = outward / distances[:, None]
    try:
        hull = spatial.ConvexHull(dual)
    except spatial.QhullError:
        raise ValueError("its edges do not enclose an area") from None
    if not (hull.equations[:, 2] < -_NEGLIGIBLE * np.abs(dual).max()).all():
        raise ValueError("it is not bounded")
    edges = np.column_stack([outward, -distances])[hull.vertices]
    meeting = np.cross(edges, np.roll(edges, -1, axis=0))
    vertices = meeting[:, :2] / meeting[:, 2:] @ frame + middle
    return scaled(vertices)


def mesh(n: int) -> Floats:
    """Return points of the unit sphere, (3, 2n + 1, n + 1), on circles around the third axis."""
    around, down = np.linspace(0, 2 * np.pi, 2 * n + 1)[:, None], np.linspace(0, np.pi, n + 1)
    level = np.ones_like(around) * np.cos(down)
    return np.stack([np.cos(around) * np.sin(down), np.sin(around) * np.sin(down), level])


def closed(points: Floats) -> Floats:
    """Return points in order with the first one again at the end."""
    return np.vstack([points, points[:1]])


def center_of_mass(corners: Floats) -> Floats:
    """Return the unit center of mass of a spherical polygon.

    The integral of the position is half the sum of length times inward normal over the edges.
    """
    following = np.roll(corners, -1, axis=0)
    cross = np.cross(corners, following)
    sines = np.linalg.norm(cross, axis=1)
    lengths = np.arctan2(sines, (corners * following).sum(axis=1))
    total = (lengths / np.where(sines > 0, sines, 1.0)) @ cross
    # The corners may be in clockwise order.
    total *= np.sign(total @ corners.sum(axis=0))
    return np.asarray(total / np.linalg.norm(total))


def outline(corners: Floats) -> Floats:
    """Return points on the boundary of a spherical polygon, 31 on each edge."""
    edges: list[NDArray[np.float64]] = [
        spatial.geometric_slerp(first, second, np.linspace(0, 1, 31))
        for first, second in zip(corners, np.roll(corners, -1, axis=0), strict=True)
    ]
    return np.concatenate(edges)
