"""Tables in blocks that need not fit into memory together."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from bayespoint.base.io import StrPath, check_path

__all__ = ["Blocks", "parquet"]


class Blocks:
    """A table in blocks of rows, for classifiers, or the choices of :class:`BayesPointRanker`.

    A block is read when it is needed, and then dropped: a few times, or in each pass over the data.

    Parameters
    ----------
    blocks : sequence
        The blocks: arrays, memory maps, sparse matrices, frames of pandas or polars, or functions
        without arguments that return one of these. Each must be the same whenever it is read.
    """

    def __init__(self, blocks: Sequence[Any]) -> None:
        if isinstance(blocks, (str, bytes, np.ndarray)) or not isinstance(blocks, Sequence):
            raise TypeError(f"blocks must be a sequence of blocks; got {type(blocks).__name__}")
        if not blocks:
            raise ValueError("blocks must hold at least one block; got none")
        self.blocks = tuple(blocks)

    def __len__(self) -> int:
        return len(self.blocks)

    def __repr__(self) -> str:
        return f"<Blocks: {len(self)} blocks>"


def parquet(
    path: StrPath | Sequence[StrPath],
    columns: str | Sequence[str] | None = None,
) -> Blocks:
    """Return the row groups of Parquet files as blocks.

    Parameters
    ----------
    path : path-like or sequence of these
        The files, which must have the same columns.
    columns : str or sequence of str, default=None
        Columns to read, in this order; one name gives blocks of shape (n,), for labels. None: all.

    Returns
    -------
    Blocks
        Arrays, one for each row group, or tables of Arrow if a column holds no numbers.

    Raises
    ------
    ImportError, OSError, KeyError
        If pyarrow is not installed, a file cannot be read, or lacks a column.
    """
    try:
        from pyarrow.parquet import ParquetFile
    except ImportError as error:
        raise ImportError(
            "parquet needs pyarrow, which is not installed: run `pip install pyarrow`"
        ) from error
    paths = [path] if isinstance(path, (str, os.PathLike)) else list(path)
    groups = []
    for part in paths:
        check_path(part)
        with ParquetFile(part) as file:
            wanted = file.schema_arrow.names if columns is None else columns
            names = [wanted] if isinstance(wanted, str) else list(wanted)
            missing = sorted(set(names) - set(file.schema_arrow.names))
            if missing:
                raise KeyError(f"{os.fspath(part)} has no column {missing[0]!r}")
            read = partial(_read_group, os.fspath(part), names, isinstance(wanted, str))
            groups += [partial(read, group) for group in range(file.num_row_groups)]
    return Blocks(groups)


def _read_group(path: str, names: list[str], flat: bool, group: int) -> Any:
    """Return columns of a row group of a Parquet file, or `flat` the only one in one dimension."""
    from pyarrow.parquet import ParquetFile

    with ParquetFile(path) as file:
        table = file.read_row_group(group, columns=names)
    arrays = [table.column(name).to_numpy() for name in names]
    if flat:
        return arrays[0]
    is_numeric = all(array.dtype.kind in "iuf" for array in arrays)
    return np.column_stack(arrays) if is_numeric else table.select(names)
