"""The approximate evidence of hyperparameters, as a function of their logarithms."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from bayespoint import kernels
from bayespoint.base.validation import Floats
from bayespoint.base.warnings import warn
from bayespoint.data.examples import Examples
from bayespoint.results.hyperparameters import Hyperparameters
from bayespoint.results.search import Search
from bayespoint.tuning.methods import AllValues, Setting, Task, WithLandmarks

_SOFTNESS = (1e-3, 1e4)
"""Bounds of the softness relative to the variance of f over the examples. A ratio r changes the
labels of a share arctan(sqrt(r)) / pi of normal f: 1 % at the lower bound. Below it the version
space becomes a sliver, with up to twenty times as many bounces, and on tables of real data the log
loss gains nothing. At the upper bound labels hardly depend on the inputs."""

RATES = (1e-4, 0.45)
"""Bounds of a rate of label noise."""

_NOISY_STARTS = ((1.0, 0.02), (0.1, 0.05))
"""Starts with label noise: factor on the softness found without noise, and rate."""

_FLIPPED = ((0.1, 0.1), (0.2, 0.01), (0.01, 0.2))
"""Rates with the kernel's declared starts, since a solution without noise that fits every flipped
label may be a local maximum."""

_STEP = 0.02  # step in a logarithm for a finite difference, if a kernel provides no derivatives

_RISE = 1.0
"""Smallest rise of the evidence over a factor of e, in nats, at a bound of a kernel's parameter for
which a warning is given."""

_AT_BOUND = 1e-6  # distance of a logarithm from a bound up to which it is at the bound


@dataclass(frozen=True, eq=False)
class Point:
    """A setting as logarithms of the searched parameters, with its evidence or density."""

    theta: Floats
    value: float
    slope: Floats
    """Derivatives of the value."""

    noisy: bool = False
    """Whether the parameters include rates of label noise."""

    spread: Floats = field(default_factory=lambda: np.empty((0, 0)))
    """Approximate inverse of the negative second derivatives of the evidence."""

    left_out: Floats = field(default_factory=lambda: np.empty(0))
    """(m,) Probability of each label given all others; empty if it is unknown."""

    evidence: Point | None = None
    """The point of the evidence alone, for one of a density."""


class LimitError(Exception):
    """A limit of the search is reached, at the last point."""

    def __init__(self, point: Point) -> None:
        super().__init__()
        self.point = point


class Objective:
    """The approximate evidence of a kernel with its gradient, and a record of the settings tried.

    The parameters are those that the kernel declares, then the softness relative to the variance of
    f if it is searched, then the rates of label noise if they are.
    """

    def __init__(self, task: Task, method: AllValues | WithLandmarks) -> None:
        self.kernel, self.plan, self.budget = task.kernel, task.plan, task.budget
        self.trial, self.method, self.parameters = task.trial, method, task.parameters
        self.own = tuple(parameter.name for parameter in self.parameters)
        """Names of the kernel's parameters."""
        self.tried: list[list[float]] = []
        self.best: tuple[int, Point] = (0, Point(np.empty(0), -math.inf, np.empty(0)))
        """The largest number of examples evaluated, and the best point on so many."""

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns of `tried`."""
        noise = ("label_noise_negative", "label_noise_positive")
        return (*self.own, "softness", *noise, "n_examples", "log_evidence")

    def start(self, factor: float, softness: float) -> Floats:
        """Return logarithms: multiples of the kernel's declared starts, and a relative softness."""
        values = [parameter.start * factor for parameter in self.parameters]
        return np.asarray(np.log([*values, *([softness] if self.plan.softness is None else [])]))

    def noisy_starts(self, best: Point, start: tuple[float, float]) -> list[Floats]:
        """Return logarithms to start from with label noise; `best` is the best point without."""
        starts, rates = [], self.plan.rates
        for factor, rate in _NOISY_STARTS:
            theta = best.theta.copy()
            if self.plan.softness is None:
                theta[-1] += math.log(factor)
            starts.append(np.concatenate([theta, np.full(rates, math.log(rate))]))
        declared, flipped = self.start(*start), _FLIPPED[: 1 if rates == 1 else None]
        return starts + [np.concatenate([declared, np.log(each[:rates])]) for each in flipped]

    def bounds(self, noisy: bool) -> Floats:
        """Return the (n, 2) bounds of the logarithms."""
        rows = [(parameter.low, parameter.high) for parameter in self.parameters]
        if self.plan.softness is None:
            rows.append(_SOFTNESS)
        rows.extend([RATES] * (self.plan.rates if noisy else 0))
        return np.asarray(np.log(np.array(rows).reshape(-1, 2)))

    @property
    def relative(self) -> bool:
        """Whether the softness is relative to the variance of f."""
        softness = self.plan.softness
        return softness is None or (softness == 0 and self.method.needs_softness)

    def unpack(self, theta: Floats, noisy: bool, examples: Examples) -> Setting:
        """Return the setting at the logarithms `theta`."""
        values, n = np.exp(theta).tolist(), len(self.own)
        kernel = kernels.replace(self.kernel, dict(zip(self.own, values[:n], strict=True)))
        known = self.method.values(kernel, examples)
        softness = self.plan.softness
        if softness is None:
            softness = values[n] * self.method.variance(known)
        elif self.relative:
            softness = _SOFTNESS[0] * self.method.variance(known)
        noise = (values[-self.plan.rates], values[-1]) if noisy else self.plan.label_noise
        return kernel, known, float(softness), noise

    def evaluate(
        self, examples: Examples, theta: Floats, noisy: bool, nearest: list[Any]
    ) -> tuple[float, Floats]:
        """Return the value and slope of `point`."""
        found = self.point(examples, theta, noisy, nearest)
        return found.value, found.slope

    def point(self, examples: Examples, theta: Floats, noisy: bool, nearest: list[Any]) -> Point:
        """Return the evidence with its gradient; minus infinity where the evidence is undefined.

        The approximation starts from what `nearest` holds, and leaves there where it ended. Raises
        LimitError if a limit is reached.
        """
        setting = self.unpack(theta, noisy, examples)
        _, _, softness, noise = setting
        own, method, relative = self.own, self.method, self.relative
        try:
            local = method(examples, setting, nearest, relative=relative, slopes=bool(own))
            value, gradient = local.value, []
            for k, name in enumerate(own):
                if name in local.slopes:
                    gradient.append(local.slopes[name])
                    continue
                moved = theta.copy()
                moved[k] += _STEP
                ahead = self.unpack(moved, noisy, examples)
                there = method(examples, ahead, nearest, relative=relative, slopes=False)
                gradient.append((there.value - value) / _STEP)
            by_softness, by_noise, left_out = local.by_softness, local.by_noise, local.left_out
        except np.linalg.LinAlgError:
            # Not positive semidefinite at these parameters. The fit checks the chosen kernel.
            value, gradient = -math.inf, [0.0] * len(own)
            by_softness, by_noise, left_out = 0.0, np.zeros(2), np.empty(0)
        if self.plan.softness is None:
            gradient.append(by_softness)
        if noisy:
            by_rates = np.array(noise) * by_noise
            gradient.extend([by_rates.sum()] if self.plan.rates == 1 else by_rates.tolist())
        n, slope = len(examples.label), np.array(gradient)
        found = Point(theta.copy(), value, slope, noisy, left_out=left_out)
        row = [*np.exp(theta[: len(own)]).tolist(), softness, *noise, n, value]
        self.tried.append([float(x) for x in row])
        if self.trial is not None:
            self.trial(dict(zip(self.names, self.tried[-1], strict=True)))
        if (n, value) > (self.best[0], self.best[1].value):
            self.best = n, found
        most = self.budget.max_iter
        if (most is not None and len(self.tried) >= most) or self.budget.left <= 0:
            raise LimitError(found)
        return found

    @property
    def limit(self) -> str:
        """The limit that ended a search."""
        return "max_time" if self.budget.left <= 0 else "max_iter"

    def found(
        self, point: Point, value: float, examples: Examples, n: int, relevance: Floats
    ) -> Hyperparameters:
        """Return the setting at a point, with its evidence on n examples and the search."""
        kernel, _, softness, noise = self.unpack(point.theta, point.noisy, examples)
        softness = softness if self.plan.softness is None else self.plan.softness
        given, tried, seed = (
            (kernel, softness, noise),
            np.array(self.tried),
            self.budget.choice_seed,
        )
        search = Search(*given, value, n, self.names, tried, seed, self._at_bounds(point))
        return Hyperparameters(None, *given, search, relevance=relevance)

    def require(self, point: Point) -> None:
        """Raise ValueError if the best point has no evidence."""
        if point.value == -math.inf:
            raise ValueError(
                "kernel must be positive semidefinite and make the labels possible; "
                f"{self.kernel!r} did so at none of {len(self.tried)} settings tried"
            )

    def _at_bounds(self, point: Point) -> tuple[str, ...]:
        """Return the names of parameters at a bound; warn if the evidence rises beyond it."""
        names, searched = [], [*self.own, *(["softness"] if self.plan.softness is None else [])]
        for k, name in enumerate(searched):
            at, (lowest, highest) = float(point.theta[k]), self.bounds(point.noisy)[k].tolist()
            if lowest + _AT_BOUND < at < highest - _AT_BOUND:
                continue
            names.append(name)
            rise = float(point.slope[k]) * (1 if at >= highest - _AT_BOUND else -1)
            if name in self.own and rise > _RISE:
                warn(
                    f"the search for hyperparameters ended at {name}={math.exp(at):.4g}, a bound "
                    f"of its range from {math.exp(lowest):.4g} to {math.exp(highest):.4g}, where "
                    f"the evidence still rises by {rise:.2g} nats per factor of e; give "
                    f"wider bounds, or another value that is kept",
                    ConvergenceWarning,
                )
        return tuple(names)
