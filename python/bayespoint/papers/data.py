"""Data that only the papers' experiments use: read from a folder, downloaded once, or generated.

`data_home` is the folder of the tables. If it is None, a table is read from the folder that the
environment variable BAYESPOINT_DATA names or else from ``~/.cache/bayespoint``, where downloads are
kept. The checksum of the lines, in any order, must be the expected one.
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
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from bayespoint.base import validation
from bayespoint.base.validation import Floats, RandomState
from bayespoint.datasets import load_sonar

Targets: TypeAlias = NDArray[np.int64]
Folder: TypeAlias = str | os.PathLike[str] | None

_UCI = "https://archive.ics.uci.edu/ml/machine-learning-databases"
_LIMIT = 1_000_000
"""Largest number of bytes to download: ten times the largest file."""


def load_thyroid(data_home: Folder = None) -> tuple[Floats, Targets]:
    """Load the new-thyroid data: 150 normal (-1) and 65 hyper- or hypothyroid (+1) examples.

    215 examples with 5 features, in the order of the text of their lines (UCI, "new-thyroid", CC
    BY 4.0).

    References
    ----------
    D. Coomans, M. Broeckaert, M. Jonckheer and D. L. Massart, "Comparison of multivariate
    discriminant techniques for clinical data: application to the thyroid functional state",
    Methods of Information in Medicine 22 (1983), 93-101.
    """
    table = np.loadtxt(_lines("thyroid", data_home), delimiter=",")
    return np.ascontiguousarray(table[:, :-1]), table[:, -1].astype(np.int64)


def load_sonar_split(data_home: Folder = None) -> tuple[Any, Any, Any, Any]:
    """Load the sonar data split by aspect angle, as in the original study.

    Returns training inputs, test inputs, training labels and test labels. There are 55 rocks and 49
    mines for training, 42 rocks and 62 mines for the test.
    """
    X, y = load_sonar(return_X_y=True)
    train = np.zeros(len(y), dtype=bool)
    for line in _lines("sonar_aspect_split", data_home):
        row, _, flag, _ = line.split(",")
        train[int(row)] = flag == "1"
    return X[train], X[~train], y[train], y[~train]


def make_waveform(
    n_samples: int = 5000, *, random_state: RandomState = None
) -> tuple[Floats, Targets]:
    r"""Generate Breiman's waveforms: one of three equally likely classes (+1) against the others.

    :math:`x_i = u\, h_a(i) + (1 - u)\, h_b(i) + \epsilon_i` with u uniform in [0, 1],
    :math:`\epsilon_i` standard normal, :math:`h_p(i) = \max(6 - |i - p|, 0)` for i from 1 to 21 and
    a, b two of the peaks 7, 11 and 15; +1 is the class with peaks at 7 and 11, as in Rätsch's
    benchmarks. His 5000 examples are standardized; these are not.

    References
    ----------
    L. Breiman, J. H. Friedman, R. A. Olshen and C. J. Stone, "Classification and Regression
    Trees", Wadsworth, 1984, pp. 49-55.
    """
    n = validation.integer("n_samples", n_samples, low=1)
    rng = validation.generator(random_state)
    waves = np.maximum(6.0 - np.abs(np.arange(1, 22) - np.array([[7], [11], [15]])), 0.0)
    pairs = np.array([[0, 1], [0, 2], [1, 2]])
    kind = rng.integers(3, size=n)
    share = rng.random((n, 1))
    first, second = pairs[kind].T
    X = share * waves[first] + (1 - share) * waves[second] + rng.standard_normal((n, 21))
    return X, np.where(kind == 0, 1, -1)


# --- tables ---


class Download(NamedTuple):
    """A table that is made from files of the net."""

    urls: tuple[str, ...]
    """The files that it is made from."""

    parse: Callable[[list[str]], list[str]]
    """Makes lines of CSV, the header first, from the texts of these files."""

    digest: str
    """SHA-256 of the lines below the header, sorted."""


def named_folder() -> Path | None:
    """Return the folder that the environment variable BAYESPOINT_DATA names, or None."""
    value = os.environ.get("BAYESPOINT_DATA")
    if not value:
        return None
    if not Path(value).is_dir():
        raise NotADirectoryError(
            f"the environment variable BAYESPOINT_DATA must name a folder; got {value!r}"
        )
    return Path(value)


def named_file(name: str) -> Path | None:
    """Return the path of a file in the named folder, or None if there is none."""
    folder = named_folder()
    return folder / name if folder and (folder / name).exists() else None


def _lines(name: str, data_home: Folder) -> list[str]:
    """Return the sorted lines of a table, without its header."""
    named = named_folder() if data_home is None else None
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "bayespoint"
    home = cache if data_home is None else Path(data_home)
    for folder in (home,) if named is None else (named, home):
        path = folder / f"{name}.csv"
        if path.exists():
            lines = path.read_text(encoding="utf-8").splitlines()
            return _checked(name, lines, str(path), f"delete or replace {path}")
    download = DOWNLOADS[name]
    sources = " and ".join(download.urls)
    try:
        lines = download.parse([_download(name, url, home) for url in download.urls])
    except (ValueError, KeyError, IndexError) as error:
        raise OSError(
            f"{sources} did not send the {name} data: {error}. Nothing was kept; try again later"
        ) from error
    rest = _checked(name, lines, sources, "nothing was kept; try again later")
    write("\n".join([lines[0], *rest, ""]), home / f"{name}.csv")
    return rest


def _checked(name: str, lines: list[str], source: str, remedy: str) -> list[str]:
    """Return the sorted lines below the header, after a check of their SHA-256."""
    rest = sorted(lines[1:])
    digest = hashlib.sha256("\n".join(rest).encode()).hexdigest()
    if digest != DOWNLOADS[name].digest:
        raise OSError(
            f"{source} does not hold the {name} data: the SHA-256 of its {len(rest)} lines is "
            f"{digest}, {DOWNLOADS[name].digest} was expected; {remedy}"
        )
    return rest


def _download(name: str, url: str, home: Path) -> str:
    """Return the text at an address; the error says what to do without a connection."""
    try:
        with urllib.request.urlopen(url, timeout=30.0) as response:
            content: bytes = response.read(_LIMIT)
    except (urllib.error.URLError, TimeoutError, ConnectionError) as error:
        if isinstance(error, urllib.error.HTTPError):
            error.close()  # also the open response
        raise ConnectionError(
            f"{name} is not part of the package and could not be downloaded from {url} "
            f"({getattr(error, 'reason', error)}). Without a connection put {name}.csv into "
            f"{home}, or into a folder that data_home or the environment variable BAYESPOINT_DATA "
            "names"
        ) from error
    return content.decode("latin-1")


def write(text: str, path: Path) -> None:
    """Write a file atomically."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with open(handle, "w", encoding="utf-8", newline="") as file:
            file.write(text)
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise


