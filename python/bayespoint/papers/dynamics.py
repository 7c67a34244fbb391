"""The papers' motions of the ball, which the great circles of `VersionSpace.sample` replace."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from bayespoint.base import validation
from bayespoint.base.validation import RandomState
from bayespoint.base.warnings import warn
from bayespoint.engine.problem import Callback
from bayespoint.engine.sampling import checked_start
from bayespoint.engine.settings import LIMITS, SampleOptions, optional, sample_settings
from bayespoint.papers import compiled
from bayespoint.results import BilliardResult
from bayespoint.results.result import Result, with_fields
from bayespoint.version_space import VersionSpace

__all__ = ["Chord", "Flight", "Flipper", "Scattered", "sample"]


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
        compiled.check("motion", engine_values(self))


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
    the length of its unit direction. With a singular Gram matrix of more than 2000 rows, or with
    explicit features, values near 1 or below magnify rounding: check the drift."""
    weight_tol: float | None = None
    """TOL of the algorithm, in (0, 1): the run ends when the next flight cannot have a larger share
    of the center of a trajectory. The limit is computed with the smallest cosine between the center
    and a midpoint so far, where the print of Algorithm 1 has the largest, p_max: the share falls
    as the cosine grows, so only the smallest gives an upper limit."""
    average: str = "midpoints"
    """Of what the center is the mean: ``"midpoints"`` of flights, or the ``"arc"`` of the path."""

    def __post_init__(self) -> None:
        tol = optional(validation.number)("weight_tol", self.weight_tol)
        validation.set_fields(self, weight_tol=tol)
        _check_straight(self, "midpoints", "arc")


@dataclass(frozen=True)
class Flipper:
    """Algorithm 18.1 of Ruján and Marchand (2000): straight flights within the cone.

    A flight that escapes restarts at the running center, at O(m^2). The center is biased: on the
    polygons of `Chord` by 0.01 to 0.13 radians. Walls are opaque and there is no refresh.
    """

    tau_max: float = math.inf
    """As for `Chord`."""
    average: str = "midpoints"
    """As for `Chord`, or the points of ``"bounces"``."""

    def __post_init__(self) -> None:
        _check_straight(self, "midpoints", "arc", "bounces")


Motion: TypeAlias = Scattered | Chord | Flipper


def _check_straight(motion: Chord | Flipper, *averages: str) -> None:
    validation.choice("average", motion.average, averages)
    validation.set_fields(motion, tau_max=validation.number("tau_max", motion.tau_max))
    compiled.check("motion", engine_values(motion))


def engine_values(motion: Motion) -> dict[str, Any]:
    """Return a motion as the compiled engine reads it."""
    values = {"name": type(motion).__name__.lower()} | asdict(motion)
    average = values.pop("average", None)
    if isinstance(motion, Flipper):
        values["points"] = "bounces" if average == "bounces" else "midpoints"
    if isinstance(motion, Scattered):
        radius = motion.scatterer
        values["cosine"] = values.pop("scattering") == "cosine"
        values["scatterer"] = {"given": radius} if isinstance(radius, float) else radius
    return values


def _radius(value: object) -> float | str | None:
    if value is None or (isinstance(value, str) and value == "auto"):
        return value
    if not isinstance(value, str):
        return validation.number("scatterer", value)
    raise ValueError(f"scatterer must be None, 'auto' or a radius in radians; got {value!r}")


