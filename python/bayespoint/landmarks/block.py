r"""The likelihood of a block of examples under functions of few dimensions.

A weight vector w, of D dimensions in all, gives each example one value, or one for each class,
divided by the standard deviation of the noise: the square root of its softness and of what the
features miss of its variance. The posterior is the product of the likelihoods of all blocks and a
standard normal density of w.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from bayespoint.base import validation
from bayespoint.base.linalg import times_upper, weighted_outer
from bayespoint.base.validation import Floats
from bayespoint.data.examples import ROWS, Examples
from bayespoint.data.executors import Executor
from bayespoint.engine.likelihood import NODES, Trials, sums_of_rows, values_of_rows
from bayespoint.landmarks.basis import Basis
from bayespoint.likelihood import Likelihood, OrderedClasses, SeveralClasses, TwoClasses

_POINTS, _WEIGHTS = np.polynomial.hermite_e.hermegauss(9)  # of normal expectations
_WEIGHTS = _WEIGHTS / _WEIGHTS.sum()
_GROUP = 8  # examples of one draw in the moments of several classes
_ENTRIES = 2**21  # numbers in an array of several classes, examples and nodes


@dataclass(frozen=True, eq=False)
class Moments:
    """Expectations under a normal distribution of w: sums over examples, which add up."""

    value: float  # of the log likelihood
    slope: Floats  # (D,) of its derivatives
    precision: Floats  # (D, D) of its negative second derivatives

    def __add__(self, other: Moments) -> Moments:
        return Moments(
            self.value + other.value, self.slope + other.slope, self.precision + other.precision
        )


@dataclass(frozen=True, eq=False)
class Block:
    """A block of examples; `BinaryBlock`, `OrderedBlock` and `JointBlock` have the formulas."""

    rows: NDArray[Any]  # (n, r) features, divided by the standard deviation of the noise
    likelihood: Any
    given: NDArray[Any] | None = None  # (n,) what `likelihood` is told of each label; None: nothing
    seed: int = 0  # seed of the draws that replace integrals over several functions
    counts: Floats | None = None  # (n,) multiples of each example's log likelihood; None: 1

    def part(self, examples: slice) -> Block:
        """Return the block of some of the examples."""
        given, counts = (
            None if each is None else each[examples] for each in (self.given, self.counts)
        )
        return replace(self, rows=self.rows[examples], given=given, counts=counts)

    def without_rows(self) -> Block:
        """Return what `log_likelihoods` needs, without the features."""
        return replace(self, rows=self.rows[:0])

    def log_likelihoods(self, values: Sequence[NDArray[Any]], trials: Trials) -> Floats:
        """Return the log likelihoods of trials, each with its derivatives by the two factors."""
        found: Floats = self.likelihood.log_likelihoods(values, trials, self.given, self.counts)
        return found

    def slopes(self, values: Sequence[NDArray[Any]], trials: Trials) -> Floats:
        """Return the (n_trials, D) derivatives of log likelihoods by the weight vector."""
        law = self.likelihood.log_likelihoods
        by_value = law(values, trials, self.given, self.counts, by_value=True)
        return self._by_weight(by_value).astype(np.float64)

    def moments(self, mean: Floats, root: Floats | None) -> Moments:
        """Return the moments under a normal distribution of covariance ``root root^T``; None: 0."""
        rng = np.random.default_rng(self.seed)  # the same draws in every pass
        size = ROWS
        if isinstance(self, JointBlock):
            nodes = len(NODES) * self.likelihood.n_classes
            size = max(1, min(ROWS, _ENTRIES // nodes) // _GROUP) * _GROUP
        parts = validation.blocks(len(self.rows), size)
        each = (self.part(part)._moments(mean, root, rng) for part in parts)
        nothing = Moments(0.0, np.zeros(len(mean)), np.zeros((len(mean), len(mean))))
        return sum(each, nothing)

    def values(self, directions: Floats) -> NDArray[Any]:
        """Return the (k, [n_values,] n) values of k weight vectors."""
        raise NotImplementedError

    def _by_weight(self, by_value: NDArray[Any]) -> NDArray[Any]:
        """Return the (k, D) derivatives by weights from those by (k, [n_values,] n) values."""
        raise NotImplementedError

    def _moments(self, mean: Floats, root: Floats | None, rng: np.random.Generator) -> Moments:
        raise NotImplementedError


class BinaryBlock(Block):
    """A block of two classes.

    The `rows` are multiplied by the label -1 or +1; `given` are the probabilities of the labels for
    a function of the other sign, None if all are 0.
    """

    likelihood: TwoClasses

    def values(self, directions: Floats) -> NDArray[Any]:
        """Return the (k, n) values of k weight vectors."""
        return values_of_rows(self.rows, directions)

    def _by_weight(self, by_value: NDArray[Any]) -> NDArray[Any]:
        return sums_of_rows(self.rows, by_value)

    def _moments(self, mean: Floats, root: Floats | None, rng: np.random.Generator) -> Moments:
        value, slope, curvature = self.expected(mean, root)
        if self.counts is not None:
            value, slope, curvature = (self.counts * each for each in (value, slope, curvature))
        gradient = (slope.astype(self.rows.dtype) @ self.rows).astype(np.float64)
        return Moments(float(value.sum()), gradient, weighted_outer(self.rows, curvature))

    def expected(self, mean: Floats, root: Floats | None) -> Any:
        """Return expected log likelihoods, with first and negative second derivatives by values."""
        t = self.values(mean[None])[0].astype(np.float64)
        if root is None:
            return self.likelihood.derivatives(t, self.given)
        half = times_upper(self.rows, root)
        spread = np.sqrt(np.einsum("ij,ij->i", half, half, dtype=np.float64))
        if t.ndim == 2:  # widths of intervals stay: their logarithms have no expectation
            spread = np.stack([spread, np.zeros_like(spread)])
        found: Any = 0.0
        for point, weight in zip(_POINTS, _WEIGHTS, strict=True):
            found += weight * np.stack(self.likelihood.derivatives(t + spread * point, self.given))
        return found


class OrderedBlock(BinaryBlock):
    """A block of ordered classes, whose thresholds are the last weights.

    The values of an example are the function minus the middle of the interval of its label, or the
    distance inside from the only end, and half the interval's width, 0 with one end. The last
    columns of `rows` are those of the middles. `given` are the classes, uint32.
    """

    likelihood: OrderedClasses  # type: ignore[assignment]
    given: NDArray[np.uint32]

    def values(self, directions: Floats) -> NDArray[Any]:
        """Return the (k, 2, n) values of k weight vectors."""
        widths = directions[:, -self.likelihood.n_thresholds :] @ self.likelihood.widths.T
        halves = self._halves * widths.astype(self.rows.dtype)[:, self.given]
        return np.stack([super().values(directions), halves], axis=1)

    def _by_weight(self, by_value: NDArray[Any]) -> NDArray[Any]:
        found = super()._by_weight(by_value[:, 0]).astype(np.float64)
        by_width = self._by_class(by_value[:, 1] * self._halves)
        found[:, -self.likelihood.n_thresholds :] += by_width @ self.likelihood.widths
        return found

    def _moments(self, mean: Floats, root: Floats | None, rng: np.random.Generator) -> Moments:
        found = self.expected(mean, root) * (1.0 if self.counts is None else self.counts)
        value, slopes, (curvature, mixed, by_half) = found[0], found[1:3], found[3:]
        law, halves = self.likelihood, self._halves
        last = slice(len(mean) - law.n_thresholds, None)
        precision = weighted_outer(self.rows, curvature)
        of_class = np.where(np.arange(law.n_classes)[:, None] == self.given, halves * mixed, 0.0)
        across = law.widths.T @ sums_of_rows(self.rows, of_class)
        precision[last] += across
        precision[:, last] += across.T
        by_width = self._by_class((halves**2 * by_half)[None])[0]
        precision[last, last] += (law.widths.T * by_width) @ law.widths
        return Moments(float(value.sum()), self._by_weight(slopes[None])[0], precision)

    @property
    def _halves(self) -> NDArray[Any]:
        """(n,) Half the width of a bounded interval whose thresholds' weights are 1 apart."""
        columns = self.rows[:, -self.likelihood.n_thresholds :]
        own = np.minimum(self.given, self.likelihood.n_thresholds - 1)
        return -columns[np.arange(len(columns)), own]

    def _by_class(self, values: NDArray[Any]) -> Floats:
        """Return the (k, n_classes) sums of (k, n) values."""
        n_classes = self.likelihood.n_classes
        return np.stack([np.bincount(self.given, one, n_classes) for one in values])


