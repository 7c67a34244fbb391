"""The parts of the experiments on toys, Table 1 and convergence, against independent values."""

import math
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import linalg

from bayespoint import VersionSpace
from bayespoint.papers.displays import sphere
from bayespoint.papers.experiments import (
    convergence,
    onion_noise,
    polygons,
    soft,
    toys,
)
from bayespoint.papers.experiments.framework import Settings
from bayespoint.papers.experiments.toy import cube, widest
from helpers import angle, cone, seed


def holds(claims, text):
    (found,) = [one.holds for one in claims if text in one.text]
    return found


# --- rational billiards, and layers of the onion ---


def errors_of_moments(path):
    """Return how many standard errors the time averages of x and x² are off in [0, 3] x [0, 2]."""
    ends = np.append(0.0, np.cumsum(path.lengths))
    times = np.linspace(0, ends[-1], 200_000)
    x = np.interp(times, ends, path.positions[:, 0])
    parts = np.stack([x, x**2], axis=1).reshape(200, -1, 2).mean(axis=1)
    error = parts.std(axis=0, ddof=1) / math.sqrt(len(parts))
    return (parts.mean(axis=0) - [1.5, 3.0]) / np.maximum(error, 1e-9)


def test_a_refresh_at_equal_lengths_keeps_the_uniform_distribution():
    table = polygons.RATIONAL["rectangle"]
    kept, refreshed = polygons._both_paths(table, 20_000, True, np.random.default_rng(seed(6)))
    assert np.abs(errors_of_moments(refreshed)).max() < 4.5
    assert np.abs(errors_of_moments(kept)).max() > 100
    np.testing.assert_array_equal(kept.positions[0], refreshed.positions[0])
    # Between two changes of direction all flights have one length together.
    step = 10 * math.pi * 6 / 10
    assert refreshed.lengths.sum() == pytest.approx(2000 * step)


def test_votes_of_the_layers_against_rejection():
    rng = np.random.default_rng(seed(7))
    X, y = cone(12, 3, seed(7))
    y[:2] *= -1
    new = rng.standard_normal((20, 3))
    found = onion_noise._layers(X @ X.T, y, new @ X.T, 0.3, seed(8))
    w = rng.standard_normal((400_000, 3))
    wrong = (w @ X.T * y < 0).sum(axis=1)
    seen = sorted(found)[:3]  # with the most draws
    exact = {k: (w[wrong == k] @ new.T > 0).mean(axis=0) for k in range(seen[0], seen[0] + 5)}
    assert max(np.abs(found[k] - exact[k]).mean() for k in seen) < 0.04
    assert min(np.abs(found[k] - exact[k + 2]).mean() for k in seen) > 0.04


# --- Figure 4 ---


def test_ball_center_is_as_far_from_its_nearest_walls_as_possible():
    X, y, _, _ = cube(seed(0))
    center = widest(sphere.scaled(X), y)
    walls = y[:, None] * X / np.linalg.norm(X, axis=1, keepdims=True)
    depth = (walls @ center).min() / np.linalg.norm(center)
    rng = np.random.default_rng(seed(1))
    near = center / np.linalg.norm(center) + 0.05 * rng.standard_normal((2000, 3))
    near /= np.linalg.norm(near, axis=1, keepdims=True)
    assert (near @ walls.T).min(axis=1).max() <= depth + 1e-6
    # The largest margin of points of different lengths is not this center.
    assert angle(center, widest(X, y)) > 1e-3


