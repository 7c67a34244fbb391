"""Results of runs: arrays and plain values, with a summary."""

from bayespoint.results.billiard import BilliardResult
from bayespoint.results.evidence import Estimate, Evidence
from bayespoint.results.hyperparameters import Search
from bayespoint.results.landmarks import LandmarkResult
from bayespoint.results.points import MaxMargin
from bayespoint.results.relevance import FeatureRelevance

__all__ = [
    "BilliardResult",
    "Estimate",
    "Evidence",
    "FeatureRelevance",
    "LandmarkResult",
    "MaxMargin",
    "Search",
]
