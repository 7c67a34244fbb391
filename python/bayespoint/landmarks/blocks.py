"""The likelihood of all blocks of examples, wherever they lie."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayespoint.base.validation import Floats
from bayespoint.landmarks.executors import Executor
from bayespoint.landmarks.model import Block, Moments


class Blocks:
    """Blocks whose sums an executor computes.

    `blocks` stand for :class:`bayespoint.landmarks.model.Block` objects, kept or deferred.
    """

    def __init__(self, executor: Executor, blocks: Sequence[Any]) -> None:
        self.executor, self.blocks = executor, list(blocks)
        # The likelihood of values needs the labels alone.
        self._labels = executor.keep(_without_rows, self.blocks)
        self._values: list[Any] = []

    def moments(self, mean: Floats, root: Floats | None) -> Moments:
        """Return the moments of all examples under a normal distribution of w."""
        found: Moments = self.executor.total(_moments, self.blocks, common=(mean, root))
        return found

    def set_directions(self, directions: Sequence[Floats]) -> None:
        """Compute the values of all examples for (k, D) weight vectors of each chain."""
        self._values = []  # the memory of the last ones first
        self._values = self.executor.keep(_values, self.blocks, common=(list(directions),))

    def log_likelihoods(self, coefs: Sequence[Floats]) -> list[Floats]:
        """Return those of combinations of the directions of each chain."""
        flat: Floats = self.executor.total(
            _log_likelihoods, self._labels, self._values, common=(list(coefs),)
        )
        ends = np.cumsum([len(one) for one in coefs])
        return np.split(flat, ends[:-1])


def _moments(block: Block, mean: Floats, root: Floats | None) -> Moments:
    return block.moments(mean, root)


def _values(block: Block, directions: Sequence[Floats]) -> list[NDArray[Any]]:
    return [block.values(each) for each in directions]


def _without_rows(block: Block) -> Block:
    return block.without_rows()


def _log_likelihoods(
    block: Block, values: Sequence[NDArray[Any]], coefs: Sequence[Floats]
) -> Floats:
    """Return those of all chains, one after the other."""
    pairs = zip(values, coefs, strict=True)
    return np.concatenate([block.log_likelihoods(each, one) for each, one in pairs])
