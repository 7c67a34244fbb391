"""Dynamics of the ball: great circles, and for comparison those of the papers."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any, TypeAlias

from bayespoint import _core
from bayespoint.base import validation


@dataclass(frozen=True)
class Geodesic:
    """Great circles with exact reflections. They fill version space uniformly."""


@dataclass(frozen=True)
class Scattered:
    """Great circles, scattered at the walls or by a sphere (Ruján and Marchand, section 18.5.1).

    Both keep the uniform distribution. Both need a factor of the Gram matrix and O(m^2) operations
    for each scattering. Beyond a few dimensions the sphere is hardly ever hit, and the cosine law,
    which forgets the incoming direction, is less accurate than a refresh.
    """

    scattering: str = "cosine"
    """``"cosine"``: walls reflect by Lambert's law, at random. ``"specular"``: as mirrors."""
    scatterer: float | str | None = None
    """Radius in radians, at least 1e-6, of a reflecting sphere around the center, which is
    estimated first and then fixed. It must lie inside version space, and the walls be opaque.
    ``"auto"`` is half of the distance to the nearest wall. The straight path through the sphere is
    counted too, so that center and draws are those of the whole version space."""

    def __post_init__(self) -> None:
        scattering = validation.choice("scattering", self.scattering, ("cosine", "specular"))
        validation.set_fields(self, scattering=scattering, scatterer=_radius(self.scatterer))
        _core.check_settings("dynamics", engine_values(self))


@dataclass(frozen=True)
class Chord:
    """Algorithm 1 of Herbrich, Graepel and Campbell (2001): straight flights.

    Position and direction are normalized at every wall. A flight that escapes is launched again in
    a random direction, at O(m^2). The center is biased, for runs of any length: by 0.005 to 0.03
    radians on polygons (ten random planes in three dimensions). Walls are opaque and there is no
    refresh.
    """

    tau_max: float = 1e6
    """Positive flight time from which a flight counts as escaped. In a time of 1 the ball moves by
    the length of its unit direction. With a singular Gram matrix of more than 2000 rows values near
    1 or below magnify rounding: check the drift."""
    weight_tol: float | None = None
    """TOL of the algorithm, in (0, 1): the run ends when the next flight cannot have a larger share
    of the center of a trajectory. The limit is computed with the smallest cosine between the center
    and a midpoint so far, where the print of Algorithm 1 has the largest, p_max: the share falls
    as the cosine grows, so only the smallest gives an upper limit."""

    def __post_init__(self) -> None:
        validation.set_fields(self, tau_max=validation.number("tau_max", self.tau_max))
        if self.weight_tol is not None:
            tol = validation.number("weight_tol", self.weight_tol)
            validation.set_fields(self, weight_tol=tol)
        _core.check_settings("dynamics", engine_values(self))


@dataclass(frozen=True)
class Flipper:
    """Algorithm 18.1 of Ruján and Marchand (2000): straight flights within the cone.

    A flight that escapes restarts at the running center, at O(m^2). The center is biased: on the
    polygons of `Chord` by 0.01 to 0.13 radians. Walls are opaque and there is no refresh.
    """

    tau_max: float = math.inf
    """As for `Chord`."""

    def __post_init__(self) -> None:
        validation.set_fields(self, tau_max=validation.number("tau_max", self.tau_max))
        _core.check_settings("dynamics", engine_values(self))


Dynamics: TypeAlias = Geodesic | Scattered | Chord | Flipper

STRAIGHT = (Chord, Flipper)  # dynamics with straight flights, opaque walls and no refresh

BY_NAME: dict[str, type[Dynamics]] = {
    kind.__name__.lower(): kind for kind in (Geodesic, Chord, Flipper, Scattered)
}


def resolve(value: object) -> Dynamics:
    """Return the dynamics of an object or a name, which stands for the object's defaults."""
    if isinstance(value, (Geodesic, Scattered, Chord, Flipper)):
        return value
    if isinstance(value, str) and value in BY_NAME:
        return BY_NAME[value]()
    listed = ", ".join(repr(name) for name in BY_NAME)
    raise ValueError(
        f"dynamics must be one of {listed} or an object of bayespoint.dynamics; got {value!r}"
    )


def plain(dynamics: Dynamics) -> dict[str, Any]:
    """Return dynamics as plain values, without the limit `weight_tol`."""
    named = {"name": type(dynamics).__name__.lower()} | asdict(dynamics)
    return {name: value for name, value in named.items() if name != "weight_tol"}


def from_plain(values: dict[str, Any]) -> Dynamics:
    """Return the dynamics of the values of `plain`."""
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
