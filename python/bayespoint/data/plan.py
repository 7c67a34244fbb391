"""What a fit does: the plan of its model, and the budget of its work."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from bayespoint.base import validation

_DRAWS = 100  # of each chain, and of all chains of each of several models


@dataclass(frozen=True, kw_only=True)
class _Settings:
    """What no examples change."""

    offset: float  # constant that is added to all kernel values
    softness: float | None  # None if it is searched
    label_noise: validation.Noise
    rates: int  # number of rates of label noise that are searched: 0, 1 for both classes, or 2
    calibrates: bool | None  # None: if anything is searched
    n_components: int | None  # number of landmarks; None for the default
    n_chains: int
    tol: float | None  # angular error of the center at which to stop, radians; None for the default


@dataclass(frozen=True, kw_only=True)
class Given(_Settings):
    """The parameters of an estimator, checked as far as they can be without examples."""

    kernel: Any  # as it was given
    categories: Any  # columns that are categories, as they were given
    standardize: bool
    approximation: str  # "auto", "landmarks" or "none"
    n_models: int | None  # None for the default, as `n_draws`
    n_draws: int | None
    verbose: int
    rule: str | None = None
    order: Any = None  # the labels of ordered classes from the lowest on; None: as they sort

    def plan(
        self, kernel: Any, n_models: int, *, landmarks: bool | None, scales: bool = False
    ) -> Plan:
        """Return the plan, given what depends on the examples."""
        return Plan(
            **{known.name: getattr(self, known.name) for known in fields(_Settings)},
            kernel=kernel,
            n_models=n_models,
            landmarks=landmarks,
            n_draws=self.n_kept(n_models),
            scales=scales,
        )

    def n_kept(self, n_models: int) -> int:
        """Return the number of draws to keep of each chain, by default fewer of several models."""
        if self.n_draws is not None:
            return self.n_draws
        return math.ceil(_DRAWS / min(n_models, self.n_chains))


@dataclass(frozen=True, kw_only=True)
class Plan(_Settings):
    """The model of a fit: which hyperparameters are given, which basis, how many draws."""

    kernel: Any  # kernel, "precomputed", or a tuple to be averaged
    n_models: int
    """Models that are averaged: settings drawn of a kernel, or of each kernel the most probable."""
    landmarks: bool | None  # None: where few stand for all examples, which the fit finds
    n_draws: int
    scales: bool = False  # whether the evidence chooses a scale of the numbers

    def tolerance(self, m: int, n_functions: int) -> float:
        """Return the angular error at which a run on m examples stops, in radians.

        By default it grows with the examples and classes: in more dimensions the same angle is a
        smaller error of each function value. The errors of several models average out, if their
        weights are alike.
        """
        tol = self.tol
        if tol is None:
            n = max(1, n_functions - 1)
            tol = min(0.03 * max(1.0, math.sqrt(m / 500)) * n, 0.1 if n == 1 else 0.15)
        return tol * math.sqrt(self.n_models)

    def calibrates_with(self, searched: bool) -> bool:
        """Return whether decision values are calibrated, by whether anything was searched."""
        return searched if self.calibrates is None else self.calibrates


@dataclass(frozen=True)
class Budget:
    """What the work of a fit may take, and its seeds."""

    seed: int
    number: int = 0  # number of the model, of several
    n_jobs: int | None = None  # number of threads, as the parameter of this name
    max_iter: int | None = None
    deadline: float | None = None  # time of :func:`time.monotonic` at which the work is to end

    @property
    def choice_seed(self) -> int:
        """Seed of the choice of examples and landmarks, the same for all models."""
        return self.seed % 2**32

    @property
    def run_seed(self) -> int:
        """Seed of the run, another one for each model."""
        seed = self.seed
        if self.number:
            seed = int(np.random.SeedSequence([seed, self.number]).generate_state(1, np.uint64)[0])
        return int(np.random.SeedSequence(seed).generate_state(1, np.uint64)[0])

    @property
    def left(self) -> float:
        """Seconds until the deadline; infinity without one."""
        return math.inf if self.deadline is None else self.deadline - time.monotonic()

    @property
    def n_threads(self) -> int:
        """Number of threads."""
        return validation.threads(self.n_jobs)

    def of_model(self, k: int, rounds: int, n_threads: int) -> Budget:
        """Return the budget of the k-th model, with `rounds` still to be fitted one by one."""
        return replace(self.part(1 / rounds), number=k, n_jobs=n_threads)

    def rest(self, used: int, n: int) -> Budget:
        """Return the budget of each of n searches side by side, after some settings were tried."""
        most = None if self.max_iter is None else max(1, (self.max_iter - used) // n)
        return replace(self, max_iter=most, n_jobs=max(1, self.n_threads // n))

    def part(self, share: float) -> Budget:
        """Return the budget with a share of the time that is left."""
        if self.deadline is None or share == 1:
            return self
        return replace(self, deadline=time.monotonic() + max(1e-3, share * self.left))
