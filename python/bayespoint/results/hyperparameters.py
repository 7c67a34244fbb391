"""The hyperparameters of a model, and the search that found them."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from bayespoint.base.stored import Stored
from bayespoint.base.validation import Floats, Noise
from bayespoint.kernels.protocol import AnyKernel
from bayespoint.results.result import Result, Rows, as_columns


@dataclass(frozen=True, eq=False)
class Search(Result):
    """A search for hyperparameters: a setting, most probable or drawn, and all settings tried."""

    _title = "Search by evidence"
    _shapes = "nc: tried; c: names; p: r_hat"

    kernel: AnyKernel | str
    """The kernel with the parameters found."""
    softness: float
    """The softness found, or the one given."""
    label_noise: Noise
    """Label noise of the negative and of the positive class, found or given."""
    log_evidence: float
    """The approximate evidence of the setting in nats, of the labels of the examples used."""
    n_examples: int
    """Number of examples used."""
    names: tuple[str, ...]
    """Names of the columns of `tried`: the kernel's parameters searched, "softness",
    "label_noise_negative", "label_noise_positive", "n_examples", "log_evidence"."""
    tried: Floats
    """(n_tried, n_columns) The settings tried, in order."""
    seed: int = 0
    """Seed of the choice of examples."""
    at_bounds: tuple[str, ...] = ()
    """Names of the parameters that ended at a bound of the search. At the smallest softness the
    labels seem free of noise: a smaller one may be more accurate, and takes longer."""
    r_hat: Floats = field(default_factory=lambda: np.empty(0))
    """(n_parameters,) Split R-hat of the logarithms of the parameters searched, in the order of
    `names`, over the chains from which the settings were drawn; empty for the most probable one."""
    seed_error: float = math.nan
    """Mean change of the probabilities of the training labels, each given all others, by chains of
    another seed; NaN for the most probable setting, or if a limit ended them."""

    def __repr__(self) -> str:
        noise = f"label_noise={rates(self.label_noise)}, " if any(self.label_noise) else ""
        return (
            f"<Search: {self.kernel!r}, softness={self.softness:.4g}, {noise}"
            f"log_evidence={self.log_evidence:.2f} nats, "
            f"{len(self.tried)} settings tried on up to {self.n_examples} examples>"
        )

    def summary(self, n: int = 10) -> str:
        """Return a table of the best settings tried on the most examples, best first.

        Parameters
        ----------
        n : int, default=10
            Largest number of settings.

        Returns
        -------
        str
            A line with the names, and one for each setting.
        """
        full = self.tried[self.tried[:, -2] == self.n_examples]
        rows = full[np.argsort(-full[:, -1], kind="stable")[:n]]
        cells = [[f"{value:.4g}" for value in row[:-1]] + [f"{row[-1]:.2f}"] for row in rows]
        return "\n".join(as_columns([self.names, *cells]))

    def _rows(self) -> Rows:
        return [
            ("kernel", repr(self.kernel)),
            ("softness", f"{self.softness:.4g}"),
            ("label noise", rates(self.label_noise)),
            ("ln evidence", f"{self.log_evidence:.2f} nats (approximate)"),
            ("at a bound", ", ".join(self.at_bounds) or "none"),
            ("settings tried", f"{len(self.tried)} on up to {self.n_examples} examples"),
        ]


def rates(noise: Noise) -> str:
    """Return the label noise of two classes as text: one number where they are equal."""
    first, second = noise
    return f"{first:.4g}" if first == second else f"({first:.4g}, {second:.4g})"


@dataclass(frozen=True, eq=False)
class Hyperparameters(Stored):
    """What a model takes as given: how inputs are transformed, kernel, softness, label noise."""

    _shapes = "sf: relevance"

    transform: Any  # what inputs go through before the kernel, a scaler or None
    kernel: AnyKernel | str  # the kernel, or "precomputed"
    softness: float  # variance of the Gaussian noise on the latent function
    label_noise: Noise  # of the first and the second of two classes
    search: Search | None = None  # the search that found them; None if all were given
    weight: float = 1.0  # weight of the model among those of a fit
    relevance: Floats = field(default_factory=lambda: np.empty((0, 0)))
    """(n_states, n_features) Weights of the features times their standard deviations, of mean
    square 1, in all states of the chains that the drawn settings stand for; or empty."""
