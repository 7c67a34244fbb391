"""Checks of the classifier's settings that the engine does not check."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from bayespoint.base import validation
from bayespoint.base.validation import (
    RandomState,
    boolean,
    choice,
    integer,
    number,
    positive,
    real,
    seed,
)


@dataclass(frozen=True)
class FitSettings:
    """The checked settings of a classifier that the engine does not check."""

    offset: float
    softness: float | None
    """None if it is searched."""
    label_noise: tuple[float, float]
    rates: int
    """Number of rates of label noise that are searched: 0, 1 for both classes, or 2."""
    calibrate: bool | None
    """None: if anything is searched."""
    joint: bool
    """Whether several classes are treated jointly."""
    seed: int
    verbose: int
    max_iter: int | None
    max_time: float | None
    began: float
    """Time of :func:`time.monotonic` at which the fit began."""

    @property
    def search_time(self) -> float | None:
        """Seconds that the search has: half of all."""
        return None if self.max_time is None else 0.5 * self.max_time

    @property
    def deadline(self) -> float | None:
        """Time of :func:`time.monotonic` at which the fit is to end."""
        return None if self.max_time is None else self.began + self.max_time


def fit_settings(model: Any, random_state: RandomState) -> FitSettings:
    """Return the checked settings of a classifier, with the seed of the given state."""
    began = time.monotonic()
    softness, label_noise, verbose = model.softness, model.label_noise, model.verbose
    calibration = model.calibration
    rates = 1 if label_noise is None else 0
    if isinstance(label_noise, (tuple, list)) and any(rate is None for rate in label_noise):
        if list(label_noise) != [None, None]:
            raise ValueError(
                f"label_noise must be two rates, or None for both; got {label_noise!r}"
            )
        rates = 2
    if calibration is not None:
        calibration = choice("calibration", calibration, ("auto", "leave-one-out", None))
    if calibration == "leave-one-out" and isinstance(softness, (int, float)) and softness == 0:
        raise ValueError(
            'softness must be positive with calibration="leave-one-out": with 0 an example '
            "may be determined by the others; got 0"
        )
    if isinstance(verbose, (bool, np.bool_)):
        verbose = int(verbose)
    noise = (0.0, 0.0) if rates else validation.label_noise(label_noise)
    return FitSettings(
        offset=float(boolean("fit_intercept", model.fit_intercept)),
        softness=None if softness is None else real("softness", softness, low=0.0),
        label_noise=noise,
        rates=rates,
        calibrate=None if calibration == "auto" else calibration is not None,
        joint=choice("multiclass", model.multiclass, ("joint", "one_vs_rest")) == "joint",
        seed=seed(random_state),
        verbose=integer("verbose", verbose, low=0),
        max_iter=None if model.max_iter is None else integer("max_iter", model.max_iter, low=1),
        max_time=None if model.max_time is None else positive("max_time", model.max_time),
        began=began,
    )


def require_kernel_object(kernel: object, params: Mapping[str, Any]) -> None:
    """Raise ValueError for parameters ``kernel__...`` of a kernel setting that has none."""
    nested = [name for name in params if name.startswith("kernel__")]
    if nested and not hasattr(kernel, "set_params"):
        raise ValueError(
            f"{nested[0]} is a parameter of a kernel object: give one, as in "
            f"kernel=bayespoint.kernels.RBF(); got kernel={kernel!r}"
        )


def tolerance(value: object, m: int, n_classes: int) -> float:
    """Return the angular error at which to stop, in radians.

    "auto" depends on the numbers of examples and of classes in one problem: in more dimensions the
    same angle is a smaller error of each function value.
    """
    if isinstance(value, str):
        if value != "auto":
            raise ValueError(f'tol must be a positive number or "auto"; got {value!r}')
        largest = 0.1 if n_classes == 2 else 0.15
        return min(0.03 * max(1.0, math.sqrt(m / 500)) * (n_classes - 1), largest)
    return number("tol", value)
