"""From draws to decision values, probabilities and decisions."""

from __future__ import annotations

from bayespoint.posterior.rejection import rejection_curve

__all__ = ["rejection_curve"]
