r"""Convergence diagnostics of several trajectories: R-hat and effective sample size.

Both are the rank-normalized forms of Vehtari et al., for arrays of shape ``(chain, draw, ...)``, in
which every trailing index is a separate quantity. A small :math:`\hat R` shows that trajectories
agree, not that they sample the right distribution.

References
----------
.. [1] A. Vehtari, A. Gelman, D. Simpson, B. Carpenter and P.-C. Bürkner, "Rank-normalization,
   folding, and localization: an improved R-hat for assessing convergence of MCMC", Bayesian
   Analysis 16(2), 2021.
.. [2] C. J. Geyer, "Practical Markov chain Monte Carlo", Statistical Science 7(4), 1992.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from bayespoint import _core
from bayespoint.base import validation
from bayespoint.base.validation import Floats

__all__ = ["ess_bulk", "r_hat"]

_MIN_DRAWS = 4


def r_hat(draws: ArrayLike) -> Floats:
    r"""Return the rank-normalized split :math:`\hat R` of every quantity.

    Parameters
    ----------
    draws : array-like of shape (n_chains, n_draws, ...)
        Draws of one or more quantities. One chain is enough: it is split in two.

    Returns
    -------
    ndarray of shape (...)
        The larger of the values for the draws and for their distances from the median ("folded",
        which detects chains of different spread), by Vehtari et al. (2021), Eqs. 1-4 and Section 4.
        1 for perfect agreement. NaN for fewer than 4 draws, constant or infinite ones.
    """
    return _of_each(draws, _core.r_hat)


def ess_bulk(draws: ArrayLike) -> Floats:
    """Return the bulk effective sample size of every quantity.

    By Vehtari et al. (2021), Eqs. 10-15, on rank-normalized split chains: autocovariances are
    summed over the initial monotone sequence of Geyer (1992).

    Parameters
    ----------
    draws : array-like of shape (n_chains, n_draws, ...)
        Draws of one or more quantities.

    Returns
    -------
    ndarray of shape (...)
        Number of independent draws that would estimate the mean equally well; NaN as for `r_hat`.
    """
    return _of_each(draws, _core.effective_size)


def _of_each(draws: ArrayLike, statistic: Callable[[Floats], list[float]]) -> Floats:
    """Return a statistic of every quantity; NaN for those about which nothing can be said."""
    array = np.asarray(validation.dense("draws", draws), dtype=np.float64)
    if array.ndim < 2:
        raise ValueError(f"draws must have shape (n_chains, n_draws, ...); got {array.shape}")
    values = np.full(array.shape[2:], np.nan)
    if array.shape[1] < _MIN_DRAWS or array.size == 0:
        return values
    lowest, highest = array.min(axis=(0, 1)), array.max(axis=(0, 1))
    told = np.isfinite(lowest) & np.isfinite(highest) & (lowest < highest)
    values[told] = statistic(np.moveaxis(array[:, :, told], 2, 0))
    return values
