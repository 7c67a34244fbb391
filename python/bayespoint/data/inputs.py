"""Inputs and labels as arrays: of numbers, kernel values, or objects."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils.multiclass import check_classification_targets

from bayespoint.base.validation import Floats

if TYPE_CHECKING:
    from sklearn.preprocessing import StandardScaler


def standardizer(kernel: object, inputs: Any, weight: Floats) -> StandardScaler | None:
    """Return the fitted scaler of observations of these weights, or None if they are not vectors.

    Sparse inputs are scaled but not centered.
    """
    if inputs.ndim != 2 or (isinstance(kernel, str) and kernel == "precomputed"):
        return None
    from sklearn.preprocessing import StandardScaler  # which takes long to import

    scaler = StandardScaler(with_mean=not sparse.issparse(inputs))
    scaler.set_output(transform="default")  # also where scikit-learn's configuration says frames
    with np.errstate(over="ignore", invalid="ignore"):
        scaler.fit(inputs, sample_weight=None if (weight == 1).all() else weight)
    if not np.isfinite(scaler.var_).all():
        column = int(np.argmin(np.isfinite(scaler.var_)))
        raise ValueError(
            f"X must not be so large that the variance of a feature overflows; feature {column} is "
            "(with standardize=False the features are used as they are)"
        )
    return scaler


def scaled(scaler: StandardScaler | None, X: Any) -> Any:
    """Return inputs as the kernel gets them: dense if they are centered."""
    if scaler is None:
        return X
    return scaler.transform(X.toarray() if scaler.with_mean and sparse.issparse(X) else X)


def encode(y: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.intp]]:
    """Return the sorted classes, at least two, and the index of each label among them."""
    check_classification_targets(y)
    classes, index = np.unique(y, return_inverse=True)
    if len(classes) < 2:
        raise ValueError(f"y must hold at least two classes; got one class: {classes[0]}")
    return classes, np.asarray(index, dtype=np.intp)
