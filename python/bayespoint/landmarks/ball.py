r"""A ball with soft walls, on great circles about a normal approximation: exact draws.

With :math:`w = \mu + R z` the posterior is a t density of z times a residual that becomes flat as
examples are added. Given a scale s, drawn afresh with each direction, the t distribution is normal,
and flight on the circle :math:`z \cos\theta + v \sin\theta` for a normal v of variance s leaves it
invariant. The residual is a soft wall: the ball bounces off its gradient, as on a mirror, when the
sum of all ascents of the potential U, minus the logarithm of the residual, passes an exponential
variate (the Boomerang sampler; Bierkens, Grazzi, Kamatani and Roberts, 2020). A step is a quarter
of a circle, bounces included; then there is a new direction. Where the residual is flat, a
quarter ends at an independent draw.

The tails of the t density are heavier than the prior's, so that the residual is bounded. About a
normal density it is not where few examples with label noise decide.

The values of all examples on the circle are combinations of those for :math:`\mu`, z and v: an
angle needs no product with the features, a new direction one, a bounce two. Those of all chains are
one matrix product.
"""

from __future__ import annotations

import math
from collections.abc import Generator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
from scipy import optimize

from bayespoint.base.validation import Floats
from bayespoint.landmarks.block import BlockSums, Turn
from bayespoint.landmarks.normal import Normal

BATCH = 8
"""Steps of a call, after which the values of all examples are computed anew."""

ROWS_OF_VALUES = 9
"""Values of each example in memory for a chain and a function: of three directions, now and after a
turn, and what a turn adds."""

QUARTER = 0.5 * math.pi
"""Radians of a step."""

_APART = QUARTER / 2
"""Radians from one trial angle to the next, at first."""

_STEEP = 3.0
_CLOSEST = QUARTER / 8
"""Change of U between two trial angles, by its slopes there, above which there is one between them
if they are not as close as this: U is smooth, since it is a sum over the examples."""

_NEAR = 0.01
"""Radians from a trial angle at which cubic interpolation is as good as another trial."""

_TRIALS = 40
"""Most trial angles of a flight."""

_LEAST_FREEDOM = 3.0
"""Smallest number of degrees of freedom of the t distribution, which has one for each dimension:
with fewer, draws of many dimensions are worth less."""


@dataclass(frozen=True, eq=False)
class _Bounce:
    """A request for the derivatives of the log likelihood at a combination of the directions."""

    coefs: Floats


_Request: TypeAlias = "Floats | _Bounce | Turn"
_Nodes: TypeAlias = "dict[float, tuple[float, float]]"  # U and its derivative, by the angle


class Ball:
    """Chains that sample a posterior on circles, each from a draw of a normal distribution.

    The draws do not depend on the number of threads or processes.
    """

    def __init__(self, posterior: BlockSums, normal: Normal, n_chains: int, seed: int) -> None:
        self.posterior, self.normal = posterior, normal
        streams = np.random.SeedSequence(seed).spawn(n_chains)
        self.chains = [_Chain(normal, np.random.default_rng(stream)) for stream in streams]
        self.angles = 0
        """Number of angles tried so far."""
        self.bounces = 0
        """Number of bounces so far."""

    def steps(self) -> tuple[Floats, Floats, Floats]:
        """Take `BATCH` steps of each chain.

        Return the (n_chains, BATCH, D) draws z after each step, their (n_chains, BATCH) log
        residuals, and those of independent draws of the t distribution.
        """
        self.posterior.set_directions([chain.directions() for chain in self.chains])
        flights = [chain.flights() for chain in self.chains]
        asked: dict[int, _Request] = {c: next(flight) for c, flight in enumerate(flights)}

        def answer(c: int, found: Any) -> None:
            try:
                asked[c] = flights[c].send(found)
            except StopIteration:
                del asked[c]

        while asked:
            while angles := {c: one for c, one in asked.items() if isinstance(one, np.ndarray)}:
                none = np.empty((0, 3))
                given = [angles.get(c, none) for c in range(len(flights))]
                self.angles += sum(map(len, given))
                for c, found in enumerate(self.posterior.log_likelihoods(given)):
                    if c in angles:
                        answer(c, found)
            bounces = {c: one.coefs for c, one in asked.items() if isinstance(one, _Bounce)}
            self.bounces += len(bounces)
            if bounces:
                slopes = self.posterior.slopes([bounces.get(c) for c in range(len(flights))])
                for c, slope in zip(bounces, slopes, strict=True):
                    answer(c, slope)
            turns = {c: one for c, one in asked.items() if isinstance(one, Turn)}
            if turns:
                self.posterior.turn([turns.get(c) for c in range(len(flights))])
                for c in turns:
                    answer(c, None)
        z = np.array([chain.draws for chain in self.chains])
        residuals = np.array([chain.residuals for chain in self.chains])
        return z, residuals, np.array([chain.reference for chain in self.chains])


