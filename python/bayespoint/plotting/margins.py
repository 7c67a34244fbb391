"""How far from the walls a weight vector is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from numpy.typing import ArrayLike

from bayespoint.base import validation
from bayespoint.bounds.mirror import normalized_margins
from bayespoint.plotting.runs import checked_pair, run_of, space_of
from bayespoint.plotting.style import HATCHES, Display

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from bayespoint.results import BilliardResult
    from bayespoint.version_space import VersionSpace

    Floats = NDArray[np.float64]


class MarginDisplay(Display):
    """Histogram of the normalized margins of a weight vector.

    A normalized margin is the sine of the angle between the vector and the plane of an example,
    positive where it gives the example its label.

    Parameters
    ----------
    margins : ndarray of shape (m,)
        Normalized margins, in [-1, 1].
    name : str, default=None
        For the legend.

    Attributes
    ----------
    counts_ : ndarray of shape (n_bins,)
        Examples in each bin.
    bin_edges_ : ndarray of shape (n_bins + 1,)
        Edges of the bins.
    line_ : matplotlib.lines.Line2D
        The dashed line at the smallest margin.
    ax_ : matplotlib.axes.Axes
        The axes of the last drawing.
    figure_ : matplotlib.figure.Figure
        Their figure.

    Examples
    --------
    >>> import numpy as np
    >>> from matplotlib.figure import Figure
    >>> from bayespoint import VersionSpace
    >>> from bayespoint.plotting import MarginDisplay
    >>> space = VersionSpace(np.eye(3), [1, 1, -1])
    >>> ax = Figure().add_subplot()
    >>> display = MarginDisplay.from_dual_coef(space, [1, 1, -2], ax=ax)
    >>> display.margins.round(2)
    array([0.41, 0.41, 0.82])
    """

    def __init__(self, *, margins: Floats, name: str | None = None) -> None:
        self.margins, self.name = margins, name

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        *,
        label: Any = None,
        bins: int = 20,
        name: str | None = None,
        ax: Any = None,
    ) -> MarginDisplay:
        """Draw the margins of the training examples under a fitted classifier's Bayes point.

        Parameters
        ----------
        estimator : BayesPointClassifier, a pipeline that ends in one, or a fitted search of either
            Fitted.
        label : class label, default=None
            With more than two classes: whose run against the rest.
        bins : int, default=20
            Bins, at least 1.
        name : str, default=None
            For the legend; by default "Bayes point".
        ax : matplotlib.axes.Axes, default=None
            Where to draw; by default a new figure is made.

        Returns
        -------
        MarginDisplay
            The drawing.

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        NotFittedError
            If the estimator is not fitted.
        ValueError, TypeError
            If `label` is not one of several classes, the estimator has no run, or with
            kernel="precomputed" a singular matrix is not kept.
        """
        result, number = run_of(estimator, label)
        space = space_of(estimator, number, "margins")
        return cls.from_result(result, space, bins=bins, name=name, ax=ax)

    @classmethod
    def from_result(
        cls,
        result: BilliardResult,
        space: VersionSpace,
        *,
        bins: int = 20,
        name: str | None = None,
        ax: Any = None,
    ) -> MarginDisplay:
        """Draw the margins of a run's center.

        Parameters
        ----------
        result : BilliardResult
            The run.
        space : VersionSpace
            The version space it is of.
        bins, name, ax
            As for `from_estimator`.

        Returns
        -------
        MarginDisplay
            The drawing.

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        ValueError, TypeError
            If the two do not belong together, or a setting is out of range.
        """
        run, checked = checked_pair(result, space)
        name = "Bayes point" if name is None else name
        return cls.from_dual_coef(checked, run.center, bins=bins, name=name, ax=ax)

    @classmethod
    def from_dual_coef(
        cls,
        space: VersionSpace,
        dual_coef: ArrayLike,
        *,
        bins: int = 20,
        name: str | None = None,
        ax: Any = None,
    ) -> MarginDisplay:
        """Draw the margins of any weight vector.

        Parameters
        ----------
        space : VersionSpace
            The examples.
        dual_coef : array-like of shape (m,)
            Dual coefficients of the vector, of any length but zero.
        bins, ax
            As for `from_estimator`.
        name : str, default=None
            For the legend.

        Returns
        -------
        MarginDisplay
            The drawing.

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        ValueError, TypeError
            If a setting is out of range.
        """
        bins = validation.integer("bins", bins, low=1)
        return cls(margins=normalized_margins(space, dual_coef), name=name).plot(bins=bins, ax=ax)

    def plot(self, *, bins: Any = 20, ax: Any = None, **kwargs: Any) -> MarginDisplay:
        """Draw the display.

        Parameters
        ----------
        bins : int or sequence of float, default=20
            Number of bins, or their edges, so that two histograms share them.
        ax : matplotlib.axes.Axes, default=None
            Where to draw; None: a new figure.
        **kwargs : dict
            Further arguments of the histogram.

        Returns
        -------
        MarginDisplay
            The display itself.
        """
        ax = self._begin(ax, (5.4, 3.6))
        second = bool(ax.patches)  # after another histogram
        style = {"histtype": "stepfilled", "hatch": HATCHES[second], "label": self.name} | kwargs
        self.counts_, self.bin_edges_, bars = ax.hist(self.margins, bins=bins, **style)
        # A strong outline is seen where another histogram is in front, and on a gray page.
        color = bars[0].get_facecolor()[:3]
        for bar in bars:
            bar.set(facecolor=(*color, 0.4), edgecolor=color, linewidth=1.4)
        self.line_ = ax.axvline(
            self.margins.min(), color=color, linestyle="dashed", linewidth=1.2, label="_smallest"
        )
        ax.set(xlabel="normalized margin", ylabel="examples")
        if self.name is not None:
            ax.legend(frameon=False)
        return self
