r"""The likelihood of a block of examples under functions of few dimensions.

A weight vector w, of D dimensions in all, gives each example one value, or one for each class,
divided by the standard deviation of the noise: the square root of its softness and of what the
features miss of its variance. The posterior is the product of the likelihoods of all blocks and a
standard normal density of w.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import special

from bayespoint.base import validation
from bayespoint.base.linalg import times_upper, weighted_outer
from bayespoint.base.validation import Floats
from bayespoint.engine import likelihood

ROWS = 8192
"""Most examples for which moments and features are computed at a time. Blocks may be larger."""

_POINTS, _WEIGHTS = np.polynomial.hermite_e.hermegauss(9)
_WEIGHTS = _WEIGHTS / _WEIGHTS.sum()
"""Nodes of an expectation under a normal distribution."""

_NODES = np.linspace(-7.5, 6.5, 29)
"""Nodes of the integral over the value of the class of the label, relative to the largest mean."""

_GROUP = 8
"""Examples of one draw in the moments of several classes."""

_ENTRIES = 2**21
"""Numbers in an array of several classes, examples and nodes."""

_FAR = 11.0
"""Standard deviations behind the largest value at which an example's slope is kept."""


@dataclass(frozen=True, eq=False)
class Moments:
    """Expectations under a normal distribution of w: sums over examples, which add up."""

    value: float
    """Of the log likelihood."""

    slope: Floats
    """(D,) of its derivatives."""

    precision: Floats
    """(D, D) of its negative second derivatives."""

    @classmethod
    def none(cls, dimension: int) -> Moments:
        """Return the sums over no examples."""
        return cls(0.0, np.zeros(dimension), np.zeros((dimension, dimension)))

    def __add__(self, other: Moments) -> Moments:
        return Moments(
            self.value + other.value, self.slope + other.slope, self.precision + other.precision
        )


class Block(Protocol):
    """The functions that an approximation and a sampler of the posterior need of a block."""

    def values(self, directions: Floats) -> NDArray[Any]:
        """Return the values at the examples of (k, D) weight vectors, for `log_likelihoods`."""

    def log_likelihoods(self, values: NDArray[Any], coefs: Floats) -> Floats:
        """Return those of functions with (n_functions, k) coefficients of given ones."""

    def moments(self, mean: Floats, root: Floats | None) -> Moments:
        """Return the moments under a normal distribution of w.

        Its covariance is ``root @ root.T``; None stands for 0.
        """

    def without_rows(self) -> Block:
        """Return what `log_likelihoods` needs, without the features."""


