"""Inputs of the estimators: arrays of numbers, kernel values, or anything a kernel takes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import validate_data

from bayespoint import kernels
from bayespoint._validation import Labels


def training(
    estimator: Any, kernel: object, X: ArrayLike, y: ArrayLike
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return checked inputs and labels of a fit.

    The inputs are an (n, d) array of doubles in C order; with kernel="precomputed" a matrix as it
    is; for a kernel that takes no vectors an (n,) array of objects.
    """
    if kernels.requires_vectors(kernel) is not False:
        precomputed = isinstance(kernel, str) and kernel == "precomputed"
        return validate_data(  # type: ignore[no-any-return]
            estimator,
            X,
            y,
            dtype="numeric" if precomputed else np.float64,
            order=None if precomputed else "C",
        )
    checked = validate_data(
        estimator, _objects(X), y, dtype=None, ensure_2d=False, ensure_all_finite=False
    )
    # What an earlier fit on an array may have left.
    vars(estimator).pop("n_features_in_", None)
    return checked  # type: ignore[no-any-return]


def encode(y: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.intp]]:
    """Return the sorted classes and the index of each label among them.

    Raises ValueError for labels that are no classes, or for one class alone.
    """
    check_classification_targets(y)
    classes, index = np.unique(y, return_inverse=True)
    if len(classes) < 2:
        raise ValueError(f"y must hold at least two classes; got one class: {classes[0]}")
    return classes, np.asarray(index, dtype=np.intp)


def one_vs_rest(index: NDArray[np.intp], n_classes: int) -> Labels:
    """Return the labels -1 and +1 of each binary problem, shape (n_problems, m).

    One problem for two classes, with the second positive; otherwise each class against the rest.
    """
    positives = [1] if n_classes == 2 else list(range(n_classes))
    return np.where(index == np.array(positives)[:, None], 1, -1).astype(np.int8)


def new(estimator: Any, kernel: object, X: ArrayLike) -> NDArray[Any]:
    """Return checked inputs of a fitted estimator."""
    if kernels.requires_vectors(kernel) is not False:
        checked: NDArray[Any] = validate_data(
            estimator, X, reset=False, dtype=np.float64, order="C"
        )
        return checked
    objects = _objects(X)
    if len(objects) == 0:
        raise ValueError("X must hold at least one input; got none")
    return objects


def _objects(X: Any) -> NDArray[Any]:
    """Return the entries of a sequence as an (n,) array of objects."""
    ordered = hasattr(X, "__len__") and hasattr(X, "__getitem__")
    if not ordered or isinstance(X, (str, bytes, Mapping)) or sparse.issparse(X):
        raise TypeError(f"X must be a sequence of inputs for this kernel; got {type(X).__name__}")
    if getattr(X, "ndim", 1) != 1:
        raise ValueError(
            f"X must be a sequence of inputs for this kernel, of one dimension; got {X.ndim}"
        )
    return np.fromiter(X, dtype=object, count=len(X))
