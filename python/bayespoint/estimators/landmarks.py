"""Fits with landmarks, for thousands of examples and more."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse, special
from sklearn.exceptions import ConvergenceWarning

from bayespoint import kernels
from bayespoint.base import memory, validation
from bayespoint.base.linalg import one_thread
from bayespoint.base.validation import Floats
from bayespoint.base.warnings import warn
from bayespoint.estimators import inputs as estimators_inputs
from bayespoint.estimators.progress import Progress
from bayespoint.estimators.settings import FitSettings
from bayespoint.kernels.products import count, in_rows
from bayespoint.landmarks import bound, sampling, selection, variational
from bayespoint.landmarks.blocks import Blocks
from bayespoint.landmarks.circles import BATCH
from bayespoint.landmarks.executors import Executor, Threads
from bayespoint.landmarks.features import Features
from bayespoint.landmarks.model import ROWS, Block, SeveralClasses, TwoClasses
from bayespoint.posterior import Posterior
from bayespoint.posterior.calibration import LARGEST, LeaveOneOutPredictions
from bayespoint.results import Estimate, Evidence
from bayespoint.results.diagnostics import ess_bulk
from bayespoint.results.slices import SliceResult
from bayespoint.tuning import landmarks as tuning_landmarks
from bayespoint.tuning.averaging import Setting
from bayespoint.tuning.search import subset

MOST_EXAMPLES = 4000
"""Most examples of a fit without landmarks by default: time grows as their third power."""

DIMENSIONS = 3000
"""Most dimensions of all functions of several classes by default, (n_classes - 1) times the
landmarks."""

N_COMPONENTS = (250, 500, 1000, 2000)
"""Numbers of landmarks tried by default, and the second for more than two classes."""

_GAIN = 2e-3
"""Gain of the bound of the evidence, in nats for each example, that is worth twice the landmarks:
it is about that of the log loss."""

_REGAINED = 0.5
"""Part of the divergence from the prior by which the bound of an example rises with many more
examples. It was 0.1 to 0.8 with five times as many."""

_ERROR = 0.05
"""Change in a pass, relative to `_GAIN`, at which the bound is not improved further."""

_TOL = 0.5
"""Change of the bound in a pass, in nats, at which a normal approximation is near enough to sample
about it."""

_TRIED = 10_000
"""Most examples on which numbers of landmarks are compared."""

_FEWEST_EXAMPLES = 10
"""Examples for each landmark by default: with fewer the chains mix slowly."""

_WORK = 2e12
"""Examples times the square of the landmarks, at most by default."""

_LITTLE_WORK = 2.5e10
"""The same, up to which landmarks are taken without a trial: it takes less time than the search."""

_FEWEST_ROWS = 1024
"""Fewest examples of a block in memory, if there are more."""

_DOUBLES = 10_000
"""Most examples whose features are kept in doubles."""

_SHARE_OF_MEMORY = 0.6
"""Part of the available memory that features may take."""


def applies(model: Any, n_observations: float, settings: FitSettings) -> bool:
    """Return whether a fit uses landmarks, by the parameter `approximation`."""
    wanted = model.approximation
    if wanted is not None:
        wanted = validation.choice("approximation", wanted, ("auto", "landmarks", None))
    n = model.n_components
    if n != "auto":
        validation.integer("n_components", n, low=1)
    precomputed = isinstance(model.kernel, str) and model.kernel == "precomputed"
    if wanted == "landmarks":
        _require_possible(model, settings, "approximation='landmarks'")
        return True
    if wanted is None or precomputed or settings.softness == 0 or model.warm_start:
        return False
    return n_observations > MOST_EXAMPLES


def require_memory(n_observations: float, inputs: Any) -> None:
    """Raise MemoryError if the inputs of the observations, which weights repeat, do not fit."""
    of_one = inputs[:1]
    width = math.prod(of_one.shape[1:]) if not sparse.issparse(of_one) else 1
    memory.require(
        8.0 * n_observations * (width + 4),
        f"fitting {n_observations:.15g} examples (their inputs, classes and weights)",
    )


def require_blocks(model: Any, settings: FitSettings) -> None:
    """Raise ValueError if a classifier cannot be fitted to a table in blocks."""
    if model.approximation is None:
        raise ValueError("approximation must be 'landmarks' or 'auto' for X in blocks; got None")
    applies(model, 0, settings)
    _require_possible(model, settings, "X in blocks")
    if kernels.requires_vectors(model.kernel) is False:
        raise ValueError(f"kernel must take vectors for X in blocks; got {model.kernel!r}")


def _require_possible(model: Any, settings: FitSettings, what: str) -> None:
    """Raise ValueError for settings with which there can be no landmarks."""
    if isinstance(model.kernel, str) and model.kernel == "precomputed":
        raise ValueError(
            f"kernel must not be 'precomputed' with {what}: landmarks need kernel values of other "
            "points"
        )
    if settings.softness == 0:
        raise ValueError(f"softness must be positive or None with {what}; got 0")
    if model.warm_start:
        raise ValueError(
            f"warm_start must be False with {what}: the chains of another fit are not continued"
        )


def search(model: Any, inputs: Any, arguments: Mapping[str, Any]) -> Setting | None:
    """Return the hyperparameters of a classifier found with landmarks.

    None if nothing is left to find, or if the kernel does not know its derivatives: its parameters
    are then found on fewer examples without landmarks. `arguments` are those of a search.
    """
    kernel = model.kernel
    if kernel is None:
        kernel = tuning_landmarks.default_kernel(inputs)
    kernel = kernels.resolve(kernel)
    found = kernels.parameters(kernel, inputs)
    if not found and arguments["softness"] is not None and not arguments["rates"]:
        return None
    if not tuning_landmarks.knows_slopes(kernel, inputs):
        return None
    own = {name: value for name, value in arguments.items() if name != "joint"}
    return tuning_landmarks.find(kernel, inputs, **own, n_jobs=model.n_jobs)


def part_of_search(inputs: Any, arguments: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    """Return inputs and arguments of a search on as many examples as one without landmarks has."""
    rows = subset(arguments["labels"], MOST_EXAMPLES, arguments["seed"])
    some = {"labels": arguments["labels"][:, rows], "weights": arguments["weights"][rows]}
    return in_rows(inputs)[rows], arguments | some


@dataclass(frozen=True, eq=False)
class Examples:
    """Some or all examples of a fit, as the kernel gets them."""

    inputs: Any
    index: NDArray[np.intp]
    """(n,) classes."""

    share: Floats
    """(n,) parts of an observation for which they count."""

    def part(self, rows: slice | NDArray[np.intp]) -> Examples:
        """Return some of the examples."""
        return Examples(in_rows(self.inputs)[rows], self.index[rows], self.share[rows])


@dataclass(frozen=True, eq=False)
class Source:
    """All examples of a fit, in blocks."""

    executor: Executor
    parts: list[Any]
    """Stand for the `Examples` of each block."""

    n_examples: int

    uniform: int
    """Number of first examples of the sample that were drawn with equal probabilities."""

    bytes: float
    """Memory that features may take where the blocks lie."""

    @classmethod
    def of(cls, examples: Examples, n_threads: int) -> Source:
        """Return that of examples in memory."""
        m = len(examples.index)
        rows = validation.blocks(m, min(ROWS, max(_FEWEST_ROWS, -(-m // 4))))
        parts = [examples.part(one) for one in rows]
        return cls(Threads(n_threads), parts, m, m, _SHARE_OF_MEMORY * memory.available())


@dataclass(frozen=True, eq=False)
class Fitted:
    """What a fit found for each problem."""

    features: Features
    names: list[str]
    results: list[SliceResult]
    predictions: list[LeaveOneOutPredictions]


@dataclass(frozen=True, eq=False)
class _Rows:
    """How a block of examples becomes a block of a problem."""

    features: Features
    softness: float
    noise: tuple[float, float]
    n_classes: int
    joint: bool
    positive: int
    """The class against the others, if there is no joint problem."""

    dtype: Any

    def __call__(self, examples: Examples, seed: int) -> Block:
        n = len(examples.index)
        positive = examples.index == self.positive
        signs = np.where(positive | self.joint, 1.0, -1.0)
        rows = np.empty((n, self.features.factor.rank), dtype=self.dtype)
        for part in validation.blocks(n, ROWS):
            some = examples.part(part)
            psi = self.features(some.inputs)
            variance = self.softness / some.share + self.features.missed(some.inputs, psi)
            scale = signs[part] / np.sqrt(variance)
            np.multiply(psi, scale[:, None], out=rows[part], casting="same_kind")
        if self.joint:
            labels = examples.index.astype(np.uint32)
            return SeveralClasses(rows, labels, self.n_classes, self.noise[0], seed)
        floors = np.where(positive, *self.noise) if any(self.noise) else None
        return TwoClasses(rows, floors, 1.0 - self.noise[0] - self.noise[1])


def fit(
    model: Any,
    sample: Examples,
    source: Source,
    settings: FitSettings,
    progress: Progress,
    *,
    tol: float,
    seed: int,
    deadline: float | None,
) -> Fitted:
    """Sample the posterior of a classifier whose hyperparameters are known.

    `sample` are random examples for the landmarks and the calibration; all are in `source`.
    """
    n_classes, m = len(model.classes_), source.n_examples
    joint = n_classes > 2 and settings.joint
    with progress.part("landmarks"):
        chosen = _landmarks(model, sample, m, joint, settings)
        features = Features.of(model.kernel_, chosen.points, settings.offset)
    if progress.verbose:
        progress.tell(f"{features.factor.rank} landmarks: {progress.seconds()}")
    names, positives = ["slices"], [1]
    if n_classes > 2 and not joint:
        names = [f"slices of class {label}" for label in model.classes_]
        positives = list(range(n_classes))
    seeds = np.random.SeedSequence(seed).generate_state(len(names), np.uint64).tolist()
    steps = settings.max_iter or sampling.MAX_STEPS
    results = []
    with source.executor.running():
        for k, (name, positive, stream) in enumerate(zip(names, positives, seeds, strict=True)):
            end = deadline
            if deadline is not None:  # an equal share of the time that is left
                now = time.monotonic()
                end = now + (deadline - now) / (len(names) - k)
            limits = sampling.Limits(model.n_draws, tol, steps, end)
            make = _Rows(
                features,
                model.softness_,
                model.label_noise_,
                n_classes,
                joint,
                positive,
                np.float64 if m <= _DOUBLES else np.float32,
            )
            results.append(
                _sample(
                    _blocks(source, make, model, progress),
                    features,
                    limits,
                    n_classes=n_classes if joint else 2,
                    n_examples=m,
                    n_chains=model.n_trajectories,
                    seed=stream,
                    name=name,
                    progress=progress,
                    start=chosen.mean,
                )
            )
    some_rows = np.random.default_rng(model.seed_).permutation(source.uniform)[:LARGEST]
    some = sample.part(np.sort(some_rows))
    predictions = _predictions(features, results, some, model, joint)
    return Fitted(features, names, results, predictions)


def _blocks(source: Source, make: _Rows, model: Any, progress: Progress) -> Blocks:
    """Return the blocks of a problem: their features are kept if they fit, or else recomputed."""
    m, r = source.n_examples, make.features.factor.rank
    functions = make.n_classes if make.joint else 1
    size = np.dtype(make.dtype).itemsize
    directions = model.n_trajectories * (BATCH + 2) * functions
    dimension = r * (make.n_classes - 1 if make.joint else 1)
    needed = size * float(m) * directions + 5 * 8.0 * dimension**2
    if needed > source.bytes / _SHARE_OF_MEMORY:
        raise MemoryError(
            f"fitting {m} examples with {r} landmarks needs {memory.readable(needed)} for the "
            f"values of {directions} functions and matrices of {dimension} dimensions, but only "
            f"{memory.readable(source.bytes / _SHARE_OF_MEMORY)} of memory is available. A smaller "
            "n_components or n_trajectories helps"
        )
    keeps = needed + size * float(m) * r <= source.bytes
    hold = source.executor.keep if keeps else source.executor.defer
    with progress.part("features"):
        blocks = hold(_apply, source.parts, range(len(source.parts)), common=(make,))
        made = Blocks(source.executor, blocks)
    if progress.verbose:
        kept = "" if keeps else ", which are computed again in every pass"
        progress.tell(f"features of {m} examples{kept}: {progress.seconds()}")
    return made


def _apply(examples: Examples, seed: int, make: _Rows) -> Block:
    return make(examples, seed)


@dataclass(frozen=True, eq=False)
class _Landmarks:
    """Chosen landmarks."""

    points: Any

    mean: Floats | None = None
    """(r,) mean of the normal approximation of a part of the examples."""


def _landmarks(
    model: Any, sample: Examples, m: int, joint: bool, settings: FitSettings
) -> _Landmarks:
    """Return the landmarks of a fit.

    By default there are as many as take little work, and twice as many for as long as the bound
    gains. The next gain is expected to be to the last one as that is to the one before.
    """

    def choose(n: int) -> Any:
        return selection.choose(model.kernel_, sample.inputs, n, model.seed_)

    n_classes, n = len(model.classes_), model.n_components
    if not isinstance(n, str):
        return _Landmarks(choose(n))
    if n_classes > 2:
        most = DIMENSIONS // (n_classes - 1) if joint else m
        return _Landmarks(choose(max(1, min(N_COMPONENTS[1], most, m))))
    most = max(N_COMPONENTS[0], min(m // _FEWEST_EXAMPLES, int(math.sqrt(_WORK / m))))
    allowed = [n for n in N_COMPONENTS if n <= most]
    fewest = max(n for n in allowed if n == allowed[0] or m * n**2 <= _LITTLE_WORK)
    if fewest == allowed[-1]:
        return _Landmarks(choose(min(fewest, m)))
    some = sample.part(np.random.default_rng(model.seed_).permutation(len(sample.index))[:_TRIED])
    best: _Landmarks | None = None
    values = list[float]()
    before: tuple[Features, Floats] | None = None
    with one_thread():
        for n in allowed[max(0, allowed.index(fewest) - 1) :]:
            points = choose(n)
            features = Features.of(model.kernel_, points, settings.offset)
            start = None
            if before is not None:  # the function with the same values at the new landmarks
                fewer, mean = before
                start = features.factor.whitened(fewer(points) @ mean)
            found = bound.evaluate(
                features,
                some.inputs,
                np.where(some.index == 1, 1.0, -1.0),
                model.softness_ / some.share,
                noise=model.label_noise_,
                mean=start,
                n_threads=validation.threads(model.n_jobs),
                tol=_ERROR * _GAIN * len(some.index),
            )
            tried = len(some.index)
            regained = _REGAINED * (1 - tried / m) * found.normal.prior_term
            values.append((found.value - regained) / tried)
            gains = np.diff(values)
            if n > fewest and not gains[-1] >= _GAIN:
                break
            before = features, found.normal.mean
            best = _Landmarks(points, found.normal.mean)
            if len(gains) > 1 and gains[-1] ** 2 < _GAIN * gains[-2]:
                break
    assert best is not None
    return best


def _sample(
    blocks: Blocks,
    features: Features,
    limits: sampling.Limits,
    *,
    name: str,
    progress: Progress,
    n_classes: int,
    start: Floats | None,
    **known: Any,
) -> SliceResult:
    """Return the draws of one problem, with its warnings."""
    dimension = features.factor.rank * (n_classes - 1)
    passes = 0

    def count_passes(done: int, bound: float) -> None:
        nonlocal passes
        passes = done

    with progress.part("normal approximation"):
        normal = variational.approximate(
            blocks.moments, dimension, mean=start, tol=_TOL, report=count_passes
        )
    if progress.verbose:
        progress.tell(f"normal approximation, {passes} passes: {progress.seconds()}")
    with progress.task(name, 100) as advance:

        def report(result: SliceResult) -> None:
            if advance is not None:
                done = min(1.0, result.ess / result.least_ess)
                done = min(done, (limits.tol / max(result.center_error, 1e-300)) ** 2)
                figures = f"{result.n_steps} steps, center_error {result.center_error:.2g}"
                advance(int(100 * min(0.99, done)), figures)

        result = sampling.sample(
            blocks, normal, features, limits, n_classes=n_classes, report=report, **known
        )
    messages = result.convergence_messages(limits.tol)
    if not normal.converged:
        messages.append(
            "the normal approximation about which draws are made did not converge: the draws are "
            "exact, but may mix slowly"
        )
    for message in messages:
        warn(message, ConvergenceWarning)
    if progress.verbose:
        progress.tell(
            f"{name}: {result.n_steps} steps of each chain, {progress.seconds()}: center_error "
            f"{result.center_error:.2g} rad (tol {limits.tol:.2g}), {result.ess:.0f} effective "
            "draws"
        )
    return result


def _predictions(
    features: Features, results: list[SliceResult], some: Examples, model: Any, joint: bool
) -> list[LeaveOneOutPredictions]:
    """Return the leave-one-out predictions of some examples."""
    k = kernels.evaluate(features.kernel, some.inputs, features.landmarks) + features.offset
    missed = features.missed(some.inputs, features(some.inputs))
    variance = model.softness_ / some.share + missed
    found = []
    for c, result in enumerate(results):
        draws = result.draws.astype(np.float64).reshape(-1, *result.draws.shape[2:])
        labels = some.index
        if not joint:
            labels = np.where(labels == (1 if len(results) == 1 else c), 1, -1)
        found.append(
            LeaveOneOutPredictions.of_functions(draws @ k.T, variance, labels, model.label_noise_)
        )
    return found


def evidence(model: Any, method: str, tol: float, max_length: float) -> Evidence | list[Evidence]:
    """Return the log evidence of a classifier, from the draws of its fit."""
    validation.positive("max_length", max_length)  # of a billiard
    if validation.choice("method", method, ("auto", "bridge", "integration")) == "integration":
        raise ValueError("method must be 'auto' or 'bridge' with landmarks; got 'integration'")
    tol = validation.positive("tol", tol)
    found = [problem.result.evidence(tol) for problem in model.problems_]
    for one in found:
        if not one.converged:
            warn(
                f"the evidence has an estimated standard error of {one.error:.3g} nats from the "
                f"draws of the fit; tol={tol:g} was asked for: raise n_draws, or lower the tol of "
                "the classifier",
                ConvergenceWarning,
            )
    return found[0] if len(found) == 1 else found


def log_labeling_probability(
    posterior: Posterior, points: Any, y: Any, tol: float, max_length: float
) -> Estimate:
    """Return ln of the mean over the draws of the probability of all labels.

    The labels are independent given a function.
    """
    tol = validation.positive("tol", tol)
    validation.positive("max_length", max_length)  # of a billiard
    if len(posterior.problems) > 1 or posterior.class_weight is not None:
        raise ValueError(
            "log_labeling_probability needs one posterior without class weights: "
            'multiclass="joint" and class_weight=None'
        )
    labels = estimators_inputs.known_labels(posterior.classes, y, count(points))
    logs = posterior.log_likelihoods(points, labels)
    chains = logs.reshape(posterior.problems[0].result.draws.shape[:2])
    weights = np.exp(chains - chains.max())
    n = float(ess_bulk(chains[..., None])[0])
    error = float(weights.std() / weights.mean()) / math.sqrt(max(n, 1.0))
    if not error <= tol:
        warn(
            f"the log probability of the labels has an estimated standard error of {error:.3g} "
            f"nats from the draws of the fit; tol={tol:g} was asked for: raise n_draws",
            ConvergenceWarning,
        )
    return Estimate(float(special.logsumexp(logs)) - math.log(len(logs)), error)
