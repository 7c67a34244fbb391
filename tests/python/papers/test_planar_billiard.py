"""The billiard: exact reflections, an unfolded table, and the invariant distribution."""

import math

import numpy as np
import pytest

from bayespoint.papers.planar import Circle, Polygon, billiard
from planar_cases import random_polygon, rng, unit


@pytest.mark.long
def test_reflections_for_many_bounces():
    """The law of reflection, unit speed, straight flights between edges, never outside."""
    polygon = random_polygon(rng(30), aspect=0.6)
    size = np.ptp(polygon.vertices, axis=0).max()
    n = 100_000
    path = billiard(polygon, n, random_state=rng(31))
    assert path.positions.shape == path.directions.shape == (n + 1, 2)
    assert polygon.clearance(path.positions).min() > -1e-14 * size
    np.testing.assert_allclose(np.hypot(*path.directions.T), 1, rtol=1e-14)
    flights = np.diff(path.positions, axis=0)
    np.testing.assert_allclose(np.hypot(*flights.T), path.lengths, rtol=1e-12, atol=1e-14 * size)
    sideways = flights[:, 0] * path.directions[:-1, 1] - flights[:, 1] * path.directions[:-1, 0]
    assert np.abs(sideways).max() < 1e-13 * size
    assert (path.lengths >= 0).all()
    assert (path.edges >= 0).all()
    normals = polygon.normals[path.edges]
    on_edge = (normals * (path.positions[1:] - polygon.vertices[path.edges])).sum(axis=1)
    assert np.abs(on_edge).max() < 1e-14 * size
    before, after = path.directions[:-1], path.directions[1:]
    speed = (normals * before).sum(axis=1)
    assert (speed > 0).all()
    np.testing.assert_allclose(after, before - 2 * speed[:, None] * normals, atol=1e-14)
    assert (path.edges[1:] != path.edges[:-1]).all()
    assert path.length == pytest.approx(path.lengths.sum())


def test_a_rectangle_unfolds():
    """Each coordinate moves to and fro independently at constant speed, an exact answer."""
    draw = rng(32)
    width, height = 3.0, 2.0
    table = Polygon([[0, 0], [width, 0], [width, height], [0, height]])
    start, angle = draw.uniform([0.5, 0.5], [2.5, 1.5]), draw.uniform(0, 7)
    path = billiard(table, 2000, start=start, angle=angle)
    time = np.concatenate([[0.0], np.cumsum(path.lengths)])
    free = start + time[:, None] * unit(angle)
    sides = np.array([width, height])
    folded = sides - np.abs(free % (2 * sides) - sides)
    np.testing.assert_allclose(path.positions, folded, atol=1e-9)
    assert set(path.edges) == {0, 1, 2, 3}


def test_a_right_angle_turns_back():
    """Near a right angle the ball leaves antiparallel after two bounces; at it, at once."""
    table = Polygon([[0, 0], [2, 0], [0, 2]])
    near = billiard(table, 2, start=[0.5, 0.5 + 1e-5], angle=-3 * math.pi / 4)
    np.testing.assert_allclose(near.directions[2], -near.directions[0], atol=1e-12)
    at = billiard(table, 3, start=[0.5, 0.5], angle=-3 * math.pi / 4)
    assert at.edges.tolist() == [-1, 1, -1]
    assert (at.edges == -1).sum() == 2
    np.testing.assert_allclose(at.positions, [[0.5, 0.5], [0, 0], [1, 1], [0, 0]], atol=1e-14)
    # A fifth of the path is about 1/4 in the mean, the rest about 1/2.
    np.testing.assert_allclose(at.mean_position, [0.45, 0.45], atol=1e-14)
    assert at.length == pytest.approx(2.5 * math.sqrt(2))


def cut_off(path, length):
    """Time average of the position over a path of exactly this length."""
    ends = np.cumsum(path.lengths)
    assert ends[-1] >= length
    last = int(np.searchsorted(ends, length))
    lengths = path.lengths[: last + 1].copy()
    lengths[last] -= ends[last] - length
    middles = path.positions[: last + 1] + lengths[:, None] * path.directions[: last + 1] / 2
    return lengths @ middles / length


@pytest.mark.long
def assert_mean(points, expected):
    """Check the mean of independent points, by its standard error."""
    error = np.std(points, axis=0, ddof=1) / math.sqrt(len(points))
    assert (np.abs(np.mean(points, axis=0) - expected) < 4.5 * error).all()


def test_time_average_is_the_centroid():
    """The uniform distribution is invariant: from a random start any time average is unbiased."""
    draw = rng(36)
    for _ in range(3):
        polygon = random_polygon(draw, aspect=0.6)
        length = 5 * polygon.perimeter
        means = []
        for _ in range(150):
            seed, n_bounces = int(draw.integers(2**32)), 200
            while (path := billiard(polygon, n_bounces, random_state=seed)).length < length:
                n_bounces *= 2  # acute corners need many
            means.append(cut_off(path, length))
        assert_mean(means, polygon.centroid)


def test_reflections_at_a_scatterer():
    """The law of reflection at the disk, flights that do not enter it, and bounces off it."""
    polygon = random_polygon(rng(40), n=8, aspect=0.6)
    disk = Circle(polygon.centroid, polygon.clearance(polygon.centroid) / 2)
    path = billiard(polygon, 3000, scatterer=disk, random_state=rng(41))
    assert polygon.contains(path.positions).all()
    hits = np.flatnonzero(path.edges == -2)
    assert len(hits) > 50
    outward = (path.positions[hits + 1] - disk.center) / disk.radius
    np.testing.assert_allclose(np.hypot(*outward.T), 1, rtol=1e-12)
    before, after = path.directions[hits], path.directions[hits + 1]
    speed = (outward * before).sum(axis=1)
    assert (speed < 0).all()
    np.testing.assert_allclose(after, before - 2 * speed[:, None] * outward, atol=1e-12)
    # The nearest point of each flight to the middle of the disk.
    aside = path.positions[:-1] - disk.center
    along = np.clip(-(aside * path.directions[:-1]).sum(axis=1), 0, path.lengths)
    nearest = aside + along[:, None] * path.directions[:-1]
    assert np.hypot(*nearest.T).min() > disk.radius * (1 - 1e-9)


def test_time_average_beside_a_scatterer():
    """Around another point than the centroid, the average is that of the rest of the polygon."""
    table = Polygon([[0, 0], [4, 0], [4, 2], [0, 2]])
    disk = Circle(np.array([1.0, 1.0]), 0.7)
    hole = math.pi * 0.7**2
    expected = (8 * 2 - hole * 1) / (8 - hole)
    means = []
    for k in range(30):
        path = billiard(table, 1200, scatterer=disk, random_state=rng(50 + k))
        np.testing.assert_allclose(path.centroid, [expected, 1.0], atol=1e-12)
        means.append(cut_off(path, 400.0))
    assert_mean(means, path.centroid)


@pytest.mark.parametrize("disk", [Circle(np.array([0.5, 1.0]), 0.5), Circle(np.ones(2), 0.0)])
def test_scatterer_outside(disk):
    table = Polygon([[0, 0], [4, 0], [4, 2], [0, 2]])
    with pytest.raises(ValueError, match="scatterer must be inside"):
        billiard(table, 1, scatterer=disk)
    with pytest.raises(ValueError, match="start must be outside the scatterer"):
        billiard(table, 1, start=[1.0, 1.0], scatterer=Circle(np.ones(2), 0.5))
