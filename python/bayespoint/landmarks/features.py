r"""Features of few dimensions: kernel values with landmarks.

With r landmarks Z and :math:`L L^\top = k(Z, Z) + \mathrm{jitter}`, the features :math:`\psi(x) =
L^{-1} k(Z, x)` have inner products close to k(x, x'). A function is :math:`f(x) = w^\top \psi(x)`
with a standard normal prior of w. What the features miss of the variance of f at an example,
:math:`k(x, x) - |\psi(x)|^2`, is added to its softness (the fully independent training conditional
of Snelson and Ghahramani, 2006), so that probabilities far from the landmarks stay honest.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayespoint import kernels
from bayespoint.base.linalg import Factor, factorize
from bayespoint.base.validation import Floats

JITTER = 1e-6
"""Added to the diagonal of the landmarks' kernel matrix, relative to its mean."""


@dataclass(frozen=True, eq=False)
class Features:
    """The features of given landmarks."""

    kernel: Any
    """The kernel."""

    landmarks: Any
    """(r, d) landmarks, as the kernel takes inputs."""

    offset: float
    """Constant that is added to all kernel values."""

    factor: Factor
    """Factor of the landmarks' kernel matrix with offset and jitter."""

    jitter: float
    """What was added to the diagonal."""

    @classmethod
    def of(cls, kernel: Any, landmarks: Any, offset: float) -> Features:
        """Return the features of landmarks."""
        gram = kernels.evaluate(kernel, landmarks)
        size, n = float(gram.diagonal().mean()), len(gram)
        rounding = 10 * n * np.finfo(float).eps * (size + offset)
        jitter = max(JITTER * size, rounding, np.finfo(float).tiny)
        factor = factorize(gram, offset, np.full(len(gram), jitter))
        return cls(kernel, landmarks, offset, factor, jitter)

    def __call__(self, X: Any) -> Floats:
        """Return the (n, r) features of inputs."""
        k = kernels.evaluate(self.kernel, X, self.landmarks)
        return np.asarray(self.factor.whitened(k + self.offset).T)

    def missed(self, X: Any, features: NDArray[Any]) -> Floats:
        """Return the (n,) variances of f that the features miss."""
        own = kernels.diagonal(self.kernel, X) + self.offset
        return np.asarray(np.maximum(own - np.einsum("ij,ij->i", features, features), 0.0))

    def dual_coef(self, w: Floats) -> Floats:
        """Return the (..., r) dual coefficients at the landmarks of (..., r) weight vectors."""
        flat = np.asfortranarray(w.reshape(-1, w.shape[-1]).T)
        found = self.factor.dual_coef(flat, len(self.factor.lower))
        return np.asarray(found.reshape(w.shape))
