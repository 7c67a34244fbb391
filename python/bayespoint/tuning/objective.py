"""The approximate evidence of hyperparameters, as a function of their logarithms.

The evidence is the probability of the labels under the model, here of functions in the span of some
landmarks, by expectation propagation (:mod:`bayespoint.landmarks.propagation`). For more than two
classes it is that of each class against the rest, summed and divided by how much more all these
labels tell than the classes do: each of C problems has the entropy H(1/C), a class ln C. Ordered
classes have one problem, with thresholds at the quantiles by which the labels have their
frequencies of a normal distribution of the variance of f and the softness.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from bayespoint import kernels
from bayespoint.base.linalg import one_thread
from bayespoint.base.validation import Floats
from bayespoint.base.warnings import warn
from bayespoint.data.examples import Examples
from bayespoint.data.plan import Budget, Plan
from bayespoint.kernels.products import in_rows
from bayespoint.kernels.protocol import ByName
from bayespoint.labels import Labels
from bayespoint.landmarks import selection
from bayespoint.landmarks.basis import JITTER
from bayespoint.landmarks.features import Features
from bayespoint.landmarks.propagation import Propagation, propagate
from bayespoint.results.hyperparameters import Hyperparameters
from bayespoint.results.search import Search

_SOFTNESS = (1e-3, 1e4)
"""Bounds of the softness relative to the variance of f over the examples. A ratio r changes the
labels of a share arctan(sqrt(r)) / pi of normal f: 1 % at the lower bound. Below it a billiard has
up to twenty times as many bounces, and on tables of real data the log loss gains nothing."""

RATES = (1e-4, 0.45)  # bounds of a rate of label noise
_CHANGE = 0.01  # change of a problem's evidence, in nats, at which the approximation ends
_CHANGE_OF_SEVERAL = 0.03  # the same for several classes
_FINE_CHANGE = 1e-4  # the same for a kernel without derivatives, for finite differences
_LANDMARKS = 200  # of the evidence of given hyperparameters
_STEP = 0.02  # step in a logarithm for a finite difference, if a kernel provides no derivatives
_RISE = 1.0  # rise of the evidence per factor of e at a bound, in nats, that gives a warning
_AT_BOUND = 1e-6  # distance of a logarithm from a bound up to which it is at the bound

Rows: TypeAlias = list[list[float]]  # rows of `Search.tried`

Setting: TypeAlias = tuple[Any, Features, float, tuple[float, float]]
"""Kernel, its features of the examples, softness and label noise."""

Trial: TypeAlias = Callable[[Mapping[str, float]], object]
"""Called for each setting tried with a mapping of names to values, a row of `Search.tried`."""


@dataclass(frozen=True, eq=False)
class Task:
    """What a search has to find for a kernel, from which examples, within which limits."""

    kernel: Any
    plan: Plan
    examples: Examples
    labels: Labels
    budget: Budget
    trial: Trial | None = None

    @property
    def parameters(self) -> tuple[kernels.Parameter, ...]:
        """The parameters that the kernel leaves to be found; none if its matrix is given."""
        if isinstance(self.kernel, str) or self.examples.gram is not None:
            return ()
        return kernels.parameters(self.kernel, self.examples.inputs)

    @property
    def searches(self) -> bool:
        """Whether anything is left to be found."""
        return self.parameters != () or self.plan.softness is None or self.plan.rates > 0

    def of(self, n: int) -> Task:
        """Return the task for a stratified sample of n of the examples."""
        return replace(self, examples=self.examples.sample(n, self.budget.choice_seed))


@dataclass(frozen=True, eq=False)
class Point:
    """A setting as logarithms of the searched parameters, with its evidence or density."""

    theta: Floats
    value: float
    slope: Floats  # derivatives of the value
    noisy: bool = False  # whether the parameters include rates of label noise
    left_out: Floats = field(default_factory=lambda: np.empty(0))
    """(m,) Probability of each label given all others; (n_classes, m) of each class for several."""
    evidence: Point | None = None  # the point of the evidence alone, for one of a density


@dataclass(frozen=True, eq=False)
class Evaluation:
    """An approximate evidence and its derivatives."""

    value: float  # nats
    slopes: ByName  # by logarithms of the kernel's parameters, as far as they are known
    by_softness: float  # by the logarithm of the softness
    by_noise: Floats  # (2,) by the rates of label noise
    left_out: Floats


class LimitError(Exception):
    """A limit of the search is reached, at the last point."""

    def __init__(self, point: Point) -> None:
        super().__init__()
        self.point = point


class Objective:
    """The approximate evidence of a kernel with its gradient, and a record of the settings tried.

    The parameters are those that the kernel declares, then, if they are searched, the softness
    relative to the variance of f and the rates of label noise.
    """

    def __init__(self, task: Task, landmarks: Any) -> None:
        self.task, self.landmarks = task, landmarks
        self.kernel, self.plan, self.examples = task.kernel, task.plan, task.examples
        self.parameters = task.parameters
        self.own = tuple(parameter.name for parameter in self.parameters)  # of the kernel
        self.relative = self.plan.softness is None or self.plan.softness == 0
        """Whether the softness is relative to the variance of f."""
        self.tried: Rows = []
        label, n = self.examples.label, task.labels.n_functions
        self._sites = task.labels.sites(label)
        self._inputs = self.examples.inputs
        if self.examples.gram is None:  # checked once, for all evaluations
            given = self.kernel, self._inputs, landmarks
            self._inputs, self.landmarks = kernels.checked_inputs(*given)
        self._known: Features | None = None
        self._change = _CHANGE if n == 1 else _CHANGE_OF_SEVERAL
        if self.own and not set(self.own) <= self._start_slopes().keys():
            self._change = _FINE_CHANGE
        self._nearest: Propagation | None = None
        self._told = 0

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns of `tried`."""
        noise = ("label_noise_negative", "label_noise_positive")
        return (*self.own, "softness", *noise, "n_examples", "log_evidence")

    @property
    def limit(self) -> str:
        """The limit that ended a search."""
        return "max_time" if self.task.budget.left <= 0 else "max_iter"

    def bounds(self, noisy: bool) -> Floats:
        """Return the (n, 2) bounds of the logarithms."""
        rows = [(parameter.low, parameter.high) for parameter in self.parameters]
        if self.plan.softness is None:
            rows.append(_SOFTNESS)
        rows.extend([RATES] * (self.plan.rates if noisy else 0))
        return np.asarray(np.log(np.array(rows).reshape(-1, 2)))

    @np.errstate(over="ignore", divide="ignore", invalid="ignore")
    def point(self, theta: Floats, noisy: bool) -> Point:
        """Return the evidence with its gradient, or minus infinity; may raise LimitError."""
        softness, noise = math.nan, self.plan.label_noise
        try:
            setting = self._unpack(theta, noisy)
            _, _, softness, noise = setting
            found = self._evidence(setting, slopes=bool(self.own))
            gradient = []
            for k, name in enumerate(self.own):
                if name in found.slopes:
                    gradient.append(found.slopes[name])
                    continue
                within = theta[k] + _STEP <= math.log(self.parameters[k].high)
                moved, step = theta.copy(), _STEP if within else -_STEP
                moved[k] += step
                ahead = self._evidence(self._unpack(moved, noisy), slopes=False)
                gradient.append((ahead.value - found.value) / step)
        except np.linalg.LinAlgError:
            # Not positive semidefinite at these parameters. The fit checks the chosen kernel.
            found = Evaluation(-math.inf, {}, 0.0, np.zeros(2), np.empty(0))
            gradient = [0.0] * len(self.own)
        if self.plan.softness is None:
            gradient.append(found.by_softness)
        if noisy:
            by_rates = np.array(noise) * found.by_noise
            gradient.extend([by_rates.sum()] if self.plan.rates == 1 else by_rates.tolist())
        value, n = found.value, len(self.examples.label)
        point = Point(theta.copy(), value, np.array(gradient), noisy, left_out=found.left_out)
        row = [*np.exp(theta[: len(self.own)]).tolist(), softness, *noise, n, value]
        self.tried.append([float(x) for x in row])
        budget = self.task.budget
        if (budget.max_iter or math.inf) <= len(self.tried) or budget.left <= 0:
            raise LimitError(point)
        return point

    def tell(self) -> None:
        """Report the settings that were tried since the last call."""
        rows, self._told = self.tried[self._told :], len(self.tried)
        if self.task.trial is not None:
            for row in rows:
                self.task.trial(dict(zip(self.names, row, strict=True)))

    @np.errstate(over="ignore", divide="ignore", invalid="ignore")
    def left_out(self, theta: Floats, noisy: bool) -> Floats:
        """Return the probability of each label given all others, as in `Point`."""
        return self._evidence(self._unpack(theta, noisy), slopes=False).left_out

    @np.errstate(over="ignore", divide="ignore", invalid="ignore")
    def log_evidence(self) -> float:
        """Return the evidence of the hyperparameters of the task, if none is left to be found."""
        try:
            setting = self._unpack(np.empty(0), False)
            return self._evidence(setting, slopes=False).value
        except np.linalg.LinAlgError:
            return -math.inf

    def found(self, point: Point, tried: Rows, **told: Any) -> Hyperparameters:
        """Return the setting at a point, with what is told of the search."""
        kernel, _, softness, noise = self._unpack(point.theta, point.noisy)
        softness = softness if self.plan.softness is None else self.plan.softness
        n, seed = len(self.examples.label), self.task.budget.choice_seed
        bounds = self._at_bounds(point)
        given = kernel, softness, noise
        search = Search(*given, point.value, n, self.names, np.array(tried), seed, bounds, **told)
        return Hyperparameters(None, *given, search)

    def require(self, point: Point) -> None:
        """Raise ValueError if the best point has no evidence."""
        if point.value == -math.inf:
            raise ValueError(
                "kernel must be positive semidefinite and make the labels possible; "
                f"{self.kernel!r} did so at none of {len(self.tried)} settings tried"
            )

    def _features(self, kernel: Any) -> Features:
        """Return the features of the examples for a kernel with values of all parameters."""
        if self._known is not None:
            return self._known
        offset, examples = self.plan.offset, self.examples
        if examples.gram is not None:
            found = Features.of_gram(examples.gram, self.landmarks, offset)
        else:
            found = Features.of(kernel, self.landmarks, offset, self._inputs)
        if not self.own:  # one kernel for all settings
            self._known = found
        return found

    def _start_slopes(self) -> ByName:
        """Return the derivatives of 0 that the kernel knows."""
        inputs = self.examples.inputs
        few, start = in_rows(inputs)[:2], kernels.at_start(self.kernel, inputs)
        return kernels.with_pullback(start, few, few)[1](np.zeros(2 * few.shape[:1]))[0]

    def _unpack(self, theta: Floats, noisy: bool) -> Setting:
        values, n = np.exp(theta).tolist(), len(self.own)
        kernel = kernels.replace(self.kernel, dict(zip(self.own, values[:n], strict=True)))
        features = self._features(kernel)
        softness = self.plan.softness
        if softness is None:
            softness = values[n] * variance(features)
        elif softness == 0:
            softness = _SOFTNESS[0] * variance(features)
        noise = (values[-self.plan.rates], values[-1]) if noisy else self.plan.label_noise
        return kernel, features, float(softness), noise

    def _evidence(self, setting: Setting, *, slopes: bool) -> Evaluation:
        """Return the approximate evidence, with `slopes` by the kernel or without."""
        _, features, softness, noise = setting
        levels = softness / self.examples.precision
        psi, level = features.psi, levels + features.missed
        sites, share = self._sites, self._sites.share
        total = variance(features) + float(levels.mean())
        ends = None if sites.ends is None else math.sqrt(total) * sites.ends
        noise = noise[0] / sites.wrong[0], noise[1] / sites.wrong[1]
        given = psi, level, sites.positive, noise, self._nearest
        options: Any = {"change": self._change, "n_threads": self.task.budget.n_threads}
        found = propagate(*given, intervals=ends, **options)
        self._nearest = found
        value = share * float(found.log_evidence.sum())
        if any(noise) and not found.converged.all():
            value = -math.inf  # the value of oscillating sweeps is arbitrary
        by_own = share * found.by_level
        by_psi = share * found.by_features - (2 * by_own)[:, None] * psi
        by_total = 0.5 * found.by_thresholds / total
        by_softness = float(by_own @ levels) + by_total * float(levels.mean())
        by_noise, left_out = share * found.by_noise, found.left_out[0]
        by_noise = by_noise / sites.wrong
        if len(sites.positive) > 1:
            left_out = np.where(sites.positive, found.left_out, 1 - found.left_out)
            left_out = left_out / left_out.sum(axis=0)
        known: ByName = {}
        if slopes:
            by_variance = by_total
            if self.relative:  # its ratio to the variance is what stays
                by_variance += by_softness / variance(features)
            if by_variance:
                part = by_variance / len(psi)
                by_own, by_psi = by_own + part, by_psi - 2 * part * features.mean
            known = features.slopes(by_psi, by_own)
        return Evaluation(value, known, by_softness, by_noise, left_out)

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


