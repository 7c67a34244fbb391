"""The problems of a fit: two classes, each class against the rest, or all jointly."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayespoint import kernels
from bayespoint.base.linalg import Factor, factorize
from bayespoint.base.validation import Floats
from bayespoint.engine import distributed, sampling
from bayespoint.engine.problem import Problem
from bayespoint.engine.settings import SampleSettings
from bayespoint.estimators import tasks
from bayespoint.estimators.advice import infeasible_advice
from bayespoint.estimators.progress import PERCENT, Advance, Progress
from bayespoint.estimators.refine import Continuation
from bayespoint.posterior.joint import JointPosterior
from bayespoint.posterior.predictive import BinaryPosterior
from bayespoint.results import BilliardResult
from bayespoint.results.slices import SliceResult

_ADVICE = "Use softness > 0, or label_noise > 0"
"""For examples that are not separable."""

_SINGLE_SOFTNESS = 5e-5
"""Least softness, relative to the mean of k(x, x), with which draws are kept in singles."""


@dataclass(frozen=True, eq=False)
class TrainingProblem:
    """The labels that one billiard has to satisfy, and the posterior found for them.

    They are of two classes, of one class against the rest, or of several classes jointly.
    """

    name: str
    """Name of its billiard in reports of progress."""

    y: NDArray[np.integer]
    """(m,) Labels: -1 and +1, or indices of several classes."""

    softness: Floats
    """(m,) Softness of each example."""

    offset: float
    """Constant that is added to all kernel values."""

    label_noise: tuple[float, float] = (0.0, 0.0)
    """Probability of a wrong label for truly negative and for truly positive examples; for several
    classes both are the same."""

    posterior: BinaryPosterior | JointPosterior | None = None
    """The posterior; None before the fit, and for classifiers without one."""

    n_classes: int = 2
    """Number of classes."""

    @property
    def is_joint(self) -> bool:
        """Whether the labels are of several classes jointly."""
        return self.n_classes > 2

    @property
    def result(self) -> Any:
        """The billiard."""
        if self.posterior is None:
            raise AttributeError(
                "this problem has no billiard, since its classifier does not sample"
            )
        return self.posterior.result

    @property
    def rate(self) -> float | tuple[float, float]:
        """The label noise as :func:`bayespoint.engine.evidence.evidence` takes it."""
        return self.label_noise[0] if self.is_joint else self.label_noise

    @property
    def transparency(self) -> float | tuple[float, float]:
        """P(label | another class) / P(label | own class), of two classes for -1 and +1."""
        first, second = self.label_noise
        if self.is_joint:
            return first / ((self.n_classes - 1) * (1 - first))
        return second / (1 - first), first / (1 - second)

    def over(self, gram: Floats, *, inverse: Any = None) -> Problem:
        """Return the problem with its kernel matrix, the argument of the engine's functions."""
        return Problem(gram, self.y, self.softness, self.offset, inverse, n_classes=self.n_classes)

    def with_result(
        self, result: BilliardResult | SliceResult, rank: int | None, calibration: float
    ) -> TrainingProblem:
        """Return the problem with its posterior."""
        kind = JointPosterior if self.is_joint else BinaryPosterior
        return replace(self, posterior=kind(self.y, result, rank, calibration))


def factored(
    matrix: Floats, offset: float, softness: Floats, progress: Progress
) -> tuple[Factor | None, tuple[Factor, Floats] | None]:
    """Return the factor of the matrix, and with it the diagonal of the inverse for the runs.

    Both are None if the matrix is singular or nearly so: its factor is then computed again after
    the runs, in the memory of the matrix.
    """
    with progress.part("factor of the matrix") as report:
        factor = factorize(matrix, offset, softness, report=report)
    if not factor.invertible:
        return None, None
    with progress.part("inverse of the matrix") as report:
        inverse = factor, factor.inverse_diagonal(report)
    if progress.verbose:
        progress.tell(f"kernel matrix and factor of {len(matrix)} examples: {progress.seconds()}")
    return inverse[0], inverse