class JointBlock(Block):
    """A block of several classes, with functions of sum zero; `given` are the classes, uint32."""

    likelihood: SeveralClasses

    def values(self, directions: Floats) -> NDArray[Any]:
        """Return the (k, n_classes, n) values of k weight vectors."""
        w = by_class(directions, self.likelihood.n_classes)
        found = values_of_rows(self.rows, w.reshape(-1, w.shape[-1]))
        return found.reshape(*w.shape[:-1], -1)

    def _by_weight(self, by_value: NDArray[Any]) -> NDArray[Any]:
        across = contrasts(self.likelihood.n_classes).T.astype(by_value.dtype)
        inner = np.matmul(across, by_value).reshape(-1, by_value.shape[-1])
        return sums_of_rows(self.rows, inner).reshape(len(by_value), -1)

    def _moments(self, mean: Floats, root: Floats | None, rng: np.random.Generator) -> Moments:
        f = self.values(mean[None])[0].astype(np.float64)
        assert self.given is not None
        if root is None:
            value, by_f, curvature = self.likelihood.derivatives(f, self.given)
        else:
            away = self._deviations(root, rng)
            pair = [self.likelihood.derivatives(f + one, self.given) for one in (away, -away)]
            value, by_f, curvature = ((one + other) / 2 for one, other in zip(*pair, strict=True))
        if self.counts is not None:
            value, by_f = self.counts * value, self.counts * by_f
            curvature = self.counts[:, None, None] * curvature
        rows, basis = self.rows, contrasts(self.likelihood.n_classes)
        gradient = ((basis.T @ by_f).astype(rows.dtype) @ rows).astype(np.float64)
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
        w = by_class(rng.standard_normal((groups, len(root))) @ root.T, self.likelihood.n_classes)
        padded = np.zeros((groups * _GROUP, r), dtype=self.rows.dtype)
        padded[:n] = self.rows
        by_group = np.matmul(w.astype(padded.dtype), padded.reshape(groups, _GROUP, r).mT)
        found = np.moveaxis(by_group, 0, 1).reshape(w.shape[1], -1)[:, :n]
        return np.asarray(found, dtype=np.float64)


