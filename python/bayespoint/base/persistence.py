"""Files of fitted classifiers and of results: arrays and plain values, nothing that runs.

A file is a tree of plain values, with the arrays beside it (:mod:`bayespoint.base.npz`).
Objects in it are of the classes listed here and no others: to read a file
calls their constructors on arrays and plain values, and no code that the file could name.
"""

from __future__ import annotations

import base64
import importlib
import inspect
import math
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from typing import Any, cast

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator

from bayespoint.base import npz
from bayespoint.base.npz import Arrays, StrPath

FORMAT = "bayespoint model"
SCHEMA = 1
"""Version of the tree. A file of a later one is refused, those of all before are read."""

_CLASSES = {
    "BayesPointClassifier": "estimators.bayes_point",
    "MaxMarginClassifier": "estimators.max_margin",
    "HingeClassifier": "estimators.max_margin",
    "Perceptron": "estimators.perceptron",
    "KernelPerceptron": "estimators.perceptron",
    "WeightedClassifier": "estimators.weighted",
    "BilliardResult": "results.billiard",
    "Evidence": "results.evidence",
    "MaxMargin": "results.points",
    "LightTrap": "papers.light_trap",
    "Search": "results.search",
    "OnionTable": "results.onion",
    "CorrelationLength": "papers.correlation",
    "WeightedResult": "results.weighted",
    "_Forgotten": "estimators.weighted",
    "Posterior": "posterior.predictive",
    "Factor": "base.factor",
}
"""Classes that a file may hold, and their modules in the package."""

_KERNELS = "kernels."
_GP_KERNELS = "sklearn.gaussian_process.kernels."
_BIT_GENERATORS = ("MT19937", "PCG64", "PCG64DXSM", "Philox", "SFC64")

_BUFFERS = {("MT19937", "pos"): 624, ("Philox", "buffer_pos"): 4}
"""Where generators that draw several numbers at once may stand among them."""


class Savable:
    """What can be written to a file."""

    def save(self, path: StrPath) -> None:
        """Write to a file from which :func:`bayespoint.load` makes the same again.

        Parameters
        ----------
        path : str or path-like
            The file. It is replaced in one step, once all is written.

        Raises
        ------
        TypeError
            If something in it is neither an array, a plain value nor of a class of this package,
            such as a function given as kernel: the message names it.
        ValueError
            If `path` holds a null character.
        OSError
            If the file cannot be written; it is as it was before.

        Notes
        -----
        The file is a zip archive of arrays as :func:`numpy.savez` makes it, with a header in JSON
        and a checksum. Nothing in it is pickled.
        """
        npz.check_path("path", path)
        arrays: Arrays = {}
        tree = _Writer(arrays).tree(self, type(self).__name__)
        meta = {"package": _package(), "content": tree}
        npz.write(path, FORMAT, SCHEMA, arrays, meta)


def load(path: StrPath) -> Any:
    """Read what ``save`` of a classifier or of a result wrote.

    Parameters
    ----------
    path : str or path-like
        The file.

    Returns
    -------
    classifier or result
        Of the class that was saved. On the machine that it was saved on it predicts the same bits.

    Raises
    ------
    OSError
        If there is no such file, or it cannot be read.
    ValueError
        If the file was cut or damaged, is of another program, or was written by a version of this
        package whose files this one does not know; if `path` holds a null character.
    MemoryError
        If there is no room for it.

    Notes
    -----
    Reading a file runs no code that it brings along. What it says of a classifier is believed
    nevertheless: a file from somebody else may predict anything.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import bayespoint
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = bayespoint.BayesPointClassifier(random_state=0).fit(X[::3], y[::3])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     model.save(Path(folder) / "iris.npz")
    ...     again = bayespoint.load(Path(folder) / "iris.npz")
    >>> bool((again.predict_proba(X) == model.predict_proba(X)).all())
    True
    """
    npz.check_path("path", path)
    version, arrays, meta = npz.read(path, FORMAT, math.inf)
    package = meta.get("package")
    if version > SCHEMA:
        raise ValueError(
            f"{str(path)!r} was written by bayespoint {package} in version {version} of its files; "
            f"bayespoint {_package()} reads up to version {SCHEMA}: a newer one is needed"
        )
    try:
        return _Reader(arrays).value(meta.get("content"))
    except (
        _DamagedError,
        ArithmeticError,
        AttributeError,
        LookupError,
        RecursionError,
        TypeError,
        ValueError,
    ) as error:
        raise ValueError(
            f"{str(path)!r} is no {FORMAT} that bayespoint {_package()} can read (it was written "
            f"by {package}): {error}"
        ) from error


