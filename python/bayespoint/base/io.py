"""Files of models, results and checkpoints: files of skops, which hold no pickles."""

from __future__ import annotations

import contextlib
import copy
import importlib.metadata
import os
import re
import secrets
import sys
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from functools import partial
from pathlib import Path
from typing import IO, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator

StrPath: TypeAlias = "str | os.PathLike[str]"
Arrays: TypeAlias = dict[str, NDArray[Any]]

_FORMAT = "bayespoint model or result"
_VERSION = 3  # version of this format, to be raised when older files can no longer be read
_release = partial(importlib.metadata.version, "bayespoint")


class Savable:
    """Base class of fitted models and results, which can be written to files."""

    def save(self, path: StrPath) -> None:
        """Write to a file that :func:`bayespoint.load` reads.

        Parameters
        ----------
        path : str or path-like
            The file. An existing one is replaced only when the new one is complete.

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
        try:
            data = skops.io.dumps(self)
            unknown = set(skops.io.get_untrusted_types(data=data)) - set(_all_trusted())
        except Exception as error:
            raise TypeError(f"{name} cannot be saved: {error}") from error
        if unknown:
            raise TypeError(
                f"{name} cannot be saved: it holds {', '.join(sorted(unknown))}. Only arrays, plain"
                " values, objects of bayespoint and NumPy and kernels given by name, of "
                "bayespoint.kernels or of scikit-learn's Gaussian processes can be saved"
            )
        _write(path, _FORMAT, _VERSION, data)


def deep_copy(original: Any, memo: dict[int, Any]) -> Any:
    """Return a deep copy of a dataclass that leaves some of its fields out of its files."""
    own = {field.name: getattr(original, field.name) for field in fields(original)}
    return type(original)(**copy.deepcopy(own, memo))


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
        If the file is damaged, was written by another program or in another version of the format,
        or holds objects of other packages.

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
    with _reading(path, _FORMAT, _VERSION, _all_trusted()) as found:
        if not isinstance(found, Savable):
            raise TypeError(f"it holds a {type(found).__name__}")
        return found


def write(
    path: StrPath, format_name: str, version: int, arrays: Arrays, meta: Mapping[str, Any]
) -> None:
    """Write arrays and plain values to a file."""
    import skops.io

    _write(path, format_name, version, skops.io.dumps((dict(arrays), dict(meta))))


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
    """Raise OSError if no file can be written in the folder of `path`."""
    with _temporary(Path(os.path.realpath(path))):
        pass


def remove_leftovers(path: StrPath) -> None:
    """Remove temporary files of killed processes beside `path`, to which no other may write."""
    target = Path(os.path.realpath(path))
    pattern = re.escape(f".{target.name}.") + r"[0-9a-f]{16}\.tmp"
    for file in target.parent.iterdir():
        if re.fullmatch(pattern, file.name):
            file.unlink(missing_ok=True)


def trusted_types() -> list[str]:
    """Return the full names of the classes of this package that models and results are made of."""
    return sorted(
        _full_name(cls)
        for name, module in list(sys.modules.items())
        if name.startswith("bayespoint.")
        for cls in list(vars(module).values())
        if isinstance(cls, type) and cls.__module__ == name
        if is_dataclass(cls) or issubclass(cls, BaseEstimator)
    )


def _all_trusted() -> list[str]:
    """Return `trusted_types` and the other classes that inputs and kernels may have."""
    from sklearn.gaussian_process import kernels as gp

    kernels = (c for c in vars(gp).values() if isinstance(c, type) and issubclass(c, gp.Kernel))
    return [*trusted_types(), *map(_full_name, (*kernels, sparse.csr_array, frozenset))]


def _full_name(cls: type[Any]) -> str:
    return f"{cls.__module__}.{cls.__qualname__}"


def _write(path: StrPath, format_name: str, version: int, data: bytes) -> None:
    """Replace a file by the archive `data`; its comment names format, version and our release."""
    target = Path(os.path.realpath(path))  # a link keeps pointing to its target
    with _temporary(target) as file:
        file.write(data)
        with zipfile.ZipFile(file, "a") as archive:
            archive.comment = f"{format_name} {version} {_release()}".encode()
        file.flush()
        os.fsync(file.fileno())
        file.close()
        os.replace(file.name, target)


@contextlib.contextmanager
def _temporary(target: Path) -> Iterator[IO[bytes]]:
    """Open a file beside `target` that is removed on exit if it is still there."""
    # An unpredictable name prevents symlink attacks.
    temporary = target.with_name(f".{target.name}.{secrets.token_hex(8)}.tmp")
    try:
        with open(temporary, "x+b") as file:
            yield file
    except OSError as error:  # on a full disk the system's message names no file
        text = f"could not write the file: {error.strerror or error}"
        raise OSError(error.errno, text, str(target)) from error
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)


@contextlib.contextmanager
def _reading(
    path: StrPath, format_name: str, version: int, trusted: Sequence[str] = ()
) -> Iterator[Any]:
    """Return the content of a file; whatever is wrong with it raises ValueError."""
    import skops.io

    with open(path, "rb") as file:
        try:
            _check_origin(file, format_name, version)
            yield skops.io.load(file, trusted=list(trusted))
        except MemoryError:
            raise
        except Exception as error:
            raise ValueError(
                f"{os.fspath(path)!r} is not a {format_name} that bayespoint {_release()} can "
                f"read: {str(error) or type(error).__name__}"
            ) from error


def _check_origin(file: IO[bytes], format_name: str, version: int) -> None:
    """Raise ValueError for a file of another program, format or version."""
    with zipfile.ZipFile(file) as archive:
        comment, names = archive.comment.decode(), archive.namelist()
    reads = f"this bayespoint reads version {version}"
    if (known := re.fullmatch(r"(.+) (\d+) (\S+)", comment)) is None:
        if "header.npy" in names:
            raise ValueError(f"it was written in version 2 of the format, or before; {reads}")
        raise ValueError("it was written by another program")
    name, number, release = known.groups()
    if not format_name.startswith(name):  # version 2 wrote "bayespoint model"
        raise ValueError(f"it is a {name}")
    if int(number) != version:
        written = f"it was written by bayespoint {release} in version {number} of the format"
        raise ValueError(f"{written}; {reads}")
