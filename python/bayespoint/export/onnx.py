"""Export of classifiers as ONNX graphs, to predict without this package and without Python.

A fitted classifier computes kernel values between a point and the training examples, and from
these by matrix products a mean, a variance and a decision value. The graph does this with standard
operators of ONNX in double precision. It contains the training inputs, the draws, and the inverse
of a Cholesky factor. Writing it needs the package `onnx`: ``pip install onnx``.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial, reduce
from importlib import metadata
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg
from sklearn.utils.validation import check_is_fitted

from bayespoint import kernels
from bayespoint.base.validation import Floats, boolean
from bayespoint.engine.largest import NODES
from bayespoint.estimators.bayes_point import BayesPointClassifier
from bayespoint.estimators.linear import LinearClassifier
from bayespoint.kernels.stationary import units_of
from bayespoint.posterior import Posterior, joint, predictive

__all__ = ["to_onnx"]

OPSET = 17
"""Version of the standard operators, supported by runtimes since 2022."""

_IR = 8


def to_onnx(classifier: Any, *, probabilities: bool = True) -> Any:
    """Return a fitted classifier as an ONNX graph.

    Parameters
    ----------
    classifier : BayesPointClassifier, MaxMarginClassifier or KernelPerceptron
        A fitted classifier, with a kernel of vectors from :mod:`bayespoint.kernels`.
    probabilities : bool, default=True
        For a `BayesPointClassifier`, add the output ``probabilities``, as from ``predict_proba``
        with its default method.

    Returns
    -------
    onnx.ModelProto
        With the input ``X``, doubles of shape (n, n_features), and the outputs ``label`` of shape
        (n,), ``decision``, doubles of shape (n,) or (n, n_classes), and ``probabilities``, doubles
        of shape (n, n_classes).

    Raises
    ------
    ImportError
        If the package `onnx` is not installed.
    TypeError
        If the classifier is not one of these, or its kernel or labels cannot be exported: sets and
        strings, functions, kernels of other packages, kernel="precomputed".
    ValueError
        If the classifier has class weights: ONNX has no inverse of the normal distribution
        function, which the decision values need. Fit with ``class_weight=None``, and multiply the
        probabilities by the weights.
    sklearn.exceptions.NotFittedError
        If it is not fitted.

    Notes
    -----
    All arithmetic is in double precision, except for the error function, which current runtimes
    compute in single precision. Probabilities are therefore accurate to 1e-6; labels and decision
    values agree with NumPy up to rounding. Of several classes jointly the decision values are
    quantiles of probabilities, and as accurate as these. Distances of `Matern` kernels are accurate
    to 1e-7 of the distance from the mean of the data, values of `RationalQuadratic` kernels to
    1e-16 times their alpha.

    ``to_onnx(pipeline[-1])`` exports the last step of a pipeline. The inputs of the graph are then
    ``pipeline[:-1].transform(X)``.

    Examples
    --------
    >>> from bayespoint import BayesPointClassifier
    >>> from bayespoint.export.onnx import to_onnx
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = BayesPointClassifier(random_state=0).fit(X[::3], y[::3])
    >>> graph = to_onnx(model)  # doctest: +SKIP
    >>> onnx.save(graph, "iris.onnx")  # doctest: +SKIP
    """
    try:
        import onnx
    except ImportError as error:
        raise ImportError(
            "to_onnx needs the package onnx, which is not installed: run `pip install onnx`"
        ) from error
    probabilities = boolean("probabilities", probabilities)
    if not isinstance(classifier, (BayesPointClassifier, LinearClassifier)):
        raise TypeError(
            "classifier must be a BayesPointClassifier, MaxMarginClassifier or KernelPerceptron; "
            f"got {classifier!r}{_hint(classifier)}"
        )
    check_is_fitted(classifier)
    graph = _Graph(onnx)
    outputs = ["label", "decision"]
    if isinstance(classifier, BayesPointClassifier):
        _bayes_point(graph, classifier, probabilities)
        outputs += ["probabilities"] * probabilities
    else:
        _linear(graph, classifier)
    return graph.model(outputs, classifier)


def _hint(classifier: Any) -> str:
    """Return a hint for the error message if the classifier is inside a pipeline or search."""
    if hasattr(classifier, "named_steps"):
        return " (to_onnx(pipeline[-1]) exports the last step, for inputs that the others changed)"
    if hasattr(classifier, "best_estimator_"):
        return " (export its best_estimator_)"
    return ""


# --- classifiers -----------------------------------------------------------------------------


def _bayes_point(graph: _Graph, classifier: BayesPointClassifier, probabilities: bool) -> None:
    posterior = classifier.posterior_
    if posterior.class_weight is not None:
        raise ValueError(
            "class_weight must be None for the export, since ONNX has no inverse of the normal "
            f"distribution function; got {classifier.class_weight_.tolist()}: fit with "
            "class_weight=None, which gives the same posterior, and multiply the probabilities by "
            "the weights"
        )
    if posterior.scaler is not None:
        centered = graph.op("Sub", "X", posterior.scaler.mean_)
        graph.x = graph.op("Div", centered, posterior.scaler.scale_)
    if classifier.models_:
        models, n_classes = classifier.models_, len(classifier.classes_)
        values = [_decision_values(graph, model)[0] for model in models]
        shares = [_shares(graph, z, n_classes) for z in values]
        z = _quantile(graph, _average(graph, classifier, shares))
        if len(classifier.classes_) == 2:
            z = graph.op("Gather", z, np.array([1]), axis=1)
        numerator = z
    else:
        z, numerator = _decision_values(graph, classifier)
        models, values = (classifier,), [z]
    if len(classifier.classes_) == 2:
        graph.label_of_sign(numerator, classifier.classes_)
        graph.op("Squeeze", z, np.array([1]), output="decision")
    else:
        graph.label_of_largest(z, classifier.classes_)
        graph.op("Identity", z, output="decision")
    if not probabilities:
        return
    of = _probabilities
    if isinstance(posterior.problems[0], joint.JointPosterior):
        of = _joint_probabilities
    each = [of(graph, z, model) for z, model in zip(values, models, strict=True)]
    graph.op("Identity", _average(graph, classifier, each), output="probabilities")


def _average(graph: _Graph, classifier: BayesPointClassifier, each: list[str]) -> str:
    """Return the average of what the models of a classifier have; that of a single one as it is."""
    if len(each) == 1:
        return each[0]
    weights = classifier.model_weights_.tolist()
    parts = [graph.op("Mul", one, weight) for one, weight in zip(each, weights, strict=True)]
    return reduce(partial(graph.op, "Add"), parts)


def _shares(graph: _Graph, z: str, n_classes: int) -> str:
    """Return the probabilities of the classes before label noise, shape (n, n_classes)."""
    if n_classes == 2:
        return graph.op("Concat", graph.normal(graph.op("Neg", z)), graph.normal(z), axis=1)
    p = graph.op("Max", graph.normal(z), 1e-30)
    return graph.op("Div", p, graph.sum(p))


def _decision_values(graph: _Graph, classifier: BayesPointClassifier) -> tuple[str, str]:
    """Return the decision values of one model, and of two classes numbers of their sign."""
    posterior = classifier.posterior_
    k_star = _kernel(graph, classifier)
    if posterior.offset:
        k_star = graph.op("Add", k_star, posterior.offset)
    variance = _variance(graph, posterior, k_star)
    if isinstance(posterior.problems[0], joint.JointPosterior):
        z = _joint_values(graph, posterior.problems[0], k_star, variance)
        return z, z
    a, square = predictive.length_moments(posterior.problems[0].freedom)
    numerators, columns = [], []
    for one in posterior.problems:
        # As predictive.decision_values.
        draws = one.draws
        mean = a * one.center_norm * one.center
        numerator = graph.op("MatMul", k_star, mean[:, None])
        h = graph.op("MatMul", k_star, draws.T)
        second = graph.mean(graph.op("Mul", h, h))
        first = graph.op("Mul", graph.mean(h), a)
        spread = graph.op("Sub", graph.op("Mul", second, square), graph.op("Mul", first, first))
        scale = graph.op("Add", graph.op("Max", spread, 0.0), variance)
        least = graph.op("Mul", graph.op("Mul", numerator, numerator), 1e-16)
        scale = graph.op("Max", scale, least)
        # Avoid 0 / 0.
        scale = graph.op("Max", scale, np.finfo(np.float64).tiny)
        z = graph.op("Div", numerator, graph.op("Sqrt", scale))
        numerators.append(numerator)
        columns.append(graph.op("Mul", z, one.calibration))
    return graph.op("Concat", *columns, axis=1), numerators[0]


def _joint_values(
    graph: _Graph, posterior: joint.JointPosterior, k_star: str, variance: str
) -> str:
    """Return the decision values of several classes, shape (n, n_classes)."""
    # As joint.decision_values, with arrays of shape (n_classes, n, n_draws). Lengths of the draws
    # and the shift to the center are in the coefficients.
    draws, freedom = posterior.draws, posterior.freedom
    mean = predictive.length_moments(freedom)[0] * posterior.center_norm * posterior.center
    coef = draws * joint.chi_quantiles(freedom, len(draws))[:, None, None]
    coef += mean - coef.mean(axis=0)
    values = graph.op("MatMul", k_star, np.ascontiguousarray(np.moveaxis(coef, 0, 2)))
    behind = graph.op("Sub", graph.op("ReduceMax", values, axes=[0], keepdims=1), values)
    # A large number where there is no variance.
    scale = graph.op("Max", graph.op("Sqrt", variance), graph.op("Mul", behind, 1e-6))
    behind = graph.op("Div", behind, graph.op("Max", scale, np.finfo(np.float64).tiny))
    parts = []
    for node in NODES:
        x = graph.op("Add", behind, float(node))
        below = graph.op("Max", graph.normal(x), 1e-12)
        density = graph.op("Exp", graph.op("Mul", graph.op("Mul", x, x), -0.5))
        others = graph.op("Div", graph.op("ReduceProd", below, axes=[0], keepdims=1), below)
        parts.append(graph.op("Mul", density, others))
    total = reduce(partial(graph.op, "Add"), parts)
    p = graph.op("Div", total, graph.op("ReduceSum", total, np.array([0]), keepdims=1))
    p = graph.op("ReduceMean", p, axes=[2], keepdims=1)
    # Rare classes, against that of the largest mean.
    means = graph.op("MatMul", k_star, mean[..., None])
    first = graph.op("ArgMax", means, axis=0, keepdims=1)
    classes = np.arange(len(posterior.center))[:, None, None]
    one_hot = graph.op("Cast", graph.op("Equal", classes, first), to=graph.double)
    top, highest = (
        graph.op("ReduceSum", graph.op("Mul", one_hot, of), np.array([0]), keepdims=1)
        for of in (values, means)
    )
    gap = graph.op("Sub", means, highest)
    lead = graph.op("Sub", values, top)
    second = graph.op("ReduceMean", graph.op("Mul", lead, lead), axes=[2], keepdims=1)
    square = graph.op("Mul", gap, gap)
    spread = graph.op("Max", graph.op("Sub", second, square), 0.0)
    spread = graph.op("Add", spread, graph.op("Mul", variance, 2.0))
    spread = graph.op("Max", spread, graph.op("Mul", square, 1e-16))
    spread = graph.op("Max", spread, np.finfo(np.float64).tiny)
    pair = graph.normal(graph.op("Div", gap, graph.op("Sqrt", spread)))
    p = graph.op("Max", p, graph.op("Min", pair, joint.RARE))
    p = graph.op("Transpose", graph.op("Squeeze", p, np.array([2])), perm=[1, 0])
    z = _quantile(graph, graph.op("Div", p, graph.sum(p)))
    return graph.op("Mul", z, posterior.calibration)


def _quantile(graph: _Graph, p: str) -> str:
    """Return the inverse of the normal distribution function, accurate to 1e-7.

    M. J. Wichura, "Algorithm AS 241", Applied Statistics 37, 1988.
    """

    def ratio(r: str, numerator: list[float], denominator: list[float]) -> str:
        """Return the ratio of two polynomials, from the coefficients of the highest power on."""

        def value(coefficients: list[float]) -> str:
            total: Any = coefficients[0]
            for coefficient in coefficients[1:]:
                total = graph.op("Add", graph.op("Mul", total, r), coefficient)
            return str(total)

        return graph.op("Div", value(numerator), value(denominator))

    q = graph.op("Sub", p, 0.5)
    central = graph.op("Sub", 0.180625, graph.op("Mul", q, q))
    numerator = [59.109374720, 159.29113202, 50.434271938, 3.3871327179]
    middle = ratio(central, numerator, [67.187563600, 78.757757664, 17.895169469, 1.0])
    tail = graph.op("Max", graph.op("Min", p, graph.op("Sub", 1.0, p)), 1e-300)
    root = graph.op("Sqrt", graph.op("Neg", graph.op("Log", tail)))
    numerator = [0.17023821103, 1.3067284816, 2.7568153900, 1.4234372777]
    near = ratio(graph.op("Sub", root, 1.6), numerator, [0.12021132975, 0.73700164250, 1.0])
    numerator = [0.017337203997, 0.42868294337, 3.0812263860, 6.6579051150]
    far = ratio(graph.op("Sub", root, 5.0), numerator, [0.012258202635, 0.24197894225, 1.0])
    outer = graph.op("Where", graph.op("Greater", root, 5.0), far, near)
    outer = graph.op("Mul", outer, graph.op("Sign", q))
    inside = graph.op("Less", graph.op("Abs", q), 0.425)
    return graph.op("Where", inside, graph.op("Mul", q, middle), outer)


def _joint_probabilities(graph: _Graph, z: str, classifier: BayesPointClassifier) -> str:
    p = graph.normal(z)
    p = graph.op("Div", p, graph.sum(p))
    rate = classifier.label_noise_[0]
    other = rate / (len(classifier.classes_) - 1)
    p = graph.op("Mul", p, 1 - rate - other)
    return graph.op("Add", p, other)


def _variance(graph: _Graph, posterior: Posterior, k_star: str) -> str:
    """Return the predictive variance, shape (n, 1), as ``Posterior`` does."""
    factor = posterior.factor
    inverse = linalg.solve_triangular(factor.lower, np.eye(factor.rank), lower=True)
    if factor.pivots is not None:
        k_star = graph.op("Gather", k_star, factor.pivots.astype(np.int64), axis=1)
    solved = graph.op("MatMul", k_star, np.ascontiguousarray(inverse.T))
    explained = graph.sum(graph.op("Mul", solved, solved))
    own = _diagonal(graph, posterior.kernel)
    own = graph.op("Add", own, posterior.offset + posterior.softness)
    return graph.op("Max", graph.op("Sub", own, explained), 0.0)


def _probabilities(graph: _Graph, z: str, classifier: BayesPointClassifier) -> str:
    first, second = classifier.label_noise_

    def of(z: str, rate: float) -> str:
        """Return P(label) from z and the probability of this label for the other class."""
        return graph.op("Add", graph.op("Mul", graph.normal(z), 1 - first - second), rate)

    if len(classifier.classes_) == 2:
        negative, positive = of(graph.op("Neg", z), second), of(z, first)
        return graph.op("Concat", negative, positive, axis=1)
    # Equal probabilities if all of them underflow in single precision.
    p = graph.op("Max", of(z, first), 1e-30)
    return graph.op("Div", p, graph.sum(p))


def _linear(graph: _Graph, classifier: Any) -> None:
    norms = np.where(classifier.norm_ > 0, classifier.norm_, 1.0)
    scale: Floats = (1 / norms if classifier.by_distance else np.ones_like(norms))[None, :]
    k_star = _kernel(graph, classifier, classifier.support_)
    coef = classifier.dual_coef_[:, classifier.support_].T
    values = graph.op("MatMul", k_star, coef * scale)
    values = graph.op("Add", values, classifier.intercept_ * scale)
    if len(classifier.classes_) == 2:
        graph.label_of_sign(values, classifier.classes_)
        graph.op("Squeeze", values, np.array([1]), output="decision")
    else:
        graph.label_of_largest(values, classifier.classes_)
        graph.op("Identity", values, output="decision")


# --- kernels ---------------------------------------------------------------------------------


def _kernel(graph: _Graph, classifier: Any, index: Any = slice(None)) -> str:
    """Return the kernel values between the input and the training examples."""
    if classifier.X_fit_ is None:
        raise TypeError("kernel must be a function of inputs to be exported; got 'precomputed'")
    if not isinstance(classifier.X_fit_, np.ndarray) or classifier.X_fit_.ndim != 2:
        raise TypeError(f"kernel must be a function of dense vectors; got {classifier.kernel_!r}")
    return _values(graph, classifier.kernel_, classifier.X_fit_[index])


def _values(graph: _Graph, kernel: Any, inputs: Floats) -> str:
    """Return the values of a kernel between the graph's input and `inputs`."""
    kind = type(kernel)
    if kind is kernels.Constant:
        zeros = graph.op("MatMul", graph.x, np.zeros(inputs.T.shape))
        return graph.op("Add", zeros, float(kernel.value))
    if kind is kernels.Scaled:
        # One factor for each example: the optimizer of onnxruntime would round a scalar factor of
        # a matrix product to single precision.
        factors = np.full(len(inputs), float(kernel.factor))
        return graph.op("Mul", _values(graph, kernel.kernel, inputs), factors)
    if kind in (kernels.Sum, kernels.Product):
        return _joined(graph, kind, [_values(graph, part, inputs) for part in kernel.parts])
    if kind is kernels.Weighted:
        with _weighted(graph, kernel):
            return _values(graph, kernel.kernel, inputs * np.array(kernel.weights))
    if kind is kernels.Normalized:
        values = _values(graph, kernel.kernel, inputs)
        length = np.sqrt(kernels.diagonal(kernel.kernel, inputs))
        own = graph.op("Sqrt", _diagonal(graph, kernel.kernel))
        return graph.op("Div", graph.op("Div", values, length), own)
    if kind in (kernels.Linear, kernels.Polynomial):
        values = graph.op("MatMul", graph.x, np.ascontiguousarray(inputs.T))
        return values if kind is kernels.Linear else _power(graph, kernel, values)
    if kind is kernels.Laplacian:
        units = units_of(kernel.sigma, inputs)
        left = graph.op("Unsqueeze", graph.op("Div", graph.x, units), np.array([1]))
        steps = graph.op("Abs", graph.op("Sub", left, (inputs / units)[None]))
        total = graph.op("ReduceSum", steps, np.array([2]), keepdims=0)
        return graph.op("Exp", graph.op("Neg", total))
    if kind in (kernels.RBF, kernels.Matern, kernels.RationalQuadratic):
        square = _squared_distances(graph, kernel, inputs)
        if kind is kernels.RBF:
            return graph.op("Exp", graph.op("Mul", square, -0.5))
        if kind is kernels.RationalQuadratic:
            # ONNX has no log1p: the rounding error of the sum is multiplied by alpha.
            alpha = float(kernel.alpha)
            ratio = graph.op("Add", graph.op("Div", square, 2 * alpha), 1.0)
            return graph.op("Pow", ratio, -alpha)
        s = graph.op("Sqrt", graph.op("Mul", square, 2 * float(kernel.nu)))
        decay = graph.op("Exp", graph.op("Neg", s))
        if kernel.nu < 1:
            return decay
        polynomial = graph.op("Add", s, 1.0)
        if kernel.nu > 2:
            polynomial = graph.op("Add", polynomial, graph.op("Mul", graph.op("Mul", s, s), 1 / 3))
        return graph.op("Mul", polynomial, decay)
    raise TypeError(
        "kernel must be made of Linear, Polynomial, RBF, Laplacian, Matern, RationalQuadratic and "
        f"Constant to be exported; got {kernel!r}"
    )


