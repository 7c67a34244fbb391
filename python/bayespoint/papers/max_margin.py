"""The maximal-margin classifier (support vector machine)."""

from __future__ import annotations

import math
from collections.abc import Callable
from operator import itemgetter
from typing import Any, Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike
from sklearn.svm import SVC
from sklearn.utils.validation import check_is_fitted

from bayespoint.base import validation
from bayespoint.base.validation import Floats
from bayespoint.base.warnings import warn
from bayespoint.engine import InfeasibleError, interior
from bayespoint.engine.problem import Problem
from bayespoint.engine.settings import MarginSettings
from bayespoint.papers.bounds.rows import Learned
from bayespoint.papers.linear import LinearClassifier
from bayespoint.papers.rollback import roll_back_on_error, without_warnings
from bayespoint.version_space import VersionSpace

__all__ = ["MaxMarginClassifier"]

_AGREEMENT = 1e-4
"""Largest difference of decision values from those of a second fit, relative to the larger of 1,
which is the margin, and the value itself."""

_Found: TypeAlias = tuple[Floats, float, float, float, float, float, float, int]
"""Multipliers, intercept, norm, margin, bound, gap, violation, steps."""

_SHIFTS, _REFINEMENTS = 10, 4  # two are usual
_ROUNDING = 8 * np.finfo(np.float64).eps

_UNDETERMINED = (
    "The {d} examples with coefficients do not determine the classifier: a fit to them alone "
    "differs. The fit did not converge, or the free intercept is not determined."
)


