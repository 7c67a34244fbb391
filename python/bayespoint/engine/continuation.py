"""Runs that go on: what a result keeps for it, and checkpoints of runs that may be killed.

The state of a run is a mapping of arrays with the settings that it belongs to. Its bytes are the
engine's; the draws are arrays of their own, because a result has most of them already and its
state does not hold these a second time.
"""

from __future__ import annotations

import dataclasses
import hashlib
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayespoint.base import io, validation
from bayespoint.base.validation import Floats, RandomState
from bayespoint.base.warnings import warn
from bayespoint.engine.problem import Problem
from bayespoint.engine.settings import ENDS, SampleSettings
from bayespoint.kernels.rows_on_demand import Gram, KernelRows
from bayespoint.results.billiard import BilliardResult

State = Mapping[str, Any]

FORMAT = "bayespoint checkpoint"
VERSION = 2
EVERY = 60.0
"""Seconds between two states, unless said otherwise."""

_ARRAYS = {
    "bytes": (np.uint8, 1),
    "draws": (np.float64, 2),
    "functionals": (np.float64, 2),
    "held": (np.uint64, 1),
    "kept": (np.uint64, 1),
}


# --- the problem and the settings that a state belongs to ------------------------------------


def _digest(*arrays: NDArray[Any]) -> str:
    digest = hashlib.blake2b(digest_size=16)
    for array in arrays:
        digest.update(f"{array.dtype.str}{array.shape}".encode())
        digest.update(array.tobytes())
    return digest.hexdigest()


def _gram_digest(gram: Gram) -> str:
    """Return a digest of all kernel values, or of the inputs and the kernel."""
    if isinstance(gram, KernelRows):
        kernel = np.array([gram.form, repr(gram.sigma), repr(gram.degree), repr(gram.coef0)])
        return _digest(gram.inputs, kernel, np.array(gram.factor))
    digest = hashlib.blake2b(f"{gram.dtype.str}{gram.shape}".encode(), digest_size=16)
    rows = gram if gram.flags.c_contiguous else gram.T  # the same values: it is symmetric
    for block in validation.blocks(len(rows)):
        digest.update(rows[block].tobytes())
    return digest.hexdigest()


def digests(problem: Problem) -> dict[str, str]:
    """Return digests of what a problem is made of, but for kernel values off the diagonal."""
    return {
        "labels": _digest(problem.y),
        "softness": _digest(problem.softness),
        "offset": repr(problem.offset),
        "diagonal of the Gram matrix": _digest(np.asarray(problem.gram.diagonal())),
    }


def resumed_settings(result: BilliardResult, new: SampleSettings) -> SampleSettings:
    """Return the settings of a run that goes on from a result.

    The ends are the `new` ones. The other settings are those of the run, and the new ones may only
    say the same: one that is the default was left out.
    """
    own = SampleSettings.from_plain(_state(result)["settings"])
    weight_tol = getattr(new.motion, "weight_tol", None)
    ends = {name: getattr(new, name) for name in ENDS}
    if weight_tol is None and all(end is None for end in ends.values()):
        raise ValueError("continue_from needs an end of the run: length, tol, max_bounces, ...")
    theirs, wanted, default = own.plain(), new.plain(), SampleSettings().plain()
    for name, value in wanted.items():
        if value not in (default[name], theirs[name]):
            raise ValueError(
                f"{name} must be left out with continue_from, or be {getattr(own, name)!r} as in "
                f"the run that goes on; got {getattr(new, name)!r}"
            )
    if new.length is not None and new.length < result.length:
        raise ValueError(
            "length is that of the whole path, and must be at least the "
            f"{result.length!r} radians that are behind; got {new.length!r}"
        )
    dynamics = own.motion if weight_tol is None else new.motion
    return dataclasses.replace(own, **ends, dynamics=dynamics)


def _resumed_seed(result: BilliardResult, random_state: RandomState) -> int:
    """Return the seed of a run that goes on from a result: no other may be given."""
    if random_state is None or (
        isinstance(random_state, (int, np.integer)) and random_state == result.seed
    ):
        return result.seed
    raise ValueError(
        f"random_state must be left out with continue_from, or be {result.seed} as in the run that "
        f"goes on; got {random_state!r}"
    )


def fits(result: BilliardResult, problem: Problem, new: SampleSettings) -> bool:
    """Whether a run on a problem with `new` settings would be an old one, but for its ends.

    Kernel values are told by their diagonal alone.
    """
    state = result.state
    if state is None:
        return False
    return bool(new.plain() == state["settings"] and digests(problem) == state["problem"])


# --- states ----------------------------------------------------------------------------------


def _state(result: object) -> State:
    """Return the state of a result that can be continued."""
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


