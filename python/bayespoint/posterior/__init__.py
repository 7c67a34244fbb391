"""Posteriors of fitted classifiers: models, their average, and abstention."""

from bayespoint.posterior.mixture import Mixture
from bayespoint.posterior.model import Model
from bayespoint.posterior.questions import rejection_curve

__all__ = ["Mixture", "Model", "rejection_curve"]
