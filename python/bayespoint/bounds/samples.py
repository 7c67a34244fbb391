"""The number of independent draws for a mean of vectors."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from bayespoint.base import validation
from bayespoint.base.validation import Numbers, plain, reals, whole

__all__ = ["hoeffding_samples"]


def hoeffding_samples(
    n: ArrayLike,
    epsilon: ArrayLike,
    eta: ArrayLike = 0.05,
    *,
    low: ArrayLike = -1.0,
    high: ArrayLike = 1.0,
) -> Numbers:
    r"""Return the number of independent draws for a mean of vectors of given accuracy.

    Parameters
    ----------
    n : array-like of whole numbers
        Number of components of the vectors, at least 1; for dual coefficients one per example.
    epsilon : array-like of float
        Distance from the true mean, positive.
    eta : array-like of float, default=0.05
        Probability in (0, 1) that the distance is exceeded.
    low, high : array-like of float, default=-1.0 and 1.0
        Interval that contains every component, ``low < high``. The components of unit weight
        vectors are in [-1, 1]; for dual coefficients an interval must be known.

    Returns
    -------
    float or ndarray
        The smallest whole number above :math:`\frac{n (b-a)^2}{2\epsilon^2} \ln\frac{2n}\eta` for
        the interval [a, b].

    Notes
    -----
    Lemma 18.1 of [1]_, Eqs. 18.13, 18.29 and 18.31, from Hoeffding's inequality for each component
    and a union bound. Draws of a billiard are not independent: their effective number is
    ``BilliardResult.ess``. Far fewer are sufficient in practice, since the components of a unit
    vector cannot all be large.

    References
    ----------
    .. [1] P. Ruján and M. Marchand, "Computing the Bayes Kernel Classifier", in Advances in Large
       Margin Classifiers, MIT Press, 2000.

    Examples
    --------
    >>> hoeffding_samples(100, 0.1)
    165881.0
    """
    n, epsilon, eta, low, high = validation.broadcast(
        n=whole("n", n, low=1),
        epsilon=reals("epsilon", epsilon, low=0.0, low_open=True),
        eta=reals("eta", eta, low=0.0, low_open=True, high=1.0, high_open=True),
        low=reals("low", low),
        high=reals("high", high),
    )
    if not (low < high).all():
        i = tuple(np.argwhere(low >= high)[0])
        raise ValueError(f"low must be below high; got {low[i]:.10g} and {high[i]:.10g}")
    with np.errstate(over="ignore"):
        draws = n * ((high - low) / epsilon) ** 2 / 2 * (np.log(2 * n) - np.log(eta))
    if not np.isfinite(draws).all():
        raise ValueError(
            "epsilon must not be so small against high - low that the number of draws overflows; "
            f"got {float(epsilon[~np.isfinite(draws)].flat[0]):.3g}"
        )
    return plain(np.floor(draws) + 1)