def approximate_log_evidence(
    kernel: Any, examples: Examples, labels: Labels, *, offset: float, softness: float
) -> float:
    """Return the approximate log evidence of hyperparameters, which the search follows.

    It is that for functions in the span of 200 landmarks: of fewer examples nearly all functions.

    Parameters
    ----------
    kernel : kernel object or callable
        The kernel, with values of all parameters.
    examples, labels
        Those of a model: ``model.models_[0].examples`` and ``.labels``.
    offset, softness : float
        What is added to all kernel values (1 for `fit_intercept`), and to the diagonal.

    Returns
    -------
    float
        Nats; minus infinity for an indefinite kernel or if the approximation does not converge.
    """
    given = (labels.label_noise, 0, None, False, None, 1, 1, None)
    plan = Plan(kernel, 1, offset, softness, *given)
    task = Task(kernel, plan, examples, labels, Budget(0))
    with one_thread():
        return Objective(task, choose_landmarks(task, _LANDMARKS, 0)).log_evidence()


def choose_landmarks(task: Task, n: int, seed: int) -> Any:
    """Return at most n landmarks for the examples of a task; of a kernel matrix their rows."""
    examples = task.examples
    if examples.gram is not None:
        m = len(examples.label)
        rows: NDArray[np.intp] = np.sort(np.random.default_rng(seed).permutation(m)[:n])
        return rows
    start = kernels.at_start(task.kernel, examples.inputs)
    return selection.choose(start, examples.inputs, n, seed)


def variance(features: Features) -> float:
    """Return the variance over the examples of f, on average: 1 if it is no more than rounding."""
    found, whole = features.variance, float(features.own.mean())
    return found if found > 3 * JITTER * abs(whole) and math.isfinite(found) else 1.0
