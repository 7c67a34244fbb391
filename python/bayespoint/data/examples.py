"""The examples of a fit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from bayespoint.base import memory, validation
from bayespoint.base.validation import Array, Floats, Indices
from bayespoint.data.columns import Columns
from bayespoint.data.executors import Executor, Threads
from bayespoint.data.warps import Warped
from bayespoint.kernels.products import in_rows

if TYPE_CHECKING:
    from sklearn.preprocessing import StandardScaler

ROWS = 8192  # most examples for which features and moments are computed at a time
_FEWEST_ROWS = 1024  # fewest examples of a block in memory, if there are more
_SHARE_OF_MEMORY = 0.6  # part of the available memory that features may take


@dataclass(frozen=True, eq=False)
class Examples:
    """Labeled examples as kernels take them: arrays, for blocks (`parts`) of a random sample."""

    inputs: Any  # (n, d) array, CSR array or (n,) array of objects; None with kernel values
    label: Indices  # (n,) indices of the classes
    precision: Floats  # (n,) weights of mean 1: the noise has the variance softness / precision
    gram: Floats | None = None  # (n, n) kernel values, if they are known already
    parts: Sequence[Any] | None = None
    """What stands for the `Examples` of each block; None if all are in memory."""
    executor: Executor = field(default_factory=lambda: Threads(1))
    """Works on the blocks where they lie."""
    total: int = 0  # number of all examples, if they lie in blocks
    memory: float = 0.0  # bytes that the features of blocks may take where they lie

    def __len__(self) -> int:
        """Return the number of all examples."""
        return self.total or len(self.label)

    def part(self, rows: slice | Indices) -> Examples:
        """Return some of the examples in memory."""
        return Examples(
            None if self.inputs is None else in_rows(self.inputs)[rows],
            self.label[rows],
            self.precision[rows],
            None if self.gram is None else self.gram[rows][:, rows],
        )

    def warped(self, transform: Any) -> Examples:
        """Return the examples with standardized inputs on another scale, if there is one."""
        if not isinstance(transform, Warped):
            return self
        parts = self.parts
        if parts is not None:
            parts = self.executor.defer(partial(Examples.warped, transform=transform), (parts,))
        return replace(self, inputs=transform.again(self.inputs), parts=parts)

    def sample(self, n: int, seed: int) -> Examples:
        """Return n of the examples in memory, or all, stratified."""
        rows = subset(self.label, n, seed)
        return self if len(rows) == len(self.label) else self.part(rows)

    def at_random(self, n: int, seed: int) -> Examples:
        """Return n of the examples in memory, or all; of a sample of blocks the first, so drawn."""
        m = len(self.label)
        if self.parts is not None or m <= n:
            return self.part(slice(n))
        return self.part(np.sort(np.random.default_rng(seed).permutation(m)[:n]))

    def in_blocks(self, n_threads: int) -> Examples:
        """Return the examples in blocks for threads, if they are not in blocks yet."""
        if self.parts is not None:
            return self
        m = len(self.label)
        rows = validation.blocks(m, min(ROWS, max(_FEWEST_ROWS, -(-m // 4))))
        return replace(
            self,
            parts=[self.part(part) for part in rows],
            executor=Threads(n_threads),
            memory=_SHARE_OF_MEMORY * memory.available(),
        )


@dataclass(frozen=True, eq=False)
class Table:
    """What a fit reads from the arguments of the user."""

    classes: Array  # (n_classes,) labels, sorted or from the lowest
    examples: Examples
    transform: StandardScaler | None  # what the inputs went through before the kernel
    totals: Floats  # (n_classes,) sums of the weights of the observations
    seen: Mapping[str, Any]
    """Attributes that the estimator gets from the reading, None where there are none."""
    rows: Indices | None = None  # (n,) row of `X` of each observation; None for blocks
    columns: Columns | None = None  # what the columns of `X` became; None without a dense table


def subset(label: Indices, size: int, seed: int) -> Indices:
    """Return the rows of a sample of `size` examples stratified by labels, or of all.

    Of a rare class it holds as many as there are, up to a fourth of an equal share, and one at
    least if the classes are not more than `size`.
    """
    m = len(label)
    if m <= size:
        return np.arange(m)
    kinds = np.unique(label)
    order, place = np.random.default_rng(seed).permutation(m), np.empty(m)
    # Spread the examples of each kind evenly over [0, 1], in random order: the first `size` then
    # contain all kinds in proportion. The first of each kind come before all others.
    for kind in kinds:
        members = order[label[order] == kind]
        place[members] = (np.arange(len(members)) + 0.5) / len(members)
        place[members[: max(1, size // (4 * len(kinds)))]] = 0.0
    return np.sort(np.argsort(place, kind="stable")[:size])
