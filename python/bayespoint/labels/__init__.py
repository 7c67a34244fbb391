"""How labels arise from latent functions: contrasts of noisy values that are positive."""

from bayespoint.labels.labels import Labels, of_choices

__all__ = ["Labels", "of_choices"]
