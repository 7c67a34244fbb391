"""Bayes-optimal kernel classification by billiards in version space.

The weight vectors that classify all training examples correctly form a polytope on a sphere. Its
center of mass, the Bayes point, approximates the Bayes-optimal vote of all of them by a single
classifier. This package computes it with a billiard along exact great circles, whose path also
provides draws for posterior probabilities.
"""

from __future__ import annotations

import importlib
from typing import Any

from sklearn.exceptions import ConvergenceWarning

from bayespoint import bounds, dynamics, kernels
from bayespoint.base.io import load, trusted_types
from bayespoint.engine import InfeasibleError, __version__
from bayespoint.estimators.bayes_point import BayesPointClassifier
from bayespoint.estimators.max_margin import MaxMarginClassifier
from bayespoint.estimators.perceptron import KernelPerceptron
from bayespoint.results import BilliardResult, Evidence
from bayespoint.results.onion import LayerChoice, OnionTable
from bayespoint.results.weighted import WeightedResult
from bayespoint.version_space import VersionSpace

TRUSTED_TYPES = trusted_types()
"""Names of this package's classes in fitted estimators, for the argument ``trusted`` of
``skops.io.load``. Add the names of kernels of other packages, those of scikit-learn's Gaussian
processes too."""

__all__ = [
    "TRUSTED_TYPES",
    "BayesPointClassifier",
    "BilliardResult",
    "ConvergenceWarning",
    "Evidence",
    "InfeasibleError",
    "KernelPerceptron",
    "LayerChoice",
    "MaxMarginClassifier",
    "OnionTable",
    "VersionSpace",
    "WeightedResult",
    "__version__",
    "bounds",
    "datasets",
    "dynamics",
    "kernels",
    "load",
    "papers",
    "plotting",
]


_LATER = ("datasets", "export", "papers", "plotting", "posterior", "results", "tuning")


def __getattr__(name: str) -> Any:
    """Import the modules that few programs need on first access."""
    if name in _LATER:
        return importlib.import_module(f"bayespoint.{name}")
    raise AttributeError(f"module 'bayespoint' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_LATER})
