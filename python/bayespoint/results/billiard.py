"""What a billiard run returns, and what of it is worth a warning."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from bayespoint.base.io import Savable
from bayespoint.base.report import as_html, as_text
from bayespoint.results import diagnostics
from bayespoint.results.datatree import to_datatree

if TYPE_CHECKING:
    import xarray as xr
    from typing_extensions import Self

MAX_DRIFT = 1e-6
"""A larger relative drift of the plane coordinates is worth a warning."""

MAX_R_HAT = 1.01
"""A larger R-hat is worth a warning (Vehtari et al., 2021), unless the run met its tolerance or
chance explains it."""

MIN_ESS = 100.0
"""Draws worth fewer independent ones are worth a warning, or fewer than half of few draws."""

LEAST_DRAWS = 4
"""Draws of a trajectory below which R-hat and effective sample size do not exist."""

R_HAT_DRAWS = 1000
"""Draws of a trajectory that R-hat looks at, at most."""


def allowed_r_hat(n_trajectories: int, ess: float) -> float:
    """Return the R-hat beyond which a run that no tolerance ended is worth a warning.

    1.01, or what one in a million quantities exceeds by chance if the draws are worth `ess`
    independent ones: then the variance between the halves of trajectories over that within them is
    close to chi-square over its degrees of freedom.
    """
    freedom = 2 * n_trajectories - 1
    ratio = float(stats.chi2.isf(1e-6, freedom)) / freedom
    return max(MAX_R_HAT, math.sqrt(1 + (ratio - 1) / max(ess / (freedom + 1), 1.0)))


@dataclass(frozen=True, eq=False, repr=False)
class BilliardResult(Savable):
    """The outcome of billiard trajectories in version space.

    ``m`` is the number of examples. A weight vector is given by its signed dual coefficients
    ``c``: ``w = sum(c_i phi_i)``. Angles and path lengths are radians on the unit sphere.
    """

    center: NDArray[np.float64]
    """(m,) Dual coefficients of the center of mass, scaled to a unit vector: `arc_center`,
    `impulse_center`, or for "chord" and "flipper" the center of their own, whichever the run was
    asked for."""

    center_norm: float
    """Length of the mean of the unit weight vectors, in (0, 1]: near 1 where version space is
    small."""

    arc_center: NDArray[np.float64]
    """(m,) Unit center from the exact integral of the position along the path, or with
    average="conditional" of its conditional means."""

    impulse_center: NDArray[np.float64]
    """(m,) Unit center from the impulses the walls received: never of the sign opposite to the
    label, exactly zero for planes never hit. Zeros if no wall was hit. NaN for "chord" and
    "flipper", whose launches break the balance of momenta."""

    draws: NDArray[np.float64]
    """(n_trajectories, n_draws, m) Unit weight vectors at equal spacing along the path."""

    functionals: NDArray[np.float64]
    """(n_trajectories, n_draws, 16 or m) The draws' coordinates ``<w, phi_i> / |phi_i|`` at the
    planes of `watched`: what `ess` and `r_hat` are about."""

    watched: NDArray[np.int64]
    """(16 or m,) Indices of as many planes, evenly spread over the examples."""

    spacing: float
    """Path between one draw and the next, in radians."""

    bounces: NDArray[np.uint64]
    """(n_trajectories,) Reflections at walls."""

    crossings: NDArray[np.uint64]
    """(n_trajectories,) Walls passed through."""

    refreshes: NDArray[np.uint64]
    """(n_trajectories,) Changes of direction in mid-air that keep the uniform law."""

    length: float
    """Path that was averaged, in radians per trajectory."""

    burn_in: float
    """Path flown before it and left out, in radians per trajectory."""

    hits: NDArray[np.uint64]
    """(m,) Bounces at each plane."""

    cycles: NDArray[np.uint64]
    """(n_trajectories,) For a run of opaque, specular walls without refresh: the number of bounces
    after which a trajectory meets the same planes in the same order, over and over again. Such a
    cycle does not fill version space. 0 if there is none of up to 4 m + 64 bounces."""

    missed: NDArray[np.float64]
    """(n_trajectories,) Share of the bounces of all the other trajectories at planes that this one
    never hit: near 0 where all go everywhere."""

    stop_reason: str
    """``"length"``, ``"max_bounces"``, ``"tol"`` or ``"weight_tol"``: what ended the run."""

    escapes: NDArray[np.uint64]
    """(n_trajectories,) Flights that met no wall, each followed by a new launch. Zeros for
    "geodesic": a great circle always meets a wall."""

    scatterings: NDArray[np.uint64]
    """(n_trajectories,) Reflections off the `scatterer`."""

    scatterer: float | None
    """Radius of the reflecting sphere around the center, in radians; None without one."""

    center_error: float
    """Estimated angle between `arc_center` and the exact center of mass, in radians; with
    average="impulse" between `impulse_center` and that: the distance of the two centers is part of
    it. For "chord" and "flipper" the statistical error alone, without their bias."""

    mean_violations: float
    """Time average of the number of violated examples (0 behind opaque walls)."""

    refresh: str
    """``"pair"``, ``"full"`` or ``"none"``: how directions were refreshed."""

    refresh_rate: float
    """Refreshes per radian."""

    drift: float
    """Largest relative difference between plane coordinates as carried along and recomputed."""

    start: tuple[str, ...]
    """Where each trajectory's starting point came from: ``"light_trap"``, ``"max_margin"``,
    ``"typical"`` (drawn about the center, for average="conditional") or ``"given"``."""

    y: NDArray[np.int8]
    """(m,) Labels of the examples, -1 and +1."""

    softness: NDArray[np.float64]
    """(m,) Softness of the examples."""

    offset: float
    """What was added to all kernel values."""

    seed: int
    """The `random_state` that gives the same run again."""

    state: Mapping[str, Any] | None = None
    """What it takes to go on with the run (``continue_from`` of :meth:`VersionSpace.sample`):
    arrays, of some dozens of numbers for each example and trajectory, and such of the older draws
    as the run goes on with; with its settings and digests of the problem."""

    @classmethod
    def from_run(cls, run: Mapping[str, Any], average: str) -> Self:
        """Return the result of an engine's run with `average` as center."""
        centers = {"arc": "arc", "impulse": "impulse", "conditional": "arc"}
        given = {name: run[name] for name in cls.__dataclass_fields__ if name in run}
        return cls(center=run[f"{centers.get(average, 'running')}_center"], **given)

    @cached_property
    def ess(self) -> float:
        """The smallest bulk effective sample size of the draws.

        Over the watched plane coordinates, and their squares where they change sign. NaN for
        fewer than 4 draws per trajectory. Computed when it is first asked for.
        """
        values = diagnostics.ess_bulk(self._watched(self.functionals))
        return float(np.fmin.reduce(values, initial=np.nan))

    @cached_property
    def r_hat(self) -> float:
        """The largest rank-normalized split R-hat over the same quantities.

        Of no more than 1000 draws per trajectory, evenly spread, where there are more: enough to
        tell whether trajectories agree.
        """
        step = max(1, -(-self.functionals.shape[1] // R_HAT_DRAWS))
        values = diagnostics.r_hat(self._watched(self.functionals[:, ::step]))
        return float(np.fmax.reduce(values, initial=np.nan))

    @staticmethod
    def _watched(coordinates: NDArray[np.float64]) -> NDArray[np.float64]:
        # Where a coordinate keeps its sign, its square has the same ranks.
        crossed = (coordinates > 0).any(axis=(0, 1)) & (coordinates < 0).any(axis=(0, 1))
        return np.concatenate([coordinates, coordinates[:, :, crossed] ** 2], axis=2)

    def convergence_messages(self, tol: float | None, n_draws: int = LEAST_DRAWS) -> list[str]:
        """Return what is wrong with a run that was asked for `tol` and so many draws.

        A tolerance that was not met; in a run that no tolerance ended, trajectories that disagree
        (R-hat) or few effective draws; and what these would not show: double precision that moved
        the walls, and short cycles.
        """
        messages = []
        if math.isinf(self.center_error) or (tol is not None and not self.center_error <= tol):
            asked = "" if tol is None else f" (tol={tol:g} was asked for)"
            messages.append(
                f"the estimated center_error is {self.center_error:.3g} radians{asked} after "
                f"{self.length:.4g} radians per trajectory: a longer run or a softness helps"
            )
        if self.stop_reason != "tol" and not math.isinf(self.center_error):
            messages += self._messages_of_draws(n_draws)
        if self.drift > MAX_DRIFT:
            messages.append(
                f"the plane coordinates drifted by {self.drift:.2g}: the Gram matrix is too "
                "ill-conditioned for exact walls, a larger softness helps"
            )
        if self.cycles.any():
            messages.append(
                f"{np.count_nonzero(self.cycles)} of {len(self.cycles)} trajectories go round a "
                "short cycle and do not fill version space: a refresh helps"
            )
        return [f"{message} (see the guide on diagnostics)" for message in messages]

    def _messages_of_draws(self, wanted: int) -> list[str]:
        """Return what is wrong with the draws, of each trajectory `wanted` ones."""
        n_trajectories, n_draws = self.draws.shape[:2]
        longer = f"after {self.length:.4g} radians per trajectory: a longer run helps"
        if n_draws < LEAST_DRAWS:
            few = f"{n_draws} of {wanted} draws are too few to tell whether trajectories agree"
            return [f"{few} {longer}"] if n_draws < wanted else []
        least = min(MIN_ESS, n_trajectories * n_draws / 2)
        # Draws of trajectories that disagree are worth little: that does not excuse them.
        looked_at = n_trajectories * min(n_draws, R_HAT_DRAWS)
        allowed = allowed_r_hat(n_trajectories, min(max(self.ess, least), looked_at))
        if self.r_hat > allowed:
            high = f"R-hat is {self.r_hat:.3f} (above {allowed:.3f})"
            return [f"the trajectories disagree: {high} {longer}"]
        if self.stop_reason != "weight_tol" and self.ess < least:
            return [
                f"the {n_trajectories} x {n_draws} draws are worth {self.ess:.0f} independent ones "
                f"(below {least:.0f}) {longer}"
            ]
        return []

    @property
    def escape_fraction(self) -> float:
        """Share of the flights that met no wall, in [0, 1]; NaN without any flight.

        For "chord" and "flipper" it tells a closed billiard (near 0: version space is small) from
        an open one. A straight flight gets less than pi radians far between two launches.
        """
        escapes, bounces = int(self.escapes.sum()), int(self.bounces.sum())
        return escapes / (escapes + bounces) if escapes + bounces else math.nan

    @property
    def support(self) -> NDArray[np.intp]:
        """Indices of the planes that were hit: the examples that bound version space."""
        return np.flatnonzero(self.hits)

    def _rows(self) -> list[tuple[str, str]]:
        n_trajectories, n_draws, m = self.draws.shape
        bounces = int(self.bounces.sum())
        path = self.length * n_trajectories
        rate = f", {bounces / path:.1f} per radian" if path > 0 else ""
        rows = [
            ("examples", f"{m}"),
            ("trajectories", f"{n_trajectories}, {n_draws} draws each"),
            ("path", f"{self.length:.4g} rad per trajectory, {self.burn_in:.4g} rad of burn-in"),
            ("stopped by", self.stop_reason),
            ("center error", f"{self.center_error:.2g} rad (estimated)"),
            ("length of the mean", f"{self.center_norm:.4g}"),
            ("bounces", f"{bounces}{rate}"),
            ("walls passed", f"{int(self.crossings.sum())}"),
            ("escapes", f"{int(self.escapes.sum())} ({self.escape_fraction:.3g} of the flights)"),
            ("mean violations", f"{self.mean_violations:.4g}"),
            ("planes hit", f"{len(self.support)} of {m}"),
            ("effective draws", f"{self.ess:.4g} at least"),
            ("R-hat", f"{self.r_hat:.4g} at most"),
            ("refresh", f"{self.refresh}, {self.refresh_rate:.3g} per radian"),
            ("drift", f"{self.drift:.1e}"),
            ("started from", ", ".join(self.start)),
        ]
        if self.scatterer is not None:
            hits = int(self.scatterings.sum())
            rows.append(("scatterer", f"radius {self.scatterer:.3g} rad, hit {hits} times"))
        if self.cycles.any():
            cycling = np.count_nonzero(self.cycles)
            rows.append(("cycles", f"{cycling} trajectories, not to be trusted"))
        return rows

    def to_datatree(self) -> xr.DataTree:
        """Return the run as a tree of labeled arrays, as ArviZ 1.0 takes it.

        Returns
        -------
        xarray.DataTree
            Groups ``posterior`` (dimensions chain and draw), ``sample_stats``, ``observed_data``
            and ``constant_data``. No time of day is in it: equal runs give equal trees.

        Raises
        ------
        ImportError
            If xarray is not installed (optional extra ``arviz``).

        Notes
        -----
        ArviZ 1 takes the tree as it is, ArviZ 0.22 and 0.23 take ``arviz.from_datatree(tree)``.
        ``var_names="plane_coordinate"`` asks about what `ess` and `r_hat` are about, instead of
        about the dual coefficients too, which are as many as examples.

        Examples
        --------
        >>> import numpy as np
        >>> from bayespoint import VersionSpace
        >>> result = VersionSpace(np.eye(3), [1, 1, -1]).sample(length=100.0, random_state=0)
        >>> tree = result.to_datatree()
        >>> dict(tree["posterior"].sizes)
        {'chain': 4, 'draw': 100, 'plane': 3, 'example': 3}
        """
        return to_datatree(vars(self))

    def summary(self) -> str:
        """Return the main figures as text, one to a line.

        Returns
        -------
        str
            The text, without a newline at its end.
        """
        return as_text("Billiard in version space", self._rows())

    def __repr__(self) -> str:
        n_trajectories, n_draws, m = self.draws.shape
        return (
            f"<BilliardResult: m={m}, {n_trajectories} x {n_draws} draws, "
            f"{int(self.bounces.sum())} bounces, center_error={self.center_error:.2g} rad, "
            f"stop_reason={self.stop_reason!r}>"
        )

    def _repr_html_(self) -> str:
        return as_html("Billiard in version space", self._rows())
