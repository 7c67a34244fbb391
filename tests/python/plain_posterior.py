"""The posterior of labels by sequential Monte Carlo, in plain NumPy: no line of the package.

Latent values with their noise are one normal vector. An observation is a group of contrasts of it,
and its label is right where all of them are positive. Contrasts are drawn one after the other given
those before (J. Geweke, V. Hajivassiliou and M. Keane; *Econometric Theory* 10, 1994, p. 1), where
the label is right from the side it allows. Vectors are weighted by what the label then has of
probability, and drawn again where few would count. The mean weight is without bias, so that runs
are averaged by it and differ by their error.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import special

RUNS = 16
LARGEST = 2**23  # numbers in the vectors of all runs
ERROR, LARGEST_ERROR = 0.03, 0.15  # of the log evidence
TINY = 1e-300
ROUNDING = 1e-12  # share of its variance up to which a contrast follows from those before


@dataclass(frozen=True)
class Law:
    """A normal vector of mean 0, and labels of n observations by contrasts of its entries."""

    joint: np.ndarray  # (d, d) its covariance
    contrasts: np.ndarray  # (k, d), observation by observation
    group: np.ndarray  # (k,) the observation of each
    right: np.ndarray  # (n,) probability of the label where all its contrasts are positive
    floor: np.ndarray  # (n,) and where one is not

    def without_last(self):
        kept = self.group < self.group.max()
        return Law(self.joint, self.contrasts[kept], self.group[kept], self.right, self.floor)

    @cached_property
    def lower(self):
        """(k, k) Cholesky factor of the contrasts' covariance; a column of what follows is 0."""
        covariance = self.contrasts @ self.joint @ self.contrasts.T
        found = np.zeros_like(covariance)
        for j in range(len(found)):
            rest = covariance[j:, j] - found[j:, :j] @ found[j, :j]
            if rest[0] > ROUNDING * covariance[j, j]:
                found[j:, j] = rest / np.sqrt(rest[0])
        return found

    def given(self, rows):
        """Return (k, q) factors of the coordinates in the means of rows, and (q,) variances."""
        free = self.lower.diagonal() > 0
        across = (self.contrasts @ self.joint @ rows.T)[free]
        factors = np.zeros((len(free), len(rows)))
        factors[free] = np.linalg.solve(self.lower[np.ix_(free, free)], across)
        variance = np.einsum("qd,de,qe->q", rows, self.joint, rows)
        return factors, np.maximum(variance - (factors**2).sum(axis=0), 0.0)


@dataclass(frozen=True)
class Sample:
    """Weighted standard normal coordinates of contrasts, of `RUNS` runs, and their evidence."""

    z: np.ndarray  # (k, RUNS, n)
    weight: np.ndarray  # (RUNS, n), of sum 1 in each run
    log_evidence: np.ndarray  # (RUNS,)

    def thinned(self, n):
        """Return about n vectors of each run, for what takes long of each."""
        step = -(-self.z.shape[2] // n)
        weight = self.weight[:, ::step]
        weight = weight / weight.sum(axis=1, keepdims=True)
        return Sample(self.z[..., ::step], weight, self.log_evidence)

    def rows(self, factors):
        """Return the (RUNS, n, q) means of rows given each vector, by their (k, q) factors."""
        return np.tensordot(self.z, factors, (0, 0))

    @property
    def coordinates(self):
        """(RUNS, k) Means of the coordinates."""
        return np.einsum("rn,krn->rk", self.weight, self.z)

    def means(self, values):
        """Return the (RUNS, q) means of (RUNS, n, q) values."""
        return np.einsum("rn,rnq->rq", self.weight, values)

    def estimate(self, means, of: Callable = lambda mean: mean):
        """Return a function of the means over all runs, and its standard error (jackknife)."""
        share = np.exp(self.log_evidence - self.log_evidence.max())[:, None]
        parts, total = share * means, share.sum()
        others = of((parts.sum(axis=0) - parts) / (total - share))
        error = np.sqrt((RUNS - 1) * others.var(axis=0))
        return of(parts.sum(axis=0) / total), error

    @cached_property
    def evidence(self):
        """The log evidence of all runs, and its standard error."""
        most = self.log_evidence.max()
        mean = np.exp(self.log_evidence - most)
        error = mean.std(ddof=1) / mean.mean() / np.sqrt(RUNS)
        return float(most + np.log(mean.mean())), float(error)


def sample(law, n, rng):
    """Return the runs of n vectors each; None if no vector agrees with the labels."""
    lower, shape = law.lower, (RUNS, n)
    z, weight = np.zeros((len(lower), RUNS * n)), np.full(shape, 1 / n)
    log_evidence, honest, first = np.zeros(RUNS), np.ones(shape, dtype=bool), np.arange(RUNS)
    for j, group in enumerate(law.group):
        mean = (lower[j, :j] @ z[:j]).reshape(shape)
        p = special.ndtr(mean / lower[j, j]) if lower[j, j] else (mean > 0).astype(float)
        if j == 0 or law.group[j - 1] != group:
            floor, span = law.floor[group], law.right[group] - law.floor[group]
            likelihood = floor + span * p
            honest = rng.random(shape) * likelihood < span * p
        else:
            likelihood = np.where(honest, p, 1.0)
        weight = weight * likelihood
        total = weight.sum(axis=1)
        if not total.min() > 0:
            return None
        log_evidence += np.log(total)
        weight /= total[:, None]
        if (1 / (weight**2).sum(axis=1)).min() < n / 2:
            ends = np.cumsum(weight, axis=1) + first[:, None]
            places = (np.arange(n) + rng.random((RUNS, 1))) / n + first[:, None]
            kept = np.searchsorted(ends.ravel(), places.ravel()).clip(max=RUNS * n - 1)
            z[:j] = z[:j, kept]
            p, honest = (array.ravel()[kept].reshape(shape) for array in (p, honest))
            weight = np.full(shape, 1 / n)
        share = (1 - rng.random(shape)) * np.where(honest, p, 1.0)
        z[j] = -special.ndtri(np.maximum(share, TINY)).ravel()
    return Sample(z.reshape(len(lower), *shape), weight, log_evidence)


def accurate(law, rng):
    """Return runs of as many vectors as give an accurate log evidence; None if too many would."""
    n = max(500, min(4000, LARGEST // 128 // max(1, len(law.lower))))
    while True:
        found = sample(law, n, rng)
        if found is not None and found.evidence[1] < ERROR:
            return found
        if RUNS * n * 4 * len(law.lower) > LARGEST:
            return found if found is not None and found.evidence[1] < LARGEST_ERROR else None
        n *= 4


NODES, WEIGHTS = np.polynomial.hermite_e.hermegauss(20)


def largest(values):
    """Return the probability of each of (..., C) values to be the largest with noise of 1."""
    found = np.zeros(values.shape)
    apart = values[..., :, None] - values[..., None, :]
    for node, weight in zip(NODES, WEIGHTS / WEIGHTS.sum(), strict=True):
        below = special.ndtr(node + apart)
        found += weight * below.prod(axis=-1) / special.ndtr(node)
    return found
