"""What the classifiers with one weight vector for each binary problem share."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from bayespoint import kernels
from bayespoint.base import memory, validation
from bayespoint.base.io import Savable
from bayespoint.base.validation import Floats, Labels
from bayespoint.estimators import inputs as estimators_inputs
from bayespoint.estimators.spaces import SpacesMixin
from bayespoint.kernels.products import count

_BLOCK_BYTES = 64 * 2**20
"""About how much memory one block of test points may take."""

_LARGEST = 1e140
"""Numbers in the inputs of linear machines: sums of their squares are in the range of doubles."""


class Machine(Savable, ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A classifier by the sign of a weight vector, or by the largest of one for each class.

    A subclass sets `classes_` and `norm_`, and computes the functional values of inputs.
    """

    classes_: NDArray[Any]
    norm_: Floats

    def _values(self, X: ArrayLike) -> Floats:
        """Return the (n, n_problems) values ``<w, phi(x)> + b``."""
        raise NotImplementedError

    def _encode(self, y: NDArray[Any]) -> NDArray[np.intp]:
        """Set the classes and return the index of each label among them."""
        self.classes_, index = estimators_inputs.encode(y)
        return index

    def _labels(self, index: NDArray[np.intp]) -> Labels:
        return estimators_inputs.one_vs_rest(index, len(self.classes_))

    def _scaled(self, values: Floats) -> Floats:
        """Return the values in the scale of the decision function."""
        return values

    def _distances(self, values: Floats) -> Floats:
        """Return the values of weight vectors of length 1."""
        distances: Floats = values / _lengths(self.norm_)
        return distances

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
        check_is_fitted(self)
        values = self._finite_values(X, self._scaled)
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

        Raises
        ------
        ValueError
            As `decision_function`.
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
            The functional margin ``y (<w, phi(x)> + b)`` with y = -1 for the first and +1 for the
            second of two classes. With more classes that of each example's own class against the
            rest. Positive where the example is on its side.

        Raises
        ------
        ValueError
            If a label is unknown, the shapes do not fit, or values overflow.
        """
        check_is_fitted(self)
        geometric = validation.boolean("geometric", geometric)
        return self._own(self._finite_values(X, self._distances if geometric else None), y)

    def _finite_values(self, X: ArrayLike, scaled: Callable[[Floats], Floats] | None) -> Floats:
        """Return the values of inputs as they are or scaled, or raise ValueError."""
        with np.errstate(over="ignore", invalid="ignore"):
            values = self._values(X)
            if scaled is not None:
                values = scaled(values)
        if not np.isfinite(values).all():
            raise ValueError("X must not be so large that decision values overflow")
        return values

    def _own(self, values: Floats, y: ArrayLike) -> Floats:
        """Return the value of each example's own class, from (n, n_problems) values."""
        labels = validation.labels("y", y)
        if labels.shape != (len(values),):
            raise ValueError(
                f"y must have shape ({len(values)},), a label for each row of X; got shape "
                f"{labels.shape}"
            )
        known = labels[:, None] == self.classes_
        if not known.any(axis=1).all():
            strange = labels[~known.any(axis=1)].tolist()[0]
            raise ValueError(f"y must hold labels among {self.classes_.tolist()}; got {strange!r}")
        index = known.argmax(axis=1)
        if values.shape[1] == 1:
            return np.where(index == 1, values[:, 0], -values[:, 0])
        own: Floats = values[np.arange(len(values)), index]
        return own

    def margin_histogram(
        self, X: ArrayLike, y: ArrayLike, *, bins: Any = 10, geometric: bool = True
    ) -> tuple[NDArray[np.intp], Floats]:
        """Return how many examples have which margin: the quality of a classifier (Crowley).

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
            Bounds of the bins.
        """
        if isinstance(bins, (int, np.integer)):
            bins = validation.integer("bins", bins, low=1)
            memory.require(40.0 * bins, f"a histogram with bins={bins}")
        margins = self.margins(X, y, geometric=geometric)
        try:
            return np.histogram(margins, bins=bins)
        except (TypeError, ValueError) as error:
            raise validation.named(error, "bins must be as for numpy.histogram") from error


