"""Files of results, checkpoints and fitted models, without pickles.

Results and checkpoints are archives of :func:`numpy.savez` with a header in JSON; models are files
of skops. Every file is written under a temporary name and then renamed.
"""

from __future__ import annotations

import contextlib
import copy
import importlib.metadata
import json
import os
import re
import secrets
import sys
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import IO, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator

StrPath: TypeAlias = "str | os.PathLike[str]"
Arrays: TypeAlias = dict[str, NDArray[Any]]

_RESULT, _MODEL = "bayespoint result", "bayespoint model"
_VERSION = 2
"""Version of both formats, to be raised when older files can no longer be read."""


class Savable:
    """Base class of fitted models and results, which can be written to files."""

    def save(self, path: StrPath) -> None:
        """Write to a file that :func:`bayespoint.load` reads.

        Models and results that hold a kernel are written as files of skops, other results as
        archives of :func:`numpy.savez`.

        Parameters
        ----------
        path : str or path-like
            The file. An existing file is replaced only when the new one is complete.

        Raises
        ------
        TypeError
            If the object holds anything but arrays, plain values and objects of this package, for
            instance a function as kernel.
        OSError
            If the file cannot be written; an existing file is then left unchanged.
        """
        check_path("path", path)
        if is_dataclass(self):
            arrays: Arrays = {}
            with contextlib.suppress(_NotPlainError):  # it holds a kernel
                content = {f.name: _encoded(getattr(self, f.name), arrays) for f in fields(self)}
                meta = {"class": type(self).__name__, "content": content}
                write(path, _RESULT, _VERSION, arrays, meta)
                return
        _write_model(path, self)


def deep_copy(original: Any, memo: dict[int, Any]) -> Any:
    """Return a deep copy of all attributes, for classes that leave some out of their files."""
    copied = object.__new__(type(original))
    memo[id(original)] = copied
    vars(copied).update(copy.deepcopy(vars(original), memo))
    return copied


def load(path: StrPath) -> Any:
    """Read a model or result from a file that its method ``save`` wrote.

    Parameters
    ----------
    path : str or path-like
        The file.

    Returns
    -------
    model or result
        An object of the class that was saved. On the same machine its predictions have the same
        bits.

    Raises
    ------
    OSError
        If there is no such file, or it cannot be read.
    ValueError
        If the file is damaged, was written by another program or in another version of the format,
        or holds objects of other packages.

    Notes
    -----
    Loading executes no code from the file. A model from an untrusted source may still give any
    predictions. For objects of `bayespoint.papers`, import their module first.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import bayespoint
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = bayespoint.BayesPointClassifier(random_state=0).fit(X[::3], y[::3])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     model.save(Path(folder) / "iris.skops")
    ...     again = bayespoint.load(Path(folder) / "iris.skops")
    >>> bool((again.predict_proba(X) == model.predict_proba(X)).all())
    True
    """
    check_path("path", path)
    with open(path, "rb") as file:
        with _as_value_error(path, f"{_MODEL} or result"), zipfile.ZipFile(file) as archive:
            is_model, comment = "schema.json" in archive.namelist(), archive.comment.decode()
        if is_model:
            with _as_value_error(path, _MODEL):
                return _read_model(file, comment)
    arrays, meta = read(path, _RESULT, _VERSION)
    with _as_value_error(path, _RESULT):
        known = {cls.__name__: cls for cls in _own_classes() if issubclass(cls, Savable)}
        content = {name: _decoded(tree, arrays) for name, tree in meta["content"].items()}
        return known[meta["class"]](**content)


# --- archives of arrays ----------------------------------------------------------------------


def write(
    path: StrPath, format_name: str, version: int, arrays: Arrays, meta: Mapping[str, Any]
) -> None:
    """Write arrays and JSON-serializable `meta` to a file; tuples in it become lists."""
    header = {"format": format_name, "version": version, "package": _release(), "meta": meta}
    with _replacing(path) as file:
        np.savez(file, header=np.array(json.dumps(header)), **arrays)  # type: ignore[arg-type]


def read(path: StrPath, format_name: str, version: int) -> tuple[Arrays, dict[str, Any]]:
    """Return arrays and `meta` of a file of :func:`write`; raise ValueError for any other file."""
    with open(path, "rb") as file, _as_value_error(path, format_name):
        with np.load(file, allow_pickle=False) as archive:
            arrays = {name: archive[name] for name in archive.files}
        header = json.loads(str(arrays.pop("header")))
        found, package, meta = header["format"], header["package"], dict(header["meta"])
        if found != format_name:
            raise ValueError(f"it is a {found}")
        _check_version(header["version"], version, package)
    return arrays, meta


def check_path(name: str, path: StrPath) -> None:
    """Raise an error that names the argument if `path` is not a path."""
    try:
        text = os.fsdecode(path)
    except TypeError:
        raise TypeError(f"{name} must be a str or path-like; got {path!r}") from None
    if "\0" in text:
        raise ValueError(f"{name} must be a path without null characters; got {path!r}")


def try_to_write(path: StrPath) -> None:
    """Raise OSError if no file can be written in the folder of `path`."""
    with contextlib.suppress(_NotWrittenError), _replacing(path):
        raise _NotWrittenError


def remove_leftovers(path: StrPath) -> None:
    """Remove temporary files that killed processes left beside `path`.

    No other process may be writing to `path`: its write would fail.
    """
    target = Path(os.path.realpath(path))
    pattern = re.compile(re.escape(f".{target.name}.") + r"[0-9a-f]{16}\.tmp")
    for file in target.parent.iterdir():
        if pattern.fullmatch(file.name):
            file.unlink(missing_ok=True)


