"""Settings of each kind of run. Types are checked here, ranges by the compiled engine."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import partial
from typing import Any

from numpy.typing import ArrayLike

from bayespoint import _core
from bayespoint.base.validation import choice, integer, number, pair, set_fields
from bayespoint.results.billiard import BilliardResult

LIMITS = ("length", "tol", "max_bounces", "max_time")
"""Settings that end a run."""

Check = Callable[[str, Any], object]


def convert(settings: object, kind: str | None, /, **checks: Check) -> None:
    """Replace the named fields by what the checks of their types return; then check the ranges."""
    set_fields(
        settings,
        **{name: check(name, getattr(settings, name)) for name, check in checks.items()},
    )
    if kind is not None:
        _core.check_settings(kind, vars(settings))


def optional(check: Check) -> Check:
    """Return a check that also accepts None."""
    return lambda name, value: None if value is None else check(name, value)


@dataclass(frozen=True, kw_only=True, eq=False)
class _Rare:
    """Settings that few runs need."""

    max_bounces: int | None = None
    transparency: float | tuple[float, float] = 0.0
    refresh: str | None = "auto"
    refresh_rate: float | str = "auto"
    average: str = "auto"


@dataclass(frozen=True, kw_only=True)
class SampleSettings(_Rare):
    """Settings of a run, of which `VersionSpace.sample` and `SampleOptions` have the texts."""

    n_trajectories: int = 4
    n_draws: int = 100
    length: float | None = None
    tol: float | None = None
    max_time: float | None = None

    def __post_init__(self) -> None:
        choice("refresh", self.refresh, ("auto", "pair", "full", None))
        choice("average", self.average, ("auto", "arc", "impulse", "conditional"))
        convert(
            self,
            None,
            n_trajectories=integer,
            n_draws=integer,
            length=optional(number),
            tol=optional(number),
            max_bounces=optional(integer),
            max_time=optional(number),
            transparency=partial(pair, check=number),
        )
        rate = self.refresh_rate
        if rate is None or (isinstance(rate, str) and rate != "auto"):
            raise ValueError(f"refresh_rate must be 'auto' or events per radian; got {rate!r}")
        if not isinstance(rate, str):
            if self.refresh not in ("pair", "full"):
                raise ValueError(
                    f"refresh_rate must be 'auto' with refresh={self.refresh!r}; got {rate!r} (a "
                    "rate needs refresh='pair' or 'full')"
                )
            rate = number("refresh_rate", rate)
        set_fields(self, refresh_rate=rate)
        _core.check_settings("sample", self.engine_values())

    def engine_values(self) -> dict[str, Any]:
        """Return the settings as the compiled engine reads them, with default limits."""
        values = vars(self) | self.limits()
        rate = values.pop("refresh_rate")
        if self.refresh is None:
            values["refresh"] = "none"
        elif self.refresh != "auto":
            values["refresh"] = {self.refresh: None if rate == "auto" else rate}
        return values

    def limits(self) -> dict[str, Any]:
        """Return the limits of the run, defaults included."""
        length, tol, bounces = self.length, self.tol, self.max_bounces
        if tol is None and not any((length, bounces, self.max_time)):
            tol = 0.1
        only_time = tol is None and self.max_time is not None
        if length is None and bounces is None and not only_time:
            bounces = 10_000_000
        return {"length": length, "tol": tol, "max_bounces": bounces, "max_time": self.max_time}

    def plain(self) -> dict[str, Any]:
        """Return all settings but the limits, as plain values: a continued run keeps them."""
        values = {name: value for name, value in vars(self).items() if name not in LIMITS}
        return values | {"transparency": list(values["transparency"])}


@dataclass(frozen=True, kw_only=True, eq=False)
class SampleOptions(_Rare):
    r"""Settings of :meth:`VersionSpace.sample` that few runs need.

    Types and ranges are checked when the object is created, the first two fields by the run.

    Parameters
    ----------
    start : array-like of shape (m,), with more than two classes (n_classes, m), default=None
        Dual coefficients of the start of all trajectories, in version space if the walls are
        opaque. None searches for one. It must be None with `continue_from`.
    continue_from : BilliardResult, default=None
        A run on the same version space to continue. `length`, `tol` and `max_bounces` are limits of
        the whole run, `max_time` is that of the new call; all other settings are those of the
        earlier run. The law is that of a single run, and the bits if `tol` ended both.
    max_bounces : int, default=None
        Number of arrivals at walls, reflected or not, of one trajectory at which to stop. 10 000
        000 in a run with `tol` and without `length`. The first limit reached ends the run.
    transparency : float or pair of floats, default=0.0
        Probability in [0, 1] that a wall lets the ball through to its violated side; a pair is for
        examples labeled -1 and +1. The density sampled is proportional to the product of the
        transparencies of all violated examples, :math:`\epsilon / ((C - 1)(1 - \epsilon))` in the
        posterior of C classes for label noise of rate :math:`\epsilon`.
    refresh : {"auto", "pair", "full", None}, default="auto"
        Random changes of direction, without which a billiard can be confined to a part of version
        space. "full": an independent direction, by a factor of the Gram matrix. "pair": a
        reflection in the plane of two examples, which mixes slowly where feature vectors have
        little variance. "auto": "full" up to 2400 examples or for a quick factor, else "pair".
    refresh_rate : float or "auto", default="auto"
        Refreshes per radian, positive, at most 1e9. "auto" with "full" is 0.1 to 0.3, and 0.5 once
        the draws of a run with `tol` and average="conditional" are worth less than its directions,
        with an accurate center; with "pair"
        a twentieth of the rate of bounces, or 1.5 times it with softness or orthogonal planes.
    average : {"auto", "arc", "impulse", "conditional"}, default="auto"
        Estimator of `center`. "arc": the integral along the path. "impulse": the sum of the
        impulses at the walls, less accurate, and zero for examples that do not bound version space.
        "conditional": the integral of the means of each plane coordinate given all others, those of
        a truncated normal variable. With softness the center needs at most a tenth of the bounces.

        "auto" is "conditional" if all examples have a positive softness, the matrix is one of
        doubles (or small) and far from singular, and `refresh` "auto" or "full"; else "arc".

    Raises
    ------
    ValueError, TypeError
        If a setting is out of range or of a wrong type.
    """

    start: ArrayLike | None = None
    continue_from: BilliardResult | None = None

    def __post_init__(self) -> None:
        sample_settings(self)


def sample_settings(options: SampleOptions, **kwargs: Any) -> SampleSettings:
    """Return the settings of a run, of which `kwargs` are those that are not in the options."""
    rare = {field.name: getattr(options, field.name) for field in fields(_Rare)}
    return SampleSettings(**rare, **kwargs)


@dataclass(frozen=True)
class EvidenceSettings:
    """Settings of `VersionSpace.evidence`."""

    tol: float
    max_length: float
    n_trajectories: int = 4

    def __post_init__(self) -> None:
        convert(self, "evidence", tol=number, max_length=number, n_trajectories=integer)


@dataclass(frozen=True)
class MarginSettings:
    """Settings of `VersionSpace.max_margin`."""

    tol: float
    max_iter: int

    def __post_init__(self) -> None:
        convert(self, "margin", tol=number, max_iter=integer)
