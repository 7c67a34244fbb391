"""The average of posteriors with different hyperparameters."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from bayespoint.base import validation
from bayespoint.base.validation import Floats, RandomState
from bayespoint.posterior.joint import quantiles
from bayespoint.posterior.posterior import Posterior
from bayespoint.posterior.predictive import observed, observed_class, share

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

    Probabilities and votes are averages over the parts; class weights multiply the averages, before
    each part's label noise. What concerns one posterior alone, as `dual_coef`, `label_noise` and
    `factor`, is that of the first part, which has the largest weight.
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
        own = {name: getattr(parts[0], name) for name in Posterior.__dataclass_fields__}
        return cls(
            **own | {"class_weight": class_weight},
            parts=tuple(replace(part, class_weight=None) for part in parts),
            part_weights=weights,
        )

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {len(self.parts)} of {self.parts[0]!r}>"

    def _values(
        self, X: Any, diag: ArrayLike | None, *, strict: bool = True, mixture: bool = False
    ) -> Floats:
        """Return the decision values that give the averages before label noise."""
        shares = self._shares(X, diag, strict=strict, mixture=mixture)
        z: Floats = quantiles(special.logsumexp(shares, axis=0).T).T
        return z[:, 1:] if self._is_binary else z

    def _shares(self, X: Any, diag: ArrayLike | None, *, strict: bool, mixture: bool) -> Floats:
        """Return ln of weight times probability of each class before noise, (n_parts, n, C)."""
        logs = []
        for part in self.parts:
            values = part._values(X, diag, strict=strict, mixture=mixture)
            log_p = np.log(values) if mixture else special.log_ndtr(values)
            if self._is_binary:
                log_q = np.log1p(-values) if mixture else special.log_ndtr(-values)
                logs.append(np.concatenate([log_q, log_p], axis=1))
            else:
                logs.append(share(log_p))
        with np.errstate(divide="ignore"):
            return np.stack(logs) + np.log(self.part_weights)[:, None, None]

    def _log_probabilities(self, points: Any, diag: ArrayLike | None, *, mixture: bool) -> Floats:
        """Return ln of the average of the parts' probabilities, after the label noise of each."""
        if not self._is_binary and not self._is_joint:  # noise comes before the normalization
            parts = [replace(part, class_weight=self.class_weight) for part in self.parts]
            each = [part._log_probabilities(points, diag, mixture=mixture) for part in parts]
            averaged = special.logsumexp(each, axis=0, b=self.part_weights[:, None, None])
            return np.asarray(np.minimum(averaged, 0.0))
        with np.errstate(divide="ignore"):
            mass = self._shares(points, diag, strict=True, mixture=mixture)
        if self.class_weight is not None:
            mass = mass + np.log(self.class_weight)
        mass -= special.logsumexp(mass, axis=(0, 2), keepdims=True)
        seen = []
        for part, logs in zip(self.parts, mass, strict=True):
            of_part = special.logsumexp(logs, axis=1, keepdims=True)
            given = np.where(np.isfinite(of_part), logs - of_part, -math.log(logs.shape[1]))
            if self._is_joint:
                given = observed_class(given, part.label_noise[0], self._width)
            else:
                pair = observed(given[:, :1], given[:, 1:], part.label_noise)
                given = np.concatenate(pair, axis=1)
            seen.append(given + of_part)
        return np.asarray(np.minimum(special.logsumexp(seen, axis=0), 0.0))

    def _votes(self, points: Any) -> Floats:
        votes = np.tensordot(self.part_weights, [part._votes(points) for part in self.parts], 1)
        return np.asarray(np.clip(votes, -1.0, 1.0))

    def _center_values(self, points: Any, diag: ArrayLike | None) -> Floats:
        return self._values(points, diag, strict=False)

    def _one_draw(self, points: Any, diag: ArrayLike | None, random_state: RandomState) -> Floats:
        rng = np.random.default_rng(validation.seed(random_state))
        part = self.parts[rng.choice(len(self.parts), p=self.part_weights)]
        return replace(part, class_weight=self.class_weight)._one_draw(points, diag, rng)

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
        total = len(self.problems[0].draws)
        chosen = rng.choice(len(self.parts), size=total, p=self.part_weights)
        found: Floats | None = None
        for k in np.unique(chosen):
            functions = self.parts[k].sample_functions(X, gram=gram, noise=noise, random_state=rng)
            found = np.empty_like(functions) if found is None else found
            found[..., chosen == k, :] = functions[..., chosen == k, :]
        assert found is not None
        return found

    def _closest_to_vote(self, X: Any) -> Floats:
        return self.parts[0]._closest_to_vote(X)

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
