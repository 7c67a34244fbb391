r"""Bounds on the probability of error of a classifier, from its training examples alone.

With probability at least ``1 - delta`` over m independent examples of one distribution, the risk is
at most the value of the bound; values of 1 and more are vacuous. Kernel and prior must have been
chosen without the examples. The functions take numbers or arrays that broadcast together, and raise
``ValueError`` or ``TypeError`` for others, such as arguments out of range.

=================== ==========================================================================
`sparsity`          a consistent classifier that few examples determine
`margin`            the perceptron, where some classifier has a large margin
`mistakes`          how many updates the perceptron makes
`pac_margin`        a hyperplane with a large margin
`luckiness`         the same, in the older form of 1996
`volume_gibbs`      a weight vector drawn from a part of version space
`volume_bayes`      the vote of a part of version space
`linear_svm`        a hyperplane with a large margin, by the volume of a ball
`pac_bayes_kl`      a tighter form of the three above, also with training errors
`point_mirror`      a single weight vector, by the part of version space symmetric about it
`cap_log_fraction`  ln of the share of the sphere in a cap
`hoeffding_samples` number of independent draws for a center of mass
`table`             all bounds for a given weight vector
`risk_bounds`       all bounds for the posterior of a fitted classifier
=================== ==========================================================================

`mirrored_space` and `normalized_margins` compute their arguments.

The docstrings cite two of the papers by their authors:

R. Herbrich, T. Graepel and C. Campbell, "Bayesian Learning in Reproducing Kernel Hilbert Spaces",
Technical Report 99-11, Technical University of Berlin, 1999.

T. Graepel, R. Herbrich and R. C. Williamson, "From Margin to Sparsity", Advances in Neural
Information Processing Systems 13, 2001.
"""

from bayespoint.papers.bounds.margins import luckiness, margin, mistakes, pac_margin, sparsity
from bayespoint.papers.bounds.mirror import mirrored_space, normalized_margins, point_mirror
from bayespoint.papers.bounds.result import RiskBound, RiskBounds
from bayespoint.papers.bounds.tables import risk_bounds, table
from bayespoint.papers.bounds.volume import (
    cap_log_fraction,
    hoeffding_samples,
    linear_svm,
    pac_bayes_kl,
    volume_bayes,
    volume_gibbs,
)

__all__ = [
    "RiskBound",
    "RiskBounds",
    "cap_log_fraction",
    "hoeffding_samples",
    "linear_svm",
    "luckiness",
    "margin",
    "mirrored_space",
    "mistakes",
    "normalized_margins",
    "pac_bayes_kl",
    "pac_margin",
    "point_mirror",
    "risk_bounds",
    "sparsity",
    "table",
    "volume_bayes",
    "volume_gibbs",
]
