"""Perceptrons: learning from mistakes, one example after the other."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from bayespoint.base import validation
from bayespoint.base.validation import Floats, RandomState
from bayespoint.base.warnings import warn
from bayespoint.engine import interior
from bayespoint.engine.problem import Problem
from bayespoint.estimators.linear import DistanceMixin, KernelMachine, PrimalMachine
from bayespoint.estimators.machine_risk import PerceptronRiskMixin
from bayespoint.estimators.rollback import all_or_nothing

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["KernelPerceptron", "Perceptron"]


class Perceptron(DistanceMixin, PrimalMachine):
    r"""Rosenblatt's perceptron: a linear classifier that is corrected by its mistakes.

    From w = 0, b = 0 it goes through the examples again and again. Wherever
    :math:`y (\langle w, x\rangle + b) \le 0` it adds :math:`\eta y x` to w and
    :math:`\eta y R` or :math:`\eta y R^2` to b, with R the length of the longest example,
    until a whole pass brings no mistake. Several classes are taken one against the rest.

    Parameters
    ----------
    bias_update : {"R", "R2", None}, default="R2"
        "R": b moves by :math:`\eta y R` (Crowley, 2018). "R2": by :math:`\eta y R^2`
        (Cristianini and Shawe-Taylor, 2000). None: there is no b.
    learning_rate : float, default=1.0
        :math:`\eta`, positive. It is the scale of w and b, and changes nothing else.
    max_epochs : int, default=1000
        Passes through the examples at most, at least 1. Examples that no plane separates would
        go on for ever.
    order : {"data", "random"} or array-like of shape (n_samples,), default="data"
        The order of presentation, the same in each pass: that of the data, a random one, or a
        permutation of 0, ..., n_samples - 1. Different orders find different planes.
    random_state : None, int, Generator or RandomState, default=None
        Seed for order="random". None asks NumPy's global generator.

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
    n_mistakes_ : ndarray of shape (1,) or (n_classes,)
        Mistakes made in training.
    n_epochs_ : ndarray of shape (1,) or (n_classes,)
        Passes made, the last one without a mistake if it converged.
    radius_ : float
        R.
    functional_margin_ : ndarray of shape (1,) or (n_classes,)
        The smallest :math:`y (\langle w, x\rangle + b)` of the training examples: positive if
        they are separated.
    geometric_margin_ : ndarray of shape (1,) or (n_classes,)
        The same divided by :math:`|w|`: the distance of the closest example from the plane.
    mistake_bound_ : ndarray of shape (1,) or (n_classes,)
        The bound of `mistake_bound` by the plane found itself; inf where it does not separate
        the examples. A plane with a larger margin gives a lower one.
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
    KernelPerceptron : With kernels.
    MaxMarginClassifier : The plane with the largest margin.

    Notes
    -----
    The decision function is the signed distance from the plane. A tie counts as a mistake: with
    a strict inequality nothing would ever happen from w = 0.

    References
    ----------
    J. L. Crowley, "Perceptrons and Support Vector Machines", Intelligent Systems: Reasoning and
    Recognition, Lesson 6, 2018.

    N. Cristianini and J. Shawe-Taylor, "An Introduction to Support Vector Machines", Cambridge
    University Press, 2000.

    Examples
    --------
    >>> from bayespoint import Perceptron
    >>> model = Perceptron().fit([[-2.0], [-1.0], [1.0], [2.0]], ["a", "a", "b", "b"])
    >>> model.predict([[-0.5], [0.5]])
    array(['a', 'b'], dtype='<U1')
    >>> bool(model.n_mistakes_ <= model.mistake_bound_)
    True
    """

    n_mistakes_: NDArray[np.int64]
    n_epochs_: NDArray[np.int64]
    radius_: float
    functional_margin_: Floats
    geometric_margin_: Floats
    mistake_bound_: Floats

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

    @all_or_nothing
    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Learn from mistakes.

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
        update = validation.choice("bias_update", self.bias_update, ("R", "R2", None))
        rate = validation.real("learning_rate", self.learning_rate, low=0.0, low_open=True)
        max_epochs = validation.integer("max_epochs", self.max_epochs, low=1)
        inputs, index = self._checked(X, y)
        order = _order(self.order, len(inputs), self.random_state)
        self.radius_ = _radius(inputs)
        self._update = update
        bias_step = {"R": self.radius_, "R2": self.radius_**2, "none": 0.0}[update]
        problems = self._labels(index)
        presented = inputs[order]
        found = [
            _learn(presented, labels[order].astype(np.float64), rate, bias_step, max_epochs)
            for labels in problems
        ]
        self.coef_ = np.stack([one[0] for one in found])
        self.intercept_ = np.array([one[1] for one in found])
        self.n_mistakes_ = np.array([one[2] for one in found])
        self.n_epochs_ = np.array([one[3] for one in found])
        self.norm_ = np.linalg.norm(self.coef_, axis=1)
        margins = problems * (inputs @ self.coef_.T + self.intercept_).T
        self.functional_margin_ = margins.min(axis=1)
        self.geometric_margin_ = _divide(self.functional_margin_, self.norm_)
        self.mistake_bound_ = np.array(
            [
                _bound(update, self.radius_, float(w @ w), float(b), float(margin))
                for w, b, margin in zip(
                    self.coef_, self.intercept_, self.functional_margin_, strict=True
                )
            ]
        )
        _complain(sum(not one[4] for one in found), max_epochs)
        return self

    def mistake_bound(
        self, X: ArrayLike, y: ArrayLike, coef: ArrayLike, intercept: float = 0.0
    ) -> float:
        r"""Return how many mistakes the perceptron can make on examples that a plane separates.

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
        # In C order: the sums that BLAS takes depend on it in their last digits.
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
        margin = float(self._own((inputs @ w + b)[:, None], y).min())
        return _bound(self._update, _radius(inputs), float(w @ w), b, margin)


