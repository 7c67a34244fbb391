"""The Bayes point classifier."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from copy import copy
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.metadata_routing import UNUSED
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from bayespoint import kernels
from bayespoint.base import linalg, memory, validation
from bayespoint.base.io import Savable
from bayespoint.base.linalg import factorize
from bayespoint.base.validation import Floats, RandomState
from bayespoint.bounds.result import RiskBounds
from bayespoint.bounds.risk_bounds import risk_bounds
from bayespoint.engine.evidence import evidence
from bayespoint.engine.problem import Problem
from bayespoint.engine.settings import SampleSettings
from bayespoint.estimators import advice, averaging, landmarks, sources, transduction
from bayespoint.estimators import inputs as estimators_inputs
from bayespoint.estimators.problems import (
    TrainingProblem,
    factored,
    over_training,
    sample_each,
)
from bayespoint.estimators.progress import CallbackSupportMixin, Progress, with_callbacks
from bayespoint.estimators.refine import Continuation, PreviousFit, longer
from bayespoint.estimators.rollback import roll_back_on_error, rolled_back_on_error
from bayespoint.estimators.sample_weight import Repetition, balanced
from bayespoint.estimators.settings import (
    FitSettings,
    fit_settings,
    require_kernel_object,
    tolerance,
)
from bayespoint.posterior import Posterior
from bayespoint.posterior.calibration import LeaveOneOutPredictions, log_leave_one_out
from bayespoint.posterior.class_weight import normalized
from bayespoint.posterior.posterior import scaled
from bayespoint.results import Estimate, Evidence, FeatureRelevance
from bayespoint.results.search import Search, rates
from bayespoint.tuning import search
from bayespoint.tuning.averaging import Choice, Setting, find

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["BayesPointClassifier"]


class BayesPointClassifier(
    CallbackSupportMixin,  # type: ignore[misc]
    Savable,
    ClassifierMixin,  # type: ignore[misc]
    BaseEstimator,  # type: ignore[misc]
):
    r"""Gaussian process classification with calibrated probabilities, sampled by a billiard.

    The posterior of the latent function is sampled, not approximated, and by default predictions
    are averaged over several settings of the hyperparameters. More than two classes have one latent
    function each, and one joint posterior.

    Parameters
    ----------
    kernel : None, str, kernel object or callable, default=None
        - None: the default, four kernels that are averaged (:doc:`/guide/models`); with n_models=1
          the Matérn kernel ``Scaled(Matern(nu=2.5))``.
        - an object of :mod:`bayespoint.kernels` or :mod:`sklearn.gaussian_process.kernels`:
          parameters that are given are kept, those left out, as in ``RBF()``, are found.
        - "linear", "rbf", "poly": ``Linear()``, ``RBF()``, ``Polynomial()``.
        - "precomputed": `X` holds kernel values; a callable ``k(X, Y)`` returns their matrix.
    standardize : bool, default=True
        Scale features to variance 1 and, if `X` is dense, center them, before the kernel.
    softness : float or None, default=None
        Variance, at least 0, of Gaussian noise on the latent function. None: found. 0: training
        examples must be separable.
    label_noise : float, None or a pair of either, default=0.0
        Probability in [0, 0.5) that a label was flipped, or one for each of two classes. None:
        found.
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes in the population to predict for, relative to the training examples.
        They multiply the probabilities.
    calibration : {"auto", "leave-one-out"} or None, default="auto"
        "leave-one-out": multiply decision values by the factor between 1/2 and 2 that makes the
        leave-one-out predictions of the training labels most probable. "auto": if anything was
        found and the softness is positive.
    multiclass : {"joint", "one_vs_rest"}, default="joint"
        More than two classes: one joint posterior, or a binary problem for each class.
    n_models : int or "auto", default="auto"
        Number of settings of the hyperparameters to average. 1: the setting of the largest
        evidence. More: that many, most of them drawn from their posterior. "auto": with kernel=None
        6 for two classes and 4 for more (2 with one feature or more than 100); for two classes 6
        for a kernel with more than four parameters to be found; 1 otherwise, with softness=0, with
        landmarks, and beyond 2000 examples.
    approximation : {"auto", "landmarks"} or None, default="auto"
        None: all kernel values, O(m^3) time and O(m^2) memory for m examples. "landmarks":
        functions in the span of some kernel functions, O(m). "auto": landmarks beyond 4000
        examples, if softness and kernel allow them. See :doc:`/guide/large-data`.
    n_components : int or "auto", default="auto"
        Number of landmarks. "auto": 250 to 1000 by the number of examples, and twice as many for as
        long as the bound of the evidence gains, up to 2000; for more classes 500, or
        3000 / (n_classes - 1) if that is less.
    fit_intercept : bool, default=True
        Add 1 to all kernel values.
    n_trajectories, n_draws : int, default=4, 100
        Number of chains for each problem, and of draws kept of each.
    tol : float or "auto", default="auto"
        Angular error of the Bayes point, in radians, at which the billiard may stop; of each of n
        models √n times that. See :ref:`how-exact`. Time is proportional to 1 / tol^2.
    max_iter : int, default=None
        Largest number of settings tried, and of bounces or, with landmarks, steps of a chain
        (None: 10 000 000 bounces, 100 000 steps).
    max_time : float, default=None
        Seconds for a fit, at most half for the search. The result then depends on the machine.
    n_jobs : int, default=None
        Number of threads. The result does not depend on it.
    random_state : None, int, Generator or RandomState, default=None
        Seed. None draws one from NumPy's global generator.
    verbose : int, default=0
        1: print a line after each part of a fit. 2: also progress bars. 3: also each setting tried.
    warm_start : bool, default=False
        Continue the previous fit, if its examples are the first of the new ones:
        :doc:`/guide/continuing`.

    Attributes
    ----------
    classes_, class_weight_ : ndarray of shape (n_classes,)
        Class labels, sorted (of two, the second is the positive one), and their weights.
    models_ : tuple of BayesPointClassifier
        The classifiers with one setting each that are averaged, those of large weights first; empty
        for one model. With several, the attributes from `kernel_` to `support_` are of the first.
    model_weights_ : ndarray of shape (n_models,)
        Their weights, with sum 1: halfway between equal ones and those of stacking.
    feature_relevance_ : FeatureRelevance
        Posterior of the features' weights, if the kernels have weights and are averaged.
    posterior_ : Posterior
        Computes the predictions.
    kernel_, softness_, label_noise_, calibration_
        What was given or found: a kernel, a float, a pair of floats, an array of shape
        (n_problems,). A problem is all of the classes, or one class against the rest.
    tuning_ : Search or None
        The settings tried and their evidence; None if all were given.
    approximation_ : str or None
        "landmarks", or None for all kernel values.
    billiard_ : BilliardResult, SliceResult, or list of these
        The draws and their diagnostics, with landmarks a `SliceResult`; a list if there are several
        problems.
    problems_ : tuple of TrainingProblem
        The problems with their results.
    dual_coef_, intercept_ : ndarrays of shape (1, n) and (1,), or (n_classes, n) and (n_classes,)
        Dual coefficients of the unit Bayes point, or with landmarks, of which there are then n, of
        the mean function; and intercepts.
    support_ : ndarray of shape (n_support,)
        Indices of the examples of which a wall was hit; not with landmarks.
    X_fit_ : ndarray, CSR array or None
        Training inputs as the kernel gets them, or landmarks; None for kernel="precomputed".
    scaler_ : StandardScaler or None
        What standardizes inputs.
    sample_indices_ : ndarray of shape (n,)
        Row of `X` in `fit` of each of the n observations, which sample weights repeat; not for `X`
        in blocks.
    n_iter_ : ndarray of shape (n_problems,)
        Bounces of the longest chain, or steps of each with landmarks.
    prior_from_examples_ : str
        What the prior took from the training examples: "evidence", "length scale", "scale of the
        features", "landmarks" or "". Risk bounds hold only for "".
    seed_, n_features_in_, feature_names_in_
        The seed that was drawn; the number of features, and their names if all are strings.

    Warns
    -----
    ConvergenceWarning
        If a limit ended the search, or the draws are not to be trusted: :doc:`/guide/diagnostics`.

    See Also
    --------
    VersionSpace : The billiard itself, for a given kernel matrix.

    References
    ----------
    R. Herbrich, T. Graepel and C. Campbell, "Bayes Point Machines", Journal of Machine Learning
    Research 1, 2001.

    C. E. Rasmussen and C. K. I. Williams, "Gaussian Processes for Machine Learning", MIT Press,
    2006.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from bayespoint import BayesPointClassifier
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

    X_fit_: NDArray[Any] | None
    tuning_: Search | None
    problems_: tuple[TrainingProblem, ...]

    def __init__(
        self,
        kernel: str | Callable[..., Any] | None = None,
        *,
        standardize: bool = True,
        softness: float | None = None,
        label_noise: float | tuple[float, float] | tuple[None, None] | None = 0.0,
        class_weight: Mapping[Any, float] | str | None = None,
        calibration: str | None = "auto",
        multiclass: str = "joint",
        n_models: int | str = "auto",
        approximation: str | None = "auto",
        n_components: int | str = "auto",
        fit_intercept: bool = True,
        n_trajectories: int = 4,
        n_draws: int = 100,
        tol: float | str = "auto",
        max_iter: int | None = None,
        max_time: float | None = None,
        warm_start: bool = False,
        n_jobs: int | None = None,
        random_state: RandomState = None,
        verbose: int = 0,
    ) -> None:
        self.kernel = kernel
        self.standardize = standardize
        self.softness = softness
        self.label_noise = label_noise
        self.class_weight = class_weight
        self.calibration = calibration
        self.multiclass = multiclass
        self.n_models = n_models
        self.approximation = approximation
        self.n_components = n_components
        self.fit_intercept = fit_intercept
        self.n_trajectories = n_trajectories
        self.n_draws = n_draws
        self.tol = tol
        self.max_iter = max_iter
        self.max_time = max_time
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

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

    # --- fit ---------------------------------------------------------------------------------

    @roll_back_on_error
    @with_callbacks  # type: ignore[untyped-decorator]
    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        r"""Find the Bayes point of the training examples.

        Parameters
        ----------
        X : array-like, sparse matrix, Blocks or collection of Dask, (n_samples, n_features)
            Inputs; with kernel="precomputed" the (n_samples, n_samples) kernel matrix, for a
            kernel of sets or strings a sequence of these. :class:`bayespoint.blocks.Blocks` and
            collections of Dask are never in memory as a whole (:doc:`/guide/large-data`). Sparse
            matrices are accepted by
            "linear", "rbf", "poly" and kernels made of `Linear`, `RBF` and `Polynomial`, which do
            not make them dense.
        y : array-like of shape (n_samples,)
            Class labels of any type; for collections of Dask another one.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the examples, at least 0; see Notes. None: all are 1.

        Returns
        -------
        BayesPointClassifier
            The estimator itself.

        Raises
        ------
        InfeasibleError
            If `softness` and `label_noise` are 0 and the examples are not separable.
        FloatingPointError
            If double precision is not sufficient, as in :meth:`VersionSpace.sample`. A larger
            `softness` helps.
        MemoryError
            If the kernel matrix does not fit into the available memory.
        TimeoutError
            If without softness `max_time` was over before a starting point was found.
        TypeError
            If `X` is sparse and the kernel takes dense inputs only.
        ValueError
            If a setting is out of range, or `X` or `y` is not valid data for classification. If
            `sample_weight` has another shape, entries that are negative or not finite, leaves a
            class without examples, or has fractions with softness=0.

        Notes
        -----
        An example of weight w counts as w observations of its label, each with its own noise. For
        whole w this is the fit to examples of which each is repeated w times; 0 leaves it out. Time
        and memory are those of the repeated examples.

        A fraction r beyond the last whole number is one more observation, whose noise has the
        variance ``softness / r``. Near the boundary it carries r times the information of a whole
        one: r times the Fisher information on f at f = 0. Towards r = 0 it vanishes. The search has
        the same observations. A distance of 1e-9 from a whole number counts as rounding.

        Fractions are not a weighted loss and do not add up: at f = 0 the slope of the log
        likelihood is :math:`\sqrt r` times that of a whole one, so that four quarters with one
        label pull twice as hard.
        """
        settings = fit_settings(self, self.random_state)
        warm = validation.boolean("warm_start", self.warm_start)
        if sources.in_blocks(X):
            return self._fit_blocks(X, y, sample_weight, settings)
        previous = self._previous() if warm else []
        inputs, y = estimators_inputs.training(self, self.kernel, X, y)
        self.classes_, index = estimators_inputs.encode(y)
        self._require_one_rate()
        repetition = Repetition.of(sample_weight, len(index))
        n_observations = float(repetition.counts.sum())
        with_landmarks = landmarks.applies(self, n_observations, settings)
        self.approximation_ = "landmarks" if with_landmarks else None
        if with_landmarks:
            landmarks.require_memory(n_observations, inputs)
        else:
            self._require_memory(n_observations)
        raw, index, share = self._observations(repetition, inputs, index, settings)
        self.scaler_ = None
        if validation.boolean("standardize", self.standardize):
            self.scaler_ = estimators_inputs.standardizer(self.kernel, raw, share)
        inputs = scaled(self.scaler_, raw)
        self.class_weight_ = self._class_weight(index, share)
        single = len(self.classes_) == 2 or settings.joint
        n_problems = 1 if single else len(self.classes_)
        choices = averaging.plan(self, inputs, len(self.classes_), settings)
        n_models = sum(choice.n or 1 for choice in choices) or 1
        source = None
        if with_landmarks:
            sample = landmarks.Examples(inputs, index, share)
            source = landmarks.Source.of(sample, validation.threads(self.n_jobs))
        else:
            self._require_memory(n_observations, n_models)
        progress = Progress(self, settings.verbose, 1 + n_models * n_problems, X=X, y=y)

        def continuation(model: BayesPointClassifier) -> Continuation | None:
            """Return how the run of a model continues the previous fit."""
            if not previous:
                return None
            setting = model.kernel_, model.softness_, model.label_noise_
            old = next((one for one in previous if one.setting == setting), previous[0])
            return old.continuation(self.classes_, index, raw, inputs, model.kernel_, n_problems)

        observed = inputs, index, share
        self._fit_observed(observed, source, choices, settings, continuation, progress)
        progress.done()
        return self

    def _fit_observed(
        self,
        observed: tuple[Any, NDArray[np.intp], Floats],
        source: landmarks.Source | None,
        choices: list[Choice],
        settings: FitSettings,
        continuation: Callable[[BayesPointClassifier], Continuation | None],
        progress: Progress,
    ) -> None:
        """Find the hyperparameters and fit one model or several.

        `observed` are inputs, classes and shares of the observations; with a `source` of all
        examples they are a sample.
        """
        if not choices:
            gram = self._resolve_hyperparameters(*observed, settings, progress)
            run = continuation(self)
            self._fit_fixed(*observed, settings, run, progress, gram, source=source)
            averaging.set_models(self, [])
            return
        found = self._settings_to_average(choices, *observed, settings, progress)
        members = averaging.members(self, found)
        for k, member in enumerate(members):
            share_of_time = averaging.with_share(settings, len(members) - k)
            run = continuation(member)
            member._fit_fixed(
                *observed,
                share_of_time,
                run,
                progress,
                stream=k,
                n_models=len(members),
                source=source,
            )
        averaging.set_models(self, members)

    def _fit_blocks(
        self, X: Any, y: Any, sample_weight: Any, settings: FitSettings
    ) -> BayesPointClassifier:
        """Fit to a table in blocks."""
        landmarks.require_blocks(self, settings)
        opened = sources.open_blocks(
            X,
            y,
            sample_weight,
            standardize=validation.boolean("standardize", self.standardize),
            takes_sparse=estimators_inputs.takes_sparse(self.kernel),
            seed=settings.seed % 2**32,
            n_threads=validation.threads(self.n_jobs),
        )
        summary, sample = opened.summary, opened.sample
        check_classification_targets(summary.classes)
        self.approximation_, self.classes_ = "landmarks", summary.classes
        self._require_one_rate()
        self.scaler_, self.n_features_in_ = opened.scaler, summary.n_features
        if summary.names is None:
            self.__dict__.pop("feature_names_in_", None)
        else:
            self.feature_names_in_ = np.array(summary.names, dtype=object)
        self.__dict__.pop("sample_indices_", None)
        self._n_examples = summary.n_examples
        self.class_weight_ = self._class_weight(np.arange(len(summary.classes)), summary.weights)
        choices = averaging.plan(self, sample.inputs, len(self.classes_), settings)
        n_models = sum(choice.n or 1 for choice in choices) or 1
        single = len(self.classes_) == 2 or settings.joint
        n_tasks = 1 + n_models * (1 if single else len(self.classes_))
        progress = Progress(self, settings.verbose, n_tasks, X=X, y=y)
        observed = sample.inputs, sample.index, sample.share
        self._fit_observed(observed, opened.source, choices, settings, lambda _: None, progress)
        progress.done()
        return self

    def _require_one_rate(self) -> None:
        """Raise ValueError for two rates of label noise and more than two classes."""
        if len(self.classes_) > 2 and np.ndim(self.label_noise):  # type: ignore[arg-type]
            raise ValueError(
                "label_noise must be one rate for more than two classes; got "
                f"{self.label_noise!r} for {len(self.classes_)} classes"
            )

    def _previous(self) -> list[PreviousFit]:
        """Return the previous fit of each model."""
        if not hasattr(self, "problems_") or self.approximation_ == "landmarks":
            return []
        return [
            PreviousFit(
                self.classes_,
                self._index,
                self.X_fit_,
                self.scaler_,
                (model.kernel_, model.softness_, model.label_noise_),
                [problem.result for problem in model.problems_],
            )
            for model in self.models_ or (self,)
        ]

    def _observations(
        self,
        repetition: Repetition,
        inputs: Any,
        index: NDArray[np.intp],
        settings: FitSettings,
    ) -> tuple[Any, NDArray[np.intp], Floats]:
        """Return inputs, classes and shares of the observations, and set `sample_indices_`."""
        self.sample_indices_, share = repetition.observations()
        self._n_examples = len(index)
        if repetition.trivial:
            return inputs, index, share
        if settings.softness == 0 and repetition.fraction.any():
            raise ValueError(
                "sample_weight must hold whole numbers with softness=0: a fraction divides the "
                f"softness; got {repetition.fraction.max():.4g} beyond a whole number"
            )
        index = index[self.sample_indices_]
        left = np.bincount(index, minlength=len(self.classes_))
        if not left.all():
            raise ValueError(
                "sample_weight must not be zero for all examples of a class; got zeros, or values "
                f"below 1e-9, for class {self.classes_[left == 0][0]}"
            )
        is_gram = isinstance(self.kernel, str) and self.kernel == "precomputed"
        return self._repeated(inputs, is_gram), index, share

    def _repeated(self, inputs: Any, is_gram: bool) -> Any:
        """Return the inputs of the observations, or their kernel matrix from that of examples."""
        rows = self.sample_indices_
        return inputs[np.ix_(rows, rows)] if is_gram else inputs[rows]

    def _class_weight(self, index: NDArray[np.intp], share: Floats) -> Floats:
        """Return the weights of the classes, for observations with these classes and shares."""
        if isinstance(self.class_weight, str) and self.class_weight == "balanced":
            return balanced(index, share)
        if isinstance(self.class_weight, str):
            raise ValueError(  # noqa: TRY004
                'class_weight must be None, "balanced" or a dictionary of weights by class; got '
                f"{self.class_weight!r}"
            )
        weights: Floats = compute_class_weight(
            self.class_weight, classes=self.classes_, y=self.classes_
        )
        positive = np.isfinite(weights).all() and (weights > 0).all()
        if not positive or weights.min() < 1e-300 * weights.max():
            raise ValueError(
                "class_weight must give every class a positive weight, of ratios below 1e300; got "
                f"{self.class_weight!r}"
            )
        return weights

    def _require_memory(self, m: float, n_models: int = 1) -> None:
        """Raise MemoryError if a kernel matrix and each model's factor and draws do not fit."""
        kept = validation.integer("n_trajectories", self.n_trajectories, low=1)
        kept *= validation.integer("n_draws", self.n_draws, low=1)
        memory.require(  # the last factor overwrites the matrix
            8.0 * (1 + n_models) * m * m + 8.0 * m * (len(self.classes_) + 1) * kept * n_models,
            f"fitting {m:.15g} examples (the {m:.15g} x {m:.15g} kernel matrix, its factor, and "
            f"{kept} draws{f' of each of {n_models} models' if n_models > 1 else ''})",
            advice.TOO_MANY,
        )

    def _resolve_hyperparameters(
        self,
        inputs: Any,
        index: NDArray[np.intp],
        share: Floats,
        settings: FitSettings,
        progress: Progress,
    ) -> tuple[Floats, bool] | None:
        """Set kernel, softness and label noise; return the argument `gram` of `_fit_fixed`."""
        with self._search_task(index, share, settings, progress) as arguments:
            found: Search | None
            setting = None
            if self.approximation_ == "landmarks":
                setting = landmarks.search(self, inputs, arguments)
                if setting is None:  # without landmarks, on examples that a matrix can hold
                    inputs, arguments = landmarks.part_of_search(inputs, arguments)
            if setting is not None:
                found, gram = setting.search, None
                self.kernel_, self.softness_ = found.kernel, found.softness
                self.label_noise_, self.tuning_ = found.label_noise, found
            else:
                self.kernel_, self.softness_, self.label_noise_, self.tuning_, gram = (
                    search.resolve_hyperparameters(
                        self.kernel, inputs, **arguments, n_jobs=self.n_jobs
                    )
                )
        found = self.tuning_
        if settings.verbose and found is not None:
            noise = f", label noise {rates(found.label_noise)}" if any(found.label_noise) else ""
            progress.tell(
                f"search by evidence: {len(found.tried)} settings on {found.n_examples} examples, "
                f"{progress.seconds()}: {found.kernel!r}, softness {found.softness:.4g}"
                f"{noise}, log evidence {found.log_evidence:.2f}"
                + (f", at a bound: {', '.join(found.at_bounds)}" if found.at_bounds else "")
            )
        return gram

    @contextmanager
    def _search_task(
        self, index: NDArray[np.intp], share: Floats, settings: FitSettings, progress: Progress
    ) -> Iterator[dict[str, Any]]:
        """Yield the arguments of a search for hyperparameters, with a report of its progress."""
        with progress.task("search by evidence") as advance:
            best, n, examples = -math.inf, 0, 0

            def report(setting: Mapping[str, float]) -> None:
                nonlocal best, n, examples
                if setting["n_examples"] != examples:  # first a part of them: another evidence
                    best, examples = -math.inf, int(setting["n_examples"])
                best, n = max(best, setting["log_evidence"]), n + 1
                if settings.verbose > 2:
                    progress.tell(", ".join(f"{k}={value:.4g}" for k, value in setting.items()))
                if advance is not None:
                    told = f"on {examples} of {len(index)} examples, log_evidence {best:.2f}"
                    advance(n, told)

            yield {
                "labels": estimators_inputs.one_vs_rest(index, len(self.classes_)).astype(float),
                "offset": settings.offset,
                "softness": settings.softness,
                "label_noise": settings.label_noise,
                "rates": settings.rates,
                "weights": share,
                "joint": settings.joint,
                "seed": settings.seed % 2**32,
                "report": None if advance is None else report,
                "max_iter": settings.max_iter,
                "max_time": settings.search_time,
            }

    def _settings_to_average(
        self,
        choices: list[Choice],
        inputs: Any,
        index: NDArray[np.intp],
        share: Floats,
        settings: FitSettings,
        progress: Progress,
    ) -> list[Setting]:
        """Return the settings of the hyperparameters to average."""
        with self._search_task(index, share, settings, progress) as arguments:
            found = find(choices, inputs, **arguments)
        if settings.verbose:
            progress.tell(f"{len(found)} settings of the hyperparameters, {progress.seconds()}:")
            for one in found:
                progress.tell(
                    f"  {one.search.kernel!r}, softness {one.search.softness:.4g}, log evidence "
                    f"{one.search.log_evidence:.2f} on {one.search.n_examples} examples"
                )
        return found

    def _fit_fixed(
        self,
        inputs: Any,
        index: NDArray[np.intp],
        share: Floats,
        settings: FitSettings,
        continuation: Continuation | None,
        progress: Progress,
        gram: tuple[Floats, bool] | None = None,
        *,
        stream: int = 0,
        n_models: int = 1,
        source: landmarks.Source | None = None,
    ) -> None:
        """Fit with the hyperparameters in `kernel_`, `softness_` and `label_noise_`.

        `share` are the (m,) parts of an observation for which the examples count. `gram` is the
        kernel matrix and whether it may be overwritten; None computes it. `stream` is the number of
        this among `n_models` models that are averaged. With a `source` of all examples, the others
        are a sample.
        """
        if source is not None:
            sample = landmarks.Examples(inputs, index, share)
            self._fit_landmarks(
                sample, source, settings, progress, stream=stream, n_models=n_models
            )
            return
        with linalg.threads_for(len(index)):
            softness = validation.softness(self.softness_ / share, len(index))
            problems = self._problems(index, softness, settings)
            with progress.part("kernel matrix"):
                matrix, own = gram or kernels.training_gram(
                    self.kernel_, inputs, settings.offset, softness
                )
            self.X_fit_ = None if isinstance(self.kernel_, str) else inputs.copy()
            self._index, self._share = index, share
            self.seed_ = settings.seed % 2**32
            self.prior_from_examples_ = self._prior_from_examples()
            constant_diagonal = _constant(matrix.diagonal())
            factor, inverse = factored(matrix, settings.offset, softness, progress)
            results = sample_each(
                problems,
                [problem.over(matrix, inverse=inverse) for problem in problems],
                SampleSettings(
                    n_trajectories=self.n_trajectories,
                    n_draws=self.n_draws,
                    # The errors of several models average out, if their weights are alike.
                    tol=tolerance(self.tol, len(matrix), problems[0].n_classes)
                    * math.sqrt(n_models),
                    max_bounces=settings.max_iter,
                    transparency=problems[0].transparency,
                ).resolved(conditional=inverse is not None),
                seed=averaging.seed_of(settings.seed, stream),
                n_jobs=self.n_jobs,
                continuation=continuation,
                progress=progress,
                deadline=settings.deadline,
            )
            calibrate = settings.calibrate
            if calibrate is None:
                calibrate = self.tuning_ is not None
            predictions = [
                LeaveOneOutPredictions(
                    matrix,
                    settings.offset,
                    softness,
                    result,
                    problem.y,
                    self.label_noise_,
                    self.seed_,
                )
                for problem, result in zip(problems, results, strict=True)
                if (calibrate or n_models > 1) and softness.min() > 0
            ]
            if factor is None:
                with progress.part("factor of the matrix") as report:
                    factor = factorize(
                        matrix, settings.offset, softness, overwrite=own, report=report
                    )
            self.calibration_, self._leave_one_out = np.ones(len(problems)), None
            # With a singular matrix an example can be determined by the others: no calibration.
            if predictions and factor.pivots is None:
                diagonal = factor.inverse_diagonal() if inverse is None else inverse[1]
                values = [one.values(diagonal) for one in predictions]
                if calibrate:
                    pairs = zip(predictions, values, strict=True)
                    self.calibration_ = np.array([one.factor(z) for one, z in pairs])
                if n_models > 1:
                    self._leave_one_out = log_leave_one_out(predictions, self.calibration_, values)
        self.problems_ = tuple(
            problem.with_result(result, factor.rank, calibration)
            for problem, result, calibration in zip(
                problems, results, self.calibration_.tolist(), strict=True
            )
        )
        self._set_posterior(softness, factor, constant_diagonal)
        self.support_ = np.unique(np.concatenate([result.support for result in results]))
        self.n_iter_ = np.array([result.bounces.max() for result in results])

    def _fit_landmarks(
        self,
        sample: landmarks.Examples,
        source: landmarks.Source,
        settings: FitSettings,
        progress: Progress,
        *,
        stream: int,
        n_models: int,
    ) -> None:
        """Do the same as `_fit_fixed`, with landmarks."""
        for name in ("support_", "_index", "_share"):  # of a fit without
            self.__dict__.pop(name, None)
        self.seed_ = settings.seed % 2**32
        tol = tolerance(self.tol, source.n_examples, 2) * math.sqrt(n_models)
        found = landmarks.fit(
            self,
            sample,
            source,
            settings,
            progress,
            tol=tol,
            seed=averaging.seed_of(settings.seed, stream),
            deadline=settings.deadline,
        )
        features = found.features
        calibrate = settings.calibrate
        if calibrate is None:
            calibrate = self.tuning_ is not None
        self.calibration_, self._leave_one_out = np.ones(len(found.results)), None
        if calibrate or n_models > 1:
            values = [one.values() for one in found.predictions]
            if calibrate:
                pairs = zip(found.predictions, values, strict=True)
                self.calibration_ = np.array([one.factor(z) for one, z in pairs])
            if n_models > 1:
                self._leave_one_out = log_leave_one_out(
                    found.predictions, self.calibration_, values
                )
        jitter = np.full(features.factor.rank, features.jitter)
        n_classes = len(self.classes_) if len(found.results) == 1 else 2
        self.problems_ = tuple(
            TrainingProblem(
                name,
                np.empty(0, dtype=np.int8),
                jitter,
                settings.offset,
                self.label_noise_,
                n_classes=n_classes,
            ).with_result(result, None, calibration)
            for name, result, calibration in zip(
                found.names, found.results, self.calibration_.tolist(), strict=True
            )
        )
        self.X_fit_ = features.landmarks
        self.prior_from_examples_ = self._prior_from_examples() or "landmarks"
        self._set_posterior(jitter, features.factor, None)
        self.n_iter_ = np.array([result.n_steps for result in found.results])

    def _set_posterior(
        self, example_softness: Floats, factor: linalg.Factor, constant_diagonal: float | None
    ) -> None:
        """Set the posterior of the problems, and what follows from it."""
        self.posterior_ = Posterior(
            classes=self.classes_,
            problems=tuple(one.posterior for one in self.problems_ if one.posterior is not None),
            kernel=self.kernel_,
            inputs=self.X_fit_,
            scaler=self.scaler_,
            offset=self.problems_[0].offset,
            softness=self.softness_,
            example_softness=example_softness,
            label_noise=self.label_noise_,
            factor=factor,
            constant_diagonal=constant_diagonal,
            class_weight=normalized(self.class_weight_),
        )
        self.dual_coef_, self.intercept_ = self.posterior_.dual_coef, self.posterior_.intercept

    @property
    def billiard_(self) -> Any:
        """The draws: a `BilliardResult` or `SliceResult`, or a list for several problems."""
        check_is_fitted(self)
        results = [problem.result for problem in self.problems_]
        return results[0] if len(results) == 1 else results

    @property
    def feature_relevance_(self) -> FeatureRelevance:
        """Posterior mean and 90 % interval of each feature's weight."""
        check_is_fitted(self)
        return averaging.feature_relevance(self)

    def _problems(
        self, index: NDArray[np.intp], softness: Floats, settings: FitSettings
    ) -> list[TrainingProblem]:
        """Return the problems of the fit."""
        given = softness, settings.offset, self.label_noise_
        n_classes = len(self.classes_)
        if n_classes > 2 and settings.joint:
            return [TrainingProblem("billiard", index, *given, n_classes=n_classes)]
        names = [f"billiard of class {label}" for label in self.classes_]
        labels = estimators_inputs.one_vs_rest(index, n_classes)
        return [
            TrainingProblem(name, y, *given)
            for name, y in zip(names if len(labels) > 1 else ["billiard"], labels, strict=True)
        ]

    def _prior_from_examples(self) -> str:
        """Return what the prior took from the training examples; empty for nothing."""
        if self.tuning_ is not None:
            return "evidence"
        kernel = kernels.resolve(self.kernel)
        if self.X_fit_ is not None and kernels.parameters(kernel, self.X_fit_):
            return "length scale"
        if self.scaler_ is not None:
            return "scale of the features"
        return ""

    def _checked(self, X: ArrayLike) -> NDArray[Any]:
        """Return checked inputs of a fitted classifier."""
        check_is_fitted(self)
        inputs = estimators_inputs.new(self, self.kernel_, X)
        if self.X_fit_ is None and not np.array_equal(
            self.sample_indices_, np.arange(self._n_examples)
        ):
            return inputs[:, self.sample_indices_]
        return inputs

    # --- predictions -------------------------------------------------------------------------

    def predict(
        self, X: ArrayLike, *, method: str = "center", diag: ArrayLike | None = None
    ) -> NDArray[Any]:
        """Return the predicted class: that of the Bayes point, of the vote of the draws or of one.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Inputs; with kernel="precomputed" the (n_samples, n_train) kernel values between them
            and the training examples.
        method : {"center", "vote", "gibbs"}, default="center"
            "center": the class of the largest decision value, of the Bayes point or of the average
            of several. "vote": the majority of the draws, the Bayes classification strategy
            (Herbrich et al., Eq. 7). "gibbs": one draw for all of `X`, chosen by `random_state` at
            each call: always the same one if that is an int. With class weights the votes times the
            weight of their class, and the class of the largest weighted decision value given the
            draw.
        diag : array-like of shape (n_samples,), default=None
            With kernel="precomputed" and more than two classes or class weights, except for "vote":
            as for `decision_function`. If the values are not known, points are assumed to lie in
            the span of the training examples.

        Returns
        -------
        ndarray of shape (n_samples,)
            Predicted labels. A tie goes to the first class.

        Raises
        ------
        ValueError
            If inputs are so large that kernel values overflow; with more than two classes or class
            weights, except for a vote, as in `decision_function`.
        """
        if sources.in_blocks(X):
            return sources.mapped(self, "predict", X, diag, method=method)  # type: ignore[no-any-return]
        points = self._checked(X)
        return self.posterior_.predict(
            points, method=method, diag=diag, random_state=self.random_state
        )

    def decision_function(self, X: ArrayLike, *, diag: ArrayLike | None = None) -> Floats:
        r"""Return the decision values: quantiles of the normal distribution.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            As for `predict`.
        diag : array-like of shape (n_samples,), default=None
            With kernel="precomputed": the values ``k(x, x)``. None takes them from a constant
            diagonal of the training matrix.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            Decision values z. For two classes, positive for the second class: of one model the
            predictive mean divided by its standard deviation, of several the normal quantile of the
            average probability. Otherwise a column for each class.

            :math:`\Phi(z)` is the probability before label noise (of several classes jointly, with
            calibration, before the probabilities are scaled to sum to 1), with class weights: for
            two classes p with the odds :math:`p / (1 - p)` times the ratio of the weights,
            otherwise p times the weight divided by the largest.

        Raises
        ------
        ValueError
            If `diag` is needed and missing, or if values of the latent function are above 1e140
            or below 1e-140, so that their squares overflow or underflow.
        """
        if sources.in_blocks(X):
            return sources.mapped(self, "decision_function", X, diag)  # type: ignore[no-any-return]
        points = self._checked(X)
        return self.posterior_.decision_function(points, diag=diag)

    def predict_proba(
        self, X: ArrayLike, *, method: str = "moments", diag: ArrayLike | None = None
    ) -> Floats:
        r"""Return the probability of observing each class label.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            As for `predict`.
        method : {"moments", "mixture"}, default="moments"
            "moments": :math:`\Phi(z)` with z the decision function, which ranks points in the same
            order. "mixture": the mean over draws of the exact probability given each draw. For
            several classes jointly the first is this mean as well, but the draws are shifted so
            that their mean is the center, which has less error.
        diag : array-like of shape (n_samples,), default=None
            As for `decision_function`.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            In the order of `classes_`. Class weights, and after them label noise, are included.
            Probabilities of several binary problems are scaled to sum to 1.

        Raises
        ------
        ValueError
            As `decision_function`.
        """
        if sources.in_blocks(X):
            return sources.mapped(self, "predict_proba", X, diag, method=method)  # type: ignore[no-any-return]
        points = self._checked(X)
        return self.posterior_.predict_proba(points, method=method, diag=diag)

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
            In the order of `classes_`.

        Raises
        ------
        ValueError
            As `decision_function`.
        """
        if sources.in_blocks(X):
            return sources.mapped(self, "predict_log_proba", X, diag, method=method)  # type: ignore[no-any-return]
        points = self._checked(X)
        return self.posterior_.predict_log_proba(points, method=method, diag=diag)

    def reject(
        self,
        X: ArrayLike,
        cost: float,
        *,
        method: str = "moments",
        diag: ArrayLike | None = None,
    ) -> tuple[NDArray[Any], NDArray[np.bool_]]:
        """Return the most probable labels, and where to abstain from them.

        An error costs 1 and abstention `cost`. A point is rejected if its expected loss, 1 minus
        the largest probability, exceeds `cost`.

        Parameters
        ----------
        X, method, diag
            As for `predict_proba`.
        cost : float
            Cost of abstention, in [0, 1]. From 1 - 1 / n_classes on no point is rejected.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            The label that is most likely observed, with label noise. If the noise differs between
            the classes, it may differ from that of `predict`. A tie goes to the first class.
        rejected : ndarray of shape (n_samples,), bool
            True where to abstain.

        Raises
        ------
        ValueError
            If `cost` is outside [0, 1], or as `predict_proba`.

        See Also
        --------
        bayespoint.posterior.rejection_curve : Error and coverage at every cost.

        References
        ----------
        C. K. Chow, "On optimum recognition error and reject tradeoff", IEEE Transactions on
        Information Theory 16, 1970.
        """
        points = self._checked(X)
        return self.posterior_.reject(points, cost, method=method, diag=diag)

    def suggest_query(self, X: ArrayLike, n: int = 1) -> NDArray[np.intp]:
        """Return the points about which the draws disagree most, to be labeled next.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Candidates, as for `predict`.
        n : int, default=1
            Number of points to choose, from 1 to n_samples.

        Returns
        -------
        ndarray of shape (n,)
            Rows of `X`, the most evenly split vote first; ties in the order of `X`. With more than
            two classes the two classes with the most votes are compared.

        Raises
        ------
        ValueError
            If `n` is out of range, or points are so large that kernel values overflow.

        Notes
        -----
        Each point is judged by itself, so several similar points may be chosen. To halve version
        space with each label, choose one point, label it and fit again. Class weights have no
        effect: they do not change what is known about the function.

        References
        ----------
        H. S. Seung, M. Opper and H. Sompolinsky, "Query by committee", Proceedings of the Fifth
        Workshop on Computational Learning Theory, 1992.
        """
        points = self._checked(X)
        return self.posterior_.suggest_query(points, n)

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
            As for `predict`.
        gram : array-like of shape (n_samples, n_samples), default=None
            With kernel="precomputed", and only then: kernel values between the points.
        noise : bool, default=True
            Add independent noise at each point, so that the signs are labels: of the variance
            `softness_` of the model that the function is from. False: the function itself.
        random_state : None, int, Generator or RandomState, default=None
            Seed of the lengths of the weight vectors and of the noise.

        Returns
        -------
        ndarray of shape (n_draws_total, n_samples) or (n_classes, n_draws_total, n_samples)
            One function for each draw of the billiard, trajectory by trajectory; of several models
            each from one that is chosen by its weight. Positive for the
            second class or, with multiclass="one_vs_rest", for each class against the rest. Of
            several classes jointly the largest determines the class: a function common to all
            changes nothing, and they are given with sum zero over the classes.

        Raises
        ------
        TypeError
            If `noise` is no boolean.
        ValueError
            If `gram` is needed and missing, or is not a symmetric positive semidefinite matrix, or
            inputs are too large or too small as for `decision_function`.

        Notes
        -----
        Let :math:`A = K + \mathrm{offset} + \Lambda` be the matrix of the training examples, n its
        rank, and :math:`K_*` the kernel values, with offset, between points and examples. A draw
        with dual coefficients :math:`\gamma` has values :math:`\rho K_* \gamma + \eta`.

        The length :math:`\rho` has the chi distribution with n degrees of freedom, of C classes
        jointly with (C - 1) n and the same length for all. :math:`\eta` is Gaussian with the
        covariance :math:`K_{**} + \mathrm{offset} + \lambda I - K_* A^{-1} K_*^\top`, without
        :math:`\lambda I` if `noise` is False.

        This is the exact joint distribution of the latent values, which does not depend on class
        weights. Draws of one trajectory are correlated through :math:`\gamma`.
        """
        points = self._checked(X)
        return self.posterior_.sample_functions(
            points, gram=gram, noise=noise, random_state=random_state
        )

    def bayes_point(self, X_unlabelled: ArrayLike) -> Floats:
        r"""Return the function closest to the vote of the draws at given points.

        Parameters
        ----------
        X_unlabelled : array-like of shape (n_samples, n_features)
            The points, such as the test inputs; as for `predict`.

        Returns
        -------
        ndarray of shape (1, n_train) or (n_classes, n_train)
            Dual coefficients c, one row for each binary problem or class, not normalized. The
            function is :math:`\sum_i c_i k(x_i, x)`, plus the intercept :math:`\sum_i c_i` with
            `fit_intercept`. Its sign, or the largest of several, is the prediction without class
            weights.

        Raises
        ------
        ValueError
            If points are too large or too small, as for `decision_function`.

        Notes
        -----
        The vote is the mean over draws of the sign of :math:`\langle w, \phi(x)\rangle`, of
        several classes jointly the share of the draws for the class, minus 1 / n_classes. The
        function f in the span of the training examples minimizes :math:`\sum_x (f(x) -
        \mathrm{vote}(x))^2 + r |f|^2`. The ridge r is 1e-8 times the mean nonzero eigenvalue of the
        points' matrix of inner products within that span.

        Herbrich et al. define the Bayes point in this way (after their Eq. 7), with a density in
        place of the given points. The center of mass approximates it without points.

        References
        ----------
        R. Herbrich, T. Graepel and C. Campbell, "Bayes Point Machines", Journal of Machine
        Learning Research 1, 2001.
        """
        try:
            points = self._checked(X_unlabelled)
        except (TypeError, ValueError) as error:
            raise validation.named(error, "X_unlabelled") from error
        return self.posterior_.bayes_point(points)

    def reweight(self, weight: Callable[[Floats], ArrayLike], *, log: bool = False) -> Posterior:
        """Return the posterior for another density of the weight vectors' directions.

        Parameters
        ----------
        weight : callable
            The density relative to the posterior of the fit, up to a factor, as for
            :meth:`VersionSpace.reweight`. It is called once for each problem.
        log : bool, default=False
            `weight` returns natural logarithms of the weights.

        Returns
        -------
        Posterior
            A posterior that predicts from the weighted draws. Its `weighted` has their effective
            sample size and center.

        Raises
        ------
        TypeError, ValueError
            As in :meth:`VersionSpace.reweight`, and with kernel="precomputed" as in `evidence`. If
            several models are averaged, which have different margins.

        Warns
        -----
        ConvergenceWarning
            If the effective sample size of the weights is below 50, or below half of the draws.

        Examples
        --------
        >>> import numpy as np
        >>> from bayespoint import BayesPointClassifier
        >>> X = np.random.default_rng(0).normal(size=(40, 2))
        >>> model = BayesPointClassifier(n_models=1, random_state=0).fit(X, X[:, 0] > X[:, 1])
        >>> cautious = model.reweight(lambda margins: np.log(margins).sum(axis=1) / 10, log=True)
        >>> cautious.predict([[0.0, 1.0], [1.0, 0.0]])
        array([False,  True])
        """
        check_is_fitted(self)
        return self.posterior_.reweight(weight, log=log)

    # --- evidence and bounds -----------------------------------------------------------------

    def evidence(
        self,
        *,
        method: str = "auto",
        tol: float = 0.3,
        max_length: float = 1e5,
        random_state: RandomState = None,
    ) -> Evidence | list[Evidence]:
        """Return the log probability of the training labels under the model.

        If several models are averaged it is that of the first.

        Class weights have no effect, and repeated labels count as often as they are repeated.
        Billiards estimate it, or with landmarks the draws of the fit, which `max_length` and
        `random_state` do not change. It can be used to compare models of the same labels. The
        search for hyperparameters uses an approximation, whose value is ``tuning_.log_evidence``.

        Parameters
        ----------
        method : {"auto", "bridge", "integration"}, default="auto"
            As for :meth:`VersionSpace.evidence`. "bridge" requires a model without label noise.
        tol : float, default=0.3
            Standard error at which to stop, in nats. Positive.
        max_length : float, default=1e5
            Path in radians per trajectory at which to stop in any case.
        random_state : None, int, Generator or RandomState, default=None
            Seed.

        Returns
        -------
        Evidence or list of Evidence
            In nats, with standard errors; a list if there are several problems.

        Raises
        ------
        InfeasibleError
            If no weight vector was found that explains all labels.
        ValueError
            If a setting is out of range, or with kernel="precomputed" if the matrix with softness
            is singular, since it is not kept: use :meth:`VersionSpace.evidence`.
        FloatingPointError
            If double precision is not sufficient, as in :meth:`VersionSpace.evidence`.

        Warns
        -----
        ConvergenceWarning
            If the run ended with a standard error above `tol`.
        """
        check_is_fitted(self)
        rng = np.random.default_rng(validation.seed(random_state))
        if self.approximation_ == "landmarks":
            return landmarks.evidence(self, method, tol, max_length)
        found = [
            evidence(
                problem,
                fitted.rate,
                method=method,
                tol=tol,
                max_length=max_length,
                n_jobs=self.n_jobs,
                seed=rng,
            )
            for problem, fitted in zip(self.kept_problems("evidence"), self.problems_, strict=True)
        ]
        return found[0] if len(found) == 1 else found

    def log_labeling_probability(
        self,
        X: ArrayLike,
        y: ArrayLike,
        *,
        tol: float = 0.1,
        max_length: float = 1e5,
        random_state: RandomState = None,
    ) -> Estimate:
        """Return ln of the posterior probability that all points have the given labels.

        This is the joint probability, and not the product of those from `predict_proba`.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Points, at least one.
        y : array-like of shape (n_samples,)
            Their labels, from `classes_`.
        tol, max_length, random_state
            As for `evidence`; the path is that for each of the two evidences.

        Returns
        -------
        Estimate
            ``value`` and standard ``error`` in nats. The value may be slightly above 0 by sampling
            error. It is minus infinity, with an infinite error, if no weight vector was found that
            gives examples and points their labels.

        Raises
        ------
        ValueError
            With several binary problems, with class weights, with kernel="precomputed", for unknown
            labels, or if a setting is out of range.
        FloatingPointError
            If double precision is not sufficient, as in :meth:`VersionSpace.evidence`.

        Warns
        -----
        ConvergenceWarning
            If the standard error of an evidence stayed above its tolerance.

        Notes
        -----
        The value is the log evidence of examples and points minus that of the examples, each with
        the tolerance ``tol / sqrt(2)``. With landmarks it is the log of a mean over the draws of
        the fit, which `max_length` and `random_state` do not change. The labels are those that
        would be observed, with label noise.
        """
        points = self._checked(X)
        rng = np.random.default_rng(validation.seed(random_state))
        if self.approximation_ == "landmarks":
            found = [
                landmarks.log_labeling_probability(model.posterior_, points, y, tol, max_length)
                for model in self.models_ or (self,)
            ]
            return found[0] if len(found) == 1 else averaging.mean(found, self.model_weights_)
        found = [
            transduction.log_labeling_probability(
                model.posterior_,
                points,
                y,
                tol=tol,
                max_length=max_length,
                n_jobs=self.n_jobs,
                random_state=random_state if len(self.models_) < 2 else rng,
            )
            for model in self.models_ or (self,)
        ]
        return found[0] if len(found) == 1 else averaging.mean(found, self.model_weights_)

    def risk_bounds(
        self,
        delta: float = 0.05,
        *,
        gram: ArrayLike | None = None,
        candidates: int = 1,
        tol: float = 0.3,
        max_length: float = 1e5,
        random_state: RandomState = None,
    ) -> RiskBounds | list[RiskBounds]:
        """Return bounds on the probability of an error on new examples.

        Parameters
        ----------
        delta : float, default=0.05
            Probability in (0, 1) with which each statement may fail.
        gram : array-like of shape (n_samples, n_samples), default=None
            With kernel="precomputed", and only then: the matrix given to `fit`.
        candidates
            As for :func:`bayespoint.bounds.table`.
        tol, max_length, random_state
            As for `evidence`, for each volume.

        Returns
        -------
        RiskBounds or list of RiskBounds
            The table of :func:`bayespoint.bounds.table`. With multiclass="one_vs_rest" and more
            than two classes one for each class: the risk of `predict` is at most the sum of theirs.

        Raises
        ------
        ValueError
            If `gram` is needed and missing or does not fit, or a setting is out of range. For
            several classes jointly: the bounds are those of binary classifiers.

        Warns
        -----
        ConvergenceWarning
            If the standard error of a volume stayed above `tol`.

        Notes
        -----
        No bound holds if the kernel depends on the examples. All bounds are therefore refused
        if kernel, softness or label noise were found. They are also refused with class weights,
        which `predict` includes and the bounds do not, and with sample weights other than 0 and 1,
        since repeated examples are not independent. Scaled features and kernels that depend on the
        examples in other ways cannot be recognized: see the user guide on risk bounds.

        With label noise the bounds for classifiers without training errors are refused.
        `pac_bayes_kl` is given for the posterior: it bounds the probability that an observed,
        noisy label is predicted wrongly.
        """
        check_is_fitted(self)
        self._require_matrix("risk_bounds")
        return risk_bounds(
            self,
            delta,
            gram=gram,
            candidates=candidates,
            tol=tol,
            max_length=max_length,
            n_jobs=self.n_jobs,
            random_state=random_state,
        )

    def problems_over(self, gram: ArrayLike | None = None) -> list[Problem]:
        """Return the problems with their kernel matrix, recomputed or given again."""
        check_is_fitted(self)
        self._require_matrix("problems_over")
        return over_training(self.problems_, self.kernel_, self._inputs_again(gram))

    def _inputs_again(self, gram: ArrayLike | None) -> Any:
        """Return the inputs of the fit, or with kernel="precomputed" `gram`, checked."""
        inputs = estimators_inputs.again(self.kernel_, self.X_fit_, self._n_examples, gram)
        return self._repeated(inputs, is_gram=True) if self.X_fit_ is None else inputs

    def kept_problems(self, question: str) -> list[Problem]:
        """Return the problems with their kernel matrix, as `Posterior.training_matrix`."""
        check_is_fitted(self)
        gram, offset, softness = self.posterior_.training_matrix(question)
        own = [replace(one, softness=softness, offset=offset) for one in self.problems_]
        return [one.over(gram) for one in own]

    # --- continuing a fit --------------------------------------------------------------------

    def refine(
        self,
        more_length: float | None = None,
        *,
        tol: float | None = None,
        gram: ArrayLike | None = None,
    ) -> Self:
        """Continue the billiard where it ended, for a more accurate center.

        The model does not change. New values of `n_jobs`, `verbose`, `calibration`,
        `class_weight` and `max_time` take effect; those of other settings of the billiard are
        ignored until the next fit. `fit_intercept` must be that of the fit.

        Parameters
        ----------
        more_length : float, default=None
            Radians to add to the path of each trajectory, positive. Two calls give the same bits
            as one with their sum. Either this or `tol` must be given.
        tol : float, default=None
            Angular error of the center, in radians, at which to stop; of several models the square
            root of their number times that. The result has the same bits as a fit with this `tol`.
        gram : array-like of shape (n_samples, n_samples), default=None
            With kernel="precomputed", and only then: the matrix given to fit.

        Returns
        -------
        BayesPointClassifier
            The estimator itself.

        Raises
        ------
        ValueError
            If not exactly one of `more_length` and `tol` is given or it is out of range, if `gram`
            is missing or another matrix, or if `fit_intercept` has changed.
        FloatingPointError
            As in `fit`.

        Warns
        -----
        ConvergenceWarning
            As in `fit`. With `more_length` also if R-hat is high or the effective sample size
            small, as in :meth:`VersionSpace.sample`.

        Notes
        -----
        The kernel matrix and its factor are computed again. After an exception, such as Ctrl-C, the
        estimator is unchanged.
        """
        check_is_fitted(self)
        self._require_matrix("refine")
        if (more_length is None) == (tol is None):
            raise ValueError(
                "exactly one of more_length and tol must be given; got "
                f"more_length={more_length!r} and tol={tol!r}"
            )
        if more_length is not None:
            more_length = validation.positive("more_length", more_length)
        else:
            tol = validation.positive("tol", tol)
        settings = fit_settings(self, self.seed_)
        self._require_as_fitted(settings.offset)
        weights = self._class_weight(self._index, self._share)
        observed = self._inputs_again(gram), self._index, self._share
        progress, n_models = Progress(self, self.verbose, 0), max(1, len(self.models_))
        if tol is not None:
            tol *= math.sqrt(n_models)
        models = [copy(model) for model in self.models_]
        with rolled_back_on_error(self):
            self.class_weight_ = weights
            for k, model in enumerate(models or [self]):
                model.class_weight_ = weights
                model.set_params(n_jobs=self.n_jobs)
                if models:
                    calibration = averaging.member_calibration(self.calibration, model.softness_)
                    model.set_params(calibration=calibration)
                run = longer([one.result for one in model.problems_], more_length, tol)
                own = averaging.with_share(settings, n_models - k)
                try:
                    model._fit_fixed(*observed, own, run, progress, n_models=n_models)
                except ValueError as error:
                    if gram is None:
                        raise
                    # All other arguments have been checked.
                    raise ValueError(f"gram must be the matrix given to fit: {error}") from error
            if models:
                averaging.set_models(self, models)
        return self

    def _require_matrix(self, question: str) -> None:
        """Raise ValueError for a fit with landmarks, which has no matrix of all examples."""
        if self.approximation_ == "landmarks":
            raise ValueError(
                f"{question} needs the kernel matrix of the training examples, which a classifier "
                "with landmarks does not have: fit with approximation=None"
            )

    def _require_as_fitted(self, offset: float) -> None:
        """Raise ValueError if the intercept is not that of the fit."""
        fitted = self.problems_[0]
        if offset != fitted.offset:
            raise ValueError(
                f"fit_intercept must be {bool(fitted.offset)}, as in the fit that refine "
                f"continues; got {self.fit_intercept!r}"
            )


def _constant(diagonal: Floats) -> float | None:
    """Return k(x, x) if it is the same for all training examples, otherwise None."""
    mean = float(diagonal.mean())
    return mean if np.abs(diagonal - mean).max() <= 1e-8 * abs(mean) else None
