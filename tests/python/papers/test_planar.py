"""Polygons in the plane, and the largest circle and ellipse in them, against exact answers."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import optimize

from bayespoint.papers.planar import (
    Polygon,
    area_difference,
    bayes_lines,
    bayes_point,
    billiard,
    largest_circle,
    largest_ellipse,
)
from planar_cases import (
    SQUARE,
    hull,
    random_polygon,
    random_triangle,
    rng,
    shoelace,
    unit,
)


def test_vertices_in_any_order():
    draw = rng(1)
    for _ in range(50):
        one = random_polygon(draw)
        order = draw.permutation(len(one.vertices))
        two = Polygon(one.vertices[order])
        np.testing.assert_array_equal(two.vertices[0], one.vertices[order[0]])
        np.testing.assert_array_equal(two.vertices, np.roll(one.vertices, -order[0], axis=0))
        assert shoelace(two.vertices) > 0
        assert two.area == pytest.approx(one.area, rel=1e-12)


def test_area_and_centroid_are_exact():
    """Compared with sums over triangles in exact fractions, for corners on an integer grid."""
    draw = rng(2)
    for _ in range(100):
        corners = hull(draw.integers(-1000, 1000, size=(12, 2)))
        polygon = Polygon(corners)
        points = [[Fraction(int(x)) for x in corner] for corner in polygon.vertices]
        a = points[0]
        area, moment = Fraction(0), [Fraction(0), Fraction(0)]
        for b, c in itertools.pairwise(points[1:]):
            piece = ((b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])) / 2
            area += piece
            for k in range(2):
                moment[k] += piece * (a[k] + b[k] + c[k]) / 3
        assert polygon.area == pytest.approx(float(area), rel=1e-13)
        exact = [float(moment[k] / area) for k in range(2)]
        np.testing.assert_allclose(polygon.centroid, exact, rtol=1e-12, atol=1e-10)


def test_contains_and_clearance():
    """Inside is where a point is to the left of every edge; the distance is that to the edges."""
    draw = rng(4)
    for _ in range(20):
        polygon = random_polygon(draw, aspect=0.5)
        points = polygon.centroid + 2 * draw.standard_normal((200, 2))
        shares = np.linspace(0, 1, 201)[:, None, None]
        boundary = (1 - shares) * polygon.edges[:, 0] + shares * polygon.edges[:, 1]
        for x, inside, clearance in zip(
            points, polygon.contains(points), polygon.clearance(points), strict=True
        ):
            turns = [np.linalg.det([b - a, x - a]) for a, b in polygon.edges]
            assert inside == (min(turns) > 0)
            assert (clearance > 0) == inside
            nearest = np.hypot(*np.moveaxis(boundary - x, -1, 0)).min()
            if inside:
                spacing = polygon.lengths.max() / 200
                assert nearest - spacing <= clearance <= nearest + 1e-12
    assert polygon.contains(polygon.vertices).all()
    assert polygon.contains(polygon.centroid) is True
    assert isinstance(polygon.clearance(polygon.centroid), float)
    assert polygon.contains(np.zeros((3, 4, 2))).shape == (3, 4)


def test_sample_is_uniform():
    """The share of draws above a line is its share of the area; mean and covariance are right."""
    draw = rng(5)
    polygon = random_polygon(draw, aspect=0.3)
    points = polygon.sample(100_000, random_state=draw)
    assert polygon.contains(points).all()
    for _ in range(10):
        through, angle = points[draw.integers(len(points))], draw.uniform(0, 7)
        share = (1 + area_difference(polygon, through, angle)) / 2
        seen = ((points - through) @ unit(angle) > 0).mean()
        assert seen == pytest.approx(share, abs=4.5 * math.sqrt(share * (1 - share) / 1e5) + 1e-5)
    np.testing.assert_array_equal(
        polygon.sample(5, random_state=3), polygon.sample(5, random_state=3)
    )


@pytest.mark.parametrize(
    ("vertices", "text"),
    [
        ([[0, 0], [1, 0]], "at least three of them"),
        ([[0, 0], [1, 0], [0, 1e151]], r"within 1e\+150"),
        ([[1, 1]] * 3, "must differ; got 3 times the same point"),
        ([[0, 0], [1, 1], [2, 2]], "must not lie on a line"),
        ([[0, 0], [1e-160, 0], [0, 1e-160]], "must be from 1e-150"),
        ([*SQUARE, [1, 0.5]], r"got \[1.0, 0.5\] as vertex 4, which is no corner"),
        ([*SQUARE, [2, 2]], r"got \[2.0, 2.0\] as vertex"),
    ],
)
def test_bad_vertices(vertices, text):
    with pytest.raises(ValueError, match=f"vert.*{text}"):
        Polygon(vertices)


# --- invariances ---


@pytest.mark.long
@pytest.mark.parametrize("scale", [1e-6, 1e-3, 1e3, 1e6, 1e-140, 1e140])
def test_scale_invariance(scale):
    draw = rng(7)
    for _ in range(5):
        one = random_polygon(draw)
        two = Polygon(one.vertices * scale)
        assert two.area == pytest.approx(one.area * scale**2, rel=1e-9)
        assert two.perimeter == pytest.approx(one.perimeter * scale, rel=1e-12)
        size = one.perimeter

        def same(a, b, tolerance=1e-9, size=size):
            np.testing.assert_allclose(a / scale, b, rtol=0, atol=tolerance * size)

        same(two.centroid, one.centroid)
        same(bayes_lines(two, 12).offsets, bayes_lines(one, 12).offsets)
        same(bayes_point(two).point, bayes_point(one).point, 1e-7)
        assert bayes_point(two).objective == pytest.approx(bayes_point(one).objective, abs=1e-11)
        same(largest_circle(two).radius, largest_circle(one).radius)
        same(largest_circle(two).center, largest_circle(one).center)
        same(largest_ellipse(two).shape, largest_ellipse(one).shape)
        same(largest_ellipse(two).center, largest_ellipse(one).center)
        paths = [billiard(p, 20, start=p.centroid, angle=1.0).positions for p in (two, one)]
        same(*paths)


# --- the largest circle and ellipse ---


def test_circle_is_proved_largest():
    """A weighted sum of the normals that it touches is zero, so it cannot move."""
    draw = rng(39)
    for _ in range(100):
        polygon = random_polygon(draw, n=int(draw.integers(3, 40)))
        circle = largest_circle(polygon)
        distance = (polygon.normals * (polygon.vertices - circle.center)).sum(axis=1)
        assert distance.min() == pytest.approx(circle.radius, rel=1e-9)
        touched = polygon.normals[distance < circle.radius * (1 + 1e-8)]
        conditions = np.vstack([touched.T, np.ones(len(touched))])
        _, residual = optimize.nnls(conditions, np.array([0.0, 0.0, 1.0]))
        assert residual < 1e-7


def contact(polygon, ellipse):
    """Slack of each edge, relative to the ellipse's reach in its direction."""
    reach = np.hypot(*(ellipse.shape @ polygon.normals.T))
    distance = (polygon.normals * (polygon.vertices - ellipse.center)).sum(axis=1)
    return (distance - reach) / reach


