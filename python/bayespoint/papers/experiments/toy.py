"""The three-dimensional toy problem of Herbrich, Graepel and Campbell, Section 6."""

from __future__ import annotations

from typing import Any

import numpy as np

from bayespoint import VersionSpace
from bayespoint.papers.displays import sphere
from bayespoint.papers.elongated import make_elongated
from bayespoint.papers.experiments.framework import SPLITS, units_of

TRAINING, TEST = 10, 10_000


toys = units_of(toy=SPLITS)
"""Units of work: random problems."""


def cube(seed: int) -> tuple[Any, Any, Any, Any]:
    """Return points of [-1, 1]^3 for training and test, each with labels by a random plane.

    Problems with training points of only one class are skipped.
    """
    rng = np.random.default_rng(seed)
    while True:
        toy = make_elongated(TRAINING, TEST, random_state=rng)
        if abs(toy.target.sum()) < TRAINING:
            return toy.data, toy.target, toy.test_data, toy.test_target


def risk(w: Any, teacher: Any) -> float:
    """Return the probability that w errs on a Gaussian example: its angle to the teacher / pi."""
    return sphere.angle(w, teacher) / np.pi


def widest(X: Any, y: Any) -> Any:
    """Return the weight vector with the largest margin: of inputs of length 1 the ball's center."""
    return VersionSpace(X @ X.T, y).max_margin().dual_coef @ X


def corners(X: Any, y: Any) -> Any:
    """Return the corners of the version space on the sphere, in order."""
    return sphere.corners_of(y[:, None] * X, widest(X, y))
