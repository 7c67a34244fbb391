"""Checks of arguments. Error messages name the argument, what is required and what was given."""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeAlias, TypeVar

import joblib  # type: ignore[import-untyped]
import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import linalg, sparse
from sklearn.utils import check_random_state

from bayespoint.base import memory

Floats: TypeAlias = NDArray[np.float64]
Labels: TypeAlias = NDArray[np.int8]
RandomState: TypeAlias = int | np.random.Generator | np.random.RandomState | None
Numbers: TypeAlias = Any
"""Result of a function that broadcasts: a float for numbers, an array for arrays."""

_T = TypeVar("_T")

MANY = 10**8
"""Largest size of an array that an argument can ask for."""

_SYMMETRY = 1e-8  # |K_ij - K_ji| <= this times sqrt(K_ii K_jj)
_SYMMETRY_LOW = 1e-5  # the same for matrices of less than double precision
_JITTER = 1e-8  # eigenvalues of the unit-diagonal Gram matrix above minus this may be rounding
_JITTER_LOW = 1e-4  # the same for matrices of less than double precision
_RITZ = 1e-6  # the same for the bound by Lanczos steps
_DIRECT = 2000  # up to this size a factorization decides, beyond it Lanczos steps
_LANCZOS_STEPS = 40
_BLOCK = 512
_LENGTHS = (1e-150, 1e150)  # range of diagonal entries whose products neither over- nor underflow


# --- numbers and choices ---------------------------------------------------------------------


def real(
    name: str,
    value: object,
    *,
    low: float = -math.inf,
    high: float = math.inf,
    low_open: bool = False,
    high_open: bool = False,
) -> float:
    """Return `value` as a finite float between `low` and `high`."""
    wanted = f"a finite number in {_interval(low, high, low_open, high_open)}"
    found = number(name, value, wanted=wanted)
    inside = (low < found if low_open else low <= found) and (
        found < high if high_open else found <= high
    )
    if not math.isfinite(found) or not inside:
        raise ValueError(f"{name} must be {wanted}; got {value!r}")
    return found


def positive(name: str, value: object) -> float:
    """Return `value` as a finite float above 0."""
    return real(name, value, low=0.0, low_open=True)


def number(name: str, value: object, *, wanted: str = "a number") -> float:
    """Return a real `value` of any size as a float, NaN if it is too large for one."""
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, numbers.Real):
        raise TypeError(f"{name} must be {wanted}; got {value!r}")
    try:
        return float(value)
    except OverflowError:
        return math.nan


def _interval(low: float, high: float, low_open: bool, high_open: bool) -> str:
    left = "(" if low_open or low == -math.inf else "["
    right = ")" if high_open or high == math.inf else "]"
    return f"{left}{low:g}, {high:g}{right}"


def integer(name: str, value: object, *, low: int = -(2**62), high: int = 2**62) -> int:
    """Return `value` as an int from `low` to `high`; the defaults are the engine's limits."""
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, numbers.Integral):
        least = f" of at least {low}" if low > -(2**62) else ""
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
        listed = ", ".join(repr(option) for option in options)
        raise ValueError(f"{name} must be one of {listed}; got {value!r}")
    return "none" if value is None else str(value)


def threads(n_jobs: object) -> int:
    """Return the number of threads for `n_jobs`, as in joblib.

    None is 1, -1 is every processor available to this process, -2 all but one, and so on.
    """
    if n_jobs is None:
        return 1
    jobs = integer("n_jobs", n_jobs, low=-(2**31))
    if jobs == 0:
        raise ValueError("n_jobs must be None or an integer other than 0; got 0")
    return jobs if jobs > 0 else max(1, joblib.cpu_count() + 1 + jobs)


def seed(random_state: RandomState) -> int:
    """Return a seed of 64 bits: an int itself, or a number drawn from a generator.

    None draws one from NumPy's global generator, as in scikit-learn.
    """
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


