"""Files of arrays that are written whole or not at all, and read with suspicion.

A file is a zip archive of ``.npy`` members as NumPy writes it, and ``numpy.load`` opens it. On top
of that

- nothing in it is pickled and nothing is compressed: its arrays take no more memory than it has
  bytes,
- its last bytes, the archive's comment, are the SHA-256 digest of all bytes before them: a file
  that was cut, or of which one bit is not what was written, is refused,
- it says what it is, in a member ``header`` of JSON.

The digest tells accidents, not malice: whoever can write a file can write its digest. A file made
to do harm therefore is not believed either: every size is compared with the length of the file
before memory is allocated, and what is not an array of numbers or texts is refused.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import io
import json
import math
import os
import re
import secrets
import stat
import struct
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from bayespoint.base import memory

StrPath: TypeAlias = "str | os.PathLike[str]"
Arrays: TypeAlias = dict[str, NDArray[Any]]

_SEAL = b"bayespoint sha256 "
_DIGITS = 64
_HEADER = "header"
_NAME = re.compile(r"[A-Za-z0-9_]+(?:[.-][A-Za-z0-9_]+)*", re.ASCII)
_KINDS = "biufcUSMm"
"""Booleans, integers, floats, complex numbers, texts, bytes, dates and times."""

_NPY = b"\x93NUMPY\x01\x00"
_SHAPE = re.compile(
    rb"\{'descr': '(?P<dtype>[<>|][biufcUSMm][0-9]{1,9}(?:\[[0-9]{0,9}[A-Za-z]{1,2}\])?)', "
    rb"'fortran_order': False, "
    rb"'shape': \((?P<shape>(?:[0-9]{1,20}(?:,|(?:, [0-9]{1,20})+))?)\), \} *\n"
)
"""What NumPy writes in front of such an array. Its own reader repairs, and evaluates, far more."""

_NOT_OURS = (
    zipfile.BadZipFile,
    zlib.error,
    struct.error,
    EOFError,
    NotImplementedError,
    RuntimeError,
    TypeError,
    ValueError,
)
"""What `zipfile` and NumPy raise on bytes that :func:`write` would not write."""

_PIECE = 2**20
_ZIP64 = 2**31 - 2**16
"""Bytes from which a member's size takes more than 32 bits, its own header counted."""


# --- writing ---------------------------------------------------------------------------------


def write(
    path: StrPath,
    format_name: str,
    version: int,
    arrays: Mapping[str, NDArray[Any]],
    meta: Mapping[str, Any],
) -> None:
    """Write arrays and plain values to a file, in one step for whoever looks at it.

    The bytes go to a file beside it, ``.NAME.<16 hexadecimal digits>.tmp``, which takes its place
    once they are on the disk. A process that is killed on the way leaves the file as it was, and
    that one behind: see :func:`remove_leftovers`. The same content gives the same bytes.

    Parameters
    ----------
    path : str or path-like
        The file. Of a link the file that it leads to.
    format_name : str
        What the file is, for instance ``"bayespoint checkpoint"``.
    version : int
        Version of the format.
    arrays : mapping of str to ndarray
        Booleans, numbers, texts, bytes or dates, of any shape. Names are of letters, digits and
        ``_``, with single ``.`` and ``-`` between these; not "header".
    meta : mapping of str to plain values
        What JSON can hold, in which tuples are lists. Floats keep their bits.

    Raises
    ------
    OSError
        If the file cannot be written; it is as it was before.
    TypeError
        For arrays of objects or records, and values that JSON does not have.
    ValueError
        For a name that cannot be a member's.
    """
    head = {"format": format_name, "version": version, "meta": dict(meta)}
    text = json.dumps(head, ensure_ascii=True).encode("ascii")
    members = {_HEADER: np.frombuffer(text, dtype=np.uint8)}
    for name, array in arrays.items():
        if not _NAME.fullmatch(name) or name == _HEADER:
            raise ValueError(f"arrays must have names of letters, digits, _, . and -; got {name!r}")
        if not isinstance(array, np.ndarray) or array.dtype.kind not in _KINDS:
            got = f"dtype {array.dtype}" if isinstance(array, np.ndarray) else type(array).__name__
            raise TypeError(f"array {name!r} must hold numbers, texts or dates; got {got}")
        members[name] = array
    target = Path(os.path.realpath(path))
    with _said(target), _replacing(target) as file:
        with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
            for name, array in members.items():
                large = array.nbytes >= _ZIP64
                with archive.open(zipfile.ZipInfo(f"{name}.npy"), "w", force_zip64=large) as member:
                    ordered = np.asarray(array, order="C")
                    np.lib.format.write_array(member, ordered, allow_pickle=False)
            archive.comment = _SEAL + bytes(_DIGITS)
        length = file.tell()
        digest = _digest(file, length - _DIGITS)
        file.seek(length - _DIGITS)
        file.write(digest)


