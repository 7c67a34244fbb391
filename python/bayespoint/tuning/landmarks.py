"""The evidence of hyperparameters with landmarks, on thousands of examples.

It is the lower bound of :mod:`bayespoint.landmarks.bound`, in place of expectation propagation on
some hundreds of examples. For more than two classes it is the sum over each class against the rest.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from bayespoint import kernels
from bayespoint.base import linalg, validation
from bayespoint.base.validation import Floats
from bayespoint.base.warnings import warn
from bayespoint.kernels.products import in_rows
from bayespoint.landmarks import bound, selection
from bayespoint.landmarks.features import Features
from bayespoint.landmarks.variational import Normal
from bayespoint.tuning.averaging import MOST_FEATURES, Density, Setting, parts
from bayespoint.tuning.search import (
    Approximation,
    Examples,
    Objective,
    Report,
    no_evidence,
    subset,
    variance_slope,
)

LEVELS = ((1000, 100, 15), (8000, 200, 10))
"""Examples, landmarks and steps of a search: first few of each, then from what that found. More
examples than 8000, or landmarks, gain little."""

_LARGEST_SUM = 16_000
"""Largest number of examples times problems, for more than two classes."""

_MOST_WEIGHTS = 1000
"""Most features for which each has a weight. Averages of settings end at fewer, since a draw takes
dozens of evaluations."""

_PLACES = 300
"""Examples over which the variance of f is taken, to which the softness is relative."""

_STEP = 0.02
"""Relative step of a rate of label noise for a finite difference."""


@dataclass(eq=False)
class LandmarkObjective(Objective):
    """The same objective, with landmarks."""

    n_landmarks: int = field(default=0, kw_only=True)
    seed: int = field(default=0, kw_only=True)
    landmarks: Any = field(default=None, init=False)

    def __post_init__(self, examples: Examples) -> None:
        super().__post_init__(examples)
        self.places = subset(examples.labels, _PLACES, self.seed)
        self.n_threads = validation.threads(self.n_jobs)
        start = kernels.at_start(self.kernel, examples.X)
        self.landmarks = selection.choose(start, examples.X, self.n_landmarks, self.seed)

    def unpack(
        self, theta: Floats, noisy: bool, examples: Examples
    ) -> tuple[Any, Floats, float, tuple[float, float]]:
        """Return the same, with the matrix of some examples only."""
        chosen = (
            examples.part(self.places) if len(self.places) < examples.labels.shape[1] else examples
        )
        return super().unpack(theta, noisy, chosen)

    def approximate(
        self,
        examples: Examples,
        kernel: Any,
        gram: Floats,
        softness: float,
        noise: tuple[float, float],
        nearest: list[Any],
        *,
        slopes: bool,
    ) -> Approximation:
        """Return the bound of the evidence and its derivatives."""
        features = Features.of(kernel, self.landmarks, self.offset)
        levels = softness / examples.weights
        value, by_softness, known = 0.0, 0.0, dict[str, float]()
        by_noise = np.zeros(2)
        for k, y in enumerate(examples.labels):
            found = self._bound(features, examples, y, levels, noise, nearest[k])
            nearest[k] = found.normal
            value += found.value
            by_softness += float(found.by_softness @ levels)
            known = {name: known.get(name, 0.0) + slope for name, slope in found.slopes.items()}
            if slopes and any(noise):
                for which in range(2):
                    moved = tuple(rate * (1 + _STEP * (c == which)) for c, rate in enumerate(noise))
                    ahead = self._bound(features, examples, y, levels, moved, found.normal)
                    by_noise[which] += (ahead.value - found.value) / (_STEP * noise[which])
        if known and self.relative(examples):
            X = in_rows(examples.X)[self.places]
            of_variance = kernels.slopes(kernel, X, gram, variance_slope(gram))
            known = {name: slope + by_softness * of_variance[name] for name, slope in known.items()}
        return Approximation(value, known, by_softness, by_noise)

    def _bound(
        self,
        features: Features,
        examples: Examples,
        y: Floats,
        softness: Floats,
        noise: Any,
        nearest: Normal | None,
    ) -> bound.Bound:
        return bound.evaluate(
            features,
            examples.X,
            y,
            softness,
            noise=noise,
            mean=None if nearest is None else nearest.mean,
            root=None if nearest is None else nearest.root,
            n_threads=self.n_threads,
        )


def find(
    kernel: Any,
    X: Any,
    labels: Floats,
    *,
    offset: float,
    softness: float | None,
    label_noise: tuple[float, float],
    rates: int,
    weights: Floats,
    seed: int,
    n_jobs: int | None = None,
    report: Report | None = None,
    max_iter: int | None = None,
    max_time: float | None = None,
) -> Setting:
    """Return the most probable setting of a kernel's parameters, by evidence times prior.

    Parameters
    ----------
    kernel : kernel object
        The kernel.
    X, labels, offset, softness, label_noise, rates, weights, seed
        As for :func:`bayespoint.tuning.search.tune`.
    n_jobs : int, default=None
        Number of threads, which does not change the result.
    report, max_iter, max_time : default=None
        As for `tune`.

    Returns
    -------
    Setting
        The setting.

    Raises
    ------
    ValueError
        If no setting has an evidence.

    Warns
    -----
    ConvergenceWarning
        If `max_iter` or `max_time` ended the search.
    """
    deadline = math.inf if max_time is None else time.monotonic() + max_time
    everything = Examples(X, labels.astype(np.float64), weights, False)
    most = max(LEVELS[0][0], _LARGEST_SUM // len(labels))
    start, tried, density, state = None, list[list[float]](), None, None
    with linalg.one_thread():
        for n, n_landmarks, steps in LEVELS:
            examples = everything.part(subset(everything.labels, min(n, most), seed))
            objective = LandmarkObjective(
                kernel,
                examples,
                offset,
                softness,
                label_noise,
                rates,
                report,
                n_jobs,
                n_landmarks=n_landmarks,
                seed=seed,
            )
            objective.tried = tried
            objective.max_iter, objective.deadline = max_iter, deadline
            density = Density(objective, examples, rates > 0)
            state = density.climb(steps, start)
            start = state.theta
            if density.limit or examples.labels.shape[1] == labels.shape[1]:
                break
    assert density is not None
    assert state is not None
    if state.value == -math.inf:
        raise no_evidence(kernel, len(tried))
    if density.limit:
        warn(
            f"{density.limit} ended the search for hyperparameters after {len(tried)} settings",
            ConvergenceWarning,
        )
    return density.setting(state, [state])


def default_kernel(X: Any) -> Any:
    """Return the kernel that stands for None.

    A Matérn, a Laplacian and a linear kernel; for 2 to 1000 features with a weight for each, and
    for more than 100 without the Laplacian, which takes long there and gains nothing.
    """
    matern, linear, laplacian = parts(X)
    d = X.shape[1]
    if d == 1:
        return matern + laplacian + linear
    if d > _MOST_WEIGHTS:
        return matern + linear
    if d > MOST_FEATURES:
        return kernels.Weighted(matern + linear)
    return kernels.Weighted(matern + linear) + kernels.Weighted(laplacian)


def knows_slopes(kernel: Any, X: Any) -> bool:
    """Return whether a kernel knows the derivatives by all of its parameters, also between inputs.

    Without them a search would take an evaluation for each parameter.
    """
    start, few = kernels.at_start(kernel, X), in_rows(X)[:2]
    known = kernels.slopes(start, few, kernels.evaluate(start, few, few), np.zeros((2, 2)), few)
    return {one.name for one in kernels.parameters(kernel, X)} <= known.keys()
