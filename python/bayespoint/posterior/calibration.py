r"""Leave-one-out predictions of the training examples, and the calibration by these.

If the data do not come from a Gaussian process, its decision values may rank points well, but be
too small or too large. They are multiplied by the factor that makes the labels most probable in
leave-one-out predictions, without a further fit.

Let h be the function values at the examples with their noise, of covariance :math:`C = K + \lambda
I`, and :math:`Q = C^{-1}`. Given all others, :math:`h_i` has the mean :math:`h_i - (Q h)_i /
Q_{ii}` and the variance :math:`1 / Q_{ii}`, and a draw of the posterior has :math:`Q h =
\rho\,\gamma`, its dual coefficients. The posterior without label i has the density of the posterior
divided by :math:`P(y_i | h_{-i})`, so that :math:`P(y_i | y_{-i})` is the harmonic mean of these
over the draws (Gelfand, Dey and Chang, 1992).

Several classes have one h each with the same Q, and the probabilities of the other classes are
means with the weights :math:`1 / P(y_i | h_{-i})`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import optimize
from sklearn.exceptions import ConvergenceWarning

from bayespoint.base import validation
from bayespoint.base.validation import Floats
from bayespoint.base.warnings import warn
from bayespoint.data.plan import Budget
from bayespoint.engine.problem import Problem
from bayespoint.likelihood import Likelihood
from bayespoint.likelihood.several_classes import MOST_LEFT_OUT
from bayespoint.posterior.model import Model

MAX_EXAMPLES = 1000
"""Largest number of examples used."""

_COLUMNS = 128  # number of columns of the kernel matrix in one product

_SPREAD, _FREEDOM = 0.5, 3.0
"""Scale and degrees of freedom of the t distribution of the factor's logarithm by the prior: a
few dozen examples leave it near 1, unless they ask for a far larger factor, as in wide tables."""

_RANGE = 8.0  # largest factor; the smallest is its inverse
_AT_BOUND = 0.999  # share of its logarithm from which a factor is at a bound


@dataclass(frozen=True, eq=False)
class LeftOut:
    """Leave-one-out predictions of some training examples."""

    likelihood: Likelihood

    z: Floats
    """Decision values as the likelihood's `left_out` returns them."""
    codes: NDArray[Any]
    """(n,) labels."""

    @classmethod
    def of_matrix(cls, model: Model, problem: Problem, budget: Budget) -> LeftOut | None:
        """Return those of up to a thousand examples; None if some are determined by the others."""
        basis, draws, likelihood = model.basis, model.draws, model.likelihood
        if basis.softness.min() == 0 or basis.factor.pivots is not None:
            return None
        inverse, gram, m = problem.inverse, np.asarray(problem.gram), len(problem.y)
        diagonal = basis.factor.inverse_diagonal() if inverse is None else inverse[1]
        chosen = np.arange(m)
        if m > MAX_EXAMPLES:
            rng = np.random.default_rng(budget.choice_seed)
            chosen = np.sort(rng.permutation(m)[:MAX_EXAMPLES])
        dual = draws.coefficients
        if dual.ndim > 2:  # fewer of several classes, whose probabilities are integrals
            dual = dual[:: -(-len(dual) // MOST_LEFT_OUT)]
        heights = np.empty((*dual.shape[:-1], len(chosen)))
        for part in validation.blocks(len(chosen), _COLUMNS):
            heights[..., part] = dual @ gram[:, chosen[part]]
        heights += basis.offset * dual.sum(axis=-1, keepdims=True)
        heights += basis.softness[chosen] * dual[..., chosen]
        args = heights, dual[..., chosen], diagonal[chosen], problem.y[chosen]
        return cls(likelihood, likelihood.left_out(*args, draws.lengths), problem.y[chosen])

    def factor(self) -> float:
        """Return the most probable factor on decision values; warns if it is at a bound."""

        def loss(log_factor: float) -> float:
            fit = self.likelihood.log_code(math.exp(log_factor) * self.z, self.codes).sum()
            prior = 0.5 * (_FREEDOM + 1) * math.log1p((log_factor / _SPREAD) ** 2 / _FREEDOM)
            return prior - float(fit)

        limit = math.log(_RANGE)
        found = optimize.minimize_scalar(loss, bounds=(-limit, limit), method="bounded")
        if abs(found.x) > _AT_BOUND * limit:
            warn(
                f"the factor of the calibration ended at its bound, {_RANGE:g} or its inverse: the "
                "probabilities are not to be trusted; another kernel or more examples help",
                ConvergenceWarning,
            )
        return math.exp(found.x)
