"""The rows of a table of bounds: which hold for a weight vector, and why others do not."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayespoint.base.linalg import factorize
from bayespoint.base.validation import Floats
from bayespoint.papers.bounds.margins import luckiness, margin, mistakes, pac_margin, sparsity
from bayespoint.papers.bounds.mirror import (
    SYMMETRIC,
    by_volume,
    estimated,
    normalized_margins,
    scaled,
    symmetric_volume,
)
from bayespoint.papers.bounds.result import RiskBound
from bayespoint.papers.bounds.volume import cap_log_fraction, linear_svm, pac_bayes_kl
from bayespoint.papers.rollback import without_warnings
from bayespoint.results import Estimate, diagnostics
from bayespoint.version_space import InfeasibleError, VersionSpace

_WHOLE, _POSTERIOR, _BALL = "version space", "posterior", "largest ball"
_FORMS = (("volume_gibbs", "one draw"), ("volume_bayes", "vote"))

_UNFOUND = (InfeasibleError, FloatingPointError)
"""Exceptions of a failed estimate of a volume, after which the bounds by it are refused."""

_SOFT = (
    "no new example has the input of a training example: with softness the bound is for feature "
    "vectors with an additional coordinate for every input"
)
_NOISY = (
    "A zero-error bound: with label noise the weight vectors of the posterior violate examples. "
    "pac_bayes_kl holds for one draw and for the vote."
)
_DENSE = "The computed center of mass depends on all examples: it is not determined by a few."
_OTHER = "Holds for the perceptron's weight vector only."
_FREE = (
    "A free intercept is not part of the weight vector, and has no prior. The intercept of "
    "fit_intercept=True is part of it."
)


@dataclass(frozen=True)
class Learned:
    """A weight vector w and how it was found."""

    dual_coef: Floats
    rule: str
    bias: float | None = None  # a free intercept, in the scale of the coefficients
    undetermined: str = ""  # why examples with coefficients do not determine w; empty if they do
    condition: str = ""  # the assumption under which they determine w; empty for none
    quantities: Mapping[str, float] = field(default_factory=dict)  # of the training, to be shown


@dataclass
class BoundRows:
    """Computes the rows of a table; `settings` are those of `VersionSpace.evidence`."""

    space: VersionSpace
    learned: Learned
    delta: float
    noise: tuple[float, float]
    draws: Floats | None
    refusal: str
    settings: dict[str, Any]

    def __post_init__(self) -> None:
        self.m = len(self.space.y)
        self.of = "center" if self.learned.rule == "bayes_point" else "weight vector"
        self.noisy = any(self.noise)
        self.condition = _SOFT if self.space.softness.any() else ""

    def all(self) -> list[RiskBound]:
        """Return all rows; with a `refusal` without estimating volumes."""
        rows = self._symmetric() + self._margins() + self._compression()
        if self.learned.rule != "bayes_point":
            return rows
        if self.refusal:
            region = _POSTERIOR if self.noisy else _WHOLE
            return self._refused_posterior(self.refusal, region) + rows
        return (self._noisy_posterior() if self.noisy else self._version_space()) + rows

    @cached_property
    def violated(self) -> NDArray[np.bool_]:
        """(m,) Whether w misclassifies each example."""
        largest = np.abs(self.learned.dual_coef).max() or 1.0
        bias = (self.learned.bias or 0.0) / largest
        margins = self.space.margins(self.learned.dual_coef / largest) + bias * self.space.y
        return np.asarray(margins <= 0)

    def _version_space(self) -> list[RiskBound]:
        """Return the rows for one draw and for the vote of version space."""
        try:
            volume = estimated(self.space.evidence, **self.settings)
        except _UNFOUND as error:
            return self._refused_posterior(str(error), _WHOLE)
        return [row for name, of in _FORMS for row in self._by_volume(name, of, _WHOLE, volume)]

    def _noisy_posterior(self) -> list[RiskBound]:
        """Return the rows for one draw and for the vote under label noise."""
        refused = [self._refused(name, _NOISY, of, _WHOLE) for name, of in _FORMS]
        first, second = self.noise
        rates = first if first == second else self.noise
        try:
            found = estimated(self.space.evidence, label_noise=rates, **self.settings)
        except _UNFOUND as error:
            rows = self._refused_posterior(str(error), _POSTERIOR)
            return [row for row in rows if row.name == "pac_bayes_kl"] + refused
        positive = self.space.y > 0
        certain = positive.sum() * math.log1p(-second) + (~positive).sum() * math.log1p(-first)
        assert self.draws is not None
        violated = self.space.margins(self.draws) <= 0
        # ln of P(label | the other class) over P(label | its own class), for each example.
        with np.errstate(divide="ignore"):
            log_kappa = np.where(
                positive, np.log(first) - np.log1p(-second), np.log(second) - np.log1p(-first)
            )
        log_weight = np.where(violated, log_kappa, 0.0).sum(axis=-1)
        if not np.isfinite(log_weight).all():
            raise ValueError(
                "draws must be from the posterior with this label_noise; got one that violates an "
                f"example whose label cannot have been flipped with label_noise={self.noise}"
            )
        weight, wrong = _mean(log_weight), _mean(violated.mean(axis=-1))
        least = max(weight.value - (found.value - certain), 0.0)
        kl = Estimate(least, math.hypot(found.error, weight.error))
        known = {"kl": kl.value, "kl_error": kl.error, "empirical_error_error": wrong.error}
        return [self._by_kl(of, _POSTERIOR, kl, known, wrong) for _, of in _FORMS] + refused

    def _symmetric(self) -> list[RiskBound]:
        """Return the rows by the part of version space that is symmetric about w."""
        reason = self._not_consistent()
        if not reason:
            try:
                volume = symmetric_volume(self.space, self.learned.dual_coef, **self.settings)
                return self._by_volume("point_mirror", self.of, SYMMETRIC, volume)
            except _UNFOUND as error:
                reason = str(error)
        names = "point_mirror", "pac_bayes_kl"
        return [self._refused(name, reason, self.of, SYMMETRIC) for name in names]

    def _margins(self) -> list[RiskBound]:
        if reason := self._not_consistent():
            others = [self._refused(n, reason) for n in ("linear_svm", "luckiness", "pac_margin")]
            return [self._refused("volume_bayes", reason, self.of, _BALL), *others]
        n = factorize(self.space.gram, self.space.offset, self.space.softness).rank
        gamma = float(normalized_margins(self.space, self.learned.dual_coef).min())
        ball = Estimate(cap_log_fraction(n, math.asin(gamma)), 0.0)
        [by_ball, _] = self._by_volume("volume_bayes", self.of, _BALL, ball)
        kappa = mistakes(gamma)
        known, unit = {"n": n, "margin": gamma}, {"margin": gamma, "radius": 1.0}
        return [
            replace(by_ball, quantities={**by_ball.quantities, **known}),
            self._row("linear_svm", linear_svm(self.m, n, gamma, self.delta), known),
            self._row("luckiness", luckiness(self.m, gamma, self.delta), unit),
            self._row("pac_margin", pac_margin(self.m, kappa, self.delta), {"kappa": kappa}),
        ]

    def _compression(self) -> list[RiskBound]:
        """Return the rows by sparsity."""
        learned = self.learned
        if self.refusal:
            return [self._refused(name, self.refusal) for name in ("sparsity", "margin")]
        if learned.rule == "bayes_point":
            return [self._refused("sparsity", _DENSE), self._refused("margin", _OTHER)]
        # Only the examples that do not determine w must be correct, and have no softness.
        left_out = learned.dual_coef == 0
        d, wrong = self.m - int(left_out.sum()), int((self.violated & left_out).sum())
        reason = learned.undetermined
        if wrong:
            reason = f"It violates {wrong} of the {self.m - d} examples left out."
        if reason:
            row = self._refused("sparsity", reason)
        else:
            bound, known = sparsity(self.m, d, self.delta), {"d": d, **learned.quantities}
            row = self._row("sparsity", bound, known, condition=learned.condition)
        if reason := _OTHER if learned.rule == "max_margin" else self._not_consistent():
            return [row, self._refused("margin", reason)]
        # The largest margin known, that of w or the maximal one: any attained margin is valid.
        found = [learned.dual_coef]
        with without_warnings(), contextlib.suppress(InfeasibleError):
            found.append(self.space.max_margin().dual_coef)
        pairs = [scaled(self.space, dual_coef)[1:] for dual_coef in found]
        attained = max(float(margins.min()) / math.sqrt(square) for margins, square in pairs)
        lengths = self.space.gram.diagonal() + self.space.offset + self.space.softness
        radius = math.sqrt(lengths.max())
        kappa = mistakes(attained, radius)
        known = {"kappa": kappa, "margin": attained, "radius": radius}
        bound = margin(self.m, kappa, self.delta)
        return [row, self._row("margin", bound, known, condition=learned.condition)]

    def _not_consistent(self) -> str:
        """Return why bounds for a consistent w do not hold; empty if they do."""
        if self.refusal or self.noisy:
            return self.refusal or _NOISY
        if self.learned.bias is not None:
            return _FREE
        if wrong := int(self.violated.sum()):
            return f"A zero-error bound: the weight vector violates {wrong} of {self.m} examples."
        return ""

    def _row(self, name: str, value: float, known: dict[str, float], **fields: Any) -> RiskBound:
        """Return a row; `fields` override those that all rows share."""
        fields = {"of": self.of, "condition": self.condition} | fields
        quantities = {"m": self.m, "delta": self.delta} | known
        return RiskBound(name=name, value=value, quantities=quantities, **fields)

    def _refused(self, name: str, reason: str, of: str = "", region: str = "") -> RiskBound:
        return RiskBound(name, of or self.of, math.nan, region=region, reason=reason)

    def _refused_posterior(self, reason: str, region: str) -> list[RiskBound]:
        return [
            self._refused(name, reason, of, region)
            for form, of in _FORMS
            for name in (form, "pac_bayes_kl")
        ]

    def _by_volume(self, name: str, of: str, region: str, volume: Estimate) -> list[RiskBound]:
        """Return the row by the volume of a region, and that by `pac_bayes_kl`."""
        row = by_volume(name, of, region, self.m, self.delta, volume, self.condition)
        kl, right = Estimate(-volume.value, volume.error), Estimate(0.0, 0.0)
        return [row, self._by_kl(of, region, kl, row.quantities, right)]

    def _by_kl(
        self, of: str, region: str, kl: Estimate, known: Mapping[str, float], wrong: Estimate
    ) -> RiskBound:
        """Return a row by `pac_bayes_kl`, doubled for all but one draw; `wrong`: training error."""
        entropies = kl.value + np.array([0.0, kl.error, 0.0])
        shares = np.minimum(wrong.value + np.array([0.0, 0.0, wrong.error]), 1.0)
        found = pac_bayes_kl(self.m, entropies, self.delta, empirical_error=shares)
        value, more, worse = (1 if of == "one draw" else 2) * found
        spread = math.hypot(more - value, worse - value)
        known = {"empirical_error": wrong.value, **known}
        fields = {"of": of, "region": region, "standard_error": spread}
        return self._row("pac_bayes_kl", float(value), known, **fields)


def _mean(values: Floats) -> Estimate:
    """Return the mean of `values` (n_trajectories, n_draws) and its standard error."""
    mean, spread = float(values.mean()), float(values.std())
    if spread == 0:
        return Estimate(mean, 0.0)
    effective = float(diagnostics.ess_bulk(values))
    if not effective >= 1:  # NaN for too few draws: count one per trajectory
        effective = len(values)
    return Estimate(mean, spread / math.sqrt(effective))
