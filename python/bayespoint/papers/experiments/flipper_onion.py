"""The onion of Ruján and Marchand along the flipper's own straight rays (Section 18.5.3)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bayespoint.base.validation import Floats, Labels


class FlipperOnion(NamedTuple):
    """Centers of the layers around version space, found by several balls."""

    centers: Floats
    """(n_balls, size, size, m) Dual coefficients of unit vectors: first the number of violated
    examples labeled -1, then of those labeled +1; NaN for layers without a ray."""

    weights: Floats
    """(n_balls, size, size) Radians of the rays in each layer, the weights of the centers."""

    bounces: int
    """Flights that ended at a wall, of all balls."""

    escapes: int
    """Flights that met no wall, of all balls."""

    def merged(self) -> Floats:
        """Return the centers of all balls together, (size, size, m), of any length."""
        seen = self.weights[..., None]
        return np.asarray(
            np.where(seen > 0, seen * self.centers, 0).sum(axis=0)
            / np.where(seen.sum(axis=0) > 0, seen.sum(axis=0), np.nan)
        )


def flipper_onion(
    gram: Floats,
    y: Labels,
    starts: Floats,
    n_flights: int,
    rng: np.random.Generator,
    *,
    size: int = 6,
    known: NDArray[np.bool_] | None = None,
) -> FlipperOnion:
    """Fly balls by Algorithm 18.1, and project every ray beyond the wall that it meets.

    The matrix has the constant 1 of Eq. 18.21 for a threshold. `starts`, (n_balls, m), has the dual
    coefficients of a weight vector in version space for each ball, and `known`, of the same shape,
    the examples that it has as walls, by default all. Layers have up to ``size - 1`` violated
    examples of either label.

    A ray meets its planes in the order of the flight times. Between two of them it is in one layer,
    and the middle of this arc is added to the layer's center by Eq. 18.27, with the angle as its
    weight. A ray that meets no further plane has no end there, and adds nothing, as a flight that
    escapes. Positions are scaled to length 1 at every wall, which does not change directions.
    """
    n, m = starts.shape
    walls = np.ones((n, m), dtype=bool) if known is None else known
    unit = np.sqrt(np.diag(gram))
    balls = np.arange(n)

    def scaled(dual: Floats) -> Floats:
        return np.asarray(dual / np.sqrt((dual * (dual @ gram)).sum(axis=-1, keepdims=True)))

    def directions() -> Floats:
        return scaled(np.where(walls, rng.standard_normal((n, m)) / unit, 0))

    centers = np.zeros((n, size, size, m))
    weights = np.zeros((n, size, size))
    centers[:, 0, 0] = scaled(starts)
    place, way = centers[:, 0, 0].copy(), directions()
    escapes = 0
    for _ in range(n_flights):
        at, along = place @ gram, way @ gram
        speed = np.where(walls, -y * along, 0)
        times = np.full((n, m), np.inf)
        np.divide(y * at, speed, out=times, where=speed > 0)
        # One plane more than the range allows: the one at which the ray leaves it.
        first = np.argsort(times, axis=1)[:, : 2 * size]
        met = np.maximum(np.take_along_axis(times, first, axis=1), 0)

        # The ray is a great circle from `place`; a time is an angle on it, up to that of `way`.
        cosine = (place * along).sum(axis=1)[:, None]
        sine = np.sqrt(np.maximum(1 - cosine**2, 1e-300))
        finite = np.isfinite(met)
        reach = np.where(finite, met, 0)
        ends = np.where(finite, np.arctan2(reach * sine, 1 + reach * cosine), np.nan)
        begins = np.column_stack([np.zeros(n), ends[:, :-1]])
        of_class = y[first] > 0
        # Errors before each plane; a plane is met once, so that they only rise.
        positive: NDArray[np.int64] = np.cumsum(of_class, axis=1) - of_class
        negative = np.arange(met.shape[1]) - positive
        ball, arc = np.nonzero(finite & (positive < size) & (negative < size))
        layer = ball, negative[ball, arc], positive[ball, arc]
        weight = (ends - begins)[ball, arc]
        middle = ((ends + begins) / 2)[ball, arc]
        c, s = cosine[ball, 0], sine[ball, 0]
        b = np.sin(middle) / s
        a = np.cos(middle) - c * b
        old = centers[layer]
        inner = (old * (a[:, None] * at[ball] + b[:, None] * along[ball])).sum(axis=1)
        angle = np.arccos(np.clip(inner, -1, 1))
        weights[layer] += weight
        share = np.where(weight > 0, weight / np.where(weight > 0, weights[layer], 1), 0)
        rest = 1 - share
        keep = rest * np.sinc(rest * angle / np.pi) / np.sinc(angle / np.pi)
        add = share * np.sinc(share * angle / np.pi) / np.sinc(angle / np.pi)
        new = a[:, None] * place[ball] + b[:, None] * way[ball]
        centers[layer] = keep[:, None] * old + add[:, None] * new

        escaped = ~finite[:, 0]
        hit = first[:, 0]
        time = np.where(escaped, 0, met[:, 0])[:, None]
        moved = scaled(place + time * way)
        way = way.copy()
        way[balls, hit] -= 2 * (along[balls, hit] / unit[hit] ** 2)
        place = np.where(escaped[:, None], centers[:, 0, 0], moved)
        way = np.where(escaped[:, None], directions() if escaped.any() else way, way)
        escapes += int(escaped.sum())
    centers[weights == 0] = np.nan
    return FlipperOnion(centers, weights, n * n_flights - escapes, escapes)
