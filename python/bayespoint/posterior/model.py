"""One fitted model: hyperparameters, labels, basis, draws and calibration."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import linalg, special

from bayespoint import kernels
from bayespoint.base import validation
from bayespoint.base.linalg import Inverse, cholesky, clear_above, interruptible_step
from bayespoint.base.stored import Stored
from bayespoint.base.validation import Array, Floats, Indices, product, require_square
from bayespoint.data.examples import Examples
from bayespoint.data.inputs import scaled
from bayespoint.engine.problem import Problem
from bayespoint.kernels.products import count
from bayespoint.labels import Labels
from bayespoint.labels.laws import of_moments, require_range, spread
from bayespoint.landmarks.basis import Basis
from bayespoint.posterior.calibration import LeftOut
from bayespoint.posterior.quadratic import Quadratic, saves_time
from bayespoint.results.billiard import BilliardResult
from bayespoint.results.draws import Draws
from bayespoint.results.hyperparameters import Hyperparameters

_HARD = 1e-300  # variance in place of a softness of zero
_CERTAIN = 40.0  # decision value of what is certain

_COLUMNS, _VALUES = 128, 2**19
"""Largest numbers of columns of the kernel matrix in one product, and of values of draws there."""


@dataclass(frozen=True, eq=False)
class Model(Stored):
    """A model, one of the `models_` of a :class:`BayesPointClassifier`, without class weights."""

    classes: Array
    """(n_classes,) labels, sorted or from the lowest; of two the second is the positive one."""
    hyper: Hyperparameters
    """Transformation of the inputs, kernel, softness and label noise."""
    labels: Labels
    """What labels say of functions, and how new ones are predicted."""
    basis: Basis
    """The points at which functions have coefficients."""
    draws: Draws
    """The functions drawn from the posterior."""
    label: Indices = field(default_factory=lambda: np.empty(0, dtype=np.intp))
    """(m,) Index of the label of each training example; empty with landmarks."""
    calibration: float = 1.0
    """Factor on the decision values."""
    left_out: LeftOut | None = None
    """Leave-one-out predictions of the training examples, with landmarks of some of them; None for
    choices, and where examples may be determined by others."""

    def check_parts(self) -> None:
        """Raise an error if the parts cannot predict, or are of other classes or points."""
        m, points = len(self.basis), self.basis.points
        row = np.zeros((1, m)) if points is None else points[:1]  # of the shape of inputs
        k_star = self.basis.kernel_values(self.points(row))
        center, votes = self.draws.center_values(k_star), self.votes(row)
        self.draws.lengths.points()
        if "factor" in vars(self.basis):
            self.basis.factor.whitened(k_star)
        rows = self.labels.log_classes(votes).shape[1], *self.classes.shape
        if k_star.shape[1] != m or votes.shape[1] != center.size or rows != (self.n_classes,) * 2:
            raise ValueError(f"a model of {m} points has {votes.shape[1]} values of {rows} classes")

    def __repr__(self) -> str:
        return (
            f"<Model: {self.hyper.kernel!r}, {len(self.draws)} draws at {len(self.basis)} "
            f"{'examples' if self.basis.is_all else 'landmarks'}>"
        )

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return self.labels.n_classes

    # --- predictions -----------------------------------------------------------------------------

    def predict(self, X: ArrayLike) -> Array:
        """Return the class that the center predicts."""
        return self.classes[self.labels.winner(self.signs(X))]

    def predict_proba(self, X: ArrayLike, *, diag: ArrayLike | None = None) -> Floats:
        """Return the probability of observing each class label."""
        return np.exp(self.log_proba(X, diag))

    def decision_function(self, X: ArrayLike, *, diag: ArrayLike | None = None) -> Floats:
        """Return the calibrated decision values."""
        return one_column_alone(self.values(X, diag))

    def log_proba(self, X: Any, diag: ArrayLike | None = None, *, mixture: bool = False) -> Floats:
        """Return the (n, n_classes) log probabilities of observed labels."""
        values = self.values(X, diag, mixture=mixture)
        return self.labels.observed(self.labels.log_classes(values))

    def values(
        self, X: Any, diag: ArrayLike | None = None, *, strict: bool = True, mixture: bool = False
    ) -> Floats:
        """Return the (n, n_rows) decision values.

        With `mixture` they are those of means over draws of the probabilities given each. Where
        k(x, x) is unknown, `strict` takes its mean over the examples, with a UserWarning. Otherwise
        points are taken to be in the span of the examples, where the variance is the softness.
        """
        points, draws, law = self.points(X), self.draws, self.labels.predicts
        own: Any = self.basis.prior_variance(points, diag, self.hyper.softness, strict=strict)
        form = None
        if law.by_moments and not mixture and saves_time(self.basis, draws, count(points)):
            form = Quadratic.of(self.basis, draws, self.hyper.softness)
        blocks = []
        for rows, k_star in self._blocks(points):
            total = None if form is None else form.variance(own[rows], k_star)
            if total is not None:
                blocks.append(of_moments(draws.center_values(k_star)[0], total)[:, None])
                continue
            values, variance = draws.values(k_star), self._variance(own, rows, k_star)
            if mixture:
                blocks.append(law.decision(law.mixture(values, variance, draws.lengths)))
            else:
                center = draws.center_values(k_star)
                blocks.append(law.decision_values(values, center, variance, draws.lengths))
        return self.calibration * np.concatenate(blocks)

    def signs(self, X: Any) -> Floats:
        """Return decision values, or numbers of their signs where these tell the class.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features) or other inputs of the kernel
            Points.

        Returns
        -------
        ndarray of shape (n_samples, n_rows)
            A row for each function or threshold.
        """
        if not self.labels.predicts.by_moments:
            return self.values(X, strict=False)
        center = self.draws.run.center_norm * self.draws.center
        return self._by_blocks(X, lambda k_star: product(k_star, center)[:, None])

    def moments(self, X: Any) -> Floats:
        """Return the means and variances of the first function, without noise.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features) or other inputs of the kernel
            Points.

        Returns
        -------
        ndarray of shape (2, n_samples)
            Means and variances.
        """
        points, draws = self.points(X), self.draws
        found = np.empty((2, count(points)))
        for rows, k_star, variance in self._given(points):
            found[0, rows] = draws.center_values(k_star)[0]
            rest = np.maximum(variance - self.hyper.softness, 0.0)
            found[1, rows] = spread(draws.values(k_star)[0], draws.lengths) + rest
        require_square(np.maximum(np.abs(found[0]), np.sqrt(found[1])))
        return found

    def votes(self, X: Any) -> Floats:
        """Return the (n, n_rows) votes of the draws: mean signs, or shares for each class."""
        return self._by_blocks(X, lambda k: self.labels.predicts.votes(self.draws.values(k)))

    def one_draw(
        self, X: Any, diag: ArrayLike | None, rng: np.random.Generator, class_weight: Floats | None
    ) -> Floats:
        """Return the values of a draw chosen at random, as `Mixture.gibbs` says."""
        whole, lengths, law = self.draws.whole, self.draws.lengths, self.labels.predicts
        draw = whole[rng.integers(len(whole)), None]
        if class_weight is None:  # the function decides by itself, without its variance
            found = self._by_blocks(X, lambda k: self.draws.values(k, draw)[..., 0].T)
            return np.copysign(_CERTAIN, found) if self.draws.n_shared else found
        blocks = []
        for _, k_star, variance in self._given(self.points(X), diag, strict=False):
            f = self.draws.values(k_star, draw)
            blocks.append(law.decision_values(f, lengths.mean * f[..., 0], variance, lengths))
        return self.labels.weighted(np.concatenate(blocks), class_weight)

    # --- functions -------------------------------------------------------------------------------

    def functions(
        self, X: Any, gram: ArrayLike | None, *, noise: bool, rng: np.random.Generator
    ) -> Floats:
        """Return values of latent functions as `BayesPointClassifier.sample_functions` says."""
        points, basis = self.points(X), self.basis
        covariance = basis.between(points, gram) + basis.offset
        rank, n, draws = basis.factor.rank, count(points), self.draws.coefficients
        covariance.flat[:: n + 1] += self.hyper.softness if noise else 0.0
        draws = draws.reshape(len(draws), -1, len(basis)).swapaxes(0, 1)  # a row for each function
        means = np.empty((*draws.shape[:2], n))
        solved = np.empty((rank, n))
        for rows, k_star in self._blocks(points):
            solved[:, rows] = basis.factor.whitened(k_star)
            for row, dual_coef in enumerate(draws):
                means[row, :, rows] = product(dual_coef, k_star.T)
        spread = np.sqrt(np.maximum(covariance.diagonal(), 0.0))
        require_square(np.maximum(spread, np.abs(means).max(axis=(0, 1))))
        for rows in validation.blocks(n, interruptible_step(n * rank)):
            covariance[rows] -= product(solved[:, rows].T, solved)
        lengths = self.draws.lengths.draw(rng, (1, means.shape[1], 1))  # one for all functions
        means *= lengths
        root, normal = _root(covariance), rng.standard_normal(means.shape)
        for rows in validation.blocks(n, interruptible_step(means.size)):
            means[..., rows] += normal @ root[rows].T
        if self.draws.n_shared:
            return means - lengths * self.draws.thresholds().T[:, :, None]
        if len(means) == 1:
            return means[0]
        return means - means.mean(axis=0)

    def log_labels(self, X: Any, index: Indices) -> Floats:
        """Return the (n_draws,) log probabilities of all labels given each draw over landmarks."""
        law, total = self.labels, np.zeros(len(self.draws))
        for rows, k_star, variance in self._given(self.points(X)):
            values = self.draws.values(k_star) / np.sqrt(variance)[:, None]
            logs = law.observed(law.predicts.log_given(values))
            own = np.take_along_axis(logs, index[rows, None, None], axis=2)
            total += own[..., 0].sum(axis=0)
        return total

    def log_draws(self, X: Any, diag: ArrayLike | None, class_weight: Floats | None) -> Floats:
        """Return the (n, n_draws, n_classes) log probabilities of observed labels given functions.

        A function is a draw with a length, and at each point an error from what is left of its
        variance, the same number of standard deviations at all points.
        """
        law, total, softness = self.labels, len(self.draws), self.hyper.softness
        points, lengths = self.points(X), self.draws.lengths.quantiles(total)
        error = np.random.default_rng(0).standard_normal((law.n_functions, 1, total))
        found = np.empty((count(points), total, law.n_classes))
        for rows, k_star, variance in self._given(points, diag):
            values = self.draws.values(k_star)
            require_range(values, variance)
            rest = np.sqrt(np.maximum(variance - softness, 0.0))
            f = self.calibration * (values * lengths + rest[:, None] * error)
            logs = law.predicts.log_given(f / math.sqrt(max(softness, _HARD)))
            if class_weight is not None:
                logs += np.log(class_weight)
                logs -= special.logsumexp(logs, axis=2, keepdims=True)
            found[rows] = law.observed(logs)
        return found

    # --- the training examples -------------------------------------------------------------------

    def without_each(self, examples: Examples) -> LeftOut:
        """Return leave-one-out predictions of training examples of a model with landmarks."""
        labels, softness, lengths = self.labels, self.hyper.softness, self.draws.lengths
        parts = []
        for rows, k_star, variance in self._given(examples.inputs):
            precision = 1 / (variance + softness * (1 / examples.precision[rows] - 1))
            # The noise is all of the variance: duals are 0.
            of_draws, dual = np.moveaxis(self.draws.values(k_star), -1, 0), np.zeros(1)
            parts.append(labels.left_out(of_draws, dual, precision, examples.label[rows], lengths))
        return LeftOut.of_parts(labels, parts, examples.label)

    def without_each_row(self, problem: Problem) -> LeftOut | None:
        """Return the leave-one-out predictions of all examples of a matrix.

        None if some examples may be determined by the others.
        """
        basis, draws, labels = self.basis, self.draws, self.labels
        singular = basis.softness.min() == 0 or basis.factor.pivots is not None
        if singular or labels.n_inputs > 1:
            return None
        inverse, gram, m = problem.inverse, problem.gram, len(basis)
        diagonal = basis.factor.inverse_diagonal() if inverse is None else inverse[1]
        dual = draws.coefficients.reshape(len(draws), -1, m)
        rows = dual.reshape(-1, m)
        shifts = draws.thresholds()[..., None] if draws.n_shared else 0.0
        # Whose matrix has the offset already.
        offset = basis.offset if problem.walls is None else 0.0
        constants = offset * dual.sum(axis=2, keepdims=True) - shifts
        alone = []
        for part in validation.blocks(m, min(_COLUMNS, _VALUES // len(rows))):
            own, label = dual[..., part], self.label[part]
            heights = (rows @ gram[:m, part]).reshape(own.shape) + basis.softness[part] * own
            values = heights + constants  # a row for each threshold
            alone.append(labels.left_out(values, own, diagonal[part], label, draws.lengths))
        return LeftOut.of_parts(labels, alone, self.label)

    @property
    def kept(self) -> LeftOut | None:
        """Leave-one-out predictions: those of the fit, or of the draws after an update."""
        if not self.basis.added:
            return self.left_out
        return self.without_each_row(self.problem_again(self.basis.points))

    @property
    def billiard(self) -> BilliardResult:
        """The run over all examples; ValueError with landmarks."""
        self.basis.require_all("this")
        assert isinstance(self.draws.run, BilliardResult)
        return self.draws.run

    @property
    def examples(self) -> Examples:
        """The training examples, of a basis of all examples."""
        weight = np.ones(len(self.basis))
        if self.hyper.softness > 0:
            weight = self.hyper.softness / self.basis.softness
        return Examples(self.basis.points, self.label, weight)

    @property
    def totals(self) -> Floats:
        """(n_classes,) sums of the weights of the training examples of each class."""
        examples = self.examples
        return np.bincount(examples.label, weights=examples.precision).astype(np.float64)

    def problem(self, question: str) -> Problem:
        """Return the labeled kernel matrix that `question` needs, or raise ValueError without."""
        basis = self.basis
        basis.require_all(question)
        if not isinstance(basis.kernel, str):
            return self.problem_again(basis.points)
        # The factor of a precomputed matrix has offset and softness.
        if basis.factor.pivots is not None:
            raise ValueError(
                f"{question} needs the kernel matrix, and with kernel='precomputed' a singular one "
                f"is not kept: use VersionSpace(gram, y).{question}"
            )
        gram = basis.factor.lower @ basis.factor.lower.T
        return self.labels.problem(gram, self.label, np.zeros(len(gram)), 0.0)

    def problem_again(self, inputs: Any, inverse: Inverse | None = None) -> Problem:
        """Return the labeled kernel matrix, from the inputs of the fit or the given matrix."""
        offset, softness = self.basis.offset, self.basis.softness
        gram, _ = kernels.training_gram(self.basis.kernel, inputs, offset, softness)
        return self.labels.problem(gram, self.label, softness, offset, inverse)

    def points(self, X: Any) -> Any:
        """Return inputs as the kernel gets them."""
        return scaled(self.hyper.transform, self.basis.inputs(X))

    def _blocks(self, points: Any) -> Any:
        return self.basis.blocks(points, math.prod(self.draws.run.draws.shape[:-1]))

    def _given(
        self, points: Any, diag: ArrayLike | None = None, *, strict: bool = True
    ) -> Iterator[tuple[slice, Floats, Floats]]:
        """Yield blocks of points, with their kernel values and the variance given the draws."""
        own = self.basis.prior_variance(points, diag, self.hyper.softness, strict=strict)
        for rows, k_star in self._blocks(points):
            yield rows, k_star, self._variance(own, rows, k_star)

    def _by_blocks(self, X: Any, of: Callable[[Floats], Floats]) -> Floats:
        """Return the (n, n_rows) values of a function of the kernel values."""
        return np.concatenate([of(k_star) for _, k_star in self._blocks(self.points(X))])

    def _variance(self, own: Floats | None, rows: slice, k_star: Floats) -> Floats:
        """Return the predictive variance of the points in `rows`."""
        if own is None:
            return np.full(len(k_star), self.hyper.softness)
        # Overflow gives NaN, which fmax replaces by 0.
        return np.fmax(own[rows] - self.basis.factor.explained(k_star), 0.0)


def one_column_alone(values: Floats) -> Floats:
    """Return decision values, those of two classes as a vector."""
    return values[:, 0] if values.shape[1] == 1 else values


def _root(covariance: Floats) -> Floats:
    """Return R with R R^T the covariance. Eigenvalues that are negative by rounding count as 0."""
    lower = np.array(covariance, order="F")
    if cholesky(lower) == 0:
        clear_above(lower)
        return lower
    values, vectors = linalg.eigh(covariance)
    return vectors * np.sqrt(np.maximum(values, 0.0))
