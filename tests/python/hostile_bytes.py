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


@functools.cache
def _good_state():
    """Return the matrix, the arguments and the state of a run."""
    rng = np.random.default_rng(3)
    x = rng.standard_normal((4, 3))
    gram = x @ x.T
    arguments = _run_arguments() | {"length": 2.0}
    labels = np.where(x[:, 0] > 0, 1, 0)
    zeros = np.zeros(4)
    call = {"gram": gram, "labels": labels, "offset": 0.0, "softness": zeros, "n_functions": 1}
    call |= arguments
    run = _called("run", call)
    state = dict(run["state"])
    draws, functionals = run["draws"], run["functionals"]
    kept = state["kept"].astype(int)
    own = [draws[t, draws.shape[1] - k :] for t, k in enumerate(kept)]
    state["draws"] = np.concatenate(own).copy()
    state["functionals"] = np.concatenate(
        [functionals[t, functionals.shape[1] - k :] for t, k in enumerate(kept)]
    ).copy()
    return gram, labels, state


def _run_arguments():
    return {
        "transparency": (0.0, 0.0),
        "n_trajectories": 1,
        "n_draws": 2,
        "length": 1.0,
        "tol": None,
        "max_bounces": 20,
        "dynamics": "geodesic",
        "scattering": "specular",
        "scatterer": None,
        "fits_scatterer": False,
        "tau_max": 1e6,
        "weight_tol": None,
        "bounce_points": False,
        "by_impulses": False,
        "refresh": "auto",
        "refresh_rate": None,
        "start": None,
        "factor": None,
        "inverse_diagonal": None,
        "state": None,
        "n_threads": 1,
        "seed": 1,
        "callback": None,
    }


def _called(name, call):
    """Call a compiled function: the problem is an object, the settings a mapping."""
    call = dict(call)
    lower, diagonal = call.pop("factor", None), call.pop("inverse_diagonal", None)
    factor = SimpleNamespace(lower=SimpleNamespace(T=lower))
    problem = SimpleNamespace(
        gram=call.pop("gram"),
        label=call.pop("labels"),
        offset=call.pop("offset"),
        softness=call.pop("softness"),
        n_functions=call.pop("n_functions"),
        walls=call.pop("walls", None),
        inverse=None if lower is None and diagonal is None else (factor, diagonal),
    )
    if name in ("correlation", "max_margin"):
        given = {"callback": call.pop("callback")} if "callback" in call else {}
        if name == "correlation":
            call["motion"] = _motion(call)
        else:
            call["C"] = call.pop("cost")
        return getattr(_core, name)(problem, call, **given)
    if name != "run":
        return getattr(_core, name)(problem, **call)
    bounces, impulses = call.pop("bounce_points"), call.pop("by_impulses")
    motion = _motion(call, bounces)
    refresh, rate = call["refresh"], call.pop("refresh_rate")
    if isinstance(refresh, str) and refresh in ("pair", "full"):
        call["refresh"] = {refresh: rate}
    call["average"] = "impulse" if impulses else "arc"
    keys = "start", "state", "callback"
    given = {key: call.pop(key) for key in keys}
    if motion is None:
        return _core.run(problem, call, **given)
    del given["state"]
    return _core.fly(problem, {"motion": motion, "run": call}, **given)


def _motion(call, bounces=False):
    name = call.pop("dynamics", "geodesic")
    scattering, scatterer = call.pop("scattering"), call.pop("scatterer")
    fitted = call.pop("fits_scatterer")
    straight = {key: call.pop(key, None) for key in ("tau_max", "weight_tol")}
    if isinstance(name, str) and name == "geodesic":
        cosine = scattering == "cosine" if isinstance(scattering, str) else scattering
        radius = {"given": scatterer} if scatterer is not None else "auto" if fitted else None
        if isinstance(cosine, bool) and not cosine and radius is None:
            return None
        return {"name": "scattered", "cosine": cosine, "scatterer": radius}
    if isinstance(name, str) and name == "flipper":
        del straight["weight_tol"]
        straight["points"] = "bounces" if bounces else "midpoints"
    return {"name": name} | straight


