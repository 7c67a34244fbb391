"""Bytes made into damaged and forged files of models and results."""

import copy
import functools
import hashlib
import io
import json
import re
import tempfile
import warnings
import zipfile
from pathlib import Path

import numpy as np
from scipy import sparse
from sklearn.gaussian_process import kernels as gp

import bayespoint
from bayespoint import BayesPointClassifier, SampleOptions, VersionSpace, kernels
from bayespoint.papers.max_margin import MaxMarginClassifier
from bayespoint.papers.onion import onion
from bayespoint.papers.perceptron import KernelPerceptron
from hostile import same
from hostile_bytes import Bytes

RNG = np.random.default_rng(8)
X = RNG.normal(size=(16, 3))
TWO = X[:, 0] + 0.2 * X[:, 1] > 0
NAMED = np.where(TWO, "yes", "nö").astype(object)
THREE = np.arange(16) % 3
NEW = RNG.normal(size=(4, 3))
TABLE = np.array([[x[0], "ab"[x[1] > 0]] for x in X.tolist()], dtype=object)
TEXTS = np.array(["abba", "ab", "cab", "bbb"] * 4, dtype=object)
SETS = np.array([{1, 2}, {2}, frozenset({3, 1}), {(4, b"x")}] * 4, dtype=object)
QUICK = {"softness": 0.3, "tol": 0.9, "n_draws": 4, "random_state": 0}
RBF = kernels.RBF(1.5)
KERNEL = kernels.RBF([1.0, 2.0, 3.0]) + 0.1 * kernels.normalize(kernels.Polynomial(2, 1.0))