def test_widths_of_rectangle_and_triangle():
    """A rectangle has the variances a²/12 and b²/12, in any place and turned by any angle."""
    rectangle = np.array([[0, 0], [6, 0], [6, 2], [0, 2]], dtype=float)
    turn = np.array([[math.cos(0.7), -math.sin(0.7)], [math.sin(0.7), math.cos(0.7)]])
    for polygon in (rectangle, rectangle[::-1] + 5, rectangle @ turn - 3):
        long, short = toys._widths(polygon)
        assert (long, short) == pytest.approx((6 / math.sqrt(12), 2 / math.sqrt(12)))
    rng = np.random.default_rng(seed(2))
    u = rng.dirichlet([1, 1, 1], 200_000)  # uniform in a triangle
    triangle = np.array([[0, 0], [3, 1], [-1, 4]], dtype=float)
    np.testing.assert_allclose(toys._moments(triangle), np.cov((u @ triangle).T), rtol=0.03)


# --- Figure 5 ---


def test_smoothness_of_a_wave():
    """f = a sin(kx): mean |f'| = 2ak/π, mean square a²/2, f'' = -k²f, 2k/π sign changes a unit."""
    k, places = 2.0, np.arange(0, 4 * np.pi, np.pi / 100)
    wave = np.broadcast_to(np.sin(k * places + 0.1), (len(places), len(places)))
    found = toys.smoothness(3 * wave, np.pi / 100)
    assert found["slope_1"] == pytest.approx(3 * 2 * k / np.pi, rel=1e-2)
    assert found["slope"] == pytest.approx(2 * k / np.pi * math.sqrt(2), rel=1e-2)
    assert found["bend"] == pytest.approx(k**2, rel=1e-2)
    assert found["crossings"] == pytest.approx(8 / 2)  # 8 in each row, none in a column
    twice = toys.smoothness(6 * wave, np.pi / 100)
    assert twice["slope_1"] == pytest.approx(2 * found["slope_1"])
    for name in ("slope", "bend", "crossings"):
        assert twice[name] == pytest.approx(found[name])


# --- Figure 6 ---


def test_points_become_equidistant():
    found = [
        soft._measure(
            {"problem": "toy", "softness": value, "split": 0}, Settings(1, quick=True, seed=seed(6))
        )
        for value in (0.0, 1.0, 1000.0)
    ]
    distances = [one["distances"] for one in found]
    assert distances[0] < distances[1] < distances[2]
    assert distances[2] > 0.99
    assert found[2]["angle"] < 0.02


# --- convergence ---


def test_bias_is_told_from_noise():
    rng = np.random.default_rng(seed(12))
    exact = np.array([0.0, 0.0, 1.0])

    def products(bias, noise):
        away = [bias + noise * rng.standard_normal((50, 3)) for _ in range(2)]
        return (away[0] * away[1]).sum(axis=1)

    assert convergence._bias_p_value(products(np.array([0.1, 0.0, 0.0]), 0.02)) < 1e-6
    assert convergence._bias_p_value(products(0.0, 1.0)) > 1e-6  # large errors without a bias
    space = SimpleNamespace(sample=lambda **_: SimpleNamespace(center=np.array([2.0, 0.2, 4.0])))
    unit = {"run": 0, "asked": 10, "dynamics": "bare"}
    away = convergence._deviation(space, np.eye(3), exact, unit, Settings(1), 0)
    np.testing.assert_allclose(away, [0.5, 0.05, 0.0])


def test_softness_makes_version_space_regular():
    """By its longest over its shortest standard deviation (Section 5 of Herbrich et al.)."""
    X, y, *_ = cube(seed(20))
    elongation = []
    for softness in (0.01, 1.0, 100.0):
        matrix = X @ X.T + softness * np.eye(len(y))
        run = VersionSpace(X @ X.T, y, softness=softness).sample(n_draws=3000, length=5000.0)
        draws = run.draws.reshape(-1, len(y)) @ np.linalg.cholesky(matrix)
        draws /= np.linalg.norm(draws, axis=1)[:, None]
        across = draws @ linalg.null_space(draws.mean(axis=0)[None])
        elongation.append(math.sqrt(np.linalg.cond(np.cov(across.T))))
    assert elongation[0] > 2
    assert elongation[0] > elongation[1] > elongation[2]
    assert elongation[2] < 1.2
