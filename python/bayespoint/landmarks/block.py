r"""The likelihood of a block of observations under functions of few dimensions.

A weight vector w, of D dimensions in all, gives each observation latent values, divided by the
standard deviation of the noise: the square root of its softness and of what the features miss of
its variance. Its label is a law of contrasts of these. The posterior is the product of the
likelihoods of all blocks and a standard normal density of w.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from bayespoint.base import validation
from bayespoint.base.linalg import times_upper, weighted_outer
from bayespoint.base.validation import Array, Floats, Indices, Integers
from bayespoint.data.examples import ROWS, Examples
from bayespoint.data.executors import Executor
from bayespoint.engine.laws import Derivatives, Observed, Trials, sums_of_rows, values_of_rows
from bayespoint.labels import Labels
from bayespoint.landmarks.basis import Basis

_POINTS, _WEIGHTS = np.polynomial.hermite_e.hermegauss(9)  # of normal expectations
_WEIGHTS = _WEIGHTS / _WEIGHTS.sum()
_GROUP = 8  # observations of one draw in the moments of several latent values
_VECTORS = 16  # functions whose values are computed together
_ENTRIES = 2**21  # numbers in an array of second derivatives


@dataclass(frozen=True, eq=False)
class Moments:
    """Expectations under a normal distribution of w: sums over observations, which add up."""

    value: float  # of the log likelihood
    slope: Floats  # (D,) of its derivatives
    precision: Floats  # (D, D) of its negative second derivatives

    def __add__(self, other: Moments) -> Moments:
        return Moments(
            self.value + other.value, self.slope + other.slope, self.precision + other.precision
        )


@dataclass(frozen=True, eq=False)
class Block:
    """A block of n observations, in the order of their labels unless contrasts are values.

    Of q basis functions at I inputs an observation has q I values, and its contrasts are `table`
    times these and the shared coordinates, which are the last weights.
    """

    rows: Array  # (I, n, r) features, divided by the standard deviation of the noise
    label: Indices  # (n,)
    scale: Floats  # (n,) one over this deviation, for shared coordinates
    table: Floats  # (n_labels, n_contrasts, q I + n_shared)
    constants: Floats  # (n_labels, n_contrasts) infinite for contrasts that a label lacks
    n_shared: int
    observed: Observed
    seed: int  # seed of the draws that replace integrals over several values

    @classmethod
    def of(
        cls,
        rows: Array,
        label: Indices,
        scale: Floats,
        labels: Labels,
        seed: int = 0,
    ) -> Block:
        """Return the block of observations with these labels, in any order."""
        table = labels.of_weights
        if table.shape[1:] == (1, 1):  # the contrast is a multiple of the value: one less pass
            rows = rows * table[label].astype(rows.dtype).swapaxes(0, 1)
            table = np.ones(table.shape)
        else:
            order = np.argsort(label, kind="stable")
            label, rows, scale = label[order], rows[:, order], scale[order]
        observed = labels.observations(label)
        return cls(rows, label, scale, table, labels.constants, labels.n_shared, observed, seed)

    def part(self, rows: slice) -> Block:
        """Return the block of some of the observations."""
        return replace(
            self,
            rows=self.rows[:, rows],
            label=self.label[rows],
            scale=self.scale[rows],
            observed=self.observed.part(rows),
        )

    def without_rows(self) -> Observed:
        """Return what likelihoods of contrasts need, without the features."""
        return self.observed

    def slopes(self, contrasts: Sequence[Array], trials: Trials) -> Floats:
        """Return the (n_trials, D) derivatives of log likelihoods by the weight vector."""
        by_contrast = self.observed.log_likelihoods(contrasts, trials, by_contrast=True)
        return self.by_weight(by_contrast).astype(np.float64)

    def at_paths(self, vectors: Floats) -> list[Array]:
        """Return the contrasts for a mean, and for places and directions."""
        first, *others = self.contrasts(vectors)
        return [first + self._lacking.astype(first.dtype), *others]

    def contrasts(self, directions: Floats) -> Array:
        """Return the (k, n_contrasts, n) contrasts for k weight vectors, all finite."""
        k, (n_inputs, n, r) = len(directions), self.rows.shape
        w, shared = np.split(directions, [directions.shape[1] - self.n_shared], axis=1)
        n_values = self.table.shape[2] - self.n_shared
        rows, w = self.rows.reshape(n_inputs * n, r), w.reshape(k * n_values // n_inputs, r)
        values = values_of_rows(rows, w).reshape(k, n_values, n)
        if self._is_plain:
            return values
        found = self._tabled(values)
        for part, table in self._by_label(values.dtype) if self.n_shared else ():
            moved = shared.astype(values.dtype) @ table[:, n_values:].T
            found[..., part] += moved[..., None] * self.scale[part].astype(values.dtype)
        return found

    def by_weight(self, by_contrast: Array) -> Array:
        """Return the (k, D) derivatives by weights from those by (k, n_contrasts, n) contrasts."""
        k, (inputs, n, r) = len(by_contrast), self.rows.shape
        by_value, shared = by_contrast, np.zeros((k, 0))
        if not self._is_plain:
            by_value = np.empty((k, self.table.shape[2], n), dtype=by_contrast.dtype)
            for part, table in self._by_label(by_contrast.dtype):
                np.matmul(table.T, by_contrast[..., part], out=by_value[..., part])
            by_value, rest = np.split(by_value, [by_value.shape[1] - self.n_shared], axis=1)
            shared = rest @ self.scale
        factors = by_value.reshape(k * by_value.shape[1] // inputs, inputs * n)
        sums = sums_of_rows(self.rows.reshape(inputs * n, r), factors)
        return np.concatenate([sums.reshape(k, -1), shared], axis=1)

    def moments(self, mean: Floats, root: Floats | None, softness: float = 0.0) -> Moments:
        """Return the moments under a normal distribution of covariance ``root root^T``; None: 0.

        `softness` is the least one, relative to the variance of a value.
        """
        if softness:
            return self._softened(softness).moments(mean, root)
        rng = np.random.default_rng(self.seed)  # the same draws in every pass
        size = max(1, min(ROWS, _ENTRIES // self.table.shape[1] ** 2) // _GROUP) * _GROUP
        total = Moments(0.0, np.zeros(len(mean)), np.zeros((len(mean), len(mean))))
        for rows in validation.blocks(len(self.label), size):
            part = self.part(rows)
            value, slopes, curvatures = part.expected(mean, root, rng)
            slope = part.by_weight(slopes[None].astype(self.rows.dtype))[0].astype(np.float64)
            total += Moments(float(value.sum()), slope, part._precision(curvatures))
        return total

    def _softened(self, softness: float) -> Block:
        squares = np.einsum("anr,anr->an", self.rows, self.rows).max(axis=0)
        factor = np.minimum(1.0, (softness * np.maximum(squares, 1.0)) ** -0.5)
        if factor.min(initial=1.0) == 1:
            return self
        rows = self.rows * factor.astype(self.rows.dtype)[:, None]
        return replace(self, rows=rows, scale=self.scale * factor)

    def expected(self, mean: Floats, root: Floats | None, rng: np.random.Generator) -> Derivatives:
        """Return the expectations of log likelihoods and their derivatives."""
        contrasts = self.contrasts(mean[None])[0].astype(np.float64) + self._lacking
        if root is None:
            return self.observed.derivatives(contrasts)
        total: Any = None
        for weight, away in self._nodes(root, rng):
            parts = [weight * part for part in self.observed.derivatives(contrasts + away)]
            total = parts if total is None else [a + b for a, b in zip(total, parts, strict=True)]
        return Derivatives(*total)

    def _nodes(self, root: Floats, rng: np.random.Generator) -> Iterator[tuple[float, Floats]]:
        """Yield weights and (n_contrasts, n) deviations of contrasts under a normal distribution.

        A single value has Gauss-Hermite nodes: distances between shared coordinates stay, since
        their logarithms have no expectation. Several values have a draw of w and its negative,
        another one for each few observations: the errors of many groups average out.
        """
        n_values = self.table.shape[2] - self.n_shared
        if n_values > 1:
            away = self._tabled(self._deviations(root, rng))
            yield from ((0.5, away), (0.5, -away))
            return
        rows = self.rows[0]
        if self.n_shared:  # of the middle between the walls of each label
            middles = np.linalg.pinv(self.table[..., :1]) @ self.table[..., 1:]
            middle = middles[self.label, 0] * self.scale[:, None]
            rows = np.concatenate([rows, middle.astype(rows.dtype)], axis=1)
        half = times_upper(rows, root)
        spread = np.sqrt(np.einsum("ij,ij->i", half, half, dtype=np.float64))
        away = self._tabled(spread[None])
        for point, weight in zip(_POINTS, _WEIGHTS, strict=True):
            yield weight, point * away

    def _deviations(self, root: Floats, rng: np.random.Generator) -> Floats:
        """Return the (n_values, n) values of draws of w minus their means."""
        inputs, n, r = self.rows.shape
        groups = -(-n // _GROUP)
        w = (rng.standard_normal((groups, len(root))) @ root.T).reshape(groups, -1, r)
        padded = np.zeros((inputs, groups * _GROUP, r), dtype=self.rows.dtype)
        padded[:, :n] = self.rows
        padded = padded.reshape(inputs, groups, _GROUP, r)
        values = np.moveaxis(np.matmul(w.astype(padded.dtype), padded.mT), 2, 1)
        values = values.reshape(inputs * w.shape[1], -1)[:, :n]
        return np.asarray(values, dtype=np.float64)

    def _precision(self, curvatures: Floats) -> Floats:
        """Return the (D, D) sums of second derivatives, from (n_contrasts, n_contrasts, n)."""
        inputs, n, r = self.rows.shape
        inner = curvatures
        if not self._is_plain:
            width = self.table.shape[2]
            inner = np.empty((width, width, n))
            for part, table in self._by_label(np.float64):
                half = np.tensordot(table.T, curvatures[..., part], 1)
                inner[..., part] = np.einsum("acn,cb->abn", half, table)
        q = (len(inner) - self.n_shared) // inputs
        whole = np.zeros((q * r + self.n_shared,) * 2)
        of_functions = whole[: q * r, : q * r].reshape(q, r, q, r)
        if inputs > 1:
            for b, rows in enumerate(self.rows):
                other = np.einsum("anr,an->nr", self.rows, inner[:, b].astype(rows.dtype))
                of_functions[0, :, 0] += other.T @ rows
        else:
            for a in range(q):
                for b in range(a + 1):
                    of_functions[a, :, b] = weighted_outer(self.rows[0], inner[a, b])
                    of_functions[b, :, a] = of_functions[a, :, b]
        if self.n_shared:
            last = slice(-self.n_shared, None)
            across = sums_of_rows(self.rows[0], inner[0, last] * self.scale)
            whole[last, :r], whole[:r, last] = across, across.T
            whole[last, last] = inner[last, last] @ self.scale**2
        return whole

    @property
    def _is_plain(self) -> bool:
        """Whether the contrast of an observation is its value."""
        return self.table.shape[1:] == (1, 1)

    @property
    def _lacking(self) -> Floats:
        """(n_contrasts, n) Infinity for the contrasts that observations lack."""
        return self.constants[self.label].T

    def _by_label(self, dtype: Any) -> Iterator[tuple[slice, Array]]:
        """Yield the observations of each label with its table."""
        ends = np.searchsorted(self.label, np.arange(len(self.table) + 1))
        for first, last, table in zip(ends, ends[1:], self.table, strict=False):
            if first < last:
                yield slice(first, last), table.astype(dtype)

    def _tabled(self, values: Array) -> Array:
        """Return the (..., n_contrasts, n) contrasts of (..., q I, n) values."""
        *several, n_values, n = values.shape
        found = np.empty((*several, self.table.shape[1], n), dtype=values.dtype)
        for part, table in self._by_label(values.dtype):
            np.matmul(table[:, :n_values], values[..., part], out=found[..., part])
        return found


def make_block(
    examples: Examples, seed: int, basis: Basis, labels: Labels, softness: float, dtype: Any
) -> Block:
    """Return a block of examples with its features, of the type `dtype`."""
    n, inputs = len(examples.label), labels.n_inputs
    rows, scale = np.empty((inputs, n, len(basis)), dtype=dtype), np.empty(n)
    for part in validation.blocks(n, ROWS):
        some = examples.part(part)
        points = some.inputs
        if inputs > 1:
            points = points.reshape(len(some.label) * inputs, -1)
        psi = basis.features(points)
        # What the features miss of several inputs counts as their mean.
        missed = basis.missed(points, psi).reshape(-1, inputs).mean(axis=1)
        variance = labels.softness(softness) / some.precision + missed
        scale[part] = 1 / np.sqrt(variance)
        by_input = psi.reshape(-1, inputs, len(basis)).swapaxes(0, 1)
        np.multiply(by_input, scale[part, None], out=rows[:, part], casting="same_kind")
    return Block.of(rows, examples.label, scale, labels, seed)


class BlockSums:
    """The likelihood of all examples: sums over `blocks`, kept or deferred, by an executor."""

    def __init__(self, executor: Executor, blocks: Sequence[Any]) -> None:
        self.executor, self.blocks = executor, list(blocks)
        self._observed = executor.keep(Block.without_rows, (self.blocks,))
        self._values: list[Any] = []

    def moments(self, mean: Floats, root: Floats | None, softness: float = 0.0) -> Moments:
        """Return the moments of all examples under a normal distribution of w."""
        work = partial(Block.moments, mean=mean, root=root, softness=softness)
        return self.executor.total(work, (self.blocks,))

    def log_likelihoods_at(self, vectors: Floats) -> Floats:
        """Return the log likelihoods of an even number of weight vectors, a few at a time."""
        found = []
        for rows in validation.blocks(len(vectors), _VECTORS):
            some = vectors[rows]
            self.start(np.concatenate([np.zeros_like(some[:1]), some]))  # places and directions
            trials = np.arange(len(some)) // 2, np.tile(np.eye(2), (len(some) // 2, 1))
            found.append(self.log_likelihoods(trials)[:, 0])
        return np.concatenate(found)

    def start(self, vectors: Floats) -> None:
        """Compute the values of all examples for the mean, and place and direction of each ball."""
        self._values = []  # the memory of the last ones first
        self._values = self.executor.keep(partial(Block.at_paths, vectors=vectors), (self.blocks,))

    def turn(self, balls: Integers, places: Floats, directions: Floats, added: Floats) -> None:
        """Turn (k,) balls on their circles: places and directions are combinations of the old ones.

        `places` and `directions` are (k, 2) factors of these, and (k, D) `added` is added to the
        new directions.
        """
        factors = np.hstack([places, directions])
        turn = partial(_turned, balls=balls.tolist(), factors=factors, added=added)
        self._values = self.executor.keep(turn, (self.blocks, self._values))

    def log_likelihoods(self, trials: Trials) -> Floats:
        """Return those of trials, each with its derivatives by the two factors."""
        work = partial(Observed.log_likelihoods, trials=trials)
        return self.executor.total(work, (self._observed, self._values))

    def slopes(self, trials: Trials) -> Floats:
        """Return the (n_trials, D) derivatives by the weight vector."""
        work = partial(Block.slopes, trials=trials)
        return self.executor.total(work, (self.blocks, self._values))


def _turned(
    block: Block,
    values: Sequence[Array],
    balls: Sequence[int],
    factors: Floats,
    added: Floats,
) -> list[Array]:
    turned, factors = list(values), factors.astype(values[0].dtype)
    for ball, (a, b, c, d), moved in zip(balls, factors, block.contrasts(added), strict=True):
        place, direction = values[1 + 2 * ball], values[2 + 2 * ball]
        turned[1 + 2 * ball] = a * place + b * direction
        if c or d:
            moved += c * place + d * direction
        turned[2 + 2 * ball] = moved
    return turned