@dataclass(frozen=True, eq=False)
class TwoClasses:
    """A block of two classes."""

    rows: NDArray[Any]
    """(n, r) features times the label -1 or +1, divided by the standard deviation of the noise."""

    floors: Floats | None = None
    """(n,) probabilities of the labels for a function of the other sign; None: 0."""

    span: float = 1.0
    """What the probability of a label gains at most over its floor."""

    def without_rows(self) -> TwoClasses:
        """Return what `log_likelihoods` needs, without the features."""
        return replace(self, rows=self.rows[:0])

    def values(self, directions: Floats) -> NDArray[Any]:
        """Return the (k, n) values of k weight vectors."""
        return np.asarray(np.matmul(directions.astype(self.rows.dtype), self.rows.T))

    def log_likelihoods(self, values: NDArray[Any], coefs: Floats) -> Floats:
        """Return the log likelihoods of combinations of values."""
        return likelihood.two_classes(values, coefs, self.floors, self.span)

    def moments(self, mean: Floats, root: Floats | None) -> Moments:
        """Return the moments under a normal distribution of w."""
        parts = validation.blocks(len(self.rows), ROWS)
        each = (self._part(part)._moments(mean, root) for part in parts)
        return sum(each, Moments.none(len(mean)))

    def _part(self, examples: slice) -> TwoClasses:
        floors = None if self.floors is None else self.floors[examples]
        return replace(self, rows=self.rows[examples], floors=floors)

    def _moments(self, mean: Floats, root: Floats | None) -> Moments:
        value, slope, curvature = self.expected(mean, root)
        dtype = self.rows.dtype
        gradient = (slope.astype(dtype) @ self.rows).astype(np.float64)
        return Moments(float(value.sum()), gradient, weighted_outer(self.rows, curvature))

    def expected(self, mean: Floats, root: Floats | None) -> tuple[Floats, Floats, Floats]:
        """Return the expected log likelihood of each example, and its derivatives by the value.

        They are the first and the negative second derivatives.
        """
        dtype = self.rows.dtype
        t = (self.rows @ mean.astype(dtype)).astype(np.float64)
        if root is None:
            return self._derivatives(t)
        half = times_upper(self.rows, root)
        spread = np.sqrt(np.einsum("ij,ij->i", half, half, dtype=np.float64))
        found = np.zeros((3, len(t)))
        for point, weight in zip(_POINTS, _WEIGHTS, strict=True):
            for total, one in zip(found, self._derivatives(t + spread * point), strict=True):
                total += weight * one
        return found[0], found[1], found[2]

    def _derivatives(self, t: Floats) -> tuple[Floats, Floats, Floats]:
        """Return the log likelihood at values, its slope and its negative second derivative."""
        log_p = special.log_ndtr(t)
        log_slope = -0.5 * (t * t + math.log(2 * math.pi))
        if self.floors is not None:
            log_p = np.log(self.floors + self.span * np.exp(log_p))
            log_slope += math.log(self.span)
        slope = np.exp(log_slope - log_p)
        return log_p, slope, slope * (t + slope)


