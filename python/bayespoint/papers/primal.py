"""Linear classifiers in primal form: Rosenblatt's perceptron, and the hinge loss."""

from __future__ import annotations

import math
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from bayespoint.base import validation
from bayespoint.base.validation import Floats, RandomState
from bayespoint.base.warnings import warn
from bayespoint.data.inputs import encode
from bayespoint.estimators.inputs import validate_data
from bayespoint.papers.linear import OneVsRest, one_vs_rest, own_values
from bayespoint.papers.perceptron import divided, presentation, warn_of_mistakes
from bayespoint.papers.planes import finite
from bayespoint.papers.rollback import roll_back_on_error

__all__ = ["HingeClassifier", "Perceptron"]

_LARGEST = 1e140
"""Largest absolute value of the inputs; sums of squares do not overflow."""
_BLOCK = 16
"""Examples of a stochastic step."""


class PrimalClassifier(OneVsRest):
    """A linear classifier with one weight vector, or one for each of several classes."""

    coef_: Floats
    intercept_: Floats
    norm_: Floats
    n_features_in_: int

    def _checked(
        self, X: ArrayLike, y: ArrayLike, classes: ArrayLike | None = None, *, more: bool = False
    ) -> tuple[Floats, NDArray[np.intp]]:
        """Set `classes_`; return the inputs and the index of each label among the classes.

        For `more` examples of a fitted classifier the features and classes are those seen before.
        """
        more = more and hasattr(self, "classes_")
        X, y = validate_data(self, X, y, reset=not more, dtype=np.float64, order="C")
        inputs = np.asarray(X)
        if (largest := float(np.abs(inputs).max())) > _LARGEST:
            raise ValueError(f"X must hold numbers up to {_LARGEST:g} in size; got {largest:g}")
        if not more:
            self.classes_, _ = encode(np.asarray(y if classes is None else classes))
        elif classes is not None and not np.array_equal(np.unique(classes), self.classes_):
            raise ValueError(
                f"classes must be those of the first call, {self.classes_}; got {classes!r}"
            )
        return inputs, validation.known_labels(self.classes_, y, len(inputs))

    def _new(self, X: ArrayLike) -> Floats:
        check_is_fitted(self)
        inputs: Floats = validate_data(self, X, reset=False, dtype=np.float64, order="C")
        return inputs

    def _values(self, X: ArrayLike, *, by_distance: bool) -> Floats:
        """Return the (n, n_problems) values ``<w, x> + b``, for w of length 1 `by_distance`."""
        inputs = self._new(X)
        with np.errstate(over="ignore", invalid="ignore"):
            values: Floats = inputs @ self.coef_.T + self.intercept_
        return finite(values, self.norm_ if by_distance else None)


