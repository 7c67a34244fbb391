"""What a classifier reads from the arguments of `fit`."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils.multiclass import check_classification_targets

from bayespoint import kernels
from bayespoint.base import memory, validation
from bayespoint.base.warnings import warn
from bayespoint.data import blocks, choices, frames
from bayespoint.data.columns import Columns
from bayespoint.data.examples import Examples, Table
from bayespoint.data.inputs import encode, scaled, standardizer
from bayespoint.data.plan import Budget, Plan
from bayespoint.data.weights import SampleWeight
from bayespoint.estimators import advice, inputs, settings
from bayespoint.estimators.settings import Params
from bayespoint.kernels import Differences
from bayespoint.kernels.products import count
from bayespoint.labels import Labels, of_choices
from bayespoint.tuning import defaults

_MANY = 3.0  # mean number of observations of an example beyond which none with another label is odd


def read(
    estimator: BaseEstimator,
    X: Any,
    y: Any,
    sample_weight: ArrayLike | None,
    plan: Plan,
    budget: Budget,
) -> tuple[Table, Plan]:
    """Return the examples of a fit, and the plan with its kernels and whether it has landmarks."""
    params = estimator.get_params(deep=False)
    if blocks.in_blocks(X):
        table, plan = _read_blocks(params, X, y, sample_weight, plan, budget)
    else:
        table, plan = _read_arrays(estimator, X, y, sample_weight, plan)
    if plan.rule is not None:
        table = _ordered(table, params["classes"], y)
    n_classes, noise = len(table.classes), params["label_noise"]
    if n_classes > 2 and np.ndim(noise):
        raise ValueError(
            "label_noise must be one rate for more than two classes; got "
            f"{noise!r} for {n_classes} classes"
        )
    n_problems = Labels.of_classes(n_classes, plan.rule).n_functions
    models = defaults.choose_models(
        params["kernel"],
        params["n_models"],
        table.examples,
        table.columns,
        n_problems=n_problems,
        softness=plan.softness,
        rates=plan.rates,
        landmarks=plan.landmarks,
    )
    return table, replace(plan, kernel=models.kernel, n_models=models.n_models)


def read_choices(
    estimator: BaseEstimator, params: Params, X: Any, y: Any, groups: Any, plan: Plan
) -> tuple[Table, Plan, Labels]:
    """Return comparisons of items as examples, all of the second class, and what they say."""
    kernel, noise = params["kernel"], params["label_noise"]
    if np.ndim(noise):
        raise ValueError(f"label_noise must be one rate for preferences; got {noise!r}")
    if blocks.in_blocks(X) or not inputs.is_table(kernel, X):
        raise TypeError(
            "X must be a dense array or a frame with a row for each item, for a kernel of vectors; "
            f"got a {type(X).__name__} with kernel={kernel!r}"
        )
    n = count(X)
    given, _, seen = inputs.table(estimator, X, np.zeros(n), params["categorical_features"])
    rows = choices.read(y, n, groups)
    first, second, choice = choices.walls(rows)
    m = len(choice)
    landmarks = settings.uses_landmarks(params, m, m, plan)
    if m == 1 and not landmarks:  # one wall leaves no dimension to play in; its items have two
        landmarks = params["approximation"] == "auto" and plan.softness != 0
        if not landmarks:
            raise ValueError(
                "y must hold two comparisons or more with softness=0 or approximation=None; got one"
            )
    plan = replace(plan, landmarks=landmarks)
    ones, scales = np.ones(n), validation.boolean("standardize", params["standardize"])
    columns = Columns.of(given, ones, scaled=scales)
    items = columns.features(given)
    transform = standardizer(items, ones, columns) if scales else None
    items = scaled(transform, items)
    label, classes = np.ones(m, dtype=np.intp), np.array([False, True])
    # The kernel is one of items; how many settings are averaged depends on the comparisons.
    models = defaults.choose_models(
        kernel,
        params["n_models"],
        Examples(items, label, np.ones(m)),
        columns,
        n_problems=1,
        softness=plan.softness,
        rates=plan.rates,
        landmarks=plan.landmarks,
    )
    several = isinstance(models.kernel, tuple)
    kernel = tuple(map(Differences, models.kernel)) if several else Differences(models.kernel)
    plan = replace(plan, kernel=kernel, n_models=models.n_models)
    if not plan.landmarks:
        require_memory(m, 2, plan)
    examples, labels = of_choices(items, rows)
    labels = labels.with_noise(plan.label_noise)
    return Table(classes, examples, transform, np.ones(2), None, columns, seen), plan, labels


def _ordered(table: Table, wanted: ArrayLike | None, y: Any) -> Table:
    """Return the table with its classes in order: as wanted, of an ordered category, or numbers."""
    found, order = table.classes.tolist(), table.classes
    kind = getattr(y, "dtype", None)
    if wanted is not None:
        order = validation.labels("classes", wanted)
    elif getattr(kind, "ordered", False):  # of pandas
        order = np.asarray(kind.categories)  # type: ignore[union-attr]
    elif order.dtype.kind not in "biuf":
        raise ValueError(
            "classes must list the labels from the lowest to the highest, unless y holds numbers "
            f"or an ordered category; got None for labels {found}"
        )
    places = {label: k for k, label in enumerate(order.tolist())}
    if order.ndim != 1 or len(places) < len(order) or not places.keys() >= set(found):
        raise ValueError(
            f"classes must list each label of y once, {found} in their order; got {order.tolist()}"
        )
    turn = np.argsort([places[label] for label in found])  # labels that do not occur are left out
    examples = table.examples.relabeled(np.argsort(turn))
    return replace(table, classes=table.classes[turn], examples=examples, totals=table.totals[turn])


def _read_arrays(
    estimator: BaseEstimator, X: Any, y: Any, sample_weight: ArrayLike | None, plan: Plan
) -> tuple[Table, Plan]:
    """Return arrays in memory, with a row for each observation or, with landmarks, example."""
    params = estimator.get_params(deep=False)
    kernel, categories = params["kernel"], params["categorical_features"]
    is_table = inputs.is_table(kernel, X)
    given: Any
    if is_table:
        given, labels, seen = inputs.table(estimator, X, y, categories)
        width = len(given.columns)
    else:
        frames.require_none(categories)
        read_for = kernels.Linear() if kernel is None else kernel
        given, labels, seen = inputs.training(estimator, read_for, X, y)
        width = 1 if sparse.issparse(given) else math.prod(given.shape[1:])
    classes, index = encode(labels)
    weights = SampleWeight.of(sample_weight, len(index))
    n = float(weights.counts.sum())
    plan = replace(plan, landmarks=settings.uses_landmarks(params, len(index), n, plan))
    if plan.landmarks:
        what = f"fitting {len(index)} examples (their inputs, classes and weights)"
        memory.require(8.0 * len(index) * (width + 4), what)
    else:
        require_memory(n, len(classes), plan)
    rows = weights.rows(repeated=not plan.landmarks)
    precomputed = inputs.is_precomputed(kernel)
    if not weights.trivial:
        index = index[rows]
        _require_weights(weights, index, classes, plan)
        given = given[np.ix_(rows, rows)] if precomputed else given[rows]
    precision, counts = weights.precision[rows], weights.counts[rows]
    weight = precision * counts if plan.landmarks else precision
    scales = validation.boolean("standardize", params["standardize"])
    columns = None
    if is_table:
        columns = Columns.of(given, weight, scaled=scales)
        given = columns.features(given)
    scales &= given.ndim == 2 and not precomputed and not (kernel is None and columns is None)
    transform = standardizer(given, weight, columns) if scales else None
    stands_for = counts if plan.landmarks and (counts > 1).any() else None
    rest = index, precision, stands_for, given if precomputed else None
    examples = Examples(None if precomputed else scaled(transform, given), *rest)
    _warn_of_counts(examples)
    totals = np.asarray(np.bincount(index, weights=weight), dtype=np.float64)
    return Table(classes, examples, transform, totals, rows, columns, seen), plan


def _read_blocks(
    params: Params, X: Any, y: Any, sample_weight: Any, plan: Plan, budget: Budget
) -> tuple[Table, Plan]:
    if params["approximation"] is None:
        raise ValueError("approximation must be 'landmarks' or 'auto' for X in blocks; got None")
    settings.uses_landmarks(params, 0, 0, plan)
    settings.require_landmarks(params, plan, "X in blocks")
    if kernels.requires_vectors(params["kernel"]) is False:
        raise ValueError(f"kernel must take vectors for X in blocks; got {params['kernel']!r}")
    table = blocks.read_blocks(
        X,
        y,
        sample_weight,
        standardize=validation.boolean("standardize", params["standardize"]),
        takes_sparse=inputs.takes_sparse(params["kernel"]),
        categories=params["categorical_features"],
        seed=budget.choice_seed,
        n_threads=budget.n_threads,
    )
    check_classification_targets(table.classes)
    return table, replace(plan, landmarks=True)


def _require_weights(
    weights: SampleWeight, index: NDArray[np.intp], classes: NDArray[Any], plan: Plan
) -> None:
    """Raise ValueError for weights that leave a class empty, or that need a softness."""
    if plan.softness == 0 and (weights.precision != 1).any():
        raise ValueError(
            "sample_weight must hold whole numbers with softness=0: others divide the softness; "
            f"got a weight {weights.precision.max():.4g} times the mean"
        )
    left = np.bincount(index, minlength=len(classes))
    if not left.all():
        raise ValueError(
            "sample_weight must not be zero for all examples of a class; got zeros, or values "
            f"below 1e-9, for class {classes[left == 0][0]}"
        )


def _warn_of_counts(examples: Examples) -> None:
    """Warn if examples stand for many observations, of which none has another label."""
    n, inputs = len(examples), examples.inputs
    if examples.counts is None or examples.counts.mean() <= _MANY:
        return
    if inputs.ndim == 2 and not sparse.issparse(inputs):
        with_labels = np.column_stack([inputs, examples.label])
        if len(np.unique(with_labels, axis=0)) > len(np.unique(inputs, axis=0)):
            return
    warn(
        f"sample_weight makes {n} examples count as {examples.counts.sum():.4g} observations, all "
        "of an example with the same label, which leaves little doubt about labels. Relative "
        "weights should be divided by their mean",
        UserWarning,
    )


def require_memory(m: float, n_classes: int, plan: Plan) -> None:
    """Raise MemoryError if a kernel matrix and each model's factor and draws do not fit."""
    n_models, kept = max(1, plan.n_models), plan.n_chains * plan.n_draws
    larger = plan.rule is not None and n_classes > 2  # a matrix with rows of thresholds
    memory.require(
        8.0 * (1 + larger + n_models) * m * m + 8.0 * m * (n_classes + 1) * kept * n_models,
        f"fitting {m:.15g} examples (the {m:.15g} x {m:.15g} kernel matrix, its factor, and "
        f"{kept} draws{f' of each of {n_models} models' if n_models > 1 else ''})",
        advice.TOO_MANY,
    )
