"""The posterior density of the hyperparameters: evidence times prior.

The priors are log-normal and wide. The medians of a kernel's parameters are its starts, and their
spreads are declared with them (:class:`bayespoint.kernels.Parameter`). The weight of a feature has
the median 1 and for draws a spread that is itself drawn, otherwise 0.4. At the median of the
softness noise contradicts 12 % of labels. Label noise counts only if the evidence gains by it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from bayespoint.base.validation import Floats, Indices
from bayespoint.base.warnings import warn
from bayespoint.kernels import Parameter
from bayespoint.results.hyperparameters import Hyperparameters, Search
from bayespoint.tuning.hamiltonian import State
from bayespoint.tuning.objective import SOFTNESS, Objective, Point

_SOFTNESS = (0.15, 2.0)  # median and spread of the softness, relative to the variance of f
_RATE = (0.05, 1.0, 1e-4, 0.45)  # median, spread and bounds of a rate of label noise

_SPREAD = (0.1, 1.0)
"""Median and spread of the spread of the weights of the features: most tables want weights that
are nearly alike, those with features of no influence want weights that differ by orders."""

_RISE = 1.0  # rise of the evidence per factor of e at a bound, in nats, that gives a warning
_AT_BOUND = 1e-6  # distance of a logarithm from a bound up to which it is at the bound
FAR = 9.0  # coordinate beyond which a spread stays the same


@dataclass(frozen=True, eq=False)
class Density:
    r"""Evidence times prior, as a function of coordinates that are standard normal by the prior.

    They are those of the parameters' logarithms. With `spreads` the weights of the features have a
    spread of their own, which is a coordinate, too: :math:`\ln w_j = \tau z_j`.
    """

    objective: Objective
    center: Floats  # (n,) medians of the logarithms
    spread: Floats  # (n,) their deviations
    low: Floats  # (n,) bounds
    high: Floats
    groups: list[Indices]  # places of the weights with a spread that is a coordinate

    @classmethod
    def of(cls, objective: Objective, *, spreads: bool) -> Density:
        """Return the density of an objective."""
        plan, parameters = objective.task.plan, objective.task.parameters
        rows = [(known.start, known.spread, known.low, known.high) for known in parameters]
        rows += [(*_SOFTNESS, *SOFTNESS)] if plan.softness is None else []
        rows += [_RATE] * plan.rates
        medians, spread, *bounds = np.array(rows, dtype=np.float64).reshape(-1, 4).T
        low, high = np.log(bounds)
        groups = families(parameters) if spreads else []
        return cls(objective, np.clip(np.log(medians), low, high), spread, low, high, groups)

    @property
    def dimension(self) -> int:
        """Number of coordinates: of the parameters, then of the spreads."""
        return len(self.center) + len(self.groups)

    def logarithms(self, u: Floats) -> Floats:
        """Return the logarithms of the parameters at coordinates."""
        theta = self.center + self.spread * u[: len(self.center)]
        for group, tau in self.spreads(u):
            # Beyond its bounds a weight has no more influence, or all.
            weights = self.center[group] + tau * u[group]
            theta[group] = np.clip(weights, self.low[group], self.high[group])
        return theta

    def spreads(self, u: Floats) -> Iterator[tuple[Indices, float]]:
        """Yield the places of each group of weights, with the spread of their logarithms."""
        for group, x in zip(self.groups, u[len(self.center) :].tolist(), strict=True):
            yield group, spread_at(x)

    def __call__(self, u: Floats) -> State:
        """Return the state with the log density, minus infinity out of bounds, and the gradient."""
        theta = self.logarithms(u)
        if not ((theta >= self.low).all() and (theta <= self.high).all()):
            return State(u, -math.inf, np.zeros_like(u))
        return self.state(u, self.objective.point(theta))

    def state(self, u: Floats, point: Point) -> State:
        """Return the state at coordinates, with the evidence there."""
        stopped = self.objective.record.limit != ""
        if not np.isfinite(point.slope).all():
            return State(u, -math.inf, np.zeros_like(u), stopped=stopped)
        slope = np.append(self.spread * point.slope, np.zeros(len(self.groups)))
        for k, (group, tau) in enumerate(self.spreads(u), len(self.center)):
            theta = self.center[group] + tau * u[group]
            within = (theta > self.low[group]) & (theta < self.high[group])
            by_weights = np.where(within, point.slope[group], 0.0)
            slope[group], slope[k] = tau * by_weights, _SPREAD[1] * tau * (u[group] @ by_weights)
        return State(u, point.value - 0.5 * float(u @ u), slope - u, point, stopped)

    def require(self, state: State) -> None:
        """Raise ValueError if the best state has no evidence."""
        if state.value == -math.inf:
            raise ValueError(
                "kernel must be positive semidefinite and make the labels possible; "
                f"{self.objective.task.kernel!r} did so at none of "
                f"{len(self.objective.record.rows)} settings tried"
            )

    def hyperparameters(
        self,
        state: State,
        tried: Floats,
        r_hat: Floats | None = None,
        seed_error: float = math.nan,
    ) -> Hyperparameters:
        """Return a state as the result of a search, a drawn one with what its chains tell.

        Warns if the evidence of the most probable state rises beyond a bound of a parameter, or the
        bound is a user's.
        """
        task, theta = self.objective.task, self.logarithms(state.u)
        setting, n = self.objective.setting(theta), len(task.parameters)
        kernel = self.objective.kernel(theta)
        given = task.plan.softness
        softness = setting.softness if given is None else given
        at_low, at_high = theta <= self.low + _AT_BOUND, theta >= self.high - _AT_BOUND
        reached = np.flatnonzero((at_low | at_high)[: n + (given is None)])
        if r_hat is None:
            rises = np.where(at_high, 1.0, -1.0) * state.point.slope
            for k in reached[reached < n]:
                if rises[k] <= _RISE and not task.parameters[k].is_bounded:
                    continue
                low, at, high = np.exp([self.low[k], theta[k], self.high[k]])
                warn(
                    f"the search for hyperparameters ended at {task.columns[k]}={at:.4g}, a bound "
                    f"of its range from {low:.4g} to {high:.4g}, beyond which the evidence changes "
                    f"by {rises[k]:+.2g} nats per factor of e; give wider bounds, or another value "
                    "that is kept"
                )
        search = Search(
            kernel,
            softness,
            setting.label_noise,
            state.point.value,
            len(task.examples.label),
            task.columns,
            tried,
            task.budget.choice_seed,
            tuple(task.columns[k] for k in reached),
            np.empty(0) if r_hat is None else r_hat,
            seed_error,
        )
        return Hyperparameters(None, kernel, softness, setting.label_noise, search)


def families(parameters: Sequence[Parameter]) -> list[Indices]:
    """Return the places of the parameters of each family, which scale features."""
    places: dict[str, list[int]] = {}
    for k, parameter in enumerate(parameters):
        if parameter.family:
            places.setdefault(parameter.family, []).append(k)
    return [np.array(group) for group in places.values() if len(group) > 1]


def spread_at(x: float) -> float:
    """Return the spread of the weights of the features at its coordinate."""
    return _SPREAD[0] * math.exp(_SPREAD[1] * min(max(x, -FAR), FAR))
