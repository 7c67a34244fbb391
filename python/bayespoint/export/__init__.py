"""Fitted classifiers in formats of other programs."""

from __future__ import annotations

from bayespoint.export.onnx import to_onnx

__all__ = ["to_onnx"]
