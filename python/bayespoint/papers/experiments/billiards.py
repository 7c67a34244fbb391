"""Billiards of a given number of bounces, without warnings: the rows record how far they came."""

from __future__ import annotations

from functools import partial
from typing import Any

from bayespoint import BilliardResult, SampleOptions, VersionSpace
from bayespoint.papers import dynamics
from bayespoint.papers.dynamics import Flight, Motion
from bayespoint.papers.rollback import without_warnings


@without_warnings()
def fly(
    space: VersionSpace,
    bounces: int,
    seed: int,
    *,
    balls: int = 4,
    draws: int = 1,
    motion: Motion | None = None,
    **options: Any,
) -> BilliardResult:
    """Let balls make so many bounces each, along great circles or with a motion of the papers."""
    sample = partial(dynamics.sample, space, motion) if motion else space.sample
    found = sample(
        options=SampleOptions(max_bounces=bounces, **options),
        n_trajectories=balls,
        n_draws=draws,
        random_state=seed,
    )
    return found.run if isinstance(found, Flight) else found
