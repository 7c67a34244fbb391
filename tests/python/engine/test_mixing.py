"""What makes a billiard mix: cosine-law scattering, the reflecting sphere; correlation, cycles."""

import math
import os
from dataclasses import replace

import numpy as np
import pytest
from test_dynamics import angle, cone, polygon_centroid, space_of

from bayespoint import ConvergenceWarning, InfeasibleError, VersionSpace

SHIFT = int(os.environ.get("BAYESPOINT_SEED", "0"))


# --- scattering at the walls and off a sphere ---


@pytest.mark.parametrize("average", ["arc", "impulse"])
def test_scattered_centers_are_those_of_polygons(average):
    for index in range(3):
        x, y = cone(m=10, r=3, seed=70 + index)
        exact = polygon_centroid(x, y)
        for settings in (
            {"scattering": "cosine", "refresh": None},
            {"scattering": "cosine", "scatterer": "auto"},
            {"scatterer": "auto", "refresh": "pair", "refresh_rate": 3.0},
        ):
            result = space_of(x, y).sample(
                max_bounces=40_000, average=average, random_state=index, n_jobs=2, **settings
            )
            assert angle(exact, result.center @ x) < 5.0 * result.center_error, settings


@pytest.mark.parametrize("tol", [0.1, 0.03])
@pytest.mark.parametrize("settings", [{}, {"refresh": "pair", "refresh_rate": 30.0}])
def test_centers_of_impulses_are_as_near_as_they_say(tol, settings):
    for index in range(4):
        x, y = cone(m=10, r=3, seed=90 + index)
        space = space_of(x, y)
        result = space.sample(tol=tol, average="impulse", random_state=index, **settings)
        assert result.stop_reason == "tol"
        assert result.center_error <= tol
        assert angle(polygon_centroid(x, y), result.center @ x) < 5.0 * result.center_error
        np.testing.assert_array_equal(result.center, result.impulse_center)


def test_a_few_impulses_are_not_taken_for_the_center():
    """In more dimensions they are far from it for long, and say so."""
    for seed in range(3):
        rng = np.random.default_rng([SHIFT, seed])
        x = rng.standard_normal((100, 10))
        space = VersionSpace(x @ x.T, np.where(x @ rng.standard_normal(10) > 0, 1, -1))
        exact = space.sample(tol=0.003, random_state=seed)
        found = space.sample(tol=0.05, average="impulse", random_state=seed)
        error = angle(exact.center @ x, found.center @ x)
        assert error < 3.0 * found.center_error <= 0.15
        short = space.sample(length=20.0, average="impulse", random_state=seed)
        assert angle(exact.center @ x, short.center @ x) < 3.0 * short.center_error
        assert short.center_error > 2.0 * space.sample(length=20.0, random_state=seed).center_error


def test_scatterer_result():
    x, y = cone(m=10, r=3)
    space = space_of(x, y)
    result = space.sample(scatterer="auto", length=100.0, random_state=SHIFT)
    nearest = math.asin((space.margins(result.center) / np.linalg.norm(x, axis=1)).min())
    assert 0.2 * nearest < result.scatterer < 1.5 * nearest  # the first center was a rough one
    assert result.scatterings.sum() > 0
    assert result.stop_reason == "length"
    assert f"hit {result.scatterings.sum()} times" in result.summary()
    smaller = space.sample(scatterer=0.3 * result.scatterer, length=100.0, random_state=SHIFT)
    assert smaller.scatterer == 0.3 * result.scatterer
    assert smaller.scatterings.sum() < result.scatterings.sum()
    plain = space.sample(length=100.0, random_state=SHIFT)
    assert plain.scatterer is None
    assert plain.scatterings.sum() == 0
    assert "scatterer" not in plain.summary()


def test_cosine_law_behind_transparent_walls():
    x, y = cone(m=12, r=4)
    result = space_of(x, y).sample(
        scattering="cosine", transparency=0.2, length=600.0, random_state=SHIFT
    )
    assert result.crossings.sum() > 0
    assert result.mean_violations > 0