def pair(name: str, value: object, check: Callable[..., _T], **limits: Any) -> tuple[_T, _T]:
    """Return one value or a pair as a pair; `check` is `real`, `number` or `integer`."""
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if not isinstance(value, (tuple, list)):
        one = check(name, value, **limits)
        return one, one
    if len(value) != 2:
        kind = "integer" if check is integer else "number"
        raise ValueError(f"{name} must be one {kind} or two; got {len(value)}: {value!r}")
    first, second = value
    return check(f"{name}[0]", first, **limits), check(f"{name}[1]", second, **limits)


def label_noise(value: object) -> tuple[float, float]:
    """Return the label noise of the two classes, each a rate in [0, 0.5)."""
    return pair("label_noise", value, real, low=0.0, high=0.5, high_open=True)


def set_fields(record: object, /, **values: object) -> None:
    """Set fields of a frozen dataclass, in ``__post_init__``, to their checked values."""
    for name, value in values.items():
        object.__setattr__(record, name, value)


# --- arrays ----------------------------------------------------------------------------------


def dense(name: str, value: ArrayLike) -> NDArray[Any]:
    """Return `value` as an array of real numbers, without a copy if it is one."""
    if sparse.issparse(value):
        raise TypeError(
            f"{name} must be a dense array; got a sparse {type(value).__name__}: "
            "convert it with .toarray()"
        )
    if np.ma.isMaskedArray(value):
        raise _masked(name)
    refuse_masked(name, value)
    try:
        array = np.asarray(value)
    except ValueError as error:
        raise ValueError(f"{name} must be an array of numbers: {error}") from error
    if array.dtype.kind not in "biuf":
        raise TypeError(f"{name} must hold real numbers; got an array of dtype {array.dtype}")
    return array


def finite(name: str, array: NDArray[Any], *, verb: str = "holds") -> None:
    """Raise ValueError if the array, of at least one dimension, has an entry that is not finite."""
    for rows in blocks(len(array)):
        if not np.isfinite(array[rows]).all():
            raise ValueError(f"{name} must be finite; it {verb} NaN or infinity")


def _masked(name: str) -> TypeError:
    return TypeError(f"{name} must not be a masked array: fill or drop the masked entries")


def refuse_masked(name: str, value: object) -> None:
    """Raise TypeError if entries are masked: `np.asarray` would return the masked values."""
    rows = value if isinstance(value, (list, tuple)) else (value,)
    if any(isinstance(row, np.ma.MaskedArray) and np.ma.is_masked(row) for row in rows):
        raise _masked(name)


def named(error: Exception, text: str) -> Exception:
    """Return a TypeError or ValueError with `text`, which names the argument, before `error`."""
    return (TypeError if isinstance(error, TypeError) else ValueError)(f"{text}: {error}")


def labels(name: str, value: ArrayLike) -> NDArray[Any]:
    """Return labels of any type as an array."""
    refuse_masked(name, value)
    try:
        return np.asarray(value)
    except ValueError as error:
        raise ValueError(f"{name} must be an array of labels: {error}") from error


def dual_coef(
    name: str, value: ArrayLike, m: int | tuple[int, ...], *, many: bool = False
) -> Floats:
    """Return finite dual coefficients of shape (m,), or (..., m) if `many`.

    `m` may also be the whole shape of the coefficients of a weight vector.
    """
    array = dense(name, value)
    shape = (m,) if isinstance(m, int) else m
    n = len(shape)
    if array.shape[-n:] != shape or (array.ndim > n and not many):
        numbers = ", ".join(str(size) for size in shape)
        wanted = f"(..., {numbers})" if many else str(shape)
        raise ValueError(f"{name} must have shape {wanted}; got shape {array.shape}")
    array = np.ascontiguousarray(array, dtype=np.float64)
    finite(name, array)
    return array


