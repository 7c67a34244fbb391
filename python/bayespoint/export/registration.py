"""The converter with which skl2onnx exports pipelines that end in a `BayesPointClassifier`."""

from __future__ import annotations

from typing import Any

from bayespoint.estimators.bayes_point import BayesPointClassifier
from bayespoint.export.onnx import OPSET, to_onnx


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
