"""The search for the hyperparameters of a fit."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from bayespoint import kernels
from bayespoint.base import linalg
from bayespoint.base.validation import Floats
from bayespoint.base.warnings import Advance, Report, warn
from bayespoint.data.examples import Examples
from bayespoint.data.plan import Budget, Plan
from bayespoint.engine import interior
from bayespoint.kernels import Differences
from bayespoint.labels import Labels
from bayespoint.results.hyperparameters import Hyperparameters, Search, rates
from bayespoint.tuning.climbing import Found, most_probable
from bayespoint.tuning.drawing import drawn
from bayespoint.tuning.objective import Task, Trial

_TINY = 1e-150  # least softness with which feature vectors may have the length 0


def search(
    plan: Plan,
    examples: Examples,
    labels: Labels,
    *,
    transform: Any,
    budget: Budget,
    report: Report,
) -> list[Hyperparameters]:
    """Return the hyperparameters of each model of a plan, after a transformation of the inputs.

    Raises ValueError if no setting tried has an evidence: the kernel is not positive semidefinite,
    or without softness and label noise the labels are impossible. Warns if a limit ended the
    search, or if the evidence still rises at a bound of a parameter.
    """
    with report.task("search by evidence") as advance:
        trial = None if advance is None else _trial(len(examples.label), advance, report)
        task = Task(plan.kernel, plan, examples, labels, budget, trial)
        settings, limit = _settings(task)
    searches = [setting.search for setting in settings if setting.search is not None]
    if limit:
        tried = {id(search.tried): len(search.tried) for search in searches}
        several = f": {len(settings)} are averaged" if plan.n_models > 1 else ""
        warn(
            f"{limit} ended the search for hyperparameters after {sum(tried.values())} "
            f"settings{several}"
        )
    _tell(searches, report)
    if isinstance(settings[0].kernel, Differences):
        settings = _of_one_variance(settings, examples.inputs)
    return [replace(setting, transform=transform) for setting in settings]


def _of_one_variance(settings: Sequence[Hyperparameters], inputs: Any) -> list[Hyperparameters]:
    """Return settings with the variance of the first one: differences tell ratios only."""
    first, *others = settings
    variance = kernels.diagonal(first.kernel, inputs).mean()  # type: ignore[arg-type]
    scaled = [first]
    for other in others:
        kernel: Any = other.kernel
        own = kernels.diagonal(kernel, inputs).mean()
        # Differences of equal inputs are 0 at every scale.
        factor = float(variance / own) if min(variance, own) > 0 else 1.0
        kernel = Differences(factor * kernel.kernel)
        scaled.append(replace(other, kernel=kernel, softness=factor * other.softness))
    return scaled


def with_matrix(plan: Plan, examples: Examples) -> Examples:
    """Return the examples with their kernel matrix, if only softness or noise is searched."""
    kernel, softness = plan.kernel, plan.softness
    searches = softness is None or plan.rates > 0
    leaves = kernels.parameters(kernel, examples.inputs)
    if plan.landmarks or plan.n_models > 1 or not searches or leaves:
        return examples
    # Feature vectors of length 0 are valid unless the softness is 0.
    least = np.full(len(examples.label), 0.0 if softness == 0 else _TINY)
    with linalg.threads_for(len(least)):
        return replace(examples, gram=_gram(kernel, plan, examples, least))


def _gram(kernel: Any, plan: Plan, examples: Examples, softness: Floats) -> Floats:
    inputs = examples.gram if isinstance(kernel, str) else examples.inputs
    return kernels.training_gram(kernel, inputs, plan.offset, softness)[0]  # type: ignore[arg-type]


def _settings(task: Task) -> Found:
    """Return what a search finds and its limit, or the setting of the plan without a search."""
    plan, kernel = task.plan, task.kernel
    softness, noise, several = plan.softness, plan.label_noise, isinstance(kernel, tuple)
    if not (several or task.parameters or softness is None or plan.rates):
        return [Hyperparameters(None, kernel, softness or 0.0, noise)], ""
    try:
        draws = plan.n_models > 1 and not several
        return drawn(task, plan.n_models) if draws else most_probable(task)
    except ValueError as error:
        kernel = kernel[0] if several else kernel
        hard, inputs = softness == 0 and not plan.rates, task.examples.inputs
        start = kernels.at_start(kernel, inputs)
        if not (hard and any(noise)):
            _require_possible(replace(task, kernel=start), hard=hard)
        if not hard:
            raise
        warn(
            f"the search for hyperparameters found no evidence without softness: {error}. "
            f"The kernel is that from which the search started: {start!r}"
        )
        return [Hyperparameters(None, start, 0.0, noise)], ""


def _require_possible(task: Task, *, hard: bool) -> None:
    """Raise the errors for an invalid kernel matrix and for conflicting examples, if there are."""
    kernel, plan, examples = task.kernel, task.plan, task.examples
    softness = (_TINY if plan.softness is None else plan.softness) / examples.precision
    gram = _gram(kernel, plan, examples, softness)
    if not hard:
        return
    problem = task.labels.problem(gram, examples.label, softness, plan.offset)
    impossible = interior.conflict(problem)
    if impossible is not None:
        raise impossible from None


def _trial(n: int, advance: Advance, report: Report) -> Trial:
    """Return a function that reports a setting tried, with the best evidence so far."""
    best, count, size = -math.inf, 0, 0

    def trial(setting: Mapping[str, float]) -> None:
        nonlocal best, count, size
        if setting["n_examples"] != size:  # evidences of fewer examples are no match
            best, size = -math.inf, int(setting["n_examples"])
        best, count = max(best, setting["log_evidence"]), count + 1
        if report.verbose > 2:
            report.tell(", ".join(f"{k}={value:.4g}" for k, value in setting.items()))
        advance(count, f"on {size} of {n} examples, log_evidence {best:.2f}")

    return trial


def _tell(searches: Sequence[Search], report: Report) -> None:
    """Report the settings that a search ended with."""
    if len(searches) > 1:
        report.tell(f"{len(searches)} settings of the hyperparameters, {report.seconds()}:")
        for search in searches:
            report.tell(
                f"  {search.kernel!r}, softness {search.softness:.4g}, log evidence "
                f"{search.log_evidence:.2f} on {search.n_examples} examples"
            )
        return
    for search in searches:
        noise = f", label noise {rates(search.label_noise)}" if any(search.label_noise) else ""
        report.tell(
            f"search by evidence: {len(search.tried)} settings on {search.n_examples} examples, "
            f"{report.seconds()}: {search.kernel!r}, softness {search.softness:.4g}"
            f"{noise}, log evidence {search.log_evidence:.2f}"
            + (f", at a bound: {', '.join(search.at_bounds)}" if search.at_bounds else "")
        )
