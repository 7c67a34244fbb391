"""Classifiers under another density of the weight vectors: weighted draws of a fitted one."""

from __future__ import annotations

import copy
import inspect
import pickle
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils import estimator_html_repr, get_tags
from sklearn.utils.validation import check_is_fitted

from bayespoint.base import validation
from bayespoint.base.io import Savable
from bayespoint.base.report import as_html
from bayespoint.base.validation import Floats, RandomState
from bayespoint.estimators.predictions import PredictionMixin
from bayespoint.estimators.progress import CallbackSupportMixin, handed_on, with_callbacks
from bayespoint.estimators.rollback import all_or_nothing
from bayespoint.posterior import predictive
from bayespoint.version_space import VersionSpace

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["WeightedClassifier"]


class WeightedClassifier(
    Savable,
    CallbackSupportMixin,  # type: ignore[misc]
    PredictionMixin,
    ClassifierMixin,  # type: ignore[misc]
    BaseEstimator,  # type: ignore[misc]
):
    """A Bayes point classifier under another density of the weight vectors' directions.

    :meth:`BayesPointClassifier.reweight` makes one of a fitted classifier, without another fit. By
    itself it is an estimator as any: `fit` fits the classifier and weights its draws. The lengths
    of the weight vectors keep their law, and there is no calibration: the decision values are those
    of the model.

    Parameters
    ----------
    estimator : BayesPointClassifier or None, default=None
        The classifier. None is one with default settings.
    weight : callable or None, default=None
        The density relative to the posterior of the fit, up to a factor: it gets the margins of all
        draws in an array of shape (n, n_samples) and returns n weights, as for
        :meth:`BayesPointClassifier.reweight`. None: all weigh the same.
    log : bool, default=False
        `weight` returns natural logarithms of the weights instead.
    random_state : None, int, Generator or RandomState, default=None
        Seed of the fit. None: that of the estimator.

    Attributes
    ----------
    estimator_ : BayesPointClassifier
        The fitted classifier.
    classes_ : ndarray of shape (n_classes,)
        Class labels, sorted.
    dual_coef_ : ndarray of shape (1, n_samples) or (n_classes, n_samples)
        Dual coefficients of the weighted centers.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        Their intercepts.
    weighted_ : WeightedResult or list of WeightedResult
        The weighted draws; one for each class if there are more than two.
    label_noise_ : tuple of two floats
        Label noise of the first and of the second class.
    n_features_in_ : int
        Number of features seen in fit.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, if all are strings.

    Warns
    -----
    ConvergenceWarning
        As :meth:`BayesPointClassifier.fit` and :meth:`BayesPointClassifier.reweight`.

    Notes
    -----
    A fitted one can be pickled and saved whatever its `weight` is: predictions do not need it. A
    function that pickle cannot store, such as a lambda, and in files of `save` any function, is
    left out, and another fit asks for it.

    Examples
    --------
    >>> import numpy as np
    >>> from bayespoint import BayesPointClassifier, WeightedClassifier
    >>> X = np.random.default_rng(0).normal(size=(40, 2))
    >>> model = WeightedClassifier(
    ...     BayesPointClassifier(random_state=0), lambda margins: np.log(margins).sum(axis=1) / 10,
    ...     log=True,
    ... )
    >>> model.fit(X, X[:, 0] > X[:, 1]).predict([[0.0, 1.0], [1.0, 0.0]])
    array([False,  True])
    """

    estimator_: Any
    classes_: NDArray[Any]
    dual_coef_: Floats
    intercept_: Floats
    weighted_: Any
    label_noise_: tuple[float, float]
    _posterior: predictive.Posterior

    def __init__(
        self,
        estimator: Any = None,
        weight: Callable[[Floats], ArrayLike] | None = None,
        *,
        log: bool = False,
        random_state: RandomState = None,
    ) -> None:
        self.estimator = estimator
        self.weight = weight
        self.log = log
        self.random_state = random_state

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        if "weighted_" in vars(self):
            return f"<WeightedClassifier: {self.weighted_!r}>"
        return str(super().__repr__(N_CHAR_MAX))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags = get_tags(self._unfitted()).input_tags
        return tags

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = super().__getstate__()
        if "weighted_" in state and not _can_be_stored(state.get("weight")):
            state = {**state, "weight": _Forgotten(repr(state["weight"]))}
        return state

    def _stored(self) -> dict[str, Any]:
        """Return what `save` writes: files hold no functions, and predictions need none."""
        state = dict(vars(self))
        if "weighted_" in state and inspect.isroutine(state["weight"]):
            state["weight"] = _Forgotten(repr(state["weight"]))
        return state

    def __deepcopy__(self, memo: dict[int, Any]) -> WeightedClassifier:
        copied = type(self).__new__(type(self))
        memo[id(self)] = copied
        copied.__dict__.update(copy.deepcopy(self.__dict__, memo))
        return copied

    @all_or_nothing
    @with_callbacks  # type: ignore[untyped-decorator]
    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Fit the classifier and weight its draws.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Inputs, as for :meth:`BayesPointClassifier.fit`.
        y : array-like of shape (n_samples,)
            Class labels of any type.

        Returns
        -------
        WeightedClassifier
            The estimator itself.

        Raises
        ------
        TypeError
            If `estimator` is no BayesPointClassifier, or `weight` is neither None nor callable.
        Exception
            As :meth:`BayesPointClassifier.fit` and :meth:`BayesPointClassifier.reweight`.
        """
        inner = self._unfitted()
        if not isinstance(inner, ClassifierWeightingMixin):
            raise TypeError(f"estimator must be a BayesPointClassifier or None; got {inner!r}")
        if self.weight is not None and not callable(self.weight):
            raise TypeError(f"weight must be None or a callable; got {self.weight!r}")
        if isinstance(self.weight, _Forgotten):
            self.weight.refuse()
        fresh: Any = clone(inner)
        if self.random_state is not None:
            fresh.set_params(random_state=self.random_state)
        with handed_on(self, fresh, X, y):
            fresh.fit(X, y)
            self._take(fresh)
        return self

    def _unfitted(self) -> Any:
        if self.estimator is not None:
            return self.estimator
        from bayespoint.estimators.bayes_point import (
            BayesPointClassifier,  # which imports this module
        )

        return BayesPointClassifier()

    def _take(self, fitted: Any) -> Self:
        """Weight the draws of a fitted classifier."""
        posterior = fitted._posterior()
        spaces = fitted._fitted_spaces("reweight")
        log = validation.boolean("log", self.log)
        weight, log = (_even, False) if self.weight is None else (self.weight, log)
        found = [
            space.reweight(result, weight, log=log)
            for space, result in zip(spaces, posterior.results, strict=True)
        ]
        results = [
            replace(result, center=one.center, center_norm=one.center_norm)
            for result, one in zip(posterior.results, found, strict=True)
        ]
        self.estimator_ = fitted
        self.classes_, self.label_noise_ = fitted.classes_, fitted.label_noise_
        self.dual_coef_ = np.stack([one.center for one in found])
        self.intercept_ = fitted._offset * self.dual_coef_.sum(axis=1)
        self.weighted_ = found[0] if len(self.classes_) == 2 else found
        self._posterior = replace(
            posterior,
            results=results,
            weights=[one.weights.ravel() for one in found],
            calibration=np.ones(len(found)),
        )
        return self

    @property
    def n_features_in_(self) -> int:
        """Number of features seen in fit."""
        return int(self._fitted_attribute("n_features_in_"))

    @property
    def feature_names_in_(self) -> NDArray[Any]:
        """Names of the features seen in fit, if all are strings."""
        names: NDArray[Any] = self._fitted_attribute("feature_names_in_")
        return names

    def _fitted_attribute(self, name: str) -> Any:
        if "estimator_" not in vars(self):
            raise AttributeError(f"a WeightedClassifier has {name} after fit")
        return getattr(self.estimator_, name)

    def _checked_inputs(self, X: ArrayLike) -> NDArray[Any]:
        inputs: NDArray[Any] = self.estimator_._checked_inputs(X)
        return inputs

    def _repr_html_(self) -> str:
        if "weighted_" not in vars(self):
            return str(estimator_html_repr(self))
        if not isinstance(self.weighted_, list):
            return as_html("Weighted classifier", self.weighted_._rows())
        return "".join(
            as_html(f"Weighted classifier, class {label}", one._rows())
            for label, one in zip(self.classes_, self.weighted_, strict=True)
        )

    def _predictor(self) -> predictive.Posterior:
        check_is_fitted(self)
        return self._posterior

    def predict(
        self, X: ArrayLike, *, method: str = "center", diag: ArrayLike | None = None
    ) -> NDArray[Any]:
        """Return the class the weighted center predicts, or the weighted vote.

        Parameters
        ----------
        X, diag
            As for :meth:`BayesPointClassifier.predict`.
        method : {"center", "vote"}, default="center"
            "center": the weighted center decides. "vote": the weighted majority of the draws.

        Returns
        -------
        ndarray of shape (n_samples,)
            Labels. A tie goes to the first class.

        Raises
        ------
        ValueError
            As :meth:`BayesPointClassifier.predict`.
        """
        method = validation.choice("method", method, ("center", "vote"))
        return self._predicted(X, method, diag)


def _even(margins: Floats) -> Floats:
    """Weigh all draws the same."""
    return np.ones(len(margins))


def _can_be_stored(weight: object) -> bool:
    try:
        pickle.dumps(weight)
    except (pickle.PicklingError, AttributeError, TypeError):
        return False
    return True


@dataclass(frozen=True)
class _Forgotten:
    """What stands in a stored classifier for a weight function that could not be stored."""

    name: str

    def __call__(self, margins: Floats) -> Floats:
        self.refuse()

    def refuse(self) -> NoReturn:
        raise ValueError(
            f"weight was {self.name}, which could not be stored with the fitted classifier: set it "
            "again with set_params(weight=...) before another fit"
        )


class ClassifierWeightingMixin:
    """The method of a classifier that weights draws."""

    classes_: NDArray[Any]
    label_noise_: tuple[float, float]
    _offset: float

    def _posterior(self) -> predictive.Posterior:
        raise NotImplementedError

    def _fitted_spaces(self, question: str) -> Sequence[VersionSpace]:
        raise NotImplementedError

    def reweight(
        self, weight: Callable[[Floats], ArrayLike], *, log: bool = False
    ) -> WeightedClassifier:
        """Return a classifier for another density of the weight vectors' directions.

        Parameters
        ----------
        weight : callable
            The density relative to the posterior of the fit, up to a factor, as for
            :meth:`VersionSpace.reweight`: it gets the margins of all draws in an array of shape
            (n, n_samples), in the order of the training examples and with offset and softness as
            in `VersionSpace.margins`, and returns n weights. With more than two classes it is
            called once for each class against the rest.
        log : bool, default=False
            `weight` returns natural logarithms of the weights instead.

        Returns
        -------
        WeightedClassifier
            Predictions from the weighted draws. The fitted classifier stays as it is.

        Raises
        ------
        TypeError, ValueError
            As :meth:`VersionSpace.reweight`, and with kernel="precomputed" and a matrix that is
            singular even with the softness: it is not kept.

        Warns
        -----
        ConvergenceWarning
            If the effective sample size of the weights is below 50, or below half of the draws.

        Examples
        --------
        >>> import numpy as np
        >>> from bayespoint import BayesPointClassifier
        >>> X = np.random.default_rng(0).normal(size=(40, 2))
        >>> model = BayesPointClassifier(random_state=0).fit(X, X[:, 0] > X[:, 1])
        >>> cautious = model.reweight(lambda margins: np.log(margins).sum(axis=1) / 10, log=True)
        >>> cautious.predict([[0.0, 1.0], [1.0, 0.0]])
        array([False,  True])
        """
        if not callable(weight):
            raise TypeError(f"weight must be a callable; got {weight!r}")
        return WeightedClassifier(self, weight, log=log)._take(self)
