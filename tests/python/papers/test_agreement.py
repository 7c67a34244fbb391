"""Vote, Bayes point and center of mass in high dimension, and what the center costs."""

import numpy as np
import pytest

pytest.importorskip("matplotlib")

from bayespoint import VersionSpace
from bayespoint.papers.experiments import agreement, cost
from bayespoint.papers.experiments.framework import Settings
from bayespoint.papers.experiments.rows import Mean, Rows, every, power
from helpers import cone, seed


def skew(n, rng, d=3):
    """Return unit vectors around a corner of the positive orthant, which votes are not the mean."""
    draws = rng.exponential(size=(n, d)) ** 2 + [3.0, *[0.0] * (d - 1)]
    return draws / np.linalg.norm(draws, axis=1, keepdims=True)


def test_shares_and_errors_are_those_of_random_inputs():
    """Against the signs of votes, centers and Bayes points on many inputs."""
    rng = np.random.default_rng(seed(1))
    own, other = skew(401, rng), skew(2001, rng)
    inputs = rng.standard_normal((3000, 3))
    found, errors = agreement._half(own, other, inputs)
    x = rng.standard_normal((100_000, 3))
    center = own.mean(axis=0)
    values = {
        "center": x @ center,
        "point": x @ agreement._bayes_point(own, center / np.linalg.norm(center)),
        "vote": np.sign(x @ own.T).sum(axis=1),
    }
    sides = {name: value > 0 for name, value in values.items()}
    pairs = {"vote": ("vote", "center"), "between": ("vote", "point"), "point": ("point", "center")}
    for key, (one, two) in pairs.items():
        share = (sides[one] != sides[two]).mean()
        spread = np.abs(found[key]).std() / np.sqrt(len(inputs)) + np.sqrt(share / len(x))
        assert 0.001 < share < 0.1
        assert np.abs(found[key]).mean() == pytest.approx(share, abs=5 * spread)
    for name, side in sides.items():
        wrong = np.mean([((x @ teacher > 0) != side).mean() for teacher in other[:200]])
        assert errors[f"error {name}"] == pytest.approx(wrong, rel=0.1)


def test_the_bayes_point_has_the_smallest_mean_angle():
    rng = np.random.default_rng(seed(2))
    draws = skew(300, rng, 5)
    point = agreement._bayes_point(draws, draws.mean(axis=0) / np.linalg.norm(draws.mean(axis=0)))

    def angle(w):
        return np.arccos(draws @ w / np.linalg.norm(w)).mean()

    for step in rng.normal(scale=0.02, size=(50, 5)):
        assert angle(point) < angle(point + step)


def test_noise_of_few_draws_is_no_share():
    """Products of independent deviations vanish in the mean, their squares do not."""
    rng = np.random.default_rng(seed(3))
    one, two, true = rng.normal(scale=0.01, size=(3, 400, 200))
    for scale in (0.0, 0.5):
        rows = []
        for a, b, c in zip(one, two, scale * true, strict=True):
            mean = c + (a + b) / 2
            values = ((c + a) * (c + b)).mean(), (mean**2).mean(), np.abs(mean).mean()
            names = ("product vote", "square vote", "size vote")
            rows.append(dict(zip(names, values, strict=True)))
        share, error = agreement._share(Rows(rows), "vote")
        expected = 100 * 0.01 * scale * np.sqrt(2 / np.pi)
        assert abs(share - expected) < 5 * error + (0.05 if scale == 0 else 0.0)
    # The square alone would be off by this much.
    assert 100 * np.mean([row["size vote"] for row in rows]) > expected + 10 * error


def test_analytic_center():
    orthant = cost._analytic_center(np.diag([1.0, 2.0, 5.0]), np.array([0.9, 0.5, 0.1]))
    np.testing.assert_allclose(orthant, np.ones(3) / np.sqrt(3))
    x, y = cone(40, 5, seed(4))
    walls = y[:, None] * x
    w = cost._analytic_center(walls, VersionSpace(x @ x.T, y).max_margin().dual_coef @ x)
    assert (walls @ w > 0).all()
    units = walls / np.linalg.norm(walls, axis=1, keepdims=True)
    # Dikin's ellipsoid is inscribed in version space.
    scaled = units / (units @ w)[:, None]
    root = np.linalg.cholesky(np.linalg.inv(scaled.T @ scaled))
    steps = np.random.default_rng(seed(5)).standard_normal((1000, 5))
    steps = steps / np.linalg.norm(steps, axis=1, keepdims=True) @ root.T
    assert ((w + steps) @ units.T > -1e-12).all()
    product = np.log(units @ w).sum()
    for step in np.random.default_rng(seed(6)).normal(scale=0.01, size=(50, 5)):
        other = (w + step) / np.linalg.norm(w + step)
        assert np.log(units @ other).sum() < product


def test_powers():
    x = np.array([1.0, 2.0, 4.0, 8.0])
    slope, error = power(x, [Mean(3 * one**-1.5, 0.1 * one**-1.5) for one in x])
    assert slope == pytest.approx(-1.5)
    assert error == pytest.approx(1 / 30 / np.log(2) / np.sqrt(5))
    rng = np.random.default_rng(seed(7))
    found = [power(x, [Mean(np.exp(rng.normal(0, 0.2)), 0.2) for _ in x]) for _ in range(400)]
    slopes, errors = np.transpose(found)
    assert 0.7 < slopes.std() / errors.mean() < 1.1


def test_three_verdicts():
    assert [Mean(value, 1.0).above(2) for value in (5.1, 4.9, -0.9, -1.1)] == [
        True,
        None,
        None,
        False,
    ]
    assert [Mean(value, 1.0).below(2) for value in (-1.1, 0.0, 5.1)] == [True, None, False]
    assert Mean(9.0, np.nan).above() is None
    assert [every(said) for said in ([True], [True, None], [None, np.False_])] == [
        True,
        None,
        False,
    ]


def test_the_billiard_is_nearer_than_the_convex_programs():
    row = cost._measure({"family": "growing", "m": 60, "run": 0}, Settings(1, quick=True))
    assert row["together"] == 0
    assert row["bounces"] < 20_000
    for key in ("margin", "analytic"):
        assert 0.1 < row[f"away {key}"] < 1
