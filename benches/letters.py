"""A table of 26 capital letters: sixteen measurements of letters of many fonts, bent at random.

The measurements are those of Frey and Slate's table of letters (Machine Learning 6, 1991): the box,
the number of pixels, moments, and the edges on lines from left to right and from below to above,
each a whole number from 0 to 15. The fonts are those that come with matplotlib.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.font_manager import FontProperties
from matplotlib.path import Path
from matplotlib.textpath import TextPath
from numpy.typing import NDArray

FAMILIES = ("DejaVu Sans", "DejaVu Serif", "DejaVu Sans Mono", "STIXGeneral")
SIDE = 32
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"

Floats = NDArray[np.float64]


def letters(n: int, seed: int) -> tuple[Floats, NDArray[Any]]:
    """Return (n, 16) measurements and the letters, numbers from 0 to 25."""
    rng = np.random.default_rng(seed)
    fonts = [
        FontProperties(family=family, weight=weight, style=style)
        for family in FAMILIES
        for weight in ("normal", "bold")
        for style in ("normal", "italic")
    ]
    outlines = [[TextPath((0, 0), one, size=1.0, prop=font) for one in LETTERS] for font in fonts]
    axis = (np.arange(SIDE) + 0.5) / SIDE
    pixels = np.stack(np.meshgrid(axis, axis), axis=-1).reshape(-1, 2)
    labels = rng.integers(len(LETTERS), size=n)
    rows = np.empty((n, 16))
    for row, label in zip(rows, labels, strict=True):
        path = outlines[rng.integers(len(fonts))][label]
        low, high = path.get_extents().get_points()
        turn, shear = rng.normal(0, 0.12), rng.normal(0, 0.15)
        bend = np.array([[np.cos(turn), -np.sin(turn)], [np.sin(turn), np.cos(turn)]])
        bend = bend @ [[1.0, shear], [0.0, 1.0]] @ np.diag(rng.uniform(0.45, 0.85, 2))
        points = (path.vertices - (low + high) / 2) / (high - low).max() @ bend.T
        waves, phase = rng.normal(0, 0.04, 2), rng.uniform(0, 2 * np.pi, 2)
        points = points + waves * np.sin(6 * points[:, ::-1] + phase)
        moved = Path(points + 0.5 + rng.normal(0, 0.04, 2), path.codes)
        row[:] = measured(moved.contains_points(pixels).reshape(SIDE, SIDE))
    return rows, labels


def measured(on: NDArray[np.bool_]) -> Floats:
    """Return the measurements of an image, of which the first row is the lowest."""
    y, x = np.nonzero(on)
    if not len(x):
        return np.zeros(16)
    width, height = np.ptp(x) + 1.0, np.ptp(y) + 1.0
    center = (x.min() + x.max()) / 2, (y.min() + y.max()) / 2
    u, v = 2 * (x - center[0]) / width, 2 * (y - center[1]) / height
    right = on & ~np.roll(on, 1, axis=1)
    above = on & ~np.roll(on, 1, axis=0)
    by_y = 2 * (np.nonzero(right)[0] - center[1]) / height
    by_x = 2 * (np.nonzero(above)[1] - center[0]) / width
    found = [
        center[0] / SIDE * 15,
        center[1] / SIDE * 15,
        width / SIDE * 15,
        height / SIDE * 15,
        15 * on.mean() * 2,
        7.5 + 15 * u.mean(),
        7.5 + 15 * v.mean(),
        15 * (u * u).mean(),
        15 * (v * v).mean(),
        7.5 + 15 * (u * v).mean(),
        7.5 + 15 * (u * u * v).mean(),
        7.5 + 15 * (u * v * v).mean(),
        4 * right.sum() / height,
        7.5 + 15 * by_y.mean(),
        4 * above.sum() / width,
        7.5 + 15 * by_x.mean(),
    ]
    return np.clip(np.round(found), 0, 15)
