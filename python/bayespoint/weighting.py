"""Posteriors that are not uniform on version space: weighted draws.

A billiard fills version space uniformly. Where the posterior has another density, draws of the
billiard count with that density as their weight (Ruján and Marchand, Section 18.2): importance
sampling, as good as the weights are even.
"""

from __future__ import annotations

import copy
import inspect
import math
import pickle
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import estimator_html_repr, get_tags
from sklearn.utils.metadata_routing import UNUSED
from sklearn.utils.validation import check_is_fitted

from bayespoint import _validation, predictive
from bayespoint._persistence import Savable
from bayespoint._progress import CallbackSupportMixin, handed_on, with_callbacks
from bayespoint._summary import as_html, as_text
from bayespoint._validation import Floats, RandomState
from bayespoint.results import BilliardResult

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["WeightedClassifier", "WeightedResult"]

MIN_ESS = 50.0
"""Weights worth fewer independent draws bring a warning, or fewer than half of few draws."""

_BATCHES = 10  # of each trajectory at most, for the error of the center
_IN_A_BATCH = 10  # draws at least


@dataclass(frozen=True, eq=False, repr=False)
class WeightedResult(Savable):
    """The center of mass of a density on version space, from weighted draws.

    ``m`` is the number of examples. A weight vector is given by its signed dual coefficients.
    """

    center: Floats
    """(m,) Dual coefficients of the center of mass, scaled to a unit vector."""

    center_norm: float
    """Length of the weighted mean of the unit weight vectors, in (0, 1]."""

    center_error: float
    """Estimated angle between `center` and the exact center of mass, in radians, from the spread of
    trajectories or of batches of them, whichever says more. NaN for a single batch."""

    weights: Floats
    """(n_trajectories, n_draws) Weights of the draws, of sum 1."""

    log_mean_weight: float
    """ln of the mean weight as it was given: of the factor by which the density changes the
    probability of the labels, if the run had that of the prior."""

    ess: float
    """Effective sample size of the weights, ``1 / sum(weights**2)``, from 1 to the number of
    draws: that of the draws themselves, which are correlated, is `BilliardResult.ess`."""

    max_share: float
    """The largest of the `weights`."""

    def complaints(self) -> list[str]:
        """Return what makes the weighted draws a poor sample, if anything does."""
        n = self.weights.size
        if self.ess >= min(MIN_ESS, n / 2):
            return []
        return [
            f"the weights are worth {self.ess:.3g} of {n} draws, the largest has a share of "
            f"{self.max_share:.2g}: the density is too far from the one sampled; more draws help "
            "if it is not far too far"
        ]

    def _rows(self) -> list[tuple[str, str]]:
        n_trajectories, n_draws = self.weights.shape
        return [
            ("examples", f"{len(self.center)}"),
            ("draws", f"{n_trajectories} x {n_draws}"),
            ("effective draws", f"{self.ess:.4g}, by the weights alone"),
            ("largest share", f"{self.max_share:.3g}"),
            ("ln of the mean weight", f"{self.log_mean_weight:.6g}"),
            ("center error", f"{self.center_error:.2g} rad (estimated)"),
            ("length of the mean", f"{self.center_norm:.4g}"),
        ]

    def summary(self) -> str:
        """Return the main figures as text, one to a line."""
        return as_text("Weighted draws", self._rows())

    def __repr__(self) -> str:
        return (
            f"<WeightedResult: m={len(self.center)}, {self.ess:.4g} of {self.weights.size} draws, "
            f"center_error={self.center_error:.2g} rad>"
        )

    def _repr_html_(self) -> str:
        return as_html("Weighted draws", self._rows())


