"""The settings of each kind of run: checked together, and filled in where left to choose."""

from __future__ import annotations

import math
import numbers
from dataclasses import dataclass, replace

import numpy as np

from bayespoint.base.validation import (
    RandomState,
    boolean,
    choice,
    counts,
    float_or_nan,
    integer,
    pair,
    real,
    seed,
    threads,
)

MAX_BOUNCES = 10_000_000
"""Cap on the bounces of each trajectory when only an angular tolerance ends the run."""

SMALLEST_SCATTERER = 1e-6
"""Radius of a reflecting sphere in radians: rounding does not tell what is in a smaller one."""

_SHORTEST_LENGTH = 1e-6  # the integral of a shorter path drowns in rounding


@dataclass(frozen=True)
class SampleSettings:
    """The checked settings of one run, as the engine takes them."""

    transparency: tuple[float, float]
    n_trajectories: int
    n_draws: int
    length: float | None
    tol: float | None
    max_bounces: int | None
    dynamics: str
    scattering: str
    scatterer: float | None
    fits_scatterer: bool
    tau_max: float
    weight_tol: float | None
    refresh: str
    refresh_rate: float | None
    average: str
    may_smooth: bool
    n_threads: int

    @property
    def has_scatterer(self) -> bool:
        """Whether there is a reflecting sphere."""
        return self.scatterer is not None or self.fits_scatterer


AVERAGES = {
    "geodesic": ("arc", "impulse", "conditional"),
    "chord": ("midpoints", "arc"),
    "flipper": ("midpoints", "bounces", "arc"),
}
"""The centers that each dynamics can be asked for, its own first."""

_CHORD_TAU_MAX = 1e6
"""Flight times beyond which the chord billiard looks for another direction, if nothing is said."""


def _refuse_for_straight_flight(dynamics: str, transparency: object, refresh: object) -> None:
    """Raise ValueError for what the papers' own dynamics do not have."""
    if any(pair("transparency", transparency, high=1.0, high_open=False)):
        raise ValueError(
            f"transparency must be 0 with dynamics={dynamics!r}, whose walls are hard; got "
            f"{transparency!r}"
        )
    if choice("refresh", refresh, ("auto", "pair", "full", None)) in ("pair", "full"):
        raise ValueError(
            f"refresh must be 'auto' or None with dynamics={dynamics!r}, which has none; got "
            f"{refresh!r}"
        )


def scattering_law(value: object) -> str:
    """Return how walls throw the ball back."""
    return choice("scattering", value, ("specular", "cosine"))


def scatterer_radius(value: object) -> tuple[float | None, bool]:
    """Return the radius of the reflecting sphere, and whether there is one of a fitted radius."""
    if value is None:
        return None, False
    if isinstance(value, str):
        if value != "auto":
            raise ValueError(
                f"scatterer must be None, 'auto' or a radius of at least {SMALLEST_SCATTERER:g} "
                f"radians; got {value!r}"
            )
        return None, True
    return real("scatterer", value, low=SMALLEST_SCATTERER), False


def _refuse_scatterer(value: object, dynamics: str, transparency: object) -> None:
    """Raise ValueError for a reflecting sphere where there can be none."""
    if value is None:
        return
    if dynamics != "geodesic":
        raise ValueError(f"scatterer must be None with dynamics={dynamics!r}; got {value!r}")
    if any(pair("transparency", transparency, high=1.0, high_open=False)):
        raise ValueError(
            f"transparency must be 0 with a scatterer, which needs hard walls; got {transparency!r}"
        )


def _tau_max(value: object, dynamics: str) -> float:
    """Return the flight time that counts as infinite."""
    if value is None:
        return _CHORD_TAU_MAX if dynamics == "chord" else math.inf
    if dynamics == "geodesic":
        raise ValueError(
            f"tau_max must be None with dynamics='geodesic', which never escapes; got {value!r}"
        )
    if isinstance(value, (float, np.floating)) and value == math.inf:
        return math.inf
    return real("tau_max", value, low=0.0, low_open=True)


