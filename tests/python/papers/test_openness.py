"""Escape fractions against the kernel."""

import os

import numpy as np
import pytest

from bayespoint import SampleOptions, VersionSpace
from bayespoint.kernels import RBF
from bayespoint.papers.openness import escape_fractions

SHIFT = int(os.environ.get("BAYESPOINT_SEED", "0"))


def problem(m=60, d=2):
    x = np.random.default_rng((SHIFT, 1)).standard_normal((m, d))
    return x, np.where(x[:, 0] + np.sin(2 * x[:, 1]) / 2 > 0, 1, -1)


def test_the_billiard_closes_as_the_length_scale_grows():
    x, y = problem()
    grams = [RBF(sigma)(x) for sigma in (0.5, 1.5, 5.0)]
    values, errors = escape_fractions(grams, y, random_state=SHIFT, n_jobs=2)
    assert values.shape == errors.shape == (3,)
    assert (errors > 0).all()
    for k in range(2):
        assert values[k] - values[k + 1] > 5 * np.hypot(errors[k], errors[k + 1])
    # A generator is accepted, and the numbers are those of single runs.
    again = escape_fractions(iter(grams), y, random_state=SHIFT)
    assert np.array_equal(again.values, values)
    run = VersionSpace(grams[1], y).sample(
        options=SampleOptions(dynamics="flipper", max_bounces=5000),
        n_trajectories=8,
        n_draws=1,
        random_state=SHIFT,
    )
    assert values[1] == run.escape_fraction


@pytest.mark.parametrize("m", [2, 5, 60])
def test_orthogonal_planes_have_a_known_share(m):
    """A flight heads for each plane with probability 1/2, meets it once if it does, and escapes."""
    values, errors = escape_fractions([np.eye(m)], np.ones(m), random_state=SHIFT, n_jobs=2)
    assert abs(values[0] - 2 / (m + 2)) < 6 * errors[0]


def test_softness_and_offset_count():
    x, y = problem()
    gram = RBF(5.0)(x)
    settings = {"random_state": SHIFT, "max_bounces": 2000}
    hard = escape_fractions([gram], y, **settings).values[0]
    assert escape_fractions([gram], y, softness=1.0, **settings).values[0] > 2 * hard
    open_, lifted = (
        escape_fractions([RBF(1.0)(x)], y, offset=offset, **settings).values[0]
        for offset in (0.0, 1.0)
    )
    assert open_ != lifted


@pytest.mark.parametrize(
    ("grams", "settings", "error", "text"),
    [
        ([], {}, ValueError, "grams must hold at least one Gram matrix"),
        ([np.ones((2, 3))], {}, ValueError, r"^grams\[0\]: gram must be a square matrix"),
        ([np.eye(2), [[1, 2], [0, 1]]], {}, ValueError, r"^grams\[1\]: gram must be symmetric"),
        ([np.eye(3)], {}, ValueError, r"as many labels as gram has rows, 3; got 2"),
        ([-np.eye(2)], {}, ValueError, r"every diagonal entry of gram plus"),
        (
            [[[1, 2], [2, 1]]],
            {},
            ValueError,
            r"^grams\[0\]: gram plus offset and softness must be pos",
        ),
        ([np.eye(2)], {"n_trajectories": 1}, ValueError, "n_trajectories must be"),
        ([np.eye(2)], {"max_bounces": 0}, ValueError, "max_bounces must be"),
        ([np.eye(2)], {"softness": -1.0}, ValueError, "softness must be"),
        ([np.ones((2, 2))], {}, ValueError, "gram must be of two dimensions or more"),
    ],
)
def test_refused(grams, settings, error, text):
    with pytest.raises(error, match=text):
        escape_fractions(grams, [1, -1], **settings)
