"""What a fit does: the plan of its model, and the budget of its work."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from bayespoint.base import validation


@dataclass(frozen=True)
class Choice:
    """A kernel of a fit, and how its hyperparameters are found."""

    kernel: Any
    """The kernel, or "precomputed"; None where only the number counts."""
    n: int = 1
    """Number of settings of its hyperparameters."""
    how: str = "evidence"
    """"evidence": the setting of the largest evidence, or the one given. "posterior": the most
    probable one, by evidence times prior. "drawn": settings drawn from this posterior. "landmarks":
    the most probable one, by the evidence with landmarks."""


@dataclass(frozen=True)
class Plan:
    """The model of a fit: which hyperparameters are given, which basis, how many draws."""

    choices: tuple[Choice, ...]
    """The kernels, and how the hyperparameters of each are found; empty until the examples, on
    which the default kernels depend, have been read."""
    offset: float
    """Constant that is added to all kernel values."""
    softness: float | None
    """None if it is searched."""
    label_noise: tuple[float, float]
    rates: int
    """Number of rates of label noise that are searched: 0, 1 for both classes, or 2."""
    calibrates: bool | None
    """None: if anything is searched."""
    landmarks: bool
    n_components: int | None
    """Number of landmarks; None for the default."""
    n_chains: int
    n_draws: int
    tol: float | None
    """Angular error of the center at which to stop, radians; None for the default."""

    @property
    def n_models(self) -> int:
        """Number of models that are averaged."""
        return sum(choice.n for choice in self.choices)

    def tolerance(self, m: int, n_classes: int) -> float:
        """Return the angular error at which a run on m examples stops, in radians.

        By default it grows with the examples and classes: in more dimensions the same angle is a
        smaller error of each function value. The errors of several models average out, if their
        weights are alike.
        """
        tol = self.tol
        if tol is None:
            largest = 0.1 if n_classes == 2 else 0.15
            tol = min(0.03 * max(1.0, math.sqrt(m / 500)) * (n_classes - 1), largest)
        return tol * math.sqrt(self.n_models)

    def calibrates_with(self, searched: bool) -> bool:
        """Return whether decision values are calibrated, by whether anything was searched."""
        return searched if self.calibrates is None else self.calibrates


@dataclass(frozen=True)
class Budget:
    """What the work of a fit may take, and its seeds."""

    seed: int
    number: int = 0
    """Number of the model, of several."""
    n_jobs: int | None = None
    """Number of threads, as the parameter of this name."""
    max_iter: int | None = None
    deadline: float | None = None
    """Time of :func:`time.monotonic` at which the work is to end."""

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

    def part(self, share: float) -> Budget:
        """Return the budget with a share of the time that is left."""
        if self.deadline is None or share == 1:
            return self
        return replace(self, deadline=time.monotonic() + max(1e-3, share * self.left))
