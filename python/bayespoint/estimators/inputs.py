"""Inputs of the estimators, checked by scikit-learn."""

from __future__ import annotations

from copy import copy
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_consistent_length, column_or_1d
from sklearn.utils.validation import validate_data as _validate_data

from bayespoint import kernels
from bayespoint.base import validation
from bayespoint.base.validation import Array, Floats
from bayespoint.blocks import Blocks
from bayespoint.data import frames
from bayespoint.data.columns import Columns
from bayespoint.kernels.products import sequence

_SEEN = ("n_features_in_", "feature_names_in_")
_OF_VECTORS: dict[str, Any] = {"dtype": np.float64, "order": "C"}
_OF_TABLES = _OF_VECTORS | {"ensure_all_finite": "allow-nan"}
_OF_FRAMES: dict[str, Any] = {"skip_check_array": True}
_OF_OBJECTS: dict[str, Any] = {"dtype": None, "ensure_2d": False, "ensure_all_finite": False}


class Arguments(NamedTuple):
    """The checked arguments of a fit."""

    inputs: Any
    labels: Array
    seen: dict[str, Any]  # attributes that the estimator gets from these, None where there are none


def read(
    estimator: BaseEstimator,
    kernel: object,
    X: Any,
    y: Any,
    *,
    tables: bool = False,
    categories: Any = None,
) -> Arguments:
    """Return the checked arguments of a fit.

    Inputs are records of a table with `tables`, doubles in C order, CSR, a matrix, or objects. The
    parameter `categorical_features` names `categories`.
    """
    probe, vectors = copy(estimator), _are_vectors(kernel, X)  # the copy gets the attributes
    tables &= is_table(kernel, X)
    frame = frames.typed(X) if tables else None
    if not vectors:
        X, options = _objects(X), _OF_OBJECTS
    elif tables:
        options = _OF_TABLES if frame is None else _OF_FRAMES
    else:
        options = {"dtype": "numeric"} if is_precomputed(kernel) else _OF_VECTORS
        options = options | {"accept_sparse": _sparse_format(kernel, X)}
    inputs, labels = validate_data(probe, X, y, **options)
    if frame is not None:  # which scikit-learn has not checked
        labels = column_or_1d(labels, warn=True)
        check_consistent_length(inputs, labels)
    if tables:
        inputs = (frame or frames.numbered(inputs)).recognized(categories)
    else:
        frames.require_none(categories)
        inputs = _canonical(inputs)
    seen = {name: getattr(probe, name, None) if vectors else None for name in _SEEN}
    return Arguments(inputs, labels, seen)


def validate_data(
    estimator: BaseEstimator, X: Any, y: Any = "no_validation", *, reset: bool = True, **kwargs: Any
) -> Any:
    """Call scikit-learn's function of this name, with errors that name the arguments."""
    has_labels = not isinstance(y, str)
    for name, array in (("X", X), ("y", y)):
        if isinstance(array, Blocks):
            raise TypeError(
                f"{name} must be an array here; got Blocks, which `fit` (X and y) and the "
                "predictions of BayesPointClassifier take"
            )
        validation.refuse_masked(name, array)
    if has_labels:
        validation.require_labels(y)
    if "skip_check_array" in kwargs and not len(X):
        raise ValueError("X must hold at least one example; got none")
    if kwargs.get("dtype") is not None:
        validation.refuse_unreal(X)
    try:
        # scikit-learn sums all numbers to find NaN, and the sum may overflow.
        with validation.overflowing():
            return _validate_data(estimator, X, y, reset=reset, **kwargs)
    except (TypeError, ValueError) as error:
        text = str(error)
        if sparse.issparse(X) and "contains NaN" in text:
            raise ValueError(
                "X must not hold NaN where it is sparse: dense tables may lack values"
            ) from error
        if isinstance(error, ValueError) and "could not convert string" in text:
            wanted = "X must hold numbers, be a frame or an array of objects, or be text that a "
            wanted += "vectorizer has made numbers of"
            raise validation.named(error, wanted) from error
        if isinstance(error, ValueError) and "array element" not in text:
            raise
        # NumPy's message about input that is not an array of numbers.
        names = "X and y must be arrays or frames" if has_labels else "X must be an array or frame"
        raise validation.named(error, f"{names} of examples") from error


def has_columns(kernel: object) -> bool:
    """Return whether a kernel setting takes tables with categories and missing values."""
    if isinstance(kernel, str):
        return kernel != "precomputed"
    return kernel is None or kernels.accepts_limits(kernel)


def is_table(kernel: object, X: Any) -> bool:
    """Return whether inputs of a fit are a dense table of columns."""
    return not (sparse.issparse(X) or is_precomputed(kernel)) and _are_vectors(kernel, X)