@pytest.mark.parametrize(
    ("settings", "error", "text"),
    [
        ({"scattering": "diffuse"}, ValueError, "scattering must be"),
        ({"scattering": None}, ValueError, "scattering must be"),
        ({"scattering": "cosine", "dynamics": "chord"}, ValueError, "scattering must be 'specular"),
        ({"scatterer": "auto", "dynamics": "flipper"}, ValueError, "scatterer must be None with"),
        ({"scatterer": "large"}, ValueError, "scatterer must be None, 'auto' or a radius"),
        ({"scatterer": 0.0}, ValueError, "scatterer must be"),
        ({"scatterer": math.inf}, ValueError, "scatterer must be"),
        ({"scatterer": [0.1]}, TypeError, "scatterer must be"),
        ({"scatterer": 9e-7}, ValueError, "scatterer must be"),
        (
            {"scatterer": 1.5},
            ValueError,
            "scatterer must be at least 1e-6 and smaller than the dis",
        ),
        ({"scatterer": "auto", "transparency": 0.1}, ValueError, "transparency must be 0 with a"),
    ],
)
def test_refused(settings, error, text):
    x, y = cone()
    with pytest.raises(error, match=text):
        space_of(x, y).sample(**settings)


def test_a_small_sphere_does_not_lose_the_ball():
    """A normal of length 1 - cos(radius)^2 would leave its rounding, 1e-7, in the direction."""
    x, y = cone(m=10, r=3)
    run = space_of(x, y).sample(
        scatterer=1e-4, refresh="pair", refresh_rate=1.0, length=5e4, random_state=SHIFT
    )
    assert run.scatterings.sum() > 0
    assert run.drift < 1e-9


# --- the correlation length ---


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


@pytest.mark.filterwarnings("ignore:.*pairs met the same planes")  # as some do for ever
def test_correlation_length_is_that_of_explicit_pairs():
    rng = np.random.default_rng((SHIFT, 90))
    most = 300

    def mean(bounces):
        return bounces.mean(), bounces.std() / math.sqrt(bounces.size)

    for index in range(2):
        x, y = cone(m=10, r=3, seed=90 + index)
        normals = y[:, None] * x / np.linalg.norm(x, axis=1, keepdims=True)
        pairs = uniform_inside(normals, 2000, rng)
        (explicit, error), (wide, _) = (
            mean(part(normals, *pairs, angle, rng, most)) for angle in (0.02, 0.06)
        )
        found = space_of(x, y).correlation_length(
            angle=0.02, n_pairs=500, max_bounces=most, random_state=SHIFT, n_jobs=2
        )
        assert (found.pair_bounces[~found.parted] == most).all()
        assert found.bounces == found.pair_bounces.mean()
        assert found.length == found.pair_lengths.mean()
        measured, own_error = mean(found.pair_bounces)
        error = math.hypot(error, own_error)
        assert abs(measured - explicit) < 5 * error, (found, explicit, error)
        # Another angle has another length, which the comparison tells.
        assert abs(measured - wide) > 8 * error


@pytest.mark.filterwarnings("ignore:.*pairs met the same planes")  # that pass the sphere by
@pytest.mark.parametrize(
    ("settings", "angle"),
    [
        ({"scatterer": 0.7}, 0.001),
        ({"scattering": "cosine"}, 0.02),
        ({"scattering": "cosine", "scatterer": 0.7}, 0.02),
    ],
)
def test_correlation_length_with_scatterers_is_that_of_explicit_pairs(settings, angle):
    rng = np.random.default_rng((SHIFT, 93))
    for index in range(2):
        x, y = cone(m=10, r=3, seed=93 + index)
        normals = y[:, None] * x / np.linalg.norm(x, axis=1, keepdims=True)
        center = polygon_centroid(x, y)
        explicit, given = {"cosine": "scattering" in settings}, dict(settings)
        b, v = uniform_inside(normals, 4000, rng)
        if "scatterer" in settings:
            # The engine's center is a first estimate: the sphere keeps clear of the walls.
            given["scatterer"] *= math.asin((normals @ center).min())
            explicit |= {"center": center, "radius": given["scatterer"]}
            outside = b @ center < math.cos(given["scatterer"])
            b, v = b[outside], v[outside]
        expected = part(normals, b, v, angle, rng, 300, **explicit)
        found = space_of(x, y).correlation_length(
            angle=angle, n_pairs=500, max_bounces=300, random_state=SHIFT, n_jobs=2, **given
        )
        assert found.scatterer == given.get("scatterer")
        assert found.scattering == settings.get("scattering", "specular")
        error = math.hypot(found.bounces_error, expected.std() / math.sqrt(len(expected)))
        assert abs(found.bounces - expected.mean()) < 5 * error, (found, expected.mean(), error)
        plain = part(normals, b, v, angle, rng, 300).mean()
        assert plain - found.bounces > 10 * error  # both make it shorter


