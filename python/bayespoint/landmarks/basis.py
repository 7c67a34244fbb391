r"""The points at which functions have coefficients: all examples, or some landmarks.

A function is :math:`f(x) = \sum_i c_i k(z_i, x)` over the points z, with the offset in k. With r
landmarks and :math:`L L^\top = k(Z, Z) + \mathrm{jitter}`, the features :math:`\psi(x) = L^{-1}
k(Z, x)` have inner products close to k(x, x'). What they miss of the variance of f at an example,
:math:`k(x, x) - |\psi(x)|^2`, is added to its softness (the fully independent training conditional
of Snelson and Ghahramani, 2006), so that probabilities far from the landmarks stay honest. All
examples as points miss nothing; their softness is on the factor's diagonal.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from bayespoint import kernels
from bayespoint.base import memory, validation
from bayespoint.base.linalg import Factor, factorize, threads_for
from bayespoint.base.stored import Stored
from bayespoint.base.validation import Array, Floats
from bayespoint.base.warnings import warn
from bayespoint.kernels.products import count, in_rows, joined, squares

JITTER = 1e-6  # added to the diagonal of the landmarks' kernel matrix, relative to its mean
_BLOCK_BYTES = 16 * 2**20  # approximate memory of a block of test points: mostly in the cache


def jitter_of(gram: Floats, offset: float) -> Floats:
    """Return the (r,) jitter of the kernel matrix of landmarks."""
    size, n = float(gram.diagonal().mean()), len(gram)
    rounding = 10 * n * sys.float_info.epsilon * (size + offset)
    return np.full(n, max(JITTER * size, rounding, sys.float_info.min))


@dataclass(frozen=True, eq=False)
class Basis(Stored):
    """Points with a kernel, and the factor of their kernel matrix."""

    _shapes = "m: softness"
    kernel: Any  # the kernel, or "precomputed"
    points: Any  # the m points as the kernel takes inputs; None for "precomputed"
    offset: float  # constant that is added to all kernel values
    softness: Floats  # (m,) added to the diagonal: softness of examples, jitter of landmarks
    is_all: bool  # whether the points are all examples
    mean_diagonal: float | None = None  # mean of k(x, x) over the points; None for landmarks
    varies: bool = False  # whether k(x, x) is not the same for all points
    added: tuple[int, ...] = ()  # numbers of examples that `extended` added, in order

    @classmethod
    def of_examples(
        cls, kernel: Any, inputs: Any, offset: float, softness: Floats, gram: Floats, factor: Factor
    ) -> Basis:
        """Return the basis of all examples, given their kernel matrix and its factor."""
        points = None if isinstance(kernel, str) else inputs.copy()
        diagonal = gram.diagonal()
        mean = float(diagonal.mean())
        varies = bool(np.abs(diagonal - mean).max() > 1e-8 * abs(mean))
        return cls(kernel, points, offset, softness, True, mean, varies)._with(factor)

    @classmethod
    def of_landmarks(cls, kernel: Any, landmarks: Any, offset: float) -> Basis:
        """Return the basis of landmarks."""
        gram = kernels.evaluate(kernel, landmarks)
        jitter = jitter_of(gram, offset)
        return cls(kernel, landmarks, offset, jitter, False)._with(factorize(gram, offset, jitter))

    def extended(self, points: Any, softness: Floats) -> Basis:
        """Return the basis with further examples; LinAlgError if they make its matrix singular."""
        corner = kernels.evaluate(self.kernel, points) + self.offset
        corner.flat[:: len(corner) + 1] += softness
        factor = self.factor.bordered(self.kernel_values(points), corner)
        basis = replace(
            self,
            points=joined(self.points, points),
            softness=np.append(self.softness, softness),
            added=(*self.added, len(corner)),
        )
        return basis._with(factor)

    def _with(self, factor: Factor) -> Basis:
        """Return the basis, whose factor is known."""
        vars(self)["factor"] = factor
        return self

    def check_parts(self) -> None:
        """Raise ValueError unless there are examples before and in each extension."""
        if min(self.added, default=1) < 1 or sum(self.added) >= len(self):
            raise ValueError(f"{len(self)} points have extensions of {self.added}")
        if self.points is None and "factor" not in vars(self):
            raise ValueError("a given matrix has no factor")

    def __len__(self) -> int:
        """Return the number of points."""
        return len(self.softness)

    def __getstate__(self) -> dict[str, Any]:
        """Return what is pickled and saved: without the factor if it can be computed again."""
        state = vars(self).copy()
        if kernels.is_reproducible(self.kernel):
            state.pop("factor", None)
        return state

    @cached_property
    def factor(self) -> Factor:
        """Factor of the kernel matrix with offset and `softness`.

        Files and pickles leave it out: it is computed again at its first use, unless the kernel is
        "precomputed" or a callable. The operations are those of the fit and its updates, and so are
        the bits.
        """
        m = len(self)
        memory.require(8.0 * m * m, f"the factor of the Gram matrix ({m} x {m} doubles)")
        points, m = in_rows(self.points), len(self) - sum(self.added)
        first, softness = points[:m], self.softness[:m]
        with threads_for(m):
            gram, own = kernels.training_gram(self.kernel, first, self.offset, softness)
            factor = factorize(gram, self.offset, softness, overwrite=own)
        basis = replace(self, points=first, softness=softness, added=())._with(factor)
        for n in self.added:
            rows = slice(len(basis), len(basis) + n)
            with threads_for(rows.stop):
                basis = basis.extended(points[rows], self.softness[rows])
        return basis.factor

    # --- values at inputs, as the kernel takes them ----------------------------------------------

    def inputs(self, X: Any) -> Any:
        """Return inputs as the kernel requires them, with their shape checked."""
        width = len(self)
        if self.points is not None:
            if self.points.ndim == 1:  # objects such as sets or strings
                return np.fromiter(X, dtype=object, count=len(X))
            width = self.points.shape[1]
        if not sparse.issparse(X):
            X = np.asarray(validation.dense("X", X), dtype=np.float64, order="C")
        if X.ndim != 2 or X.shape[1] != width:
            raise ValueError(f"X must have shape (n, {width}), {width} features; got {X.shape}")
        return X

    def kernel_values(self, X: Any) -> Floats:
        """Return the (n, m) kernel values, offset included, between inputs and points."""
        if isinstance(self.kernel, str):
            return np.add(X, self.offset) if self.offset else X
        values = kernels.evaluate(self.kernel, X, self.points)
        if not self.offset:
            return values
        # Only the arrays of our own kernels are certainly new ones.
        own = kernels.is_semidefinite(self.kernel)
        return np.add(values, self.offset, out=values if own else None)

    def blocks(self, X: Any, n_values: int) -> Iterator[tuple[slice, Floats]]:
        """Yield blocks of kernel values, of which `n_values` follow for each input."""
        size = int(_BLOCK_BYTES / (8 * (3 * len(self) + 2 * n_values)))
        for rows in validation.blocks(count(X), size):
            yield rows, self.kernel_values(X[rows])

    def features(self, X: Any) -> Floats:
        """Return the (n, m) features of inputs: coordinates in an orthonormal basis."""
        return self.factor.whitened(self.kernel_values(X)).T

    def missed(self, X: Any, features: Array) -> Floats:
        """Return the (n,) variances of f that the features of landmarks miss."""
        own = kernels.diagonal(self.kernel, X) + self.offset
        return np.maximum(own - squares(features), 0.0)

    def prior_variance(
        self, X: Any, diag: ArrayLike | None, softness: float, *, strict: bool
    ) -> Floats | None:
        """Return k(x, x) + offset + softness; where it is unknown, None or if `strict` a guess.

        `diag` has the values k(x, x) for "precomputed".
        """
        extra = self.offset + softness
        if diag is not None:
            if not isinstance(self.kernel, str):
                raise ValueError("diag must be None unless kernel='precomputed'")
            return validation.dual_coef("diag", diag, count(X)) + extra
        if not isinstance(self.kernel, str):
            return kernels.diagonal(self.kernel, X) + extra
        assert self.mean_diagonal is not None
        if self.varies:
            if not strict:
                return None
            warn(
                "k(x, x) of the points is not known with kernel='precomputed': its mean over the "
                f"training matrix, {self.mean_diagonal:.4g}, is assumed, though it varies there. "
                "Give diag, the (n_samples,) values",
                UserWarning,
            )
        return np.full(count(X), self.mean_diagonal + extra)

    def between(self, X: Any, gram: ArrayLike | None) -> Floats:
        """Return the kernel values between inputs; for "precomputed" they are `gram`, checked."""
        if not isinstance(self.kernel, str):
            if gram is not None:
                raise ValueError("gram must be None unless kernel='precomputed'")
            return kernels.evaluate(self.kernel, X)
        n = count(X)
        if gram is None:
            raise ValueError(
                "gram must hold the (n_samples, n_samples) kernel values between the points "
                "with kernel='precomputed'; got None"
            )
        between, _ = validation.gram_matrix(gram)
        if between.shape != (n, n):
            raise ValueError(f"gram must have shape ({n}, {n}); got {between.shape}")
        return between

    def dual_coef(self, w: Floats) -> Floats:
        """Return the (..., m) dual coefficients of (..., m) weights of the features."""
        flat = np.asfortranarray(w.reshape(-1, w.shape[-1]).T)
        return self.factor.dual_coef(flat, len(self)).reshape(w.shape)

    def require_all(self, question: str) -> None:
        """Raise ValueError for landmarks, which have no matrix of all examples."""
        if not self.is_all:
            raise ValueError(
                f"{question} needs the kernel matrix of the training examples, which a classifier "
                "with landmarks does not have: fit with approximation=None"
            )
