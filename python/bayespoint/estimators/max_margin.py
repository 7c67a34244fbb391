"""The maximal margin: support vector machines, and gradient descent on the hinge loss."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.exceptions import ConvergenceWarning

from bayespoint.base import validation
from bayespoint.base.validation import Floats
from bayespoint.base.warnings import warn
from bayespoint.engine import interior
from bayespoint.engine.problem import Problem
from bayespoint.engine.settings import MarginSettings
from bayespoint.estimators.linear import KernelMachine, PrimalMachine
from bayespoint.estimators.machine_risk import MarginRiskMixin
from bayespoint.estimators.rollback import all_or_nothing

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["HingeClassifier", "MaxMarginClassifier"]


class MaxMarginClassifier(MarginRiskMixin, KernelMachine):
    r"""Classification by the largest margin: the support vector machine, solved exactly.

    Minimizes :math:`\frac12 |w|^2 + C \sum_i \max(0, 1 - y_i f(x_i))`. It is the Bayes point's
    rival in the founding papers: when all feature vectors are equally long, the hard margin is
    the center of the largest ball inscribed in version space, as the Bayes point is the center
    of mass.

    Several classes are taken one against the rest, on one kernel matrix.

    Parameters
    ----------
    kernel : str, kernel object or callable, default="rbf"
        "rbf" is :math:`\exp(-|x - x'|^2 / 2\sigma^2)` with
        :math:`\sigma = \sqrt{d \operatorname{Var}(X) / 2}` for d features, "linear"
        :math:`x \cdot x'`, "poly" :math:`(x \cdot x' + 1)^3`. "precomputed": `X` holds kernel
        values. Objects from :mod:`bayespoint.kernels` have other parameters; some take sets or
        strings. Those of :mod:`sklearn.gaussian_process.kernels` are used as they are. A callable
        ``k(X, Y)`` returns the (n, n') matrix of values.
    C : float, default=1.0
        Price of a unit of hinge loss, positive. inf: a hard margin, no training error at all.
    softness : float, default=0.0
        At least 0; added to the diagonal of the training kernel matrix, in units of the kernel's
        values. With C = inf that is the soft margin with squared loss.
    fit_intercept : bool or "free", default=True
        True: add 1 to all kernel values, so that the intercept takes part in the norm. "free":
        an intercept without a price, as in libsvm. False: none, as in the papers' comparisons.
    tol : float, default=1e-8
        Largest violation of the conditions for the optimum, in units of the margin, in (0, 1).
    max_iter : int, default=10000000
        Steps at most for each binary problem, at least 1.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Class labels, sorted. Of two, the second is the positive one.
    dual_coef_ : ndarray of shape (1, n_samples) or (n_classes, n_samples)
        Signed multipliers :math:`y_i a_i`, :math:`0 \le a_i \le C`, of each binary problem.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        Intercepts.
    support_ : ndarray of shape (n_support,)
        Indices of the support vectors: examples with a nonzero multiplier in any problem.
    norm_ : ndarray of shape (1,) or (n_classes,)
        :math:`|w|`, in the space with the coordinates that intercept and softness add.
    margin_ : ndarray of shape (1,) or (n_classes,)
        Geometric margins. Hard: the distance of the closest example from the plane. Else
        :math:`1 / |w|`, the distance between the planes f = 0 and f = 1.
    connector_ : ndarray of shape (1,) or (n_classes,)
        For a hard margin, otherwise NaN. With a free intercept the length of the minimal
        connector between the convex hulls of the two classes. Without it the distance of the
        origin from the convex hull of the vectors :math:`y_i\phi_i`.
    gap_ : ndarray of shape (1,) or (n_classes,)
        For a hard margin, otherwise NaN. With a free intercept the distance between the two
        parallel planes that separate the classes, otherwise the margin. It never exceeds
        `connector_`, and at the optimum the two are equal (Ruján and Marchand, Section 18.2).
    duality_gap_ : ndarray of shape (1,) or (n_classes,)
        Relative duality gap reached.
    kkt_ : ndarray of shape (1,) or (n_classes,)
        Largest violation of the conditions for the optimum, in units of the margin.
    n_iter_ : ndarray of shape (1,) or (n_classes,)
        Steps taken.
    X_fit_ : ndarray of shape (n_samples, n_features) or (n_samples,), CSR matrix, or None
        Training inputs, sparse if they were; None for kernel="precomputed".
    kernel_ : kernel object, callable or "precomputed"
        The kernel with its parameters.
    n_features_in_ : int
        Number of features seen in fit.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, if all are strings.

    Warns
    -----
    ConvergenceWarning
        If `max_iter` steps did not reach `tol`.

    See Also
    --------
    BayesPointClassifier : The center of mass instead, with probabilities.
    VersionSpace.max_margin : The same for one labeled kernel matrix.
    HingeClassifier : Gradient descent on the same loss, for linear functions.

    Notes
    -----
    The kernel matrix is held in memory. Where multipliers are so large that their own rounding
    moves margins by more than `tol`, that counts as reached: hard margins of ill-conditioned
    matrices are exact to double precision, and have no training error.

    References
    ----------
    P. Ruján and M. Marchand, "Computing the Bayes Kernel Classifier", in Advances in Large
    Margin Classifiers, MIT Press, 2000.

    R. Herbrich, T. Graepel and C. Campbell, "Bayes Point Machines", Journal of Machine Learning
    Research 1, 2001.

    Examples
    --------
    >>> import numpy as np
    >>> from bayespoint import MaxMarginClassifier
    >>> X = [[0.0, 0.0], [0.0, 1.0], [3.0, 0.0], [3.0, 1.0]]
    >>> model = MaxMarginClassifier("linear", C=np.inf, fit_intercept="free")
    >>> model.fit(X, [0, 0, 1, 1]).predict([[1.4, 9.0], [1.6, 9.0]])
    array([0, 1])
    >>> model.connector_, model.gap_
    (array([3.]), array([3.]))
    """

    margin_: Floats
    connector_: Floats
    gap_: Floats
    duality_gap_: Floats
    kkt_: Floats
    n_iter_: Any

    def __init__(
        self,
        kernel: str | Callable[..., Any] = "rbf",
        *,
        C: float = 1.0,
        softness: float = 0.0,
        fit_intercept: bool | str = True,
        tol: float = 1e-8,
        max_iter: int = 10_000_000,
    ) -> None:
        self.kernel = kernel
        self.C = C
        self.softness = softness
        self.fit_intercept = fit_intercept
        self.tol = tol
        self.max_iter = max_iter

    @all_or_nothing
    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Find the largest margin.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Inputs; with kernel="precomputed" the (n_samples, n_samples) kernel matrix. For a
            kernel that takes sets or strings a sequence of these. Sparse ones go with the kernels
            of :meth:`BayesPointClassifier.fit`.
        y : array-like of shape (n_samples,)
            Class labels of any type.

        Returns
        -------
        MaxMarginClassifier
            The estimator itself.

        Raises
        ------
        InfeasibleError
            With C = inf, if the examples are not separable. Its `certificate` proves it.
        MemoryError
            If the kernel matrix does not fit into the memory available.
        TypeError
            If `X` is sparse and the kernel takes dense inputs only.
        ValueError
            If a setting is out of range or the data are not fit for classification. With C = inf
            and no free intercept: if lengths of feature vectors that differ by 1e4 and more hide
            the margin of examples that can be separated.
        """
        free = isinstance(self.fit_intercept, str)
        if free:
            validation.choice("fit_intercept", self.fit_intercept, ("free",))
            offset = None  # in balance, the multipliers do not see it
        else:
            offset = float(validation.boolean("fit_intercept", self.fit_intercept))
        softness = validation.real("softness", self.softness, low=0.0)
        settings = MarginSettings(self.C, free, self.tol, self.max_iter)
        gram, problems, offset, soft = self._problems(X, y, offset, softness)
        found = [
            interior.max_margin(Problem(gram, labels, soft, offset), **dataclasses.asdict(settings))
            for labels in problems
        ]
        dual_coef = np.stack([one.multipliers for one in found]) * problems + 0.0  # no -0.0
        bias = np.array([one.bias for one in found])
        self._keep(dual_coef, bias if free else offset * dual_coef.sum(axis=1))
        self.norm_ = np.array([one.norm for one in found])
        sides = 2.0 if free else 1.0
        if math.isinf(settings.C):
            self.margin_ = np.array([one.margin for one in found])
            self.connector_ = sides * np.array([one.bound for one in found])
            self.gap_ = sides * self.margin_
        else:
            with np.errstate(divide="ignore"):
                self.margin_ = 1 / self.norm_
            self.connector_ = self.gap_ = np.full(len(found), np.nan)
        self.duality_gap_ = np.array([one.gap for one in found])
        self.kkt_ = np.array([one.kkt for one in found])
        self.n_iter_ = np.array([one.iterations for one in found])
        return self


class HingeClassifier(PrimalMachine):
    r"""Linear classification by gradient descent on the hinge loss.

    Minimizes :math:`\frac1m \sum_i \max(0, 1 - y_i(\langle w, x_i\rangle + b)) + \lambda |w|^2`,
    the soft margin in its primal form (Crowley, 2018). Several classes are taken one against the
    rest.

    Parameters
    ----------
    regularization : float, default=0.01
        :math:`\lambda`, positive. The same as C = 1 / (2 m regularization) for m examples.
    tol : float, default=1e-2
        Relative duality gap at which to stop, in (0, 1): how far the loss is from the least one,
        at most.
    max_iter : int, default=100000
        Steps at most, at least 1. A step goes through all examples.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Class labels, sorted. Of two, the second is the positive one.
    coef_ : ndarray of shape (1, n_features) or (n_classes, n_features)
        Weights w of each binary problem.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        b. It has no price.
    norm_ : ndarray of shape (1,) or (n_classes,)
        :math:`|w|`.
    loss_ : ndarray of shape (1,) or (n_classes,)
        The loss reached, regularization included.
    duality_gap_ : ndarray of shape (1,) or (n_classes,)
        Relative duality gap reached: the least loss is at least ``loss_ * (1 - duality_gap_)``.
    n_iter_ : int
        Steps taken.
    n_features_in_ : int
        Number of features seen in fit.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, if all are strings.

    Warns
    -----
    ConvergenceWarning
        If `max_iter` steps did not reach `tol`. Features of like scale around zero help.

    See Also
    --------
    MaxMarginClassifier : The exact solution, with kernels.

    Notes
    -----
    For a given w the loss is convex and piecewise linear in b, so the best b is found at once.
    With it, step t subtracts :math:`\eta_t = 1 / (2 \lambda t)` times the gradient
    :math:`2 \lambda w - \frac1m \sum_{i: y_i f_i < 1} y_i x_i`. The answer is an average of the
    steps in which later ones weigh more. Every w is a combination
    :math:`\sum_i a_i y_i x_i` with :math:`0 \le a_i \le C`; its multipliers, scaled to
    :math:`\sum_i a_i y_i = 0`, bound the least loss from below, which is the test for the end.

    References
    ----------
    J. L. Crowley, "Perceptrons and Support Vector Machines", Intelligent Systems: Reasoning and
    Recognition, Lesson 6, 2018.

    Examples
    --------
    >>> from bayespoint import HingeClassifier
    >>> model = HingeClassifier().fit([[-2.0], [-1.0], [1.0], [2.0]], ["a", "a", "b", "b"])
    >>> model.predict([[-0.5], [0.5]])
    array(['a', 'b'], dtype='<U1')
    """

    loss_: Floats
    duality_gap_: Floats
    n_iter_: int

    def __init__(
        self,
        regularization: float = 0.01,
        *,
        tol: float = 1e-2,
        max_iter: int = 100_000,
    ) -> None:
        self.regularization = regularization
        self.tol = tol
        self.max_iter = max_iter

    @all_or_nothing
    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Descend.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Inputs.
        y : array-like of shape (n_samples,)
            Class labels of any type.

        Returns
        -------
        HingeClassifier
            The estimator itself.

        Raises
        ------
        ValueError
            If a setting is out of range or the data are not fit for classification.
        """
        regularization = validation.real(
            "regularization", self.regularization, low=0.0, low_open=True
        )
        tol = validation.real("tol", self.tol, low=0.0, low_open=True, high=1.0, high_open=True)
        max_iter = validation.integer("max_iter", self.max_iter, low=1)
        inputs, index = self._checked(X, y)
        center = inputs.mean(axis=0)  # b makes up for it, and the steps are shorter
        descents = [
            _Descent(inputs - center, labels.astype(np.float64), regularization)
            for labels in self._labels(index)
        ]
        self.n_iter_ = max(descent.run(tol, max_iter) for descent in descents)
        self.coef_ = np.stack([descent.best[1] for descent in descents])
        self.intercept_ = np.array([descent.best[2] for descent in descents])
        self.intercept_ -= self.coef_ @ center
        self.norm_ = np.linalg.norm(self.coef_, axis=1)
        self.loss_ = np.array([descent.best[0] for descent in descents])
        self.duality_gap_ = np.array([descent.gap() for descent in descents])
        if not (self.duality_gap_ <= tol).all():
            warn(
                f"gradient descent reached a relative duality gap of "
                f"{self.duality_gap_.max():.2g} in {self.n_iter_} steps; tol={tol:g} was asked "
                "for: raise max_iter, or give the features a like scale around zero",
                ConvergenceWarning,
            )
        return self


class _Descent:
    """Gradient descent for one binary problem, with the bounds it has found."""

    def __init__(self, X: Floats, y: Floats, regularization: float) -> None:
        self.X, self.y, self.regularization = X, y, regularization
        self.best = (math.inf, np.zeros(X.shape[1]), 0.0)
        self.bound = 0.0

    def gap(self) -> float:
        """Return the relative distance of the best loss from the bound, at most."""
        return max(0.0, 1 - self.bound / self.best[0]) if self.best[0] > 0 else 0.0

    def run(self, tol: float, max_iter: int) -> int:
        """Descend until the gap is closed. Return the steps taken."""
        X, y = self.X, self.y
        cost = 1 / (2 * self.regularization * len(y))
        w, mean_w = np.zeros(X.shape[1]), np.zeros(X.shape[1])
        share, mean_share = np.zeros(len(y)), np.zeros(len(y))
        look = 1
        for step in range(1, max_iter + 1):
            scores = X @ w
            short = y * (scores + _best_bias(scores, y)) < 1
            w += (cost * ((y * short) @ X) - w) / step
            # Of the steps so far, in which part each example was short of its margin: the
            # multipliers of w are these times C.
            share += (short - share) / step
            weight = 2 / (step + 1)
            mean_w += (w - mean_w) * weight
            mean_share += (share - mean_share) * weight
            if step >= look or step == max_iter:
                look = step + max(1, step // 10)
                self._judge(mean_w)
                self._raise_bound(cost * mean_share)
                if self.gap() <= tol:
                    return step
        return max_iter

    def _judge(self, w: Floats) -> None:
        """Keep a weight vector with its best bias if its loss is the least so far."""
        scores = self.X @ w
        b = _best_bias(scores, self.y)
        hinge = np.maximum(0.0, 1 - self.y * (scores + b)).mean()
        loss = float(hinge + self.regularization * (w @ w))
        if loss < self.best[0]:
            self.best = (loss, w.copy(), b)

    def _raise_bound(self, a: Floats) -> None:
        """Learn from multipliers in [0, C]: in balance, they bound the loss from below."""
        positive, negative = a[self.y > 0].sum(), a[self.y < 0].sum()
        least = min(positive, negative)
        if least == 0:
            return
        a = np.where(self.y > 0, a * (least / positive), a * (least / negative))
        w = (a * self.y) @ self.X
        dual = float(a.sum() - 0.5 * w @ w)
        self.bound = max(self.bound, 2 * self.regularization * dual)


def _best_bias(scores: Floats, y: Floats) -> float:
    """Return the bias with the least hinge loss: a corner of a convex, piecewise linear function.

    Positive examples are short of their margin for b below ``1 - score``, negative ones for b
    above ``-1 - score``: with every corner that b passes the slope grows by one.
    """
    # Far to the left only positive examples are short, each with slope -1.
    rank = int((y > 0).sum())
    corners = np.partition(y - scores, (rank - 1, rank))
    return float(0.5 * (corners[rank - 1] + corners[rank]))
