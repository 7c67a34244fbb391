"""The approximate evidence of hyperparameters, as a function of their logarithms.

The evidence is the probability of the labels under the model, here of functions in the span of some
landmarks, by expectation propagation (:mod:`bayespoint.landmarks.features`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from bayespoint import kernels
from bayespoint.base.linalg import one_thread
from bayespoint.base.validation import Floats, Noise, real
from bayespoint.data.examples import Examples
from bayespoint.data.plan import Budget, Plan
from bayespoint.kernels.products import in_rows, pair_of_vectors
from bayespoint.kernels.protocol import ByName
from bayespoint.labels import Labels, Problems
from bayespoint.landmarks import selection
from bayespoint.landmarks.features import Features, Propagation, SumPlan, propagate
from bayespoint.posterior.model import Model

SOFTNESS = (1e-3, 1e4)
"""Bounds of the softness relative to the variance of f over the examples. A ratio r changes the
labels of a share arctan(sqrt(r)) / pi of normal f: 1 % at the lower bound. Below it a billiard has
up to twenty times as many bounces, and on tables of real data the log loss gains nothing."""

_CHANGE = 0.01  # change of a problem's evidence, in nats, at which the approximation ends
_CHANGE_OF_SEVERAL = 0.03  # this change where several problems are summed
_FINE_CHANGE = 1e-4  # this change for finite differences, if a kernel has no derivatives
_LANDMARKS = 200  # landmarks of `approximate_log_evidence`
_STEP = 0.02  # step in a logarithm for a finite difference, if a kernel provides no derivatives


Trial = Callable[[Mapping[str, float]], object]
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

    @cached_property
    def parameters(self) -> tuple[kernels.Parameter, ...]:
        """The parameters that the kernel leaves to be found; none if its matrix is given."""
        if self.examples.gram is not None:
            return ()
        return kernels.parameters(self.kernel, self.examples.inputs)

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns of `Search.tried`."""
        noise = ("label_noise_negative", "label_noise_positive")
        parameters = (parameter.name for parameter in self.parameters)
        return (*parameters, "softness", *noise, "n_examples", "log_evidence")

    def of(self, n: int) -> Task:
        """Return the task for a stratified sample of n of the examples."""
        return replace(self, examples=self.examples.sample(n, self.budget.choice_seed))


class Setting(NamedTuple):
    """Hyperparameters, with the features of the examples for their kernel."""

    features: Features
    softness: float
    label_noise: Noise
    relative: bool = False  # whether the softness follows the variance of f


class Evaluation(NamedTuple):
    """The approximate evidence of a setting, with its derivatives."""

    value: float  # nats
    by_kernel: ByName  # by logarithms of the kernel's parameters, as far as they are known
    by_softness: float  # by the logarithm of the softness
    by_noise: Floats  # (2,) by the rates of label noise
    left_out: Floats  # as `Problems.left_out` returns them
    propagation: Propagation | None  # from which that of a similar setting may start


_IMPOSSIBLE = Evaluation(-math.inf, {}, 0.0, np.zeros(2), np.empty(0), None)


def evidence(
    setting: Setting,
    problems: Problems,
    precision: Floats,
    *,
    change: float | None = None,
    nearest: Propagation | None = None,
    slopes: bool = False,
    n_threads: int = 1,
) -> Evaluation:
    """Return the evidence of a setting, with `slopes` with its derivatives by the kernel.

    `precision` are the (m,) factors by which the softness of examples is smaller, `change` that of
    a problem's evidence, in nats, at which it is good enough, by default by the number of problems;
    `nearest` is the propagation of a similar setting, from which this one starts.
    """
    if change is None:
        change = _CHANGE if len(problems.positive) == 1 else _CHANGE_OF_SEVERAL
    features, share = setting.features, problems.share
    psi, levels = features.psi, setting.softness / precision
    total = features.variance + float(levels.mean())
    propagation = propagate(
        psi,
        levels + features.missed,
        problems.positive,
        problems.rates(setting.label_noise),
        nearest,
        intervals=None if problems.ends is None else math.sqrt(total) * problems.ends,
        change=change,
        n_threads=n_threads,
    )
    value = share * float(propagation.log_evidence.sum())
    if any(setting.label_noise) and not propagation.converged.all():
        value = -math.inf  # the value of oscillating sweeps is arbitrary
    by_level = share * propagation.by_level
    by_total = 0.5 * propagation.by_thresholds / total
    by_softness = float(by_level @ levels) + by_total * float(levels.mean())
    by_kernel: ByName = {}
    if slopes:
        if setting.relative:
            by_total += by_softness / features.variance
        by_kernel = features.slopes(propagation, share, by_level, by_total)
    by_noise = problems.by_noise(share * propagation.by_noise)
    left_out = problems.left_out(propagation.left_out)
    return Evaluation(value, by_kernel, by_softness, by_noise, left_out, propagation)


