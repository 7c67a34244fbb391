"""The search for hyperparameters by their evidence."""

from bayespoint.tuning.objective import approximate_log_evidence

__all__ = ["approximate_log_evidence"]
