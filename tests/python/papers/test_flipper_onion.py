"""The onion along straight rays, against a literal version with explicit vectors."""

import numpy as np
import pytest

from bayespoint import VersionSpace
from bayespoint.papers.experiments.flipper_onion import flipper_onion
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
    centers, weights, escapes = {}, {}, 0

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
            escapes += 1
            place, way = centers[0, 0] if centers else place, launch()
    return centers, weights, escapes


@pytest.mark.parametrize("index", range(3))
def test_against_a_literal_version(index):
    x, y = cone(m=12, r=4, seed=seed(900 + index))
    y = y.astype(float)
    start = VersionSpace(x @ x.T, y).max_margin().dual_coef
    size, flights = 3, 60
    rng = np.random.default_rng(seed(index))
    centers, weights, escapes = literal(x, y, start, flights, rng, size)
    rng = np.random.default_rng(seed(index))
    found = flipper_onion(x @ x.T, y, start[None], flights, rng, size=size)
    assert found.escapes == escapes
    assert found.bounces == flights - escapes
    for layer in np.ndindex(size, size):
        if layer in centers:
            assert found.weights[0][layer] == pytest.approx(weights[layer], abs=1e-6)
            vector = found.centers[0][layer] @ x
            np.testing.assert_allclose(vector, centers[layer], atol=1e-5)
            np.testing.assert_allclose(unit(found.merged()[layer] @ x), unit(vector), atol=1e-9)
        else:
            assert np.isnan(found.centers[0][layer]).all()
            assert found.weights[0][layer] == 0
            assert np.isnan(found.merged()[layer]).all()


def test_examples_left_out_are_no_walls():
    x, y = cone(m=20, r=5, seed=seed(920))
    known = np.ones((3, 20), dtype=bool)
    known[:, [1, 4]] = False
    start = np.zeros((3, 20))
    space = VersionSpace(x[known[0]] @ x[known[0]].T, y[known[0]])
    start[:, known[0]] = space.max_margin().dual_coef
    rng = np.random.default_rng(seed(920))
    found = flipper_onion(x @ x.T, y.astype(float), start, 300, rng, size=2, known=known)
    assert (found.centers[:, 0, 0][:, [1, 4]] == 0).all()
    assert space.contains(found.merged()[0, 0][known[0]])
