"""The same as `bayespoint.landmarks.features` in NumPy, without regard to speed."""

from dataclasses import dataclass

import numpy as np
from scipy import linalg, special

from bayespoint.landmarks.features import Propagation

_SWEEPS = 60
_DAMPING = 0.7
_SMALLEST_STEP = 0.1
_NOISY_STEP = 0.5
_FLAT = 1e-10
_FIRST = 0.3
_LOG_NORMAL = -0.5 * np.log(2 * np.pi)


@dataclass
class Posteriors:
    by_features: np.ndarray  # (m, r) derivatives by the features, with fixed sites

    def by_values(self, factors, features, by_variances, *, is_triangle, share, by_mean):
        by_psi = share * self.by_features - 2 * by_variances[:, None] * features
        by_psi -= 2 * by_mean * features.mean(axis=0)
        by_cross = by_psi @ factors.T
        lower = by_cross.T @ features @ factors.T
        return np.concatenate([-0.25 * (lower + lower.T), by_cross])


def propagate(features, level, positive, noise=(0.0, 0.0), start=None, *, change):
    """Return the approximations of all problems."""
    values, by_features, by_level, by_noise = [], 0.0, 0.0, 0.0
    for k, own in enumerate(positive):
        scale = np.where(own, 1.0, -1.0) / np.sqrt(level)
        rows = features * scale[:, None]
        sites = None
        if start is not None and start.converged[k]:
            sites = start.precision[k], start.shift[k]
        *each, by_rates, by_rows = _one(rows, own, noise, sites, change)
        values.append(each)
        by_noise += by_rates
        by_features += by_rows * scale[:, None]
        by_level += -0.5 * (by_rows * rows).sum(axis=1) / level
    columns = (np.array(column) for column in zip(*values, strict=True))
    return Propagation(*columns, by_noise, by_level, Posteriors(by_features))


@np.errstate(over="ignore", divide="ignore", invalid="ignore")
def _one(rows, positive, noise, start, change):
    """Return the fields of one problem, with the derivatives by the rates and by the rows."""
    m, r = rows.shape
    noisy = any(noise)
    lowest, size = (-np.inf, _NOISY_STEP) if noisy else (_FLAT, 1.0)
    log_floor = np.log(np.where(positive, noise[0], noise[1]))
    log_span = np.log1p(-noise[0] - noise[1])
    precision, shift = (np.full(m, _FIRST), np.full(m, _FIRST)) if start is None else start
    before, moved, converged = -np.inf, 0.0, False
    for sweep in range(_SWEEPS):
        matrix = np.eye(r) + (rows.T * precision) @ rows
        try:
            lower = linalg.cholesky(matrix, lower=True, check_finite=False)
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
        variance = np.maximum(variance, 1e-290)  # of an example without features it is 0
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
    slope = shift - precision * t
    by_rows = np.outer(slope, mean) - (precision[:, None] * half) @ root.T
    return value, converged, precision, shift, np.exp(log_p), np.array(by_noise), by_rows