def make_block(
    examples: Examples, seed: int, basis: Basis, likelihood: Likelihood, softness: float, dtype: Any
) -> Block:
    """Return a block of examples with its features, of the type `dtype`."""
    n = len(examples.label)
    signs, thresholds = np.ones(n), None
    if isinstance(likelihood, TwoClasses):
        signs = likelihood.codes(examples.label).astype(np.float64)
    elif isinstance(likelihood, OrderedClasses):
        signs[examples.label == 0] = -1.0
        thresholds = -math.sqrt(likelihood.variance) * likelihood.middles[examples.label]
    rows = np.empty((n, len(basis) + likelihood.n_thresholds), dtype=dtype)
    for part in validation.blocks(n, ROWS):
        some = examples.part(part)
        psi = basis.features(some.inputs)
        variance = softness / some.precision + basis.missed(some.inputs, psi)
        scale = signs[part] / np.sqrt(variance)
        if thresholds is not None:
            psi = np.concatenate([psi, thresholds[part]], axis=1)
        np.multiply(psi, scale[:, None], out=rows[part], casting="same_kind")
    given = seed, examples.counts
    if isinstance(likelihood, TwoClasses):
        return BinaryBlock(rows, likelihood, likelihood.floors(examples.label == 1), *given)
    kind = OrderedBlock if likelihood.n_thresholds else JointBlock
    return kind(rows, likelihood, examples.label.astype(np.uint32), *given)


