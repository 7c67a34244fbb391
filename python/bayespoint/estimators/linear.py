"""Base class of the classifiers with one weight vector for each binary problem."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from bayespoint import kernels
from bayespoint.base import memory, validation
from bayespoint.base.io import Savable
from bayespoint.base.validation import Floats, RandomState
from bayespoint.bounds.result import RiskBounds
from bayespoint.bounds.risk_bounds import risk_bounds
from bayespoint.engine.problem import Problem
from bayespoint.estimators import advice
from bayespoint.estimators import inputs as estimators_inputs
from bayespoint.estimators.problems import TrainingProblem, over_training
from bayespoint.estimators.settings import require_kernel_object
from bayespoint.kernels.products import count

if TYPE_CHECKING:
    from typing_extensions import Self

_BLOCK_BYTES = 64 * 2**20
"""Approximate memory of one block of test points."""


class LinearClassifier(Savable, ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Base class of classifiers that are linear in feature space, one against the rest.

    A subclass has a parameter `kernel`, and its fit calls `_problems` and `_keep` and sets `norm_`.
    """

    kernel: Any
    norm_: Floats
    kernel_: Any
    X_fit_: NDArray[Any] | None
    problems_: tuple[TrainingProblem, ...]

    by_distance = False
    """Whether decision values are divided by the length of the weight vector."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        estimators_inputs.mark(tags.input_tags, self.kernel)
        return tags

    def set_params(self, **params: Any) -> Self:
        """Set parameters, also ``kernel__<name>`` of a kernel object.

        Parameters
        ----------
        **params : dict
            Values by name.

        Returns
        -------
        estimator
            The estimator itself.

        Raises
        ------
        ValueError
            If there is no such parameter, or no kernel object.
        """
        require_kernel_object(params.get("kernel", self.kernel), params)
        return super().set_params(**params)  # type: ignore[no-any-return]

    def decision_function(self, X: ArrayLike) -> Floats:
        """Return the decision values.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Inputs, as for `fit`; with kernel="precomputed" the (n_samples, n_train) kernel values
            between them and the training examples.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            For two classes, positive where the second is predicted; otherwise one column for each
            class against the rest.

        Raises
        ------
        ValueError
            If `X` is so large that kernel values or decision values overflow.
        """
        values = self._values(X, by_distance=self.by_distance)
        return values[:, 0] if len(self.classes_) == 2 else values

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Return the predicted classes.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Inputs, as for `decision_function`.

        Returns
        -------
        ndarray of shape (n_samples,)
            Labels. A tie goes to the first class.
        """
        values = self.decision_function(X)
        index = (values > 0).astype(np.intp) if values.ndim == 1 else values.argmax(axis=1)
        predicted: NDArray[Any] = self.classes_[index]
        return predicted

    def margins(self, X: ArrayLike, y: ArrayLike, *, geometric: bool = False) -> Floats:
        """Return the margin of every example.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Inputs, as for `decision_function`.
        y : array-like of shape (n_samples,)
            Their labels, from `classes_`.
        geometric : bool, default=False
            Divide by the length of the weight vector: signed distances from the plane.

        Returns
        -------
        ndarray of shape (n_samples,)
            The functional margin ``y (<w, phi(x)> + b)``, positive where the example is on the
            correct side. With more than two classes that of its own class against the rest.

        Raises
        ------
        ValueError
            If a label is unknown, the shapes do not fit, or values overflow.
        """
        geometric = validation.boolean("geometric", geometric)
        return own_values(self._values(X, by_distance=geometric), self.classes_, y)

    def margin_histogram(
        self, X: ArrayLike, y: ArrayLike, *, bins: Any = 10, geometric: bool = True
    ) -> tuple[NDArray[np.intp], Floats]:
        """Return the histogram of the margins.

        Parameters
        ----------
        X, y
            As for `margins`.
        bins : int, sequence of floats or str, default=10
            As for :func:`numpy.histogram`.
        geometric : bool, default=True
            As for `margins`.

        Returns
        -------
        counts : ndarray of shape (n_bins,)
            Examples in each bin.
        edges : ndarray of shape (n_bins + 1,)
            Edges of the bins.

        References
        ----------
        J. L. Crowley, "Perceptrons and Support Vector Machines", Intelligent Systems: Reasoning
        and Recognition, Lesson 6, 2018.
        """
        return histogram(self.margins(X, y, geometric=geometric), bins)

    def risk_bounds(
        self,
        delta: float = 0.05,
        *,
        gram: ArrayLike | None = None,
        candidates: int = 1,
        tol: float = 0.3,
        max_length: float = 1e5,
        n_jobs: int | None = None,
        random_state: RandomState = None,
    ) -> RiskBounds | list[RiskBounds]:
        """Return bounds on the probability of an error on new examples.

        Parameters
        ----------
        delta, gram, candidates, tol, max_length, n_jobs, random_state
            As for :func:`bayespoint.bounds.risk_bounds`.

        Returns
        -------
        RiskBounds or list of RiskBounds
            As for :meth:`BayesPointClassifier.risk_bounds`, which raises the same errors.

        Notes
        -----
        All bounds are refused for the default ``kernel="rbf"`` and other kernels with a parameter
        left out, which depends on the inputs: give a kernel fixed beforehand.

        `sparsity` holds for a classifier that is determined by the examples with nonzero
        coefficients, as a perceptron is, if it classifies the others correctly. A maximal margin,
        hard or soft, is fitted to these examples again, and the bound is refused if the decisions
        differ.

        The other bounds hold for weight vectors in version space. They are refused if there is a
        training error, and for a free intercept, which has no prior. For softness see
        :func:`bayespoint.bounds.table`.

        Examples
        --------
        >>> import numpy as np
        >>> from bayespoint import MaxMarginClassifier
        >>> X = np.random.default_rng(0).normal(size=(400, 3))
        >>> y = np.where(X @ [1.0, 2.0, 3.0] > 0, 1, 0)
        >>> model = MaxMarginClassifier("linear", C=np.inf, fit_intercept=False).fit(X, y)
        >>> found = model.risk_bounds(random_state=0)
        >>> print(f"{found.find('sparsity').value:.3f}")
        0.063
        >>> found.find("point_mirror").value < 0.3
        True
        """
        return risk_bounds(
            self,
            delta,
            gram=gram,
            candidates=candidates,
            tol=tol,
            max_length=max_length,
            n_jobs=n_jobs,
            random_state=random_state,
        )

    def problems_over(self, gram: ArrayLike | None = None) -> list[Problem]:
        """Return the binary problems with their kernel matrix, recomputed or given again."""
        check_is_fitted(self)
        m = len(self.problems_[0].y)
        inputs = estimators_inputs.again(self.kernel_, self.X_fit_, m, gram)
        return over_training(self.problems_, self.kernel_, inputs)

    def _problems(
        self,
        X: ArrayLike,
        y: ArrayLike,
        offset: float | None,
        softness: float,
        *,
        normalize: bool = False,
    ) -> list[Problem]:
        """Set the attributes known before the fit, and return its binary problems on one matrix.

        An `offset` of None, where the result does not depend on it, is the mean of the diagonal.
        """
        inputs, y = estimators_inputs.training(self, self.kernel, X, y)
        self.classes_, index = estimators_inputs.encode(np.asarray(y))
        m = len(index)
        resolved, self.kernel_ = kernels.resolve(self.kernel), kernels.at_start(self.kernel, inputs)
        fixed = not kernels.parameters(resolved, inputs) or self.kernel_ == resolved
        self.prior_from_examples_ = "" if fixed else "length scale"
        if not isinstance(self.kernel_, str):
            memory.require(8.0 * m * m, f"the kernel matrix of {m} examples", advice.TOO_MANY)
        if normalize:
            self.kernel_ = kernels.normalize(self.kernel_)
        soft = validation.softness(softness, m)
        if offset is None:
            given = isinstance(self.kernel_, str)
            squares = inputs.diagonal() if given else kernels.diagonal(self.kernel_, inputs)
            mean = float(squares.mean())
            offset = mean if 0 < mean < math.inf else 1.0
        gram, _ = kernels.training_gram(self.kernel_, inputs, offset, soft)
        self.X_fit_ = None if isinstance(self.kernel_, str) else inputs.copy()
        labels = estimators_inputs.one_vs_rest(index, len(self.classes_))
        self.problems_ = tuple(TrainingProblem("", one, soft, offset) for one in labels)
        return [problem.over(gram) for problem in self.problems_]

    def _keep(self, dual_coef: Floats, intercept: Floats) -> None:
        self.dual_coef_, self.intercept_ = dual_coef, intercept
        self.support_ = np.flatnonzero(dual_coef.any(axis=0))

    def _values(self, X: ArrayLike, *, by_distance: bool) -> Floats:
        """Return the (n, n_problems) values ``<w, phi(x)> + b``, or distances from the planes.

        Raises ValueError if they overflow.
        """
        check_is_fitted(self)
        inputs = estimators_inputs.new(self, self.kernel_, X)
        values = np.empty((count(inputs), len(self.dual_coef_)))
        coef = self.dual_coef_[:, self.support_].T
        size = max(1, int(_BLOCK_BYTES / (8 * max(1, len(self.support_)))))
        with np.errstate(over="ignore", invalid="ignore"):
            for rows in validation.blocks(len(values), size):
                if self.X_fit_ is None:
                    k_star = inputs[rows][:, self.support_]
                else:
                    support = self.X_fit_[self.support_]
                    k_star = kernels.evaluate(self.kernel_, inputs[rows], support)
                values[rows] = k_star @ coef
            values += self.intercept_
        return finite(values, self.norm_ if by_distance else None)


