r"""The variance of the latent value of two classes as one quadratic form of the kernel values.

In the notation of :mod:`bayespoint.labels.laws`, decision values depend on no single
draw, only on the center and the variance

.. math:: V + s_*^2 = k(x, x) + \lambda + k_*^\top Q k_*, \qquad
   Q = E\rho^2\, \mathrm{Cov}(\gamma) + \mathrm{Var}(\rho)\, \bar\gamma \bar\gamma^\top - A^{-1}.

With Q this takes m^2 operations a point, which without it are those of a triangular solve, and 2 m
more for each draw. Terms that nearly cancel make Q inaccurate where the softness is very small.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import linalg

from bayespoint import kernels
from bayespoint.base import memory, validation
from bayespoint.base.linalg import clear_above, weighted_outer
from bayespoint.base.validation import Floats
from bayespoint.labels.laws import spread
from bayespoint.landmarks.basis import Basis
from bayespoint.results.draws import Draws

_TOLERANCE = 8e-6  # relative error of a variance that changes a probability by at most 1e-6
_MOST = 3000  # most points of the basis: beyond it the draws are a small part of the work
_CHECKED = 64  # number of points of the basis at which the error is measured
_WIDTH = 128  # number of columns of the triangle that are multiplied together


def saves_time(basis: Basis, draws: Draws, n: int) -> bool:
    """Return whether `n` points take less time with the form, which is made for them."""
    m, total = len(basis), len(draws)
    return m <= _MOST and 2 * n * total >= m * (m + 2 * total)


class Quadratic(NamedTuple):
    """The matrix Q of a model, and its error."""

    upper: Floats  # (m, m) upper triangle with the quadratic form of Q
    error: float = 0.0  # largest error of the variance at points of the basis, relative to k(x, x)

    @classmethod
    @validation.overflowing()
    def of(cls, basis: Basis, draws: Draws, softness: float) -> Quadratic | None:
        """Return the form, or None where it is inaccurate."""
        m, total = len(basis), len(draws)
        if m > _MOST:
            return None
        # Variances of other kernels may be negative, and count as 0 before V is added.
        if not kernels.is_semidefinite(basis.kernel) or basis.factor.pivots is not None:
            return None
        if memory.available() < 32.0 * m * (m + total):
            return None
        factor, coefficients, lengths = basis.factor, draws.coefficients, draws.lengths
        mean, squared = coefficients.mean(axis=0), lengths.mean_square
        rows = np.concatenate([coefficients - mean, mean[None]])
        shares = np.append(np.full(total, squared / total), squared - lengths.mean**2)
        upper = weighted_outer(rows, shares)
        upper -= linalg.lapack.dpotri(factor.lower, lower=1)[0].T
        clear_above(upper.T)
        upper *= 2.0
        upper.flat[:: m + 1] /= 2.0
        chosen = np.linspace(0, m - 1, min(m, _CHECKED)).astype(np.intp)
        k_star, each = factor.lower[chosen] @ factor.lower.T, np.arange(len(chosen))
        k_star[each, chosen] -= basis.softness[chosen]
        own = k_star[each, chosen] + softness
        exact = spread(draws.values(k_star)[0], lengths) - factor.explained(k_star)
        found = cls(upper, float((np.abs(cls(upper).form(k_star) - exact) / own).max()))
        return None if found.variance(own, k_star) is None else found

    def form(self, k_star: Floats) -> Floats:
        """Return the (n,) values of ``k*^T Q k*``."""
        found = np.zeros(len(k_star))
        for part in validation.blocks(len(self.upper), _WIDTH):
            half = k_star[:, : part.stop] @ self.upper[: part.stop, part]
            found += np.einsum("ij,ij->i", half, k_star[:, part])
        return found

    def variance(self, own: Floats, k_star: Floats) -> Floats | None:
        """Return the variances where the prior ones are `own`; None if they are inaccurate."""
        with validation.overflowing():
            found = own + self.form(k_star)
            return found if (self.error * own <= _TOLERANCE * found).all() else None