def sample_settings(
    *,
    n_trajectories: object,
    n_draws: object,
    length: object,
    tol: object,
    max_bounces: object,
    dynamics: object,
    scattering: object,
    scatterer: object,
    tau_max: object,
    weight_tol: object,
    transparency: object,
    refresh: object,
    refresh_rate: object,
    average: object,
    n_jobs: object,
) -> SampleSettings:
    """Check the settings of a run and fill in what is left to choose."""
    dynamics = choice("dynamics", dynamics, tuple(AVERAGES))
    if dynamics != "geodesic":
        _refuse_for_straight_flight(dynamics, transparency, refresh)
    scattering = scattering_law(scattering)
    if scattering == "cosine" and dynamics != "geodesic":
        raise ValueError(
            f"scattering must be 'specular' with dynamics={dynamics!r}; got {scattering!r}"
        )
    _refuse_scatterer(scatterer, dynamics, transparency)
    radius, fits_scatterer = scatterer_radius(scatterer)
    checked_tau_max = _tau_max(tau_max, dynamics)
    if weight_tol is not None:
        weight_tol = real(
            "weight_tol", weight_tol, low=0.0, low_open=True, high=1.0, high_open=True
        )
        if dynamics != "chord":
            raise ValueError(
                f"weight_tol must be None with dynamics={dynamics!r}; got {weight_tol!r} (it ends "
                "runs of dynamics='chord')"
            )
    if length is None and tol is None and max_bounces is None and weight_tol is None:
        tol = 0.1
    if length is None and max_bounces is None:
        max_bounces = MAX_BOUNCES
    average = choice(
        "average", average, ("auto", "arc", "impulse", "conditional", "midpoints", "bounces")
    )
    if average != "auto" and average not in AVERAGES[dynamics]:
        listed = ", ".join(repr(option) for option in ("auto", *AVERAGES[dynamics]))
        raise ValueError(
            f"average must be one of {listed} with dynamics={dynamics!r}; got {average!r}"
        )
    plain = dynamics == "geodesic" and scattering == "specular" and scatterer is None
    may_smooth = plain and average == "auto" and refresh in ("auto", "full")
    if average == "auto":
        average = AVERAGES[dynamics][0]
    if average == "conditional" and (scattering != "specular" or scatterer is not None):
        raise ValueError(
            "average must not be 'conditional' with scattering='cosine' or a scatterer; got "
            f"scattering={scattering!r} and scatterer={scatterer!r}"
        )
    rate = None
    if not (isinstance(refresh_rate, str) and refresh_rate == "auto"):
        if isinstance(refresh_rate, str) or refresh_rate is None:
            raise ValueError(
                f"refresh_rate must be 'auto' or events per radian, above 0; got {refresh_rate!r}"
            )
        rate = real("refresh_rate", refresh_rate, low=0.0, high=1e9, low_open=True)
        if not isinstance(refresh, str) or refresh not in ("pair", "full"):
            raise ValueError(
                f"refresh_rate must be 'auto' with refresh={refresh!r}; got {refresh_rate!r} "
                "(a rate needs refresh='pair' or 'full')"
            )
    n_trajectories = integer("n_trajectories", n_trajectories, low=1)
    return SampleSettings(
        transparency=pair("transparency", transparency, high=1.0, high_open=False),
        n_trajectories=n_trajectories,
        n_draws=integer("n_draws", n_draws, low=1),
        length=None if length is None else real("length", length, low=_SHORTEST_LENGTH),
        tol=None if tol is None else real("tol", tol, low=0.0, low_open=True),
        max_bounces=None if max_bounces is None else integer("max_bounces", max_bounces, low=1),
        dynamics=dynamics,
        scattering=scattering,
        scatterer=radius,
        fits_scatterer=fits_scatterer,
        tau_max=checked_tau_max,
        weight_tol=weight_tol,
        refresh=choice("refresh", refresh, ("auto", "pair", "full", None)),
        refresh_rate=rate,
        average=average,
        may_smooth=may_smooth,
        n_threads=min(threads(n_jobs), n_trajectories),  # the others would have no ball
    )


def settled(settings: SampleSettings, *, smooths: bool) -> SampleSettings:
    """Return the settings of a run of which it is known whether its means are conditional."""
    average = "conditional" if smooths else settings.average
    return replace(settings, average=average, may_smooth=False)


@dataclass(frozen=True)
class OnionSettings:
    """The checked settings of an onion run, as the engine takes them."""

    max_errors: tuple[int, int]
    method: str
    tol: float
    volume_tol: float | None
    max_length: float
    n_trajectories: int
    n_threads: int


def onion_settings(
    *,
    max_errors: object,
    method: object,
    tol: object,
    volume_tol: object,
    max_length: object,
    n_trajectories: object,
    n_jobs: object,
) -> OnionSettings:
    """Check the settings of an onion run."""
    method = choice("method", method, ("exact", "projected"))
    if volume_tol is not None:
        volume_tol = real("volume_tol", volume_tol, low=0.0, low_open=True)
        if method == "projected":
            raise ValueError(
                "volume_tol must be None with method='projected', which tells no volumes; got "
                f"{volume_tol!r}"
            )
    n_trajectories = integer("n_trajectories", n_trajectories, low=1)
    return OnionSettings(
        max_errors=counts("max_errors", max_errors),
        method=method,
        tol=real("tol", tol, low=0.0, low_open=True),
        volume_tol=volume_tol,
        max_length=real("max_length", max_length, low=0.0, low_open=True),
        n_trajectories=n_trajectories,
        n_threads=min(threads(n_jobs), n_trajectories),
    )


