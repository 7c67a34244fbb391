"""Pictures of a fitted classifier (optional extra ``plot``: matplotlib)."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

__all__ = ["plot_decision_function"]

# Blue and vermilion of Okabe and Ito: told apart with every common form of color blindness. The
# markers differ in shape too, so the picture survives a gray printer.
_COLORS = ("#0072B2", "#D55E00")
_MARKERS = ("o", "^")
_SHADES = ("#6BAED6", "#F7F7F7", "#F4A36C")

# Areas of rings in square points: the smallest just clears a marker.
_MARKER_AREA = 28.0
_SMALLEST_RING = 45.0
_RING_RANGE = 300.0


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

    Parameters
    ----------
    estimator : fitted binary classifier
        Must offer ``predict_proba`` and ``classes_``; a `BayesPointClassifier` or a pipeline that
        ends in one also supplies the walls for `ring`.
    X : array-like of shape (n_samples, 2)
        Examples to draw, two features each.
    y : array-like of shape (n_samples,)
        Their labels, as in ``estimator.classes_``.
    ax : matplotlib.axes.Axes, default=None
        Where to draw; by default a new figure is made.
    levels : sequence of float, default=(0.1, 0.5, 0.9)
        Probabilities at which a contour is drawn, each in (0, 1), rising. The contour at 0.5 is the
        decision boundary and is drawn solid, the others dashed.
    ring : "support", array-like of int or None, default="support"
        Rows of `X` to put a ring around. "support" takes the walls that the ball hit
        (``estimator.support_``, the Bayesian support vectors) and draws the ring the larger the
        more often that was. It holds for the training examples: where `X` has not as many rows as
        the estimator was trained on, nothing is ringed.
    resolution : int, default=200
        Points of the grid along each axis, at least 2.
    pad : float, default=0.15
        Margin around the examples, as a share of their range, at least 0.

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
    colors = _import_matplotlib("colors")
    points, labels, classes = _check_examples(estimator, X, y)
    contours = np.asarray(levels, dtype=float)
    if contours.ndim != 1 or not np.all((contours > 0) & (contours < 1)):
        raise ValueError(f"levels must be probabilities between 0 and 1, got {levels!r}")
    if np.any(np.diff(contours) <= 0):
        raise ValueError(f"levels must rise, got {levels!r}")
    if resolution < 2:
        raise ValueError(f"resolution must be at least 2, got {resolution!r}")
    if not pad >= 0:
        raise ValueError(f"pad must be at least 0, got {pad!r}")
    ringed, areas = _rings(estimator, ring, len(points))

    ax = _axes(ax, (7.2, 5.6))

    horizontal, vertical, probability = _probability_on_grid(estimator, points, resolution, pad)
    shades = colors.LinearSegmentedColormap.from_list("blue_vermilion", _SHADES)
    field = ax.pcolormesh(
        horizontal, vertical, probability, cmap=shades, vmin=0.0, vmax=1.0, shading="gouraud"
    )
    field.set_rasterized(True)
    drawn = contours[(contours > probability.min()) & (contours < probability.max())]
    if drawn.size:
        lines = ax.contour(
            horizontal,
            vertical,
            probability,
            levels=drawn,
            colors="black",
            linewidths=[1.8 if level == 0.5 else 1.0 for level in drawn],
            linestyles=["solid" if level == 0.5 else "dashed" for level in drawn],
        )
    for label, color, marker in zip(classes, _COLORS, _MARKERS, strict=True):
        rows = labels == label
        ax.scatter(
            points[rows, 0],
            points[rows, 1],
            s=_MARKER_AREA,
            color=color,
            marker=marker,
            edgecolors="white",
            linewidths=0.6,
            label=str(label),
            zorder=3,
        )
    if ringed.size:
        ax.scatter(
            points[ringed, 0],
            points[ringed, 1],
            s=areas,
            facecolors="none",
            edgecolors="black",
            linewidths=0.9,
            label="wall hit: the larger, the more often" if isinstance(ring, str) else "ringed",
            zorder=4,
        )
    bar = ax.figure.colorbar(field, ax=ax, ticks=[0.0, *contours, 1.0])
    if drawn.size:
        bar.add_lines(lines)
    bar.set_label(f"P(y = {classes[1]} | x)")
    names = getattr(estimator, "feature_names_in_", ("x1", "x2"))
    ax.set_xlabel(str(names[0]))
    ax.set_ylabel(str(names[1]))
    ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.1), ncols=3, frameon=False)
    return ax


def _import_matplotlib(module: str) -> Any:
    """Import a module of matplotlib, or say which extra brings it."""
    try:
        return import_module(f"matplotlib.{module}")
    except ImportError as error:
        raise ImportError(
            "plotting needs matplotlib, which is not installed: run "
            "`pip install 'bayespoint[plot]'`"
        ) from error


def _axes(ax: Any, size: tuple[float, float] | None = None) -> Any:
    """Return the axes given or, without any, those of a new figure of a size in inches."""
    if ax is None:
        _, ax = _import_matplotlib("pyplot").subplots(figsize=size, layout="constrained")
    return ax


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
        final = estimator[-1] if hasattr(estimator, "named_steps") else estimator
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
    """Return the two axes of the grid and the probability of the second class on it."""
    low, high = points.min(axis=0), points.max(axis=0)
    spread = high - low
    # A feature without spread still gets a window to look through.
    room = np.where(spread > 0, pad * spread, 1.0)
    horizontal, vertical = np.linspace(low - room, high + room, resolution).T
    grid = np.stack(np.meshgrid(horizontal, vertical), axis=-1).reshape(-1, 2)
    names = getattr(estimator, "feature_names_in_", None)
    if names is not None:
        import pandas as pd

        probability = estimator.predict_proba(pd.DataFrame(grid, columns=names))
    else:
        probability = estimator.predict_proba(grid)
    return horizontal, vertical, np.asarray(probability)[:, 1].reshape(resolution, resolution)
