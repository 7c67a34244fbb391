"""Ways to approximate the evidence: from all kernel values, or with landmarks."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from bayespoint import kernels
from bayespoint.base.validation import Floats
from bayespoint.data.examples import Examples
from bayespoint.data.plan import Budget, Plan
from bayespoint.kernels.products import in_rows
from bayespoint.landmarks import bound, selection
from bayespoint.landmarks.basis import Basis
from bayespoint.likelihood import Likelihood, TwoClasses
from bayespoint.tuning import expectation_propagation, laplace
from bayespoint.tuning.approximation import Approximation

CHANGE = 3e-4
_FINE_CHANGE = 1e-4
"""Change of the approximate evidence, in nats, at which the sweeps end; the smaller one with label
noise or without softness, where sweeps may oscillate."""

_PLACES = 300  # examples over which the variance of f is taken with landmarks
_STEP = 0.02  # relative step of a rate of label noise for a finite difference
_ROUNDING = 1e-12  # share of the diagonal of a matrix below which a difference from it is rounding

Trial: TypeAlias = Callable[[Mapping[str, float]], object]
"""Called for each setting tried with a mapping of names to values, a row of `Search.tried`."""

Setting: TypeAlias = tuple[Any, Floats, float, tuple[float, float]]
"""Kernel, its matrix as the method's `gram` returns it, softness and label noise."""


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

    def gram(self, kernel: Any, examples: Examples) -> Floats:
        """Return all kernel values."""
        if examples.gram is not None:
            return examples.gram
        return kernels.evaluate(kernel, examples.inputs)

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
    """The bound of the evidence with landmarks, in O(m): :mod:`bayespoint.landmarks.bound`.

    For more than two classes it is the sum over each class against the rest.
    """

    needs_softness = False

    def __init__(self, task: Task, n_landmarks: int) -> None:
        self.likelihood, self.offset = task.likelihood, task.plan.offset
        self.n_threads, self.places = task.budget.n_threads, task.of(_PLACES).examples
        inputs = task.examples.inputs
        start = kernels.at_start(task.kernel, inputs)
        self.landmarks = selection.choose(start, inputs, n_landmarks, task.budget.choice_seed)

    def starts(self, examples: Examples) -> list[Any]:
        """Return starting points that know nothing, one for each problem."""
        return [None] * len(self._signs(examples))

    def gram(self, kernel: Any, examples: Examples) -> Floats:
        """Return the kernel values of some examples."""
        return kernels.evaluate(kernel, self.places.inputs)

    def _signs(self, examples: Examples) -> list[NDArray[Any]]:
        """Return the labels -1 and +1 of each problem."""
        if isinstance(self.likelihood, TwoClasses):
            return [self.likelihood.codes(examples.label)]
        return [np.where(examples.label == c, 1, -1) for c in range(self.likelihood.n_classes)]

    def __call__(
        self,
        examples: Examples,
        setting: Setting,
        nearest: list[Any],
        *,
        relative: bool,
        slopes: bool,
    ) -> LocalEvidence:
        """Return the approximate evidence as `AllValues` does, always with slopes."""
        kernel, gram, softness, noise = setting
        basis = Basis.of_landmarks(kernel, self.landmarks, self.offset)
        levels = softness / examples.weight
        value, by_softness, known = 0.0, 0.0, dict[str, float]()
        by_noise = np.zeros(2)

        def evaluate(y: Floats, noise: Any, start: Any) -> bound.Bound:
            return bound.evaluate(
                basis,
                examples.inputs,
                y,
                levels,
                TwoClasses(noise),
                mean=getattr(start, "mean", None),
                root=getattr(start, "root", None),
                n_threads=self.n_threads,
            )

        for k, signs in enumerate(self._signs(examples)):
            y = signs.astype(np.float64)
            found = evaluate(y, noise, nearest[k])
            nearest[k] = found.normal
            value += found.value
            by_softness += float(found.by_softness @ levels)
            known = {name: known.get(name, 0.0) + slope for name, slope in found.slopes.items()}
            if any(noise):
                for which in range(2):
                    moved = tuple(rate * (1 + _STEP * (c == which)) for c, rate in enumerate(noise))
                    ahead = evaluate(y, moved, found.normal)
                    by_noise[which] += (ahead.value - found.value) / (_STEP * noise[which])
        if known and relative:
            inputs = in_rows(self.places.inputs)
            of_variance = kernels.slopes(kernel, inputs, gram, _variance_slope(gram))
            known = {name: slope + by_softness * of_variance[name] for name, slope in known.items()}
        return LocalEvidence(value, known, by_softness, by_noise)


def variance_of(gram: Floats) -> float:
    """Return the variance over the examples of f, on average: that of the kernel, centered.

    It is 1 if that is not positive, or is no more than rounding.
    """
    whole = float(gram.diagonal().mean())
    variance = whole - float(gram.mean())
    return variance if variance > _ROUNDING * abs(whole) and math.isfinite(variance) else 1.0


def _variance_slope(gram: Floats) -> Floats:
    """Return the derivatives of the logarithm of the variance by the entries of the matrix."""
    m = len(gram)
    slope = np.full((m, m), -1.0 / m**2)
    slope.flat[:: m + 1] += 1.0 / m
    slope /= variance_of(gram)
    return slope
