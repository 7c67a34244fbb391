"""The light trap of Ruján and Marchand."""

import numpy as np
import pytest

from bayespoint import InfeasibleError, VersionSpace
from bayespoint.papers.light_trap import light_trap
from helpers import SHIFT, cone, space_of


def test_one_way_light_trap():
    caught = 0
    for index in range(10):
        x, y = cone(m=60, r=12, seed=40 + index)
        space = space_of(x, y)
        found = light_trap(space, random_state=index)
        assert space.contains(found.dual_coef)
        means = np.where(y > 0, 1 / (y > 0).sum(), -1 / (y < 0).sum())
        assert found.errors[0] == (space.margins(means) <= 0).sum()
        assert (np.diff(found.errors) == -1).all()  # one wall at a time, and none twice
        assert (np.diff(found.bounces.astype(int)) >= 0).all()
        assert found.bounces[0] == 0
        assert found.caught == (found.errors[-1] == 0)
        caught += found.caught
    assert caught >= 8


def test_one_way_light_trap_without_a_way():
    xor = np.array([[1.0, 1.0], [-1.0, -1.0], [1.0, -1.0], [-1.0, 1.0]])
    x, y = cone(m=60, r=5)
    flipped = np.where(np.arange(60) < 20, -y, y)
    for points, labels in [(xor, [1, 1, -1, -1]), (x, flipped)]:
        with pytest.raises(InfeasibleError):
            light_trap(space_of(points, np.array(labels)), random_state=SHIFT)
    assert len(light_trap(VersionSpace(np.ones((2, 2)), [1, 1]), random_state=0).errors) == 0
