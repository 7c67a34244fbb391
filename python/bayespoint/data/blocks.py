"""Examples in blocks: tables that need not fit into memory, and collections of Dask.

They are read once before a fit, in which every block is checked and contributes to the classes, the
scale of the features, and a random sample. Later passes read them again, where they lie.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.utils import check_array
from sklearn.utils.validation import _get_feature_names

from bayespoint.base import memory, validation
from bayespoint.base.validation import Array, Floats, Indices, named
from bayespoint.blocks import Blocks
from bayespoint.data import choices, columns, frames, strings
from bayespoint.data.columns import Columns, Records, Values
from bayespoint.data.examples import Examples, Table
from bayespoint.data.executors import Dask, Executor, Threads
from bayespoint.data.inputs import (
    NO_WEIGHT,
    require_classes,
    scaled,
    standardizer,
    turn,
)
from bayespoint.data.plan import Budget, Given

SAMPLE = 20_000
_OF_A_CLASS = 500
"""Examples in the sample for hyperparameters and landmarks, in all and of each class, at most."""

_SHARE_OF_MEMORY = 0.3  # part of the workers' memory that features may take


def is_dask(X: Any) -> bool:
    """Return whether `X` is a collection of Dask."""
    return "dask" in sys.modules and hasattr(X, "__dask_graph__")


def in_blocks(X: Any) -> bool:
    """Return whether `X` is a table in blocks."""
    return isinstance(X, Blocks) or is_dask(X)


@dataclass(frozen=True, eq=False)
class _Summary:
    """What a pass over the blocks finds; summaries of blocks add up."""

    block: int  # number of the first block
    names: tuple[str, ...] | None  # names of the features
    is_sparse: bool
    n_examples: int
    classes: Array
    weights: Floats  # (n_classes,) sums of the weights
    mean: Floats  # (n_features,) of a table of numbers, or of sparse rows
    variance: Floats  # (n_features,)
    seen: tuple[Values, ...]  # different values of the columns; only the extremes of numbers
    sample: _Sample

    def __add__(self, other: _Summary) -> _Summary:
        both = self, other

        def require_alike(what: str, values: Sequence[object]) -> None:
            own, theirs = values
            if own != theirs:
                where = f"{own} in block {self.block} and {theirs} in block {other.block}"
                raise ValueError(f"{what} in every block; got {where}")

        require_alike("X must have as many features", [len(part.mean) for part in both])
        if self.n_examples and other.n_examples:
            kinds = ["sparse" if part.is_sparse else "dense" for part in both]
            require_alike("X must be of one kind, sparse or dense,", kinds)
        require_alike("X must have the same names of features", [part.names for part in both])
        # Empty blocks have labels of any type.
        known = [part.classes for part in both if len(part.classes)] or [self.classes]
        if len({part.dtype.kind in "biuf" for part in known}) > 1:
            first, second = (part.tolist()[0] for part in known)
            raise ValueError(
                f"y must hold labels of one type; got {first!r} in block {self.block} and "
                f"{second!r} in block {other.block}"
            )
        classes = np.unique(np.concatenate(known))
        weights = np.zeros(len(classes))
        for part in both:
            weights[np.searchsorted(classes, part.classes)] += part.weights
        try:
            seen = tuple(map(columns.seen, zip(self.seen, other.seen, strict=True)))
        except TypeError as error:
            raise named(error, f"blocks {self.block} and {other.block}") from error
        masses = np.array([self.weights.sum(), other.weights.sum()])
        own, others = masses / (masses.sum() or 1.0)
        apart = other.mean - self.mean
        return replace(
            self,
            n_examples=self.n_examples + other.n_examples,
            is_sparse=self.is_sparse or other.is_sparse,
            classes=classes,
            weights=weights,
            mean=self.mean + apart * others,
            variance=own * self.variance + others * other.variance + apart**2 * (own * others),
            seen=seen,
            sample=_Sample.joined([self.sample, other.sample]),
        )


class _Sample(NamedTuple):
    """Examples with random numbers: the smallest of all, and of each class."""

    inputs: Any
    labels: Array
    weight: Floats
    order: Floats  # random numbers, rising

    @classmethod
    def joined(cls, parts: Sequence[_Sample]) -> _Sample:
        order = np.concatenate([part.order for part in parts])
        labeled = [part.labels for part in parts if len(part.labels)]
        labels = np.concatenate(labeled or [parts[0].labels])
        by_order = np.argsort(order, kind="stable")
        kept = np.zeros(len(order), dtype=bool)
        kept[by_order[:SAMPLE]] = True
        for label in np.unique(labels):
            members = by_order[labels[by_order] == label]
            kept[members[:_OF_A_CLASS]] = True
        rows = by_order[kept[by_order]]
        inputs: list[Any] = [part.inputs for part in parts]
        weight = np.concatenate([part.weight for part in parts])
        if any(map(sparse.issparse, inputs)):
            inputs = [sparse.csr_array(sparse.vstack(inputs, format="csr"))]
        if len(inputs) == 1:
            [joined] = inputs
        else:
            joined = (
                Records.joined(inputs) if isinstance(inputs[0], Records) else np.concatenate(inputs)
            )
        return cls(joined[rows], labels[rows], weight[rows], order[rows])


def read_blocks(
    X: Any,
    y: Any,
    sample_weight: Any,
    given: Given,
    budget: Budget,
    *,
    order: Array | None,
    takes_sparse: bool,
) -> Table:
    """Return the blocks of a fit, checked; classes that have an order are in it."""
    standardize = given.standardize
    executor: Executor = Dask() if is_dask(X) else Threads(budget.n_threads)
    blocks = _columns(X, y, sample_weight, executor)
    read = partial(_rows, takes_sparse=takes_sparse, categories=given.categories)
    with executor.running():
        summary = executor.total(partial(_summary, read=read, seed=budget.choice_seed), blocks)
    if not len(summary.classes):
        raise ValueError("X must hold at least one example; got empty blocks")
    turned = turn(summary.classes, order)
    mean = summary.weights.sum() / summary.n_examples
    totals = summary.weights / mean
    require_classes(totals > NO_WEIGHT, summary.classes)
    strings.warn_of_blocks(summary.seen)
    known, scaler = None, None
    inputs, labels, weight, _ = summary.sample
    uniform = slice(SAMPLE)  # others are of rare classes
    if isinstance(inputs, Records):
        known = Columns.of(inputs[uniform], weight[uniform], scaled=standardize, seen=summary.seen)
        inputs = known.features(inputs)
    if standardize and (known is None or known.plain):
        scaler = _scaler(summary)
    elif standardize:
        scaler = standardizer(inputs[uniform], weight[uniform], known)
    classes, totals = summary.classes[turned], totals[turned]
    coding = _Coding(scaler, classes, mean)
    examples = replace(
        coding.examples(inputs, labels, weight),
        parts=executor.defer(partial(_examples, read=read, columns=known, coding=coding), blocks),
        executor=executor,
        total=summary.n_examples,
        memory=_memory(executor),
    )
    names = None if summary.names is None else np.array(summary.names, dtype=object)
    seen = {"n_features_in_": len(summary.mean), "feature_names_in_": names}
    return Table(classes, examples, scaler, totals, seen, columns=known)


def read_choices(
    y: Any, n_items: int, budget: Budget
) -> tuple[int, int, Callable[[Floats], Examples]]:
    """Read all blocks of choices `y`, rows as in `choices.read_rows`.

    Returns the number of comparisons, the most items of a choice, and the function that makes
    examples of items: a sample in memory, and what stands for those of each block.
    """
    executor: Executor = Dask() if is_dask(y) else Threads(budget.n_threads)
    parts = _delayed("y", y) if is_dask(y) else list(y.blocks)
    blocks = [parts, range(len(parts))]
    with executor.running():
        work = partial(_summary_of_choices, n_items=n_items, seed=budget.choice_seed)
        summary = executor.total(work, blocks)
    if not summary.n_walls:
        raise ValueError("y must hold at least one choice; got empty blocks")
    sample, largest = summary.sample, summary.largest

    def examples(items: Floats) -> Examples:
        """Return the examples; MemoryError if a sample, and a block in each thread, do not fit."""
        width = (1 if largest == 2 else largest) * (2 * items.shape[1] + 1)
        threads = executor.n_threads if isinstance(executor, Threads) else 0
        memory.require(
            8.0 * width * (len(sample.labels) + threads * summary.longest),
            f"fitting choices in blocks of up to {summary.longest} ({width} numbers for each: "
            "smaller blocks take less)",
        )
        return replace(
            choices.as_examples(items, sample.inputs, largest),
            parts=executor.defer(partial(_chosen, items=items, largest=largest), blocks),
            executor=executor,
            total=summary.n,
            memory=_memory(executor),
        )

    return summary.n_walls, largest, examples


@dataclass(frozen=True, eq=False)
class _SummaryOfChoices:
    """What a pass over blocks of choices finds; summaries of blocks add up."""

    block: int  # number of the first block
    n: int
    longest: int  # most choices of a block
    n_walls: int  # number of comparisons: one less than the items of each choice
    largest: int  # most items of a choice
    sample: _Sample  # rows of items, labeled by their number

    def __add__(self, other: _SummaryOfChoices) -> _SummaryOfChoices:
        own, others = (part.sample.inputs.shape[1] for part in (self, other))
        if own != others:
            raise ValueError(
                f"y must have as many columns in every block; got {own} in block {self.block} and "
                f"{others} in block {other.block}"
            )
        return _SummaryOfChoices(
            self.block,
            self.n + other.n,
            max(self.longest, other.longest),
            self.n_walls + other.n_walls,
            max(self.largest, other.largest),
            _Sample.joined([self.sample, other.sample]),
        )


def _chosen_rows(y: Any, number: int, n_items: int) -> Indices:
    """Return the checked choices of a block, which may be empty."""
    try:
        y = _read(y)
        shape = getattr(y, "shape", (1, 1))
        if len(shape) == 2 and not shape[0]:  # of any type
            return np.empty(shape, dtype=np.intp)
        rows = validation.dense("y", y)
        if rows.ndim == 1:  # which would be relevance in memory
            raise ValueError(  # noqa: TRY301
                "y must hold choices in blocks, of shape (n_choices, 2 or more); got shape "
                f"{rows.shape}"
            )
        return choices.read_rows(rows, n_items)
    except (TypeError, ValueError) as error:
        raise named(error, f"block {number}") from error


def _summary_of_choices(y: Any, number: int, n_items: int, seed: int) -> _SummaryOfChoices:
    rows = _chosen_rows(y, number, n_items)
    sizes = (rows >= 0).sum(axis=1)
    order = np.random.default_rng([seed, number]).random(len(rows))
    sample = _Sample.joined([_Sample(rows, sizes, np.ones(len(rows)), order)])
    n, n_walls, largest = len(rows), int((sizes - 1).sum()), int(sizes.max(initial=0))
    return _SummaryOfChoices(number, n, n, n_walls, largest, sample)


def _chosen(y: Any, number: int, items: Floats, largest: int) -> Examples:
    """Return the examples of a block of choices."""
    return choices.as_examples(items, _chosen_rows(y, number, len(items)), largest)


def _scaler(summary: _Summary) -> Any:
    """Return what standardizes all features, which are numbers."""
    # Two rows that have the mean and the variance of all.
    variance = summary.variance
    # As scikit-learn, which takes the variance of a constant feature for rounding.
    rounding = summary.n_examples * np.finfo(float).eps
    constant = variance <= rounding * variance + (rounding * summary.mean) ** 2
    if summary.is_sparse:
        constant |= variance <= rounding * summary.mean**2
    spread = np.sqrt(np.where(constant, 0.0, variance))
    rows = np.stack([summary.mean - spread, summary.mean + spread])
    scaler = standardizer(rows, np.ones(2))
    if summary.is_sparse:
        scaler.set_params(with_mean=False)
    return scaler


def _memory(executor: Executor) -> float:
    if isinstance(executor, Threads):
        return 2 * _SHARE_OF_MEMORY * memory.available()
    try:
        client = sys.modules["distributed"].get_client()
        workers = client.scheduler_info(n_workers=-1)["workers"].values()
    except (KeyError, ValueError):  # no cluster
        return _SHARE_OF_MEMORY * memory.available()
    return _SHARE_OF_MEMORY * sum(worker["memory_limit"] or math.inf for worker in workers)


def _columns(X: Any, y: Any, sample_weight: Any, executor: Executor) -> list[Sequence[Any]]:
    """Return what stands for the blocks of X, of y and of the weights, and their numbers."""
    columns, ends = list[list[Any]](), None
    for name, argument in {"X": X, "y": y, "sample_weight": sample_weight}.items():
        if argument is None:
            column: list[Any] = [None] * len(columns[0])
        elif isinstance(executor, Dask):
            column = _delayed(name, argument)
        elif isinstance(argument, Blocks):
            column = list(argument.blocks)
        else:
            if ends is None:
                with executor.running():
                    lengths = executor.keep(lambda block: np.shape(_read(block))[0], columns[:1])
                ends = np.cumsum(lengths)
            values = validation.labels(name, argument)
            if len(values) != ends[-1]:
                raise ValueError(
                    f"{name} must hold an entry for each of the {ends[-1]} rows of X; got "
                    f"{len(values)}"
                )
            column = np.split(values, ends[:-1])
        columns.append(column)
        n = len(columns[0])
        if len(column) != n:
            raise ValueError(f"{name} must have as many blocks as X, {n}; got {len(column)}")
    return [*columns, range(len(columns[0]))]


def _delayed(name: str, collection: Any) -> list[Any]:
    if not (is_dask(collection) and hasattr(type(collection), "to_delayed")):
        kind = type(collection).__name__
        raise TypeError(f"{name} must be an array or a frame of Dask, as X; got {kind}")
    if getattr(collection, "ndim", 1) == 2 and hasattr(collection, "rechunk"):
        collection = collection.rechunk({1: -1})
    return list(np.asarray(collection.to_delayed(), dtype=object).ravel())


def _read(block: Any) -> Any:
    return block() if callable(block) else block


class _Rows(NamedTuple):
    """The checked rows of a block that have a positive weight."""

    classes: Array  # labels of all rows
    inputs: Any
    labels: Array
    weight: Floats
    names: tuple[str, ...] | None  # of the features


_Read = Callable[[Any, Any, Any, int], _Rows]
"""Reads the inputs, labels and weights of the block of a number."""


def _rows(
    X: Any, y: Any, weight: Any, number: int, *, takes_sparse: bool, categories: Any
) -> _Rows:
    """Return the checked rows of a block."""
    try:
        X, y = _read(X), _read(y)
        frame = frames.typed(X)
        names = _get_feature_names(X)
        inputs: Any = X
        if frame is None:
            inputs = check_array(
                X,
                dtype=np.float64,
                order="C",
                input_name="X",
                ensure_min_samples=0,
                ensure_all_finite="allow-nan",
                accept_sparse="csr" if takes_sparse else False,
            )
        if sparse.issparse(inputs):
            frames.require_none(categories)
        else:
            inputs = (frame or frames.numbered(inputs)).read(categories)
        validation.require_labels(y)
        (labels, classes), weight = _labels(y, inputs.shape[0]), _read(weight)
        n = len(labels)
        part = np.ones(n) if weight is None else validation.sample_weight(weight, n)
    except (TypeError, ValueError) as error:
        raise named(error, f"block {number}") from error
    if not part.all():
        rows = np.flatnonzero(part)
        inputs, labels, part = inputs[rows], labels[rows], part[rows]
    return _Rows(classes, inputs, labels, part, None if names is None else tuple(names))


def _labels(y: Any, n: int) -> tuple[Array, Array]:
    """Return the n labels of a block, and the different ones."""
    labels = validation.labels("y", y)
    if labels.shape == (n, 1):
        labels = labels[:, 0]
    if labels.shape != (n,):
        raise ValueError(f"y must hold a label for each of {n} rows of X; got shape {labels.shape}")
    if labels.dtype.kind == "f" and not np.isfinite(labels).all():
        raise ValueError("y must not lack labels; got NaN or infinity")
    try:
        return labels, np.unique(labels)
    except TypeError as error:  # None among strings
        raise ValueError(f"y must hold labels of one type: {error}") from error


def _summary(X: Any, y: Any, weight: Any, number: int, *, read: _Read, seed: int) -> _Summary:
    classes, inputs, labels, part, names = read(X, y, weight, number)
    index = np.searchsorted(classes, labels)
    share = part / (part.sum() or 1.0)
    with validation.overflowing():
        if isinstance(inputs, Records):
            seen = tuple(columns.seen([column]) for column in inputs.columns)
            mean, variance = inputs.moments(share)
        else:
            seen = ()
            mean = inputs.T @ share
            variance = inputs.multiply(inputs).T @ share - mean**2
    if not np.isfinite(variance).all():
        raise ValueError(
            f"block {number}: X must not be so large that the variance of a feature overflows; "
            f"feature {int(np.argmin(np.isfinite(variance)))} is"
        )
    order = np.random.default_rng([seed, number]).random(len(labels))
    return _Summary(
        block=number,
        names=names,
        is_sparse=sparse.issparse(inputs),
        n_examples=len(labels),
        classes=classes,
        weights=np.asarray(np.bincount(index, part, len(classes)), dtype=np.float64),
        mean=mean,
        variance=np.maximum(variance, 0.0),
        seen=seen,
        sample=_Sample.joined([_Sample(inputs, labels, part, order)]),
    )


def _examples(
    X: Any,
    y: Any,
    weight: Any,
    number: int,
    *,
    read: _Read,
    columns: Columns | None,
    coding: _Coding,
) -> Examples:
    """Return the examples of a block, as the kernel gets them."""
    rows = read(X, y, weight, number)
    features = rows.inputs if columns is None else columns.features(rows.inputs)
    return coding.examples(features, rows.labels, rows.weight)


class _Coding(NamedTuple):
    """How features, labels and weights become examples."""

    scaler: Any
    classes: Array
    mean: float  # of the weights

    def examples(self, features: Any, labels: Array, weight: Floats) -> Examples:
        """Return the examples, as the kernel gets them."""
        if features.shape[0]:  # the scaler refuses empty blocks
            features = scaled(self.scaler, features)
        order = np.argsort(self.classes)
        index = order[np.searchsorted(self.classes, labels, sorter=order)]
        # Examples that count as 0 stay, as the numbers of blocks are known, and say nothing.
        return Examples(features, index, np.maximum(weight / self.mean, NO_WEIGHT))


def _predicted(
    predict: Callable[[Any], Any], shape: tuple[int, ...], dtype: Any, block: Any
) -> Any:
    """Return the predictions for a block, which may be empty."""
    return predict(block) if np.shape(block)[0] else np.empty((0, *shape), dtype=dtype)


def map_blocks(
    predict: Callable[[Any], Any], X: Any, names: Sequence[str] | None, width: int, dtype: Any
) -> Any:
    """Return the predictions for a table in blocks.

    They have the shape (n,) for a `width` of 0, otherwise (n, width). For collections of Dask they
    are an array of Dask, computed where the blocks lie; `names` are those of the features.
    """
    shape = (width,) if width else ()
    predict = partial(_predicted, predict, shape, dtype)
    if isinstance(X, Blocks):
        return np.concatenate([predict(_read(block)) for block in X.blocks])
    import dask.array

    module: Any = dask
    arrays, work = module.array, module.delayed(predict, pure=False)
    if hasattr(X, "columns"):
        columns, sizes = [str(name) for name in X.columns], [math.nan] * X.npartitions
        if names is not None and columns != list(names):
            raise ValueError(
                f"X must have the features {list(names)}, in this order; got {columns}"
            )
    else:
        sizes = X.chunks[0]
    meta, parts = np.empty((0, *shape), dtype=dtype), zip(_delayed("X", X), sizes, strict=True)
    predicted = [arrays.from_delayed(work(part), (n, *shape), meta=meta) for part, n in parts]
    return arrays.concatenate(predicted)
