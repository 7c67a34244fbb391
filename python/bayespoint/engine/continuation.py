"""Continued runs, from the state in a result or from a checkpoint.

A state is a mapping of arrays, with the settings of its run and digests of its problem. Its bytes
are the engine's. Draws are arrays of their own: those in the result are not stored again.
"""

from __future__ import annotations

import dataclasses
import hashlib
import os
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayespoint.base import io, validation
from bayespoint.base.validation import Floats, RandomState
from bayespoint.base.warnings import warn
from bayespoint.engine.problem import Problem
from bayespoint.engine.settings import LIMITS, SampleSettings
from bayespoint.kernels.explicit import FeatureRows, Gram
from bayespoint.results.billiard import BilliardResult

State = Mapping[str, Any]

FORMAT = "bayespoint checkpoint"
VERSION = 5
_ARRAYS = {
    "bytes": (np.uint8, 1),
    "draws": (np.float64, 2),
    "functionals": (np.float64, 2),
    "kept": (np.uint64, 1),
}


@dataclasses.dataclass(frozen=True)
class Origin:
    """The beginning of a run: new, or the state of an earlier one."""

    settings: dict[str, Any]  # `SampleSettings.plain` of the run
    problem: dict[str, str]  # digests of the problem
    seed: int
    state: State | None
    write: Callable[[State], None] | None  # writes a state to the checkpoint, if there is one


def begin(
    problem: Problem,
    settings: SampleSettings,
    seed: RandomState,
    start: Floats | None,
    *,
    continue_from: BilliardResult | None,
    checkpoint: io.StrPath | None,
) -> Origin:
    """Return the origin of a run; `SampleOptions` has the parameters."""
    about, state = digests(problem), None
    given = int(seed) if isinstance(seed, (int, np.integer)) else None
    if continue_from is None:
        number = validation.seed(seed)
    else:
        theirs, number = _state(continue_from)["problem"], continue_from.seed
        if seed is not None and given != number:
            raise ValueError(
                f"random_state must be left out with continue_from, or be {number} as in the "
                f"earlier run; got {seed!r}"
            )
        for what, digest in about.items():
            if theirs.get(what) != digest:
                raise ValueError(
                    f"continue_from must be a result of this version space: its {what} differ"
                )
        state = complete(problem, continue_from)
    origin = Origin(settings.plain(), about, number, state, None)
    if checkpoint is None:
        return origin
    whole = origin.settings | settings.limits()
    # Seeds drawn from a generator are not compared: it has moved on since the first call.
    whole["random_state"] = given
    whole["start"] = None if start is None else _digest(start)
    whole["continue_from"] = None if state is None else _digest(state["bytes"])
    about = about | {"Gram matrix": _digest(problem.gram)}
    return _from_file(origin, checkpoint, {"settings": whole, "problem": about, "seed": number})


def _digest(array: Gram | NDArray[Any]) -> str:
    values: NDArray[Any] = array.X if isinstance(array, FeatureRows) else array
    digest = hashlib.blake2b(f"{values.dtype.str}{values.shape}".encode(), digest_size=16)
    rows = values if values.flags.c_contiguous else values.T  # a matrix of kernel values
    for block in validation.blocks(len(rows)):
        digest.update(rows[block].tobytes())
    return digest.hexdigest()


def digests(problem: Problem) -> dict[str, str]:
    """Return digests of a problem, without the kernel values off the diagonal."""
    more = {"number of classes": str(problem.n_classes)} if problem.is_joint else {}
    if problem.walls is not None:
        parts = vars(problem.walls).values()
        more["walls"] = " ".join(map(_digest, parts))
    return more | {
        "labels": _digest(problem.y),
        "softness": _digest(problem.softness),
        "offset": repr(problem.offset),
        "diagonal of the Gram matrix": _digest(np.asarray(problem.gram.diagonal())),
    }