class KernelPerceptron(PerceptronRiskMixin, DistanceMixin, KernelMachine):
    r"""The perceptron in dual variables: coefficients for examples instead of features.

    From c = 0 it goes through the examples again and again, and wherever
    :math:`y_i \sum_j c_j k(x_j, x_i) \le 0` it adds :math:`\eta y_i` to :math:`c_i`, until a
    whole pass brings no mistake. An example that never was a mistake has coefficient zero.
    Several classes are taken one against the rest, on one kernel matrix.

    Parameters
    ----------
    kernel : str, kernel object or callable, default="rbf"
        As for :class:`MaxMarginClassifier`.
    normalize : bool, default=False
        Divide the kernel by the lengths of the feature vectors, before the intercept is added.
        Without an intercept the planes stay, the mistakes change, and their bound by the largest
        margin never rises (Graepel et al., Eq. 5). With one these are other planes: the bound may
        rise, and examples that could be separated need not be. Not with kernel="precomputed".
    fit_intercept : bool, default=True
        Add 1 to all kernel values, which gives the weight vector an intercept.
    softness : float, default=0.0
        At least 0; added to the diagonal of the training kernel matrix. Positive values make any
        labels separable.
    learning_rate : float, default=1.0
        :math:`\eta`, positive. It is the scale of the coefficients, and changes nothing else.
    max_epochs : int, default=1000
        Passes through the examples at most, at least 1.
    order : {"data", "random"} or array-like of shape (n_samples,), default="data"
        The order of presentation, the same in each pass: that of the data, a random one, or a
        permutation of 0, ..., n_samples - 1. Different orders find different sparse classifiers.
    random_state : None, int, Generator or RandomState, default=None
        Seed for order="random". None asks NumPy's global generator.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Class labels, sorted. Of two, the second is the positive one.
    dual_coef_ : ndarray of shape (1, n_samples) or (n_classes, n_samples)
        Signed coefficients: multiples of the learning rate, zero but for the mistakes.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        Intercepts: 0 without `fit_intercept`.
    support_ : ndarray of shape (n_support,)
        Indices of the examples that were a mistake in any problem.
    norm_ : ndarray of shape (1,) or (n_classes,)
        :math:`|w|`, in the space with the coordinates that intercept and softness add.
    n_mistakes_ : ndarray of shape (1,) or (n_classes,)
        Mistakes made in training.
    n_epochs_ : ndarray of shape (1,) or (n_classes,)
        Passes made, the last one without a mistake if it converged.
    radius_ : float
        R, the length of the longest feature vector, intercept and softness included.
    functional_margin_ : ndarray of shape (1,) or (n_classes,)
        The smallest :math:`y_i \langle w, \phi_i\rangle` of the training examples: positive if
        they are separated.
    geometric_margin_ : ndarray of shape (1,) or (n_classes,)
        The same divided by :math:`|w|`.
    mistake_bound_ : ndarray of shape (1,) or (n_classes,)
        Novikoff's bound :math:`(R / \gamma)^2` by the vector found itself, with :math:`\gamma` its
        geometric margin; inf where it does not separate the examples. Any larger margin, such as
        the largest, gives a lower bound.
    X_fit_ : ndarray of shape (n_samples, n_features) or (n_samples,), CSR matrix, or None
        Training inputs, sparse if they were; None for kernel="precomputed".
    kernel_ : kernel object, callable or "precomputed"
        The kernel with its parameters, normalized if so asked.
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
    Perceptron : With features.
    MaxMarginClassifier : The largest margin, which bounds the mistakes.

    Notes
    -----
    The decision function is the signed distance from the plane in feature space. The number of
    coefficients that are not zero is at most that of mistakes.

    References
    ----------
    T. Graepel, R. Herbrich and R. C. Williamson, "From Margin to Sparsity", Advances in Neural
    Information Processing Systems 13, 2001.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from bayespoint import KernelPerceptron
    >>> X, y = load_iris(return_X_y=True)
    >>> model = KernelPerceptron(kernel="linear").fit(X[:100], y[:100])
    >>> model.predict(X[[0, 60]])
    array([0, 1])
    >>> bool(len(model.support_) <= model.n_mistakes_ <= model.mistake_bound_)
    True
    """

    n_mistakes_: NDArray[np.int64]
    n_epochs_: NDArray[np.int64]
    radius_: float
    functional_margin_: Floats
    geometric_margin_: Floats
    mistake_bound_: Floats

    def __init__(
        self,
        kernel: str | Callable[..., Any] = "rbf",
        *,
        normalize: bool = False,
        fit_intercept: bool = True,
        softness: float = 0.0,
        learning_rate: float = 1.0,
        max_epochs: int = 1000,
        order: str | ArrayLike = "data",
        random_state: RandomState = None,
    ) -> None:
        self.kernel = kernel
        self.normalize = normalize
        self.fit_intercept = fit_intercept
        self.softness = softness
        self.learning_rate = learning_rate
        self.max_epochs = max_epochs
        self.order = order
        self.random_state = random_state

    @all_or_nothing
    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Learn from mistakes.

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
        KernelPerceptron
            The estimator itself.

        Raises
        ------
        MemoryError
            If the kernel matrix does not fit into the memory available.
        TypeError
            If `X` is sparse and the kernel takes dense inputs only.
        ValueError
            If a setting is out of range or the data are not fit for classification.
        """
        normalize = validation.boolean("normalize", self.normalize)
        offset = float(validation.boolean("fit_intercept", self.fit_intercept))
        softness = validation.real("softness", self.softness, low=0.0)
        rate = validation.real("learning_rate", self.learning_rate, low=0.0, low_open=True)
        max_epochs = validation.integer("max_epochs", self.max_epochs, low=1)
        if normalize and isinstance(self.kernel, str) and self.kernel == "precomputed":
            raise ValueError(
                "normalize must be False with kernel='precomputed'; normalize the matrix itself"
            )
        gram, problems, _, soft = self._problems(X, y, offset, softness, normalize=normalize)
        order = _order(self.order, len(gram), self.random_state)
        found = [
            interior.perceptron(
                Problem(gram, labels, soft, offset), order=order, rate=rate, max_epochs=max_epochs
            )
            for labels in problems
        ]
        dual_coef = np.stack([one["dual_coef"] for one in found])
        self._keep(dual_coef, offset * dual_coef.sum(axis=1))
        self.n_mistakes_ = np.array([one["mistakes"] for one in found])
        self.n_epochs_ = np.array([one["epochs"] for one in found])
        f = dual_coef @ gram + self.intercept_[:, None] + dual_coef * soft
        self.norm_ = np.sqrt(np.maximum(np.einsum("ij,ij->i", dual_coef, f), 0.0))
        self.radius_ = float(np.sqrt((gram.diagonal() + offset + soft).max()))
        self.functional_margin_ = (problems * f).min(axis=1)
        self.geometric_margin_ = _divide(self.functional_margin_, self.norm_)
        with np.errstate(divide="ignore"):
            bound = (self.radius_ / self.geometric_margin_) ** 2
        self.mistake_bound_ = np.where(self.geometric_margin_ > 0, bound, math.inf)
        _complain(sum(not one["converged"] for one in found), max_epochs)
        return self


def _radius(X: Floats) -> float:
    """Return the length of the longest example."""
    return float(np.sqrt(np.einsum("ij,ij->i", X, X).max()))


def _bound(update: str, radius: float, square: float, b: float, margin: float) -> float:
    """Return the bound of the mistakes by a plane with ``|w|^2 = square``."""
    if not margin > 0:
        return math.inf
    # Products and quotients go over to infinity; powers would raise.
    if update == "R2":
        total = 2 * (radius * radius * square + b * b)
    elif update == "R":
        total = (radius * radius + radius) * square + (radius + 1) * (b * b)
    else:
        total = radius * radius * square
    return total / margin / margin


def _order(order: object, m: int, random_state: RandomState) -> NDArray[np.int64]:
    """Return a permutation of the examples."""
    if isinstance(order, str):
        if validation.choice("order", order, ("data", "random")) == "data":
            return np.arange(m)
        return np.random.default_rng(validation.seed(random_state)).permutation(m)
    array = validation.dense("order", order)  # type: ignore[arg-type]
    if array.shape != (m,) or not np.array_equal(np.sort(array), np.arange(m)):
        raise ValueError(
            f"order must be 'data', 'random' or a permutation of 0, ..., {m - 1}; got an array of "
            f"shape {array.shape}" + (" that is none" if array.shape == (m,) else "")
        )
    return array.astype(np.int64)


def _learn(
    X: Floats, y: Floats, rate: float, bias_step: float, max_epochs: int
) -> tuple[Floats, float, int, int, bool]:
    """Return w, b, mistakes, passes, and whether the last pass was clean.

    Between two mistakes w and b rest: whole blocks of examples are looked at together. Blocks
    grow while there is no mistake, and shrink after one.
    """
    m = len(y)
    w, b, mistakes = np.zeros(X.shape[1]), 0.0, 0
    size = 16
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


def _divide(margins: Floats, norms: Floats) -> Floats:
    """Return margins over norms; those of the zero vector are zero."""
    return np.divide(margins, norms, out=np.zeros_like(margins), where=norms > 0)


def _complain(unfinished: int, max_epochs: int) -> None:
    if unfinished:
        warn(
            f"the perceptron still made mistakes after {max_epochs} passes (in {unfinished} "
            "binary problems): the examples may not be separable, or max_epochs is too small",
            ConvergenceWarning,
        )
