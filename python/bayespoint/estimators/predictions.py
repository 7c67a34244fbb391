"""What classifiers predict from draws: decision values, classes and probabilities; a mixin."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.metadata_routing import UNUSED

from bayespoint.base import validation
from bayespoint.base.validation import Floats, RandomState
from bayespoint.posterior import predictive


class PredictionMixin:
    """The predictions of a classifier that has draws and their center."""

    # `method` and `diag` are choices of the caller, not metadata to be routed.
    __metadata_request__predict = {"method": UNUSED, "diag": UNUSED}  # noqa: RUF012
    __metadata_request__decision_function = {"diag": UNUSED}  # noqa: RUF012
    __metadata_request__predict_proba = {"method": UNUSED, "diag": UNUSED}  # noqa: RUF012
    __metadata_request__predict_log_proba = {"method": UNUSED, "diag": UNUSED}  # noqa: RUF012

    classes_: NDArray[Any]
    label_noise_: tuple[float, float]
    random_state: RandomState

    def _predictor(self) -> predictive.Posterior:
        """Return what predicts, or raise NotFittedError."""
        raise NotImplementedError

    def _checked_inputs(self, X: ArrayLike) -> NDArray[Any]:
        raise NotImplementedError

    def decision_function(self, X: ArrayLike, *, diag: ArrayLike | None = None) -> Floats:
        r"""Return :math:`z(x)`, the predictive mean over its standard deviation.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Inputs; with kernel="precomputed" the (n_samples, n_train) kernel values between them
            and the training examples.
        diag : array-like of shape (n_samples,), default=None
            With kernel="precomputed": the values ``k(x, x)``. They may be left out if the
            training matrix has a constant diagonal: then that value is assumed.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            For two classes, positive where the center predicts the second class; otherwise
            one column for each class against the rest. :math:`\Phi(z)` is the probability
            before label noise.

        Raises
        ------
        ValueError
            If `diag` is needed and missing, or inputs are so large that kernel values or values of
            f overflow, or so small that k(x, x) vanishes beside kernel values that do not.
        """
        columns = self._predictor().evaluate(self._checked_inputs(X), diag)
        return columns[:, 0] if len(self.classes_) == 2 else columns

    def predict_proba(
        self, X: ArrayLike, *, method: str = "moments", diag: ArrayLike | None = None
    ) -> Floats:
        r"""Return the probability of observing each class label.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Inputs; with kernel="precomputed" the (n_samples, n_train) kernel values between them
            and the training examples.
        method : {"moments", "mixture"}, default="moments"
            "moments": :math:`\Phi(z)` with z the decision function, so both rank points alike.
            "mixture": the mean over draws of the exact probability given each draw.
        diag : array-like of shape (n_samples,), default=None
            As for `decision_function`.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            In the order of `classes_`. Label noise is included. With more than two classes the
            probabilities of the binary problems are scaled to sum to 1.

        Raises
        ------
        ValueError
            As `decision_function`.
        """
        return np.asarray(np.exp(self.predict_log_proba(X, method=method, diag=diag)))

    def predict_log_proba(
        self, X: ArrayLike, *, method: str = "moments", diag: ArrayLike | None = None
    ) -> Floats:
        """Return the logarithm of `predict_proba`, accurate for tiny probabilities too.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            As for `predict_proba`.
        method : {"moments", "mixture"}, default="moments"
            As for `predict_proba`.
        diag : array-like of shape (n_samples,), default=None
            As for `decision_function`.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            In the order of `classes_`.

        Raises
        ------
        ValueError
            As `decision_function`.
        """
        method = validation.choice("method", method, ("moments", "mixture"))
        return self._predictor().log_probabilities(
            self._checked_inputs(X), diag, self.label_noise_, mixture=method == "mixture"
        )

    def _predicted(self, X: ArrayLike, method: str, diag: ArrayLike | None) -> NDArray[Any]:
        """Return classes as the center, the vote or one draw ("gibbs") decides."""
        posterior = self._predictor()
        inputs = self._checked_inputs(X)
        two = len(self.classes_) == 2
        if method == "center" and two:
            index = posterior.is_positive(inputs).astype(np.intp)
        else:
            if method == "center":
                values = posterior.evaluate(inputs, diag, strict=False)
            elif method == "vote":
                values = posterior.votes(inputs)
            else:
                rng = np.random.default_rng(validation.seed(self.random_state))
                values = posterior.gibbs(inputs, diag, rng)
            index = (values[:, 0] > 0).astype(np.intp) if two else values.argmax(axis=1)
        predicted: NDArray[Any] = self.classes_[index]
        return predicted
