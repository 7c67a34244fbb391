r"""New examples for a fitted model: its draws are extended to them, and some are replaced.

Given a draw, the values at new examples have a normal distribution. A draw is kept in proportion to
the probability that it gives their labels, example by example, and values are then drawn that
agree with the labels (sequential importance resampling). The draws so made have the law of a fit to
all examples, at the same hyperparameters, without a bounce.

Let :math:`A = L L^\top` be the matrix of the old examples; the factor for all has further rows
:math:`(B, L_2)`. In its coordinates a draw u of length :math:`\rho` gets further ones, z: values at
new examples are :math:`\rho B u + L_2 z`; z is standard normal where labels do not restrict it.

The mean of the draws is less accurate than the center of the run. So the new center is the old one
plus the difference that the new examples make to the mean of the draws: its error is that of the
old center and of this difference.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from scipy import linalg

from bayespoint.base.linalg import threads_for
from bayespoint.base.validation import Array, Floats, Indices
from bayespoint.base.warnings import Report
from bayespoint.data.plan import Budget, Plan
from bayespoint.kernels.products import count, joined
from bayespoint.labels import Labels
from bayespoint.labels.laws import log_of
from bayespoint.posterior.fitting import Fit, fit_model
from bayespoint.posterior.model import Model
from bayespoint.results.lengths import Lengths

_TRIES = 10_000  # most values that are drawn for an example until one agrees with its label
_BATCHES = 10  # largest number of batches of a trajectory, for the error of the center
_BATCH_SIZE = 10  # smallest number of draws in a batch
_STEP = 1e-4  # of a difference quotient, in standard deviations
_WORSE = 3.0  # times a fit's tolerance, or its fewest effective draws divided by this, is accepted


def updated(
    model: Model, budget: Budget, report: Report, *, X: Any, index: Indices, plan: Plan
) -> Model:
    """Return the model with further examples.

    Where too few draws agree with their labels, a billiard over all examples makes new ones.
    """
    new = model.points(X)
    with threads_for(len(model.basis) + count(new)):
        found = _extended(model, new, index)
    if found is not None:
        run, tol = found.billiard, plan.tolerance(len(found.basis), model.labels.n_functions)
        if run.center_error <= _WORSE * tol and run.ess >= run.least_ess / _WORSE:
            return found
    known = model.examples
    examples = replace(
        known,
        inputs=joined(known.inputs, new),
        label=np.append(known.label, index),
        precision=np.append(known.precision, np.ones(len(index))),
    )
    fit = Fit(examples, model.labels, model.classes, plan)
    return replace(fit_model(model.hyper, budget, report, fit), calibration=model.calibration)


def _extended(model: Model, new: Any, index: Indices) -> Model | None:
    """Return the model with its draws extended.

    None if the matrix of all examples is singular, or hardly any draw agrees with the labels.
    """
    old, draws, run, law = model.basis, model.draws, model.billiard, model.labels
    m, k, softness = len(old), len(index), np.full(len(index), model.hyper.softness)
    if not softness.all() or old.factor.pivots is not None:
        return None
    try:
        basis = old.extended(new, softness)
    except np.linalg.LinAlgError:
        return None
    lower, shape = basis.factor.lower, run.draws.shape
    corner = lower[m:, m:]
    rng = np.random.default_rng([run.seed, m])
    # Functions: directions with lengths, (n_draws, n_functions, coefficients), and coordinates z.
    length = draws.lengths.draw(rng, (len(draws), 1, 1))
    whole = length * run.draws.reshape(len(draws), -1, shape[-1])
    values = length[:, 0, 0] * draws.values(old.kernel_values(new))
    agreeing = _agreeing(law, whole, values, corner, index, rng)
    if agreeing is None:
        return None
    chosen, z, change, change_of_z = agreeing

    def widened(array: Array, between: Any = 0) -> Array:
        """Return an array with values for the new examples after those of the old ones."""
        more = np.broadcast_to(np.asarray(between, array.dtype), (*array.shape[:-1], k))
        return np.concatenate([array[..., :m], more, array[..., m:]], axis=-1)

    back = old.factor.dual_coef(np.asfortranarray(lower[m:, :m].T), m)

    def extended(functions: Floats, z: Floats) -> Floats:
        """Return the dual coefficients of functions with the coordinates z."""
        added = z @ np.linalg.inv(corner)
        found = widened(functions, added)
        found[..., :m] -= added @ back
        return found

    after = extended(whole[chosen], z)
    new_length = np.sqrt(length[chosen] ** 2 + (z**2).sum(axis=(1, 2), keepdims=True))

    def coordinates(dual_coef: Floats) -> Floats:
        """Return the products of dual coefficients with the matrix, of thresholds too."""
        rows = dual_coef.reshape(-1, after.shape[-1])
        found = rows * (draws.variance or 0.0)
        across = linalg.blas.dtrmm(1.0, lower, rows[:, : m + k].T, lower=1, trans_a=1)
        found[:, : m + k] = linalg.blas.dtrmm(1.0, lower, across, lower=1).T
        return found.reshape(dual_coef.shape)

    scale = draws.lengths.mean * run.center_norm
    parts = extended(change, change_of_z).reshape(len(draws), -1)
    mean = scale * widened(run.center).ravel() + parts.mean(axis=0)
    size = math.sqrt(mean @ coordinates(mean))
    deviations = (parts - parts.mean(axis=0)) / len(parts)
    error = error_of_mean(deviations, coordinates, mean, shape[0])
    lengths = Lengths(round(draws.lengths.mean_square) + k * law.basis.shape[1])
    wide = *shape[2:-1], after.shape[-1]
    center, ratio = (mean / size).reshape(wide), length[chosen, 0] / new_length[:, 0]
    functionals = run.functionals.reshape(len(draws), -1)[chosen] * ratio
    row, place = np.divmod(run.watched, shape[-1])
    run = replace(
        run,
        center=center,
        center_norm=size / lengths.mean,
        center_error=math.hypot(error, run.center_error * scale / size),
        arc_center=center,
        impulse_center=np.full(wide, math.nan),
        draws=(after / new_length).astype(run.draws.dtype).reshape(shape[:2] + wide),
        functionals=functionals.reshape(run.functionals.shape),
        watched=row * wide[-1] + place + np.where(place < m, 0, k),
        hits=widened(run.hits),
        label=widened(run.label, 0 if law.n_shared else index),
        softness=widened(run.softness, softness),
        state=None,
    )
    draws = replace(draws, run=run, lengths=lengths)
    label = np.append(model.label, index)
    return replace(model, basis=basis, draws=draws, label=label, left_out=None)


class _Agreement(NamedTuple):
    """Which functions agree with new labels, and what the labels change."""

    chosen: Indices  # (n,) the functions that are kept, some more than once
    z: Floats  # (n, n_functions, k) coordinates that the labels give them
    change: Floats  # parts whose mean is the change of the mean of the functions
    change_of_z: Floats  # those of z


def _agreeing(
    law: Labels,
    functions: Floats,
    values: Floats,
    corner: Floats,
    index: Indices,
    rng: np.random.Generator,
) -> _Agreement | None:
    """Return which functions agree with the labels of new examples.

    `values` are those of the functions at k new examples, (n_values, k, n), without what z, (n,
    n_functions, k), adds: its products with the (k, k) `corner`. None if too many values had to be
    drawn until one agreed with a label.
    """
    _, k, n = values.shape
    chosen, z = np.arange(n), np.zeros((n, functions.shape[1], k))
    middle = functions.mean(axis=0)
    change, change_of_z = np.zeros(functions.shape), np.zeros(z.shape)
    for j, label in enumerate(index):
        deviation = corner[j, j]
        mean = values[:, j, chosen] + (z[:, :, :j] @ corner[j, :j]).T
        log_p = _log_label(law, mean, deviation, label)
        if not np.isfinite(log_p.max()):
            return None
        share = np.exp(log_p - log_p.max())
        share /= share.mean()
        # Conditional means in place of those drawn: they have less error.
        more, away = (share - 1)[:, None, None], functions[chosen]
        away -= middle
        away *= more
        change += away
        change_of_z += more * (z - z.mean(axis=0))
        change_of_z[:, :, j] = share[:, None] * _mean_given_label(law, mean, deviation, label)
        places = (rng.random() + np.arange(n)) / n * share.sum()
        kept = np.searchsorted(np.cumsum(share), places).clip(max=n - 1)
        mean, chosen, z = mean[:, kept], chosen[kept], z[kept]
        if (drawn := _given_label(law, mean, deviation, label, rng)) is None:
            return None
        z[:, :, j] = drawn
    return _Agreement(chosen, z, change, change_of_z)


def _log_label(law: Labels, mean: Floats, deviation: float, label: int) -> Floats:
    """Return the (n,) log probabilities of a label, given the (n_values, n) means of values."""
    return law.observed(law.predicts.log_given(mean / deviation))[:, label]


def _mean_given_label(law: Labels, mean: Floats, deviation: float, label: int) -> Floats:
    """Return the (n, n_functions) means of z given the label: slopes of its log probability."""
    found = np.empty((mean.shape[1], law.n_functions))
    for k in range(law.n_functions):
        step = np.zeros((len(mean), 1))
        step[slice(None) if law.n_functions == 1 else k] = _STEP * deviation
        up, down = (_log_label(law, mean + way, deviation, label) for way in (step, -step))
        found[:, k] = (up - down) / (2 * _STEP)
    return found


def _given_label(
    law: Labels, mean: Floats, deviation: float, label: int, rng: np.random.Generator
) -> Floats | None:
    """Return (n, n_functions) values of z drawn given the label, or None after too many tries."""
    log_share = law.observed(log_of(np.eye(law.n_classes)))[:, label]
    log_share -= log_share.max()
    left = np.arange(mean.shape[1])
    found = np.empty((len(left), law.n_functions))
    for _ in range(_TRIES):
        z = rng.standard_normal((len(left), law.n_functions))
        if law.n_functions > 1:  # the functions of several classes have the sum zero
            z -= z.mean(axis=1, keepdims=True)
        found[left] = z
        of_values = law.predicts.winner((mean[:, left] + deviation * z.T).T, "median")
        left = left[np.log(rng.random(len(left))) >= log_share[of_values]]
        if not len(left):
            return found
    return None


def error_of_mean(
    deviations: Floats, coordinates: Callable[[Floats], Floats], mean: Floats, n_trajectories: int
) -> float:
    """Return the standard error of the direction of a mean of draws.

    `deviations` are the (n, D) distances of the draws from the (D,) mean times their shares in it.
    `coordinates` of dual coefficients are their products with the Gram matrix.
    """
    # Batches shorter than the autocorrelation time underestimate the error, trajectories are few.
    batches = min(_BATCHES, max(1, len(deviations) // n_trajectories // _BATCH_SIZE))
    found, squared = math.nan, mean @ coordinates(mean)
    for n_pieces in {n_trajectories, n_trajectories * batches} - {1}:
        # The mean is a ratio of two sums. To first order, `parts` are the contributions of the
        # pieces to its error. Only the components orthogonal to the mean change its direction.
        parts = np.stack([piece.sum(axis=0) for piece in np.array_split(deviations, n_pieces)])
        images = coordinates(parts)
        along = images @ mean
        across = np.einsum("ij,ij->i", parts, images) - along**2 / squared
        variance = max(0.0, across.sum()) * n_pieces / (n_pieces - 1)
        found = float(np.fmax(found, math.sqrt(variance / squared)))
    return found