def test_largest_ellipse_of_a_triangle_is_steiners():
    """It touches the middles of the edges; center: the centroid; area: pi / sqrt(27) of it."""
    draw = rng(26)
    for _ in range(50):
        triangle = random_triangle(draw)
        ellipse = largest_ellipse(triangle)
        assert ellipse.area == pytest.approx(math.pi / math.sqrt(27) * triangle.area, rel=1e-11)
        size = triangle.perimeter
        np.testing.assert_allclose(ellipse.center, triangle.centroid, atol=1e-10 * size)
        middles = triangle.edges.mean(axis=1) - ellipse.center
        on_circle = np.linalg.solve(ellipse.shape, middles.T)
        np.testing.assert_allclose(np.hypot(*on_circle), 1, rtol=1e-6)


def test_largest_ellipse_meets_the_conditions_of_optimality():
    """John's: in coordinates in which it is the unit disk, weights at the edges that it touches
    make the sum of n zero and the sum of n n^T the identity. They prove that no ellipse is larger.
    """
    draw = rng(28)
    for trial in range(100):
        polygon = random_polygon(draw, n=int(draw.integers(3, 40)))
        ellipse = largest_ellipse(polygon)
        slack = contact(polygon, ellipse)
        assert slack.min() > -1e-9
        touched = slack < 1e-6
        assert 3 <= touched.sum() <= 10, trial
        normals = polygon.normals[touched] @ ellipse.shape
        normals /= np.hypot(*normals.T)[:, None]
        x, y = normals.T
        conditions = np.stack([x, y, x * x, x * y, y * y])
        _, residual = optimize.nnls(conditions, np.array([0.0, 0, 1, 0, 1]))
        assert residual < 1e-5
        assert ellipse.area >= largest_circle(polygon).area * (1 - 1e-9)


# --- the module ---


@pytest.mark.parametrize(
    ("vertices", "center"),
    [
        ([[0, 0], [3, 0], [0, 4]], [1, 1]),
        ([[0, 0], [6, 0], [6, 2], [0, 2]], [3, 1]),  # slides, and stops in the middle
        ([[0, 0], [6, 0], [8, 2], [2, 2]], [4, 1]),
        ([[0, 0], [1e7, 0], [1e7, 2], [0, 2]], [5e6, 1]),
    ],
)
def test_known_circles_of_radius_one(vertices, center):
    polygon = Polygon(vertices)
    circle = largest_circle(polygon)
    assert circle.radius == pytest.approx(1.0, rel=1e-12)
    assert circle.area == pytest.approx(math.pi)
    np.testing.assert_allclose(circle.center, center, rtol=1e-9)
