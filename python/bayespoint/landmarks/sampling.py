"""A run of slice sampling until its draws suffice."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from bayespoint.base.validation import Floats
from bayespoint.landmarks import circles
from bayespoint.landmarks.circles import BATCH, Circles
from bayespoint.landmarks.features import Features
from bayespoint.landmarks.model import contrasts
from bayespoint.landmarks.variational import Normal
from bayespoint.results.slices import SliceResult

_WATCHED = 16
"""Largest number of landmarks whose function values are watched."""

_PARTS = 64
"""Number of parts of a run from whose means the error of the center follows."""

_DRAWS_OF_A_PART = 5.0
"""Effective draws of a part, at least: parts are then nearly independent."""

_BURN_IN = 0.25
"""Steps before the first that counts, relative to the number of draws."""

MAX_STEPS = 100_000
"""Most steps of a chain by default."""

_SINGLES = 2**22
"""Numbers of all draws above which they are kept in singles."""


@dataclass(frozen=True)
class Limits:
    """When a run ends."""

    n_draws: int
    tol: float
    max_steps: int = MAX_STEPS
    deadline: float | None = None
    """Time of :func:`time.monotonic`."""

    def over(self, steps: int) -> str:
        """Return the limit that is reached, if one is."""
        if steps >= self.max_steps:
            return "max_iter"
        if self.deadline is not None and time.monotonic() >= self.deadline:
            return "max_time"
        return ""


def sample(
    posterior: circles.Posterior,
    normal: Normal,
    features: Features,
    limits: Limits,
    *,
    n_classes: int,
    n_examples: int,
    n_chains: int,
    seed: int,
    report: Callable[[SliceResult], object] | None = None,
) -> SliceResult:
    """Return draws of the functions of a posterior.

    Parameters
    ----------
    posterior : circles.Posterior
        Computes the likelihood.
    normal : Normal
        The approximation about which it is sampled.
    features : Features
        The features, of r landmarks.
    limits : Limits
        The run ends when the center is accurate, the draws are worth enough independent ones and
        the chains agree. Until then it is doubled.
    n_classes, n_examples : int
        Numbers of classes and of training examples.
    n_chains, seed
        As for `Circles`.
    report : callable, default=None
        Called with the result so far, after each doubling.

    Returns
    -------
    SliceResult
        The draws.
    """
    chains = Circles(posterior, normal, n_chains, seed)
    burn_in = BATCH * math.ceil(_BURN_IN * limits.n_draws / BATCH)
    for step in range(0, burn_in, BATCH):
        if limits.over(0) == "max_time":
            burn_in = step
            break
        chains.steps()
    chains.angles = 0
    record = _Record(n_chains, len(normal.mean))
    spacing = math.ceil(BATCH / limits.n_draws)
    while True:
        reason = ""
        while record.n_steps < limits.n_draws * spacing and not reason:
            record.add(*chains.steps(), spacing)
            reason = limits.over(record.n_steps)
        found = record.result(
            normal,
            features,
            limits.n_draws,
            n_classes=n_classes,
            n_examples=n_examples,
            spacing=spacing,
            burn_in=burn_in,
            angles=chains.angles / (n_chains * record.n_steps),
            stop_reason=reason or "tol",
            seed=seed,
        )
        if report is not None:
            report(found)
        if reason or (found.mixed and found.center_error <= limits.tol):
            return found
        if limits.over(2 * record.n_steps) == "max_iter":  # before draws are dropped in vain
            return replace(found, stop_reason="max_iter")
        spacing *= 2
        record.thin()


class _Record:
    """The draws of a run so far."""

    def __init__(self, n_chains: int, dimension: int) -> None:
        self.n_steps = 0
        self.z: list[Floats] = []
        self.residuals: list[Floats] = []
        self.reference: list[Floats] = []
        self.sums = np.empty((0, n_chains, dimension))
        self._per_sum = 1
        self._open: list[Floats] = []

    def add(self, z: Floats, residuals: Floats, reference: Floats, spacing: int) -> None:
        """Add a batch of steps, of which every `spacing`-th is kept."""
        ends = np.arange(self.n_steps + 1, self.n_steps + 1 + BATCH)
        kept = np.flatnonzero(ends % spacing == 0)
        self.z.append(z[:, kept])
        self.residuals.append(residuals[:, kept])
        self.reference.append(reference.ravel())
        self.n_steps += BATCH
        self._open.append(z.sum(axis=1))
        if len(self._open) == self._per_sum:
            self.sums = np.concatenate([self.sums, np.sum(self._open, axis=0)[None]])
            self._open = []
        if len(self.sums) == 2 * _PARTS:
            self.sums = self.sums[::2] + self.sums[1::2]
            self._per_sum *= 2

    def thin(self) -> None:
        """Drop every second draw."""
        self.z = [np.concatenate(self.z, axis=1)[:, 1::2]]
        self.residuals = [np.concatenate(self.residuals, axis=1)[:, 1::2]]

    def result(
        self, normal: Normal, features: Features, n_draws: int, *, n_classes: int, **known: object
    ) -> SliceResult:
        """Return the result so far."""
        z = np.concatenate(self.z, axis=1)[:, :n_draws]
        residuals = np.concatenate(self.residuals, axis=1)[:, :n_draws]
        n_chains, n, dimension = z.shape
        w = normal.mean + z.reshape(-1, dimension) @ normal.root.T
        total = self.sums.sum(axis=0) + (np.sum(self._open, axis=0) if self._open else 0.0)
        mean = normal.mean + normal.root @ (total.mean(axis=0) / self.n_steps)
        length = max(float(np.linalg.norm(mean)), 1e-300)
        w, mean = _by_class(w, n_classes), _by_class(mean, n_classes)
        draws = features.dual_coef(w).reshape(n_chains, n, *w.shape[1:])
        watched = np.unique(np.linspace(0, w.shape[-1] - 1, _WATCHED).astype(int))
        heights = (w @ features.factor.lower[watched].T).reshape(n_chains, n, -1)
        if draws.size > _SINGLES:
            draws = draws.astype(np.float32)
        found = SliceResult(
            draws=draws,
            center=features.dual_coef(mean),
            functionals=np.concatenate([heights, residuals[..., None]], axis=2),
            residuals=residuals,
            reference=np.concatenate(self.reference),
            log_scale=normal.log_det_root,
            n_steps=self.n_steps,
            center_error=math.inf,
            **known,  # type: ignore[arg-type]
        )
        return replace(found, center_error=self._error(normal, found.ess) / length)

    def _error(self, normal: Normal, ess: float) -> float:
        """Return the standard error of the mean, by the means of parts of the chains.

        The slower the chains mix, the fewer and longer are the parts.
        """
        n_sums, n_chains, _ = self.sums.shape
        wanted = ess / (_DRAWS_OF_A_PART * n_chains)
        n_parts = max(2, min(n_sums, int(wanted) if math.isfinite(wanted) else n_sums))
        size = n_sums // n_parts
        if size == 0:
            return math.inf
        sums = self.sums[n_sums - n_parts * size :].reshape(n_parts, size, n_chains, -1)
        means = sums.sum(axis=1).reshape(n_parts * n_chains, -1) / (size * self._per_sum * BATCH)
        spread = ((means - means.mean(axis=0)) @ normal.root.T).var(axis=0, ddof=1).sum()
        return math.sqrt(float(spread) / len(means))


def _by_class(w: Floats, n_classes: int) -> Floats:
    """Return weight vectors with an axis for the classes, if there are more than two."""
    if n_classes == 2:
        return w
    each = w.reshape(*w.shape[:-1], n_classes - 1, -1)
    return np.asarray(np.matmul(contrasts(n_classes), each))