def _package() -> str:
    """Return the version of this package, all of which is imported by now."""
    from bayespoint import __version__

    return __version__


class _DamagedError(Exception):
    """A tree that `save` does not make."""


def trusted_types() -> tuple[str, ...]:
    """Return the full names of the classes that may be in a file, kernels of others left out."""
    from bayespoint import kernels

    known = [_class(name) for name in _CLASSES]
    known += [one for name in kernels.__all__ if _is_kernel(one := getattr(kernels, name))]
    return tuple(sorted(f"{cls.__module__}.{cls.__qualname__}" for cls in known))


# --- writing ---------------------------------------------------------------------------------


class _Writer:
    """Makes trees of plain values, and puts arrays aside."""

    def __init__(self, arrays: Arrays) -> None:
        self.arrays = arrays
        self.known: dict[int, tuple[Any, Any]] = {}

    def tree(self, value: Any, where: str) -> Any:
        """Return a tree of what JSON can hold; `where` names the value in errors."""
        if value is None or type(value) in (bool, int, float, str):
            return value
        if isinstance(value, np.ndarray):
            return self._array(value, where)
        if isinstance(value, np.generic):
            return {"scalar": self._aside(np.asarray(value), where)}
        if type(value) in (list, tuple):
            return {type(value).__name__: self._several(value, where)}
        if type(value) in (set, frozenset):
            return {type(value).__name__: self._several(sorted(value, key=repr), where)}
        if type(value) is dict:
            pairs = [
                [self.tree(key, f"a key of {where}"), self.tree(one, f"{where}[{key!r}]")]
                for key, one in value.items()
            ]
            return {"dict": pairs}
        if type(value) is bytes:
            return {"bytes": base64.b64encode(value).decode("ascii")}
        if isinstance(value, (np.random.Generator, np.random.RandomState)):
            return self._random(value, where)
        if sparse.issparse(value) and value.format == "csr":
            parts = [value.data, value.indices, value.indptr]
            kind = "csr_matrix" if isinstance(value, sparse.spmatrix) else "csr_array"
            return {kind: self._several(parts, where), "shape": list(value.shape)}
        return self._object(value, where)

    def _several(self, values: Any, where: str) -> list[Any]:
        return [self.tree(one, f"{where}[{k}]") for k, one in enumerate(values)]

    def _array(self, array: Any, where: str) -> Any:
        if array.dtype == object:
            # Texts of NumPy's own kind lose zeros at their end, and their length is that of the
            # longest.
            entries = self._several(array.ravel().tolist(), where)
            return {"objects": entries, "shape": list(array.shape)}
        # A matrix that BLAS takes as it lies shall lie like that again.
        turned = array.ndim > 1 and array.flags.f_contiguous and not array.flags.c_contiguous
        name = self._aside(array.T if turned else array, where, of=array)
        return {"array": name, "turned": turned}

    def _aside(self, array: Any, where: str, *, of: Any = None) -> str:
        of = array if of is None else of
        if id(of) not in self.known:
            name = f"a{len(self.arrays)}"
            if array.dtype.kind not in "biufcUSMm":
                raise TypeError(f"{where} is an array of {array.dtype}, which cannot be saved")
            self.arrays[name] = array
            self.known[id(of)] = name, of  # kept: an id is unique among the living
        return str(self.known[id(of)][0])

    def _random(self, value: Any, where: str) -> Any:
        if isinstance(value, np.random.RandomState):
            return {"random_state": self.tree(value.get_state(legacy=False), where)}
        state = value.bit_generator.state
        if state["bit_generator"] not in _BIT_GENERATORS:
            raise TypeError(f"{where} has a bit generator that is not NumPy's: {value!r}")
        return {"generator": self.tree(state, where)}

    def _object(self, value: Any, where: str) -> Any:
        cls = type(value)
        name = _name(cls)
        if name is None:
            kind = "a function" if inspect.isroutine(value) else f"of {cls.__module__}"
            raise TypeError(
                f"{where} cannot be saved: {value!r} is {kind}. What can be saved are classifiers "
                "and results of bayespoint over arrays and plain values, with kernels by name, of "
                "bayespoint.kernels or of scikit-learn's Gaussian processes"
            )
        # Two results may share an object as they share arrays, but it is cheap to have it twice.
        state = {key: self.tree(one, f"{where}.{key}") for key, one in _state(value).items()}
        return {"object": name, "state": state}