def _arguments(b, name, m):
    """Return arguments of a compiled function beside the problem, not all of them good."""
    common = {"callback": None}
    if name == "run":
        own = _run_arguments()
        own["dynamics"] = b.pick(["geodesic", "geodesic", "chord", "flipper", "x"])
        own["refresh"] = b.pick(["auto", "pair", "full", "none"])
        own["max_bounces"] = 1 + b.below(40)
        # By no byte of its own: what was found before stays what it was.
        own["by_impulses"] = own["max_bounces"] % 8 == 0
        if b.rarely(3):
            k = b.number()
            own["transparency"] = (k, k if b.rarely(2) else 0.0)
        if b.rarely(6):
            own["factor"] = np.tril(_array(b, (m, m), "f8")).T.copy() + 3 * np.eye(m)
            own["inverse_diagonal"] = np.abs(_array(b, (m,), "f8")) + 0.1
        if b.rarely(6):
            own["start"] = _array(b, (m,), "f8", tame=False)
        return own
    if name == "correlation":
        return common | {
            "angle": 1e-3,
            "n_trajectories": 1,
            "n_pairs": 1,
            "max_bounces": 1 + b.below(20),
            "scattering": b.pick(["specular", "cosine"]),
            "scatterer": 0.01 if b.rarely(3) else None,
            "fits_scatterer": b.rarely(4),
            "n_threads": 1,
            "seed": 1,
        }
    if name == "feasible_point":
        return common | {
            "method": b.pick(["light_trap", "max_margin", "x"]),
            "seed": b.byte(),
        }
    if name == "light_trap":
        return common | {"seed": b.byte()}
    if name == "max_margin":
        return common | {"tol": 1e-6, "max_iter": 500}
    raise AssertionError(name)


COUNTS = (
    "n_trajectories",
    "n_draws",
    "n_threads",
    "length",
    "tol",
    "max_bounces",
    "refresh_rate",
    "max_iter",
)
FUNCTIONS = (
    "run",
    "run",
    "correlation",
    "feasible_point",
    "light_trap",
    "max_margin",
)
REFUSALS = (ValueError, TypeError, FloatingPointError, OverflowError, LookupError)
"""The last two: an integer that no machine word holds, a state that lacks a part."""


def door(data):
    """Call a compiled function with arguments out of bytes: an answer, or one of the refusals."""
    b = Bytes(data)
    name = b.pick([*FUNCTIONS, "resume"])
    if name == "resume":
        gram, labels, state = _good_state()
        arguments = _run_arguments() | {"length": 2.5, "state": dict(state)}
        key = b.pick(sorted(state))
        array = state[key].copy()
        if key == "bytes" and not b.rarely(8):
            arguments["state"][key] = _forged(b, array)
        elif array.size and key != "bytes" and not b.rarely(8):
            value = b.pick([0, 1, 255, 2**63]) if array.dtype.kind == "u" else b.number()
            array.flat[b.below(array.size)] = value
            arguments["state"][key] = array
        else:
            arguments["state"][key] = _disguised(b, array)
        name, problem = "run", (gram, labels, 0.0, np.zeros(4))
    else:
        m = 1 + b.below(5)
        x = _array(b, (m, 1 + b.below(4)), "f8", tame=not b.rarely(6))
        with np.errstate(all="ignore"):
            gram = x @ x.T if not b.rarely(8) else _array(b, (m, m), "f8", tame=False)
        if b.rarely(4):
            with np.errstate(all="ignore"):
                gram = gram.astype(np.float32)
        labels = np.array([1 if b.rarely(2) else 0 for _ in range(m)])
        softness = np.full(m, 0.1 if b.rarely(3) else 0.0)
        problem = (gram, labels, 0.0 if not b.rarely(6) else b.number(), softness)
        arguments = _arguments(b, name, m)
    gram, labels, offset, softness = problem
    arguments |= {"offset": offset, "softness": softness}
    call = {"gram": gram, "labels": labels, **arguments}
    # A call without a fault is dear: the engine's own targets look at what it does.
    slow = name in ("run", "correlation", "light_trap")
    if not b.rarely(24 if slow else 4):
        # What is counted is left alone: the package checks that there is room for it.
        free = [key for key in call if key not in COUNTS]
        key = b.pick(free)
        value = call[key]
        if slow and key in ("transparency", "seed", "start", "scatterer", "tau_max", "weight_tol"):
            key, value = "labels", call["labels"]
        call[key] = _disguised(b, value) if isinstance(value, np.ndarray) else b.pick(STRANGERS)
        if key == "callback" and call[key] is not None:
            call[key] = None
    # Last: what was found before stays what it was.
    call["n_functions"] = 1
    if b.rarely(4):
        call["labels"] = np.array([b.below(4) for _ in labels], dtype="i8")
        call["n_functions"] = b.pick([3, 4, 5, 3, 4, 2, 1, 0, -1, "x"])
    elif b.rarely(4):
        call["labels"] = np.zeros(len(labels), dtype="i8")
        call["walls"] = _walls(b, len(labels))
    with contextlib.suppress(*REFUSALS):
        found = _called(name, call)
        _check(name, found)


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
