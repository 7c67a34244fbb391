"""How labels arise from latent functions: one class for each kind of label.

A likelihood knows the probability of a label given the functions, with noise on their values
(softness) and wrong labels (label noise). The approximations of the evidence (`tuning/`) and the
engine's sums have formulas of their own.

Shapes: n points, T draws, C classes, F functions (1 of two classes, otherwise C). Values of draws
have the shape (n, T) or (C, n, T), and `weights` are the (T,) weights of the draws. `variance` is
the (n,) variance of the noise on a value. *Codes* are labels as the engine takes them: -1 and +1,
or indices of classes. The methods down to `log_given` are the same in both, with more text in
`TwoClasses`. What follows, for blocks of landmarks, takes floors or labels.
"""

from __future__ import annotations

from typing import TypeAlias

from bayespoint.likelihood.several_classes import SeveralClasses
from bayespoint.likelihood.two_classes import TwoClasses

__all__ = ["Likelihood", "SeveralClasses", "TwoClasses", "of_classes"]

Likelihood: TypeAlias = TwoClasses | SeveralClasses


def of_classes(n_classes: int, noise: tuple[float, float] = (0.0, 0.0)) -> Likelihood:
    """Return the likelihood of unordered classes; of more than two both rates of noise agree."""
    return TwoClasses(noise) if n_classes == 2 else SeveralClasses(n_classes, noise[0])
