"""The motions of the papers: options, bias, and what scatters the ball."""

import math

import numpy as np
import pytest

from bayespoint import VersionSpace
from bayespoint.kernels import RBF
from bayespoint.papers.drawings import fly
from bayespoint.papers.dynamics import Chord, Flipper, Scattered, sample
from helpers import SHIFT, angle, cone, dual_angle, flown, space_of

STRAIGHT = [Chord, Flipper]


@pytest.mark.parametrize("motion", STRAIGHT)
def test_result(motion):
    x, y = cone()
    space = space_of(x, y)
    flight = sample(space, motion(), length=300.0, random_state=SHIFT)
    result = flight.run
    assert result.stop_reason == "length"
    assert result.refresh == "none"
    assert result.refreshes.sum() == result.crossings.sum() == 0
    # Less than pi between two launches.
    assert (flight.escapes + 1 > 300.0 / math.pi).all()
    flights = flight.escapes.sum() + result.bounces.sum()
    assert flight.escape_fraction == flight.escapes.sum() / flights
    assert result.hits.sum() == result.bounces.sum()
    assert np.isnan(result.impulse_center).all()
    assert space.contains(result.center)
    assert space.contains(result.arc_center)
    assert (space.margins(result.draws) > -1e-9).all()
    np.testing.assert_allclose(np.linalg.norm(result.draws @ x, axis=-1), 1.0, rtol=1e-8)
    assert not np.array_equal(result.center, result.arc_center)
    assert f"{flight.escapes.sum()} (" in flight.summary()
    assert "escapes" in flight._repr_html_()
    assert repr(flight).startswith("<Flight: ")


@pytest.mark.parametrize("motion", STRAIGHT)
def test_averages(motion):
    x, y = cone()
    space = space_of(x, y)

    def run(average):
        return sample(space, motion(average=average), tol=0.02, random_state=SHIFT).run

    default = sample(space, motion(), tol=0.02, random_state=SHIFT).run
    midpoints, arc = run("midpoints"), run("arc")
    assert np.array_equal(default.center, midpoints.center)
    assert np.array_equal(arc.center, arc.arc_center)
    assert np.array_equal(arc.arc_center, midpoints.arc_center)
    if motion is Flipper:
        assert 1e-6 < angle(run("bounces").center @ x, midpoints.center @ x) < 0.5
    with pytest.raises(ValueError, match="average must be one of 'midpoints', 'arc'"):
        motion(average="impulse")


@pytest.mark.filterwarnings("ignore:the .* draws are worth")
def test_weight_tol_ends_a_run():
    x, y = cone()
    space = space_of(x, y)
    runs = [
        sample(space, Chord(weight_tol=tol), n_trajectories=1, random_state=SHIFT).run
        for tol in (1e-2, 1e-3)
    ]
    assert [run.stop_reason for run in runs] == ["weight_tol", "weight_tol"]
    # The share of a flight is in inverse proportion to their number.
    assert 5 < runs[1].bounces[0] / runs[0].bounces[0] < 20


# They may: flights are counted.
@pytest.mark.filterwarnings("ignore:the trajectories disagree", "ignore:the .* draws are worth")
# Flights that escape after a tenth of a radian do not move far, and the run warns.
@pytest.mark.filterwarnings("ignore:. of 100 draws are too few")
def test_tau_max():
    x, y = cone()
    # A regular matrix: with a singular one short flights magnify rounding.
    space = VersionSpace(x @ x.T, y, softness=0.5)
    for motion in STRAIGHT:

        def escapes(tau_max, motion=motion):
            flight = flown(space, motion(tau_max), max_bounces=3000, random_state=SHIFT)
            return flight.escape_fraction

        assert escapes(0.1) > 1.5 * escapes(motion().tau_max)
        assert escapes(math.inf) == pytest.approx(escapes(1e9), rel=0.2)
        with pytest.raises(ValueError, match="tau_max must be longer"):
            sample(space, motion(tau_max=1e-12), random_state=SHIFT)


@pytest.mark.parametrize("motion", STRAIGHT)
@pytest.mark.parametrize(
    ("settings", "error", "text"),
    [
        ({"transparency": 0.1}, ValueError, "transparency must be 0 with dynamics="),
        ({"transparency": (0.0, 0.1)}, ValueError, "transparency must be 0 with dynamics="),
        ({"refresh": "pair"}, ValueError, "refresh must be 'auto' or None with dynamics="),
        ({"refresh": "full"}, ValueError, "refresh must be 'auto' or None with dynamics="),
        ({"refresh_rate": 3.0}, ValueError, "refresh_rate must be 'auto'"),
        ({"average": "impulse"}, ValueError, "average must be one of 'auto', 'arc'"),
    ],
)
def test_refused(motion, settings, error, text):
    with pytest.raises(error, match=text):
        flown(space_of(*cone()), motion(), **settings)


