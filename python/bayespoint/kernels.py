"""Kernels: functions ``k(X, Y)`` that return the matrix of inner products of feature vectors.

Any callable ``k(X, Y) -> (n, n')`` will do. The kernels here fill one matrix in place: beside
the result they need only blocks of a fixed size.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from bayespoint import _validation

__all__ = ["RBF", "Kernel", "Linear", "Parameter", "Polynomial"]

Floats: TypeAlias = NDArray[np.float64]

NAMES = ("linear", "rbf", "poly", "precomputed")
_ROWS = 256


@runtime_checkable
class Kernel(Protocol):
    """What the kernels of this module offer."""

    def __call__(self, X: Floats, Y: Floats | None = None) -> Floats:
        """Return the (n, n') matrix of kernel values; ``Y=None`` stands for `X`."""

    def diag(self, X: Floats) -> Floats:
        """Return the (n,) values ``k(x, x)``."""


@dataclass(frozen=True)
class Linear:
    """The kernel ``k(x, x') = x . x'``.

    Examples
    --------
    >>> import numpy as np
    >>> Linear()(np.array([[1.0, 2.0], [3.0, 4.0]]))
    array([[ 5., 11.],
           [11., 25.]])
    """

    def __call__(self, X: Floats, Y: Floats | None = None) -> Floats:
        """Return the (n, n') matrix of kernel values; ``Y=None`` stands for `X`."""
        return _inner(X, Y)

    def diag(self, X: Floats) -> Floats:
        """Return the (n,) values ``k(x, x)``."""
        return _squares(X)


@dataclass(frozen=True)
class Polynomial:
    """The kernel ``k(x, x') = (x . x' + coef0) ** degree``.

    Parameters
    ----------
    degree : int, default=3
        At least 1.
    coef0 : float, default=1.0
        At least 0. At 0 only products of exactly `degree` factors are features.

    Examples
    --------
    >>> import numpy as np
    >>> Polynomial(degree=2)(np.array([[1.0], [2.0]]))
    array([[ 4.,  9.],
           [ 9., 25.]])
    """

    degree: int = 3
    coef0: float = 1.0

    def __post_init__(self) -> None:
        _validation.integer("degree", self.degree, low=1)
        _validation.real("coef0", self.coef0, low=0.0)

    def __call__(self, X: Floats, Y: Floats | None = None) -> Floats:
        """Return the (n, n') matrix of kernel values; ``Y=None`` stands for `X`."""
        gram = _inner(X, Y)
        with np.errstate(over="ignore", invalid="ignore"):  # the caller looks for infinities
            for rows in _validation.blocks(len(gram), _ROWS):
                self._power(gram[rows])
        return gram

    def diag(self, X: Floats) -> Floats:
        """Return the (n,) values ``k(x, x)``."""
        return self._power(_squares(X))

    def _power(self, inner: Floats) -> Floats:
        inner += self.coef0
        base = inner.copy()
        for _ in range(self.degree - 1):
            inner *= base
        return inner


@dataclass(frozen=True)
class RBF:
    """The Gaussian kernel ``k(x, x') = exp(-|x - x'|^2 / (2 sigma^2))``.

    Parameters
    ----------
    sigma : float, default=1.0
        Length scale, positive.

    Examples
    --------
    >>> import numpy as np
    >>> RBF(sigma=2.0)(np.array([[0.0], [2.0]])).round(4)
    array([[1.    , 0.6065],
           [0.6065, 1.    ]])
    """

    sigma: float = 1.0

    def __post_init__(self) -> None:
        _validation.real("sigma", self.sigma, low=0.0, low_open=True)

    def __call__(self, X: Floats, Y: Floats | None = None) -> Floats:
        """Return the (n, n') matrix of kernel values; ``Y=None`` stands for `X`."""
        other = X if Y is None else Y
        # Distances do not depend on the origin, rounding errors do: take it inside the data.
        origin = other.mean(axis=0)
        right = (other - origin) / self.sigma
        left = right if Y is None else (X - origin) / self.sigma
        gram = _inner(left, None if Y is None else right)
        half_left, half_right = _squares(left) / 2, _squares(right) / 2
        for rows in _validation.blocks(len(gram), _ROWS):
            block = gram[rows]
            block -= np.add.outer(half_left[rows], half_right)
            np.minimum(block, 0.0, out=block)
            np.exp(block, out=block)
        if Y is None:
            np.fill_diagonal(gram, 1.0)
        return gram

    def diag(self, X: Floats) -> Floats:
        """Return the (n,) values ``k(x, x)``: ones."""
        return np.ones(len(X))

    def parameters(self, X: Floats) -> tuple[Parameter, ...]:
        """Return the length scale, to be searched around the scale of the data."""
        scale = _scale(X)
        return (Parameter("sigma", scale * math.exp(-4), scale * math.exp(5), scale),)

    def derivatives(self, X: Floats, gram: Floats) -> dict[str, Floats]:
        """Return dK / d ln(sigma) = -2 K ln K."""
        slope = np.log(np.maximum(gram, 1e-300))
        slope *= gram
        slope *= -2.0
        return {"sigma": slope}


@dataclass(frozen=True)
class Parameter:
    """A positive parameter of a kernel that can be tuned: bounds of the search, and its start."""

    name: str
    low: float
    high: float
    start: float


def _scale(X: Floats) -> float:
    """Return ``sqrt(d Var(X) / 2)``: the length scale of scikit-learn's gamma="scale"."""
    # A power of two takes the size out of X first, or its squares could over- or underflow.
    size = 2.0 ** (math.frexp(float(np.abs(X).max()))[1] - 1)
    variance = float((X / size).var()) if size > 0 else 0.0
    return size * math.sqrt(X.shape[1] * variance / 2) if variance > 0 else math.sqrt(0.5)


def parameters(kernel: object, X: Floats) -> tuple[Parameter, ...]:
    """Return what a kernel declares by a method ``parameters(X)``, if it has one."""
    declare = getattr(kernel, "parameters", None)
    return tuple(declare(X)) if callable(declare) else ()


def replace(kernel: Any, values: Mapping[str, float]) -> Any:
    """Return the kernel with other values of its parameters."""
    return dataclasses.replace(kernel, **values) if values else kernel


def derivatives(kernel: object, X: Floats, gram: Floats) -> dict[str, Floats]:
    """Return the derivatives of `gram` by the logarithms of parameters, as far as known."""
    known = getattr(kernel, "derivatives", None)
    return dict(known(X, gram)) if callable(known) else {}


def _inner(X: Floats, Y: Floats | None) -> Floats:
    """Return ``X @ Y.T``; BLAS computes only half of ``X @ X.T``, so it is exactly symmetric."""
    with np.errstate(over="ignore", invalid="ignore"):
        gram: Floats = X @ (X if Y is None else Y).T
    return gram


def _squares(X: Floats) -> Floats:
    with np.errstate(over="ignore", invalid="ignore"):
        squares: Floats = np.einsum("ij,ij->i", X, X)
    return squares


def resolve(kernel: object, X: Floats) -> Callable[..., Any] | str:
    """Return the kernel a setting means for the training inputs `X`.

    A name stands for a kernel of this module: ``"rbf"`` has the length scale
    ``sigma = sqrt(d Var(X) / 2)`` for d features, ``"poly"`` is ``(x . x' + 1) ** 3``.
    ``"precomputed"`` stays a name. A callable is returned as it is.
    """
    if isinstance(kernel, str):
        if kernel == "linear":
            return Linear()
        if kernel == "poly":
            return Polynomial()
        if kernel == "rbf":
            # As scikit-learn's gamma="scale": gamma = 1 / (d Var(X)), or 1 for constant inputs.
            return RBF(_scale(X))
        if kernel == "precomputed":
            return kernel
    elif callable(kernel) and not isinstance(kernel, type):
        return kernel
    raise ValueError(
        f"kernel must be one of {', '.join(map(repr, NAMES))}, a kernel object or a callable "
        f"k(X, Y); got {kernel!r}"
    )


def evaluate(kernel: Callable[..., Any], X: Floats, Y: Floats | None = None) -> Floats:
    """Return ``kernel(X, Y)`` checked for shape and finite values; ``Y=None`` stands for `X`.

    The kernels of this module are told that both arguments are the same; any other callable is
    given both.
    """
    if isinstance(kernel, (Linear, Polynomial, RBF)):
        value: Any = kernel(X, Y)
    else:
        value = kernel(X, X if Y is None else Y)
    gram = _validation.dense("the value of kernel(X, Y)", value)
    shape = (len(X), len(X if Y is None else Y))
    if gram.shape != shape:
        raise ValueError(f"kernel(X, Y) must have shape {shape}; got shape {gram.shape}")
    for rows in _validation.blocks(len(gram)):
        if not np.isfinite(gram[rows]).all():
            raise ValueError("kernel(X, Y) must be finite; it returned NaN or infinity")
    return gram


def training_gram(
    kernel: Callable[..., Any] | str, X: NDArray[Any], offset: float, softness: Floats
) -> tuple[Floats, bool]:
    """Return the checked kernel matrix of the training inputs, without offset and softness.

    The kernels of this module are positive semidefinite by construction, other matrices are
    tested. The second value tells whether the matrix is ours to overwrite: nobody else's, such
    as the user's or one that a callable keeps.
    """
    own = isinstance(kernel, (Linear, Polynomial, RBF))
    if isinstance(kernel, str):
        name, value = "X", X
    else:
        name, value = "kernel(X, X)", evaluate(kernel, X)
    gram, exact = _validation.gram_matrix(value, name=name)
    _validation.positive_diagonal(gram, offset, softness, name=name)
    if not own:
        _validation.positive_semidefinite(gram, offset, softness, exact=exact, name=name)
    return gram, own or not np.may_share_memory(gram, value)


def diagonal(kernel: Callable[..., Any], X: Floats) -> Floats:
    """Return the (n,) values ``k(x, x)``, from the kernel's own ``diag`` where it has one."""
    if hasattr(kernel, "diag"):
        values = _validation.dense("the value of kernel.diag(X)", kernel.diag(X))
        if values.shape != (len(X),):
            raise ValueError(
                f"kernel.diag(X) must have shape ({len(X)},); got shape {values.shape}"
            )
    else:
        pieces = [
            evaluate(kernel, X[rows], X[rows]).diagonal() for rows in _validation.blocks(len(X), 32)
        ]
        values = np.concatenate(pieces)
    return np.asarray(values, dtype=np.float64)