@dataclass(frozen=True)
class MarginSettings:
    """The checked settings of a search for the largest margin, as the engine takes them."""

    C: float
    free_bias: bool
    tol: float
    max_iter: int


def margin_settings(
    *, C: object, free_bias: object, tol: object, max_iter: object
) -> MarginSettings:
    """Check the settings of a search for the largest margin."""
    wanted = "a positive number, or inf for a hard margin"
    if isinstance(C, (bool, np.bool_)) or not isinstance(C, numbers.Real):
        raise TypeError(f"C must be {wanted}; got {C!r}")
    if not (math.inf == C or 0 < float_or_nan(C) < math.inf):
        raise ValueError(f"C must be {wanted}; got {C!r}")
    return MarginSettings(
        C=float(C),
        free_bias=boolean("free_bias", free_bias),
        tol=real("tol", tol, low=0.0, low_open=True, high=1.0, high_open=True),
        max_iter=integer("max_iter", max_iter, low=1),
    )


@dataclass(frozen=True)
class FitSettings:
    """The checked settings of a classifier that the billiard does not check itself."""

    offset: float
    softness: float | None
    """None where the evidence decides."""
    optimizer: str | None
    label_noise: tuple[float, float]
    rates: int
    """Rates of label noise that the evidence decides: none, one for both classes, one for each."""
    calibrate: bool | None
    """None: if anything is searched."""
    seed: int
    verbose: int


def fit_settings(
    *,
    fit_intercept: object,
    softness: object,
    optimizer: object,
    label_noise: object,
    dynamics: object,
    calibration: object,
    random_state: RandomState,
    verbose: object,
) -> FitSettings:
    """Check the settings of a classifier."""
    if optimizer is not None:
        optimizer = choice("optimizer", optimizer, ("evidence", None))
    by_evidence = _is_evidence(softness)
    if by_evidence and optimizer is None:
        raise ValueError('softness must be a number with optimizer=None; got "evidence"')
    if isinstance(softness, str) and not by_evidence:
        raise ValueError(f'softness must be a number of at least 0 or "evidence"; got {softness!r}')
    rates = 1 if _is_evidence(label_noise) else 0
    if isinstance(label_noise, (tuple, list)) and any(map(_is_evidence, label_noise)):
        if len(label_noise) != 2 or not all(map(_is_evidence, label_noise)):
            raise ValueError(
                f'label_noise must be two rates, or "evidence" for both; got {label_noise!r}'
            )
        rates = 2
    if rates and optimizer is None:
        raise ValueError(
            f"label_noise must be one rate or two with optimizer=None; got {label_noise!r}"
        )
    if isinstance(label_noise, str) and not rates:
        raise ValueError(
            'label_noise must be a rate in [0, 0.5), a pair of these, "evidence" or a pair of '
            f'"evidence"; got {label_noise!r}'
        )
    if calibration is not None:
        calibration = choice("calibration", calibration, ("auto", "leave-one-out", None))
    if calibration == "leave-one-out" and isinstance(softness, (int, float)) and softness == 0:
        raise ValueError(
            'softness must be positive with calibration="leave-one-out": without it the others '
            "decide every example; got 0"
        )
    if isinstance(verbose, (bool, np.bool_)):
        verbose = int(verbose)
    noise = (0.0, 0.0) if rates else pair("label_noise", label_noise, high=0.5, high_open=True)
    if choice("dynamics", dynamics, tuple(AVERAGES)) != "geodesic" and (rates or any(noise)):
        raise ValueError(
            f"label_noise must be 0 with dynamics={dynamics!r}, whose walls are hard; got "
            f"{label_noise!r}"
        )
    return FitSettings(
        offset=float(boolean("fit_intercept", fit_intercept)),
        softness=None if by_evidence else real("softness", softness, low=0.0),
        optimizer=optimizer,
        label_noise=noise,
        rates=rates,
        calibrate=None if calibration == "auto" else calibration is not None,
        seed=seed(random_state),
        verbose=integer("verbose", verbose, low=0),
    )


def tolerance(value: object, m: int) -> float:
    """Return the angular error at which to stop, in radians; "auto" goes by the examples."""
    if isinstance(value, str):
        if value != "auto":
            raise ValueError(f'tol must be a positive number or "auto"; got {value!r}')
        return min(max(0.03, 0.03 * math.sqrt(m / 500)), 0.1)
    return real("tol", value, low=0.0, low_open=True)


def _is_evidence(value: object) -> bool:
    return isinstance(value, str) and value == "evidence"
