"""The geodesic billiard: all directions of the cone alike. Its start is part of its time."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from problem import KEPT, main, seen

from bayespoint import VersionSpace

PILOT = 2_000.0
"""Radians of path that tell how many fit into the time."""

SPACING = 0.5
"""Radians between draws, at most: with more of them the draws would be independent, and the
path between them wasted."""


def billiard(normals: Any, _: Any, seed: int, seconds: float) -> tuple[Any, float]:
    """Return what is seen of one run, and the seconds that it took."""
    space = VersionSpace(normals @ normals.T, np.ones(len(normals)))
    length, n_draws = PILOT, 2
    for share in (0.1, 1.0):
        began = time.perf_counter()
        space.sample(length=length, n_draws=n_draws, n_trajectories=1, n_jobs=1, random_state=seed)
        length *= share * seconds / (time.perf_counter() - began)
    length = min(length, SPACING * KEPT)
    began = time.perf_counter()
    found = space.sample(
        length=length, n_draws=KEPT, n_trajectories=1, n_jobs=1, random_state=seed + 1
    )
    taken = time.perf_counter() - began
    return seen(found.draws[0] @ normals, normals), taken


main({"geodesic billiard": billiard})
