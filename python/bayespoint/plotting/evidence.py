"""Display of the ladder of transparencies of an evidence."""

from __future__ import annotations

from typing import Any

import numpy as np

from bayespoint.base.validation import Floats, RandomState
from bayespoint.plotting.runs import check_type, last_step, run_of, space_of
from bayespoint.plotting.style import COLORS, MARKERS, PALE, Display
from bayespoint.results import Evidence


class EvidenceDisplay(Display):
    r"""Mean number of violated examples against the logarithm of the walls' transparency.

    The area below the curve is minus the log evidence, by thermodynamic integration:
    :math:`\ln Z(\kappa) = -\int_{\ln \kappa}^0 \langle v \rangle \, d \ln \kappa'`.

    Parameters
    ----------
    log_transparency : ndarray of shape (k,)
        ln kappa of the rungs, falling from 0.
    mean_violations : ndarray of shape (k,)
        Mean number of violated examples on each rung.
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
    >>> from bayespoint.plotting import EvidenceDisplay
    >>> space = VersionSpace(np.eye(5), [1, 1, -1, 1, -1])
    >>> found = space.log_volume(method="integration", tol=0.1, random_state=0)
    >>> display = EvidenceDisplay.from_result(found, ax=Figure().add_subplot())
    >>> f"{display.mean_violations[0]:.1f}"
    '2.5'
    """

    def __init__(
        self, *, log_transparency: Floats, mean_violations: Floats, value: Any, error: Any
    ) -> None:
        self.log_transparency, self.mean_violations = log_transparency, mean_violations
        self.value, self.error = value, error

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        *,
        label: Any = None,
        tol: float = 0.3,
        random_state: RandomState = None,
        ax: Any = None,
    ) -> EvidenceDisplay:
        """Estimate the evidence of a fitted classifier by a ladder, and draw the ladder.

        Parameters
        ----------
        estimator, label, ax
            As for `WallsDisplay.from_estimator`.
        tol, random_state
            As for :meth:`BayesPointClassifier.evidence`.

        Returns
        -------
        EvidenceDisplay
            The drawing.

        Raises
        ------
        ValueError, TypeError, InfeasibleError, FloatingPointError, MemoryError
            As :meth:`BayesPointClassifier.evidence`.

        Warns
        -----
        ConvergenceWarning
            If the run ended with a standard error above `tol`.
        """
        _, number = run_of(estimator, label)
        model = last_step(estimator)
        found = space_of(estimator, number, "evidence").evidence(
            model.label_noise_,
            method="integration",
            tol=tol,
            n_jobs=model.n_jobs,
            random_state=random_state,
        )
        return cls.from_result(found, ax=ax)

    @classmethod
    def from_result(cls, result: Evidence, *, ax: Any = None) -> EvidenceDisplay:
        """Draw the ladder of an evidence.

        Parameters
        ----------
        result : Evidence
            An evidence by method="integration".
        ax : matplotlib.axes.Axes, default=None
            Axes to draw on. None makes a new figure.

        Returns
        -------
        EvidenceDisplay
            The drawing.

        Raises
        ------
        ValueError
            If the evidence has no ladder, as by method="bridge".
        """
        check_type("result", result, Evidence)
        if len(result.log_transparency) < 2:
            raise ValueError(
                "result must have a ladder of transparencies, by method='integration'; got one by "
                f"method={result.method!r}"
            )
        return cls(
            log_transparency=result.log_transparency,
            mean_violations=result.mean_violations,
            value=result.value,
            error=result.error,
        ).plot(ax=ax)

    def _draw(self, ax: Any) -> None:
        ax = self._begin(ax, (5.8, 3.8))
        x, y = self.log_transparency, self.mean_violations
        self.area_ = ax.fill_between(
            x, y, color=PALE, alpha=0.6, linewidth=0, label="area: −ln Z(κ)"
        )
        [self.line_] = ax.plot(
            x, y, color=COLORS[0], marker=MARKERS[0], markersize=3.5, linewidth=1.4
        )
        rungs = "rungs of the ladder"
        if np.ndim(self.value) == 0:
            rungs += f"; ln evidence = {self.value:.2f} ± {self.error:.2g} nats"
        self.line_.set_label(rungs)
        ax.set(
            xlabel="ln κ, logarithm of the transparency (nats)",
            ylabel="mean number of violated examples",
            xlim=(x.min(), 0),
        )
        ax.set_ylim(bottom=0)
        ax.legend(frameon=False, loc="upper left")