def resumed_settings(result: BilliardResult, new: SampleSettings) -> SampleSettings:
    """Return the settings of `result`, with the limits of `new`, whose others must be the same."""
    own = SampleSettings.from_plain(_state(result)["settings"])
    limits = {name: getattr(new, name) for name in LIMITS}
    if all(limit is None for limit in limits.values()):
        raise ValueError("continue_from needs a limit of the run: length, tol, max_bounces, ...")
    theirs, default = own.plain(), SampleSettings().plain()
    for name, value in new.plain().items():
        if value not in (default[name], theirs[name]):
            raise ValueError(
                f"{name} must be left out with continue_from, or be {getattr(own, name)!r} as in "
                f"the earlier run; got {getattr(new, name)!r}"
            )
    if new.length is not None and new.length < result.length:
        raise ValueError(
            "length is that of the whole path, and must be at least the "
            f"{result.length!r} radians of the earlier run; got {new.length!r}"
        )
    return dataclasses.replace(own, **limits)


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


def complete(problem: Problem, result: BilliardResult) -> dict[str, NDArray[Any]]:
    """Return the state of a result of a problem, with the draws that only the result holds."""
    state = _checked(_state(result))
    kept = state["kept"].astype(np.int64)
    n_trajectories, n_draws = result.draws.shape[:2]
    # The last draws of each trajectory are in the result.
    own = min(int(kept.min(initial=n_draws)), n_draws)
    older = kept - own
    fits = len(kept) == n_trajectories and own >= 0 and (older >= 0).all()
    if not fits or older.sum() != len(state["draws"]):
        raise ValueError("continue_from must have a state that belongs to its draws")
    cuts = np.cumsum(older)[:-1]

    def joined(name: str, values: NDArray[Any]) -> NDArray[Any]:
        """Return the values of each trajectory, the older ones first."""
        before = np.split(state[name].reshape(-1, values.shape[-1]), cuts)
        pairs = zip(before, values[:, :own], strict=True)
        return np.concatenate([part for pair in pairs for part in pair])

    return state | {
        "draws": joined("draws", problem.to_planes(result.draws)),
        "functionals": joined("functionals", result.functionals),
    }


def _checked(state: State) -> dict[str, NDArray[Any]]:
    """Return the arrays of a state, or raise ValueError for a wrong type or dimension."""
    arrays = {}
    for name, (dtype, ndim) in _ARRAYS.items():
        array = state.get(name)
        if not isinstance(array, np.ndarray) or array.dtype != dtype or array.ndim != ndim:
            raise ValueError(f"{name!r} of a state must be an array of {dtype.__name__}, {ndim}-d")
        arrays[name] = np.ascontiguousarray(array)
    return arrays


def _from_file(origin: Origin, path: io.StrPath, meta: dict[str, Any]) -> Origin:
    """Return an origin with a checkpoint: that of the file, if there is one."""
    try:
        path = Path(path)
    except TypeError:
        raise TypeError(f"checkpoint must be a path; got {path!r}") from None
    io.check_path("checkpoint", path)
    seed, state = origin.seed, origin.state
    try:
        arrays, theirs = io.read(path, FORMAT, VERSION)
    except FileNotFoundError:
        io.try_to_write(path)
    else:
        _compare(path, "another problem", meta["problem"], theirs.get("problem"), show=False)
        _compare(path, "another run", meta["settings"], theirs.get("settings"), show=True)
        if type(theirs.get("seed")) is not int:
            raise ValueError(f"checkpoint {os.fspath(path)!r} has no seed")
        seed = theirs["seed"]
        try:
            state = _checked(arrays)
        except ValueError as error:
            raise ValueError(f"checkpoint {os.fspath(path)!r}: {error}") from None
    write = partial(write_checkpoint, path, meta=meta | {"seed": seed})
    return dataclasses.replace(origin, seed=seed, state=state, write=write)


def _compare(path: Path, of: str, own: dict[str, Any], theirs: Any, *, show: bool) -> None:
    """Raise ValueError if the problem or the settings differ from those in the file."""
    found = theirs if isinstance(theirs, dict) else {}
    for key in (*own, *found):
        if key not in found or key not in own or found[key] != own[key]:
            seen = f" ({found.get(key)!r}, not {own.get(key)!r})" if show else ""
            raise ValueError(
                f"checkpoint {os.fspath(path)!r} is of {of}: the {key} differs{seen}. Remove the "
                "file to start again, or give another one"
            )


def write_checkpoint(path: Path, state: State, meta: dict[str, Any]) -> None:
    """Write a state to a file, or issue a warning if that fails."""
    try:
        io.write(path, FORMAT, VERSION, {name: state[name] for name in _ARRAYS}, meta)
    except OSError as error:
        text = f"the checkpoint is not up to date, the run continues without it: {error}"
        warn(text, RuntimeWarning)
