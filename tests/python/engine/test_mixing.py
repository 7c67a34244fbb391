"""Mixing of a billiard: centers of impulses; planes that are missed."""

import numpy as np
import pytest

from bayespoint import SampleOptions, VersionSpace
from helpers import SHIFT, angle, cone, polygon_centroid, sample, space_of

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


# --- planes that are missed ---


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"refresh": "pair"},
        {"refresh": "full"},
        {"transparency": 0.1, "refresh": None},
    ],
)
def test_ordinary_runs_miss_no_plane(settings):
    for index in range(3):
        x, y = cone(m=60, r=8, seed=30 + index)
        result = sample(space_of(x, y), length=300.0, random_state=index, **settings)  # no warning
        assert result.missed.max() < 0.05


@pytest.mark.filterwarnings("ignore:the trajectories disagree")
def test_what_a_trajectory_missed():
    """An octant with a corner cut off: some great circles never reach the cut."""
    x = np.array([[1.0, 0, 0], [0, 1, 0], [0, 0, 1], [-1, 1, 1]])
    space = VersionSpace(x @ x.T, [1, 1, 1, 1])
    settings = {"length": 3000.0, "n_trajectories": 16, "random_state": SHIFT}
    bare = space.sample(options=SampleOptions(refresh=None), **settings)
    assert (bare.missed > 0.1).any()
    assert (bare.missed == 0).any()
    others = bare.hits.sum() - bare.bounces
    # Around the three mirrors at right angles, and between the cut and the opposite plane.
    clear, between = bare.hits[3] / others, bare.hits[[1, 2]].sum() / others
    assert np.isin(bare.missed, [0.0, *clear, *between]).all()
    assert (bare.missed == clear).any()
    refreshed = space.sample(**settings)
    assert not refreshed.missed.any()
    assert refreshed.convergence_messages(None) == []
