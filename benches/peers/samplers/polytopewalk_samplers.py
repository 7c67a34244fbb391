"""polytopewalk's samplers: all of cone and box. It has no Gaussian."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
from polytopewalk import dense
from problem import main, time_of


def _sampler(walk: Any) -> Callable[[Any, Any, int, float], tuple[Any, float]]:
    def run(normals: Any, inside: Any, seed: int, seconds: float) -> tuple[Any, float]:
        m, r = normals.shape
        sides = np.vstack([-normals, np.eye(r), -np.eye(r)])
        limits = np.concatenate([np.zeros(m), np.ones(2 * r)])
        here = inside / 2
        seeds = itertools.count(1_000_000 * seed)

        def sample(n: int, thinning: int) -> Any:
            nonlocal here
            states = walk().generateCompleteWalk(
                n * thinning, here, sides, limits, thin=thinning, seed=next(seeds)
            )
            here = states[-1].copy()
            return states

        return time_of(sample, normals, seconds)

    return run


main(
    {
        name: _sampler(getattr(dense, name))
        for name in ("HitAndRun", "DikinWalk", "VaidyaWalk", "JohnWalk")
    }
)
