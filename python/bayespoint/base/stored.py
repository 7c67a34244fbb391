"""What files hold, the checks of what was read from them, and parcels for other processes."""

from __future__ import annotations

import functools
import hashlib
import pickle
import sys
import types
import typing
from dataclasses import MISSING, fields, is_dataclass
from functools import cached_property
from numbers import Integral, Real
from pathlib import Path
from typing import Any, ClassVar, Literal, Union

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator


class Stored:
    """Base class of what files hold: dataclasses with types, and estimators."""

    _shapes: ClassVar[str] = ""
    """Axes of attributes, as in "*m: center; tn*m: draws". A letter stands for the same size in all
    of them, a digit for itself; ``*`` is an axis of classes in all of them, or in none."""

    def __getstate__(self) -> dict[str, Any]:
        """Return what is pickled and saved: of estimators everything, else all but defaults."""
        default, whole = vars(type(self)).get, isinstance(self, BaseEstimator)
        return {k: own for k, own in vars(self).items() if whole or own is not default(k, self)}

    def check_parts(self) -> None:
        """Raise an error if parts of the right types and shapes do not fit each other."""


def check(value: Any) -> None:
    """Raise an error if an object lacks parts, or has others than those of its annotations."""
    if isinstance(value, Stored):
        _check_types(value)
        check(vars(value))
        getattr(value, "__post_init__", lambda: None)()
        _check_shapes(value)
        value.check_parts()
    elif hasattr(value, "get_params"):  # of scikit-learn, whose text needs all parameters
        check(vars(value))
        repr(value)
    elif sparse.issparse(value):
        value.check_format(full_check=True)  # on which SciPy's C++ relies
    elif isinstance(value, (tuple, list, dict)):
        for part in value.values() if isinstance(value, dict) else value:
            check(part)
    elif isinstance(value, np.ndarray) and value.dtype == object:
        check(value.tolist())


def _check_types(value: Stored) -> None:
    cls, needed, free = type(value), set[str](), False
    hints = typing.get_type_hints(cls)
    for name in dir(cls):
        if isinstance(known := getattr(cls, name, None), cached_property):
            hints[name] = typing.get_type_hints(known.func)["return"]
    if isinstance(value, BaseEstimator):
        needed, free = set(value._get_param_names()), True
        hints |= dict.fromkeys(needed, Any)
    elif is_dataclass(cls):
        needed = {f.name for f in fields(cls) if f.default is f.default_factory is MISSING}
    if lacking := needed - vars(value).keys():
        raise ValueError(f"{cls.__name__} lacks {', '.join(sorted(lacking))}")
    for name, part in vars(value).items():
        other = Any if free and name.endswith("_") else Literal[()]
        if not _fits(part, hints.get(name, other)):
            raise TypeError(f"{name} of {cls.__name__} is a {type(part).__name__}")


def _fits(value: Any, hint: Any) -> bool:
    """Return whether a value is of an annotated type."""
    origin, args = typing.get_origin(hint), typing.get_args(hint)
    if origin in (Union, types.UnionType):
        return any(_fits(value, kind) for kind in args)
    if origin is Literal:
        return isinstance(value, str) and value in args
    if origin is tuple and isinstance(value, tuple):
        kinds = args[:1] * len(value) if ... in args else args
        return len(kinds) == len(value) and all(map(_fits, value, kinds))
    if origin is np.ndarray and type(value) is origin:
        [kind] = typing.get_args(args[1])
        return kind is Any or np.issubdtype(value.dtype, kind)
    if hint in (float, int) and isinstance(value, Real if hint is float else Integral):
        float(value)  # or OverflowError
        return not isinstance(value, bool)
    return hint is Any or isinstance(value, origin or hint)


def _check_shapes(value: Stored) -> None:
    sizes: dict[str, int] = {str(size): size for size in range(10)}
    for part in filter(None, value._shapes.split("; ")):
        axes, names = part.split(": ")
        for name in names.split():
            if (array := getattr(value, name)) is None:
                continue
            shape = np.shape(array) if isinstance(array, np.ndarray) else (len(array),)
            extra = len(shape) - len(axes) + 1 if "*" in axes else 0
            letters = axes.replace("*", "C" * extra)
            known = list(zip(letters, shape, strict=False))
            if "*" in axes:
                known.append(("*", extra))
            same = all(sizes.setdefault(letter, size) == size for letter, size in known)
            if extra not in (0, 1) or len(letters) != len(shape) or not same:
                raise ValueError(f"{name} of {type(value).__name__} has the shape {shape}")


@functools.cache
def build() -> str:
    """Return the version of this package and a digest of its modules, also the compiled one."""
    package = sys.modules["bayespoint"]
    digest, folder = hashlib.blake2b(digest_size=6), Path(str(package.__file__)).parent
    for file in sorted([*folder.rglob("*.py"), *folder.glob("_core.*[dos]")]):
        digest.update(file.read_bytes())
    return f"{package.__version__} ({digest.hexdigest()})"


def pack(content: Any) -> bytes:
    """Return an object as bytes: arrays from a network may be unaligned."""
    return pickle.dumps((build(), pickle.dumps(content, protocol=5)), protocol=5)


def unpack(parcel: bytes) -> Any:
    """Return the object, or raise RuntimeError if another build made it."""
    theirs, content = pickle.loads(parcel)
    if theirs != build():
        raise RuntimeError(
            f"a worker has bayespoint {build()}, but this fit was begun by {theirs}: with another "
            "build it would have other draws. Install the same one everywhere"
        )
    return pickle.loads(content)