def _joined(graph: _Graph, kind: type, parts: list[str]) -> str:
    """Return the sum or product of the values of several kernels."""
    return reduce(partial(graph.op, "Add" if kind is kernels.Sum else "Mul"), parts)


def _power(graph: _Graph, kernel: Any, values: str) -> str:
    """Return ``(values + coef0) ** degree``."""
    base = graph.op("Add", values, float(kernel.coef0))
    return reduce(partial(graph.op, "Mul"), [base] * kernel.degree)


def _squared_distances(graph: _Graph, kernel: Any, inputs: Floats) -> str:
    """Return the squared distances in units of the length scales."""
    units, origin = units_of(kernel.sigma, inputs), inputs.mean(axis=0)
    centered = graph.op("Sub", graph.x, origin)
    right = (inputs - origin) / units
    # Not the product of scaled inputs: see the comment on factors in `_values`.
    inner = graph.op("MatMul", centered, np.ascontiguousarray((-2.0 * right / units).T))
    left = graph.op("Div", centered, units)
    own = graph.sum(graph.op("Mul", left, left))
    square = graph.op("Add", graph.op("Add", inner, own), np.einsum("ij,ij->i", right, right))
    return graph.op("Max", square, 0.0)


@contextmanager
def _weighted(graph: _Graph, kernel: kernels.Weighted) -> Iterator[None]:
    """Multiply the input by the weights of its features, while the block runs."""
    plain = graph.x
    graph.x = graph.op("Mul", plain, np.array(kernel.weights))
    yield
    graph.x = plain


