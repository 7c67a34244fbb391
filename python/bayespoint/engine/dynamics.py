"""How the ball moves: great circles, and what the papers propose in their place.

The default fills version space uniformly. The dynamics of the papers are here for comparison.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any, TypeAlias

from bayespoint import _core
from bayespoint.base import validation

__all__ = ["Chord", "Flipper", "Geodesic", "Scattered"]


@dataclass(frozen=True)
class Geodesic:
    """Great circles with exact reflections, which fill version space uniformly."""


@dataclass(frozen=True)
class Scattered:
    """Great circles, scattered at the walls or by a sphere (Ruján and Marchand, section 18.4.2).

    Both leave the law uniform, and both take a factor of the Gram matrix and O(m^2) operations
    each time. Beyond a few dimensions hardly a flight meets the sphere, and the cosine law, which
    forgets where the ball was going, is less accurate than a refresh.
    """

    scattering: str = "cosine"
    """``"cosine"``: a wall throws the ball back in a random direction by Lambert's law.
    ``"specular"``: as a mirror does."""

    scatterer: float | str | None = None
    """Radius in radians, at least 1e-6, of a reflecting sphere around the center, which is
    estimated first and then fixed. It must lie inside version space, whose walls must be opaque.
    ``"auto"`` is half of the distance to the nearest wall. The way straight through the sphere is
    counted too, so that center and draws are those of version space with the sphere filled in."""

    def __post_init__(self) -> None:
        scattering = validation.choice("scattering", self.scattering, ("cosine", "specular"))
        validation.set_fields(self, scattering=scattering, scatterer=_radius(self.scatterer))
        _core.check_settings("dynamics", engine_values(self))


@dataclass(frozen=True)
class Chord:
    """Algorithm 1 of Herbrich, Graepel and Campbell (2001): straight flights.

    The ball is put back to the sphere at every wall and gets a new direction on the spot. A flight
    that escapes is launched anew in a random direction, at O(m^2). The center is biased: on
    polygons (ten random planes in three dimensions) by 0.005 to 0.03 radians however long the run.
    Walls are opaque and nothing is refreshed.
    """

    tau_max: float = 1e6
    """Flight time, above 0, from which a flight counts as escaped; in a time of 1 the ball gets as
    far as the unit direction is long. Values near 1 or below magnify rounding if the Gram matrix is
    singular and has more than 2000 rows or computes them on demand: look at the drift."""

    weight_tol: float | None = None
    """TOL of the algorithm, in (0, 1): the run ends once the share of the next flight in the center
    of one trajectory can be no larger."""

    def __post_init__(self) -> None:
        tol = self.weight_tol
        validation.set_fields(
            self,
            tau_max=validation.number("tau_max", self.tau_max),
            weight_tol=None if tol is None else validation.number("weight_tol", tol),
        )
        _core.check_settings("dynamics", engine_values(self))


@dataclass(frozen=True)
class Flipper:
    """Algorithm 18.1 of Ruján and Marchand (2000): straight flights on in the cone.

    A flight that escapes restarts at the running center, at O(m^2). The center is biased: on the
    polygons of `Chord` by 0.01 to 0.13 radians. Walls are opaque and nothing is refreshed.
    """

    tau_max: float = math.inf
    """As for `Chord`."""

    def __post_init__(self) -> None:
        validation.set_fields(self, tau_max=validation.number("tau_max", self.tau_max))
        _core.check_settings("dynamics", engine_values(self))


Dynamics: TypeAlias = Geodesic | Scattered | Chord | Flipper

FIRST_AVERAGE: dict[type[Dynamics], str] = {
    Geodesic: "arc",
    Scattered: "arc",
    Chord: "midpoints",
    Flipper: "midpoints",
}
"""The center that a run finds unless it is asked for another."""

STRAIGHT = (Chord, Flipper)
"""Dynamics of straight flights: opaque walls, no refresh."""

BY_NAME: dict[str, type[Dynamics]] = {
    "geodesic": Geodesic,
    "chord": Chord,
    "flipper": Flipper,
    "scattered": Scattered,
}


def resolve(value: object) -> Dynamics:
    """Return dynamics given as an object, or by the name of one with its defaults."""
    if isinstance(value, (Geodesic, Scattered, Chord, Flipper)):
        return value
    if isinstance(value, str) and value in BY_NAME:
        return BY_NAME[value]()
    listed = ", ".join(repr(name) for name in BY_NAME)
    raise ValueError(
        f"dynamics must be one of {listed} or an object of bayespoint.dynamics; got {value!r}"
    )


def plain(dynamics: Dynamics) -> dict[str, Any]:
    """Return dynamics as plain values, without what only ends a run."""
    values = {"name": type(dynamics).__name__.lower()} | asdict(dynamics)
    values.pop("weight_tol", None)
    return values


def from_plain(values: dict[str, Any]) -> Dynamics:
    """Return the dynamics that `plain` made these values of."""
    return BY_NAME[values["name"]](**{key: values[key] for key in values if key != "name"})


def engine_values(dynamics: Dynamics) -> dict[str, Any]:
    """Return dynamics as the compiled engine reads them."""
    values = {"name": type(dynamics).__name__.lower()} | asdict(dynamics)
    if isinstance(dynamics, Scattered):
        radius = dynamics.scatterer
        values["cosine"] = values.pop("scattering") == "cosine"
        values["scatterer"] = {"given": radius} if isinstance(radius, float) else radius
    return values


def _radius(value: object) -> float | str | None:
    if value is None or (isinstance(value, str) and value == "auto"):
        return value
    if not isinstance(value, str):
        return validation.number("scatterer", value)
    raise ValueError(f"scatterer must be None, 'auto' or a radius in radians; got {value!r}")
