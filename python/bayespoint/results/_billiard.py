"""What a run returns: arrays and plain values, with a summary."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from bayespoint import diagnostics
from bayespoint._persistence import Savable
from bayespoint._summary import as_grid, as_html, as_text

if TYPE_CHECKING:
    import xarray as xr
    from typing_extensions import Self

__all__ = ["BilliardResult", "Estimate", "Evidence", "LightTrap", "MaxMargin", "Search"]

MAX_DRIFT = 1e-6
"""A larger relative drift of the plane coordinates is worth a warning."""

MAX_R_HAT = 1.05
"""A larger R-hat is worth a warning, unless the run met its tolerance or draws are few."""

R_HAT_DRAWS = 1000
"""Draws of a trajectory that R-hat looks at, at most."""

MAX_MISSED = 0.1
"""A larger share of the others' bounces at planes that a trajectory never hit is worth a warning,
if without refresh it had `BOUNCES_PER_PLANE` bounces for each plane that any of them hit."""

BOUNCES_PER_PLANE = 100

PAIRS_PER_PLANE = 40
"""Tangent pairs of each trajectory for each example that it takes the directions which few examples
know of to get nearer to their share of the length by a factor of e; fewer are worth a warning."""

FEW_EXAMPLES = 500
"""Examples up to which that was not seen to matter."""


def too_few_pairs(result: BilliardResult) -> str | None:
    """Return what is wrong with a run in which softness gives each example a direction, if so."""
    least, m = int(result.refreshes.min()), len(result.center)
    if result.refresh != "pair" or m <= FEW_EXAMPLES or least >= PAIRS_PER_PLANE * m:
        return None
    return (
        f"{least} tangent pairs in a trajectory are too few for {m} examples with softness, each "
        "of which has a direction that hardly any other knows of: the center may be further off "
        "than its error says, in all trajectories alike; average='conditional' or "
        f"refresh='full' helps, or a run of many times {PAIRS_PER_PLANE * m} pairs"
    )


def allowed_r_hat(n_trajectories: int, n_draws: int) -> float:
    """Return the R-hat beyond which a run that no tolerance ended is worth a warning.

    1.05, or what one in ten thousand quantities exceeds by chance if all draws are independent:
    then the variance between the halves of trajectories over that within them is close to
    chi-square over its degrees of freedom.
    """
    freedom = 2 * n_trajectories - 1
    ratio = float(stats.chi2.isf(1e-4, freedom)) / freedom
    return max(MAX_R_HAT, math.sqrt(1 + (ratio - 1) / max(n_draws // 2, 1)))


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
    """Path between one draw and the next, in radians; 0 where the span has one dimension and draws
    are independent."""

    bounces: NDArray[np.uint64]
    """(n_trajectories,) Reflections at walls."""

    crossings: NDArray[np.uint64]
    """(n_trajectories,) Walls passed through."""

    refreshes: NDArray[np.uint64]
    """(n_trajectories,) Changes of direction in mid-air that keep the uniform law."""

    length: float
    """Path that was averaged, in radians per trajectory."""

    settled: float
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
    """Estimated angle between `arc_center` and the exact center of mass, in radians. For "chord"
    and "flipper" the statistical error alone, without their bias."""

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
    as the run goes on with; with its settings and digests of the problem. None in one dimension,
    where nothing flies."""

    @classmethod
    def from_run(cls, run: Mapping[str, Any], average: str) -> Self:
        """Return the result of an engine's run with `average` as center."""
        centers = {"arc": "center", "impulse": "impulse_center", "conditional": "center"}
        given = {name: run[name] for name in cls.__dataclass_fields__ if name in run}
        return cls(
            **given
            | {
                "center": run[centers.get(average, "running_center")],
                "arc_center": run["center"],
                "start": tuple(run["start"]),
            }
        )

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

    def complaints(self, tol: float | None) -> list[str]:
        """Return what went wrong with a run that was asked for the tolerance `tol`, if any."""
        messages = []
        if tol is not None and not self.center_error <= tol:
            messages.append(
                f"the billiard ended by {self.stop_reason} with an estimated center_error of "
                f"{self.center_error:.3g} radians; tol={tol:g} was asked for "
                f"({int(self.bounces.max())} bounces in {self.length:.4g} radians per trajectory)"
            )
        n_trajectories, n_draws = self.draws.shape[:2]
        allowed = allowed_r_hat(n_trajectories, min(n_draws, R_HAT_DRAWS))
        if self.stop_reason != "tol" and self.r_hat > allowed:
            messages.append(
                f"the trajectories disagree: R-hat is {self.r_hat:.3f} (above {allowed:.3f}) with "
                f"{self.ess:.0f} effective draws after {self.length:.4g} radians per trajectory; "
                "a longer run is needed"
            )
        if self.cycles.any():
            cycling = np.flatnonzero(self.cycles)
            messages.append(
                f"{len(cycling)} of {len(self.cycles)} trajectories go round a short cycle "
                f"({int(self.cycles[cycling[0]])} bounces in trajectory {cycling[0]}): the center "
                "and the draws are not those of version space; a refresh breaks cycles"
            )
        # A refresh or a launch leads elsewhere in the end: then R-hat tells whether it has. And a
        # run that met its tolerance may be too short to meet every plane.
        long = self.bounces >= BOUNCES_PER_PLANE * len(self.support)
        bare = self.refresh == "none" and not self.escapes.any()
        long &= bare and self.stop_reason != "tol"
        if (long & (self.missed > MAX_MISSED)).any():
            worst = int(np.argmax(np.where(long, self.missed, 0.0)))
            messages.append(
                f"trajectory {worst} keeps to a part of version space: it never met planes that "
                f"have {100 * self.missed[worst]:.0f} % of the bounces of the others; a refresh "
                "leads out"
            )
        if self.drift > MAX_DRIFT:
            messages.append(
                f"the plane coordinates drifted by {self.drift:.2g} (above {MAX_DRIFT:g}): the "
                "Gram matrix is too ill-conditioned for exact walls; a larger softness helps "
                "(and a larger tau_max, if one was given)"
            )
        if not self.center.any():
            messages.append("no wall was hit: there is no such center")
        return messages

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

    def _cycle_row(self) -> list[tuple[str, str]]:
        if not self.cycles.any():
            return []
        return [("cycles", f"{np.count_nonzero(self.cycles)} trajectories, not to be trusted")]

    def _scatterer_row(self) -> list[tuple[str, str]]:
        if self.scatterer is None:
            return []
        hits = int(self.scatterings.sum())
        return [("scatterer", f"radius {self.scatterer:.3g} rad, hit {hits} times")]

    def _rows(self) -> list[tuple[str, str]]:
        n_trajectories, n_draws, m = self.draws.shape
        bounces = int(self.bounces.sum())
        path = self.length * n_trajectories
        rate = f", {bounces / path:.1f} per radian" if path > 0 else ""
        return [
            ("examples", f"{m}"),
            ("trajectories", f"{n_trajectories}, {n_draws} draws each"),
            (
                "path",
                f"{self.length:.4g} rad per trajectory after {self.settled:.4g} rad of settling",
            ),
            ("stopped by", self.stop_reason),
            ("center error", f"{self.center_error:.2g} rad (estimated)"),
            ("length of the mean", f"{self.center_norm:.4g}"),
            ("bounces", f"{bounces}{rate}"),
            ("walls passed", f"{int(self.crossings.sum())}"),
            ("escapes", f"{int(self.escapes.sum())} ({self.escape_fraction:.3g} of the flights)"),
            *self._scatterer_row(),
            ("mean violations", f"{self.mean_violations:.4g}"),
            ("planes hit", f"{len(self.support)} of {m}"),
            *self._cycle_row(),
            ("effective draws", f"{self.ess:.4g} at least"),
            ("R-hat", f"{self.r_hat:.4g} at most"),
            ("refresh", f"{self.refresh}, {self.refresh_rate:.3g} per radian"),
            ("drift", f"{self.drift:.1e}"),
            ("started from", ", ".join(self.start)),
        ]

    def to_datatree(self) -> xr.DataTree:
        """Return the run as a tree of labeled arrays, as ArviZ takes it.

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
        from bayespoint._datatree import to_datatree

        return to_datatree(self)

    def summary(self) -> str:
        """Return the main figures as text, one to a line."""
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


@dataclass(frozen=True, eq=False, repr=False)
class MaxMargin(Savable):
    """The weight vector with the largest smallest distance to the planes.

    Only where all feature vectors have the same length is that a distance on the sphere: then
    the hard margin is the center of the largest ball inscribed in version space.
    """

    dual_coef: NDArray[np.float64]
    """(m,) Dual coefficients of the unit vector, labels included."""

    multipliers: NDArray[np.float64]
    """(m,) Lagrange multipliers ``a_i``, from 0 to C: ``w = sum(a_i y_i phi_i)`` gives the
    examples on the margin the value 1."""

    bias: float
    """b beside the w of the multipliers; 0 unless it is free."""

    norm: float
    """``|w|``."""

    margin: float
    """``min_i y_i (<w, phi_i> + b) / |w|``, positive inside version space."""

    bound: float
    """``|w| / sum(a_i)``: no margin is larger (weak duality). With a free bias twice that is the
    length of the minimal connector between the convex hulls of the two classes."""

    gap: float
    """Relative duality gap that was reached: for a hard margin ``1 - (margin / bound)^2``."""

    kkt: float
    """Largest violation of a condition for the optimum, in units of the margin: how far margins
    of examples with multiplier 0 are below 1, with multiplier C above 1, others off 1."""

    iterations: int
    """Coordinate steps and changes of the active set."""

    converged: bool
    """Whether the violation is below the tolerance, or not above what rounding of the
    multipliers explains."""

    @property
    def support(self) -> NDArray[np.intp]:
        """Indices of the support vectors: the examples with positive multipliers."""
        return np.flatnonzero(self.multipliers)

    def _rows(self) -> list[tuple[str, str]]:
        return [
            ("examples", f"{len(self.multipliers)}"),
            ("support vectors", f"{len(self.support)}"),
            ("margin", f"{self.margin:.6g}, at most {self.bound:.6g}"),
            ("bias", f"{self.bias:.6g}"),
            ("relative duality gap", f"{self.gap:.1e}"),
            ("violation", f"{self.kkt:.1e} margins"),
            ("steps", f"{self.iterations}"),
            ("converged", "yes" if self.converged else "no"),
        ]

    def summary(self) -> str:
        """Return the main figures as text, one to a line."""
        return as_text("Maximal margin", self._rows())

    def __repr__(self) -> str:
        end = "" if self.converged else ", not converged"
        return (
            f"<MaxMargin: margin={self.margin:.4g}, {len(self.support)} support vectors of "
            f"{len(self.multipliers)}{end}>"
        )

    def _repr_html_(self) -> str:
        return as_html("Maximal margin", self._rows())


@dataclass(frozen=True, eq=False, repr=False)
class LightTrap(Savable):
    """The way of a ball into version space through one-way mirrors."""

    dual_coef: NDArray[np.float64]
    """(m,) Dual coefficients of a unit vector in version space."""

    errors: NDArray[np.int64]
    """(k,) Violated examples at the start, and whenever they became fewer. Empty where there was
    nothing to fly through: all feature vectors parallel."""

    bounces: NDArray[np.uint64]
    """(k,) Bounces before each of them."""

    caught: bool
    """Whether the trap caught the ball. If not, `dual_coef` is from the search for the largest
    margin."""

    def _rows(self) -> list[tuple[str, str]]:
        rows = [
            ("examples", f"{len(self.dual_coef)}"),
            ("caught", "yes" if self.caught else "no: the point is from the search for margins"),
        ]
        if len(self.errors):
            rows += [
                ("violated at the start", f"{self.errors[0]}"),
                ("violated at the end", f"{self.errors[-1]} after {self.bounces[-1]} bounces"),
            ]
        return rows

    def summary(self) -> str:
        """Return the main figures as text, one to a line."""
        return as_text("Light trap", self._rows())

    def __repr__(self) -> str:
        way = f"{self.errors[0]} to {self.errors[-1]} errors" if len(self.errors) else "no flight"
        return f"<LightTrap: {way}, {'caught' if self.caught else 'not caught'}>"

    def _repr_html_(self) -> str:
        return as_html("Light trap", self._rows())


class Estimate(NamedTuple):
    """A number known from a random run."""

    value: float
    """The estimate."""

    error: float
    """Its standard error."""

    def _repr_html_(self) -> str:
        return as_html("Estimate", [("value", f"{self.value:.6g} ± {self.error:.2g}")])


@dataclass(frozen=True, eq=False, repr=False)
class Evidence(Savable):
    """The logarithm of the share of the sphere that gives the examples their labels.

    ``m`` is the number of examples. The methods ``"integration"`` and ``"annealing"`` go along a
    ladder of ``k`` transparencies kappa, from 1, where every weight vector counts, down to the
    smallest asked for. ``"bridge"`` goes from a Gaussian law to the prior, and has no figures by
    transparency: its arrays are empty.
    """

    value: Any
    """Nats, at most 0: a float, or an array of shape (n,) if asked for n rates of label noise."""

    error: Any
    """One standard error of `value`, in nats and of the same shape."""

    lag: Any
    """Estimated bias, in nats and of the same shape: half of the difference between the ways to
    and fro along the rungs. More than half of it cancels in `value`; what exceeds two standard
    errors counts in `error`. NaN if unknown: for ``"annealing"``, or if only one of the two ways
    entered version space."""

    n_rungs: int
    """Number of laws between the two ends, both included."""

    log_transparency: NDArray[np.float64]
    """(k,) ln kappa of the rungs, falling from 0."""

    mean_violations: NDArray[np.float64]
    """(k,) Mean number of violated examples on each rung."""

    log_share: NDArray[np.float64]
    """(m + 1,) ln of the share of the sphere that violates exactly v examples, v = 0, ..., m;
    -inf where none was seen. Known to ``"integration"`` alone; else empty."""

    layers: NDArray[np.int64]
    """(l, 2) The layers seen: how many examples labeled -1 and how many labeled +1 are violated.
    Known to ``"integration"`` alone; else empty."""

    layer_shares: NDArray[np.float64]
    """(l,) Share of each layer in all layers with as many violations."""

    length: float
    """Path in radians per trajectory."""

    method: str
    """``"bridge"``, ``"integration"`` or ``"annealing"``."""

    converged: bool
    """Whether every error reached the tolerance."""

    @classmethod
    def from_run(cls, run: Mapping[str, Any], method: str) -> Self:
        """Return the result of an engine's run, with an array for `value` and `error`."""
        given = {name: run[name] for name in cls.__dataclass_fields__ if name in run}
        seen = run["layer_shares"] > 0  # some are passed through in no time
        by_transparency = method != "bridge"
        return cls(
            **given | {name: given[name][seen] for name in ("layers", "layer_shares")},
            value=run["values"],
            error=run["errors"],
            lag=run["lags"],
            n_rungs=len(run["ladder"]),
            log_transparency=0.0 - run["ladder"] if by_transparency else np.empty(0),
            method=method,
        )

    def _figures(self) -> str:
        pairs = zip(np.atleast_1d(self.value), np.atleast_1d(self.error), strict=True)
        shown = [f"{value:.6g} ± {error:.2g}" for value, error in pairs]
        return ", ".join(shown if len(shown) <= 5 else [*shown[:2], "...", shown[-1]])

    def _rows(self) -> list[tuple[str, str]]:
        rows = [
            ("value", f"{self._figures()} nats"),
            ("method", self.method),
            ("converged", "yes" if self.converged else "no"),
            (
                "lag",
                f"{np.nan_to_num(np.abs(self.lag)).max():.2g} nats between to and fro, halved",
            ),
            ("path", f"{self.length:.4g} rad per trajectory"),
            ("rungs", str(self.n_rungs)),
        ]
        if len(self.log_transparency):
            first, last = self.mean_violations[[0, -1]]
            rows += [
                ("ln kappa", f"0 to {self.log_transparency[-1]:.3g}"),
                ("mean violations", f"{first:.4g} at the top, {last:.3g} below"),
            ]
        return rows

    def summary(self) -> str:
        """Return the main figures as text, one to a line."""
        return as_text("Evidence", self._rows())

    def __repr__(self) -> str:
        end = "" if self.converged else ", not converged"
        return f"<Evidence: {self._figures()} nats, {self.method}{end}>"

    def _repr_html_(self) -> str:
        return as_html("Evidence", self._rows())


