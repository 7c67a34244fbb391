"""The Bayes point classifier of ordered classes."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, replace

from numpy.typing import ArrayLike

from bayespoint.base.validation import RandomState, choice
from bayespoint.data.plan import Budget, Given
from bayespoint.estimators.bayes_point import BayesPointClassifier
from bayespoint.labels.labels import RULES


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
    classes_ : ndarray of shape (n_classes,)
        Labels from the lowest to the highest.
    posterior_ : Mixture
        The models. All other attributes are those of :class:`BayesPointClassifier`.

    See Also
    --------
    BayesPointClassifier : Classes in no order.

    Notes
    -----
    `decision_function` has a column for each class but the first: :math:`\Phi(z)` is the
    probability of this class or a higher one, before label noise. The draws of `sample_functions`
    are values of the function minus each threshold, shape (n_classes - 1, n_draws_total,
    n_samples), and `suggest_query` returns points about which the draws disagree most on which side
    of a threshold they are. The export to ONNX raises ValueError.

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
    """

    _: KW_ONLY
    classes: ArrayLike | None = None
    decision: str = "probability"

    def _settings(self, random_state: RandomState, began: float) -> tuple[Given, Budget]:
        given, budget = super()._settings(random_state, began)
        rule = choice("decision", self.decision, RULES)
        return replace(given, rule=rule, order=self.classes), budget
