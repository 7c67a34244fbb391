"""The hyperparameters of a model."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from bayespoint.base.stored import Stored
from bayespoint.base.validation import Floats
from bayespoint.results.search import Search


@dataclass(frozen=True, eq=False)
class Hyperparameters(Stored):
    """What a model takes as given: how inputs are transformed, kernel, softness, label noise."""

    _shapes = "sf: relevance"

    transform: Any  # what inputs go through before the kernel, a scaler or None
    kernel: Callable[..., Any] | str  # the kernel, or "precomputed"
    softness: float  # variance of the Gaussian noise on the latent function
    label_noise: tuple[float, float]  # of the first and the second of two classes
    search: Search | None = None  # the search that found them; None if all were given
    weight: float = 1.0  # weight of the model among those of a fit
    relevance: Floats = field(default_factory=lambda: np.empty((0, 0)))
    """(n_states, n_features) weights of the features times their standard deviations, in the states
    of a search that these stand for, with a mean square of 1 over the features; or empty."""
