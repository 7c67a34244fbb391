"""Walls in place of labels: what VersionSpace does with them, and what is an error."""

import numpy as np
import pytest

from bayespoint import InfeasibleError, SampleOptions, VersionSpace, Walls, kernels
from helpers import seed

ITEMS = kernels.RBF(1.0)(np.random.default_rng(seed(0)).standard_normal((6, 2)))
BEFORE = [(0, 1), (1, 2), (0, 3), (4, 3), (4, 5)]


def preferences(pairs=BEFORE, observations=None):
    return Walls(pairs, [(1.0, -1.0)] * len(pairs), observations)


@pytest.fixture(scope="module")
def space():
    return VersionSpace(ITEMS, walls=preferences(), softness=0.2)


def test_runs_continue_and_points_are_found(space):
    whole = space.sample(tol=0.03, random_state=seed(4))
    part = space.sample(tol=0.1, random_state=seed(4))
    on = space.sample(tol=0.03, options=SampleOptions(continue_from=part))
    np.testing.assert_array_equal(on.draws, whole.draws)
    np.testing.assert_array_equal(on.center, whole.center)
    assert (space.margins(whole.draws) > 0).all()
    for method in ("light_trap", "max_margin"):
        assert space.contains(space.feasible_point(method, random_state=seed(5)))
    given = SampleOptions(start=whole.draws[0, 0])
    space.sample(length=300.0, random_state=0, options=given)
    other = VersionSpace(ITEMS, walls=preferences(BEFORE[:4]), softness=0.2)
    with pytest.raises(ValueError, match="walls differ"):
        other.sample(tol=0.03, options=SampleOptions(continue_from=part))


def test_contradictions_need_transparent_walls():
    walls = preferences([(0, 1), (1, 0), (0, 1), (2, 0)])
    space = VersionSpace(ITEMS, walls=walls, softness=0.2)
    with pytest.raises(InfeasibleError):
        space.sample(length=5.0, random_state=0)
    run = space.sample(
        length=2000.0, random_state=0, options=SampleOptions(transparency=0.25, average="arc")
    )
    assert run.mean_violations >= 1
    assert np.isfinite(space.evidence(0.2, tol=0.5, random_state=seed(7)).value)


@pytest.mark.parametrize(
    ("arguments", "match"),
    [
        (([[0, 1]], [[1.0]]), "coordinates and coefficients"),
        (([[0, 1, 2, 3]], [[1.0, 1.0, 1.0, 1.0]]), "coordinates and coefficients"),
        (([[0, 1]], [[np.nan, 1.0]]), "coefficients"),
        (([[1, 1]], [[1.0, -1.0]]), "coordinates must be different"),
        (([[0, -1]], [[1.0, -1.0]]), "coordinates must be different"),
        (([[0, 1]], [[1.0, -1.0]], [1]), "observations must be -1"),
        (([[0, 1]], [[1.0, -1.0]], [0, 1]), "observations must have shape"),
    ],
)
def test_walls_are_checked(arguments, match):
    with pytest.raises(ValueError, match=match):
        Walls(*arguments)


def test_what_is_not_for_walls_is_an_error(space):
    for call in (
        space.max_margin,
        lambda: space.evidence((0.1, 0.2)),
        lambda: VersionSpace(ITEMS[:3, :3], walls=preferences(), softness=0.2),
    ):
        with pytest.raises(ValueError, match="walls"):
            call()
    with pytest.raises(TypeError, match="walls must be Walls without y"):
        VersionSpace(ITEMS, [1, 1, 1, -1, -1, -1], walls=preferences())
    with pytest.raises(TypeError, match="y must be labels"):
        VersionSpace(ITEMS)