@pytest.mark.filterwarnings("ignore:.*pairs met the same planes")  # that pass the sphere by
def test_the_sphere_disperses():
    """Angles grow by a factor a bounce: the length with the logarithm, not with the angle."""
    x, y = cone(m=10, r=3, seed=91)
    lengths = []
    for tilt in (1e-3, 1e-5, 1e-7):
        found = space_of(x, y).correlation_length(
            angle=tilt, scatterer="auto", max_bounces=3000, random_state=SHIFT, n_jobs=2
        )
        lengths.append(np.median(found.pair_bounces))
    first, second = np.diff(lengths)
    assert 0.7 < second / first < 1.4, lengths


def test_correlation_length_says_what_scattered():
    x, y = cone()
    found = space_of(x, y).correlation_length(
        n_pairs=5, scatterer="auto", scattering="cosine", random_state=SHIFT
    )
    assert f"radius {found.scatterer:.3g} rad" in found.summary()
    assert "cosine" in found.summary()


def test_correlation_length_has_the_same_bits_for_any_number_of_threads():
    x, y = cone()
    one, two = (
        space_of(x, y).correlation_length(n_pairs=10, n_jobs=n, random_state=SHIFT) for n in (1, 2)
    )
    assert np.array_equal(one.pair_bounces, two.pair_bounces)
    assert np.array_equal(one.pair_lengths, two.pair_lengths)
    assert "4 x 10, 0 never parted" in one.summary()
    assert "bounces" in repr(one)
    assert "Correlation length" in one._repr_html_()


@pytest.mark.filterwarnings("ignore:.*pairs met the same planes")  # as some do for ever
def test_planes_that_coincide_part_no_pair():
    x, y = cone(m=12, r=4)
    doubled = space_of(np.vstack([x, 2 * x, x]), np.concatenate([y, y, y]))
    single = space_of(x, y)
    settings = {"angle": 0.01, "n_pairs": 200, "max_bounces": 1000, "random_state": SHIFT}
    found, expected = (space.correlation_length(**settings) for space in (doubled, single))
    error = math.hypot(found.bounces_error, expected.bounces_error)
    assert abs(found.bounces - expected.bounces) < 6 * error


def test_pairs_that_never_part():
    with pytest.warns(ConvergenceWarning, match="400 of 400 pairs met the same planes for all"):
        found = VersionSpace(np.eye(3), [1, 1, 1]).correlation_length(
            angle=1e-9, max_bounces=50, random_state=SHIFT
        )
    assert found.bounces == 50
    assert found.bounces_error == 0
    assert not found.parted.any()


@pytest.mark.parametrize(
    ("settings", "error", "text"),
    [
        ({"angle": 0.0}, ValueError, "angle must be"),
        ({"angle": 1.0}, ValueError, "angle must be"),
        ({"angle": "small"}, TypeError, "angle must be"),
        ({"n_pairs": 0}, ValueError, "n_pairs must be"),
        ({"n_trajectories": 0}, ValueError, "n_trajectories must be"),
        ({"max_bounces": 0}, ValueError, "max_bounces must be"),
        ({"max_bounces": 2.5}, TypeError, "max_bounces must be"),
        ({"n_jobs": 0}, ValueError, "n_jobs"),
        ({"scattering": "diffuse"}, ValueError, "scattering must be"),
        ({"scatterer": "large"}, ValueError, "scatterer must be None, 'auto' or a radius"),
        ({"scatterer": 1e-7}, ValueError, "scatterer must be"),
        ({"scatterer": 1.5}, ValueError, "scatterer must be at least 1e-6 and smaller than"),
    ],
)
def test_refused_for_correlation(settings, error, text):
    x, y = cone()
    with pytest.raises(error, match=text):
        space_of(x, y).correlation_length(**settings)


def test_no_correlation_length_in_two_dimensions():
    x, y = cone(m=6, r=2)
    with pytest.raises(ValueError, match="gram must be of three dimensions or more"):
        space_of(x, y).correlation_length()
    with pytest.raises(InfeasibleError):
        space_of(np.vstack([x, x[:1]]), np.append(y, -y[0])).correlation_length()


# --- short cycles ---


@pytest.mark.parametrize("m", [3, 8, 40])
def test_orthogonal_planes_have_cycles(m):
    with pytest.warns(ConvergenceWarning) as warned:
        result = VersionSpace(np.eye(m), np.ones(m)).sample(
            refresh=None, length=50.0, random_state=SHIFT
        )
    assert any("4 of 4 trajectories go round a short cycle" in str(w.message) for w in warned)
    # Every great circle closes: each plane is met twice, and half of it is the other half's image.
    assert (result.cycles > 0).all()
    assert (2 * m % result.cycles == 0).all()
    assert "4 trajectories, not to be trusted" in result.summary()