class _Chain:
    """A ball: its position z, its direction v, and R times both."""

    def __init__(self, normal: Normal, rng: np.random.Generator) -> None:
        self.normal, self.rng, d = normal, rng, len(normal.mean)
        self.z = rng.standard_normal(d)
        self._freedom = max(_LEAST_FREEDOM, d)
        half = 0.5 * self._freedom  # the constant of the t density, relative to the prior's
        self._constant = math.lgamma(half) + 0.5 * d * math.log(half) - math.lgamma(half + d / 2)

    def directions(self) -> Floats:
        """Draw a direction; return the mean of w, and R times z and the direction."""
        self._of_z = self.normal.root @ self.z
        self._draw()
        return np.stack([self.normal.mean, self._of_z, self._of_v])

    def flights(self) -> Generator[_Request, Any, None]:
        """Take steps: yield what is to be computed, for which the answer is sent."""
        self.draws, self.residuals, self.reference = list[Floats](), list[float](), list[float]()
        for step in range(BATCH):
            scale = math.sqrt(self._freedom / self.rng.chisquare(self._freedom)) / self.scale
            # An independent draw of the t distribution, and the place itself.
            coefs = np.array([[1.0, 0.0, scale], [1.0, 1.0, 0.0]])
            along = np.array([[0.0, 0.0, 1.0], [0.0, 0.0, 1.0]])
            values = self._potentials(coefs, along, (yield coefs))
            self.reference.append(-values[0][0])
            start, left = values[1], QUARTER
            while True:
                angle, potential, bounced = yield from self._flight(start, left)
                cos, sin = math.cos(angle), math.sin(angle)
                if not bounced:
                    break
                slopes = yield _Bounce(np.array([1.0, cos, sin]))
                self._move(cos, sin)
                added, slope = self._reflect(slopes)
                yield Turn(cos, sin, 1.0, added)
                start, left = (potential, slope), left - angle
            self._move(cos, sin)
            self.draws.append(self.z)
            self.residuals.append(-potential)
            if step + 1 < BATCH:
                yield Turn(cos, sin, 0.0, self._draw())

    def _draw(self) -> Floats:
        """Draw a scale and a direction; return R times the direction."""
        square = self._freedom + float(self.z @ self.z)
        self.scale = math.sqrt(square / self.rng.chisquare(self._freedom + len(self.z)))
        self._set(self.scale * self.rng.standard_normal(len(self.z)))
        return self._of_v

    def _set(self, v: Floats) -> None:
        self.v, self._of_v = v, self.normal.root @ v
        vectors = np.stack([self.z, v])
        w = np.stack([self.normal.mean, self._of_z, self._of_v])
        self._squares, self._of_w = vectors @ vectors.T, w @ w.T

    def _move(self, cos: float, sin: float) -> None:
        """Fly; the direction turns with the circle."""
        z, v, of_z, of_v = self.z, self.v, self._of_z, self._of_v
        self.z, self.v = cos * z + sin * v, cos * v - sin * z
        self._of_z, self._of_v = cos * of_z + sin * of_v, cos * of_v - sin * of_z

    def _reflect(self, slopes: Floats) -> tuple[Floats, float]:
        """Reflect the direction off the gradient of U; return R times its change, and dU/dt."""
        tail = (self._freedom + len(self.z)) / (self._freedom + float(self.z @ self.z))
        gradient = self.normal.root.T @ (self.normal.mean + self._of_z - slopes) - tail * self.z
        ascent = float(gradient @ self.v)
        before = self._of_v
        self._set(self.v - 2 * ascent / float(gradient @ gradient) * gradient)
        return self._of_v - before, -ascent

    def _potentials(self, coefs: Floats, along: Floats, found: Floats) -> list[tuple[float, float]]:
        """Return U and its derivative along the circle, for (n, 3) coefficients and theirs.

        U is minus the log density of w, relative to the t density of z.
        """
        values = []
        for one, by, (log_p, *slopes) in zip(coefs, along, found.tolist(), strict=True):
            square, of_w = self._squares @ one[1:], self._of_w @ one
            scaled = self._freedom + float(one[1:] @ square)
            freedom = self._freedom + len(self.z)
            tail = 0.5 * freedom * math.log(scaled / self._freedom) + self._constant
            u = 0.5 * float(one @ of_w) - tail - log_p
            slope = float(by @ (of_w - slopes)) - freedom / scaled * float(by[1:] @ square)
            values.append((u, slope))
        return values

    def _flight(
        self, start: tuple[float, float], left: float
    ) -> Generator[Floats, Floats, tuple[float, float, bool]]:
        """Fly until a bounce, at most `left` radians: return the angle, U, and whether it is one.

        `start` are U and its derivative here.
        """
        energy, nodes, last = self.rng.exponential(), {0.0: start}, 0.0
        while True:
            event, wanted = _first_event(nodes, energy)
            wanted = [x for x in wanted if min(abs(x - node) for node in nodes) > _NEAR]
            if not wanted or len(nodes) > _TRIALS:
                if event is not None:
                    return *event, True
                if last == left:
                    return left, nodes[left][0], False
                ahead = last + _APART
                last = left if left - ahead < 0.5 * _APART else ahead
                wanted = [last]
            angles = np.array(wanted)
            cos, sin = np.cos(angles), np.sin(angles)
            coefs = np.column_stack([np.ones(len(angles)), cos, sin])
            along = np.column_stack([np.zeros(len(angles)), -sin, cos])
            values = self._potentials(coefs, along, (yield coefs))
            nodes |= dict(zip(wanted, values, strict=True))


