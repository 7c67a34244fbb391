"""Choices of users: which item was taken out of which, from rows of a table or graded relevance."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from bayespoint.base import memory, validation
from bayespoint.base.validation import Array, Floats, Indices
from bayespoint.blocks import Blocks
from bayespoint.data.examples import Examples
from bayespoint.kernels import Differences
from bayespoint.kernels.products import count

_FEWER_PAIRS = "Give a sample of the pairs: y of indices of items, of shape (n_pairs, 2)"
_BYTES = 48.0  # of a pair, while it is made


def read(y: Any, X: Any, groups: Any = None, name: str = "y", *, n_features: int = 0) -> Indices:
    """Return (n_choices, k) rows of indices of items `X`, the chosen one first, filled up with -1.

    `y` are such rows, or lists of several lengths; or the (n_items,) relevance of the items,
    which makes a pair of any two of one group, by the (n_items,) `groups`, that differ in it.
    Memory for pairs of items of `n_features` is asked for before.
    """
    if isinstance(y, Blocks):
        raise TypeError(f"{name} must be choices in memory; got Blocks, which only `fit` takes")
    y, n_items = _places(y, X, name), count(X)
    if isinstance(y, Sequence) and all(isinstance(row, Sequence) for row in y):
        y = list(zip(*itertools.zip_longest(*y, fillvalue=-1), strict=True))
    rows = validation.dense(name, y)
    if rows.ndim == 1 and len(rows):
        return _of_relevance(rows, n_items, groups, n_features)
    if groups is not None:
        raise ValueError("groups must be None for y of choices; they are for y of relevance")
    return read_rows(rows, n_items, name)


def _places(y: Any, X: Any, name: str) -> Any:
    """Return choices `y` with names of items replaced by their places in the index of a frame `X`.

    Names are strings; what holds none is returned as it is.
    """
    if getattr(y, "ndim", 0) == 2 and np.asarray(y).dtype.kind not in "biuf":
        y = np.asarray(y).tolist()
    if not isinstance(y, Sequence) or not all(isinstance(row, (list, tuple)) for row in y):
        return y
    wanted = {item for row in y for item in row if isinstance(item, str)}
    if not wanted:
        return y
    index = list(X.index) if hasattr(X, "iloc") else []
    place = {item: i for i, item in enumerate(index)}
    if unknown := sorted(wanted - place.keys()):
        raise ValueError(
            f"{name} must hold indices of rows of X, or names in the index of a frame; got "
            f"{unknown[0]!r}"
        )
    if len(place) < len(index):
        raise ValueError(f"X must have no name twice in its index, for {name} of names")
    return [[place[item] if isinstance(item, str) else item for item in row] for row in y]


def read_rows(rows: Array, n_items: int, name: str = "y") -> Indices:
    """Return the rows of `read`, checked, from an array of them."""
    if rows.ndim != 2 or rows.shape[1] < 2 or not len(rows):
        raise ValueError(
            f"{name} must hold choices, of shape (n_choices, 2 or more) with at least one, or the "
            f"relevance of each item; got shape {rows.shape}"
        )
    if rows.dtype.kind not in "iu":
        raise TypeError(f"{name} must hold indices of rows of X, whole numbers; got {rows.dtype}")
    rows = rows.astype(np.intp)
    ordered, within = np.sort(rows, axis=1), (rows >= -1) & (rows < n_items)
    twice = (ordered[:, 1:] == ordered[:, :-1]) & (ordered[:, 1:] >= 0)
    for right, wanted in (
        (within.all(axis=1), f"hold indices of the {n_items} rows of X, or -1 for none"),
        (rows[:, 0] >= 0, "have the chosen item first in each row"),
        ((rows >= 0).sum(axis=1) > 1, "have two items or more in each row"),
        (~twice.any(axis=1), "have different items in each row"),
    ):
        if not right.all():
            i = np.argmin(right)
            raise ValueError(f"{name} must {wanted}; got {rows[i].tolist()} in row {i}")
    return rows


def _of_relevance(relevance: Array, n_items: int, groups: Any, n_features: int) -> Indices:
    """Return the pairs of items of one group, the more relevant one first."""
    known = np.zeros(n_items) if groups is None else validation.labels("groups", groups)
    for name, values in (("y", relevance), ("groups", known)):
        if values.shape != (n_items,):
            raise ValueError(
                f"{name} must have an entry for each of the {n_items} rows of X; got shape "
                f"{values.shape}"
            )
    validation.finite("y", relevance)
    group = np.unique(known, return_inverse=True)[1]
    order = np.lexsort((relevance, group))
    group, relevance = group[order], relevance[order]
    starts = np.searchsorted(group, group)  # places where the groups begin
    level = np.cumsum(np.append(False, np.diff([group, relevance]).any(axis=0)))
    lower = np.searchsorted(level, level) - starts  # how many of its group an item is above
    total = lower.sum()
    if not total:
        raise ValueError("y must differ within a group; got equal relevance in each")
    size = _BYTES + 16.0 * (2 * n_features + 1)
    memory.require(size * total, f"y of relevance ({total} pairs of items)", _FEWER_PAIRS)
    within = np.arange(total) - np.repeat(np.cumsum(lower) - lower, lower)
    return np.stack([np.repeat(order, lower), order[np.repeat(starts, lower) + within]], axis=1)


def walls(rows: Indices) -> tuple[Indices, Indices, Indices]:
    """Return for each comparison the chosen item, the other one, and the choice it is part of."""
    choice, place = np.nonzero(rows[:, 1:] >= 0)
    return rows[choice, 0], rows[choice, place + 1], choice


def as_examples(items: Floats, rows: Indices, largest: int) -> Examples:
    """Return choices out of up to `largest` items as examples.

    Inputs are a difference of two items where all are pairs, else all items of each choice.
    """
    m = len(rows)
    if largest == 2:
        first, second, _ = walls(rows)
        pairs = Differences.rows(items[first], items[second])
        return Examples(pairs, np.ones(m, dtype=np.intp), np.ones(m))
    # Those there are before those that are not, in whose place is the chosen one.
    order = np.argsort(rows < 0, axis=1, kind="stable")[:, :largest]
    places = np.take_along_axis(rows, order, axis=1)
    places = np.where(places < 0, places[:, :1], places)
    utilities = Differences.rows(items[places.ravel()])
    inputs = utilities.reshape(m, largest * utilities.shape[1])  # also of no choice
    return Examples(inputs, (rows >= 0).sum(axis=1) - 2, np.ones(m))
