"""Export of fitted classifiers to other formats."""

from bayespoint.base.io import trusted_types
from bayespoint.export.onnx import register_with_skl2onnx, to_onnx

TRUSTED_TYPES = trusted_types()
"""Names of this package's classes in fitted estimators, for the argument ``trusted`` of
``skops.io.load``. Add the names of kernels of other packages, also scikit-learn's."""

__all__ = ["TRUSTED_TYPES", "register_with_skl2onnx", "to_onnx"]
