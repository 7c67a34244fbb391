"""Kernels of inputs whose features have weights."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from bayespoint.kernels.base import (
    CompoundKernel,
    diagonal,
    evaluate,
    part_diag_with_pullback,
    part_with_pullback,
)
from bayespoint.kernels.parameters import check_optional, given, within
from bayespoint.kernels.products import pair_of_vectors, vectors
from bayespoint.kernels.protocol import (
    Bounds,
    ByName,
    Floats,
    Other,
    Parameter,
    Pullback,
    Slopes,
    prefixed,
)
from bayespoint.kernels.stationary import scales

_REACH = (math.exp(-5), math.exp(5))
"""Bounds of a weight."""
_SPREAD = 0.4
"""Spread of a weight where one setting is found: two of three are between 0.67 and 1.5. On public
tables 0.8 has the same log loss, and twice the differences between seeds."""


@dataclass(frozen=True, repr=False)
class Weighted(CompoundKernel):
    """A kernel of inputs whose features are multiplied by weights: ``k(w * x, w * x')``.

    The smaller the weight, the less influence a feature has. In a sum of kernels a feature has one
    weight for all parts.

    Parameters
    ----------
    kernel : kernel object
        The kernel of the weighted inputs. Weights are found fastest for kernels of this package;
        for callables by finite differences.
    weights : array-like of shape (n_features,), default=None
        Positive weights. None: found by :class:`BayesPointClassifier` (automatic relevance
        determination). The largest evidence overfits; averaged weights do not (`n_models`).
    bounds : pair of floats, default=None
        Bounds of weights that are found. None: exp(-5) and exp(5).

    Examples
    --------
    >>> import numpy as np
    >>> from bayespoint.kernels import RBF, Weighted
    >>> Weighted(RBF(sigma=1.0), [1.0, 0.01])(np.array([[0.0, 0.0], [1.0, 1.0]])).round(4)
    array([[1.    , 0.6065],
           [0.6065, 1.    ]])
    """

    kernel: Any
    weights: tuple[float, ...] | None = None
    bounds: Bounds | None = field(default=None, kw_only=True, metadata={"until": "weights"})

    def __post_init__(self) -> None:
        super().__post_init__()
        check_optional(self, "weights", check=scales)
        if isinstance(self.weights, float):
            raise TypeError(f"weights must hold one number for each feature; got {self.weights:g}")

    @property
    def accepts_sparse(self) -> bool:  # type: ignore[override]
        return False

    def __call__(self, X: Floats, Y: Other = None) -> Floats:
        X, Y = pair_of_vectors(X, Y, accepts_sparse=False)
        return evaluate(self.kernel, *self._weighted(X, Y))

    def diag(self, X: Floats) -> Floats:
        return diagonal(self.kernel, self._weighted(vectors("X", X, accepts_sparse=False))[0])

    def _weighted(self, X: Floats, Y: Other = None) -> tuple[Floats, Floats | None]:
        weights = np.array(given(self, "weights"))
        if X.shape[1] != len(weights):
            raise ValueError(
                f"weights must hold one for each of {X.shape[1]} features; got {len(weights)}"
            )
        return X * weights, None if Y is None else Y * weights

    def parameters(self, X: Floats) -> tuple[Parameter, ...]:
        """Return "kernel.<name>" for those of the kernel, then "weights[0]", "weights[1]", ...."""
        X = vectors("X", X, accepts_sparse=False)
        inner = super().parameters(X if self.weights is None else self._weighted(X)[0])
        if self.weights is not None:
            return inner
        names = [f"weights[{k}]" for k in range(X.shape[1])]
        return inner + tuple(within(self.bounds, name, 1.0, _REACH, _SPREAD) for name in names)

    def with_pullback(self, X: Floats, Y: Other = None) -> tuple[Floats, Pullback]:
        values, pullback = part_with_pullback(self.kernel, *self._weighted(X, Y))
        return values, lambda by_values: _named(*pullback(by_values))

    def diag_with_pullback(self, X: Floats) -> tuple[Floats, Pullback]:
        values, pullback = part_diag_with_pullback(self.kernel, self._weighted(X)[0])
        return values, lambda by_diag: _named(*pullback(by_diag))

    def __repr__(self) -> str:
        if self.weights is None:
            return f"Weighted({self.kernel!r})"
        shown = ", ".join(f"{weight:.3g}" for weight in self.weights[:4])
        more = ", ..." if len(self.weights) > 4 else ""
        return f"Weighted({self.kernel!r}, weights=({shown}{more}))"


def _named(inner: ByName, by_weights: Floats | None) -> Slopes:
    """Return the derivatives of a weighted kernel, given those of the kernel."""
    named = prefixed("kernel.", inner)
    if by_weights is not None:
        named |= {f"weights[{k}]": slope for k, slope in enumerate(by_weights.tolist())}
    return named, by_weights
