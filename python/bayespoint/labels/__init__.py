"""How labels arise from latent functions: contrasts of noisy values that are positive."""

from bayespoint.labels.labels import Labels, Problems, of_choices

__all__ = ["Labels", "Problems", "of_choices"]
