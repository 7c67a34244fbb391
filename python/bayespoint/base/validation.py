"""Checks of arguments. Error messages name the argument, what is required and what was given."""

from __future__ import annotations

import contextlib
import itertools
import math
import numbers
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, TypeVar

import joblib  # type: ignore[import-untyped]
import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import linalg, sparse
from sklearn.utils import check_random_state

from bayespoint.base import memory

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]
Integers = NDArray[np.int64]
Singles = NDArray[np.float32]
Flags = NDArray[np.bool_]
Array = NDArray[Any]
RandomState = int | np.random.Generator | np.random.RandomState | None

Noise = tuple[float, float]
"""Probabilities of a wrong label, for the two classes that may be the true one."""
_T = TypeVar("_T")

_OTHER = (bool, np.bool_, np.timedelta64)  # which Python or NumPy call integers
overflowing = partial(np.errstate, over="ignore", invalid="ignore")
"""A context in which large numbers become infinite or NaN without a warning."""
_MOST = 2**62  # largest integer of an argument, and minus the smallest: the engine's limits
MANY = 10**8  # largest size of an array that an argument can ask for
_SYMMETRY = 1e-8  # |K_ij - K_ji| <= this times sqrt(K_ii K_jj)
_SYMMETRY_LOW = 1e-5  # the same for matrices of less than double precision
_JITTER = 1e-8  # eigenvalues of the unit-diagonal Gram matrix above minus this may be rounding
_JITTER_LOW = 1e-4  # the same for matrices of less than double precision
_RITZ = 1e-6  # the same for the bound by Lanczos steps
_DIRECT = 2000  # up to this size a factorization decides, beyond it Lanczos steps
_LANCZOS_STEPS = 40
_BLOCK = 512
_LARGEST = 1e140  # value of f: sums of squares, and their inverses, are in the range of doubles
_LENGTHS = (1e-150, 1e150)  # range of diagonal entries whose products neither over- nor underflow


def real(
    name: str,
    value: object,
    low: float = -math.inf,
    high: float = math.inf,
    *,
    low_open: bool = False,
    high_open: bool = False,
) -> float:
    """Return `value` as a finite float within the limits of `interval`."""
    text, inside = interval(low, high, low_open, high_open)
    checked = number(name, value, wanted=f"a finite number in {text}")
    if not inside(checked):
        raise ValueError(f"{name} must be a finite number in {text}; got {value!r}")
    return checked


rate = partial(real, low=0.0, high=0.5, high_open=True)  # of label noise


def positive(name: str, value: object) -> float:
    """Return `value` as a finite float above 0."""
    if type(value) is float and 0 < value < math.inf:
        return value
    return real(name, value, low=0.0, low_open=True)


def number(name: str, value: object, *, wanted: str = "a number") -> float:
    """Return a real `value` of any size as a float, NaN if it is too large for one."""
    if isinstance(value, _OTHER) or not isinstance(value, numbers.Real):
        raise TypeError(f"{name} must be {wanted}; got {value!r}")
    try:
        return float(value)
    except OverflowError:
        return math.nan


def interval(
    low: float = -math.inf, high: float = math.inf, low_open: bool = False, high_open: bool = False
) -> tuple[str, Callable[[Any], Any]]:
    """Return an interval as text, and whether numbers are finite and inside."""
    low_open, high_open = low_open or low == -math.inf, high_open or high == math.inf
    above = np.greater if low_open else np.greater_equal
    below = np.less if high_open else np.less_equal
    text = f"{'(' if low_open else '['}{low:g}, {high:g}{')' if high_open else ']'}"
    return text, lambda value: above(value, low) & below(value, high)


def integer(name: str, value: object, *, low: int = -_MOST, high: int = _MOST) -> int:
    """Return `value` as an int from `low` to `high`."""
    if isinstance(value, _OTHER) or not isinstance(value, numbers.Integral):
        least = f" of at least {low}" if low > -_MOST else ""
        raise TypeError(f"{name} must be an integer{least}; got {value!r}")
    if not low <= (number := int(value)) <= high:
        limit = f"least {low}" if number < low else f"most {high}"
        raise ValueError(f"{name} must be an integer of at {limit}; got {value!r}")
    return number


