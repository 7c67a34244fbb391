"""Choices of users: which item was taken out of which, from rows of a table or graded relevance."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayespoint.base import validation

NOBODY = -1  # fills rows of choices out of fewer items


def read(y: Any, n_items: int, groups: Any = None) -> NDArray[np.intp]:
    """Return (n_choices, k) rows of the items' indices, the chosen one first, filled up with -1.

    `y` are such rows, lists of several lengths or masked; or the (n_items,) relevance of the items,
    which makes a pair of any two of one group, by the (n_items,) `groups`, that differ in it.
    """
    if isinstance(y, np.ma.MaskedArray):
        y = y.filled(NOBODY)
    elif isinstance(y, Sequence) and len({np.shape(row) for row in y}) > 1:
        width = max(map(np.size, y))
        y = [[*row, *[NOBODY] * (width - len(row))] for row in y]
    rows = validation.dense("y", y)
    if rows.ndim == 1 and len(rows):
        return _of_relevance(rows, n_items, groups)
    if groups is not None:
        raise ValueError("groups must be None for y of choices; they are for y of relevance")
    if rows.ndim != 2 or rows.shape[1] < 2 or not len(rows):
        raise ValueError(
            "y must hold the relevance of each item, or choices, of shape (n_choices, 2 or more) "
            f"with at least one; got shape {rows.shape}"
        )
    if rows.dtype.kind not in "iu":
        raise TypeError(f"y must hold indices of rows of X, whole numbers; got {rows.dtype}")
    rows = rows.astype(np.intp)
    outside = (rows < NOBODY) | (rows >= n_items)
    if outside.any():
        i, k = np.argwhere(outside)[0]
        raise ValueError(
            f"y must hold indices of the {n_items} rows of X, or -1 for none; got {rows[i, k]} in "
            f"row {i}"
        )
    ordered = np.sort(rows, axis=1)
    twice = ((ordered[:, 1:] == ordered[:, :-1]) & (ordered[:, 1:] >= 0)).any(axis=1)
    for wrong, wanted in (
        (rows[:, 0] < 0, "have the chosen item first in each row"),
        ((rows >= 0).sum(axis=1) < 2, "have two items or more in each row"),
        (twice, "have different items in each row"),
    ):
        if wrong.any():
            i = int(np.argmax(wrong))
            raise ValueError(f"y must {wanted}; got {rows[i].tolist()} in row {i}")
    return rows


def _of_relevance(relevance: NDArray[Any], n_items: int, groups: Any) -> NDArray[np.intp]:
    """Return the pairs of items of one group, the more relevant one first."""
    known = np.zeros(n_items) if groups is None else validation.labels("groups", groups)
    for name, each in (("y", relevance), ("groups", known)):
        if each.shape != (n_items,):
            raise ValueError(
                f"{name} must have a number for each of the {n_items} rows of X; got shape "
                f"{each.shape}"
            )
    validation.finite("y", relevance)
    found = []
    for group in np.unique(known):
        members = np.flatnonzero(known == group)
        first, second = np.nonzero(relevance[members][:, None] > relevance[members])
        found.append(np.stack([members[first], members[second]], axis=1))
    pairs = np.concatenate(found)
    if not len(pairs):
        raise ValueError("y must differ within a group; got equal relevance in each")
    return pairs


def walls(rows: NDArray[np.intp]) -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.intp]]:
    """Return for each comparison the chosen item, the other one, and the choice it is part of."""
    choice, place = np.nonzero(rows[:, 1:] >= 0)
    return rows[choice, 0], rows[choice, place + 1], choice
