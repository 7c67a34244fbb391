"""The onion along straight rays, against a literal version with explicit vectors."""

import numpy as np
import pytest

from bayespoint import VersionSpace
from bayespoint.papers.onion.straight import flipper_onion
from helpers import cone, seed


def added(a, rho_a, b, rho_b):
    """Return the sum of two unit vectors, as Eq. 18.27 has it."""
    if rho_a == 0:
        return b
    phi = np.arccos(np.clip(a @ b, -1, 1))
    first = phi * rho_b / (rho_a + rho_b)
    return np.cos(first) * a + np.sin(first) / np.sin(phi) * (b - np.cos(phi) * a)


def unit(x):
    return x / np.linalg.norm(x)


def literal(X, y, start, n_flights, rng, size):
    """Fly one ball by Algorithm 18.1 with vectors, and sum the arcs of each layer."""
    m = len(y)
    lengths = np.linalg.norm(X, axis=1)
    centers, weights = {}, {}

    def launch():
        return unit((rng.standard_normal((1, m))[0] / lengths) @ X)

    place, way = unit(start @ X), launch()
    for _ in range(n_flights):
        at, speed = y * (X @ place), y * (X @ way)
        times = [(-at[i] / speed[i], i) for i in range(m) if speed[i] < 0]
        times.sort()
        begin, layer = place, [0, 0]
        for time, plane in times:
            end = unit(place + time * way)
            if max(layer) < size:
                weight = np.arccos(np.clip(begin @ end, -1, 1))
                key = tuple(layer)
                old = weights.get(key, 0.0)
                centers[key] = added(centers.get(key), old, unit(begin + end), weight)
                weights[key] = old + weight
            begin = end
            layer[int(y[plane] > 0)] += 1
        if times:
            time, plane = times[0]
            place = unit(place + time * way)
            normal = unit(X[plane])
            way = way - 2 * (way @ normal) * normal
        else:
            place, way = centers[0, 0] if centers else place, launch()
    return centers, weights


@pytest.mark.parametrize("index", range(3))
def test_against_a_literal_version(index):
    x, y = cone(m=12, r=4, seed=seed(900 + index))
    space = VersionSpace(x @ x.T, y)
    size, flights = 3, 60
    start, rng = space.max_margin().dual_coef, np.random.default_rng(seed(index))
    centers, weights = literal(x, y.astype(float), start, flights, rng, size)
    rng = np.random.default_rng(seed(index))
    found = flipper_onion(space, flights, rng, max_errors=(size - 1, size - 1))
    assert np.isnan(found.center_error).all()
    for layer in np.ndindex(size, size):
        assert found.path_length[layer] == pytest.approx(weights.get(layer, 0.0), abs=1e-6)
        if layer in centers:
            np.testing.assert_allclose(found.center(*layer) @ x, centers[layer], atol=1e-5)
        else:
            assert not found.has_center[layer]


def test_balls_are_averaged_by_their_paths():
    """One error of either label: the same flights in a table of another shape."""
    x, y = cone(m=20, r=5, seed=seed(920))
    tables = [
        flipper_onion(
            VersionSpace(x @ x.T, y), 300, np.random.default_rng(1), max_errors=shape, n_balls=3
        )
        for shape in ((1, 1), (0, 1))
    ]
    np.testing.assert_array_equal(tables[0].centers[:1], tables[1].centers)
    assert ((tables[0].center_error > 0) & (tables[0].center_norm < 1)).all()
    sums = (tables[0].path_length * tables[0].center_norm)[..., None] * tables[0].centers
    both = sums[0, 1] + sums[1, 0]
    ones = tables[0].combine([[0.0, 1.0], [1.0, 0.0]])
    np.testing.assert_allclose(unit(ones @ x), unit(both @ x), atol=1e-9)
