"""A billiard with soft walls until its draws suffice, about a normal approximation.

Balls move on great circles: the Boomerang sampler (Bierkens, Grazzi, Kamatani and Roberts, 2020) of
a t density times a residual that becomes flat as examples are added. Its steps are accepted or
refused, so that the posterior is left invariant whatever the residual is. The engine has the
formulas, in ``src/soft``, and asks `BlockSums` for what depends on the examples.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from bayespoint import _core
from bayespoint.base.validation import Floats
from bayespoint.data.plan import Budget, Plan
from bayespoint.labels import Labels
from bayespoint.landmarks.basis import Basis
from bayespoint.landmarks.block import BlockSums
from bayespoint.landmarks.normal import Normal
from bayespoint.results.landmarks import LandmarkResult

BATCH = 8  # most steps of a call, after which the values of all examples are computed anew
TOGETHER = 16  # least balls that fly together: products with many vectors are faster
ROWS_OF_VALUES = 5  # of an example for a ball: place, direction, before and after, and added
_LEAST_FREEDOM = 3.0  # of the t distribution: less makes draws of many dimensions worse

_WATCHED = 16  # largest number of landmarks whose function values are watched
_PARTS = 64  # of a run, for the error of the center
_DRAWS_OF_A_PART = 5.0  # least effective draws of a part, which make parts independent

_BURN_IN = 0.25  # fewest steps before the first that counts, relative to the number of draws
_RISE = 2.0  # rise of the residual in a batch, standard errors, with which it is not their last
_DROPPED = 4  # one over the share of a run that is dropped when it is doubled
_SHORT = 0.25  # length of a center, relative to the draws, below which its direction counts less

MAX_STEPS = 100_000  # most steps of a chain by default
_SINGLES = 2**22  # numbers of all draws above which they are kept in singles


def together(n_chains: int) -> int:
    """Return the number of balls of n chains: as many of each, and enough in all."""
    return n_chains * -(-TOGETHER // n_chains)


class SoftDraws(NamedTuple):
    """What some steps of n balls found."""

    draws: Floats  # (n, n_steps, D) places after each step
    residuals: Floats  # (n, n_steps) their log residuals
    reference: Floats  # (n, n_steps) those of independent draws of the t distribution
    trials: int  # number of angles tried
    bounces: int  # number of bounces
    refused: int  # number of steps after which a ball is where it was


class Balls:
    """Balls that sample a posterior on circles, each from a draw of a normal distribution.

    Their draws do not depend on the number of threads or processes. The last `n_rising` weights
    rise, as thresholds of ordered classes: hard walls keep them from meeting.
    """

    def __init__(
        self, posterior: BlockSums, normal: Normal, n_balls: int, seed: int, n_rising: int = 0
    ) -> None:
        self.posterior, self.normal = posterior, normal
        d = len(normal.mean)
        freedom = max(_LEAST_FREEDOM, d)
        half = 0.5 * freedom  # the constant of the t density, relative to the prior's
        self._constant = math.lgamma(half) + 0.5 * d * math.log(half) - math.lgamma(half + d / 2)
        self._balls = _core.SoftBalls(d, n_balls, freedom, seed, n_rising)

    def steps(self, n_steps: int = BATCH) -> SoftDraws:
        """Take some steps of each ball."""
        normal = self.normal
        found = self._balls.steps(n_steps, normal.mean, normal.root, self.posterior)
        for name in ("residuals", "reference"):
            found[name] += self._constant
        return SoftDraws(**found)


def sample(
    posterior: BlockSums,
    normal: Normal,
    basis: Basis,
    plan: Plan,
    budget: Budget,
    *,
    labels: Labels,
    n_examples: int,
    report: Callable[[LandmarkResult], object],
) -> LandmarkResult:
    """Return draws of the functions of a posterior, about its normal approximation.

    The run is doubled until the center is accurate, the draws are worth enough independent ones and
    the chains agree; then its first part is dropped, which may depend on where the balls began.
    `report` is called with the result so far after each doubling.
    """
    n_draws, tol, seed = plan.n_draws, plan.tolerance(n_examples, 1), budget.run_seed
    most, pace = budget.max_iter or MAX_STEPS, math.inf

    def over(steps: int) -> str:  # the limit that is reached, if one is
        if steps >= most:
            return "max_iter"
        return "max_time" if budget.left <= 0 else ""

    def fly() -> SoftDraws:  # as many steps as there is time for
        nonlocal pace
        start, n_steps = time.monotonic(), BATCH
        if budget.deadline is not None:
            n_steps = max(1, min(BATCH, int(budget.left / pace)))
        flown = balls.steps(n_steps)
        pace = (time.monotonic() - start) / n_steps
        return flown

    n_balls = together(plan.n_chains)
    per_chain = n_balls // plan.n_chains
    balls = Balls(posterior, normal, n_balls, seed, labels.n_shared)
    # Each ball begins at a draw of the normal distribution, from which the residual rises.
    least, burn_in, rises = _BURN_IN * n_draws / per_chain, 0, False
    while (burn_in < least or rises) and not over(burn_in * per_chain):
        halves = np.array_split(fly().residuals, 2, axis=1)
        burn_in += sum(half.shape[1] for half in halves)
        rise = halves[1].mean(axis=1) - halves[0].mean(axis=1) if halves[1].size else np.zeros(2)
        rises = rise.mean() > _RISE * rise.std(ddof=1) / math.sqrt(len(rise))
    record = _Record(normal, n_balls, basis, plan.n_chains)
    spacing = math.ceil(BATCH / math.ceil(n_draws / per_chain))
    while True:
        reason = ""
        while per_chain * len(record.ends) < n_draws and not reason:
            record.add(fly(), spacing)
            reason = over(per_chain * record.flown) if len(record.ends) else ""
        found = record.result(
            n_draws,
            labels,
            n_examples=n_examples,
            spacing=spacing,
            burn_in=burn_in + record.dropped,
            stop_reason=reason or "tol",
            seed=seed,
        )
        report(found)
        if reason or (found.mixed and found.center_error <= tol):
            return found
        if over(2 * per_chain * record.flown) == "max_iter":  # before draws are dropped in vain
            return replace(found, stop_reason="max_iter")
        spacing *= 2
        record.thin(spacing)


class _Record:
    """The draws of a run after burn-in; a chain has those of one ball, then those of the next."""

    def __init__(self, normal: Normal, n_balls: int, basis: Basis, n_chains: int) -> None:
        self.normal, self.basis, self.n_chains = normal, basis, n_chains
        self.per_chain = n_balls // n_chains
        self.trials = self.bounces = self.refused = 0
        self.flown = self.dropped = 0  # steps of each ball, and those that do not count
        self.ends = np.empty(0, dtype=np.int64)  # steps after which each ball has a draw
        self.z: list[Floats] = []
        self.residuals: list[Floats] = []
        self.reference: list[Floats] = []
        self.sums = np.empty((0, n_balls, len(normal.mean)))  # of the places after some steps
        self._per_sum = BATCH
        self._open, self._n_open = np.zeros((n_balls, len(normal.mean))), 0  # the next sum so far

    def add(self, flown: SoftDraws, spacing: int) -> None:
        """Add steps, of which every `spacing`-th is kept."""
        self.trials += flown.trials
        self.bounces += flown.bounces
        self.refused += flown.refused
        self.reference.append(flown.reference.ravel())
        ends = self.flown + 1 + np.arange(flown.draws.shape[1])
        self.flown = int(ends[-1])
        kept = ends % spacing == 0
        self.ends = np.append(self.ends, ends[kept])
        self.z.append(flown.draws[:, kept])
        self.residuals.append(flown.residuals[:, kept])
        for z in flown.draws.swapaxes(0, 1):
            self._open += z
            self._n_open += 1
            if self._n_open == self._per_sum:
                self.sums = np.append(self.sums, self._open[None], axis=0)
                self._open, self._n_open = np.zeros_like(self._open), 0
        if len(self.sums) >= 2 * _PARTS and not len(self.sums) % 2:
            self.sums = self.sums[::2] + self.sums[1::2]
            self._per_sum *= 2

    def thin(self, spacing: int) -> None:
        """Keep the draws at every `spacing`-th step, without those of the first part."""
        n_sums = len(self.sums) // _DROPPED
        self.sums = self.sums[n_sums:]
        self.dropped += n_sums * self._per_sum
        kept = (self.ends % spacing == 0) & (self.ends > self.dropped)
        self.z = [np.concatenate(self.z, axis=1)[:, kept]]
        self.residuals = [np.concatenate(self.residuals, axis=1)[:, kept]]
        self.ends = self.ends[kept]

    def result(
        self,
        n_draws: int,
        labels: Labels,
        *,
        n_examples: int,
        spacing: int,
        burn_in: int,
        stop_reason: str,
        seed: int,
    ) -> LandmarkResult:
        """Return the result so far."""
        normal, basis = self.normal, self.basis
        dimension = len(normal.mean)
        z = np.concatenate(self.z, axis=1).reshape(self.n_chains, -1, dimension)[:, :n_draws]
        residuals = np.concatenate(self.residuals, axis=1).reshape(self.n_chains, -1)[:, :n_draws]
        (n_chains, n), n_steps = residuals.shape, self.flown - self.dropped
        n_flown = n_chains * self.per_chain * self.flown
        w = normal.mean + z.reshape(-1, dimension) @ normal.root.T
        total = self.sums.sum(axis=0) + self._open
        mean = normal.mean + normal.root @ (total.mean(axis=0) / n_steps)
        length = max(float(np.linalg.norm(mean)), _SHORT * float(np.linalg.norm(w)) / len(w) ** 0.5)
        # Weights of functions, then those of thresholds.
        r, functions = len(basis), labels.basis
        (w, t), (mean, center_t) = (
            np.split(vectors, [dimension - labels.n_shared], axis=-1) for vectors in (w, mean)
        )
        if labels.n_functions > 1:
            w, mean = (np.matmul(functions, v.reshape(*v.shape[:-1], -1, r)) for v in (w, mean))
        watched = np.unique(np.linspace(0, r - 1, _WATCHED).astype(int))
        heights = np.append((w @ basis.factor.lower[watched].T).reshape(len(w), -1), t, axis=1)
        draws, center = basis.dual_coef(w), basis.dual_coef(mean)
        if labels.n_shared:
            scale = math.sqrt(labels.variance)
            draws = np.append(draws, scale * t, axis=1)
            center = np.append(center, scale * center_t)
        draws = draws.reshape(n_chains, n, *draws.shape[1:])
        found = LandmarkResult(
            draws=draws.astype(np.float32) if draws.size > _SINGLES else draws,
            center=center,
            functionals=heights.reshape(n_chains, n, -1),
            residuals=residuals,
            reference=np.concatenate(self.reference),
            log_scale=normal.log_det_root,
            n_steps=n_steps * self.per_chain,
            angles=self.trials / n_flown,
            bounces=self.bounces / n_flown,
            acceptance=1 - self.refused / n_flown,
            n_balls=self.per_chain,
            center_error=math.inf,
            n_shared=labels.n_shared,
            n_examples=n_examples,
            spacing=spacing,
            burn_in=burn_in,
            stop_reason=stop_reason,
            seed=seed,
        )
        return replace(found, center_error=self._error(found.ess) / length)

    def _error(self, ess: float) -> float:
        """Return the standard error of the mean, from parts as long as the chains take to mix."""
        n_sums, n_balls, _ = self.sums.shape
        wanted = ess / (_DRAWS_OF_A_PART * n_balls)
        n_parts = max(2, min(n_sums, int(wanted) if math.isfinite(wanted) else n_sums))
        size = n_sums // n_parts
        if size == 0:
            return math.inf
        sums = self.sums[n_sums - n_parts * size :].reshape(n_parts, size, n_balls, -1)
        means = sums.sum(axis=1).reshape(n_parts * n_balls, -1) / (size * self._per_sum)
        apart = (means - means.mean(axis=0)) @ self.normal.root.T
        return math.sqrt(float(apart.var(axis=0, ddof=1).sum()) / len(means))
