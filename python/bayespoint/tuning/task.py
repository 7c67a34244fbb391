"""What a search for hyperparameters is asked."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from bayespoint import kernels
from bayespoint.data.examples import Examples
from bayespoint.data.plan import Budget, Plan
from bayespoint.likelihood import Likelihood

Trial: TypeAlias = Callable[[Mapping[str, float]], object]
"""Called for each setting tried with a mapping of names to values, a row of `Search.tried`."""


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

    @property
    def searches(self) -> bool:
        """Whether anything is left to be found."""
        return self.parameters != () or self.plan.softness is None or self.plan.rates > 0

    def of(self, n: int) -> Task:
        """Return the task for a stratified sample of n of the examples."""
        return replace(self, examples=self.examples.sample(n, self.budget.choice_seed))
