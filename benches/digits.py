"""Images made of the first 5000 digits of MNIST, for benchmarks: even ones against odd ones."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

FILE = "mnist5k_multiclass.csv.gz"
HELD_OUT = 1000
SHIFT = 2
NOISE = 0.05
SIDE = 28

Floats = NDArray[np.float64]


def digits(
    examples: int, seed: int, *, ten: bool = False
) -> tuple[Floats, NDArray[Any], Floats, NDArray[Any]]:
    """Return inputs and labels (-1 odd, +1 even; or the `ten` digits) for training and the test."""
    folder = os.environ.get("BAYESPOINT_DATA")
    if folder is None or not (Path(folder) / FILE).exists():
        raise SystemExit(f"BAYESPOINT_DATA must name a folder with {FILE}; it is {folder!r}")
    table = np.loadtxt(Path(folder) / FILE, delimiter=",", skiprows=1, dtype=np.float64)
    rng = np.random.default_rng(seed)
    table = table[rng.permutation(len(table))]
    X, y = table[:, :-1] / 255.0, table[:, -1].astype(int)
    if not ten:
        y = np.where(y % 2 == 0, 1, -1)
    test, (X, y) = (X[:HELD_OUT], y[:HELD_OUT]), (X[HELD_OUT:], y[HELD_OUT:])
    chosen = np.arange(examples) % len(X)
    images = X[chosen].reshape(-1, SIDE, SIDE)
    for k in range(len(X), examples):  # the first round is that of the digits as they are
        down, right = rng.integers(-SHIFT, SHIFT + 1, size=2)
        images[k] = np.roll(images[k], (down, right), axis=(0, 1))
        images[k] += NOISE * rng.standard_normal((SIDE, SIDE))
    return images.reshape(examples, -1), y[chosen], *test
