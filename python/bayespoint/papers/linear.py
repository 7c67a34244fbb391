"""Base class of the classifiers with one weight vector for each binary problem."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from bayespoint import kernels
from bayespoint.base import memory, validation
from bayespoint.base.io import Savable
from bayespoint.base.validation import Floats, RandomState
from bayespoint.data.inputs import encode
from bayespoint.engine.problem import Problem
from bayespoint.estimators import inputs as estimators_inputs
from bayespoint.estimators.base import require_kernel_object
from bayespoint.estimators.reading import TOO_MANY
from bayespoint.papers.bounds.result import RiskBounds
from bayespoint.papers.bounds.rows import Learned
from bayespoint.papers.bounds.tables import REFUSALS, bounds_of
from bayespoint.papers.checks import Labels
from bayespoint.papers.planes import Hyperplanes
from bayespoint.version_space import VersionSpace


class OneVsRest(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Base class of classifiers with values for each binary problem, one against the rest.

    A subclass has `_values`, and its fit sets `classes_`.
    """

    classes_: NDArray[Any]

    by_distance = False
    """Whether decision values are divided by the length of the weight vector."""

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
            Labels. A tie goes to the first class. (So in the perceptron notes, Eq. 1. Crowley's
            lecture gives it to the second.)
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
            Divide by the length of the weight vector: signed distances from the plane. Without
            effect on votes.

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

    def _values(self, X: ArrayLike, *, by_distance: bool) -> Floats:
        """Return the (n, n_problems) values."""
        raise NotImplementedError


class KernelClassifier(Savable, OneVsRest):
    """Base class with a parameter `kernel`, whose fit calls `_problems`."""

    kernel: Any
    kernel_: Any  # types of attributes are those that files may hold
    X_fit_: Any
    _offset: float
    _softness: Floats
    _labels: Labels

    def check_parts(self) -> None:
        """Raise an error if a fitted classifier cannot predict."""
        if hasattr(self, "classes_"):
            row = np.zeros((1, len(self._softness))) if self.X_fit_ is None else self.X_fit_[:1]
            self.predict(row)

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
        return super().set_params(**params)

    def _over(self, inputs: Any) -> list[Problem]:
        """Return the binary problems on the kernel matrix of the inputs, or on a given one."""
        if not isinstance(self.kernel_, str):
            m = len(self._softness)
            memory.require(8.0 * m * m, f"the kernel matrix of {m} examples", TOO_MANY)
        gram, _ = kernels.training_gram(self.kernel_, inputs, self._offset, self._softness)
        labels = (self._labels > 0).astype(np.intp)
        return [Problem(gram, label, self._softness, self._offset) for label in labels]

    def _problems(
        self,
        X: ArrayLike,
        y: ArrayLike,
        offset: float | None,
        softness: float,
        *,
        normalize: bool = False,
    ) -> list[Problem]:
        """Set the attributes known before the fit, and return its binary problems on one matrix."""
        return self._over(self._read(X, y, offset, softness, normalize=normalize))

    def _read(
        self, X: ArrayLike, y: ArrayLike, offset: float | None, softness: float, *, normalize: bool
    ) -> Any:
        """Set the attributes known before the fit, and return its inputs, or the matrix.

        An `offset` of None, where the result does not depend on it, is the mean of the diagonal.
        """
        inputs, labels, seen = estimators_inputs.read(self, self.kernel, X, y)
        for name, value in seen.items():
            if value is not None:
                setattr(self, name, value)
            elif hasattr(self, name):  # of an earlier fit
                delattr(self, name)
        self.classes_, index = encode(np.asarray(labels))
        m = len(index)
        resolved, self.kernel_ = kernels.resolve(self.kernel), kernels.at_start(self.kernel, inputs)
        fixed = not kernels.parameters(resolved, inputs) or self.kernel_ == resolved
        self.prior_from_examples_ = "" if fixed else "length scale"
        given = isinstance(self.kernel_, str)
        if normalize:
            self.kernel_ = kernels.normalize(self.kernel_)
        soft = validation.softness(softness, m)
        if offset is None:
            squares = inputs.diagonal() if given else kernels.diagonal(self.kernel_, inputs)
            mean = float(squares.mean())
            offset = mean if 0 < mean < math.inf else 1.0
        self._offset, self._softness = offset, soft
        self.X_fit_ = None if given else inputs.copy()
        self._labels = one_vs_rest(index, len(self.classes_))
        return inputs


