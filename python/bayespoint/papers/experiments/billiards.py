"""Billiards of a given number of bounces, without warnings: the rows record how far they came."""

from __future__ import annotations

from typing import Any

from bayespoint import BilliardResult, SampleOptions, VersionSpace
from bayespoint.papers.rollback import without_warnings


@without_warnings()
def fly(
    space: VersionSpace, bounces: int, seed: int, *, balls: int = 4, draws: int = 1, **options: Any
) -> BilliardResult:
    """Let balls make so many bounces each."""
    return space.sample(
        options=SampleOptions(max_bounces=bounces, **options),
        n_trajectories=balls,
        n_draws=draws,
        random_state=seed,
    )
