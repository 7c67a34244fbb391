"""Inputs of the estimators: arrays of numbers, kernel values, or sequences of objects."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import validate_data as _validate_data

from bayespoint import kernels
from bayespoint.base.validation import Floats, Labels, dense, named, refuse_masked
from bayespoint.base.validation import labels as label_array
from bayespoint.blocks import Blocks
from bayespoint.estimators import advice
from bayespoint.kernels.products import sequence

if TYPE_CHECKING:
    from sklearn.preprocessing import StandardScaler


def validate_data(estimator: Any, *arrays: Any, **options: Any) -> Any:
    """Call scikit-learn's function of this name, with errors that name the arguments."""
    for name, array in zip(("X", "y"), arrays, strict=False):
        refuse_masked(name, array)
        if isinstance(array, Blocks):
            raise TypeError(
                f"{name} must be an array here; got Blocks, which `fit` (X and y) and the "
                "predictions of BayesPointClassifier take"
            )
    try:
        # scikit-learn sums all numbers to find NaN, and the sum may overflow.
        with np.errstate(over="ignore", invalid="ignore"):
            return _validate_data(estimator, *arrays, **options)
    except (TypeError, ValueError) as error:
        told = None if str(error).startswith("Input y") else advice.of_columns(estimator, arrays[0])
        if told is not None:
            raise named(error, f"{told}\nIn scikit-learn's words") from error
        if isinstance(error, ValueError) and "array element" not in str(error):
            raise
        # NumPy's message about input that is not an array of numbers.
        names = "X and y must be arrays" if len(arrays) > 1 else "X must be an array"
        raise named(error, f"{names} of examples") from error


def training(
    estimator: Any, kernel: object, X: ArrayLike, y: ArrayLike
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return checked inputs and labels of a fit.

    The inputs are an (n, d) array of doubles in C order, or a sparse CSR array if the kernel takes
    these; with kernel="precomputed" the matrix; for a kernel of objects an (n,) array of these.
    """
    if _are_vectors(kernel, X):
        precomputed = isinstance(kernel, str) and kernel == "precomputed"
        checked, labels = validate_data(
            estimator,
            X,
            y,
            dtype="numeric" if precomputed else np.float64,
            order=None if precomputed else "C",
            accept_sparse=_sparse_format(kernel, X),
        )
        return _canonical(checked), labels
    checked = validate_data(
        estimator, _objects(X), y, dtype=None, ensure_2d=False, ensure_all_finite=False
    )
    vars(estimator).pop("n_features_in_", None)  # of an earlier fit on an array
    return checked  # type: ignore[no-any-return]


def standardizer(kernel: object, inputs: Any, share: Floats) -> StandardScaler | None:
    """Return the fitted scaler of m observations, or None if they are not vectors.

    `share` are the (m,) weights of the observations. Sparse inputs are scaled but not centered.
    """
    if inputs.ndim != 2 or (isinstance(kernel, str) and kernel == "precomputed"):
        return None
    from sklearn.preprocessing import StandardScaler  # which takes long to import

    scaler = StandardScaler(with_mean=not sparse.issparse(inputs))
    scaler.set_output(transform="default")  # also where scikit-learn's configuration says frames
    with np.errstate(over="ignore", invalid="ignore"):
        scaler.fit(inputs, sample_weight=None if (share == 1).all() else share)
    if not np.isfinite(scaler.var_).all():
        column = int(np.argmin(np.isfinite(scaler.var_)))
        raise ValueError(
            f"X must not be so large that the variance of a feature overflows; feature {column} is "
            "(with standardize=False the features are used as they are)"
        )
    return scaler


def encode(y: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.intp]]:
    """Return the sorted classes and the index of each label among them.

    Raises ValueError for continuous labels and for a single class.
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
    any_type = kernels.requires_vectors(kernel) is None
    if hasattr(estimator, "n_features_in_") if any_type else _are_vectors(kernel, X):
        checked: NDArray[Any] = validate_data(
            estimator,
            X,
            reset=False,
            dtype=np.float64,
            order="C",
            accept_sparse=_sparse_format(kernel, X),
        )
        return _canonical(checked)
    objects = _objects(X)
    if len(objects) == 0:
        raise ValueError("X must hold at least one input; got none")
    return objects


def mark(tags: Any, kernel: object) -> None:
    """Set scikit-learn's tags of the inputs that a kernel setting takes."""
    tags.pairwise = isinstance(kernel, str) and kernel == "precomputed"
    vectors = kernels.requires_vectors(kernel)
    tags.two_d_array = vectors is not False
    tags.one_d_array = not vectors
    tags.sparse = takes_sparse(kernel)


def takes_sparse(kernel: object) -> bool:
    """Return whether a kernel setting takes sparse inputs."""
    if isinstance(kernel, str):
        return kernel in ("linear", "rbf", "poly")
    return kernels.accepts_sparse(kernel)


def joined(X: Any, Y: Any) -> Any:
    """Return the inputs of both, sparse if one of them is."""
    if sparse.issparse(X) or sparse.issparse(Y):
        return sparse.vstack([X, Y], format="csr")
    return np.concatenate([X, Y])


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
    matrix = dense("gram", gram)
    if matrix.shape != (m, m):
        raise ValueError(f"gram must have shape ({m}, {m}); got shape {matrix.shape}")
    return matrix


def known_labels(classes: NDArray[Any], y: ArrayLike, n: int) -> NDArray[np.intp]:
    """Return the indices among the classes of n labels, at least one."""
    values = label_array("y", y)
    if values.shape != (n,) or n == 0:
        raise ValueError(
            f"y must have shape ({n},), a label for each row of X, and X at least one row; got "
            f"shape {values.shape}"
        )
    known = values[:, None] == classes
    if not known.any(axis=1).all():
        unknown = values[~known.any(axis=1)].tolist()[0]
        raise ValueError(f"y must hold labels among {classes.tolist()}; got {unknown!r}")
    return np.asarray(known.argmax(axis=1))


def _are_vectors(kernel: object, X: Any) -> bool:
    """Return whether inputs of a fit are rows of numbers, by the kernel or else by their type."""
    vectors = kernels.requires_vectors(kernel)
    if vectors is not None:
        return vectors
    if hasattr(X, "shape"):  # arrays, frames, sparse matrices
        return np.ndim(X) == 2
    try:
        rows = np.asarray(X)
    except (TypeError, ValueError):  # of several lengths
        return False
    return rows.ndim == 2 and rows.dtype.kind in "biuf"


def _canonical(X: Any) -> NDArray[Any]:
    """Return sparse rows as an array without duplicate entries, indices sorted; others unchanged.

    skops stores sparse arrays, and not matrices of the older kind.
    """
    if sparse.issparse(X):
        X = sparse.csr_array(X)
        if not X.has_canonical_format:
            X = X.copy()
            X.sum_duplicates()
    checked: NDArray[Any] = X
    return checked


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


def _objects(X: Any) -> NDArray[Any]:
    """Return the entries of a sequence as an (n,) array of objects."""
    if getattr(sequence("X", X), "ndim", 1) != 1:
        raise ValueError(
            f"X must be a one-dimensional sequence for this kernel; got {X.ndim} dimensions"
        )
    return np.fromiter(X, dtype=object, count=len(X))
