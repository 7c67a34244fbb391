r"""Expectation propagation for functions of few dimensions: the evidence of two classes.

A weight vector :math:`w \sim N(0, I)` gives example i the value :math:`t_i = a_i \cdot w`, and its
label has the probability :math:`\epsilon_i + s\,\Phi(t_i)` (:mod:`bayespoint.landmarks.block`).
Each of these factors is approximated by a normal one, a site, so that the posterior is normal
(Minka, 2001). A sweep updates all sites at once and takes O(m r^2) for m examples and r dimensions.

With label noise the likelihood is not log-concave: sites of labels that seem wrong have negative
precisions.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, special

from bayespoint.base.linalg import weighted_outer
from bayespoint.base.validation import Floats

_SWEEPS = 60  # largest number of sweeps
_DAMPING = 0.7  # factor on the step size of the sites after a sweep that turns the one before back
_SMALLEST_STEP = 0.1  # smallest step size of the sites
_NOISY_STEP = 0.5  # first step size with label noise; without it is 1
_FLAT = 1e-10  # smallest precision of a cavity, and of a site without label noise
_FIRST = 0.3  # precision and shift of the sites to start from
_LOG_NORMAL = -0.5 * np.log(2 * np.pi)


@dataclass(frozen=True, eq=False)
class Propagation:
    """The normal approximation of a posterior, and its evidence."""

    log_evidence: float
    """Nats."""
    mean: Floats
    """(r,)"""
    root: Floats
    """(r, r) upper triangle R: the covariance is R R^T."""
    slope: Floats
    """(m,) derivatives of the evidence by the values t at `mean`."""
    precision: Floats
    """(m,) precisions of the sites."""
    shift: Floats
    """(m,) precisions times means of the sites."""
    left_out: Floats
    """(m,) Probability of each label given all others."""
    by_noise: Floats
    """(2,) derivatives of the evidence by the rates of label noise."""
    converged: bool
    """Whether the sites stopped changing."""

    def by_rows(self, rows: Floats) -> Floats:
        """Return the derivatives of the evidence by the rows.

        With fixed sites they are those of the normal integral, to first order.
        """
        half = rows @ self.root
        half *= self.precision[:, None]
        found: Floats = np.outer(self.slope, self.mean)
        found -= half @ self.root.T
        return found


@np.errstate(over="ignore", divide="ignore", invalid="ignore")
def propagate(
    rows: Floats,
    positive: NDArray[np.bool_],
    noise: tuple[float, float] = (0.0, 0.0),
    start: Propagation | None = None,
    *,
    change: float,
) -> Propagation:
    """Return the approximation for (m, r) rows a, which are multiplied by the labels -1 and +1.

    `positive` tells the (m,) labels, and `noise` the probability of a wrong label for truly
    negative and truly positive examples. `start` is the approximation of a similar setting. The
    sweeps end when the evidence changes by less than `change` nats. Raises LinAlgError if rows are
    not finite.
    """
    m, r = rows.shape
    noisy = any(noise)
    lowest, size = (-np.inf, _NOISY_STEP) if noisy else (_FLAT, 1.0)
    log_floor = np.log(np.where(positive, noise[0], noise[1]))
    log_span = np.log1p(-noise[0] - noise[1])
    precision = np.full(m, _FIRST) if start is None else start.precision
    shift = np.full(m, _FIRST) if start is None else start.shift
    before, moved, converged = -np.inf, 0.0, False
    for sweep in range(_SWEEPS):
        matrix = weighted_outer(rows, precision)
        matrix.flat[:: r + 1] += 1.0
        try:
            lower = linalg.cholesky(matrix, lower=True, overwrite_a=True, check_finite=False)
        except linalg.LinAlgError:
            if not noisy or sweep == _SWEEPS - 1:
                raise
            # Halfway to flat sites, for which the posterior is proper.
            precision, shift = 0.5 * precision, 0.5 * shift
            continue
        root = linalg.lapack.dtrtri(lower, lower=1)[0].T
        half = rows @ root
        variance = np.einsum("ij,ij->i", half, half)
        solved = (rows.T @ shift) @ root
        mean = root @ solved
        t = rows @ mean
        # The posterior without an example's site, and its label's probability under it.
        cavity_precision = np.maximum(1 / variance - precision, _FLAT)
        cavity = 1 / cavity_precision
        cavity_mean = cavity * (t / variance - shift)
        scale = np.sqrt(1 + cavity)
        z = cavity_mean / scale
        log_normal = special.log_ndtr(z)
        log_p = np.logaddexp(log_floor, log_span + log_normal) if noisy else log_normal
        slope = np.exp(log_span - 0.5 * z**2 + _LOG_NORMAL - log_p) / scale
        curvature = slope**2 + slope * z / scale
        total = np.maximum(cavity_precision + precision, _FLAT)
        value = float(
            log_p.sum()
            + 0.5 * np.log(total * cavity).sum()
            - np.log(lower.diagonal()).sum()
            + 0.5 * solved @ solved
            - 0.5 * (shift**2 / total).sum()
            + 0.5 * (cavity_mean * cavity_precision / total) @ (precision * cavity_mean - 2 * shift)
        )
        step, before = value - before, value
        if abs(step) < change:
            converged = True
            break
        if not np.isfinite(value):
            break
        if np.isfinite(step):
            if step * moved < 0 and abs(step) > 0.5 * abs(moved):
                size = max(size * _DAMPING, _SMALLEST_STEP)
            moved = step
        rest = np.maximum(1 - cavity * curvature, _FLAT)
        ahead = np.maximum(curvature / rest, lowest)
        precision = precision + size * (ahead - precision)
        shift = shift + size * ((slope + cavity_mean * curvature) / rest - shift)
    right, wrong = np.exp(log_normal - log_p), np.exp(special.log_ndtr(-z) - log_p)
    by_noise = [np.where(positive == first, wrong, -right).sum() for first in (True, False)]
    return Propagation(
        value,
        mean,
        root,
        shift - precision * t,
        precision,
        shift,
        np.exp(log_p),
        np.array(by_noise),
        converged,
    )
