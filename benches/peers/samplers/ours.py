"""The geodesic billiard: all directions of the cone alike. All of each call is part of its time."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from problem import KEPT, main, seen

from bayespoint import SampleOptions, VersionSpace
from bayespoint.results.diagnostics import ess_bulk

PILOT = 400.0
"""Radians of path that tell how many effective samples there are in a radian."""

FINE = 0.05
"""Radians between the draws of the pilot."""

DRAWS_EACH = 1.2
"""Draws for each effective sample: with fewer of them part of the path would be wasted."""

NUMBERS = 2_000_000
"""Numbers in the draws of one call: the next one finds their memory again."""


def billiard(normals: Any, _: Any, seed: int, seconds: float) -> tuple[Any, float]:
    """Return what is seen of calls that go on from one another, and the seconds that they took."""
    m = len(normals)
    space = VersionSpace(normals @ normals.T, np.ones(m))
    common: dict[str, Any] = {"n_trajectories": 1, "n_jobs": 1}
    pilot = space.sample(length=PILOT, n_draws=round(PILOT / FINE), random_state=seed, **common)
    effective = np.median(ess_bulk(seen(pilot.draws[0] @ normals, normals)[None]))
    spacing = PILOT / (DRAWS_EACH * effective)
    n = NUMBERS // m
    values: list[Any] = []
    taken, bounces, start = 0.0, 0, pilot.draws[0, -1]
    while taken < seconds and n * len(values) < KEPT:
        began = time.perf_counter()
        found = space.sample(
            length=n * spacing,
            n_draws=n,
            options=SampleOptions(start=start),
            random_state=seed + 1 + len(values),
            **common,
        )
        taken += time.perf_counter() - began
        bounces += int(found.bounces.sum())
        start = found.draws[0, -1]
        values.append(seen(found.draws[0] @ normals, normals))
    seen_all = np.concatenate(values)
    each = bounces / np.median(ess_bulk(seen_all[None]))
    print(f"{each:.3g} bounces for an effective sample")
    return seen_all, taken


main({"geodesic billiard": billiard})
