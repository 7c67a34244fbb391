"""The laws of `bayespoint.engine.laws` by adaptive quadrature in logarithms, one at a time."""

import math

import numpy as np
from scipy import integrate, optimize, special


def log_probability(law, contrasts):
    """Return the log probability of an observation: an integral over one noisy value.

    It lies between two ends and above other values. A contrast that is infinite says nothing.
    """
    low, high, others = -math.inf, math.inf, np.empty(0)
    if law == "largest":
        others = np.array([d for d in contrasts if math.isfinite(d)])
    else:
        low, high = -contrasts[0], contrasts[1] if law == "interval" else math.inf

    def log_height(v):
        return -0.5 * (v * v + math.log(2 * math.pi)) + special.log_ndtr(v + others).sum()

    def slope(v):
        x = v + others
        return np.exp(-0.5 * (x * x + math.log(2 * math.pi)) - special.log_ndtr(x)).sum() - v

    if not low < high:
        return -math.inf
    mode = 0.0
    if len(others):  # where the slope, which falls, is 0
        mode = optimize.brentq(slope, -1.0, 2.0 + len(others) + np.abs(others).max())
    mode = float(np.clip(mode, low, high))
    # The logarithm is at least as concave as that of a normal density, and steep in a tail.
    reach = 40 / max(abs(mode), 1.0) if mode in (low, high) else 12.0
    ends = max(low, mode - reach), min(high, mode + reach)
    parts = [
        integrate.quad(lambda v: math.exp(log_height(v) - log_height(mode)), *part, epsabs=0.0)[0]
        for part in ((ends[0], mode), (mode, ends[1]))
        if part[0] < part[1]
    ]
    return log_height(mode) + math.log(sum(parts))


def log_probabilities(observed, contrasts):
    """Return the (n,) log probabilities of labels, with label noise, as often as each counts."""
    n = contrasts.shape[1]
    log_p = np.array([log_probability(observed.law, column) for column in contrasts.T])
    if len(observed.floors):
        log_p = np.log(observed.floors + observed.spans * np.exp(log_p))
    return (observed.counts if len(observed.counts) else np.ones(n)) * log_p