def _diagonal(graph: _Graph, kernel: Any) -> str:
    """Return the values k(x, x) of the input, shape (n, 1)."""
    kind = type(kernel)
    if kind is kernels.Scaled:
        return graph.op("Mul", _diagonal(graph, kernel.kernel), float(kernel.factor))
    if kind in (kernels.Sum, kernels.Product):
        return _joined(graph, kind, [_diagonal(graph, part) for part in kernel.parts])
    if kind is kernels.Weighted:
        with _weighted(graph, kernel):
            return _diagonal(graph, kernel.kernel)
    square = graph.sum(graph.op("Mul", graph.x, graph.x))
    if kind is kernels.Linear:
        return square
    if kind is kernels.Polynomial:
        return _power(graph, kernel, square)
    constant = float(kernel.value) if kind is kernels.Constant else 1.0
    return graph.op("Add", graph.op("Mul", square, 0.0), constant)


# --- the graph -------------------------------------------------------------------------------


class _Graph:
    """Nodes and constants of a graph with the input X."""

    def __init__(self, onnx: Any) -> None:
        self.onnx = onnx
        self.double, self.single = onnx.TensorProto.DOUBLE, onnx.TensorProto.FLOAT
        self.nodes: list[Any] = []
        self.constants: list[Any] = []
        self.label_type = 0
        self.x = "X"
        """The input as the kernel gets it."""

    def op(self, kind: str, *inputs: Any, output: str | None = None, **attributes: Any) -> str:
        """Add a node and return the name of its output. Numbers and arrays become constants."""
        names = [one if isinstance(one, str) else self.constant(one) for one in inputs]
        output = output or f"t{len(self.nodes)}"
        self.nodes.append(self.onnx.helper.make_node(kind, names, [output], **attributes))
        return output

    def constant(self, value: Any) -> str:
        """Add a constant, and return its name."""
        name = f"c{len(self.constants)}"
        array = np.ascontiguousarray(value) if np.ndim(value) else np.asarray(value)
        self.constants.append(self.onnx.numpy_helper.from_array(array, name))
        return name

    def sum(self, values: str) -> str:
        """Return the sums of rows, shape (n, 1)."""
        return self.op("ReduceSum", values, np.array([1]), keepdims=1)

    def normal(self, values: str) -> str:
        """Return the normal distribution function."""
        single = self.op("Cast", self.op("Mul", values, math.sqrt(0.5)), to=self.single)
        error = self.op("Cast", self.op("Erf", single), to=self.double)
        return self.op("Mul", self.op("Add", error, 1.0), 0.5)

    def mean(self, values: str) -> str:
        """Return the means of rows, shape (n, 1)."""
        return self.op("ReduceMean", values, axes=[1], keepdims=1)

    def label_of_sign(self, values: str, classes: NDArray[Any]) -> None:
        """Add the output "label": the second class where a value of shape (n, 1) is positive."""
        positive = self.op("Greater", values, 0.0)
        index = self.op("Cast", positive, to=self.onnx.TensorProto.INT64)
        self._label(self.op("Squeeze", index, np.array([1])), classes)

    def label_of_largest(self, values: str, classes: NDArray[Any]) -> None:
        """Add the output "label": the class of the largest value in each row."""
        self._label(self.op("ArgMax", values, axis=1, keepdims=0), classes)

    def _label(self, index: str, classes: NDArray[Any]) -> None:
        if classes.dtype.kind in "iu" and (classes <= np.iinfo(np.int64).max).all():
            classes = classes.astype(np.int64)
        elif classes.dtype.kind == "f":
            classes = classes.astype(np.float64)
        elif classes.dtype.kind != "b":
            if not all(isinstance(label, str) for label in classes.tolist()):
                raise TypeError(
                    f"classes_ must be numbers or strings to be exported; got {classes.tolist()!r}"
                )
            classes = classes.astype(object)
        constant = self.onnx.numpy_helper.from_array(classes, "classes")
        self.constants.append(constant)
        self.label_type = constant.data_type
        self.op("Gather", "classes", index, axis=0, output="label")

    def model(self, outputs: list[str], classifier: Any) -> Any:
        """Return the checked ONNX model."""
        helper = self.onnx.helper
        n_classes = len(classifier.classes_)
        wide = ["n", n_classes]
        shapes = {
            "label": (self.label_type, ["n"]),
            "decision": (self.double, ["n"] if n_classes == 2 else wide),
            "probabilities": (self.double, wide),
        }
        graph = helper.make_graph(
            self.nodes,
            type(classifier).__name__,
            [helper.make_tensor_value_info("X", self.double, ["n", classifier.n_features_in_])],
            [helper.make_tensor_value_info(name, *shapes[name]) for name in outputs],
            self.constants,
        )
        model = helper.make_model(
            graph,
            opset_imports=[helper.make_opsetid("", OPSET)],
            ir_version=_IR,
            producer_name="bayespoint",
            producer_version=metadata.version("bayespoint"),
        )
        self.onnx.checker.check_model(model, full_check=True)
        return model
