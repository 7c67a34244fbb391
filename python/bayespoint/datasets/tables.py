"""Tables in the package, and what loaders make of a table."""

from __future__ import annotations

import gzip
from importlib import resources
from typing import Any

import numpy as np
from sklearn.utils import Bunch

from bayespoint.base import validation
from bayespoint.base.validation import Floats

MODULE = "bayespoint.datasets"
_PACKED = ("banana",)


def filename(name: str) -> str:
    """Return the name of a bundled file."""
    return f"{name}.csv.gz" if name in _PACKED else f"{name}.csv"


def bundled(name: str) -> tuple[list[str], Floats]:
    """Return the columns and the values of a bundled table."""
    content = resources.files(MODULE).joinpath(filename(name)).read_bytes()
    text = (gzip.decompress(content) if name in _PACKED else content).decode("utf-8")
    return parsed(text.splitlines())


def parsed(lines: list[str]) -> tuple[list[str], Floats]:
    """Return the columns and the values of the lines of a CSV file with a header."""
    return lines[0].split(","), np.loadtxt(lines[1:], delimiter=",", ndmin=2)


def bunch(
    title: str,
    columns: list[str],
    table: Floats,
    target_names: list[str],
    *,
    return_X_y: bool,
    as_frame: bool,
    file: str,
    data_module: str | None = MODULE,
    **more: Any,
) -> Any:
    """Return what every loader returns, in scikit-learn's form."""
    return_X_y = validation.boolean("return_X_y", return_X_y)
    data: Any = np.ascontiguousarray(table[:, :-1])
    target: Any = table[:, -1].astype(np.int64)
    frame = None
    if validation.boolean("as_frame", as_frame):
        frame = _to_frame(data, target, columns)
        data, target = frame[columns[:-1]], frame[columns[-1]]
    if return_X_y:
        return data, target
    return Bunch(
        data=data,
        target=target,
        frame=frame,
        feature_names=columns[:-1],
        target_names=target_names,
        DESCR=_description(title),
        filename=file,
        data_module=data_module,
        **more,
    )


def _to_frame(data: Any, target: Any, columns: list[str]) -> Any:
    """Join data and target in a DataFrame; say what to install when pandas is missing."""
    try:
        import pandas as pd
    except ImportError as error:
        raise ImportError(
            "as_frame=True needs pandas, which is not installed: run "
            "`pip install 'bayespoint[frame]'`, or use as_frame=False for NumPy arrays"
        ) from error
    frame = pd.DataFrame(data, columns=columns[:-1])
    frame[columns[-1]] = target
    return frame


def _description(title: str) -> str:
    """Return the section `title` of the README beside the data."""
    text = resources.files(MODULE).joinpath("README.md").read_text(encoding="utf-8")
    section = text.split(f"## {title}\n", 1)[1].split("\n## ", 1)[0]
    return f"{title}\n{section}".rstrip() + "\n"