def parse_thyroid(texts: list[str]) -> list[str]:
    """Return the lines of the table from UCI's new-thyroid.data, which has the class first."""
    lines = ["t3_resin,thyroxin,triiodothyronine,tsh,tsh_diff,label"]
    for line in texts[0].split():
        kind, *values = (float(field) for field in line.split(","))
        label = -1 if kind == 1 else 1
        lines.append(",".join([f"{value:.10g}" for value in values] + [f"{label}"]))
    return lines


def parse_aspect(texts: list[str]) -> list[str]:
    """Return the lines of the table from UCI's two files, which mark echoes for training by `*`."""
    rows = {
        tuple(x): (k, int(label))
        for k, (x, label) in enumerate(zip(*load_sonar(return_X_y=True), strict=True))
    }
    found = []
    for star, name, values in re.findall(r"(\*?)(C[RM]\d+):\s*\{([^}]*)\}", "\n".join(texts)):
        echo = tuple(float(value) for value in values.split())
        if echo not in rows:
            raise ValueError(f"echo {name} is not one of the sonar data")
        row, label = rows[echo]
        found.append((row, f"{row},{name},{int(star == '*')},{label}"))
    return ["row,id,aspect_train,label", *(line for _, line in sorted(found))]


DOWNLOADS = {
    "thyroid": Download(
        urls=(f"{_UCI}/thyroid-disease/new-thyroid.data",),
        parse=parse_thyroid,
        digest="f85817cf3444c9a5d59770fb7f15a8b3abcb821ccaa5424a0292fba1b2d0b041",
    ),
    "sonar_aspect_split": Download(
        urls=tuple(
            f"{_UCI}/undocumented/connectionist-bench/sonar/sonar.{kind}"
            for kind in ("mines", "rocks")
        ),
        parse=parse_aspect,
        digest="8afff030a725f6872aa6ecf1a7fe0922817a1295f785e0abdaaf2ad7d60eb1ad",
    ),
}