def test_refused_for_all():
    space = space_of(*cone())
    run = space.sample(tol=0.3, random_state=SHIFT)
    with pytest.raises(ValueError, match="continue_from must be None for the motions"):
        flown(space, Scattered(), continue_from=run)
    with pytest.raises(ValueError, match="average must be one of 'auto', 'arc', 'impulse' with"):
        flown(space, Scattered(), average="conditional")
    with pytest.raises(TypeError, match="motion must be Scattered, Chord or Flipper; got 'chord'"):
        sample(space, "chord")
    three = VersionSpace(np.eye(3), [0, 1, 2])
    with pytest.raises(ValueError, match="two classes for the motions of the papers"):
        sample(three, Chord())


def bent(index):
    """A Gaussian kernel on points of the plane, labeled by a parabola."""
    rng = np.random.default_rng((SHIFT, 3, index))
    x = rng.standard_normal((120, 2))
    return x, x[:, 0] ** 2 + x[:, 1] > 0.5


@pytest.mark.parametrize("motion", STRAIGHT)
def test_runs_end_at_their_tolerance(motion):
    """Each flipper restarts at its own center: the run must end although their halves differ."""
    for index in range(3):
        x, y = bent(index)
        space = VersionSpace(RBF(1.0)(x), y, softness=0.1, offset=1.0)
        settings = {"max_bounces": 300_000, "tol": 0.05, "n_draws": 10, "random_state": SHIFT}
        run = flown(space, motion(), **settings).run
        assert run.stop_reason == "tol"
        assert run.center_error <= 0.05


# --- scattering at the walls and off a sphere ---


def test_scatterer_result():
    x, y = cone(m=10, r=3)
    space = space_of(x, y)
    settings = {"length": 100.0, "random_state": SHIFT}
    flight = sample(space, Scattered("specular", "auto"), **settings)
    center = flight.run.center
    nearest = math.asin((space.margins(center) / np.linalg.norm(x, axis=1)).min())
    assert 0.2 * nearest < flight.scatterer < 1.5 * nearest  # the first center is rough
    assert flight.scatterings.sum() > 0
    assert flight.run.stop_reason == "length"
    assert f"hit {flight.scatterings.sum()} times" in flight.summary()
    smaller = sample(space, Scattered("specular", 0.3 * flight.scatterer), **settings)
    assert smaller.scatterer == 0.3 * flight.scatterer
    assert smaller.scatterings.sum() < flight.scatterings.sum()
    plain = sample(space, Scattered(), **settings)
    assert plain.scatterer is None
    assert plain.scatterings.sum() == plain.escapes.sum() == 0


@pytest.mark.parametrize("motion", [Scattered(), Scattered("cosine", "auto")])
def test_scattered_balls_have_the_same_center(motion):
    x, y = cone(m=30, r=4)
    space = VersionSpace(x @ x.T, y, softness=0.2)
    one = space.sample(tol=0.02, random_state=SHIFT)
    two = sample(space, motion, tol=0.02, random_state=SHIFT).run
    error = math.hypot(one.center_error, two.center_error)
    assert dual_angle(space, one.center, two.center) < 4 * error
    assert one.center_norm == pytest.approx(two.center_norm, abs=3 * error)
    assert "typical" not in two.start  # without conditional means
    impulse = flown(space, motion, tol=0.05, average="impulse", random_state=SHIFT).run
    np.testing.assert_array_equal(impulse.center, impulse.impulse_center)


def test_scattering_is_refused():
    with pytest.raises(ValueError, match="scattering must be"):
        Scattered("diffuse")
    space = space_of(*cone())
    with pytest.raises(ValueError, match=r"transparency must be 0 with .* or a scatterer"):
        flown(space, Scattered("cosine", "auto"), transparency=0.1)
    with pytest.raises(ValueError, match="scatterer must be at least 1e-6 and smaller than"):
        sample(space, Scattered("cosine", 1.5))


def test_a_small_sphere_does_not_lose_the_ball():
    """A normal of length 1 - cos(radius)^2 would give the direction its rounding error of 1e-7."""
    space, motion = space_of(*cone(m=10, r=3)), Scattered("specular", 1e-4)
    settings = {"refresh": "pair", "refresh_rate": 1.0, "length": 5e4, "random_state": SHIFT}
    flight = flown(space, motion, **settings)
    assert flight.scatterings.sum() > 0
    assert flight.run.drift < 1e-9


def test_the_nearest_wall_of_a_straight_line_is_that_of_the_arc():
    """Section 3 of Herbrich et al.: the flight time is the tangent of the arc."""
    X, y = cone(12, 4)
    legs = fly(X, y, length=40.0, random_state=SHIFT).legs
    for leg in legs:
        times = -(X @ leg.start) / (X @ leg.direction)
        times[times < 1e-7] = math.inf  # behind, and the wall that it comes from
        if leg.arc < math.pi / 2:
            assert times.argmin() == leg.wall
            assert times.min() == pytest.approx(math.tan(leg.arc), rel=1e-6)
    assert len(legs) > 20
