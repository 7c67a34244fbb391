r"""Leave-one-out predictions of the training examples, and the calibration by these.

Decision values are multiplied by the factor that makes labels most probable in these predictions.

Let h be the function values at the examples with their noise, and Q the inverse of their
covariance. Given all others, :math:`h_i` has the mean :math:`h_i - (Q h)_i / Q_{ii}` and the
variance :math:`1 / Q_{ii}`, and :math:`Q h = \rho\,\gamma` for a draw (`Labels.left_out`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy import optimize

from bayespoint.base.stored import Stored
from bayespoint.base.validation import Floats, Indices
from bayespoint.base.warnings import warn
from bayespoint.labels import Labels, LeftOutValues

_SPREAD, _FREEDOM = 0.5, 3.0
"""Scale and degrees of freedom of the t distribution of the factor's logarithm by the prior: a
few dozen examples leave it near 1, unless they ask for a far larger factor, as in wide tables."""

_RANGE = 8.0  # largest factor; the smallest is its inverse
_AT_BOUND = 0.999  # share of its logarithm from which a factor is at a bound
_LARGE_ERROR = 0.05  # root mean square of the errors of probabilities from which a warning is given


@dataclass(frozen=True, eq=False)
class LeftOut(Stored):
    """Leave-one-out predictions of training examples."""

    _shapes = "nr: z; n: label error"

    labels: Labels

    z: Floats  # (n, n_rows) decision values of true classes, without calibration
    label: Indices  # (n,) indices of the classes
    error: Floats | None = None  # (n,) standard errors of the log odds of classes; None: unknown

    @classmethod
    def of_parts(cls, labels: Labels, parts: Sequence[LeftOutValues], label: Indices) -> LeftOut:
        """Return those of examples whose predictions were computed in parts."""
        z, error = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
        return cls(labels, z, label, error)

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

    def moved(self, errors: float) -> LeftOut:
        """Return these with the log odds of the labels larger by a multiple of their errors."""
        assert self.error is not None
        log_p = self.log_classes(1.0)
        log_p[np.arange(len(log_p)), self.label] += errors * self.error
        return replace(self, z=self.labels.predicts.decision(log_p))

    def factor(self) -> float:
        """Return the most probable factor on decision values."""

        def loss(log_factor: float) -> float:
            fit = self.log_labels(math.exp(log_factor)).sum()
            prior = 0.5 * (_FREEDOM + 1) * math.log1p((log_factor / _SPREAD) ** 2 / _FREEDOM)
            return prior - float(fit)

        limit = math.log(_RANGE)
        return math.exp(optimize.minimize_scalar(loss, bounds=(-limit, limit), method="bounded").x)

    def checked_factor(self, n_models: int = 1) -> float:
        """Return this factor; warns if it is at a bound, or follows from uncertain predictions.

        The errors of n models that are averaged count as those of their mean.
        """
        factor = self.factor()
        if self.error is not None:
            below, above = (np.exp(self.moved(sign).log_labels(1.0)) for sign in (-1.0, 1.0))
            warn_of((above - below) / 2 / math.sqrt(n_models))
        if abs(math.log(factor)) > _AT_BOUND * math.log(_RANGE):
            warn(
                f"the factor of the calibration ended at its bound, {_RANGE:g} or its inverse: the "
                "probabilities are not to be trusted; another kernel or more examples help"
            )
        return factor


def warn_of(error: Floats) -> None:
    """Warn if the (n,) standard errors of leave-one-out probabilities are large."""
    if (size := math.sqrt(np.square(error).mean())) > _LARGE_ERROR:
        warn(
            f"leave-one-out probabilities of the labels have a standard error of {size:.2g} (root "
            "mean square): few of the draws count for them. More draws (n_draws) help, or a larger "
            "softness, or all kernel values in place of landmarks (approximation=None); "
            "leave_one_out(return_error=True) tells the error of each"
        )
