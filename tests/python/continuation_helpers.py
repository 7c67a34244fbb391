"""Runs of every kind, and the comparison of two of them bit by bit."""

import dataclasses
import os

import numpy as np
import pytest

from bayespoint import VersionSpace, kernels

SEED = int(os.environ.get("BAYESPOINT_SEED", "0"))


def space(m=60, *, softness=0.1, seed=0, flip=None):
    x = np.random.default_rng([SEED, seed]).standard_normal((m, 3))
    y = np.where(x[:, 0] > 0, 1, -1)
    if flip is not None:
        y[flip] *= -1
    return VersionSpace(kernels.RBF(2.0)(x), y, softness=softness)


def same(a, b):
    for field in dataclasses.fields(a):
        mine, other = getattr(a, field.name), getattr(b, field.name)
        if field.name == "state":
            assert (mine is None) == (other is None)
            for name in mine or {}:
                np.testing.assert_array_equal(mine[name], other[name], err_msg=name)
        else:
            np.testing.assert_array_equal(mine, other, err_msg=field.name)


RUNS = {
    "arc": {"average": "arc"},
    "impulse": {"average": "impulse", "refresh": "pair", "n_trajectories": 2},
    "conditional": {"average": "conditional"},
    "transparent": {"transparency": (0.1, 0.3), "refresh": "pair", "refresh_rate": 20.0},
    "bare": {"refresh": None, "n_draws": 7},
}

every_kind = pytest.mark.parametrize(
    "settings", [kind | {"random_state": SEED} for kind in RUNS.values()], ids=list(RUNS)
)
"""Parametrizes a test by the settings of all of them."""
