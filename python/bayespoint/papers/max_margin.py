"""The maximal-margin classifier (support vector machine)."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.exceptions import ConvergenceWarning

from bayespoint.base import validation
from bayespoint.base.validation import Floats
from bayespoint.bounds.rows import Learned
from bayespoint.engine import InfeasibleError, interior
from bayespoint.engine.problem import Problem
from bayespoint.estimators.advice import infeasible_advice
from bayespoint.papers.linear import LinearClassifier
from bayespoint.papers.rollback import roll_back_on_error
from bayespoint.version_space import VersionSpace

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["MaxMarginClassifier"]

_AGREEMENT = 1e-4
"""Largest difference of decision values from those of a second fit, relative to the larger of 1,
which is the margin, and the value itself."""

_UNDETERMINED = (
    "The {d} examples with coefficients do not determine the classifier: a fit to them alone "
    "differs. The fit did not converge, or the free intercept is not determined."
)


class MaxMarginClassifier(LinearClassifier):
    r"""Maximal-margin classification: the support vector machine, solved exactly.

    Minimizes :math:`\frac12 |w|^2 + C \sum_i \max(0, 1 - y_i f(x_i))`. If all feature vectors have
    the same length, the hard margin is the center of the largest ball inscribed in version space,
    while the Bayes point is the center of mass. More than two classes are treated one against the
    rest.

    Parameters
    ----------
    kernel : str, kernel object or callable, default="rbf"
        "rbf", "linear", "poly", "precomputed" or a callable as for
        :class:`bayespoint.BayesPointClassifier`, or an object of :mod:`bayespoint.kernels` or
        :mod:`sklearn.gaussian_process.kernels`. A parameter that is left out has the rule of thumb
        of :func:`bayespoint.kernels.at_start`.
    C : float, default=1.0
        Penalty of the hinge loss, positive. inf: a hard margin, without training errors.
    softness : float, default=0.0
        Added to the diagonal of the training kernel matrix, at least 0, in units of the kernel's
        values. With C = inf this is the soft margin with squared loss.
    fit_intercept : bool or "free", default=True
        True: add 1 to all kernel values, so that the intercept is penalized. "free": an intercept
        without penalty, as in libsvm. False: none, as in the papers' comparisons.
    tol : float, default=1e-8
        Largest violation of the optimality conditions (KKT), in units of the margin, in (0, 1).
    max_iter : int, default=10000000
        Largest number of steps for each binary problem, at least 1.

    Attributes
    ----------
    classes_, X_fit_, kernel_, n_features_in_, feature_names_in_
        As for :class:`bayespoint.BayesPointClassifier`.
    dual_coef_ : ndarray of shape (1, n_samples) or (n_classes, n_samples)
        Signed multipliers :math:`y_i a_i`, :math:`0 \le a_i \le C`, of each binary problem.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        Intercepts.
    support_ : ndarray of shape (n_support,)
        Indices of the support vectors: examples with a nonzero multiplier in any problem.
    norm_ : ndarray of shape (1,) or (n_classes,)
        :math:`|w|`, in the space with the coordinates that intercept and softness add.
    margin_ : ndarray of shape (1,) or (n_classes,)
        Geometric margins. With C = inf the distance of the closest example from the plane,
        otherwise :math:`1 / |w|`, the distance between the planes f = 0 and f = 1.
    connector_ : ndarray of shape (1,) or (n_classes,)
        For a hard margin, otherwise NaN. With a free intercept the length of the minimal
        connector between the convex hulls of the two classes. Without it the distance of the
        origin from the convex hull of the vectors :math:`y_i\phi_i`.
    gap_ : ndarray of shape (1,) or (n_classes,)
        For a hard margin, otherwise NaN. With a free intercept the distance between the two
        parallel planes that separate the classes, otherwise the margin. It never exceeds
        `connector_`, and at the optimum the two are equal (Ruján and Marchand, Section 18.3; their
        Eq. 18.3 divides by the square of :math:`|w|`, a misprint).
    duality_gap_ : ndarray of shape (1,) or (n_classes,)
        Relative duality gap reached.
    kkt_ : ndarray of shape (1,) or (n_classes,)
        Largest violation of the optimality conditions, in units of the margin.
    n_iter_ : ndarray of shape (1,) or (n_classes,)
        Steps taken.

    Warns
    -----
    ConvergenceWarning
        If `max_iter` steps did not reach `tol`.

    See Also
    --------
    BayesPointClassifier : The center of mass instead, with probabilities.
    VersionSpace.max_margin : The same for one labeled kernel matrix.

    Notes
    -----
    The kernel matrix is held in memory. The fit also ends without a warning if the violation is not
    larger than the rounding errors of large multipliers. Hard margins of ill-conditioned matrices
    are therefore exact to double precision.

    References
    ----------
    P. Ruján and M. Marchand, "Computing the Bayes Kernel Classifier", in Advances in Large
    Margin Classifiers, MIT Press, 2000.

    R. Herbrich, T. Graepel and C. Campbell, "Bayes Point Machines", Journal of Machine Learning
    Research 1, 2001.

    Examples
    --------
    >>> import numpy as np
    >>> from bayespoint.papers.max_margin import MaxMarginClassifier
    >>> X = [[0.0, 0.0], [0.0, 1.0], [3.0, 0.0], [3.0, 1.0]]
    >>> model = MaxMarginClassifier("linear", C=np.inf, fit_intercept="free")
    >>> model.fit(X, [0, 0, 1, 1]).predict([[1.4, 9.0], [1.6, 9.0]])
    array([0, 1])
    >>> model.connector_, model.gap_
    (array([3.]), array([3.]))
    """

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

    @roll_back_on_error
    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Find the largest margin.

        Parameters
        ----------
        X, y
            As for :meth:`bayespoint.BayesPointClassifier.fit`.

        Returns
        -------
        MaxMarginClassifier
            The estimator itself.

        Raises
        ------
        InfeasibleError
            With C = inf, if the examples are not separable. Its `certificate` proves it.
        ValueError, TypeError, MemoryError
            As :meth:`bayespoint.BayesPointClassifier.fit`. With C = inf and no free intercept also
            if lengths of feature vectors differ by 1e4 or more, so that the margin of separable
            examples is not found.
        """
        free = isinstance(self.fit_intercept, str)
        if free:
            validation.choice("fit_intercept", self.fit_intercept, ("free",))
            offset = None  # no effect, since sum(a_i y_i) = 0
        else:
            offset = float(validation.boolean("fit_intercept", self.fit_intercept))
        softness = validation.real("softness", self.softness, low=0.0)
        problems = self._problems(X, y, offset, softness)
        with infeasible_advice("Use a finite C, or softness > 0"):
            found = [
                interior.max_margin(
                    problem, C=self.C, free_bias=free, tol=self.tol, max_iter=self.max_iter
                )
                for problem in problems
            ]
        labels = np.stack([problem.y for problem in problems])
        dual_coef = np.stack([one.multipliers for one in found]) * labels + 0.0  # no -0.0
        bias = np.array([one.bias for one in found])
        self._keep(dual_coef, bias if free else problems[0].offset * dual_coef.sum(axis=1))
        self.norm_ = np.array([one.norm for one in found])
        sides = 2.0 if free else 1.0
        if math.isinf(self.C):
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

    def _learned(self, space: VersionSpace, k: int) -> Learned:
        """Return the weight vector, and whether the examples with coefficients determine it."""
        dual_coef = self.dual_coef_[k]
        bias = float(self.intercept_[k]) if isinstance(self.fit_intercept, str) else None
        reason = ""
        if not self._determined_by_support(space, dual_coef, bias):
            reason = _UNDETERMINED.format(d=np.count_nonzero(dual_coef))
        return Learned(dual_coef, "max_margin", bias, undetermined=reason)

    def _determined_by_support(
        self, space: VersionSpace, dual_coef: Floats, bias: float | None
    ) -> bool:
        """Return whether a fit to the examples with coefficients alone gives the same values."""
        free = bias is not None
        kept = np.flatnonzero(dual_coef)
        y = space.y[kept]
        if len(kept) == 0 or (free and (y == y[0]).all()):
            return False
        gram = np.asarray(space.gram, dtype=np.float64)  # as in a fit
        few = Problem(gram[np.ix_(kept, kept)], y, space.softness[kept], space.offset)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)  # the values are compared below
                found = interior.max_margin(
                    few, C=self.C, free_bias=free, tol=self.tol, max_iter=self.max_iter
                )
        except InfeasibleError:
            return False
        again = np.zeros(len(dual_coef))
        again[kept] = found.multipliers * y
        values = space.margins(dual_coef) + (bias or 0.0) * space.y
        difference = space.margins(again - dual_coef) + (found.bias - (bias or 0.0)) * space.y
        return bool((np.abs(difference) <= _AGREEMENT * np.maximum(np.abs(values), 1)).all())
