"""Ways to approximate the evidence: from all kernel values, or with landmarks."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from bayespoint import kernels
from bayespoint.base.validation import Floats
from bayespoint.data.examples import Examples
from bayespoint.data.plan import Budget, Plan
from bayespoint.landmarks import selection
from bayespoint.landmarks.basis import JITTER, Basis
from bayespoint.landmarks.features import Features
from bayespoint.landmarks.propagation import propagate
from bayespoint.likelihood import Likelihood, TwoClasses
from bayespoint.tuning import expectation_propagation, laplace
from bayespoint.tuning.approximation import Approximation

CHANGE = 3e-4
_FINE_CHANGE = 1e-4
"""Change of the approximate evidence, in nats, at which the sweeps end; the smaller one with label
noise or without softness, where sweeps may oscillate."""

_ROUGH_CHANGE = 1e-2
"""The same with landmarks: it hardly changes the probability that a draw is accepted."""

_ROUNDING = 1e-12  # share of the diagonal of a matrix below which a difference from it is rounding

Trial: TypeAlias = Callable[[Mapping[str, float]], object]
"""Called for each setting tried with a mapping of names to values, a row of `Search.tried`."""

Setting: TypeAlias = tuple[Any, Any, float, tuple[float, float]]
"""Kernel, its values as the method's `values` returns them, softness and label noise."""


@dataclass(frozen=True, eq=False)
class Task:
    """What a search has to find for a kernel, from which examples, within which limits."""

    kernel: Any
    plan: Plan
    examples: Examples
    likelihood: Likelihood
    budget: Budget
    trial: Trial | None = None

    @property
    def parameters(self) -> tuple[kernels.Parameter, ...]:
        """The parameters that the kernel leaves to be found; none if its matrix is given."""
        if isinstance(self.kernel, str) or self.examples.gram is not None:
            return ()
        return kernels.parameters(self.kernel, self.examples.inputs)

    def of(self, n: int) -> Task:
        """Return the task for a stratified sample of n of the examples."""
        return replace(self, examples=self.examples.sample(n, self.budget.choice_seed))


@dataclass(frozen=True, eq=False)
class LocalEvidence:
    """An approximate evidence and its derivatives."""

    value: float
    """Nats."""

    slopes: Mapping[str, float]
    """By logarithms of the kernel's parameters, as far as they are known."""

    by_softness: float
    """By the logarithm of the softness."""

    by_noise: Floats
    """(2,) By the rates of label noise."""

    left_out: Floats = field(default_factory=lambda: np.empty(0))
    """(m,) Probability of each label given all others; empty if it is unknown."""


@dataclass(frozen=True)
class AllValues:
    """The approximation from all kernel values: within about a nat, in O(m^3).

    Expectation propagation for two classes, Laplace's approximation for more.
    """

    likelihood: Likelihood
    offset: float
    change: float = CHANGE
    """Change of the approximate evidence at which the sweeps end, without label noise."""

    @property
    def needs_softness(self) -> bool:
        """Whether there is no evidence without softness; the smallest is then taken."""
        return self.likelihood.n_functions > 1

    def starts(self, examples: Examples) -> list[Any]:
        """Return a starting point that knows nothing."""
        return [None]

    def values(self, kernel: Any, examples: Examples) -> Any:
        """Return all kernel values."""
        if examples.gram is not None:
            return examples.gram
        return kernels.evaluate(kernel, examples.inputs)

    def variance(self, values: Any) -> float:
        """Return the variance over the examples of f, on average."""
        return variance_of(values)

    def approximation(
        self,
        examples: Examples,
        gram: Floats,
        softness: float,
        noise: tuple[float, float],
        nearest: list[Any],
        *,
        by_gram: bool = False,
    ) -> Approximation:
        """Return the approximation; start at `nearest` and replace it by the end."""
        matrix, levels = gram + self.offset, softness / examples.weight
        if self.needs_softness:
            given = matrix, examples.label, self.likelihood.n_classes, levels
            found = laplace.approximate(*given, noise=noise[0], start=nearest[0])
        else:
            found = expectation_propagation.approximate(
                matrix,
                self.likelihood.codes(examples.label).astype(np.float64),
                levels,
                noise=noise,
                start=nearest[0],
                derivatives=by_gram,
                change=_FINE_CHANGE if any(noise) or softness == 0 else self.change,
            )
        nearest[0] = found.end if found.converged else None
        return found

    def __call__(
        self,
        examples: Examples,
        setting: Setting,
        nearest: list[Any],
        *,
        relative: bool,
        slopes: bool,
    ) -> LocalEvidence:
        """Return the approximate evidence of a setting.

        `nearest` are starting points, which are replaced by the ends. With `relative` the softness
        is a multiple of the variance of f. Without `slopes` those by the kernel are left out.
        """
        kernel, gram, softness, noise = setting
        found = self.approximation(examples, gram, softness, noise, nearest, by_gram=slopes)
        by_softness = softness * float(found.by_softness @ (1 / examples.weight))
        value = found.log_evidence
        if (self.needs_softness or any(noise) or softness == 0) and not found.converged:
            value = -math.inf  # the value of oscillating sweeps is arbitrary
        known: Mapping[str, float] = {}
        if slopes and found.by_gram is not None:
            matrix = found.by_gram
            if relative:  # its ratio to the variance is what stays
                matrix += by_softness * _variance_slope(gram)
            known = kernels.slopes(kernel, examples.inputs, gram, matrix)
        return LocalEvidence(value, known, by_softness, found.by_noise)


