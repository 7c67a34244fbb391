"""Inputs and labels as arrays: of numbers, kernel values, or objects."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils.multiclass import check_classification_targets

from bayespoint.base.validation import Floats, named
from bayespoint.data.columns import Columns
from bayespoint.data.warps import Warped

if TYPE_CHECKING:
    from sklearn.preprocessing import StandardScaler


def standardizer(inputs: Any, weight: Floats, columns: Columns | None = None) -> StandardScaler:
    """Return the fitted scaler of observations of these weights.

    Sparse inputs are scaled but not centered. Codes of categories stay as they are, and the numbers
    of a date get, in all, the variance of one number.
    """
    from sklearn.preprocessing import StandardScaler  # which takes long to import

    scaler = StandardScaler(with_mean=not sparse.issparse(inputs))
    scaler.set_output(transform="default")  # also where scikit-learn's configuration says frames
    with np.errstate(over="ignore", invalid="ignore"):
        scaler.fit(inputs, sample_weight=None if (weight == 1).all() else weight)
    if not np.isfinite(scaler.var_).all():
        feature = int(np.argmin(np.isfinite(scaler.var_)))
        which = f"feature {feature}"
        if columns is not None:
            which = f"column {columns.columns[columns.groups[feature]].name!r}"
        raise ValueError(
            f"X must not be so large that the variance of a feature overflows; {which} is "
            "(with standardize=False the features are used as they are)"
        )
    if columns is not None and not columns.plain:
        n = columns.n_numbers
        scaler.scale_[:n] /= columns.shares
        scaler.mean_[n:], scaler.var_[n:], scaler.scale_[n:] = 0.0, 1.0, 1.0
    return scaler


def scaled(scaler: StandardScaler | Warped | None, X: Any) -> Any:
    """Return inputs as the kernel gets them: dense if they are centered."""
    if scaler is None:
        return X
    centers = getattr(scaler, "with_mean", True)
    return scaler.transform(X.toarray() if sparse.issparse(X) and centers else X)


def encode(y: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.intp]]:
    """Return the sorted classes, at least two, and the index of each label among them."""
    try:
        check_classification_targets(y)
        classes, index = np.unique(y, return_inverse=True)
    except TypeError as error:
        raise named(error, "y must hold labels of one type") from error
    if len(classes) < 2:
        raise ValueError(f"y must hold at least two classes; got one class: {classes[0]}")
    return classes, np.asarray(index, dtype=np.intp)
