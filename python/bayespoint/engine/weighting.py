"""Posteriors that are not uniform on version space: weighted draws.

A billiard fills version space uniformly. Where the posterior has another density, draws of the
billiard count with that density as their weight (Ruján and Marchand, Section 18.2): importance
sampling, as good as the weights are even.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special
from sklearn.exceptions import ConvergenceWarning

from bayespoint.base import validation
from bayespoint.base.io import Savable
from bayespoint.base.report import as_html, as_text
from bayespoint.base.validation import Floats
from bayespoint.base.warnings import warn
from bayespoint.results import BilliardResult

if TYPE_CHECKING:
    pass

__all__ = ["WeightedResult"]

MIN_ESS = 50.0
"""Weights worth fewer independent draws bring a warning, or fewer than half of few draws."""

_BATCHES = 10  # of each trajectory at most, for the error of the center
_IN_A_BATCH = 10  # draws at least


@dataclass(frozen=True, eq=False, repr=False)
class WeightedResult(Savable):
    """The center of mass of a density on version space, from weighted draws.

    ``m`` is the number of examples. A weight vector is given by its signed dual coefficients.
    """

    center: Floats
    """(m,) Dual coefficients of the center of mass, scaled to a unit vector."""

    center_norm: float
    """Length of the weighted mean of the unit weight vectors, in (0, 1]."""

    center_error: float
    """Estimated angle between `center` and the exact center of mass, in radians, from the spread of
    trajectories or of batches of them, whichever says more. NaN for a single batch."""

    weights: Floats
    """(n_trajectories, n_draws) Weights of the draws, of sum 1."""

    log_mean_weight: float
    """ln of the mean weight as it was given: of the factor by which the density changes the
    probability of the labels, if the run had that of the prior."""

    ess: float
    """Effective sample size of the weights, ``1 / sum(weights**2)``, from 1 to the number of
    draws: that of the draws themselves, which are correlated, is `BilliardResult.ess`."""

    max_share: float
    """The largest of the `weights`."""

    def complaints(self) -> list[str]:
        """Return what makes the weighted draws a poor sample, if anything does."""
        n = self.weights.size
        if self.ess >= min(MIN_ESS, n / 2):
            return []
        return [
            f"the weights are worth {self.ess:.3g} of {n} draws, the largest has a share of "
            f"{self.max_share:.2g}: the density is too far from the one sampled; more draws help "
            "if it is not far too far"
        ]

    def _rows(self) -> list[tuple[str, str]]:
        n_trajectories, n_draws = self.weights.shape
        return [
            ("examples", f"{len(self.center)}"),
            ("draws", f"{n_trajectories} x {n_draws}"),
            ("effective draws", f"{self.ess:.4g}, by the weights alone"),
            ("largest share", f"{self.max_share:.3g}"),
            ("ln of the mean weight", f"{self.log_mean_weight:.6g}"),
            ("center error", f"{self.center_error:.2g} rad (estimated)"),
            ("length of the mean", f"{self.center_norm:.4g}"),
        ]

    def summary(self) -> str:
        """Return the main figures as text, one to a line.

        Returns
        -------
        str
            The text, without a newline at its end.
        """
        return as_text("Weighted draws", self._rows())

    def __repr__(self) -> str:
        return (
            f"<WeightedResult: m={len(self.center)}, {self.ess:.4g} of {self.weights.size} draws, "
            f"center_error={self.center_error:.2g} rad>"
        )

    def _repr_html_(self) -> str:
        return as_html("Weighted draws", self._rows())


class WeightingMixin:
    """The method of a version space that weights draws."""

    y: NDArray[np.int8]

    def margins(self, dual_coef: ArrayLike) -> Floats:
        raise NotImplementedError

    def reweight(
        self, result: BilliardResult, weight: Callable[[Floats], ArrayLike], *, log: bool = False
    ) -> WeightedResult:
        r"""Return the center of mass of a density on version space, from a run's draws.

        Parameters
        ----------
        result : BilliardResult
            A run of `sample` in this version space.
        weight : callable
            The density, up to a factor, relative to the law of the run (uniform behind opaque
            walls): called once with the margins :math:`y_i \langle w, \phi_i \rangle` of all
            draws, unit vectors, as an array of shape (n, m), it returns n weights, finite and at
            least 0, not all of them 0. `margins` says what the margins are.
        log : bool, default=False
            `weight` returns natural logarithms of the weights instead, -inf for 0: products over
            many examples do not underflow.

        Returns
        -------
        WeightedResult
            The center, the weights and how much they are worth.

        Raises
        ------
        TypeError
            If `result` is no `BilliardResult`, `weight` cannot be called, or it returns anything
            but real numbers.
        ValueError
            If `result` is of another number of examples, or if the weights have the wrong shape,
            are negative, infinite or NaN, or all zero, or balance to a mean without direction.

        Warns
        -----
        ConvergenceWarning
            If the effective sample size of the weights is below 50, or below half of the draws.

        Notes
        -----
        Ruján and Marchand (2000, Section 18.2) average the points of the trajectory with weights
        in proportion to the posterior. The weights estimate a ratio of two means, whose bias falls
        with the number of draws while they are not too uneven: that is what `ess` tells.

        Examples
        --------
        Weights by the power of the first margin draw the center away from its plane:

        >>> import numpy as np
        >>> from bayespoint import VersionSpace
        >>> space = VersionSpace(np.eye(2), [1, -1])
        >>> run = space.sample(length=2000.0, n_draws=500, random_state=0)
        >>> found = space.reweight(run, lambda margins: margins[:, 0] ** 3)
        >>> found.center.round(1)
        array([ 0.9, -0.4])
        """
        if not isinstance(result, BilliardResult):
            raise TypeError(f"result must be a BilliardResult; got a {type(result).__name__}")
        n_trajectories, n_draws, m = result.draws.shape
        if m != len(self.y):
            raise ValueError(f"result must be of {len(self.y)} examples; got one of {m}")
        if not callable(weight):
            raise TypeError(f"weight must be a callable; got {weight!r}")
        log = validation.boolean("log", log)
        draws = result.draws.reshape(-1, m)
        values = validation.weights("weight", weight(self.margins(draws)), len(draws), log=log)
        if not log:
            with np.errstate(divide="ignore"):
                values = np.log(values)
        total = float(special.logsumexp(values))
        shares = np.exp(values - total)
        batches = min(_BATCHES, max(1, n_draws // _IN_A_BATCH))
        center, norm, error = self._weighted_center(
            draws, shares, (n_trajectories, n_trajectories * batches)
        )
        found = WeightedResult(
            center=center,
            center_norm=norm,
            center_error=error,
            weights=shares.reshape(n_trajectories, n_draws),
            log_mean_weight=total - math.log(len(draws)),
            ess=float(1 / (shares @ shares)),
            max_share=float(shares.max()),
        )
        for message in found.complaints():
            warn(message, ConvergenceWarning)
        return found

    def _weighted_center(
        self, draws: Floats, shares: Floats, partitions: tuple[int, ...]
    ) -> tuple[Floats, float, float]:
        """Return the center, the length of the mean and the error of the direction.

        Of the errors by so many pieces of the draws the largest counts: batches see too little
        where a trajectory remembers longer than a batch.
        """
        mean = shares @ draws
        squared = float(mean @ (self.margins(mean) * self.y))
        if not squared > 0:
            raise ValueError("weight must leave a mean direction; the weighted draws balance to 0")
        errors = [self._error(draws, shares, mean, squared, n) for n in partitions]
        norm = math.sqrt(squared)
        return mean / norm, norm, float(np.fmax.reduce(errors))

    def _error(
        self, draws: Floats, shares: Floats, mean: Floats, squared: float, n_pieces: int
    ) -> float:
        """Return the standard error of the direction of a mean of that squared length."""
        if n_pieces == 1:
            return math.nan
        # The mean is a ratio of two sums over draws: this is what a piece adds to both, to first
        # order, and as far as it turns the direction.
        pieces = np.array_split(np.arange(len(draws)), n_pieces)
        parts = np.stack([shares[rows] @ (draws[rows] - mean) for rows in pieces])
        images = self.margins(parts) * self.y
        along = images @ mean
        across = np.einsum("ij,ij->i", parts, images) - along**2 / squared
        variance = max(0.0, float(across.sum())) * n_pieces / (n_pieces - 1)
        return math.sqrt(variance / squared)
