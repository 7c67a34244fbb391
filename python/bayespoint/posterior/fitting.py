"""The fit of one model with given hyperparameters: the only road to a posterior."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from bayespoint import kernels
from bayespoint.base import linalg, memory, validation
from bayespoint.base.validation import Array, Floats
from bayespoint.base.warnings import PERCENT, Advance, Report, warn
from bayespoint.data.examples import Examples
from bayespoint.data.plan import Budget, Plan
from bayespoint.engine import sampling as billiard
from bayespoint.engine.problem import Problem
from bayespoint.engine.settings import SampleSettings
from bayespoint.labels import Labels
from bayespoint.landmarks import normal, sampling, selection
from bayespoint.landmarks.basis import Basis
from bayespoint.landmarks.block import BlockSums, make_block
from bayespoint.posterior.model import Model
from bayespoint.results import BilliardResult, LandmarkResult
from bayespoint.results.draws import Draws
from bayespoint.results.hyperparameters import Hyperparameters
from bayespoint.results.lengths import Lengths

_SINGLE_SOFTNESS = 5e-5  # least, relative to the mean of k(x, x), for draws kept in singles
_NORMAL_TOL = 0.5  # change of the bound in a pass, nats, at which an approximation is near enough
_SOFTNESS = 0.03, 1.0
"""Least softnesses, relative to the variance of a value, of other approximations that are tried."""
_NORMAL_SHARE = 0.5  # share of the time for landmarks that the approximation may take
_DOUBLES = 10_000  # most examples whose features are kept in doubles
_LEFT_OUT = 2000  # most examples over landmarks whose leave-one-out predictions are kept
_SHARE_OF_MEMORY = 0.6  # part of the available memory that features may take


@dataclass(frozen=True, eq=False)
class Fit:
    """What all models of a fit share."""

    examples: Examples
    labels: Labels
    classes: Array
    plan: Plan


def fit_model(hyper: Hyperparameters, budget: Budget, report: Report, fit: Fit) -> Model:
    """Return the model of the examples with these hyperparameters.

    Its draws are those of a billiard over all examples, or of one with soft walls over landmarks.
    Without a deadline they depend on hyperparameters, examples, plan and seed alone.
    """
    labels, plan = fit.labels.with_noise(hyper.label_noise), fit.plan
    if plan.landmarks is None:
        seed, softness = budget.choice_seed, hyper.softness
        n = selection.sufficient(hyper.kernel, fit.examples, labels, plan, seed, softness)
        plan = plan if n is None else replace(plan, landmarks=True, n_components=n)
    fit = replace(fit, labels=labels, plan=plan)
    return (_landmarks if plan.landmarks else _billiard)(hyper, fit, budget, report)


def refined(model: Model, budget: Budget, report: Report, *, inputs: Any, plan: Plan) -> Model:
    """Return the model whose billiard went on to the plan's tolerance.

    `inputs` are those of the fit as the kernel gets them, or the kernel matrix that was given.
    """
    run, basis = model.billiard, model.basis
    with linalg.threads_for(len(basis)):
        problem = model.problem_again(inputs, _inverse(basis.factor, report))
        settings = SampleSettings(tol=plan.tolerance(len(basis), model.labels.n_functions))
        result = _run(problem, settings, budget, report, continue_from=run)
        model = replace(model, draws=replace(model.draws, run=result))
        return _calibrated(model, plan, problem)


def _inverse(factor: linalg.Factor, report: Report) -> linalg.Inverse | None:
    """Return the factor with the diagonal of the inverse, if the matrix is far from singular."""
    if not factor.invertible:
        return None
    with report.part("inverse of the matrix") as share_done:
        return factor, factor.inverse_diagonal(share_done)


def _calibrated(model: Model, plan: Plan, problem: Problem) -> Model:
    """Return the model with its leave-one-out predictions and its calibration."""
    found = model.without_each_row(problem)
    if found is None or not plan.calibrates_with(model.hyper.search is not None):
        return replace(model, left_out=found, calibration=1.0)
    return replace(model, left_out=found, calibration=found.checked_factor(plan.n_models))


def _billiard(hyper: Hyperparameters, fit: Fit, budget: Budget, report: Report) -> Model:
    """Return the model of a billiard over all examples."""
    examples, labels, plan, m = fit.examples, fit.labels, fit.plan, len(fit.examples)
    with linalg.threads_for(m):
        kernel, gram = hyper.kernel, examples.gram
        softness = labels.variances(hyper.softness, examples.precision, examples.label)
        softness = validation.softness(softness, len(softness))
        points = labels.points(examples.inputs, examples.label)
        with report.part("kernel matrix"):
            if gram is None or isinstance(kernel, str):
                inputs = points if gram is None else gram
                gram, _ = kernels.training_gram(kernel, inputs, plan.offset, softness)
        with report.part("factor of the matrix") as share_done:
            factor = linalg.factorize(gram, plan.offset, softness, report=share_done)
        inverse = _inverse(factor, report)
        report.tell(f"kernel matrix and factor of {m} examples: {report.seconds()}")
        if labels.n_shared and not labels.variance:  # that of a latent value
            variance = float((gram.diagonal() + softness).mean()) + plan.offset
            labels = replace(labels, variance=variance)
        basis = Basis.of_examples(kernel, points, plan.offset, softness, gram, factor)
        problem = labels.problem(gram, examples.label, softness, plan.offset, inverse)
        settings = SampleSettings(
            n_trajectories=plan.n_chains,
            n_draws=plan.n_draws,
            tol=plan.tolerance(m, labels.n_functions),
            max_bounces=budget.max_iter,
            transparency=labels.transparency,
        )
        result = _run(problem, problem.resolved(settings), budget, report)
        draws = Draws(result, Lengths(labels.dimension(factor.rank)), n_shared=labels.n_shared)
        model = Model(fit.classes, hyper, labels, basis, draws, examples.label)
        return _calibrated(model, plan, problem)


def _run(
    problem: Problem,
    settings: SampleSettings,
    budget: Budget,
    report: Report,
    continue_from: BilliardResult | None = None,
) -> BilliardResult:
    """Return the result of a billiard within the time of the budget."""
    tol = settings.tol or 0.0
    if budget.deadline is not None:
        settings = replace(settings, max_time=max(budget.left, billiard.LEAST_TIME))
    with report.task("billiard", PERCENT) as advance:
        result = billiard.sample(
            problem,
            settings,
            seed=budget.run_seed if continue_from is None else None,
            continue_from=continue_from,
            callback=None if advance is None else _percents(advance, tol),
            n_jobs=budget.n_threads,
        )
    result = _compact(result, problem)
    report.tell(
        f"billiard: {int(result.bounces.sum())} bounces, {report.seconds()}: "
        f"center_error {result.center_error:.2g} rad (tol {tol:.2g}), "
        f"the walls of {len(result.support)} of {len(result.label)} examples were hit"
    )
    return result


def _compact(result: BilliardResult, problem: Problem) -> BilliardResult:
    """Return the run with its draws in singles, if there is enough softness."""
    # The length of a unit vector's dual coefficients is at most softness^(-1/2). Rounding them
    # changes function values by less than a thousandth of their standard deviation.
    if problem.softness.min() < _SINGLE_SOFTNESS * float(problem.gram.diagonal().mean()):
        return result
    draws = result.draws.astype(np.float32)
    if problem.n_functions > 1:  # rounded coefficients sum to zero as those of a continued run do
        own = ..., problem.label, np.arange(len(problem))
        draws[own] = 0.0
        draws[own] = 0.0 - draws.sum(axis=-2)
    return replace(result, draws=draws)


def _percents(advance: Advance, tol: float) -> Callable[[Mapping[str, Any]], None]:
    """Return a callback of the engine that reports the percentage done."""
    done = 0

    def callback(progress: Mapping[str, Any]) -> None:
        nonlocal done
        error = progress["center_error"]
        bounces = f"{progress['bounces']} bounces"
        if not math.isfinite(error):  # too short a path for an estimate
            advance(done, bounces)
            return
        # The error is inversely proportional to the root of the path.
        share = min(0.99, (tol / error) ** 2) if error > 0 else 0.0
        done = max(done, int(PERCENT * share))
        advance(done, f"{bounces}, center_error {error:.2g} rad (tol {tol:.2g})")

    return callback


def _landmarks(hyper: Hyperparameters, fit: Fit, budget: Budget, report: Report) -> Model:
    """Return the model of a billiard with soft walls over landmarks."""
    examples, labels, plan = fit.examples, fit.labels, fit.plan
    if labels.n_shared and not labels.variance:  # that of a latent value
        own = kernels.diagonal(hyper.kernel, examples.inputs)  # type: ignore[arg-type]
        own = own + hyper.softness / examples.precision
        labels = replace(labels, variance=float(own.mean()) + plan.offset)
    with report.part("landmarks"):
        basis, start = selection.choose_basis(
            hyper.kernel, examples, labels, plan, budget, hyper.softness
        )
    report.tell(f"{len(basis)} landmarks: {report.seconds()}")
    some = examples.at_random(_LEFT_OUT, budget.choice_seed)
    examples = examples.in_blocks(budget.n_threads)
    fit = replace(fit, examples=examples, labels=labels)
    with examples.executor.running():
        blocks = _blocks(fit, basis, hyper.softness, report)
        result = _soft_billiard(blocks, fit, basis, start, hyper.softness, budget, report)
    draws = Draws(result, Lengths(None), n_shared=labels.n_shared)
    model = Model(fit.classes, hyper, labels, basis, draws)
    return model if labels.n_inputs > 1 else replace(model, left_out=model.without_each(some))


def _soft_billiard(
    blocks: BlockSums,
    fit: Fit,
    basis: Basis,
    start: Floats,
    softness: float,
    budget: Budget,
    report: Report,
) -> LandmarkResult:
    """Return the draws over landmarks, with warnings."""
    labels, plan, n_examples = fit.labels, fit.plan, len(fit.examples)
    tol, passes = plan.tolerance(n_examples, 1), [0]
    for_normal = budget.part(_NORMAL_SHARE)
    # If labels with noise are nearly steps the passes may end in a small part of the posterior.
    variance = np.square(basis.factor.lower).sum(axis=1).mean()
    sharp = any(labels.label_noise) and softness < min(_SOFTNESS) * variance
    with report.part("normal approximation"):
        tried = [
            normal.approximate(
                partial(blocks.moments, softness=least),
                start,
                n_rising=labels.n_shared,
                tol=_NORMAL_TOL,
                report=lambda done, bound: passes.append(done),
                over=lambda: for_normal.left <= 0,
            )
            for least in ((0.0, *_SOFTNESS) if sharp else (0.0,))
        ]
        found = tried[0]
        if sharp and for_normal.left > 0:
            found = normal.widest(blocks.log_likelihoods_at, tried, budget.choice_seed)
    report.tell(f"normal approximation, {passes[-1]} passes: {report.seconds()}")
    with report.task("billiard", PERCENT) as advance:

        def progress(result: LandmarkResult) -> None:
            if advance is not None:
                accuracy = (tol / max(result.center_error, 1e-300)) ** 2
                done = min(0.99, result.ess / result.least_ess, accuracy)
                figures = f"{result.n_steps} steps, center_error {result.center_error:.2g}"
                advance(int(PERCENT * done), figures)

        result = sampling.sample(
            blocks,
            found,
            basis,
            plan,
            budget,
            labels=labels,
            n_examples=n_examples,
            report=progress,
        )
    messages = result.convergence_messages(tol)
    if not found.converged:
        messages.append(
            "the normal approximation about which draws are made did not converge: the chains "
            "may mix slowly"
        )
    for message in messages:
        warn(message)
    report.tell(
        f"billiard: {result.n_steps} steps of each chain, {report.seconds()}: center_error "
        f"{result.center_error:.2g} rad (tol {tol:.2g}), {result.ess:.0f} effective draws"
    )
    return result


def _blocks(fit: Fit, basis: Basis, softness: float, report: Report) -> BlockSums:
    """Return the likelihood of all blocks: their features are kept if they fit, or recomputed."""
    examples, labels = fit.examples, fit.labels
    m, r = len(examples), len(basis)
    dtype, parts = np.dtype(np.float64 if m <= _DOUBLES else np.float32), examples.parts
    assert parts is not None
    directions = sampling.together(fit.plan.n_chains) * sampling.ROWS_OF_VALUES * labels.n_contrasts
    dimension = labels.dimension(r)
    needed = dtype.itemsize * m * directions + 5 * 8.0 * dimension**2
    available = examples.memory / _SHARE_OF_MEMORY
    if needed > available:
        raise MemoryError(
            f"fitting {m} examples with {r} landmarks needs {memory.readable(needed)} for the "
            f"values of {directions} functions and matrices of {dimension} dimensions, but only "
            f"{memory.readable(available)} of memory is available. A smaller "
            "n_components or n_trajectories helps"
        )
    keeps = needed + dtype.itemsize * m * r * labels.n_inputs <= examples.memory
    hold = examples.executor.keep if keeps else examples.executor.defer
    with report.part("features"):
        work = partial(make_block, basis=basis, labels=labels, softness=softness, dtype=dtype)
        blocks = BlockSums(examples.executor, hold(work, (parts, range(len(parts)))))
    kept = "" if keeps else ", which are computed again in every pass"
    report.tell(f"features of {m} examples{kept}: {report.seconds()}")
    return blocks