@dataclass(frozen=True, eq=False, repr=False)
class Flight(Result):
    """The run of one of the papers' motions."""

    _title = "Flight in version space"
    _shapes = "t: escapes scatterings"

    run: BilliardResult
    """Center, draws and diagnostics. With straight flights `center` is the mean of the motion's
    `average`, `impulse_center` is NaN, since launches change the direction, and `center_error` is
    without the bias; `stop_reason` may be "weight_tol"."""
    escapes: NDArray[np.uint64]
    """(n_trajectories,) Flights that met no wall, each followed by a launch."""
    scatterings: NDArray[np.uint64]
    """(n_trajectories,) Reflections off the `scatterer`."""
    scatterer: float | None
    """Radius of the reflecting sphere around the center, in radians; None without one."""

    @property
    def escape_fraction(self) -> float:
        """Share of the flights that met no wall, in [0, 1]; NaN without flights.

        A value near 0 indicates a closed billiard in a small version space. A straight flight
        covers less than pi radians between two launches.
        """
        escapes, bounces = int(self.escapes.sum()), int(self.run.bounces.sum())
        return escapes / (escapes + bounces) if escapes + bounces else math.nan

    def _rows(self) -> list[tuple[str, str]]:
        hits, radius = int(self.scatterings.sum()), self.scatterer
        sphere = "none" if radius is None else f"radius {radius:.3g} rad, hit {hits} times"
        share = f"{int(self.escapes.sum())} ({self.escape_fraction:.3g} of the flights)"
        return [("escapes", share), ("scatterer", sphere), ("run", repr(self.run))]

    def __repr__(self) -> str:
        return f"<Flight: {int(self.escapes.sum())} escapes, {self.run!r}>"


def sample(
    space: VersionSpace,
    motion: Motion,
    *,
    tol: float | None = None,
    length: float | None = None,
    max_time: float | None = None,
    n_trajectories: int = 4,
    n_draws: int = 100,
    n_jobs: int | None = None,
    random_state: RandomState = None,
    callback: Callback = None,
    options: SampleOptions | None = None,
) -> Flight:
    """Run a motion of the papers in the version space of two classes.

    Parameters
    ----------
    space : VersionSpace
        The version space.
    motion : Scattered, Chord or Flipper
        The motion.
    tol, length, max_time, n_trajectories, n_draws, n_jobs, random_state, callback
        As for :meth:`VersionSpace.sample`. The `weight_tol` of `Chord` is a limit, too.
    options : SampleOptions, default=None
        Other settings, without `continue_from`, `checkpoint` and average="conditional". For `Chord`
        and `Flipper` walls are opaque, and `refresh` and `average` are not set.

    Returns
    -------
    Flight
        The run, and its escapes and scatterings.

    Raises
    ------
    InfeasibleError, FloatingPointError, MemoryError, TimeoutError, ValueError
        As :meth:`VersionSpace.sample`. ValueError also for more than two classes, for walls, and
        for settings that the motion does not have.

    Warns
    -----
    ConvergenceWarning
        As :meth:`VersionSpace.sample`.
    """
    if not isinstance(motion, (Scattered, Chord, Flipper)):
        raise TypeError(f"motion must be Scattered, Chord or Flipper; got {motion!r}")
    options, problem = options or SampleOptions(), space.problem
    problem.require_binary("the motions of the papers")
    if options.continue_from is not None:
        raise ValueError("continue_from must be None for the motions of the papers")
    settings = sample_settings(
        options,
        tol=tol,
        length=length,
        max_time=max_time,
        n_trajectories=n_trajectories,
        n_draws=n_draws,
    )
    seed, n_threads = validation.seed(random_state), validation.threads(n_jobs)
    values = settings.engine_values() | {"seed": seed}
    values["n_threads"] = min(n_threads, n_trajectories)
    if isinstance(motion, Scattered):
        center = "impulse_center" if settings.average == "impulse" else "arc_center"
    else:
        center = "arc_center" if motion.average == "arc" else "running_center"
    limited = any(getattr(settings, name) is not None for name in LIMITS)
    if isinstance(motion, Chord) and motion.weight_tol is not None and not limited:
        values["tol"] = None
    flight = {"motion": engine_values(motion), "run": values}
    compiled.check("flight", flight)
    start = None
    if options.start is not None:
        start = checked_start(problem, options.start)
    found = compiled.fly(problem, flight, start=start, callback=callback)
    known = {"label": problem.label, "softness": problem.softness, "offset": problem.offset}
    known |= {"center": found[center], "seed": seed, "state": None}
    run = with_fields(BilliardResult, {**found, **known})
    for message in run.convergence_messages(values["tol"], n_draws):
        warn(message)
    return Flight(run, found["escapes"], found["scatterings"], found["scatterer"])
