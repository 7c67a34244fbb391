"""Bayes lines and the Bayes point, compared with clips, sums, another integral and theorems."""

import math

import numpy as np
import pytest
from scipy import optimize
from sklearn.exceptions import ConvergenceWarning

from bayespoint.papers.planar import (
    Polygon,
    area_difference,
    bayes_line,
    bayes_lines,
    bayes_objective,
    bayes_point,
    exact_center,
)
from planar_cases import (
    TRIANGLE,
    angle_of,
    clip,
    random_polygon,
    random_symmetric,
    random_triangle,
    rng,
    shoelace,
    unit,
)

# --- Bayes lines ---


def test_bayes_lines_halve_the_area():
    """To 1e-10 of the area, by independent clipping; the chord is the part of the line inside."""
    draw = rng(9)
    worst = 0.0
    for _ in range(100):
        polygon = random_polygon(draw)
        along = polygon.vertices - polygon.centroid
        special = [angle_of(each) for each in (*polygon.normals, *along[:, ::-1] * [1, -1])]
        for angle in (*draw.uniform(-10, 10, size=5), *special):
            line = bayes_line(polygon, angle)
            np.testing.assert_allclose(line.normal, unit(angle))
            above = clip(polygon.vertices, line.normal, line.offset)
            below = clip(polygon.vertices, -line.normal, -line.offset)
            worst = max(worst, abs(above - below) / polygon.area)
            np.testing.assert_allclose(line.segment @ line.normal, line.offset, atol=1e-13)
            assert np.abs(polygon.clearance(line.segment)).max() < 1e-13
            along = line.segment[1] - line.segment[0]
            assert along[0] * line.normal[1] - along[1] * line.normal[0] > 0  # to the left
    assert worst < 1e-10


def test_lines_of_a_triangle_do_not_meet():
    """The medians halve it and meet in the centroid; lines parallel to edges miss it."""
    draw = rng(13)
    for _ in range(30):
        triangle = random_triangle(draw)
        for i, corner in enumerate(triangle.vertices):
            along = corner - triangle.centroid
            median = bayes_line(triangle, angle_of([-along[1], along[0]]))
            assert median.offset == pytest.approx(median.normal @ triangle.centroid, abs=1e-10)
            height = 2 * triangle.area / triangle.lengths[i]
            parallel = bayes_line(triangle, angle_of(triangle.normals[i]))
            miss = triangle.normals[i] @ triangle.centroid - parallel.offset
            assert miss == pytest.approx((2 / 3 - math.sqrt(1 / 2)) * height, rel=1e-8)


@pytest.mark.parametrize("corners", [TRIANGLE, [[0, 0], [1, 0], [0.5, 0.8]]])
def test_envelope_of_a_triangle(corners):
    """The lines' envelope encloses 3/4 ln 2 - 1/2 of any triangle (affine invariance)."""
    triangle = Polygon(corners)
    share = abs(shoelace(bayes_lines(triangle, 20_000).envelope)) / triangle.area
    assert share == pytest.approx(0.75 * math.log(2) - 0.5, rel=1e-5)


def test_lines_of_a_symmetric_polygon_meet_in_its_center():
    """Herbrich et al., Lemma 4; the Bayes point is there, with an objective of 0."""
    draw = rng(15)
    for _ in range(30):
        polygon, center = random_symmetric(draw)
        lines = bayes_lines(polygon, 60)
        np.testing.assert_allclose(lines.normals @ center, lines.offsets, atol=1e-12)
        found = bayes_point(polygon)
        np.testing.assert_allclose(found.point, center, atol=1e-10)
        assert 0 <= found.objective < 1e-20


# --- the Bayes point ---


def test_area_difference_against_a_clip():
    draw = rng(17)
    for _ in range(100):
        polygon = random_polygon(draw)
        points = np.vstack([polygon.sample(2, random_state=draw), draw.standard_normal((2, 2))])
        for x in points:
            angles = draw.uniform(-7, 7, size=(2, 3))
            found = area_difference(polygon, x, angles)
            for angle, difference in zip(angles.ravel(), found.ravel(), strict=True):
                above = clip(polygon.vertices, unit(angle), unit(angle) @ x)
                assert difference == pytest.approx(2 * above / polygon.area - 1, abs=1e-11)
    assert isinstance(area_difference(polygon, x, 0.0), float)