class MaxMarginClassifier(LinearClassifier):
    r"""Maximal-margin classification: the support vector machine, solved to double precision.

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
        Largest number of steps of a search for each binary problem, at least 1.

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
        Steps taken: of libsvm for a finite C, else those of :meth:`VersionSpace.max_margin`.

    Warns
    -----
    ConvergenceWarning
        If the fit did not reach `tol`.

    See Also
    --------
    VersionSpace.max_margin : The hard margin without a free intercept of a kernel matrix.

    Notes
    -----
    The kernel matrix is held in memory; for a finite C without a free intercept also that of the
    examples with their mirror images, four times as large. A finite C is libsvm's part, in single
    precision; then steps of Newton's method refine the multipliers between 0 and C. If C times the
    kernel's values is large, libsvm may not come near enough. There is no warning if the violation
    is not larger than the rounding errors of large multipliers.

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
        with interior.advising("Use a finite C, or softness > 0"):
            found = zip(*(self._solve(problem) for problem in problems), strict=True)
        a, b, self.norm_, self.margin_, bound, gap, self.kkt_, self.n_iter_ = map(np.array, found)
        dual_coef = a * np.stack([problem.y for problem in problems]) + 0.0  # no -0.0
        self._keep(dual_coef, b if free else problems[0].offset * dual_coef.sum(axis=1))
        sides = 2.0 if free else 1.0
        self.duality_gap_, self.connector_ = gap, sides * bound
        self.gap_ = sides * (self.margin_ if math.isinf(self.C) else bound)
        return self

    @property
    def hull_weights_(self) -> Floats:
        """(2, n_problems, n_samples) Convex weights of X- and X+, the ends of the connector.

        With C = inf and a free intercept (Ruján and Marchand, Eqs. 18.5 to 18.7).
        """
        check_is_fitted(self)
        parts = np.maximum(np.multiply.outer([-1, 1], self.dual_coef_), 0)
        weights: Floats = parts / parts.sum(axis=-1, keepdims=True)
        return weights

    @property
    def thresholds_(self) -> Floats:
        """(2, n_problems) b- and b+ of Eqs. 18.1 to 18.4: where f is -1 and 1, over ``|w|``."""
        check_is_fitted(self)
        values: Floats = (np.array([[-1.0], [1.0]]) - self.intercept_) / self.norm_
        return values

    def _solve(self, problem: Problem) -> _Found:
        C, free = validation.number("C", self.C), isinstance(self.fit_intercept, str)
        if not C > 0:
            raise ValueError(f"C must be a positive number, or inf for a hard margin; got {C:g}")
        limits = MarginSettings(self.tol, self.max_iter)
        return _hard(problem, free, limits) if math.isinf(C) else _soft(problem, C, free, limits)

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
        kept = np.flatnonzero(dual_coef)
        y = space.y[kept]
        if len(kept) == 0 or (bias is not None and (y == y[0]).all()):
            return False
        gram = np.asarray(space.gram, dtype=np.float64)  # as in a fit
        label, part = space.problem.label[kept], np.ix_(kept, kept)
        few = Problem(gram[part], label, space.softness[kept], space.offset)
        try:
            with without_warnings():  # the values are compared below
                multipliers, intercept, *_ = self._solve(few)
        except InfeasibleError:
            return False
        again = np.zeros(len(dual_coef))
        again[kept] = multipliers * y
        values = space.margins(dual_coef) + (bias or 0.0) * space.y
        difference = space.margins(again - dual_coef) + (intercept - (bias or 0.0)) * space.y
        return bool((np.abs(difference) <= _AGREEMENT * np.maximum(np.abs(values), 1)).all())


def _hard(problem: Problem, free: bool, limits: MarginSettings) -> _Found:
    """Find the hard margin with the engine.

    A free intercept is 0 from an origin halfway between the nearest points of the classes, with the
    same w. There the penalty of the offset is 0 as well.
    """
    y, offset, steps = problem.y, problem.offset, 0
    gram, weights = problem.gram + np.diag(problem.softness), np.ones(len(y))
    for _ in range(_SHIFTS if free else 1):
        if free:
            origin = 0.5 * weights / np.where(y > 0, weights[y > 0].sum(), weights[y < 0].sum())
            shift = gram @ origin
            centered = gram - shift - shift[:, None] + origin @ shift
            problem = Problem(centered, problem.label, np.zeros(len(y)), offset)
        found = interior.max_margin(problem, limits)
        weights, steps = found.multipliers, steps + found.iterations
        if abs(weights @ y) <= _ROUNDING * weights.sum():
            break
    f = gram @ (weights * y)
    b = -0.5 * (f[y > 0].min() + f[y < 0].max()) if free else 0.0
    return weights, b, found.norm, found.margin, found.bound, found.gap, found.kkt, steps


def _soft(problem: Problem, C: float, free: bool, limits: MarginSettings) -> _Found:
    """Find the margin with hinge loss with libsvm, whose intercept is free, and Newton's method.

    The mirror images -phi_i of the examples, with labels -y_i, make the intercept 0 by symmetry.
    """
    y, gram = problem.y, problem.gram + problem.offset * (not free) + np.diag(problem.softness)
    unit = 2.0 ** np.round(np.log2(gram.diagonal().max() or 1.0))  # for single precision
    price, given = (C, gram) if free else (0.5 * C, np.block([[gram, -gram], [-gram, gram]]))
    machine = SVC(C=price * unit, kernel="precomputed", tol=limits.tol, max_iter=limits.max_iter)
    with without_warnings():  # the violation is judged below
        machine.fit(given / unit, y if free else np.append(y, -y))
    a = np.zeros(len(given))
    a[machine.support_] = np.abs(machine.dual_coef_[0]) / unit
    a, steps = a.reshape(-1, len(y)).sum(axis=0), int(machine.n_iter_[0])
    # The intercept with the least violation. (libsvm's own is in single precision.)
    wanted, signed, states = y - gram @ (a * y), gram * np.outer(y, y), []
    low, high = np.where(y > 0, a < C, a > 0), np.where(y > 0, a > 0, a < C)
    b = 0.5 * (wanted[low].max() + wanted[high].min()) if free else 0.0
    rounding = _ROUNDING * (np.abs(gram) @ a).max()
    for _ in range(_REFINEMENTS):
        margins = signed @ a + b * y
        violations = np.maximum((1 - margins) * (a < C), (margins - 1) * (a > 0))
        states.append((float(violations.max()), a, b, margins))
        # Steps to margins of 1 for the others, and with a free intercept to sum(a_i y_i) = 0.
        kept = ((a > 0) & (a < C)) | (violations > rounding)
        border = y[kept] * float(free)
        system = np.block([[signed[np.ix_(kept, kept)], border[:, None]], [border, 1.0 - free]])
        goal = np.append(1 - margins[kept], -free * (a @ y))
        step = np.linalg.lstsq(system, goal, rcond=None)[0]
        a, b = a.copy(), b + step[-1]
        a[kept] = np.clip(a[kept] + step[:-1], 0, C)
    kkt, a, b, margins = min(states, key=itemgetter(0))
    if kkt > max(limits.tol, rounding):
        warn(
            f"the fit violates a condition by {kkt:.2g} margins after {steps} steps; "
            f"tol={limits.tol:g} was asked for: raise max_iter"
        )
    square = max(a @ (margins - b * y), 0.0)
    primal = 0.5 * square + C * np.maximum(1 - margins, 0).sum()
    gap, norm = max(primal + 0.5 * square - a.sum(), 0.0) / primal, math.sqrt(square)
    return a, b, norm, 1 / norm if norm > 0 else math.inf, math.nan, gap, kkt, steps