@dataclass(frozen=True, eq=False)
class Search(Savable):
    """What a search found and what it tried."""

    kernel: Callable[..., Any] | str
    """The kernel with the parameters of the best evidence."""

    softness: float
    """The softness of the best evidence, or the one given."""

    label_noise: tuple[float, float]
    """Label noise of the negative and of the positive class: of the best evidence, or given."""

    log_evidence: float
    """The best approximate evidence, nats: the sum over the binary problems, of the examples looked
    at."""

    n_examples: int
    """Examples looked at."""

    names: tuple[str, ...]
    """Names of the columns of `tried`: the kernel's parameters searched, "softness",
    "label_noise_negative", "label_noise_positive", "n_examples", "log_evidence"."""

    tried: NDArray[np.float64] = field(repr=False)
    """(n_tried, n_columns) All settings tried, in order, with the number of examples looked at and
    their approximate evidence in nats."""

    def __repr__(self) -> str:
        noise = f"label_noise={_rates(self.label_noise)}, " if any(self.label_noise) else ""
        return (
            f"<Search: {self.kernel!r}, softness={self.softness:.4g}, {noise}"
            f"log_evidence={self.log_evidence:.2f} nats, "
            f"{len(self.tried)} settings tried on up to {self.n_examples} examples>"
        )

    def summary(self, n: int = 10) -> str:
        """Return a table of the best settings tried on the most examples, best first.

        Parameters
        ----------
        n : int, default=10
            How many, at most.

        Returns
        -------
        str
            A line for each setting, below one of their names.
        """
        rows = self._best(n)
        cells = [
            self.names,
            *([f"{value:.4g}" for value in row[:-1]] + [f"{row[-1]:.2f}"] for row in rows),
        ]
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
        lines = (
            "  ".join(cell.rjust(width) for cell, width in zip(line, widths, strict=True))
            for line in cells
        )
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        rows = [[f"{value:.6g}" for value in row] for row in self._best(10)]
        return as_html("Search by evidence", self._rows()) + as_grid(
            "The best settings tried", self.names, rows
        )

    def _rows(self) -> list[tuple[str, str]]:
        return [
            ("kernel", repr(self.kernel)),
            ("softness", f"{self.softness:.4g}"),
            ("label noise", _rates(self.label_noise)),
            ("ln evidence", f"{self.log_evidence:.2f} nats (approximate)"),
            ("settings tried", f"{len(self.tried)} on up to {self.n_examples} examples"),
        ]

    def _best(self, n: int) -> NDArray[np.float64]:
        full = self.tried[self.tried[:, -2] == self.n_examples]
        best: NDArray[np.float64] = full[np.argsort(-full[:, -1], kind="stable")[:n]]
        return best


def _rates(noise: tuple[float, float]) -> str:
    first, second = noise
    return f"{first:.4g}" if first == second else f"({first:.4g}, {second:.4g})"