def features(estimator: BaseEstimator, kernel: object, known: Columns, X: Any) -> Floats:
    """Return the features of new rows of the table of a fit."""
    frame = frames.typed(X)
    tables = has_columns(kernel) or not known.plain
    options = _OF_FRAMES if frame is not None else _OF_TABLES if tables else _OF_VECTORS
    checked = validate_data(estimator, X, reset=False, **options)
    return known.features((frame or frames.numbered(checked)).read_as(known))


def new(estimator: BaseEstimator, kernel: object, X: ArrayLike) -> Array:
    """Return checked inputs of a fitted estimator."""
    any_type = kernels.requires_vectors(kernel) is None
    if hasattr(estimator, "n_features_in_") if any_type else _are_vectors(kernel, X):
        options = _OF_VECTORS | {"accept_sparse": _sparse_format(kernel, X)}
        return _canonical(validate_data(estimator, X, reset=False, **options))
    if len(objects := _objects(X)) == 0:
        raise ValueError("X must hold at least one input; got none")
    return objects


def mark(tags: Any, kernel: object) -> None:
    """Set scikit-learn's tags of the inputs that a kernel setting takes."""
    tags.pairwise = is_precomputed(kernel)
    vectors = kernels.requires_vectors(kernel)
    tags.two_d_array = vectors is not False
    tags.one_d_array = not vectors
    tags.sparse = takes_sparse(kernel)


def again(kernel: object, inputs: Any, m: int, gram: ArrayLike | None) -> Any:
    """Return the inputs of a fit, or with kernel="precomputed" the checked matrix `gram`."""
    if not isinstance(kernel, str):
        if gram is not None:
            raise ValueError("gram must be None unless kernel='precomputed'")
        return inputs
    if gram is None:
        raise ValueError(
            "gram must be the (n_samples, n_samples) matrix given to fit with "
            "kernel='precomputed'; got None"
        )
    matrix = validation.dense("gram", gram)
    if matrix.shape != (m, m):
        raise ValueError(f"gram must have shape ({m}, {m}); got shape {matrix.shape}")
    return matrix


def is_precomputed(kernel: object) -> bool:
    """Return whether a kernel setting says that inputs are kernel values."""
    return isinstance(kernel, str) and kernel == "precomputed"


def takes_sparse(kernel: object) -> bool:
    """Return whether a kernel setting takes sparse inputs."""
    if isinstance(kernel, str):
        return kernel in ("linear", "rbf", "poly")
    return kernels.accepts_sparse(kernel)


def _are_vectors(kernel: object, X: Any) -> bool:
    """Return whether inputs of a fit are rows of numbers, by the kernel or else by their type."""
    vectors = kernels.requires_vectors(kernel)
    if vectors is not None:
        return vectors
    if hasattr(X, "shape"):  # arrays, frames, sparse matrices
        # Numbers that are not in rows are refused by scikit-learn, for a function of the user's.
        numbers = getattr(getattr(X, "dtype", None), "kind", "O") in "biuf"
        return np.ndim(X) == 2 or (numbers and kernels.is_function(kernel))
    try:
        rows = np.asarray(X)
    except (TypeError, ValueError):  # of several lengths
        return False
    return rows.ndim == 2 and rows.dtype.kind in "biuf"


def _canonical(X: Any) -> Array:
    """Return sparse rows as an array in canonical format; others unchanged."""
    if sparse.issparse(X):
        X = sparse.csr_array(X)  # skops stores no matrices of the older kind
        if not X.has_canonical_format:
            X = X.copy()
            X.sum_duplicates()
    return X


def _sparse_format(kernel: object, X: Any) -> str | bool:
    """Return the argument `accept_sparse` of scikit-learn's check, or raise for sparse inputs."""
    if takes_sparse(kernel):
        return "csr"
    if sparse.issparse(X):
        name = "the default kernel" if kernel is None else f"kernel={kernel!r}"
        raise TypeError(
            f"X must be a dense array for {name}; got a sparse {type(X).__name__}: use "
            'kernel="rbf" or kernel="linear", which accept sparse rows as do RBF, Linear, '
            "Polynomial and kernels made of these, or convert X with .toarray()"
        )
    return False


def _objects(X: Any) -> Array:
    """Return the entries of a sequence as an (n,) array of objects."""
    if getattr(sequence("X", X), "ndim", 1) != 1:
        raise ValueError(
            f"X must be a one-dimensional sequence for this kernel; got {X.ndim} dimensions"
        )
    return np.fromiter(X, dtype=object, count=len(X))
