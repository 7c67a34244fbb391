"""The largest ellipsoid in a polytope."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import linalg

from bayespoint.base.validation import Floats

_GAP = 1e-13  # mean of multiplier times slack at the end: the log volume's error for each wall
_RESIDUAL = 1e-10  # largest violation of the other conditions
_MAX_STEPS = 200  # 10 to 25 are usual


class Ellipsoid(NamedTuple):
    """The ellipsoid ``center + B @ u``, ``|u| <= 1``, with a symmetric B."""

    center: Floats
    """(n,) Its center."""

    square: Floats
    """(n, n) B @ B."""


def inscribed_ellipsoid(normals: Floats, offsets: Floats) -> Ellipsoid:
    """Return the ellipsoid of largest volume where ``normals @ x <= offsets``.

    A primal-dual method in n + 2 m unknowns (Y. Zhang and L. Gao, "On numerical solution of the
    maximum volume ellipsoid problem", SIAM Journal on Optimization 14, 2003), O(m³) a step. The
    (m, n) normals must bound a polytope with the origin inside, so that the offsets are positive.
    """
    walls = normals / offsets[:, None]
    m, n = walls.shape
    center, room, y = np.zeros(n), np.ones(m), np.ones(m)
    reach = np.sqrt(((walls @ np.linalg.inv(walls.T @ walls)) * walls).sum(axis=1))
    y *= reach.max() ** 2  # the largest of this shape around the origin
    slack = np.maximum(0.1, 1 - reach / reach.max())
    for _ in range(_MAX_STEPS):
        square = linalg.inv((walls.T * y) @ walls)
        products = walls @ square @ walls.T
        reach = np.sqrt(products.diagonal())
        gap = (y * slack).mean()
        aim = max(min(0.5, gap) * gap, _GAP)
        balance, unfilled = -(y * reach) @ walls, room - reach - slack
        excess = aim - y * slack
        residual = max(np.abs(balance).max(), np.abs(unfilled).max())
        if residual < _RESIDUAL and gap < 2 * _GAP:
            return Ellipsoid(center, square)
        # Newton's step, without the unknowns of the shape.
        weighted, twice = y[:, None] * walls, 2 * y * reach
        system = (y[:, None] * products) * (y * products) + np.diag(twice * slack)
        shifts = np.linalg.solve(system, (reach + slack)[:, None] * weighted)
        slope = (twice[:, None] * shifts - weighted).T
        excess /= y
        move = np.linalg.solve(slope @ walls, balance + slope @ (unfilled - excess))
        nearer = walls @ move
        growth = np.linalg.solve(system, twice * (nearer - unfilled + excess))
        thinner = slack * growth - excess
        fastest = max((nearer / room).max(), -growth.min(), (thinner / slack).max(), 1.0)
        step = max(0.75, 1 - max(residual, np.abs(excess * y).max())) / fastest
        center, y, slack = center + step * move, y * (1 + step * growth), slack - step * thinner
        room = room - step * nearer
    raise RuntimeError(f"the largest ellipsoid was not found in {_MAX_STEPS} steps")
