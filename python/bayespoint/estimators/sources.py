"""Examples in blocks: tables that need not fit into memory, and collections of Dask.

They are read once before a fit, in which every block is checked and contributes to the classes, the
scale of the features, and a random sample. Later passes read them again, where they lie.
"""

from __future__ import annotations

import math
import sys
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils import check_array
from sklearn.utils.validation import _get_feature_names, check_is_fitted

from bayespoint.base import memory, validation
from bayespoint.base.validation import Floats, named
from bayespoint.blocks import Blocks
from bayespoint.estimators import inputs as estimators_inputs
from bayespoint.estimators.landmarks import Examples, Source
from bayespoint.estimators.sample_weight import Repetition
from bayespoint.landmarks.executors import Dask, Executor, Threads
from bayespoint.posterior.posterior import scaled

SAMPLE = 20_000
"""Examples in the sample from which hyperparameters and landmarks are found."""

_OF_A_CLASS = 500
"""Examples of each class in the sample, if there are as many."""

_SHARE_OF_MEMORY = 0.3
"""Part of the workers' memory that features may take."""


def is_dask(X: Any) -> bool:
    """Return whether `X` is a collection of Dask."""
    return "dask" in sys.modules and hasattr(X, "__dask_graph__")


def in_blocks(X: Any) -> bool:
    """Return whether `X` is a table in blocks."""
    return isinstance(X, Blocks) or is_dask(X)


@dataclass(frozen=True, eq=False)
class Summary:
    """What a pass over the blocks finds; summaries of blocks add up."""

    block: int
    """Number of the first block."""

    names: tuple[str, ...] | None
    """Names of the features."""

    n_features: int

    is_sparse: bool

    n_examples: int

    classes: NDArray[Any]

    weights: Floats
    """(n_classes,) sums of the observations' shares."""

    mean: Floats
    """(n_features,)"""

    square: Floats
    """(n_features,) sums of squared differences from the mean."""

    sample: _Sample

    def __add__(self, other: Summary) -> Summary:
        if other.n_features != self.n_features:
            raise ValueError(
                f"X must have as many features in every block; got {self.n_features} in block "
                f"{self.block} and {other.n_features} in block {other.block}"
            )
        if other.names != self.names:
            raise ValueError(
                f"X must have the same names of features in every block; got {self.names} in block "
                f"{self.block} and {other.names} in block {other.block}"
            )
        # Empty blocks have labels of any type.
        known = [one.classes for one in (self, other) if len(one.classes)] or [self.classes]
        if len({one.dtype.kind in "biuf" for one in known}) > 1:
            raise ValueError(
                f"y must hold labels of one type; got {self.classes.tolist()[0]!r} in block "
                f"{self.block} and {other.classes.tolist()[0]!r} in block {other.block}"
            )
        classes = np.unique(np.concatenate(known))
        weights = np.zeros(len(classes))
        for one in (self, other):
            weights[np.searchsorted(classes, one.classes)] += one.weights
        own, others = self.weights.sum(), other.weights.sum()
        apart = other.mean - self.mean
        total = max(own + others, np.finfo(float).tiny)
        return replace(
            self,
            n_examples=self.n_examples + other.n_examples,
            is_sparse=self.is_sparse or other.is_sparse,
            classes=classes,
            weights=weights,
            mean=self.mean + apart * (others / total),
            square=self.square + other.square + apart**2 * (own * others / total),
            sample=_Sample.joined([self.sample, other.sample]),
        )


@dataclass(frozen=True, eq=False)
class _Sample:
    """Examples with random numbers: the smallest of all, and of each class."""

    inputs: Any
    labels: NDArray[Any]
    share: Floats
    order: Floats
    """Random numbers, rising."""

    @classmethod
    def joined(cls, parts: Sequence[_Sample]) -> _Sample:
        order = np.concatenate([one.order for one in parts])
        some = [one.labels for one in parts if len(one.labels)]
        labels = np.concatenate(some or [parts[0].labels])
        by_order = np.argsort(order, kind="stable")
        kept = np.zeros(len(order), dtype=bool)
        kept[by_order[:SAMPLE]] = True
        for label in np.unique(labels):
            own = by_order[labels[by_order] == label]
            kept[own[:_OF_A_CLASS]] = True
        rows = by_order[kept[by_order]]
        inputs = [one.inputs for one in parts]
        share = np.concatenate([one.share for one in parts])
        if any(sparse.issparse(one) for one in inputs):
            joined: Any = sparse.csr_array(sparse.vstack(inputs, format="csr"))
        else:
            joined = np.concatenate(inputs)
        return cls(joined[rows], labels[rows], share[rows], order[rows])


@dataclass(frozen=True, eq=False)
class Opened:
    """Blocks of examples after the first pass."""

    summary: Summary
    source: Source
    sample: Examples
    """The sample, with inputs as the kernel gets them."""

    scaler: Any


