"""Estimates with their standard errors: volumes and evidences."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bayespoint.base.validation import Floats
from bayespoint.results.result import Result, Rows, with_fields


class Estimate(NamedTuple):
    """An estimate with its standard error."""

    value: float
    """The estimate."""
    error: float
    """The standard error of `value`."""


@dataclass(frozen=True, eq=False)
class Evidence(Result):
    """The log probability of the labels, with its standard error.

    ``m`` is the number of examples. With label noise, or for more than two classes, there is a
    ladder of ``k`` transparencies kappa, from 1, where all weight vectors have equal weight, to the
    smallest required. Otherwise there is one of Gaussian distributions, and the arrays are empty.
    """

    _title = "Evidence"
    _shapes = "k: log_transparency mean_violations; s: log_share; l2: layers; l: layer_shares"

    value: Any
    """The value in nats, at most 0: a float, or an (n,) array for n rates of label noise."""
    error: Any
    """Standard error of `value`, in nats and of the same shape."""
    lag: Any
    """Estimated bias, in nats and of the same shape: half of the difference between the estimates
    down and up the ladder. Most of it cancels in `value`, and `error` includes the part above two
    standard errors. NaN if version space was entered in only one direction."""
    n_rungs: int
    """Number of distributions on the ladder, including both ends."""
    log_transparency: Floats
    """(k,) ln kappa of the rungs, falling from 0; if the classes differ, of the less transparent
    walls, with the rung from which only their kappa falls twice."""
    mean_violations: Floats
    """(k,) Mean violated examples of the falling kappa: the derivative of ln Z by ln kappa."""
    log_share: Floats
    """(m + 1,) ln of the share of the sphere that violates exactly v examples, v = 0, ..., m, from
    the rungs where both classes have the same kappa; -inf if none was seen."""
    layers: NDArray[np.int64]
    """(l, 2) The layers seen: the numbers of violated examples labeled -1 and +1."""
    layer_shares: Floats
    """(l,) Share of each layer among all layers with the same total number of violations."""
    length: float
    """Path in radians per trajectory."""
    converged: bool
    """Whether every error reached the tolerance."""

    def check_parts(self) -> None:
        """Raise an error if values and errors are no numbers, or not as many."""
        self.summary()

    @classmethod
    def from_run(cls, run: Mapping[str, Any]) -> Evidence:
        """Return the result of an engine's run, with an array for `value` and `error`."""
        seen = run["layer_shares"] > 0  # others were only passed through
        ladder, is_bridge = run["ladder"], len(run["mean_violations"]) == 0
        values = {
            "layers": run["layers"][seen],
            "layer_shares": run["layer_shares"][seen],
            "n_rungs": len(np.unique(ladder)),
            "log_transparency": np.empty(0) if is_bridge else 0.0 - ladder,
        }
        return with_fields(cls, {**run, **values})

    def _figures(self) -> str:
        pairs = zip(np.atleast_1d(self.value), np.atleast_1d(self.error), strict=True)
        shown = [f"{value:.6g} ± {error:.2g}" for value, error in pairs]
        return ", ".join(shown if len(shown) <= 5 else [*shown[:2], "...", shown[-1]])

    def _rows(self) -> Rows:
        rows = [
            ("value", f"{self._figures()} nats"),
            ("converged", "yes" if self.converged else "no"),
            ("lag", f"{np.nan_to_num(np.abs(self.lag)).max():.2g} nats (half of down minus up)"),
            ("path", f"{self.length:.4g} rad per trajectory"),
            ("rungs", str(self.n_rungs)),
        ]
        if len(self.log_transparency):
            first, last = self.mean_violations[[0, -1]]
            rows += [
                ("ln kappa", f"0 to {self.log_transparency[-1]:.3g}"),
                ("mean violations", f"{first:.4g} on the first rung, {last:.3g} on the last"),
            ]
        return rows

    def __repr__(self) -> str:
        end = "" if self.converged else ", not converged"
        return f"<Evidence: {self._figures()} nats{end}>"
