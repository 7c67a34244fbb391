r"""Expectation propagation for functions of few dimensions: the evidence of classes.

A weight vector :math:`w \sim N(0, I)` gives example i the value :math:`t_i = a_i \cdot w`, for the
row :math:`a_i = y_i \psi_i / \sqrt{\lambda_i}` of its features and its level, and its label has the
probability :math:`\epsilon_i + s\,\Phi(t_i)`, of ordered classes :math:`\epsilon_i + s\,(\Phi(b_i -
t_i) - \Phi(a_i - t_i))` without :math:`y_i`, by thresholds divided by the root, too.
Each factor is approximated by a normal one, a site (Minka, 2001). A sweep updates all sites at once
and takes O(m r^2) for m examples and r dimensions.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from scipy import linalg

from bayespoint import _core
from bayespoint.base.validation import Flags, Floats


@dataclass(frozen=True, eq=False)
class Propagation:
    """The normal approximations of C problems with the same m examples, and their evidence."""

    log_evidence: Floats  # (C,) nats
    converged: Flags  # (C,) whether the sites stopped changing
    precision: Floats  # (C, m) precisions of the sites
    shift: Floats  # (C, m) precisions times means of the sites
    left_out: Floats  # (C, m) probability of each label given all others
    by_noise: Floats  # (2,) derivatives of the sum of the evidences by the rates of label noise
    by_features: Floats  # (m, r) derivatives by the features: to first order, with fixed sites
    by_level: Floats  # (m,) derivatives of the sum by the levels
    by_thresholds: float = 0.0  # derivative by the logarithm of a factor of all thresholds


def propagate(
    features: Floats,
    level: Floats,
    positive: Flags,
    noise: tuple[float, float] = (0.0, 0.0),
    start: Propagation | None = None,
    *,
    intervals: Floats | None = None,
    change: float,
    n_threads: int = 1,
) -> Propagation:
    """Return the approximations for (m, r) features and (m,) levels, the variances of the noise.

    `positive` tells the (C, m) labels; of ordered classes they are all positive, C is 1, and
    `intervals` has the (m, 2) thresholds below and above each example's value. `noise` is the
    probability of a wrong label for truly negative and truly positive examples. `start` is the
    approximation of a similar setting, which counts for the problems where it converged. The sweeps
    end when the evidence changes by less than `change` nats. Raises LinAlgError if features are not
    finite.
    """
    try:
        found: Any = _core.propagation(
            features,
            level,
            positive,
            noise,
            intervals=intervals,
            start=start,
            change=change,
            n_threads=n_threads,
        )
    except FloatingPointError as error:
        raise linalg.LinAlgError(str(error)) from None
    return Propagation(**found)