@functools.cache
def models():
    """Return fitted models with the inputs of predictions, by name."""
    of_landmarks = {"approximation": "landmarks", "n_components": 5}
    found = {
        "average": (BayesPointClassifier(n_draws=4, tol=0.9, random_state=0), X, TWO, NEW),
        "table": (BayesPointClassifier(n_draws=4, tol=0.9, n_models=1), TABLE, NAMED, TABLE[:4]),
        "composed": (BayesPointClassifier(KERNEL, **QUICK), X, TWO, NEW),
        "several": (BayesPointClassifier("rbf", **QUICK), X, THREE, NEW),
        "theirs": (BayesPointClassifier(2.0 * gp.Matern(1.5) + gp.RBF(1.0), **QUICK), X, TWO, NEW),
        "landmarks": (BayesPointClassifier(**of_landmarks, **QUICK), X, TWO, NEW),
        "rows": (BayesPointClassifier("linear", **QUICK), sparse.csr_array(X), TWO, NEW),
        "gram": (BayesPointClassifier("precomputed", **QUICK), RBF(X), TWO, RBF(NEW, X)),
        "texts": (BayesPointClassifier(kernels.Spectrum(2), **QUICK), TEXTS, TWO, TEXTS[:4]),
        "sets": (BayesPointClassifier(kernels.SetIntersection(2.0), **QUICK), SETS, TWO, SETS[:4]),
        "margin": (MaxMarginClassifier(softness=0.1), X, TWO, NEW),
        "perceptron": (KernelPerceptron(softness=0.3), X, THREE, NEW),
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitted = {name: (model.fit(x, y), new) for name, (model, x, y, new) in found.items()}
    fitted["several"][0].random_state = np.random.RandomState(4)
    fitted["composed"][0].random_state = np.random.Generator(np.random.Philox(5))
    fitted["gram"][0].random_state = np.random.default_rng(6)
    return fitted | {"posterior": (fitted["composed"][0].posterior_, NEW)}


@functools.cache
def results():
    """Return results of every kind, by the names of their classes."""
    space = VersionSpace(X @ X.T, np.where(TWO, 1, -1), softness=0.3)
    average = models()["average"][0]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        run = space.sample(random_state=0, options=SampleOptions(max_bounces=100))
        found = [
            run,
            onion(space, max_errors=(1, 1), tol=0.9, random_state=0),
            space.evidence(tol=0.9, random_state=0),
            space.max_margin(),
            average.tuning_,
            average.feature_relevance_,
        ]
    return {type(one).__name__: one for one in found}


@functools.cache
def originals():
    """Return names with the bytes of files, the inputs of predictions, and what they predict."""
    found = {}
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        path = Path(folder) / "file"
        for name, (one, new) in (models() | {n: (r, None) for n, r in results().items()}).items():
            one.save(path)
            found[name] = path.read_bytes(), new, answers(one, new)
    return found


def answers(one, new):
    """Return what a model or a result says; ValueError where it refuses."""
    if new is None:
        return repr(one), one.summary() if hasattr(one, "summary") else ""
    names = ("predict", "decision_function", "predict_proba")
    answered = [getattr(one, name)(new) for name in names if hasattr(one, name)]
    if hasattr(one, "predict_proba"):
        answered.append(one.predict(new, method="vote"))
        if isinstance(one, BayesPointClassifier):
            answered.append(one.predict_proba(new, method="mixture"))
            if hasattr(one.random_state, "normal"):
                answered.append(copy.deepcopy(one.random_state).normal(size=700))
    return re.sub(" at 0x[0-9A-F]+", "", repr(one)), answered


# --- damage ------------------------------------------------------------------------------------


def unpacked(data):
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
        return members, archive.comment


def packed(members, comment, method=zipfile.ZIP_STORED, twice=()):
    target = io.BytesIO()
    with warnings.catch_warnings(), zipfile.ZipFile(target, "w", method) as archive:
        warnings.simplefilter("ignore")
        for name, content in [*members.items(), *twice]:
            archive.writestr(name, content)
        archive.comment = comment
    return target.getvalue()


TEXT = [
    "null",
    "true",
    "-1",
    "0",
    "3",
    "1e999",
    "NaN",
    '"x"',
    "1" * 400,
    "[]",
    '{"a": 1}',
    "",
    "1.5",
]
NAMES = [
    "__loader__", "ListNode", "DictNode", "TupleNode", "JsonNode", "TypeNode", "NdArrayNode",
    "ObjectNode", "CachedNode", "MethodNode", "PartialNode", "FunctionNode", "OperatorFuncNode",
    "ConstructorFromReduceNode", "SetNode", "builtins", "dict", "list", "str", "int", "eval", "os",
    "system", "numpy", "ndarray", "float64", "sklearn.svm._classes", "SVC", "posterior", "Model",
    "bayespoint.posterior.model", "bayespoint.results.draws", "Draws", "bayespoint.kernels.base",
    "Sum", "Constant", "StandardScaler", "sklearn.preprocessing._data", "", "1.npy", "2.npy",
]  # fmt: skip


def places(node):
    """Return all places in a schema, as pairs of a container and a key."""
    found, left = [], [node]
    while left:
        one = left.pop()
        keys = list(one) if isinstance(one, dict) else range(len(one))
        found += [(one, key) for key in keys]
        left += [one[key] for key in keys if isinstance(one[key], (dict, list))]
    return found


def change_schema(b, schema):
    """Change a schema at a place."""
    every = places(schema)
    one, key = b.pick(every)
    kind = b.below(6)
    if kind == 0:
        leaves = [(c, k) for c, k in every if k == "content" and isinstance(c[k], str)]
        if leaves:
            one, key = b.pick(leaves)
            one[key] = b.pick(TEXT)
    elif kind == 1:
        other, name = b.pick(every)
        one[key] = json.loads(json.dumps(other[name]))
    elif kind == 2:
        del one[key]
    elif kind == 3:
        leaves = [(c, k) for c, k in every if isinstance(c[k], str) and k != "content"]
        one, key = b.pick(leaves)
        one[key] = b.pick(NAMES)
    elif kind == 4:
        value = json.loads(json.dumps(one[key]))
        if isinstance(one, list):
            one.insert(key, value)
        else:
            one[str(b.pick(NAMES))] = value
    else:
        one[key] = b.pick([None, 3, -1, "x", [], {}, True, 1e9, {"__id__": 1 + b.below(9)}])


DTYPES = ["<f8", "<f4", "<i8", "<u8", "|i1", "|b1", "<U3", "|S2", "<c16", "|O", "|V8", "<M8[s]"]


def change_array(b, members, whole):
    """Change an array of a file: its bytes, its header, or for another one."""
    name = b.pick([name for name in members if name != "schema.json"])
    content = bytearray(members[name])
    kind = b.below(6)
    if kind == 0:
        content[b.below(len(content))] ^= 1 << b.below(8)
    elif kind == 1:
        content = members[b.pick(sorted(members))]
    elif kind == 2:
        content = content[: b.below(len(content))]
    elif name.endswith(".npy") and hashlib.blake2b(content).digest() in whole:
        array = np.load(io.BytesIO(content), allow_pickle=False)
        if kind == 3:
            array = b.pick(
                [array.T, array[None], array[..., None], array.ravel(), array.ravel()[:0]]
            )
            array = array[: len(array) - 1] if array.ndim and b.rarely(3) else array
        elif kind == 4:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                array = array.astype(b.pick(DTYPES[:7])) if array.dtype.kind in "fiub" else array
        elif array.size and array.dtype.kind == "f":
            array = array.copy()
            array.flat[b.below(array.size)] = b.number()
        target = io.BytesIO()
        if kind == 5 and b.rarely(2):
            shape = tuple(b.pick([0, -1, 2, 10**9, 2**40, 7]) for _ in range(b.below(4)))
            dtype = b.pick(DTYPES)
            header = {"descr": dtype, "fortran_order": bool(b.below(2)), "shape": shape}
            np.lib.format.write_array_header_1_0(target, header)
            target.write(array.tobytes())
        else:
            np.save(target, array, allow_pickle=False)
        content = target.getvalue()
    members[name] = bytes(content)


def change_archive(b, members, comment):
    """Return a file whose archive is not one that `save` writes."""
    kind = b.below(6)
    if kind == 0:
        return packed(members, comment, zipfile.ZIP_DEFLATED)
    if kind == 1:
        return packed(members | {"bomb.npy": bytes(100)}, comment)
    if kind == 2:
        return packed(members, comment, twice=[b.pick(sorted(members.items()))])
    if kind == 3:
        members.pop(b.pick(sorted(members)))
        return packed(members, comment)
    data = bytearray(packed(members, comment))
    central = data.rindex(b"PK\x01\x02")
    at = central + b.below(len(data) - central) if kind == 4 else b.below(len(data))
    data[at] = b.byte()
    return bytes(data)


def forged(b, data):
    """Return a file with some changes and the checksums of the changed one."""
    members, comment = unpacked(data)
    arrays = [content for name, content in members.items() if name.endswith(".npy")]
    whole = {hashlib.blake2b(content).digest() for content in arrays}
    for _ in range(1 + b.below(2)):
        kind = b.below(8)
        if kind == 0:
            return change_archive(b, members, comment)
        if kind < 3:
            change_array(b, members, whole)
        else:
            schema = json.loads(members.get("schema.json", "{}"))
            change_schema(b, schema)
            members["schema.json"] = json.dumps(schema).encode()
            if not isinstance(schema, dict) or not schema:
                break
    return packed(members, comment)


def damaged(b, data):
    """Return a file with some bytes changed or cut."""
    content = bytearray(data)
    for _ in range(1 + b.below(3)):
        at = b.below(len(content))
        if b.rarely(4):
            del content[at : at + 1 + b.below(300)]
        else:
            content[at] ^= 1 << b.below(8)
    return bytes(content)


REFUSALS = (ValueError, TypeError, FloatingPointError)
"""What predictions of a forged model raise."""


def read(name, content):
    """Return "refused", "late" for predictions that are, or "read", and what a file says."""
    new = originals()[name][1]
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        path = Path(folder) / "file"
        path.write_bytes(content)
        try:
            one = bayespoint.load(path)
        except ValueError:
            return "refused", None
        try:
            return "read", answers(one, new)
        except REFUSALS as error:
            return "late", repr(error)


def door(data, *, forges=None):
    """Read a file that bytes damage, or forge with the right checksums; return what came of it.

    Damage is seen, or changes nothing. A forger may change numbers, and so what a file says.
    """
    b = Bytes(data)
    name = b.pick(sorted(originals()))
    original, _, answer = originals()[name]
    forges = not b.rarely(4) if forges is None else forges
    content = forged(b, original) if forges else damaged(b, original)
    outcome, found = read(name, content)
    outcome = (
        outcome if outcome != "read" else "the same" if same(found, answer) else "other numbers"
    )
    if not forges and outcome not in ("refused", "the same"):
        raise AssertionError(f"{name}: a damaged file was read")
    return outcome
