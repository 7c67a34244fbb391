"""Gaussian process classification with calibrated probabilities, sampled by a billiard.

`BayesPointClassifier` follows the scikit-learn API and tunes itself. The weight vectors that
classify all training examples correctly form a polytope on a sphere. A billiard in this version
space draws from the posterior; the mean of its path, the Bayes point, is the classifier.
`VersionSpace` gives control of the sampler.
"""

from __future__ import annotations

import importlib
from typing import Any

from bayespoint import kernels
from bayespoint.base.io import load
from bayespoint.engine import InfeasibleError, __version__
from bayespoint.engine.settings import SampleOptions
from bayespoint.engine.walls import Walls
from bayespoint.estimators.bayes_point import BayesPointClassifier
from bayespoint.estimators.ordinal import BayesPointOrdinalClassifier
from bayespoint.estimators.ranker import BayesPointRanker
from bayespoint.results import BilliardResult, Evidence, MaxMargin
from bayespoint.version_space import VersionSpace

__all__ = [
    "BayesPointClassifier",
    "BayesPointOrdinalClassifier",
    "BayesPointRanker",
    "BilliardResult",
    "Evidence",
    "InfeasibleError",
    "MaxMargin",
    "SampleOptions",
    "VersionSpace",
    "Walls",
    "__version__",
    "datasets",
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
    """Return the public names, and those that Python gives every module."""
    return sorted({*__all__, *(name for name in globals() if name.startswith("__"))})
