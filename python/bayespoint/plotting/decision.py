"""The probability of the second class over the plane."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from bayespoint.plotting.runs import last_step
from bayespoint.plotting.style import COLORS, MARKERS, Display, below, ink, shades

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]

# Areas of rings in square points: the smallest just clears a marker.
_MARKER_AREA = 28.0
_SMALLEST_RING = 45.0
_RING_RANGE = 300.0


class DecisionDisplay(Display):
    """Probability of the second class over the plane, with examples, contours and walls hit.

    Made by `from_estimator`.

    Parameters
    ----------
    xx0, xx1 : ndarray of shape (n, n)
        Places of the grid, as from ``numpy.meshgrid``.
    response : ndarray of shape (n, n)
        Probability of the second class there.
    X : ndarray of shape (n_samples, 2)
        Examples.
    y : ndarray of shape (n_samples,)
        Their labels.
    classes : ndarray of shape (2,)
        The classes.
    ringed : ndarray of shape (n_rings,)
        Rows of `X` with a ring around them.
    ring_areas : ndarray of shape (n_rings,)
        Areas of the rings, in square points.
    ring_label : str
        What they mean.
    feature_names : pair of str
        Names of the axes.

    Attributes
    ----------
    surface_ : matplotlib.collections.QuadMesh
        The shading.
    contours_ : matplotlib.contour.ContourSet or None
        The contours; None where the probability reaches none of their levels.
    ax_ : matplotlib.axes.Axes
        The axes of the last drawing.
    figure_ : matplotlib.figure.Figure
        Their figure.

    Examples
    --------
    >>> import numpy as np
    >>> from matplotlib.figure import Figure
    >>> from bayespoint import BayesPointClassifier
    >>> from bayespoint.plotting import DecisionDisplay
    >>> X = np.random.default_rng(0).normal(size=(30, 2))
    >>> y = np.where(X[:, 0] > X[:, 1], "right", "left")
    >>> classifier = BayesPointClassifier(random_state=0).fit(X, y)
    >>> display = DecisionDisplay.from_estimator(classifier, X, y, ax=Figure().add_subplot())
    >>> display.response.shape
    (200, 200)
    """

    def __init__(
        self,
        *,
        xx0: Floats,
        xx1: Floats,
        response: Floats,
        X: Floats,
        y: NDArray[Any],
        classes: NDArray[Any],
        ringed: NDArray[np.intp],
        ring_areas: Floats,
        ring_label: str,
        feature_names: tuple[str, str],
    ) -> None:
        self.xx0, self.xx1, self.response = xx0, xx1, response
        self.X, self.y, self.classes = X, y, classes
        self.ringed, self.ring_areas, self.ring_label = ringed, ring_areas, ring_label
        self.feature_names = feature_names

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: ArrayLike,
        y: ArrayLike,
        *,
        levels: Sequence[float] = (0.1, 0.5, 0.9),
        ring: ArrayLike | str | None = "support",
        grid_resolution: int = 200,
        pad: float = 0.15,
        ax: Any = None,
    ) -> DecisionDisplay:
        """Compute the probabilities of a fitted classifier over the plane and draw them.

        Parameters
        ----------
        estimator : fitted binary classifier
            Must offer ``predict_proba`` and ``classes_``; a `BayesPointClassifier`, a pipeline that
            ends in one or a fitted search of either also supplies the walls for `ring`.
        X : array-like of shape (n_samples, 2)
            Examples to draw, two features each.
        y : array-like of shape (n_samples,)
            Their labels, as in ``estimator.classes_``.
        levels : sequence of float, default=(0.1, 0.5, 0.9)
            Probabilities at which a contour is drawn, each in (0, 1), rising. The contour at 0.5 is
            the decision boundary and is drawn solid, the others dashed.
        ring : "support", array-like of int or None, default="support"
            Rows of `X` to put a ring around. "support" takes the walls that the ball hit
            (``estimator.support_``, the Bayesian support vectors) and draws the ring the larger the
            more often that was. It holds for the training examples: where `X` has not as many rows
            as the estimator was trained on, nothing is ringed.
        grid_resolution : int, default=200
            Points of the grid along each axis, at least 2.
        pad : float, default=0.15
            Margin around the examples, as a share of their range, at least 0.
        ax : matplotlib.axes.Axes, default=None
            Where to draw; by default a new figure is made.

        Returns
        -------
        DecisionDisplay
            The drawing.

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        NotFittedError
            If the estimator is not fitted.
        ValueError
            If the examples are not two-dimensional, the estimator is not binary, or a setting is
            out of range.
        """
        if grid_resolution < 2:
            raise ValueError(f"grid_resolution must be at least 2, got {grid_resolution!r}")
        return _decision(estimator, X, y, levels, ring, grid_resolution, pad, ax)

    def plot(self, *, levels: Sequence[float] = (0.1, 0.5, 0.9), ax: Any = None) -> DecisionDisplay:
        """Draw the display.

        Parameters
        ----------
        levels : sequence of float, default=(0.1, 0.5, 0.9)
            Probabilities in (0, 1) of the contours.
        ax : matplotlib.axes.Axes, default=None
            Where to draw; None: a new figure.

        Returns
        -------
        DecisionDisplay
            The display itself.
        """
        contours = _levels(levels)
        ax = self._begin(ax, (7.2, 5.6))
        field = ax.pcolormesh(
            self.xx0, self.xx1, self.response, cmap=shades(), vmin=0.0, vmax=1.0, shading="gouraud"
        )
        field.set_rasterized(True)
        self.surface_ = field
        drawn = contours[(contours > self.response.min()) & (contours < self.response.max())]
        self.contours_ = None
        if drawn.size:
            self.contours_ = ax.contour(
                self.xx0,
                self.xx1,
                self.response,
                levels=drawn,
                colors="black",
                linewidths=[1.8 if level == 0.5 else 1.0 for level in drawn],
                linestyles=["solid" if level == 0.5 else "dashed" for level in drawn],
            )
        for label, color, marker in zip(self.classes, COLORS, MARKERS, strict=True):
            rows = self.y == label
            ax.scatter(
                self.X[rows, 0],
                self.X[rows, 1],
                s=_MARKER_AREA,
                color=color,
                marker=marker,
                edgecolors="white",
                linewidths=0.6,
                label=str(label),
                zorder=3,
            )
        if self.ringed.size:
            ax.scatter(
                self.X[self.ringed, 0],
                self.X[self.ringed, 1],
                s=self.ring_areas,
                facecolors="none",
                edgecolors="black",
                linewidths=0.9,
                label=self.ring_label,
                zorder=4,
            )
        bar = ax.figure.colorbar(field, ax=ax, ticks=[0.0, *contours, 1.0])
        if self.contours_ is not None:
            bar.add_lines(self.contours_)
        bar.set_label(f"P(y = {self.classes[1]} | x)")
        ax.set(xlabel=self.feature_names[0], ylabel=self.feature_names[1])
        below(ax, y=-0.1)
        # Rings are black for the light shading; their sample stands on the page.
        for handle in ax.get_legend().legend_handles[2:]:
            handle.set_edgecolor(ink())
        return self


def plot_decision_function(
    estimator: Any,
    X: ArrayLike,
    y: ArrayLike,
    *,
    ax: Any = None,
    levels: Sequence[float] = (0.1, 0.5, 0.9),
    ring: ArrayLike | str | None = "support",
    resolution: int = 200,
    pad: float = 0.15,
) -> Any:
    """Draw the probability of the second class over the plane, with examples and contours.

    The axes of a `DecisionDisplay`, in one call.

    Parameters
    ----------
    estimator, X, y, ax, levels, ring, pad
        As for :meth:`DecisionDisplay.from_estimator`.
    resolution : int, default=200
        Points of the grid along each axis, at least 2.

    Returns
    -------
    ax : matplotlib.axes.Axes
        The axes drawn into.

    Raises
    ------
    ImportError
        If matplotlib is not installed.
    ValueError
        If the examples are not two-dimensional, the estimator is not binary, or a setting is out
        of range.

    Examples
    --------
    >>> import numpy as np
    >>> from matplotlib.figure import Figure
    >>> from bayespoint import BayesPointClassifier
    >>> from bayespoint.plotting import plot_decision_function
    >>> X = np.random.default_rng(0).normal(size=(30, 2))
    >>> y = np.where(X[:, 0] > X[:, 1], "right", "left")
    >>> classifier = BayesPointClassifier(random_state=0).fit(X, y)
    >>> ax = plot_decision_function(classifier, X, y, ax=Figure().add_subplot())
    >>> ax.get_legend_handles_labels()[1]
    ['left', 'right', 'wall hit: the larger, the more often']
    """
    if resolution < 2:
        raise ValueError(f"resolution must be at least 2, got {resolution!r}")
    return _decision(estimator, X, y, levels, ring, resolution, pad, ax).ax_


def _decision(
    estimator: Any,
    X: ArrayLike,
    y: ArrayLike,
    levels: Sequence[float],
    ring: ArrayLike | str | None,
    resolution: int,
    pad: float,
    ax: Any,
) -> DecisionDisplay:
    ink()  # without matplotlib nothing else is worth while
    points, labels, classes = _check_examples(estimator, X, y)
    _levels(levels)
    if not pad >= 0:
        raise ValueError(f"pad must be at least 0, got {pad!r}")
    ringed, areas = _rings(estimator, ring, len(points))
    xx0, xx1, response = _probability_on_grid(estimator, points, resolution, pad)
    names = getattr(estimator, "feature_names_in_", ("x1", "x2"))
    by_hits = isinstance(ring, str)
    return DecisionDisplay(
        xx0=xx0,
        xx1=xx1,
        response=response,
        X=points,
        y=labels,
        classes=classes,
        ringed=ringed,
        ring_areas=areas,
        ring_label="wall hit: the larger, the more often" if by_hits else "ringed",
        feature_names=(str(names[0]), str(names[1])),
    ).plot(levels=levels, ax=ax)


def _levels(levels: Sequence[float]) -> Floats:
    contours = np.asarray(levels, dtype=float)
    if contours.ndim != 1 or not np.all((contours > 0) & (contours < 1)):
        raise ValueError(f"levels must be probabilities between 0 and 1, got {levels!r}")
    if np.any(np.diff(contours) <= 0):
        raise ValueError(f"levels must rise, got {levels!r}")
    return contours


def _check_examples(
    estimator: Any, X: ArrayLike, y: ArrayLike
) -> tuple[NDArray[np.float64], NDArray[Any], NDArray[Any]]:
    """Check that the picture is possible; return points, labels and the two classes."""
    points = np.asarray(X, dtype=np.float64)
    labels = np.asarray(y)
    if points.ndim != 2 or points.shape[1] != 2 or len(points) == 0:
        raise ValueError(
            f"X must have the shape (n_samples, 2) with n_samples > 0, got {points.shape}"
        )
    if labels.shape != (len(points),):
        raise ValueError(f"y must have the shape ({len(points)},) like X, got {labels.shape}")
    if not np.isfinite(points).all():
        raise ValueError("X must be finite, got NaN or infinity")
    if not hasattr(estimator, "classes_"):
        check_is_fitted(estimator)
    classes = np.asarray(estimator.classes_)
    if len(classes) != 2:
        raise ValueError(f"estimator must have two classes, got {len(classes)}: {classes.tolist()}")
    strangers = np.setdiff1d(labels, classes)
    if strangers.size:
        raise ValueError(
            f"y must hold labels of the estimator, {classes.tolist()}, got {strangers.tolist()}"
        )
    return points, labels, classes


def _rings(
    estimator: Any, ring: ArrayLike | str | None, n_rows: int
) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    """Resolve `ring` to row numbers of X and the areas of their rings."""
    nothing = np.empty(0, dtype=np.intp), np.empty(0)
    if ring is None:
        return nothing
    if isinstance(ring, str):
        if ring != "support":
            raise ValueError(f'ring must be "support", row numbers or None, got {ring!r}')
        final = last_step(estimator)
        result = getattr(final, "billiard_", None)
        if result is None or len(result.hits) != n_rows:
            return nothing
        rows = np.asarray(final.support_, dtype=np.intp)
        hits = np.asarray(result.hits, dtype=np.float64)[rows]
        return rows, _SMALLEST_RING + _RING_RANGE * hits / hits.max(initial=1.0)
    rows = np.asarray(ring)
    if rows.size == 0:
        return nothing
    if rows.ndim != 1 or not np.issubdtype(rows.dtype, np.integer):
        raise ValueError(
            f"ring must be one-dimensional and of integers, got {rows.dtype} of shape {rows.shape}"
        )
    if rows.min() < 0 or rows.max() >= n_rows:
        raise ValueError(f"ring must hold rows of X, 0 to {n_rows - 1}, got {rows.tolist()}")
    return rows.astype(np.intp), np.full(len(rows), _SMALLEST_RING + _RING_RANGE / 2)


def _probability_on_grid(
    estimator: Any, points: NDArray[np.float64], resolution: int, pad: float
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Return the grid and the probability of the second class on it."""
    low, high = points.min(axis=0), points.max(axis=0)
    spread = high - low
    # A feature without spread still gets a window to look through.
    room = np.where(spread > 0, pad * spread, 1.0)
    horizontal, vertical = np.linspace(low - room, high + room, resolution).T
    xx0, xx1 = np.meshgrid(horizontal, vertical)
    grid = np.stack([xx0, xx1], axis=-1).reshape(-1, 2)
    names = getattr(estimator, "feature_names_in_", None)
    if names is not None:
        import pandas as pd

        probability = estimator.predict_proba(pd.DataFrame(grid, columns=names))
    else:
        probability = estimator.predict_proba(grid)
    return xx0, xx1, np.asarray(probability)[:, 1].reshape(xx0.shape)
