"""Kernels of sets and of strings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from scipy import sparse

from bayespoint.base import validation
from bayespoint.kernels.algebra import Base
from bayespoint.kernels.base import check_optional, given, within
from bayespoint.kernels.products import inner, sequence
from bayespoint.kernels.protocol import Bounds, Floats, Inputs, KernelGradient, Parameter


class _Counted(Base):
    """Base class of kernels by inner products of counts of hashable features."""

    requires_vector_input = False

    def _counts(self, name: str, x: Any) -> Mapping[Hashable, int]:
        """Return how often each feature occurs in input `x`; `name` is for error messages."""
        raise NotImplementedError

    def __call__(self, X: Inputs, Y: Inputs | None = None) -> Floats:
        names: dict[Hashable, int] = {}
        left = self._table("X", X, names)
        right = left if Y is None else self._table("Y", Y, names)
        # Add columns for the features that only Y has.
        left.resize(left.shape[0], len(names))
        return inner(left, None if Y is None else right)

    def diag(self, X: Inputs) -> Floats:
        return np.array(
            [
                sum(count * count for count in self._counts(f"X[{number}]", x).values())
                for number, x in enumerate(sequence("X", X))
            ],
            dtype=np.float64,
        )

    def _table(self, name: str, X: Inputs, names: dict[Hashable, int]) -> Any:
        """Return the (n, n_features) counts, and add new features to `names`."""
        indptr, columns, values = [0], [], []
        for number, x in enumerate(sequence(name, X)):
            for feature, count in self._counts(f"{name}[{number}]", x).items():
                columns.append(names.setdefault(feature, len(names)))
                values.append(float(count))
            indptr.append(len(columns))
        return sparse.csr_matrix((values, columns, indptr), shape=(len(indptr) - 1, len(names)))


def _hashed(name: str, features: Iterable[Any]) -> Counter[Hashable]:
    try:
        return Counter(features)
    except TypeError as error:
        raise TypeError(f"{name} must hold hashable elements: {error}") from error


@dataclass(frozen=True, repr=False)
class SetIntersection(_Counted):
    r"""The kernel of sets :math:`k(A, S) = b^{|A \cap S|}`.

    For b = 2 it is the number of common subsets (Crowley, 2018).

    Parameters
    ----------
    base : float, default=None
        b, above 1. None: found, from 2 on.
    bounds : pair of floats, default=None
        Bounds of a base that is found, above 1. None: 1.01 and 4.

    Notes
    -----
    Inputs are collections of hashable elements: sets, or lists and tuples, whose order and
    repetitions are ignored. Values grow exponentially with the size of the sets; `normalize` keeps
    them in [0, 1].

    Examples
    --------
    >>> from bayespoint.kernels import SetIntersection
    >>> SetIntersection(2.0)([{"to", "be"}, {"or", "not", "to", "be"}])
    array([[ 4.,  4.],
           [ 4., 16.]])
    """

    base: float | None = None
    bounds: Bounds | None = field(default=None, kw_only=True, metadata={"bounds_of": "base"})

    def __post_init__(self) -> None:
        above_1 = partial(validation.real, low=1.0, low_open=True)
        check_optional(self, "base", check=above_1, check_bound=above_1)

    def __call__(self, X: Inputs, Y: Inputs | None = None) -> Floats:
        return self._power(super().__call__(X, Y))

    def diag(self, X: Inputs) -> Floats:
        return self._power(super().diag(X))

    def parameters(self, X: Inputs) -> tuple[Parameter, ...]:
        return (within(self.bounds, "base", 2.0, (0.505, 2.0)),) if self.base is None else ()

    def derivatives(self, X: Inputs, gram: Floats) -> Mapping[str, Floats]:
        """Return dK / d ln(base): the sizes of the intersections times K."""
        return KernelGradient({"base": lambda: _Counted.__call__(self, X) * gram})

    def _power(self, sizes: Floats) -> Floats:
        base: float = given(self, "base")
        with np.errstate(over="ignore"):  # `evaluate` refuses infinities
            return np.power(base, sizes, out=sizes)

    def _counts(self, name: str, x: Any) -> Mapping[Hashable, int]:
        if isinstance(x, (str, bytes)) or not isinstance(x, (Collection, np.ndarray)):
            raise TypeError(
                f"{name} must be a set or another collection of hashable elements; got {x!r}"
            )
        return dict.fromkeys(_hashed(name, x), 1)


@dataclass(frozen=True, repr=False)
class Spectrum(_Counted):
    """The spectrum kernel of strings (Leslie, Eskin and Noble, 2002), which counts substrings.

    ``k(s, t) = sum_u n_u(s) n_u(t)`` over the strings u of `length` characters, with ``n_u(s)`` the
    number of occurrences of u in s, overlapping ones included.

    Parameters
    ----------
    length : int, default=3
        Length of the substrings, at least 1.

    Notes
    -----
    Inputs are strings, or other sequences of hashable elements such as lists of words. A string
    shorter than `length` has a feature vector of zero, and can be a training example only with an
    intercept or softness.

    Examples
    --------
    >>> from bayespoint.kernels import Spectrum
    >>> Spectrum(length=2)(["banana", "ban"])
    array([[9., 3.],
           [3., 2.]])
    """

    length: int = 3

    def __post_init__(self) -> None:
        validation.set_fields(self, length=validation.integer("length", self.length, low=1))

    def _counts(self, name: str, x: Any) -> Mapping[Hashable, int]:
        # Masked entries are arrays of no dimension.
        if not isinstance(x, (Sequence, np.ndarray)) or (isinstance(x, np.ndarray) and not x.ndim):
            raise TypeError(f"{name} must be a string or another sequence; got {x!r}")
        whole = x if isinstance(x, (str, bytes)) else tuple(x)
        places = range(len(whole) - self.length + 1)
        return _hashed(name, (whole[k : k + self.length] for k in places))