# They are all integrable.
@pytest.mark.filterwarnings("ignore:the trajectories disagree", "ignore:the .* draws are worth")
def test_cycles_in_triangles():
    """With two right angles a triangle has cycles if the third angle is a part of pi."""

    def triangle(corner):
        x = np.array([[1.0, 0, 0], [-math.cos(corner), math.sin(corner), 0], [0, 0, 1.0]])
        return VersionSpace(x @ x.T, [1, 1, 1])

    settings = {"length": 200.0, "random_state": SHIFT}
    with pytest.warns(ConvergenceWarning, match="4 of 4 trajectories go round a short cycle"):
        result = triangle(math.pi / 4).sample(refresh=None, **settings)
    # The mirrors are 5 great circles, and another crosses each of them twice.
    assert set(result.cycles.tolist()) <= {5, 10}
    assert not triangle(1.0).sample(refresh=None, **settings).cycles.any()
    assert not triangle(math.pi / 4).sample(**settings).cycles.any()


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"refresh": "pair"},
        {"refresh": "full"},
        {"scattering": "cosine", "refresh": None},
        {"transparency": 0.1, "refresh": None},
    ],
)
def test_ordinary_runs_have_no_cycles(settings):
    for index in range(3):
        x, y = cone(m=60, r=8, seed=30 + index)
        result = space_of(x, y).sample(length=300.0, random_state=index, **settings)  # no warning
        assert not result.cycles.any()
        assert result.missed.max() < 0.05


def test_a_bare_billiard_of_many_planes_has_no_short_cycle():
    for index in range(3):
        x, y = cone(m=100, r=20, seed=50 + index)
        result = space_of(x, y).sample(refresh=None, tol=0.05, random_state=index)
        assert not result.cycles.any()


@pytest.mark.filterwarnings("ignore:the trajectories disagree")  # draws come round in step
def test_to_and_fro_fills_two_dimensions():
    x, y = cone(m=6, r=2)
    result = space_of(x, y).sample(refresh=None, length=100.0, random_state=SHIFT)
    assert not result.cycles.any()


@pytest.mark.filterwarnings("ignore:the trajectories disagree", "ignore:.*go round a short cycle")
def test_what_a_trajectory_missed():
    """An octant with a corner cut off: some great circles stay clear of the cut for ever."""
    x = np.array([[1.0, 0, 0], [0, 1, 0], [0, 0, 1], [-1, 1, 1]])
    space = VersionSpace(x @ x.T, [1, 1, 1, 1])
    settings = {"length": 3000.0, "n_trajectories": 16, "random_state": SHIFT}
    with pytest.warns(ConvergenceWarning, match="keeps to a part of version space: it never met"):
        bare = space.sample(refresh=None, **settings)
    assert (bare.missed > 0.1).any()
    assert (bare.missed == 0).any()
    clear = 0
    for missed, cycle, own in zip(bare.missed, bare.cycles, bare.bounces, strict=True):
        others = int(bare.hits.sum()) - int(own)
        if cycle == 3:  # once round the three mirrors at right angles
            assert missed == bare.hits[3] / others
            clear += 1
        elif cycle == 2:  # to and fro between the cut and the plane across
            assert missed == bare.hits[[1, 2]].sum() / others
        else:
            assert missed == 0
    assert clear
    refreshed = space.sample(**settings)
    assert not refreshed.missed.any()
    assert refreshed.complaints(None) == []


def test_a_trajectory_that_keeps_to_a_part_is_told():
    x, y = cone(m=30, r=5)
    run = space_of(x, y).sample(length=3000.0, random_state=SHIFT)
    assert (run.missed < 0.01).all()
    missed = np.array([0.0, 0.0, 0.3, 0.0])
    assert replace(run, missed=missed).complaints(None) == []  # a refresh leads everywhere
    result = replace(run, refresh="none")
    assert result.complaints(None) == []
    assert replace(result, missed=missed, stop_reason="tol").complaints(None) == []
    assert replace(result, missed=missed, escapes=result.bounces).complaints(None) == []
    (text,) = replace(result, missed=missed).complaints(None)
    assert (
        "trajectory 2 keeps to a part of version space: it never met planes that have 30 %" in text
    )
    short = replace(result, missed=missed, bounces=np.full(4, 10, np.uint64))
    assert short.complaints(None) == []