def _name(cls: type) -> str | None:
    """Return the name of a class in files, if it may be in one."""
    from bayespoint import kernels

    if _is_kernel(cls):
        known = getattr(kernels, cls.__name__, None) is cls
        return _KERNELS + cls.__name__ if known else None
    if cls.__module__ == _GP_KERNELS[:-1] and hasattr(cls, "get_params"):
        return _GP_KERNELS + cls.__name__
    name = cls.__name__
    known = cls.__module__ == f"bayespoint.{_CLASSES.get(name)}"
    return name if known else None


def _is_kernel(cls: Any) -> bool:
    """Return whether a class is one of kernels as this package has them."""
    from bayespoint import kernels

    return isinstance(cls, type) and issubclass(cls, kernels.Base) and is_dataclass(cls)


def _state(value: Any) -> dict[str, Any]:
    """Return what makes an object again."""
    if is_dataclass(value):
        return {field.name: getattr(value, field.name) for field in fields(value)}
    if isinstance(value, BaseEstimator):
        stored: Callable[[], dict[str, Any]] | None = getattr(value, "_stored", None)
        return dict(vars(value)) if stored is None else stored()
    state: dict[str, Any] = value.get_params(deep=False)
    return state


# --- reading ---------------------------------------------------------------------------------


class _Reader:
    """Makes values of the trees of a `_Writer`."""

    def __init__(self, arrays: Arrays) -> None:
        self.arrays = arrays

    def value(self, tree: Any) -> Any:
        """Return the value of a tree."""
        if tree is None or type(tree) in (bool, int, float, str):
            return tree
        if type(tree) is not dict or not tree:
            raise _DamagedError(f"its header has a {type(tree).__name__} where a value should be")
        kind = next(iter(tree))
        read: Callable[[Any], Any] | None = getattr(self, f"_read_{kind}", None)
        if read is None:
            raise _DamagedError(f"its header has a value of the unknown kind {kind!r}")
        return read(tree)

    def _several(self, trees: Any) -> list[Any]:
        return [self.value(tree) for tree in trees]

    def _read_list(self, tree: Any) -> Any:
        return self._several(tree["list"])

    def _read_tuple(self, tree: Any) -> Any:
        return tuple(self._several(tree["tuple"]))

    def _read_set(self, tree: Any) -> Any:
        return set(self._several(tree["set"]))

    def _read_frozenset(self, tree: Any) -> Any:
        return frozenset(self._several(tree["frozenset"]))

    def _read_dict(self, tree: Any) -> Any:
        return {self.value(key): self.value(one) for key, one in tree["dict"]}

    def _read_bytes(self, tree: Any) -> Any:
        return base64.b64decode(tree["bytes"], validate=True)

    def _read_array(self, tree: Any) -> Any:
        array = self.arrays[tree["array"]]
        return array.T if tree["turned"] else array

    def _read_scalar(self, tree: Any) -> Any:
        return self.arrays[tree["scalar"]][()]

    def _read_objects(self, tree: Any) -> Any:
        entries = self._several(tree["objects"])
        array = np.empty(len(entries), dtype=object)
        for k, entry in enumerate(entries):  # entries may be sequences, which NumPy would unfold
            array[k] = entry
        return array.reshape(tree["shape"])

    def _read_csr_matrix(self, tree: Any) -> Any:
        parts = tuple(self._several(tree["csr_matrix"]))
        return _within(sparse.csr_matrix(parts, shape=tree["shape"]))

    def _read_csr_array(self, tree: Any) -> Any:
        parts = tuple(self._several(tree["csr_array"]))
        return _within(sparse.csr_array(parts, shape=tree["shape"]))

    def _read_random_state(self, tree: Any) -> Any:
        state = self.value(tree["random_state"])
        _require_position(state)
        random = np.random.RandomState()
        random.set_state(state)
        return random

    def _read_generator(self, tree: Any) -> Any:
        state = self.value(tree["generator"])
        if state["bit_generator"] not in _BIT_GENERATORS:
            raise _DamagedError(f"it has an unknown bit generator {state['bit_generator']!r}")
        _require_position(state)
        bits = getattr(np.random, state["bit_generator"])()
        bits.state = state
        return np.random.Generator(bits)

    def _read_object(self, tree: Any) -> Any:
        name, cls = tree["object"], _class(tree["object"])
        state = {key: self.value(one) for key, one in tree["state"].items()}
        if is_dataclass(cls) or not issubclass(cls, BaseEstimator):
            return cls(**state)
        names = cast("Any", cls)._get_param_names()
        estimator = cls(**{key: state.pop(key) for key in names})
        for key, one in state.items():
            # Attributes of the fit, and nothing in the place of a method.
            if not key.isidentifier() or key.startswith("__") or _is_code(cls, key):
                raise _DamagedError(f"a {name} has no attribute {key!r} to be set")
            setattr(estimator, key, one)
        return estimator


