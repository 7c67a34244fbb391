"""Polygons for the tests, and areas by a road of their own.

The environment variable BAYESPOINT_SEED shifts all seeds: the tests hold for any value.
"""

import math

import numpy as np
from scipy.spatial import ConvexHull

from bayespoint.papers.planar import Polygon
from helpers import SHIFT

SQUARE = [[0, 0], [2, 0], [2, 2], [0, 2]]
TRIANGLE = [[0, 0], [4, 0], [0, 1]]


def rng(index):
    return np.random.default_rng([index, SHIFT])


def hull(points):
    return points[ConvexHull(points).vertices]


def random_polygon(draw, n=None, aspect=None):
    """A polygon of random corners, elongated and turned at random, off the origin."""
    n = int(draw.integers(3, 12)) if n is None else n
    while True:
        points = hull(draw.standard_normal((n, 2)))
        if n > 3 or np.ptp(points @ draw.standard_normal(2)) > 0.3:
            break
    points *= [1.0, 10 ** draw.uniform(-2, 0) if aspect is None else aspect]
    return Polygon(points @ rotation(draw.uniform(0, 7)) + draw.standard_normal(2))


def random_triangle(draw):
    return Polygon(draw.standard_normal((3, 2)))


def random_symmetric(draw):
    center = draw.standard_normal(2)
    points = draw.standard_normal((int(draw.integers(2, 8)), 2))
    return Polygon(hull(np.vstack([points, -points])) + center), center


def rotation(angle):
    return np.array([[math.cos(angle), math.sin(angle)], [-math.sin(angle), math.cos(angle)]])


def shoelace(corners):
    x, y = np.asarray(corners).T
    return float(x @ np.roll(y, -1) - y @ np.roll(x, -1)) / 2


def clip(corners, normal, offset):
    """Area of the part where normal @ x > offset, by clipping the list of corners."""
    origin = corners.mean(axis=0)  # the digits of the area, wherever the polygon is
    kept = []
    for a, b in zip(corners, np.roll(corners, -1, axis=0), strict=True):
        h, k = (float(normal @ (x - origin) - (offset - normal @ origin)) for x in (a, b))
        if h >= 0:
            kept.append(a - origin)
        if h * k < 0:
            kept.append(a + h / (h - k) * (b - a) - origin)
    return shoelace(kept) if len(kept) > 2 else 0.0


def unit(angle):
    return np.array([math.cos(angle), math.sin(angle)])


def angle_of(vector):
    return math.atan2(vector[1], vector[0])