def weights(name: str, value: ArrayLike, n: int, *, log: bool) -> Floats:
    """Return the checked values of a weight function: n weights, not all 0, or their logs."""
    array = dense(f"the value of {name}", value)
    if array.shape != (n,):
        raise ValueError(f"{name} must return an array of shape ({n},); got shape {array.shape}")
    array = array.astype(np.float64)
    wanted = "logarithms below infinity" if log else "finite numbers of at least 0"
    wrong = np.isnan(array) | (array == np.inf)
    if not log:
        wrong |= array < 0
    if wrong.any():
        i = int(np.argmax(wrong))
        raise ValueError(f"{name} must return {wanted}; got {array[i]} for draw {i}")
    if (array == (-np.inf if log else 0.0)).all():
        raise ValueError(f"{name} must be positive at some draw; got 0 at all {n}")
    return array


def sample_weight(value: ArrayLike, n: int) -> Floats:
    """Return the (n,) finite weights, at least 0, of the examples of a fit."""
    array = dense("sample_weight", value)
    if array.shape != (n,):
        raise ValueError(
            f"sample_weight must have shape ({n},), a weight for each example; got shape "
            f"{array.shape}"
        )
    array = array.astype(np.float64)
    wrong = ~(np.isfinite(array) & (array >= 0))
    if wrong.any():
        i = int(np.argmax(wrong))
        raise ValueError(
            f"sample_weight must be finite and at least 0; got {array[i]} for example {i}"
        )
    return array


def softness(value: ArrayLike, m: int) -> Floats:
    """Return the (m,) softness of each example, from one number or m of them."""
    array = dense("softness", value)
    if array.shape not in ((), (m,)):
        raise ValueError(f"softness must be a number or have shape ({m},); got {array.shape}")
    array = np.array(np.broadcast_to(array, (m,)), dtype=np.float64)
    wrong = ~(np.isfinite(array) & (array >= 0))
    if wrong.any():
        raise ValueError(f"softness must be finite and at least 0; got {array[wrong][0]}")
    return array


def binary_labels(y: ArrayLike, m: int, *, rows: str = "gram") -> tuple[Labels, NDArray[Any]]:
    """Return labels as -1 and +1, and the two original values in sorted order.

    Labels of a single class are accepted only if they are -1 or +1. `rows` is the name of the
    argument with m rows, for the error message.
    """
    found, classes = class_labels(y, m, rows=rows)
    if len(classes) > 2:
        raise _wrong_classes("exactly two classes", classes)
    return found, classes


