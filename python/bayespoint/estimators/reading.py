"""What an estimator reads from the arguments of `fit`."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from sklearn.utils.multiclass import check_classification_targets

from bayespoint import kernels
from bayespoint.base import memory, validation
from bayespoint.base.warnings import warn
from bayespoint.data import blocks, choices
from bayespoint.data.columns import Columns, Records
from bayespoint.data.examples import Examples, Table
from bayespoint.data.inputs import (
    encode,
    order_of,
    require_classes,
    scaled,
    standardizer,
    weights_of,
)
from bayespoint.data.plan import Budget, Given
from bayespoint.estimators import inputs, settings
from bayespoint.estimators.base import Estimator
from bayespoint.kernels.products import count
from bayespoint.labels import Labels
from bayespoint.posterior.fitting import Fit
from bayespoint.tuning import defaults

TOO_MANY = (
    "Ways out: BayesPointClassifier with approximation='landmarks'; fewer examples; or "
    "VersionSpace, which takes a kernel matrix of singles (float32): see the guide on large data"
)
"""Advice where a kernel matrix does not fit into memory."""

_ROUNDING = 1e-12  # difference of products of equal rows, relative to the largest product
_LEAST_DIFFERENT, _SHARE_OF_COPIES = 20, 0.1
"""Least number of different rows, and least share of others, for a warning of copies."""


def read(
    estimator: Estimator, X: Any, y: Any, sample_weight: Any, given: Given, budget: Budget
) -> tuple[Table, Fit]:
    """Return the table of a fit to classes, and what its models share."""
    order = None if given.rule is None else order_of(given.order, y)
    if blocks.in_blocks(X):
        _require_blocks(given, "X")
        landmarks: bool | None = True
        table = blocks.read_blocks(
            X,
            y,
            sample_weight,
            given,
            budget,
            order=order,
            takes_sparse=inputs.takes_sparse(given.kernel),
        )
        if given.rule is None:
            check_classification_targets(table.classes)
    else:
        asked = kernels.Linear() if given.kernel is None else given.kernel
        arguments = inputs.read(estimator, asked, X, y, tables=True, categories=given.categories)
        table, landmarks = _in_memory(arguments, sample_weight, given, order)
    if given.rule is not None and order is None and table.classes.dtype.kind not in "biuf":
        raise ValueError(
            "classes must list the labels from the lowest to the highest, unless y holds numbers "
            f"or an ordered category; got None for labels {table.classes.tolist()}"
        )
    n_classes, noise = len(table.classes), estimator.label_noise
    if n_classes > 2 and np.ndim(noise):  # type: ignore[arg-type]
        raise ValueError(
            "label_noise must be one rate for more than two classes; got "
            f"{noise!r} for {n_classes} classes"
        )
    labels = Labels.of_classes(n_classes, given.rule).with_noise(given.label_noise)
    kernel, n_models = defaults.choose_models(
        given,
        table.examples.inputs,
        len(table.examples),
        columns=table.columns,
        n_problems=labels.n_functions,
        landmarks=landmarks,
    )
    if not landmarks:
        require_memory(len(table.examples), n_classes, given, n_models)
    moves = given.kernel is None and table.columns is not None and table.transform is not None
    scales = moves and budget.max_iter is None
    plan = given.plan(kernel, n_models, landmarks=landmarks, scales=scales)
    return table, Fit(table.examples, labels, table.classes, plan)


def _in_memory(
    arguments: inputs.Arguments,
    sample_weight: ArrayLike | None,
    given: Given,
    order: validation.Array | None,
) -> tuple[Table, bool | None]:
    """Return the examples that have a weight, and whether the fit uses landmarks."""
    kernel, (features, y, seen) = given.kernel, arguments
    classes, index = encode(y, order, are_levels=given.rule is not None)
    precision = weights_of(sample_weight, len(index))
    rows = np.flatnonzero(precision)
    landmarks = settings.uses_landmarks(given, len(rows))
    if landmarks:
        what = f"fitting {len(index)} examples (their inputs, classes and weights)"
        width = 1 if sparse.issparse(features) else math.prod(features.shape[1:])
        memory.require(8.0 * len(index) * (width + 4), what)
    else:
        require_memory(len(rows), len(classes), given)
    precomputed = inputs.is_precomputed(kernel)
    if (precision != 1).any():
        index, precision = index[rows], precision[rows]
        if given.softness == 0 and (precision != 1).any():
            raise ValueError(
                "sample_weight must be equal for all examples, or 0, with softness=0: weights "
                f"divide the softness; got a weight {precision.max():.4g} times the mean"
            )
        require_classes(np.bincount(index, minlength=len(classes)) > 0, classes)
        features = features[np.ix_(rows, rows)] if precomputed else features[rows]
    scales, columns = given.standardize, None
    if isinstance(features, Records):
        columns = Columns.of(features, precision, scaled=scales)
        features = columns.features(features)
    elif features.ndim != 2 or precomputed or kernel is None:
        scales = False
    transform = standardizer(features, precision, columns) if scales else None
    examples = Examples(
        None if precomputed else scaled(transform, features),
        index,
        precision,
        features if precomputed else None,
    )
    _warn_of_copies(examples)
    totals = np.asarray(np.bincount(index, weights=precision), dtype=np.float64)
    return Table(classes, examples, transform, totals, seen, rows, columns), landmarks


def read_choices(
    estimator: Estimator, X: Any, y: Any, groups: Any, given: Given, budget: Budget
) -> tuple[Table, Fit]:
    """Return the table of choices of items, and what its models share."""
    kernel, noise = given.kernel, estimator.label_noise
    if np.ndim(noise):  # type: ignore[arg-type]
        raise ValueError(f"label_noise must be one rate for preferences; got {noise!r}")
    if blocks.in_blocks(X) or not inputs.is_table(kernel, X):
        raise TypeError(
            "X must be a dense array or a frame with a row for each item, for a kernel of vectors; "
            f"got a {type(X).__name__} with kernel={kernel!r}"
        )
    n = count(X)
    records, _, seen = inputs.read(
        estimator, kernel, X, np.zeros(n), tables=True, categories=given.categories
    )
    ones, scales = np.ones(n), given.standardize
    columns = Columns.of(records, ones, scaled=scales)
    items = columns.features(records)
    transform = standardizer(items, ones, columns) if scales else None
    items = scaled(transform, items)
    if blocks.in_blocks(y):
        _require_blocks(given, "y")
        if groups is not None:
            raise ValueError("groups must be None for y of choices; they are for y of relevance")
        landmarks: bool | None = True
        m, largest, as_examples = blocks.read_choices(y, n, budget)
    else:
        rows = choices.read(y, X, groups, n_features=items.shape[1])
        sizes = (rows >= 0).sum(axis=1)
        m, largest = int((sizes - 1).sum()), int(sizes.max())
        landmarks = settings.uses_landmarks(given, m)
        as_examples = partial(choices.as_examples, rows=rows, largest=largest)
    if m == 1 and not landmarks:  # one wall leaves no dimension to play in; its items have two
        landmarks = given.approximation == "auto" and given.softness != 0
        if not landmarks:
            raise ValueError(
                "y must hold two comparisons or more with softness=0 or approximation=None; got one"
            )
    # The kernel is one of items; how many settings are averaged depends on the comparisons.
    kernel, n_models = defaults.choose_models(
        given, items, m, columns=columns, n_problems=1, landmarks=landmarks
    )
    if isinstance(kernel, tuple):
        kernel = tuple(map(kernels.Differences, kernel))
    else:
        kernel = kernels.Differences(kernel)
    if not landmarks:
        require_memory(m, 2, given, n_models)
    labels = Labels.two_classes() if largest == 2 else Labels.choices(largest)
    labels = labels.with_noise(given.label_noise)
    seen |= {"scaler_": transform}
    examples, classes = as_examples(items), np.array([False, True])
    table = Table(classes, examples, None, np.ones(2), seen, columns=columns)
    plan = given.plan(kernel, n_models, landmarks=landmarks)
    return table, Fit(examples, labels, classes, plan)


def _require_blocks(given: Given, name: str) -> None:
    """Raise ValueError for parameters with which a fit takes no argument `name` in blocks."""
    if given.approximation == "none":
        raise ValueError(
            f"approximation must be 'landmarks' or 'auto' for {name} in blocks; got None"
        )
    settings.require_landmarks(given, f"{name} in blocks")
    if kernels.requires_vectors(given.kernel) is False:
        raise ValueError(f"kernel must take vectors for {name} in blocks; got {given.kernel!r}")


def _warn_of_copies(examples: Examples) -> None:
    """Warn if many rows seem to be copies of others: some numbers hardly ever agree by chance."""
    inputs = examples.inputs
    if inputs is None or inputs.ndim != 2 or sparse.issparse(inputs):
        return
    # Equal rows have products with any vector that differ by rounding at most.
    with validation.overflowing():
        place = inputs @ np.random.default_rng(0).standard_normal(inputs.shape[1])
        order = np.argsort(place, kind="stable")
        is_equal = ~(np.diff(place[order]) > _ROUNDING * np.abs(place).max(initial=0.0))
    near = np.flatnonzero(is_equal)
    if len(near) < _SHARE_OF_COPIES * len(order):
        return
    is_equal[near] = (inputs[order[near]] == inputs[order[near + 1]]).all(axis=1)
    n = len(order) - is_equal.sum()
    if n < _LEAST_DIFFERENT or is_equal.sum() < _SHARE_OF_COPIES * len(order):
        return
    label = examples.label[order]
    same_label = not np.diff(label)[is_equal].any()
    most = max(len(np.unique(column)) for column in inputs.T)
    if same_label and most > n / 2:
        warn(
            f"X holds {len(order)} rows, of which {n} are different, and equal rows have equal "
            "labels: as if they were copies. Each counts as an observation of its own, which makes "
            "probabilities too certain. Keep one of each (X.drop_duplicates()); if rows shall "
            "weigh more, give sample_weight",
            UserWarning,
        )


def require_memory(m: float, n_classes: int, given: Given, n_models: int = 1) -> None:
    """Raise MemoryError if a kernel matrix and each model's factor and draws do not fit."""
    kept = given.n_chains * given.n_kept(n_models)
    larger = given.rule is not None and n_classes > 2  # a matrix with rows of thresholds
    memory.require(
        8.0 * (1 + larger + n_models) * m * m + 8.0 * m * (n_classes + 1) * kept * n_models,
        f"fitting {m:.15g} examples (the {m:.15g} x {m:.15g} kernel matrix, its factor, and "
        f"{kept} draws{f' of each of {n_models} models' if n_models > 1 else ''})",
        TOO_MANY,
    )
