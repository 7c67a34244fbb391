"""The choice of landmarks."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from threadpoolctl import threadpool_limits

from bayespoint.base.validation import Floats
from bayespoint.kernels.base import KernelObject
from bayespoint.kernels.products import count, in_rows

CANDIDATES = 10
"""Number of random examples among which each landmark is chosen, on average."""

_ROUNDS = 3
"""Rounds of k-means, from random examples: more of them, or k-means++, gain nothing."""


def choose(kernel: Any, X: Any, n: int, seed: int) -> Any:
    """Return at most n landmarks for a kernel, as it takes inputs.

    For vectors they are the centers of k-means clusters of a random part of the examples, in the
    metric of the kernel; for other inputs random examples without repetition.
    """
    m = count(X)
    rng = np.random.default_rng(seed)
    some = np.sort(rng.permutation(m)[: max(n, min(m, CANDIDATES * n))])
    part = in_rows(X)[some]
    if part.ndim == 2 and not sparse.issparse(part):
        part = np.unique(part, axis=0)
    if part.ndim == 1 or part.shape[0] <= n:
        return part[np.sort(rng.permutation(part.shape[0])[:n])]
    from sklearn.cluster import KMeans  # which takes long to import

    scale = metric(kernel, part.shape[1])
    scaled = part @ sparse.diags_array(scale) if sparse.issparse(part) else part * scale
    means = KMeans(n, init="random", n_init=1, max_iter=_ROUNDS, random_state=seed % 2**32)
    # The sums of several threads would be rounded in any order.
    with threadpool_limits(1, user_api="openmp"):
        centers: Floats = means.fit(scaled).cluster_centers_
    return np.unique(centers / scale, axis=0)


def metric(kernel: Any, d: int) -> Floats:
    """Return the factors of d features in a kernel's distances; of a sum, in its first part's."""
    scale = np.ones(d)
    while True:
        if not isinstance(kernel, KernelObject):
            return np.asarray(scale)
        weights, sigma = getattr(kernel, "weights", None), getattr(kernel, "sigma", None)
        if weights is not None:
            scale = scale * np.asarray(weights)
        if isinstance(sigma, tuple):
            scale = scale / np.asarray(sigma)
        parts = getattr(kernel, "parts", None)
        kernel = parts[0] if parts else getattr(kernel, "kernel", None)
