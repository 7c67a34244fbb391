"""Data that the package does not carry: read from a folder, or downloaded once and checked.

What is checked is not the file but what it says: the lines of the table, in any order. So a
corrupted download is refused, and so is a file in the folder that holds something else.
"""

from __future__ import annotations

import hashlib
import os
import re
import tempfile
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from tqdm import tqdm

VARIABLE = "BAYESPOINT_DATA"
_UCI = "https://archive.ics.uci.edu/ml/machine-learning-databases"
_LIMIT = 1_000_000
"""Bytes of a download: ten times the largest file wanted."""
_CHUNK = 1 << 14
_TIMEOUT = 30.0


class Origin(NamedTuple):
    """Where a table comes from."""

    urls: tuple[str, ...]
    """The files it is made from."""

    parse: Callable[[list[str]], list[str]]
    """Makes lines of CSV, the header first, from the texts of these files."""

    digest: str
    """SHA-256 of the lines below the header, sorted."""


def table(name: str, data_home: str | os.PathLike[str] | None) -> tuple[list[str], str]:
    """Return the lines of a table, the header first and the rest sorted, and where it was read."""
    cache = Path(data_home) if data_home is not None else _cache()
    for folder in (cache,) if data_home is not None else (*_named(), cache):
        path = folder / f"{name}.csv"
        if path.exists():
            lines = path.read_text(encoding="utf-8").splitlines()
            return _checked(name, lines, str(path), f"delete or replace {path}"), str(path)
    lines = _downloaded(name, cache)
    path = cache / f"{name}.csv"
    _write("\n".join([*lines, ""]), path)
    return lines, str(path)


def _named() -> tuple[Path, ...]:
    """Return the folder that the environment names, if it names one."""
    value = os.environ.get(VARIABLE)
    if not value:
        return ()
    if not Path(value).is_dir():
        raise NotADirectoryError(
            f"the environment variable {VARIABLE} must name a folder; got {value!r}"
        )
    return (Path(value),)


def _cache() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "bayespoint"


def _downloaded(name: str, cache: Path) -> list[str]:
    """Return the lines of a table from its origin."""
    origin = ORIGINS[name]
    texts = [_text(name, url, cache) for url in origin.urls]
    sources = " and ".join(origin.urls)
    try:
        lines = origin.parse(texts)
    except (ValueError, KeyError, IndexError) as error:
        raise OSError(
            f"what came from {sources} is not {name}: {error}. Nothing was kept; try again later"
        ) from error
    return _checked(name, lines, sources, "nothing was kept; try again later")


def _text(name: str, url: str, cache: Path) -> str:
    """Return the text at an address, or say what can be done without it."""
    try:
        return _fetch(url)
    except (urllib.error.URLError, TimeoutError, ConnectionError) as error:
        reason = getattr(error, "reason", error)
        if isinstance(error, urllib.error.HTTPError):
            error.close()  # it is the response
        raise ConnectionError(
            f"{name} is not part of the package and could not be downloaded from {url} "
            f"({reason}). Without a connection put {name}.csv into {cache}, or into a folder "
            f"that data_home or the environment variable {VARIABLE} names"
        ) from error


def _fetch(url: str) -> str:
    """Return the text at an address, with a bar of progress on a terminal."""
    with urllib.request.urlopen(url, timeout=_TIMEOUT) as response:
        size = response.headers.get("Content-Length")
        total = int(size) if size is not None else None
        content = bytearray()
        # disable=None: no bar where standard error is not a terminal
        with tqdm(
            total=total, desc=url.rsplit("/", 1)[-1], unit="B", unit_scale=True, disable=None
        ) as bar:
            while chunk := response.read(_CHUNK):
                content += chunk
                bar.update(len(chunk))
                if len(content) > _LIMIT:
                    raise OSError(f"{url} holds more than {_LIMIT} bytes, which is not expected")
    if total is not None and len(content) != total:
        raise ConnectionError(f"{len(content)} of {total} bytes came")
    return content.decode("latin-1")


def _checked(name: str, lines: list[str], source: str, remedy: str) -> list[str]:
    """Return the header and the sorted lines, if they are what they should be."""
    rest = sorted(lines[1:])
    digest = hashlib.sha256("\n".join(rest).encode()).hexdigest()
    if digest != ORIGINS[name].digest:
        raise OSError(
            f"{source} does not hold the {name} data: the SHA-256 of its {len(rest)} lines is "
            f"{digest}, {ORIGINS[name].digest} was expected; {remedy}"
        )
    return [*lines[:1], *rest]


def _write(text: str, path: Path) -> None:
    """Write a file so that others see all of it or nothing, whoever else writes it too."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with open(handle, "w", encoding="utf-8") as file:
            file.write(text)
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise


def _thyroid(texts: list[str]) -> list[str]:
    """Turn UCI's new-thyroid.data, the class in front, into our table."""
    lines = ["t3_resin,thyroxin,triiodothyronine,tsh,tsh_diff,label"]
    for line in texts[0].split():
        kind, *values = (float(field) for field in line.split(","))
        label = -1 if kind == 1 else 1
        lines.append(",".join([f"{value:.10g}" for value in values] + [f"{label}"]))
    return lines


_ECHO = re.compile(r"(\*?)(C[RM]\d+):\s*\{([^}]*)\}")


def _aspect(texts: list[str]) -> list[str]:
    """Find the echoes of UCI's two files, an asterisk at those for training, in our own table."""
    from bayespoint.datasets.tables import bundled

    rows = {tuple(row[:-1]): (k, int(row[-1])) for k, row in enumerate(bundled("sonar")[1])}
    found = []
    for star, name, values in _ECHO.findall("\n".join(texts)):
        echo = tuple(float(value) for value in values.split())
        if echo not in rows:
            raise ValueError(f"echo {name} is not one of the sonar data")
        row, label = rows[echo]
        found.append((row, f"{row},{name},{int(star == '*')},{label}"))
    return ["row,id,aspect_train,label", *(line for _, line in sorted(found))]


ORIGINS = {
    "thyroid": Origin(
        urls=(f"{_UCI}/thyroid-disease/new-thyroid.data",),
        parse=_thyroid,
        digest="f85817cf3444c9a5d59770fb7f15a8b3abcb821ccaa5424a0292fba1b2d0b041",
    ),
    "sonar_aspect_split": Origin(
        urls=tuple(
            f"{_UCI}/undocumented/connectionist-bench/sonar/sonar.{kind}"
            for kind in ("mines", "rocks")
        ),
        parse=_aspect,
        digest="8afff030a725f6872aa6ecf1a7fe0922817a1295f785e0abdaaf2ad7d60eb1ad",
    ),
}
