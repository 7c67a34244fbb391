"""Settings of each kind of run. Types are checked here, ranges by the compiled engine."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

from bayespoint import _core
from bayespoint.base.validation import boolean, choice, integer, number, pair, set_fields
from bayespoint.engine import dynamics as engine_dynamics
from bayespoint.engine.dynamics import Dynamics, Geodesic

LIMITS = ("length", "tol", "max_bounces", "max_time")
"""Settings that end a run. The `weight_tol` of `Chord` is another limit."""

_MAX_BOUNCES = 10_000_000
"""Default of `max_bounces` in a run without `length`."""

_AVERAGES = ("auto", "arc", "impulse", "conditional", "midpoints", "bounces")

_PARAMETERS = "\nParameters\n----------\n"

F = TypeVar("F", bound=Callable[..., Any])


def _convert(settings: object, **checks: Callable[[str, Any], object]) -> None:
    """Replace the named fields by what the checks of their types return."""
    values = {name: check(name, getattr(settings, name)) for name, check in checks.items()}
    set_fields(settings, **values)


def _optional(check: Callable[[str, Any], object]) -> Callable[[str, Any], object]:
    """Return a check that also accepts None."""
    return lambda name, value: None if value is None else check(name, value)


@dataclass(frozen=True)
class SampleSettings:
    r"""Settings of a run. Its result depends on these, the problem, the start and the seed.

    Parameters
    ----------
    n_trajectories : int, default=4
        Number of independent trajectories.
    n_draws : int, default=100
        Number of draws to keep of each trajectory.
    length : float, default=None
        Path length at which to stop, in radians per trajectory, at least 1e-6.
    tol : float, default=None
        Estimated angular error of the center at which to stop, in radians, positive. The run also
        goes on until the trajectories agree (R-hat at most 1.05) and the draws are worth 100
        independent ones, or half of them if there are fewer than 200, or a quarter if there are
        more than 400 (below 80 nothing can be told). 0.1 if no limit of the run is given.
    max_bounces : int, default=None
        Number of arrivals at walls, reflected or not, of one trajectory at which to stop.
        10 000 000 in a run with `tol` and without `length`. The run stops at the first limit that
        is reached.
    max_time : float, default=None
        Seconds after which to stop with what there is, positive. The result then depends on the
        machine and its load. A run that it ended can be continued.
    dynamics : str or object of :mod:`bayespoint.dynamics`, default="geodesic"
        ``Geodesic()``: great circles with exact reflections. ``Scattered(...)``: with
        scattering at the walls or by a sphere. ``Chord(...)`` and ``Flipper(...)``: the
        biased straight flights of the papers. A name stands for the object with its defaults.
    transparency : float or pair of floats, default=0.0
        Probability in [0, 1] that a wall lets the ball through to its violated side; a pair
        is for examples labeled -1 and +1. The density that is sampled is then proportional to
        the product of the transparencies of all violated walls. For label noise of rate
        :math:`\epsilon` the posterior has :math:`\epsilon / (1 - \epsilon)`. With C > 2 classes
        the density is a product over the violated examples, however many walls of one are violated,
        and that posterior has :math:`\epsilon / ((C - 1)(1 - \epsilon))`.
    refresh : {"auto", "pair", "full", None}, default="auto"
        Random changes of direction between bounces, without which a billiard can be confined to
        a part of version space. "full": an independent direction, which needs a factor of the
        Gram matrix. "pair": a reflection in the plane of two examples, which mixes slowly along
        directions in which the feature vectors have little variance. "auto": "full" if the factor
        takes at most half a second (up to 2400 examples in any dimension), else "pair".
    refresh_rate : float or "auto", default="auto"
        Refreshes per radian, positive, at most 1e9. "auto" is 0.1 to 0.3 with "full"; with
        "pair" a twentieth of the rate of bounces, or 1.5 times that rate with softness or
        nearly orthogonal planes.
    average : {"auto", "arc", "impulse", "conditional", "midpoints", "bounces"}, default="auto"
        Estimator of `center`. "arc": the integral along the path. "impulse": the sum of the
        impulses at the walls, less accurate, and zero for examples that do not bound version
        space. "conditional": the integral of conditional means, which has far less noise (see
        Notes), but needs a factor of a Gram matrix far from singular. "midpoints" (the default
        of "chord" and "flipper") and "bounces" ("flipper" only) are those of the papers.

        "auto" is "conditional" if the softness of all examples is positive, the matrix is one of
        doubles (or of up to 2000 examples in singles) and far from singular, and `refresh` is
        "auto" or "full"; else "arc".
    """

    n_trajectories: int = 4
    n_draws: int = 100
    length: float | None = None
    tol: float | None = None
    max_bounces: int | None = None
    max_time: float | None = None
    dynamics: Dynamics | str = "geodesic"
    transparency: float | tuple[float, float] = 0.0
    refresh: str | None = "auto"
    refresh_rate: float | str = "auto"
    average: str = "auto"

    def __post_init__(self) -> None:
        choice("refresh", self.refresh, ("auto", "pair", "full", None))
        choice("average", self.average, _AVERAGES)
        _convert(
            self,
            n_trajectories=integer,
            n_draws=integer,
            length=_optional(number),
            tol=_optional(number),
            max_bounces=_optional(integer),
            max_time=_optional(number),
            transparency=partial(pair, check=number),
        )
        motion = engine_dynamics.resolve(self.dynamics)
        set_fields(self, dynamics=motion, refresh_rate=self._rate())
        _core.check_settings("sample", self.engine_values())

    def _rate(self) -> float | str:
        rate = self.refresh_rate
        if isinstance(rate, str) and rate == "auto":
            return "auto"
        if isinstance(rate, str) or rate is None:
            raise ValueError(f"refresh_rate must be 'auto' or events per radian; got {rate!r}")
        if self.refresh not in ("pair", "full"):
            raise ValueError(
                f"refresh_rate must be 'auto' with refresh={self.refresh!r}; got {rate!r} (a rate "
                "needs refresh='pair' or 'full')"
            )
        return number("refresh_rate", rate)

    def engine_values(self) -> dict[str, Any]:
        """Return the settings as the compiled engine reads them, with default limits."""
        values = vars(self) | self.limits()
        rate = values.pop("refresh_rate")
        if self.refresh is None:
            values["refresh"] = "none"
        elif self.refresh != "auto":
            values["refresh"] = {self.refresh: None if rate == "auto" else rate}
        return values | {"dynamics": engine_dynamics.engine_values(self.motion)}

    @property
    def motion(self) -> Dynamics:
        """The dynamics as an object."""
        return engine_dynamics.resolve(self.dynamics)

    @property
    def opaque(self) -> bool:
        """Whether no wall lets the ball through."""
        return self.transparency in (0.0, (0.0, 0.0))

    @property
    def may_be_conditional(self) -> bool:
        """Whether conditional means are averaged if they are possible."""
        geodesic = isinstance(self.motion, Geodesic)
        return geodesic and self.average == "auto" and self.refresh in ("auto", "full")

    def limits(self) -> dict[str, Any]:
        """Return the limits of the run, defaults included."""
        length, tol, bounces = self.length, self.tol, self.max_bounces
        others = (length, bounces, self.max_time, getattr(self.motion, "weight_tol", None))
        if tol is None and not any(others):
            tol = 0.1
        only_time = tol is None and self.max_time is not None
        if length is None and bounces is None and not only_time:
            bounces = _MAX_BOUNCES
        return {"length": length, "tol": tol, "max_bounces": bounces, "max_time": self.max_time}

    def resolved(self, *, conditional: bool) -> SampleSettings:
        """Return the settings with `average` resolved, to conditional means or the default."""
        if conditional:
            return dataclasses.replace(self, average="conditional")
        if self.average == "auto":
            straight = isinstance(self.motion, engine_dynamics.STRAIGHT)
            return dataclasses.replace(self, average="midpoints" if straight else "arc")
        return self

    def plain(self) -> dict[str, Any]:
        """Return all settings but the limits, as plain values: a continued run keeps them."""
        fields = {name: value for name, value in vars(self).items() if name not in LIMITS}
        return fields | {
            "dynamics": engine_dynamics.plain(self.motion),
            "transparency": list(fields["transparency"]),
        }

    @classmethod
    def from_plain(cls, values: Mapping[str, Any]) -> SampleSettings:
        """Return the settings of the values of `plain`, without limits."""
        motion = engine_dynamics.from_plain(values["dynamics"])
        return cls(**{**values, "dynamics": motion})


def with_settings(method: F) -> F:
    """Add the fields of `SampleSettings` to the signature and docstring of a method."""
    signature = inspect.signature(method)
    own = [p for p in signature.parameters.values() if p.kind is not p.VAR_KEYWORD]
    first = [p for p in own if p.kind is not p.KEYWORD_ONLY]
    fields = inspect.signature(SampleSettings).parameters.values()
    settings = [p.replace(kind=p.KEYWORD_ONLY) for p in fields]
    rest = [p for p in own if p.kind is p.KEYWORD_ONLY]
    method.__signature__ = signature.replace(  # type: ignore[attr-defined]
        parameters=[*first, *settings, *rest]
    )
    before, heading, after = (inspect.getdoc(method) or "").partition(_PARAMETERS)
    described = (inspect.getdoc(SampleSettings) or "").partition(_PARAMETERS)[2]
    method.__doc__ = f"{before}{heading}{described}\n{after}"
    return method


@dataclass(frozen=True)
class OnionSettings:
    """Settings of `VersionSpace.onion`."""

    max_errors: tuple[int, int]
    method: str
    tol: float
    volume_tol: float | None
    max_length: float
    n_trajectories: int

    def __post_init__(self) -> None:
        choice("method", self.method, ("exact", "projected"))
        _convert(
            self,
            tol=number,
            volume_tol=_optional(number),
            max_length=number,
            n_trajectories=integer,
        )
        _core.check_settings("onion", vars(self))


@dataclass(frozen=True)
class EvidenceSettings:
    """Settings of `VersionSpace.evidence`."""

    method: str
    tol: float
    max_length: float
    n_trajectories: int

    def __post_init__(self) -> None:
        choice("method", self.method, ("auto", "bridge", "integration"))
        _convert(self, tol=number, max_length=number, n_trajectories=integer)
        _core.check_settings("evidence", vars(self) | {"method": "bridge"})


@dataclass(frozen=True)
class MarginSettings:
    """Settings of `VersionSpace.max_margin`."""

    C: float
    free_bias: bool
    tol: float
    max_iter: int

    def __post_init__(self) -> None:
        _convert(self, C=number, free_bias=boolean, tol=number, max_iter=integer)
        _core.check_settings("margin", vars(self))


@dataclass(frozen=True)
class PerceptronSettings:
    """Settings of the kernel perceptron."""

    learning_rate: float
    max_epochs: int

    def __post_init__(self) -> None:
        _convert(self, learning_rate=number, max_epochs=integer)
        _core.check_settings("perceptron", vars(self))


@dataclass(frozen=True)
class CorrelationSettings:
    """Settings of `bayespoint.papers.correlation.correlation_length`."""

    angle: float
    n_pairs: int
    n_trajectories: int
    max_bounces: int
    dynamics: Dynamics | str

    def __post_init__(self) -> None:
        motion = engine_dynamics.resolve(self.dynamics)
        if isinstance(motion, engine_dynamics.STRAIGHT):
            raise TypeError(f"dynamics must be Geodesic() or Scattered(...); got {motion}")
        _convert(self, angle=number, n_pairs=integer, n_trajectories=integer, max_bounces=integer)
        set_fields(self, dynamics=motion)
        _core.check_settings("correlation", self.engine_values())

    def engine_values(self) -> dict[str, Any]:
        """Return the settings as the compiled engine reads them."""
        motion = engine_dynamics.resolve(self.dynamics)
        return vars(self) | {"dynamics": engine_dynamics.engine_values(motion)}
