"""Abstention: the error among the accepted points."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from bayespoint.base import validation
from bayespoint.base.validation import Floats


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
    known = y[:, None] == classes
    if not known.any(axis=1).all():
        unknown = y[~known.any(axis=1)].tolist()[0]
        raise ValueError(f"y_true must hold only the given labels; got {unknown!r}")
    best = p.argmax(axis=1)
    cost, level, counts = np.unique(1 - p.max(axis=1), return_inverse=True, return_counts=True)
    wrong = np.bincount(level, weights=~known[np.arange(len(y)), best], minlength=len(cost))
    accepted = np.cumsum(counts)
    return accepted / len(y), np.cumsum(wrong) / accepted, cost
