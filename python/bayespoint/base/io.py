"""Files of models, results and checkpoints: files of skops, which hold no pickles."""

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
import zipfile
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import IO, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from bayespoint.base.memory import require_blas
from bayespoint.base.stored import Stored, check

try:
    import fcntl
except ImportError:  # Windows, where no open file can be removed
    fcntl = None  # type: ignore[assignment]

StrPath: TypeAlias = "str | os.PathLike[str]"
Arrays: TypeAlias = dict[str, NDArray[Any]]

_FORMAT = "bayespoint model or result"
_VERSION = 5  # version of this format, to be raised when older files can no longer be read
_release = partial(importlib.metadata.version, "bayespoint")

_UNCHECKED = {"pos", "buffer_pos", "pool_size"}  # of generators' states, which NumPy does not check
_MOST = 624  # of these, in a state of NumPy's
_SUFFIXES = {"NdArrayNode": "npy", "SparseMatrixNode": "npz", "BytesNode": "bin"}
_DIGEST = 32  # characters of the digest at the end of a file


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
        import skops.io  # not at the top: it imports all of scikit-learn, which takes two seconds

        check_path("path", path)
        name = type(self).__name__
        with _replacing(path) as file:
            try:
                check(self)
                _pack(skops.io.dumps(self), file, _FORMAT, _VERSION)
            except (OSError, MemoryError):
                raise
            except Exception as error:
                raise TypeError(
                    f"{name} cannot be saved: {error}. Only arrays, plain values, objects of "
                    "bayespoint and NumPy and kernels given by name, of bayespoint.kernels or of "
                    "scikit-learn's Gaussian processes can be saved"
                ) from error


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
    check_path("path", path)
    require_blas()
    with _reading(path, _FORMAT, _VERSION) as found:
        if not isinstance(found, Savable):
            raise TypeError(f"it holds a {type(found).__name__}")
        check(found)
        return found


def write(
    path: StrPath, format_name: str, version: int, arrays: Arrays, meta: Mapping[str, Any]
) -> None:
    """Write arrays and plain values to a file."""
    import skops.io

    with _replacing(path) as file:
        _pack(skops.io.dumps((dict(arrays), dict(meta))), file, format_name, version)


def read(path: StrPath, format_name: str, version: int) -> tuple[Arrays, dict[str, Any]]:
    """Return arrays and `meta` of a file of :func:`write`; raise ValueError for any other file."""
    with _reading(path, format_name, version) as (arrays, meta):
        if not all(isinstance(value, np.ndarray) for value in arrays.values()):
            raise TypeError("its arrays are of other types")
        return arrays, dict(meta)


def check_path(name: str, path: StrPath) -> None:
    """Raise an error that names the argument if `path` is not a path."""
    try:
        text = os.fsdecode(path)
    except TypeError:
        raise TypeError(f"{name} must be a str or path-like; got {path!r}") from None
    if "\0" in text:
        raise ValueError(f"{name} must be a path without null characters; got {path!r}")


def try_to_write(path: StrPath) -> None:
    """Raise OSError if no file can be written at `path`."""
    with _temporary(Path(os.path.realpath(path))):
        pass


def trusted_types() -> list[str]:
    """Return the full names of the classes of this package that models and results are made of."""
    classes, found = [Stored], set[str]()
    for cls in classes:  # which grows
        classes += cls.__subclasses__()
        found.add(_full_name(cls))
    return sorted(name for name in found if name.startswith("bayespoint."))


def _listed() -> dict[str, set[str]]:
    """Return the full names of all that files may hold, by what loads it in skops."""
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


@contextlib.contextmanager
def _replacing(path: StrPath) -> Iterator[IO[bytes]]:
    """Open a file that replaces the one at `path` if no error is raised."""
    target = Path(os.path.realpath(path))  # a link keeps pointing to its target
    with _temporary(target) as file:
        yield file
        file.flush()
        if target.exists():
            os.chmod(file.name, stat.S_IMODE(target.stat().st_mode))
        os.fsync(file.fileno())
        if fcntl is None:
            file.close()
        os.replace(file.name, target)


