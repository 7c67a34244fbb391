"""The kernel perceptron, and the Kernel-Adatron."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bayespoint import kernels
from bayespoint.base import validation
from bayespoint.base.validation import Floats, RandomState
from bayespoint.base.warnings import warn
from bayespoint.papers import compiled
from bayespoint.papers.bounds.rows import Learned
from bayespoint.papers.checks import Labels
from bayespoint.papers.compiled import PerceptronSettings
from bayespoint.papers.linear import LinearClassifier
from bayespoint.papers.planes import Hyperplanes
from bayespoint.papers.rollback import roll_back_on_error
from bayespoint.version_space import VersionSpace

__all__ = ["KernelPerceptron", "kernel_adatron"]

_ORDERED = "the order of presentation was chosen without using the examples"


class KernelPerceptron(LinearClassifier):
    r"""Kernel perceptron: the perceptron in dual coefficients, one for each example.

    From c = 0 on, it presents all examples repeatedly. For a mistake, :math:`y_i \sum_j c_j
    k(x_j, x_i) \le 0`, it adds :math:`\eta y_i` to :math:`c_i`. It ends after a pass without a
    mistake. Examples without a mistake have coefficient zero. More than two classes are treated one
    against the rest.

    Parameters
    ----------
    kernel : str, kernel object or callable, default="rbf"
        As for :class:`bayespoint.papers.max_margin.MaxMarginClassifier`.
    normalize : bool, default=False
        Scale feature vectors to length 1, before the intercept is added. Without an intercept
        version space does not change, and the mistake bound by the largest margin never increases
        (Graepel et al., Eq. 5). With one, the bound may increase, and separable examples may no
        longer be separable. Must be False with kernel="precomputed".
    fit_intercept : bool, default=True
        Add 1 to all kernel values, which gives the weight vector an intercept.
    softness : float, default=0.0
        Added to the diagonal of the training kernel matrix, at least 0. With positive values any
        labels are separable.
    learning_rate : float, default=1.0
        :math:`\eta`, positive: the scale of the coefficients, without effect on predictions.
    max_epochs : int, default=1000
        Largest number of passes through the examples, at least 1.
    block_size : int, default=10000
        Up to so many examples the kernel matrix is held in memory. More are presented in blocks of
        this size, with the same result: kernel values are then computed in each pass, between a
        block and the examples on which mistakes were made.
    order : {"data", "random"} or array-like of shape (n_samples,), default="data"
        Order of presentation, the same in each pass: that of the data, a random one, or a
        permutation of 0, ..., n_samples - 1. Different orders give different sparse classifiers.
    random_state : None, int, Generator or RandomState, default=None
        Seed for order="random". None draws one from NumPy's global generator.

    Attributes
    ----------
    classes_, intercept_, norm_, X_fit_, n_features_in_, feature_names_in_
        As for :class:`bayespoint.papers.max_margin.MaxMarginClassifier`.
    dual_coef_ : ndarray of shape (1, n_samples) or (n_classes, n_samples)
        Signed coefficients: multiples of the learning rate, nonzero for mistakes only.
    support_ : ndarray of shape (n_support,)
        Indices of the examples on which a mistake was made in any binary problem.
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
        Novikoff's bound :math:`(R / \gamma)^2` with the geometric margin :math:`\gamma` of the
        weight vector found; inf if it does not separate the examples. A larger margin of another
        weight vector gives a smaller bound.
    kernel_ : kernel object, callable or "precomputed"
        The kernel with its parameters, normalized with normalize=True.

    Warns
    -----
    ConvergenceWarning
        If `max_epochs` passes were not enough.

    See Also
    --------
    bayespoint.papers.max_margin.MaxMarginClassifier : The largest margin: it bounds mistakes.

    Notes
    -----
    The decision function is the signed distance from the plane in feature space. There are at most
    as many nonzero coefficients as mistakes.

    References
    ----------
    T. Graepel, R. Herbrich and R. C. Williamson, "From Margin to Sparsity", Advances in Neural
    Information Processing Systems 13, 2001.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from bayespoint.papers.perceptron import KernelPerceptron
    >>> X, y = load_iris(return_X_y=True)
    >>> model = KernelPerceptron(kernel="linear").fit(X[:100], y[:100])
    >>> model.predict(X[[0, 60]])
    array([0, 1])
    >>> bool(len(model.support_) <= model.n_mistakes_ <= model.mistake_bound_)
    True
    """

    by_distance = True
    rule = "perceptron"

    def __init__(
        self,
        kernel: str | Callable[..., Any] = "rbf",
        *,
        normalize: bool = False,
        fit_intercept: bool = True,
        softness: float = 0.0,
        learning_rate: float = 1.0,
        max_epochs: int = 1000,
        block_size: int = 10_000,
        order: str | ArrayLike = "data",
        random_state: RandomState = None,
    ) -> None:
        self.kernel = kernel
        self.normalize = normalize
        self.fit_intercept = fit_intercept
        self.softness = softness
        self.learning_rate = learning_rate
        self.max_epochs = max_epochs
        self.block_size = block_size
        self.order = order
        self.random_state = random_state

    def _learned(self, space: VersionSpace, k: int) -> Learned:
        """Return the weight vector, with its mistakes."""
        condition = "" if isinstance(self.order, str) else _ORDERED
        known = {"mistakes": int(self.n_mistakes_[k])}
        return Learned(self.dual_coef_[k], "perceptron", condition=condition, quantities=known)

    @roll_back_on_error
    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Fit the perceptron.

        Parameters
        ----------
        X, y
            As for :meth:`BayesPointClassifier.fit`.

        Returns
        -------
        KernelPerceptron
            The estimator itself.

        Raises
        ------
        ValueError, TypeError, MemoryError
            As :meth:`BayesPointClassifier.fit`.
        """
        normalize = validation.boolean("normalize", self.normalize)
        offset = float(validation.boolean("fit_intercept", self.fit_intercept))
        softness = validation.real("softness", self.softness, low=0.0)
        settings = PerceptronSettings(self.learning_rate, self.max_epochs)
        if normalize and isinstance(self.kernel, str) and self.kernel == "precomputed":
            raise ValueError(
                "normalize must be False with kernel='precomputed'; normalize the matrix itself"
            )
        size = validation.integer("block_size", self.block_size, low=1)
        inputs = self._read(X, y, offset, softness, normalize=normalize)
        labels, soft = self._labels, self._softness
        order = presentation(self.order, len(soft), self.random_state)
        whole = isinstance(self.kernel_, str) or len(soft) <= size
        if whole:
            problems = self._over(inputs)
            gram = problems[0].gram
            squares = gram.diagonal()
            found = [compiled.perceptron(problem, settings, order=order) for problem in problems]
        else:
            squares = kernels.diagonal(self.kernel_, inputs)
            found = [self._in_blocks(inputs, y, settings, order) for y in labels]
        dual_coef = np.stack([one["dual_coef"] for one in found])
        self._keep(dual_coef, offset * dual_coef.sum(axis=1))
        self.n_mistakes_ = np.array([one["mistakes"] for one in found])
        self.n_epochs_ = np.array([one["epochs"] for one in found])
        f = dual_coef * soft
        if whole:
            f += dual_coef @ gram + self.intercept_[:, None]
        else:
            f += self._plane(dual_coef).values(inputs).T
        self.norm_ = np.sqrt(np.maximum(np.einsum("ij,ij->i", dual_coef, f), 0.0))
        self.radius_ = float(np.sqrt((squares + offset + soft).max()))
        self.functional_margin_ = (labels * f).min(axis=1)
        self.geometric_margin_ = divided(self.functional_margin_, self.norm_)
        with np.errstate(divide="ignore"):
            bound = (self.radius_ / self.geometric_margin_) ** 2
        self.mistake_bound_ = np.where(self.geometric_margin_ > 0, bound, math.inf)
        warn_of_mistakes(sum(not one["converged"] for one in found), settings.max_epochs)
        return self

    def _plane(self, dual_coef: Floats) -> Hyperplanes:
        """Return planes with (n_problems, m) coefficients."""
        used = np.flatnonzero(dual_coef.any(axis=0))
        intercept = self._offset * dual_coef.sum(axis=1)
        points = self.X_fit_[used]
        return Hyperplanes(self.classes_, self.kernel_, points, dual_coef[:, used], intercept, None)

    def _in_blocks(
        self, inputs: Any, y: Labels, settings: PerceptronSettings, order: NDArray[np.int64]
    ) -> Mapping[str, Any]:
        """Return what `compiled.perceptron` returns, without the kernel matrix."""
        compiled.check("perceptron", vars(settings))
        dual_coef, epoch, before, mistakes = np.zeros((1, len(y))), 0, -1, 0
        while before < mistakes and epoch < settings.max_epochs:
            epoch, before = epoch + 1, mistakes
            for rows in validation.blocks(len(y), self.block_size):
                block = order[rows]
                points, signs, start = inputs[block], y[block], 0
                f = self._plane(dual_coef).values(points)[:, 0]
                f += dual_coef[0, block] * self._softness[block]
                while (wrong := signs[start:] * f[start:] <= 0).any():
                    at = start + int(wrong.argmax())
                    step = settings.learning_rate * signs[at]
                    dual_coef[0, block[at]] += step
                    mistakes, start = mistakes + 1, at + 1
                    k = kernels.evaluate(self.kernel_, points[[at]], points)[0] + self._offset
                    f += step * k
                    f[at] += step * self._softness[block[at]]
        found = {"dual_coef": dual_coef[0], "mistakes": mistakes, "epochs": epoch}
        return found | {"converged": mistakes == before}