def _first_event(nodes: _Nodes, energy: float) -> tuple[tuple[float, float] | None, list[float]]:
    """Return the angle at which the ascents of U sum up to the energy, and U there.

        None: they do not. Between the angles in `nodes` U is interpolated by cubic polynomials. The
    second value are the angles that should be near nodes: this one, and before it the turning
    points and the middle of steep parts.
    """
    angles, turns = sorted(nodes), list[float]()
    for first, second in pairwise(angles):
        width = second - first
        (a, b), (c, d) = nodes[first], nodes[second]
        b, d = b * width, d * width
        if abs(b) + abs(d) > _STEEP and width > _CLOSEST:
            turns.append(first + 0.5 * width)
        p = a, b, 3 * (c - a) - 2 * b - d, 2 * (a - c) + b + d

        def height(x: float, p: tuple[float, ...] = p) -> float:
            return p[0] + x * (p[1] + x * (p[2] + x * p[3]))

        cuts = [0.0, *(x for x in _roots(3 * p[3], 2 * p[2], p[1]) if 0 < x < 1), 1.0]
        for low, high in pairwise(cuts):
            ascent = height(high) - height(low)
            if ascent > energy:
                u = height(low) + energy
                x = optimize.brentq(lambda x, u=u: height(x) - u, low, high, xtol=1e-14)
                angle = first + width * x
                return (angle, u), [*turns, angle]
            energy -= max(ascent, 0.0)
            if high < 1.0:
                turns.append(first + width * high)
    return None, turns


def _roots(a: float, b: float, c: float) -> list[float]:
    """Return the real roots of a x^2 + b x + c, in order."""
    inner = b * b - 4 * a * c
    if inner < 0:
        return []
    q = -0.5 * (b + math.copysign(math.sqrt(inner), b))
    return sorted(y / x for y, x in ((q, a), (c, q)) if x != 0)