@contextlib.contextmanager
def _temporary(target: Path) -> Iterator[IO[bytes]]:
    """Open a file beside `target` that is removed on exit if it is still there."""
    # An unpredictable name prevents symlink attacks.
    temporary = target.with_name(f".{target.name}.{secrets.token_hex(8)}.tmp")
    try:
        _require_file(target)
        with open(temporary, "x+b", opener=partial(os.open, mode=0o600)) as file:
            with contextlib.suppress(OSError):  # where files have no locks
                _hold(file)
            _remove_leftovers(target)
            yield file
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


def _pack(data: bytes, file: IO[bytes], format_name: str, version: int) -> None:
    """Write an archive of skops, with equal arrays once and a digest of all at the end."""
    with zipfile.ZipFile(io.BytesIO(data)) as source, zipfile.ZipFile(file, "w") as archive:
        schema, numbers = json.loads(source.read("schema.json")), dict[tuple[str, bytes], int]()
        for node in filter(_is_node, _dicts(schema)):
            node.pop("__id__", None)
            node.pop("is_json", None)
            if "file" in node:
                content, suffix = source.read(node["file"]), Path(node["file"]).suffix
                if suffix == ".npz":
                    content = _stored(content)
                key = node["__class__"], hashlib.blake2b(content).digest()
                node["__id__"] = numbers.setdefault(key, len(numbers) + 1)
                node["file"] = f"{node['__id__']}{suffix}"
                if node["file"] not in archive.NameToInfo:
                    archive.writestr(zipfile.ZipInfo(node["file"]), content)
            for kind in node.get("key_types", {"content": ()})["content"]:
                if kind["__class__"].startswith("bool"):  # skops reads all as True; 0 and 1 do
                    kind |= {"__class__": "int", "__module__": "builtins"}
                    numbered = {"false": "0", "true": "1"}
                    node["content"] = {numbered.get(k, k): v for k, v in node["content"].items()}
        text = json.dumps(schema, separators=(",", ":"))
        archive.writestr(zipfile.ZipInfo("schema.json"), text)
        archive.comment = f"{format_name} {version} {_release()} {'0' * _DIGEST}".encode()
    file.seek(-_DIGEST, os.SEEK_END)
    file.write(_digest(file))
    file.flush()  # an error of the disk must not reach zipfile, for which it is one of the archive
    with zipfile.ZipFile(file) as archive:
        _check_content(archive)


def _stored(data: bytes) -> bytes:
    """Return an archive without compression."""
    copied = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as source, zipfile.ZipFile(copied, "w") as archive:
        for name in source.namelist():
            archive.writestr(zipfile.ZipInfo(name), source.read(name))
    return copied.getvalue()


def _dicts(nodes: Any) -> Iterator[dict[str, Any]]:
    """Yield all mappings in a schema."""
    left = [nodes]
    while left:
        found = left.pop()
        if isinstance(found, dict):
            yield found
            left += found.values()
        elif isinstance(found, list):
            left += found


def _is_node(found: dict[str, Any]) -> bool:
    """Return whether skops loads an object from a mapping in a schema."""
    return isinstance(found.get("__loader__"), str)


