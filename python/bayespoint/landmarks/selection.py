"""The choice of landmarks."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy import sparse
from threadpoolctl import threadpool_limits

from bayespoint import kernels
from bayespoint.base import validation
from bayespoint.base.linalg import one_thread
from bayespoint.base.validation import Floats
from bayespoint.data.examples import Examples
from bayespoint.data.executors import Threads
from bayespoint.data.plan import Budget, Plan
from bayespoint.kernels.differences import Differences
from bayespoint.kernels.products import count, in_rows
from bayespoint.labels import Labels
from bayespoint.landmarks.basis import Basis
from bayespoint.landmarks.block import BlockSums, make_block
from bayespoint.landmarks.normal import Normal, approximate

DIMENSIONS = 3000  # most dimensions of several classes, (n_classes - 1) times the landmarks
N_COMPONENTS = (250, 500, 1000, 2000)  # numbers of landmarks tried; several classes: the second
_GAIN = 2e-3  # rise of the bound per example, in nats, that is worth doubling
_REGAINED = 0.5
"""Share of KL(q, prior) that stops mattering with five times as many examples (measured)."""
_ERROR = 0.05  # change of the bound in a pass, relative to `_GAIN`, at which passes end
_TRIED = 10_000  # most examples on which numbers of landmarks are compared
_FEWEST_EXAMPLES = 6  # examples for each landmark: with fewer their own kernel matrix is as fast
_WORK = 2e12  # most examples times the square of the landmarks by default
_LITTLE_WORK = 2.5e10  # work up to which no numbers are compared: the fit is faster
_TRIAL_SHARE = 0.25  # share of the time that is left which the comparison may take
_NEXT_FIT = 8  # time of a fit with twice as many landmarks, in that of a trial on its examples

_MISSED = 0.05  # mean variance that landmarks may miss to stand for all examples, in softnesses
_SEEN = 2000  # most examples from which this is known
_EXAMPLES_EACH = 8  # least number of examples for each of these: with fewer a fit takes longer

CANDIDATES = 10  # number of random examples among which each landmark is chosen, on average
_LEVELS = 100  # levels of a category that landmarks know: rarer ones are alike
_ROUNDS = 3  # rounds of k-means, from random examples: more of them, or k-means++, gain nothing


def choose(kernel: Any, X: Any, n: int, seed: int) -> Any:
    """Return at most n landmarks for a kernel, as it takes inputs.

    For vectors they are the centers of k-means clusters of some examples, in the metric of the
    kernel, or with categories the examples nearest to these; for other inputs random examples
    without repetition. For differences they are inputs, chosen among all in the pairs.
    """
    if isinstance(kernel, Differences):
        return kernel.rows(choose(kernel.kernel, kernel.items(X), n, seed))
    rng = np.random.default_rng(seed)
    some = np.sort(rng.permutation(count(X))[: CANDIDATES * n])
    part = in_rows(X)[some]
    if part.ndim == 2 and not sparse.issparse(part):
        part = np.unique(part, axis=0)
    if part.ndim == 1 or part.shape[0] <= n:
        return part[np.sort(rng.permutation(part.shape[0])[:n])]
    from sklearn.cluster import KMeans  # which takes long to import
    from sklearn.metrics import pairwise_distances_argmin

    metric = kernels.metric(kernel, part.shape[1])
    scale, limits = metric.scale, metric.limits
    scaled = part @ sparse.diags_array(scale) if sparse.issparse(part) else part * scale
    is_mixed = np.isfinite(limits).any()
    if is_mixed:
        scaled = _with_indicators(scaled, limits * scale)
    means = KMeans(n, init="random", n_init=1, max_iter=_ROUNDS, random_state=seed % 2**32)
    # The sums of several threads would be rounded in any order. KMeans limits BLAS, too, and would
    # restore another number of threads for fits in other threads, were it not 1.
    with one_thread(), threadpool_limits(1, user_api="openmp"):
        centers = means.fit(scaled).cluster_centers_
        if is_mixed:
            return part[np.unique(pairwise_distances_argmin(centers, scaled))]
    return np.unique(centers / scale, axis=0)


def _with_indicators(values: Floats, limits: Floats) -> Any:
    """Return numbers, and indicators of the levels of categories with the same distances."""
    from sklearn.preprocessing import OneHotEncoder

    is_number = np.isinf(limits)
    encoder = OneHotEncoder(max_categories=_LEVELS).set_output(
        transform="default"
    )  # whatever the configuration says
    indicators = encoder.fit_transform(values[:, ~is_number])
    # Each row has one entry for each category.
    indicators.data = np.tile(limits[~is_number] / math.sqrt(2), len(values))
    return sparse.hstack([sparse.csr_array(values[:, is_number]), indicators], format="csr")


def sufficient(
    kernel: Any, examples: Examples, labels: Labels, plan: Plan, seed: int, softness: float
) -> int | None:
    """Return the least number of landmarks that stand for all examples; None if none does.

    They do if the variance of f that they miss is little beside the noise of the labels, which has
    the variance `softness`: predictions are then as good, and take time in proportion to n.
    """
    is_one = max(plan.n_models, labels.n_functions, labels.n_inputs) == 1
    if plan.n_components is not None or not is_one or sparse.issparse(examples.inputs):
        return None
    some = examples.at_random(_SEEN, seed)
    for n in N_COMPONENTS:
        if n * _EXAMPLES_EACH > len(examples):
            break
        basis = Basis.of_landmarks(kernel, choose(kernel, examples.inputs, n, seed), plan.offset)
        missed = basis.missed(some.inputs, basis.features(some.inputs))
        if float((missed * some.precision).mean()) <= _MISSED * softness:
            return n
    return None


def choose_basis(
    kernel: Any,
    examples: Examples,
    labels: Labels,
    plan: Plan,
    budget: Budget,
    softness: float,
) -> tuple[Basis, Floats]:
    """Return a basis, and weights to start from, after trials those of some examples.

    By default there are as many landmarks as take little work, and twice as many for as long as the
    bound gains. The next gain is expected to be to the last one as that is to the one before. With
    a deadline there are the fewest at first, and twice as many for as long as there is time.
    """
    m, seed = len(examples), budget.choice_seed

    def untried(n: int) -> tuple[Basis, Floats]:
        points = choose(kernel, labels.points(examples.inputs, examples.label), n, seed)
        basis = Basis.of_landmarks(kernel, points, plan.offset)
        return basis, labels.first_weights(len(basis), examples.label)

    if plan.n_components is not None:
        return untried(plan.n_components)
    if labels.n_functions > 1:
        fewest = max(1, min(N_COMPONENTS[1], DIMENSIONS // (labels.n_functions - 1), m))
        allowed = [fewest]
    else:
        most = max(N_COMPONENTS[0], min(m // _FEWEST_EXAMPLES, int(math.sqrt(_WORK / m))))
        allowed = [n for n in N_COMPONENTS if n <= most]
        fewest = max(n for n in allowed if n == allowed[0] or m * n**2 <= _LITTLE_WORK)
    first = max(0, allowed.index(fewest) - 1)
    if budget.deadline is not None:
        allowed, first = sorted({max(1, allowed[0] // 4), max(1, allowed[0] // 2), *allowed}), 0
    elif fewest == allowed[-1]:
        return untried(fewest)
    rows = np.random.default_rng(seed).permutation(len(examples.label))[:_TRIED]
    some, tried = examples.part(rows), len(rows)
    values, for_trials = [], budget.part(_TRIAL_SHARE)
    best: tuple[Basis, Floats] | None = None
    with one_thread():
        for n in allowed[first:]:
            left = budget.left
            basis, start = untried(n)
            if best is not None:  # the function with the same values at the new landmarks
                fewer, mean = best
                functions, rest = np.split(mean, [len(mean) - labels.n_shared])
                heights = fewer.features(basis.points) @ functions.reshape(-1, len(fewer)).T
                start = np.append(basis.factor.whitened(heights.T).T, rest)
            found = _approximation(basis, some, labels, softness, start, for_trials)
            regained = _REGAINED * (1 - tried / m) * found.prior_term
            values.append((found.bound - regained) / tried)
            gains = np.diff(values)
            if n > fewest and not gains[-1] >= _GAIN:
                break
            best = basis, found.mean
            if _NEXT_FIT * m / tried * (left - budget.left) > budget.left:
                break
            if len(gains) > 1 and gains[-1] ** 2 < _GAIN * gains[-2]:
                break
    assert best is not None
    return best


def _approximation(
    basis: Basis,
    examples: Examples,
    labels: Labels,
    softness: float,
    mean: Floats,
    budget: Budget,
) -> Normal:
    """Return the normal approximation with landmarks, from features in singles."""
    m = len(examples.label)
    whole = make_block(examples, 0, basis, labels, softness, np.float32)
    blocks = [whole.part(rows) for rows in validation.blocks(m, max(1024, -(-m // 4)))]
    executor = Threads(budget.n_threads)
    with executor.running():
        return approximate(
            BlockSums(executor, blocks).moments,
            mean,
            n_rising=labels.n_shared,
            tol=_ERROR * _GAIN * m,
            over=lambda: budget.left <= 0,
        )