class LinearClassifier(KernelClassifier):
    """Base class of classifiers that are linear in feature space.

    The fit of a subclass calls `_problems` and `_keep` and sets `norm_`.
    """

    norm_: Floats

    rule = "max_margin"
    """How the weight vector was found, as for :func:`bayespoint.papers.bounds.table`."""

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
        gram
            As for :func:`bayespoint.papers.bounds.risk_bounds`.
        delta, candidates, tol, max_length, n_jobs, random_state
            As for :func:`bayespoint.papers.bounds.table`.

        Returns
        -------
        RiskBounds or list of RiskBounds
            As for :func:`bayespoint.papers.bounds.risk_bounds`, which raises the same
            errors; for more than two classes a list with one table for each class against the rest.

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
        :func:`bayespoint.papers.bounds.table`.

        Examples
        --------
        >>> import numpy as np
        >>> from bayespoint.papers.max_margin import MaxMarginClassifier
        >>> X = np.random.default_rng(0).normal(size=(400, 3))
        >>> y = np.where(X @ [1.0, 2.0, 3.0] > 0, 1, 0)
        >>> model = MaxMarginClassifier("linear", C=np.inf, fit_intercept=False).fit(X, y)
        >>> found = model.risk_bounds(random_state=0)
        >>> print(f"{found.find('sparsity').value:.3f}")
        0.063
        >>> found.find("point_mirror").value < 0.3
        True
        """
        check_is_fitted(self)
        matrix = estimators_inputs.again(self.kernel_, self.X_fit_, self._labels.shape[1], gram)
        refusal = REFUSALS[self.prior_from_examples_]
        rng = validation.generator(random_state)
        tables = []
        for k, problem in enumerate(self._over(matrix)):
            space = VersionSpace.over(problem)
            table = bounds_of(
                space,
                (LinearClassifier if refusal else type(self))._learned(self, space, k),
                delta,
                candidates,
                refusal=refusal,
                tol=tol,
                max_length=max_length,
                n_jobs=n_jobs,
                random_state=rng,
            )
            tables.append(table)
        return tables[0] if len(tables) == 1 else tables

    def _learned(self, space: VersionSpace, k: int) -> Learned:
        """Return the weight vector of the k-th binary problem, and how it was found."""
        return Learned(self.dual_coef_[k], self.rule)

    def _keep(self, dual_coef: Floats, intercept: Floats) -> None:
        self.dual_coef_, self.intercept_ = dual_coef, intercept
        self.support_ = np.flatnonzero(dual_coef.any(axis=0))

    @property
    def planes_(self) -> Hyperplanes:
        """The planes in feature space, whose signed distances are decision values or not."""
        check_is_fitted(self)
        points = None if self.X_fit_ is None else self.X_fit_[self.support_]
        coef, norm = self.dual_coef_[:, self.support_], self.norm_ if self.by_distance else None
        return Hyperplanes(self.classes_, self.kernel_, points, coef, self.intercept_, norm)

    def _values(self, X: ArrayLike, *, by_distance: bool) -> Floats:
        """Return the (n, n_problems) values ``<w, phi(x)> + b``, or distances from the planes."""
        planes = replace(self.planes_, norm=self.norm_ if by_distance else None)
        inputs = estimators_inputs.new(self, self.kernel_, X)
        return planes.values(inputs[:, self.support_] if planes.points is None else inputs)


def one_vs_rest(index: NDArray[np.intp], n_classes: int) -> Labels:
    """Return the labels -1 and +1 of each binary problem, shape (n_problems, m).

    One problem for two classes, with the second positive; otherwise each class against the rest.
    """
    positives = [1] if n_classes == 2 else list(range(n_classes))
    return np.where(index == np.array(positives)[:, None], 1, -1).astype(np.int8)


def own_values(values: Floats, classes: NDArray[Any], y: ArrayLike) -> Floats:
    """Return the values of each example's own class from (n, n_problems) values."""
    index = validation.known_labels(classes, y, len(values))
    if values.shape[1] == 1:
        return np.where(index == 1, values[:, 0], -values[:, 0])
    own: Floats = values[np.arange(len(values)), index]
    return own
