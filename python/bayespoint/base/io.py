"""Files of models and results: archives of skops, which hold no pickles."""

from __future__ import annotations

import contextlib
import errno
import glob
import hashlib
import importlib.metadata
import io
import json
import math
import os
import re
import secrets
import stat
import threading
import zipfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import IO, Any

import numpy as np
from scipy import sparse

from bayespoint.base.memory import require_blas
from bayespoint.base.stored import Stored, check

try:
    import fcntl
except ImportError:  # Windows, where no open file can be removed
    fcntl = None  # type: ignore[assignment]

StrPath = str | os.PathLike[str]

_FORMAT = "bayespoint model or result"
_VERSION = 5  # version of this format, to be raised when older files can no longer be read
_release = partial(importlib.metadata.version, "bayespoint")

_UNCHECKED = {"pos", "buffer_pos", "pool_size"}  # of generators' states, which NumPy does not check
_MOST = 624  # of these, in a state of NumPy's
_SUFFIXES = {"NdArrayNode": ".npy", "SparseMatrixNode": ".npz", "BytesNode": ".bin"}

# NumPy reads the headers of arrays by `ast`, which fails in two threads at once in Python 3.11.
_reading = threading.RLock()
if hasattr(os, "register_at_fork"):  # a child may not begin with the lock of a thread it lacks
    os.register_at_fork(
        before=_reading.acquire,
        after_in_parent=_reading.release,
        after_in_child=_reading.release,
    )


class Savable(Stored):
    """Base class of fitted models and results, which can be written to files."""

    def save(self, path: StrPath) -> None:
        """Write to a file that :func:`bayespoint.load` reads.

        Parameters
        ----------
        path : str or path-like
            The file, for its owner alone; an old one, with its permissions, is replaced at the end.

        Raises
        ------
        TypeError
            If it holds other things than arrays, plain values and objects of this package.
        OSError
            If the file cannot be written.
        """
        check_path(path)
        try:
            check(self)
            with _reading:
                data = _packed(self)
                _check_archive(data)
        except MemoryError:
            raise
        except Exception as error:
            raise TypeError(
                f"{type(self).__name__} cannot be saved: {error}. Only arrays, plain values, "
                "objects of bayespoint and NumPy and kernels given by name, of bayespoint.kernels "
                "or of scikit-learn's Gaussian processes can be saved"
            ) from error
        _replace(path, data)


def load(path: StrPath) -> Any:
    """Read a model or result from a file that its method ``save`` wrote.

    Parameters
    ----------
    path : str or path-like
        The file. For objects of `bayespoint.papers`, import their module first.

    Returns
    -------
    model or result
        The object that was saved. On the same machine its predictions have the same bits.

    Raises
    ------
    OSError
        If there is no such file, or it cannot be read.
    ValueError
        If it is no regular file, is damaged, of another program or version, or of other objects.

    Notes
    -----
    No code from the file is executed. A model of an untrusted source may still predict anything.

    Examples
    --------
    >>> import tempfile
    >>> import bayespoint
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = bayespoint.BayesPointClassifier(random_state=0).fit(X[::3], y[::3])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     model.save(folder + "/iris.skops")
    ...     again = bayespoint.load(folder + "/iris.skops")
    >>> bool((again.predict_proba(X) == model.predict_proba(X)).all())
    True
    """
    check_path(path)
    require_blas()
    mode = os.stat(path).st_mode
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
        raise ValueError(f"path must be a regular file; got {os.fspath(path)!r}")
    try:
        with open(path, "rb") as file:
            data = file.read()  # at once: what is checked is what is built
    except OSError as error:
        raise OSError(error.errno, error.strerror, os.fspath(path)) from error
    try:
        with _reading:
            return _built(data)
    except MemoryError:
        raise
    except Exception as error:
        raise ValueError(
            f"{os.fspath(path)!r} is not a {_FORMAT} that bayespoint {_release()} can "
            f"read: {str(error) or type(error).__name__}"
        ) from error


def check_path(path: StrPath) -> None:
    """Raise an error if `path` is not a path."""
    try:
        text = os.fsdecode(path)
    except TypeError:
        raise TypeError(f"path must be a str or path-like; got {path!r}") from None
    if "\0" in text:
        raise ValueError(f"path must be a path without null characters; got {path!r}")


def trusted_types() -> list[str]:
    """Return the full names of the classes of this package that models and results are made of."""
    classes, names = [Stored], set[str]()
    for cls in classes:  # which grows
        classes += cls.__subclasses__()
        names.add(_full_name(cls))
    return sorted(name for name in names if name.startswith("bayespoint."))


