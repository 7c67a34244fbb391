"""The symmetric part of spherical polygons, exactly."""

import numpy as np
import pytest

from bayespoint import VersionSpace
from bayespoint.papers import bounds
from bayespoint.papers.displays import sphere
from bayespoint.papers.experiments import symmetry
from bayespoint.papers.experiments.toy import corners, cube
from helpers import seed

OCTANT = np.eye(3)
MIDDLE = np.ones(3) / np.sqrt(3)


def test_area_of_an_octant():
    assert symmetry.area(np.eye(3)) == pytest.approx(np.pi / 2, rel=1e-14)
    assert symmetry.area(np.eye(3)[::-1]) == pytest.approx(np.pi / 2, rel=1e-14)


def test_area_and_symmetric_part_against_the_billiard():
    X, y, *_ = cube(seed(1))
    space = VersionSpace(X @ X.T, y)
    places = corners(X, y)
    found = space.evidence(tol=0.02, random_state=seed(2))
    assert abs(np.log(symmetry.area(places) / (4 * np.pi)) - found.value) < 6 * found.error + 1e-9
    widest = space.max_margin().dual_coef
    w = widest @ X / np.linalg.norm(widest @ X)
    part = sphere.corners_of(symmetry.symmetric_part(y[:, None] * X, w), w)
    known = bounds.point_mirror(space, widest, tol=0.02, random_state=seed(3)).quantities
    off = np.log(symmetry.area(part) / (4 * np.pi)) - known["log_volume"]
    assert abs(off) < 6 * known["log_volume_error"] + 1e-9


def test_maximiser_of_an_octant_is_its_middle():
    start = np.array([0.5, 0.6, 0.7]) / np.linalg.norm([0.5, 0.6, 0.7])
    np.testing.assert_allclose(symmetry.maximiser(OCTANT, start), MIDDLE, atol=1e-5)


def test_maximiser_is_better_than_points_around_it():
    X, y, *_ = cube(seed(4))
    normals = y[:, None] * X
    best = symmetry.maximiser(normals, sphere.center_of_mass(corners(X, y)))

    def share(w):
        return symmetry.area(sphere.corners_of(symmetry.symmetric_part(normals, w), w))

    rng = np.random.default_rng(seed(5))
    for scale in (1e-3, 1e-2):
        for shift in rng.standard_normal((20, 3)):
            w = best + scale * shift
            w /= np.linalg.norm(w)
            if (normals @ w > 0).all():
                assert share(w) <= share(best) * (1 + 1e-9)


def test_halves():
    # A triangle is not symmetric; the part that is symmetric about a point is halved there.
    assert symmetry.imbalance(OCTANT, MIDDLE) > 0.05
    w = np.array([0.5, 0.6, 0.7]) / np.linalg.norm([0.5, 0.6, 0.7])
    part = symmetry.symmetric_part(OCTANT, w)
    assert symmetry.imbalance(part, w) < 1e-12
    off = w + 0.02 * np.array([1.0, -1.0, 0.0])
    assert symmetry.imbalance(part, off / np.linalg.norm(off)) > 1e-3
