"""The result of a billiard run, and its convergence warnings."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bayespoint.base.validation import Floats, Indices
from bayespoint.results import diagnostics
from bayespoint.results.datatree import to_datatree
from bayespoint.results.result import LEAST_DRAWS, Rows, Run, allowed_r_hat

if TYPE_CHECKING:
    import xarray as xr

MAX_DRIFT = 1e-6  # largest relative drift of the plane coordinates without a warning
MAX_R_HAT, CHANCE = 1.01, 1e-6  # largest without a warning, and the chance of one by chance
R_HAT_DRAWS = 1000  # largest number of draws per trajectory from which R-hat is computed

_LIMITS = {"max_time": "max_time", "max_bounces": "max_bounces (a classifier's max_iter)"}
"""Limits that end a run early, as warnings name them."""


@dataclass(frozen=True, eq=False)
class BilliardResult(Run):
    """The result of billiard trajectories in version space.

    ``m`` is the number of examples. A weight vector is given by its signed dual coefficients
    ``c``: ``w = sum(c_i phi_i)``. Angles and path lengths are radians on the unit sphere.

    With more than two classes a weight vector has a part for each class, and an example a wall
    to each other class. Where a shape has ``m`` for dual coefficients or for planes, it is then
    ``n_classes, m``; the coefficients of an example sum to zero over the classes.
    """

    _title = "Billiard in version space"
    _shapes = (
        "*m: center arc_center impulse_center hits; tn*m: draws; tnk: functionals; k: watched; "
        "t: bounces crossings refreshes missed start; m: label softness"
    )

    center: Floats
    """(m,) Dual coefficients of the center of mass, scaled to a unit vector: `arc_center`, or
    `impulse_center` with average="impulse"."""
    center_norm: float
    """Length of the mean of the unit weight vectors, in (0, 1]: near 1 in a small version space."""
    arc_center: Floats
    """(m,) Unit center by the integral of the position along the path, or of conditional means."""
    impulse_center: Floats
    """(m,) Unit center from the impulses on the walls: entries have the sign of the label, or are
    zero for planes never hit. NaN if the direction was also changed otherwise."""
    draws: NDArray[np.floating]
    """(n_trajectories, n_draws, m) Unit weight vectors at equal spacing, perhaps in singles."""
    functionals: Floats
    """(n_trajectories, n_draws, 16 or m) Coordinates ``<w, phi_i> / |phi_i|`` of the draws at the
    planes of `watched`, from which `ess` and `r_hat` are computed."""
    watched: NDArray[np.int64]
    """(16 or m,) Indices of planes, evenly spread; of several classes in a flat (n_classes, m)."""
    spacing: float
    """Path between one draw and the next, in radians."""
    bounces: NDArray[np.uint64]
    """(n_trajectories,) Reflections at walls."""
    crossings: NDArray[np.uint64]
    """(n_trajectories,) Walls passed through."""
    refreshes: NDArray[np.uint64]
    """(n_trajectories,) Random changes of direction between walls."""
    length: float
    """Averaged path, in radians per trajectory."""
    burn_in: float
    """Path before it, which is not averaged, in radians per trajectory."""
    hits: NDArray[np.uint64]
    """(m,) Bounces at each plane; 0 for the own class of an example."""
    missed: Floats
    """(n_trajectories,) Share of the others' bounces at planes that this trajectory never hit."""
    stop_reason: str
    """The limit that ended the run: "length", "max_bounces", "tol" or "max_time"."""
    center_error: float
    """Estimated angle between `arc_center` and the exact center of mass, in radians; with
    average="impulse" that of `impulse_center`."""
    mean_violations: float
    """Mean number of violated examples along the path, 0 with opaque walls."""
    refresh: str
    """``"pair"``, ``"full"`` or ``"none"``: how directions were refreshed."""
    refresh_rate: float
    """Refreshes per radian, at the end of the path."""
    drift: float
    """Largest relative difference between updated and recomputed plane coordinates."""
    start: tuple[str, ...]
    """Source of the start of each trajectory: ``"light_trap"``, ``"max_margin"``, ``"typical"``
    (drawn around the center, for average="conditional") or ``"given"``."""
    label: NDArray[np.integer]
    """(m,) Index of the class of each example; 0 with walls."""
    softness: Floats
    """(m,) Softness of the examples."""
    offset: float
    """Constant that was added to all kernel values."""
    seed: int
    """The `random_state` that reproduces the run."""
    state: Mapping[str, Any] | None = None
    """The state from which ``continue_from`` of `bayespoint.SampleOptions` continues: some dozens
    of numbers for each example and trajectory. A classifier loaded from a file has none."""

    def _watched(self, thinned: bool = False) -> Floats:
        step = max(1, -(-self.functionals.shape[1] // R_HAT_DRAWS)) if thinned else 1
        coordinates = self.functionals[:, ::step]
        # The square of a coordinate that keeps its sign has the same ranks.
        crossed = (coordinates > 0).any(axis=(0, 1)) & (coordinates < 0).any(axis=(0, 1))
        return np.concatenate([coordinates, coordinates[:, :, crossed] ** 2], axis=2)

    def convergence_messages(self, tol: float | None, n_draws: int = LEAST_DRAWS) -> list[str]:
        """Return the texts of convergence warnings for a run with these settings."""
        messages = []
        limit = _LIMITS.get(self.stop_reason)
        after = f"after {self.length:.4g} radians per trajectory"
        after += f", when {limit} ended the run" if limit else ""
        by_time = self.stop_reason == "max_time"
        if math.isinf(self.center_error) or (tol is not None and not self.center_error <= tol):
            asked = "" if tol is None else f" (tol={tol:g} was asked for)"
            more = "a larger max_time" if by_time else "a longer run or a softness"
            messages.append(
                f"the estimated center_error is {self.center_error:.3g} radians{asked} {after}: "
                f"{more} helps"
            )
        # A tolerance that ended the run includes R-hat and effective sample size.
        if self.stop_reason != "tol" and not math.isinf(self.center_error):
            messages += [
                f"{message} {after}: a longer run helps"
                for message in self._messages_of_draws(tol, n_draws)
            ]
        if by_time and tol is not None and not messages:
            messages.append(f"the run had not mixed {after}: a longer run helps")
        if self.drift > MAX_DRIFT:
            messages.append(
                f"the plane coordinates drifted by {self.drift:.2g}: the Gram matrix is too "
                "ill-conditioned for exact walls, a larger softness helps"
            )
        return [f"{message} (see the guide on diagnostics)" for message in messages]

    def _messages_of_draws(self, tol: float | None, wanted: int) -> list[str]:
        n_trajectories, n_draws = self.draws.shape[:2]
        if n_draws < LEAST_DRAWS:
            few = f"{n_draws} of {wanted} draws are too few to tell whether trajectories agree"
            return [few] if n_draws < wanted else []
        # The effective sample size of few draws, those of R-hat, costs less and is no larger.
        thinned = diagnostics.ess_bulk(self._watched(thinned=True))
        ess, least = np.fmin.reduce(thinned, initial=np.nan), self.least_ess
        allowed = self.largest_r_hat
        if tol is None:
            # A small effective sample size of trajectories that disagree must not raise it.
            worth = min(max(ess, least), n_trajectories * min(n_draws, R_HAT_DRAWS))
            allowed = allowed_r_hat(n_trajectories, worth, MAX_R_HAT, CHANCE)
        if self.r_hat > allowed:
            return [f"the trajectories disagree: R-hat is {self.r_hat:.3f} (above {allowed:.3f})"]
        if ess < least and self.ess < least:
            return [
                f"the {n_trajectories} x {n_draws} draws are worth {self.ess:.0f} independent ones "
                f"(below {least:.0f})"
            ]
        return []

    @property
    def support(self) -> Indices:
        """Indices of the planes that were hit: the examples that bound version space."""
        return np.flatnonzero(np.atleast_2d(self.hits).any(axis=0))

    def _rows(self) -> Rows:
        (n_trajectories, n_draws), m = self.draws.shape[:2], len(self.label)
        bounces, path = int(self.bounces.sum()), self.length * n_trajectories
        rate = f", {bounces / path:.1f} per radian" if path > 0 else ""
        return [
            ("examples", f"{m}"),
            ("trajectories", f"{n_trajectories}, {n_draws} draws each"),
            ("path", f"{self.length:.4g} rad per trajectory, {self.burn_in:.4g} rad of burn-in"),
            ("stopped by", self.stop_reason),
            ("center error", f"{self.center_error:.2g} rad (estimated)"),
            ("length of the mean", f"{self.center_norm:.4g}"),
            ("bounces", f"{bounces}{rate}"),
            ("walls passed", f"{int(self.crossings.sum())}"),
            ("mean violations", f"{self.mean_violations:.4g}"),
            ("planes hit", f"{len(self.support)} of {m}"),
            ("effective draws", f"{self.ess:.4g} at least"),
            ("R-hat", f"{self.r_hat:.4g} at most"),
            ("refresh", f"{self.refresh}, {self.refresh_rate:.3g} per radian"),
            ("drift", f"{self.drift:.1e}"),
            ("started from", ", ".join(self.start)),
        ]

    def to_datatree(self) -> xr.DataTree:
        """Return the run as a tree of labeled arrays for ArviZ.

        This needs xarray (optional extra ``arviz``), and raises ImportError without it. ArviZ 1
        takes the tree itself, ArviZ 0.22 and 0.23 take ``arviz.from_datatree(tree)``.

        Returns
        -------
        xarray.DataTree
            Groups ``posterior`` (dimensions chain and draw; "plane_coordinate" has the quantities
            of `ess` and `r_hat`), ``sample_stats``, ``observed_data`` and ``constant_data``.
        """
        return to_datatree(vars(self))

    def __repr__(self) -> str:
        (n_trajectories, n_draws), m = self.draws.shape[:2], len(self.label)
        classes = f"{self.draws.shape[2]} classes, " if self.draws.ndim > 3 else ""
        return (
            f"<BilliardResult: m={m}, {classes}{n_trajectories} x {n_draws} draws, "
            f"{int(self.bounces.sum())} bounces, center_error={self.center_error:.2g} rad, "
            f"stop_reason={self.stop_reason!r}>"
        )
