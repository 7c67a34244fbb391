"""Runs that give the layers of an onion, and the choice of a layer by held-out examples."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from bayespoint.base import validation
from bayespoint.base.validation import RandomState
from bayespoint.base.warnings import warn
from bayespoint.engine.problem import Callback, Problem
from bayespoint.papers.compiled import OnionSettings, layers
from bayespoint.papers.onion.table import LayerChoice, OnionTable
from bayespoint.plotting.style import check_type
from bayespoint.version_space import VersionSpace


def onion(
    space: VersionSpace,
    max_errors: int | tuple[int, int] = (5, 5),
    *,
    method: str = "exact",
    tol: float = 0.1,
    volume_tol: float | None = None,
    max_length: float = 2e4,
    n_trajectories: int = 4,
    n_jobs: int | None = None,
    random_state: RandomState = None,
    callback: Callback = None,
) -> OnionTable:
    r"""Return the center of every layer of weight vectors with some training errors.

    Layer (a, b) holds the unit vectors that violate exactly a examples labeled -1 and b
    examples labeled +1 (Ruján and Marchand, section 18.5.3). Version space is layer (0, 0).

    Parameters
    ----------
    space : VersionSpace
        Version space of two classes.
    max_errors : int or pair of ints, default=(5, 5)
        Largest a and largest b, at least 0.
    method : {"exact", "projected"}, default="exact"
        "exact": a billiard with transparent walls that spends about the same path in every
        layer. Version space may be empty. "projected": the rays of a billiard in version
        space, each extended through the layers beyond the wall that it hits. Faster, but
        biased, and without volumes. Ruján and Marchand project straight rays, these are great
        circles.
    tol : float, default=0.1
        Standard error, in radians, of the center of every layer seen at which to stop,
        positive.
    volume_tol : float, default=None
        Standard error, in nats, of the log volume of every layer seen at which to stop,
        positive. None: no condition. Only with "exact".
    max_length : float, default=2e4
        Path in radians per trajectory at which to stop in any case, positive.
    n_trajectories : int, default=4
        Number of independent trajectories, at least 1.
    n_jobs, random_state, callback
        As for :meth:`VersionSpace.sample`; ``center_error`` is the largest of all layers.

    Returns
    -------
    OnionTable
        Centers with their errors, paths and volumes.

    Raises
    ------
    InfeasibleError, FloatingPointError, MemoryError
        See the notes of :class:`VersionSpace`; InfeasibleError only with "projected".

    Warns
    -----
    ConvergenceWarning
        If a layer's error is above `tol` or `volume_tol`, or a layer was never visited.

    Notes
    -----
    Within a layer a billiard with transparent walls is uniform for all transparencies. A ball
    passes from one layer to another with probability :math:`\min(1, W' / W)`, where W is the
    inverse of the layer's volume, estimated during the run. Between the parts of the path that
    are averaged, the trajectories climb a ladder of transparencies to fully transparent walls
    and return. A bounce costs O(m + number of layers).

    The layer with half of the examples of each class contains the opposite of each of its
    vectors, and so has no center.

    Examples
    --------
    Three orthogonal planes cut the sphere into octants. Violating the third example leads
    into the next one.

    >>> import numpy as np
    >>> from bayespoint import VersionSpace
    >>> from bayespoint.papers.onion import onion
    >>> space = VersionSpace(np.eye(3), [1, 1, -1])
    >>> table = onion(space, (1, 0), random_state=0)
    >>> bool(np.abs(table.center(0, 0) - [0.577, 0.577, -0.577]).max() < 0.1)
    True
    >>> bool(np.abs(table.center(1, 0) - [0.577, 0.577, 0.577]).max() < 0.1)
    True
    """
    settings = _settings(max_errors, method, tol, volume_tol, max_length, n_trajectories)
    problem = _binary(space)
    threads, seed = validation.threads(n_jobs), validation.seed(random_state)
    table = _compute_table(problem, settings, space.classes, threads, seed, callback)
    for message in table.convergence_messages(settings.tol, settings.volume_tol):
        warn(message, ConvergenceWarning)
    return table


def choose_layer(
    space: VersionSpace,
    max_errors: int | tuple[int, int] = (5, 5),
    *,
    k: int = 10,
    n_repeats: int | None = None,
    method: str = "exact",
    tol: float = 0.1,
    max_length: float = 2e4,
    n_trajectories: int = 4,
    n_jobs: int | None = None,
    random_state: RandomState = None,
    callback: Callback = None,
) -> LayerChoice:
    """Choose the layer whose center makes the fewest errors on held-out examples.

    In each repetition k examples are left out, the onion of the others is computed, and the
    center of every layer is tested on the k examples (Ruján and Marchand, with k = 10).

    Parameters
    ----------
    space : VersionSpace
        Version space of two classes.
    max_errors : int or pair of ints, default=(5, 5)
        As for `onion`.
    k : int, default=10
        Number of examples left out at a time, at least 1 and fewer than m.
    n_repeats : int, default=None
        Number of repetitions, at least 1. None is m // k, in which almost every example is left
        out once. The order is random, and drawn again when fewer than k examples remain.
    method, tol, max_length, n_trajectories, n_jobs, random_state, callback
        As for `onion`, for each run.

    Returns
    -------
    LayerChoice
        The layer, and the mean errors of all. Only layers with a center in every run are
        candidates. Ties go to the layer with the fewest training errors.

    Raises
    ------
    InfeasibleError, FloatingPointError, MemoryError
        As for `onion`.
    ValueError
        If a setting is out of range, or no layer had a center in every run.

    Warns
    -----
    ConvergenceWarning
        If in a run the error of a layer's center is above `tol`. There is no warning for layers
        that were not visited: see `LayerChoice.n_tests`.

    Examples
    --------
    >>> import numpy as np
    >>> from bayespoint import VersionSpace
    >>> from bayespoint.papers.onion import choose_layer
    >>> x = np.random.default_rng(0).standard_normal((30, 4))
    >>> space = VersionSpace(x @ x.T, np.where(x[:, 0] > 0, 1, -1))
    >>> choice = choose_layer(space, (1, 1), k=5, random_state=0)
    >>> choice.n_tests.tolist()
    [[30, 30], [30, 30]]
    >>> bool(choice.errors[choice.layer] == choice.errors.min())
    True
    """
    settings = _settings(max_errors, method, tol, None, max_length, n_trajectories)
    problem = _binary(space)
    threads = validation.threads(n_jobs)
    m = len(problem)
    k = validation.integer("k", k, low=1)
    if k >= m:
        raise ValueError(f"k must be less than the number of examples, {m}; got {k}")
    repeats = m // k
    if n_repeats is not None:
        repeats = validation.integer("n_repeats", n_repeats, low=1)
    rng = validation.generator(random_state)
    shape = tuple(np.add(settings.max_errors, 1))
    wrong, tests = np.zeros(shape), np.zeros(shape, dtype=np.int64)
    poor, worst = 0, 0.0
    order: NDArray[np.intp] = rng.permutation(m)
    for _ in range(repeats):
        if len(order) < k:
            order = rng.permutation(m)
        left_out, order = order[:k], order[k:]
        rest = np.setdiff1d(np.arange(m), left_out)
        part = replace(
            problem,
            gram=problem.gram[np.ix_(rest, rest)],
            label=problem.label[rest],
            softness=problem.softness[rest],
            inverse=None,
        )
        table = _compute_table(
            part, settings, np.array([-1, 1]), threads, validation.seed(rng), callback
        )
        between = problem.gram[np.ix_(left_out, rest)].astype(np.float64, copy=False)
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


def _settings(max_errors: int | tuple[int, int], *others: Any) -> OnionSettings:
    return OnionSettings(validation.pair("max_errors", max_errors, validation.integer), *others)


def _binary(space: VersionSpace) -> Problem:
    """Return the problem of a version space of two classes."""
    check_type("space", space, VersionSpace)
    space.problem.require_binary("an onion, whose layers count the errors of each class")
    return space.problem


def _compute_table(
    problem: Problem,
    settings: OnionSettings,
    classes: NDArray[Any],
    n_threads: int,
    seed: int,
    callback: Callback,
) -> OnionTable:
    """Return the table of layers, without convergence warnings."""
    run = layers(problem, settings, n_threads=n_threads, seed=seed, callback=callback)
    return OnionTable.from_run(run, problem, settings, classes)
