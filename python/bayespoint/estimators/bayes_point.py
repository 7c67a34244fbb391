"""The Bayes point classifier, as a scikit-learn estimator."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.metadata_routing import UNUSED
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from bayespoint import kernels
from bayespoint.base import linalg, memory, validation
from bayespoint.base.io import Savable
from bayespoint.base.linalg import factorize
from bayespoint.base.validation import Floats, RandomState
from bayespoint.bounds.result import RiskBounds
from bayespoint.bounds.risk_bounds import risk_bounds
from bayespoint.engine import dynamics
from bayespoint.engine.dynamics import Geodesic
from bayespoint.engine.evidence import evidence
from bayespoint.engine.problem import Problem
from bayespoint.engine.settings import SampleSettings
from bayespoint.estimators import binary, transduction
from bayespoint.estimators import inputs as estimators_inputs
from bayespoint.estimators.binary import BinaryProblem
from bayespoint.estimators.progress import CallbackSupportMixin, Progress, with_callbacks
from bayespoint.estimators.refine import Continuation, PreviousFit, longer, with_more_examples
from bayespoint.estimators.rollback import roll_back_on_error, rolled_back_on_error
from bayespoint.estimators.settings import FitSettings, fit_settings, tolerance
from bayespoint.kernels.functions import short
from bayespoint.posterior import Posterior
from bayespoint.posterior.calibration import LeaveOneOutPredictions
from bayespoint.results import Estimate, Evidence, Search
from bayespoint.results.search import rates
from bayespoint.tuning import search

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["BayesPointClassifier"]


class BayesPointClassifier(
    CallbackSupportMixin,  # type: ignore[misc]
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
        None: the Matérn kernel of smoothness 5/2, whose factor and length scale the `optimizer`
        searches; without it they are 1 and the length scale of "rbf". Names stand for fixed
        kernels: "rbf" is :math:`\exp(-|x - x'|^2 / 2\sigma^2)` with
        :math:`\sigma = \sqrt{d \operatorname{Var}(X) / 2}` for d features, "linear"
        :math:`x \cdot x'`, "poly" :math:`(x \cdot x' + 1)^3`. "precomputed": `X` holds kernel
        values. The `optimizer` searches the parameters of objects from :mod:`bayespoint.kernels`,
        some of which take sets or strings, and those that are not fixed of
        :mod:`sklearn.gaussian_process.kernels`, within their own bounds; a `WhiteKernel` among
        them acts as softness. A search starts length scales at the scale of the data, whatever
        value an object of :mod:`bayespoint.kernels` has: a grid over ``kernel__sigma`` needs
        optimizer=None and a number for `softness`. Factors and constants start at their value and
        stay within 1/1097 to 1097 times it. A callable ``k(X, Y)`` returns the (n, n') matrix of
        values.
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
        labels: see :func:`bayespoint.tuning.tune`. The search looks at 500 examples at most.
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
        Independent chains, for each class if there are more than two.
    n_draws : int, default=100
        Draws to keep of each trajectory, for decision values and probabilities.
    tol : float or "auto", default="auto"
        Estimated angular error of the Bayes point, in radians, at which to stop. Positive. The
        decision values have about that error relative to their spread, and the time goes with its
        inverse square. "auto": 0.03 for up to 500 examples, growing with the square root of
        their number to 0.1 at 5556 and beyond.
    dynamics : {"geodesic", "chord", "flipper"}, default="geodesic"
        The motion of a chain, or an object of :mod:`bayespoint.dynamics`: see
        :meth:`VersionSpace.sample`. "chord" and "flipper", those of the papers, are biased, and
        have neither label noise nor refresh.
    refresh : {"auto", "pair", "full", None}, default="auto"
        Random changes of its direction between bounces: see :meth:`VersionSpace.sample`.
    n_jobs : int, default=None
        Threads, as joblib counts them: None is 1, -1 all processors. The result does not depend
        on it.
    random_state : None, int, Generator or RandomState, default=None
        Seed. None asks NumPy's global generator.
    verbose : int, default=0
        1: a line on standard error after the search and after each billiard. 2: progress bars,
        too. 3: a line for each setting tried, too.
    warm_start : bool, default=False
        Start from the last fit, if its examples are the first of the new ones. With the same
        examples and settings, but for `tol` and `random_state`, the billiard continues where it
        ended. After other changes chains start at the old center, if it is inside version space
        and a point inside is needed. The law that is sampled is always that of the new examples and
        settings. See also `refine` and `add_examples`.

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
    posterior_ : Posterior
        What the draws of the billiards say about new points; most methods below ask it.
    problems_ : tuple of BinaryProblem
        The binary problems with what their billiards found: one for two classes.
    prior_from_examples_ : str
        What of the prior was made from the training examples: "evidence", "length scale", "class
        weights" or nothing, "". Risk bounds hold only in the last case.
    seed_ : int
        Seed of `log_evidence_`, and of the choice of examples for the search.
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
    A fit holds the kernel matrix of the training examples and its Cholesky factor in memory: 16
    bytes times the square of their number. The factor stays. With it the center is an average of
    conditional means, which has far less noise: see `average` in :meth:`VersionSpace.sample`.
    Where the matrix is next to singular, as without softness, or with the papers' dynamics, it is
    the integral along the path.

    `n_jobs` threads run the billiard. BLAS, which computes kernel matrices and factors, has its own
    number of threads (see :mod:`threadpoolctl`). Fits of up to 1500 examples and the search for
    hyper-parameters hold it to one: that is faster, and gives the same bits whatever the number.

    With scikit-learn 1.9 and newer a fit reports to callbacks:
    ``set_callbacks(sklearn.callback.ProgressBar())``, also on a search or pipeline around the
    classifier. Its tasks are the search by evidence, with a subtask for each setting, and the
    billiards, with one for each percent of the way to `tol`.

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

    # `method` and `diag` are choices of the caller, not metadata to be routed.
    __metadata_request__predict = {"method": UNUSED, "diag": UNUSED}  # noqa: RUF012
    __metadata_request__decision_function = {"diag": UNUSED}  # noqa: RUF012
    __metadata_request__predict_proba = {"method": UNUSED, "diag": UNUSED}  # noqa: RUF012
    __metadata_request__predict_log_proba = {"method": UNUSED, "diag": UNUSED}  # noqa: RUF012

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
    posterior_: Posterior
    problems_: tuple[BinaryProblem, ...]
    prior_from_examples_: str
    seed_: int
    n_features_in_: int
    _log_evidence: Floats | None

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

    @roll_back_on_error
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
        settings = self._fit_settings(self.random_state)
        before = self._previous() if validation.boolean("warm_start", self.warm_start) else None
        inputs, y = estimators_inputs.training(self, self.kernel, X, y)
        self.classes_, index = estimators_inputs.encode(y)
        if len(self.classes_) > 2 and np.ndim(self.label_noise):
            raise ValueError(
                "label_noise must be one rate for more than two classes; got "
                f"{self.label_noise!r} for {len(self.classes_)} classes"
            )
        weights = self._weights(y)[index]
        self._require_memory(len(index))
        n_problems = 1 if len(self.classes_) == 2 else len(self.classes_)
        progress = Progress(self, settings.verbose, 1 + n_problems, X=X, y=y)
        gram = self._resolve_hyperparameters(inputs, index, weights, settings, progress)
        continuation = None
        if before is not None:
            continuation = before.continuation(self.classes_, index, inputs, self.kernel_)
        self._fit_fixed(inputs, index, weights, settings, continuation, progress, gram)
        progress.done()
        return self

    def _fit_settings(self, random_state: RandomState) -> FitSettings:
        return fit_settings(
            fit_intercept=self.fit_intercept,
            softness=self.softness,
            optimizer=self.optimizer,
            label_noise=self.label_noise,
            dynamics=self.dynamics,
            calibration=self.calibration,
            random_state=random_state,
            verbose=self.verbose,
        )

    def _previous(self) -> PreviousFit | None:
        """Return what was learned so far, if anything was."""
        if not hasattr(self, "problems_"):
            return None
        results = [problem.result for problem in self.problems_]
        return PreviousFit(self.classes_, self._index, self.X_fit_, self.kernel_, results)

    def _weights(self, y: Any) -> Floats:
        """Return the weights of the classes."""
        weights: Floats = compute_class_weight(self.class_weight, classes=self.classes_, y=y)
        if not (np.isfinite(weights).all() and (weights > 0).all()):
            raise ValueError(
                f"class_weight must give every class a positive weight; got {self.class_weight!r}"
            )
        return weights

    def _require_memory(self, m: int) -> None:
        """Raise MemoryError if the matrix, factors beside it and the draws do not fit."""
        kept = validation.integer("n_trajectories", self.n_trajectories, low=1)
        kept *= validation.integer("n_draws", self.n_draws, low=1)
        # The last factor takes the place of the matrix.
        matrices = 3 if self.refresh == "full" else 2
        memory.require(
            8.0 * matrices * m * m + 8.0 * m * (len(self.classes_) + 1) * kept,
            f"fitting {m} examples (the {m} x {m} kernel matrix, its factor, and {kept} draws)",
        )

    def _resolve_hyperparameters(
        self,
        inputs: Any,
        index: NDArray[np.intp],
        weights: Floats,
        settings: FitSettings,
        progress: Progress,
    ) -> tuple[Floats, bool] | None:
        """Set kernel, softness and label noise; return the kernel matrix if it was needed."""
        with progress.task("search by evidence") as advance:
            best, n = -math.inf, 0

            def report(setting: Mapping[str, float]) -> None:
                nonlocal best, n
                best, n = max(best, setting["log_evidence"]), n + 1
                if settings.verbose > 2:
                    progress.tell(", ".join(f"{k}={value:.4g}" for k, value in setting.items()))
                if advance is not None:
                    advance(n, f"log_evidence {best:.2f}")

            self.kernel_, self.softness_, self.label_noise_, self.tuning_, gram = (
                search.resolve_hyperparameters(
                    self.kernel,
                    inputs,
                    estimators_inputs.one_vs_rest(index, len(self.classes_)).astype(np.float64),
                    offset=settings.offset,
                    softness=settings.softness,
                    label_noise=settings.label_noise,
                    rates=settings.rates,
                    weights=weights,
                    optimizer=settings.optimizer,
                    seed=settings.seed % 2**32,
                    report=None if advance is None else report,
                    n_jobs=self.n_jobs,
                )
            )
        found = self.tuning_
        if settings.verbose and found is not None:
            noise = f", label noise {rates(found.label_noise)}" if any(found.label_noise) else ""
            progress.tell(
                f"search by evidence: {len(found.tried)} settings on {found.n_examples} examples, "
                f"{progress.seconds()}: {short(found.kernel)}, softness {found.softness:.4g}"
                f"{noise}, log evidence {found.log_evidence:.2f}"
            )
        return gram

    def _fit_fixed(
        self,
        inputs: Any,
        index: NDArray[np.intp],
        weights: Floats,
        settings: FitSettings,
        continuation: Continuation | None,
        progress: Progress,
        gram: tuple[Floats, bool] | None = None,
    ) -> None:
        """Fit with kernel, softness and label noise as they are.

        `gram` is the kernel matrix, and whether it may be overwritten, if it is known already.
        """
        with linalg.threads_for(len(index)):
            softness = validation.softness(self.softness_ / weights, len(index))
            problems = self._problems(index, softness, settings.offset)
            matrix, own = gram or kernels.training_gram(
                self.kernel_, inputs, settings.offset, softness
            )
            self.X_fit_ = None if isinstance(self.kernel_, str) else inputs.copy()
            self._index, self.seed_, self._log_evidence = index, settings.seed % 2**32, None
            self.prior_from_examples_ = self._prior_from_examples(softness)
            constant_diagonal = _constant(matrix.diagonal())
            factor, inverse = None, None
            if isinstance(dynamics.resolve(self.dynamics), Geodesic):
                factor = factorize(matrix, settings.offset, softness)
                if factor.invertible:
                    inverse = factor, factor.inverse_diagonal()
                else:  # made anew, in the place of the matrix, when that is not needed any more
                    factor = None
            results = binary.sample_each(
                problems,
                [problem.over(matrix, inverse=inverse) for problem in problems],
                SampleSettings(
                    n_trajectories=self.n_trajectories,
                    n_draws=self.n_draws,
                    tol=tolerance(self.tol, len(matrix)),
                    dynamics=self.dynamics,
                    transparency=problems[0].transparency,
                    refresh=self.refresh,
                ).resolved(conditional=inverse is not None),
                seed=settings.seed,
                n_jobs=self.n_jobs,
                continuation=continuation,
                progress=progress,
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
                if calibrate and softness.min() > 0
            ]
            if factor is None:
                factor = factorize(matrix, settings.offset, softness, overwrite=own)
            self.calibration_ = np.ones(len(problems))
            # In a singular matrix the others decide about an example: there is nothing to learn.
            if predictions and factor.pivots is None:
                diagonal = factor.inverse_diagonal() if inverse is None else inverse[1]
                self.calibration_ = np.array([one.factor(diagonal) for one in predictions])
        self.problems_ = tuple(
            problem.found(result, factor.rank, calibration)
            for problem, result, calibration in zip(
                problems, results, self.calibration_.tolist(), strict=True
            )
        )
        self.posterior_ = Posterior(
            classes=self.classes_,
            binary=tuple(one.posterior for one in self.problems_ if one.posterior is not None),
            kernel=self.kernel_,
            inputs=self.X_fit_,
            offset=settings.offset,
            softness=self.softness_,
            example_softness=softness,
            label_noise=self.label_noise_,
            factor=factor,
            constant_diagonal=constant_diagonal,
        )
        self.dual_coef_, self.intercept_ = self.posterior_.dual_coef, self.posterior_.intercept
        self.support_ = np.flatnonzero(np.any([result.hits > 0 for result in results], axis=0))
        self.billiard_ = results[0] if len(results) == 1 else results

    def _problems(
        self, index: NDArray[np.intp], softness: Floats, offset: float
    ) -> list[BinaryProblem]:
        names = [f"billiard of class {label}" for label in self.classes_]
        labels = estimators_inputs.one_vs_rest(index, len(self.classes_))
        return [
            BinaryProblem(name, y, softness, offset, self.label_noise_)
            for name, y in zip(names if len(labels) > 1 else ["billiard"], labels, strict=True)
        ]

    def _prior_from_examples(self, softness: Floats) -> str:
        """Return what of the prior was made from the training examples; empty for nothing."""
        if self.tuning_ is not None:
            return "evidence"
        if self.kernel is None or (isinstance(self.kernel, str) and self.kernel == "rbf"):
            return "length scale"
        if isinstance(self.class_weight, str) and softness.any():
            return "class weights"
        return ""

    def _checked(self, X: ArrayLike) -> NDArray[Any]:
        """Return checked inputs of a fitted classifier."""
        check_is_fitted(self)
        return estimators_inputs.new(self, self.kernel_, X)

    # --- predictions -------------------------------------------------------------------------

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
            If inputs are so large that kernel values overflow; with more than two classes, except
            for a vote, as `decision_function`.
        """
        method = validation.choice("method", method, ("center", "vote", "gibbs"))
        points = self._checked(X)
        return self.posterior_.predict(
            points, method=method, diag=diag, random_state=self.random_state
        )

    def decision_function(self, X: ArrayLike, *, diag: ArrayLike | None = None) -> Floats:
        r"""Return :math:`z(x)`, the predictive mean over its standard deviation.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            As for `predict`.
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
            If `diag` is needed and missing, or if values of f are so large or so small, beyond
            1e140 or below 1e-140, that their squares are no doubles.
        """
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
        points = self._checked(X)
        return self.posterior_.predict_proba(points, method=method, diag=diag)

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

        An error costs 1 and abstention `cost`: abstention is better where the expected loss, 1
        minus the largest probability, exceeds `cost`.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            As for `predict_proba`.
        cost : float
            Cost of abstention in [0, 1]. From 1 - 1 / n_classes on nothing is rejected.
        method : {"moments", "mixture"}, default="moments"
            Form of the probabilities, as for `predict_proba`.
        diag : array-like of shape (n_samples,), default=None
            As for `decision_function`.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            The class whose label is most likely observed, label noise included: with noise that
            differs between the classes that may be another than `predict` returns. A tie goes to
            the first class.
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
        """Return the points whose labels would tell most: where the draws are most divided.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Candidates, as for `predict`.
        n : int, default=1
            How many to choose, from 1 to n_samples.

        Returns
        -------
        ndarray of shape (n,)
            Row numbers of `X`, the most evenly split vote first; ties in the order of `X`. With
            more than two classes it is the two classes with the most votes that are compared.

        Raises
        ------
        ValueError
            If `n` is out of range, or points are so large that kernel values overflow.

        Notes
        -----
        Each point is judged by itself: rows that are near each other may be chosen together. To
        halve version space with each label, choose one, label it and fit again.

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
            Whether each point has a noise of its own, of variance `softness_`: then the signs are
            labels. False: the function itself.
        random_state : None, int, Generator or RandomState, default=None
            Seed of lengths and noise.

        Returns
        -------
        ndarray of shape (n_draws_total, n_samples) or (n_classes, n_draws_total, n_samples)
            One function for each draw of the billiard, trajectory by trajectory; with more than
            two classes for each class against the rest. A positive value stands for the second
            class, or for the class against the rest.

        Raises
        ------
        TypeError
            If `noise` is no boolean.
        ValueError
            If `gram` is needed and missing, or is no symmetric positive semidefinite matrix, or
            inputs are too large or too small as for `decision_function`.

        Notes
        -----
        Let :math:`A = K + \mathrm{offset} + \Lambda` for the training examples and
        :math:`K_*` the kernel values, offset included, between the points and the examples. A draw
        with dual coefficients :math:`\gamma` has values :math:`\rho K_* \gamma + \eta`: the
        length :math:`\rho` has the chi law with n degrees of freedom, n the rank of A, and
        :math:`\eta` is Gaussian with the covariance :math:`K_{**} + \mathrm{offset} + \lambda I -
        K_* A^{-1} K_*^\top` of the points given the examples, all independent of one another.
        That is the exact joint law of the values whose signs are the labels before label noise.
        Without `noise` the term :math:`\lambda I` is left out: the exact joint law of the function
        itself. Draws of one trajectory are correlated as the billiard left them.
        """
        points = self._checked(X)
        return self.posterior_.sample_functions(
            points, gram=gram, noise=noise, random_state=random_state
        )

    def bayes_point(self, X_unlabelled: ArrayLike) -> Floats:
        r"""Return the function closest to the vote of the draws on given points.

        Parameters
        ----------
        X_unlabelled : array-like of shape (n_samples, n_features)
            Points where to be close, such as the test inputs; as for `predict`.

        Returns
        -------
        ndarray of shape (1, n_train) or (n_classes, n_train)
            Dual coefficients c, one row for each binary problem as in `dual_coef_`, but not
            scaled: the function is :math:`\sum_i c_i k(x_i, x)` plus the intercept
            :math:`\sum_i c_i` with `fit_intercept`. It predicts by its sign.

        Raises
        ------
        ValueError
            If points are too large or too small, as for `decision_function`.

        Notes
        -----
        The vote is the mean over draws of the sign of :math:`\langle w, \phi(x)\rangle`. Among
        functions f in the span of the training examples this one minimizes :math:`\sum_x
        (f(x) - \mathrm{vote}(x))^2 + r |f|^2`. The ridge r, 1e-8 times the mean nonzero
        eigenvalue of the points' matrix of inner products within that span, only decides what the
        points leave open. That is the Bayes point as Herbrich et al. define it (after their Eq. 7),
        with the given points in place of a density, and a function of any length. The center of
        mass approximates it without points.

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
            :meth:`VersionSpace.reweight`: it gets the margins of all draws in an array of shape
            (n, n_samples), in the order of the training examples and with offset and softness as
            in `VersionSpace.margins`, and returns n weights. With more than two classes it is
            called once for each class against the rest.
        log : bool, default=False
            `weight` returns natural logarithms of the weights instead.

        Returns
        -------
        Posterior
            It predicts from the weighted draws, whose effective sample size and center are in its
            `weighted`. The fitted classifier stays as it is.

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
        """Return the log probability of the training labels under the fitted model.

        The search for hyper-parameters approximates it; here it is computed by billiards. It
        compares models of the same labels.

        Parameters
        ----------
        method : {"auto", "bridge", "integration"}, default="auto"
            As of :meth:`VersionSpace.evidence`: a bridge takes models without label noise.
            "integration" has the ladder that :class:`bayespoint.plotting.EvidenceDisplay` draws.
        tol : float, default=0.3
            Standard error to reach, in nats. Positive.
        max_length : float, default=1e5
            Path in radians per trajectory at which to stop all the same.
        random_state : None, int, Generator or RandomState, default=None
            Seed.

        Returns
        -------
        Evidence or list of Evidence
            In nats, with standard errors; one for each class if there are more than two.

        Raises
        ------
        InfeasibleError
            If no weight vector was met that explains all labels.
        ValueError
            If a setting is out of range, or with kernel="precomputed" and a matrix that is singular
            even with the softness: it is not kept. Ask :meth:`VersionSpace.evidence`.
        FloatingPointError
            If double precision gives out: as :meth:`VersionSpace.log_volume`.

        Warns
        -----
        ConvergenceWarning
            If the run ended with a standard error above `tol`.
        """
        check_is_fitted(self)
        rng = np.random.default_rng(validation.seed(random_state))
        found = [
            evidence(
                problem,
                self.label_noise_,
                method=method,
                tol=tol,
                max_length=max_length,
                n_jobs=self.n_jobs,
                seed=rng,
            )
            for problem in self.kept_problems("evidence")
        ]
        return found[0] if len(found) == 1 else found

    @property
    def log_evidence_(self) -> Floats:
        """Log probability of the labels of each binary problem, nats, shape (n_problems,)."""
        check_is_fitted(self)
        if self._log_evidence is None:
            found = self.evidence(random_state=self.seed_)
            several = found if isinstance(found, list) else [found]
            self._log_evidence = np.array([one.value for one in several], dtype=np.float64)
        return self._log_evidence

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

        The points are judged together: the value is not the sum of what `predict_log_proba`
        says of each.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Points, at least one.
        y : array-like of shape (n_samples,)
            Their labels, from `classes_`.
        tol : float, default=0.1
            Standard error to reach, in nats. Positive.
        max_length : float, default=1e5
            Path in radians per trajectory at which to stop all the same, for each of two
            evidences.
        random_state : None, int, Generator or RandomState, default=None
            Seed.

        Returns
        -------
        Estimate
            ``value`` and standard ``error`` in nats. Chance may put it slightly above 0. Minus
            infinity, with an infinite error, if no weight vector was met that labels examples and
            points alike.

        Raises
        ------
        ValueError
            With more than two classes, with kernel="precomputed", for unknown labels, or if a
            setting is out of range.
        FloatingPointError
            If double precision gives out: as :meth:`VersionSpace.log_volume`.

        Warns
        -----
        ConvergenceWarning
            If an evidence ended with too large an error.

        Notes
        -----
        The value is the log evidence of examples and points less that of the examples, both by
        :meth:`VersionSpace.evidence` with the label noise of the fit: labels are those that
        would be observed. Each is given half of the tolerated variance. The points have the
        softness of the fit, undivided by class weights.
        """
        inputs = self._checked(X)
        return transduction.log_labeling_probability(
            self.posterior_,
            inputs,
            y,
            tol=tol,
            max_length=max_length,
            n_jobs=self.n_jobs,
            random_state=random_state,
        )

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
        candidates : int, default=1
            Number of settings among which these were chosen after a look at the examples, at
            least 1, as by a grid search with a list fixed beforehand. `delta` is divided among
            them.
        tol : float, default=0.3
            Standard error of ln of the estimated volumes at which to stop, in nats. Positive.
        max_length : float, default=1e5
            Path in radians per trajectory at which to stop all the same, for each volume.
        random_state : None, int, Generator or RandomState, default=None
            Seed.

        Returns
        -------
        RiskBounds or list of RiskBounds
            One row for each bound, with those refused at the end: see
            :func:`bayespoint.bounds.table`. For more than two classes a table for each class
            against the rest: `predict` errs at most with the sum of their probabilities.

        Raises
        ------
        ValueError
            If `gram` is needed and missing or does not fit, or a setting is out of range.

        Warns
        -----
        ConvergenceWarning
            If the standard error of a volume stayed above `tol`.

        Notes
        -----
        No bound holds of a kernel that was fitted to the examples. So all are refused after a
        search by evidence, for the length scale that ``kernel="rbf"`` and ``None`` take from the
        inputs, and for ``class_weight="balanced"`` with softness. Features standardized with
        the mean and deviation of the same examples are such a case too, and so is a callable or a
        precomputed matrix made with them, which cannot be seen from here.

        With label noise the bounds for classifiers without training errors are refused, and
        `pac_bayes_kl` is given for the posterior as it is. It bounds the probability that a
        label as observed, noise included, is predicted wrongly.

        Examples
        --------
        >>> from bayespoint import BayesPointClassifier
        >>> from bayespoint.kernels import RBF
        >>> from sklearn.datasets import make_moons
        >>> X, y = make_moons(400, noise=0.1, random_state=0)
        >>> model = BayesPointClassifier(
        ...     RBF(1.0), softness=0.01, optimizer=None, random_state=0
        ... ).fit(X, y)
        >>> found = model.risk_bounds(random_state=0)
        >>> 0.0 < found.find("pac_bayes_kl", of="center").value < 0.2
        True
        """
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
        """Return the binary problems with their kernel values, which are computed again.

        Parameters
        ----------
        gram : array-like of shape (n_samples, n_samples), default=None
            With kernel="precomputed", and only then: the matrix given to `fit`.

        Returns
        -------
        list of Problem
            As the functions of the engine take them.
        """
        check_is_fitted(self)
        return binary.over_training(self.problems_, self.kernel_, self.X_fit_, gram)

    def kept_problems(self, question: str) -> list[Problem]:
        """Return the binary problems with their kernel values, from what the fit has kept.

        Parameters
        ----------
        question : str
            What they are for, for the error where a precomputed matrix was not kept.

        Returns
        -------
        list of Problem
            As the functions of the engine take them.
        """
        check_is_fitted(self)
        gram, offset, softness = self.posterior_.training_matrix(question)
        return [Problem(gram, one.y, softness, offset) for one in self.problems_]

    # --- learning on ---------------------------------------------------------------------------

    def refine(
        self,
        more_length: float | None = None,
        *,
        tol: float | None = None,
        gram: ArrayLike | None = None,
    ) -> Self:
        """Continue the billiard where it ended: a better center, draws from a longer path.

        The model stays as it is, and so do `n_trajectories`, `n_draws`, `dynamics`, `refresh` and
        the seed: changes of these count in the next fit. Changes of `n_jobs`, `verbose` and
        `calibration` count now. `fit_intercept` and `class_weight` must be those of the fit.

        Parameters
        ----------
        more_length : float, default=None
            Radians to add to the path of each trajectory, positive. Two calls give the bits of one
            with their sum.
        tol : float, default=None
            Or: the angular error of the center at which to stop. The result is that of a fit with
            this `tol`, bit by bit.
        gram : array-like of shape (n_samples, n_samples), default=None
            With kernel="precomputed", and only then: the matrix given to fit.

        Returns
        -------
        BayesPointClassifier
            The estimator itself.

        Raises
        ------
        ValueError
            If not one of `more_length` and `tol` is given, it is out of range, `gram` is missing or
            another matrix, or `fit_intercept` or `class_weight` have changed.
        FloatingPointError
            As for `fit`.

        Warns
        -----
        ConvergenceWarning
            With `tol`: as for `fit`. With `more_length`, which has no tolerance to tell by, also
            for draws with a high R-hat or a small effective sample size, as
            :meth:`VersionSpace.sample` does.

        Notes
        -----
        The kernel matrix and its factor are computed again. What raises an exception, Ctrl-C too,
        leaves the estimator as it was.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from bayespoint import BayesPointClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> model = BayesPointClassifier(random_state=0).fit(X[50:], y[50:])
        >>> before = model.billiard_.length
        >>> round(model.refine(300.0).billiard_.length - before, 6)
        300.0
        """
        check_is_fitted(self)
        if (more_length is None) == (tol is None):
            raise ValueError(
                f"refine needs one of more_length and tol; got more_length={more_length!r} and "
                f"tol={tol!r}"
            )
        if more_length is not None:
            more_length = validation.real("more_length", more_length, low=0.0, low_open=True)
        else:
            tol = validation.real("tol", tol, low=0.0, low_open=True)
        settings, results = self._fit_settings(self.seed_), [one.result for one in self.problems_]
        weights = self._weights(self.classes_[self._index])[self._index]
        self._require_as_fitted(settings.offset, weights)
        inputs = estimators_inputs.again(self.kernel_, self.X_fit_, len(self._index), gram)
        progress, run = Progress(self, self.verbose, 0), longer(results, more_length, tol)
        with rolled_back_on_error(self):
            try:
                self._fit_fixed(inputs, self._index, weights, settings, run, progress)
            except ValueError as error:
                if gram is None:
                    raise
                # All else has been looked at.
                raise ValueError(f"gram must be the matrix given to fit: {error}") from error
        return self

    def _require_as_fitted(self, offset: float, weights: Floats) -> None:
        """Raise ValueError if settings that the version space of the fit depends on have changed.

        `weights` are those of the examples.
        """
        fitted = self.problems_[0]
        if offset != fitted.offset:
            raise ValueError(
                f"fit_intercept must be {bool(fitted.offset)} as in the fit, for refine to go on "
                f"with it; got {self.fit_intercept!r}"
            )
        if not np.array_equal(self.softness_ / weights, fitted.softness):
            of_fit = {
                label: float(f"{self.softness_ / fitted.softness[self._index == k][0]:.6g}")
                for k, label in enumerate(self.classes_.tolist())
            }
            raise ValueError(
                f"class_weight must give the weights of the fit, {of_fit}, for refine to go on "
                f"with it; got {self.class_weight!r}"
            )

    def add_examples(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Learn from more examples, with kernel, softness and label noise as they are.

        The result is that of a fit to all examples: burn-in and averages begin anew. Chains start
        at the old center if it gives the new examples their labels, too.

        Parameters
        ----------
        X : array-like of shape (n_new, n_features)
            Inputs, as for `fit`.
        y : array-like of shape (n_new,)
            Labels, of the classes seen in `fit`.

        Returns
        -------
        BayesPointClassifier
            The estimator itself. `X_fit_` has the new examples behind the old ones.

        Raises
        ------
        InfeasibleError
            If `softness` and `label_noise` are 0 and the examples are no longer separable.
        ValueError
            With kernel="precomputed" (fit to the larger matrix, with ``warm_start=True``), for
            labels of no class seen in `fit`, and for inputs as `fit` has it.
        FloatingPointError
            As for `fit`.

        Notes
        -----
        What raises an exception, Ctrl-C too, leaves the estimator as it was. To choose kernel and
        softness anew, fit to all examples.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from bayespoint import BayesPointClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> model = BayesPointClassifier(random_state=0).fit(X[::2], y[::2])
        >>> model.add_examples(X[1::2], y[1::2]).dual_coef_.shape
        (3, 150)
        """
        check_is_fitted(self)
        if self.X_fit_ is None:
            raise ValueError(
                "add_examples takes inputs, which kernel='precomputed' has none of: fit to the "
                "larger matrix, with warm_start=True"
            )
        new = self._checked(X)
        labels = validation.labels("y", y)
        if labels.ndim != 1:
            raise ValueError(f"y must have shape (n_new,); got shape {labels.shape}")
        check_consistent_length(new, labels)
        known = np.isin(labels, self.classes_)
        if not known.all():
            raise ValueError(
                f"y must be of the classes seen in fit, {self.classes_.tolist()}; got "
                f"{labels[~known][0]!r}"
            )
        index = np.concatenate([self._index, np.searchsorted(self.classes_, labels)])
        inputs = estimators_inputs.joined(self.X_fit_, new)
        self._require_memory(len(index))
        weights = self._weights(self.classes_[index])[index]
        settings, progress = self._fit_settings(self.seed_), Progress(self, self.verbose, 0)
        run = with_more_examples([one.result for one in self.problems_])
        with rolled_back_on_error(self):
            self._fit_fixed(inputs, index, weights, settings, run, progress)
        return self


def _constant(diagonal: Floats) -> float | None:
    """Return k(x, x) if it is the same for all training examples."""
    mean = float(diagonal.mean())
    return mean if np.abs(diagonal - mean).max() <= 1e-8 * abs(mean) else None