def _within(matrix: Any) -> Any:
    """Return a sparse matrix whose indices are those of its columns: its products look at none."""
    matrix.check_format(full_check=True)
    return matrix


def _require_position(state: Any) -> None:
    """Raise unless a generator stands in its buffer: NumPy believes what a state says of that."""
    for owner, name in ((state["state"], "pos"), (state, "buffer_pos")):
        most = _BUFFERS.get((state["bit_generator"], name))
        if most is not None and not (type(owner[name]) is int and 0 <= owner[name] <= most):
            raise _DamagedError(f"it has a generator at {name} {owner[name]!r}")


def _is_code(cls: type, name: str) -> bool:
    """Return whether a class has a method or a property of that name."""
    value = inspect.getattr_static(cls, name, None)
    return callable(value) or isinstance(value, (property, classmethod, staticmethod))


def _class(name: Any) -> Any:
    """Return the class of a name in files."""
    from bayespoint import kernels

    cls: Any = None
    if isinstance(name, str) and name.startswith(_KERNELS):
        cls = getattr(kernels, name.removeprefix(_KERNELS), None)
    elif isinstance(name, str) and name.startswith(_GP_KERNELS):
        module = importlib.import_module(_GP_KERNELS[:-1])
        cls = getattr(module, name.removeprefix(_GP_KERNELS), None)
    elif name in _CLASSES:
        cls = getattr(importlib.import_module(f"bayespoint.{_CLASSES[name]}"), name)
    if not isinstance(cls, type) or _name(cls) != name:
        raise _DamagedError(f"it holds an object of the unknown class {name!r}")
    return cls