class Perceptron(PrimalClassifier):
    r"""Rosenblatt's perceptron, a linear classifier that learns from its mistakes.

    It starts at w = 0, b = 0 and passes through the examples repeatedly. Wherever
    :math:`y (\langle w, x\rangle + b) \le 0` it adds :math:`\eta y x` to w and
    :math:`\eta y R` or :math:`\eta y R^2` to b, with R the length of the longest example,
    until a pass has no mistake. Several classes are taken one against the rest.

    Parameters
    ----------
    bias_update : {"R", "R2", None}, default="R2"
        "R": b moves by :math:`\eta y R` (Crowley, 2018). "R2": by :math:`\eta y R^2`
        (Cristianini and Shawe-Taylor, 2000). None: there is no b.
    learning_rate : float, default=1.0
        :math:`\eta`, positive. It scales w and b, and changes nothing else.
    max_epochs : int, default=1000
        Largest number of passes through the examples, at least 1. Without it, examples that no
        plane separates would never end.
    order : {"data", "random"} or array-like of shape (n_samples,), default="data"
        The order of presentation, the same in each pass: that of the data, a random one, or a
        permutation of 0, ..., n_samples - 1. Different orders find different planes.
    random_state : None, int, Generator or RandomState, default=None
        Seed for order="random". None draws one from NumPy's global generator.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Class labels, sorted. Of two, the second is the positive one.
    coef_ : ndarray of shape (1, n_features) or (n_classes, n_features)
        Weights w of each binary problem.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        b.
    norm_ : ndarray of shape (1,) or (n_classes,)
        :math:`|w|`.
    n_mistakes_, n_epochs_, functional_margin_, geometric_margin_
        As for :class:`bayespoint.papers.perceptron.KernelPerceptron`.
    radius_ : float
        R.
    mistake_bound_ : ndarray of shape (1,) or (n_classes,)
        Value of `mistake_bound` for the plane found; inf if it does not separate the examples. A
        plane with a larger margin gives a smaller bound.
    n_features_in_ : int
        Number of features seen in fit.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, if all are strings.

    Warns
    -----
    ConvergenceWarning
        If `max_epochs` passes were not enough.

    See Also
    --------
    bayespoint.papers.perceptron.KernelPerceptron : With kernels.
    bayespoint.papers.max_margin.MaxMarginClassifier : The plane with the largest margin.

    Notes
    -----
    The decision function is the signed distance from the plane. The plane's distance from the
    origin, positive if the way to it has the direction of w, is ``-intercept_ / norm_``
    (:math:`d_O` of the perceptron notes, Eq. 3). A tie counts as a mistake, because otherwise w
    would stay 0.

    References
    ----------
    J. L. Crowley, "Perceptrons and Support Vector Machines", Intelligent Systems: Reasoning and
    Recognition, Lesson 6, 2018.

    "Perceptron classification", lecture notes whose author is not named.

    N. Cristianini and J. Shawe-Taylor, "An Introduction to Support Vector Machines", Cambridge
    University Press, 2000.

    Examples
    --------
    >>> from bayespoint.papers.primal import Perceptron
    >>> model = Perceptron().fit([[-2.0], [-1.0], [1.0], [2.0]], ["a", "a", "b", "b"])
    >>> model.predict([[-0.5], [0.5]])
    array(['a', 'b'], dtype='<U1')
    >>> bool(model.n_mistakes_ <= model.mistake_bound_)
    True

    The plane's distance from the origin:

    >>> model = Perceptron().fit([[-2.0], [-1.0], [1.0], [3.0]], ["a", "a", "a", "b"])
    >>> -model.intercept_ / model.norm_
    array([2.25])
    """

    by_distance = True

    def __init__(
        self,
        *,
        bias_update: str | None = "R2",
        learning_rate: float = 1.0,
        max_epochs: int = 1000,
        order: str | ArrayLike = "data",
        random_state: RandomState = None,
    ) -> None:
        self.bias_update = bias_update
        self.learning_rate = learning_rate
        self.max_epochs = max_epochs
        self.order = order
        self.random_state = random_state

    @roll_back_on_error
    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Fit the classifier.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Inputs.
        y : array-like of shape (n_samples,)
            Class labels of any type.

        Returns
        -------
        Perceptron
            The estimator itself.

        Raises
        ------
        ValueError
            If a setting is out of range or the data are not fit for classification.
        """
        max_epochs = validation.integer("max_epochs", self.max_epochs, low=1)
        inputs, index = self._checked(X, y)
        self._start(inputs.shape[1])
        warn_of_mistakes(self._learn(inputs, index, max_epochs), max_epochs)
        return self

    @roll_back_on_error
    def partial_fit(self, X: ArrayLike, y: ArrayLike, classes: ArrayLike | None = None) -> Self:
        """Update the perceptron by one pass through new examples, without the earlier ones.

        R is the length of the longest example so far, `n_mistakes_` and `n_epochs_` count all
        calls, and margins and `mistake_bound_` are those of the new examples.

        Parameters
        ----------
        X, y
            As for `fit`. `order` is that of these examples.
        classes : array-like of shape (n_classes,), default=None
            All classes, in the first call. None: those of `y`.

        Returns
        -------
        Perceptron
            The estimator itself.

        Raises
        ------
        ValueError
            As for `fit`, and if a label or the number of features is not that of earlier calls.
        """
        inputs, index = self._checked(X, y, classes, more=True)
        if not hasattr(self, "coef_"):
            self._start(inputs.shape[1])
        self._learn(inputs, index, 1)
        return self

    def _start(self, n_features: int) -> None:
        """Set the state before any example."""
        n = 1 if len(self.classes_) == 2 else len(self.classes_)
        self.coef_, self.intercept_, self.radius_ = np.zeros((n, n_features)), np.zeros(n), 0.0
        self.n_mistakes_, self.n_epochs_ = np.zeros((2, n), dtype=np.int64)

    def _learn(self, inputs: Floats, index: NDArray[np.intp], max_epochs: int) -> int:
        """Pass through examples; return the number of problems with mistakes in the last pass."""
        update = validation.choice("bias_update", self.bias_update, ("R", "R2", None))
        rate = validation.positive("learning_rate", self.learning_rate)
        order = presentation(self.order, len(inputs), self.random_state)
        self.radius_ = max(self.radius_, _radius(inputs))
        self._update = update
        bias_step = {"R": self.radius_, "R2": self.radius_**2, "none": 0.0}[update]
        problems = one_vs_rest(index, len(self.classes_))
        presented = inputs[order]
        runs = [
            _learn(presented, labels[order].astype(np.float64), w, b, rate, bias_step, max_epochs)
            for labels, w, b in zip(problems, self.coef_, self.intercept_, strict=True)
        ]
        learned = map(np.array, zip(*runs, strict=True))
        self.coef_, self.intercept_, mistakes, epochs, converged = learned
        self.n_mistakes_ = self.n_mistakes_ + mistakes
        self.n_epochs_ = self.n_epochs_ + epochs
        self.norm_ = np.linalg.norm(self.coef_, axis=1)
        margins = problems * (inputs @ self.coef_.T + self.intercept_).T
        self.functional_margin_ = margins.min(axis=1)
        self.geometric_margin_ = divided(self.functional_margin_, self.norm_)
        planes = zip(self.coef_, self.intercept_, self.functional_margin_, strict=True)
        bounds = [
            _bound(update, self.radius_, w, float(b), float(margin)) for w, b, margin in planes
        ]
        self.mistake_bound_ = np.array(bounds)
        return int((~converged).sum())

    def mistake_bound(
        self, X: ArrayLike, y: ArrayLike, coef: ArrayLike, intercept: float = 0.0
    ) -> float:
        r"""Return an upper bound on the mistakes of the perceptron, from a separating plane.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The examples.
        y : array-like of shape (n_samples,)
            Their labels, of the two classes of the fit.
        coef : array-like of shape (n_features,)
            Weights of any plane, such as that of the largest margin.
        intercept : float, default=0.0
            Its b; 0 if the perceptron has none.

        Returns
        -------
        float
            inf if the plane does not separate the examples.

        Raises
        ------
        ValueError
            If there are more than two classes, if the shapes do not fit, or if the plane has an
            intercept and the perceptron none.

        Notes
        -----
        With :math:`\gamma` the smallest functional margin of the plane (w, b) it is
        :math:`2 R^2 (|w|^2 + b^2 / R^2) / \gamma^2` for ``bias_update="R2"``,
        :math:`(R^2 + R)(|w|^2 + b^2 / R) / \gamma^2` for ``"R"`` and
        :math:`R^2 |w|^2 / \gamma^2` for None: Novikoff's theorem for examples with one more
        coordinate, R or :math:`\sqrt R`, which holds the intercept.
        """
        check_is_fitted(self)
        # In C order, because the last digits of sums by BLAS depend on it.
        w = np.ascontiguousarray(validation.dense("coef", coef), dtype=np.float64)
        b = validation.real("intercept", intercept)
        if len(self.classes_) > 2:
            raise ValueError(
                "mistake_bound needs two classes; the perceptron was fitted to "
                f"{len(self.classes_)}"
            )
        if w.shape != (self.n_features_in_,):
            raise ValueError(f"coef must have shape ({self.n_features_in_},); got {w.shape}")
        if b and self._update == "none":
            raise ValueError(f"intercept must be 0 with bias_update=None; got {intercept!r}")
        inputs = self._new(X)
        margin = float(own_values((inputs @ w + b)[:, None], self.classes_, y).min())
        return _bound(self._update, _radius(inputs), w, b, margin)


class HingeClassifier(PrimalClassifier):
    r"""Linear classification by gradient descent on the hinge loss.

    Minimizes :math:`\frac1m \sum_i \max(0, 1 - y_i(\langle w, x_i\rangle + b)) + \lambda |w|^2`,
    the soft margin in its primal form (Crowley, 2018). Several classes are taken one against the
    rest.

    Parameters
    ----------
    regularization : float, default=0.01
        :math:`\lambda`, positive. The same as C = 1 / (2 m regularization) for m examples.
    tol : float, default=1e-2
        Relative duality gap at which to stop, in (0, 1): a bound on the relative distance from the
        smallest loss.
    max_iter : int, default=100000
        Largest number of steps, at least 1. A step uses all examples.

    Attributes
    ----------
    classes_, coef_, intercept_, norm_, n_features_in_, feature_names_in_
        As for `Perceptron`; b is not regularized.
    loss_ : ndarray of shape (1,) or (n_classes,)
        The loss reached, regularization included.
    duality_gap_ : ndarray of shape (1,) or (n_classes,)
        Relative duality gap reached: the smallest loss is at least
        ``loss_ * (1 - duality_gap_)``.
    n_iter_ : int
        Steps taken.

    Warns
    -----
    ConvergenceWarning
        If `max_iter` steps did not reach `tol`. Standardized features help.

    See Also
    --------
    bayespoint.papers.max_margin.MaxMarginClassifier : The exact solution, with kernels.

    Notes
    -----
    For a given w the loss is convex and piecewise linear in b, so the best b is found directly.
    With it, step t subtracts :math:`\eta_t = 1 / (2 \lambda t)` times the gradient
    :math:`2 \lambda w - \frac1m \sum_{i: y_i f_i < 1} y_i x_i`. The result is an average of the
    steps, with larger weights for later ones. Every w is a combination
    :math:`\sum_i a_i y_i x_i` with :math:`0 \le a_i \le C`; its multipliers, scaled to
    :math:`\sum_i a_i y_i = 0`, bound the smallest loss from below, which is the stopping criterion.

    References
    ----------
    J. L. Crowley, "Perceptrons and Support Vector Machines", Intelligent Systems: Reasoning and
    Recognition, Lesson 6, 2018.

    Examples
    --------
    >>> from bayespoint.papers.primal import HingeClassifier
    >>> model = HingeClassifier().fit([[-2.0], [-1.0], [1.0], [2.0]], ["a", "a", "b", "b"])
    >>> model.predict([[-0.5], [0.5]])
    array(['a', 'b'], dtype='<U1')
    """

    _last: Floats
    """The last step, with b in the last column, from which `partial_fit` goes on."""

    def __init__(
        self, regularization: float = 0.01, *, tol: float = 1e-2, max_iter: int = 100_000
    ) -> None:
        self.regularization = regularization
        self.tol = tol
        self.max_iter = max_iter

    @roll_back_on_error
    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Fit the classifier.

        Parameters
        ----------
        X, y
            As for `Perceptron.fit`.

        Returns
        -------
        HingeClassifier
            The estimator itself.
        """
        regularization = validation.positive("regularization", self.regularization)
        tol = validation.real("tol", self.tol, low=0.0, low_open=True, high=1.0, high_open=True)
        max_iter = validation.integer("max_iter", self.max_iter, low=1)
        inputs, index = self._checked(X, y)
        center = inputs.mean(axis=0)  # b compensates for it, and the descent is faster
        descents = [
            _Descent(inputs - center, labels.astype(np.float64), regularization)
            for labels in one_vs_rest(index, len(self.classes_))
        ]
        self.n_iter_ = max(descent.run(tol, max_iter) for descent in descents)
        best = map(np.array, zip(*(descent.best for descent in descents), strict=True))
        self.loss_, self.coef_, self.intercept_ = best
        self.intercept_ -= self.coef_ @ center
        self.norm_ = np.linalg.norm(self.coef_, axis=1)
        self._last = np.column_stack([self.coef_, self.intercept_])
        self.duality_gap_ = np.array([descent.gap() for descent in descents])
        if not (self.duality_gap_ <= tol).all():
            warn(
                f"gradient descent reached a relative duality gap of "
                f"{self.duality_gap_.max():.2g} in {self.n_iter_} steps; tol={tol:g} was asked "
                "for: raise max_iter, or standardize the features"
            )
        return self

    @roll_back_on_error
    def partial_fit(self, X: ArrayLike, y: ArrayLike, classes: ArrayLike | None = None) -> Self:
        r"""Take stochastic steps on new examples, without the earlier ones: for large data.

        Step t takes the next 16 examples, and subtracts :math:`\eta_t = 1 / (2 \lambda t)` times
        the gradient of their loss by w, and :math:`1 / \sqrt t` times that by b, which is not
        regularized. The result is the average of all steps, also of earlier calls, with weights t.
        Examples should come in random order, and with standardized features. `loss_` and
        `duality_gap_` are not known afterwards.

        Parameters
        ----------
        X, y, classes
            As for `Perceptron.partial_fit`, which raises the same errors.

        Returns
        -------
        HingeClassifier
            The estimator itself.
        """
        regularization = validation.positive("regularization", self.regularization)
        inputs, index = self._checked(X, y, classes, more=True)
        problems = one_vs_rest(index, len(self.classes_)).astype(np.float64)
        if not hasattr(self, "coef_"):
            self._last, self.n_iter_ = np.zeros((len(problems), inputs.shape[1] + 1)), 0
            self.coef_, self.intercept_ = self._last[:, :-1], self._last[:, -1]
        last, mean = self._last.copy(), np.column_stack([self.coef_, self.intercept_])
        for at in range(0, len(inputs), _BLOCK):
            self.n_iter_ += 1
            block, signs = inputs[at : at + _BLOCK], problems[:, at : at + _BLOCK]
            scores = last[:, :-1] @ block.T + last[:, -1:]
            pull = signs * (signs * scores < 1) / len(block)
            last[:, :-1] += (pull @ block / (2 * regularization) - last[:, :-1]) / self.n_iter_
            last[:, -1] += pull.sum(axis=1) / math.sqrt(self.n_iter_)
            mean += (last - mean) * (2 / (self.n_iter_ + 1))
        self._last = last
        self.coef_, self.intercept_ = mean[:, :-1].copy(), mean[:, -1].copy()
        self.norm_ = np.linalg.norm(self.coef_, axis=1)
        for name in {"loss_", "duality_gap_"} & set(vars(self)):  # of an earlier fit
            delattr(self, name)
        return self


