r"""Exact draws from a posterior of few dimensions, on great circles about a normal approximation.

With :math:`w = \mu + R z` the posterior is a standard normal density of z times a residual that
becomes flat as examples are added. Elliptical slice sampling (Murray, Adams and MacKay, 2010)
leaves it invariant: a normal vector :math:`\nu` and z span a circle :math:`z \cos\theta +
\nu \sin\theta`; a level below the residual at z is drawn, and angles from a bracket that shrinks
towards z until the residual is above the level. It has no settings and rejects nothing.

The values of all examples on the circle are combinations of those for :math:`\mu`, z and
:math:`\nu`. Several steps of all chains take theirs from one product with the features, which is
most of the work, and each angle then one pass over a few numbers for each example. The angles of a
step that a chain would try one after the other are known before any likelihood, so that two of each
chain are tried at a time.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from bayespoint.base.validation import Floats
from bayespoint.landmarks.variational import Normal

BATCH = 8
"""Steps whose directions are multiplied with the features at once."""

_AHEAD = 2
"""Angles of a step that are tried at a time."""

_SMALLEST = 1e-12
"""Width of a bracket, in radians, at which its chain stays where it is: the level is then above the
residual at z itself by rounding."""


class Posterior(Protocol):
    """A posterior whose likelihood is computed elsewhere, from values in memory there."""

    def set_directions(self, directions: Sequence[Floats]) -> None:
        """Take (k, D) weight vectors for each chain, of which `log_likelihoods` are combined."""

    def log_likelihoods(self, coefs: Sequence[Floats]) -> list[Floats]:
        """Return those of combinations: for each chain (n, k) coefficients, and n numbers."""


@dataclass(eq=False)
class Chain:
    """A chain of draws of z."""

    z: Floats
    rng: np.random.Generator
    residual: float = math.nan
    """Log residual at z: log likelihood and log prior of w, minus the log density of z."""


class Circles:
    """Chains that sample a posterior.

    Parameters
    ----------
    posterior : Posterior
        Its likelihood.
    normal : Normal
        The normal distribution about which circles lie.
    n_chains : int
        Number of chains. Each starts with a draw of the normal distribution.
    seed : int
        Seed. The draws do not depend on the number of threads or processes.
    """

    def __init__(self, posterior: Posterior, normal: Normal, n_chains: int, seed: int) -> None:
        self.posterior, self.normal = posterior, normal
        streams = np.random.SeedSequence(seed).spawn(n_chains)
        dimension = len(normal.mean)
        self.chains = []
        for stream in streams:
            rng = np.random.default_rng(stream)
            self.chains.append(Chain(rng.standard_normal(dimension), rng))
        self.angles = 0
        """Number of angles tried so far."""

    def steps(self) -> tuple[Floats, Floats, Floats]:
        """Take `BATCH` steps of each chain.

        Returns
        -------
        z : ndarray of shape (n_chains, BATCH, D)
            The draws after each step.
        residuals : ndarray of shape (n_chains, BATCH)
            Their log residuals.
        reference : ndarray of shape (n_chains, BATCH)
            Log residuals of independent draws of the normal distribution.
        """
        frames = [self._frame(chain) for chain in self.chains]
        mean = self.normal.mean[None]
        self.posterior.set_directions([np.concatenate([mean, frame.w]) for frame in frames])
        eye = np.eye(BATCH + 1)
        # Of the directions themselves, which are independent draws, and of the present draws.
        first = self._residuals(frames, [eye] * len(frames))
        reference = np.array([values[1:] for values in first])
        for chain, values in zip(self.chains, first, strict=True):
            chain.residual = float(values[0])
        states = [eye[0].copy() for _ in frames]
        z = np.empty((len(frames), BATCH, len(self.normal.mean)))
        residuals = np.empty((len(frames), BATCH))
        for b in range(BATCH):
            self._step(frames, states, eye[b + 1])
            for c, (frame, state) in enumerate(zip(frames, states, strict=True)):
                z[c, b], residuals[c, b] = state @ frame.z, self.chains[c].residual
        for chain, last in zip(self.chains, z[:, -1], strict=True):
            chain.z = last.copy()
        return z, residuals, reference

    def _frame(self, chain: Chain) -> _Frame:
        directions = chain.rng.standard_normal((BATCH, len(chain.z)))
        return _Frame.of(np.concatenate([chain.z[None], directions]), self.normal)

    def _residuals(self, frames: Sequence[_Frame], coefs: Sequence[Floats]) -> list[Floats]:
        """Return the log residuals of combinations of the vectors z of each chain."""
        with_mean = [np.column_stack([np.ones(len(one)), one]) for one in coefs]
        found = self.posterior.log_likelihoods(with_mean)
        return [
            value + frame.log_prior_ratio(one)
            for value, frame, one in zip(found, frames, coefs, strict=True)
        ]

    def _step(self, frames: Sequence[_Frame], states: list[Floats], direction: Floats) -> None:
        """Move every chain on its circle, by changing the coefficients of its state."""
        brackets = []
        for chain in self.chains:
            level = chain.residual + math.log(chain.rng.random())
            brackets.append(_Bracket.new(level, chain.rng))
        pending = list(range(len(frames)))
        while pending:
            tried = [brackets[c].next_angles(_AHEAD) for c in pending]
            coefs = [np.empty((0, BATCH + 1)) for _ in frames]
            for c, angles in zip(pending, tried, strict=True):
                coefs[c] = np.outer(np.cos(angles), states[c]) + np.outer(np.sin(angles), direction)
            self.angles += _AHEAD * len(pending)
            found = self._residuals(frames, coefs)
            left = []
            for c in pending:
                above = np.flatnonzero(found[c] > brackets[c].level)
                if len(above):
                    states[c] = coefs[c][above[0]]
                    self.chains[c].residual = float(found[c][above[0]])
                elif brackets[c].width > _SMALLEST:
                    left.append(c)
            pending = left


@dataclass(frozen=True, eq=False)
class _Frame:
    """The vectors z of a batch of a chain, and the products that priors need."""

    z: Floats
    """(BATCH + 1, D)"""

    w: Floats
    """(BATCH + 1, D) R z."""

    squares: Floats
    """Inner products of the z."""

    prior_squares: Floats
    """Inner products of R z."""

    prior_mean: Floats
    """Inner products of R z and the mean of w."""

    mean_square: float

    @classmethod
    def of(cls, z: Floats, normal: Normal) -> _Frame:
        w = z @ normal.root.T
        mean = normal.mean
        return cls(z, w, z @ z.T, w @ w.T, w @ mean, float(mean @ mean))

    def log_prior_ratio(self, coefs: Floats) -> Floats:
        """Return the log prior density of w relative to that of z, for (n, BATCH + 1) numbers."""
        difference = self.squares - self.prior_squares
        quadratic = np.einsum("ij,jk,ik->i", coefs, difference, coefs)
        return np.asarray(0.5 * (quadratic - self.mean_square) - coefs @ self.prior_mean)


class _Bracket:
    """The angles of a step that have not been excluded."""

    def __init__(self, level: float, low: float, high: float, rng: np.random.Generator) -> None:
        self.level, self.low, self.high, self.rng = level, low, high, rng
        self.first: float | None = high

    @classmethod
    def new(cls, level: float, rng: np.random.Generator) -> _Bracket:
        angle = rng.uniform(0.0, 2 * math.pi)
        return cls(level, angle - 2 * math.pi, angle, rng)

    @property
    def width(self) -> float:
        return self.high - self.low

    def next_angles(self, n: int) -> list[float]:
        """Return the angles to try next: each is tried if the one before was below the level."""
        angles = []
        for _ in range(n):
            if self.first is not None:
                angle, self.first = self.first, None
            else:
                angle = self.rng.uniform(self.low, self.high)
                if angle < 0:
                    self.low = angle
                else:
                    self.high = angle
            angles.append(angle)
        return angles