class WithLandmarks:
    """The approximation with landmarks, in O(m): :mod:`bayespoint.landmarks.propagation`.

    For more than two classes it is the sum over each class against the rest.
    """

    needs_softness = False

    def __init__(self, task: Task, n_landmarks: int) -> None:
        self.likelihood, self.offset = task.likelihood, task.plan.offset
        self.n_threads = task.budget.n_threads
        inputs = task.examples.inputs
        start = kernels.at_start(task.kernel, inputs)
        self.landmarks = selection.choose(start, inputs, n_landmarks, task.budget.choice_seed)

    def starts(self, examples: Examples) -> list[Any]:
        """Return a starting point that knows nothing."""
        return [None]

    def values(self, kernel: Any, examples: Examples) -> Any:
        """Return the features of some examples."""
        return Features.of(Basis.of_landmarks(kernel, self.landmarks, self.offset), examples.inputs)

    def variance(self, values: Any) -> float:
        """Return the variance over the examples of f, on average."""
        return _or_one(values.variance, float(values.own.mean()), 3 * JITTER)

    def _positive(self, examples: Examples) -> NDArray[np.bool_]:
        """Return which labels are positive, (C, m) for C problems."""
        two = isinstance(self.likelihood, TwoClasses)
        kinds = np.arange(self.likelihood.n_classes)[1 if two else 0 :]
        return np.asarray(examples.label == kinds[:, None])

    def __call__(
        self,
        examples: Examples,
        setting: Setting,
        nearest: list[Any],
        *,
        relative: bool,
        slopes: bool,
    ) -> LocalEvidence:
        """Return the approximate evidence as `AllValues` does."""
        _, features, softness, noise = setting
        levels = softness / examples.weight
        psi, level = features.psi, levels + features.missed
        positive, change = self._positive(examples), _ROUGH_CHANGE
        given = psi, level, positive, noise, nearest[0]
        found = nearest[0] = propagate(*given, change=change, n_threads=self.n_threads)
        value = float(found.log_evidence.sum())
        if any(noise) and not found.converged.all():
            value = -math.inf  # the value of oscillating sweeps is arbitrary
        by_own = found.by_level
        by_psi = found.by_features - 2 * by_own[:, None] * psi
        by_softness = float(by_own @ levels)
        known = dict[str, float]()
        if slopes:
            if relative:  # its ratio to the variance is what stays
                share = by_softness / self.variance(features) / len(psi)
                by_own, by_psi = by_own + share, by_psi - 2 * share * features.mean
            known = features.slopes(by_psi, by_own)
        return LocalEvidence(value, known, by_softness, found.by_noise, found.left_out[-1])


def variance_of(gram: Floats) -> float:
    """Return the variance over the examples of f, on average: that of the kernel, centered.

    It is 1 if that is not positive, or is no more than rounding.
    """
    whole = float(gram.diagonal().mean())
    return _or_one(whole - float(gram.mean()), whole, _ROUNDING)


def _or_one(variance: float, whole: float, rounding: float) -> float:
    """Return a variance, or 1 if it is no more than the relative `rounding` of the whole."""
    return variance if variance > rounding * abs(whole) and math.isfinite(variance) else 1.0


def _variance_slope(gram: Floats) -> Floats:
    """Return the derivatives of the logarithm of the variance by the entries of the matrix."""
    m = len(gram)
    slope = np.full((m, m), -1.0 / m**2)
    slope.flat[:: m + 1] += 1.0 / m
    slope /= variance_of(gram)
    return slope
