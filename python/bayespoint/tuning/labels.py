"""What the search asks of labels: their evidence, and their predictions given all others.

The evidence of more than two classes is that of each class against the rest, summed and divided by
how much more all these labels tell than the classes do: each of C problems has the entropy H(1/C),
a class ln C. Ordered classes have one problem, with thresholds at the quantiles by which the labels
have their frequencies of a normal distribution of the variance of f and the softness.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special

from bayespoint.base.validation import Floats
from bayespoint.landmarks.propagation import Propagation
from bayespoint.likelihood import Likelihood, OrderedClasses
from bayespoint.likelihood.two_classes import LARGEST_Z, quantiles
from bayespoint.posterior.calibration import LeftOut


@dataclass(frozen=True, eq=False)
class Problems:
    """The labels of m examples as C problems, whose evidences approximate that of the labels."""

    positive: NDArray[np.bool_]  # (C, m) labels of each problem
    ends: Floats | None  # (m, 2) interval of each label, in deviations of a noisy value, or None
    others: int  # number of the labels that a wrong one may be
    share: float  # share of the sum of the evidences that counts

    @classmethod
    def of(cls, likelihood: Likelihood, label: NDArray[np.intp]) -> Problems:
        """Return the problems of labels."""
        n, several = likelihood.n_classes, likelihood.n_problems > 1
        if isinstance(likelihood, OrderedClasses):
            cuts = np.concatenate([[-np.inf], likelihood.thresholds(label), [np.inf]])
            ends = np.stack([cuts[label], cuts[label + 1]], axis=1)
            return cls(np.ones((1, len(label)), dtype=np.bool_), ends, n - 1, 1.0)
        positive = label == np.arange(n)[0 if several else 1 :, None]
        p = 1 / n
        entropy = -p * math.log(p) - (1 - p) * math.log(1 - p)
        return cls(positive, None, n - 1, math.log(n) / (n * entropy) if several else 1.0)

    def rates(self, label_noise: tuple[float, float]) -> tuple[float, float]:
        """Return the probability of a wrong label of truly negative and truly positive examples."""
        return label_noise[0] / self.others, label_noise[1]

    def by_noise(self, by_rates: Floats) -> Floats:
        """Return the derivatives by label noise, from those by the rates of the problems."""
        return np.array([by_rates[0] / self.others, by_rates[1]])

    def left_out(self, propagation: Propagation) -> Floats:
        """Return the (m,) probability of each label given all others, or (C, m) of each class."""
        p = propagation.left_out
        if len(p) == 1:
            return np.asarray(p[0])
        p = np.where(self.positive, p, 1 - p)
        return np.asarray(p / p.sum(axis=0))


def log_left_out(
    likelihood: Likelihood, label: NDArray[np.intp], left_out: Floats, *, calibrates: bool
) -> Floats:
    """Return the (m,) log probabilities of labels given all others, from those of `Problems`.

    Where the fit calibrates its predictions, so are these.
    """
    with np.errstate(divide="ignore"):
        log_p = np.log(left_out)
    # Ordered classes have the probabilities of the labels alone, which tell no decision values.
    if isinstance(likelihood, OrderedClasses) or not left_out.size:
        return log_p
    clean = likelihood.with_noise((0.0, 0.0))
    z = special.ndtri(left_out) if left_out.ndim == 1 else quantiles(log_p)
    predictions = LeftOut(clean, np.clip(z, -LARGEST_Z, LARGEST_Z), clean.codes(label))
    return predictions.log_labels(predictions.factor() if calibrates else 1.0)
