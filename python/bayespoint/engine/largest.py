"""Which of several normal values is the largest."""

import numpy as np

from bayespoint import _core
from bayespoint.base.validation import Floats

NODES = np.linspace(-7.5, 6.5, 29)  # nodes of the integral, relative to the largest mean


def largest_probabilities(behind: Floats) -> Floats:
    r"""Return the probability that each of several normal values is the largest.

    The values are independent and have variance 1:

    .. math:: P(c) = \int \varphi(v + b_c) \prod_{j \ne c} \Phi(v + b_j)\, dv.

    `behind`, of shape (n_values, ...), is by how much each mean is below the largest,
    :math:`b_c \ge 0`. The probabilities are 0 for values 11 or more behind. The trapezoidal rule
    with 29 nodes has an error below 1e-11 for two values, 1e-7 for 10 and 3e-5 for 50.
    """
    flat = np.ascontiguousarray(behind, dtype=np.float64).reshape(len(behind), -1)
    return _core.largest_probabilities(flat).reshape(behind.shape)
