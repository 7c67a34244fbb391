"""Questions to a mixture: importances, leave-one-out, sets of labels, intervals, abstention."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from bayespoint.base import validation
from bayespoint.base.validation import Array, Flags, Floats, Indices
from bayespoint.data.examples import Examples
from bayespoint.data.inputs import NO_WEIGHT
from bayespoint.kernels.products import count, in_rows
from bayespoint.posterior.calibration import LeftOut, warn_of
from bayespoint.posterior.mixture import Mixture, observed

_share = partial(validation.real, low=0.0, high=1.0)
_ROUNDING = 1e-12  # difference up to which probabilities count as equal
_PAIRS, _FEWEST = 4000, 100  # of points for importances: of all groups, of one
_VALUES = 2**21  # number of probabilities, given each draw, that are sorted at a time


def feature_importances(mixture: Mixture, groups: Sequence[int]) -> Floats | None:
    """Return the total effect of each group of features on the latent function, with sum 1.

    It is half the mean square change of the function at training points if the group has the values
    of another point: Jansen, "Analysis of variance designs for model output", Computer Physics
    Communications 117, 1999. None if inputs are no dense vectors.
    """
    rng, n_groups = np.random.default_rng(0), max(groups, default=0) + 1
    total = np.zeros(n_groups)
    for model, weight in zip(mixture.models, mixture.weights, strict=True):
        inputs = model.basis.points
        if not isinstance(inputs, np.ndarray) or inputs.ndim != 2:
            return None
        n = min(len(inputs), max(_FEWEST, _PAIRS // n_groups))
        points, others = rng.permutation(inputs)[:n], rng.permutation(inputs)[:n]
        values = model.draws.center_values(model.basis.kernel_values(points))
        effects = np.empty(n_groups)
        for k in range(n_groups):
            changed = np.where(np.asarray(groups) == k, others, points)
            change = model.draws.center_values(model.basis.kernel_values(changed)) - values
            effects[k] = np.square(change).sum()
        total += weight * effects / (effects.sum() or 1.0)
    return total


class LeftOutProba(NamedTuple):
    """Predictions of n training examples, each given all others."""

    proba: Floats  # (n, n_classes) probabilities of labels
    own: Floats  # (n,) those of the labels that the examples have
    error: Floats  # (n,) their standard errors


def leave_one_out(
    mixture: Mixture, X: ArrayLike | None, y: ArrayLike | None, weight: ArrayLike | None = None
) -> LeftOutProba:
    """Return the predictions of training examples, each given all others; warns if uncertain."""
    if mixture.first.basis.is_all:
        if X is not None or y is not None or weight is not None:
            raise ValueError(
                "X, y and sample_weight must be None without landmarks, where all are kept"
            )
        return _alone(mixture, _kept(mixture))
    if X is None or y is None:
        raise ValueError("X and y must be training examples with landmarks; got None")
    points = mixture.first.basis.inputs(X)
    index = validation.known_labels(mixture.classes, y, count(points))
    precision = np.ones(len(index))
    if weight is not None:
        precision = validation.vector(
            "sample_weight", weight, len(index), NO_WEIGHT, "finite and positive", "example"
        )
    left = [
        model.without_each(Examples(model.points(points), index, precision))
        for model in mixture.models
    ]
    return _alone(mixture, left)


def predict_set(mixture: Mixture, X: ArrayLike, alpha: float, *, diag: ArrayLike | None) -> Flags:
    """Return which labels are in the set of each point."""
    alpha = _share("alpha", alpha)
    kept = _kept(mixture)
    left, own = kept[0], _alone(mixture, kept).own
    new = np.ones(len(mixture.classes)) if mixture.class_weight is None else mixture.class_weight
    weight = new[left.label]
    order = np.argsort(own)
    below = np.cumsum(np.append(0.0, weight[order]))
    # By the same means over draws: from two moments, p of certain labels may be far smaller.
    p = mixture.predict_proba(X, method="mixture", diag=diag)
    rank = below[np.searchsorted(own[order], p + _ROUNDING, side="right")] + new
    return rank > alpha * (below[-1] + new)


def predict_proba_interval(
    mixture: Mixture, X: ArrayLike, level: float, *, diag: ArrayLike | None
) -> Floats:
    """Return quantiles of the probabilities given each draw of each model."""
    level = _share("level", level)
    points = in_rows(mixture.first.basis.inputs(X))
    n, sizes = count(points), [len(model.draws) for model in mixture.models]
    share = np.repeat(mixture.weights / sizes, sizes)
    if diag is not None:
        diag = validation.dual_coef("diag", diag, n)
    found = np.empty((2, n, len(mixture.classes)))
    for rows in validation.blocks(n, _VALUES // (len(share) * len(mixture.classes))):
        diagonal = None if diag is None else diag[rows]
        parts = [
            model.log_draws(points[rows], diagonal, mixture.class_weight)
            for model in mixture.models
        ]
        logs = np.hstack(parts)
        order = logs.argsort(axis=1)
        below = np.cumsum(share[order], axis=1)
        for end, part in zip(found, ((1 - level) / 2, (1 + level) / 2), strict=True):
            place = np.minimum((below < part).sum(axis=1, keepdims=True), len(share) - 1)
            chosen = np.take_along_axis(order, place, axis=1)
            end[rows] = np.exp(np.take_along_axis(logs, chosen, axis=1)[:, 0])
    return found


def reject(
    mixture: Mixture,
    X: ArrayLike,
    cost: float,
    *,
    method: str,
    diag: ArrayLike | None,
) -> tuple[Array, Flags]:
    """Return the most probable labels, and where to abstain."""
    cost = _share("cost", cost)
    probability = mixture.predict_proba(X, method=method, diag=diag)
    # Equal probabilities have an expected loss of 1 - 1 / n_classes up to rounding.
    rejected = 1 - probability.max(axis=1) > cost + _ROUNDING
    return mixture.classes[probability.argmax(axis=1)], rejected


def suggest_query(mixture: Mixture, X: ArrayLike, n: int) -> Indices:
    """Return the points on which the draws disagree most."""
    n = validation.integer("n", n, low=1)
    if n > (most := count(X)):
        raise ValueError(f"n must be at most the number of points in X, {most}; got {n}")
    return np.argsort(mixture.first.labels.predicts.lead(mixture.votes(X)), kind="stable")[:n]


def _kept(mixture: Mixture) -> list[LeftOut]:
    """Return the leave-one-out predictions that the models keep."""
    left = [kept for model in mixture.models if (kept := model.kept) is not None]
    if len(left) < len(mixture.models):
        raise ValueError(
            "leave-one-out predictions need softness > 0, a kernel matrix that is not singular "
            "and draws without weights"
        )
    return left


def _alone(mixture: Mixture, left: Sequence[LeftOut]) -> LeftOutProba:
    """Return the predictions of the average from those of each model; warns if uncertain."""
    label, rows = left[0].label, np.arange(len(left[0].label))

    def log_mass(k: int, of_model: LeftOut) -> Floats:
        """Return that of a model, which weighs as much as it does without the label."""
        calibration, weight = mixture.models[k].calibration, mixture.weights[k]
        log_label = of_model.log_labels(calibration)[:, None]
        return of_model.log_classes(calibration) - log_label + math.log(weight)

    mass = np.stack([log_mass(k, of_model) for k, of_model in enumerate(left)])
    square = np.zeros(len(rows))
    for k, of_model in enumerate(left):  # the draws of different models are independent
        own = []
        for errors in (-1.0, 1.0):
            moved = mass.copy()
            moved[k] = log_mass(k, of_model.moved(errors))
            own.append(np.exp(observed(mixture, moved))[rows, label])
        square += ((own[1] - own[0]) / 2) ** 2
    proba = np.exp(observed(mixture, mass))
    warn_of(error := np.sqrt(square))
    return LeftOutProba(proba, proba[rows, label], error)


def rejection_curve(
    y_true: ArrayLike, proba: ArrayLike, *, labels: ArrayLike | None = None
) -> tuple[Floats, Floats, Floats]:
    r"""Return coverage and error among the accepted points for every cost of abstention.

    A point is accepted if the expected loss :math:`1 - \max_c p_c` of its most probable class is at
    most the cost (C. K. Chow, "On optimum recognition error and reject tradeoff", IEEE Transactions
    on Information Theory 16, 1970). :meth:`BayesPointClassifier.reject` abstains at one cost.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        True labels, at least one.
    proba : array-like of shape (n_samples, n_classes) or (n_samples,)
        Probabilities of the classes, or for two classes of the second.
    labels : array-like of shape (n_classes,), default=None
        The classes in the order of the columns. None: the sorted values of `y_true`.

    Returns
    -------
    coverage : ndarray of shape (n_costs,)
        Share of accepted points, in (0, 1], rising to 1.
    error : ndarray of shape (n_costs,)
        Share of these whose most probable class is wrong. Ties go to the first class.
    cost : ndarray of shape (n_costs,)
        The costs of these coverages, rising: the expected losses that occur.

    Raises
    ------
    ValueError, TypeError
        If shapes do not fit, a probability is not a number in [0, 1], or a label is unknown.
    """
    y = validation.labels("y_true", y_true)
    if y.ndim != 1 or len(y) == 0:
        raise ValueError(f"y_true must have shape (n_samples,), n_samples > 0; got {y.shape}")
    p = np.asarray(validation.dense("proba", proba), dtype=np.float64)
    if not ((p >= 0) & (p <= 1)).all():
        raise ValueError("proba must lie in [0, 1]; it holds NaN or other values")
    p = np.stack([1 - p, p], axis=1) if p.ndim == 1 else p
    classes = np.unique(y) if labels is None else validation.labels("labels", labels)
    if classes.ndim != 1:
        raise ValueError(f"labels must have shape (n_classes,); got shape {classes.shape}")
    if p.shape != (len(y), len(classes)):
        raise ValueError(
            f"proba must have a row for each of the {len(y)} labels in y_true and a column for "
            f"each of {len(classes)} classes; got shape {np.shape(proba)} (set labels if y_true "
            "lacks a class)"
        )
    wrong = validation.known_labels(classes, y, len(y), "y_true") != p.argmax(axis=1)
    cost, level, counts = np.unique(1 - p.max(axis=1), return_inverse=True, return_counts=True)
    errors = np.bincount(level, weights=wrong, minlength=len(cost))
    accepted = np.cumsum(counts)
    return accepted / len(y), np.cumsum(errors) / accepted, cost
