"""Display of the contribution of each wall to the center."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayespoint.base import validation
from bayespoint.base.validation import Floats
from bayespoint.plotting.runs import check_type, run_of
from bayespoint.plotting.style import COLORS, HATCHES, Display, ink
from bayespoint.results import BilliardResult

_MAX_NUMBERED = 40  # bars up to which each has the number of its example below


class WallsDisplay(Display):
    """Share of each example's wall in the impulses on the ball and in the bounces.

    The sum of the impulses is an estimate of the center of mass,
    `BilliardResult.impulse_center`, whose dual coefficients have the same shares.

    Parameters
    ----------
    impulse : ndarray of shape (m,)
        Share of each example in the impulses; they sum to 1.
    hits : ndarray of shape (m,)
        Share of each example in the bounces; they sum to 1.
    y : ndarray of shape (m,)
        Labels, -1 and +1.
    classes : pair of str
        Their names.

    Attributes
    ----------
    order_ : ndarray of shape (n_shown,)
        The examples shown, from the largest impulse on.
    bars_ : list of matplotlib.patches.Rectangle
        Their bars, in the same order.

    Examples
    --------
    >>> import numpy as np
    >>> from matplotlib.figure import Figure
    >>> from bayespoint import VersionSpace
    >>> from bayespoint.plotting import WallsDisplay
    >>> result = VersionSpace(np.eye(3), [1, 1, -1]).sample(length=200.0, random_state=0)
    >>> display = WallsDisplay.from_result(result, ax=Figure().add_subplot())
    >>> display.impulse.round(1)
    array([0.3, 0.3, 0.3])
    """

    def __init__(
        self, *, impulse: Floats, hits: Floats, y: NDArray[np.int8], classes: tuple[str, str]
    ) -> None:
        self.impulse, self.hits, self.y, self.classes = impulse, hits, y, classes

    @classmethod
    def from_estimator(
        cls, estimator: Any, *, label: Any = None, n_largest: int = 30, ax: Any = None
    ) -> WallsDisplay:
        """Draw the impulses of a fitted classifier's run.

        Parameters
        ----------
        estimator : BayesPointClassifier, a pipeline that ends in one, or a fitted search of either
            Fitted.
        label : class label, default=None
            With more than two classes: the class whose run against the rest is drawn.
        n_largest : int, default=30
            Number of examples to show, at least 1: those with the largest impulses.
        ax : matplotlib.axes.Axes, default=None
            Axes to draw on. None makes a new figure.

        Returns
        -------
        WallsDisplay
            The drawing.
        """
        result, _ = run_of(estimator, label)
        classes = estimator.classes_ if label is None else ("others", label)
        names = str(classes[0]), str(classes[1])
        return cls._of(result, names).plot(n_largest=n_largest, ax=ax)

    @classmethod
    def from_result(
        cls, result: BilliardResult, *, n_largest: int = 30, ax: Any = None
    ) -> WallsDisplay:
        """Draw the impulses of a run.

        Parameters
        ----------
        result : BilliardResult
            A run that met walls, of "geodesic" dynamics.
        n_largest, ax
            As for `from_estimator`.

        Returns
        -------
        WallsDisplay
            The drawing.

        Raises
        ------
        ValueError
            If the run has no impulses: it met no wall, or has the dynamics "chord" or "flipper".
        """
        check_type("result", result, BilliardResult)
        return cls._of(result, ("-1", "+1")).plot(n_largest=n_largest, ax=ax)

    @classmethod
    def _of(cls, result: BilliardResult, classes: tuple[str, str]) -> WallsDisplay:
        impulse = np.abs(result.impulse_center)
        if not np.isfinite(impulse).all():
            raise ValueError(
                "result must have impulses; got one for which they do not sum to the center "
                "(dynamics 'chord' or 'flipper')"
            )
        if not impulse.any():
            raise ValueError("result must have impulses; got a run that met no wall")
        hits = result.hits / result.hits.sum()
        return cls(impulse=impulse / impulse.sum(), hits=hits, y=result.y, classes=classes)

    def plot(self, *, n_largest: int = 30, ax: Any = None) -> WallsDisplay:
        """Draw the display.

        Parameters
        ----------
        n_largest, ax
            As for `from_estimator`.

        Returns
        -------
        WallsDisplay
            The display itself.
        """
        n_hit = int((self.impulse > 0).sum())
        n = min(validation.integer("n_largest", n_largest, low=1), n_hit)
        ax = self._begin(ax, (7.2, 4.0))
        self.order_ = np.argsort(-self.impulse, kind="stable")[:n]
        places = np.arange(n)
        self.bars_ = [None] * n
        for sign, name, color, hatch in zip((-1, 1), self.classes, COLORS, HATCHES, strict=True):
            own = np.flatnonzero(self.y[self.order_] == sign)
            bars = ax.bar(
                places[own],
                100 * self.impulse[self.order_[own]],
                color=color,
                hatch=hatch,
                edgecolor="white",
                linewidth=0.5,
                label=f"impulse, y = {name}",
            )
            for place, bar in zip(own.tolist(), bars, strict=True):
                self.bars_[place] = bar
        ax.plot(
            places,
            100 * self.hits[self.order_],
            marker="_",
            markersize=max(4.0, min(12.0, 240 / n)),
            markeredgewidth=2.0,
            color=ink(),
            linestyle="none",
            label="bounces",
        )
        ax.set(
            ylabel="share (%)",
            xlabel=f"examples by impulse ({n} of {n_hit} hit, {len(self.y)} in all)",
            xlim=(-0.8, n - 0.2),
        )
        if n <= _MAX_NUMBERED:
            names = [str(k) for k in self.order_.tolist()]
            crowded = n > 15 or max(map(len, names)) > 3
            ax.set_xticks(places, names, rotation=90 if crowded else 0, fontsize="small")
        ax.legend(frameon=False)
        return self