@pytest.mark.long
def test_objective_is_the_mean_over_directions():
    """Compared with a sum over many directions of clipped areas, inside and outside."""
    draw = rng(18)
    n = 2000
    for _ in range(6):
        polygon = random_polygon(draw, aspect=0.5)
        places = [*polygon.sample(2, random_state=draw), polygon.vertices[0] + [1.0, 0.3]]
        for x in places:
            mean = 0.0
            for angle in (np.arange(n) + 0.5) * math.pi / n:
                above = clip(polygon.vertices, unit(angle), unit(angle) @ x)
                mean += (2 * above / polygon.area - 1) ** 2 / n
            assert bayes_objective(polygon, x) == pytest.approx(mean, abs=2e-5)


def test_derivatives():
    draw = rng(20)
    step = 1e-5
    for _ in range(10):
        polygon = random_polygon(draw, aspect=0.3)
        place = 0.6 * polygon.frame.place(polygon.sample(1, random_state=draw)[0])
        value, gradient, hessian, error = exact_center._derivatives(polygon, place)
        assert error < 1e-10
        assert value == pytest.approx(exact_center._objective(polygon, place), abs=1e-11)
        around = [
            [exact_center._derivatives(polygon, place + s * step * e) for s in (-1, 1)]
            for e in np.eye(2)
        ]
        slope = [(b[0] - a[0]) / (2 * step) for a, b in around]
        np.testing.assert_allclose(gradient, slope, atol=1e-6)
        curvature = [(b[1] - a[1]) / (2 * step) for a, b in around]
        np.testing.assert_allclose(hessian, curvature, atol=1e-4)


def test_bayes_point_beats_the_centroid():
    draw = rng(21)
    for trial in range(40):
        polygon = random_polygon(draw) if trial % 2 else random_triangle(draw)
        found = bayes_point(polygon)
        assert polygon.contains(found.point)
        np.testing.assert_array_equal(found.centroid, polygon.centroid)
        assert found.objective == pytest.approx(bayes_objective(polygon, found.point), abs=1e-11)
        assert found.centroid_objective == pytest.approx(
            bayes_objective(polygon, polygon.centroid), abs=1e-12
        )
        if len(polygon.vertices) == 3 or trial % 2:
            assert found.objective < found.centroid_objective
        assert found.point_error < 1e-6 * polygon.perimeter


@pytest.mark.long
def test_bayes_point_is_the_lowest_of_all():
    """No point of a grid, and no start of a general-purpose search, gives a lower value."""
    draw = rng(22)
    for _ in range(3):
        polygon = random_polygon(draw, n=int(draw.integers(3, 7)))
        found = bayes_point(polygon)
        frame = polygon.frame
        for z in frame.corners:
            for share in (0.2, 0.5, 0.8):
                assert exact_center._objective(polygon, share * z) > found.objective
        for start in polygon.sample(3, random_state=draw):
            place = frame.place(start)
            other = optimize.minimize(
                lambda z, p=polygon: exact_center._derivatives(p, z)[:2],
                place,
                jac=True,
                method="BFGS",
                options={"gtol": 1e-8},
            )
            assert other.fun > found.objective - 1e-11
            assert np.hypot(*(frame.out(other.x) - found.point)) < 1e-3 * polygon.perimeter


def test_centroid_splits_no_worse_than_four_to_five():
    """Winternitz: the difference at the centroid is at most 1/9, which triangles reach."""
    draw = rng(23)
    angles = np.linspace(0, math.pi, 500)
    for _ in range(30):
        polygon = random_polygon(draw)
        assert np.abs(area_difference(polygon, polygon.centroid, angles)).max() <= 1 / 9 + 1e-12
        assert bayes_point(polygon).centroid_objective <= 1 / 81
    triangle = random_triangle(draw)
    for normal in triangle.normals:
        difference = area_difference(triangle, triangle.centroid, angle_of(normal))
        assert difference == pytest.approx(1 / 9, abs=1e-10)


def test_a_search_that_does_not_settle_warns(monkeypatch):
    monkeypatch.setattr(exact_center, "_MAX_STEPS", 1)
    with pytest.warns(ConvergenceWarning, match="did not converge in 1 steps"):
        found = bayes_point(Polygon(TRIANGLE))
    monkeypatch.undo()
    exact = bayes_point(Polygon(TRIANGLE))
    distance = float(np.hypot(*(found.point - exact.point)))
    assert exact.point_error < distance < found.point_error
