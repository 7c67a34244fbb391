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
from scipy import fft, special, stats

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

    def larger(split: Floats) -> Floats:
        with np.errstate(invalid="ignore"):
            scores, medians = _z_scale(split)
            folded, _ = _z_scale(np.abs(split - medians[:, None, None]))
            return np.maximum(_plain_r_hat(scores), _plain_r_hat(folded))

    return _of_each(draws, larger)


def ess_bulk(draws: ArrayLike) -> Floats:
    """Return the bulk effective sample size of every quantity.

    By Vehtari et al. (2021), Eqs. 10-15, on rank-normalized split chains: autocovariances by fast
    Fourier transform are summed over the initial monotone sequence of Geyer (1992).

    Parameters
    ----------
    draws : array-like of shape (n_chains, n_draws, ...)
        Draws of one or more quantities.

    Returns
    -------
    ndarray of shape (...)
        Number of independent draws that would estimate the mean equally well; NaN as for `r_hat`.
    """
    return _of_each(draws, lambda split: _plain_ess(_z_scale(split)[0]))


def _of_each(draws: ArrayLike, statistic: Callable[[Floats], Floats]) -> Floats:
    """Return a statistic of every quantity, computed from the (quantity, half chain, draw)."""
    array = np.asarray(validation.dense("draws", draws), dtype=np.float64)
    if array.ndim < 2:
        raise ValueError(f"draws must have shape (n_chains, n_draws, ...); got {array.shape}")
    shape = array.shape[2:]
    if array.shape[1] < _MIN_DRAWS or array.size == 0:
        return np.full(shape, np.nan)
    array = np.ascontiguousarray(np.moveaxis(array.reshape(*array.shape[:2], -1), 2, 0))
    half = array.shape[2] // 2
    value = statistic(np.concatenate([array[:, :, :half], array[:, :, -half:]], axis=1))
    with np.errstate(invalid="ignore"):
        constant = array.max(axis=(1, 2)) == array.min(axis=(1, 2))
    finite = np.isfinite(array).all(axis=(1, 2))
    return np.where(constant | ~finite, np.nan, value).reshape(shape)


def _z_scale(array: Floats) -> tuple[Floats, Floats]:
    """Return the normal scores of the ranks over all chains (Blom's 3/8), and the medians."""
    values = array.reshape(len(array), -1)
    ranks = stats.rankdata(values, axis=1).reshape(array.shape)
    scores: Floats = special.ndtri((ranks - 0.375) / (values.shape[1] + 0.25))
    return scores, np.median(values, axis=1)


def _plain_r_hat(array: Floats) -> Floats:
    n = array.shape[2]
    between = n * array.mean(axis=2).var(axis=1, ddof=1)
    within = array.var(axis=2, ddof=1).mean(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        value: Floats = np.sqrt((between / within + n - 1) / n)
    return value


def _plain_ess(array: Floats) -> Floats:
    _, chains, n = array.shape
    size = fft.next_fast_len(2 * n, real=True)
    transform = fft.rfft(array - array.mean(axis=2, keepdims=True), n=size, axis=2)
    spectrum = (transform.real**2 + transform.imag**2).mean(axis=1)
    # Mean over chains of the (biased) autocovariance at lags 0 .. n-1.
    covariance = fft.irfft(spectrum, n=size, axis=1)[:, :n] / n
    within = covariance[:, :1] * n / (n - 1)
    variance = covariance[:, :1] + array.mean(axis=2).var(axis=1, ddof=1)[:, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        rho = 1 - (within - covariance) / variance
    rho[:, 0] = 1.0
    # Sums of an even lag and the next odd one: positive and falling for a reversible chain.
    n_pairs = max((n - 1) // 2, 1)
    even, odd = rho[:, 0 : 2 * n_pairs : 2], rho[:, 1 : 2 * n_pairs : 2]
    pairs = even + odd
    positive = np.logical_and.accumulate(pairs > 0, axis=1)
    positive[:, -1] = False  # the last pair only ends the sum
    kept = positive.sum(axis=1, keepdims=True)
    monotone = np.where(positive, np.minimum.accumulate(pairs, axis=1), 0.0)
    # The first even lag left out counts once: always if the draws ran out, otherwise if positive.
    last = np.take_along_axis(rho, 2 * kept, axis=1)[:, 0]
    ran_out = np.take_along_axis(pairs, kept, axis=1)[:, 0] >= 0
    last = np.where(ran_out, last, np.maximum(last, 0.0))
    tau = -1 + 2 * monotone.sum(axis=1) + last
    total = chains * n
    return np.asarray(total / np.maximum(tau, 1 / np.log10(total)))