def _digest(file: IO[bytes]) -> bytes:
    """Return the digest of all but the last bytes, of its own size."""
    digest, left = hashlib.blake2b(digest_size=_DIGEST // 2), file.seek(0, os.SEEK_END) - _DIGEST
    file.seek(0)
    while left > 0:
        block = file.read(min(left, 2**20))
        digest.update(block)
        left -= len(block)
    return digest.hexdigest().encode()


# --- reading ---------------------------------------------------------------------------------


@contextlib.contextmanager
def _reading(path: StrPath, format_name: str, version: int) -> Iterator[Any]:
    """Return the content of a file; whatever is wrong with it raises ValueError."""
    import skops.io

    mode = os.stat(path).st_mode
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
        raise ValueError(f"path must be a regular file; got {os.fspath(path)!r}")
    with open(path, "rb") as file:
        try:
            with zipfile.ZipFile(file) as archive:
                _check_origin(archive, format_name, version)
                _check_content(archive)
            file.seek(0)
            yield skops.io.load(file, trusted=sorted(set().union(*_listed().values())))
        except MemoryError:
            raise
        except Exception as error:
            cause = error.__context__ if isinstance(error, zipfile.BadZipFile) else error
            if isinstance(cause, OSError) and cause.errno != errno.EINVAL:  # that is a wrong offset
                text = f"could not read the file: {cause.strerror}"
                raise OSError(cause.errno, text, os.fspath(path)) from error
            raise ValueError(
                f"{os.fspath(path)!r} is not a {format_name} that bayespoint {_release()} can "
                f"read: {str(error) or type(error).__name__}"
            ) from error


def _check_origin(archive: zipfile.ZipFile, format_name: str, version: int) -> None:
    """Raise ValueError for a file of another program, format or version, or a changed one."""
    reads = f"this bayespoint reads version {version}"
    known = re.fullmatch(r"(.+?) (\d+) (\S+)( [0-9a-f]{32})?", archive.comment.decode())
    if known is None:
        if "header.npy" in archive.namelist():
            raise ValueError(f"it was written in version 2 of the format, or before; {reads}")
        raise ValueError("it was written by another program (pipelines: skops.io.load)")
    name, number, release, _ = known.groups()
    if not format_name.startswith(name):  # version 2 wrote "bayespoint model"
        raise ValueError(f"it is a {name}")
    if int(number) != version:
        written = f"it was written by bayespoint {release} in version {number} of the format"
        raise ValueError(f"{written}; {reads}")
    assert archive.fp is not None
    if _digest(archive.fp) != archive.comment[-_DIGEST:]:
        raise ValueError("its bytes have been changed")


def _check_content(archive: zipfile.ZipFile) -> None:
    """Raise ValueError for members or nodes of the schema that models and results do not have."""
    _check_members(archive)
    schema, listed, files = json.loads(archive.read("schema.json")), _listed(), {"schema.json"}
    if schema["protocol"] < 2:  # whose nodes were read in other ways
        raise ValueError("it was written by an older skops")
    for node in filter(_is_node, _dicts(schema)):
        loader, name = node["__loader__"], f"{node['__module__']}.{node['__class__']}"
        if name not in listed.get(loader, ()):
            raise ValueError(f"it holds {name} ({loader}), which files of bayespoint do not")
        if "__id__" in node or "file" in node:  # of others, one might stand for another
            if node["file"] != f"{node['__id__']:d}.{_SUFFIXES[loader]}":
                raise ValueError(f"it holds {node['file']} under another name")
            files.add(node["file"])
        if loader == "JsonNode" and isinstance(json.loads(node["content"]), (list, dict)):
            raise ValueError("it holds text in place of a list or a mapping")
        if loader == "RandomStateNode" and node["content"]["__loader__"] != "DictNode":
            raise ValueError("it holds a random generator without names")
        for state in _dicts(node["content"]) if loader.startswith("Random") else ():
            for key in _UNCHECKED & state.keys():
                if not 0 <= json.loads(state[key]["content"]) <= _MOST:
                    raise ValueError(f"the {key} of a random generator is out of range")
    if files != set(archive.namelist()):
        raise ValueError("it has other members than those it names")


def _check_members(archive: zipfile.ZipFile) -> None:
    """Raise ValueError if members are compressed or overlap, or arrays are not of their shapes."""
    end = 0
    for member in sorted(archive.infolist(), key=lambda one: one.header_offset):
        if member.compress_type != zipfile.ZIP_STORED or member.compress_size != member.file_size:
            raise ValueError(f"its member {member.filename} is compressed")
        if member.header_offset < end:
            raise ValueError(f"its member {member.filename} overlaps another")
        end = member.header_offset + member.file_size
        with archive.open(member) as file:
            if member.filename.endswith(".npz"):
                with zipfile.ZipFile(io.BytesIO(file.read())) as nested:
                    if not all(name.endswith(".npy") for name in nested.namelist()):
                        raise ValueError(f"its member {member.filename} holds no arrays")
                    _check_members(nested)
            elif member.filename.endswith(".npy"):
                _check_array(file, member)
    if end > archive.start_dir or len(archive.NameToInfo) != len(archive.infolist()):
        raise ValueError("its members do not add up to it")


def _check_array(file: IO[bytes], member: zipfile.ZipInfo) -> None:
    version = np.lib.format.read_magic(file)
    headers = np.lib.format.read_array_header_1_0, np.lib.format.read_array_header_2_0
    shape, _, dtype = headers[version != (1, 0)](file)
    size = math.prod(shape) * dtype.itemsize
    if dtype.hasobject or not dtype.itemsize or size != member.file_size - file.tell():
        raise ValueError(f"its member {member.filename} is no array of shape {shape}")
