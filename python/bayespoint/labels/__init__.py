"""How labels arise from latent functions: contrasts of noisy values that are positive."""

from bayespoint.labels.labels import Labels

__all__ = ["Labels"]
