"""Examples labeled by a teacher."""

import os

import numpy as np

from bayespoint import VersionSpace

SHIFT = int(os.environ.get("BAYESPOINT_SEED", "0"))


def seed(index):
    return index + 7919 * SHIFT


def taught(m, r, index, *, softness=0.0, offset=0.0):
    """Gaussian examples labeled by a teacher: their matrix and version space."""
    rng = np.random.default_rng(seed(index))
    x = rng.standard_normal((m, r)) * rng.uniform(0.5, 2, (m, 1))
    y = np.where(x @ rng.standard_normal(r) > 0, 1, -1)
    if y[0] == y[1]:  # there are to be two classes
        x[0], y[0] = -x[0], -y[0]
    return x, VersionSpace(x @ x.T, y, softness=softness, offset=offset)
