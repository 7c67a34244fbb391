r"""The likelihood of two classes: the sign of one function with noise.

A draw from version space, with dual coefficients :math:`\gamma`, is the direction of a draw from
the posterior. Its length :math:`\rho` is independent of it and has the chi distribution with n
degrees of freedom, the dimension of the span. At a new point the latent value is :math:`\rho h`,
:math:`h = k_*^\top\gamma`, plus Gaussian noise of the variance :math:`s_*^2 = k(x, x) + \lambda -
k_*^\top A^{-1} k_*` (Rasmussen & Williams, *Gaussian Processes for Machine Learning*, 2006, Eq. 3.9
and Section 3.3). Decision values and probabilities are means over the draws.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import special

from bayespoint.base import validation
from bayespoint.base.linalg import Factor
from bayespoint.base.stored import Stored
from bayespoint.base.validation import Floats, Labels, require_square
from bayespoint.engine import likelihood as engine_likelihood
from bayespoint.engine.likelihood import Trials
from bayespoint.engine.problem import Problem
from bayespoint.kernels.explicit import Gram
from bayespoint.results.lengths import Lengths

Codes: TypeAlias = NDArray[Any]  # (n,) labels as the engine takes them
Inverse: TypeAlias = tuple[Factor, Floats] | None  # a factor, and the diagonal of the inverse

LARGEST_Z = 8.0  # absolute value to which leave-one-out decision values are clipped
_BLOCK = 2**17  # number of values of Student's distribution function between two checks for Ctrl-C


class Classes(Stored):
    """What the likelihoods of all kinds of classes have in common."""

    n_classes: Any  # number of classes
    n_problems: Any = 1  # number of problems of two classes whose evidence approximates that of all
    n_thresholds: Any = 0  # number of thresholds between ordered classes
    log_orders: Any = 0.0  # log of what multiplies the engine's evidence: orders of thresholds
    shared: ClassVar[float] = 0.0  # part of the softness that examples of a choice share

    def problem(
        self,
        gram: Gram,
        codes: Codes,
        softness: Floats,
        offset: float,
        inverse: Inverse = None,
        *,
        variance: float | None = None,
    ) -> Problem:
        """Return the engine's problem; `variance` is that of thresholds, if there are some."""
        return Problem(gram, codes, softness, offset, inverse, self.n_classes)


