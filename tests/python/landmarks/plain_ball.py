"""Balls with soft walls on a fine grid of angles: the plain twin of the engine's."""

import math
from types import SimpleNamespace

import numpy as np

from bayespoint.landmarks.sampling import BATCH

QUARTER = 0.5 * math.pi
"""Radians of a step."""

SHARES = 1 - (1 - 1e-6) * np.linspace(1, 0, 65) ** 2
SHARES[0] = 0.0


class PlainBalls:
    """Balls that sample a posterior on circles, each from a draw of a t distribution.

    The last `n_rising` weights rise: there are hard walls between each two.
    """

    shares = SHARES  # of a flight, denser towards its end: at a hard wall U may rise without limit

    def __init__(self, posterior, normal, n_balls, seed, n_rising=0):
        self.posterior, self.normal, d = posterior, normal, len(normal.mean)
        self.walls = np.diff(np.eye(d)[d - n_rising :], axis=0)
        self.freedom, self.rng = max(3.0, d), np.random.default_rng(seed)
        self.z = self.rng.standard_normal((n_balls, d))
        while (behind := (self.gaps(self.z) + self.walls @ normal.mean <= 0).any(axis=1)).any():
            self.z[behind] /= 2

    def steps(self):
        """Take `BATCH` steps of each ball."""
        self.bounces, places = 0, []
        for _ in range(BATCH):
            self.v, left = self.directions(), np.full(len(self.z), QUARTER)
            while (left > 0).any():
                left = self.fly(left)
            places.append(self.z)
        return SimpleNamespace(draws=np.stack(places, axis=1), bounces=self.bounces)

    def directions(self):
        """Draw new directions, of the law given the place and a scale drawn afresh."""
        freedom, (_, d) = self.freedom, self.z.shape
        square = (self.z**2).sum(axis=1, keepdims=True)
        scale = np.sqrt((freedom + square) / self.rng.chisquare(freedom + d, square.shape))
        return scale * self.rng.standard_normal(self.z.shape)

    def fly(self, left):
        """Fly until the ascents of U sum up to a random energy, to a wall, or all that is left."""
        of_mean = self.walls @ self.normal.mean
        walls = first_descents(of_mean, self.gaps(self.z), self.gaps(self.v))
        ends = np.minimum(left, (1 - 1e-9) * walls.min(axis=1, initial=math.inf))
        angles = ends[:, None] * self.shares
        climbed = self.climbed(self.potentials(angles))
        energy = self.rng.exponential(size=len(left))
        bounced = climbed[:, -1] > energy
        for ball in np.flatnonzero(bounced):
            ends[ball] = np.interp(energy[ball], climbed[ball], angles[ball])
        cos, sin = np.cos(ends)[:, None], np.sin(ends)[:, None]
        self.z, self.v = cos * self.z + sin * self.v, cos * self.v - sin * self.z
        if (turned := bounced | (ends < left)).any():
            off = self.gradients()
            for ball in np.flatnonzero(turned & ~bounced):
                nearest = (self.gaps(self.z[ball]) + of_mean).argmin()
                off[ball] = self.walls[nearest] @ self.normal.root
            self.v[turned] += self.changes(self.v[turned], off[turned])
            self.bounces += turned.sum()
        return left - ends

    def gaps(self, z):
        """Return the part of (n, D) places in the differences of the weights that rise."""
        return z @ self.normal.root.T @ self.walls.T

    def climbed(self, heights):
        """Return the sums of the ascents up to each angle."""
        return np.maximum(np.diff(heights, axis=1, prepend=heights[:, :1]), 0).cumsum(axis=1)

    def changes(self, v, off):
        """Return the changes of directions that are reflected."""
        return -2 * ((off * v).sum(axis=1) / (off**2).sum(axis=1))[:, None] * off

    def start(self):
        pairs = np.stack([self.z, self.v], axis=1).reshape(-1, self.z.shape[1])
        vectors = np.concatenate([self.normal.mean[None], pairs @ self.normal.root.T])
        self.posterior.start(vectors)

    def potentials(self, angles):
        """Return U at (n, k) angles: minus the log density of w, relative to the t density of z."""
        self.start()
        rows = np.stack([np.cos(angles), np.sin(angles)], axis=2)
        balls = np.repeat(np.arange(len(angles)), angles.shape[1])
        log_p = self.posterior.log_likelihoods((balls, rows.reshape(-1, 2)))[:, 0]
        z = rows @ np.stack([self.z, self.v], axis=1)
        w = self.normal.mean + z @ self.normal.root.T
        tail = 0.5 * (self.freedom + z.shape[2]) * np.log1p((z**2).sum(axis=2) / self.freedom)
        return 0.5 * (w**2).sum(axis=2) - tail - log_p.reshape(angles.shape)

    def gradients(self):
        """Return the (n, D) gradients of U at the places."""
        self.start()
        balls = np.arange(len(self.z))
        slopes = self.posterior.slopes((balls, np.tile([1.0, 0.0], (len(balls), 1))))
        square = (self.z**2).sum(axis=1, keepdims=True)
        tail = (self.freedom + self.z.shape[1]) / (self.freedom + square) * self.z
        return (self.normal.mean + self.z @ self.normal.root.T - slopes) @ self.normal.root - tail


def first_descents(mean, place, direction):
    """Return the first angles at which mean + place cos + direction sin falls to 0, or infinity."""
    size = np.hypot(place, direction)
    with np.errstate(invalid="ignore"):
        angle = (np.arctan2(direction, place) + np.arccos(-mean / size)) % (2 * math.pi)
    return np.where(size > np.abs(mean), angle, math.inf)