def open_blocks(
    X: Any,
    y: Any,
    sample_weight: Any,
    *,
    standardize: bool,
    takes_sparse: bool,
    seed: int,
    n_threads: int,
) -> Opened:
    """Return the blocks of a fit, checked."""
    executor: Executor = Dask() if is_dask(X) else Threads(n_threads)
    columns = _columns(X, y, sample_weight, executor)
    numbers = range(len(columns[0]))
    with executor.running():
        summary: Summary = executor.total(_summary, *columns, numbers, common=(takes_sparse, seed))
    if not len(summary.classes):
        raise ValueError("X must hold at least one example; got empty blocks")
    if len(summary.classes) < 2:
        raise ValueError(f"y must hold at least two classes; got one class: {summary.classes[0]}")
    if not (summary.weights > 0).all():
        missing = summary.classes[summary.weights == 0][0]
        raise ValueError(
            f"sample_weight must not be zero for all examples of a class; got zeros for {missing}"
        )
    scaler = None
    if standardize:
        # Two rows that have the mean and the variance of all.
        n = max(float(summary.weights.sum()), np.finfo(float).tiny)
        variance = summary.square / n
        # As scikit-learn, which takes the variance of a constant feature for rounding.
        rounding = n * np.finfo(float).eps
        constant = variance <= rounding * variance + (rounding * summary.mean) ** 2
        if summary.is_sparse:
            constant |= variance <= rounding * summary.mean**2
        spread = np.sqrt(np.where(constant, 0.0, variance))
        rows = np.stack([summary.mean - spread, summary.mean + spread])
        scaler = estimators_inputs.standardizer(None, rows, np.ones(2))
        if scaler is not None and summary.is_sparse:
            scaler.set_params(with_mean=False)
    common = (scaler, summary.classes, takes_sparse)
    parts = executor.defer(_examples, *columns, numbers, common=common)
    found = summary.sample
    sample = Examples(
        scaled(scaler, found.inputs), np.searchsorted(summary.classes, found.labels), found.share
    )
    uniform = min(SAMPLE, summary.n_examples)
    source = Source(executor, parts, summary.n_examples, uniform, _memory(executor))
    return Opened(summary, source, sample, scaler)


def _memory(executor: Executor) -> float:
    """Return the memory that features may take."""
    if isinstance(executor, Threads):
        return 2 * _SHARE_OF_MEMORY * memory.available()
    distributed = sys.modules.get("distributed")
    if distributed is not None:
        try:
            workers = distributed.get_client().scheduler_info(n_workers=-1)["workers"].values()
        except ValueError:  # no cluster
            pass
        else:
            limits = [one["memory_limit"] or math.inf for one in workers]
            return _SHARE_OF_MEMORY * sum(limits)
    return _SHARE_OF_MEMORY * memory.available()


def _columns(X: Any, y: Any, sample_weight: Any, executor: Executor) -> list[list[Any]]:
    """Return what stands for the blocks of X, of y and of the weights."""
    if isinstance(executor, Dask):
        names = ("X", X), ("y", y), ("sample_weight", sample_weight)
        columns = [_delayed(name, each) for name, each in names]
    else:
        blocks = list(X.blocks)
        starts: list[int] | None = None
        columns = [blocks]
        for name, each in (("y", y), ("sample_weight", sample_weight)):
            if isinstance(each, Blocks):
                columns.append(list(each.blocks))
            elif each is None:
                columns.append([None] * len(blocks))
            else:
                if starts is None:
                    with executor.running():
                        lengths = executor.gather(_length, blocks)
                    starts = [0, *np.cumsum(lengths).tolist()]
                values = validation.labels(name, each)
                if len(values) != starts[-1]:
                    raise ValueError(
                        f"{name} must hold an entry for each of the {starts[-1]} rows of X; got "
                        f"{len(values)}"
                    )
                columns.append(np.split(values, starts[1:-1]))
    n = len(columns[0])
    for name, column in zip(("y", "sample_weight"), columns[1:], strict=True):
        if len(column) == 1 and column[0] is None:
            column *= n
        if len(column) != n:
            raise ValueError(f"{name} must have as many blocks as X, {n}; got {len(column)}")
    return columns


def _delayed(name: str, collection: Any) -> list[Any]:
    """Return the delayed blocks of a collection of Dask, or [None]."""
    if collection is None:
        return [None]
    if not is_dask(collection):
        raise TypeError(
            f"{name} must be a collection of Dask, as X is; got {type(collection).__name__}"
        )
    if getattr(collection, "ndim", 1) == 2 and hasattr(collection, "rechunk"):
        collection = collection.rechunk({1: -1})
    return list(np.asarray(collection.to_delayed(), dtype=object).ravel())


def _read(block: Any) -> Any:
    return block() if callable(block) else block


def _length(block: Any) -> int:
    return int(np.shape(_read(block))[0])


