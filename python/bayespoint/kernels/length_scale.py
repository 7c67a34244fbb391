"""Rules of thumb for a length scale."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from scipy.spatial import distance

from bayespoint.base import validation
from bayespoint.kernels.protocol import ROWS


def scale_of(X: Any) -> float:
    """Return ``sqrt(d Var(X) / 2)``: the length scale of scikit-learn's gamma="scale"."""
    thin = sparse.issparse(X)
    values = X.data if thin else X
    # A power of two takes the size out of X first, or its squares could over- or underflow.
    largest = float(np.abs(values).max()) if values.size else 0.0
    size = 2.0 ** (math.frexp(largest)[1] - 1)
    if not size > 0:
        variance = 0.0
    elif thin:
        mean = float((values / size).sum()) / math.prod(X.shape)
        zeros = 1.0 - values.size / math.prod(X.shape)
        own = float(((values / size - mean) ** 2).sum()) / math.prod(X.shape)
        variance = own + zeros * mean**2
    else:
        variance = float((X / size).var())
    return size * math.sqrt(X.shape[1] * variance / 2) if variance > 0 else math.sqrt(0.5)


def class_distance(X: ArrayLike, y: ArrayLike) -> float:
    """Return the distance between the closest two examples of different classes.

    A good length scale is comparable to it (Crowley, 2018): far larger ones make the
    discriminant surface overly flat, far smaller ones overfit the examples.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Inputs, finite.
    y : array-like of shape (n_samples,)
        Labels of at least two classes.

    Returns
    -------
    float
        Positive.

    Raises
    ------
    ValueError
        If the shapes do not fit, if there is only one class, or if two examples of different
        classes are at the same place.

    References
    ----------
    J. L. Crowley, "Perceptrons and Support Vector Machines", Intelligent Systems: Reasoning and
    Recognition, Lesson 6, 2018.

    Examples
    --------
    >>> from bayespoint.kernels import RBF, class_distance
    >>> RBF(sigma=class_distance([[0.0], [1.0], [4.0]], ["a", "a", "b"]))
    RBF(sigma=3.0)
    """
    points = np.asarray(validation.dense("X", X), dtype=np.float64)
    labels = validation.labels("y", y)
    if points.ndim != 2 or labels.shape != (len(points),):
        raise ValueError(
            "X must have shape (n_samples, n_features) and y shape (n_samples,); got shapes "
            f"{points.shape} and {labels.shape}"
        )
    if not np.isfinite(points).all():
        raise ValueError("X must be finite; it holds NaN or infinity")
    classes, index = np.unique(labels, return_inverse=True)
    if len(classes) < 2:
        raise ValueError(f"y must hold at least two classes; got {len(classes)}")
    smallest = math.inf
    for rows in validation.blocks(len(points), ROWS):
        apart = distance.cdist(points[rows], points)
        apart[index[rows, None] == index] = math.inf
        smallest = min(smallest, float(apart.min()))
    if smallest == 0:
        raise ValueError(
            "X must hold examples of different classes at different places; two of them coincide"
        )
    return smallest
