"""Log likelihoods of labels for several functions at a time, with derivatives."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayespoint import _core
from bayespoint.base.validation import Floats


def two_classes(
    values: NDArray[Any],
    coefs: Floats,
    floors: Floats | None = None,
    span: float = 1.0,
    *,
    by_value: bool = False,
) -> Floats:
    """Return the sums over n examples of ln(floor + span Phi(t)) of functions with values t.

    They are combinations, with `coefs` (n_functions, k), of k functions, whose `values` (k, n) are
    multiplied by the labels -1 or +1 and divided by the deviation of the noise. `floors` (n,), 0 by
    default, are the probabilities of the labels on the other side. Each row of the result is a
    sum and its k derivatives by the coefficients; `by_value`, only the n derivatives by t.
    """
    known = np.empty(0) if floors is None else floors
    given = _plain(values), _plain(coefs), _plain(known), span
    return _core.likelihood_of_signs(*given, by_value=by_value)


def several_classes(
    values: NDArray[Any],
    coefs: Floats,
    labels: NDArray[np.uint32],
    noise: float = 0.0,
    *,
    by_value: bool = False,
) -> Floats:
    """Return the same for several classes, each with a function: `values` (k, n_classes, n).

    A label (n,) is that of the largest function, with independent noise of variance 1, whose
    probability is an integral of `largest_probabilities`, and changed to any other with `noise`.
    Derivatives by the values have the shape (n_functions, n_classes, n).
    """
    given = _plain(values), _plain(coefs), _plain(labels), noise
    found = _core.likelihood_of_classes(*given, by_value=by_value)
    return found.reshape(len(coefs), *values.shape[1:]) if by_value else found


def _plain(array: NDArray[Any]) -> NDArray[Any]:
    """Return an array in C order and aligned, as those from a network may not be."""
    return np.require(array, requirements=["C", "A"])
