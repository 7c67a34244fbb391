"""Continued runs, from the state in a result or from a checkpoint.

A state is a mapping of arrays, with the settings and digests of the problem of its run. Its bytes
are the engine's. Draws are separate arrays: those in the result are not stored a second time.
"""

from __future__ import annotations

import dataclasses
import hashlib
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayespoint.base import io, validation
from bayespoint.base.validation import Floats, RandomState
from bayespoint.base.warnings import warn
from bayespoint.engine.problem import Problem
from bayespoint.engine.settings import EVERY, LIMITS, SampleSettings
from bayespoint.kernels.explicit import FeatureRows, Gram
from bayespoint.results.billiard import BilliardResult

State = Mapping[str, Any]

FORMAT = "bayespoint checkpoint"
VERSION = 3
_ARRAYS = {
    "bytes": (np.uint8, 1),
    "draws": (np.float64, 2),
    "functionals": (np.float64, 2),
    "held": (np.uint64, 1),
    "kept": (np.uint64, 1),
}


# --- problem and settings --------------------------------------------------------------------


def _digest(*arrays: NDArray[Any]) -> str:
    digest = hashlib.blake2b(digest_size=16)
    for array in arrays:
        digest.update(f"{array.dtype.str}{array.shape}".encode())
        digest.update(array.tobytes())
    return digest.hexdigest()


def _gram_digest(gram: Gram) -> str:
    """Return a digest of all kernel values, or of the features."""
    if isinstance(gram, FeatureRows):
        return _digest(gram.X)
    digest = hashlib.blake2b(f"{gram.dtype.str}{gram.shape}".encode(), digest_size=16)
    rows = gram if gram.flags.c_contiguous else gram.T  # the same values by symmetry
    for block in validation.blocks(len(rows)):
        digest.update(rows[block].tobytes())
    return digest.hexdigest()


def digests(problem: Problem) -> dict[str, str]:
    """Return digests of a problem, without the kernel values off the diagonal."""
    more = {"number of classes": str(problem.n_classes)} if problem.is_joint else {}
    return more | {
        "labels": _digest(problem.y),
        "softness": _digest(problem.softness),
        "offset": repr(problem.offset),
        "diagonal of the Gram matrix": _digest(np.asarray(problem.gram.diagonal())),
    }


def resumed_settings(result: BilliardResult, new: SampleSettings) -> SampleSettings:
    """Return the settings of a run that continues `result`: its own, with the limits of `new`.

    Raises ValueError if another setting of `new` is neither the default nor that of the run.
    """
    own = SampleSettings.from_plain(_state(result)["settings"])
    weight_tol = getattr(new.motion, "weight_tol", None)
    limits = {name: getattr(new, name) for name in LIMITS}
    if weight_tol is None and all(limit is None for limit in limits.values()):
        raise ValueError("continue_from needs a limit of the run: length, tol, max_bounces, ...")
    theirs, wanted, default = own.plain(), new.plain(), SampleSettings().plain()
    for name, value in wanted.items():
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
    dynamics = own.motion if weight_tol is None else new.motion
    return dataclasses.replace(own, **limits, dynamics=dynamics)


def _resumed_seed(result: BilliardResult, random_state: RandomState) -> int:
    """Return the seed of `result`, or raise ValueError if `random_state` is another."""
    if random_state is None or (
        isinstance(random_state, (int, np.integer)) and random_state == result.seed
    ):
        return result.seed
    raise ValueError(
        f"random_state must be left out with continue_from, or be {result.seed} as in the earlier "
        f"run; got {random_state!r}"
    )


def can_continue(result: BilliardResult, problem: Problem, new: SampleSettings) -> bool:
    """Return whether a run with `new` settings may continue `result`.

    Only the diagonal of the kernel values is compared.
    """
    state = result.state
    if state is None:
        return False
    return bool(new.plain() == state["settings"] and digests(problem) == state["problem"])


# --- states ----------------------------------------------------------------------------------