def check_path(name: str, path: StrPath) -> None:
    """Raise an error, with the argument's name, for what no system takes for a path."""
    try:
        text = os.fsdecode(path)
    except TypeError:
        raise TypeError(f"{name} must be a str or path-like; got {path!r}") from None
    if "\0" in text:
        raise ValueError(f"{name} must be a path without null characters; got {path!r}")


def try_to_write(path: StrPath) -> None:
    """Make the file that :func:`write` would begin with, and remove it.

    Raises
    ------
    OSError
        If it cannot be made.
    """
    target = Path(os.path.realpath(path))
    with _said(target):
        descriptor, beside = _beside(target)
        os.close(descriptor)
        beside.unlink()


def remove_leftovers(path: StrPath) -> None:
    """Remove what writers of `path` that were killed left beside it.

    Not while another process writes to `path`: its next write would fail.

    Raises
    ------
    OSError
        If the folder cannot be read, or what is there not be removed.
    """
    target = Path(os.path.realpath(path))
    name = re.compile(re.escape(f".{target.name}.") + r"[0-9a-f]{16}\.tmp")
    for beside in target.parent.iterdir():
        if name.fullmatch(beside.name):
            beside.unlink(missing_ok=True)


@contextlib.contextmanager
def _said(target: Path) -> Iterator[None]:
    """Name the file in errors of the system, which are silent on it when a disk is full."""
    try:
        yield
    except OSError as error:
        reason = error.strerror or str(error)
        raise OSError(error.errno, f"could not write the file: {reason}", str(target)) from error