class Span(NamedTuple):
    """Landmarks for examples: functions in the span of their kernel values have features."""

    gram: Floats | None  # of the examples, if it is known
    inputs: Any  # of the examples, checked once for all kernels
    landmarks: Any  # of a kernel matrix their rows
    offset: float

    @classmethod
    def of(cls, kernel: Any, examples: Examples, offset: float, n: int, seed: int) -> Span:
        """Return the span of at most n landmarks."""
        gram, inputs = examples.gram, examples.inputs
        rows = np.sort(np.random.default_rng(seed).permutation(len(examples.label))[:n])
        if gram is not None:
            return cls(gram, inputs, rows, offset)
        if sparse.issparse(inputs):  # means of clusters would not be sparse
            landmarks = in_rows(inputs)[rows]
        else:
            landmarks = selection.choose(kernels.at_start(kernel, inputs), inputs, n, seed)
        if kernels.requires_vectors(kernel):  # as pullbacks take them
            takes_sparse = kernels.accepts_sparse(kernel)
            inputs, landmarks = pair_of_vectors(inputs, landmarks, accepts_sparse=takes_sparse)
        return cls(None, inputs, landmarks, offset)

    def features(self, kernel: Any) -> Features:
        """Return the features of the examples for a kernel with values of all parameters."""
        gram, landmarks = self.gram, self.landmarks
        if gram is None:
            return Features.of(kernel, landmarks, self.offset, self.inputs)
        among, own = gram[np.ix_(landmarks, landmarks)], gram.diagonal()
        return Features.whitened(among, gram[:, landmarks], own, self.offset, None)


class Point(NamedTuple):
    """The evidence of a setting tried."""

    value: float
    slope: Floats  # derivatives by the logarithms of the parameters searched
    left_out: Floats  # as `Problems.left_out` returns them


NOWHERE = Point(-math.inf, np.empty(0), np.empty(0))
"""That of coordinates without a setting."""


class Record:
    """What changes in a search: the settings tried, the nearest propagation, the limit reached."""

    def __init__(self, task: Task) -> None:
        self.rows: list[list[float]] = []  # of `Search.tried`
        self.nearest: Propagation | None = None
        self.limit = ""  # that ended the search
        self._task, self._told = task, 0

    def add(self, row: list[float]) -> None:
        """Add a setting, with which a limit may be reached."""
        self.rows.append(row)
        if self._task.budget.left <= 0:
            self.limit = "max_time"
        elif (self._task.budget.max_iter or math.inf) <= len(self.rows):
            self.limit = "max_iter"

    def tell(self) -> None:
        """Report the settings that were tried since the last call."""
        rows, self._told = self.rows[self._told :], len(self.rows)
        if self._task.trial is not None:
            for row in rows:
                self._task.trial(dict(zip(self._task.columns, row, strict=True)))