def finite(values: Floats, norms: Floats | None) -> Floats:
    """Return (n, n_problems) values, divided by the lengths of weight vectors if these are given.

    Raises ValueError if they overflow. Values of a zero weight vector stay 0.
    """
    if norms is not None:
        with np.errstate(over="ignore"):
            values = values / np.where(norms > 0, norms, 1.0)
    if not np.isfinite(values).all():
        raise ValueError("X must not be so large that decision values overflow")
    return values


def own_values(values: Floats, classes: NDArray[Any], y: ArrayLike) -> Floats:
    """Return the values of each example's own class from (n, n_problems) values."""
    index = estimators_inputs.known_labels(classes, y, len(values))
    if values.shape[1] == 1:
        return np.where(index == 1, values[:, 0], -values[:, 0])
    own: Floats = values[np.arange(len(values)), index]
    return own


def histogram(margins: Floats, bins: Any) -> tuple[NDArray[np.intp], Floats]:
    """Return counts and edges as :func:`numpy.histogram` does."""
    if isinstance(bins, (int, np.integer)):
        bins = validation.integer("bins", bins, low=1, high=10**7)
    try:
        return np.histogram(margins, bins=bins)
    except (TypeError, ValueError) as error:
        raise validation.named(error, "bins must be as for numpy.histogram") from error