@contextlib.contextmanager
def _replacing(target: Path) -> Iterator[IO[bytes]]:
    """Open a new file that takes the place of `target` once all is on the disk."""
    if target.is_dir():
        raise IsADirectoryError(errno.EISDIR, "it is a folder")
    descriptor, beside = _beside(target)
    try:
        with os.fdopen(descriptor, "w+b") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(beside, target)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise
    if os.name != "nt":  # where folders cannot be opened
        folder = os.open(target.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def _beside(target: Path) -> tuple[int, Path]:
    """Make a new file beside another one, under a name that nobody could have laid a link at."""
    beside = target.with_name(f".{target.name}.{secrets.token_hex(8)}.tmp")
    # The mode is what the umask leaves of it, as for any new file; mkstemp's would be private.
    flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    return os.open(beside, flags, 0o666), beside


def _digest(file: IO[bytes], length: int) -> bytes:
    """Return the digest of the first `length` bytes, in hexadecimal digits."""
    file.seek(0)
    digest = hashlib.sha256()
    while length > 0 and (piece := file.read(min(length, _PIECE))):
        digest.update(piece)
        length -= len(piece)
    return digest.hexdigest().encode("ascii")


# --- reading ---------------------------------------------------------------------------------


def read(path: StrPath, format_name: str, max_bytes: float) -> tuple[int, Arrays, dict[str, Any]]:
    """Read what :func:`write` wrote.

    Parameters
    ----------
    path : str or path-like
        The file.
    format_name : str
        What it must be.
    max_bytes : float
        Length of a file beyond which it cannot be what it must be, and is not read. That is also
        how much memory its arrays can take.

    Returns
    -------
    version : int
        Version of the format.
    arrays : dict of str to ndarray
        The arrays, writable and in C order.
    meta : dict
        The plain values.

    Raises
    ------
    OSError
        If there is no such file, or it cannot be read.
    ValueError
        If it is longer than `max_bytes`, cut, damaged, not written by :func:`write`, or of another
        format; the text names the file and says which.
    MemoryError
        If there is no room for it.
    """
    name = os.fspath(path)
    if not stat.S_ISREG(os.stat(name).st_mode) and not os.path.isdir(name):
        raise ValueError(f"{name!r} must be a file; it is a device, a socket or a pipe")
    with open(name, "rb") as file:
        length = os.fstat(file.fileno()).st_size
        if length > max_bytes:
            raise ValueError(
                f"{name!r} is no {format_name} of this: it has {memory.readable(length)}, where "
                f"{memory.readable(max_bytes)} would do"
            )
        memory.require(2.0 * length, f"reading {name!r}")
        data = file.read(length)
    body, seal = data[: -len(_SEAL) - _DIGITS], data[-len(_SEAL) - _DIGITS :]
    if not body or not seal.startswith(_SEAL):
        raise ValueError(f"{name!r} is no {format_name}: it was cut, or is of another program")
    if _digest(io.BytesIO(data), len(data) - _DIGITS) != seal[len(_SEAL) :]:
        raise ValueError(
            f"{name!r} is damaged: its bytes do not have the checksum they were written with"
        )
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            arrays = _members(archive, len(data))
        found, version, meta = _head(arrays.pop(_HEADER, None))
    except _NOT_OURS as error:
        raise ValueError(f"{name!r} is no {format_name}: {error}") from error
    if found != format_name:
        raise ValueError(f"{name!r} is no {format_name}: it says that it is a {found!r}")
    return version, arrays, meta


def _members(archive: zipfile.ZipFile, length: int) -> Arrays:
    """Return the arrays of an archive, of which no more is believed than its length allows."""
    total = 0
    names: dict[str, zipfile.ZipInfo] = {}
    for info in archive.infolist():
        name = info.filename.removesuffix(".npy")
        if name == info.filename or not _NAME.fullmatch(name) or name in names:
            raise ValueError(f"a member has the name {info.filename!r}")
        stored = info.compress_type == zipfile.ZIP_STORED and info.compress_size == info.file_size
        if not stored or info.flag_bits & 1:
            raise ValueError(f"its member {name!r} is compressed or encrypted")
        total += info.file_size
        names[name] = info
    if total > length:
        raise ValueError("its members claim to be longer than the file")
    arrays = {}
    for name, info in names.items():
        with archive.open(info) as member:
            arrays[name] = _array(name, member, info.file_size)
    return arrays


def _array(name: str, member: IO[bytes], size: int) -> NDArray[Any]:
    """Return the array of a member of `size` bytes."""
    start = member.read(10)
    found = None
    if start[:8] == _NPY:
        found = _SHAPE.fullmatch(member.read(int.from_bytes(start[8:], "little")))
    if found is None:
        raise ValueError(f"its member {name!r} is not an array of numbers")
    dtype = np.dtype(found["dtype"].decode("ascii"))
    shape = tuple(int(n) for n in found["shape"].replace(b",", b" ").split())
    # Python's integers do not overflow.
    n_bytes = math.prod(shape) * dtype.itemsize
    fits = all(n < 2**63 for n in shape) and len(shape) <= 32 and dtype.itemsize > 0
    if not fits or n_bytes != size - member.tell():
        raise ValueError(f"its member {name!r} claims the shape {shape}, which is not what it has")
    data = bytearray(n_bytes)
    got = 0
    while got < n_bytes and (piece := member.read(min(_PIECE, n_bytes - got))):
        data[got : got + len(piece)] = piece
        got += len(piece)
    if got != n_bytes:
        raise ValueError(f"its member {name!r} was cut")
    return np.frombuffer(data, dtype=dtype).reshape(shape) if data else np.empty(shape, dtype)


def _head(array: NDArray[Any] | None) -> tuple[str, int, dict[str, Any]]:
    """Return format, version and plain values of the header."""
    if array is None or array.dtype != np.uint8 or array.ndim != 1:
        raise ValueError("it has no header")
    head = json.loads(array.tobytes().decode("ascii"))
    if not isinstance(head, dict) or set(head) != {"format", "version", "meta"}:
        raise ValueError("its header is another")
    found, version, meta = head["format"], head["version"], head["meta"]
    if not isinstance(found, str) or type(version) is not int or not isinstance(meta, dict):
        raise ValueError("its header is another")
    return found, version, meta
