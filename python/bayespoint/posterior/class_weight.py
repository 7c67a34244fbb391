"""Predictions for a population in which the classes have other weights.

The posterior odds are multiplied by the ratio of the weights: exactly, without a new fit. They
multiply the probabilities of the true classes, before label noise, which stays.
"""

from __future__ import annotations

import numpy as np
from scipy import special

from bayespoint.base.validation import Floats
from bayespoint.likelihood import Likelihood, OrderedClasses


def weighted_values(z: Floats, class_weight: Floats, likelihood: Likelihood) -> Floats:
    r"""Return decision values for the weights, of the same shape (n, n_rows) as `z`.

    For two classes these are :math:`\Phi^{-1}(p')` with :math:`p' / (1 - p') = (w_1 / w_0)\,\Phi(z)
    / \Phi(-z)`, otherwise :math:`\Phi^{-1}(w_c\,\Phi(z_c) / \max w)`. Logarithms of probabilities
    keep the order of values also where probabilities underflow.
    """
    if isinstance(likelihood, OrderedClasses):
        return likelihood.weighted(z, class_weight)
    log_weight = np.log(class_weight)
    if z.shape[1] == 1:
        log_odds = special.log_ndtr(z) - special.log_ndtr(-z) + (log_weight[1] - log_weight[0])
        tail = special.ndtri_exp(special.log_expit(-np.abs(log_odds)))
        return np.asarray(np.where(log_odds > 0, -tail, tail))
    values = z.copy()
    less = log_weight < 0
    values[:, less] = special.ndtri_exp(log_weight[less] + special.log_ndtr(z[:, less]))
    return values


def weighted_probabilities(p: Floats, class_weight: Floats, likelihood: Likelihood) -> Floats:
    """Return probabilities of the positive class for the weights, of shape (n, n_rows)."""
    if isinstance(likelihood, OrderedClasses):
        with np.errstate(divide="ignore"):
            logs = likelihood.log_shares(p) + np.log(class_weight)
        return np.asarray(special.ndtr(likelihood.decision(logs)))
    if p.shape[1] > 1:
        return p * class_weight
    with np.errstate(divide="ignore"):
        log_odds = np.log(p) - np.log1p(-p) + np.log(class_weight[1]) - np.log(class_weight[0])
    return np.asarray(special.expit(log_odds))
