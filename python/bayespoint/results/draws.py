"""Functions drawn from a posterior, and what their run says of them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from bayespoint.base.stored import Stored, deep_copy
from bayespoint.base.validation import Floats, product
from bayespoint.results.billiard import BilliardResult
from bayespoint.results.landmarks import LandmarkResult
from bayespoint.results.lengths import Lengths
from bayespoint.results.weighted import WeightedResult


@dataclass(frozen=True, eq=False)
class Draws(Stored):
    """Functions in a basis of m points: directions with the law of their lengths, or functions."""

    run: BilliardResult | LandmarkResult  # the run that made them, with its diagnostics
    lengths: Lengths  # the law of the length of each draw
    weighted: WeightedResult | None = None
    """The weights of the draws and their center, for a density other than the one sampled."""
    n_thresholds: int = 0  # of ordered classes, the last coordinates of the run

    def __getstate__(self) -> dict[str, Any]:
        """Return what is pickled and saved: all but the state that continues the run."""
        if isinstance(self.run, LandmarkResult):
            return vars(self)
        return vars(self) | {"run": replace(self.run, state=None)}

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        return deep_copy(self, memo)

    def __len__(self) -> int:
        """Return the number of draws of all chains."""
        return int(np.prod(self.run.draws.shape[:2]))

    @property
    def coefficients(self) -> Floats:
        """Dual coefficients of all draws, (n_draws, [n_classes,] m)."""
        return self._of_points(self._all)

    @property
    def _all(self) -> Floats:
        """The same with those of the thresholds."""
        draws = self.run.draws.astype(np.float64, copy=False)
        return draws.reshape(-1, *draws.shape[2:])

    def _of_points(self, dual_coef: Floats) -> Floats:
        return dual_coef[..., : -self.n_thresholds] if self.n_thresholds else dual_coef

    @property
    def variance(self) -> float | None:
        """Variance of a billiard's thresholds a priori; None if there are none."""
        if not self.n_thresholds or isinstance(self.run, LandmarkResult):
            return None
        return float(self.run.softness[-1])

    def thresholds(self, dual_coef: Floats | None = None) -> Floats:
        """Return the (..., n_thresholds) thresholds of all draws or those given.

        A billiard has their dual coefficients, and draws over landmarks have them as they are.
        """
        dual_coef = self._all if dual_coef is None else dual_coef
        found = dual_coef[..., -self.n_thresholds :]
        return np.asarray(found if self.variance is None else self.variance * found)

    @property
    def weights(self) -> Floats | None:
        """(n_draws,) weights of the draws, of sum 1; None if all are equal."""
        return None if self.weighted is None else self.weighted.weights.ravel()

    @property
    def center(self) -> Floats:
        """Dual coefficients of the center of mass, ([n_classes,] m)."""
        return self._of_points((self.weighted or self.run).center)

    @property
    def center_norm(self) -> float:
        """Length of the mean of the draws, in units of the center's."""
        return (self.weighted or self.run).center_norm

    def values(self, k_star: Floats, dual_coef: Floats | None = None) -> Floats:
        """Return (n, n_draws) or (n_functions, n, n_draws) values of all draws or those given."""
        whole = self._all if dual_coef is None else dual_coef
        draws = self._of_points(whole)
        if draws.ndim == 2:
            f = product(k_star, draws.T)
            return f - self.thresholds(whole).T[:, None] if self.n_thresholds else f
        values = np.empty((draws.shape[1], len(k_star), len(draws)))
        for one, dual_coef in zip(values, np.moveaxis(draws, 1, 0), strict=True):
            one[:] = product(k_star, dual_coef.T)
        return values

    def center_values(self, k_star: Floats) -> Floats:
        """Return the values of the mean function, (n,) or (n_functions, n)."""
        scale = self.lengths.mean * self.center_norm
        f = product(k_star, self.center.T).T
        if self.n_thresholds:
            f = f - self.thresholds((self.weighted or self.run).center)[:, None]
        return scale * f

    def one(self, rng: np.random.Generator) -> Floats:
        """Return the dual coefficients of a draw chosen at random, with those of thresholds."""
        draws, weights = self._all, self.weights
        n = len(draws)
        k = rng.integers(n) if weights is None else rng.choice(n, p=weights)
        return np.asarray(draws[int(k)])

    def alike(self, rng: np.random.Generator) -> Floats:
        """Return the draws as `one`; if they are weighted, a random sample of the same size."""
        draws, weights = self._all, self.weights
        if weights is None:
            return draws
        return draws[rng.choice(len(draws), size=len(draws), p=weights)]

    def reweighted(self, weighted: WeightedResult) -> Draws:
        """Return the draws with these weights."""
        return replace(self, weighted=weighted)


def mean_of_draws(values: Floats, weights: Floats | None) -> Floats:
    """Return the means over the last axis, weighted if there are weights."""
    mean: Floats = values.mean(axis=-1) if weights is None else values @ weights
    return mean
