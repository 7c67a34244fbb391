"""The posterior of a fitted classifier: one model, or the average of several."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from bayespoint.base import validation
from bayespoint.base.io import Savable
from bayespoint.base.validation import Array, Floats, RandomState
from bayespoint.kernels.products import count, in_rows
from bayespoint.labels import Labels
from bayespoint.labels.laws import log_of
from bayespoint.posterior.model import Model, one_column_alone
from bayespoint.posterior.one_pass import OnePass
from bayespoint.posterior.quadratic import saves_time
from bayespoint.results.relevance import FeatureRelevance
from bayespoint.results.result import as_html

_AT_ONCE = 1000  # most points of a basis for which any prediction prepares the later ones


@dataclass(frozen=True, eq=False)
class Mixture(Savable):
    """The average of models with different hyperparameters, or one model.

    It is the attribute `posterior_` of a :class:`BayesPointClassifier`, whose methods document its
    own. Probabilities and votes are averages over the models; class weights multiply the averages,
    before the label noise of each model. `n_rows` is 1 for two classes, otherwise their number.
    """

    _shapes = "n: models weights; c: class_weight"

    models: tuple[Model, ...]
    """The models, those of large weights first."""
    weights: Floats
    """(n_models,) their weights, with sum 1."""
    class_weight: Floats | None = None
    """(n_classes,) weights of the classes, of which the largest is 1; None if all are equal."""

    @classmethod
    def of(cls, models: Sequence[Model], class_weight: Floats) -> Mixture:
        """Return the average of models, with the weights of their settings."""
        weights = np.array([model.hyper.weight for model in models])
        weights /= weights.sum()
        order = np.argsort(-weights, kind="stable")
        alike = (class_weight == class_weight[0]).all()
        relative = None if alike else class_weight / class_weight.max()
        return cls(tuple(models[k] for k in order), weights[order], relative)

    def __getstate__(self) -> dict[str, Any]:
        state = super().__getstate__()
        state.pop("_one_pass", None)
        return state

    def check_parts(self) -> None:
        """Raise ValueError for weights that are negative, or do not sum to 1."""
        if not ((self.weights >= 0).all() and abs(self.weights.sum() - 1) < 1e-9):
            raise ValueError(f"models have the weights {self.weights.tolist()}")

    def __repr__(self) -> str:
        return f"<Mixture: {len(self.models)} of {self.first!r}>"

    def _repr_html_(self) -> str:
        first = self.first
        rows = [
            ("classes", ", ".join(map(str, self.classes.tolist()))),
            ("models", f"{len(self.models)}"),
            ("examples" if first.basis.is_all else "landmarks", f"{len(first.basis)}"),
            ("draws", f"{len(first.draws)} of each"),
        ]
        if not math.isnan(self.seed_error):
            change = f"{self.seed_error:.2g} in probability, on average"
            rows.append(("change with another seed", change))
        return as_html("Posterior", rows)

    @property
    def first(self) -> Model:
        """The model of the largest weight."""
        return self.models[0]

    @property
    def seed_error(self) -> float:
        """Mean absolute change of the probability of a class at new points with another seed.

        It is measured at the training points, each given the labels of all others, by the
        hyperparameters drawn, without the error of the draws of each model. NaN if no
        hyperparameters, or too few, were drawn.
        """
        search = self.first.hyper.search
        return math.nan if search is None else search.seed_error

    @property
    def classes(self) -> Array:
        """(n_classes,) labels, sorted or from the lowest; of two the second is the positive one."""
        return self.first.classes

    @property
    def dual_coef(self) -> Floats:
        """Dual coefficients of the center of the first model, shape (n_rows, m)."""
        return np.atleast_2d(self.first.draws.center)

    @property
    def intercept(self) -> Floats:
        """Intercepts of the center of the first model, shape (n_rows,)."""
        return self.first.basis.offset * self.dual_coef.sum(axis=1)

    def feature_relevance(self, names: Sequence[str] | None = None) -> FeatureRelevance | None:
        """Return the posterior of the features' weights."""
        states = [model.hyper.relevance for model in self.models]
        sizes = [len(of_model) for of_model in states]
        if not any(sizes):
            return None
        weights = np.repeat(self.weights / np.maximum(sizes, 1), sizes)
        known = np.concatenate([of_model for of_model in states if len(of_model)])
        return FeatureRelevance.of(known, weights / weights.sum(), names)

    # --- decisions and probabilities -------------------------------------------------------------

    def decision_function(self, X: ArrayLike, *, diag: ArrayLike | None = None) -> Floats:
        """Return the decision values, calibrated and with class weights."""
        return one_column_alone(self._weighted_values(X, diag))

    def predict_proba(
        self, X: ArrayLike, *, method: str = "moments", diag: ArrayLike | None = None
    ) -> Floats:
        """Return the probability of observing each class label."""
        return np.exp(self.predict_log_proba(X, method=method, diag=diag))

    def predict_log_proba(
        self, X: ArrayLike, *, method: str = "moments", diag: ArrayLike | None = None
    ) -> Floats:
        """Return the logarithm of `predict_proba`."""
        mixture = validation.choice("method", method, ("moments", "mixture")) == "mixture"
        if len(self.models) == 1:
            values = self._weighted_values(X, diag, mixture=mixture)
            return self._labels.observed(self._labels.log_classes(values))
        return observed(self, self._log_shares(X, diag, strict=True, mixture=mixture))

    def predict(
        self,
        X: ArrayLike,
        *,
        method: str = "center",
        diag: ArrayLike | None = None,
        random_state: RandomState = None,
    ) -> Array:
        """Return the class predicted by the center, by the vote of the draws or by one draw."""
        method = validation.choice("method", method, ("center", "vote", "gibbs"))
        if method == "vote":
            votes, law = self.votes(X), self._labels.predicts
            values = special.ndtri((1 + votes) / 2)
            if self.class_weight is not None:
                values = law.decision(log_of(law.shares(votes) * self.class_weight))
        elif method == "gibbs":
            values = self.gibbs(X, diag=diag, random_state=random_state)
        elif self.class_weight is None and (len(self.models) == 1 or diag is None):
            values = self._signs(X)
        else:
            values = self._weighted_values(X, diag, strict=False)
        return self.classes[self._labels.winner(values)]

    def votes(self, X: ArrayLike) -> Floats:
        """Return the (n, n_rows) votes, mean signs or shares, without class weights."""
        votes = np.tensordot(self.weights, [model.votes(X) for model in self.models], 1)
        return np.clip(votes, -1.0, 1.0)

    def gibbs(
        self, X: ArrayLike, *, diag: ArrayLike | None = None, random_state: RandomState = None
    ) -> Floats:
        """Return the (n, n_rows) decision values given a random draw of one model."""
        rng, model = validation.generator(random_state), self.first
        if len(self.models) > 1:
            model = self.models[rng.choice(len(self.models), p=self.weights)]
            rng = validation.generator(rng)
        return model.one_draw(X, diag, rng, self.class_weight)

    def sample_functions(
        self,
        X: ArrayLike,
        *,
        gram: ArrayLike | None = None,
        noise: bool = True,
        random_state: RandomState = None,
    ) -> Floats:
        """Draw latent functions of the models, chosen in proportion to their weights."""
        noise = validation.boolean("noise", noise)
        rng = validation.generator(random_state)
        if len(self.models) == 1:
            return self.first.functions(X, gram, noise=noise, rng=rng)
        total = len(self.first.draws)
        chosen, found = rng.choice(len(self.models), size=total, p=self.weights), np.empty(0)
        for k in np.unique(chosen):
            own = validation.generator(rng)
            functions = self.models[k].functions(X, gram, noise=noise, rng=own)
            if not found.size:
                found = np.empty((*functions.shape[:-2], total, functions.shape[-1]))
            rows = np.flatnonzero(chosen == k)
            # A limit may leave a model fewer draws, or more, than the first.
            found[..., rows, :] = functions[..., rows * functions.shape[-2] // total, :]
        return found

    @property
    def _labels(self) -> Labels:
        """What labels say, but for their noise, in all models."""
        return self.first.labels

    def _signs(self, X: Any) -> Floats:
        """Return decision values, or numbers of their signs without variances where these agree."""
        if not self._labels.predicts.by_moments:
            return self._weighted_values(X, None, strict=False)
        points = in_rows(self.first.basis.inputs(X))
        if (one_pass := self._in_one_pass(points)) is not None:
            signs = one_pass.signs(points).sum(axis=0)[:, None]
        else:
            signs = np.sum([np.sign(model.signs(points)) for model in self.models], axis=0)
        split = np.flatnonzero(~(np.abs(signs[:, 0]) == len(self.models)))
        if len(split):
            signs[split] = self._weighted_values(points[split], None, strict=False)
        return signs

    def _weighted_values(
        self, X: Any, diag: ArrayLike | None, *, strict: bool = True, mixture: bool = False
    ) -> Floats:
        """Return the decision values with the class weights, for each point and row."""
        if len(self.models) == 1:
            [values] = self._values(X, diag, strict=strict, mixture=mixture)
        else:  # those that give the averages before label noise
            shares = np.logaddexp.reduce(self._log_shares(X, diag, strict=strict), axis=0)
            values = self._labels.predicts.decision(shares)
        return self._labels.weighted(values, self.class_weight)

    def _log_shares(
        self, X: Any, diag: ArrayLike | None, *, strict: bool, mixture: bool = False
    ) -> Floats:
        """Return ln of weight times probability of each class before noise, (n_models, n, C)."""
        values = self._values(X, diag, strict=strict, mixture=mixture)
        logs = self._labels.log_classes(values.reshape(-1, values.shape[2]))
        return logs.reshape(*values.shape[:2], -1) + log_of(self.weights)[:, None, None]

    def _values(
        self, X: Any, diag: ArrayLike | None, *, strict: bool, mixture: bool = False
    ) -> Floats:
        """Return the (n_models, n, n_rows) decision values of the models."""
        points = in_rows(self.first.basis.inputs(X))
        if not mixture and diag is None and (one_pass := self._in_one_pass(points)) is not None:
            return one_pass.values(points)[..., None]
        return np.stack(
            [model.values(points, diag, strict=strict, mixture=mixture) for model in self.models]
        )

    @cached_property
    def _one_pass(self) -> OnePass | None:
        """The predictions of all models in one pass, which files and pickles leave out."""
        return OnePass.of(self.models) if self._labels.predicts.by_moments else None

    def _in_one_pass(self, points: Any) -> OnePass | None:
        """Return the same if the points are worth the time that it takes to prepare it."""
        basis, draws = self.first.basis, self.first.draws
        known = len(basis) <= _AT_ONCE or saves_time(basis, draws, count(points))
        return self._one_pass if known else None


def observed(mixture: Mixture, mass: Floats) -> Floats:
    """Return the (n, C) log probabilities of observed labels.

    They follow from ln of weight times probability of each class before noise, (n_models, n, C).
    """
    if mixture.class_weight is not None:
        mass = mass + np.log(mixture.class_weight)
    of_model = np.logaddexp.reduce(mass, axis=2, keepdims=True)
    given = np.where(np.isfinite(of_model), mass - of_model, -math.log(mass.shape[2]))
    of_model -= np.logaddexp.reduce(of_model, axis=0)
    # After the label noise of each model.
    pairs = zip(mixture.models, given, strict=True)
    seen = np.stack([model.labels.observed(logs) for model, logs in pairs]) + of_model
    return np.minimum(np.logaddexp.reduce(seen, axis=0), 0.0)
