"""Continued runs, from the state in a result.

A state is a mapping of arrays, with the settings of its run and digests of its problem. Its bytes
are the engine's. Draws are arrays of their own: those in the result are not stored again.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from bayespoint.base import validation
from bayespoint.base.validation import Array, RandomState
from bayespoint.engine.problem import Problem
from bayespoint.engine.settings import LIMITS, SampleSettings
from bayespoint.results.billiard import BilliardResult

State = Mapping[str, Any]

_ARRAYS = {
    "bytes": (np.uint8, 1),
    "draws": (np.float64, 2),
    "functionals": (np.float64, 2),
    "kept": (np.uint64, 1),
}


def begin(
    problem: Problem, seed: RandomState, continue_from: BilliardResult | None
) -> tuple[int, State | None]:
    """Return the seed of a run, and the state of the earlier one that it continues."""
    if continue_from is None:
        return validation.seed(seed), None
    theirs, number = _state(continue_from)["problem"], continue_from.seed
    if seed is not None and (not isinstance(seed, (int, np.integer)) or seed != number):
        raise ValueError(
            f"random_state must be left out with continue_from, or be {number} as in the "
            f"earlier run; got {seed!r}"
        )
    for what, digest in digests(problem).items():
        if theirs.get(what) != digest:
            raise ValueError(
                f"continue_from must be a result of this version space: its {what} differ"
            )
    return number, complete(continue_from)


def _digest(values: Array) -> str:
    kind = f"{values.dtype.str}{values.shape}".encode()
    return hashlib.blake2b(kind + values.tobytes(), digest_size=16).hexdigest()


def digests(problem: Problem) -> dict[str, str]:
    """Return digests of a problem, without the kernel values off the diagonal."""
    more = {"number of classes": str(problem.n_functions)}
    if problem.walls is not None:
        more["walls"] = " ".join(map(_digest, vars(problem.walls).values()))
    return more | {
        "labels": _digest(problem.label),
        "softness": _digest(problem.softness),
        "offset": repr(problem.offset),
        "diagonal of the Gram matrix": _digest(problem.gram.diagonal()),
    }


def resumed_settings(result: BilliardResult, new: SampleSettings) -> SampleSettings:
    """Return the settings of `result`, with the limits of `new`, whose others must be the same."""
    known = SampleSettings(**_state(result)["settings"])
    if all(getattr(new, name) is None for name in LIMITS):
        raise ValueError("continue_from needs a limit of the run: length, tol, max_bounces, ...")
    theirs, default = known.plain(), SampleSettings().plain()
    for name, value in new.plain().items():
        if value not in (default[name], theirs[name]):
            raise ValueError(
                f"{name} must be left out with continue_from, or be {getattr(known, name)!r} as in "
                f"the earlier run; got {getattr(new, name)!r}"
            )
    if new.length is not None and new.length < result.length:
        raise ValueError(
            "length is that of the whole path, and must be at least the "
            f"{result.length!r} radians of the earlier run; got {new.length!r}"
        )
    return replace(known, **{name: getattr(new, name) for name in LIMITS})


def _state(result: object) -> State:
    """Return the state of a result, or raise an error if it has none."""
    if not isinstance(result, BilliardResult):
        raise TypeError(
            f"continue_from must be a BilliardResult; got an object of {type(result).__name__}"
        )
    if result.state is None:
        raise ValueError(
            "continue_from must be a result of VersionSpace.sample that still has its state; got "
            "one without, as classifiers loaded from a file hold: repeat its run, with "
            f"random_state={result.seed} and without continue_from, or fit again"
        )
    return result.state


def complete(result: BilliardResult) -> dict[str, Array]:
    """Return the state of a result, with the draws that only the result holds."""
    state = _checked(_state(result))
    kept = state["kept"].astype(np.int64)
    n_trajectories, n_draws = result.draws.shape[:2]
    # The last draws of each trajectory are in the result.
    own = min(int(kept.min(initial=n_draws)), n_draws)
    older = kept - own
    fits = len(kept) == n_trajectories and own >= 0
    if not fits or older.sum() != len(state["draws"]):
        raise ValueError("continue_from must have a state that belongs to its draws")
    cuts = np.cumsum(older)[:-1]

    def joined(name: str, values: Array) -> Array:
        """Return the values of each trajectory, the older ones first."""
        before = np.split(state[name].reshape(-1, values.shape[-1]), cuts)
        pairs = zip(before, values[:, :own], strict=True)
        return np.concatenate([part for pair in pairs for part in pair])

    return state | {
        "draws": joined("draws", result.draws.reshape(n_trajectories, n_draws, -1)),
        "functionals": joined("functionals", result.functionals),
    }


def _checked(state: State) -> dict[str, Array]:
    """Return the arrays of a state, or raise ValueError for a wrong type or dimension."""
    arrays = {}
    for name, (dtype, ndim) in _ARRAYS.items():
        array = state.get(name)
        if not isinstance(array, np.ndarray) or array.dtype != dtype or array.ndim != ndim:
            raise ValueError(f"{name!r} of a state must be an array of {dtype.__name__}, {ndim}-d")
        arrays[name] = np.ascontiguousarray(array)
    return arrays