def _state(result: object) -> State:
    """Return the state of a result, or raise an error if it has none."""
    if not isinstance(result, BilliardResult):
        raise TypeError(
            f"continue_from must be a BilliardResult; got an object of {type(result).__name__}"
        )
    if result.state is None:
        raise ValueError(
            "continue_from must be a result of VersionSpace.sample that still has its state; got "
            "one without"
        )
    return result.state


def require_same(problem: Problem, result: BilliardResult) -> None:
    """Raise ValueError unless `result` is of this problem, up to values off the diagonal."""
    theirs = _state(result)["problem"]
    for what, digest in digests(problem).items():
        if theirs.get(what) != digest:
            raise ValueError(
                f"continue_from must be a result of this version space: its {what} differ"
            )


def state_runs(result: BilliardResult) -> list[Any]:
    """Return the limits of the runs that led to a result; None for one that no limit ended."""
    return list(_state(result)["runs"])


def has_arrays(result: BilliardResult) -> bool:
    """Return whether a result's state has its arrays; otherwise its runs are to be repeated."""
    return "bytes" in _state(result)


def complete(problem: Problem, result: BilliardResult) -> dict[str, NDArray[Any]]:
    """Return the state of a result of a problem, with the draws that only the result holds.

    Raises ValueError if its arrays do not fit together.
    """
    state = _checked(_state(result))
    draws, functionals = [], []
    begin = 0
    n_trajectories, n_draws = result.draws.shape[:2]
    held, kept = (state[name].astype(np.int64) for name in ("held", "kept"))
    fit = len(held) == len(kept) == n_trajectories and held.sum() == len(state["draws"])
    if not fit or (held < 0).any() or (kept < held).any() or (kept - held > n_draws).any():
        raise ValueError("continue_from must have a state that belongs to its draws")
    for t in range(n_trajectories):
        end = begin + held[t]
        own = kept[t] - held[t]
        draws += [state["draws"][begin:end], problem.to_planes(result.draws[t, :own])]
        if held[t]:
            functionals.append(state["functionals"][begin:end])
        functionals.append(result.functionals[t, :own])
        begin = end
    whole = {name: state[name] for name in _ARRAYS}
    whole["draws"] = np.concatenate(draws)
    whole["functionals"] = np.concatenate(functionals)
    whole["held"] = whole["kept"]
    return whole


def _checked(state: State) -> dict[str, NDArray[Any]]:
    """Return the arrays of a state, or raise ValueError for a wrong type or dimension."""
    arrays = {}
    for name, (dtype, ndim) in _ARRAYS.items():
        array = state.get(name)
        if not isinstance(array, np.ndarray) or array.dtype != dtype or array.ndim != ndim:
            raise ValueError(f"{name!r} of a state must be an array of {dtype.__name__}, {ndim}-d")
        arrays[name] = np.ascontiguousarray(array)
    return arrays


# --- checkpoints -----------------------------------------------------------------------------