@dataclass(frozen=True, eq=False)
class Objective:
    """The approximate evidence of a kernel with its gradient, and a record of the settings tried.

    The parameters are those that the kernel declares, then, if they are searched, the softness
    relative to the variance of f and the rates of label noise.
    """

    task: Task
    span: Span
    problems: Problems
    change: float | None  # as in `evidence`
    record: Record

    @classmethod
    def of(
        cls,
        task: Task,
        n_landmarks: int,
        seed: int,
        record: Record | None = None,
        change: float | None = None,
    ) -> Objective:
        """Return the objective of a task, by at most so many landmarks.

        `change` is as in `evidence`, but small for finite differences, in place of derivatives that
        the kernel does not know.
        """
        record = record or Record(task)
        record.nearest = None  # of other examples
        kernel, examples = task.kernel, task.examples
        problems = task.labels.problems(examples.label)
        names = {parameter.name for parameter in task.parameters}
        if names:
            few, start = in_rows(examples.inputs)[:2], kernels.at_start(kernel, examples.inputs)
            known, _ = kernels.with_pullback(start, few, few)[1](np.zeros(2 * few.shape[:1]))
            if not names <= known.keys():
                change = _FINE_CHANGE
        span = Span.of(kernel, examples, task.plan.offset, n_landmarks, seed)
        return cls(task, span, problems, change, record)

    def without_rates(self) -> Objective:
        """Return the objective without rates of label noise, with the same record."""
        return replace(self, task=replace(self.task, plan=replace(self.task.plan, rates=0)))

    @np.errstate(all="ignore")
    def point(self, theta: Floats) -> Point:
        """Return the evidence with its gradient, or minus infinity, and record the setting."""
        plan, parameters = self.task.plan, self.task.parameters
        softness, noise = math.nan, plan.label_noise
        try:
            setting = self.setting(theta)
            softness, noise = setting.softness, setting.label_noise
            evaluation = self._evaluation(setting, slopes=bool(parameters))
            gradient = []
            for k, parameter in enumerate(parameters):
                if parameter.name in evaluation.by_kernel:
                    gradient.append(evaluation.by_kernel[parameter.name])
                    continue
                within = theta[k] + _STEP <= math.log(parameter.high)
                moved, step = theta.copy(), _STEP if within else -_STEP
                moved[k] += step
                ahead = self._evaluation(self.setting(moved))
                gradient.append((ahead.value - evaluation.value) / step)
        except np.linalg.LinAlgError:
            # Not positive semidefinite at these parameters. The fit checks the chosen kernel.
            evaluation, gradient = _IMPOSSIBLE, [0.0] * len(parameters)
        if plan.softness is None:
            gradient.append(evaluation.by_softness)
        if plan.rates:
            by_rates = np.array(noise) * evaluation.by_noise
            gradient.extend([by_rates.sum()] if plan.rates == 1 else by_rates.tolist())
        value, n = evaluation.value, len(self.task.examples.label)
        self.record.add([*np.exp(theta[: len(parameters)]).tolist(), softness, *noise, n, value])
        return Point(value, np.array(gradient), evaluation.left_out)

    @np.errstate(all="ignore")
    def left_out(self, theta: Floats) -> Floats:
        """Return the probability of each label given all others, as in `Point`."""
        return self._evaluation(self.setting(theta)).left_out

    def setting(self, theta: Floats) -> Setting:
        """Return the setting with these logarithms of parameters."""
        plan, parameters, values = self.task.plan, self.task.parameters, np.exp(theta).tolist()
        features = self._features(theta[: len(parameters)])
        # The smallest softness stands for 0.
        ratio = values[len(parameters)] if plan.softness is None else SOFTNESS[0]
        softness = plan.softness or ratio * features.variance
        noise = (values[-plan.rates], values[-1]) if plan.rates else plan.label_noise
        return Setting(features, softness, noise, relative=not plan.softness)

    def kernel(self, theta: Floats) -> Any:
        """Return the kernel with these logarithms of parameters."""
        names = (parameter.name for parameter in self.task.parameters)
        by_name = dict(zip(names, np.exp(theta).tolist(), strict=False))
        return kernels.replace(self.task.kernel, by_name)

    @cached_property
    def _features(self) -> Callable[[Floats], Features]:
        """Returns the features for logarithms of the parameters; without any always the same."""
        kernel, parameters, span = self.task.kernel, self.task.parameters, self.span
        if not parameters:
            found = span.features(kernel)
            return lambda theta: found
        plan = SumPlan.of(kernel, parameters, span.landmarks, span.offset, span.inputs)
        return plan.features if plan else lambda theta: span.features(self.kernel(theta))

    def _evaluation(self, setting: Setting, *, slopes: bool = False) -> Evaluation:
        """Return the evidence of a setting, from the nearest propagation, which it replaces."""
        evaluation = evidence(
            setting,
            self.problems,
            self.task.examples.precision,
            change=self.change,
            nearest=self.record.nearest,
            slopes=slopes,
            n_threads=self.task.budget.n_threads,
        )
        self.record.nearest = evaluation.propagation
        return evaluation


def approximate_log_evidence(
    model: Model, kernel: Any = None, *, softness: float | None = None
) -> float:
    """Return the approximate log evidence of a model, which the search follows.

    It is that for functions in the span of 200 landmarks: of fewer examples nearly all functions.

    Parameters
    ----------
    model : Model
        One of the `models_` of a fit, over all examples.
    kernel : kernel object or callable, default=None
        With values of all parameters, for the standardized inputs. None: that of the model.
    softness : float, default=None
        Variance of the noise. None: that of the model.

    Returns
    -------
    float
        Nats; minus infinity for an indefinite kernel or if the approximation does not converge.

    Raises
    ------
    ValueError
        With landmarks, or for a matrix of kernel values or choices, of which no examples are kept.
    """
    kernel = model.hyper.kernel if kernel is None else kernel
    if not model.basis.is_all or isinstance(kernel, str) or model.labels.n_inputs > 1:
        raise ValueError(
            "model must be over all examples, with a kernel that can be evaluated and without "
            f"choices; got {model!r}"
        )
    softness = model.hyper.softness if softness is None else real("softness", softness, low=0.0)
    return log_evidence_of(
        kernel, model.examples, model.labels, offset=model.basis.offset, softness=softness
    )


def log_evidence_of(
    kernel: Any, examples: Examples, labels: Labels, *, offset: float, softness: float
) -> float:
    """Return the approximate log evidence of hyperparameters for examples."""
    problems = labels.problems(examples.label)
    with one_thread(), np.errstate(all="ignore"):
        span = Span.of(kernel, examples, offset, _LANDMARKS, seed=0)
        try:
            features = span.features(kernel)
            level = softness or SOFTNESS[0] * features.variance
            setting = Setting(features, level, labels.label_noise)
            return evidence(setting, problems, examples.precision).value
        except np.linalg.LinAlgError:
            return -math.inf