def sample_each(
    problems: Sequence[TrainingProblem],
    over: Sequence[Problem],
    settings: SampleSettings,
    *,
    seed: int,
    n_jobs: int | None,
    continuation: Continuation | None,
    progress: Progress,
    deadline: float | None = None,
) -> list[BilliardResult]:
    """Return the billiard of each problem; `over` are the problems with their kernel matrix.

    They share the time until `deadline`, of the clock of :func:`time.monotonic`.
    """
    tol = settings.tol or 0.0

    def with_share(n: int) -> SampleSettings:
        """Return the settings with the time of one of `n` runs that are left."""
        if deadline is None:
            return settings
        left = (deadline - time.monotonic()) / n
        return replace(settings, max_time=max(left, sampling.LEAST_TIME))

    seeds = np.random.SeedSequence(seed).generate_state(len(problems), np.uint64).tolist()
    remote = None
    # Continued runs are distributed by trajectories, not by problems.
    if len(over) > 1 and continuation is None and distributed.active():
        with infeasible_advice(_ADVICE):
            remote = tasks.samples(over, with_share(len(over)), seeds, n_jobs)
    results = []
    for k, problem in enumerate(problems):
        with progress.task(problem.name, PERCENT) as advance:
            if remote is not None:
                result = next(remote)
            else:
                share = with_share(len(over) - k)
                run = {"settings": share, "seed": seeds[k]}
                if continuation is not None:
                    run |= continuation(k, over[k], share)
                callback = None if advance is None else _percents(advance, tol)
                with infeasible_advice(_ADVICE):
                    result = sampling.sample(over[k], **run, callback=callback, n_jobs=n_jobs)
        result = _compact(result, over[k])
        results.append(result)
        if progress.verbose:
            progress.tell(
                f"{problem.name}: {int(result.bounces.sum())} bounces, {progress.seconds()}: "
                f"center_error {result.center_error:.2g} rad (tol {tol:.2g}), "
                f"the walls of {len(result.support)} of {len(result.y)} examples were hit"
            )
    return results


def _compact(result: BilliardResult, problem: Problem) -> BilliardResult:
    """Return the run with its draws in singles, if there is enough softness.

    The length of a unit vector's dual coefficients is at most softness^(-1/2). Rounding them
    changes function values by less than a thousandth of their standard deviation.
    """
    if problem.softness.min() < _SINGLE_SOFTNESS * float(problem.gram.diagonal().mean()):
        return result
    # Of several classes, rounded coefficients sum to zero as those do from which a run continues.
    draws = problem.from_planes(problem.to_planes(result.draws.astype(np.float32)))
    return replace(result, draws=draws)


def _percents(advance: Advance, tol: float) -> Callable[[Mapping[str, Any]], None]:
    """Return a callback of the engine that reports the percentage done."""
    done = 0

    def callback(progress: Mapping[str, Any]) -> None:
        nonlocal done
        error = progress["center_error"]
        bounces = f"{progress['bounces']} bounces"
        if not math.isfinite(error):  # too short a path for an estimate
            advance(done, bounces)
            return
        # The error is inversely proportional to the root of the path.
        share = min(0.99, (tol / error) ** 2) if error > 0 else 0.0
        done = max(done, int(PERCENT * share))
        advance(done, f"{bounces}, center_error {error:.2g} rad (tol {tol:.2g})")

    return callback


def over_training(problems: Sequence[TrainingProblem], kernel: Any, inputs: Any) -> list[Problem]:
    """Return the problems of a fit with their kernel matrix, recomputed or itself the inputs."""
    first = problems[0]
    matrix, _ = kernels.training_gram(kernel, inputs, first.offset, first.softness)
    return [problem.over(matrix) for problem in problems]