class Checkpoint:
    """The file that holds the state of a run, so that the run can be continued if it is killed.

    `settings` are all on which the result depends, as plain values. `seed` is that of a new run; an
    existing file has its own. `state` is that in the file, or None if there is no file.

    Raises
    ------
    OSError
        If no file can be written in the folder, or the file cannot be read.
    ValueError
        If the file is damaged, of another program, or of another problem or other settings.
    """

    def __init__(
        self,
        path: io.StrPath,
        every: object,
        problem: Problem,
        settings: Mapping[str, Any],
        seed: int,
    ) -> None:
        # The engine's clock cannot represent more than 1e19 seconds.
        self.every = min(validation.real("every", every, low=0.0), 1e9)
        try:
            self.path = Path(path)
        except TypeError:
            raise TypeError(f"checkpoint must be a path; got {path!r}") from None
        io.check_path("checkpoint", path)
        self.meta: dict[str, Any] = {
            "settings": dict(settings),
            "problem": digests(problem) | {"Gram matrix": _gram_digest(problem.gram)},
            "seed": seed,
        }
        self.state = self._read()
        if self.state is None:
            io.try_to_write(self.path)
        io.remove_leftovers(self.path)

    def _read(self) -> dict[str, NDArray[Any]] | None:
        """Return the state in the file, or None if there is no file."""
        try:
            arrays, meta = io.read(self.path, FORMAT, VERSION)
        except FileNotFoundError:
            return None
        name = os.fspath(self.path)
        for what, article in (("problem", "another problem"), ("settings", "another run")):
            self._compare(what, article, meta.get(what))
        if type(meta.get("seed")) is not int:
            raise ValueError(f"checkpoint {name!r} has no seed; got {meta.get('seed')!r}")
        self.meta["seed"] = meta["seed"]
        try:
            return _checked(arrays)
        except ValueError as error:
            raise ValueError(f"checkpoint {name!r}: {error}") from None

    def _compare(self, what: str, article: str, theirs: object) -> None:
        """Raise ValueError if the problem or the settings differ from those in the file."""
        own = self.meta[what]
        found = theirs if isinstance(theirs, dict) else {}
        for key in (*own, *found):
            if key not in found or key not in own or found[key] != own[key]:
                seen = f" ({found.get(key)!r}, not {own.get(key)!r})" if what == "settings" else ""
                raise ValueError(
                    f"checkpoint {os.fspath(self.path)!r} is of {article}: the {key} differs"
                    f"{seen}. Remove the file to start again, or give another one"
                )

    def write(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Write a state, or issue a warning if that fails."""
        arrays = {name: state[name] for name in _ARRAYS}
        try:
            io.write(self.path, FORMAT, VERSION, arrays, self.meta)
        except OSError as error:
            warn(
                f"the checkpoint is not up to date, the run continues without it: {error}",
                RuntimeWarning,
            )


def begin(
    problem: Problem,
    settings: SampleSettings,
    seed: RandomState,
    start: Floats | None,
    *,
    continue_from: BilliardResult | None,
    checkpoint: io.StrPath | None,
    every: object,
) -> Origin:
    """Return the origin of a run; `SampleOptions` has the parameters."""
    own, about = settings.plain(), digests(problem)
    state, before = None, []
    if continue_from is None:
        number = validation.seed(seed)
    else:
        number = _resumed_seed(continue_from, seed)
        require_same(problem, continue_from)
        state = complete(problem, continue_from)
        before = state_runs(continue_from)
    if checkpoint is None:
        if every != EVERY:
            raise ValueError(f"every is for runs with a checkpoint; got {every!r} without one")
        return Origin(own, about, before, number, state, None)
    whole = own | settings.limits()
    whole["weight_tol"] = getattr(settings.motion, "weight_tol", None)
    # Seeds drawn from a generator are not compared: it has moved on since the first call.
    whole["random_state"] = int(seed) if isinstance(seed, (int, np.integer)) else None
    whole["start"] = None if start is None else _digest(start)
    whole["continue_from"] = None if state is None else _digest(state["bytes"])
    kept = Checkpoint(checkpoint, every, problem, whole, number)
    state = state if kept.state is None else kept.state
    return Origin(own, about, before, kept.meta["seed"], state, kept)


@dataclasses.dataclass(frozen=True)
class Origin:
    """The beginning of a run: new, or the state of an earlier one."""

    settings: dict[str, Any]
    """`SampleSettings.plain` of the run."""

    problem: dict[str, str]
    """Digests of the problem."""

    before: list[Any]
    """Limits of the earlier runs, as `BilliardResult.state` has them."""

    seed: int
    state: Mapping[str, NDArray[Any]] | None
    checkpoint: Checkpoint | None

    @property
    def arguments(self) -> dict[str, Any]:
        """The arguments of the engine's run."""
        if self.checkpoint is None:
            return {"state": self.state, "checkpoint": None, "every": 0.0}
        write, every = self.checkpoint.write, self.checkpoint.every
        return {"state": self.state, "checkpoint": write, "every": every}
