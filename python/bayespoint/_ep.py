r"""Expectation propagation: a fast, smooth approximation of the evidence, to search by.

The evidence of labels :math:`y` under :math:`f \sim N(0, K)` and
:math:`P(y_i | f_i) = \Phi(y_i f_i / \sqrt{\lambda_i})` has no closed
form. The billiard
computes it exactly, with a statistical error and at a price; expectation propagation (Minka, 2001;
Rasmussen and Williams,
*Gaussian Processes for Machine Learning*, 2006, Sections 3.6 and 5.5.2) gives an approximation that
is
deterministic and has derivatives. The tuning searches by this one and lets the billiard decide.

All sites are updated at once, damped: one Cholesky factor a sweep. Label noise is left to the
billiard: its likelihood is not log-concave, and Gaussian sites miss its evidence by many nats.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, special

__all__ = ["Approximation", "Sites", "approximate"]

Floats: TypeAlias = NDArray[np.float64]

_SWEEPS = 40
_DAMPING = 0.8
_CHANGE = 1e-5
"""Sweeps at most, share of a new site taken over, and change of ln Z at which to stop, nats."""

_FLAT = 1e-10
"""Smallest precision of a site."""


@dataclass
class Sites:
    """Gaussian factors that stand for the likelihood of each example."""

    precision: Floats
    shift: Floats

    @classmethod
    def flat(cls, m: int) -> Sites:
        """Return the sites of m examples that say nothing."""
        return cls(np.full(m, _FLAT), np.zeros(m))


@dataclass(frozen=True)
class Approximation:
    """The approximate evidence and what its derivatives need."""

    log_evidence: float
    """Nats."""

    by_softness: Floats
    """(m,) derivatives by the softness of each example."""

    by_gram: Floats | None
    """(m, m) matrix R: the derivative by a parameter t of K is sum(R * dK/dt)."""

    sites: Sites
    converged: bool


def approximate(
    gram: Floats,
    y: Floats,
    softness: Floats,
    *,
    sites: Sites | None = None,
    derivatives: bool = False,
) -> Approximation:
    """Return the expectation-propagation evidence of labels.

    Parameters
    ----------
    gram : ndarray of shape (m, m)
        Covariance of f, positive semidefinite, without softness.
    y : ndarray of shape (m,)
        Labels -1.0 and +1.0.
    softness : ndarray of shape (m,)
        Noise variances, positive.
    sites : Sites, default=None
        Where to start; flat sites by default. Not changed.
    derivatives : bool, default=False
        Compute `by_gram` too.
    """
    m = len(y)
    sites = Sites.flat(m) if sites is None else Sites(sites.precision.copy(), sites.shift.copy())
    before, converged = -np.inf, False
    for _ in range(_SWEEPS):
        factor, half = _factor(gram, sites)
        variance = np.maximum(gram.diagonal() - np.einsum("ij,ij->j", half, half), 1e-300)
        mean = gram @ sites.shift - half.T @ (half @ sites.shift)
        cavity_precision = np.maximum(1 / variance - sites.precision, 1e-300)
        cavity_variance = 1 / cavity_precision
        cavity_mean = cavity_variance * (mean / variance - sites.shift)
        scale = np.sqrt(softness + cavity_variance)
        z = y * cavity_mean / scale
        log_z = special.log_ndtr(z)
        slope = y / scale * np.exp(-0.5 * z**2 - 0.5 * np.log(2 * np.pi) - log_z)
        curvature = slope**2 + slope * y * z / scale
        total = cavity_precision + sites.precision
        value = float(
            log_z.sum()
            + 0.5 * np.log1p(sites.precision * cavity_variance).sum()
            - np.log(factor.diagonal()).sum()
            + 0.5 * sites.shift @ mean
            - 0.5 * (sites.shift**2 / total).sum()
            + 0.5
            * (
                cavity_mean
                * cavity_precision
                / total
                * (sites.precision * cavity_mean - 2 * sites.shift)
            ).sum()
        )
        if abs(value - before) < _CHANGE * max(1.0, 1e-3 * abs(value)):
            converged = True
            break
        before = value
        rest = np.maximum(1 - cavity_variance * curvature, 1e-10)
        precision = np.maximum(curvature / rest, _FLAT)
        shift = (slope + cavity_mean * curvature) / rest
        sites.precision += _DAMPING * (precision - sites.precision)
        sites.shift += _DAMPING * (shift - sites.shift)
    by_softness = -0.5 * slope * cavity_mean / scale**2
    by_gram = None
    if derivatives:
        root = np.sqrt(sites.precision)
        inverse = linalg.cho_solve((factor, True), np.diag(root), check_finite=False)
        inverse *= root[:, None]
        b = sites.shift - inverse @ (gram @ sites.shift)
        by_gram = 0.5 * (np.outer(b, b) - inverse)
    return Approximation(value, by_softness, by_gram, sites, converged)


def _factor(gram: Floats, sites: Sites) -> tuple[Floats, Floats]:
    """Return L with L L^T = I + S^1/2 K S^1/2, and L^-1 S^1/2 K."""
    root = np.sqrt(sites.precision)
    matrix = gram * root
    matrix *= root[:, None]
    matrix.flat[:: len(root) + 1] += 1.0
    factor = linalg.cholesky(matrix, lower=True, overwrite_a=True, check_finite=False)
    half = linalg.solve_triangular(factor, gram * root[:, None], lower=True, check_finite=False)
    return factor, half
