"""The binary problems of one fit as tasks for other processes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from bayespoint.base.validation import Labels
from bayespoint.engine import continuation, distributed, sampling
from bayespoint.engine.problem import Problem
from bayespoint.engine.settings import EVERY, SampleSettings
from bayespoint.results import BilliardResult


def samples(
    problems: Sequence[Problem],
    settings: SampleSettings,
    seeds: Sequence[int],
    n_jobs: int | None,
) -> Iterator[BilliardResult]:
    """Return the results of ``sample(problem, settings, seed=seed)`` over one Gram matrix.

    The runs end before this returns. Iteration issues the warnings of each.
    """
    first, settings = sampling.prepare(problems[0], settings)
    problems = [replace(problem, inverse=first.inverse) for problem in problems]
    origins = [
        continuation.begin(
            problem,
            settings,
            seed,
            None,
            continue_from=None,
            checkpoint=None,
            every=EVERY,
        )
        for problem, seed in zip(problems, seeds, strict=True)
    ]
    pairs = list(zip(problems, origins, strict=True))
    with distributed.Workers(first, n_jobs) as workers:
        runs = workers.each(_run, [(problem.y, settings, origin) for problem, origin in pairs])
    found = zip(pairs, runs, strict=True)
    return (sampling.to_result(problem, settings, origin, run) for (problem, origin), run in found)


def _run(
    shared: Problem, y: Labels, settings: SampleSettings, origin: continuation.Origin
) -> Mapping[str, Any]:
    """Run the billiard of one problem in a worker, with one thread for each problem."""
    return sampling.run_engine(replace(shared, y=y), settings, origin, n_threads=1)
