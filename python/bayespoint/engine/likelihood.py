"""Log likelihoods of labels for several functions at a time."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayespoint import _core
from bayespoint.base.validation import Floats


def two_classes(
    values: NDArray[Any], coefs: Floats, floors: Floats | None = None, span: float = 1.0
) -> Floats:
    r"""Return the log likelihoods of functions that are combinations of k given ones.

    Parameters
    ----------
    values : ndarray of shape (k, n)
        Values of the given functions at n examples, each multiplied by the label -1 or +1 and
        divided by the standard deviation of the noise. Doubles or singles, in C order.
    coefs : ndarray of shape (n_functions, k)
        Coefficients.
    floors : ndarray of shape (n,), default=None
        Probability of each label for a function of the other sign. None: 0.
    span : float, default=1.0
        What the probability of a label gains at most over its floor.

    Returns
    -------
    ndarray of shape (n_functions,)
        Sums over the examples of :math:`\ln(floor_i + span\,\Phi(t_i))`, with the values t of the
        function.
    """
    known = np.empty(0) if floors is None else floors
    return _core.likelihood_of_signs(_plain(values), _plain(coefs), _plain(known), span)


def several_classes(
    values: NDArray[Any], coefs: Floats, labels: NDArray[np.uint32], noise: float = 0.0
) -> Floats:
    """Return the same for several classes, each with a function.

    Parameters
    ----------
    values : ndarray of shape (k, n_classes, n)
        Values of the given functions, divided by the standard deviation of the noise. Doubles or
        singles, in C order.
    coefs : ndarray of shape (n_functions, k)
        Coefficients, the same for all classes.
    labels : ndarray of shape (n,)
        The class of each example.
    noise : float, default=0.0
        Probability that a label was changed, to any other class alike.

    Returns
    -------
    ndarray of shape (n_functions,)
        Sums over the examples of the log probabilities of the labels: of the class whose function,
        with independent noise of variance 1, is the largest. They are integrals by the rule of
        :func:`bayespoint.engine.largest.largest_probabilities`.
    """
    return _core.likelihood_of_classes(_plain(values), _plain(coefs), _plain(labels), noise)


def _plain(array: NDArray[Any]) -> NDArray[Any]:
    """Return an array in C order and aligned, as those from a network may not be."""
    return np.require(array, requirements=["C", "A"])
