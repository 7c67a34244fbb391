"""The scale of the numbers of a table, chosen by the evidence."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from bayespoint.base.linalg import one_thread
from bayespoint.base.validation import Floats, Indices
from bayespoint.data.columns import Columns
from bayespoint.data.examples import Examples
from bayespoint.data.plan import Budget, Plan
from bayespoint.data.warps import OneUnit, RankNormal, Warped, warps
from bayespoint.labels import Labels
from bayespoint.tuning import defaults
from bayespoint.tuning.climbing import LEVELS, climb
from bayespoint.tuning.density import Density
from bayespoint.tuning.objective import Objective, Task

_GAIN = 2.0  # gain of evidence, in nats, for which the numbers get another scale
_GAIN_OF_UNIT = 10.0
"""Gain of evidence, in nats, for which all numbers share one unit: pixels gain 27 to 35, and
smaller gains were misleading."""
_MANY = 20  # least number of numbers that may share a unit
_FEWEST = 10  # least number of distinct values of a number that may get another scale
_NORMAL = 0.98  # squared correlation with its normal scores from which on a number is normal


def choose(
    scaler: Any,
    columns: Columns,
    *,
    plan: Plan,
    examples: Examples,
    labels: Labels,
    budget: Budget,
) -> Any:
    """Return the transformation of largest evidence by one length scale: `scaler`, or a warp."""
    n, n_landmarks, steps = LEVELS[0]
    some = examples.sample(n, budget.choice_seed)
    places = _skewed(some.inputs, columns)
    transforms = [scaler]
    if len(places):
        skewed = examples.inputs[:, places]
        ends = np.stack([skewed.min(axis=0), skewed.max(axis=0)])
        transforms += [Warped(scaler, warp, places, ends) for warp in warps(skewed)]
    if columns.plain and len(columns) >= _MANY:
        every = np.arange(len(columns))
        ends = np.multiply.outer([-np.inf, np.inf], np.ones(len(every)))
        transforms.append(Warped(scaler, OneUnit.of(scaler), every, ends))
    if len(transforms) == 1:
        return scaler
    kernel = defaults.isotropic_kernel(some.inputs, columns)
    best, chosen = -np.inf, scaler
    # A scale that overflows is not chosen.
    with one_thread(), warnings.catch_warnings(action="ignore"), np.errstate(all="ignore"):
        for transform in transforms:
            moved = some.warped(transform)
            if not np.isfinite(moved.inputs).all():
                continue
            task = Task(kernel, plan, moved, labels, budget)
            objective = Objective.of(task, n_landmarks, budget.choice_seed).without_rates()
            value = climb(Density.of(objective, spreads=False), steps).point.value
            if objective.record.limit:
                return scaler
            is_unit = transform is not scaler and isinstance(transform.warp, OneUnit)
            gain = _GAIN_OF_UNIT if is_unit else _GAIN if chosen is scaler else 0.0
            if not np.isfinite(best) or value > best + gain:
                best, chosen = value, transform
    return chosen


def _skewed(inputs: Floats, columns: Columns) -> Indices:
    """Return the features that are numbers of many values whose distribution is not normal."""
    kinds = np.array([columns.columns[k].kind for k in columns.groups[: columns.n_numbers]])
    numbers = np.flatnonzero(kinds == "number")
    chosen = []
    for k in numbers.tolist():
        column = inputs[:, [k]]
        scores = RankNormal.of(column).transform(column)
        if len(np.unique(column)) < _FEWEST:
            continue
        if np.corrcoef(column.T, scores.T)[0, 1] ** 2 < _NORMAL:
            chosen.append(k)
    return np.array(chosen, dtype=np.intp)
