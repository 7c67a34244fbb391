"""The Bayes point classifier of ordered classes."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from bayespoint.base import validation
from bayespoint.base.validation import Array, Floats, RandomState, choice
from bayespoint.data.plan import Budget, Given
from bayespoint.estimators.bayes_point import BayesPointClassifier
from bayespoint.labels.labels import RULES
from bayespoint.labels.laws import quantiles
from bayespoint.posterior.mixture import Mixture


@dataclass(eq=False, repr=False)
class BayesPointOrdinalClassifier(BayesPointClassifier):
    r"""Gaussian process classification of ordered classes, such as grades, stages or ratings.

    One latent function with noise lies between thresholds, which are sampled with it: a label is
    its place among them (:doc:`/guide/ordered`). All else is as in :class:`BayesPointClassifier`.

    Parameters
    ----------
    kernel : None, str, kernel object or callable, default=None
        As for :class:`BayesPointClassifier`, and so are all others without a text here.
    classes : array-like of shape (n_classes,), default=None
        The labels from the lowest to the highest. Those that do not occur in `y` are left out.
        None: the order of an ordered category of pandas, or of numbers.
    decision : {"probability", "median", "mean"}, default="probability"
        The class that is predicted. "probability": the most probable one. "median": the one with
        the least expected distance, counted in classes. "mean": squared distance.
    categorical_features, standardize, softness
        As there.
    label_noise : float or None, default=0.0
        Probability in [0, 0.5) that a label was replaced by any other alike. None: found.
    class_weight, calibration, n_models
        As there; with as many models as for two classes.
    approximation, n_components, fit_intercept, n_trajectories, n_draws, tol
        As there; over landmarks thresholds are sampled with the functions, too.
    max_iter, max_time, n_jobs, random_state, verbose
        As there.

    Attributes
    ----------
    classes_, levels_ : ndarray of shape (n_classes,)
        Labels as they sort, which is the order of columns, and from the lowest to the highest.
    posterior_ : Mixture
        The models. All other attributes are those of :class:`BayesPointClassifier`.

    See Also
    --------
    BayesPointClassifier : Classes in no order.

    Notes
    -----
    The draws of `sample_functions` are values of the function minus each threshold, shape
    (n_classes - 1, n_draws_total, n_samples), and `suggest_query` returns points about which the
    draws disagree most on which side of a threshold they are. The export to ONNX raises ValueError.

    References
    ----------
    W. Chu and Z. Ghahramani, "Gaussian Processes for Ordinal Regression", Journal of Machine
    Learning Research 6, 2005.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.linspace(0, 1, 60)[:, None]
    >>> y = np.repeat(["low", "medium", "high"], 20)
    >>> model = BayesPointOrdinalClassifier(classes=["low", "medium", "high"], random_state=0)
    >>> model.fit(X, y).predict([[0.1], [0.5], [0.9]])
    array(['low', 'medium', 'high'], dtype='<U6')
    >>> model.classes_
    array(['high', 'low', 'medium'], dtype='<U6')
    """

    _: KW_ONLY
    classes: ArrayLike | None = None
    decision: str = "probability"

    def _settings(self, random_state: RandomState) -> tuple[Given, Budget]:
        given, budget = super()._settings(random_state)
        rule = choice("decision", self.decision, RULES)
        return replace(given, rule=rule, order=self.classes), budget

    @property
    def levels_(self) -> Array:
        """Labels from the lowest to the highest."""
        return self._mixture.classes

    @property
    def classes_(self) -> Array:
        """Class labels, sorted."""
        return np.sort(self.levels_)

    def _by_class(self, values: Any, levels: Array | None = None) -> Any:
        return values[..., np.argsort(self.levels_ if levels is None else levels)]

    def decision_function(self, X: ArrayLike, *, diag: ArrayLike | None = None) -> Floats:
        r"""Return the decision values: quantiles of the normal distribution.

        Parameters
        ----------
        X, diag
            As for :meth:`BayesPointClassifier.decision_function`, with its errors.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            A column for each class or, for two, positive for the second: :math:`\Phi(z)` is its
            probability before label noise, with class weights.
        """
        columns = self._by_class(self._answer(_of_classes, X, diag))
        return columns[:, 1] if columns.shape[1] == 2 else columns

    def score(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Return the share of labels that are predicted, also of those with fractions.

        Parameters
        ----------
        X, y : array-likes of shapes (n_samples, n_features) and (n_samples,)
            Points and their labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the points.

        Returns
        -------
        float
            In [0, 1].

        Raises
        ------
        ValueError
            If `y` or `sample_weight` does not fit `X`.
        """
        predicted, labels = self.predict(X), validation.labels("y", y)
        if labels.shape != predicted.shape:
            raise ValueError(
                f"y must hold a label for each of {len(predicted)} rows of X; got shape "
                f"{labels.shape}"
            )
        validation.require_labels(labels)
        weight = np.ones(len(labels))
        if sample_weight is not None:
            weight = validation.sample_weight(sample_weight, len(labels))
        if not weight.any():
            raise ValueError("sample_weight must not be zero for all points; got zeros")
        return float(np.average(predicted == labels, weights=weight / weight.max()))


def _of_classes(mixture: Mixture, X: Any, *, diag: Any) -> Floats:
    """Return the quantiles at the probabilities of the levels."""
    values = mixture.decision_function(X, diag=diag)
    log_p = mixture.first.labels.log_classes(values.reshape(len(values), -1))
    return quantiles(log_p.T).T
