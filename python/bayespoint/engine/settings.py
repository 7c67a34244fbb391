"""Settings of each kind of run: their types are checked here, their ranges by the engine."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from bayespoint import _core
from bayespoint.base.validation import (
    boolean,
    choice,
    integer,
    number,
    pair,
    set_fields,
)
from bayespoint.engine import dynamics as engine_dynamics
from bayespoint.engine.dynamics import FIRST_AVERAGE, Dynamics, Geodesic

MAX_BOUNCES = 10_000_000
"""Cap on the bounces of each trajectory when only an angular tolerance ends the run."""

ENDS = ("length", "tol", "max_bounces")
"""What ends a run, beside the `weight_tol` of `Chord`."""

_AVERAGES = ("auto", "arc", "impulse", "conditional", "midpoints", "bounces")

_PARAMETERS = "\nParameters\n----------\n"

F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True)
class SampleSettings:
    r"""The settings that the result of a run depends on, beside its problem, start and seed.

    The constructor refuses wrong settings. Types are checked here, ranges by the compiled engine.

    Parameters
    ----------
    n_trajectories : int, default=4
        Number of independent trajectories.
    n_draws : int, default=100
        Number of draws to keep of each trajectory.
    length : float, default=None
        Path length at which to stop, in radians per trajectory, at least 1e-6.
    tol : float, default=None
        Estimated angular error of the center at which to stop, in radians, provided that the
        first and second halves of all trajectories agree within their errors. 0.1 if none of
        `length`, `tol` and `max_bounces` is given.
    max_bounces : int, default=None
        Number of arrivals at walls, reflected or not, in any one trajectory at which to stop.
        10 000 000 if only `tol` is given. The run stops at the first limit that is reached.
    dynamics : str or object of :mod:`bayespoint.dynamics`, default="geodesic"
        ``Geodesic()``: great circles with exact reflections. ``Scattered(...)``: with
        scattering at the walls or off a sphere. ``Chord(...)`` and ``Flipper(...)``: the
        biased straight flights of the papers. A name stands for the object with its defaults.
    transparency : float or pair of floats, default=0.0
        Probability in [0, 1] that a wall lets the ball through to its violated side; a pair
        is for examples labeled -1 and +1. The density that is sampled is then proportional to
        the product of the transparencies of all violated walls. For label noise of rate
        :math:`\epsilon` the posterior has :math:`\epsilon / (1 - \epsilon)`.
    refresh : {"auto", "pair", "full", None}, default="auto"
        Random changes of direction between bounces, without which a billiard can be confined to
        a part of version space. "pair": reflections in the plane of two examples, which read
        two rows of the Gram matrix. They mix slowly along the many directions in which the
        feature vectors of a smooth kernel have little variance. "full": an independent
        direction, which needs a factor of the Gram matrix. "auto": "full" if that factor takes
        at most half a second (up to 2400 examples in any number of dimensions), else "pair".
    refresh_rate : float or "auto", default="auto"
        Changes per radian, positive, at most 1e9. "auto" is 0.1 to 0.3 with "full"; with
        "pair" a twentieth of the rate of bounces, or 1.5 times that rate with softness or
        nearly orthogonal planes.
    average : {"auto", "arc", "impulse", "conditional", "midpoints", "bounces"}, default="auto"
        Estimator of `center`. "arc": the integral along the path. "impulse": the sum of the
        impulses at the walls, less accurate, and zero for examples that do not bound version
        space. "conditional": the integral of conditional means, which has far less noise (see
        Notes) and needs a factor of a Gram matrix far from singular. "midpoints" (the default
        of "chord" and "flipper") and "bounces" ("flipper" only) are those of the papers. "auto"
        is "conditional" if softness is positive for all examples, the matrix is one of doubles
        (or of up to 2000 examples in singles) and far from singular, and `refresh` is "auto" or
        "full"; else "arc".
    """

    n_trajectories: int = 4
    n_draws: int = 100
    length: float | None = None
    tol: float | None = None
    max_bounces: int | None = None
    dynamics: Dynamics | str = "geodesic"
    transparency: float | tuple[float, float] = 0.0
    refresh: str | None = "auto"
    refresh_rate: float | str = "auto"
    average: str = "auto"

    def __post_init__(self) -> None:
        length, tol, bounces = self.length, self.tol, self.max_bounces
        choice("refresh", self.refresh, ("auto", "pair", "full", None))
        choice("average", self.average, _AVERAGES)
        set_fields(
            self,
            n_trajectories=integer("n_trajectories", self.n_trajectories),
            n_draws=integer("n_draws", self.n_draws),
            length=None if length is None else number("length", length),
            tol=None if tol is None else number("tol", tol),
            max_bounces=None if bounces is None else integer("max_bounces", bounces),
            dynamics=engine_dynamics.resolve(self.dynamics),
            transparency=pair("transparency", self.transparency, number),
            refresh_rate=self._rate(),
        )
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
        """Return the settings as the compiled engine reads them, their ends filled in."""
        values = vars(self) | self.ends()
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
        """Whether the center is one of conditional means where these are to be had."""
        plain = isinstance(self.motion, Geodesic)
        return plain and self.average == "auto" and self.refresh in ("auto", "full")

    def ends(self) -> dict[str, Any]:
        """Return what ends the run, filled in where that was left to choose."""
        length, tol, bounces = self.length, self.tol, self.max_bounces
        others = (length, bounces, getattr(self.motion, "weight_tol", None))
        if tol is None and others == (None, None, None):
            tol = 0.1
        if length is None and bounces is None:
            bounces = MAX_BOUNCES
        return {"length": length, "tol": tol, "max_bounces": bounces}

    def resolved(self, *, conditional: bool) -> SampleSettings:
        """Return the settings with the average that is taken, conditional means or the first."""
        if conditional:
            return dataclasses.replace(self, average="conditional")
        if self.average == "auto":
            return dataclasses.replace(self, average=FIRST_AVERAGE[type(self.motion)])
        return self

    def plain(self) -> dict[str, Any]:
        """Return what a run keeps to when it goes on, as plain values: all but its ends."""
        fields = {f.name: getattr(self, f.name) for f in dataclasses.fields(self)}
        for name in ENDS:
            del fields[name]
        return fields | {
            "dynamics": engine_dynamics.plain(self.motion),
            "transparency": list(fields["transparency"]),
        }

    @classmethod
    def from_plain(cls, values: Mapping[str, Any]) -> SampleSettings:
        """Return the settings that `plain` made these values of, without an end."""
        motion = engine_dynamics.from_plain(values["dynamics"])
        return cls(**{**values, "dynamics": motion})


def with_settings(method: F) -> F:
    """Show the fields of `SampleSettings`, and what it says of them, as parameters of a method.

    The method takes them by name.
    """
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
    """The checked settings of an onion run, as the compiled engine takes them."""

    max_errors: tuple[int, int]
    method: str
    tol: float
    volume_tol: float | None
    max_length: float
    n_trajectories: int

    def __post_init__(self) -> None:
        choice("method", self.method, ("exact", "projected"))
        volume_tol = self.volume_tol
        set_fields(
            self,
            tol=number("tol", self.tol),
            volume_tol=None if volume_tol is None else number("volume_tol", volume_tol),
            max_length=number("max_length", self.max_length),
            n_trajectories=integer("n_trajectories", self.n_trajectories),
        )
        _core.check_settings("onion", vars(self))


@dataclass(frozen=True)
class EvidenceSettings:
    """The checked settings of an evidence run."""

    method: str
    tol: float
    max_length: float
    n_trajectories: int

    def __post_init__(self) -> None:
        choice("method", self.method, ("auto", "bridge", "integration"))
        set_fields(
            self,
            tol=number("tol", self.tol),
            max_length=number("max_length", self.max_length),
            n_trajectories=integer("n_trajectories", self.n_trajectories),
        )
        _core.check_settings("evidence", vars(self) | {"method": "bridge"})


@dataclass(frozen=True)
class MarginSettings:
    """The checked settings of a search for the largest margin."""

    C: float
    free_bias: bool
    tol: float
    max_iter: int

    def __post_init__(self) -> None:
        set_fields(
            self,
            C=number("C", self.C),
            free_bias=boolean("free_bias", self.free_bias),
            tol=number("tol", self.tol),
            max_iter=integer("max_iter", self.max_iter),
        )
        _core.check_settings("margin", vars(self))


@dataclass(frozen=True)
class PerceptronSettings:
    """The checked settings of the kernel perceptron."""

    learning_rate: float
    max_epochs: int

    def __post_init__(self) -> None:
        set_fields(
            self,
            learning_rate=number("learning_rate", self.learning_rate),
            max_epochs=integer("max_epochs", self.max_epochs),
        )
        _core.check_settings("perceptron", vars(self))


@dataclass(frozen=True)
class CorrelationSettings:
    """The checked settings of pairs of balls."""

    angle: float
    n_pairs: int
    n_trajectories: int
    max_bounces: int
    dynamics: Dynamics | str

    def __post_init__(self) -> None:
        motion = engine_dynamics.resolve(self.dynamics)
        if isinstance(motion, engine_dynamics.STRAIGHT):
            raise TypeError(f"dynamics must be Geodesic() or Scattered(...); got {motion}")
        set_fields(
            self,
            angle=number("angle", self.angle),
            n_pairs=integer("n_pairs", self.n_pairs),
            n_trajectories=integer("n_trajectories", self.n_trajectories),
            max_bounces=integer("max_bounces", self.max_bounces),
            dynamics=motion,
        )
        _core.check_settings("correlation", self.engine_values())

    def engine_values(self) -> dict[str, Any]:
        """Return the settings as the compiled engine reads them."""
        motion = engine_dynamics.resolve(self.dynamics)
        return vars(self) | {"dynamics": engine_dynamics.engine_values(motion)}
