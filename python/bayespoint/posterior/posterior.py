"""The posterior of a fitted classifier: decisions, probabilities and random functions."""

from __future__ import annotations

import math
import os
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import linalg, sparse, special

from bayespoint import kernels
from bayespoint.base import memory, validation
from bayespoint.base.io import Savable, deep_copy
from bayespoint.base.linalg import (
    Factor,
    cholesky,
    clear_above,
    factorize,
    interruptible_step,
    threads_for,
)
from bayespoint.base.report import as_html
from bayespoint.base.validation import Floats, RandomState
from bayespoint.engine.largest import largest_probabilities
from bayespoint.engine.problem import Problem
from bayespoint.kernels.products import count
from bayespoint.posterior.class_weight import elected, weighted_probabilities, weighted_values
from bayespoint.posterior.joint import JointPosterior
from bayespoint.posterior.predictive import (
    BinaryPosterior,
    observed,
    observed_class,
    product,
    require_square,
    share,
)
from bayespoint.posterior.reweight import reweight
from bayespoint.results.billiard import BilliardResult
from bayespoint.results.weighted import WeightedResult

if TYPE_CHECKING:
    from sklearn.preprocessing import StandardScaler

__all__ = ["Posterior"]

BLOCK_BYTES = 64 * 2**20
"""Approximate memory of one block of test points."""

_RIDGE = 1e-8
"""Ridge in `Posterior.bayes_point`, relative to the mean eigenvalue."""

_lock = threading.Lock()
"""Held while a factor is computed after loading, so that several threads compute it once."""


def _replace_lock() -> None:
    """Replace the lock, which another thread may have held when the process was forked."""
    global _lock
    _lock = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_replace_lock)


