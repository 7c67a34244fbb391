"""Posteriors of fitted classifiers: decision values, probabilities and abstention."""

from __future__ import annotations

from bayespoint.posterior.posterior import Posterior
from bayespoint.posterior.rejection import rejection_curve

__all__ = ["Posterior", "rejection_curve"]