def boolean(name: str, value: object) -> bool:
    """Return `value` as a bool."""
    if not isinstance(value, (bool, np.bool_)):
        raise TypeError(f"{name} must be True or False; got {value!r}")
    return bool(value)


def choice(name: str, value: object, options: Sequence[str | None]) -> str:
    """Return `value`, one of `options`; None is returned as ``"none"``."""
    # An array would be compared entry by entry.
    if not (value is None or isinstance(value, str)) or value not in options:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, options))}; got {value!r}")
    return "none" if value is None else str(value)


def threads(n_jobs: object) -> int:
    """Return the number of threads for `n_jobs`: None is 1, -1 every processor, -2 all but one."""
    jobs = 1 if n_jobs is None else integer("n_jobs", n_jobs)
    if jobs == 0:
        raise ValueError("n_jobs must be None or an integer other than 0; got 0")
    return jobs if jobs > 0 else max(1, joblib.cpu_count() + 1 + jobs)


def generator(random_state: RandomState) -> np.random.Generator:
    """Return a generator with the seed of `seed`."""
    return np.random.default_rng(seed(random_state))


def seed(random_state: RandomState) -> int:
    """Return a seed of 64 bits: an int, or a number of a generator; of NumPy's global for None."""
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**64, dtype=np.uint64))
    if random_state is None or isinstance(random_state, np.random.RandomState):
        return int(check_random_state(random_state).randint(2**64, dtype=np.uint64))
    try:
        return integer("random_state", random_state, low=0, high=2**64 - 1)
    except (TypeError, ValueError):
        raise ValueError(
            "random_state must be None, an integer in [0, 2**64), a numpy.random.Generator or a "
            f"numpy.random.RandomState; got {random_state!r}"
        ) from None


def pair(name: str, value: object, check: Callable[[str, Any], _T]) -> tuple[_T, _T]:
    """Return one value or a pair as a pair; `check` is `real`, `number` or `integer`."""
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if not isinstance(value, (tuple, list)):
        return (check(name, value),) * 2
    if len(value) != 2:
        kind = "integer" if check is integer else "number"
        raise ValueError(f"{name} must be one {kind} or two; got {len(value)}: {value!r}")
    first, second = value
    return check(f"{name}[0]", first), check(f"{name}[1]", second)


def label_noise(value: object) -> Noise:
    """Return the label noise of the two classes, each a rate in [0, 0.5)."""
    return pair("label_noise", value, rate)


def set_fields(record: object, /, **values: object) -> None:
    """Set fields of a frozen dataclass, in ``__post_init__``, to their checked values."""
    for name, value in values.items():
        object.__setattr__(record, name, value)


def dense(name: str, value: ArrayLike) -> Array:
    """Return `value` as an array of real numbers, without a copy if it is one."""
    if type(value) is np.ndarray and value.dtype == np.float64:
        return value
    if sparse.issparse(value):
        raise TypeError(
            f"{name} must be a dense array; got a sparse {type(value).__name__}: "
            "convert it with .toarray()"
        )
    refuse_masked(name, value, unused_masks=True)
    try:
        array = np.asarray(value)
    except ValueError as error:
        raise ValueError(f"{name} must be an array of numbers: {error}") from error
    if array.dtype.kind not in "biuf":
        raise TypeError(f"{name} must hold real numbers; got an array of dtype {array.dtype}")
    return array


def finite(name: str, array: Array) -> None:
    """Raise ValueError if the array, of at least one dimension, has an entry that is not finite."""
    with overflowing():
        if np.isfinite(array.sum()):  # in most cases; the sum of large numbers may overflow
            return
    if not all(np.isfinite(array[rows]).all() for rows in blocks(len(array))):
        raise ValueError(f"{name} must be finite; it holds NaN or infinity")