def _listed() -> dict[str, set[str]]:
    """Return the full names of all that files may hold, by what loads it in skops.

    skops alone would also build scikit-learn's estimators and call functions of NumPy.
    """
    from sklearn.gaussian_process import kernels as gp
    from sklearn.preprocessing import PowerTransformer, StandardScaler

    theirs = [c for c in vars(gp).values() if isinstance(c, type) and issubclass(c, gp.Kernel)]
    theirs += [PowerTransformer, StandardScaler]
    scalars = {_full_name(c) for c in np.sctypeDict.values() if c not in (np.object_, np.void)}
    plain = {f"{cls.__name__.title()}Node": cls for cls in (dict, list, tuple, set, bytes)} | {
        "JsonNode": str,
        "ConstructorFromReduceNode": frozenset,
        "SparseMatrixNode": sparse.csr_array,
        "RandomStateNode": np.random.RandomState,
        "RandomGeneratorNode": np.random.Generator,
    }
    return {loader: {_full_name(cls)} for loader, cls in plain.items()} | {
        "TypeNode": scalars | {"builtins.str", "builtins.int", "builtins.float"},
        "NdArrayNode": scalars | {"numpy.ndarray"},
        "ObjectNode": set(trusted_types()) | set(map(_full_name, theirs)),
    }


def _full_name(cls: type[Any]) -> str:
    return f"{cls.__module__}.{cls.__qualname__}"


# --- writing ---------------------------------------------------------------------------------


def _packed(content: Any) -> bytes:
    """Return an archive of skops that says its origin, with equal arrays once, not compressed.

    Only these have a number, so that nothing else can stand in two places.
    """
    import skops.io  # not at the top: it imports all of scikit-learn, which takes two seconds

    source = zipfile.ZipFile(io.BytesIO(skops.io.dumps(content)))
    schema, numbers = json.loads(source.read("schema.json")), dict[bytes, int]()
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w") as archive:
        for node in _nodes(schema):
            del node["__id__"]
            if "file" in node:
                data, suffix = source.read(node["file"]), _SUFFIXES[node["__loader__"]]
                data = _stored(data) if suffix == ".npz" else data
                key = f"{node['__class__']} {suffix}".encode() + hashlib.blake2b(data).digest()
                node["__id__"] = numbers.setdefault(key, len(numbers) + 1)
                node["file"] = f"{node['__id__']}{suffix}"
                if node["file"] not in archive.NameToInfo:
                    archive.writestr(node["file"], data)
            for kind in node["key_types"]["content"] if "key_types" in node else ():
                if kind["__class__"].startswith("bool"):  # skops reads all keys as True
                    kind |= {"__class__": "int", "__module__": "builtins"}
                    number = {"false": "0", "true": "1"}
                    node["content"] = {number.get(k, k): v for k, v in node["content"].items()}
        archive.writestr("schema.json", json.dumps(schema, separators=(",", ":")))
        archive.comment = f"{_FORMAT} {_VERSION} {_release()}".encode()
    return target.getvalue()


def _stored(data: bytes) -> bytes:
    """Return the archive of a sparse matrix without compression."""
    target = io.BytesIO()
    sparse.save_npz(target, sparse.load_npz(io.BytesIO(data)), compressed=False)
    return target.getvalue()


def _replace(path: StrPath, data: bytes) -> None:
    """Put a file of these bytes in the place of the one at `path`, or leave that as it is."""
    target = Path(os.path.realpath(path))  # a link keeps pointing to its target
    # An unpredictable name prevents symlink attacks.
    temporary = target.with_name(f".{target.name}.{secrets.token_hex(8)}.tmp")
    try:
        _require_file(target)
        with open(temporary, "xb", opener=partial(os.open, mode=0o600)) as file:
            with contextlib.suppress(OSError):  # where files have no locks
                _hold(file)
            _remove_leftovers(target)
            file.write(data)
            file.flush()
            if target.exists():
                os.chmod(temporary, stat.S_IMODE(target.stat().st_mode))
            os.fsync(file.fileno())
            if fcntl is None:
                file.close()
            os.replace(temporary, target)
    except OSError as error:  # on a full disk the system's message names no file
        text = f"could not write the file: {error.strerror or error}"
        raise OSError(error.errno, text, str(target)) from error
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)


def _require_file(target: Path) -> None:
    """Raise OSError if there is something else than a regular file."""
    if target.exists() and not target.is_file():
        number = errno.EISDIR if target.is_dir() else errno.EINVAL
        raise OSError(number, "it is no regular file")