def _checked(
    X: Any, y: Any, weight: Any, number: int, takes_sparse: bool
) -> tuple[Any, NDArray[Any], Floats, tuple[str, ...] | None]:
    """Return inputs, labels, shares of the observations, and names of the features of a block."""
    try:
        X, y = _read(X), _read(y)
        names = _get_feature_names(X)
        inputs = check_array(
            X,
            dtype=np.float64,
            order="C",
            accept_sparse="csr" if takes_sparse else False,
            input_name="X",
            ensure_min_samples=0,
        )
        labels = _labels(y, inputs.shape[0])
        repetition = Repetition.of(_read(weight), len(labels))
    except (TypeError, ValueError) as error:
        raise named(error, f"block {number}") from error
    rows, share = repetition.observations()
    if not repetition.trivial:
        inputs, labels = inputs[rows], labels[rows]
    return inputs, labels, share, None if names is None else tuple(names)


def _labels(y: Any, n: int) -> NDArray[Any]:
    """Return the labels of a block of n examples."""
    labels = validation.labels("y", y)
    if labels.ndim == 2 and labels.shape[1] == 1:
        labels = labels[:, 0]
    if labels.shape != (n,):
        raise ValueError(f"y must hold a label for each of {n} rows of X; got shape {labels.shape}")
    if labels.dtype.kind == "f" and not np.isfinite(labels).all():
        raise ValueError("y must not lack labels; got NaN or infinity")
    try:
        np.unique(labels)
    except TypeError as error:  # None among strings
        raise ValueError(f"y must hold labels of one type: {error}") from error
    return labels


def _summary(X: Any, y: Any, weight: Any, number: int, takes_sparse: bool, seed: int) -> Summary:
    """Return what a block contributes."""
    inputs, labels, share, names = _checked(X, y, weight, number, takes_sparse)
    classes, index = np.unique(labels, return_inverse=True)
    weights = np.zeros(len(classes))
    np.add.at(weights, index, share)
    total = max(float(share.sum()), np.finfo(float).tiny)
    with np.errstate(over="ignore", invalid="ignore"):
        if sparse.issparse(inputs):
            mean = np.asarray(inputs.T @ share) / total
            square = np.asarray(inputs.multiply(inputs).T @ share) - total * mean**2
        else:
            mean = share @ inputs / total
            square = share @ (inputs - mean) ** 2
    if not np.isfinite(square).all():
        raise ValueError(
            f"block {number}: X must not be so large that the variance of a feature overflows; "
            f"feature {int(np.argmin(np.isfinite(square)))} is"
        )
    order = np.random.default_rng([seed, number]).random(len(labels))
    return Summary(
        block=number,
        names=names,
        n_features=inputs.shape[1],
        is_sparse=sparse.issparse(inputs),
        n_examples=len(labels),
        classes=classes,
        weights=weights,
        mean=mean,
        square=np.maximum(square, 0.0),
        sample=_Sample.joined([_Sample(inputs, labels, share, order)]),
    )


def _examples(
    X: Any,
    y: Any,
    weight: Any,
    number: int,
    scaler: Any,
    classes: NDArray[Any],
    takes_sparse: bool,
) -> Examples:
    """Return the examples of a block, as the kernel gets them."""
    inputs, labels, share, _ = _checked(X, y, weight, number, takes_sparse)
    if inputs.shape[0]:  # the scaler refuses empty blocks
        inputs = scaled(scaler, inputs)
    return Examples(inputs, np.searchsorted(classes, labels), share)


def mapped(model: Any, name: str, X: Any, diag: object, **options: Any) -> Any:
    """Return the predictions for a table in blocks.

    For collections of Dask they are an array of Dask, computed where the blocks lie.
    """
    check_is_fitted(model)
    if diag is not None:
        raise ValueError("diag must be None unless kernel='precomputed'")
    if isinstance(X, Blocks):
        predict = getattr(model, name)
        return np.concatenate([predict(_read(block), **options) for block in X.blocks])
    import dask.array

    if hasattr(X, "to_dask_array"):
        known = getattr(model, "feature_names_in_", None)
        names = [str(name) for name in X.columns]
        if known is not None and names != list(known):
            raise ValueError(f"X must have the features {list(known)}, in this order; got {names}")
        array = X.to_dask_array()
    else:
        array = X.rechunk({1: -1})
    n_classes = len(model.classes_)
    single = name == "predict" or (name == "decision_function" and n_classes == 2)
    kind = model.classes_.dtype if name == "predict" else np.float64
    map_blocks: Any = dask.array.map_blocks
    return map_blocks(
        _predicted,
        array,
        model,
        name,
        options,
        dtype=kind,
        meta=np.empty((0,) if single else (0, 0), dtype=kind),
        **({"drop_axis": 1} if single else {"chunks": (array.chunks[0], (n_classes,))}),
    )


def _predicted(block: Any, model: Any, name: str, options: dict[str, Any]) -> Any:
    with warnings.catch_warnings():  # the names have been checked, and blocks have none
        warnings.filterwarnings("ignore", "X does not have valid feature names")
        return getattr(model, name)(block, **options)