@dataclass(frozen=True)
class TwoClasses(Classes):
    """Two classes, of which the second is positive."""

    label_noise: tuple[float, float] = (0.0, 0.0)  # of truly negative and truly positive
    n_classes: ClassVar[int] = 2  # type: ignore[misc]
    n_functions: ClassVar[int] = 1  # number of functions
    n_values: ClassVar[int] = 1  # values of an example on which its likelihood depends

    def dimension(self, r: int) -> int:
        """Return the number of weights of functions of r features."""
        return r

    def with_noise(self, noise: tuple[float, float]) -> TwoClasses:
        """Return the same with another label noise."""
        return replace(self, label_noise=noise)

    @property
    def noise(self) -> tuple[float, float]:
        """Label noise as `VersionSpace.evidence` takes it."""
        return self.label_noise

    @property
    def span(self) -> float:
        """What the probability of a label gains at most over that for the other class."""
        return 1.0 - self.label_noise[0] - self.label_noise[1]

    @property
    def transparency(self) -> tuple[float, float]:
        """P(label | other class) / P(label | own class), for which a wall lets the ball through."""
        first, second = self.label_noise
        return second / (1 - first), first / (1 - second)

    def codes(self, index: NDArray[Any]) -> Labels:
        """Return the codes, -1 and +1, of (m,) indices of classes."""
        return np.where(index == 1, 1, -1).astype(np.int8)

    def winner(self, values: Floats) -> NDArray[np.intp]:
        """Return the (n,) indices of the predicted classes; a tie goes to the first."""
        return np.asarray((values[:, 0] > 0).astype(np.intp))

    def floors(self, positive: NDArray[Any]) -> Floats | None:
        """Return P(label | other class) for each label, whether positive; None if all are 0."""
        return np.where(positive, *self.label_noise) if any(self.label_noise) else None

    def observed(self, log_p: Floats) -> Floats:
        """Return the log probabilities of observed labels from those of true classes, (n, C).

        p(second) = noise[0] + (1 - noise[0] - noise[1]) P(second).
        """
        if not any(self.label_noise):
            return log_p
        with np.errstate(divide="ignore"):
            floor = np.log(self.label_noise)[::-1]
        return np.logaddexp(floor, math.log1p(-self.label_noise[0] - self.label_noise[1]) + log_p)

    def log_classes(self, z: Floats) -> Floats:
        """Return the log probabilities of both classes from (n, 1) decision values."""
        return np.concatenate([special.log_ndtr(-z), special.log_ndtr(z)], axis=1)

    def log_shares(self, p: Floats) -> Floats:
        """Return the log probabilities of both classes from the (n, 1) ones of the second."""
        with np.errstate(divide="ignore"):
            return np.concatenate([np.log1p(-p), np.log(p)], axis=1)

    def decision(self, log_p: Floats) -> Floats:
        """Return the (n, 1) decision values of log probabilities of true classes."""
        return quantiles(log_p.T).T[:, 1:]

    def log_code(self, z: Floats, codes: Codes) -> Floats:
        """Return the log probabilities of observed labels from what `left_out` returns."""
        floor, log_span = self._log_noise(codes)
        return np.asarray(np.logaddexp(floor, log_span + special.log_ndtr(z)))

    def decision_values(
        self, values: Floats, center: Floats, variance: Floats, lengths: Lengths
    ) -> Floats:
        r"""Return the (n, 1) decision values from two moments of f.

        :math:`z = M / \sqrt{V + s_*^2}` with the mean function's value M, the `center`, which is
        more accurate than the mean of the draws, :math:`V = E\rho^2\,\overline{h^2} -
        (E\rho)^2\,\bar h^2` over the `values` h of unit draws, and the `variance`
        :math:`s_*^2`. The absolute value of z is at most 1e8, and z = 0 where all three are zero.
        """
        _require_range(variance, values, center)
        return of_variance(center, spread(values, lengths) + variance)

    def mixture(self, values: Floats, variance: Floats, lengths: Lengths) -> Floats:
        r"""Return the (n, 1) means over draws of P(f > 0 | direction).

        With chi lengths it is :math:`F_{t,n}(\sqrt n\, h / s_*)`, with the distribution function of
        Student's t; where :math:`s_* = 0` the share of draws with h > 0, ties counted half.
        """
        _require_range(variance, values)
        p, certain = values.copy(), variance == 0
        with np.errstate(over="ignore", under="ignore"):  # probabilities 0 and 1
            p[~certain] *= math.sqrt(lengths.mean_square) / np.sqrt(variance[~certain, None])
        for rows in validation.blocks(len(p), max(1, _BLOCK // p.shape[1])):
            p[rows][~certain[rows]] = lengths.probability(p[rows][~certain[rows]])
        p[certain] = (1 + np.sign(p[certain])) / 2
        return np.asarray(p.mean(axis=1)[:, None])

    def votes(self, values: Floats) -> Floats:
        """Return the (n, 1) mean signs of the draws."""
        return np.asarray(np.sign(values).mean(axis=1)[:, None])

    def left_out(
        self, heights: Floats, dual_coef: Floats, precision: Floats, codes: Codes, lengths: Lengths
    ) -> Floats:
        r"""Return the (n,) leave-one-out decision values z times the labels, at most 8 in size.

        :math:`\Phi(z)` is the probability of the label before label noise. `heights` are the (T,
        [C,] n) values of unit draws at n examples, noise included, `dual_coef` their dual
        coefficients there, and `precision` the diagonal of the inverse of their covariance.
        """
        z = codes * (heights - dual_coef / precision) * np.sqrt(precision)
        floor, log_span = self._log_noise(codes)
        inverse, points = np.zeros(len(codes)), lengths.points()
        # Inverse probabilities may overflow: the result is clipped below.
        with np.errstate(over="ignore", divide="ignore"):
            for length in points:
                p = special.ndtr(length * z)
                p *= math.exp(log_span)
                p += np.exp(floor)
                np.divide(1.0, p, out=p)
                inverse += p.mean(axis=0) / len(points)
        right = (1 / inverse - np.exp(floor)) / math.exp(log_span)
        tail = special.ndtr(-LARGEST_Z)
        return np.asarray(special.ndtri(np.clip(right, tail, 1.0 - 1e-15)))

    def log_given(self, values: NDArray[Any], variance: Floats) -> Floats:
        """Return the (n, n_draws, C) log probabilities of true classes given each function."""
        f = values / np.sqrt(variance)[:, None]
        return np.stack([special.log_ndtr(-f), special.log_ndtr(f)], axis=-1)

    # --- functions divided by the deviation of the noise, times the label -------------------------

    def log_likelihoods(
        self,
        values: Sequence[NDArray[Any]],
        trials: Trials,
        floors: Floats | None,
        counts: Floats | None,
        *,
        by_value: bool = False,
    ) -> Floats:
        """Return those of `engine.likelihood.two_classes`."""
        law = engine_likelihood.two_classes
        return law(values, trials, floors, self.span, counts, by_value=by_value)

    def derivatives(self, t: Floats, floors: Floats | None) -> tuple[Floats, Floats, Floats]:
        """Return the log likelihood at values t, its slope and its negative second derivative."""
        log_p = special.log_ndtr(t)
        log_slope = -0.5 * (t * t + math.log(2 * math.pi))
        if floors is not None:
            log_p = np.log(floors + self.span * np.exp(log_p))
            log_slope += math.log(self.span)
        slope = np.exp(log_slope - log_p)
        return log_p, slope, slope * (t + slope)

    def _log_noise(self, codes: Codes) -> tuple[Floats, float]:
        """Return the logs of P(label | other class) for each label, and of `span`."""
        first, second = self.label_noise
        with np.errstate(divide="ignore"):
            floor = np.log(np.where(codes > 0, first, second))
        return floor, math.log1p(-first - second)


def spread(values: Floats, lengths: Lengths) -> Floats:
    """Return the (n,) variances V of latent values over the draws."""
    second = np.einsum("ij,ij->i", values, values) / values.shape[1]
    first = lengths.mean * values.mean(axis=1)
    return np.asarray(np.maximum(lengths.mean_square * second - first**2, 0.0))


def of_variance(center: Floats, total: Floats) -> Floats:
    """Return the (n, 1) decision values from the center and :math:`V + s_*^2`."""
    require_square(np.maximum(np.abs(center), np.sqrt(total)))
    scale = np.maximum(total, 1e-16 * center**2)
    z: Floats = np.divide(center, np.sqrt(scale), out=np.zeros_like(center), where=scale > 0)
    return z[:, None]


def quantiles(log_p: Floats) -> Floats:
    r"""Return :math:`\Phi^{-1}` of log probabilities of classes (first axis), scaled to 1."""
    log_p = log_p - special.logsumexp(log_p, axis=0)
    z: Floats = special.ndtri_exp(log_p)
    first = log_p.argmax(axis=0)[None]
    rest = log_p.copy()
    np.put_along_axis(rest, first, -np.inf, axis=0)
    of_rest = -special.ndtri_exp(special.logsumexp(rest, axis=0, keepdims=True))
    near_one = np.take_along_axis(log_p, first, axis=0) > math.log(0.5)
    own = np.where(near_one, of_rest, np.take_along_axis(z, first, axis=0))
    np.put_along_axis(z, first, own, axis=0)
    return z


def _require_range(variance: Floats, values: Floats, mean: Floats | float = 0.0) -> None:
    """Raise ValueError if squares of f overflow or underflow, which would give a wrong z."""
    size = np.maximum(np.abs(mean), np.sqrt(variance))
    require_square(np.maximum(size, np.maximum(values.max(axis=1), -values.min(axis=1))))
