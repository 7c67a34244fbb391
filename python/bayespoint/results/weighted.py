"""The result of weighting the draws of a run by another density."""

from __future__ import annotations

from dataclasses import dataclass

from bayespoint.base.validation import Floats
from bayespoint.results.result import Result

MIN_ESS = 50.0  # least effective sample size without a warning, or half of the draws


@dataclass(frozen=True, eq=False, repr=False)
class WeightedResult(Result):
    """The center of mass of a density on the version space of m examples, from weighted draws."""

    _title = "Weighted draws"
    _shapes = "*m: center; tn: weights"

    center: Floats
    """(m,) Dual coefficients of the center of mass, of unit length, or (n_classes, m)."""
    center_norm: float
    """Length of the weighted mean of the unit weight vectors, in (0, 1]."""
    center_error: float
    """Estimated angle between `center` and the exact center of mass, in radians, from the spread
    of trajectories or of batches, whichever is larger. NaN for a single batch."""
    weights: Floats
    """(n_trajectories, n_draws) Weights of the draws, which sum to 1."""
    log_mean_weight: float
    """ln of the mean weight: for a density relative to the prior the change of the log evidence."""
    ess: float
    """``1 / sum(weights**2)``, without the correlation of the draws: see `BilliardResult.ess`."""
    max_share: float
    """The largest of the `weights`."""

    def convergence_messages(self) -> list[str]:
        """Return the texts of convergence warnings, empty if there is no reason for one."""
        n = self.weights.size
        if self.ess >= min(MIN_ESS, n / 2):
            return []
        return [
            f"the weights are worth {self.ess:.3g} of {n} draws, the largest has a share of "
            f"{self.max_share:.2g}: the density differs too much from the one sampled"
        ]

    def _rows(self) -> list[tuple[str, str]]:
        n_trajectories, n_draws = self.weights.shape
        return [
            ("examples", f"{self.center.shape[-1]}"),
            ("draws", f"{n_trajectories} x {n_draws}"),
            ("effective draws", f"{self.ess:.4g}, by the weights alone"),
            ("largest share", f"{self.max_share:.3g}"),
            ("ln of the mean weight", f"{self.log_mean_weight:.6g}"),
            ("center error", f"{self.center_error:.2g} rad (estimated)"),
            ("length of the mean", f"{self.center_norm:.4g}"),
        ]

    def __repr__(self) -> str:
        classes = f"{len(self.center)} classes, " if self.center.ndim > 1 else ""
        return (
            f"<WeightedResult: m={self.center.shape[-1]}, {classes}{self.ess:.4g} of "
            f"{self.weights.size} draws, center_error={self.center_error:.2g} rad>"
        )
