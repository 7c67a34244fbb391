r"""Bounds on the probability of error of a classifier, from its training examples alone.

Every function takes numbers or arrays that broadcast together and returns the value of a theorem
as it is: from 1 on the bound is vacuous. With probability at least ``1 - delta`` over m independent
examples of one distribution the risk is at most that value. m, R, :math:`\gamma` and the other
quantities are those of the examples; kernel and prior must have been chosen without them. An
argument that is out of range, not a number, or of a shape that does not fit raises ``ValueError``
or ``TypeError``.

=================== ==========================================================================
`sparsity`          a consistent classifier that few examples determine
`margin`            the perceptron, where some classifier has a large margin
`mistakes`          how many updates the perceptron makes
`pac_margin`        a hyperplane with a large margin
`luckiness`         the same, in the older form of 1996
`volume_gibbs`      a weight vector drawn from a part of version space
`volume_bayes`      the vote of a part of version space
`linear_svm`        a hyperplane with a large margin, by the volume of a ball
`pac_bayes_kl`      the tighter form of the three above, for training errors too
`bayes_point`       a single weight vector, by the part of version space symmetric about it
`cap_log_fraction`  ln of the share of the sphere within a ball
`hoeffding_samples` how many independent draws a center of mass needs
`table`             all that hold of a given weight vector
`risk_bounds`       all that hold of a fitted classifier
=================== ==========================================================================

`mirrored_space`, `normalized_margins` and `margin_histogram` compute what goes in.
"""

from __future__ import annotations

from bayespoint.bounds.compression import margin, mistakes, sparsity
from bayespoint.bounds.margins import luckiness, pac_margin
from bayespoint.bounds.mirror import (
    bayes_point,
    margin_histogram,
    mirrored_space,
    normalized_margins,
)
from bayespoint.bounds.result import RiskBound, RiskBounds
from bayespoint.bounds.risk_bounds import risk_bounds
from bayespoint.bounds.samples import hoeffding_samples
from bayespoint.bounds.tables import table
from bayespoint.bounds.volume import (
    cap_log_fraction,
    linear_svm,
    pac_bayes_kl,
    volume_bayes,
    volume_gibbs,
)

__all__ = [
    "RiskBound",
    "RiskBounds",
    "bayes_point",
    "cap_log_fraction",
    "hoeffding_samples",
    "linear_svm",
    "luckiness",
    "margin",
    "margin_histogram",
    "mirrored_space",
    "mistakes",
    "normalized_margins",
    "pac_bayes_kl",
    "pac_margin",
    "risk_bounds",
    "sparsity",
    "table",
    "volume_bayes",
    "volume_gibbs",
]
