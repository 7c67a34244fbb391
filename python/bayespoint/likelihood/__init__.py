"""How labels arise from latent functions: one class for each kind of label.

A likelihood knows the probability of a label given the functions, with noise on their values
(softness) and wrong labels (label noise).

Shapes: n points, T draws, C classes, F functions (1 of two classes, C of several, C - 1 of ordered
ones, which are differences to thresholds). Values of draws have the shape (n, T) or (F, n, T), and
`weights` are the (T,) weights of the draws. `variance` is the (n,) variance of the noise on a
value. *Codes* are labels as the engine takes them: -1 and +1, or indices of classes. The methods
down to `log_given` are the same in all, with more text in `TwoClasses`. What follows, for
landmarks, takes floors or labels.
"""

from __future__ import annotations

from typing import TypeAlias

from bayespoint.likelihood.choices import Choices
from bayespoint.likelihood.ordered_classes import OrderedClasses
from bayespoint.likelihood.several_classes import SeveralClasses
from bayespoint.likelihood.two_classes import TwoClasses

__all__ = ["Choices", "Likelihood", "OrderedClasses", "SeveralClasses", "TwoClasses", "of_classes"]

Likelihood: TypeAlias = TwoClasses | SeveralClasses | OrderedClasses


def of_classes(
    n_classes: int, noise: tuple[float, float] = (0.0, 0.0), rule: str | None = None
) -> Likelihood:
    """Return the likelihood of classes; of more than two both rates of noise agree.

    With a `rule` of prediction the classes are ordered, which makes no difference for two.
    """
    if n_classes > 2 and rule is not None:
        return OrderedClasses(n_classes, noise[0], rule)
    return TwoClasses(noise) if n_classes == 2 else SeveralClasses(n_classes, noise[0])