@dataclass(frozen=True, eq=False)
class SeveralClasses:
    """A block of several classes, each with a function; the functions sum to zero."""

    rows: NDArray[Any]
    """(n, r) features, divided by the standard deviation of the noise."""

    labels: NDArray[np.uint32]
    """(n,) classes."""

    n_classes: int

    noise: float = 0.0
    """Probability that a label was changed."""

    seed: int = 0
    """Seed of the draws that replace integrals in `moments`."""

    def without_rows(self) -> SeveralClasses:
        """Return what `log_likelihoods` needs, without the features."""
        return replace(self, rows=self.rows[:0])

    def values(self, directions: Floats) -> NDArray[Any]:
        """Return the (k, n_classes, n) values of k weight vectors."""
        r, dtype = self.rows.shape[1], self.rows.dtype
        each = directions.reshape(len(directions), self.n_classes - 1, r)
        by_class = np.matmul(contrasts(self.n_classes), each).reshape(-1, r)
        found = np.matmul(by_class.astype(dtype), self.rows.T)
        return np.asarray(found.reshape(len(directions), self.n_classes, -1))

    def log_likelihoods(self, values: NDArray[Any], coefs: Floats) -> Floats:
        """Return the log likelihoods of combinations of values."""
        return likelihood.several_classes(values, coefs, self.labels, self.noise)

    def moments(self, mean: Floats, root: Floats | None) -> Moments:
        """Return the moments under a normal distribution of w."""
        size = min(ROWS, _ENTRIES // (len(_NODES) * self.n_classes))
        parts = validation.blocks(len(self.labels), max(1, size // _GROUP) * _GROUP)
        rng = np.random.default_rng(self.seed)  # the same draws in every pass
        each = (self._part(part)._moments(mean, root, rng) for part in parts)
        return sum(each, Moments.none(len(mean)))

    def _part(self, examples: slice) -> SeveralClasses:
        return replace(self, rows=self.rows[examples], labels=self.labels[examples])

    def _moments(self, mean: Floats, root: Floats | None, rng: np.random.Generator) -> Moments:
        f = self.values(mean[None])[0].astype(np.float64)
        if root is None:
            value, by_f, curvature = self._derivatives(f)
        else:
            away = self._deviations(root, rng)
            pair = [self._derivatives(f + sign * away) for sign in (1, -1)]
            value, by_f, curvature = ((one + other) / 2 for one, other in zip(*pair, strict=True))
        rows, basis, dtype = self.rows, contrasts(self.n_classes), self.rows.dtype
        gradient = ((basis.T @ by_f).astype(dtype) @ rows).astype(np.float64)
        k, r = basis.shape[1], rows.shape[1]
        inner = np.einsum("ca,icd,db->iab", basis, curvature, basis, optimize=True)
        precision = np.empty((k, r, k, r))
        for a in range(k):
            for b in range(a + 1):
                precision[a, :, b, :] = weighted_outer(rows, inner[:, a, b])
                precision[b, :, a, :] = precision[a, :, b, :]
        return Moments(float(value.sum()), gradient.ravel(), precision.reshape(k * r, k * r))

    def _deviations(self, root: Floats, rng: np.random.Generator) -> Floats:
        """Return the values of a draw of w minus its mean, another draw for each few examples.

        Integrals over the functions of all classes are means over such draws and their negatives:
        the errors of many groups average out.
        """
        n, r = self.rows.shape
        groups = -(-n // _GROUP)
        z = rng.standard_normal((groups, len(root)))
        w = np.matmul(contrasts(self.n_classes), (z @ root.T).reshape(groups, -1, r))
        padded = np.zeros((groups * _GROUP, r), dtype=self.rows.dtype)
        padded[:n] = self.rows
        by_group = np.matmul(w.astype(padded.dtype), padded.reshape(groups, _GROUP, r).mT)
        found = np.moveaxis(by_group, 0, 1).reshape(self.n_classes, -1)[:, :n]
        return np.asarray(found, dtype=np.float64)

    def _derivatives(self, f: Floats) -> tuple[Floats, Floats, Floats]:
        """Return the log likelihood at (n_classes, n) values with its derivatives.

        These are (n_classes, n) slopes, and (n, n_classes, n_classes) negative second derivatives.
        """
        labels, examples = self.labels, np.arange(len(self.labels))
        own = f[labels, examples]
        behind = np.minimum(f.max(axis=0) - own, _FAR)
        u = _NODES + behind[:, None]
        ahead = (own - f).T  # 0 for the class itself, which is left out below
        t = u[:, :, None] + ahead[:, None, :]
        log_below = special.log_ndtr(t)
        hazard = np.exp(-0.5 * (t * t + math.log(2 * math.pi)) - log_below)
        log_below[examples, :, labels] = 0.0
        hazard[examples, :, labels] = 0.0
        log_weight = log_below.sum(axis=2) - 0.5 * (u * u + math.log(2 * math.pi))
        log_p = special.logsumexp(log_weight, axis=1) + math.log(_NODES[1] - _NODES[0])
        weight = special.softmax(log_weight, axis=1)
        first = np.einsum("ik,ikc->ic", weight, hazard)
        second = -np.einsum("ikc,ikd->icd", weight[:, :, None] * hazard, hazard)
        second += first[:, :, None] * first[:, None, :]
        diagonal = np.einsum("ik,ikc->ic", weight, hazard * t) + first**2
        second[:, np.arange(self.n_classes), np.arange(self.n_classes)] = diagonal
        # From distances to values: f of the label minus f of another class.
        slope = -first
        slope[examples, labels] = first.sum(axis=1)
        rows = second.sum(axis=2)
        second[examples, labels, :] = -rows
        second[examples, :, labels] = -rows
        second[examples, labels, labels] = rows.sum(axis=1)
        if self.noise:
            other = self.noise / (self.n_classes - 1)
            span = 1 - self.noise - other
            noisy = np.log(other + span * np.exp(log_p))
            share = span * np.exp(log_p - noisy)
            slope *= share[:, None]
            second *= share[:, None, None]
            log_p = noisy
        return log_p, slope.T, second


def contrasts(n_classes: int) -> Floats:
    """Return an (n_classes, n_classes - 1) orthonormal basis of vectors that sum to zero."""
    basis = np.zeros((n_classes, n_classes - 1))
    for k in range(n_classes - 1):
        basis[: k + 1, k] = 1.0
        basis[k + 1, k] = -(k + 1.0)
        basis[:, k] /= math.sqrt((k + 1.0) * (k + 2.0))
    return basis
