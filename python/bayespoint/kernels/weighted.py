"""Kernels of inputs whose features have weights."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from bayespoint.base import validation
from bayespoint.kernels.base import (
    CompoundKernel,
    diag_slopes,
    diagonal,
    evaluate,
    slopes,
    weighted_slopes,
)
from bayespoint.kernels.parameters import check_optional, given, within
from bayespoint.kernels.products import vectors
from bayespoint.kernels.protocol import Bounds, ByName, Floats, Other, Parameter, Slopes, prefixed
from bayespoint.kernels.stationary import scales

_REACH = (math.exp(-5), math.exp(5))
"""Bounds of a weight."""
_SPREAD = 0.8
"""Spread of a weight: two of three are between 0.45 and 2.2. On public tables 0.6 to 1 are alike;
a wide one lets the weights follow single examples."""


@dataclass(frozen=True, repr=False)
class Weighted(CompoundKernel):
    """A kernel of inputs whose features are multiplied by weights: ``k(w * x, w * x')``.

    The smaller the weight, the less influence a feature has. In a sum of kernels a feature has one
    weight for all parts.

    Parameters
    ----------
    kernel : kernel object
        The kernel of the weighted inputs. Weights are found fastest if it is stationary, linear,
        constant or a sum or multiple of these; for others by finite differences.
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
        return evaluate(self.kernel, *self._pair(X, Y))

    def diag(self, X: Floats) -> Floats:
        return diagonal(self.kernel, self._weighted(X))

    def _pair(self, X: Floats, Y: Other) -> tuple[Floats, Floats | None]:
        others = None if Y is None else self._weighted(Y, "Y")
        return self._weighted(X), others

    def _weighted(self, X: Any, name: str = "X") -> Floats:
        X = vectors(name, validation.dense(name, X))
        weights = np.array(given(self, "weights"))
        if X.shape[1] != len(weights):
            raise ValueError(
                f"weights must hold one for each of {X.shape[1]} features; got {len(weights)}"
            )
        return np.asarray(X * weights)

    def parameters(self, X: Floats) -> tuple[Parameter, ...]:
        """Return "kernel.<name>" for those of the kernel, then "weights[0]", "weights[1]", ...."""
        weighted = X if self.weights is None else self._weighted(X)
        inner = super().parameters(weighted)
        if self.weights is not None:
            return inner
        names = [f"weights[{k}]" for k in range(vectors("X", X).shape[1])]
        return inner + tuple(within(self.bounds, name, 1.0, _REACH, _SPREAD) for name in names)

    def slopes(self, X: Floats, gram: Floats, by_gram: Floats, Y: Other = None) -> ByName:
        found = self.weighted_slopes(X, gram, by_gram, Y)
        if found is not None:
            return found[0]
        X, Y = self._pair(X, Y)
        return prefixed("kernel.", slopes(self.kernel, X, gram, by_gram, Y))

    def weighted_slopes(self, X: Floats, gram: Floats, by_gram: Floats, Y: Other = None) -> Slopes:
        X, Y = self._pair(X, Y)
        found = weighted_slopes(self.kernel, X, gram, by_gram, Y)
        if found is None:
            return None
        return self._with_weights(found)

    def diag_slopes(self, X: Floats, by_diag: Floats) -> Slopes:
        found = diag_slopes(self.kernel, self._weighted(X), by_diag)
        return None if found is None else self._with_weights(found)

    def _with_weights(self, found: tuple[ByName, Floats]) -> Slopes:
        own = {f"weights[{k}]": float(slope) for k, slope in enumerate(found[1])}
        return prefixed("kernel.", found[0]) | own, found[1]

    def __repr__(self) -> str:
        if self.weights is None:
            return f"Weighted({self.kernel!r})"
        shown = ", ".join(f"{weight:.3g}" for weight in self.weights[:4])
        more = ", ..." if len(self.weights) > 4 else ""
        return f"Weighted({self.kernel!r}, weights=({shown}{more}))"
