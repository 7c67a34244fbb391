"""The laws of `bayespoint.engine.laws` by plain quadrature in logarithms, one at a time."""

import math

import numpy as np
from scipy import integrate, optimize, special


def log_probability(law, contrasts):
    """Return the log probability of an observation: an integral over one noisy value.

    It lies between two ends or above other values. A contrast that is infinite says nothing.
    """
    if law == "largest":
        return largest(contrasts)[0]
    low, high = -contrasts[0], contrasts[1] if law == "interval" else math.inf

    def log_height(v):
        return -0.5 * (v * v + math.log(2 * math.pi))

    if not low < high:
        return -math.inf
    mode = float(np.clip(0.0, low, high))
    reach = 40 / max(abs(mode), 1.0) if mode in (low, high) else 12.0  # steep in a tail
    ends = max(low, mode - reach), min(high, mode + reach)
    parts = [
        integrate.quad(lambda v: math.exp(log_height(v) - log_height(mode)), *part, epsabs=0.0)[0]
        for part in ((ends[0], mode), (mode, ends[1]))
        if part[0] < part[1]
    ]
    return log_height(mode) + math.log(sum(parts))


def largest(contrasts):
    """Return the log probability with slopes and negative second derivatives, from many nodes."""
    k, there = len(contrasts), np.isfinite(contrasts)
    others = contrasts[there]

    def hazard(x):
        return math.sqrt(2 / math.pi) / special.erfcx(-x / math.sqrt(2))

    mode = 0.0
    if there.any():  # where the slope of the logarithm, which falls, is 0
        most = 2.0 + len(others) + np.abs(others).max()
        mode = optimize.brentq(lambda v: hazard(v + others).sum() - v, -1.0, most)
    # The logarithm is at least as concave as that of a normal density.
    v, step = np.linspace(mode - 12.0, mode + 12.0, 400 + 100 * k, retstep=True)
    x = v[:, None] + others
    log_height = special.log_ndtr(x).sum(axis=1) - 0.5 * (v * v + math.log(2 * math.pi))
    weight = np.exp(log_height - log_height.max())
    log_p = log_height.max() + math.log(weight.sum() * step)
    weight, h = weight / weight.sum(), hazard(x)
    slopes, bends = np.zeros(k), np.zeros((k, k))
    slopes[there] = weight @ h
    of_two = np.diag(weight @ (h * (x + h))) - (h * weight[:, None]).T @ h
    bends[np.ix_(there, there)] = of_two + np.outer(slopes[there], slopes[there])
    return log_p, slopes, bends


def log_probabilities(observed, contrasts):
    """Return the (n,) log probabilities of labels, with label noise."""
    log_p = np.array([log_probability(observed.law, column) for column in contrasts.T])
    if len(observed.floors):
        log_p = np.log(observed.floors + observed.spans * np.exp(log_p))
    return log_p