def _lengths(norms: Floats) -> Floats:
    """Return lengths to divide by: 1 for the zero vector, whose values are zero anyhow."""
    return np.where(norms > 0, norms, 1.0)


class DistanceMixin:
    """Decision values that are signed distances: those of several problems are comparable."""

    _distances: Callable[[Floats], Floats]

    def _scaled(self, values: Floats) -> Floats:
        return self._distances(values)


class PrimalMachine(Machine):
    """A machine with weights for features."""

    coef_: Floats
    intercept_: Floats

    def _checked(self, X: ArrayLike, y: ArrayLike) -> tuple[Floats, NDArray[np.intp]]:
        X, y = estimators_inputs.validate_data(self, X, y, dtype=np.float64, order="C")
        inputs = np.asarray(X)
        if (largest := float(np.abs(inputs).max())) > _LARGEST:
            raise ValueError(f"X must hold numbers up to {_LARGEST:g} in size; got {largest:g}")
        return inputs, self._encode(np.asarray(y))

    def _new(self, X: ArrayLike) -> Floats:
        inputs: Floats = estimators_inputs.validate_data(
            self, X, reset=False, dtype=np.float64, order="C"
        )
        return inputs

    def _values(self, X: ArrayLike) -> Floats:
        values: Floats = self._new(X) @ self.coef_.T + self.intercept_
        return values


class KernelMachine(Machine, SpacesMixin):
    """A machine with coefficients for training examples, on one kernel matrix for all problems."""

    kernel: Any
    dual_coef_: Floats
    intercept_: Floats
    support_: NDArray[np.intp]
    _free: bool
    _scaled_by_inputs: bool

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        estimators_inputs.mark(tags.input_tags, self.kernel)
        return tags

    def _problems(
        self,
        X: ArrayLike,
        y: ArrayLike,
        offset: float | None,
        softness: float,
        *,
        normalize: bool = False,
    ) -> tuple[Floats, Labels, float, Floats]:
        """Return Gram matrix, labels of each problem, offset and softness of each example.

        An offset of None stands for any: it is then in the scale of the matrix.
        """
        inputs, y = estimators_inputs.training(self, self.kernel, X, y)
        index = self._encode(np.asarray(y))
        m = len(index)
        self.kernel_ = kernels.resolve(self.kernel, inputs)
        if not isinstance(self.kernel_, str):
            memory.require(8.0 * m * m, f"the kernel matrix of {m} examples")
        if normalize:
            self.kernel_ = kernels.normalize(self.kernel_)
        soft = validation.softness(softness, m)
        self._free = offset is None
        if offset is None:
            given = isinstance(self.kernel_, str)
            squares = inputs.diagonal() if given else kernels.diagonal(self.kernel_, inputs)
            mean = float(squares.mean())
            offset = mean if 0 < mean < math.inf else 1.0
        gram, _ = kernels.training_gram(self.kernel_, inputs, offset, soft)
        self.X_fit_ = None if isinstance(self.kernel_, str) else inputs.copy()
        self._index, self._offset, self._softness = index, offset, soft
        self._scaled_by_inputs = isinstance(self.kernel, str) and self.kernel == "rbf"
        return gram, self._labels(index), offset, soft

    def _keep(self, dual_coef: Floats, intercept: Floats) -> None:
        self.dual_coef_, self.intercept_ = dual_coef, intercept
        self.support_ = np.flatnonzero(dual_coef.any(axis=0))

    def _values(self, X: ArrayLike) -> Floats:
        inputs = estimators_inputs.new(self, self.kernel_, X)
        n = count(inputs)
        values = np.empty((n, len(self.dual_coef_)))
        coef = self.dual_coef_[:, self.support_].T
        size = max(1, int(_BLOCK_BYTES / (8 * max(1, len(self.support_)))))
        for rows in validation.blocks(n, size):
            if self.X_fit_ is None:
                k_star = inputs[rows][:, self.support_]
            else:
                k_star = kernels.evaluate(self.kernel_, inputs[rows], self.X_fit_[self.support_])
            values[rows] = k_star @ coef
        values += self.intercept_
        return values
