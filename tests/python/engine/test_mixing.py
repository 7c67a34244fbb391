"""Mixing of a billiard: centers of impulses; short cycles."""

import math
import os

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from bayespoint import SampleOptions, VersionSpace
from helpers import angle, cone, polygon_centroid, sample, space_of

SHIFT = int(os.environ.get("BAYESPOINT_SEED", "0"))


# --- impulses at the walls ---


@pytest.mark.parametrize("tol", [0.1, 0.03])
@pytest.mark.parametrize("settings", [{}, {"refresh": "pair", "refresh_rate": 30.0}])
def test_centers_of_impulses_are_as_near_as_they_say(tol, settings):
    for index in range(4):
        x, y = cone(m=10, r=3, seed=90 + index)
        space = space_of(x, y)
        result = sample(space, tol=tol, average="impulse", random_state=index, **settings)
        assert result.stop_reason == "tol"
        assert result.center_error <= tol
        assert angle(polygon_centroid(x, y), result.center @ x) < 5.0 * result.center_error
        np.testing.assert_array_equal(result.center, result.impulse_center)


def test_a_few_impulses_are_not_taken_for_the_center():
    """In more dimensions they converge slowly, and their errors show it."""
    for seed in range(3):
        rng = np.random.default_rng([SHIFT, seed])
        x = rng.standard_normal((100, 10))
        space = VersionSpace(x @ x.T, np.where(x @ rng.standard_normal(10) > 0, 1, -1))
        exact = space.sample(tol=0.003, random_state=seed)
        found = space.sample(tol=0.05, options=SampleOptions(average="impulse"), random_state=seed)
        error = angle(exact.center @ x, found.center @ x)
        assert error < 3.0 * found.center_error <= 0.15
        short = space.sample(
            length=20.0, options=SampleOptions(average="impulse"), random_state=seed
        )
        assert angle(exact.center @ x, short.center @ x) < 3.0 * short.center_error
        assert short.center_error > 2.0 * space.sample(length=20.0, random_state=seed).center_error


# --- short cycles ---


@pytest.mark.parametrize("m", [3, 8, 40])
def test_orthogonal_planes_have_cycles(m):
    with pytest.warns(ConvergenceWarning) as warned:
        result = VersionSpace(np.eye(m), np.ones(m)).sample(
            options=SampleOptions(refresh=None), length=50.0, random_state=SHIFT
        )
    assert any("4 of 4 trajectories go round a short cycle" in str(w.message) for w in warned)
    # Every great circle is a cycle that meets each plane twice.
    assert (result.cycles > 0).all()
    assert (2 * m % result.cycles == 0).all()
    assert "4 trajectories, not to be trusted" in result.summary()


# All of these are integrable.
@pytest.mark.filterwarnings("ignore:the trajectories disagree", "ignore:the .* draws are worth")
def test_cycles_in_triangles():
    """With two right angles a triangle has cycles if the third angle is pi / n."""

    def triangle(corner):
        x = np.array([[1.0, 0, 0], [-math.cos(corner), math.sin(corner), 0], [0, 0, 1.0]])
        return VersionSpace(x @ x.T, [1, 1, 1])

    settings = {"length": 200.0, "random_state": SHIFT}
    with pytest.warns(ConvergenceWarning, match="4 of 4 trajectories go round a short cycle"):
        result = triangle(math.pi / 4).sample(options=SampleOptions(refresh=None), **settings)
    # The mirrors are 5 great circles, and any other crosses each of them twice.
    assert set(result.cycles.tolist()) <= {5, 10}
    assert not triangle(1.0).sample(options=SampleOptions(refresh=None), **settings).cycles.any()
    assert not triangle(math.pi / 4).sample(**settings).cycles.any()


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"refresh": "pair"},
        {"refresh": "full"},
        {"transparency": 0.1, "refresh": None},
    ],
)
def test_ordinary_runs_have_no_cycles(settings):
    for index in range(3):
        x, y = cone(m=60, r=8, seed=30 + index)
        result = sample(space_of(x, y), length=300.0, random_state=index, **settings)  # no warning
        assert not result.cycles.any()
        assert result.missed.max() < 0.05


def test_a_bare_billiard_of_many_planes_has_no_short_cycle():
    for index in range(3):
        x, y = cone(m=100, r=20, seed=50 + index)
        result = space_of(x, y).sample(
            options=SampleOptions(refresh=None), tol=0.05, random_state=index
        )
        assert not result.cycles.any()


@pytest.mark.filterwarnings("ignore:the trajectories disagree")  # draws repeat with the cycle
def test_to_and_fro_fills_two_dimensions():
    x, y = cone(m=6, r=2)
    result = space_of(x, y).sample(
        options=SampleOptions(refresh=None), length=100.0, random_state=SHIFT
    )
    assert not result.cycles.any()


@pytest.mark.filterwarnings("ignore:the trajectories disagree", "ignore:.*go round a short cycle")
def test_what_a_trajectory_missed():
    """An octant with a corner cut off: some great circles never reach the cut."""
    x = np.array([[1.0, 0, 0], [0, 1, 0], [0, 0, 1], [-1, 1, 1]])
    space = VersionSpace(x @ x.T, [1, 1, 1, 1])
    settings = {"length": 3000.0, "n_trajectories": 16, "random_state": SHIFT}
    bare = space.sample(options=SampleOptions(refresh=None), **settings)
    assert (bare.missed > 0.1).any()
    assert (bare.missed == 0).any()
    clear = 0
    for missed, cycle, own in zip(bare.missed, bare.cycles, bare.bounces, strict=True):
        others = int(bare.hits.sum()) - int(own)
        if cycle == 3:  # around the three mirrors at right angles
            assert missed == bare.hits[3] / others
            clear += 1
        elif cycle == 2:  # between the cut and the opposite plane
            assert missed == bare.hits[[1, 2]].sum() / others
        else:
            assert missed == 0
    assert clear
    refreshed = space.sample(**settings)
    assert not refreshed.missed.any()
    assert refreshed.convergence_messages(None) == []
