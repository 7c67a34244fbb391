"""Whether events come as often as their probability says."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats
from sklearn.utils.validation import check_is_fitted

from bayespoint.base import validation
from bayespoint.plotting.style import COLORS, GRAY, MARKERS, PALE, Display

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

_LEVEL = 0.9  # of the intervals of the shares


class ReliabilityDisplay(Display):
    """Share of the second class among points of equal probability, against that probability.

    Parameters
    ----------
    prob_true : ndarray of shape (n_bins_used,)
        Share of the second class in each bin that holds points.
    prob_pred : ndarray of shape (n_bins_used,)
        Mean probability in each.
    counts : ndarray of shape (n_bins_used,)
        Points in each.
    low, high : ndarray of shape (n_bins_used,)
        Ends of the 90 % intervals (Clopper and Pearson) of the shares.
    label : str
        The second class.
    name : str, default=None
        For the legend.

    Attributes
    ----------
    line_ : matplotlib.lines.Line2D
        The curve.
    counts_ax_ : matplotlib.axes.Axes or None
        Where the numbers of points are drawn, above `ax_`.
    ax_ : matplotlib.axes.Axes
        The axes of the last drawing.
    figure_ : matplotlib.figure.Figure
        Their figure.

    See Also
    --------
    sklearn.calibration.CalibrationDisplay : Without intervals and numbers of points.

    Examples
    --------
    >>> import numpy as np
    >>> from matplotlib.figure import Figure
    >>> from bayespoint.plotting import ReliabilityDisplay
    >>> display = ReliabilityDisplay.from_predictions(
    ...     [0, 0, 1, 1], [0.1, 0.2, 0.3, 0.9], n_bins=2, ax=Figure().add_subplot()
    ... )
    >>> display.prob_true.round(2), display.counts
    (array([0.33, 1.  ]), array([3, 1]))
    """

    def __init__(
        self,
        *,
        prob_true: Floats,
        prob_pred: Floats,
        counts: NDArray[np.intp],
        low: Floats,
        high: Floats,
        label: str,
        name: str | None = None,
    ) -> None:
        self.prob_true, self.prob_pred, self.counts = prob_true, prob_pred, counts
        self.low, self.high, self.label, self.name = low, high, label, name

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: ArrayLike,
        y: ArrayLike,
        *,
        n_bins: int = 10,
        name: str | None = None,
        ax: Any = None,
    ) -> ReliabilityDisplay:
        """Draw the curve of a fitted classifier's probabilities.

        Parameters
        ----------
        estimator : fitted binary classifier
            Must offer ``predict_proba`` and ``classes_``.
        X : array-like of shape (n_samples, n_features)
            Test inputs.
        y : array-like of shape (n_samples,)
            Their true labels.
        n_bins : int, default=10
            Bins of equal width in [0, 1], at least 1.
        name : str, default=None
            For the legend; by default the name of the estimator's class.
        ax : matplotlib.axes.Axes, default=None
            Where to draw; by default a new figure is made.

        Returns
        -------
        ReliabilityDisplay
            The drawing.

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        NotFittedError
            If the estimator is not fitted.
        ValueError, TypeError
            As `from_predictions`, and for other than two classes.
        """
        check_is_fitted(estimator)
        classes = estimator.classes_
        if len(classes) != 2:
            raise ValueError(f"estimator must have two classes; got {len(classes)}")
        return cls.from_predictions(
            y,
            estimator.predict_proba(X)[:, 1],
            n_bins=n_bins,
            labels=classes,
            name=type(estimator).__name__ if name is None else name,
            ax=ax,
        )

    @classmethod
    def from_predictions(
        cls,
        y_true: ArrayLike,
        y_prob: ArrayLike,
        *,
        n_bins: int = 10,
        labels: ArrayLike | None = None,
        name: str | None = None,
        ax: Any = None,
    ) -> ReliabilityDisplay:
        """Draw the curve of probabilities.

        Parameters
        ----------
        y_true : array-like of shape (n_samples,)
            True labels, at least one.
        y_prob : array-like of shape (n_samples,)
            Probabilities of the second class, in [0, 1].
        n_bins : int, default=10
            Bins of equal width in [0, 1], at least 1.
        labels : array-like of shape (2,), default=None
            The two classes; by default the sorted values of `y_true`.
        name, ax
            As for `from_estimator`.

        Returns
        -------
        ReliabilityDisplay
            The drawing.

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        ValueError
            If the shapes do not fit, a probability is outside [0, 1], or there are not two classes.
        TypeError
            If the probabilities are not real numbers.
        """
        n_bins = validation.integer("n_bins", n_bins, low=1)
        y, p = np.asarray(y_true), np.asarray(validation.dense("y_prob", y_prob), dtype=float)
        if y.ndim != 1 or len(y) == 0:
            raise ValueError(f"y_true must have shape (n_samples,), n_samples > 0; got {y.shape}")
        if p.shape != y.shape:
            raise ValueError(f"y_prob must have shape {y.shape} like y_true; got {p.shape}")
        if not ((p >= 0) & (p <= 1)).all():
            raise ValueError("y_prob must lie in [0, 1]; it holds NaN or other values")
        classes = np.unique(y) if labels is None else np.asarray(labels)
        if classes.shape != (2,):
            raise ValueError(
                f"labels must be two classes; got {classes.tolist()} (name them by labels)"
            )
        known = y[:, None] == classes
        if not known.any(axis=1).all():
            strange = y[~known.any(axis=1)].tolist()[0]
            raise ValueError(f"y_true must hold only {classes.tolist()}; got {strange!r}")
        bins = np.minimum((p * n_bins).astype(np.intp), n_bins - 1)
        counts = np.bincount(bins, minlength=n_bins)
        used = counts > 0
        positive = np.bincount(bins, weights=known[:, 1], minlength=n_bins)[used]
        total, n = np.bincount(bins, weights=p, minlength=n_bins)[used], counts[used]
        tail = (1 - _LEVEL) / 2
        with np.errstate(invalid="ignore"):
            low = np.nan_to_num(stats.beta.ppf(tail, positive, n - positive + 1), nan=0.0)
            high = np.nan_to_num(stats.beta.isf(tail, positive + 1, n - positive), nan=1.0)
        return cls(
            prob_true=positive / n,
            prob_pred=total / n,
            counts=n,
            low=low,
            high=high,
            label=str(classes[1]),
            name=name,
        ).plot(ax=ax)

    def plot(self, *, ax: Any = None, **kwargs: Any) -> ReliabilityDisplay:
        """Draw the display.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, default=None
            Where to draw; None: a new figure.
        **kwargs : dict
            Further arguments of the line: ``color="C1"`` for a second curve in the same axes, where
            the numbers of points are drawn for the first one only.

        Returns
        -------
        ReliabilityDisplay
            The display itself.
        """
        first = ax is None or not ax.lines
        ax = self._begin(ax, (4.6, 4.8))
        style = {"color": COLORS[0], "marker": MARKERS[0], "label": self.name} | kwargs
        if first:
            ax.plot([0, 1], [0, 1], color=GRAY, linestyle="dotted", label="_perfect")
        bars = ax.errorbar(
            self.prob_pred,
            self.prob_true,
            yerr=np.stack([self.prob_true - self.low, self.high - self.prob_true]),
            capsize=2.5,
            linewidth=1.4,
            elinewidth=0.9,
            markersize=5,
            **style,
        )
        self.line_ = bars[0]
        ax.set(
            xlabel=f"probability of y = {self.label}",
            ylabel=f"share of y = {self.label}, with 90 % interval",
            xlim=(-0.02, 1.02),
            ylim=(-0.02, 1.02),
        )
        self.counts_ax_ = None
        if first:
            above = ax.inset_axes((0.0, 1.03, 1.0, 0.16), sharex=ax)
            above.bar(self.prob_pred, self.counts, width=0.03, color=PALE, edgecolor=GRAY)
            above.set_ylabel("points", fontsize="small")
            above.tick_params(labelbottom=False, labelsize="small")
            above.spines[["top", "right"]].set_visible(False)
            self.counts_ax_ = above
        if bars.get_label() and not bars.get_label().startswith("_"):
            ax.legend(frameon=False, loc="upper left")
        return self
