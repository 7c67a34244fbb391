"""Bytes made into arguments of the compiled functions."""

import contextlib
import functools
from types import SimpleNamespace

import numpy as np

from bayespoint import _core

EDGES = [0.0, -0.0, 1.0, -1.0, 0.5, 5e-324, 1e-300, 1e-150, 1e-16, 1e150, 1e300]
EDGES += [1.7976931348623157e308, float("inf"), float("-inf"), float("nan")]


class Bytes:
    """Choices out of bytes; zeros when they are used up."""

    def __init__(self, data):
        self.data, self.at = data, 0

    def byte(self):
        self.at += 1
        return self.data[self.at - 1] if self.at <= len(self.data) else 0

    def below(self, n):
        return (self.byte() + 256 * (self.byte() if n > 256 else 0)) % n

    def rarely(self, n):
        return self.byte() % n == n - 1

    def pick(self, options):
        return options[self.below(len(options))]

    def number(self):
        kind = self.below(4)
        if kind == 0:
            return self.pick(EDGES)
        if kind == 1:
            return float(10.0 ** (self.byte() - 128)) * (self.byte() - 128)
        return (self.byte() - 128 + self.byte() / 256) / 16


STRANGERS = [None, "x", b"x", 1, -1, 2**70, 0.5, float("nan"), [], [1.0], {}, np.eye(2), object()]


def _array(b, shape, dtype, tame=True):
    values = [
        b.number() if not tame or b.rarely(8) else (b.byte() - 128) / 32
        for _ in range(int(np.prod(shape)))
    ]
    with np.errstate(all="ignore"):
        return np.array(values).reshape(shape).astype(dtype)


def _disguised(b, array):
    """Return an array in a form that the door must refuse or understand."""
    form = b.below(9)
    if form == 0:
        return array.astype(b.pick(["f4", "f8", "i8", "i1", "u8", ">f8", "c16", "O", "?"]))
    if form == 1:
        return array[..., ::-1]
    if form == 2:
        return np.asfortranarray(array)
    if form == 3:
        return array[None]
    if form == 4:
        return array[:-1]
    if form == 5:
        return np.concatenate([array, array])
    if form == 6:
        return array.tolist()
    if form == 7:
        return np.repeat(array, 2, axis=-1)[..., ::2]
    return b.pick(STRANGERS)


def _space(gram, label, softness, offset=0.0):
    return {
        "gram": gram,
        "label": label,
        "offset": offset,
        "softness": softness,
        "n_functions": 1,
        "walls": None,
        "inverse": None,
    }


RUN = {
    "transparency": (0.0, 0.0),
    "n_trajectories": 1,
    "n_draws": 2,
    "length": 1.0,
    "tol": None,
    "max_bounces": 20,
    "refresh": "auto",
    "average": "arc",
    "n_threads": 1,
    "seed": 1,
}
MOTIONS = [
    {"name": "chord", "tau_max": 1e6, "weight_tol": None},
    {"name": "flipper", "tau_max": 1e6, "points": "midpoints"},
    {"name": "flipper", "tau_max": 1e6, "points": "bounces"},
    {"name": "x"},
]
SCATTERED = [
    {"name": "scattered", "cosine": cosine, "scatterer": scatterer}
    for cosine in (True, False)
    for scatterer in (None, "auto", {"given": 0.01})
]


def _called(name, space, settings, given):
    """Call a compiled function: the problem is an object, the settings a mapping."""
    arguments = [SimpleNamespace(**space), *([settings] if settings else [])]
    return getattr(_core, name)(*arguments, callback=None, **given)


@functools.cache
def _good_state():
    """Return the problem and the state of a run."""
    x = np.random.default_rng(3).standard_normal((4, 3))
    space = _space(x @ x.T, np.where(x[:, 0] > 0, 1, 0), np.zeros(4))
    run = _called("run", space, RUN | {"length": 2.0}, {"start": None, "state": None})
    state = dict(run["state"])
    for key in ("draws", "functionals"):
        last = [part[len(part) - int(k) :] for part, k in zip(run[key], state["kept"], strict=True)]
        state[key] = np.concatenate(last).copy()
    return space, state


def _random_space(b):
    m = 1 + b.below(5)
    x = _array(b, (m, 1 + b.below(4)), "f8", tame=not b.rarely(6))
    with np.errstate(all="ignore"):
        gram = x @ x.T if not b.rarely(8) else _array(b, (m, m), "f8", tame=False)
        gram = gram.astype(np.float32) if b.rarely(4) else gram
    label = np.array([1 if b.rarely(2) else 0 for _ in range(m)])
    softness = np.full(m, 0.1 if b.rarely(3) else 0.0)
    space = _space(gram, label, softness, b.number() if b.rarely(6) else 0.0)
    if b.rarely(6):
        upper = np.triu(_array(b, (m, m), "f8")) + 3 * np.eye(m)
        diagonal = np.abs(_array(b, (m,), "f8")) + 0.1
        if b.rarely(3):
            upper = _disguised(b, upper)
        elif b.rarely(2):
            diagonal = _disguised(b, diagonal)
        space["inverse"] = SimpleNamespace(lower=SimpleNamespace(T=upper)), diagonal
    return space


