r"""Leave-one-out predictions of the training examples, and the calibration by these.

Decision values are multiplied by the factor that makes labels most probable in these predictions.

Let h be the function values at the examples with their noise, and Q the inverse of their
covariance. Given all others, :math:`h_i` has the mean :math:`h_i - (Q h)_i / Q_{ii}` and the
variance :math:`1 / Q_{ii}`, and :math:`Q h = \rho\,\gamma` for a draw (`Labels.left_out`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy import optimize
from sklearn.exceptions import ConvergenceWarning

from bayespoint.base import validation
from bayespoint.base.stored import Stored
from bayespoint.base.validation import Floats, Indices
from bayespoint.base.warnings import warn
from bayespoint.engine.problem import Problem
from bayespoint.labels import Labels
from bayespoint.landmarks.basis import Basis
from bayespoint.results.draws import Draws

MOST_LEFT_OUT = 100  # largest number of draws of a leave-one-out prediction: integrals
_COLUMNS = 128  # number of columns of the kernel matrix in one product

_SPREAD, _FREEDOM = 0.5, 3.0
"""Scale and degrees of freedom of the t distribution of the factor's logarithm by the prior: a
few dozen examples leave it near 1, unless they ask for a far larger factor, as in wide tables."""

_RANGE = 8.0  # largest factor; the smallest is its inverse
_AT_BOUND = 0.999  # share of its logarithm from which a factor is at a bound


@dataclass(frozen=True, eq=False)
class LeftOut(Stored):
    """Leave-one-out predictions of training examples."""

    _shapes = "nr: z; n: label counts"

    labels: Labels

    z: Floats  # (n, n_rows) decision values of true classes, without calibration
    label: Indices  # (n,) indices of the classes
    counts: Floats | None = None  # (n,) observations for which each example stands; None: 1

    @classmethod
    def of_matrix(
        cls, basis: Basis, draws: Draws, labels: Labels, label: Indices, problem: Problem
    ) -> LeftOut | None:
        """Return those of all examples; None if some may be determined by the others."""
        singular = basis.softness.min() == 0 or basis.factor.pivots is not None
        if singular or labels.n_inputs > 1:
            return None
        inverse, gram, m = problem.inverse, problem.gram, len(basis)
        diagonal = basis.factor.inverse_diagonal() if inverse is None else inverse[1]
        dual = draws.coefficients
        if dual.ndim > 2:  # fewer of several classes, whose probabilities are integrals
            dual = dual[:: -(-len(dual) // MOST_LEFT_OUT)]
        rows, heights = dual.reshape(-1, m), np.empty((dual.size // m, m))
        for part in validation.blocks(m, _COLUMNS):
            heights[:, part] = rows @ gram[:m, part]
        if problem.walls is None:  # whose matrix has it already
            heights += basis.offset * rows.sum(axis=1, keepdims=True)
        heights += basis.softness * rows
        values = heights.reshape(len(dual), -1, m)
        if draws.n_shared:
            values = values - draws.thresholds()[..., None]
        dual = dual.reshape(len(dual), -1, m)
        z = labels.left_out(values, dual, diagonal[:m], label, draws.lengths)
        return cls(labels, z, label)

    def check_parts(self) -> None:
        """Raise an error if labels are unknown, or values are not those of the classes."""
        if self.log_classes(1.0).shape[1] != self.labels.n_classes or self.label.min() < 0:
            raise ValueError("leave-one-out predictions are of other classes")
        self.log_labels(1.0)

    def log_classes(self, calibration: float) -> Floats:
        """Return the (n, n_classes) log probabilities of true classes."""
        return self.labels.log_classes(calibration * self.z)

    def log_labels(self, calibration: float) -> Floats:
        """Return the (n,) log probabilities of the examples' observed labels."""
        return self.labels.log_labels(calibration * self.z, self.label)

    def factor(self) -> float:
        """Return the most probable factor on decision values."""

        def loss(log_factor: float) -> float:
            fit = self.log_labels(math.exp(log_factor)).sum()
            prior = 0.5 * (_FREEDOM + 1) * math.log1p((log_factor / _SPREAD) ** 2 / _FREEDOM)
            return prior - float(fit)

        limit = math.log(_RANGE)
        return math.exp(optimize.minimize_scalar(loss, bounds=(-limit, limit), method="bounded").x)

    def checked_factor(self) -> float:
        """Return this factor; warns if it is at a bound."""
        factor = self.factor()
        if abs(math.log(factor)) > _AT_BOUND * math.log(_RANGE):
            warn(
                f"the factor of the calibration ended at its bound, {_RANGE:g} or its inverse: the "
                "probabilities are not to be trusted; another kernel or more examples help",
                ConvergenceWarning,
            )
        return factor
