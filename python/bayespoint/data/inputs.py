"""Inputs, labels and weights as arrays.

Sample weights are relative: their mean is made 1, and the noise of an example has the variance
softness / w. At f = 0 its likelihood then has w times the Fisher information on f of one of weight
1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from sklearn.utils.multiclass import check_classification_targets, type_of_target

from bayespoint.base import validation
from bayespoint.base.validation import Array, Floats, Indices, named
from bayespoint.data.columns import Columns
from bayespoint.data.warps import Warped

if TYPE_CHECKING:
    from sklearn.preprocessing import StandardScaler

NO_WEIGHT = 1e-9  # relative weights, of mean 1, that are not larger than this count as 0


def standardizer(inputs: Any, weight: Floats, columns: Columns | None = None) -> StandardScaler:
    """Return the fitted scaler of observations of these weights.

    Sparse inputs are scaled but not centered. Codes of categories stay as they are, and the numbers
    of a date get, in all, the variance of one number.
    """
    from sklearn.preprocessing import StandardScaler  # which takes long to import

    scaler = StandardScaler(with_mean=not sparse.issparse(inputs))
    scaler.set_output(transform="default")  # also where scikit-learn's configuration says frames
    share = None if (weight == 1).all() else weight / weight.mean()
    with validation.overflowing():  # its bounds on rounding errors take the sum for that of rows
        scaler.fit(inputs, sample_weight=share)
    if not np.isfinite(scaler.var_).all():
        feature = np.argmin(np.isfinite(scaler.var_))
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


def order_of(classes: Any, y: Any) -> Array | None:
    """Return labels from the lowest on: as wanted, or of an ordered category; None for neither."""
    if classes is not None:
        return validation.labels("classes", classes)
    kind: Any = getattr(y, "dtype", None)
    is_ordered = getattr(kind, "ordered", str(kind).startswith("Enum"))  # of pandas, of polars
    return np.asarray(kind.categories) if is_ordered else None


def turn(classes: Array, order: Array | None) -> Indices:
    """Return what puts sorted classes in order; ValueError for a single one.

    Labels that do not occur are left out.
    """
    if len(classes) < 2:
        raise ValueError(f"y must hold at least two classes; got one class: {classes[0]}")
    if order is None:
        return np.arange(len(classes))
    known, places = classes.tolist(), {label: k for k, label in enumerate(order.tolist())}
    if order.ndim != 1 or len(places) < len(order) or not places.keys() >= set(known):
        codes = list(range(len(known))), [-1, 1]
        coded = known in codes and order.dtype.kind not in "biuf"
        raise ValueError(
            f"classes must list each label of y once, {known} in their order; got {order.tolist()}"
            + coded
            * ". A meta-estimator that encodes labels, as a vote, loses their order: give "
            "labels that are numbers, and classes=None"
        )
    return np.argsort([places[label] for label in known])


def encode(
    y: Array, order: Array | None = None, *, are_levels: bool = False
) -> tuple[Array, Indices]:
    """Return the classes, at least two, sorted or in order, and the index of each label.

    Levels may be numbers with fractions, if they occur twice on average.
    """
    try:
        classes, index = np.unique(y, return_inverse=True)
        few, kind = are_levels and 2 * len(classes) <= len(y), type_of_target(y)
        if kind == "unknown" and y.ndim == 1:
            types = sorted({type(label).__name__ for label in y.tolist()})
            raise ValueError(
                "Unknown label type: y must hold strings or whole numbers; got objects of the type "
                f"{' and '.join(types)}"
            )
        if not (few and kind == "continuous"):
            check_classification_targets(y)
    except TypeError as error:
        raise named(error, "y must hold labels of one type") from error
    turned = turn(classes, order)
    return classes[turned], np.argsort(turned)[index]


def weights_of(sample_weight: ArrayLike | None, n: int) -> Floats:
    """Return the (n,) weights, of which those that are not 0 have the mean 1."""
    if sample_weight is None:
        return np.ones(n)
    weight = validation.sample_weight(sample_weight, n)
    weight /= weight.max(initial=0.0) or 1.0  # whose sum is finite
    if (used := weight > NO_WEIGHT).any():
        weight /= weight[used].mean()
    return np.where(weight > NO_WEIGHT, weight, 0.0)


def require_classes(kept: Array, classes: Array) -> None:
    """Raise ValueError if weights do not keep an example of each class."""
    if not kept.all():
        raise ValueError(
            "sample_weight must not be zero for all examples of a class; got zeros, or values "
            f"below 1e-9 of their mean, for class {classes[~kept][0]}"
        )
