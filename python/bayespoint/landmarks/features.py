r"""The features of examples by the kernel's parameters, and the evidence of classes by features.

Features have derivatives by the parameters. Expectation propagation gives the evidence: a weight
vector :math:`w \sim N(0, I)` gives example i the value :math:`t_i = a_i \cdot w`, for the row
:math:`a_i = y_i \psi_i / \sqrt{\lambda_i}` of its features and its level, and its label has the
probability :math:`\epsilon_i + s\,\Phi(t_i)`. For ordered classes it is :math:`\epsilon_i +
s\,(\Phi(b_i - t_i) - \Phi(a_i - t_i))` without :math:`y_i`, with thresholds that are divided by the
same root.

Each factor is approximated by a normal one, a site (Minka, 2001). A sweep updates all sites at once
and takes O(m r^2) for m examples and r dimensions.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from bayespoint import _core, kernels
from bayespoint.base.linalg import factorize
from bayespoint.base.validation import Flags, Floats, Noise
from bayespoint.kernels.products import Summands, count, squares
from bayespoint.kernels.protocol import ByName, Slopes, added
from bayespoint.landmarks.basis import JITTER, jitter_of

_Pullback = Callable[[Floats, Floats], ByName]
"""Turns the derivatives of a number by the (r + m, r) kernel values of landmarks and inputs with
the landmarks, and by the (m,) values of inputs with themselves, into those by logarithms of
parameters that are known."""


@dataclass(frozen=True, eq=False)
class Features:
    """The features of m examples for r landmarks, with what they are made of."""

    factors: Floats  # (r, rank) T: the features are the kernel values with the landmarks times T
    is_triangle: bool  # whether T is an upper triangle
    pullback: _Pullback | None  # None if only a matrix is known
    psi: Floats  # (m, rank) features
    own: Floats  # (m,) variances k(x, x) of the function, offset included

    @classmethod
    def of(cls, kernel: Any, landmarks: Any, offset: float, inputs: Any) -> Features:
        """Return the features of inputs."""
        n = count(landmarks)
        if kernels.is_semidefinite(kernel) and isinstance(inputs, np.ndarray):
            points = np.concatenate([landmarks, inputs])
            values, pullback = kernels.with_pullback(kernel, points, landmarks)
            gram, cross = values[:n], values[n:]
        else:  # kernels of other origins may have noise in k(X), which k(X, Y) does not have
            gram, among = kernels.with_pullback(kernel, landmarks, landmarks)
            cross, between = kernels.with_pullback(kernel, inputs, landmarks)

            def pullback(by: Floats) -> Slopes:
                return added([among(by[:n]), between(by[n:])])

        own, alone = kernels.diag_with_pullback(kernel, inputs)

        def both(by_values: Floats, by_own: Floats) -> ByName:
            found = pullback(by_values)
            # Some kernels without other derivatives know that of their constant diagonal.
            known = added([found, alone(by_own)])[0]
            return {name: known[name] for name in found[0]}

        return cls.whitened(gram, cross, own, offset, both)

    @classmethod
    def whitened(
        cls,
        gram: Floats,
        cross: Floats,
        own: Floats,
        offset: float,
        pullback: _Pullback | None,
    ) -> Features:
        """Return the features for kernel values of landmarks, with these, and of inputs alone."""
        jitter, matrix = jitter_of(gram, offset), gram + offset
        matrix.flat[:: len(gram) + 1] += jitter
        cross, is_triangle = cross + offset if offset else cross, True
        # SciPy's routines for triangles hold the interpreter lock: threads would wait.
        try:
            factors, psi = _core.whiten(matrix, cross)
        except FloatingPointError:
            factor, is_triangle = factorize(gram, offset, jitter), False
            factors = factor.dual_coef(np.identity(factor.rank), len(gram)).T
            psi = cross @ factors
        return cls(factors, is_triangle, pullback, psi, own + offset)

    @cached_property
    def missed(self) -> Floats:
        """(m,) Variances that the features miss."""
        return np.maximum(self.own - squares(self.psi), 0.0)

    @cached_property
    def variance(self) -> float:
        """Variance over the examples of f, on average: 1 if it is no more than rounding."""
        mean, whole = self.psi.mean(axis=0), float(self.own.mean())
        among = whole - float(mean @ mean)
        return among if among > 3 * JITTER * abs(whole) and math.isfinite(among) else 1.0

    def slopes(
        self, propagation: Propagation, share: float, by_level: Floats, by_variance: float
    ) -> ByName:
        """Return the derivatives by log parameters that are known.

        They are those of `share` times the evidence of a propagation, with its (m,) derivatives by
        the levels, and of what depends on `variance`, given the derivative by it.
        """
        if self.pullback is None:
            return {}
        n, by_mean = len(self.factors), by_variance / len(self.psi)
        by_values = propagation.posteriors.by_values(
            self.factors,
            self.psi,
            by_level,
            is_triangle=self.is_triangle,
            share=share,
            by_mean=by_mean,
        )
        # The jitter is a multiple of the mean of the diagonal.
        diagonal = by_values.reshape(-1)[: n * n : n + 1]
        diagonal += JITTER * diagonal.sum() / n
        return self.pullback(by_values, by_level + by_mean)


class SumPlan(NamedTuple):
    """What the features for a sum of kernels need, for all values of its parameters."""

    core: _core.SumPlan
    names: tuple[str, ...]  # of the parameters
    offset: float
    center: Floats  # (S (1 + d),) logarithms of factors, then of scales, at parameters of 1
    slope: Floats  # (n_parameters, S (1 + d)) their derivatives by logarithms of parameters

    @classmethod
    def of(
        cls,
        kernel: Any,
        parameters: Sequence[kernels.Parameter],
        landmarks: Any,
        offset: float,
        inputs: Any,
    ) -> SumPlan | None:
        """Return the plan for a kernel with these parameters; None if it is no such sum."""
        if not (parameters and isinstance(inputs, np.ndarray) and inputs.ndim == 2):
            return None
        names = tuple(parameter.name for parameter in parameters)
        start = np.log([parameter.start for parameter in parameters])

        def summands(theta: Floats) -> Summands:
            values = dict(zip(names, np.exp(theta).tolist(), strict=True))
            return kernels.summands(kernels.replace(kernel, values), inputs.shape[1])

        def logarithms(parts: Summands) -> Floats:
            factors = [part.factor for part in parts]
            return np.log(np.concatenate([factors, *(part.scale for part in parts)]))

        parts = summands(start)
        if not parts or len({part.limits for part in parts}) > 1:
            return None
        at_start, steps = logarithms(parts), np.eye(len(names))
        slope = np.stack([logarithms(summands(start + step)) - at_start for step in steps])
        core = _core.SumPlan(landmarks, inputs, parts[0].limits, parts)
        return cls(core, names, offset, at_start - start @ slope, slope)

    def features(self, theta: Floats) -> Features:
        """Return the features for logarithms of the parameters."""
        d = self.core.n_features
        found = np.exp(self.center + theta @ self.slope)
        factors, scales = np.split(found, [len(found) // (1 + d)])
        kept, values, own = self.core.sum(factors.tolist(), scales.reshape(-1, d))
        n = values.shape[1]

        def pullback(by_values: Floats, by_own: Floats) -> ByName:
            by_factors, by_scales = kept.slopes(by_values, by_own)
            slopes = self.slope @ np.concatenate([by_factors, by_scales.ravel()])
            return dict(zip(self.names, slopes.tolist(), strict=True))

        return Features.whitened(values[:n], values[n:], own, self.offset, pullback)


class Propagation(NamedTuple):
    """The normal approximations of C problems with the same m examples, and their evidence."""

    log_evidence: Floats  # (C,) nats
    converged: Flags  # (C,) whether the sites stopped changing
    precision: Floats  # (C, m) precisions of the sites
    shift: Floats  # (C, m) precisions times means of the sites
    left_out: Floats  # (C, m) probability of each label given all others
    by_noise: Floats  # (2,) derivatives of the sum of the evidences by the rates of label noise
    by_level: Floats  # (m,) derivatives of the sum by the levels
    posteriors: _core.Posteriors  # which tell the derivatives by kernel values
    by_thresholds: float = 0.0  # derivative by the logarithm of a factor of all thresholds


def propagate(
    features: Floats,
    level: Floats,
    positive: Flags,
    noise: Noise = (0.0, 0.0),
    start: Propagation | None = None,
    *,
    intervals: Floats | None = None,
    change: float,
    n_threads: int = 1,
) -> Propagation:
    """Return the approximations for (m, r) features and (m,) levels, the variances of the noise.

    `positive` tells the (C, m) labels; of ordered classes they are all positive, C is 1, and
    `intervals` has the (m, 2) thresholds below and above each example's value. `noise` is the
    probability of a wrong label for truly negative and truly positive examples. `start` is the
    approximation of a similar setting, which counts for the problems where it converged. The sweeps
    end when the evidence changes by less than `change` nats. Raises LinAlgError if features are not
    finite.
    """
    try:
        return Propagation(
            **_core.propagation(
                features,
                level,
                positive,
                noise,
                intervals=intervals,
                start=start,
                change=change,
                n_threads=n_threads,
            )
        )
    except FloatingPointError as error:
        raise np.linalg.LinAlgError(str(error)) from None