def _hold(file: IO[bytes]) -> None:
    """Lock a file until it is closed or the process ends, or raise OSError."""
    if fcntl is not None:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


def _remove_leftovers(target: Path) -> None:
    """Remove temporary files beside `target` that killed processes left."""
    for left in target.parent.glob(f".{glob.escape(target.name)}.{'[0-9a-f]' * 16}.tmp"):
        if left.is_file():
            with contextlib.suppress(OSError):  # another process writes it, or another user's
                with open(left, "rb") as file:
                    _hold(file)
                left.unlink()


# --- reading ---------------------------------------------------------------------------------


def _built(data: bytes) -> Savable:
    """Return what an archive holds, or raise an error that says what is wrong with it."""
    import skops.io

    _check_archive(data)
    content = skops.io.loads(data, trusted=sorted(set().union(*_listed().values())))
    if not isinstance(content, Savable):
        raise TypeError(f"it holds a {type(content).__name__}")
    check(content)
    return content


def _check_archive(data: bytes) -> None:
    """Raise an error for an archive of another origin, or with what files do not hold."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        origin = re.match(rf"{_FORMAT} (\d+) (\S+)", archive.comment.decode())
        if origin is None:
            raise ValueError("it was written by another program (pipelines: skops.io.load)")
        version, release = origin.groups()
        if int(version) != _VERSION:
            written = f"it was written by bayespoint {release} in version {version} of the format"
            raise ValueError(f"{written}; this bayespoint reads version {_VERSION}")
        _check_members(archive, len(data))
        schema, listed = json.loads(archive.read("schema.json")), _listed()
    if schema["protocol"] < 2:  # whose nodes were read in other ways
        raise ValueError("it was written by an older skops")
    for node in _nodes(schema):
        loader, name = node["__loader__"], f"{node['__module__']}.{node['__class__']}"
        if name not in listed.get(loader, ()):
            raise ValueError(f"it holds {name} ({loader}), which files of bayespoint do not")
        # Of other numbers a node might stand for another, and without one be read repeatedly.
        number, file = node.get("__id__"), node.get("file")
        if (number or file) and not (number and file == f"{number:d}{_SUFFIXES.get(loader)}"):
            raise ValueError(f"its {loader} stands for another")
        if loader == "JsonNode" and isinstance(json.loads(node["content"]), (list, dict)):
            raise ValueError("it holds text in place of a list or a mapping")
        if loader == "RandomStateNode" and node["content"]["__loader__"] != "DictNode":
            raise ValueError("it holds a random generator without names")
        for state in _dicts(node["content"]) if loader.startswith("Random") else ():
            for key in _UNCHECKED & state.keys():
                if not 0 <= json.loads(state[key]["content"]) <= _MOST:
                    raise ValueError(f"the {key} of a random generator is out of range")


def _check_members(archive: zipfile.ZipFile, size: int) -> None:
    """Raise ValueError if members take more memory than `size`, or arrays are not of their shapes.

    Each number of a node has one member, which is read once.
    """
    for member in archive.infolist():
        size -= member.file_size
        if member.compress_type != zipfile.ZIP_STORED or size < 0:
            raise ValueError(f"its member {member.filename} is compressed or overlaps another")
        with archive.open(member) as file:
            if member.filename.endswith(".npz"):
                with zipfile.ZipFile(io.BytesIO(file.read())) as nested:
                    _check_members(nested, member.file_size)
            elif member.filename != "schema.json" and not member.filename.endswith(".bin"):
                _check_array(file, member)


def _check_array(file: IO[bytes], member: zipfile.ZipInfo) -> None:
    version = np.lib.format.read_magic(file)
    headers = np.lib.format.read_array_header_1_0, np.lib.format.read_array_header_2_0
    shape, _, dtype = headers[version != (1, 0)](file)
    size = math.prod(shape) * dtype.itemsize
    if dtype.hasobject or not dtype.itemsize or size != member.file_size - file.tell():
        raise ValueError(f"its member {member.filename} is no array of shape {shape}")


def _dicts(nodes: Any) -> Iterator[dict[str, Any]]:
    """Yield all mappings in a schema."""
    left = [nodes]
    while left:
        part = left.pop()
        if isinstance(part, dict):
            yield part
            left += part.values()
        elif isinstance(part, list):
            left += part


def _nodes(schema: Any) -> Iterator[dict[str, Any]]:
    """Yield the mappings in a schema from which skops loads objects."""
    return (part for part in _dicts(schema) if isinstance(part.get("__loader__"), str))