def refuse_masked(name: str, value: object, *, unused_masks: bool = False) -> None:
    """Raise TypeError if entries are masked: `np.asarray` would return the masked values."""
    rows = value if isinstance(value, (list, tuple)) else (value,)
    masked = any(isinstance(row, np.ma.MaskedArray) and np.ma.is_masked(row) for row in rows)
    if masked or (unused_masks and np.ma.isMaskedArray(value)):
        raise TypeError(f"{name} must not be a masked array: fill or drop the masked entries")


def refuse_unreal(X: Any) -> None:
    """Raise an error for complex numbers, dates and durations, which NumPy would make real."""
    with contextlib.suppress(ValueError):  # of rows in a row
        X = np.asarray(X[:1]) if isinstance(X, (list, tuple)) else X
    dtypes: Any = getattr(X, "dtypes", getattr(X, "dtype", None))
    for dtype in np.ravel(dtypes):
        text = f"X must hold real numbers; got {dtype}"
        if getattr(dtype, "kind", "") == "c":  # scikit-learn's words, which its checks want
            raise ValueError(f"Complex data not supported: {text}")
        if getattr(dtype, "kind", "") in ("m", "M"):
            raise TypeError(text)


def lacks(entry: Any) -> bool:
    """Return whether an entry says that a value is missing: None, NaN, NaT, NA of pandas."""
    if entry is None or type(entry).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(entry, (float, np.floating)) and math.isnan(entry)


def require_labels(y: Any) -> None:
    """Raise ValueError if labels that may be objects are missing."""
    array = np.asarray(y)
    if array.dtype != object or array.ndim == 0:
        return
    for row, label in enumerate(array.ravel()):
        if lacks(label):
            raise ValueError(f"y must not lack labels; got {label!r} in row {row}")


def named(error: Exception, text: str) -> Exception:
    """Return a TypeError or ValueError with `text`, which names the argument, before `error`."""
    return (TypeError if isinstance(error, TypeError) else ValueError)(f"{text}: {error}")


def labels(name: str, value: ArrayLike) -> Array:
    """Return labels of any type as an array."""
    refuse_masked(name, value)
    try:
        return np.asarray(value)
    except ValueError as error:
        raise ValueError(f"{name} must be an array of labels: {error}") from error


def known_labels(classes: Array, y: ArrayLike, n: int, name: str = "y") -> Indices:
    """Return the indices among the classes of n labels, at least one."""
    values = labels(name, y)
    if values.shape != (n,) or n == 0:
        raise ValueError(
            f"{name} must have shape ({n},), a label for each row of X, and X at least one row; "
            f"got shape {values.shape}"
        )
    known = values[:, None] == classes
    if not (is_known := known.any(axis=1)).all():
        unknown = values[~is_known].tolist()[0]
        raise ValueError(f"{name} must hold labels among {classes.tolist()}; got {unknown!r}")
    return known.argmax(axis=1)


def dual_coef(
    name: str, value: ArrayLike, m: int | tuple[int, ...], *, many: bool = False
) -> Floats:
    """Return finite dual coefficients of the shape (m,) or `m`, or (..., m) if `many`."""
    array, shape = dense(name, value), (m,) if isinstance(m, int) else m
    n = len(shape)
    if array.shape[-n:] != shape or (array.ndim > n and not many):
        wanted = f"(..., {', '.join(map(str, shape))})" if many else str(shape)
        raise ValueError(f"{name} must have shape {wanted}; got shape {array.shape}")
    finite(name, array := np.ascontiguousarray(array, dtype=np.float64))
    return array


def sample_weight(value: ArrayLike, n: int) -> Floats:
    """Return the (n,) weights of the examples of a fit."""
    return vector("sample_weight", value, n)


def vector(
    name: str,
    value: ArrayLike,
    n: int,
    low: float = 0.0,
    wanted: str = "finite and at least 0",
    what: str = "example",
) -> Floats:
    """Return n numbers of at least `low` and below infinity, one for each `what`."""
    array = dense(name, value).astype(np.float64)
    if array.shape != (n,):
        raise ValueError(f"{name} must have shape ({n},); got shape {array.shape}")
    if (wrong := ~((array >= low) & (array < np.inf))).any():
        i = int(np.argmax(wrong))
        raise ValueError(f"{name} must be {wanted}; got {array[i]} for {what} {i}")
    return array


