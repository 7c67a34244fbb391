"""Pictures of the bounds (optional extra ``plot``: matplotlib)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from bayespoint.base import elementwise, validation
from bayespoint.bounds.margins import luckiness
from bayespoint.bounds.volume import cap_log_fraction, linear_svm, volume_bayes, volume_gibbs
from bayespoint.plotting.style import import_matplotlib

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["plot_margin_bounds", "plot_volume_bounds"]

# Of Okabe and Ito: told apart with every common form of color blindness.
_COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00")
_SIZE = (10.4, 5.0)


def plot_volume_bounds(
    *,
    omegas: Sequence[float] = (1.0, 0.01, 1e-10, 1e-20),
    sizes: Sequence[int] = (100, 300, 1000),
    delta: float = 0.05,
    axes: Any = None,
) -> Any:
    r"""Draw Figure 1 of Herbrich, Graepel and Campbell: the bounds by the volume.

    Left: a version space of the share :math:`\omega^{-1} 2^{-m}` of the sphere, against the number
    of examples m. Right: against ln(1 / volume), the effective dimension. Solid lines are
    `volume_bayes` (Eq. 17), dashed ones `volume_gibbs`, whose value the paper's text quotes.

    Parameters
    ----------
    omegas : sequence of float, default=(1.0, 0.01, 1e-10, 1e-20)
        Values of omega on the left, in (0, 1].
    sizes : sequence of int, default=(100, 300, 1000)
        Numbers of examples on the right, at least 1.
    delta : float, default=0.05
        Probability in (0, 1) with which the bounds may fail.
    axes : sequence of two matplotlib.axes.Axes, default=None
        Where to draw; by default a new figure is made.

    Returns
    -------
    axes : sequence of two matplotlib.axes.Axes
        The axes drawn into.

    Raises
    ------
    ValueError, TypeError
        If a setting is out of range.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from bayespoint.papers.bound_figures import plot_volume_bounds
    >>> left, right = plot_volume_bounds(axes=Figure().subplots(1, 2))
    >>> left.get_xlabel(), right.get_xlabel()
    ('examples', 'ln(1 / volume)')
    """
    shares = elementwise.reals("omegas", omegas, low=0.0, low_open=True, high=1.0)
    counts = elementwise.whole("sizes", sizes, low=1)
    left, right = _two_axes(axes)
    m = np.unique(np.geomspace(10, 1000, 200).round())
    for omega, color in zip(shares, _cycled(len(shares)), strict=True):
        log_volume = -np.log(omega) - m * np.log(2)
        possible = log_volume <= -np.log(2)  # of the sphere an example leaves one half
        x, y, label = m[possible], log_volume[possible], f"ω = {omega:g}"
        left.plot(x, volume_bayes(x, y, delta), color=color, label=label)
        left.plot(x, volume_gibbs(x, y, delta), color=color, linestyle="dashed")
    dimension = np.linspace(0, 250, 101)
    for size, color in zip(counts, _cycled(len(counts)), strict=True):
        label = f"m = {size:.0f}"
        right.plot(dimension, volume_bayes(size, -dimension, delta), color=color, label=label)
        right.plot(
            dimension, volume_gibbs(size, -dimension, delta), color=color, linestyle="dashed"
        )
    left.set_xlabel("examples")
    right.set_xlabel("ln(1 / volume)")
    for ax in (left, right):
        ax.set_ylim(0, 2)
        _trivial(ax)
        ax.set_ylabel("bound on the risk")
        ax.plot([], [], color="gray", label="vote")
        ax.plot([], [], color="gray", linestyle="dashed", label="one draw")
        _legend(ax)
    right.set_xlim(0, dimension[-1])
    left.set_xlim(m[0], m[-1])
    return axes if axes is not None else (left, right)


def plot_margin_bounds(
    *,
    sizes: Sequence[int] = (500, 1000, 2000, 5000),
    dimension: int = 100,
    digits: tuple[int, int] = (60_000, 400),
    delta: float = 0.05,
    axes: Any = None,
) -> Any:
    r"""Draw Figure 2 of Herbrich, Graepel and Campbell: the bounds by the margin.

    Left: `linear_svm` against :math:`1/\gamma^2` for several numbers of examples. Right: it and
    `luckiness` for handwritten digits. Dotted lines have the exact volume of the ball, by
    `cap_log_fraction`.

    Parameters
    ----------
    sizes : sequence of int, default=(500, 1000, 2000, 5000)
        Numbers of examples on the left, at least 1.
    dimension : int, default=100
        Dimension of feature space on the left, at least 1.
    digits : tuple of two ints, default=(60000, 400)
        Number of examples and dimension on the right, at least 1 each.
    delta : float, default=0.05
        Probability in (0, 1) with which the bounds may fail.
    axes : sequence of two matplotlib.axes.Axes, default=None
        Where to draw; by default a new figure is made.

    Returns
    -------
    axes : sequence of two matplotlib.axes.Axes
        The axes drawn into.

    Raises
    ------
    ValueError, TypeError
        If a setting is out of range.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from bayespoint.papers.bound_figures import plot_margin_bounds
    >>> left, right = plot_margin_bounds(axes=Figure().subplots(1, 2))
    >>> right.get_yscale()
    'log'
    """
    counts = elementwise.whole("sizes", sizes, low=1)
    validation.integer("dimension", dimension, low=1)
    m = validation.integer("digits[0]", digits[0], low=1)
    n = validation.integer("digits[1]", digits[1], low=1)
    left, right = _two_axes(axes)
    inverse = np.geomspace(1, 1e4, 200)
    margin = inverse**-0.5
    exact = cap_log_fraction(dimension, np.arcsin(margin))
    for size, color in zip(counts, _cycled(len(counts)), strict=True):
        label = f"m = {size:.0f}"
        left.plot(inverse, linear_svm(size, dimension, margin, delta), color=color, label=label)
        left.plot(inverse, volume_bayes(size, exact, delta), color=color, linestyle="dotted")
    left.set_title(f"n = {dimension}", fontsize="medium")
    left.set_ylim(0, 2)
    exact = cap_log_fraction(n, np.arcsin(margin))
    for values, color, style, label in (
        (luckiness(m, margin, delta), _COLORS[1], "solid", "Theorem 1"),
        (linear_svm(m, n, margin, delta), _COLORS[0], "solid", "Corollary 2"),
        (volume_bayes(m, exact, delta), _COLORS[0], "dotted", "exact volume"),
    ):
        right.plot(inverse, values, color=color, linestyle=style, label=label)
    right.set_title(f"m = {m}, n = {n}", fontsize="medium")
    right.set_yscale("log")
    left.plot([], [], color="gray", linestyle="dotted", label="exact volume")
    for ax in (left, right):
        ax.set_xscale("log")
        ax.set_xlim(inverse[0], inverse[-1])
        _trivial(ax)
        ax.set_xlabel("1 / margin²")
        ax.set_ylabel("bound on the risk")
        _legend(ax)
    return axes if axes is not None else (left, right)


def _two_axes(axes: Any) -> tuple[Any, Any]:
    if axes is None:
        figure = import_matplotlib("pyplot").figure(figsize=_SIZE, layout="constrained")
        axes = figure.subplots(1, 2)
    if np.shape(axes) != (2,):
        raise ValueError(f"axes must be two Axes; got an object of shape {np.shape(axes)}")
    return axes[0], axes[1]


def _legend(ax: Any) -> None:
    """Name the curves below the axes, where none of them runs."""
    place = {"loc": "upper center", "bbox_to_anchor": (0.5, -0.13)}
    ax.legend(frameon=False, ncols=3, fontsize="small", **place)


def _cycled(n: int) -> list[str]:
    return [_COLORS[k % len(_COLORS)] for k in range(n)]


def _trivial(ax: Any) -> None:
    """Draw the line above which a bound says nothing."""
    ax.axhline(1.0, color="black", linewidth=0.9, linestyle=(0, (1, 3)))