class _NotWrittenError(Exception):
    """Raised to end a write before it replaces the file."""


@contextlib.contextmanager
def _replacing(path: StrPath) -> Iterator[IO[bytes]]:
    """Open a temporary file that replaces `path` on exit; a link keeps pointing to its target."""
    target = Path(os.path.realpath(path))
    # An unpredictable name prevents symlink attacks.
    temporary = target.with_name(f".{target.name}.{secrets.token_hex(8)}.tmp")
    try:
        with open(temporary, "x+b") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, target)
    except BaseException as error:
        with contextlib.suppress(OSError):
            temporary.unlink()
        if isinstance(error, OSError):  # on a full disk the system's message names no file
            text = f"could not write the file: {error.strerror or error}"
            raise OSError(error.errno, text, str(target)) from error
        raise


@contextlib.contextmanager
def _as_value_error(path: StrPath, format_name: str) -> Iterator[None]:
    """Turn the exceptions that libraries raise for an invalid file into ValueError."""
    try:
        yield
    except MemoryError:
        raise
    except Exception as error:
        raise ValueError(
            f"{os.fspath(path)!r} is not a {format_name} that bayespoint {_release()} can "
            f"read: {str(error) or type(error).__name__}"
        ) from error


def _check_version(found: object, version: int, package: object) -> None:
    if found != version:
        raise ValueError(
            f"it was written by bayespoint {package} in version {found} of the format; this "
            f"bayespoint reads version {version}"
        )


def _release() -> str:
    return importlib.metadata.version("bayespoint")


# --- results ---------------------------------------------------------------------------------


class _NotPlainError(Exception):
    """Raised for a value that is neither an array nor a plain value."""


def _encoded(value: Any, arrays: Arrays) -> Any:
    """Return a JSON-serializable tree of the value, with its arrays moved to `arrays`."""
    if value is None or type(value) in (bool, int, float, str):
        return value
    if isinstance(value, (np.ndarray, np.generic)) and value.dtype.kind in "biufSU":
        name = f"a{len(arrays)}"
        arrays[name] = np.asarray(value)
        return {"array" if isinstance(value, np.ndarray) else "scalar": name}
    if type(value) in (list, tuple):
        return {type(value).__name__: [_encoded(one, arrays) for one in value]}
    if isinstance(value, Mapping) and all(type(key) is str for key in value):
        return {"dict": {key: _encoded(one, arrays) for key, one in value.items()}}
    raise _NotPlainError


def _decoded(tree: Any, arrays: Arrays) -> Any:
    """Return the value that `_encoded` turned into a tree and arrays."""
    if not isinstance(tree, dict):
        return tree
    ((kind, content),) = tree.items()
    if kind == "dict":
        return {key: _decoded(one, arrays) for key, one in content.items()}
    if kind in ("list", "tuple"):
        values = [_decoded(one, arrays) for one in content]
        return values if kind == "list" else tuple(values)
    return arrays[content] if kind == "array" else arrays[content][()]


# --- models ----------------------------------------------------------------------------------


def _own_classes() -> list[type[Any]]:
    """Return the classes of this package that models and results are made of."""
    return [
        cls
        for name, module in list(sys.modules.items())
        if name.startswith("bayespoint.")
        for cls in list(vars(module).values())
        if isinstance(cls, type)
        and cls.__module__ == name
        and (is_dataclass(cls) or issubclass(cls, BaseEstimator))
    ]


def trusted_types() -> list[str]:
    """Return the full names of the classes of this package that models are made of."""
    return sorted(map(_full_name, _own_classes()))


def _all_trusted() -> list[str]:
    """Return `trusted_types` and the other classes that inputs and kernels may have."""
    from sklearn.gaussian_process import kernels as gp

    classes = (cls for cls in vars(gp).values() if isinstance(cls, type))
    kernels = (cls for cls in classes if issubclass(cls, gp.Kernel))
    return [*trusted_types(), *map(_full_name, (*kernels, sparse.csr_array, frozenset))]


def _full_name(cls: type[Any]) -> str:
    return f"{cls.__module__}.{cls.__qualname__}"


def _write_model(path: StrPath, model: Any) -> None:
    import skops.io  # not at the top: it imports all of scikit-learn, which takes two seconds

    name = type(model).__name__
    try:
        data = skops.io.dumps(model)
        unknown = set(skops.io.get_untrusted_types(data=data)) - set(_all_trusted())
    except Exception as error:
        raise TypeError(f"{name} cannot be saved: {error}") from error
    if unknown:
        raise TypeError(
            f"{name} cannot be saved: it holds {', '.join(sorted(unknown))}. Only arrays, plain "
            "values, objects of bayespoint and NumPy and kernels given by name, of "
            "bayespoint.kernels or of scikit-learn's Gaussian processes can be saved"
        )
    with _replacing(path) as file:
        file.write(data)
        with zipfile.ZipFile(file, "a") as archive:
            archive.comment = f"{_MODEL} {_VERSION} {_release()}".encode()


def _read_model(file: IO[bytes], comment: str) -> Any:
    import skops.io

    # Files of skops.io.dump have no comment.
    if (known := re.fullmatch(rf"{_MODEL} (\d+) (.*)", comment)) is not None:
        _check_version(int(known[1]), _VERSION, known[2])
    return skops.io.load(file, trusted=_all_trusted())
