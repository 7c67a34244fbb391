"""The average of posteriors with different hyperparameters."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from bayespoint.base import validation
from bayespoint.base.validation import Floats, RandomState
from bayespoint.posterior.class_weight import weighted_values
from bayespoint.posterior.joint import quantiles
from bayespoint.posterior.posterior import Posterior
from bayespoint.posterior.predictive import share

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["AveragedPosterior", "average_weights"]

_ROUNDS = 200
"""Rounds of the maximization of the weights: each gains less than the one before."""


def average_weights(log_probabilities: Sequence[Floats]) -> Floats:
    r"""Return the weights of models by their leave-one-out predictions.

    Stacking (Yao et al., 2018) maximizes :math:`\sum_i \ln \sum_k w_k p_k(y_i)`. Its weights follow
    the training examples, equal ones do not: halfway between them is better on public
    tables.

    Parameters
    ----------
    log_probabilities : sequence of ndarrays of shape (n,)
        ln of the probability of each example's label given all others, for each model.

    Returns
    -------
    ndarray of shape (n_models,)
        Positive, with sum 1.
    """
    logs = np.stack(log_probabilities)
    p = np.exp(logs - logs.max(axis=0))
    equal = np.full(len(p), 1 / len(p))
    weights = equal
    for _ in range(_ROUNDS):  # expectation maximization
        parts = weights[:, None] * p
        weights = (parts / parts.sum(axis=0)).mean(axis=1)
    return np.asarray((weights + equal) / 2)


@dataclass(frozen=True, eq=False, repr=False)
class AveragedPosterior(Posterior):
    """The average of posteriors with different hyperparameters, in the attribute `posterior_`.

    Probabilities and votes are averages over the parts. What concerns one posterior alone, as
    `dual_coef`, `kernel` and `factor`, is that of the first part, which has the largest weight.
    """

    parts: tuple[Posterior, ...] = ()
    """The posteriors, without class weights."""

    part_weights: Floats = ()  # type: ignore[assignment]
    """(n_parts,) their weights, with sum 1."""

    @classmethod
    def of(
        cls, parts: Sequence[Posterior], weights: Floats, class_weight: Floats | None
    ) -> AveragedPosterior:
        """Return the average of posteriors of the same examples and scaler."""
        first = parts[0]
        rates = np.array([part.label_noise for part in parts])
        noise: tuple[float, float] = tuple((weights @ rates).tolist())
        own = {
            name: getattr(first, name)
            for name in Posterior.__dataclass_fields__
            if name not in ("label_noise", "class_weight")
        }
        return cls(
            **own,
            label_noise=noise,
            class_weight=class_weight,
            parts=tuple(replace(part, class_weight=None) for part in parts),
            part_weights=weights,
        )

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {len(self.parts)} of {self.parts[0]!r}>"

    def _values(
        self, X: Any, diag: ArrayLike | None, *, strict: bool = True, mixture: bool = False
    ) -> Floats:
        if mixture:
            values = [part._values(X, diag, strict=strict, mixture=True) for part in self.parts]
            return np.asarray(np.tensordot(self.part_weights, values, 1))
        logs = np.stack([self._log_shares(part, X, diag, strict) for part in self.parts])
        with np.errstate(divide="ignore"):
            weights = np.log(self.part_weights)[:, None, None]
        averaged = special.logsumexp(logs + weights, axis=0)
        z: Floats = quantiles(averaged.T).T
        return z[:, 1:] if self._is_binary else z

    def _log_shares(self, part: Posterior, X: Any, diag: ArrayLike | None, strict: bool) -> Floats:
        """Return ln of the probability of each class before label noise."""
        z = part._values(X, diag, strict=strict)
        if self._is_binary:
            return np.concatenate([special.log_ndtr(-z), special.log_ndtr(z)], axis=1)
        return share(special.log_ndtr(z))

    def _votes(self, points: Any) -> Floats:
        votes = [part._votes(points) for part in self.parts]
        return np.asarray(np.tensordot(self.part_weights, votes, 1))

    def _center_values(self, points: Any, diag: ArrayLike | None) -> Floats:
        return self._values(points, diag, strict=False)

    def _one_draw(self, points: Any, diag: ArrayLike | None, random_state: RandomState) -> Floats:
        rng = np.random.default_rng(validation.seed(random_state))
        part = self.parts[rng.choice(len(self.parts), p=self.part_weights)]
        values = part._one_draw(points, diag, rng)
        return values if self.class_weight is None else weighted_values(values, self.class_weight)

    def sample_functions(
        self,
        X: ArrayLike,
        *,
        gram: ArrayLike | None = None,
        noise: bool = True,
        random_state: RandomState = None,
    ) -> Floats:
        """Draw latent functions of the parts, chosen at random in proportion to their weights.

        Parameters
        ----------
        X, gram, noise, random_state
            As for :meth:`BayesPointClassifier.sample_functions`.

        Returns
        -------
        ndarray of shape (n_draws, n) or (n_classes, n_draws, n)
            Values of the functions.
        """
        rng = np.random.default_rng(validation.seed(random_state))
        each = [
            part.sample_functions(X, gram=gram, noise=noise, random_state=rng)
            for part in self.parts
        ]
        total = each[0].shape[-2]
        chosen = rng.choice(len(self.parts), size=total, p=self.part_weights)
        found = each[0].copy()
        for k, functions in enumerate(each):
            found[..., chosen == k, :] = functions[..., chosen == k, :]
        return found

    def bayes_point(self, X_unlabelled: ArrayLike) -> Floats:
        """Return the weight vector of the first part closest to the vote of its draws.

        Parameters
        ----------
        X_unlabelled
            As for :meth:`BayesPointClassifier.bayes_point`.

        Returns
        -------
        ndarray of shape (n_rows, m)
            Dual coefficients, not normalized.
        """
        return self.parts[0].bayes_point(X_unlabelled)

    def reweight(self, weight: Callable[[Floats], ArrayLike], *, log: bool = False) -> Self:
        """Raise ValueError: the parts have different margins.

        Parameters
        ----------
        weight, log
            As for :meth:`Posterior.reweight`.
        """
        raise ValueError(
            f"reweight needs one setting of the hyperparameters, n_models=1; got "
            f"{len(self.parts)} models. Reweight the posteriors of models_ one by one"
        )
