"""The sampling problem, and how every sampler is timed.

Needs NumPy alone: each peer has an environment of its own.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

KEPT = 400_000
"""Draws kept, about: enough for those of the fastest sampler to depend on one another."""

CHUNK = 2_000
"""Draws asked for at a time."""

WARM_UP = 0.2
"""Share of the time that is spent, and not counted, before draws are kept."""


def problem(m: int, r: int, seed: int) -> tuple[Any, Any]:
    """Return the (m, r) unit normals of a cone, and a direction inside: the teacher."""
    rng = np.random.default_rng(seed)
    teacher = rng.standard_normal(r)
    normals = rng.standard_normal((m, r))
    normals *= np.sign(normals @ teacher)[:, None]
    normals /= np.linalg.norm(normals, axis=1, keepdims=True)
    return normals, teacher / np.linalg.norm(teacher)


def functionals(r: int) -> Any:
    """Return 20 fixed unit vectors of length r, whose products with w/|w| are looked at."""
    vectors = np.random.default_rng(20).standard_normal((20, r))
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def seen(draws: Any, normals: Any) -> Any:
    """Return the products of directions in the cone with the functionals."""
    if not np.isfinite(draws).all() or (draws @ normals.T < -1e-9).any():
        raise SystemExit("the sampler left the cone")
    return draws @ functionals(normals.shape[1]).T / np.linalg.norm(draws, axis=1, keepdims=True)


def time_of(sample: Callable[[int, int], Any], normals: Any, seconds: float) -> tuple[Any, float]:
    """Return what is seen of the draws of a sampler, and the seconds that the draws took.

    ``sample(n, thinning)`` goes on from where it stopped and returns n points, one after every
    `thinning` steps, shape (n, r). How many steps fit into the time is found while it warms up.
    """
    began, steps, batch = time.perf_counter(), 0, 16
    while (spent := time.perf_counter() - began) < WARM_UP * seconds:
        sample(1, batch)
        steps += batch
        batch = min(2 * batch, 2**20) if spent < 0.02 * seconds else batch
    thinning = max(1, math.ceil(steps / spent * seconds / KEPT))
    chunk = max(1, min(CHUNK, round(steps / spent * seconds / thinning / 10)))
    values, taken = [], 0.0
    while taken < seconds:
        began = time.perf_counter()
        draws = sample(chunk, thinning)
        taken += time.perf_counter() - began
        values.append(seen(draws, normals))
    return np.concatenate(values), taken


def main(samplers: dict[str, Callable[[Any, Any, int, float], tuple[Any, float]]]) -> None:
    """Time one sampler, and write what was seen and the seconds to a file.

    A sampler takes normals, a direction inside, seed and seconds, and returns these two.
    """
    parser = argparse.ArgumentParser()
    parser.add_argument("sampler", choices=[*samplers, "list"])
    parser.add_argument("--size", type=int, nargs=2, metavar=("M", "R"), default=(100, 20))
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--out", type=Path, default=Path("draws.npz"))
    options = parser.parse_args()
    if options.sampler == "list":
        print("\n".join(samplers))
        return
    normals, inside = problem(*options.size, options.seed)
    sampler = samplers[options.sampler]
    values, seconds = sampler(normals, inside, options.seed, options.seconds)
    np.savez(options.out, values=values, seconds=seconds)
