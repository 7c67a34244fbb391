"""The binary problems of one fit as tasks for other processes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from bayespoint.base.validation import Labels
from bayespoint.engine import continuation, distributed
from bayespoint.engine import settings as engine_settings
from bayespoint.results import BilliardResult
from bayespoint.version_space import VersionSpace

_LEFT = {
    "length": None,
    "max_bounces": None,
    "scattering": "specular",
    "scatterer": None,
    "tau_max": None,
    "weight_tol": None,
    "refresh_rate": "auto",
}
"""Settings of a run that the classifiers leave as they are."""


def samples(
    spaces: Sequence[VersionSpace],
    options: Mapping[str, Any],
    seeds: Sequence[int],
    n_jobs: int | None,
) -> Iterator[BilliardResult]:
    """Return the results of ``space.sample(**options, random_state=seed)`` over one Gram matrix.

    All have been played when this returns; the warnings of each come with its result.
    """
    settings = engine_settings.sample_settings(**_LEFT, **options, n_jobs=n_jobs)
    first = spaces[0]
    inverse = first._inverse(settings)
    settings = engine_settings.settled(settings, smooths=inverse is not None)
    if inverse is None and not any(settings.transparency):
        for space in spaces:
            space._refuse_conflicts()
    ground = distributed.Ground(first.gram, first.offset, first.softness, inverse)
    own = replace(settings, n_threads=1)  # the others have theirs
    courses = [
        continuation.begin(
            space,
            settings,
            seed,
            seed,
            None,
            continue_from=None,
            checkpoint=None,
            every=continuation.EVERY,
        )
        for space, seed in zip(spaces, seeds, strict=True)
    ]
    pairs = list(zip(spaces, courses, strict=True))
    problems = [(space.y, own, course) for space, course in pairs]
    with distributed.Workers(ground, *first._source, n_jobs) as workers:
        runs = workers.each(_play, problems)
    found = zip(pairs, runs, strict=True)
    return (space._result(run, settings, course) for (space, course), run in found)


def _play(
    ground: distributed.Ground,
    y: Labels,
    settings: engine_settings.SampleSettings,
    course: continuation.Course,
) -> Mapping[str, Any]:
    """Play the billiard of one problem, on a worker."""
    space = VersionSpace._over(ground.gram, y, softness=ground.softness, offset=ground.offset)
    return space._run(settings, None, None, ground.inverse, course)
