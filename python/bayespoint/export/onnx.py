"""Export of classifiers as ONNX graphs, to predict without this package and without Python.

From kernel values between a point and the training examples a graph computes, by matrix products of
standard operators, a mean, a variance and a decision value. It contains the training inputs, the
draws, and the inverse of a Cholesky factor. Writing it needs the package `onnx`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from importlib import metadata
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import linalg, special
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from bayespoint import kernels
from bayespoint.base.validation import Array, Floats, Indices, boolean
from bayespoint.data.warps import OneUnit, RankNormal, Warped
from bayespoint.engine.laws import NODES
from bayespoint.estimators.bayes_point import BayesPointClassifier
from bayespoint.kernels.protocol import given
from bayespoint.kernels.stationary import units_of
from bayespoint.kernels.weighted import factors_of
from bayespoint.labels.laws import RARE
from bayespoint.posterior import Mixture, Model
from bayespoint.results.draws import Draws

if TYPE_CHECKING:
    from sklearn.preprocessing import PowerTransformer

OPSET, _IR = 17, 8  # standard operators and format, supported by runtimes since 2022
_TINY = np.finfo(np.float64).tiny


def to_onnx(classifier: BaseEstimator, *, probabilities: bool = True) -> Any:
    """Return a fitted classifier as an ONNX graph.

    Parameters
    ----------
    classifier : BayesPointClassifier, MaxMarginClassifier or KernelPerceptron
        Fitted, with a kernel of vectors from :mod:`bayespoint.kernels`. The last two are in
        ``bayespoint.papers``. For pipelines: ``pipeline[-1]`` or :func:`register_with_skl2onnx`.
    probabilities : bool, default=True
        For a `BayesPointClassifier`, add ``probabilities``, as from ``predict_proba`` by default.

    Returns
    -------
    onnx.ModelProto
        With the input ``X`` (n, n_features), and the outputs ``label`` (n,), ``decision`` (n,) or
        (n, n_classes) and ``probabilities`` (n, n_classes), in doubles. ``onnx.save`` writes it.

    Raises
    ------
    ImportError, sklearn.exceptions.NotFittedError
        If the package `onnx` is not installed, or the classifier is not fitted.
    TypeError
        If the classifier is not one of these, or its labels or kernel cannot be exported: one of
        sets or strings, a function, of another package, or "precomputed".
    ValueError
        If the classifier has class weights, or for ordered classes: fit with ``class_weight=None``.

    Notes
    -----
    All arithmetic is in double precision, except for the error function, which current runtimes
    compute in single precision. Probabilities, and decision values of several classes jointly, are
    therefore accurate to 1e-6; labels and other decision values agree with NumPy up to rounding.
    Distances of `Matern` kernels are accurate to 1e-7 of the distance from the mean of the data,
    values of `RationalQuadratic` kernels to 1e-16 times their alpha. Where ``predict`` would raise,
    as for NaN, the decision is NaN, and the label NaN, the smallest integer, "" or False.
    """
    try:
        import onnx
    except ImportError as error:
        raise ImportError(
            "to_onnx needs the package onnx, which is not installed: run `pip install onnx`"
        ) from error
    probabilities = boolean("probabilities", probabilities)
    linear = hasattr(type(classifier), "planes_")
    if not (linear or isinstance(classifier, BayesPointClassifier)):
        hint = " (export its best_estimator_)" if hasattr(classifier, "best_estimator_") else ""
        if hasattr(classifier, "named_steps"):
            hint = " (to_onnx(pipeline[-1]) exports the last step, skl2onnx all)"
        raise TypeError(
            "classifier must be a BayesPointClassifier, MaxMarginClassifier or KernelPerceptron; "
            f"got {classifier!r}{hint}"
        )
    check_is_fitted(classifier)
    graph, name = _Graph(onnx), type(classifier).__name__
    if linear:
        planes = classifier.planes_
        _linear(graph, planes)
        return graph.model(["label", "decision"], name, planes.classes, planes.points)
    posterior = classifier.posterior_
    columns = getattr(classifier, "columns_", None)
    if columns is not None and not columns.plain:
        raise TypeError(
            "X of fit must hold numbers, and no missing values, for the export; got "
            f"{columns!r}: encode and impute before the classifier, in a pipeline"
        )
    _mixture(graph, posterior, probabilities)
    outputs = ["label", "decision"] + ["probabilities"] * probabilities
    return graph.model(outputs, name, posterior.classes, posterior.models[0].basis.points)


def register_with_skl2onnx() -> None:
    """Let skl2onnx convert `BayesPointClassifier`, alone or inside of other estimators.

    Call it once. Then ``skl2onnx.to_onnx(pipeline, X[:1], options={"zipmap": False})`` returns the
    graph of a whole pipeline, whose outputs are labels and probabilities.

    Raises
    ------
    ImportError
        If the package `skl2onnx` is not installed.

    Notes
    -----
    The classifier's part of the graph is that of :func:`to_onnx`, with its errors and accuracy. It
    computes in double precision. With single-precision inputs the steps before it and the
    probabilities are of single precision. `target_opset` must be at least 17 (ValueError).
    """
    try:
        import skl2onnx
        from skl2onnx.common.shape_calculator import calculate_linear_classifier_output_shapes
    except ImportError as error:
        raise ImportError(
            "register_with_skl2onnx needs the package skl2onnx, which is not installed: run "
            "`pip install skl2onnx`"
        ) from error
    skl2onnx.update_registered_converter(
        BayesPointClassifier,
        "BayesPointClassifier",
        calculate_linear_classifier_output_shapes,
        _convert,
        options={"zipmap": [True, False, "columns"], "nocl": [True, False]},
    )


def _convert(scope: Any, operator: Any, container: Any) -> None:
    """Add the nodes of a classifier to a graph of skl2onnx."""
    from onnx import TensorProto, compose, version_converter

    if container.target_opset < OPSET:
        raise ValueError(f"target_opset must be at least {OPSET}; got {container.target_opset}")
    model = to_onnx(operator.raw_operator)
    model = version_converter.convert_version(model, container.target_opset)
    graph = compose.add_prefix(model, f"{scope.get_unique_operator_name('bayespoint')}_").graph

    def cast(source: str, target: str, to: int) -> None:
        container.add_node("Cast", source, target, to=to, op_version=13)

    cast(operator.inputs[0].full_name, graph.input[0].name, TensorProto.DOUBLE)
    container.nodes.extend(graph.node)
    container.initializers.extend(graph.initializer)
    container.node_domain_version_pair_sets.add(("", container.target_opset))
    label, _, probabilities = graph.output
    for source, target in zip((label, probabilities), operator.outputs, strict=True):
        wanted = type(target.type).__name__.removesuffix("TensorType").upper()
        cast(source.name, target.full_name, TensorProto.DataType.Value(wanted))


def _mixture(graph: _Graph, posterior: Mixture, probabilities: bool) -> None:
    classes, models, weights = posterior.classes, posterior.models, posterior.weights.tolist()
    if posterior.class_weight is not None:
        raise ValueError(
            "class_weight must be None for the export; got "
            f"{posterior.class_weight.tolist()}, relative to the largest: fit with "
            "class_weight=None, and multiply the probabilities by the weights"
        )
    if posterior.first.labels.n_shared:
        raise ValueError(
            "classifier must be of classes in no order for the export; got one of ordered classes: "
            f"{classes.tolist()}"
        )
    values = [_decision_values(graph.input, model) for model in models]
    z, sign = values[0]
    shares = []
    if len(models) > 1 or probabilities:
        shares = [_shares(of_model, len(classes)) for of_model, _ in values]
    if len(models) > 1:
        z = _quantile(_average(shares, weights))
        z = sign = z.columns([1]) if len(classes) == 2 else z
    graph.decide(z, sign, classes)
    if probabilities:
        observed = [  # with the label noise of each model
            share * model.labels.spans + model.labels.floors
            for share, model in zip(shares, models, strict=True)
        ]
        _average(observed, weights).op("Identity", output="probabilities")


def _average(values: list[_Value], weights: list[float]) -> _Value:
    if len(values) == 1:
        return values[0]
    parts = [value * weight for value, weight in zip(values, weights, strict=True)]
    return reduce(_Value.__add__, parts)


def _shares(z: _Value, n_classes: int) -> _Value:
    """Return the probabilities of the classes before label noise, shape (n, n_classes)."""
    if n_classes == 2:
        return (-z).normal().op("Concat", z.normal(), axis=1)
    p = z.normal().at_least(1e-30)
    return p / p.sum()


def _decision_values(x: _Value, model: Model) -> tuple[_Value, _Value]:
    """Return the decision values of one model, and of two classes numbers of their sign."""
    basis, draws, hyper = model.basis, model.draws, model.hyper
    x = _transformed(x, hyper.transform)
    k_star = _kernel(x, basis.kernel, basis.points)
    if basis.offset:
        k_star = k_star + basis.offset
    own = _values(basis.kernel, x, None) + (basis.offset + hyper.softness)
    # The predictive variance, shape (n, 1).
    permuted = k_star
    if basis.factor.pivots is not None:
        permuted = k_star.columns(basis.factor.pivots)
    identity = np.eye(basis.factor.rank)
    inverse = linalg.solve_triangular(basis.factor.lower, identity, lower=True)
    solved = permuted @ inverse.T
    variance = (own - (solved * solved).sum()).at_least(0.0)
    if not model.labels.predicts.by_moments:
        z = _joint_values(draws, k_star, variance) * model.calibration
        return z, z
    # As OneWall.decision_values.
    numerator = k_star @ draws.mean[:, None]
    h = k_star @ draws.coefficients.T
    first, second = h.mean() * draws.lengths.mean, (h * h).mean()
    scale = (second * draws.lengths.mean_square - first * first).at_least(0.0) + variance
    scale = scale.at_least(numerator * numerator * 1e-16).at_least(_TINY)  # avoids 0 / 0
    return numerator / scale.op("Sqrt") * model.calibration, numerator


def _transformed(x: _Value, transform: Any) -> _Value:
    """Return inputs as the kernel gets them: standardized, and perhaps on another scale."""
    if transform is None:
        return x
    if not isinstance(transform, Warped):
        return (x - transform.mean_) / transform.scale_
    x, warp, places = _transformed(x, transform.scaler), transform.warp, transform.places
    if isinstance(warp, OneUnit):
        return x * warp.factors
    part = x.columns(places).at_least(transform.ends[0]).op("Min", transform.ends[1])
    moved = _rank_normal(part, warp) if isinstance(warp, RankNormal) else _powers(part, warp)
    order = np.arange(len(transform.scaler.mean_))
    order[places] = len(order) + np.arange(len(places))
    return x.op("Concat", moved, axis=1).columns(order)


def _rank_normal(x: _Value, warp: RankNormal) -> _Value:
    """Return the scores, sums of the steps between knots."""
    parts = []
    for k, (values, scores) in enumerate(zip(warp.values, warp.scores, strict=True)):
        ways = (x.columns([k]) - values[:-1]) / np.diff(values)
        parts.append(ways.at_least(0.0).op("Min", 1.0) @ np.diff(scores)[:, None] + scores[0])
    return parts[0].op("Concat", *parts[1:], axis=1)


def _powers(x: _Value, warp: PowerTransformer) -> _Value:
    """Return the transformation of Yeo and Johnson (2000), standardized."""
    power = x.op("Less", 0.0).op("Where", 2.0 - warp.lambdas_, warp.lambdas_)
    # ONNX has no log1p and no expm1: the rounding errors of u - 1 and of log(u) cancel (W. Kahan).
    # The small number avoids 0 / 0; onnxruntime rounds some numbers to single precision.
    small, size = 1e-30, x.op("Abs")
    u = size + 1.0
    log = size * ((u.op("Log") + small) / (u - 1.0 + small))
    exponent = power * log
    u = exponent.op("Exp")
    exponent = exponent.op("Less", -500.0).op("Where", exponent, u.op("Log"))
    values = x.op("Sign") * log * ((u - 1.0 + small) / (exponent + small))
    first, second = warp.transform(np.array([[0.0], [1.0]]) + np.zeros(len(warp.lambdas_)))
    return values * ((second - first) / special.boxcox1p(1.0, warp.lambdas_)) + first


def _joint_values(draws: Draws, k_star: _Value, variance: _Value) -> _Value:
    """Return the decision values of several classes, shape (n, n_classes)."""
    # As LargestOf.decision_values, in shape (n_classes, n, n_draws); lengths are in `coef`.
    coef = draws.coefficients * draws.lengths.quantiles(len(draws))[:, None, None]
    coef += draws.mean - coef.mean(axis=0)
    values = k_star @ np.moveaxis(coef, 0, 2)
    behind = values.op("ReduceMax", axes=[0], keepdims=1) - values
    # A large number where there is no variance.
    behind = behind / variance.op("Sqrt").at_least(behind * 1e-6).at_least(_TINY)
    parts = []
    for node in NODES:
        x = behind + node
        below = x.normal().at_least(1e-12)
        others = below.op("ReduceProd", axes=[0], keepdims=1) / below
        parts.append((x * x * -0.5).op("Exp") * others)
    total = reduce(_Value.__add__, parts)
    p = (total / total.sum(0)).mean(2)
    # Rare classes, against that of the largest mean.
    means = k_star @ draws.mean[..., None]
    first = means.op("ArgMax", axis=0, keepdims=1)
    classes = np.arange(len(draws.center))[:, None, None]
    one_hot = first.op("Equal", classes).op("Cast", to=k_star.graph.double)
    gap, lead = means - (one_hot * means).sum(0), values - (one_hot * values).sum(0)
    second, square = (lead * lead).mean(2), gap * gap
    spread = (second - square).at_least(0.0) + variance * 2.0
    spread = spread.at_least(square * 1e-16).at_least(_TINY)
    pair = (gap / spread.op("Sqrt")).normal()
    p = p.at_least(pair.op("Min", RARE))
    p = p.op("Squeeze", np.array([2])).op("Transpose", perm=[1, 0])
    return _quantile(p / p.sum())


def _quantile(p: _Value) -> _Value:
    """Return the normal quantile function to 1e-7 (M. J. Wichura, Algorithm AS 241, 1988)."""

    def ratio(r: _Value, numerator: list[float], denominator: list[float]) -> _Value:
        """Return the ratio of two polynomials, from the coefficients of the highest power on."""
        over, under = (
            reduce(lambda total, factor: total * r + factor, rest, r * first + second)
            for first, second, *rest in (numerator, denominator)
        )
        return over / under

    q = p - 0.5
    numerator = [59.109374720, 159.29113202, 50.434271938, 3.3871327179]
    middle = ratio(0.180625 - q * q, numerator, [67.187563600, 78.757757664, 17.895169469, 1.0])
    root = (-p.op("Min", 1.0 - p).at_least(1e-300).op("Log")).op("Sqrt")
    numerator = [0.17023821103, 1.3067284816, 2.7568153900, 1.4234372777]
    near = ratio(root - 1.6, numerator, [0.12021132975, 0.73700164250, 1.0])
    numerator = [0.017337203997, 0.42868294337, 3.0812263860, 6.6579051150]
    far = ratio(root - 5.0, numerator, [0.012258202635, 0.24197894225, 1.0])
    outer = root.op("Greater", 5.0).op("Where", far, near) * q.op("Sign")
    return q.op("Abs").op("Less", 0.425).op("Where", q * middle, outer)


def _linear(graph: _Graph, planes: Any) -> None:
    norm = np.ones(len(planes.dual_coef)) if planes.norm is None else planes.norm
    scale = 1 / np.where(norm > 0, norm, 1.0)
    k_star = _kernel(graph.input, planes.kernel, planes.points)
    values = k_star @ (planes.dual_coef.T * scale) + planes.intercept * scale
    graph.decide(values, values, planes.classes)


def _kernel(x: _Value, kernel: Any, points: Any) -> _Value:
    if points is None:
        raise TypeError("kernel must be a function of inputs to be exported; got 'precomputed'")
    if not isinstance(points, np.ndarray) or points.ndim != 2:
        raise TypeError(f"kernel must be a function of dense vectors; got {kernel!r}")
    return _values(kernel, x, points)


def _values(kernel: Any, x: _Value, Y: Floats | None) -> _Value:
    """Return the values of a kernel between the rows of x and of Y; None: ``k(x, x)``, (n, 1)."""
    kind = type(kernel)
    if kind is kernels.Constant:
        return _constant(kernel.value, x, Y)
    if kind in (kernels.Linear, kernels.Polynomial):
        products = (x * x).sum() if Y is None else x @ Y.T
        if kind is kernels.Linear:
            return products
        return reduce(_Value.__mul__, [products + float(given(kernel, "coef0"))] * kernel.degree)
    if kind in (kernels.Sum, kernels.Product):
        join = _Value.__add__ if kind is kernels.Sum else _Value.__mul__
        return reduce(join, [_values(part, x, Y) for part in kernel.parts])
    if kind is kernels.Scaled:
        # One for each example: onnxruntime would round a scalar factor to single precision.
        factors = np.full(1 if Y is None else len(Y), given(kernel, "factor"))
        return _values(kernel.kernel, x, Y) * factors
    if kind is kernels.Weighted:
        if kernel.limits is not None:
            raise TypeError(f"kernel must be of numbers to be exported; got {kernel!r}")
        factors = factors_of(kernel)
        return _values(kernel.kernel, x * factors, None if Y is None else Y * factors)
    if kind not in (kernels.Normalized, *_STATIONARY):
        raise TypeError(
            "kernel must be made of Linear, Polynomial, RBF, Laplacian, Matern, RationalQuadratic "
            f"and Constant to be exported; got {kernel!r}"
        )
    if Y is None:
        return _constant(1.0, x, Y)
    if kind is kernels.Normalized:
        lengths = np.sqrt(kernels.diagonal(kernel.kernel, Y))
        return _values(kernel.kernel, x, Y) / lengths / _values(kernel.kernel, x, None).op("Sqrt")
    return _of_distances(kernel, x, Y)


def _constant(value: float, x: _Value, Y: Floats | None) -> _Value:
    zeros = (x * x).sum() * 0.0 if Y is None else x @ np.zeros(Y.T.shape)
    return zeros + float(value)


_STATIONARY = kernels.RBF, kernels.Laplacian, kernels.Matern, kernels.RationalQuadratic


def _of_distances(kernel: Any, x: _Value, Y: Floats) -> _Value:
    """Return the values of a stationary kernel, by distances in units of the length scales."""
    units = units_of(kernel.sigma, Y)
    if isinstance(kernel, kernels.Laplacian):
        steps = (x / units).op("Unsqueeze", np.array([1])) - (Y / units)[None]
        return (-steps.op("Abs").op("ReduceSum", np.array([2]), keepdims=0)).op("Exp")
    origin = Y.mean(axis=0)
    centered, right = x - origin, (Y - origin) / units
    # Not the product of scaled inputs: see the comment in `_values`.
    inner = centered @ (-2.0 * right / units).T
    left = centered / units
    squares = inner + (left * left).sum() + np.einsum("ij,ij->i", right, right)
    squares = squares.at_least(0.0)
    if isinstance(kernel, kernels.RBF):
        return (squares * -0.5).op("Exp")
    if isinstance(kernel, kernels.RationalQuadratic):
        # ONNX has no log1p: the rounding error of the sum is multiplied by alpha.
        alpha = float(given(kernel, "alpha"))
        return (squares / (2 * alpha) + 1.0).op("Pow", -alpha)
    s = (squares * (2 * kernel.nu)).op("Sqrt")
    decay = (-s).op("Exp")
    if kernel.nu < 1:
        return decay
    return (s + 1.0 + s * s * (1 / 3) if kernel.nu > 2 else s + 1.0) * decay


def _operator(kind: str) -> Callable[[_Value, Any], _Value]:
    """Return a method that adds a node with this value and another."""
    return lambda value, other: value.op(kind, other)


@dataclass
class _Value:
    """A value that a graph computes. Arithmetic with numbers, arrays and others adds nodes."""

    __array_ufunc__ = None  # lets NumPy's arrays defer to the operators here

    graph: _Graph
    name: str

    def op(self, kind: str, *others: Any, output: str | None = None, **attributes: Any) -> _Value:
        """Add a node of this value and others; numbers and arrays become constants."""
        graph = self.graph
        names = [self.name, *(graph.value(other).name for other in others)]
        output = output or f"t{len(graph.nodes)}"
        graph.nodes.append(graph.onnx.helper.make_node(kind, names, [output], **attributes))
        return _Value(graph, output)

    __add__ = _operator("Add")
    __sub__ = _operator("Sub")
    __mul__ = _operator("Mul")
    __truediv__ = _operator("Div")
    __matmul__ = _operator("MatMul")
    at_least = _operator("Max")

    def __neg__(self) -> _Value:
        return self.op("Neg")

    def __rsub__(self, other: float) -> _Value:
        return -self + other

    def sum(self, axis: int = 1) -> _Value:
        """Return the sums along an axis, which stays with length 1."""
        return self.op("ReduceSum", np.array([axis]), keepdims=1)

    def mean(self, axis: int = 1) -> _Value:
        """Return the means along an axis, which stays with length 1."""
        return self.op("ReduceMean", axes=[axis], keepdims=1)

    def columns(self, places: Sequence[int] | Indices) -> _Value:
        """Return columns in the order of their places."""
        return self.op("Gather", np.array(places, dtype=np.int64), axis=1)

    def normal(self) -> _Value:
        """Return the normal distribution function."""
        single = (self * math.sqrt(0.5)).op("Cast", to=self.graph.single)
        return (single.op("Erf").op("Cast", to=self.graph.double) + 1.0) * 0.5


class _Graph:
    """Nodes and constants of a graph with the input X."""

    def __init__(self, onnx: Any) -> None:
        self.onnx = onnx
        self.double, self.single = onnx.TensorProto.DOUBLE, onnx.TensorProto.FLOAT
        self.nodes: list[Any] = []
        self.constants: list[Any] = []
        self.label_type = 0
        self.input = _Value(self, "X")

    def value(self, content: _Value | Array | float) -> _Value:
        """Return a value of the graph; a number or an array becomes a constant."""
        if isinstance(content, _Value):
            return content
        array, name = np.asarray(content, order="C"), f"c{len(self.constants)}"
        self.constants.append(self.onnx.numpy_helper.from_array(array, name))
        return _Value(self, name)

    def decide(self, values: _Value, sign: _Value, classes: Array) -> None:
        """Add the outputs "label" and "decision"; `sign` (n, 1) decides between two classes."""
        two, kind = len(classes) == 2, classes.dtype.kind
        unknown: Any = False
        if two:
            index = sign.op("Greater", 0.0).op("Cast", to=self.onnx.TensorProto.INT64)
            index = index.op("Squeeze", np.array([1]))
        else:
            index = values.op("ArgMax", axis=1, keepdims=0)
        if kind in "iu" and (classes <= np.iinfo(np.int64).max).all():
            classes, unknown = classes.astype(np.int64), np.iinfo(np.int64).min
        elif kind == "f":
            classes, unknown = classes.astype(np.float64), math.nan
        elif kind != "b":
            if not all(isinstance(label, str) for label in classes.tolist()):
                raise TypeError(
                    f"classes_ must be numbers or strings to be exported; got {classes.tolist()!r}"
                )
            classes, unknown = classes.astype(object), ""
        is_nan = values.op("ReduceMean", axes=[1], keepdims=0).op("IsNaN")
        index = is_nan.op("Where", np.array(len(classes)), index)
        self.value(np.append(classes, unknown)).op("Gather", index, axis=0, output="label")
        self.label_type = self.constants[-1].data_type
        if two:
            values.op("Squeeze", np.array([1]), output="decision")
        else:
            values.op("Identity", output="decision")

    def model(self, outputs: list[str], name: str, classes: Array, points: Floats) -> Any:
        """Return the checked ONNX model."""
        helper, wide = self.onnx.helper, ["n", len(classes)]
        shapes = {
            "label": (self.label_type, ["n"]),
            "decision": (self.double, ["n"] if len(classes) == 2 else wide),
            "probabilities": (self.double, wide),
        }
        inputs = [helper.make_tensor_value_info("X", self.double, ["n", points.shape[1]])]
        info = [helper.make_tensor_value_info(output, *shapes[output]) for output in outputs]
        graph = helper.make_graph(self.nodes, name, inputs, info, self.constants)
        model = helper.make_model(
            graph,
            opset_imports=[helper.make_opsetid("", OPSET)],
            producer_name="bayespoint",
            producer_version=metadata.version("bayespoint"),
            ir_version=_IR,
        )
        self.onnx.checker.check_model(model, full_check=True)
        return model
