"""A few examples of classes, and their posterior by rejection from the prior."""

import math

import numpy as np
from scipy import special

from bayespoint import BayesPointClassifier, BayesPointOrdinalClassifier, kernels
from bayespoint.base.linalg import factorize
from bayespoint.engine.laws import largest_probabilities
from helpers import seed


class Problem:
    """A few examples and points of a Gaussian process with offset; each class occurs.

    Values u of functions at the examples, with noise, have the shape (n, n_functions, m),
    thresholds (n, n_classes - 1).
    """

    def __init__(self, kind, m, n_classes, softness, index):
        rng = np.random.default_rng(seed(index))
        self.kernel, self.softness = kernels.RBF(1.2), softness
        self.inputs = rng.standard_normal((m, 2))
        # New points, and those of the examples, where the variance is smallest.
        self.points = np.concatenate([rng.standard_normal((6, 2)) * 1.5, self.inputs])
        gram = self.kernel(self.inputs)
        self.matrix = gram + 1.0 + softness * np.eye(m)
        self.k_star = self.kernel(self.points, self.inputs) + 1.0
        factor = factorize(gram, 1.0, np.full(m, softness))
        own = self.kernel.diag(self.points) + 1.0 + softness
        self.variance = np.maximum(own - factor.explained(self.k_star), 0.0)
        if softness == 0.0:
            self.variance[6:] = 0.0
        self.kind, self.n_classes = kind, n_classes
        self.n_functions = n_classes if kind == "several" else 1
        more = rng.integers(n_classes, size=m - n_classes)
        self.labels = np.concatenate([np.arange(n_classes), more])
        if kind == "ordered":  # likely ones, so that rejection ends: those of a draw
            order = (np.linalg.cholesky(self.matrix) @ rng.standard_normal(m)).argsort()
            self.labels[order] = np.sort(self.labels)
        self.variance_of_thresholds = float(self.matrix.diagonal().mean())

    def _seen(self, noise):
        """Return the probabilities of labels, (C, C): of each true class a row."""
        rates = np.broadcast_to(noise, self.n_classes)[:, None]
        return np.where(np.eye(self.n_classes) > 0, 1 - rates, rates / (self.n_classes - 1))

    def observed(self, p, noise):
        """Return the probabilities of labels from those of true classes, (..., C)."""
        return p @ self._seen(noise)

    def accepted(self, index, noise=0.0, wanted=5_000, factor=1.0):
        """Return u and thresholds, which have `factor` times their variance."""
        rng, m = np.random.default_rng(seed(index)), len(self.labels)
        root, kept = np.linalg.cholesky(self.matrix), []
        spread, seen = math.sqrt(factor * self.variance_of_thresholds), self._seen(noise)
        most = seen.max(axis=0)[self.labels].prod()
        n_thresholds = self.n_classes - 1 if self.kind == "ordered" else 0
        while sum(len(u) for u, _ in kept) < wanted:
            u = rng.standard_normal((100_000, self.n_functions, m)) @ root.T
            t = np.sort(spread * rng.standard_normal((len(u), n_thresholds)), axis=1)
            if self.kind == "ordered":
                true = (u > t[..., None]).sum(axis=1)
            else:
                true = u.argmax(axis=1) if self.kind == "several" else (u[:, 0] > 0).astype(int)
            some = rng.uniform(size=len(u)) * most < seen[true, self.labels].prod(axis=1)
            kept.append((u[some], t[some]))
        return tuple(map(np.concatenate, zip(*kept, strict=True)))

    def means(self, u):
        """Return the means of the functions at the points given u, (n, n_functions, n_points)."""
        return u @ np.linalg.solve(self.matrix, self.k_star.T)

    def exact(self, u, t, noise=0.0):
        """Return the probabilities of the labels at the points, (n_points, C), and their errors."""
        mean, scale = self.means(u), np.sqrt(np.maximum(self.variance, 1e-20))
        if self.kind == "several":
            behind = np.moveaxis(mean.max(axis=1, keepdims=True) - mean, 1, 0)
            p = np.moveaxis(largest_probabilities(behind / scale), 0, -1)
        else:
            t = t if self.kind == "ordered" else np.zeros((len(u), 1))
            above = special.ndtr((mean[:, 0, :, None] - t[:, None]) / scale[:, None])
            ends = np.ones((*above.shape[:2], 1))
            p = -np.diff(np.concatenate([ends, above, 0 * ends], axis=2), axis=2)
        p = self.observed(p, noise)
        return p.mean(axis=0), p.std(axis=0) / math.sqrt(len(u))

    def of_moments(self, u, noise=0.0):
        """Return what the probabilities of two classes would be if f were normal."""
        mean = self.means(u)[:, 0]
        z = mean.mean(axis=0) / np.sqrt(mean.var(axis=0) + self.variance)
        return self.observed(special.ndtr(np.stack([-z, z], axis=1)), noise)

    def directions(self, u):
        """Return dual coefficients of unit vectors with the directions of u, class mean off."""
        values = u - u.mean(axis=1, keepdims=True) if self.kind == "several" else u[:, 0]
        gamma = values @ np.linalg.inv(self.matrix)
        squares = (gamma * values).sum(axis=tuple(range(1, values.ndim)), keepdims=True)
        return gamma / np.sqrt(squares)

    def fit(self, **settings):
        """Return an accurate classifier of the examples and `labels`."""
        accurate = {"n_draws": 4000, "tol": 0.004, "random_state": seed(0), "standardize": False}
        given = {"softness": self.softness} | accurate | settings
        if self.kind == "ordered":
            model = BayesPointOrdinalClassifier(self.kernel, **{"calibration": None} | given)
        else:
            model = BayesPointClassifier(self.kernel, **given)
        return model.fit(self.inputs, self.labels)
