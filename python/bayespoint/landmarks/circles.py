r"""Exact draws from a posterior of few dimensions, on great circles about a normal approximation.

With :math:`w = \mu + R z` the posterior is a t density of z times a residual that becomes flat as
examples are added. Given a scale s, drawn afresh in each step, the t distribution is normal, and
elliptical slice sampling (Murray, Adams and MacKay, 2010; Nishihara, Murray and Adams, 2014, with
the scale) leaves the posterior invariant: a normal vector :math:`\nu` of variance s and z span a
circle :math:`z \cos\theta + \nu \sin\theta`; a level below the residual at z is drawn, and angles
from a bracket that shrinks towards z until the residual is above the level. It rejects nothing.

The tails of the t density are heavier than the prior's, so that the residual is bounded. About a
normal density it is not where few examples with label noise decide: chains go far out seldom, and
stay there for long.

The values of all examples on the circle are combinations of those for :math:`\mu`, z and
:math:`\nu`. Several steps of all chains take theirs from one product with the features, which is
most of the work, and each angle then one pass. Two angles of each chain are tried at a time.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from bayespoint.base.validation import Floats
from bayespoint.landmarks.block import BlockSums
from bayespoint.landmarks.normal import Normal

BATCH = 8
"""Steps whose directions are multiplied with the features at once."""

_AHEAD = 2
"""Angles of a step that are tried at a time."""

_SMALLEST = 1e-12
"""Width of a bracket, in radians, at which its chain stays: the level is then above by rounding."""

_LEAST_FREEDOM = 3.0
"""Smallest number of degrees of freedom of the t distribution, which has one for each dimension:
with fewer, draws of many dimensions are worth less."""


class Circles:
    """Chains that sample a posterior on circles, each from a draw of a normal distribution.

    The draws do not depend on the number of threads or processes.
    """

    def __init__(self, posterior: BlockSums, normal: Normal, n_chains: int, seed: int) -> None:
        self.posterior, self.normal = posterior, normal
        streams = np.random.SeedSequence(seed).spawn(n_chains)
        self.chains = [_Chain(normal, np.random.default_rng(stream)) for stream in streams]
        self.angles = 0
        """Number of angles tried so far."""

    def steps(self) -> tuple[Floats, Floats, Floats]:
        """Take `BATCH` steps of each chain.

        Return the (n_chains, BATCH, D) draws z after each step, their (n_chains, BATCH) log
        residuals, and those of independent draws of the t distribution.
        """
        self.posterior.set_directions([chain.begin_batch() for chain in self.chains])
        eye = np.eye(BATCH + 1)
        # Of the present draws, and of the directions themselves, scaled to independent draws.
        first = self._residuals([eye * chain.first_scales()[:, None] for chain in self.chains])
        for chain, values in zip(self.chains, first, strict=True):
            chain.residual = float(values[0])
        z, residuals = list[Floats](), list[Floats]()
        for direction in eye[1:]:
            self._step(direction)
            z.append(np.stack([chain.state @ chain.vectors for chain in self.chains]))
            residuals.append(np.array([chain.residual for chain in self.chains]))
        for chain, last in zip(self.chains, z[-1], strict=True):
            chain.z = last
        reference = np.array([values[1:] for values in first])
        return np.stack(z, axis=1), np.stack(residuals, axis=1), reference

    def _residuals(self, coefs: Sequence[Floats]) -> list[Floats]:
        """Return the log residuals of combinations of the vectors z of each chain."""
        with_mean = [np.column_stack([np.ones(len(one)), one]) for one in coefs]
        each = zip(self.posterior.log_likelihoods(with_mean), self.chains, coefs, strict=True)
        return [values + chain.log_prior_ratio(one) for values, chain, one in each]

    def _step(self, direction: Floats) -> None:
        """Move every chain on its circle, by changing the coefficients of its state."""
        for chain in self.chains:
            chain.begin_step()
        pending = list(range(len(self.chains)))
        while pending:
            coefs = [np.empty((0, BATCH + 1)) for _ in self.chains]
            for c in pending:
                angles, state = self.chains[c].next_angles(_AHEAD), self.chains[c].state
                across = self.chains[c].scale * direction
                coefs[c] = np.outer(np.cos(angles), state) + np.outer(np.sin(angles), across)
            self.angles += _AHEAD * len(pending)
            found = self._residuals(coefs)
            for c in pending.copy():
                chain, above = self.chains[c], np.flatnonzero(found[c] > self.chains[c].level)
                if len(above):
                    chain.state, chain.residual = coefs[c][above[0]], float(found[c][above[0]])
                if len(above) or chain.high - chain.low <= _SMALLEST:
                    pending.remove(c)


class _Chain:
    """A chain of draws of z, and the circle of its present step."""

    def __init__(self, normal: Normal, rng: np.random.Generator) -> None:
        self.normal, self.rng, d = normal, rng, len(normal.mean)
        self.z = rng.standard_normal(d)
        self._freedom = max(_LEAST_FREEDOM, d)
        half = 0.5 * self._freedom  # the constant of the t density, relative to the prior's
        self._constant = math.lgamma(half) + 0.5 * d * math.log(half) - math.lgamma(half + d / 2)
        self.residual = math.nan
        """Log residual at z: log likelihood and log prior of w, minus the log density of z."""

    def begin_batch(self) -> Floats:
        """Draw directions; return the mean of w, and R times z and each direction."""
        mean, directions = self.normal.mean, self.rng.standard_normal((BATCH, len(self.z)))
        self.vectors = np.concatenate([self.z[None], directions])
        self.state = np.eye(BATCH + 1)[0]  # z as a combination of the vectors
        w = self.vectors @ self.normal.root.T
        self._squares, self._of_w = self.vectors @ self.vectors.T, w @ w.T
        self._with_mean, self._of_mean = w @ mean, float(mean @ mean)
        return np.concatenate([mean[None], w])

    def log_prior_ratio(self, coefs: Floats) -> Floats:
        """Return the log prior density of w relative to that of z, for (n, BATCH + 1) numbers."""
        square = np.einsum("ij,jk,ik->i", coefs, self._squares, coefs)
        of_w = np.einsum("ij,jk,ik->i", coefs, self._of_w, coefs) + self._of_mean
        tail = 0.5 * (self._freedom + len(self.z)) * np.log1p(square / self._freedom)
        return np.asarray(tail + self._constant - 0.5 * of_w - coefs @ self._with_mean)

    def first_scales(self) -> Floats:
        """Return factors of the state, 1, and of the directions, which make draws of them."""
        scales = self._freedom / self.rng.chisquare(self._freedom, BATCH)
        return np.concatenate([[1.0], np.sqrt(scales)])

    def begin_step(self) -> None:
        """Draw the scale of a step, its level and its first angle."""
        square = self._freedom + float(self.state @ self._squares @ self.state)
        self.scale = math.sqrt(square / self.rng.chisquare(self._freedom + len(self.z)))
        self.level = self.residual + math.log(self.rng.random())
        self.high = self.rng.uniform(0.0, 2 * math.pi)
        self.low = self.high - 2 * math.pi
        self.first: float | None = self.high

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