def softness(value: ArrayLike, m: int) -> Floats:
    """Return the (m,) softness of each example, from one number or m of them."""
    array = dense("softness", value)
    if array.shape not in ((), (m,)):
        raise ValueError(f"softness must be a number or have shape ({m},); got {array.shape}")
    return vector("softness", np.broadcast_to(array, m), m)


def class_labels(y: ArrayLike, m: int) -> tuple[Array, Array]:
    """Return the indices of the classes of labels, and the classes."""
    if np.ma.isMaskedArray(y) or sparse.issparse(y):
        raise TypeError(f"y must be a plain array of labels; got a {type(y).__name__}")
    array = labels("y", y)
    if array.ndim != 1:
        raise ValueError(f"y must have one dimension; got shape {array.shape}")
    if len(array) != m:
        raise ValueError(f"y must have as many labels as gram has rows, {m}; got {len(array)}")
    if array.dtype.kind in "fc":
        finite("y", array)
    try:
        classes, index = np.unique(array, return_inverse=True)
    except TypeError as error:
        raise TypeError(f"y must hold labels that can be sorted: {error}") from error
    if len(classes) == 1 and array.dtype.kind in "iuf" and abs(classes[0]) == 1:
        return (array > 0).astype(np.intp), np.array([-1, 1])
    if len(classes) < 2:
        raise ValueError(
            "y must hold labels -1 and +1, or two classes or more; got "
            f"{len(classes)} class: {classes.tolist()}"
        )
    return index, classes


def product(left: Floats, right: Floats) -> Floats:
    """Return the matrix product of kernel values and coefficients, or raise ValueError."""
    with overflowing():
        values = left @ right
    if not np.isfinite(values).all():
        raise ValueError("X must not be so large that decision values overflow")
    return values


def require_square(size: Floats) -> None:
    """Raise ValueError if squares of these absolute values of f overflow or underflow."""
    if (size > _LARGEST).any():
        raise ValueError("X must not be so large that decision values overflow")
    if ((size > 0) & (size < 1 / _LARGEST)).any():
        raise ValueError(
            "X must not be so small that the squares of decision values vanish: scale the inputs"
        )


def gram_matrix(
    value: ArrayLike, *, name: str = "gram", keep_singles: bool = False
) -> tuple[Array, bool]:
    """Return a square, finite, symmetric matrix in C order, and whether it was double precision.

    Only one of another type or layout is copied, and with `keep_singles` none of singles.
    """
    array = dense(name, value)
    if array.ndim != 2 or array.shape[0] != array.shape[1]:
        raise ValueError(f"{name} must be a square matrix; got shape {array.shape}")
    m = len(array)
    if m == 0:
        raise ValueError(f"{name} must have at least one row; got an empty matrix")
    exact = not (array.dtype.kind == "f" and array.dtype.itemsize < 8)
    singles = keep_singles and array.dtype == np.float32
    dtype = np.dtype(np.float32 if singles else np.float64)
    if array.dtype == dtype and array.flags.aligned and array.flags.forc:
        gram = array if array.flags.c_contiguous else array.T
    else:
        memory.require(dtype.itemsize * m * m, f"a copy of {name} ({m} x {m} {dtype})")
        gram = np.array(array, dtype=dtype, order="C")
    finite(name, gram)
    scale = np.sqrt(np.abs(gram.diagonal()))
    pairs = list(itertools.combinations_with_replacement(blocks(m), 2))
    for rows, columns in pairs:
        upper, lower = gram[rows, columns], gram[columns, rows].T
        allowed = np.outer(scale[rows], scale[columns])
        np.maximum(allowed, np.abs(upper), out=allowed)
        allowed *= _SYMMETRY if exact else _SYMMETRY_LOW
        if (wrong := np.abs(upper - lower) > allowed).any():
            i, j = np.argwhere(wrong)[0].tolist()
            raise ValueError(
                f"{name} must be symmetric; got {upper[i, j]!r} at [{rows.start + i}, "
                f"{columns.start + j}] and {lower[i, j]!r} across the diagonal"
            )
    if not exact and not all(np.array_equal(gram[r, c], gram[c, r].T) for r, c in pairs):
        if np.may_share_memory(gram, array):
            gram = gram.copy()
        for rows, columns in pairs:
            if rows == columns:
                gram[rows, rows] = np.triu(gram[rows, rows]) + np.triu(gram[rows, rows], 1).T
            gram[columns, rows] = gram[rows, columns].T
    return gram, exact


