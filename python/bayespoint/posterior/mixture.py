"""The posterior of a fitted classifier: one model, or the average of several."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from bayespoint.base import validation
from bayespoint.base.io import Savable
from bayespoint.base.validation import Array, Flags, Floats, Indices, RandomState
from bayespoint.data.examples import Examples
from bayespoint.data.inputs import scaled
from bayespoint.kernels.products import count, in_rows
from bayespoint.labels import Labels
from bayespoint.posterior.calibration import LeftOut
from bayespoint.posterior.model import Model, one_column_alone
from bayespoint.results.relevance import FeatureRelevance
from bayespoint.results.result import as_html

_ROUNDING = 1e-12  # difference up to which probabilities count as equal
_VALUES = 2**21  # number of probabilities, given each draw, that are sorted at a time


@dataclass(frozen=True, eq=False, repr=False)
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
        weights = np.array([one.hyper.weight for one in models])
        weights /= weights.sum()
        order = np.argsort(-weights, kind="stable")
        alike = (class_weight == class_weight[0]).all()
        relative = None if alike else class_weight / class_weight.max()
        return cls(tuple(models[k] for k in order), weights[order], relative)

    def __repr__(self) -> str:
        return f"<Mixture: {len(self.models)} of {self.models[0]!r}>"

    def _repr_html_(self) -> str:
        first = self.models[0]
        rows = {
            "classes": ", ".join(map(str, self.classes.tolist())),
            "models": f"{len(self.models)}",
            "examples" if first.basis.is_all else "landmarks": f"{len(first.basis)}",
            "draws": f"{len(first.draws)} of each",
        }
        if not math.isnan(self.seed_error):
            rows["change with another seed"] = f"{self.seed_error:.2g} in probability, on average"
        return as_html("Posterior", list(rows.items()))

    @property
    def first(self) -> Model:
        """The model of the largest weight."""
        return self.models[0]

    @property
    def seed_error(self) -> float:
        """Mean change of probabilities that another seed would make, by the hyperparameters drawn.

        It is that of the training labels, each given all others; NaN if none, or too few, were
        drawn.
        """
        search = self.first.hyper.search
        return math.nan if search is None else search.seed_error

    @property
    def classes(self) -> Array:
        """(n_classes,) labels, sorted. Of two, the second is the positive one."""
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
        pairs = [
            (model.hyper.relevance, weight)
            for model, weight in zip(self.models, self.weights, strict=True)
            if model.hyper.relevance.size and len(self.models) > 1
        ]
        if not pairs:
            return None
        states = np.concatenate([states for states, _ in pairs])
        weights = np.concatenate(
            [np.full(len(states), weight / len(states)) for states, weight in pairs]
        )
        return FeatureRelevance.of(states, weights / weights.sum(), names)

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
            return self.first.log_proba(X, diag, mixture=mixture, class_weight=self.class_weight)
        with np.errstate(divide="ignore"):
            mass = self._log_shares(X, diag, strict=True, mixture=mixture)
        return self._observed(mass)

    def leave_one_out(self, X: ArrayLike | None = None, y: ArrayLike | None = None) -> Floats:
        """Return the probabilities of the label of each training example, given all others."""
        if self.first.basis.is_all:
            if X is not None or y is not None:
                raise ValueError("X and y must be None without landmarks, which keep all examples")
            return self._alone(self._kept())
        if X is None or y is None:
            raise ValueError("X and y must be training examples with landmarks; got None")
        points = self.first.basis.inputs(X)
        index = validation.known_labels(self.classes, y, count(points))
        left = []
        for model in self.models:
            inputs = scaled(model.hyper.transform, points)
            left.append(model.without_each(Examples(inputs, index, np.ones(len(index)))))
        return self._alone(left)

    def predict_set(self, X: ArrayLike, alpha: float, *, diag: ArrayLike | None = None) -> Flags:
        """Return which labels are in the set of each point."""
        alpha = validation.real("alpha", alpha, low=0.0, high=1.0)
        kept = self._kept()
        left, proba = kept[0], self._alone(kept)
        new = np.ones(len(self.classes)) if self.class_weight is None else self.class_weight
        own = np.take_along_axis(proba, left.label[:, None], axis=1)[:, 0]
        weight = new[left.label] * (1.0 if left.counts is None else left.counts)
        order = np.argsort(own)
        below = np.cumsum(np.append(0.0, weight[order]))
        # By the same means over draws: from two moments, p of certain labels may be far smaller.
        p = self.predict_proba(X, method="mixture", diag=diag)
        rank = below[np.searchsorted(own[order], p + _ROUNDING, side="right")] + new
        return rank > alpha * (below[-1] + new)

    def predict_proba_interval(
        self, X: ArrayLike, level: float = 0.9, *, diag: ArrayLike | None = None
    ) -> Floats:
        """Return quantiles of the probabilities given each draw of each model."""
        level = validation.real("level", level, low=0.0, high=1.0)
        points = in_rows(self.first.basis.inputs(X))
        n, shares = count(points), []
        for model, weight in zip(self.models, self.weights, strict=True):
            shares.append(np.full(len(model.draws), weight / len(model.draws)))
        share = np.concatenate(shares)
        if diag is not None:
            diag = validation.dual_coef("diag", diag, n)
        found = np.empty((2, n, len(self.classes)))
        for rows in validation.blocks(n, max(1, _VALUES // (len(share) * len(self.classes)))):
            own = None if diag is None else diag[rows]
            args = points[rows], own, self.class_weight
            logs = np.concatenate([model.log_draws(*args) for model in self.models], axis=1)
            order = logs.argsort(axis=1)
            below = np.cumsum(share[order], axis=1)
            for end, part in zip(found, ((1 - level) / 2, (1 + level) / 2), strict=True):
                place = np.minimum((below < part).sum(axis=1, keepdims=True), len(share) - 1)
                chosen = np.take_along_axis(order, place, axis=1)
                end[rows] = np.exp(np.take_along_axis(logs, chosen, axis=1)[:, 0])
        return found

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
            values = self._of_votes(X)
        elif method == "gibbs":
            values = self.gibbs(X, diag=diag, random_state=random_state)
        elif self.class_weight is None and (len(self.models) == 1 or diag is None):
            values = self._signs(X)
        else:
            values = self._weighted_values(X, diag, strict=False)
        return self.classes[self._labels.winner(values)]

    def votes(self, X: ArrayLike) -> Floats:
        """Return the (n, n_rows) votes, mean signs or shares, without class weights."""
        if len(self.models) == 1:
            return self.first.votes(X)
        votes = np.tensordot(self.weights, [model.votes(X) for model in self.models], 1)
        return np.clip(votes, -1.0, 1.0)

    def gibbs(
        self, X: ArrayLike, *, diag: ArrayLike | None = None, random_state: RandomState = None
    ) -> Floats:
        """Return the (n, n_rows) decision values given a random draw of one model."""
        rng, model = np.random.default_rng(validation.seed(random_state)), self.first
        if len(self.models) > 1:
            model = self.models[rng.choice(len(self.models), p=self.weights)]
            rng = np.random.default_rng(validation.seed(rng))
        return model.one_draw(X, diag, rng, self.class_weight)

    def reject(
        self, X: ArrayLike, cost: float, *, method: str = "moments", diag: ArrayLike | None = None
    ) -> tuple[Array, Flags]:
        """Return the most probable labels, and where to abstain."""
        cost = validation.real("cost", cost, low=0.0, high=1.0)
        probability = self.predict_proba(X, method=method, diag=diag)
        labels: Array = self.classes[probability.argmax(axis=1)]
        # Equal probabilities have an expected loss of 1 - 1 / n_classes up to rounding.
        rejected = 1 - probability.max(axis=1) > cost + _ROUNDING
        return labels, rejected

    def suggest_query(self, X: ArrayLike, n: int = 1) -> Indices:
        """Return the points on which the draws disagree most."""
        n = validation.integer("n", n, low=1)
        if n > (most := count(X)):
            raise ValueError(f"n must be at most the number of points in X, {most}; got {n}")
        lead = self._labels.predicts.lead(self.votes(X))
        return np.argsort(lead, kind="stable")[:n]

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
        rng = np.random.default_rng(validation.seed(random_state))
        if len(self.models) == 1:
            return self.first.functions(X, gram, noise=noise, rng=rng)
        total = len(self.first.draws)
        chosen, found = rng.choice(len(self.models), size=total, p=self.weights), np.empty(0)
        for k in np.unique(chosen):
            own = np.random.default_rng(validation.seed(rng))
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

    def _kept(self) -> list[LeftOut]:
        """Return the leave-one-out predictions that the models keep."""
        found = [kept for model in self.models if (kept := model.kept) is not None]
        if len(found) < len(self.models):
            raise ValueError(
                "leave-one-out predictions need softness > 0, a kernel matrix that is not singular "
                "and draws without weights"
            )
        return found

    def _alone(self, left: Sequence[LeftOut]) -> Floats:
        """Return the (n, C) probabilities of labels from the predictions of each model."""
        mass = []  # a model weighs as much as it does without the label
        for model, weight, one in zip(self.models, self.weights, left, strict=True):
            own = one.log_labels(model.calibration)[:, None]
            mass.append(one.log_classes(model.calibration) - own + math.log(weight))
        return np.exp(self._observed(np.stack(mass)))

    def _observed(self, mass: Floats) -> Floats:
        """Return the (n, C) log probabilities of observed labels, given as `_log_shares`."""
        if self.class_weight is not None:
            mass = mass + np.log(self.class_weight)
        mass -= special.logsumexp(mass, axis=(0, 2), keepdims=True)
        seen = []  # after the label noise of each model
        for model, logs in zip(self.models, mass, strict=True):
            of_model = special.logsumexp(logs, axis=1, keepdims=True)
            given = np.where(np.isfinite(of_model), logs - of_model, -math.log(logs.shape[1]))
            seen.append(model.labels.observed(given) + of_model)
        return np.minimum(special.logsumexp(seen, axis=0), 0.0)

    def _of_votes(self, X: Any) -> Floats:
        """Return decision values of the shares of the votes, with class weights."""
        votes = self.votes(X)
        if self.class_weight is None:
            return special.ndtri((1 + votes) / 2)
        law = self._labels.predicts
        with np.errstate(divide="ignore"):
            return law.decision(np.log(law.shares(votes) * self.class_weight))

    def _signs(self, X: Any) -> Floats:
        """Return decision values, or numbers of their signs without variances where these agree."""
        if not self._labels.predicts.by_moments:
            return self._weighted_values(X, None, strict=False)
        points = in_rows(self.first.basis.inputs(X))
        signs = np.sum([np.sign(model.signs(points)) for model in self.models], axis=0)
        split = np.flatnonzero(np.abs(signs[:, 0]) < len(self.models))
        if len(split) and len(self.models) > 1:
            signs[split] = self._weighted_values(points[split], None, strict=False)
        return signs

    def _weighted_values(self, X: Any, diag: ArrayLike | None, *, strict: bool = True) -> Floats:
        """Return the decision values with the class weights, for each point and row."""
        if len(self.models) == 1:
            values = self.first.values(X, diag, strict=strict)
        else:  # those that give the averages before label noise
            shares = special.logsumexp(self._log_shares(X, diag, strict=strict), axis=0)
            values = self._labels.predicts.decision(shares)
        return self._labels.weighted(values, self.class_weight)

    def _log_shares(
        self, X: Any, diag: ArrayLike | None, *, strict: bool, mixture: bool = False
    ) -> Floats:
        """Return ln of weight times probability of each class before noise, (n_models, n, C)."""
        logs = []
        for model in self.models:
            values = model.values(X, diag, strict=strict, mixture=mixture)
            logs.append(model.labels.log_classes(values))
        with np.errstate(divide="ignore"):
            return np.stack(logs) + np.log(self.weights)[:, None, None]
