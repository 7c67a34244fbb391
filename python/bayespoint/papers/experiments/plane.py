"""Version spaces of three-dimensional examples: spherical polygons, by their corners."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayespoint import VersionSpace
from bayespoint.papers.planar import Polygon


def corners(X: Any, y: Any) -> NDArray[np.float64]:
    """Return the corners of a version space on the sphere, in order.

    Parameters
    ----------
    X : array of shape (m, 3)
        Inputs of a linear kernel.
    y : array of shape (m,)
        Labels -1 and +1, separable.

    Returns
    -------
    ndarray of shape (k, 3)
        Unit vectors.

    Notes
    -----
    The cone of version space is cut by the plane ``<w, c> = 1`` with c the sum of the normals: on
    the cone ``<w, c>`` is positive, so that every ray of it meets the plane.
    """
    normals = y[:, None] * X
    across = normals.sum(axis=0)
    basis = np.linalg.svd(across[None])[2][1:]
    inside = VersionSpace(X @ X.T, y).max_margin().dual_coef @ X
    inside /= inside @ across
    # w = inside + z @ basis with <w, normal> >= 0 for all normals
    flat = Polygon.from_halfplanes(-normals @ basis.T, normals @ inside)
    rays = inside + flat.vertices @ basis
    found: NDArray[np.float64] = rays / np.linalg.norm(rays, axis=1, keepdims=True)
    return found


def center_of_mass(places: Any) -> NDArray[np.float64]:
    r"""Return the center of mass of a spherical polygon, as a unit vector, exactly.

    :math:`\int w\, d\sigma = \frac12 \sum` (edge length) (unit inward normal) over the edges.
    """
    following = np.roll(places, -1, axis=0)
    normals = np.cross(places, following)
    sines = np.linalg.norm(normals, axis=1)
    lengths = np.arctan2(sines, (places * following).sum(axis=1))
    total = (lengths / sines) @ normals
    total *= np.sign(total @ places.mean(axis=0))  # whichever way round the corners go
    found: NDArray[np.float64] = total / np.linalg.norm(total)
    return found
