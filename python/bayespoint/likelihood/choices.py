r"""The likelihood of choices: the item of the largest utility, with noise, out of a set.

One function f with independent noise of variance :math:`\lambda / 2` for each item of each choice
is compared (L. L. Thurstone, "A Law of Comparative Judgment", Psychological Review 34, 1927; Chu
and Ghahramani, "Preference learning with Gaussian processes", ICML 2005, for pairs). A choice out
of k items is k - 1 walls :math:`g = f(a) - f(b) + e \ge 0`, examples of the positive class: the
noise of a difference has the variance :math:`\lambda`, two of one choice the covariance half that.

With label noise :math:`\epsilon` any other item is chosen with :math:`\kappa = \epsilon / (1 -
\epsilon)` times the probability of the best, :math:`1 / (1 + (k - 1) \kappa)`.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from bayespoint.engine.problem import Problem
from bayespoint.engine.walls import Walls
from bayespoint.kernels.gram import Gram
from bayespoint.likelihood.two_classes import TwoClasses


@dataclass(frozen=True, eq=False)
class Choices(TwoClasses):
    """Choices out of sets of which some have more than two items."""

    _shapes = "m: choices"

    choices: NDArray[np.integer] = field(kw_only=True)  # (m,) the choice of each comparison
    shared: ClassVar[float] = 0.5  # part of the softness that examples of a choice share

    def check_parts(self) -> None:
        """Raise ValueError unless choices have the numbers 0, 1, ..."""
        known = np.unique(self.choices)
        if not np.array_equal(known, np.arange(len(known))):
            raise ValueError("choices must have the numbers 0, 1, ...")

    @property
    def noise(self) -> float:  # type: ignore[override]
        """The rate, one for all."""
        return self.label_noise[0]

    @property
    def log_orders(self) -> float:
        """Logarithm of the probabilities of the best items relative to those of pairs."""
        return -float(np.log1p((np.bincount(self.choices) - 1) * self.noise).sum())

    def problem(self, gram: Gram, codes: NDArray[Any], *given: Any, **more: Any) -> Problem:
        """Return the engine's problem; with label noise walls of a choice are passed together."""
        alone, index = super().problem(gram, codes, *given, **more), np.arange(len(codes))[:, None]
        walls = Walls(index, np.ones(index.shape), self.choices) if self.noise else None
        return replace(alone, walls=walls)
