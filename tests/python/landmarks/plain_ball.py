"""Balls with soft walls, one flight after the other: the plain twin of the engine's."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import optimize

from bayespoint.base.validation import Floats
from bayespoint.landmarks.block import BlockSums
from bayespoint.landmarks.normal import Normal
from bayespoint.landmarks.sampling import BATCH, SoftDraws

QUARTER = 0.5 * math.pi
"""Radians of a step."""

_APART = QUARTER / 4
"""Radians from one trial angle to the next, at most. All are tried at once: where blocks lie on
other machines, a round takes longer than a few more trials."""

_STEEP = 3.0
_CLOSEST = QUARTER / 8
"""Change of U between two trial angles, by its slopes there, above which there is one between them
if they are not as close as this: U is smooth, since it is a sum over the examples."""

_NEAR = 0.008
"""Product of the distances to the trial angles on both sides, square radians, at which cubic
interpolation is as good as another trial: its error is proportional to the square."""

_CURVED = 1.0
"""Change of the slope between two trial angles times their distance, above which there is one
between them where walls make U steep."""

_BEFORE = 1 - 1e-9
"""Where a flight ends before a hard wall, relative to the angle there."""

_TRIALS = 40
"""Most trial angles of a flight."""

_Node: TypeAlias = tuple[float, float]
"""U and its derivative at an angle."""

_LEAST_FREEDOM = 3.0


class PlainBalls:
    """Balls that sample a posterior on circles, each from a draw of a normal distribution.

    Their draws do not depend on the number of threads or processes. The last `n_rising` weights
    rise: there are hard walls between each two.
    """

    def __init__(
        self, posterior: BlockSums, normal: Normal, n_balls: int, seed: int, n_rising: int = 0
    ) -> None:
        self.posterior, self.normal = posterior, normal
        self._differences = np.diff(np.eye(len(normal.mean))[len(normal.mean) - n_rising :], axis=0)
        self._rngs = [np.random.default_rng(s) for s in np.random.SeedSequence(seed).spawn(n_balls)]
        d = len(normal.mean)
        self.z = np.stack([rng.standard_normal(d) for rng in self._rngs])
        """(n_balls, D) Places."""
        self.trials = 0
        """Number of angles tried so far."""
        self.bounces = 0
        """Number of bounces so far."""
        self._scales = np.ones(n_balls)
        self._squares, self._of_w = np.empty((n_balls, 3)), np.empty((n_balls, 5))
        self._mean_square = float(normal.mean @ normal.mean)
        self._freedom = max(_LEAST_FREEDOM, d)
        half = 0.5 * self._freedom  # the constant of the t density, relative to the prior's
        self._constant = math.lgamma(half) + 0.5 * d * math.log(half) - math.lgamma(half + d / 2)

    def steps(self) -> SoftDraws:
        """Take `BATCH` steps of each ball."""
        n, d = self.z.shape
        draws, residuals = np.empty((n, BATCH, d)), np.empty((n, BATCH))
        reference = np.empty((n, BATCH))
        everyone, taken = np.arange(n), np.zeros(n, dtype=np.int64)
        self.v = self._directions(everyone)
        self._of_z, self._of_v = (each @ self.normal.root.T for each in (self.z, self.v))
        for ball in everyone:  # the first place may be behind a wall
            while (self._differences @ (self.normal.mean + self._of_z[ball]) <= 0).any():
                self.z[ball] /= 2
                self._of_z[ball] /= 2
        pairs = np.stack([self._of_z, self._of_v], axis=1).reshape(2 * n, d)
        self.posterior.start(np.concatenate([self.normal.mean[None], pairs]))
        self._set_squares(everyone)
        flights = {ball: self._flight(ball) for ball in range(n)}
        while flights:
            for ball, value in self._try(flights):
                reference[ball, taken[ball]] = -value
            balls = np.array(list(flights))
            ends = np.array([flight.end for flight in flights.values()])
            angles, values, bounced = ends[:, 0], ends[:, 1], ends[:, 2] > 0
            hits = ends[bounced, 2] == 2
            places = np.stack([np.cos(angles), np.sin(angles)], axis=1)
            directions = np.stack([-places[:, 1], places[:, 0]], axis=1)
            self._move(balls, places, directions)
            added, slopes = np.empty((len(balls), d)), np.zeros(len(balls))
            if bounced.any():
                by_w = self.posterior.slopes((balls[bounced], places[bounced]))
                added[bounced], slopes[bounced] = self._reflections(balls[bounced], by_w, hits)
                self.bounces += len(by_w)
            done = balls[~bounced]
            draws[done, taken[done]], residuals[done, taken[done]] = self.z[done], -values[~bounced]
            taken[done] += 1
            added[~bounced], directions[~bounced] = self._directions(done), 0.0
            left = np.array([flight.left for flight in flights.values()]) - angles
            on = taken[balls] < BATCH
            if on.any():
                self._turn(balls[on], places[on], directions[on], added[on])
            flights = {
                ball: self._flight(ball, left[k], (values[k], slopes[k]))
                if bounced[k]
                else self._flight(ball)
                for k, ball in enumerate(balls.tolist())
                if taken[ball] < BATCH
            }
        return SoftDraws(draws, residuals, reference, self.trials, self.bounces)

    def _directions(self, balls: NDArray[np.int64]) -> Floats:
        """Draw new directions, of the law given the place and a scale drawn afresh."""
        freedom, (_, d) = self._freedom, self.z.shape
        found = np.empty((len(balls), d))
        for row, ball in enumerate(balls.tolist()):
            rng, z = self._rngs[ball], self.z[ball]
            scale = math.sqrt((freedom + float(z @ z)) / rng.chisquare(freedom + d))
            self._scales[ball] = scale
            found[row] = scale * rng.standard_normal(d)
        return found

    def _flight(self, ball: int, left: float = QUARTER, start: _Node | None = None) -> _Flight:
        energy = self._rngs[ball].exponential()
        if not len(self._differences):
            return _Flight(energy, left, start)
        weights = np.stack([self.normal.mean, self._of_z[ball], self._of_v[ball]], axis=1)
        gaps = self._differences @ weights
        return _Flight(energy, left, start, min(_descent_to_zero(*one) for one in gaps.tolist()))

    def _try(self, flights: Mapping[int, _Flight]) -> Iterator[tuple[int, float]]:
        """Try angles until all flights have ended; yield balls that begin a step and U elsewhere.

        That is at an independent draw of the t distribution.
        """
        fresh = [ball for ball, flight in flights.items() if not flight.nodes]
        while asked := [(b, f, x) for b, f in flights.items() for x in f.wanted()]:
            self.trials += len(asked) + len(fresh)
            angles = np.array([x for _, _, x in asked])
            cos, sin = np.cos(angles), np.sin(angles)
            rows = np.column_stack([cos, sin, -sin, cos])
            balls = [ball for ball, _, _ in asked]
            if fresh:
                rows = np.concatenate([rows, [self._elsewhere(ball) for ball in fresh]])
            found = self._potentials(np.array(balls + fresh), rows).tolist()
            for (_, flight, angle), (u, slope) in zip(asked, found, strict=False):
                flight.nodes[angle] = u, slope
            yield from zip(fresh, (u for u, _ in found[len(asked) :]), strict=True)
            fresh = []

    def _elsewhere(self, ball: int) -> tuple[float, float, float, float]:
        """Return the factors of place and direction for an independent draw, and no change."""
        freedom, rng = self._freedom, self._rngs[ball]
        return 0.0, math.sqrt(freedom / rng.chisquare(freedom)) / self._scales[ball], 0.0, 0.0

    def _potentials(self, balls: NDArray[np.int64], rows: Floats) -> Floats:
        """Return U, and its derivative along the circle, (k, 2).

        `rows` are (k, 4) factors of place and direction and their derivatives. U is minus the log
        density of w, relative to the t density of z.
        """
        log_p, *by = self.posterior.log_likelihoods((balls, rows[:, :2])).T
        a, b, da, db = rows.T
        products = np.stack([a * a, 2 * a * b, b * b]), np.stack([a * da, a * db + b * da, b * db])
        square, half = (np.einsum("ik,ki->k", each, self._squares[balls]) for each in products)
        of_w, of_half = (np.einsum("ik,ki->k", each, self._of_w[balls, 2:]) for each in products)
        by_mean = self._of_w[balls, :2]
        of_w += self._mean_square + 2 * (a * by_mean[:, 0] + b * by_mean[:, 1])
        of_half += da * by_mean[:, 0] + db * by_mean[:, 1]
        freedom = self._freedom + self.z.shape[1]
        scaled = self._freedom + square
        tail = 0.5 * freedom * np.log(scaled / self._freedom) + self._constant
        slope = of_half - da * by[0] - db * by[1] - freedom / scaled * half
        return np.column_stack([0.5 * of_w - tail - log_p, slope])

    def _move(self, balls: NDArray[np.int64], places: Floats, directions: Floats) -> None:
        """Fly; directions turn with the circle."""
        for place, direction in ((self.z, self.v), (self._of_z, self._of_v)):
            pair = np.stack([place[balls], direction[balls]], axis=1)
            place[balls] = np.einsum("bk,bkd->bd", places, pair)
            direction[balls] = np.einsum("bk,bkd->bd", directions, pair)

    def _reflections(
        self, balls: NDArray[np.int64], slopes: Floats, hits: NDArray[np.bool_]
    ) -> tuple[Floats, Floats]:
        """Return the changes of directions that are reflected off gradients of U, and dU/dt then.

        `slopes` are the derivatives of the log likelihood by w. Those that hit hard walls are
        reflected off these.
        """
        z, v, root = self.z[balls], self.v[balls], self.normal.root
        freedom = self._freedom + z.shape[1]
        tail = freedom / (self._freedom + np.einsum("bd,bd->b", z, z))
        gradient = (self.normal.mean + self._of_z[balls] - slopes) @ root - tail[:, None] * z
        ascent = np.einsum("bd,bd->b", gradient, v)
        off = gradient.copy()
        for k in np.flatnonzero(hits):
            gaps = self._differences @ (self.normal.mean + self._of_z[balls[k]])
            off[k] = self._differences[gaps.argmin()] @ root
        along, square = np.einsum("bd,bd->b", off, v), np.einsum("bd,bd->b", off, off)
        change = -(2 * along / square)[:, None] * off
        return change, ascent + np.einsum("bd,bd->b", gradient, change)

    def _turn(
        self, balls: NDArray[np.int64], places: Floats, directions: Floats, added: Floats
    ) -> None:
        """Give balls new directions: what is left of the old ones, and what is added."""
        of_added = added @ self.normal.root.T
        kept = (directions != 0).any(axis=1)[:, None]
        self.v[balls] = np.where(kept, self.v[balls], 0.0) + added
        self._of_v[balls] = np.where(kept, self._of_v[balls], 0.0) + of_added
        self.posterior.turn(balls, places, directions, of_added)
        self._set_squares(balls)

    def _set_squares(self, balls: NDArray[np.int64]) -> None:
        """Compute the inner products of places and directions, and of the mean and R times both."""
        z, v, of_z, of_v = (each[balls] for each in (self.z, self.v, self._of_z, self._of_v))
        for k, (one, other) in enumerate(((z, z), (z, v), (v, v))):
            self._squares[balls, k] = np.einsum("bd,bd->b", one, other)
        self._of_w[balls, :2] = np.stack([of_z @ self.normal.mean, of_v @ self.normal.mean], axis=1)
        for k, (one, other) in enumerate(((of_z, of_z), (of_z, of_v), (of_v, of_v))):
            self._of_w[balls, 2 + k] = np.einsum("bd,bd->b", one, other)


class _Flight:
    """A flight of a ball from a turn on: where it ends, by a bounce or after all radians."""

    def __init__(
        self, energy: float, left: float, start: _Node | None, wall: float | None = None
    ) -> None:
        self.energy, self.left, self.wall = energy, left, wall
        self.nodes: dict[float, _Node] = {} if start is None else {0.0: start}
        length = left if wall is None else min(left, _BEFORE * wall)
        n = max(1, math.ceil(length / _APART))
        self._ahead = [*(length * k / n for k in range(len(self.nodes), n)), length]
        self.end: tuple[float, float, int] | None = None
        """The angle, U there, and whether the ball bounces off U, 1, or off a hard wall, 2."""

    def wanted(self) -> list[float]:
        """Return the angles that are to be tried; none if the end is known."""
        if self.end is not None:
            return []
        if self._ahead:
            wanted, self._ahead = self._ahead, []
            return wanted
        event, near, curved = _first_event(self.nodes, self.energy)
        wanted = [x for x in near if not self._is_near(x)]
        if self.wall is not None:
            wanted += curved
        if wanted and len(self.nodes) <= _TRIALS:
            return wanted
        last = max(x for x, (u, _) in self.nodes.items() if u < math.inf)
        ends = last, self.nodes[last][0], 2 if last < self.left else 0
        self.end = ends if event is None else (*event, 1)
        return []

    def _is_near(self, angle: float) -> bool:
        before = max(x for x in self.nodes if x <= angle)
        after = min(x for x in self.nodes if x >= angle)
        return (angle - before) * (after - angle) <= _NEAR


def _first_event(
    nodes: Mapping[float, _Node], energy: float
) -> tuple[tuple[float, float] | None, list[float], list[float]]:
    """Return the angle at which the ascents of U sum up to the energy, and U there.

    None: they do not. Between the angles in `nodes` U is interpolated by cubic polynomials. The
    second value are the angles that should be near nodes: this one, and before it the turning
    points and the middle of steep parts. The third are the middles of parts whose slope changes.
    """
    angles, turns, curved = sorted(nodes), list[float](), list[float]()
    for first, second in pairwise(angles):
        width = second - first
        (a, b), (c, d) = nodes[first], nodes[second]
        if c == math.inf or abs(d - b) * width > _CURVED:
            curved.append(first + 0.5 * width)
        if c == math.inf:
            break
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
                return (angle, u), [*turns, angle], curved
            energy -= max(ascent, 0.0)
            if high < 1.0:
                turns.append(first + width * high)
    return None, turns, curved


def _descent_to_zero(mean: float, place: float, direction: float) -> float:
    """Return the first angle at which mean + place cos + direction sin falls to 0, or infinity."""
    size = math.hypot(place, direction)
    if size <= abs(mean):
        return math.inf
    return (math.atan2(direction, place) + math.acos(-mean / size)) % (2 * math.pi)


def _roots(a: float, b: float, c: float) -> list[float]:
    """Return the real roots of a x^2 + b x + c, in order."""
    inner = b * b - 4 * a * c
    if inner < 0:
        return []
    q = -0.5 * (b + math.copysign(math.sqrt(inner), b))
    return sorted(y / x for y, x in ((q, a), (c, q)) if x != 0)
