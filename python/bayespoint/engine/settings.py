"""The settings of each kind of run: checked together, and filled in where left to choose."""

from __future__ import annotations

import dataclasses
import inspect
import math
import numbers
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from bayespoint.base.validation import (
    boolean,
    choice,
    float_or_nan,
    integer,
    pair,
    real,
    set_fields,
)
from bayespoint.engine import dynamics as engine_dynamics
from bayespoint.engine.dynamics import AVERAGES, STRAIGHT, Dynamics, Geodesic

MAX_BOUNCES = 10_000_000
"""Cap on the bounces of each trajectory when only an angular tolerance ends the run."""

MOST_ERRORS = 1_000_000
"""Largest `max_errors` of an onion: beyond it the size of a table overflows."""

ENDS = ("length", "tol", "max_bounces")
"""What ends a run, beside the `weight_tol` of `Chord`."""

_AVERAGES = ("auto", "arc", "impulse", "conditional", "midpoints", "bounces")

F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True)
class SampleSettings:
    """What the result of a run depends on, beside its problem, start and seed.

    The fields are those of `VersionSpace.sample`. Wrong ones are refused when it is made.
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
        motion = engine_dynamics.resolve(self.dynamics)
        straight = isinstance(motion, STRAIGHT)
        transparency = pair("transparency", self.transparency, high=1.0, high_open=False)
        if any(transparency) and (straight or getattr(motion, "scatterer", None) is not None):
            raise ValueError(
                f"transparency must be 0 with dynamics={motion}, which needs opaque walls; got "
                f"{self.transparency!r}"
            )
        choice("refresh", self.refresh, ("auto", "pair", "full", None))
        if straight and self.refresh in ("pair", "full"):
            raise ValueError(
                f"refresh must be 'auto' or None with dynamics={motion}, which has none; got "
                f"{self.refresh!r}"
            )
        allowed = ("auto", *AVERAGES[type(motion)])
        if choice("average", self.average, _AVERAGES) not in allowed:
            raise ValueError(
                f"average must be one of {', '.join(map(repr, allowed))} with dynamics={motion}; "
                f"got {self.average!r}"
            )
        bounces = self.max_bounces
        set_fields(
            self,
            n_trajectories=integer("n_trajectories", self.n_trajectories, low=1),
            n_draws=integer("n_draws", self.n_draws, low=1),
            # The integral of a shorter path drowns in rounding.
            length=None if self.length is None else real("length", self.length, low=1e-6),
            tol=None if self.tol is None else real("tol", self.tol, low=0.0, low_open=True),
            max_bounces=None if bounces is None else integer("max_bounces", bounces, low=1),
            dynamics=motion,
            transparency=transparency,
            refresh_rate=self._rate(),
        )

    def _rate(self) -> float | str:
        rate = self.refresh_rate
        if isinstance(rate, str) and rate == "auto":
            return "auto"
        if isinstance(rate, str) or rate is None:
            raise ValueError(
                f"refresh_rate must be 'auto' or events per radian, above 0; got {rate!r}"
            )
        if self.refresh not in ("pair", "full"):
            raise ValueError(
                f"refresh_rate must be 'auto' with refresh={self.refresh!r}; got {rate!r} (a rate "
                "needs refresh='pair' or 'full')"
            )
        return real("refresh_rate", rate, low=0.0, high=1e9, low_open=True)

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
            return dataclasses.replace(self, average=AVERAGES[type(self.motion)][0])
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
    """Show the fields of `SampleSettings` as parameters of a method that takes them by name."""
    signature = inspect.signature(method)
    own = [p for p in signature.parameters.values() if p.kind is not p.VAR_KEYWORD]
    first = [p for p in own if p.kind is not p.KEYWORD_ONLY]
    fields = inspect.signature(SampleSettings).parameters.values()
    settings = [p.replace(kind=p.KEYWORD_ONLY) for p in fields]
    rest = [p for p in own if p.kind is p.KEYWORD_ONLY]
    method.__signature__ = signature.replace(  # type: ignore[attr-defined]
        parameters=[*first, *settings, *rest]
    )
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
        if max(self.max_errors) > MOST_ERRORS:
            raise ValueError(f"max_errors must be at most {MOST_ERRORS}; got {self.max_errors}")
        method = choice("method", self.method, ("exact", "projected"))
        volume_tol = self.volume_tol
        if volume_tol is not None:
            volume_tol = real("volume_tol", volume_tol, low=0.0, low_open=True)
            if method == "projected":
                raise ValueError(
                    "volume_tol must be None with method='projected', which tells no volumes; got "
                    f"{volume_tol!r}"
                )
        set_fields(
            self,
            tol=real("tol", self.tol, low=0.0, low_open=True),
            volume_tol=volume_tol,
            max_length=real("max_length", self.max_length, low=0.0, low_open=True),
            n_trajectories=integer("n_trajectories", self.n_trajectories, low=1),
        )


@dataclass(frozen=True)
class EvidenceSettings:
    """The checked settings of an evidence run."""

    method: str
    tol: float
    max_length: float
    n_trajectories: int

    def __post_init__(self) -> None:
        methods = ("auto", "bridge", "integration")
        set_fields(
            self,
            method=choice("method", self.method, methods),
            tol=real("tol", self.tol, low=0.0, low_open=True),
            max_length=real("max_length", self.max_length, low=0.0, low_open=True),
            n_trajectories=integer("n_trajectories", self.n_trajectories, low=1),
        )


@dataclass(frozen=True)
class MarginSettings:
    """The checked settings of a search for the largest margin."""

    C: float
    free_bias: bool
    tol: float
    max_iter: int

    def __post_init__(self) -> None:
        wanted = "a positive number, or inf for a hard margin"
        if isinstance(self.C, (bool, np.bool_)) or not isinstance(self.C, numbers.Real):
            raise TypeError(f"C must be {wanted}; got {self.C!r}")
        if not (math.inf == self.C or 0 < float_or_nan(self.C) < math.inf):
            raise ValueError(f"C must be {wanted}; got {self.C!r}")
        set_fields(
            self,
            C=float(self.C),
            free_bias=boolean("free_bias", self.free_bias),
            tol=real("tol", self.tol, low=0.0, low_open=True, high=1.0, high_open=True),
            max_iter=integer("max_iter", self.max_iter, low=1),
        )
