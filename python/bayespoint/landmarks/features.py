"""The features of examples as a function of the kernel's parameters, with derivatives."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy import linalg

from bayespoint import kernels
from bayespoint.base.validation import Floats
from bayespoint.landmarks.basis import JITTER, Basis


@dataclass(frozen=True, eq=False)
class Features:
    """The features of m examples for r landmarks, with what they are made of."""

    basis: Basis
    inputs: Any
    """(m,) as the kernel takes inputs."""
    cross: Floats
    """(m, r) kernel values with the landmarks, without the offset."""
    psi: Floats
    """(m, r) features."""
    own: Floats
    """(m,) variances k(x, x) of the function, offset included."""

    @classmethod
    def of(cls, basis: Basis, inputs: Any) -> Features:
        """Return the features of inputs."""
        cross = kernels.evaluate(basis.kernel, inputs, basis.points)
        psi = np.ascontiguousarray(basis.factor.whitened(cross + basis.offset).T)
        own = kernels.diagonal(basis.kernel, inputs) + basis.offset
        return cls(basis, inputs, cross, psi, own)

    @cached_property
    def missed(self) -> Floats:
        """(m,) Variances that the features miss."""
        return np.asarray(np.maximum(self.own - np.einsum("ij,ij->i", self.psi, self.psi), 0.0))

    @cached_property
    def mean(self) -> Floats:
        """(r,) Mean of the features."""
        return np.asarray(self.psi.mean(axis=0))

    @property
    def variance(self) -> float:
        """Variance over the examples of f, on average."""
        return float(self.own.mean() - self.mean @ self.mean)

    def slopes(self, by_psi: Floats, by_own: Floats) -> dict[str, float]:
        """Return the derivatives of a function of `psi` and `own` by log parameters of the kernel.

        Those by `psi` and `own` are given. There are only those that the kernel knows.
        """
        kernel, landmarks, lower = self.basis.kernel, self.basis.points, self.basis.factor.lower
        by_cross = linalg.solve_triangular(lower, by_psi.T, lower=True, trans="T").T
        inner = linalg.solve_triangular(lower, self.psi.T @ by_psi, lower=True, trans="T")
        by_landmarks = linalg.solve_triangular(lower, inner.T, lower=True, trans="T")
        by_landmarks = -0.25 * (by_landmarks + by_landmarks.T)
        # The jitter is a multiple of the mean of the diagonal.
        by_landmarks.flat[:: len(lower) + 1] += JITTER * by_landmarks.trace() / len(lower)
        found = dict(kernels.slopes(kernel, self.inputs, self.cross, by_cross, landmarks))
        diagonal = kernels.diag_slopes(kernel, self.inputs, by_own)
        if not found or diagonal is None:
            return {}
        gram = kernels.evaluate(kernel, landmarks)
        among = kernels.slopes(kernel, landmarks, gram, by_landmarks)
        return {name: slope + among[name] + diagonal[0][name] for name, slope in found.items()}
