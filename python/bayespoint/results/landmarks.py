"""The result of a billiard with soft walls, over functions in the span of landmarks."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy import special

from bayespoint.base.validation import Floats
from bayespoint.results import diagnostics
from bayespoint.results.evidence import Evidence
from bayespoint.results.result import LEAST_DRAWS, Rows, Run

_ROUNDS = 200  # largest number of rounds of the bridge


@dataclass(frozen=True, eq=False)
class LandmarkResult(Run):
    """Draws of functions in the span of landmarks, and their diagnostics.

    A function is given by its r dual coefficients c at the landmarks: ``f(x) = sum(c_j (k(z_j, x) +
    offset))``. Where a shape has ``r``, it is ``n_classes, r`` for more than two classes, and of
    ordered ones r plus the thresholds, which follow.
    """

    _title = "Billiard with landmarks"
    _shapes = "tn*r: draws; *r: center; tnk: functionals; tn: residuals; i: reference"

    draws: NDArray[np.floating]
    """(n_chains, n_draws, r) Functions drawn from the posterior."""
    center: Floats
    """(r,) The mean of the functions after every step."""
    functionals: Floats
    """(n_chains, n_draws, k) Function values at k landmarks, and thresholds, for `ess`."""
    residuals: Floats
    """(n_chains, n_draws) Log likelihood and log prior density of each draw, minus its log density
    under a t distribution about the normal approximation of the posterior, up to a constant."""
    reference: Floats
    """(n,) The same for independent draws of the t distribution."""
    log_scale: float
    """Constant of `residuals`: the log evidence is this plus the log mean of ``exp(reference)``."""
    n_examples: int
    """Number of training examples."""
    spacing: int
    """Steps between one draw and the next."""
    burn_in: int
    """Steps before the first that counts, of each chain."""
    n_steps: int
    """Steps after these, of each chain."""
    angles: float
    """Mean number of angles tried in a step."""
    bounces: float
    """Mean number of bounces in a step."""
    acceptance: float
    """Share of the steps that were accepted; after the others a ball is where it was."""
    center_error: float
    """Estimated angle between the weight vectors of `center` and of the exact mean, radians; of a
    center shorter than a fourth of the draws, whose direction says little, the error relative to
    this length."""
    stop_reason: str
    """The limit that ended the run: ``"tol"``, ``"max_iter"`` or ``"max_time"``."""
    seed: int
    """Seed of the chains."""
    n_balls: int = 1
    """Number of balls of a chain, which has the draws of the first, then those of the next."""
    n_shared: int = 0
    """Number of thresholds of ordered classes."""

    center_norm = 1.0
    """The center has the length of the mean."""

    @cached_property
    def r_hat(self) -> float:
        """The largest rank-normalized split R-hat of `functionals` and `residuals`.

        Chains are split in halves of their balls, and of their time. `ess` is of the functions
        alone: of many dimensions the residual, a sum over all, mixes slowly where the functions do
        not.
        """
        watched = np.concatenate([self.functionals, self.residuals[..., None]], axis=2)
        n_draws = watched.shape[1]
        in_time = np.argsort(np.arange(n_draws) % -(-n_draws // self.n_balls), kind="stable")
        halves = [diagnostics.r_hat(draws) for draws in (watched, watched[:, in_time])]
        return float(np.fmax.reduce(halves, axis=None, initial=np.nan))

    @property
    def mixed(self) -> bool:
        """Whether there are enough effective draws, and chains that agree."""
        if self.draws.shape[1] < LEAST_DRAWS:
            return True
        return self.ess >= self.least_ess and not self.r_hat > self.largest_r_hat

    def evidence(self, tol: float) -> Evidence:
        """Return the log evidence, by a bridge from the t distribution (Meng and Wong, 1996).

        Parameters
        ----------
        tol : float
            Standard error up to which the estimate counts as converged, in nats.

        Returns
        -------
        Evidence
            The log probability of the training labels, in nats.
        """
        drawn, reference = self.residuals.ravel(), self.reference
        n_drawn = min(diagnostics.ess_bulk(self.residuals[..., None])[0], len(drawn))
        shares = np.array([n_drawn, len(reference)]) / (n_drawn + len(reference))
        log_ratio = _log_mean(reference)
        for _ in range(_ROUNDS):
            # The logarithms of the terms of the optimal bridge.
            first, constant = np.log(shares[0]), np.log(shares[1]) + log_ratio
            up = reference - np.logaddexp(first + reference, constant)
            down = -np.logaddexp(first + drawn, constant)
            before, log_ratio = log_ratio, _log_mean(up) - _log_mean(down)
            if abs(log_ratio - before) < 1e-10:
                break
        up, down = (np.exp(terms - _log_mean(terms)) for terms in (up, down))
        error = math.sqrt(up.var() / len(reference) + down.var() / n_drawn)
        none = np.empty(0)
        return Evidence(
            self.log_scale + log_ratio,
            error,
            lag=math.nan,
            n_rungs=2,
            log_transparency=none,
            mean_violations=none,
            log_share=none,
            layers=np.empty((0, 2), dtype=np.int64),
            layer_shares=none,
            length=0.0,
            converged=error <= tol,
        )

    def convergence_messages(self, tol: float) -> list[str]:
        """Return the texts of convergence warnings for a run with this tolerance."""
        if self.stop_reason == "tol":
            return []
        messages = []
        after = f"after {self.n_steps} steps of each chain, when {self.stop_reason} ended the run"
        if not self.center_error <= tol:
            messages.append(
                f"the estimated center_error is {self.center_error:.3g} radians (tol={tol:g} was "
                f"asked for) {after}: a longer run helps"
            )
        if not self.mixed:
            messages.append(
                f"the draws are worth {self.ess:.0f} independent ones ({self.least_ess:.0f} are "
                f"enough), with R-hat {self.r_hat:.3f} (at most {self.largest_r_hat:.3f}) {after}: "
                "a longer run or a larger softness helps"
            )
        return [f"{message} (see the guide on diagnostics)" for message in messages]

    @property
    def _n_landmarks(self) -> int:
        return int(self.draws.shape[-1]) - self.n_shared

    def _rows(self) -> Rows:
        n_chains, n_draws = self.draws.shape[:2]
        return [
            ("examples", f"{self.n_examples}"),
            ("landmarks", f"{self._n_landmarks}"),
            ("chains", f"{n_chains}, {n_draws} draws each"),
            ("steps", f"{self.n_steps} of each chain, {self.burn_in} of burn-in"),
            ("bounces", f"{self.bounces:.2f} a step, and {self.angles:.2f} angles tried"),
            ("accepted steps", f"{self.acceptance:.3g}"),
            ("stopped by", self.stop_reason),
            ("center error", f"{self.center_error:.2g} rad (estimated)"),
            ("effective draws", f"{self.ess:.4g} at least"),
            ("R-hat", f"{self.r_hat:.4g} at most"),
            ("seed", f"{self.seed}"),
        ]

    def __repr__(self) -> str:
        n_chains, n_draws = self.draws.shape[:2]
        return (
            f"<LandmarkResult: {n_chains} x {n_draws} draws, {self._n_landmarks} landmarks, "
            f"{self.ess:.0f} effective, R-hat {self.r_hat:.3f}>"
        )


def _log_mean(logs: Floats) -> float:
    return float(special.logsumexp(logs)) - math.log(len(logs))
