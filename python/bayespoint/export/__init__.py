"""Export of fitted classifiers to other formats."""

from __future__ import annotations

from bayespoint.export.onnx import to_onnx

__all__ = ["to_onnx"]
