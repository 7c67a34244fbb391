"""What bytes are made into: arguments of the compiled functions, and files."""

import contextlib
import functools
import io
import json
import os
import tempfile
import zipfile
from hashlib import sha256
from pathlib import Path
from unittest import mock

import numpy as np

import bayespoint
from bayespoint import (
    BayesPointClassifier,
    KernelPerceptron,
    VersionSpace,
    _core,
    kernels,
)
from bayespoint.base import npz, persistence

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


# --- the door --------------------------------------------------------------------------------

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


class Rows:
    """What the door takes for rows on demand."""

    def __init__(self, b, m):
        self.inputs = _array(b, (m, 1 + b.below(3)), "f8", tame=not b.rarely(4))
        self.form = b.pick(["linear", "rbf", "poly", "linear", "rbf", "x"])
        self.sigma = 1.0 if not b.rarely(8) else b.number()
        self.degree = 2 if not b.rarely(8) else b.pick([0, 1, 200, 2**32 - 1, -1])
        self.coef0 = 1.0 if not b.rarely(8) else b.number()
        self.factor = 1.0 if not b.rarely(8) else b.number()
        self.cached_rows = 1 + b.below(3) if not b.rarely(8) else b.pick([0, 2**60, -1])


@functools.cache
def _good_state():
    """Return the matrix, the arguments and the state of a run."""
    rng = np.random.default_rng(3)
    x = rng.standard_normal((4, 3))
    gram = x @ x.T
    arguments = _run_arguments() | {"length": 2.0}
    labels = np.where(x[:, 0] > 0, 1, -1).astype(np.int8)
    zeros = np.zeros(4)
    run = _core.run(gram, labels, offset=0.0, softness=zeros, **arguments)
    state = dict(run["state"])
    draws, functionals = run["draws"], run["functionals"]
    kept = state["kept"].astype(int)
    own = [draws[t, draws.shape[1] - k :] for t, k in enumerate(kept)]
    state["draws"] = np.concatenate(own).copy()
    state["functionals"] = np.concatenate(
        [functionals[t, functionals.shape[1] - k :] for t, k in enumerate(kept)]
    ).copy()
    state["held"] = state["kept"].copy()
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
        "checkpoint": None,
        "every": 60.0,
        "n_threads": 1,
        "seed": 1,
        "callback": None,
    }


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
            "method": b.pick(["light_trap", "one_way", "perceptron", "max_margin", "x"]),
            "seed": b.byte(),
        }
    if name == "light_trap":
        return common | {"seed": b.byte()}
    if name == "max_margin":
        cost = float("inf") if b.rarely(2) else b.number()
        return common | {"cost": cost, "free_bias": b.rarely(3), "tol": 1e-6, "max_iter": 500}
    if name == "perceptron":
        order = np.array([b.below(m + b.rarely(9)) - b.rarely(99) for _ in range(m)], dtype="i8")
        return common | {
            "order": order,
            "rate": 1.0 if b.rarely(2) else b.number(),
            "max_epochs": 9,
        }
    if name == "take_step":
        state = _good_state()[2]
        words, numbers = state["words"].copy(), state["numbers"].copy()
        return {
            "factor": None,
            "inverse_diagonal": None,
            "order": (_words(b), _array(b, (b.below(9),), "f8")),
            "state": (words[b.below(9) :], numbers[b.below(9) :]),
        }
    raise AssertionError(name)


def _words(b):
    return np.array([1, b.below(4), *(b.byte() for _ in range(b.below(12)))], dtype=np.uint64)


COUNTS = (
    "n_trajectories",
    "n_draws",
    "n_threads",
    "length",
    "tol",
    "max_bounces",
    "max_epochs",
    "refresh_rate",
    "every",
    "max_iter",
)
FUNCTIONS = (
    "run",
    "run",
    "correlation",
    "feasible_point",
    "light_trap",
    "max_margin",
    "perceptron",
)
REFUSALS = (ValueError, TypeError, FloatingPointError, OverflowError, LookupError)
"""The last two: an integer that no machine word holds, a state that lacks a part."""