def complete(result: BilliardResult) -> dict[str, NDArray[Any]]:
    """Return the state of a result with all draws that its trajectories go on with.

    Raises ValueError for arrays that cannot be those of a state.
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
        draws += [state["draws"][begin:end], result.draws[t, :own]]
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
    """Return the arrays of a state, with the types and dimensions that they should have."""
    arrays = {}
    for name, (dtype, ndim) in _ARRAYS.items():
        array = state.get(name)
        if not isinstance(array, np.ndarray) or array.dtype != dtype or array.ndim != ndim:
            raise ValueError(f"{name!r} of a state must be an array of {dtype.__name__}, {ndim}-d")
        arrays[name] = np.ascontiguousarray(array)
    return arrays


# --- checkpoints -----------------------------------------------------------------------------


class Checkpoint:
    """The file that a run is kept in, to go on from there if it is killed.

    Parameters
    ----------
    path : str or path-like
        The file.
    every : float
        Seconds between two states.
    problem : Problem
        What the run is about.
    settings : dict
        All settings of the run that its result depends on, plain values.
    seed : int
        Of the run, if it begins here: the file knows that of another beginning.

    Raises
    ------
    OSError
        If files cannot be made in its folder, or it cannot be read.
    ValueError
        If there is a file that is damaged, of another program, or of another run.
    """

    def __init__(
        self,
        path: io.StrPath,
        every: object,
        problem: Problem,
        settings: Mapping[str, Any],
        seed: int,
    ) -> None:
        # Longer than any run; the engine's clock does not count further than 1e19.
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
        """Return the state in the file, if there is one."""
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
        """Raise ValueError where problem or settings are not those of the file."""
        own = self.meta[what]
        found = theirs if isinstance(theirs, dict) else {}
        for key in (*own, *found):
            if key not in found or key not in own or found[key] != own[key]:
                seen = f" ({found.get(key)!r}, not {own.get(key)!r})" if what == "settings" else ""
                raise ValueError(
                    f"checkpoint {os.fspath(self.path)!r} is of {article}: the {key} differs"
                    f"{seen}. Remove the file to start afresh, or give another one"
                )

    def write(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Write a state; where that fails, warn."""
        arrays = {name: state[name] for name in _ARRAYS}
        try:
            io.write(self.path, FORMAT, VERSION, arrays, self.meta)
        except OSError as error:
            warn(
                f"the checkpoint is not up to date, the run goes on without: {error}",
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
    """Return what a run goes on from, and where it is kept."""
    own, about = settings.plain(), digests(problem)
    state = None
    if continue_from is None:
        number = validation.seed(seed)
    else:
        number = _resumed_seed(continue_from, seed)
        theirs = _state(continue_from)["problem"]
        for what, digest in about.items():
            if theirs.get(what) != digest:
                raise ValueError(
                    f"continue_from must be a result of this version space: its {what} differ"
                )
        state = complete(continue_from)
    if checkpoint is None:
        if every != EVERY:
            raise ValueError(f"every is for runs with a checkpoint; got {every!r} without one")
        return Origin(own, about, number, state, None)
    whole = own | settings.ends()
    whole["weight_tol"] = getattr(settings.motion, "weight_tol", None)
    # The state of a generator cannot be compared.
    whole["random_state"] = int(seed) if isinstance(seed, (int, np.integer)) else None
    whole["start"] = None if start is None else _digest(start)
    whole["continue_from"] = None if state is None else _digest(state["bytes"])
    kept = Checkpoint(checkpoint, every, problem, whole, number)
    state = state if kept.state is None else kept.state
    return Origin(own, about, kept.meta["seed"], state, kept)


@dataclasses.dataclass(frozen=True)
class Origin:
    """What a run goes on from, and where it is kept."""

    settings: dict[str, Any]
    problem: dict[str, str]
    seed: int
    """Of the beginning of the run."""

    state: Mapping[str, NDArray[Any]] | None
    checkpoint: Checkpoint | None

    @property
    def arguments(self) -> dict[str, Any]:
        """What the engine is told."""
        keep: Callable[[Any], None] | None = (
            None if self.checkpoint is None else self.checkpoint.write
        )
        every = 0.0 if self.checkpoint is None else self.checkpoint.every
        return {"state": self.state, "checkpoint": keep, "every": every}

    def concluded(self, run: Mapping[str, Any]) -> dict[str, Any]:
        """Return a run whose state says what it belongs to."""
        state = run["state"]
        if state is not None:
            state = {**state, "settings": self.settings, "problem": self.problem}
        return {**run, "state": state}

    def keep(self, result: BilliardResult) -> None:
        """Write the state of a run that is over."""
        if self.checkpoint is not None and result.state is not None:
            self.checkpoint.write(complete(result))
