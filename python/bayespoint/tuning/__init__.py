"""The search for hyperparameters by their evidence."""

from __future__ import annotations

from bayespoint.tuning.objective import approximate_log_evidence

__all__ = ["approximate_log_evidence"]