def door(data):
    """Call a compiled function with arguments out of bytes: an answer, or one of the refusals."""
    b = Bytes(data)
    name = b.pick([*FUNCTIONS, "take_step", "resume"])
    if name == "resume":
        gram, labels, state = _good_state()
        arguments = _run_arguments() | {"length": 2.5, "state": dict(state)}
        key = b.pick(sorted(state))
        array = state[key].copy()
        if array.size and not b.rarely(8):
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
        if b.rarely(8):
            gram = Rows(b, m)
        elif b.rarely(8):
            with np.errstate(all="ignore"):
                gram = gram.astype(np.float32)
        labels = np.array([1 if b.rarely(2) else -1 for _ in range(m)], dtype=np.int8)
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
    with contextlib.suppress(*REFUSALS):
        found = getattr(_core, name)(call.pop("gram"), call.pop("labels"), **call)
        _check(name, found)


WEIGHTS = ("center", "draws", "dual_coef", "multipliers")


def _check(name, found):
    """Raise AssertionError if an answer has weights that are no numbers."""
    for key in WEIGHTS:
        if isinstance(found, dict) and key in found and not np.isfinite(found[key]).all():
            raise AssertionError(f"{name}: {key} is not finite")


# --- files -----------------------------------------------------------------------------------


@functools.cache
def _trees():
    """Return headers and arrays of small good files."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal((6, 2))
    y = np.array(["a", "b"])[(x[:, 0] > 0).astype(int)]
    quick = {"softness": 0.2, "optimizer": None, "n_draws": 2, "tol": 1.0, "n_trajectories": 1}
    space = VersionSpace(x @ x.T, np.where(x[:, 0] > 0, 1, -1), softness=0.1)
    things = [
        BayesPointClassifier(
            kernels.RBF([1.0, 2.0]) + kernels.Linear(), **quick, random_state=0
        ).fit(x, y),
        KernelPerceptron(random_state=np.random.RandomState(1)).fit(x, y),
        KernelPerceptron(random_state=np.random.Generator(np.random.Philox(1))).fit(x, y),
        space.sample(max_bounces=20, n_trajectories=1, n_draws=2, random_state=0),
        space.max_margin(),
        BayesPointClassifier(kernels.Spectrum(1), **quick, random_state=0).fit(
            ["a", "ab", "b"], [0, 1, 0]
        ),
    ]
    from scipy import sparse

    things.append(KernelPerceptron("linear").fit(sparse.csr_array(x), y))
    found = []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "x.npz"
        for thing in things:
            thing.save(path)
            version, arrays, meta = npz.read(path, persistence.FORMAT, float("inf"))
            found.append((version, arrays, meta))
    return found


HOSTILE_LEAVES = [
    None,
    True,
    -1,
    2**70,
    1e400,
    float("nan"),
    "",
    "a0",
    "__class__",
    "kernels.RBF",
    "classifier",
    [],
    {},
    [[]],
    {"array": "a0", "turned": True},
    {"scalar": "a1"},
    {"object": "Factor", "state": {}},
    {"object": "kernels.RBF", "state": {"sigma": {"array": "a0", "turned": False}}},
    {"object": "kernels.Base", "state": {}},
    {"object": "os.system", "state": {"command": "false"}},
    {"object": "BayesPointClassifier", "state": {"__class__": 1}},
    {"object": "sklearn.gaussian_process.kernels.RBF", "state": {}},
    {"object": "sklearn.gaussian_process.kernels.np", "state": {}},
    {"set": [{"list": []}]},
    {"dict": [[{"list": []}, 1]]},
    {"dict": 3},
    {"bytes": "%"},
    {"objects": [1, 2], "shape": [2**40, 2**40]},
    {"csr_array": [{"array": "a0", "turned": False}] * 3, "shape": [2, 2]},
    {"generator": {"dict": [["bit_generator", "PCG64"]]}},
    {"random_state": {"dict": [["bit_generator", "MT19937"]]}},
    {"value": 1},
    {"several": []},
]


def _spoil_tree(tree, b):
    """Change a node of a tree."""
    places = []

    def walk(node):
        items = node.items() if isinstance(node, dict) else enumerate(node)
        for key, one in items:
            places.append((node, key))
            if isinstance(one, (dict, list)):
                walk(one)

    walk(tree)
    if not places:
        return
    node, key = b.pick(places)
    act = b.below(5)
    if act == 0 and isinstance(node, dict):
        node[b.pick(["x", "state", "array", "object", "_read_value", "format"])] = node.pop(key)
    elif act == 1:
        del node[key]
    elif act == 2:
        other, place = b.pick(places)
        if isinstance(other, dict) and place in other:
            node[key] = json.loads(json.dumps(other[place]))
    else:
        node[key] = json.loads(json.dumps(b.pick(HOSTILE_LEAVES)))


def _spoil_arrays(arrays, b):
    name = b.pick(sorted(arrays))
    array = arrays[name]
    act = b.below(6)
    with np.errstate(all="ignore"):
        if act == 0:
            del arrays[name]
        elif act == 1:
            arrays[name] = array.ravel()[: b.below(8)]
        elif act == 2 and array.dtype.kind in "fiu" and array.size:
            changed = array.copy()
            at, value = b.below(changed.size), b.number()
            changed.flat[at] = np.float64(value).astype(array.dtype)
            arrays[name] = changed
        elif act == 3 and array.dtype.kind in "fiub":
            arrays[name] = array.astype(b.pick(["f4", "f8", "i8", "c16", "U8", "S4", "?", "u1"]))
        elif act == 4:
            arrays[name] = array.reshape(array.shape[::-1])
        else:
            arrays[name] = arrays[b.pick(sorted(arrays))]


def sealed(body):
    return body + sha256(body).hexdigest().encode()


FOLDER = "/dev/shm" if os.path.isdir("/dev/shm") else None


@functools.cache
def _file():
    handle, name = tempfile.mkstemp(dir=FOLDER, suffix=".npz")
    os.close(handle)
    return name


def files(data):
    """Load a file that was tampered with and sealed again: what was saved is refused or read."""
    b = Bytes(data)
    kind = b.below(4)
    if kind == 3:
        changed = bytearray(_small()[:-64])
        for _ in range(1 + b.below(4)):
            changed[b.below(len(changed) - 18)] = b.byte()
        return _load_bytes(sealed(bytes(changed)))
    version, arrays, meta = b.pick(_trees())
    tree, arrays = json.loads(json.dumps(meta)), dict(arrays)
    for _ in range(1 + b.below(3)):
        if kind < 2:
            _spoil_tree(tree, b)
        elif arrays:
            _spoil_arrays(arrays, b)
    if b.rarely(64):
        head = {"format": persistence.FORMAT, "version": version, "meta": tree}
        return _load_bytes(sealed(_archive(json.dumps(head), arrays)))
    # Zip and checksum take most of the time, and there is nothing wrong with them here.
    with mock.patch.object(npz, "read", return_value=(version, arrays, tree)):
        return _load("file")


def _load_bytes(content):
    with open(_file(), "wb") as file:
        file.write(content)
    _load(_file())


def _load(name):
    try:
        bayespoint.load(name)
    except (ValueError, MemoryError) as error:
        if name not in str(error):
            raise AssertionError("the error does not name the file") from error


@functools.cache
def _small():
    """Return a file of a few hundred bytes."""
    tree = {"package": "0", "content": {"list": [{"array": "x", "turned": False}, 1.5]}}
    head = {"format": persistence.FORMAT, "version": 1, "meta": tree}
    return sealed(_archive(json.dumps(head), {"x": np.arange(3.0)}))


def _archive(text, arrays):
    buffer = io.BytesIO()
    members = {"header": np.frombuffer(text.encode(), dtype=np.uint8), **arrays}
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, array in members.items():
            member = io.BytesIO()
            np.lib.format.write_array(member, np.asarray(array, order="C"), allow_pickle=False)
            archive.writestr(zipfile.ZipInfo(f"{name}.npy"), member.getvalue())
        archive.comment = npz._SEAL + bytes(64)
    return buffer.getvalue()[:-64]
