"""Kernels of sets and of strings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from functools import partial
from typing import Any

import numpy as np
from scipy import sparse

from bayespoint.base import validation
from bayespoint.base.validation import Floats
from bayespoint.kernels.base import Kernel
from bayespoint.kernels.products import inner, sequence, squares
from bayespoint.kernels.protocol import (
    Bounds,
    Inputs,
    Other,
    Parameters,
    Pulled,
    check_optional,
    given,
    within,
)

Counts = Callable[[str, Any], Mapping[Hashable, int]]
"""Returns how often each feature occurs in an input, from its name for messages and the input."""


def _table(counts: Counts, name: str, inputs: Inputs, features: dict[Hashable, int]) -> Any:
    """Return the sparse (n, n_features) counts, and add new features to `features`."""
    indptr, columns, values = [0], [], []
    for number, x in enumerate(sequence(name, inputs)):
        for feature, count in counts(f"{name}[{number}]", x).items():
            columns.append(features.setdefault(feature, len(features)))
            values.append(float(count))
        indptr.append(len(columns))
    return sparse.csr_matrix((values, columns, indptr), shape=(len(indptr) - 1, len(features)))


def _inner(counts: Counts, X: Inputs, Y: Other) -> Floats:
    """Return the inner products of the counts of features."""
    features: dict[Hashable, int] = {}
    left = _table(counts, "X", X, features)
    right = None if Y is None else _table(counts, "Y", Y, features)
    left.resize(left.shape[0], len(features))  # columns for the features that only Y has
    return inner(left, right)


def _counter(name: str, features: Iterable[Any]) -> Counter[Hashable]:
    try:
        return Counter(features)
    except TypeError as error:
        raise TypeError(f"{name} must hold hashable elements: {error}") from error


@dataclass(frozen=True, repr=False)
class SetIntersection(Kernel):
    r"""The kernel of sets :math:`k(A, S) = b^{|A \cap S|}`, for b = 2 the number of common subsets.

    Inputs are collections of hashable elements, whose order and repetitions are ignored (Crowley,
    2018). Values grow exponentially with the size of the sets; `normalize` keeps them in [0, 1].

    Parameters
    ----------
    base : float, default=None
        b, above 1. None: found, from 2 on.
    bounds : pair of floats, default=None
        Bounds of a base that is found, above 1. None: 1.01 and 4.
    """

    base: float | None = None
    _: KW_ONLY
    bounds: Bounds | None = None
    _until = (("bounds", "base"),)

    requires_vector_input = False

    def __post_init__(self) -> None:
        above_1 = partial(validation.real, low=1.0, low_open=True)
        check_optional(self, "base", check=above_1, check_bound=above_1)

    def __call__(self, X: Inputs, Y: Other = None) -> Floats:
        return self._power(_inner(self._counts, X, Y))

    def diag(self, X: Inputs) -> Floats:
        return self._power(squares(_table(self._counts, "X", X, {})))

    def parameters(self, X: Inputs) -> Parameters:
        return (within(self.bounds, "base", 2.0, (0.505, 2.0)),) if self.base is None else ()

    def with_pullback(self, X: Inputs, Y: Other = None) -> Pulled:
        sizes = _inner(self._counts, X, Y)
        values = self._power(sizes.copy())
        return values, lambda by: ({"base": float(np.vdot(by, sizes * values))}, None)

    def _power(self, sizes: Floats) -> Floats:
        base: float = given(self, "base")
        with np.errstate(over="ignore"):  # `evaluate` refuses infinities
            return np.power(base, sizes, out=sizes)

    def _counts(self, name: str, x: Any) -> Mapping[Hashable, int]:
        if isinstance(x, (str, bytes)) or not isinstance(x, (Collection, np.ndarray)):
            raise TypeError(
                f"{name} must be a set or another collection of hashable elements; got {x!r}"
            )
        return dict.fromkeys(_counter(name, x), 1)


@dataclass(frozen=True, repr=False)
class Spectrum(Kernel):
    """The spectrum kernel of strings (Leslie, Eskin and Noble, 2002), which counts substrings.

    ``k(s, t) = sum_u n_u(s) n_u(t)`` over the strings u of `length` characters, with ``n_u(s)`` the
    number of occurrences of u in s, overlapping ones included. Inputs are strings, or other
    sequences of hashable elements such as lists of words. One shorter than `length` has a feature
    vector of zero, and can be a training example only with an intercept or softness.

    Parameters
    ----------
    length : int, default=3
        Length of the substrings, at least 1.
    """

    length: int = 3

    requires_vector_input = False

    def __post_init__(self) -> None:
        validation.set_fields(self, length=validation.integer("length", self.length, low=1))

    def __call__(self, X: Inputs, Y: Other = None) -> Floats:
        return _inner(self._counts, X, Y)

    def diag(self, X: Inputs) -> Floats:
        return squares(_table(self._counts, "X", X, {}))

    def _counts(self, name: str, x: Any) -> Mapping[Hashable, int]:
        # Masked entries are arrays of no dimension.
        if not isinstance(x, (Sequence, np.ndarray)) or (isinstance(x, np.ndarray) and not x.ndim):
            raise TypeError(f"{name} must be a string or another sequence; got {x!r}")
        whole = x if isinstance(x, (str, bytes)) else tuple(x)
        places = range(len(whole) - self.length + 1)
        return _counter(name, (whole[k : k + self.length] for k in places))