class WeightingMixin:
    """The method of a version space that weights draws."""

    y: NDArray[np.int8]

    def margins(self, dual_coef: ArrayLike) -> Floats:
        raise NotImplementedError

    def reweight(
        self, result: BilliardResult, weight: Callable[[Floats], ArrayLike], *, log: bool = False
    ) -> WeightedResult:
        r"""Return the center of mass of a density on version space, from a run's draws.

        Parameters
        ----------
        result : BilliardResult
            A run of `sample` in this version space.
        weight : callable
            The density, up to a factor, relative to the law of the run (uniform behind opaque
            walls): called once with the margins :math:`y_i \langle w, \phi_i \rangle` of all
            draws, unit vectors, as an array of shape (n, m), it returns n weights, finite and at
            least 0, not all of them 0. `margins` says what the margins are.
        log : bool, default=False
            `weight` returns natural logarithms of the weights instead, -inf for 0: products over
            many examples do not underflow.

        Returns
        -------
        WeightedResult
            The center, the weights and how much they are worth.

        Raises
        ------
        TypeError
            If `result` is no `BilliardResult`, `weight` cannot be called, or it returns anything
            but real numbers.
        ValueError
            If `result` is of another number of examples, or if the weights have the wrong shape,
            are negative, infinite or NaN, or all zero, or balance to a mean without direction.

        Warns
        -----
        ConvergenceWarning
            If the effective sample size of the weights is below 50, or below half of the draws.

        Notes
        -----
        Ruján and Marchand (2000, Section 18.2) average the points of the trajectory with weights
        in proportion to the posterior. The weights estimate a ratio of two means, whose bias falls
        with the number of draws while they are not too uneven: that is what `ess` tells.

        Examples
        --------
        Weights by the power of the first margin draw the center away from its plane:

        >>> import numpy as np
        >>> from bayespoint import VersionSpace
        >>> space = VersionSpace(np.eye(2), [1, -1])
        >>> run = space.sample(length=2000.0, n_draws=500, random_state=0)
        >>> found = space.reweight(run, lambda margins: margins[:, 0] ** 3)
        >>> found.center.round(1)
        array([ 0.9, -0.4])
        """
        if not isinstance(result, BilliardResult):
            raise TypeError(f"result must be a BilliardResult; got a {type(result).__name__}")
        n_trajectories, n_draws, m = result.draws.shape
        if m != len(self.y):
            raise ValueError(f"result must be of {len(self.y)} examples; got one of {m}")
        if not callable(weight):
            raise TypeError(f"weight must be a callable; got {weight!r}")
        log = _validation.boolean("log", log)
        draws = result.draws.reshape(-1, m)
        values = _validation.weights("weight", weight(self.margins(draws)), len(draws), log=log)
        if not log:
            with np.errstate(divide="ignore"):
                values = np.log(values)
        total = float(special.logsumexp(values))
        shares = np.exp(values - total)
        batches = min(_BATCHES, max(1, n_draws // _IN_A_BATCH))
        center, norm, error = self._weighted_center(
            draws, shares, (n_trajectories, n_trajectories * batches)
        )
        found = WeightedResult(
            center=center,
            center_norm=norm,
            center_error=error,
            weights=shares.reshape(n_trajectories, n_draws),
            log_mean_weight=total - math.log(len(draws)),
            ess=float(1 / (shares @ shares)),
            max_share=float(shares.max()),
        )
        for message in found.complaints():
            warnings.warn(message, ConvergenceWarning, stacklevel=2)
        return found

    def _weighted_center(
        self, draws: Floats, shares: Floats, partitions: tuple[int, ...]
    ) -> tuple[Floats, float, float]:
        """Return the center, the length of the mean and the error of the direction.

        Of the errors by so many pieces of the draws the largest counts: batches see too little
        where a trajectory remembers longer than a batch.
        """
        mean = shares @ draws
        squared = float(mean @ (self.margins(mean) * self.y))
        if not squared > 0:
            raise ValueError("weight must leave a mean direction; the weighted draws balance to 0")
        errors = [self._error(draws, shares, mean, squared, n) for n in partitions]
        norm = math.sqrt(squared)
        return mean / norm, norm, float(np.fmax.reduce(errors))

    def _error(
        self, draws: Floats, shares: Floats, mean: Floats, squared: float, n_pieces: int
    ) -> float:
        """Return the standard error of the direction of a mean of that squared length."""
        if n_pieces == 1:
            return math.nan
        # The mean is a ratio of two sums over draws: this is what a piece adds to both, to first
        # order, and as far as it turns the direction.
        pieces = np.array_split(np.arange(len(draws)), n_pieces)
        parts = np.stack([shares[rows] @ (draws[rows] - mean) for rows in pieces])
        images = self.margins(parts) * self.y
        along = images @ mean
        across = np.einsum("ij,ij->i", parts, images) - along**2 / squared
        variance = max(0.0, float(across.sum())) * n_pieces / (n_pieces - 1)
        return math.sqrt(variance / squared)


class WeightedClassifier(
    Savable,
    CallbackSupportMixin,  # type: ignore[misc]
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

    # As those of the classifier: choices of the caller, not metadata to be routed.
    __metadata_request__predict = {"method": UNUSED, "diag": UNUSED}  # noqa: RUF012
    __metadata_request__decision_function = {"diag": UNUSED}  # noqa: RUF012
    __metadata_request__predict_proba = {"method": UNUSED, "diag": UNUSED}  # noqa: RUF012
    __metadata_request__predict_log_proba = {"method": UNUSED, "diag": UNUSED}  # noqa: RUF012

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
        from bayespoint.classifier import BayesPointClassifier  # which imports this module

        return BayesPointClassifier()

    def _take(self, fitted: Any) -> Self:
        """Weight the draws of a fitted classifier."""
        posterior = fitted._posterior()
        spaces = fitted._fitted_spaces("reweight")
        log = _validation.boolean("log", self.log)
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
        check_is_fitted(self)
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

    def decision_function(self, X: ArrayLike, *, diag: ArrayLike | None = None) -> Floats:
        r"""Return :math:`z(x)`, the weighted predictive mean over its standard deviation.

        Parameters
        ----------
        X, diag
            As for :meth:`BayesPointClassifier.decision_function`.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            Also as there.

        Raises
        ------
        ValueError
            If `diag` is needed and missing.
        """
        inputs = self._checked_inputs(X)
        columns = self._posterior.evaluate(inputs, diag)
        return columns[:, 0] if len(self.classes_) == 2 else columns

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
        """
        method = _validation.choice("method", method, ("center", "vote"))
        inputs = self._checked_inputs(X)
        two = len(self.classes_) == 2
        if method == "center" and two:
            index = self._posterior.is_positive(inputs).astype(np.intp)
        else:
            if method == "vote":
                values = self._posterior.votes(inputs)
            else:
                values = self._posterior.evaluate(inputs, diag, strict=False)
            index = (values[:, 0] > 0).astype(np.intp) if two else values.argmax(axis=1)
        predicted: NDArray[Any] = self.classes_[index]
        return predicted

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
        ndarray of shape (n_samples, n_classes)
            In the order of `classes_`. Label noise is included.

        Raises
        ------
        ValueError
            If `diag` is needed and missing.
        """
        return np.asarray(np.exp(self.predict_log_proba(X, method=method, diag=diag)))

    def predict_log_proba(
        self, X: ArrayLike, *, method: str = "moments", diag: ArrayLike | None = None
    ) -> Floats:
        """Return the logarithm of `predict_proba`, accurate for tiny probabilities too.

        Parameters
        ----------
        X, method, diag
            As for :meth:`BayesPointClassifier.predict_proba`.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            In the order of `classes_`.
        """
        method = _validation.choice("method", method, ("moments", "mixture"))
        inputs = self._checked_inputs(X)
        return self._posterior.log_probabilities(
            inputs, diag, self.label_noise_, mixture=method == "mixture"
        )


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

    def _fitted_spaces(self, question: str) -> Sequence[WeightingMixin]:
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