def presentation(order: object, m: int, random_state: RandomState) -> NDArray[np.int64]:
    """Return a permutation of the examples."""
    if isinstance(order, str):
        if validation.choice("order", order, ("data", "random")) == "data":
            return np.arange(m)
        return validation.generator(random_state).permutation(m)
    array = validation.dense("order", order)  # type: ignore[arg-type]
    if array.shape != (m,) or not np.array_equal(np.sort(array), np.arange(m)):
        raise ValueError(
            f"order must be 'data', 'random' or a permutation of 0, ..., {m - 1}; got an array of "
            f"shape {array.shape}" + (" that is not a permutation" if array.shape == (m,) else "")
        )
    return array.astype(np.int64)


def divided(margins: Floats, norms: Floats) -> Floats:
    """Return margins divided by norms; 0 for the zero vector."""
    return np.divide(margins, norms, out=np.zeros_like(margins), where=norms > 0)


def warn_of_mistakes(unfinished: int, max_epochs: int) -> None:
    """Warn if the perceptrons of `unfinished` binary problems did not converge."""
    if unfinished:
        warn(
            f"the perceptron still made mistakes after {max_epochs} passes (in {unfinished} "
            "binary problems): the examples may not be separable, or max_epochs is too small"
        )


def kernel_adatron(
    space: VersionSpace, *, learning_rate: float = 1.0, tol: float = 1e-3, max_epochs: int = 1000
) -> Floats:
    """Return the maximal margin by the Kernel-Adatron, the perceptron's variant that approaches it.

    It corrects every example, not only mistakes: with margins in units of the target, by the
    learning rate times 1 less its margin, while its coefficient stays positive.

    Parameters
    ----------
    space : VersionSpace
        A version space of two classes.
    learning_rate : float, default=1.0
        Correction, relative to that which gives the example the margin 1, in (0, 2).
    tol : float, default=1e-3
        Largest violation of the optimality conditions, in units of the margin, positive.
    max_epochs : int, default=1000
        Largest number of passes through the examples, at least 1.

    Returns
    -------
    ndarray of shape (m,)
        Dual coefficients of a weight vector of length 1.

    Raises
    ------
    ValueError
        If a setting is out of range, or for more than two classes.

    Warns
    -----
    ConvergenceWarning
        If `max_epochs` passes were not enough.

    See Also
    --------
    VersionSpace.max_margin : The same weight vector, to double precision and faster.

    References
    ----------
    T. Friess, N. Cristianini and C. Campbell, "The Kernel-Adatron", International Conference on
    Machine Learning 15, 1998.

    Examples
    --------
    >>> import numpy as np
    >>> from bayespoint.papers.perceptron import kernel_adatron
    >>> kernel_adatron(VersionSpace(np.eye(2), [1, -1])).round(3)
    array([ 0.707, -0.707])
    """
    rate = validation.positive("learning_rate", learning_rate)
    if rate >= 2:
        raise ValueError(f"learning_rate must be in (0, 2); got {rate:g}")
    tol = validation.positive("tol", tol)
    max_epochs = validation.integer("max_epochs", max_epochs, low=1)
    space.problem.require_binary("the Kernel-Adatron")
    matrix = space.gram + space.offset + np.diag(space.softness)
    signed, a, margins = matrix * np.outer(space.y, space.y), np.zeros(len(space.y)), 0.0 * space.y
    for _ in range(max_epochs):
        for i in range(len(a)):
            step = max(rate * (1 - margins[i]) / signed[i, i], -a[i])
            a[i] += step
            margins += step * signed[i]
        if np.where(a > 0, np.abs(1 - margins), 1 - margins).max() <= tol:
            break
    else:
        warn_of_mistakes(1, max_epochs)
    dual_coef: Floats = a * space.y / np.sqrt(a @ margins)
    return dual_coef