@dataclass(frozen=True, eq=False)
class Turns:
    """Turns of k balls on their circles: places and directions become combinations of both."""

    balls: NDArray[np.int64]  # (k,)
    places: Floats  # (k, 2) factors of place and direction in the new places
    directions: Floats  # (k, 2) the same in the new directions
    added: Floats  # (k, D) what is added to these


class BlockSums:
    """The likelihood of all examples: sums over `blocks`, kept or deferred, by an executor."""

    def __init__(self, executor: Executor, blocks: Sequence[Any]) -> None:
        self.executor, self.blocks = executor, list(blocks)
        # The likelihood of values needs the labels alone.
        self._labels = executor.keep(Block.without_rows, self.blocks)
        self._values: list[Any] = []

    def moments(self, mean: Floats, root: Floats | None) -> Moments:
        """Return the moments of all examples under a normal distribution of w."""
        found: Moments = self.executor.total(Block.moments, self.blocks, common=(mean, root))
        return found

    def start(self, vectors: Floats) -> None:
        """Compute the values of all examples for the mean, and place and direction of each ball."""
        self._values = []  # the memory of the last ones first
        self._values = self.executor.keep(_values, self.blocks, common=(vectors,))

    def turn(
        self, balls: NDArray[np.int64], places: Floats, directions: Floats, added: Floats
    ) -> None:
        """Turn balls: see `Turns`."""
        turns = Turns(balls, places, directions, added)
        self._values = self.executor.keep(_turned, self.blocks, self._values, common=(turns,))

    def log_likelihoods(self, trials: Trials) -> Floats:
        """Return those of trials, each with its derivatives by the two factors."""
        columns = self._labels, self._values
        found: Floats = self.executor.total(Block.log_likelihoods, *columns, common=(trials,))
        return found

    def slopes(self, trials: Trials) -> Floats:
        """Return the (n_trials, D) derivatives by the weight vector."""
        columns = self.blocks, self._values
        found: Floats = self.executor.total(Block.slopes, *columns, common=(trials,))
        return found


def _values(block: Block, vectors: Floats) -> list[NDArray[Any]]:
    return list(block.values(vectors))


def _turned(block: Block, values: Sequence[NDArray[Any]], turns: Turns) -> list[NDArray[Any]]:
    found, kind = list(values), values[0].dtype
    pairs = turns.places.astype(kind), turns.directions.astype(kind), block.values(turns.added)
    for ball, (a, b), (c, d), added in zip(turns.balls.tolist(), *pairs, strict=True):
        place, direction = values[1 + 2 * ball], values[2 + 2 * ball]
        found[1 + 2 * ball] = a * place + b * direction
        if c or d:
            added += c * place + d * direction
        found[2 + 2 * ball] = added
    return found


def by_class(w: Floats, n_classes: int) -> Floats:
    """Return the (..., n_classes, r) weights of each class's function, of (..., D) vectors w."""
    each = w.reshape(*w.shape[:-1], n_classes - 1, -1)
    return np.asarray(np.matmul(contrasts(n_classes), each))


def contrasts(n_classes: int) -> Floats:
    """Return an (n_classes, n_classes - 1) orthonormal basis of vectors that sum to zero."""
    return np.ascontiguousarray(linalg.helmert(n_classes).T)
