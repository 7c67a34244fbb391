"""Version spaces in three dimensions: charts, corners, and the vectors behind a Gram matrix."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, spatial

from bayespoint.base.validation import Floats
from bayespoint.kernels import rows_on_demand

if TYPE_CHECKING:
    from bayespoint.papers.planar import Polygon
    from bayespoint.version_space import VersionSpace

_NEGLIGIBLE = 1e-9
"""An eigenvalue of the Gram matrix, relative to the largest, that counts as zero."""


def feature_vectors(space: VersionSpace, what: str) -> Floats:
    """Return the (m, 3) feature vectors of a version space in three dimensions.

    Up to a rotation: their inner products are the kernel values with offset and softness.

    Raises
    ------
    ValueError
        If the Gram matrix is not of rank 3.
    """
    gram, m = space.gram, len(space.y)
    rows_on_demand.require_matrix(gram, what)
    matrix = np.asarray(gram, dtype=np.float64) + space.offset + np.diag(space.softness)
    values, vectors = linalg.eigh(matrix, subset_by_index=(max(0, m - 4), m - 1))
    rank = int((values > _NEGLIGIBLE * values[-1]).sum())
    if rank != 3:
        found = f"{rank}" if rank < 4 else "4 or more"
        hint = "; softness gives each example a dimension of its own" * bool(space.softness.any())
        raise ValueError(
            f"space must have three dimensions for {what}: a Gram matrix, with offset and "
            f"softness, of rank 3; got rank {found} for {m} examples{hint}"
        )
    points: Floats = vectors[:, -3:] * np.sqrt(values[-3:])
    return points


def chart(center: Floats) -> tuple[Floats, Floats]:
    """Return an orthonormal frame at a unit vector in three dimensions: two tangents to draw by.

    In the chart ``p -> (p @ first, p @ second) / (p @ center)`` great circles are straight lines.
    """
    helper = np.eye(3)[np.abs(center).argmin()]
    first = np.cross(center, helper)
    first /= np.linalg.norm(first)
    return first, np.cross(center, first)


def flat_polygon(normals: Floats, center: Floats) -> tuple[Polygon, Floats]:
    """Return the polygon in the chart around one of its points, and the chart's two tangents.

    The normals point into version space. Raises ValueError where it is not bounded in the chart.
    """
    from bayespoint.papers.planar import Polygon  # which draws, with what this module is for

    frame = np.stack(chart(center))
    return Polygon.from_halfplanes(-normals @ frame.T, normals @ center), frame


def corners_of(normals: Floats, inside: Floats) -> Floats:
    """Return the (n, 3) corners of a spherical polygon around one of its points, in order."""
    polygon, frame = flat_polygon(normals, inside)
    vertices = polygon.vertices @ frame + inside
    return np.asarray(vertices / np.linalg.norm(vertices, axis=1, keepdims=True))


def outline(vertices: Floats, n: int = 31) -> Floats:
    """Return the (n_corners * n, 3) points of the arcs between corners, all around."""
    following = np.roll(vertices, -1, axis=0)
    parts: list[NDArray[np.float64]] = [
        spatial.geometric_slerp(first, second, np.linspace(0, 1, n))
        for first, second in zip(vertices, following, strict=True)
    ]
    return np.concatenate(parts)
