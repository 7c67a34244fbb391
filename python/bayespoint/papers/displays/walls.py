"""Display of the contribution of each training example."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from bayespoint.base import validation
from bayespoint.base.validation import Floats
from bayespoint.plotting.style import COLORS, Display, check_type, ink, posterior_of
from bayespoint.results import BilliardResult

_HATCHES = ("", "////")  # for printing in gray
_BARS_PER_INCH = 5
_MAX_NUMBERED = 40  # bars up to which each has the number of its example below


class WallsDisplay(Display):
    """Contribution of each training example to the classifier, and its share of the bounces.

    The center of mass is a weighted sum of the examples; `BilliardResult.impulse_center` has the
    weights. The contribution of an example is its share of the sum of their absolute values.

    Parameters
    ----------
    impulse : ndarray of shape (m,)
        Contribution of each example; they sum to 1.
    hits : ndarray of shape (m,)
        Share of each example in the bounces; they sum to 1.
    y : ndarray of shape (m,)
        Labels, -1 and +1, or of more than two classes 0, 1, ...
    classes : tuple of str
        Their names.

    Attributes
    ----------
    order_ : ndarray of shape (n_shown,)
        The examples shown, from the largest contribution on.
    bars_ : list of matplotlib.patches.Rectangle
        Their bars, in the same order.

    Examples
    --------
    >>> import numpy as np
    >>> from matplotlib.figure import Figure
    >>> from bayespoint import VersionSpace
    >>> from bayespoint.papers.displays import WallsDisplay
    >>> result = VersionSpace(np.eye(3), [1, 1, -1]).sample(length=200.0, random_state=0)
    >>> display = WallsDisplay.from_result(result, ax=Figure().add_subplot())
    >>> display.impulse.round(1)
    array([0.3, 0.3, 0.3])
    """

    def __init__(
        self, *, impulse: Floats, hits: Floats, y: NDArray[np.integer], classes: tuple[str, ...]
    ) -> None:
        self.impulse, self.hits, self.y, self.classes = impulse, hits, y, classes

    @classmethod
    def from_estimator(
        cls, estimator: BaseEstimator, *, n_largest: int | None = None, ax: Any = None
    ) -> WallsDisplay:
        """Draw the contributions of the training examples to a fitted classifier.

        Parameters
        ----------
        estimator, ax
            As for `BilliardDisplay.from_estimator`.
        n_largest : int, default=None
            Number of examples to show, at least 1: those with the largest contributions. None
            shows as many as fit, about five on an inch.

        Returns
        -------
        WallsDisplay
            The drawing.
        """
        model = posterior_of(estimator).first
        classes = tuple(map(str, model.classes.tolist()))
        return cls._of(model.draws.run, classes).plot(n_largest=n_largest, ax=ax)

    @classmethod
    def from_result(
        cls, result: BilliardResult, *, n_largest: int | None = None, ax: Any = None
    ) -> WallsDisplay:
        """Draw the contributions of the examples of a run.

        Parameters
        ----------
        result : BilliardResult
            A run that met walls, along great circles.
        n_largest, ax
            As for `from_estimator`.

        Returns
        -------
        WallsDisplay
            The drawing.

        Raises
        ------
        ValueError
            If the run has no impulses: it met no wall, or is of `Chord` or `Flipper`.
        """
        check_type("result", result, BilliardResult)
        several = result.impulse_center.ndim > 1
        names = map(str, range(len(result.impulse_center))) if several else ("-1", "+1")
        return cls._of(result, tuple(names)).plot(n_largest=n_largest, ax=ax)

    @classmethod
    def _of(cls, result: object, classes: tuple[str, ...]) -> WallsDisplay:
        if not isinstance(result, BilliardResult):
            raise ValueError(  # noqa: TRY004
                "walls need the kernel matrix of the training examples, which a classifier with "
                "landmarks does not have: fit with approximation=None"
            )
        impulse, hits = np.abs(result.impulse_center), result.hits
        if impulse.ndim > 1:  # that of the own class is the sum of all walls of an example
            impulse, hits = impulse[result.label, np.arange(len(result.label))], hits.sum(axis=0)
        if not np.isfinite(impulse).all():
            raise ValueError(
                "result must have impulses; got one for which they do not sum to the center "
                "(the motions Chord or Flipper)"
            )
        if not impulse.any():
            raise ValueError("result must have impulses; got a run that met no wall")
        y = result.label if len(classes) > 2 else np.where(result.label > 0, 1, -1)
        return cls(impulse=impulse / impulse.sum(), hits=hits / hits.sum(), y=y, classes=classes)

    def plot(self, *, n_largest: int | None = None, ax: Any = None) -> WallsDisplay:
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
        if n_largest is not None:
            validation.integer("n_largest", n_largest, low=1)
        ax = self._begin(ax, (7.2, 4.0))
        fits = int(_BARS_PER_INCH * ax.bbox.width / ax.figure.dpi)
        n = max(1, min(fits if n_largest is None else n_largest, n_hit))
        self.order_ = np.argsort(-self.impulse, kind="stable")[:n]
        places = np.arange(n)
        self.bars_ = [None] * n
        styles = list(zip((-1, 1), COLORS, _HATCHES, strict=True))
        if (n_classes := len(self.classes)) > 2:  # in matplotlib's own cycle
            styles = [(k, f"C{k}", "") for k in range(n_classes)]
        for name, (label, color, hatch) in zip(self.classes, styles, strict=True):
            own = np.flatnonzero(self.y[self.order_] == label)
            bars = ax.bar(
                places[own],
                100 * self.impulse[self.order_[own]],
                color=color,
                hatch=hatch,
                edgecolor="white",
                linewidth=0.5,
                label=f"contribution, y = {name}",
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
            label="share of the bounces",
        )
        left_out = f"{n} largest of {len(self.y)}" if n < len(self.y) else "all"
        ax.set(
            ylabel="contribution (%)", xlabel=f"training example ({left_out})", xlim=(-0.8, n - 0.2)
        )
        if n <= _MAX_NUMBERED:
            names = [str(k) for k in self.order_.tolist()]
            crowded = n > 15 or max(map(len, names)) > 3
            ax.set_xticks(places, names, rotation=90 if crowded else 0, fontsize="small")
        ax.legend(frameon=False, fontsize="small")
        return self
