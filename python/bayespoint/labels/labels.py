r"""What labels say: some contrasts of noisy latent values are positive.

===============  ================================  ==========================================
labels           latent values of an observation   contrasts
===============  ================================  ==========================================
two classes      f(x)                              f or -f
ordered classes  f(x), and thresholds t of all     :math:`f - t_{y-1}` and :math:`t_y - f`
several classes  :math:`f_1(x), ..., f_C(x)`       :math:`f_y - f_c` for all other classes c
a choice         :math:`f(x_1), ..., f(x_k)`       f of the chosen one minus f of each other
===============  ================================  ==========================================

Thresholds rise (Chu and Ghahramani, "Gaussian processes for ordinal regression", Journal of Machine
Learning Research 6, 2005); a priori they are independent and normal, but for their order. A
function common to all classes changes no label, so functions of classes sum to zero. Choices follow
L. L. Thurstone, "A Law of Comparative Judgment", Psychological Review 34, 1927.

A wrong label, :math:`\kappa` times as probable as the right one each, is a mixture around any law.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from scipy import linalg, special

from bayespoint.base.linalg import Inverse
from bayespoint.base.stored import Stored
from bayespoint.base.validation import Flags, Floats, Indices, Noise
from bayespoint.data.examples import Examples
from bayespoint.engine.laws import Observed
from bayespoint.engine.problem import Problem
from bayespoint.engine.walls import Walls
from bayespoint.kernels import Differences
from bayespoint.kernels.gram import Gram
from bayespoint.labels.laws import LARGEST_Z, Interval, LargestOf, Law, OneWall, log_of
from bayespoint.results.lengths import Lengths

RULES = ("probability", "median", "mean")

_PARTS = 20  # number of parts of the draws whose differences tell the error of leave-one-out
_LARGEST_ERROR = 2.0  # of log odds, of two parts; also stands for that of a single draw
_LARGEST_SPREAD = 2.0
"""Variance of a function over landmarks at an example, in that of the noise, from which the error
of leave-one-out is taken to be the largest: it was up to 0.6 where few draws told of any."""
_LEAST_PART = 1e-12  # least square of the length of the values of all other examples


class LeftOutValues(NamedTuple):
    """Predictions of n examples, each given all others, by sums over draws."""

    z: Floats  # (n, n_rows) decision values
    error: Floats  # (n,) standard errors of the log odds of the examples' true classes


class Problems(NamedTuple):
    """The labels of m examples as C problems of one value, whose evidences approximate theirs."""

    positive: Flags  # (C, m) labels of each problem
    ends: Floats | None  # (m, 2) interval of each label, in deviations of a noisy value, or None
    others: int  # number of the labels that a wrong one may be
    share: float  # share of the sum of the evidences that counts

    def rates(self, label_noise: Noise) -> Noise:
        """Return the probability of a wrong label of truly negative and truly positive examples."""
        return label_noise[0] / self.others, label_noise[1]

    def by_noise(self, by_rates: Floats) -> Floats:
        """Return the derivatives by label noise, from those by the rates of the problems."""
        return np.array([by_rates[0] / self.others, by_rates[1]])

    def left_out(self, p: Floats) -> Floats:
        """Return the (m,) probability of each label given all others, or (C, m) of each class.

        `p` are those of the labels of the problems, (C, m).
        """
        if len(p) == 1:
            return p[0]
        p = np.where(self.positive, p, 1 - p)
        return p / p.sum(axis=0)


@dataclass(frozen=True, eq=False)
class Labels(Stored):
    """The labels of a model: contrasts of latent values, their law, label noise, and predictions.

    A label is an index: of a class, or of a choice out of k items k - 2. Latent values are those of
    functions at an input, or of one function at several inputs, then shared coordinates.
    """

    _shapes = "lc: constants; lcv: contrasts"

    law: Law  # of an observation's contrasts
    predicts: Law  # of a new row: how its classes follow from decision values
    n_classes: int
    contrasts: Floats  # (n_labels, n_contrasts, n_values) factors of values in contrasts
    constants: Floats  # (n_labels, n_contrasts) 0; infinity for a contrast that a label lacks
    n_functions: int = 1
    n_inputs: int = 1  # most inputs of an observation
    label_noise: Noise = (0.0, 0.0)  # probabilities of wrong labels, by true class
    rule: str = "probability"  # which class is predicted: "probability", "median" or "mean"
    variance: float = 0.0  # of shared coordinates a priori; 0 until the first fit sets it

    @classmethod
    def two_classes(cls) -> Labels:
        """Return the labels of two classes, of which the second is positive."""
        law, signs = OneWall(), np.array([[[-1.0]], [[1.0]]])
        return cls(law, law, 2, signs, np.zeros((2, 1)), rule="median")

    @classmethod
    def several(cls, n_classes: int) -> Labels:
        """Return the labels of more than two classes, each with a function."""
        eye, law = np.eye(n_classes), LargestOf()
        contrasts = np.stack([own - np.delete(eye, y, axis=0) for y, own in enumerate(eye)])
        return cls(law, law, n_classes, contrasts, np.zeros(contrasts.shape[:2]), n_classes)

    @classmethod
    def ordered(cls, n_classes: int, rule: str) -> Labels:
        """Return the labels of more than two classes in an order."""
        above, law = np.eye(n_classes, n_classes - 1, -1), Interval()
        thresholds = np.stack([-above, np.eye(n_classes, n_classes - 1)], axis=1)
        of_f = -thresholds.sum(axis=2)
        contrasts = np.concatenate([of_f[..., None], thresholds], axis=2)
        constants = np.where(of_f == 0, np.inf, 0.0)
        return cls(law, law, n_classes, contrasts, constants, rule=rule)

    @classmethod
    def choices(cls, largest: int) -> Labels:
        """Return the labels of `choices.as_examples`, of choices out of up to `largest` items.

        Where all are pairs, these are of the second of two classes instead. Predictions are of
        pairs: whether f is positive, a difference of two utilities.
        """
        n_others = largest - 1
        there = np.tri(n_others, dtype=bool)
        differences = np.hstack([np.ones((n_others, 1)), -np.eye(n_others)])
        contrasts = there[..., None] * differences
        constants = np.where(there, 0.0, np.inf)
        return cls(LargestOf(), OneWall(), 2, contrasts, constants, n_inputs=largest, rule="median")

    @classmethod
    def of_classes(cls, n_classes: int, rule: str | None = None) -> Labels:
        """Return the labels of classes: in an order with a `rule`, which is nothing new for two."""
        if n_classes == 2:
            return cls.two_classes()
        return cls.several(n_classes) if rule is None else cls.ordered(n_classes, rule)

    def check_parts(self) -> None:
        """Raise ValueError for an unknown rule, or values that are not those of the contrasts."""
        if self.rule not in RULES or self.n_shared < 0 or min(self.n_functions, self.n_inputs) < 1:
            raise ValueError(f"labels of the rule {self.rule!r} have {self.n_values} values")

    # --- sizes ------------------------------------------------------------------------------------

    @property
    def n_values(self) -> int:
        """Number of latent values of an observation."""
        return self.n_functions * self.n_inputs

    @property
    def n_shared(self) -> int:
        """Number of coordinates that all observations share, which rise."""
        return self.contrasts.shape[2] - self.n_values

    @property
    def n_contrasts(self) -> int:
        """Largest number of contrasts of an observation."""
        return self.contrasts.shape[1]

    @property
    def _has_walls(self) -> bool:
        """Whether the engine's problem is one of walls."""
        return self.n_functions == 1 and self.contrasts.shape[1:] != (1, 1)

    @property
    def basis(self) -> Floats:
        """(n_functions, k) Orthonormal basis of the functions: those of several sum to zero."""
        if self.n_functions == 1:
            return np.ones((1, 1))
        return np.ascontiguousarray(linalg.helmert(self.n_functions).T)

    @property
    def of_weights(self) -> Floats:
        """`contrasts` of values of the basis, and of shared coordinates over their deviation."""
        values, shared = np.split(self.contrasts, [self.n_values], axis=2)
        values = values if self.n_functions == 1 else values @ self.basis
        return np.concatenate([values, math.sqrt(self.variance) * shared], axis=2)

    def dimension(self, r: int) -> int:
        """Return the number of weights of functions of r features, and of shared coordinates."""
        return r * self.basis.shape[1] + self.n_shared

    def softness(self, softness: float) -> float:
        """Return the variance of the noise on a value: of two inputs, half of a difference."""
        return softness if self.n_inputs == 1 else softness / 2

    def variances(self, softness: float, precision: Floats, label: Indices) -> Floats:
        """Return the variance of the noise at each of `points`."""
        noise = np.asarray(self.softness(softness) / precision)
        return noise if self.n_inputs == 1 else noise.repeat(self.present(label).sum(axis=1))

    # --- label noise ------------------------------------------------------------------------------

    def with_noise(self, label_noise: Noise) -> Labels:
        """Return the same with another label noise."""
        return replace(self, label_noise=label_noise)

    def _rates(self, n: int) -> tuple[Floats, Floats]:
        """Return for n labels the rate of label noise of each, and that of others."""
        rates = np.array(self.label_noise)
        return np.resize(rates, n), np.resize(rates[::-1], n)

    @property
    def transparencies(self) -> Floats:
        """(n_labels,) P(label | another is true) / P(label | it is true)."""
        own, other = self._rates(len(self.contrasts))
        return other / (self.n_classes - 1) / (1 - own)

    @property
    def transparency(self) -> tuple[float, float]:
        """The first and the last of `transparencies`, as the engine takes them."""
        values = self.transparencies
        return float(values[0]), float(values[-1])

    @property
    def noise(self) -> float | Noise:
        """Label noise as `VersionSpace.evidence` takes it: of walls, that of two labels."""
        first, second = self.label_noise
        if self._has_walls:
            return self.transparency[0] / (1 + self.transparency[0])
        return first if first == second else (first, second)

    @property
    def right(self) -> Floats:
        """(n_labels,) Probability of observing each label where it is the true one."""
        own, _ = self._rates(len(self.contrasts))
        sizes = np.maximum(self.n_classes, 1 + np.isfinite(self.constants).sum(axis=1))
        return (1 - own) / (1 + (sizes - self.n_classes) * own / (self.n_classes - 1))

    @property
    def floors(self) -> Floats:
        """(n_labels,) Probability of observing each label where another is the true one."""
        return self.transparencies * self.right

    @property
    def spans(self) -> Floats:
        """(n_labels,) What the true label adds to this probability."""
        return self.right - self.floors

    def observed(self, log_p: Floats) -> Floats:
        """Return the log probabilities of observed classes from those of true ones, (..., C)."""
        if not any(self.label_noise):
            return log_p
        own, other = self._rates(self.n_classes)
        floors = other / (self.n_classes - 1)
        return np.logaddexp(log_of(floors), log_of(1 - own - floors) + log_p)

    def log_constant(self, label: Indices) -> float:
        """Return what is added to the engine's log evidence of observed labels.

        One order of the thresholds is possible, and of walls `noise` is that of two labels.
        """
        more = np.log(self.right * (1 + self.transparencies)) if self._has_walls else 0 * self.right
        return math.lgamma(self.n_shared + 1) + float(more[label].sum())

    # --- observations -----------------------------------------------------------------------------

    def observations(self, label: Indices) -> Observed:
        """Return the law of observed labels."""
        noisy = label if any(self.label_noise) else label[:0]
        return Observed(self.law.name, self.n_contrasts, self.floors[noisy], self.spans[noisy])

    def points(self, inputs: Any, label: Indices) -> Any:
        """Return the inputs of all latent values, those of an observation after one another."""
        if self.n_inputs == 1:
            return inputs
        return inputs.reshape(len(label) * self.n_inputs, -1)[self.present(label).ravel()]

    def compared(self, examples: Examples) -> tuple[Examples, Labels]:
        """Return pairs of two classes in place of choices, and the same of all others.

        The approximate evidence takes the pairs of a choice for independent ones.
        """
        if self.n_inputs == 1:
            return examples, self
        n = len(examples.label)
        inputs = examples.inputs.reshape(n, self.n_inputs, -1)
        choice, other = np.nonzero(self.present(examples.label)[:, 1:])
        pairs = Differences.between(inputs[choice, 0], inputs[choice, other + 1])
        label, precision = np.ones(len(choice), dtype=np.intp), examples.precision[choice]
        return Examples(pairs, label, precision), Labels.two_classes().with_noise(self.label_noise)

    def present(self, label: Indices) -> Flags:
        """Return which latent values observations have, (n, n_values)."""
        return (self.contrasts[..., : self.n_values] != 0).any(axis=1)[label]

    def problem(
        self,
        gram: Gram,
        label: Indices,
        softness: Floats,
        offset: float,
        inverse: Inverse | None = None,
    ) -> Problem:
        """Return the engine's problem of the latent values with this matrix, one after the other.

        Shared coordinates come after them.
        """
        if not self._has_walls:
            return Problem(gram, label, softness, offset, inverse, self.n_functions)
        m, n = len(softness), self.n_shared
        if n:
            gram, offset = np.pad(gram + offset, (0, n)), 0.0
            softness = np.append(softness, np.full(n, self.variance))
            if inverse is not None:
                factor, diagonal = inverse
                wider = factor.bordered(np.zeros((n, m)), self.variance * np.eye(n))
                inverse = wider, np.append(diagonal, np.full(n, 1 / self.variance))
        none, walls = np.zeros(m + n, dtype=np.intp), self._walls(label, m)
        return Problem(gram, none, softness, offset, inverse, walls=walls)

    def _walls(self, label: Indices, m: int) -> Walls:
        """Return the walls of observations with m latent values, and between shared coordinates.

        Each is of two coordinates.
        """
        there = self.present(label)
        places = np.zeros((len(label), self.contrasts.shape[2]), dtype=np.intp)
        places[:, : self.n_values][there] = np.arange(m)
        places[:, self.n_values :] = m + np.arange(self.n_shared)
        contrast, observation = np.nonzero(np.isfinite(self.constants[label]).T)
        factors = self.contrasts[label[observation], contrast]
        order = np.argsort(factors == 0, axis=1, kind="stable")[:, :2]
        rising = m + np.arange(1, self.n_shared)
        pairs = np.stack([rising, rising - 1], axis=1)
        signs = np.tile([1.0, -1.0], (len(pairs), 1))
        return Walls(
            np.concatenate([np.take_along_axis(places[observation], order, axis=1), pairs]),
            np.concatenate([np.take_along_axis(factors, order, axis=1), signs]),
            np.concatenate([observation, np.full(len(rising), -1)]),
        )

    def problems(self, label: Indices) -> Problems:
        """Return the problems of labels.

        Of several classes they are each class against the rest, whose evidence is divided by how
        much more all these labels tell than the classes do: a problem has the entropy H(1/C), a
        class ln C. Thresholds are at the quantiles by which the labels have their frequencies.
        """
        n, shares, ends = self.n_classes, 1.0, None
        positive = label[None] > 0
        if self.n_functions > 1:
            positive = label == np.arange(n)[:, None]
            shares = math.log(n) / (n * float(special.entr(1 / n) + special.entr(1 - 1 / n)))
        if self.n_shared:
            cuts = np.concatenate([[-np.inf], self.quantiles(label), [np.inf]])
            ends = np.stack([cuts[label], cuts[label + 1]], axis=1)
            positive = np.ones((1, len(label)), dtype=np.bool_)
        return Problems(positive, ends, n - 1, shares)

    def decision_left_out(self, left_out: Floats, label: Indices) -> Floats | None:
        """Return the decision values of predictions given all others, by those of `Problems`.

        None where these are of the labels alone, and tell no decision values.
        """
        if self.n_shared or not left_out.size:
            return None
        if left_out.ndim == 1:
            z = (np.where(label > 0, 1.0, -1.0) * special.ndtri(left_out))[:, None]
        else:
            z = self.predicts.decision(log_of(left_out.T))
        return np.clip(z, -LARGEST_Z, LARGEST_Z)

    def quantiles(self, label: Indices) -> Floats:
        """Return the n_shared normal quantiles at the shares of the labels."""
        shares = np.cumsum(np.bincount(label, minlength=self.n_classes))[: self.n_shared]
        least = 0.5 / len(label)
        return special.ndtri(np.clip(shares / len(label), least, 1 - least))

    def first_weights(self, r: int, label: Indices) -> Floats:
        """Return weights to start from: functions that are 0, and thresholds that rise."""
        rising = self.quantiles(label) + 0.01 * np.arange(self.n_shared)
        return np.append(np.zeros(self.dimension(r) - self.n_shared), rising)

    # --- predictions ------------------------------------------------------------------------------

    def winner(self, z: Floats) -> Indices:
        """Return the (n,) indices of the classes predicted by decision values; ties go down."""
        return self.predicts.winner(z, self.rule)

    def log_classes(self, z: Floats) -> Floats:
        """Return the (n, C) log probabilities of true classes from decision values."""
        return self.predicts.log_classes(z)

    def log_labels(self, z: Floats, label: Indices) -> Floats:
        """Return the (n,) log probabilities of observed labels from decision values."""
        log_p = self.observed(self.predicts.log_classes(z))
        return log_p[np.arange(len(label)), label]

    def weighted(self, z: Floats, class_weight: Floats | None) -> Floats:
        r"""Return the decision values for a population in which the classes have other weights.

        The posterior odds of true classes are multiplied by the ratio of their weights, before
        label noise, which stays: exactly, without a new fit. In logarithms the order of values is
        kept also where probabilities underflow.
        """
        if class_weight is None:
            return z
        return self.predicts.decision(self.predicts.log_classes(z) + np.log(class_weight))

    def left_out(
        self,
        values: Floats,
        dual_coef: Floats,
        precision: Floats,
        label: Indices,
        lengths: Lengths,
    ) -> LeftOutValues:
        r"""Return the leave-one-out decision values of n examples, at most 8 in size.

        Given all others, the value of an example has the mean of the (T, n_rows, n) `values` minus
        `dual_coef` over `precision`, the (n,) diagonal of the inverse of their covariance, and the
        variance one over it. :math:`P(y_i | y_{-i})` is the harmonic mean of :math:`P(y_i | u)`
        over the draws (Gelfand, Dey and Chang, 1992), whose inverses are the weights of other
        classes. Of a draw of a direction u is that of the other values, whose length is integrated
        out: with it the inverses would vary far more. The error is that of a ratio of sums over
        parts of the draws. It is large where a function varies by more than the noise, as over
        landmarks with little softness: inverses then hardly have a mean.
        """
        f = np.moveaxis(values - dual_coef / precision, 1, 0)
        f *= np.sqrt(precision)
        floors, spans, rows = self.floors[label], self.spans[label], np.arange(len(label))
        uncertain: Flags | bool = False
        if lengths.freedom is not None:  # the others' part of the unit length
            own = np.square(dual_coef).sum(axis=1) / precision
            f /= np.sqrt(np.maximum(1.0 - own, _LEAST_PART))
            lengths = Lengths(max(1, lengths.freedom - max(1, self.n_functions - 1)))
        else:
            uncertain = (floors == 0) & (f.var(axis=1).max(axis=0) > _LARGEST_SPREAD)
        n_parts = min(_PARTS, f.shape[1])
        starts = np.linspace(0, f.shape[1], n_parts, endpoint=False).astype(np.intp)
        p = self.predicts.given_direction(f, lengths)
        weight = p[label, :, rows].T  # of the labels, then their inverses
        if any(self.label_noise):
            weight = floors + spans * weight
        np.divide(1, np.maximum(weight, special.ndtr(-LARGEST_Z), out=weight), out=weight)
        p *= weight
        total = np.add.reduceat(p, starts, axis=1)  # (n_classes, n_parts, n)
        z = np.clip(self.predicts.decision(log_of(total.sum(axis=1).T)), -LARGEST_Z, LARGEST_Z)
        if n_parts == 1:
            return LeftOutValues(z, np.full(len(z), _LARGEST_ERROR))
        own = total[label, :, rows].T
        total[label, :, rows] = 0.0
        other = total.sum(axis=0)
        with np.errstate(invalid="ignore"):  # 0 / 0 where a label is certain
            apart = own / own.sum(axis=0) - other / other.sum(axis=0)
        squares = np.nan_to_num(apart) ** 2
        # Another run may meet weights as large as the largest once more, or not at all.
        square = squares.sum(axis=0) + squares.max(axis=0)
        error = np.sqrt(square * n_parts / (n_parts - 1))
        return LeftOutValues(z, np.where(uncertain, _LARGEST_ERROR, error))