def blocks(n: int, size: int = _BLOCK) -> Iterator[slice]:
    """Return slices that cut ``range(n)`` into parts of at most `size`, or of 1 if that is less."""
    size = max(1, size)
    return (slice(begin, min(begin + size, n)) for begin in range(0, n, size))


def positive_diagonal(gram: Any, offset: float, softness: Floats, *, name: str) -> None:
    """Raise ValueError unless all squared lengths of feature vectors are positive and in range."""
    diagonal, (low, high) = gram.diagonal() + offset + softness, _LENGTHS
    if not (diagonal > 0).all():
        i = int(np.argmin(diagonal))
        raise ValueError(
            f"every diagonal entry of {name} plus offset and softness must be positive; "
            f"got {float(diagonal[i])!r} at example {i}"
        )
    if not ((diagonal >= low) & (diagonal <= high)).all():
        i = int(np.argmax(np.abs(np.log10(diagonal))))
        raise ValueError(
            f"every diagonal entry of {name} plus offset and softness must be from {low:g} to "
            f"{high:g}; got {diagonal[i]:.3g} at example {i}: scale the inputs or the kernel"
        )


def positive_semidefinite(
    gram: Array, offset: float, softness: Floats, *, exact: bool, name: str = "gram"
) -> None:
    """Raise if the Gram matrix with offset and softness has an eigenvalue well below zero.

    Its diagonal is checked first.
    """
    positive_diagonal(gram, offset, softness, name=name)
    m = len(gram)
    scale = 1.0 / np.sqrt(gram.diagonal() + offset + softness)
    jitter = _JITTER if exact else _JITTER_LOW
    if m > _DIRECT:  # an upper bound of the smallest, in O(m^2) without a copy of the matrix
        smallest = _lanczos_bound(gram, offset, softness, scale)
        if smallest >= -max(_RITZ, jitter):
            return
    else:
        unit = np.add(gram, offset, dtype=np.float64)
        unit *= scale
        unit *= scale[:, None]
        unit.flat[:: m + 1] = 1.0 + jitter
        _, info = linalg.lapack.dpotrf(unit.T, lower=1, clean=0, overwrite_a=0)
        if info == 0:
            return
        unit.flat[:: m + 1] = 1.0
        smallest = float(linalg.eigvalsh(unit, subset_by_index=[0, 0])[0])
    raise ValueError(
        f"{name} plus offset and softness must be positive semidefinite; scaled to a unit "
        f"diagonal it has an eigenvalue of {smallest:.3g} or less: it is not a kernel matrix "
        "(a larger softness can make it one)"
    )


def _lanczos_bound(gram: Array, offset: float, softness: Floats, scale: Floats) -> float:
    """Return the smallest Ritz value of the Gram matrix scaled to a unit diagonal."""
    m = len(gram)
    basis = np.zeros((min(_LANCZOS_STEPS, m), m))
    alpha, beta = [], []
    v = np.random.default_rng(0).standard_normal(m)
    v /= np.linalg.norm(v)
    for step in range(len(basis)):
        basis[step] = v
        u = scale * v
        # In the precision of the matrix: with doubles NumPy would copy a matrix of singles.
        w = scale * (gram @ u.astype(gram.dtype) + offset * u.sum() + softness * u)
        alpha.append(float(v @ w))
        for _ in range(2):  # twice is enough for full orthogonality
            w -= basis[: step + 1].T @ (basis[: step + 1] @ w)
        norm = float(np.linalg.norm(w))
        if norm < 1e-10 * m or step + 1 == len(basis):
            break
        beta.append(norm)
        v = w / norm
    return float(linalg.eigvalsh_tridiagonal(np.array(alpha), np.array(beta))[0])
