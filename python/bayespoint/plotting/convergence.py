"""Display of the convergence of the center with the length of the path."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning

from bayespoint.base import validation
from bayespoint.base.validation import Floats
from bayespoint.plotting.runs import check_pair, check_type, posterior_of
from bayespoint.plotting.style import COLORS, GRAY, MARKERS, Display, label_decades
from bayespoint.results import BilliardResult
from bayespoint.version_space import VersionSpace

_MAX_POINTS = 24  # points of the curve of a single run


@dataclass(kw_only=True, eq=False, repr=False)
class ConvergenceDisplay(Display):
    """Angle between the center and a reference, and its estimated error, against the path.

    Attributes
    ----------
    line_, error_line_ : matplotlib.lines.Line2D
        The angles, and the estimated errors.
    """

    length: Floats
    """(k,) Path in radians per trajectory."""
    angle: Floats
    """(k,) Angle between the reference and the center after that path, in radians."""
    center_error: Floats
    """(k,) Estimated standard error of the center, in radians; NaN for a single trajectory."""
    reference_error: float
    """Estimated error of the reference, in radians; 0 if the reference was given."""

    @classmethod
    def from_estimator(
        cls, estimator: BaseEstimator, *, reference: ArrayLike | None = None, ax: Any = None
    ) -> ConvergenceDisplay:
        """Draw how the mean of the draws of a fitted classifier's run converges.

        Parameters
        ----------
        estimator : BayesPointClassifier, a pipeline that ends in one, or a fitted search of either
            Fitted. A singular matrix of kernel="precomputed" is not kept, and raises ValueError.
        reference, ax
            As for `from_result`.

        Returns
        -------
        ConvergenceDisplay
            The drawing.
        """
        model = posterior_of(estimator).first
        space = VersionSpace.over(model.problem("convergence"))
        assert isinstance(model.draws.run, BilliardResult)
        return cls.from_result(model.draws.run, space, reference=reference, ax=ax)

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

        It is less accurate than the integral along the path or a center by conditional means.

        Parameters
        ----------
        result : BilliardResult
            A run with at least two draws in each trajectory.
        space : VersionSpace
            Its version space.
        reference : array-like of shape (m,) or (n_classes, m), default=None
            Dual coefficients of the exact center or an approximation. None is the center of the
            run; near the end of the path the angles are then smaller than the errors.
        ax
            As for `plot`.

        Returns
        -------
        ConvergenceDisplay
            The drawing. ValueError or TypeError is raised if the two do not belong together, the
            draws are not points of a path, or the reference is not a weight vector.
        """
        check_pair(result, space)
        n_draws = result.draws.shape[1]
        if n_draws < 2 or result.spacing == 0:
            raise ValueError(
                "result must have at least two draws of a path in each trajectory; got "
                f"{n_draws}, {result.spacing:.3g} rad apart"
            )
        error = 0.0
        if reference is None:
            reference, error = result.center, float(result.center_error)
        unit = _unit(space, reference)
        steps = np.unique(np.geomspace(1, n_draws, min(_MAX_POINTS, n_draws)).round().astype(int))
        means = np.cumsum(result.draws, axis=1)[:, steps - 1]
        means = means / steps.reshape(-1, *[1] * (means.ndim - 2))
        center = means.mean(axis=0)
        return cls(
            length=steps * result.spacing,
            angle=np.array([_angle(space, vector, unit) for vector in center]),
            center_error=_standard_error(space, means, center),
            reference_error=error,
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
            At least two increasing paths in radians; the longer begin with the shorter ones.
        reference : array-like of shape (m,) or (n_classes, m), default=None
            As for `from_result`. None is the center of a run of another seed, ten times as long.
        random_state, **settings
            Settings of :meth:`VersionSpace.sample`, which does not warn of short runs.
        ax
            As for `plot`.

        Returns
        -------
        ConvergenceDisplay
            The drawing.

        Raises
        ------
        ValueError, TypeError, InfeasibleError, FloatingPointError
            If the lengths do not rise, or as :meth:`VersionSpace.sample`.
        """
        check_type("space", space, VersionSpace)
        paths = validation.reals("lengths", lengths, low=0.0, low_open=True)
        if paths.ndim != 1 or len(paths) < 2 or (np.diff(paths) <= 0).any():
            raise ValueError(
                f"lengths must be at least two increasing numbers; got {paths.tolist()}"
            )
        rng = np.random.default_rng(validation.seed(random_state))
        settings = {"n_draws": 4, "random_state": validation.seed(rng)} | settings
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            runs = [space.sample(length=path, **settings) for path in paths.tolist()]
            reference_error = 0.0
            if reference is None:
                best = space.sample(length=10.0 * float(paths[-1]), n_draws=4, random_state=rng)
                reference, reference_error = best.center, best.center_error
        unit = _unit(space, reference)
        return cls(
            length=paths,
            angle=np.array([_angle(space, run.center, unit) for run in runs]),
            center_error=np.array([run.center_error for run in runs]),
            reference_error=reference_error,
        ).plot(ax=ax)

    def _draw(self, ax: Any) -> None:
        ax = self._begin(ax, (5.6, 4.0))
        shown = self.angle > 0
        style: dict[str, Any] = {"color": COLORS[0], "marker": MARKERS[0], "markersize": 4.5}
        style["label"] = "angle to the reference"
        [self.line_] = ax.plot(self.length[shown], self.angle[shown], **style)
        style |= {"color": COLORS[1], "marker": MARKERS[1], "linestyle": "dashed"}
        style["label"] = "standard error"
        [self.error_line_] = ax.plot(self.length, self.center_error, **style)
        ax.set(xscale="log", yscale="log")
        if shown.any():
            first = shown.argmax()
            guide = self.angle[first] * np.sqrt(self.length[first] / self.length)
            ax.plot(self.length, guide, color=GRAY, linestyle="dotted", label="1/√length")
        if self.reference_error > 0:
            style = {"color": GRAY, "linewidth": 0.9, "linestyle": "dashdot"}
            ax.axhline(self.reference_error, label="error of the reference", **style)
        ax.set(xlabel="length of each trajectory (rad)", ylabel="error of the center (rad)")
        label_decades(ax)
        ax.legend(frameon=False, fontsize="small", loc="upper right")


def _squared(space: VersionSpace, vectors: Floats) -> Floats:
    products = vectors * space.problem.coordinates(vectors)
    return np.asarray(products.reshape(*products.shape[: -len(space.problem.shape)], -1).sum(-1))


def _unit(space: VersionSpace, reference: ArrayLike) -> Floats:
    """Return a weight vector scaled to length 1."""
    vector = validation.dual_coef("reference", reference, space.problem.shape)
    squared = float(_squared(space, vector))
    if not squared > 0:
        raise ValueError("reference must be a weight vector of positive length; got one of 0")
    return np.asarray(vector / np.sqrt(squared))


def _angle(space: VersionSpace, vector: Floats, unit: Floats) -> float:
    """Return the angle between two vectors, the second of length 1."""
    along = float(np.vdot(vector, space.problem.coordinates(unit)))
    # Not by the arc cosine: the cosine of a small angle is 1 up to rounding.
    across = max(0.0, float(_squared(space, vector - along * unit)))
    return float(np.arctan2(np.sqrt(across), along))


def _standard_error(space: VersionSpace, means: Floats, center: Floats) -> Floats:
    """Return the standard errors of the directions of k centers from (t, k, ...) means."""
    n = len(means)
    if n < 2:
        return np.full(means.shape[1], np.nan)
    squares = _squared(space, means - center).sum(axis=0) / (n * (n - 1))
    return np.asarray(np.sqrt(np.maximum(squares, 0.0) / _squared(space, center)))
