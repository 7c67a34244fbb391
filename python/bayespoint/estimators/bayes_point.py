"""The Bayes point classifier."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass, field, replace
from functools import partial
from typing import Any, Self, overload

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from sklearn.base import ClassifierMixin
from sklearn.utils.metadata_routing import UNUSED

from bayespoint import kernels
from bayespoint.base import validation
from bayespoint.base.validation import Array, Flags, Floats, Indices, RandomState
from bayespoint.data.blocks import in_blocks, map_blocks
from bayespoint.data.plan import Budget, Given, Plan
from bayespoint.engine.interior import advising
from bayespoint.estimators import inputs, reading, settings
from bayespoint.estimators.base import ADVICE, Estimator, of_posterior
from bayespoint.estimators.progress import CallbackSupportMixin, Progress, with_callbacks
from bayespoint.kernels.products import count
from bayespoint.posterior import Mixture, evidence, fitting, questions, several, updating
from bayespoint.results import Estimate, FeatureRelevance


@dataclass(eq=False, repr=False)
class BayesPointClassifier(
    CallbackSupportMixin,  # type: ignore[misc]
    ClassifierMixin,  # type: ignore[misc]
    Estimator,
):
    """Gaussian process classification with calibrated probabilities, sampled by a billiard.

    Given the hyperparameters the posterior of the latent function is sampled, beyond 6000 examples
    of functions spanned by landmarks. The hyperparameters come from an approximate evidence; up to
    500 examples predictions are averaged over settings. Several classes have a joint posterior.

    Parameters
    ----------
    kernel : None, str, kernel object or callable, default=None
        - None: the default (:doc:`/guide/models`), a sum of three kernels with weights of the
          features, beyond 100 two of them, averaged; for sparse `X` ``Scaled(Linear())``.
        - an object of :mod:`bayespoint.kernels` or :mod:`sklearn.gaussian_process.kernels`:
          parameters that are given are kept, those left out, as in ``RBF()``, are found.
        - "linear", "rbf", "poly": ``Linear()``, ``RBF()``, ``Polynomial()``.
        - "precomputed": `X` holds kernel values; a callable ``k(X, Y)`` returns their matrix.
    categorical_features : "from_dtype", None or array-like, default="from_dtype"
        "from_dtype": strings, categories and booleans of a frame are categories. None: no column
        is. Otherwise the names, places or a mask of the columns that are.
    standardize : bool, default=True
        Scale numbers to variance 1, dense ones centered, by default with a scale from the evidence.
    softness : float or None, default=None
        Variance of noise on the latent function. None: found. 0: examples must be separable.
    label_noise : float, pair of floats, None or (None, None), default=0.0
        Probability in [0, 0.5) that a label was flipped, or one for each class. None: found.
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes in the population to predict for, relative to the examples.
    calibration : {"auto", "leave-one-out"} or None, default="auto"
        "leave-one-out": multiply decision values by the factor in [1/8, 8] that fits leave-one-out
        predictions. "auto": if anything was found and the softness is positive, without landmarks.
    n_models : int or "auto", default="auto"
        Most settings of the hyperparameters to average; 1: the most probable one. "auto": up to 8
        (6 for more than two classes), 2 kernels beyond 100 features, and 1 for more than 500
        examples of fewer, with softness=0, landmarks or a kernel of up to four parameters.
    approximation : {"auto", "landmarks"} or None, default="auto"
        None: all kernel values, O(m^3) time and O(m^2) memory for m examples. "landmarks":
        functions in the span of some kernel functions, O(m). "auto": landmarks beyond 6000
        examples, and from 2000 on where they miss little, if softness, kernel and calibration
        allow them (:doc:`/guide/large-data`).
    n_components : int or "auto", default="auto"
        Number of landmarks. "auto": 250 to 2000, as many as gain enough.
    fit_intercept : bool, default=True
        Add 1 to all kernel values.
    n_trajectories, n_draws : int, default=4, "auto"
        Number of chains of a model, and of draws kept of each. "auto": 100, with n models 100 / n,
        but at least 100 in all chains of a model.
    tol : float or "auto", default="auto"
        Angular error of the Bayes point, in radians, at which the sampler may stop; of each of n
        models √n times that. See :ref:`how-exact`. Time is proportional to 1 / tol^2.
    max_iter : int, default=None
        Largest number of settings tried, none of them for a scale, and of bounces (None: 10 000
        000) or, with landmarks, steps (None: 100 000) of a chain.
    max_time : float, default=None
        Seconds for a fit, at most half for the search. The result then depends on the machine, and
        so does the default number of landmarks.
    n_jobs : int, default=None
        Number of threads. The result does not depend on it.
    random_state : None, int, Generator or RandomState, default=None
        Seed. None draws one from NumPy's global generator.
    verbose : int, default=0
        1: print a line after each part of a fit. 2: also progress bars. 3: also each setting tried.

    Attributes
    ----------
    posterior_ : Mixture
        The models and weights, which predict; `posterior_.seed_error` is the change by other seeds.
    models_, model_weights_ : tuple of Model, ndarray of shape (n_models,)
        The models that are averaged, those of large weights first, and their weights.
    classes_, class_weight_ : ndarray of shape (n_classes,)
        Class labels, sorted (of two, the second is the positive one), and their weights.
    feature_relevance_ : FeatureRelevance
        Posterior of the weights of the features, if the kernel has some.
    feature_importances_ : ndarray of shape (n_features,)
        How much of the variance of the latent function each column brings, alone or with others:
        total effects at training points, divided by their sum. Of dense vectors only.
    coef_ : ndarray of shape (1, n_features) or (n_classes, n_features)
        Of one model with a linear kernel: the weights of the center, of standardized inputs.
    kernel_, softness_, label_noise_, calibration_, tuning_
        Hyperparameters of the first model, its factor on values, and the `Search` or None.
    billiard_ : BilliardResult or LandmarkResult
        Draws of the first model and their diagnostics; with landmarks a `LandmarkResult`.
    dual_coef_, intercept_ : ndarrays of shape (1, n) and (1,), or (n_classes, n) and (n_classes,)
        Those of the unit Bayes point of the first model, or its mean function over landmarks.
    support_ : ndarray of shape (n_support,)
        Indices of the examples of which a wall was hit; not with landmarks.
    columns_ : Columns
        What became of each column of `X`; not for sparse `X` and inputs that are no vectors.
    X_fit_, scaler_
        Training inputs, or landmarks, as the kernel gets them, and what transforms inputs, a
        ``StandardScaler`` or with another scale of numbers `Warped`; None for kernel="precomputed".
    sample_indices_ : ndarray of shape (n,)
        Row of `X` in `fit` of each observation, which weights repeat; not for `X` in blocks.
    n_iter_ : int
        Bounces of the longest chain of the first model, or steps of each with landmarks.
    approximation_, seed_, n_features_in_, feature_names_in_
        "landmarks" or None; the seed; the number of features, and their names if all are strings.

    Warns
    -----
    ConvergenceWarning
        If a limit ended the search, or the draws are not to be trusted: :doc:`/guide/diagnostics`.

    References
    ----------
    R. Herbrich, T. Graepel and C. Campbell, "Bayes Point Machines", Journal of Machine Learning
    Research 1, 2001.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = BayesPointClassifier(random_state=0).fit(X[::2], y[::2])
    >>> model.predict(X[[1, 51, 101]])
    array([0, 1, 2])
    """

    # `method` and `diag` are options of the caller, not metadata to be routed.
    __metadata_request__predict = {"method": UNUSED, "diag": UNUSED}  # noqa: RUF012
    __metadata_request__decision_function = {"diag": UNUSED}  # noqa: RUF012
    __metadata_request__predict_proba = {"method": UNUSED, "diag": UNUSED}  # noqa: RUF012
    __metadata_request__predict_log_proba = {"method": UNUSED, "diag": UNUSED}  # noqa: RUF012

    _: KW_ONLY
    class_weight: Mapping[Any, float] | str | None = None
    calibration: str | None = "auto"
    fit_intercept: bool = True

    sample_indices_: Indices = field(init=False)
    class_weight_: Floats = field(init=False)

    def check_parts(self) -> None:
        """Raise ValueError if the indices of the examples are not those of a given matrix."""
        if "posterior_" in vars(self) and isinstance(self.kernel_, str):
            rows = self.sample_indices_
            if rows.min() < 0 or rows.max() >= self.n_features_in_:
                raise ValueError(f"it is of {self.n_features_in_} examples, without {rows.max()}")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inputs.mark(tags.input_tags, self.kernel)
        tags.input_tags.sparse |= self.kernel is None
        return tags

    def _settings(self, random_state: RandomState) -> tuple[Given, Budget]:
        """Return the checked parameters, and the budget of work that begins now."""
        return settings.check(
            self,
            random_state=random_state,
            fit_intercept=self.fit_intercept,
            calibration=self.calibration,
        )

    @with_callbacks  # type: ignore[untyped-decorator]
    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Find the Bayes point of the training examples.

        Parameters
        ----------
        X : array-like, frame, sparse matrix, Blocks or collection of Dask, (n_samples, n_features)
            Inputs; columns may hold numbers, strings, categories, booleans or dates, and lack
            values (:ref:`table-columns`). Kernels of `Linear`, `RBF` and `Polynomial` take sparse
            ones. With kernel="precomputed" the (n_samples, n_samples) kernel matrix, for a kernel
            of sets or strings a sequence of these. :class:`bayespoint.blocks.Blocks` and
            collections of Dask are never in memory as a whole (:doc:`/guide/large-data`).
        y : array-like of shape (n_samples,)
            Class labels of any type; for collections of Dask another one.
        sample_weight : array-like of shape (n_samples,), default=None
            Relative weights, 0 or more; None: equal ones. Only their ratios count: with those that
            are not 0 divided by their mean, the noise of a label has the variance ``softness / w``.
            A row of weight 0 is left out (:doc:`/guide/models`).

        Returns
        -------
        BayesPointClassifier
            The estimator itself.

        Raises
        ------
        InfeasibleError
            If `softness` and `label_noise` are 0 and the examples are not separable.
        FloatingPointError
            If double precision is not sufficient. A larger `softness` helps.
        MemoryError, TimeoutError
            If kernel values do not fit into memory; with softness=0, if `max_time` was over before
            a starting point was found.
        TypeError, ValueError
            If a setting is out of range, `X` or `y` is not valid data for classification, or the
            kernel does not take `X` (sparse, or not numbers); if a column of `X` holds text,
            infinity or values of several kinds; if `sample_weight` has another shape, is negative
            or, with softness=0, not equal for all rows, or leaves a class without examples.
        """
        given, budget = self._settings(self.random_state)
        table, shared = reading.read(self, X, y, sample_weight, given, budget)
        class_weight = settings.class_weight(self.class_weight, table.classes, table.totals)
        report = Progress(self, given.verbose, 1 + shared.plan.n_models, X=X, y=y)
        posterior = self._posterior(table, shared, budget, report, class_weight)
        self._publish(
            **table.seen,
            columns_=table.columns,
            sample_indices_=table.rows,
            posterior_=posterior,  # from which all other attributes follow
            class_weight_=self._by_class(class_weight, table.classes),
            seed_=budget.choice_seed,
        )
        report.done()
        return self

    # --- what was fitted ---------------------------------------------------------------------

    models_ = of_posterior("models", "The models that are averaged, those of large weights first.")
    model_weights_ = of_posterior("weights", "Their weights, with sum 1.")
    classes_ = of_posterior("classes", "Class labels, sorted.")
    dual_coef_ = of_posterior("dual_coef", "Dual coefficients of the first model's center.")
    intercept_ = of_posterior("intercept", "Intercepts of the first model's center.")
    kernel_ = of_posterior("first.hyper.kernel", "Kernel of the first model.")
    softness_ = of_posterior("first.hyper.softness", "Softness of the first model.")
    label_noise_ = of_posterior("first.hyper.label_noise", "Label noise of the first model.")
    tuning_ = of_posterior("first.hyper.search", "The search that found these, or None.")
    scaler_ = of_posterior("first.hyper.transform", "What standardizes inputs, or None.")
    calibration_ = of_posterior("first.calibration", "Factor on the first model's values.")
    X_fit_ = of_posterior("first.basis.points", "Training inputs or landmarks.")
    billiard_ = of_posterior("first.draws.run", "The draws of the first model.")

    @property
    def approximation_(self) -> str | None:
        """Whether functions are over "landmarks"; None for all kernel values."""
        return None if self._first.basis.is_all else "landmarks"

    @property
    def support_(self) -> Indices:
        """Indices of the examples of which the first model's billiard hit a wall."""
        if not self._first.basis.is_all:
            raise AttributeError("support_ is of a billiard over all examples, without landmarks")
        support = self.billiard_.support
        return support[support < len(self._first.basis)]  # not of thresholds

    @property
    def n_iter_(self) -> int:
        """Bounces of the longest chain of the first model, or steps of each with landmarks."""
        run = self.billiard_
        return int(run.bounces.max() if self._first.basis.is_all else run.n_steps)

    @property
    def feature_relevance_(self) -> FeatureRelevance:
        """Posterior mean and 90 % interval of each feature's weight; of one setting its weights."""
        relevance = self._mixture.feature_relevance(getattr(self, "feature_names_in_", None))
        if relevance is None:
            raise AttributeError(
                "feature_relevance_ needs a search of a kernel that has a weight for each feature: "
                "of the default kernel with 2 to 1000 columns"
            )
        return relevance

    @property
    def feature_importances_(self) -> Floats:
        """(n_features,) Effects of the columns on the latent function, of sum 1."""
        columns = getattr(self, "columns_", None)
        groups = range(self.n_features_in_) if columns is None else columns.groups
        importances = questions.feature_importances(self._mixture, groups)
        if importances is None:
            raise AttributeError("feature_importances_ needs a kernel of dense vectors")
        return importances

    @property
    def coef_(self) -> Floats:
        """(n_rows, n_features) Weights of the center of a linear kernel, of inputs as in `X_fit_`.

        There is a row for two classes, else one for each; `intercept_` belongs to them.
        """
        kernel, factor = self.kernel_, 1.0
        if isinstance(kernel, kernels.Scaled):
            kernel, factor = kernel.kernel, kernel.factor
        if not isinstance(kernel, kernels.Linear) or len(self.models_) > 1:
            raise AttributeError("coef_ needs one model with a linear kernel")
        return factor * np.asarray(self.dual_coef_ @ self.X_fit_)

    def _checked(self, X: ArrayLike) -> Array:
        columns = getattr(self, "columns_", None)
        if columns is not None and not (columns.plain and sparse.issparse(X)):
            return inputs.features(self, self.kernel_, columns, X)
        new = inputs.new(self, self.kernel_, X)
        if not isinstance(self.kernel_, str):
            return new
        rows = self.sample_indices_
        return new if np.array_equal(rows, np.arange(new.shape[1])) else new[:, rows]

    def _answer(
        self,
        ask: Callable[..., Any],
        X: Any,
        diag: Any,
        *,
        width: int | None = None,
        dtype: Any = np.float64,
    ) -> Any:
        """Return what the posterior says, for blocks of `width` columns, 0 for one dimension."""
        if not in_blocks(X):
            return ask(self._mixture, self._checked(X), diag=diag)
        if diag is not None:
            raise ValueError("diag must be None unless kernel='precomputed'")
        names = getattr(self, "feature_names_in_", None)
        width = len(self.classes_) if width is None else width
        return map_blocks(partial(_answer, self, ask), X, names, width, dtype)

    def _by_class(self, values: Any, levels: Array | None = None) -> Any:
        """Return columns of levels, those of the posterior by default, as `classes_` has them."""
        return values

    # --- predictions -------------------------------------------------------------------------

    def predict(
        self, X: ArrayLike, *, method: str = "center", diag: ArrayLike | None = None
    ) -> Array:
        """Return the predicted class: that of the Bayes point, of the vote of the draws or of one.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Inputs; with kernel="precomputed" the (n_samples, n_train) kernel values.
        method : {"center", "vote", "gibbs"}, default="center"
            "center": the class of the largest decision value. "vote": the majority of the draws,
            the Bayes classification strategy (Herbrich et al., Eq. 7), weighted by class. "gibbs":
            that of the largest decision value given a draw for all of `X`, by `random_state`.
        diag : array-like of shape (n_samples,), default=None
            As for `decision_function`, with more than two classes or class weights; not for "vote".

        Returns
        -------
        ndarray of shape (n_samples,)
            Predicted labels. A tie goes to the first class. Errors: `decision_function`.
        """
        ask = partial(Mixture.predict, method=method, random_state=self.random_state)
        return self._answer(ask, X, diag, width=0, dtype=self.classes_.dtype)

    def decision_function(self, X: ArrayLike, *, diag: ArrayLike | None = None) -> Floats:
        r"""Return the decision values: quantiles of the normal distribution.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            As for `predict`.
        diag : array-like of shape (n_samples,), default=None
            With kernel="precomputed": the values ``k(x, x)``. None takes the mean of the diagonal
            of the training matrix, with a UserWarning if that is not constant.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            A column for each class or, for two, positive for the second. :math:`\Phi(z)` is the
            probability before label noise (of several classes with calibration before these are
            scaled to sum to 1); of one model of two classes z is the mean of f over its deviation.
            Class weights multiply the odds of two classes by their ratio, p of others by w / max w.

        Raises
        ------
        ValueError
            If squares of the latent function overflow or underflow, above 1e140 or below 1e-140.
        """
        n = self._first.draws.n_rows
        return self._answer(Mixture.decision_function, X, diag, width=n if n > 1 else 0)

    def predict_proba(
        self, X: ArrayLike, *, method: str = "moments", diag: ArrayLike | None = None
    ) -> Floats:
        r"""Return the probability of observing each class label.

        Parameters
        ----------
        X, diag
            As for `decision_function`, with its errors.
        method : {"moments", "mixture"}, default="moments"
            "moments": :math:`\Phi(z)` with z the decision function, exact for a normal posterior.
            "mixture": the mean over draws of the exact probability given each, the posterior's own,
            in ten times the time. They differed by up to .015 on five tables, .17 where few noisy
            examples decide (:doc:`/theory`). For several classes the first is such a mean, too.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            In the order of `classes_`. Class weights, and after them label noise, are included.
        """
        ask = partial(Mixture.predict_proba, method=method)
        return self._by_class(self._answer(ask, X, diag))

    def predict_log_proba(
        self, X: ArrayLike, *, method: str = "moments", diag: ArrayLike | None = None
    ) -> Floats:
        """Return the logarithm of `predict_proba`, also for probabilities that underflow.

        Parameters
        ----------
        X, method, diag
            As for `predict_proba`.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Natural logarithms.
        """
        ask = partial(Mixture.predict_log_proba, method=method)
        return self._by_class(self._answer(ask, X, diag))

    def reject(
        self, X: ArrayLike, cost: float, *, method: str = "moments", diag: ArrayLike | None = None
    ) -> tuple[Array, Flags]:
        """Return the most probable labels, and where to abstain from them.

        A point is rejected if 1 minus its largest probability exceeds `cost` (Chow, IEEE
        Transactions on Information Theory 16, 1970): :func:`bayespoint.posterior.rejection_curve`.

        Parameters
        ----------
        X, method, diag
            As for `predict_proba`, with its errors.
        cost : float
            Cost of abstention, in [0, 1]; that of an error is 1.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            The label most likely observed, with two noise rates perhaps another than `predict`.
        rejected : ndarray of shape (n_samples,), bool
            True where to abstain.
        """
        return questions.reject(self._mixture, self._checked(X), cost, method=method, diag=diag)

    def predict_set(
        self, X: ArrayLike, alpha: float = 0.1, *, diag: ArrayLike | None = None
    ) -> Flags:
        r"""Return a set of labels for each point, which holds the true one about as often as asked.

        A label is in the set unless it is less probable than are the labels of the training
        examples, each given all others, but for a share `alpha` of them. No examples are held out.
        Sets are empty where no label is probable enough. Probabilities are those of "mixture".

        Parameters
        ----------
        X, diag
            As for `decision_function`, with its errors.
        alpha : float, default=0.1
            Wanted share of sets without the true label, in [0, 1]; smaller ones give larger sets.

        Returns
        -------
        ndarray of shape (n_samples, n_classes), bool
            Whether each class, in the order of `classes_`, is in the set; so do MAPIE and crepes.

        Raises
        ------
        ValueError
            As `leave_one_out`, which does not concern `X`, and if `alpha` is out of range.

        Notes
        -----
        Full conformal prediction (V. Vovk, A. Gammerman and G. Shafer, *Algorithmic Learning in a
        Random World*, 2005) with the score :math:`P(y_i | y_{-i})`, compared with :math:`P(c | x,
        y_{-i})`, misses the label with a frequency of at most `alpha`, whatever the data. Here the
        latter is the prediction from all examples, as in the jackknife (R. F. Barber et al., Annals
        of Statistics 49, 2021). What this changes was measured: :doc:`/guide/sets`, also for
        weights and landmarks, with which up to 2000 random examples are compared.
        """
        ask = partial(questions.predict_set, alpha=alpha)
        return self._by_class(self._answer(ask, X, diag, dtype=bool))

    def predict_proba_interval(
        self, X: ArrayLike, level: float = 0.9, *, diag: ArrayLike | None = None
    ) -> Floats:
        """Return intervals of the probabilities, over the functions drawn from the posterior.

        It is narrow where functions agree, though classes may overlap, and wide where examples are
        missing. `predict_proba` is about its mean, which may lie outside of skew ones.

        Parameters
        ----------
        X, diag
            As for `decision_function`, with its errors.
        level : float, default=0.9
            Posterior probability of the interval, in [0, 1], with equal tails.

        Returns
        -------
        ndarray of shape (2, n_samples, n_classes)
            Lower and upper ends. Averages over models, calibration, class weights and label noise
            are included. With softness=0 the ends are 0 or 1, but for label noise.
        """
        points = self._checked(X)
        found = questions.predict_proba_interval(self._mixture, points, level, diag=diag)
        return self._by_class(found)

    @overload
    def leave_one_out(
        self,
        X: ArrayLike | None = None,
        y: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Floats: ...

    @overload
    def leave_one_out(
        self,
        X: ArrayLike | None = None,
        y: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        *,
        return_error: bool,
    ) -> Floats | tuple[Floats, Floats]: ...

    def leave_one_out(
        self,
        X: ArrayLike | None = None,
        y: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        *,
        return_error: bool = False,
    ) -> Floats | tuple[Floats, Floats]:
        """Return the probabilities of the label of each training example, given all others.

        Nothing is fitted again: draws are weighted by the inverse probability of the label
        (A. E. Gelfand, D. K. Dey and H. Chang, *Bayesian Statistics* 4, 1992), without landmarks
        of that given their values at all other examples. The hyperparameters stay those of the fit.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), default=None
            With landmarks, and only then, training examples, all or some; they are not kept.
        y : array-like of shape (n_samples,), default=None
            Their labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Their relative weights in the fit, divided by the mean of all of them. None: 1.
        return_error : bool, default=False
            Whether standard errors are returned, too.

        Returns
        -------
        proba : ndarray of shape (n_samples, n_classes)
            As of `predict_proba`, for the observations in `sample_indices_` or the rows of `X`.
        error : ndarray of shape (n_samples,)
            Only with `return_error`: the standard error of the probability of each example's own
            label, by the draws. It is too small where hardly any draw makes the label improbable,
            as with landmarks and a small softness.

        Warns
        -----
        ConvergenceWarning
            If the root mean square of these errors is above 0.05.

        Raises
        ------
        ValueError
            If examples may be determined by others: with softness=0 or a singular matrix. If `X` or
            `y` is missing with landmarks, or given without, labels are unknown, or weights are not
            positive.
        """
        wanted = validation.boolean("return_error", return_error)
        points = None if X is None else self._checked(X)
        found = questions.leave_one_out(self._mixture, points, y, sample_weight)
        proba = self._by_class(found.proba)
        return (proba, found.error) if wanted else proba

    def suggest_query(self, X: ArrayLike, n: int = 1) -> Indices:
        """Return the points about which the draws disagree most, to be labeled next.

        Each point is judged by itself, so similar ones may be chosen: label one and fit again
        (Seung, Opper and Sompolinsky, "Query by committee", COLT 1992), without class weights.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Candidates, as for `predict`. If kernel values overflow, ValueError is raised.
        n : int, default=1
            Number of points to choose, from 1 to n_samples.

        Returns
        -------
        ndarray of shape (n,)
            Rows of `X`, the most evenly split vote (of the first two classes) first.
        """
        return questions.suggest_query(self._mixture, self._checked(X), n)

    def sample_functions(
        self,
        X: ArrayLike,
        *,
        gram: ArrayLike | None = None,
        noise: bool = True,
        random_state: RandomState = None,
    ) -> Floats:
        r"""Draw latent functions from the posterior and evaluate them at points.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            As for `predict`, with the errors of `decision_function`.
        gram : array-like of shape (n_samples, n_samples), default=None
            With kernel="precomputed", and only then (else ValueError): values between the points.
        noise : bool, default=True
            Add independent noise, of the variance `softness_`, so that the signs are labels.
        random_state : None, int, Generator or RandomState, default=None
            Seed.

        Returns
        -------
        ndarray of shape (n_draws_total, n_samples) or (n_classes, n_draws_total, n_samples)
            A function for each draw, trajectory by trajectory; of several models each from one that
            is chosen by its weight. Positive for the second of two classes; of several the largest
            determines the class, and their sum is zero.

        Notes
        -----
        Exact, without class weights: a draw's values have a random length, and Gaussian noise of
        the covariance of f given its values at the examples. Draws of a trajectory are correlated.
        """
        return self._mixture.sample_functions(
            self._checked(X), gram=gram, noise=noise, random_state=random_state
        )

    # --- evidence ----------------------------------------------------------------------------

    def log_labeling_probability(
        self,
        X: ArrayLike,
        y: ArrayLike,
        *,
        tol: float = 0.1,
        max_length: float = 1e5,
        random_state: RandomState = None,
    ) -> Estimate:
        """Return ln of the joint posterior probability of observing these labels at all points.

        It is the log evidence of examples and points minus that of the examples, each with the
        tolerance ``tol / sqrt(2)``; with landmarks the log of a mean over the draws of the fit.

        Parameters
        ----------
        X, y : array-likes of shapes (n_samples, n_features) and (n_samples,)
            Points, at least one, and their labels, from `classes_`.
        tol, max_length, random_state
            As for `evidence`, with its warning, for each of two evidences.

        Returns
        -------
        Estimate
            In nats. Minus infinity, with an infinite error, if no such weight vector was found.

        Raises
        ------
        ValueError, FloatingPointError
            With class weights, kernel="precomputed", or unknown labels; as `evidence`.
        """
        return evidence.log_labeling_probability(
            self._mixture,
            self._checked(X),
            y,
            tol=tol,
            max_length=max_length,
            n_jobs=self.n_jobs,
            random_state=random_state,
        )

    # --- continuing a fit --------------------------------------------------------------------

    def refine(self, tol: float, *, gram: ArrayLike | None = None) -> Self:
        """Continue the billiard of each model, for a more accurate center.

        The hyperparameters stay. New values of `n_jobs`, `verbose`, `calibration`, `class_weight`
        and `max_time` take effect. After an exception the estimator is unchanged.

        Parameters
        ----------
        tol : float
            Angular error of the center, in radians, at which to stop; of n models √n times that.
            Where no other limit ended a run, the result has the same bits as a fit with this `tol`.
        gram : array-like of shape (n_samples, n_samples), default=None
            With kernel="precomputed", and only then: the matrix given to fit.

        Returns
        -------
        BayesPointClassifier
            The estimator itself.

        Raises
        ------
        ValueError
            If `tol` is out of range, `gram` is missing or another matrix, or `fit_intercept` has
            changed; with landmarks; after an update, `save`, pickling or a fit in other processes.
        FloatingPointError
            As in `fit`.
        """
        posterior = self._mixture
        models, basis = posterior.models, posterior.first.basis
        basis.require_all("refine")
        given, budget = self._settings(self.seed_)
        plan = self._plan_again(replace(given, tol=validation.positive("tol", tol)))
        report = Progress(self, given.verbose, 0)
        if any(model.billiard.state is None for model in models):
            raise ValueError(
                "refine needs the state of the fit's runs, which a classifier has not that was "
                "updated, pickled, loaded from a file or fitted by other processes: fit with "
                f"tol={tol!r}"
            )
        class_weight = settings.class_weight(
            self.class_weight, posterior.classes, posterior.first.totals
        )
        fit = partial(fitting.refined, inputs=inputs_of_fit(self, gram), plan=plan)
        try:
            refined = several.each(fit, models, budget, report, len(basis))
        except ValueError as error:
            if gram is None:
                raise
            # All other arguments have been checked.
            raise ValueError(f"gram must be the matrix given to fit: {error}") from error
        posterior = Mixture.of(refined, class_weight)
        return self._publish(posterior_=posterior, class_weight_=self._by_class(class_weight))

    def update(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Add examples to those of the fit, at the same hyperparameters.

        Draws that agree with the new labels are kept, and the others replaced by these, without a
        bounce (sequential importance resampling). The result has the law of a fit to all examples,
        and ``billiard_.center_error`` its error. If this would exceed three times `tol`, or fewer
        effective draws be left than a third of a fit's, a billiard over all examples makes others.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            New inputs, as for `predict`.
        y : array-like of shape (n_samples,)
            Their labels, from `classes_`.

        Returns
        -------
        BayesPointClassifier
            The estimator itself. Standardization, calibration and weights of classes and models are
            those of the fit. New examples have the weight 1; `sample_indices_` goes on counting.

        Raises
        ------
        ValueError
            With landmarks or kernel="precomputed"; if `X` or `y` is not valid, a setting is out of
            range or `fit_intercept` has changed.
        InfeasibleError, FloatingPointError, MemoryError
            As in `fit`. After an exception the estimator is unchanged.

        Notes
        -----
        Hyperparameters do not learn from new examples: fit again when these have become many. One
        of them is the prior variance of the thresholds of ordered classes, the mean of k(x, x) plus
        noise over the examples of the fit. With softness=0 every update is a billiard over all.
        """
        posterior = self._mixture
        models, basis = posterior.models, posterior.first.basis
        basis.require_all("update")
        if isinstance(self.kernel_, str):
            raise ValueError(  # noqa: TRY004
                "update needs a kernel that can be evaluated; got kernel='precomputed'"
            )
        points = self._checked(X)
        index = validation.known_labels(posterior.classes, y, count(points))
        given, budget = self._settings(self.seed_)
        plan, report = self._plan_again(given), Progress(self, given.verbose, 0)
        m = len(basis) + len(index)
        reading.require_memory(m, len(self.classes_), given, plan.n_models)
        add = partial(updating.updated, X=points, index=index, plan=plan)
        with advising(ADVICE):
            updated = several.each(add, models, budget, report, m)
        rows = self.sample_indices_.max() + 1 + np.arange(len(index))
        return self._publish(
            posterior_=replace(posterior, models=tuple(updated)),
            sample_indices_=np.append(self.sample_indices_, rows),
        )

    def _plan_again(self, given: Given) -> Plan:
        """Return the plan of more work on the models of the fit, by the present parameters."""
        basis, n_models = self.posterior_.first.basis, len(self.posterior_.models)
        plan = given.plan(self.kernel_, n_models, landmarks=False)
        if plan.offset != basis.offset:
            raise ValueError(
                f"fit_intercept must be {bool(basis.offset)}, as in the fit; got "
                f"{self.fit_intercept!r}"
            )
        return plan


def _answer(model: BayesPointClassifier, ask: Callable[..., Any], block: Any) -> Any:
    """Return the predictions for a block of a table."""
    with warnings.catch_warnings():  # the names have been checked, and blocks have none
        warnings.filterwarnings("ignore", "X does not have valid feature names")
        return model._answer(ask, block, None)


def inputs_of_fit(model: BayesPointClassifier, gram: ArrayLike | None) -> Any:
    """Return the inputs of the fit, or with kernel="precomputed" `gram`, checked."""
    if not isinstance(model.kernel_, str):
        return inputs.again(model.kernel_, model.X_fit_, 0, gram)
    rows = np.ix_(model.sample_indices_, model.sample_indices_)
    return inputs.again(model.kernel_, None, model.n_features_in_, gram)[rows]
