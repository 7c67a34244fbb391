"""The onion: layers of weight vectors with given numbers of training errors."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from bayespoint import _core
from bayespoint.base import validation
from bayespoint.base.validation import RandomState
from bayespoint.base.warnings import warn
from bayespoint.engine.problem import Callback, Problem
from bayespoint.engine.settings import OnionSettings
from bayespoint.kernels import explicit
from bayespoint.results.onion import LayerChoice, OnionTable


def onion(
    problem: Problem,
    settings: OnionSettings,
    *,
    classes: NDArray[Any],
    n_jobs: int | None,
    seed: RandomState,
    callback: Callback,
) -> OnionTable:
    """Return the center of every layer; `VersionSpace.onion` has the parameters."""
    problem.require_binary("an onion, whose layers count the errors of each class")
    threads, number = validation.threads(n_jobs), validation.seed(seed)
    table = _compute_table(problem, settings, classes, threads, number, callback)
    for message in table.convergence_messages(settings.tol, settings.volume_tol):
        warn(message, ConvergenceWarning)
    return table


def choose_layer(
    problem: Problem,
    settings: OnionSettings,
    *,
    k: int,
    n_repeats: int | None,
    n_jobs: int | None,
    seed: RandomState,
    callback: Callback,
) -> LayerChoice:
    """Choose a layer by held-out examples; `VersionSpace.choose_layer` has the parameters."""
    problem.require_binary("an onion, whose layers count the errors of each class")
    threads = validation.threads(n_jobs)
    m = len(problem)
    k = validation.integer("k", k, low=1)
    if k >= m:
        raise ValueError(f"k must be less than the number of examples, {m}; got {k}")
    repeats = m // k
    if n_repeats is not None:
        repeats = validation.integer("n_repeats", n_repeats, low=1)
    rng = np.random.default_rng(validation.seed(seed))
    shape = settings.max_errors[0] + 1, settings.max_errors[1] + 1
    wrong, tests = np.zeros(shape), np.zeros(shape, dtype=np.int64)
    poor, worst = 0, 0.0
    order: NDArray[np.intp] = rng.permutation(m)
    for _ in range(repeats):
        if len(order) < k:
            order = rng.permutation(m)
        left_out, order = order[:k], order[k:]
        rest = np.setdiff1d(np.arange(m), left_out)
        part = problem.part(rest)
        table = _compute_table(
            part, settings, np.array([-1, 1]), threads, validation.seed(rng), callback
        )
        between = explicit.between(problem.gram, left_out, rest)
        errors = table.test_errors(between, problem.y[left_out])
        wrong += np.nan_to_num(errors)
        tests += np.where(np.isnan(errors), 0, k)
        known = table.center_error[table.has_center]
        if not (known <= settings.tol).all():
            poor += 1
            worst = max(worst, float(np.nan_to_num(known, nan=np.inf).max()))
    if poor:
        warn(
            f"in {poor} of {repeats} runs a layer has an estimated center_error above "
            f"tol={settings.tol:g}, up to {worst:.3g} radians: raise max_length",
            ConvergenceWarning,
        )
    with np.errstate(invalid="ignore"):
        mean = wrong / tests
    candidates = np.argwhere(tests == repeats * k)
    if len(candidates) == 0:
        raise ValueError(
            f"max_errors={settings.max_errors} must include a layer that has a center in all "
            f"{repeats} runs, to choose from; none has"
        )
    best = min(candidates.tolist(), key=lambda layer: (mean[tuple(layer)], sum(layer), layer))
    return LayerChoice((best[0], best[1]), mean, tests)


def _compute_table(
    problem: Problem,
    settings: OnionSettings,
    classes: NDArray[Any],
    n_threads: int,
    seed: int,
    callback: Callback,
) -> OnionTable:
    """Return the table of layers, without convergence warnings."""
    if settings.method == "exact":
        explicit.require_matrix(problem.gram, "the onion with method='exact'")
    given = {"n_threads": min(n_threads, settings.n_trajectories), "seed": seed}
    run = _core.onion(problem, vars(settings) | given, callback=callback)
    return OnionTable.from_run(
        run,
        settings.max_errors,
        plane_coordinates=problem.coordinates(run["centers"]),
        y=problem.y,
        classes=classes,
        offset=problem.offset,
        method=settings.method,
    )