def class_labels(y: ArrayLike, m: int, *, rows: str = "gram") -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the labels, and their original values in sorted order.

    Labels of two classes are -1 and +1, int8, and those of several 0, 1, ..., int64. Labels of a
    single class are accepted only if they are -1 or +1.
    """
    if np.ma.isMaskedArray(y) or sparse.issparse(y):
        raise TypeError(f"y must be a plain array of labels; got a {type(y).__name__}")
    array = labels("y", y)
    if array.ndim != 1:
        raise ValueError(f"y must have one dimension; got shape {array.shape}")
    if len(array) != m:
        raise ValueError(f"y must have as many labels as {rows} has rows, {m}; got {len(array)}")
    if array.dtype.kind in "fc":
        finite("y", array)
    try:
        classes, index = np.unique(array, return_inverse=True)
    except TypeError as error:
        raise TypeError(f"y must hold labels that can be sorted: {error}") from error
    if len(classes) == 1 and array.dtype.kind in "iuf" and abs(classes[0]) == 1:
        return array.astype(np.int8), np.array([-1, 1])
    if len(classes) < 2:
        raise _wrong_classes("two classes or more", classes)
    if len(classes) > 2:
        return index.astype(np.int64), classes
    return np.where(index == 1, 1, -1).astype(np.int8), classes


def _wrong_classes(wanted: str, classes: NDArray[Any]) -> ValueError:
    few = [value.item() if hasattr(value, "item") else value for value in classes[:5]]
    return ValueError(
        f"y must hold labels -1 and +1, or {wanted}; got {len(classes)} "
        f"class{'es' if len(classes) > 1 else ''}: {few}{' ...' if len(classes) > 5 else ''}"
    )


# --- arguments of functions that broadcast: one number or an array ---------------------------


def reals(
    name: str,
    value: ArrayLike,
    *,
    low: float = -math.inf,
    high: float = math.inf,
    low_open: bool = False,
    high_open: bool = False,
) -> Floats:
    """Return `value` as an array of finite doubles between `low` and `high`."""
    wanted = f"finite and in {_interval(low, high, low_open, high_open)}"
    array = _numbers(name, value, wanted)
    inside = np.isfinite(array)
    inside &= array > low if low_open else array >= low
    inside &= array < high if high_open else array <= high
    if not inside.all():
        raise ValueError(f"{name} must be {wanted}; got {_first(array, ~inside)}")
    return array


def whole(name: str, value: ArrayLike, *, low: int) -> Floats:
    """Return `value` as an array of doubles that are whole numbers of at least `low`."""
    # The limit keeps products of counts from overflowing.
    wanted = f"a whole number of at least {low}, at most 1e+300"
    array = _numbers(name, value, wanted)
    fit = (array >= low) & (array <= 1e300) & (array == np.floor(array))
    if not fit.all():
        raise ValueError(f"{name} must be {wanted}; got {_first(array, ~fit)}")
    return array


def at_most(name: str, array: Floats, other: str, limit: Floats) -> None:
    """Raise if an element of `array` exceeds that of `limit`, the argument called `other`."""
    array, limit = np.broadcast_arrays(array, limit)
    above = array > limit
    if above.any():
        raise ValueError(
            f"{name} must be at most {other}; got {_first(array, above)} for {other} = "
            f"{limit[above].flat[0]:.10g}"
        )


def broadcast(**arrays: Floats) -> tuple[Floats, ...]:
    """Return the arrays with one common shape, or raise naming the shapes that do not fit."""
    try:
        return tuple(np.broadcast_arrays(*arrays.values()))
    except ValueError as error:
        shapes = ", ".join(f"{name} {array.shape}" for name, array in arrays.items())
        raise ValueError(f"shapes must broadcast together; got {shapes}") from error


def plain(array: Any) -> Numbers:
    """Return an array as it is, and one without dimensions as a float."""
    return float(array) if np.ndim(array) == 0 else array


def _numbers(name: str, value: ArrayLike, wanted: str) -> Floats:
    array = dense(name, value)
    if array.dtype.kind == "b":
        raise TypeError(f"{name} must be {wanted}; got a boolean")
    return np.array(array, dtype=np.float64)


def _first(array: Floats, where: Any) -> str:
    """Return the first element of `array` where `where` is true, and its index, as text."""
    place = np.argwhere(where)[0]
    at = f" at [{', '.join(str(k) for k in place)}]" if array.ndim else ""
    return f"{array[tuple(place)]:.10g}{at}"


# --- the Gram matrix -------------------------------------------------------------------------


def gram_matrix(
    value: ArrayLike, *, name: str = "gram", keep_singles: bool = False
) -> tuple[NDArray[Any], bool]:
    """Return a square, finite, symmetric matrix in C order, and whether it was double precision.

    A matrix of doubles in C order is returned as it is, one in Fortran order as its transpose,
    without a copy; with `keep_singles` also one of singles that is symmetric to the last bit.
    Others are converted if memory suffices.
    """
    array = dense(name, value)
    if array.ndim != 2 or array.shape[0] != array.shape[1]:
        raise ValueError(f"{name} must be a square matrix; got shape {array.shape}")
    m = len(array)
    if m == 0:
        raise ValueError(f"{name} must have at least one row; got an empty matrix")
    exact = not (array.dtype.kind == "f" and array.dtype.itemsize < 8)
    singles = keep_singles and array.dtype == np.float32
    dtype, kind = (np.float32, "singles") if singles else (np.float64, "doubles")
    ready = array.dtype == dtype and array.flags.aligned
    if ready and array.flags.c_contiguous:
        gram = array
    elif ready and array.flags.f_contiguous:
        gram = array.T
    else:
        memory.require(np.dtype(dtype).itemsize * m * m, f"a copy of {name} ({m} x {m} {kind})")
        gram = np.array(array, dtype=dtype, order="C")
    finite(name, gram)
    _check_symmetric(gram, name, _SYMMETRY if exact else _SYMMETRY_LOW)
    if not exact and not all(
        np.array_equal(gram[rows, columns], gram[columns, rows].T)
        for rows, columns in _block_pairs(m)
    ):
        if np.may_share_memory(gram, array):
            gram = gram.copy()
        for rows, columns in _block_pairs(m):
            upper = gram[rows, columns]
            if rows == columns:
                upper = np.triu(upper) + np.triu(upper, 1).T
                gram[rows, columns] = upper
            gram[columns, rows] = upper.T
    return gram, exact


def blocks(n: int, size: int = _BLOCK) -> Iterator[slice]:
    """Yield slices that cut ``range(n)`` into parts of at most `size`."""
    for begin in range(0, n, size):
        yield slice(begin, min(begin + size, n))


def _block_pairs(m: int) -> Iterator[tuple[slice, slice]]:
    for rows in blocks(m):
        for columns in blocks(m):
            if columns.start >= rows.start:
                yield rows, columns


def _check_symmetric(gram: NDArray[Any], name: str, tolerance: float) -> None:
    scale = np.sqrt(np.abs(gram.diagonal()))
    for rows, columns in _block_pairs(len(gram)):
        upper, lower = gram[rows, columns], gram[columns, rows].T
        allowed = np.outer(scale[rows], scale[columns])
        np.maximum(allowed, np.abs(upper), out=allowed)
        allowed *= tolerance
        wrong = np.abs(upper - lower) > allowed
        if wrong.any():
            i, j = (int(k) for k in np.argwhere(wrong)[0])
            raise ValueError(
                f"{name} must be symmetric; got {upper[i, j]!r} at [{rows.start + i}, "
                f"{columns.start + j}] and {lower[i, j]!r} across the diagonal"
            )


def positive_diagonal(gram: Any, offset: float, softness: Floats, *, name: str = "gram") -> None:
    """Raise ValueError unless all squared lengths of feature vectors are positive and in range."""
    diagonal = gram.diagonal() + offset + softness
    if not (diagonal > 0).all():
        i = int(np.argmin(diagonal))
        raise ValueError(
            f"every diagonal entry of {name} plus offset and softness must be positive; "
            f"got {float(diagonal[i])!r} at example {i}, whose plane has no direction"
        )
    low, high = _LENGTHS
    if not ((diagonal >= low) & (diagonal <= high)).all():
        i = int(np.argmax(np.abs(np.log10(diagonal))))
        raise ValueError(
            f"every diagonal entry of {name} plus offset and softness must be from {low:g} to "
            f"{high:g}; got {diagonal[i]:.3g} at example {i}: scale the inputs or the kernel"
        )


def positive_semidefinite(
    gram: NDArray[Any], offset: float, softness: Floats, *, exact: bool = True, name: str = "gram"
) -> None:
    """Raise if the Gram matrix with offset and softness has an eigenvalue well below zero.

    The matrix is first scaled to a unit diagonal, which does not change the signs of eigenvalues.
    Up to 2000 examples a Cholesky factorization decides. Beyond that, Lanczos steps from a fixed
    start give an upper bound of the smallest eigenvalue in O(m^2) without a copy of the matrix. A
    clearly negative bound proves that the matrix is not positive semidefinite.
    """
    m = len(gram)
    scale = 1.0 / np.sqrt(gram.diagonal() + offset + softness)
    jitter = _JITTER if exact else _JITTER_LOW
    if m > _DIRECT:
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


def _lanczos_bound(gram: NDArray[Any], offset: float, softness: Floats, scale: Floats) -> float:
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
    return float(linalg.eigvalsh_tridiagonal(np.array(alpha), np.array(beta[: len(alpha) - 1]))[0])
