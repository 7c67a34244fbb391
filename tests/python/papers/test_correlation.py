"""The correlation length of Ruján and Marchand."""

import math

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from bayespoint import InfeasibleError, VersionSpace
from bayespoint.papers.correlation import correlation_length
from bayespoint.papers.dynamics import Chord, Scattered
from helpers import SHIFT, cone, polygon_centroid, space_of


def part(normals, b, v, angle, rng, most, *, center=None, radius=None, cosine=False):
    """Follow pairs of balls in three dimensions with explicit vectors; return their bounces."""
    sign = rng.choice([-1.0, 1.0], len(b))[:, None]
    tilted = math.cos(angle) * v + math.sin(angle) * sign * np.cross(b, v)
    balls = [(b, v), (b, tilted)]
    sphere = len(normals)
    last = [np.full(len(b), -1)] * 2
    bounces, together = np.zeros(len(b), int), np.ones(len(b), bool)
    for _ in range(most):
        if not together.any():
            break
        for k, (b, v) in enumerate(balls):
            f, g = np.maximum(b @ normals.T, 0.0), v @ normals.T
            wall = (last[k] >= 0) & (last[k] < sphere)
            f[wall, last[k][wall]] = 0.0
            t = np.arctan2(f, -g)
            met = t.argmin(axis=1)
            t = t.min(axis=1)
            if radius is not None:
                height, speed = b @ center, v @ center
                highest = np.hypot(height, speed)
                meets = (speed > 0) & (highest > math.cos(radius))
                met = np.where(meets, sphere, met)
                half = np.arccos(np.minimum(math.cos(radius) / highest, 1.0))
                t = np.where(meets, np.arctan2(speed, height) - half, t)
            t = t[:, None]
            b, v = b * np.cos(t) + v * np.sin(t), v * np.cos(t) - b * np.sin(t)
            n = normals[np.minimum(met, sphere - 1)]
            if radius is not None:
                off = (met == sphere)[:, None]
                n = np.where(off, center - (b @ center)[:, None] * b, n)
                n /= np.linalg.norm(n, axis=1, keepdims=True)
            mirrored = v - 2 * (v * n).sum(axis=1, keepdims=True) * n
            if cosine:
                along = rng.uniform(-1, 1, (len(b), 1))
                drawn = np.sqrt(1 - along**2) * n + along * np.cross(b, n)
                mirrored = np.where((met < sphere)[:, None], drawn, mirrored)
            balls[k], last[k] = (b, mirrored), met
        together &= last[0] == last[1]
        bounces += together
    return bounces


def uniform_inside(normals, n, rng):
    """Draw points of a spherical polygon and directions there, uniform by rejection."""
    b = np.empty((0, 3))
    while len(b) < n:
        drawn = rng.standard_normal((200_000, 3))
        b = np.vstack([b, drawn[(drawn @ normals.T > 0).all(axis=1)]])
    b = b[:n] / np.linalg.norm(b[:n], axis=1, keepdims=True)
    v = rng.standard_normal((n, 3))
    v -= (v * b).sum(axis=1, keepdims=True) * b
    return b, v / np.linalg.norm(v, axis=1, keepdims=True)


@pytest.mark.long
@pytest.mark.filterwarnings("ignore:.*pairs met the same planes")  # as some do for ever
@pytest.mark.parametrize(
    ("scattering", "share", "angle"),
    [
        (None, None, 0.02),
        ("specular", 0.7, 0.001),
        ("cosine", None, 0.02),
        ("cosine", 0.7, 0.02),
    ],
)
def test_correlation_length_is_that_of_explicit_pairs(scattering, share, angle):
    rng = np.random.default_rng((SHIFT, 93))
    for index in range(2):
        x, y = cone(m=10, r=3, seed=93 + index)
        normals = y[:, None] * x / np.linalg.norm(x, axis=1, keepdims=True)
        center = polygon_centroid(x, y)
        explicit, radius = {"cosine": scattering == "cosine"}, None
        b, v = uniform_inside(normals, 4000, rng)
        if share is not None:
            # The engine's center is a first estimate, but the sphere does not touch the walls.
            radius = share * math.asin((normals @ center).min())
            explicit |= {"center": center, "radius": radius}
            outside = b @ center < math.cos(radius)
            b, v = b[outside], v[outside]
        expected = part(normals, b, v, angle, rng, 300, **explicit)
        found = correlation_length(
            space_of(x, y),
            angle=angle,
            n_pairs=500 if scattering else 2000,
            max_bounces=300,
            motion=Scattered(scattering, radius) if scattering else None,
            random_state=SHIFT,
            n_jobs=2,
        )
        assert (found.pair_bounces[~found.parted] == 300).all()
        assert found.bounces == found.pair_bounces.mean()
        assert found.length == found.pair_lengths.mean()
        error = math.hypot(found.bounces_error, expected.std() / math.sqrt(len(expected)))
        assert abs(found.bounces - expected.mean()) < 5 * error, (found, expected.mean(), error)
        # Control: without scattering it is longer, and for another angle shorter.
        if scattering:
            assert (found.scattering, found.scatterer) == (scattering, radius)
            assert part(normals, b, v, angle, rng, 300).mean() - found.bounces > 10 * error
        else:
            assert found.bounces - part(normals, b, v, 10 * angle, rng, 300).mean() > 8 * error


