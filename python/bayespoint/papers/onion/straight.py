"""The onion of Ruján and Marchand along the flipper's own straight rays (Section 18.5.3)."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from bayespoint.base import memory
from bayespoint.base.validation import Floats
from bayespoint.papers.onion.table import OnionTable
from bayespoint.version_space import VersionSpace


def flipper_onion(
    space: VersionSpace,
    n_flights: int,
    rng: np.random.Generator,
    *,
    max_errors: tuple[int, int] = (5, 5),
    n_balls: int = 1,
    tau_max: float = math.inf,
) -> OnionTable:
    """Fly balls by Algorithm 18.1, and project every ray beyond the wall that it meets.

    The balls start at the largest margin. Errors of centers are by the spread of the balls, and NaN
    for a single one.

    A ray meets its planes in the order of the flight times. Between two of them it is in one layer,
    and the middle of this arc is added to the layer's center by Eq. 18.27, with the angle as its
    weight. A ray that meets no further plane before `tau_max` has no end there, and adds nothing,
    as a flight that escapes. Positions are scaled to length 1 at every wall, which does not change
    directions; `lengths` are their lengths without, for the flight times of the algorithm.
    """
    n, m, shape = n_balls, len(space.y), (max_errors[0] + 1, max_errors[1] + 1)
    memory.require(8.0 * n * m * math.prod(shape), "the centers of the layers")
    y, gram = space.y, np.diag(space.softness) + (space.gram + space.offset)
    unit = np.sqrt(np.diag(gram))
    balls = np.arange(n)

    def scaled(dual: Floats) -> Floats:
        return np.asarray(dual / np.sqrt((dual * (dual @ gram)).sum(axis=-1, keepdims=True)))

    def directions() -> Floats:
        return scaled(rng.standard_normal((n, m)) / unit)

    centers = np.zeros((n, *shape, m))
    weights = np.zeros((n, *shape))
    centers[:, 0, 0] = scaled(np.tile(space.max_margin().dual_coef, (n, 1)))
    place, way = centers[:, 0, 0].copy(), directions()
    lengths = np.ones((n, 1))
    for _ in range(n_flights):
        at, along = place @ gram, way @ gram
        speed = -y * along
        times = np.full((n, m), np.inf)
        np.divide(y * at, speed, out=times, where=speed > 0)
        # One plane more than the range allows: the one at which the ray leaves it.
        first = np.argsort(times, axis=1)[:, : sum(shape)]
        met = np.maximum(np.take_along_axis(times, first, axis=1), 0)

        # The ray is a great circle from `place`; a time is an angle on it, up to that of `way`.
        cosine = (place * along).sum(axis=1)[:, None]
        sine = np.sqrt(np.maximum(1 - cosine**2, 1e-300))
        finite = met * lengths < tau_max
        reach = np.where(finite, met, 0)
        ends = np.where(finite, np.arctan2(reach * sine, 1 + reach * cosine), np.nan)
        begins = np.column_stack([np.zeros(n), ends[:, :-1]])
        of_class = y[first] > 0
        # Errors before each plane; a plane is met once, so that they only rise.
        positive: NDArray[np.int64] = np.cumsum(of_class, axis=1) - of_class
        negative = np.arange(met.shape[1]) - positive
        ball, arc = np.nonzero(finite & (negative < shape[0]) & (positive < shape[1]))
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
        lengths = np.where(escaped[:, None], 1.0, lengths * np.hypot(time + cosine, sine))
        way = way.copy()
        way[balls, hit] -= 2 * (along[balls, hit] / unit[hit] ** 2)
        place = np.where(escaped[:, None], centers[:, 0, 0], moved)
        way = np.where(escaped[:, None], directions() if escaped.any() else way, way)
    path = weights.sum(axis=0)
    sums = (weights[..., None] * centers).sum(axis=0)
    coordinates = space.problem.coordinates(sums)
    lengths = np.sqrt((sums * coordinates).sum(axis=-1))
    lengths[path == 0] = np.nan
    norm = lengths / path
    return OnionTable(
        centers=sums / lengths[..., None],
        plane_coordinates=coordinates / lengths[..., None],
        center_norm=norm,
        center_error=np.sqrt(np.maximum(1 - norm**2, 0) / (n - 1 or math.nan)),
        path_length=path,
        log_volume=None,
        log_volume_error=None,
        layers=np.empty((0, 2), dtype=np.int64),
        layer_log_shares=np.empty((1, 0)),
        y=y,
        classes=space.classes,
        offset=space.offset,
        method="straight",
        length=float(path[0, 0]) / n,
        converged=False,
    )