class _Descent:
    """Gradient descent for one binary problem."""

    def __init__(self, X: Floats, y: Floats, regularization: float) -> None:
        self.X, self.y, self.regularization = X, y, regularization
        self.best = (math.inf, np.zeros(X.shape[1]), 0.0)
        self.bound = 0.0

    def gap(self) -> float:
        """Return the relative duality gap."""
        return max(0.0, 1 - self.bound / self.best[0]) if self.best[0] > 0 else 0.0

    def run(self, tol: float, max_iter: int) -> int:
        """Descend until the gap is at most `tol`. Return the number of steps."""
        X, y = self.X, self.y
        cost = 1 / (2 * self.regularization * len(y))
        w, mean_w = np.zeros(X.shape[1]), np.zeros(X.shape[1])
        share, mean_share = np.zeros(len(y)), np.zeros(len(y))
        next_check = 1
        for step in range(1, max_iter + 1):
            scores = X @ w
            short = y * (scores + _best_bias(scores, y)) < 1
            w += (cost * ((y * short) @ X) - w) / step
            # Share of the steps in which each example was short of its margin. The multipliers of
            # w are these times C.
            share += (short - share) / step
            weight = 2 / (step + 1)
            mean_w += (w - mean_w) * weight
            mean_share += (share - mean_share) * weight
            if step >= next_check or step == max_iter:
                next_check = step + max(1, step // 10)
                self._update_best(mean_w)
                self._raise_bound(cost * mean_share)
                if self.gap() <= tol:
                    return step
        return max_iter

    def _update_best(self, w: Floats) -> None:
        """Keep a weight vector with its best bias if its loss is the smallest so far."""
        scores = self.X @ w
        b = _best_bias(scores, self.y)
        hinge = np.maximum(0.0, 1 - self.y * (scores + b)).mean()
        loss = float(hinge + self.regularization * (w @ w))
        if loss < self.best[0]:
            self.best = (loss, w.copy(), b)

    def _raise_bound(self, a: Floats) -> None:
        """Raise the lower bound on the loss by multipliers in [0, C], scaled to a @ y = 0."""
        positive, negative = a[self.y > 0].sum(), a[self.y < 0].sum()
        smaller = min(positive, negative)
        if smaller == 0:
            return
        a = np.where(self.y > 0, a * (smaller / positive), a * (smaller / negative))
        w = (a * self.y) @ self.X
        dual = float(a.sum() - 0.5 * w @ w)
        self.bound = max(self.bound, 2 * self.regularization * dual)


def _best_bias(scores: Floats, y: Floats) -> float:
    """Return the bias with the smallest hinge loss, a convex, piecewise linear function of it.

    Positive examples are short of their margin for b below ``1 - score``, negative ones for b
    above ``-1 - score``. The slope grows by one at each of these corners.
    """
    # For very small b only positive examples are short, each with slope -1.
    rank = int((y > 0).sum())
    corners = np.partition(y - scores, (rank - 1, rank))
    return float(0.5 * (corners[rank - 1] + corners[rank]))


def _radius(X: Floats) -> float:
    """Return the length of the longest example."""
    return float(np.sqrt(np.einsum("ij,ij->i", X, X).max()))


def _bound(update: str, radius: float, w: Floats, b: float, margin: float) -> float:
    """Return the mistake bound of a plane."""
    if not margin > 0:
        return math.inf
    square = float(w @ w)
    # Products and quotients overflow to infinity; powers would raise an error.
    if update == "R2":
        total = 2 * (radius * radius * square + b * b)
    elif update == "R":
        total = (radius * radius + radius) * square + (radius + 1) * (b * b)
    else:
        total = radius * radius * square
    return total / margin / margin


def _learn(
    X: Floats, y: Floats, w: Floats, b: float, rate: float, bias_step: float, max_epochs: int
) -> tuple[Floats, float, int, int, bool]:
    """Return w, b, mistakes, passes, and whether the last pass had no mistake, from w and b on.

    Between two mistakes w and b do not change, so examples are checked in blocks. Blocks grow
    while there is no mistake, and shrink after one.
    """
    m = len(y)
    w, mistakes, size = w.copy(), 0, 16
    for epoch in range(1, max_epochs + 1):
        before, at = mistakes, 0
        while at < m:
            block = slice(at, min(at + size, m))
            wrong = np.flatnonzero(y[block] * (X[block] @ w + b) <= 0)
            if len(wrong) == 0:
                at = block.stop
                size *= 2
                continue
            i = at + int(wrong[0])
            w += rate * y[i] * X[i]
            b += rate * y[i] * bias_step
            mistakes += 1
            at = i + 1
            size = max(16, size // 2)
        if mistakes == before:
            return w, b, mistakes, epoch, True
    return w, b, mistakes, max_epochs, False