@pytest.mark.filterwarnings("ignore:.*pairs met the same planes")  # that pass the sphere by
def test_the_sphere_disperses():
    """Every bounce multiplies the angle, so the length grows with the logarithm of the angle."""
    x, y = cone(m=10, r=3, seed=91)
    lengths = []
    for tilt in (1e-3, 1e-5, 1e-7):
        found = correlation_length(
            space_of(x, y),
            angle=tilt,
            motion=Scattered("specular", "auto"),
            max_bounces=3000,
            random_state=SHIFT,
            n_jobs=2,
        )
        lengths.append(np.median(found.pair_bounces))
    first, second = np.diff(lengths)
    assert 0.7 < second / first < 1.4, lengths


def test_correlation_length_has_the_same_bits_for_any_number_of_threads():
    x, y = cone()
    one, two = (
        correlation_length(space_of(x, y), n_pairs=10, n_jobs=n, random_state=SHIFT) for n in (1, 2)
    )
    assert np.array_equal(one.pair_bounces, two.pair_bounces)
    assert np.array_equal(one.pair_lengths, two.pair_lengths)
    assert "bounces" in repr(one)


@pytest.mark.filterwarnings("ignore:.*pairs met the same planes")  # as some do for ever
def test_planes_that_coincide_part_no_pair():
    x, y = cone(m=12, r=4)
    doubled = space_of(np.vstack([x, 2 * x, x]), np.concatenate([y, y, y]))
    single = space_of(x, y)
    settings = {"angle": 0.01, "n_pairs": 200, "max_bounces": 1000, "random_state": SHIFT}
    found, expected = (correlation_length(space, **settings) for space in (doubled, single))
    error = math.hypot(found.bounces_error, expected.bounces_error)
    assert abs(found.bounces - expected.bounces) < 6 * error


def test_pairs_that_never_part():
    with pytest.warns(ConvergenceWarning, match="400 of 400 pairs met the same planes for all"):
        found = correlation_length(
            VersionSpace(np.eye(3), [1, 1, 1]), angle=1e-9, max_bounces=50, random_state=SHIFT
        )
    assert found.bounces == 50
    assert found.bounces_error == 0
    assert not found.parted.any()


@pytest.mark.parametrize(
    ("settings", "error", "text"),
    [
        ({"angle": 0.0}, ValueError, "angle must be"),
        ({"n_pairs": 0}, ValueError, "n_pairs must be"),
        ({"max_bounces": 2.5}, TypeError, "max_bounces must be"),
        ({"n_jobs": 0}, ValueError, "n_jobs"),
        ({"motion": Chord()}, TypeError, "motion must be None or Scattered"),
        ({"motion": Scattered("cosine", 1.5)}, ValueError, "scatterer must be at least 1e-6 and"),
    ],
)
def test_refused_for_correlation(settings, error, text):
    x, y = cone()
    with pytest.raises(error, match=text):
        correlation_length(space_of(x, y), **settings)


def test_no_correlation_length_in_two_dimensions():
    x, y = cone(m=6, r=2)
    with pytest.raises(ValueError, match="gram must be of three dimensions or more"):
        correlation_length(space_of(x, y))
    x, y = cone(m=6, r=3)
    with pytest.raises(InfeasibleError):
        correlation_length(space_of(np.vstack([x, x[:1]]), np.append(y, -y[0])))
