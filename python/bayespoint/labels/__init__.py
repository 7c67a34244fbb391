"""How labels arise from latent functions: contrasts of noisy values that are positive."""

from bayespoint.labels.labels import Labels, LeftOutValues, Problems

__all__ = ["Labels", "LeftOutValues", "Problems"]
