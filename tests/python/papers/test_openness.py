"""The share of straight flights that escape, against the kernel."""

import itertools

import numpy as np
import pytest

from bayespoint import VersionSpace
from bayespoint.kernels import RBF
from bayespoint.papers.dynamics import Flipper
from helpers import SHIFT, flown


def escapes(gram, y, **settings):
    """Return the share, and its standard error by trajectories."""
    run = {"max_bounces": 5000, "n_trajectories": 8, "n_draws": 1, "random_state": SHIFT}
    flight = flown(VersionSpace(gram, y, **settings), Flipper(), **run)
    shares = flight.escapes / (flight.escapes + flight.run.bounces)
    return flight.escape_fraction, shares.std(ddof=1) / np.sqrt(len(shares))


def problem(m=60, d=2):
    x = np.random.default_rng((SHIFT, 1)).standard_normal((m, d))
    return x, np.where(x[:, 0] + np.sin(2 * x[:, 1]) / 2 > 0, 1, -1)


def test_the_billiard_closes_as_the_length_scale_grows():
    x, y = problem()
    found = [escapes(RBF(sigma)(x), y) for sigma in (0.5, 1.5, 5.0)]
    for (more, one), (less, two) in itertools.pairwise(found):
        assert more - less > 5 * np.hypot(one, two)


@pytest.mark.parametrize("m", [2, 5, 60])
def test_orthogonal_planes_have_a_known_share(m):
    """A flight heads for each plane with probability 1/2, meets it once if it does, and escapes."""
    value, error = escapes(np.eye(m), np.ones(m))
    assert abs(value - 2 / (m + 2)) < 6 * error


def test_softness_and_offset_count():
    x, y = problem()
    gram = RBF(5.0)(x)
    assert escapes(gram, y, softness=1.0)[0] > 2 * escapes(gram, y)[0]
    assert escapes(RBF(1.0)(x), y, offset=1.0)[0] != escapes(RBF(1.0)(x), y)[0]
