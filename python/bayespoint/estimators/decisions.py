"""What a fitted classifier can tell beyond predictions, as a mixin of its class."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from bayespoint import kernels
from bayespoint.base import memory, validation
from bayespoint.base.validation import Floats, RandomState
from bayespoint.engine.problem import Problem
from bayespoint.estimators import inputs as estimators_inputs
from bayespoint.estimators.spaces import SpacesMixin
from bayespoint.kernels.products import count
from bayespoint.posterior import predictive
from bayespoint.results import Estimate, Evidence
from bayespoint.version_space import InfeasibleError, VersionSpace


class DecisionsMixin(SpacesMixin):
    """Decisions and questions that need the whole posterior, not its center alone."""

    classes_: NDArray[Any]
    softness_: float
    label_noise_: tuple[float, float]
    n_jobs: int | None
    random_state: RandomState
    _evidence_seed: int
    _log_evidence: Floats | None

    def _posterior(self) -> predictive.Posterior:
        raise NotImplementedError

    def _checked_inputs(self, X: ArrayLike) -> NDArray[Any]:
        raise NotImplementedError

    def predict_proba(
        self, X: ArrayLike, *, method: str = "moments", diag: ArrayLike | None = None
    ) -> Floats:
        """Return the probability of each class."""
        raise NotImplementedError

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
            Inputs; with kernel="precomputed" the (n_samples, n_train) kernel values between them
            and the training examples.
        gram : array-like of shape (n_samples, n_samples), default=None
            With kernel="precomputed", and only then: kernel values between the points.
        noise : bool, default=True
            Whether each point has a noise of its own, of variance `softness_`: then the signs are
            labels. False: the function below the noise, which examples near a point make known
            ever better, and its variance there ever smaller.
        random_state : None, int, Generator or RandomState, default=None
            Seed of lengths and noise. None asks NumPy's global generator.

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
        MemoryError
            If the functions or the covariance of the points do not fit into memory.

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
        noise = validation.boolean("noise", noise)
        posterior = self._posterior()
        inputs = self._checked_inputs(X)
        if isinstance(self.kernel_, str):
            if gram is None:
                raise ValueError(
                    "gram must hold the (n_samples, n_samples) kernel values between the points "
                    "with kernel='precomputed'; got None"
                )
            between, _ = validation.gram_matrix(gram, name="gram")
            if between.shape != (count(inputs), count(inputs)):
                raise ValueError(
                    f"gram must have shape ({count(inputs)}, {count(inputs)}); got {between.shape}"
                )
        elif gram is not None:
            raise ValueError("gram must be None unless kernel='precomputed'")
        else:
            between = kernels.evaluate(self.kernel_, inputs)
        rng = np.random.default_rng(validation.seed(random_state))
        functions = posterior.functions(inputs, between, rng, noise=noise)
        return functions[0] if len(self.classes_) == 2 else functions

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
        bayespoint.posterior.rejection.rejection_curve : Error and coverage at every cost.

        References
        ----------
        C. K. Chow, "On optimum recognition error and reject tradeoff", IEEE Transactions on
        Information Theory 16, 1970.
        """
        cost = validation.real("cost", cost, low=0.0, high=1.0)
        probability = self.predict_proba(X, method=method, diag=diag)
        labels: NDArray[Any] = self.classes_[probability.argmax(axis=1)]
        # Sums of probabilities are 1 up to rounding: an even split is no loss above 1 - 1/n.
        rejected = 1 - probability.max(axis=1) > cost + 1e-12
        return labels, rejected

    def bayes_point(self, X_unlabelled: ArrayLike) -> Floats:
        r"""Return the function closest to the vote of the draws on given points.

        Parameters
        ----------
        X_unlabelled : array-like of shape (n_samples, n_features)
            Points where to be close, such as the test inputs; with kernel="precomputed" the
            (n_samples, n_train) kernel values between them and the training examples.

        Returns
        -------
        ndarray of shape (1, n_train) or (n_classes, n_train)
            Dual coefficients c, one row for each binary problem as in `dual_coef_`, but not
            scaled: the function is :math:`\sum_i c_i k(x_i, x)` plus the intercept
            :math:`\sum_i c_i` with `fit_intercept`. It predicts by its sign.

        Raises
        ------
        ValueError
            If points are so large that kernel values or values of f overflow, or so small that the
            coefficients do.

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
        posterior = self._posterior()
        try:
            return posterior.closest_to_vote(self._checked_inputs(X_unlabelled))
        except (TypeError, ValueError) as error:
            raise validation.named(error, "X_unlabelled") from error

    def evidence(
        self,
        *,
        method: str = "auto",
        tol: float = 0.3,
        max_length: float = 1e5,
        random_state: RandomState = None,
    ) -> Evidence | list[Evidence]:
        """Return the log probability of the training labels under the fitted model.

        What the search for hyper-parameters approximates is computed here by billiards: with it
        models that differ in anything but the labels can be compared.

        Parameters
        ----------
        method : {"auto", "bridge", "integration", "annealing"}, default="auto"
            As of :meth:`VersionSpace.evidence`: a bridge takes models without label noise.
            "integration" and "annealing" have the ladder that
            :class:`bayespoint.plotting.EvidenceDisplay` draws.
        tol : float, default=0.3
            Standard error to reach, in nats. Positive.
        max_length : float, default=1e5
            Path in radians per trajectory at which to stop all the same.
        random_state : None, int, Generator or RandomState, default=None
            Seed. None asks NumPy's global generator.

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
        MemoryError
            If there is no room for the kernel matrix and a factor of it.

        Warns
        -----
        ConvergenceWarning
            If the run ended with a standard error above `tol`.
        """
        spaces = self._fitted_spaces("evidence")
        rng = np.random.default_rng(validation.seed(random_state))
        found = [
            space.evidence(
                self.label_noise_,
                method=method,
                tol=tol,
                max_length=max_length,
                n_jobs=self.n_jobs,
                random_state=rng,
            )
            for space in spaces
        ]
        return found[0] if len(self.classes_) == 2 else found

    def _fitted_spaces(self, question: str) -> list[VersionSpace]:
        """Return the version space of each binary problem, from what the fit has kept."""
        posterior = self._posterior()
        if posterior.inputs is not None:
            return self._spaces(None)
        if posterior.factor.pivots is not None:
            raise ValueError(
                f"{question} needs the kernel matrix, and with kernel='precomputed' a singular one "
                f"is not kept: ask VersionSpace(gram, y).{question}"
            )
        lower = posterior.factor.lower
        return [
            VersionSpace.over(Problem(lower @ lower.T, labels, np.zeros(len(lower)), 0.0))
            for labels in self._labels(self._index)
        ]

    @property
    def log_evidence_(self) -> Floats:
        """Log probability of the labels of each binary problem, nats, shape (n_problems,)."""
        check_is_fitted(self)
        if self._log_evidence is None:
            found = self.evidence(random_state=self._evidence_seed)
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
            Seed. None asks NumPy's global generator.

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
        MemoryError
            If the kernel matrix of examples and points does not fit into memory.

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
        posterior = self._posterior()
        inputs = self._checked_inputs(X)
        if len(self.classes_) > 2:
            raise ValueError(
                "log_labeling_probability needs two classes; the classifier was fitted to "
                f"{len(self.classes_)}"
            )
        if isinstance(self.kernel_, str) or posterior.inputs is None:
            raise ValueError(
                "log_labeling_probability needs a kernel that can be evaluated; got "
                "kernel='precomputed'"
            )
        positive = self._known_labels(y, count(inputs))
        tol = validation.real("tol", tol, low=0.0, low_open=True)
        everything = estimators_inputs.joined(posterior.inputs, inputs)
        m, total = count(posterior.inputs), count(everything)
        memory.require(8.0 * (total**2 + m**2), f"the kernel matrix of {total} points")
        gram = kernels.evaluate(self.kernel_, everything)
        softness = np.concatenate([self._softness, np.full(count(inputs), self.softness_)])
        labels = np.concatenate([self._index, positive])
        rng = np.random.default_rng(validation.seed(random_state))
        values, variance = [], 0.0
        for n in (m, total):
            space = VersionSpace(
                np.ascontiguousarray(gram[:n, :n]),
                np.where(labels[:n] > 0, 1, -1),
                softness=softness[:n],
                offset=self._offset,
            )
            try:
                found = space.evidence(
                    self.label_noise_,
                    tol=tol / math.sqrt(2),
                    max_length=max_length,
                    n_jobs=self.n_jobs,
                    random_state=rng,
                )
            except InfeasibleError:
                if n == m:  # the examples alone: nothing to compare with
                    raise
                return Estimate(-math.inf, math.inf)
            values.append(found.value)
            variance += found.error**2
        return Estimate(values[1] - values[0], math.sqrt(variance))

    def _known_labels(self, y: ArrayLike, n: int) -> NDArray[np.intp]:
        """Return the indices in `classes_` of n labels."""
        labels = validation.labels("y", y)
        if labels.shape != (n,) or n == 0:
            raise ValueError(
                f"y must have shape ({n},), a label for each row of X, and X one row at least; got "
                f"shape {labels.shape}"
            )
        known = labels[:, None] == self.classes_
        if not known.any(axis=1).all():
            strange = labels[~known.any(axis=1)].tolist()[0]
            raise ValueError(f"y must hold labels among {self.classes_.tolist()}; got {strange!r}")
        return np.asarray(known.argmax(axis=1))

    def suggest_query(self, X: ArrayLike, n: int = 1) -> NDArray[np.intp]:
        """Return the points whose labels would tell most: where the draws are most divided.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Candidates; with kernel="precomputed" the (n_samples, n_train) kernel values between
            them and the training examples.
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
        posterior = self._posterior()
        inputs = self._checked_inputs(X)
        n = validation.integer("n", n, low=1)
        if n > (most := count(inputs)):
            raise ValueError(f"n must be at most the number of points in X, {most}; got {n}")
        votes = posterior.votes(inputs)
        if len(self.classes_) == 2:
            lead = np.abs(votes[:, 0])
        else:
            ordered = np.sort(votes, axis=1)
            lead = ordered[:, -1] - ordered[:, -2]
        return np.argsort(lead, kind="stable")[:n]
