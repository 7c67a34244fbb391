"""The rows of a table of bounds: which hold for a weight vector, and why others do not."""

from __future__ import annotations

import contextlib
import math
import warnings
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from bayespoint.base.linalg import factorize
from bayespoint.base.validation import Floats
from bayespoint.bounds.compression import margin, mistakes, sparsity
from bayespoint.bounds.margins import luckiness, pac_margin
from bayespoint.bounds.mirror import (
    SYMMETRIC,
    estimated,
    from_volume,
    normalized_margins,
    symmetric_volume,
)
from bayespoint.bounds.result import RiskBound
from bayespoint.bounds.volume import (
    cap_log_fraction,
    linear_svm,
    pac_bayes_kl,
    volume_gibbs,
)
from bayespoint.results import Estimate, diagnostics
from bayespoint.version_space import InfeasibleError, VersionSpace

WHOLE = "version space"
POSTERIOR = "posterior"
BALL = "largest ball"

_UNFOUND = (InfeasibleError, FloatingPointError)
"""Exceptions of a failed estimate of a volume, after which the bounds by it are refused."""

SOFT = (
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


_NONE = Estimate(0.0, 0.0)
"""Empirical error of a posterior without training errors."""


@dataclass(frozen=True)
class Learned:
    """A weight vector w and how it was found."""

    dual_coef: Floats
    rule: str

    bias: float | None = None
    """A free intercept, in the scale of the coefficients; None where there is none."""

    undetermined: str = ""
    """Why the examples with coefficients do not determine w; empty if they do."""

    condition: str = ""
    """The assumption under which they determine w; empty for none."""

    mistakes: int | None = None
    """Number of mistakes of a perceptron in training, if known."""

    @property
    def of(self) -> str:
        """`RiskBound.of` of its bounds."""
        return "center" if self.rule == "bayes_point" else "weight vector"


@dataclass
class Rows:
    """Computes the rows of a table; `settings` are those of `VersionSpace.evidence`."""

    space: VersionSpace
    learned: Learned
    delta: float
    noise: tuple[float, float]
    draws: Floats | None
    refusal: str
    condition: str
    settings: dict[str, Any]

    def __post_init__(self) -> None:
        self.m = len(self.space.y)
        self.of = self.learned.of
        self.noisy = any(self.noise)

    def all(self) -> list[RiskBound]:
        """Return all rows; with a `refusal` without estimating volumes."""
        rows = self._symmetric() + self._margins() + self._compression()
        if self.learned.rule != "bayes_point":
            return rows
        if self.refusal:
            region = POSTERIOR if self.noisy else WHOLE
            return self._refused_posterior(self.refusal, region) + rows
        return (self._noisy_posterior() if self.noisy else self._version_space()) + rows

    @cached_property
    def violated(self) -> NDArray[np.bool_]:
        """(m,) Whether w misclassifies each example."""
        largest = np.abs(self.learned.dual_coef).max() or 1.0
        bias = (self.learned.bias or 0.0) / largest
        margins = self.space.margins(self.learned.dual_coef / largest) + bias * self.space.y
        return np.asarray(margins <= 0)

    # --- regions and their volumes ---

    def _version_space(self) -> list[RiskBound]:
        """Return the rows for one draw and for the vote of version space."""
        try:
            volume = estimated(self.space.evidence, **self.settings)
        except _UNFOUND as error:
            return self._refused_posterior(str(error), WHOLE)
        known = {"log_volume": volume.value, "log_volume_error": volume.error}
        return [
            self._by_volume(1, "one draw", WHOLE, volume),
            self._by_kl(1, "one draw", WHOLE, -volume.value, volume.error, known),
            self._by_volume(2, "vote", WHOLE, volume),
            self._by_kl(2, "vote", WHOLE, -volume.value, volume.error, known),
        ]

    def _noisy_posterior(self) -> list[RiskBound]:
        """Return the rows for one draw and for the vote under label noise."""
        refused = [
            self._refused("volume_gibbs", _NOISY, "one draw", WHOLE),
            self._refused("volume_bayes", _NOISY, "vote", WHOLE),
        ]
        first, second = self.noise
        rates: float | tuple[float, float] = first if first == second else self.noise
        try:
            found = estimated(partial(self.space.evidence, rates), **self.settings)
        except _UNFOUND as error:
            rows = self._refused_posterior(str(error), POSTERIOR)
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
        share = violated.mean(axis=-1)
        weight, wrong = _mean(log_weight), _mean(share)
        kl = max(weight.value - (found.value - certain), 0.0)
        kl_error = math.hypot(found.error, weight.error)
        known = {"kl": kl, "kl_error": kl_error, "empirical_error_error": wrong.error}
        return [
            self._by_kl(1, "one draw", POSTERIOR, kl, kl_error, known, wrong),
            self._by_kl(2, "vote", POSTERIOR, kl, kl_error, known, wrong),
            *refused,
        ]

    def _symmetric(self) -> list[RiskBound]:
        """Return the rows by the part of version space that is symmetric about w."""
        if reason := self._not_consistent():
            return self._refused_symmetric(reason)
        try:
            volume = symmetric_volume(self.space, self.learned.dual_coef, **self.settings)
        except _UNFOUND as error:
            return self._refused_symmetric(str(error))
        known = {"log_volume": volume.value, "log_volume_error": volume.error}
        return [
            from_volume(self.m, self.delta, volume, of=self.of, condition=self.condition),
            self._by_kl(2, self.of, SYMMETRIC, -volume.value, volume.error, known),
        ]

    # --- margins and sparsity ---

    def _margins(self) -> list[RiskBound]:
        """Return the rows by the margin of w."""
        if reason := self._not_consistent():
            names = "linear_svm", "luckiness", "pac_margin"
            return [
                self._refused("volume_bayes", reason, self.of, BALL),
                *(self._refused(name, reason) for name in names),
            ]
        n = factorize(self.space.gram, self.space.offset, self.space.softness).rank
        gamma = float(normalized_margins(self.space, self.learned.dual_coef).min())
        ball = Estimate(cap_log_fraction(n, math.asin(gamma)), 0.0)
        kappa = mistakes(gamma)
        known, unit = {"n": n, "margin": gamma}, {"margin": gamma, "radius": 1.0}
        return [
            self._by_volume(2, self.of, BALL, ball, n=n, margin=gamma),
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
        known: dict[str, float] = {"d": d}
        if learned.mistakes is not None:
            known["mistakes"] = learned.mistakes
        if reason:
            by_sparsity = self._refused("sparsity", reason)
        else:
            bound = sparsity(self.m, d, self.delta)
            by_sparsity = self._row("sparsity", bound, known, condition=learned.condition)
        reason = _OTHER if learned.rule == "max_margin" else self._not_consistent()
        if reason:
            return [by_sparsity, self._refused("margin", reason)]
        radius, attained = self._largest_margin()
        kappa = mistakes(attained, radius)
        known = {"kappa": kappa, "margin": attained, "radius": radius}
        bound = margin(self.m, kappa, self.delta)
        return [by_sparsity, self._row("margin", bound, known, condition=learned.condition)]

    def _largest_margin(self) -> tuple[float, float]:
        """Return the largest length of a feature vector, and the largest margin known.

        It is that of w or of the maximal margin, if that is found: any attained margin is valid.
        """
        found = [self.learned.dual_coef]
        with warnings.catch_warnings(), contextlib.suppress(InfeasibleError):
            warnings.simplefilter("ignore", ConvergenceWarning)
            found.append(self.space.max_margin().dual_coef)
        attained = 0.0
        for dual_coef in found:
            c = dual_coef / np.abs(dual_coef).max()
            margins = self.space.margins(c)
            length = math.sqrt(float(c @ (margins * self.space.y)))
            attained = max(attained, float(margins.min()) / length)
        lengths = self.space.gram.diagonal() + self.space.offset + self.space.softness
        return math.sqrt(lengths.max()), attained

    # --- rows ---

    def _not_consistent(self) -> str:
        """Return why bounds for a consistent w do not hold; empty if they do."""
        if self.refusal:
            return self.refusal
        if self.noisy:
            return _NOISY
        if self.learned.bias is not None:
            return _FREE
        if wrong := int(self.violated.sum()):
            return f"A zero-error bound: the weight vector violates {wrong} of {self.m} examples."
        return ""

    def _row(self, name: str, value: float, known: dict[str, float], **fields: Any) -> RiskBound:
        """Return a row; `fields` override those that all rows share."""
        shared = {"of": self.of, "condition": self.condition}
        quantities = {"m": self.m, "delta": self.delta} | known
        return RiskBound(name=name, value=value, quantities=quantities, **(shared | fields))

    def _refused(self, name: str, reason: str, of: str = "", region: str = "") -> RiskBound:
        return RiskBound(name, of or self.of, math.nan, region=region, reason=reason)

    def _refused_symmetric(self, reason: str) -> list[RiskBound]:
        return [
            self._refused(name, reason, self.of, SYMMETRIC)
            for name in ("point_mirror", "pac_bayes_kl")
        ]

    def _refused_posterior(self, reason: str, region: str) -> list[RiskBound]:
        return [
            self._refused(name, reason, of, region)
            for of, form in (("one draw", "volume_gibbs"), ("vote", "volume_bayes"))
            for name in (form, "pac_bayes_kl")
        ]

    def _by_volume(
        self, factor: int, of: str, region: str, volume: Estimate, **known: float
    ) -> RiskBound:
        """Return a row by `volume_gibbs` (factor 1) or `volume_bayes` (factor 2)."""
        return self._row(
            "volume_gibbs" if factor == 1 else "volume_bayes",
            float(factor * volume_gibbs(self.m, volume.value, self.delta)),
            {"log_volume": volume.value, "log_volume_error": volume.error} | known,
            of=of,
            region=region,
            standard_error=factor * volume.error / self.m,
        )

    def _by_kl(
        self,
        factor: int,
        of: str,
        region: str,
        kl: float,
        error: float,
        known: dict[str, float],
        wrong: Estimate = _NONE,
    ) -> RiskBound:
        """Return a row by `factor` times `pac_bayes_kl`; `wrong` is the empirical error."""
        moved = min(wrong.value + wrong.error, 1.0)
        value, more, worse = factor * pac_bayes_kl(
            self.m,
            np.array([kl, kl + error, kl]),
            self.delta,
            empirical_error=np.array([wrong.value, wrong.value, moved]),
        )
        return self._row(
            "pac_bayes_kl",
            float(value),
            {"empirical_error": wrong.value} | known,
            of=of,
            region=region,
            standard_error=math.hypot(more - value, worse - value),
        )


def _mean(values: Floats) -> Estimate:
    """Return the mean of `values` (n_trajectories, n_draws) and its standard error."""
    spread = float(values.std())
    if spread == 0:
        return Estimate(float(values.mean()), 0.0)
    effective = float(diagnostics.ess_bulk(values))
    if not effective >= 1:  # NaN for too few draws: count one per trajectory
        effective = len(values)
    return Estimate(float(values.mean()), spread / math.sqrt(effective))
