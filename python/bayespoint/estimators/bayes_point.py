"""The Bayes point classifier, as a scikit-learn estimator."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.validation import check_is_fitted

from bayespoint import kernels
from bayespoint.base import linalg, memory, validation
from bayespoint.base.io import Savable
from bayespoint.base.validation import Floats, Labels, RandomState
from bayespoint.engine import distributed, sampling
from bayespoint.engine.problem import Problem
from bayespoint.engine.settings import SampleSettings
from bayespoint.estimators import inputs as estimators_inputs
from bayespoint.estimators import settings as estimators_settings
from bayespoint.estimators import tasks
from bayespoint.estimators.decisions import DecisionsMixin
from bayespoint.estimators.predictions import PredictionMixin
from bayespoint.estimators.progress import CallbackSupportMixin, Progress, with_callbacks
from bayespoint.estimators.refine import GoesOn, RefineMixin
from bayespoint.estimators.risk import RiskMixin
from bayespoint.estimators.rollback import all_or_nothing
from bayespoint.estimators.weighted import ClassifierWeightingMixin
from bayespoint.posterior import calibration as posterior_calibration
from bayespoint.posterior import predictive
from bayespoint.results import BilliardResult, Search
from bayespoint.tuning import search

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["BayesPointClassifier"]


class BayesPointClassifier(
    CallbackSupportMixin,  # type: ignore[misc]
    PredictionMixin,
    DecisionsMixin,
    RefineMixin,
    RiskMixin,
    ClassifierWeightingMixin,
    Savable,
    ClassifierMixin,  # type: ignore[misc]
    BaseEstimator,  # type: ignore[misc]
):
    r"""Bayes point classification by billiards in version space.

    Among all weight vectors that label the training examples correctly, the Bayes point is the
    center of mass. With `softness` the vectors are those of Gaussian-process classification with
    probit noise, sampled exactly: no approximation of the posterior by a Gaussian is made.

    Several classes are taken one against the rest, on one kernel matrix.

    Parameters
    ----------
    kernel : None, str, kernel object or callable, default=None
        None is the Matérn kernel of smoothness 5/2 with the factor and the length scale of the
        best evidence, or without an `optimizer` 1 and that of "rbf". The names are fixed: "rbf" is
        :math:`\exp(-|x - x'|^2 / 2\sigma^2)` with
        :math:`\sigma = \sqrt{d \operatorname{Var}(X) / 2}` for d features, "linear"
        :math:`x \cdot x'`, "poly" :math:`(x \cdot x' + 1)^3`. "precomputed": `X` holds kernel
        values. Objects from :mod:`bayespoint.kernels` have parameters, which the `optimizer`
        searches; some take sets or strings instead of vectors. So have those of
        :mod:`sklearn.gaussian_process.kernels`, which are searched within their own bounds if not
        fixed; a `WhiteKernel` among them is softness by another name. Where the `optimizer`
        searches, length scales start at the scale of the data, whatever an object of
        :mod:`bayespoint.kernels` bears: a grid over ``kernel__sigma`` needs optimizer=None and a
        number for `softness`. Factors and constants start at what it bears and stay within 1/1097
        to 1097 times that, and softness within bounds in proportion to the kernel's values. A
        callable ``k(X, Y)`` returns the (n, n') matrix of values.
    fit_intercept : bool, default=True
        Add 1 to all kernel values, which gives the weight vector an intercept.
    softness : float or "evidence", default="evidence"
        At least 0. Added to the diagonal of the training kernel matrix, in units of the kernel's
        values: the variance of Gaussian noise in front of each label. For kernels with values
        far from 1 ("linear", "poly") it should be chosen in proportion. With 0 the training
        examples must be separable. "evidence", with an optimizer: the value of the best evidence.
    optimizer : {"evidence"} or None, default="evidence"
        "evidence": search the length scale for kernel=None, the parameters that a kernel object
        declares, and softness and label noise if they say so, for the largest probability of the
        labels: see :func:`bayespoint.tuning.search.tune`. The search looks at 500 examples at most.
        None: use kernel, softness and label noise as given, which must be numbers then.
    label_noise : float, "evidence" or a pair of either, default=0.0
        Probability in [0, 0.5) that a label was flipped; for two classes also a pair: for
        examples that truly are of the first class and for those of the second. "evidence": the
        rate of the best evidence, one for both classes; ``("evidence", "evidence")``: one for
        each.
    class_weight : dict, "balanced" or None, default=None
        Positive weights of the classes, as elsewhere in scikit-learn. The softness of an example
        is divided by the weight of its class: a heavier class is trusted more. Without softness
        it has no effect.
    calibration : {"auto", "leave-one-out"} or None, default="auto"
        None: the probabilities are those of the model, exact if the data came from it.
        "leave-one-out": the decision values are multiplied by the factor between 1/2 and 2 by
        which the training examples predict each other best, each from all others. That takes a
        positive softness and no further fit. "auto": the latter if anything was searched, and None
        if the model was given.
    n_trajectories : int, default=4
        Independent billiard balls (per class, if there are more than two).
    n_draws : int, default=100
        Draws to keep of each trajectory, for decision values and probabilities.
    tol : float or "auto", default="auto"
        Estimated angular error of the Bayes point, in radians, at which to stop. Positive. The
        decision values have about that error relative to their spread, and the time goes with its
        inverse square. "auto": 0.03 for up to 500 examples, growing with the square root of
        their number to 0.1 at 5556 and beyond.
    dynamics : {"geodesic", "chord", "flipper"}, default="geodesic"
        How the ball flies: see :meth:`VersionSpace.sample`. Those of the papers are biased, and
        have neither label noise nor refresh.
    refresh : {"auto", "pair", "full", None}, default="auto"
        How its direction changes in mid-air: see :meth:`VersionSpace.sample`. "auto" is "full"
        for up to some thousand examples, and where the kernel matrix is far from singular.
    n_jobs : int, default=None
        Threads, as joblib counts them: None is 1, -1 all processors. The result does not depend
        on it.
    random_state : None, int, Generator or RandomState, default=None
        Seed. None asks NumPy's global generator.
    verbose : int, default=0
        1: a line on standard error for what is done: the search by evidence, each billiard. 2:
        bars for what goes on, too. 3: a line for each setting tried, too. Progress is also told to
        callbacks of scikit-learn: see Notes.
    warm_start : bool, default=False
        Fit from what was learned before, if the first examples are those of the last fit. To the
        same examples, with the same settings but for `tol` and `random_state`, the billiard goes
        on where it ended; after other changes balls start at the old center where it is inside
        version space (on matrices far from singular, as with softness, at points drawn about
        the new center). The law is that of the new examples and settings in any case. See also
        `refine` and `add_examples`.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Class labels, sorted. Of two, the second is the positive one.
    dual_coef_ : ndarray of shape (1, n_samples) or (n_classes, n_samples)
        Signed dual coefficients of the unit Bayes point of each binary problem.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        Intercepts: 0 without `fit_intercept`.
    support_ : ndarray of shape (n_support,)
        Indices of the examples whose planes were hit in any of the binary problems.
    X_fit_ : ndarray of shape (n_samples, n_features) or (n_samples,), CSR matrix, or None
        Training inputs: sparse if they were, objects such as sets or strings if the kernel takes
        these; None for kernel="precomputed".
    kernel_ : kernel object, callable or "precomputed"
        The kernel with its parameters.
    softness_ : float
        The softness used.
    tuning_ : Search or None
        The search for hyper-parameters with all settings tried; None where all were given.
    label_noise_ : tuple of two floats
        Label noise of the first and of the second class, or of any class and the rest.
    calibration_ : ndarray of shape (1,) or (n_classes,)
        Factors on the decision values; 1 without calibration. Above 1 the model was too cautious.
    log_evidence_ : ndarray of shape (1,) or (n_classes,)
        Log probability of the labels of each binary problem, in nats, by a billiard of its own at
        the first time it is asked for: see `evidence`.
    billiard_ : BilliardResult or list of BilliardResult
        The billiard; one for each class if there are more than two.
    n_features_in_ : int
        Number of features seen in fit.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, if all are strings.

    Warns
    -----
    ConvergenceWarning
        If the billiard could not reach `tol` or its plane coordinates drifted, or if the search
        for hyper-parameters found nothing to go by, which takes a softness of 0.

    See Also
    --------
    VersionSpace : The billiard itself, for a given kernel matrix.

    Notes
    -----
    The kernel matrix of the training examples and its Cholesky factor are held in memory during
    the fit: twice 8 bytes times the square of their number; the factor stays. With the factor the
    center is one of conditional means, which has far less noise: see `average` in
    :meth:`VersionSpace.sample`. Where the matrix is next to singular, as without softness, or with
    the papers' dynamics, it is the integral along the path; the factor then takes the place of
    the matrix after the billiard, and during it takes twice that beside it if `refresh` is "full".

    `n_jobs` says how many threads play the billiard. BLAS, which computes kernel matrices and
    factors, has its own number of threads (:mod:`threadpoolctl` sets it) and never runs while the
    billiard does. Fits of up to 1500 examples and the search for hyper-parameters hold it to one,
    for the whole process meanwhile: that is faster, and the same bits come out however many there
    are.

    With scikit-learn 1.9 and newer callbacks are told of the progress of a fit:
    ``set_callbacks(sklearn.callback.ProgressBar())``, or the same on a search or pipeline around
    the classifier. Their tasks are the search by evidence, with one task for each setting, and the
    billiards, with one for each percent of the way to `tol`. A callback cannot stop a fit but by
    an exception.

    References
    ----------
    R. Herbrich, T. Graepel and C. Campbell, "Bayes Point Machines", Journal of Machine Learning
    Research 1, 2001.

    P. Ruján and M. Marchand, "Computing the Bayes Kernel Classifier", in Advances in Large
    Margin Classifiers, MIT Press, 2000.

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
    >>> model.predict_proba(X[1::2]).shape
    (75, 3)
    """

    classes_: NDArray[Any]
    dual_coef_: Floats
    intercept_: Floats
    support_: NDArray[np.intp]
    X_fit_: NDArray[Any] | None
    kernel_: Any
    softness_: float
    tuning_: Search | None
    calibration_: Floats
    label_noise_: tuple[float, float]
    billiard_: Any
    n_features_in_: int

    def __init__(
        self,
        kernel: str | Callable[..., Any] | None = None,
        *,
        fit_intercept: bool = True,
        softness: float | str = "evidence",
        optimizer: str | None = "evidence",
        label_noise: float | str | tuple[float, float] | tuple[str, str] = 0.0,
        class_weight: Mapping[Any, float] | str | None = None,
        calibration: str | None = "auto",
        n_trajectories: int = 4,
        n_draws: int = 100,
        tol: float | str = "auto",
        dynamics: str = "geodesic",
        refresh: str | None = "auto",
        n_jobs: int | None = None,
        random_state: RandomState = None,
        verbose: int = 0,
        warm_start: bool = False,
    ) -> None:
        self.kernel = kernel
        self.fit_intercept = fit_intercept
        self.softness = softness
        self.optimizer = optimizer
        self.label_noise = label_noise
        self.class_weight = class_weight
        self.calibration = calibration
        self.n_trajectories = n_trajectories
        self.n_draws = n_draws
        self.tol = tol
        self.dynamics = dynamics
        self.refresh = refresh
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.warm_start = warm_start

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        estimators_inputs.mark(tags.input_tags, self.kernel)
        return tags

    # --- fit ---------------------------------------------------------------------------------

    @all_or_nothing
    @with_callbacks  # type: ignore[untyped-decorator]
    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Find the Bayes point of the training examples.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Inputs; with kernel="precomputed" the (n_samples, n_samples) kernel matrix. For a
            kernel that takes sets or strings a sequence of these, here and wherever the
            estimator takes inputs. So with sparse ones, which go with "linear", "rbf", "poly" and
            with what is made of `Linear`, `RBF` and `Polynomial`; they are never made dense.
        y : array-like of shape (n_samples,)
            Class labels of any type.

        Returns
        -------
        BayesPointClassifier
            The estimator itself.

        Raises
        ------
        InfeasibleError
            If `softness` and `label_noise` are 0 and the examples are not separable.
        FloatingPointError
            If double precision gives out in a billiard: as :meth:`VersionSpace.sample`. A larger
            `softness` helps.
        MemoryError
            If the kernel matrix does not fit into the memory available.
        TypeError
            If `X` is sparse and the kernel takes dense inputs only.
        ValueError
            If a setting is out of range or the data are not fit for classification.
        """
        settings = estimators_settings.fit_settings(
            fit_intercept=self.fit_intercept,
            softness=self.softness,
            optimizer=self.optimizer,
            label_noise=self.label_noise,
            dynamics=self.dynamics,
            calibration=self.calibration,
            random_state=self.random_state,
            verbose=self.verbose,
        )
        before = self._before() if validation.boolean("warm_start", self.warm_start) else None
        inputs, y = estimators_inputs.training(self, self.kernel, X, y)
        self.classes_, index = estimators_inputs.encode(y)
        if len(self.classes_) > 2 and np.ndim(self.label_noise):
            raise ValueError(
                "label_noise must be one rate for more than two classes; got "
                f"{self.label_noise!r} for {len(self.classes_)} classes"
            )
        weights = self._weights(y)[index]
        self._require_memory(len(index))
        labels = self._labels(index)
        progress = Progress(self, settings.verbose, self._problem_names(), X, y)
        with progress.search() as report:
            self.kernel_, self.softness_, self.label_noise_, self.tuning_, _ = (
                search.resolve_hyperparameters(
                    self.kernel,
                    inputs,
                    labels.astype(np.float64),
                    offset=settings.offset,
                    softness=settings.softness,
                    label_noise=settings.label_noise,
                    rates=settings.rates,
                    weights=weights,
                    optimizer=settings.optimizer,
                    seed=settings.seed % 2**32,
                    report=report,
                    n_jobs=self.n_jobs,
                )
            )
        progress.found_setting(self.tuning_)
        goes_on = None
        if before is not None:
            goes_on = before.goes_on(self.classes_, index, inputs, self.kernel_)
        self._learn(inputs, index, weights, settings, goes_on, progress)
        progress.done()
        return self

    def _learn(
        self,
        inputs: Any,
        index: NDArray[np.intp],
        weights: Floats,
        settings: estimators_settings.FitSettings,
        goes_on: GoesOn | None,
        progress: Progress,
    ) -> None:
        """Play with kernel, softness and label noise as they are, and keep what predicts."""
        with linalg.threads_for(len(index)):
            self._learn_at_rest(inputs, index, weights, settings, goes_on, progress)

    def _learn_at_rest(
        self,
        inputs: Any,
        index: NDArray[np.intp],
        weights: Floats,
        settings: estimators_settings.FitSettings,
        goes_on: GoesOn | None,
        progress: Progress,
    ) -> None:
        labels = self._labels(index)
        softness = validation.softness(self.softness_ / weights, len(index))
        gram, own = kernels.training_gram(self.kernel_, inputs, settings.offset, softness)
        self.X_fit_ = None if isinstance(self.kernel_, str) else inputs.copy()
        self._offset, self._index, self._softness = settings.offset, index, softness
        self._no_guarantee = self._refusal()
        self._evidence_seed = settings.seed % 2**32
        self._log_evidence = None
        self._set_constant_diagonal(gram)
        inverse = None
        if self.dynamics == "geodesic":
            factor = predictive.factorize(gram, settings.offset, softness)
            if factor.invertible:
                inverse = factor, factor.inverse_diagonal()
            else:  # made anew, in the place of the matrix, when that is not needed any more
                del factor
        self._play(gram, labels, softness, settings, inverse, goes_on, progress)
        calibrate = settings.calibrate
        if calibrate is None:
            calibrate = self.tuning_ is not None
        watched = None
        if calibrate and softness.min() > 0:
            watched = posterior_calibration.Watched(
                gram,
                settings.offset,
                softness,
                self._results,
                labels,
                self.label_noise_,
                settings.seed % 2**32,
            )
        self._factor = (
            predictive.factorize(gram, settings.offset, softness, overwrite=own)
            if inverse is None
            else inverse[0]
        )
        self.calibration_ = np.ones(len(labels))
        # In a singular matrix the others decide about an example: there is nothing to learn.
        if watched is not None and self._factor.pivots is None:
            diagonal = self._factor.inverse_diagonal() if inverse is None else inverse[1]
            self.calibration_ = watched.factors(diagonal)

    def _weights(self, y: Any) -> Floats:
        """Return the weights of the classes."""
        weights: Floats = compute_class_weight(self.class_weight, classes=self.classes_, y=y)
        if not (np.isfinite(weights).all() and (weights > 0).all()):
            raise ValueError(
                f"class_weight must give every class a positive weight; got {self.class_weight!r}"
            )
        return weights

    def _labels(self, index: NDArray[np.intp]) -> Labels:
        return estimators_inputs.one_vs_rest(index, len(self.classes_))

    def _problem_names(self) -> list[str]:
        """Return what the billiard of each binary problem is called."""
        if len(self.classes_) == 2:
            return ["billiard"]
        return [f"billiard of class {label}" for label in self.classes_]

    def _require_memory(self, m: int) -> None:
        """Raise MemoryError if the matrix, factors beside it and the draws do not fit."""
        problems = 1 if len(self.classes_) == 2 else len(self.classes_)
        trajectories = validation.integer("n_trajectories", self.n_trajectories, low=1)
        each = validation.integer("n_draws", self.n_draws, low=1)
        kept = trajectories * each
        draws = 8.0 * m * (problems + 1) * kept
        # The last factor takes the place of a matrix that is ours. A borrowed one stays, but it
        # is there already.
        matrices = 3 if self.refresh == "full" else 1 + (self.dynamics == "geodesic")
        if self.calibration is not None:
            draws += posterior_calibration.size(m, problems, kept)
        memory.require(
            8.0 * matrices * m * m + draws,
            f"fitting {m} examples ({matrices} x {memory.readable(8.0 * m * m)} for the kernel "
            f"matrix{' and a factor' * (matrices > 1)}, {memory.readable(draws)} for the draws, "
            f"n_trajectories={trajectories} x n_draws={each}, and what calibration takes of them)",
        )

    def _set_constant_diagonal(self, gram: Floats) -> None:
        """Keep k(x, x) if it is the same for all training examples."""
        diagonal = gram.diagonal()
        mean = float(diagonal.mean())
        constant = np.abs(diagonal - mean).max() <= 1e-8 * abs(mean)
        self._constant_diagonal = mean if constant else None

    def _play(
        self,
        gram: Floats,
        problems: Labels,
        softness: Floats,
        settings: estimators_settings.FitSettings,
        inverse: tuple[predictive.Factor, Floats] | None,
        goes_on: GoesOn | None,
        progress: Progress,
    ) -> None:
        """Play the billiard of each binary problem and keep what it found."""
        two = len(self.classes_) == 2
        tol = estimators_settings.tolerance(self.tol, len(gram))
        seeds = np.random.SeedSequence(settings.seed).generate_state(len(problems), np.uint64)
        first, second = self.label_noise_
        # P(label | the other class) over P(label | its own class), seen - and seen +.
        transparency = (second / (1 - first), first / (1 - second))
        source = (self.kernel_, self.X_fit_)
        each = [
            Problem(gram, labels, softness, settings.offset, inverse, source) for labels in problems
        ]
        options = SampleSettings(
            n_trajectories=self.n_trajectories,
            n_draws=self.n_draws,
            tol=tol,
            dynamics=self.dynamics,
            transparency=transparency,
            refresh=self.refresh,
        ).resolved(conditional=inverse is not None)
        several = None
        # A run that goes on has a state of its own: its trajectories are the tasks.
        if len(each) > 1 and goes_on is None and distributed.active():
            several = tasks.samples(each, options, seeds.tolist(), self.n_jobs)
        results = []
        for k, (problem, name, seed) in enumerate(
            zip(each, self._problem_names(), seeds.tolist(), strict=True)
        ):
            with progress.billiard(tol) as report:
                if several is None:
                    asked, how = options, {"seed": seed}
                    if goes_on is not None:
                        asked, how = goes_on(k, problem, options, seed)
                    result = sampling.sample(
                        problem, asked, **how, n_jobs=self.n_jobs, callback=report
                    )
                else:
                    result = next(several)
            progress.found_center(name, result, tol)
            results.append(result)
        self.dual_coef_ = np.stack([result.center for result in results])
        self.intercept_ = settings.offset * self.dual_coef_.sum(axis=1)
        hit = np.any([result.hits > 0 for result in results], axis=0)
        self.support_ = np.flatnonzero(hit)
        self.billiard_ = results[0] if two else results

    @property
    def _results(self) -> list[BilliardResult]:
        return self.billiard_ if isinstance(self.billiard_, list) else [self.billiard_]

    # --- predict -----------------------------------------------------------------------------

    def predict(
        self, X: ArrayLike, *, method: str = "center", diag: ArrayLike | None = None
    ) -> NDArray[Any]:
        """Return the class the Bayes point predicts, or the vote, or one random weight vector.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Inputs; with kernel="precomputed" the (n_samples, n_train) kernel values between them
            and the training examples.
        method : {"center", "vote", "gibbs"}, default="center"
            "center": the Bayes point decides. "vote": the majority of the draws, the Bayes
            classification strategy (Herbrich et al., Eq. 7). "gibbs": one draw for all of `X`,
            chosen at random by `random_state` at each call: the same one every time if that is an
            int, the next one if it is a generator.
        diag : array-like of shape (n_samples,), default=None
            With kernel="precomputed" and more than two classes: the values ``k(x, x)``, as for
            `decision_function`. Without them, and without a constant diagonal to take them from,
            each point is compared as if it lay in the span of the training examples. A vote does
            not need them.

        Returns
        -------
        ndarray of shape (n_samples,)
            Labels. A tie goes to the first class. With more than two classes the largest of their
            decision values wins, or with "vote" the largest share of votes, each class against
            the rest.

        Raises
        ------
        ValueError
            If inputs are so large that kernel values or values of f overflow: with more than two
            classes k(x, x) is one of them, except for a vote.
        """
        method = validation.choice("method", method, ("center", "vote", "gibbs"))
        return self._predicted(X, method, diag)

    def _posterior(self) -> predictive.Posterior:
        check_is_fitted(self)
        return predictive.Posterior(
            kernel=self.kernel_,
            inputs=self.X_fit_,
            offset=self._offset,
            softness=self.softness_,
            constant_diagonal=self._constant_diagonal,
            factor=self._factor,
            results=self._results,
            calibration=self.calibration_,
        )

    def _checked_inputs(self, X: ArrayLike) -> NDArray[Any]:
        return estimators_inputs.new(self, self.kernel_, X)

    def _predictor(self) -> predictive.Posterior:
        return self._posterior()
