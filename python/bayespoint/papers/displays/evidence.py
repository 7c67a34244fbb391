"""Display of an evidence by thermodynamic integration."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
from scipy import special
from sklearn.base import BaseEstimator

from bayespoint.base import validation
from bayespoint.base.validation import Floats, RandomState
from bayespoint.plotting.style import (
    COLORS,
    MARKERS,
    Display,
    check_type,
    import_matplotlib,
    posterior_of,
)
from bayespoint.results import Evidence
from bayespoint.version_space import VersionSpace

_PALE = "#A6BDDB"  # fill color behind lines and texts, which may be dark or light
_FEW_DECADES = 2e-3  # label noise above which ticks between the powers of ten are labeled


class EvidenceDisplay(Display):
    r"""Mean number of violated examples, the labels taken as noise, against the label noise.

    The horizontal axis is that of the log-odds :math:`\ln \kappa` of the label noise. The area
    below the curve is minus the log evidence without label noise, by thermodynamic integration:
    :math:`\ln Z(\kappa) = -\int_{\ln \kappa}^0 \langle v \rangle \, d \ln \kappa'`.

    Parameters
    ----------
    label_noise : ndarray of shape (k,)
        The rates of label noise sampled, falling from 0.5: kappa / (1 + kappa) for each
        `Evidence.log_transparency`; of C classes from (C - 1) / C, for (C - 1) kappa.
    mean_violations : ndarray of shape (k,)
        Mean number of violated examples at each rate.
    value : float or ndarray of shape (n,)
        The evidence, in nats.
    error : float or ndarray of shape (n,)
        Its standard error.

    Attributes
    ----------
    line_ : matplotlib.lines.Line2D
        The curve.
    area_ : matplotlib.collections.PolyCollection
        The area below it.

    Examples
    --------
    >>> import numpy as np
    >>> from matplotlib.figure import Figure
    >>> from bayespoint import VersionSpace
    >>> from bayespoint.papers.displays import EvidenceDisplay
    >>> space = VersionSpace(np.eye(5), [1, 1, -1, 1, -1])
    >>> found = space.evidence([0.0, 0.4], tol=0.1, random_state=0)
    >>> display = EvidenceDisplay.from_result(found, ax=Figure().add_subplot())
    >>> f"{display.mean_violations[0]:.1f}"
    '2.5'
    """

    def __init__(
        self, *, label_noise: Floats, mean_violations: Floats, value: Any, error: Any
    ) -> None:
        self.label_noise, self.mean_violations = label_noise, mean_violations
        self.value, self.error = value, error

    @classmethod
    def from_estimator(
        cls,
        estimator: BaseEstimator,
        *,
        tol: float = 1.0,
        max_length: float = 1e4,
        random_state: RandomState = None,
        ax: Any = None,
    ) -> EvidenceDisplay:
        """Estimate the evidence of a fitted classifier, and draw how it came about.

        This samples for up to a second on 100 examples, and some seconds on 400.
        `tuning_.log_evidence` is an approximation that is already there.

        Parameters
        ----------
        estimator, ax
            As for `BilliardDisplay.from_estimator`.
        tol, max_length, random_state
            As for :meth:`BayesPointClassifier.evidence`.

        Returns
        -------
        EvidenceDisplay
            The drawing. Its legend has the evidence with its standard error.

        Raises
        ------
        ValueError, TypeError, InfeasibleError, FloatingPointError, MemoryError
            As :meth:`BayesPointClassifier.evidence`.

        Warns
        -----
        ConvergenceWarning
            If the run ended at `max_length` with a standard error above `tol`.
        """
        model = posterior_of(estimator).first
        noise = model.labels.noise
        found = VersionSpace.over(model.problem("evidence")).evidence(
            noise if np.any(noise) else [0.0, 0.4],  # a rate of 0 alone may need no ladder
            tol=tol,
            max_length=max_length,
            random_state=validation.generator(random_state),
        )
        if not np.any(noise):
            found = replace(found, value=found.value[0], error=found.error[0])
        return cls._of(found, len(model.classes)).plot(ax=ax)

    @classmethod
    def from_result(
        cls, result: Evidence, *, n_classes: int = 2, ax: Any = None
    ) -> EvidenceDisplay:
        """Draw an evidence.

        Parameters
        ----------
        result : Evidence
            An evidence with label noise, of several rates, or of more than two classes.
        n_classes : int, default=2
            Number of classes of its version space.
        ax : matplotlib.axes.Axes, default=None
            Axes to draw on. None makes a new figure.

        Returns
        -------
        EvidenceDisplay
            The drawing.

        Raises
        ------
        ValueError
            If the evidence has no ladder of transparencies.
        """
        check_type("result", result, Evidence)
        if len(result.log_transparency) < 2:
            raise ValueError(
                "result must have a ladder of transparencies, as with label_noise=[0, 0.4]; got "
                f"{result!r}"
            )
        return cls._of(result, validation.integer("n_classes", n_classes, low=2)).plot(ax=ax)

    @classmethod
    def _of(cls, result: Evidence, n_classes: int) -> EvidenceDisplay:
        return cls(
            label_noise=special.expit(result.log_transparency + math.log(n_classes - 1)),
            mean_violations=result.mean_violations,
            value=result.value,
            error=result.error,
        )

    def _draw(self, ax: Any) -> None:
        ax = self._begin(ax, (5.8, 3.8))
        x, y = self.label_noise, self.mean_violations
        # Its logit is ln kappa, so that areas are nats.
        ax.set_xscale("logit")
        self.area_ = ax.fill_between(x, y, color=_PALE, alpha=0.6, linewidth=0)
        [self.line_] = ax.plot(
            x, y, color=COLORS[0], marker=MARKERS[0], markersize=3.5, linewidth=1.4
        )
        self.line_.set_label("noise rates sampled")
        title = None
        if np.ndim(self.value) == 0:
            title = f"log evidence: {self.value:.4g} ± {self.error:.2g} nats".replace("-", "−")
        ax.set(
            xlabel="label noise (probability, log-odds scale)",
            ylabel="labels taken as noise (mean number)",
            xlim=(x.min(), x.max()),
        )
        ax.set_ylim(bottom=0)
        ticks = _ticks(float(x.min()), float(x.max()))
        ax.set_xticks(ticks, [f"{rate:g}" for rate in ticks])
        ax.xaxis.set_minor_locator(import_matplotlib("ticker").NullLocator())
        ax.legend(frameon=False, loc="upper left", title=title, fontsize="small", alignment="left")


def _ticks(low: float, high: float) -> list[float]:
    """Return rates of label noise for the ticks of an axis."""
    if low > _FEW_DECADES:
        rates = [0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1, 0.05, 0.02, 0.01, 0.005, 0.002]
    else:
        decades = math.ceil(-math.log10(low))
        rates = [0.5] + [10.0**-k for k in range(1, decades + 1, max(1, decades // 6))]
    return [rate for rate in rates if low <= rate <= high]
