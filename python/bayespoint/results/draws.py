"""Functions drawn from a posterior, and what their run says of them."""

from __future__ import annotations

import copy
import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from bayespoint.base.stored import Stored
from bayespoint.base.validation import Floats, product
from bayespoint.results import BilliardResult, LandmarkResult
from bayespoint.results.lengths import Lengths


@dataclass(frozen=True, eq=False)
class Draws(Stored):
    """Functions in a basis of m points: directions with the law of their lengths, or functions."""

    run: BilliardResult | LandmarkResult  # the run that made them, with its diagnostics
    lengths: Lengths  # the law of the length of each draw
    n_shared: int = 0  # coordinates that all examples share, the last ones: thresholds

    def __getstate__(self) -> dict[str, Any]:
        """Return what is pickled and saved: all but the state that continues the run."""
        if isinstance(self.run, LandmarkResult):
            return vars(self)
        return vars(self) | {"run": replace(self.run, state=None)}

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        return Draws(**copy.deepcopy(vars(self), memo))  # with the state

    def __len__(self) -> int:
        """Return the number of draws of all chains."""
        return math.prod(self.run.draws.shape[:2])

    @property
    def n_rows(self) -> int:
        """Number of rows of values: of functions, or of thresholds."""
        return self.n_shared or math.prod(self.run.draws.shape[2:-1])

    @property
    def coefficients(self) -> Floats:
        """Dual coefficients of all draws, (n_draws, [n_classes,] m)."""
        return self._of_points(self.whole)

    @property
    def whole(self) -> Floats:
        """Those of all draws with those of the thresholds."""
        draws = self.run.draws.astype(np.float64, copy=False)
        return draws.reshape(-1, *draws.shape[2:])

    def _of_points(self, dual_coef: Floats) -> Floats:
        return dual_coef[..., : dual_coef.shape[-1] - self.n_shared]

    @property
    def variance(self) -> float | None:
        """Variance of a billiard's thresholds a priori; None if there are none."""
        if not self.n_shared or isinstance(self.run, LandmarkResult):
            return None
        return float(self.run.softness[-1])

    def thresholds(self, dual_coef: Floats | None = None) -> Floats:
        """Return the (..., n_shared) thresholds of all draws or those given.

        A billiard has their dual coefficients, and draws over landmarks have them as they are.
        """
        dual_coef = self.whole if dual_coef is None else dual_coef
        found = dual_coef[..., -self.n_shared :]
        return found if self.variance is None else self.variance * found

    @property
    def center(self) -> Floats:
        """Dual coefficients of the center of mass, ([n_classes,] m)."""
        return self._of_points(self.run.center)

    @property
    def mean(self) -> Floats:
        """Dual coefficients of the mean function, ([n_classes,] m)."""
        return self.lengths.mean * self.run.center_norm * self.center

    def values(self, k_star: Floats, dual_coef: Floats | None = None) -> Floats:
        """Return the (n_rows, n, n_draws) values of all draws or those given.

        Rows are functions; with thresholds, differences of the only one to each.
        """
        whole = self.whole if dual_coef is None else dual_coef
        draws = self._of_points(whole)
        draws = draws[:, None] if draws.ndim == 2 else draws
        values = np.empty((draws.shape[1], len(k_star), len(draws)))
        for of_function, coefficients in zip(values, np.moveaxis(draws, 1, 0), strict=True):
            of_function[:] = product(k_star, coefficients.T)
        return values - self.thresholds(whole).T[:, None] if self.n_shared else values

    def center_values(self, k_star: Floats) -> Floats:
        """Return the (n_rows, n) values of the mean function."""
        scale = self.lengths.mean * self.run.center_norm
        f = np.atleast_2d(product(k_star, self.center.T).T)
        if self.n_shared:
            f = f - self.thresholds(self.run.center)[:, None]
        return scale * f
