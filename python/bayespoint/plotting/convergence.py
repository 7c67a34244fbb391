"""Display of the convergence of the center with the length of the path."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.exceptions import ConvergenceWarning

from bayespoint.base import validation
from bayespoint.base.validation import Floats
from bayespoint.plotting.runs import checked_pair, run_of, space_of
from bayespoint.plotting.style import COLORS, GRAY, MARKERS, Display, label_decades
from bayespoint.results import BilliardResult
from bayespoint.version_space import VersionSpace

_POINTS = 24
_LONGER = 10.0  # length of the reference run, relative to the longest of the others


class ConvergenceDisplay(Display):
    """Angle between the center and a reference, and its estimated error, against the path.

    Parameters
    ----------
    length : ndarray of shape (k,)
        Path in radians per trajectory.
    angle : ndarray of shape (k,)
        Angle of the center by that path to the reference, in radians.
    center_error : ndarray of shape (k,)
        Its estimated standard error, in radians; NaN for a single trajectory.
    reference_error : float
        Estimated error of the reference, in radians; 0 for a given one.

    Attributes
    ----------
    line_ : matplotlib.lines.Line2D
        The angles.
    error_line_ : matplotlib.lines.Line2D
        The estimated errors.

    Examples
    --------
    >>> import numpy as np
    >>> from matplotlib.figure import Figure
    >>> from bayespoint import VersionSpace
    >>> from bayespoint.plotting import ConvergenceDisplay
    >>> space = VersionSpace(np.eye(3), [1, 1, -1])
    >>> display = ConvergenceDisplay.from_space(
    ...     space,
    ...     [10, 100, 1000],
    ...     reference=[1, 1, -1],
    ...     random_state=0,
    ...     ax=Figure().add_subplot(),
    ... )
    >>> bool(display.angle[-1] < 0.05)
    True
    """

    def __init__(
        self, *, length: Floats, angle: Floats, center_error: Floats, reference_error: float
    ) -> None:
        self.length, self.angle, self.center_error = length, angle, center_error
        self.reference_error = reference_error

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        *,
        label: Any = None,
        reference: ArrayLike | None = None,
        ax: Any = None,
    ) -> ConvergenceDisplay:
        """Draw how the draws of a fitted classifier's run converge.

        Parameters
        ----------
        estimator : BayesPointClassifier, a pipeline that ends in one, or a fitted search of either
            Fitted.
        label : class label, default=None
            With more than two classes: whose run against the rest.
        reference, ax
            As for `from_result`.

        Returns
        -------
        ConvergenceDisplay
            The drawing.

        Raises
        ------
        ValueError, TypeError
            As in `from_result`, and if `label` is not one of several classes, the estimator has no
            run, or with kernel="precomputed" the matrix is singular and so was not kept.
        """
        result, number = run_of(estimator, label)
        space = space_of(estimator, number, "convergence")
        return cls.from_result(result, space, reference=reference, ax=ax)

    @classmethod
    def from_result(
        cls,
        result: BilliardResult,
        space: VersionSpace,
        *,
        reference: ArrayLike | None = None,
        ax: Any = None,
    ) -> ConvergenceDisplay:
        """Draw how the mean of the draws of one run converges along the path.

        The mean of the draws is a little less accurate than the integral along the path, and much
        less accurate than a center by conditional means.

        Parameters
        ----------
        result : BilliardResult
            A run with at least two draws in each trajectory.
        space : VersionSpace
            Its version space.
        reference : array-like of shape (m,), default=None
            Dual coefficients of the exact center or an approximation. None is the center of the
            run: near its end the angles are then smaller than the errors.
        ax : matplotlib.axes.Axes, default=None
            Axes to draw on. None makes a new figure.

        Returns
        -------
        ConvergenceDisplay
            The drawing.

        Raises
        ------
        ValueError, TypeError
            If the two do not belong together, trajectories have only one draw, the draws are not
            points of a path, or the reference is not a weight vector.
        """
        run, checked = checked_pair(result, space)
        n_draws = run.draws.shape[1]
        if n_draws < 2 or run.spacing == 0:
            raise ValueError(
                "result must have at least two draws of a path in each trajectory; got "
                f"{n_draws}, {run.spacing:.3g} rad apart"
            )
        own = reference is None
        goal = _unit(checked, run.center if own else reference)
        steps = np.unique(np.geomspace(1, n_draws, min(_POINTS, n_draws)).round().astype(int))
        sums = np.cumsum(run.draws, axis=1)[:, steps - 1]
        means = sums / steps[:, None]
        center = means.mean(axis=0)
        return cls(
            length=steps * run.spacing,
            angle=np.array([_angle(checked, vector, goal) for vector in center]),
            center_error=_spread(checked, means, center),
            reference_error=float(run.center_error) if own else 0.0,
        ).plot(ax=ax)

    @classmethod
    def from_space(
        cls,
        space: VersionSpace,
        lengths: ArrayLike,
        *,
        reference: ArrayLike | None = None,
        random_state: validation.RandomState = None,
        ax: Any = None,
        **settings: Any,
    ) -> ConvergenceDisplay:
        """Run billiards of several lengths and draw the errors of their centers.

        Parameters
        ----------
        space : VersionSpace
            The version space.
        lengths : array-like of shape (k,)
            At least two increasing path lengths in radians per trajectory. All runs have the same
            seed: a longer one begins with the shorter ones.
        reference : array-like of shape (m,), default=None
            Dual coefficients of the exact center or an approximation. None is the center of a run
            ten times as long as the longest, with another seed.
        random_state : None, int, Generator or RandomState, default=None
            Seed. None draws one from NumPy's global generator.
        ax : matplotlib.axes.Axes, default=None
            Axes to draw on. None makes a new figure.
        **settings
            Settings of :meth:`VersionSpace.sample`, such as `dynamics`, `refresh` or `average`.
            There are no warnings about short runs.

        Returns
        -------
        ConvergenceDisplay
            The drawing.

        Raises
        ------
        InfeasibleError
            If version space is empty, or no point of it was found.
        ValueError, TypeError
            If the lengths do not rise, or as :meth:`VersionSpace.sample`.
        FloatingPointError
            If double precision is not sufficient, as in :meth:`VersionSpace.sample`.
        """
        if not isinstance(space, VersionSpace):
            raise TypeError(f"space must be a VersionSpace; got a {type(space).__name__}")
        paths = validation.reals("lengths", lengths, low=0.0, low_open=True)
        if paths.ndim != 1 or len(paths) < 2 or (np.diff(paths) <= 0).any():
            raise ValueError(f"lengths must be at least two and rise; got {paths.tolist()}")
        rng = np.random.default_rng(validation.seed(random_state))
        seed = validation.seed(rng)
        settings = {"n_draws": 4} | settings
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            runs = [
                space.sample(length=path, random_state=seed, **settings) for path in paths.tolist()
            ]
            reference_error = 0.0
            if reference is None:
                best = space.sample(length=_LONGER * float(paths[-1]), n_draws=4, random_state=rng)
                reference, reference_error = best.center, best.center_error
        goal = _unit(space, reference)
        return cls(
            length=paths,
            angle=np.array([_angle(space, run.center, goal) for run in runs]),
            center_error=np.array([run.center_error for run in runs]),
            reference_error=reference_error,
        ).plot(ax=ax)

    def _draw(self, ax: Any) -> None:
        ax = self._begin(ax, (5.6, 4.0))
        seen = self.angle > 0
        [self.line_] = ax.plot(
            self.length[seen],
            self.angle[seen],
            color=COLORS[0],
            marker=MARKERS[0],
            markersize=4.5,
            label="angle to the reference",
        )
        [self.error_line_] = ax.plot(
            self.length,
            self.center_error,
            color=COLORS[1],
            marker=MARKERS[1],
            markersize=4.5,
            linestyle="dashed",
            label="estimated error",
        )
        ax.set(xscale="log", yscale="log")
        if seen.any():
            first = np.flatnonzero(seen)[0]
            guide = self.angle[first] * np.sqrt(self.length[first] / self.length)
            ax.plot(self.length, guide, color=GRAY, linestyle="dotted", label="1/√path")
        if self.reference_error > 0:
            ax.axhline(
                self.reference_error,
                color=GRAY,
                linewidth=0.9,
                linestyle="dashdot",
                label="error of the reference",
            )
        ax.set(xlabel="path (rad per trajectory)", ylabel="angle (rad)")
        label_decades(ax)
        ax.legend(frameon=False, fontsize="small")


def _image(space: VersionSpace, vectors: Floats) -> Floats:
    """Return the plane coordinates of weight vectors."""
    return np.asarray(space.margins(vectors) * space.y)


def _unit(space: VersionSpace, reference: ArrayLike | None) -> Floats:
    """Return a weight vector scaled to length 1."""
    assert reference is not None
    vector = validation.dual_coef("reference", reference, len(space.y))
    squared = float(vector @ _image(space, vector))
    if not squared > 0:
        raise ValueError("reference must be a weight vector of positive length; got one of 0")
    return np.asarray(vector / np.sqrt(squared))


def _angle(space: VersionSpace, vector: Floats, unit: Floats) -> float:
    """Return the angle between two vectors, the second of length 1."""
    image = _image(space, unit)
    along = float(vector @ image)
    # By the sine, since the cosine of a small angle is 1 up to rounding.
    across = vector - along * unit
    return float(np.arctan2(np.sqrt(max(0.0, float(across @ _image(space, across)))), along))


def _spread(space: VersionSpace, means: Floats, center: Floats) -> Floats:
    """Return the standard errors of the directions of (k, m) centers from (t, k, m) means."""
    n = len(means)
    if n < 2:
        return np.full(means.shape[1], np.nan)
    apart = means - center
    squares = np.einsum("tkm,tkm->k", apart, _image(space, apart)) / (n * (n - 1))
    lengths = np.einsum("km,km->k", center, _image(space, center))
    return np.asarray(np.sqrt(np.maximum(squares, 0.0) / lengths))
