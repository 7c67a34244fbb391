"""The dynamics of the papers: options, bias, and fits by the classifier."""

import math
import os

import numpy as np
import pytest

from bayespoint import SampleOptions, VersionSpace
from bayespoint.dynamics import Chord, Flipper, Geodesic
from bayespoint.kernels import RBF
from helpers import angle, cone, sample, space_of

SHIFT = int(os.environ.get("BAYESPOINT_SEED", "0"))
STRAIGHT = ["chord", "flipper"]
OBJECTS = {"chord": Chord, "flipper": Flipper}


@pytest.mark.parametrize("dynamics", STRAIGHT)
def test_result(dynamics):
    x, y = cone()
    space = space_of(x, y)
    result = space.sample(
        options=SampleOptions(dynamics=dynamics), length=300.0, n_draws=100, random_state=SHIFT
    )
    assert result.stop_reason == "length"
    assert result.refresh == "none"
    assert result.refreshes.sum() == result.crossings.sum() == 0
    # Less than pi between two launches.
    assert (result.escapes + 1 > 300.0 / math.pi).all()
    flights = result.escapes.sum() + result.bounces.sum()
    assert result.escape_fraction == result.escapes.sum() / flights
    assert result.hits.sum() == result.bounces.sum()
    assert np.isnan(result.impulse_center).all()
    assert space.contains(result.center)
    assert space.contains(result.arc_center)
    assert (space.margins(result.draws) > -1e-9).all()
    np.testing.assert_allclose(np.linalg.norm(result.draws @ x, axis=-1), 1.0, rtol=1e-8)
    assert not np.array_equal(result.center, result.arc_center)
    assert f"{result.escapes.sum()} (" in result.summary()
    assert "escapes" in result._repr_html_()


@pytest.mark.parametrize("dynamics", STRAIGHT)
def test_averages(dynamics):
    x, y = cone()
    space = space_of(x, y)

    def sample(average):
        return space.sample(
            options=SampleOptions(dynamics=dynamics, average=average), tol=0.02, random_state=SHIFT
        )

    auto, midpoints, arc = sample("auto"), sample("midpoints"), sample("arc")
    assert np.array_equal(auto.center, midpoints.center)
    assert np.array_equal(arc.center, arc.arc_center)
    assert np.array_equal(arc.arc_center, midpoints.arc_center)
    if dynamics == "flipper":
        bounces = sample("bounces")
        assert 1e-6 < angle(bounces.center @ x, midpoints.center @ x) < 0.5


def test_weight_tol_ends_a_run():
    x, y = cone()
    space = space_of(x, y)
    runs = [
        space.sample(
            options=SampleOptions(dynamics=Chord(weight_tol=tol)),
            n_trajectories=1,
            random_state=SHIFT,
        )
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
    for dynamics in STRAIGHT:

        def escapes(tau_max, motion=OBJECTS[dynamics]):
            return space.sample(
                options=SampleOptions(dynamics=motion(tau_max=tau_max), max_bounces=3000),
                random_state=SHIFT,
            ).escape_fraction

        assert escapes(0.1) > 1.5 * escapes(OBJECTS[dynamics]().tau_max)
        assert escapes(math.inf) == pytest.approx(escapes(1e9), rel=0.2)
        with pytest.raises(ValueError, match="tau_max must be longer"):
            space.sample(
                options=SampleOptions(dynamics=OBJECTS[dynamics](tau_max=1e-12)), random_state=SHIFT
            )


@pytest.mark.parametrize("dynamics", STRAIGHT)
@pytest.mark.parametrize(
    ("settings", "error", "text"),
    [
        ({"transparency": 0.1}, ValueError, "transparency must be 0 with dynamics="),
        ({"transparency": (0.0, 0.1)}, ValueError, "transparency must be 0 with dynamics="),
        ({"refresh": "pair"}, ValueError, "refresh must be 'auto' or None with dynamics="),
        ({"refresh": "full"}, ValueError, "refresh must be 'auto' or None with dynamics="),
        ({"refresh_rate": 3.0}, ValueError, "refresh_rate must be 'auto'"),
        ({"average": "impulse"}, ValueError, "average must be one of 'auto', 'midpoints'"),
    ],
)
def test_refused(dynamics, settings, error, text):
    x, y = cone()
    with pytest.raises(error, match=text):
        sample(space_of(x, y), dynamics=dynamics, **settings)


def test_refused_elsewhere():
    x, y = cone()
    space = space_of(x, y)
    for settings, text in [
        ({"dynamics": "pinball"}, "dynamics must be one of 'geodesic', 'chord', 'flipper'"),
        ({"average": "midpoints"}, "average must be one of 'auto', 'arc', 'impulse', 'conditio"),
    ]:
        with pytest.raises(ValueError, match=text):
            sample(space, **settings)
    with pytest.raises(TypeError, match="tau_max"):
        space.sample(tau_max=5.0)


def test_a_name_stands_for_the_object_with_its_defaults():
    x, y = cone()
    for name, motion in [("geodesic", Geodesic()), ("chord", Chord()), ("flipper", Flipper())]:
        one, other = (
            space_of(x, y).sample(options=SampleOptions(dynamics=d), tol=0.1, random_state=SHIFT)
            for d in (name, motion)
        )
        np.testing.assert_array_equal(one.center, other.center)


@pytest.mark.parametrize("dynamics", STRAIGHT)
def test_start_inside(dynamics):
    x, y = cone()
    space = space_of(x, y)
    point = space.feasible_point(random_state=SHIFT)
    result = space.sample(
        options=SampleOptions(dynamics=dynamics, start=point), tol=0.05, random_state=SHIFT
    )
    assert result.start == ("given",) * 4
    with pytest.raises(ValueError, match="start must be in version space"):
        space.sample(options=SampleOptions(dynamics=dynamics, start=-point))


def bent(index):
    """A Gaussian kernel on points of the plane, labeled by a parabola."""
    rng = np.random.default_rng((SHIFT, 3, index))
    x = rng.standard_normal((120, 2))
    return x, x[:, 0] ** 2 + x[:, 1] > 0.5


@pytest.mark.parametrize("dynamics", STRAIGHT)
def test_runs_end_at_their_tolerance(dynamics):
    """Each flipper restarts at its own center: the run must end although their halves differ."""
    for index in range(3):
        x, y = bent(index)
        space = VersionSpace(RBF(1.0)(x), y, softness=0.1, offset=1.0)
        run = space.sample(
            options=SampleOptions(dynamics=dynamics, max_bounces=300_000),
            tol=0.05,
            n_draws=10,
            random_state=SHIFT,
        )
        assert run.stop_reason == "tol"
        assert run.center_error <= 0.05