def _settings(b, name, m):
    """Return settings of a compiled function and its other arguments, not all of them good."""
    if name == "light_trap":
        return {}, {"seed": b.byte()}
    if name == "feasible_point":
        return {}, {"method": b.pick(["light_trap", "max_margin", "x"]), "seed": b.byte()}
    if name == "max_margin":
        return {"tol": 1e-6, "max_iter": 500}, {}
    if name == "correlation":
        motion = dict(b.pick(SCATTERED)) if b.rarely(2) else None
        few = {"n_trajectories": 1, "n_threads": 1, "seed": 1, "max_bounces": 1 + b.below(20)}
        return few | {"angle": 1e-3, "n_pairs": 1, "motion": motion}, {}
    run = RUN | {"max_bounces": 1 + b.below(40), "average": b.pick(["arc", "impulse"])}
    run["refresh"] = b.pick(["auto", "none", {"pair": None}, {"full": 0.5}])
    if b.rarely(3):
        k = b.number()
        run["transparency"] = (k, k if b.rarely(2) else 0.0)
    start = _array(b, (m,), "f8", tame=False) if b.rarely(6) else None
    if name == "run":
        return run, {"start": start, "state": None}
    return {"motion": dict(b.pick(MOTIONS + SCATTERED)), "run": run}, {"start": start}


def _changed(b, state):
    """Return a state with another value in the place of a part."""
    key = b.pick(sorted(state))
    array = state[key].copy()
    if b.rarely(8) or not array.size:
        return state | {key: _disguised(b, array)}
    if key == "bytes":
        return state | {key: _forged(b, array)}
    value = b.pick([0, 1, 255, 2**63]) if array.dtype.kind == "u" else b.number()
    array.flat[b.below(array.size)] = value
    return state | {key: array}


COUNTS = ("n_trajectories", "n_draws", "n_threads", "length", "tol", "max_bounces", "max_iter")
"""What is counted is left alone: the package checks that there is room for it."""
DEAR = ("transparency", "seed", "start", "scatterer", "tau_max", "weight_tol")
"""A call without a fault is dear: the engine's own targets look at what it does."""
REFUSALS = (ValueError, TypeError, FloatingPointError, OverflowError, LookupError)
"""The last two: an integer that no machine word holds, a state that lacks a part."""


def door(data):
    """Call a compiled function with arguments out of bytes: an answer, or one of the refusals."""
    b = Bytes(data)
    name = b.pick(
        ["run", "fly", "correlation", "feasible_point", "light_trap", "max_margin", "resume"]
    )
    if name == "resume":
        space, state = _good_state()
        name, space = "run", dict(space)
        settings, given = RUN | {"length": 2.5}, {"start": None, "state": _changed(b, state)}
    else:
        space = _random_space(b)
        settings, given = _settings(b, name, len(space["label"]))
    m = len(space["label"])
    parts = [space, settings, given, settings.get("motion") or {}, settings.get("run", {})]
    is_slow = name not in ("feasible_point", "max_margin")
    if not b.rarely(24 if is_slow else 4):
        part, key = b.pick([(part, key) for part in parts for key in part if key not in COUNTS])
        if is_slow and key in DEAR:
            part, key = space, "label"
        value = part[key]
        part[key] = _disguised(b, value) if isinstance(value, np.ndarray) else b.pick(STRANGERS)
    if b.rarely(4):
        space["label"] = np.array([b.below(4) for _ in range(m)], dtype="i8")
        space["n_functions"] = b.pick([3, 4, 5, 2, 1, 0, -1, "x"])
    elif b.rarely(4):
        space["label"] = np.zeros(m, dtype="i8")
        space["walls"] = _walls(b, m)
    with contextlib.suppress(*REFUSALS):
        _check(name, _called(name, space, settings, given))


def _walls(b, m):
    """Return walls of m coordinates, not all of them good."""
    n, width = 1 + b.below(6), 1 + b.below(4)
    shape = n, width
    coordinates = np.array([[b.below(m + b.rarely(9)) for _ in range(width)] for _ in range(n)])
    sign = [[1.0 if b.rarely(2) else -1.0 for _ in range(width)] for _ in range(n)]
    coefficients = np.array(sign) if not b.rarely(4) else _array(b, shape, "f8", tame=False)
    observations = np.array([b.below(n) - b.rarely(4) for _ in range(n)])
    if b.rarely(2):
        observations = np.arange(n)
    return SimpleNamespace(
        coordinates=coordinates, coefficients=coefficients, observations=observations
    )


def _forged(b, state):
    """Change a number or a byte in the bytes of a state, with the checksum of the changed ones."""
    number = np.float64(b.number()).tobytes() if b.rarely(2) else bytes([b.byte()])
    body = bytearray(state[:-8].tobytes())
    at = b.below(len(body) - len(number))
    body[at : at + len(number)] = number
    checksum = 0xCBF29CE484222325
    for byte in body:
        checksum = (checksum ^ byte) * 0x100000001B3 % 2**64
    return np.frombuffer(body + checksum.to_bytes(8, "little"), dtype=np.uint8)


WEIGHTS = ("center", "draws", "dual_coef", "multipliers")


def _check(name, found):
    """Raise AssertionError if an answer has weights that are no numbers."""
    for key in WEIGHTS:
        if isinstance(found, dict) and key in found and not np.isfinite(found[key]).all():
            raise AssertionError(f"{name}: {key} is not finite")
