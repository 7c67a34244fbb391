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

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from bayespoint import _core, kernels
from bayespoint.base.linalg import factorize
from bayespoint.base.validation import Flags, Floats, Indices, Noise
from bayespoint.kernels.products import count
from bayespoint.kernels.protocol import ByName, Pullback, Slopes, added
from bayespoint.landmarks.basis import JITTER, jitter_of


@dataclass(frozen=True, eq=False)
class Features:
    """The features of m examples for r landmarks, with what they are made of."""

    inverse: Floats  # (rank, r) inverse of the factor of the landmarks' kernel matrix
    pullbacks: tuple[Pullback, Pullback] | None
    """Those of the (r + m, r) kernel values of landmarks and inputs with the landmarks, and of the
    (m,) values of inputs with themselves; None if only a matrix is known."""
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
        return cls._whitened(gram, cross, own, offset, (pullback, alone))

    @classmethod
    def of_gram(cls, gram: Floats, rows: Indices, offset: float) -> Features:
        """Return the features of all examples of a kernel matrix, with some as landmarks."""
        among = gram[np.ix_(rows, rows)]
        return cls._whitened(among, gram[:, rows], gram.diagonal(), offset, None)

    @classmethod
    def _whitened(
        cls, gram: Floats, cross: Floats, own: Floats, offset: float, pullbacks: Any
    ) -> Features:
        """Return the features for kernel values of landmarks, with these, and of inputs alone."""
        jitter, matrix = jitter_of(gram, offset), gram + offset
        matrix.flat[:: len(gram) + 1] += jitter
        # SciPy's routines for triangles hold the interpreter lock: threads would wait.
        try:
            inverse = _core.inverse_of_factor(matrix).T
        except FloatingPointError:
            factor = factorize(gram, offset, jitter)
            inverse = factor.dual_coef(np.identity(factor.rank), len(gram))
        return cls(inverse, pullbacks, (cross + offset) @ inverse.T, own + offset)

    @cached_property
    def missed(self) -> Floats:
        """(m,) Variances that the features miss."""
        return np.maximum(self.own - np.einsum("ij,ij->i", self.psi, self.psi), 0.0)

    @cached_property
    def mean(self) -> Floats:
        """(rank,) Mean of the features."""
        return self.psi.mean(axis=0)

    @cached_property
    def variance(self) -> float:
        """Variance over the examples of f, on average."""
        return float(self.own.mean() - self.mean @ self.mean)

    def slopes(self, by_psi: Floats, by_own: Floats) -> ByName:
        """Return the derivatives by log parameters that are known, from those by the features."""
        if self.pullbacks is None:
            return {}
        n, (pullback, alone) = self.inverse.shape[1], self.pullbacks
        by_values = np.empty((n + len(by_psi), n))
        by_gram, by_cross = by_values[:n], by_values[n:]
        np.matmul(by_psi, self.inverse, out=by_cross)
        lower = by_cross.T @ self.psi @ self.inverse
        np.multiply(lower + lower.T, -0.25, out=by_gram)
        # The jitter is a multiple of the mean of the diagonal.
        by_gram.flat[:: n + 1] += JITTER * by_gram.trace() / n
        found = pullback(by_values)
        # Some kernels without other derivatives know that of their constant diagonal.
        known = added([found, alone(by_own)])[0]
        return {name: known[name] for name in found[0]}


@dataclass(frozen=True, eq=False)
class Propagation:
    """The normal approximations of C problems with the same m examples, and their evidence."""

    log_evidence: Floats  # (C,) nats
    converged: Flags  # (C,) whether the sites stopped changing
    precision: Floats  # (C, m) precisions of the sites
    shift: Floats  # (C, m) precisions times means of the sites
    left_out: Floats  # (C, m) probability of each label given all others
    by_noise: Floats  # (2,) derivatives of the sum of the evidences by the rates of label noise
    by_features: Floats  # (m, r) derivatives by the features: to first order, with fixed sites
    by_level: Floats  # (m,) derivatives of the sum by the levels
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
