"""Kernels: functions ``k(X, Y)`` that return the matrix of inner products of feature vectors.

Any callable ``k(X, Y) -> (n, n')`` can be used as a kernel. The kernels here can also be added,
multiplied with each other and with positive numbers, and normalized, as in ``RBF(2.0) + 0.5 *
normalize(Linear())``. A parameter that is given is kept; one that is left out, as the length scale
of ``RBF()``, is found in a fit. Kernels of scikit-learn's Gaussian processes keep their own bounds.

References
----------
- J. L. Crowley, "Perceptrons and Support Vector Machines", Intelligent Systems: Reasoning and
  Recognition, Lesson 6, 2018.
- C. Leslie, E. Eskin and W. S. Noble, "The spectrum kernel: a string kernel for SVM protein
  classification", Pacific Symposium on Biocomputing 7, 2002.
- C. E. Rasmussen and C. K. I. Williams, "Gaussian Processes for Machine Learning", MIT Press, 2006.
"""

from bayespoint.kernels.base import (
    Constant,
    Kernel,
    Product,
    Scaled,
    Sum,
)
from bayespoint.kernels.differences import Differences as Differences
from bayespoint.kernels.dot_product import Linear, Polynomial
from bayespoint.kernels.functions import (
    accepts_limits as accepts_limits,
    accepts_sparse as accepts_sparse,
    diag_with_pullback as diag_with_pullback,
    diagonal as diagonal,
    evaluate as evaluate,
    is_reproducible as is_reproducible,
    is_semidefinite as is_semidefinite,
    metric as metric,
    parameters as parameters,
    replace as replace,
    is_function as is_function,
    requires_vectors as requires_vectors,
    summands as summands,
    with_pullback as with_pullback,
)
from bayespoint.kernels.gram import (
    at_start,
    gram_matrix,
    resolve as resolve,
    training_gram as training_gram,
)
from bayespoint.kernels.normalized import Normalized, normalize
from bayespoint.kernels.protocol import Metric, Parameter
from bayespoint.kernels.stationary import RBF, Laplacian, Matern, RationalQuadratic, class_distance
from bayespoint.kernels.structured import SetIntersection, Spectrum
from bayespoint.kernels.weighted import Weighted

__all__ = [
    "RBF",
    "Constant",
    "Kernel",
    "Laplacian",
    "Linear",
    "Matern",
    "Metric",
    "Normalized",
    "Parameter",
    "Polynomial",
    "Product",
    "RationalQuadratic",
    "Scaled",
    "SetIntersection",
    "Spectrum",
    "Sum",
    "Weighted",
    "at_start",
    "class_distance",
    "gram_matrix",
    "normalize",
]
