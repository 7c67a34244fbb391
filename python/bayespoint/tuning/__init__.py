"""Search for the hyperparameters of the largest evidence."""

from __future__ import annotations

from bayespoint.tuning.search import approximate_log_evidence, tune

__all__ = ["approximate_log_evidence", "tune"]