@dataclass(frozen=True, eq=False, repr=False)
class Posterior(Savable):
    """The posterior of a fitted classifier, which predicts at new points.

    It is the attribute `posterior_` of a fitted :class:`BayesPointClassifier`, whose methods of
    the same names have the full documentation. `n_rows` is 1 for two classes, otherwise the number
    of classes; m is the number of training examples.
    """

    classes: NDArray[Any]
    """(n_classes,) labels, sorted. Of two, the second is the positive one."""

    problems: tuple[BinaryPosterior | JointPosterior, ...]
    """The posterior of each problem: one for two classes or for several classes jointly, otherwise
    one for each class against the rest."""

    kernel: Callable[..., Any] | str
    """The kernel, or "precomputed"."""

    inputs: Any
    """Training inputs as the kernel gets them, or landmarks; None for "precomputed"."""

    scaler: StandardScaler | None
    """Standardizes new inputs for the kernel; None if they are used as they are."""

    offset: float
    """Constant that is added to all kernel values."""

    softness: float
    """Softness of new points."""

    example_softness: Floats
    """(m,) softness of the training examples."""

    label_noise: tuple[float, float]
    """Probability of a wrong label for examples of the first and of the second class."""

    factor: Factor
    """Cholesky factor of the training Gram matrix, offset and softness included. Files leave it
    out, and it is computed again at its first use, unless the kernel is "precomputed" or a
    callable."""

    constant_diagonal: float | None
    """k(x, x) if it is the same for all training examples, otherwise None."""

    class_weight: Floats | None = None
    """(n_classes,) weights of the classes in the population of the predictions, in (0, 1]; the
    largest is 1. None if all are equal."""

    def __getstate__(self) -> dict[str, Any]:
        """Return what is pickled and saved: without the factor if it can be computed again."""
        state = vars(self).copy()
        if self.inputs is not None and kernels.is_reproducible(self.kernel):
            state.pop("factor", None)
        return state

    def __deepcopy__(self, memo: dict[int, Any]) -> Posterior:
        copied: Posterior = deep_copy(self, memo)
        return copied

    def __getattr__(self, name: str) -> Any:
        """Compute the factor at its first use after loading."""
        if name != "factor" or "example_softness" not in vars(self):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        with _lock:
            if "factor" not in vars(self):
                vars(self)["factor"] = self._factor_again()
            return vars(self)["factor"]

    def _factor_again(self) -> Factor:
        """Return the factor of the fit, by the same operations and so with the same bits."""
        m = len(self.example_softness)
        memory.require(8.0 * m * m, f"the factor of the Gram matrix ({m} x {m} doubles)")
        with threads_for(m):
            gram, own = kernels.training_gram(
                self.kernel, self.inputs, self.offset, self.example_softness
            )
            return factorize(gram, self.offset, self.example_softness, overwrite=own)

    def __repr__(self) -> str:
        n_draws, m = len(self.problems[0].draws), len(self.example_softness)
        weighted = "weighted " if self.weighted else ""
        return f"<Posterior: {n_draws} {weighted}draws, {m} examples, {len(self.classes)} classes>"

    def _repr_html_(self) -> str:
        rows = [
            ("classes", ", ".join(map(str, self.classes.tolist()))),
            ("examples", f"{len(self.example_softness)}"),
            ("draws", f"{len(self.problems[0].draws)}"),
        ]
        return as_html("Posterior", rows)

    @property
    def dual_coef(self) -> Floats:
        """Dual coefficients of the centers, shape (n_rows, m)."""
        return np.concatenate([np.atleast_2d(one.center) for one in self.problems])

    @property
    def intercept(self) -> Floats:
        """Intercepts of the centers, shape (n_rows,)."""
        intercept: Floats = self.offset * self.dual_coef.sum(axis=1)
        return intercept

    @property
    def has_landmarks(self) -> bool:
        """Whether functions are given at landmarks, which then stand for the training examples."""
        return self.problems[0].rank is None

    @property
    def weighted(self) -> list[WeightedResult]:
        """The weighted draws of each problem; empty unless `reweight` made this object."""
        return [one.weighted for one in self.problems if one.weighted is not None]

    # --- decisions and probabilities -------------------------------------------------------------

    def decision_function(self, X: ArrayLike, *, diag: ArrayLike | None = None) -> Floats:
        """Return the decision values, calibrated and with class weights.

        Parameters
        ----------
        X, diag
            As for :meth:`BayesPointClassifier.decision_function`.

        Returns
        -------
        ndarray of shape (n,) or (n, n_classes)
            Positive for the second of two classes.
        """
        columns = self._weighted_values(self._points(X), diag)
        return columns[:, 0] if self._is_binary else columns

    def predict_proba(
        self, X: ArrayLike, *, method: str = "moments", diag: ArrayLike | None = None
    ) -> Floats:
        """Return the probability of observing each class label.

        Parameters
        ----------
        X, method, diag
            As for :meth:`BayesPointClassifier.predict_proba`.

        Returns
        -------
        ndarray of shape (n, n_classes)
            In [0, 1], in the order of `classes`; rows sum to 1.
        """
        return np.asarray(np.exp(self.predict_log_proba(X, method=method, diag=diag)))

    def predict_log_proba(
        self, X: ArrayLike, *, method: str = "moments", diag: ArrayLike | None = None
    ) -> Floats:
        """Return the logarithm of `predict_proba`.

        Parameters
        ----------
        X, method, diag
            As for :meth:`BayesPointClassifier.predict_proba`.

        Returns
        -------
        ndarray of shape (n, n_classes)
            Nats; -inf for probabilities of 0.
        """
        mixture = validation.choice("method", method, ("moments", "mixture")) == "mixture"
        return self._log_probabilities(self._points(X), diag, mixture=mixture)

    def _log_probabilities(self, points: Any, diag: ArrayLike | None, *, mixture: bool) -> Floats:
        """Return `predict_log_proba` at inputs as the kernel gets them."""
        if mixture:
            value = self._values(points, diag, mixture=True)
            if self.class_weight is not None:
                value = weighted_probabilities(value, self.class_weight)
            with np.errstate(divide="ignore"):
                negative, positive = np.log1p(-value), np.log(value)
        else:
            value = self._weighted_values(points, diag)
            negative, positive = special.log_ndtr(-value), special.log_ndtr(value)
        if self._is_joint:
            return observed_class(share(positive), self.label_noise[0], self._width)
        negative, positive = observed(negative, positive, self.label_noise)
        return np.concatenate([negative, positive], axis=1) if self._is_binary else share(positive)

    def predict(
        self,
        X: ArrayLike,
        *,
        method: str = "center",
        diag: ArrayLike | None = None,
        random_state: RandomState = None,
    ) -> NDArray[Any]:
        """Return the class predicted by the center, by the vote of the draws or by one draw.

        Parameters
        ----------
        X, method, diag
            As for :meth:`BayesPointClassifier.predict`.
        random_state : None, int, Generator or RandomState, default=None
            Seed of the choice of a draw, for "gibbs".

        Returns
        -------
        ndarray of shape (n,)
            Labels from `classes`.
        """
        method = validation.choice("method", method, ("center", "vote", "gibbs"))
        points = self._points(X)
        if method == "vote":
            values = self._votes(points)
            if self.class_weight is not None:
                shares = values if self._is_joint else (1 + values) / 2
                chosen: NDArray[Any] = self.classes[elected(shares, self.class_weight)]
                return chosen
        elif method == "gibbs":
            values = self._one_draw(points, diag, random_state)
        elif self._is_binary and self.class_weight is None:
            values = self._center_values(points, diag)
        else:
            values = self._weighted_values(points, diag, strict=False)
        index = (values[:, 0] > 0).astype(np.intp) if self._is_binary else values.argmax(axis=1)
        predicted: NDArray[Any] = self.classes[index]
        return predicted

    def _center_values(self, points: Any, diag: ArrayLike | None) -> Floats:
        """Return the values of the center of two classes, whose signs are the predictions."""
        values, [one] = np.empty((count(points), 1)), self.problems
        for rows, k_star in self._blocks(points):
            values[rows, 0] = product(k_star, one.center_norm * one.center)
        return values

    def votes(self, X: ArrayLike) -> Floats:
        """Return the votes of the draws at each point, without class weights.

        Parameters
        ----------
        X
            As for `decision_function`.

        Returns
        -------
        ndarray of shape (n, n_rows)
            The mean sign of the draws, in [-1, 1]; for several classes jointly the shares of the
            draws for each class, in [0, 1], ties in equal parts.
        """
        return self._votes(self._points(X))

    def _votes(self, points: Any) -> Floats:
        """Return the votes at inputs as the kernel gets them."""
        votes = np.empty((count(points), self._width))
        for rows, k_star in self._blocks(points):
            votes[rows] = np.column_stack([one.votes(k_star) for one in self.problems])
        return votes

    def gibbs(
        self, X: ArrayLike, *, diag: ArrayLike | None = None, random_state: RandomState = None
    ) -> Floats:
        """Return the decision values of one draw, chosen at random for each problem.

        Parameters
        ----------
        X, diag
            As for `decision_function`.
        random_state : None, int, Generator or RandomState, default=None
            Seed of the choice.

        Returns
        -------
        ndarray of shape (n, n_rows)
            For two classes, and for several jointly, without class weights ``<w, phi(x)>``, of
            which only the sign or the largest matters. Otherwise the decision values given the
            draw, with class weights.
        """
        return self._one_draw(self._points(X), diag, random_state)

    def _one_draw(self, points: Any, diag: ArrayLike | None, random_state: RandomState) -> Floats:
        """Return the values of one draw at inputs as the kernel gets them."""
        # One function decides by itself, without its variance.
        latent = len(self.problems) == 1 and self.class_weight is None
        own = None if latent else self._own_variance(points, diag, strict=False)
        rng = np.random.default_rng(validation.seed(random_state))
        draws = [one.one_draw(rng) for one in self.problems]
        values = np.empty((count(points), self._width))
        for rows, k_star in self._blocks(points):
            variance = None if latent else self._variance(own, rows, k_star)
            pairs = zip(self.problems, draws, strict=True)
            values[rows] = np.column_stack(
                [one.values_of(draw, k_star, variance) for one, draw in pairs]
            )
        return values if self.class_weight is None else weighted_values(values, self.class_weight)

    def reject(
        self,
        X: ArrayLike,
        cost: float,
        *,
        method: str = "moments",
        diag: ArrayLike | None = None,
    ) -> tuple[NDArray[Any], NDArray[np.bool_]]:
        """Return the most probable labels, and where to abstain.

        Parameters
        ----------
        X, cost, method, diag
            As for :meth:`BayesPointClassifier.reject`.

        Returns
        -------
        labels : ndarray of shape (n,)
            Labels from `classes`.
        rejected : ndarray of shape (n,), bool
            True where to abstain.
        """
        cost = validation.real("cost", cost, low=0.0, high=1.0)
        probability = self.predict_proba(X, method=method, diag=diag)
        labels: NDArray[Any] = self.classes[probability.argmax(axis=1)]
        # Equal probabilities have an expected loss of 1 - 1 / n_classes up to rounding.
        rejected = 1 - probability.max(axis=1) > cost + 1e-12
        return labels, rejected

    def suggest_query(self, X: ArrayLike, n: int = 1) -> NDArray[np.intp]:
        """Return the points on which the draws disagree most.

        Parameters
        ----------
        X, n
            As for :meth:`BayesPointClassifier.suggest_query`.

        Returns
        -------
        ndarray of shape (n,)
            Row numbers of `X`, those of most disagreement first.
        """
        points = self._points(X)
        n = validation.integer("n", n, low=1)
        if n > (most := count(points)):
            raise ValueError(f"n must be at most the number of points in X, {most}; got {n}")
        votes = self._votes(points)
        if self._is_binary:
            lead = np.abs(votes[:, 0])
        else:
            ordered = np.sort(votes, axis=1)
            lead = ordered[:, -1] - ordered[:, -2]
        return np.argsort(lead, kind="stable")[:n]

    def log_likelihoods(self, X: Any, labels: NDArray[np.intp]) -> Floats:
        """Return the log probability of labels at points given each draw, with landmarks.

        Parameters
        ----------
        X : inputs of shape (n, n_features)
            Points.
        labels : ndarray of shape (n,)
            Indices of classes.

        Returns
        -------
        ndarray of shape (n_draws,)
            Sums over the points, whose labels are independent given a function.
        """
        points, [one] = self._points(X), self.problems
        own, total = self._own_variance(points, None, strict=True), np.zeros(len(one.draws))
        for rows, k_star in self._blocks(points):
            scale = np.sqrt(self._variance(own, rows, k_star))
            f = product(k_star, one.draws.reshape(-1, k_star.shape[1]).T) / scale[:, None]
            if self._is_joint:
                f = f.reshape(len(k_star), len(one.draws), -1)
                behind = np.moveaxis(f.max(axis=2, keepdims=True) - f, 2, 0)
                with np.errstate(divide="ignore"):
                    log_p = np.log(largest_probabilities(behind))
                log_p = observed_class(
                    np.moveaxis(log_p, 0, 2).reshape(-1, self._width),
                    self.label_noise[0],
                    self._width,
                ).reshape(f.shape)
                own_label = labels[rows][:, None, None]
                total += np.take_along_axis(log_p, own_label, axis=2)[..., 0].sum(axis=0)
            else:
                pair = observed(special.log_ndtr(-f), special.log_ndtr(f), self.label_noise)
                total += np.where(labels[rows][:, None] == 1, pair[1], pair[0]).sum(axis=0)
        return total

    # --- functions -------------------------------------------------------------------------------

    def sample_functions(
        self,
        X: ArrayLike,
        *,
        gram: ArrayLike | None = None,
        noise: bool = True,
        random_state: RandomState = None,
    ) -> Floats:
        """Draw latent functions from the posterior and evaluate them at points.

        Parameters
        ----------
        X, gram, noise, random_state
            As for :meth:`BayesPointClassifier.sample_functions`.

        Returns
        -------
        ndarray of shape (n_draws, n) or (n_classes, n_draws, n)
            Values of the functions, one function for each draw of the run.
        """
        noise = validation.boolean("noise", noise)
        points = self._points(X)
        covariance = self._between(points, gram) + self.offset
        rng = np.random.default_rng(validation.seed(random_state))
        total, rank, n = len(self.problems[0].draws), self.factor.rank, count(points)
        covariance.flat[:: n + 1] += self.softness if noise else 0.0
        draws = [one.equal_draws(rng) for one in self.problems]
        if self._is_joint:  # a row for each class
            draws = list(np.moveaxis(draws[0], 1, 0))
        means = np.empty((len(draws), total, n))
        solved = np.empty((rank, n))
        for rows, k_star in self._blocks(points):
            solved[:, rows] = self.factor.whitened(k_star)
            for row, dual_coef in enumerate(draws):
                means[row, :, rows] = product(dual_coef, k_star.T)
        spread = np.sqrt(np.maximum(covariance.diagonal(), 0.0))
        require_square(np.maximum(spread, np.abs(means).max(axis=(0, 1))))
        for rows in validation.blocks(n, interruptible_step(n * rank)):
            covariance[rows] -= product(solved[:, rows].T, solved)
        joint = self._is_joint  # one length for all classes
        freedom = self.problems[0].freedom
        if freedom is not None:
            lengths = rng.chisquare(freedom, size=(1 if joint else len(draws), total, 1))
            means *= np.sqrt(lengths)
        root, normal = _root(covariance), rng.standard_normal(means.shape)
        for rows in validation.blocks(n, interruptible_step(means.size)):
            means[..., rows] += normal @ root[rows].T
        if joint:
            means -= means.mean(axis=0)
        return means[0] if self._is_binary else means

    def bayes_point(self, X_unlabelled: ArrayLike) -> Floats:
        """Return the weight vector closest to the vote of the draws at given points.

        Parameters
        ----------
        X_unlabelled
            As for :meth:`BayesPointClassifier.bayes_point`.

        Returns
        -------
        ndarray of shape (n_rows, m)
            Dual coefficients, not normalized.
        """
        try:
            return self._closest_to_vote(self._points(X_unlabelled))
        except (TypeError, ValueError) as error:
            raise validation.named(error, "X_unlabelled") from error

    def _closest_to_vote(self, X: Any) -> Floats:
        rank, n, m = self.factor.rank, count(X), len(self.example_softness)
        small = min(rank, n)
        points = np.empty((rank, n), order="F")
        for rows, k_star in self._blocks(X):
            points[:, rows] = self.factor.whitened(k_star)
        votes = self._votes(X)
        if self._is_joint:  # which sums to zero over the classes, as all functions do
            votes -= 1 / self._width
        # Only the largest matters: squares that underflow are negligible.
        require_square(np.maximum(points.max(), -points.min()))
        products = points @ points.T if rank <= n else points.T @ points
        ridge = _RIDGE * float(products.trace()) / small
        if ridge == 0.0:  # all kernel values between points and examples are zero
            return np.zeros((self._width, m))
        products.flat[:: small + 1] += ridge
        if rank <= n:
            solution = linalg.solve(products, points @ votes, assume_a="pos")
        else:
            solution = points @ linalg.solve(products, votes, assume_a="pos")
        return self.factor.dual_coef(np.asfortranarray(solution), m)

    # --- another density -------------------------------------------------------------------------

    def reweight(self, weight: Callable[[Floats], ArrayLike], *, log: bool = False) -> Posterior:
        """Return the posterior for another density of the weight vectors' directions.

        Parameters
        ----------
        weight, log
            As for :meth:`BayesPointClassifier.reweight`. The density is relative to this posterior.

        Returns
        -------
        Posterior
            The same with weighted draws and without calibration. `gibbs` and `sample_functions`
            choose draws at random in proportion to their weights. The distribution of the weight
            vectors' lengths is unchanged.
        """
        if not callable(weight):
            raise TypeError(f"weight must be a callable; got {weight!r}")
        log = validation.boolean("log", log)
        gram, offset, softness = self.training_matrix("reweight")
        problems, n_classes = [], len(self.classes) if self._is_joint else 2
        for one in self.problems:
            relative, before = weight, one.weights
            if before is not None:  # weights of an earlier call
                relative = _product_of(weight, before, log)
            problem = Problem(gram, one.y, softness, offset, n_classes=n_classes)
            assert isinstance(one.result, BilliardResult)  # there is a training matrix
            found = reweight(one.result, relative, problem, log=log)
            problems.append(replace(one, calibration=1.0, weighted=found))
        return replace(self, problems=tuple(problems))

    def training_matrix(self, question: str) -> tuple[Floats, float, Floats]:
        """Return the kernel matrix of the training examples, and the offset and softness to add.

        A precomputed matrix is recovered from its factor, which includes offset and softness. These
        are then 0. Raises ValueError if it is singular; `question` is the calling method's name.
        """
        if self.has_landmarks:
            raise ValueError(
                f"{question} needs the kernel matrix of the training examples, which a classifier "
                "with landmarks does not have: fit with approximation=None"
            )
        if not isinstance(self.kernel, str):
            gram = kernels.training_gram(
                self.kernel, self.inputs, self.offset, self.example_softness
            )[0]
            return gram, self.offset, self.example_softness
        if self.factor.pivots is not None:
            raise ValueError(
                f"{question} needs the kernel matrix, and with kernel='precomputed' a singular one "
                f"is not kept: use VersionSpace(gram, y).{question}"
            )
        lower = self.factor.lower
        return lower @ lower.T, 0.0, np.zeros(len(lower))

    # --- points ----------------------------------------------------------------------------------

    @property
    def _is_binary(self) -> bool:
        return len(self.classes) == 2

    @property
    def _is_joint(self) -> bool:
        return isinstance(self.problems[0], JointPosterior)

    @property
    def _width(self) -> int:
        """Number of decision values of a point."""
        return 1 if self._is_binary else len(self.classes)

    def _points(self, X: Any) -> Any:
        """Return inputs as the kernel requires them, with their shape checked."""
        width = len(self.example_softness)
        if self.inputs is not None:
            if self.inputs.ndim == 1:  # objects such as sets or strings
                if isinstance(X, np.ndarray) and X.ndim == 1:
                    return X
                return np.fromiter(X, dtype=object, count=len(X))
            width = self.inputs.shape[1]
        if not sparse.issparse(X):
            X = np.asarray(validation.dense("X", X), dtype=np.float64, order="C")
        if X.ndim != 2 or X.shape[1] != width:
            raise ValueError(f"X must have shape (n, {width}), {width} features; got {X.shape}")
        return scaled(self.scaler, X)

    def _between(self, X: Any, gram: ArrayLike | None) -> Floats:
        """Return the kernel values between points."""
        if not isinstance(self.kernel, str):
            if gram is not None:
                raise ValueError("gram must be None unless kernel='precomputed'")
            return kernels.evaluate(self.kernel, X)
        n = count(X)
        if gram is None:
            raise ValueError(
                "gram must hold the (n_samples, n_samples) kernel values between the points "
                "with kernel='precomputed'; got None"
            )
        between, _ = validation.gram_matrix(gram, name="gram")
        if between.shape != (n, n):
            raise ValueError(f"gram must have shape ({n}, {n}); got {between.shape}")
        return between

    def _blocks(self, X: Any) -> Iterator[tuple[slice, Floats]]:
        """Yield blocks of kernel values, offset included, between points and examples."""
        m, shape = len(self.example_softness), self.problems[0].result.draws.shape
        size = int(BLOCK_BYTES / (8 * (3 * m + 2 * math.prod(shape[:-1]))))
        for rows in validation.blocks(count(X), max(1, size)):
            if isinstance(self.kernel, str):
                k_star = X[rows]
            else:
                k_star = kernels.evaluate(self.kernel, X[rows], self.inputs)
            if self.offset:
                # Only the arrays of our own kernels are certainly new ones.
                own = not isinstance(self.kernel, str) and kernels.is_semidefinite(self.kernel)
                k_star = np.add(k_star, self.offset, out=k_star if own else None)
            yield rows, k_star

    def _values(
        self, X: Any, diag: ArrayLike | None, *, strict: bool = True, mixture: bool = False
    ) -> Floats:
        """Return z, or with `mixture` probabilities, for each point and row.

        If k(x, x) is unknown, raises ValueError if `strict`. Otherwise the point is assumed to be
        in the span of the training examples, where its variance is the softness.
        """
        own = self._own_variance(X, diag, strict=strict)
        values = np.empty((count(X), self._width))
        for rows, k_star in self._blocks(X):
            variance = self._variance(own, rows, k_star)
            laws = [one.probability if mixture else one.decision_values for one in self.problems]
            values[rows] = np.column_stack([law(k_star, variance) for law in laws])
        return values

    def _weighted_values(self, X: Any, diag: ArrayLike | None, *, strict: bool = True) -> Floats:
        """Return z with the class weights, for each point and row."""
        values = self._values(X, diag, strict=strict)
        return values if self.class_weight is None else weighted_values(values, self.class_weight)

    def _variance(self, own: Floats | None, rows: slice, k_star: Floats) -> Floats:
        """Return the predictive variance of the points in `rows`."""
        if own is None:
            return np.full(len(k_star), self.softness)
        # Overflow gives NaN, which fmax replaces by 0.
        variance: Floats = np.fmax(own[rows] - self.factor.explained(k_star), 0.0)
        return variance

    def _own_variance(self, X: Any, diag: ArrayLike | None, *, strict: bool) -> Floats | None:
        """Return the prior variance of f at each point, or None if k(x, x) is unknown."""
        extra = self.offset + self.softness
        if diag is not None:
            if not isinstance(self.kernel, str):
                raise ValueError("diag must be None unless kernel='precomputed'")
            values = np.asarray(validation.dense("diag", diag), dtype=np.float64)
            if values.shape != (count(X),):
                raise ValueError(f"diag must have shape ({count(X)},); got shape {values.shape}")
            if not np.isfinite(values).all():
                raise ValueError("diag must be finite; it holds NaN or infinity")
            own: Floats = values + extra
            return own
        if not isinstance(self.kernel, str):
            return kernels.diagonal(self.kernel, X) + extra
        if self.constant_diagonal is not None:
            return np.full(count(X), self.constant_diagonal + extra)
        if strict:
            raise ValueError(
                "with kernel='precomputed' and a training matrix whose diagonal is not constant, "
                "diag must hold the (n_samples,) values k(x, x); got None"
            )
        return None


def scaled(scaler: StandardScaler | None, X: Any) -> Any:
    """Return inputs as the kernel gets them: dense if they are centered."""
    if scaler is None:
        return X
    return scaler.transform(X.toarray() if scaler.with_mean and sparse.issparse(X) else X)


def _root(covariance: Floats) -> Floats:
    """Return R with R R^T the covariance. Eigenvalues that are negative by rounding count as 0."""
    lower = np.array(covariance, order="F")
    if cholesky(lower) == 0:
        clear_above(lower)
        return lower
    values, vectors = linalg.eigh(covariance)
    return np.asarray(vectors * np.sqrt(np.maximum(values, 0.0)))


def _product_of(
    weight: Callable[[Floats], ArrayLike], before: Floats, log: bool
) -> Callable[[Floats], ArrayLike]:
    """Return the product of a density and earlier weights of the draws."""

    def both(margins: Floats) -> ArrayLike:
        values = validation.weights("weight", weight(margins), len(before), log=log)
        with np.errstate(divide="ignore"):
            return values + np.log(before) if log else values * before

    return both
