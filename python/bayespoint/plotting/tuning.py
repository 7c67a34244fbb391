"""Display of the approximate evidence over hyperparameters, with the settings tried."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from bayespoint import kernels
from bayespoint.base import validation
from bayespoint.base.validation import Floats
from bayespoint.estimators.inputs import one_vs_rest
from bayespoint.plotting.runs import check_type, last_step, not_ours
from bayespoint.plotting.style import (
    COLORS,
    GRAY,
    Display,
    below,
    import_matplotlib,
    ink,
    label_decades,
)
from bayespoint.results import Search
from bayespoint.tuning import search as tuning_search

_NATS = (0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)
"""Levels of the contours, below the best evidence."""

_CLASSES = ("negative", "positive")
_BEYOND_TRIED = 1.6  # factor by which the surface extends beyond the settings tried
_AROUND_BEST = 30.0  # largest factor by which it extends beyond the best setting


class TuningDisplay(Display):
    """Approximate evidence of the settings that a search tried, over one or two of them.

    Parameters
    ----------
    search : Search
        The search.
    params : tuple of one or two str
        The settings on the axes.
    tried : ndarray of shape (n_tried, 1 or 2)
        Values of these settings in the trials on the largest number of examples.
    log_evidence : ndarray of shape (n_tried,)
        Log evidence of these trials, in nats.
    grid : tuple of one or two ndarrays, or None
        Values along each axis at which the surface was computed.
    surface : ndarray or None
        Log evidence on the grid, of shape (len(grid[0]),) or (len(grid[1]), len(grid[0])), with all
        other settings at their best values. Minus infinity where the approximation does not
        converge.

    Attributes
    ----------
    scatter_ : matplotlib.collections.PathCollection
        The settings tried.
    contours_ : matplotlib.contour.ContourSet or None
        The contours of the surface, if there are any.

    Examples
    --------
    >>> import numpy as np
    >>> from matplotlib.figure import Figure
    >>> from bayespoint import BayesPointClassifier
    >>> from bayespoint.plotting import TuningDisplay
    >>> X = np.random.default_rng(0).normal(size=(40, 2))
    >>> model = BayesPointClassifier(random_state=0).fit(X, X[:, 0] > X[:, 1])
    >>> TuningDisplay.from_result(model.tuning_, ax=Figure().add_subplot()).params
    ('kernel.sigma', 'softness')
    """

    def __init__(
        self,
        *,
        search: Search,
        params: tuple[str, ...],
        tried: Floats,
        log_evidence: Floats,
        grid: tuple[Floats, ...] | None = None,
        surface: Floats | None = None,
    ) -> None:
        self.search, self.params = search, params
        self.tried, self.log_evidence = tried, log_evidence
        self.grid, self.surface = grid, surface

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        *,
        params: Sequence[str] | None = None,
        grid_resolution: int | None = None,
        ax: Any = None,
    ) -> TuningDisplay:
        """Draw the settings that the search of a fitted classifier tried, with their evidence.

        Parameters
        ----------
        estimator : BayesPointClassifier, a pipeline that ends in one, or a fitted search of either
            Fitted, with a search for hyperparameters.
        params : sequence of one or two str, default=None
            Settings on the axes, from ``estimator.tuning_.names``. None takes the first that is
            not a factor, and the softness.
        grid_resolution : int, default=None
            Number of points along each axis, at least 2, at which the evidence is computed for
            contours. A point takes about 0.01 seconds for 100 examples, and up to half a second
            for 500. None computes nothing.
        ax : matplotlib.axes.Axes, default=None
            Axes to draw on. None makes a new figure.

        Returns
        -------
        TuningDisplay
            The drawing.

        Raises
        ------
        ValueError
            If nothing was searched, `params` is not among the settings searched, or, with
            `grid_resolution`, the inputs were kernel values.
        TypeError
            If the estimator has no search.
        """
        check_is_fitted(estimator)
        model = last_step(estimator)
        if not hasattr(model, "tuning_"):
            raise not_ours(model)
        if model.tuning_ is None:
            raise ValueError("estimator must have searched; got one with all settings given")
        display = cls._of(model.tuning_, params)
        if grid_resolution is None:
            return display.plot(ax=ax)
        n = validation.integer("grid_resolution", grid_resolution, low=2)
        if model.X_fit_ is None:
            raise ValueError(
                "estimator must have inputs for grid_resolution; got one of kernel='precomputed'"
            )
        display.grid = tuple(display._range(k, n) for k in range(len(display.params)))
        evaluate = _Evidence(model)
        places = np.stack(np.meshgrid(*display.grid), axis=-1)
        display.surface = np.apply_along_axis(
            lambda values: evaluate(dict(zip(display.params, values.tolist(), strict=True))),
            -1,
            places,
        )
        return display.plot(ax=ax)

    @classmethod
    def from_result(
        cls, result: Search, *, params: Sequence[str] | None = None, ax: Any = None
    ) -> TuningDisplay:
        """Draw the settings that a search tried.

        Parameters
        ----------
        result : Search
            The search.
        params, ax
            As for `from_estimator`.

        Returns
        -------
        TuningDisplay
            The drawing.

        Raises
        ------
        ValueError
            If `params` is not among the settings searched, or nothing was searched.
        """
        check_type("result", result, Search)
        return cls._of(result, params).plot(ax=ax)

    @classmethod
    def _of(cls, search: Search, params: Sequence[str] | None) -> TuningDisplay:
        settings = search.names[:-2]
        full = search.tried[search.tried[:, -2] == search.n_examples]
        full = full[np.isfinite(full[:, -1])]
        # A logarithmic axis cannot show a label noise of 0.
        varied = [
            name
            for name, column in zip(settings, full.T, strict=False)
            if len(np.unique(column[column > 0])) > 1
        ]
        if params is None:
            if not varied:
                raise ValueError("result must have tried several values of a setting; got none")
            # A factor of the kernel and the softness have similar effects: prefer other parameters.
            others = [name for name in varied if name.split(".")[-1] != "factor"] or varied
            params = [others[0], "softness" if "softness" in varied else others[-1]]
            params = list(dict.fromkeys(params))
        chosen = (params,) if isinstance(params, str) else tuple(params)
        if not 1 <= len(chosen) <= 2 or len(set(chosen)) < len(chosen):
            raise ValueError(f"params must name one or two settings; got {params!r}")
        for name in chosen:
            if name not in varied:
                raise ValueError(
                    f"params must be settings with several positive values tried, of {varied}; got "
                    f"{name!r}"
                )
        columns = [settings.index(name) for name in chosen]
        full = full[(full[:, columns] > 0).all(axis=1)]
        return cls(search=search, params=chosen, tried=full[:, columns], log_evidence=full[:, -1])

    def _range(self, k: int, n: int) -> Floats:
        """Return values along an axis around those tried, within a factor of the best."""
        top = self.tried[self.log_evidence.argmax(), k]
        low = max(self.tried[:, k].min() / _BEYOND_TRIED, top / _AROUND_BEST)
        high = min(self.tried[:, k].max() * _BEYOND_TRIED, top * _AROUND_BEST)
        return np.geomspace(low, high, n)

    def _draw(self, ax: Any) -> None:
        ax = self._begin(ax, (6.0, 4.6) if len(self.params) == 2 else (5.4, 3.8))
        self.contours_ = None
        draw = self._draw_plane if len(self.params) == 2 else self._draw_line
        draw(ax, int(self.log_evidence.argmax()))
        ax.set(xscale="log", xlabel=self._axis_label(0))
        label_decades(ax)

    def _axis_label(self, k: int) -> str:
        name = self.params[k]
        if name.startswith("label_noise") and _tied(self.search):
            return "label noise (probability)"
        names = {
            "sigma": "length scale σ (units of the features)",
            "softness": "softness λ (units of the kernel)",
            "label_noise_negative": "label noise of the first class (probability)",
            "label_noise_positive": "label noise of the second class (probability)",
        }
        return names.get(name.removeprefix("kernel."), name)

    def _draw_plane(self, ax: Any, best: int) -> None:
        colors = import_matplotlib("colors")
        values = self.log_evidence if self.surface is None else self.surface
        top = max(self.log_evidence[best], float(np.max(values)))
        norm = colors.BoundaryNorm([0, *_NATS], 256, extend="max")
        if self.surface is not None and self.grid is not None:
            below_best = np.ma.masked_invalid(top - self.surface)
            filled = ax.contourf(
                *self.grid,
                below_best,
                levels=[0, *_NATS],
                norm=norm,
                cmap="cividis_r",
                extend="max",
            )
            met = [nats for nats in _NATS[:7] if below_best.min() < nats < below_best.max()]
            if met:
                self.contours_ = ax.contour(
                    *self.grid, below_best, levels=met, colors="black", linewidths=0.5
                )
                ax.clabel(self.contours_, fmt="%g", fontsize=8)
            bar = ax.figure.colorbar(filled, ax=ax, ticks=[0, *_NATS])
            face = {"color": "white", "edgecolors": "black"}
        else:
            face = {
                "c": top - self.log_evidence,
                "norm": norm,
                "cmap": "cividis_r",
                "edgecolors": ink(),
            }
        self.scatter_ = ax.scatter(
            *self.tried.T, s=26, linewidths=0.8, label="settings tried", zorder=4, **face
        )
        if self.surface is None:
            bar = ax.figure.colorbar(self.scatter_, ax=ax, ticks=[0, *_NATS])
        bar.set_label("approximate log evidence below the best (nats)")
        bar.ax.set_yticklabels([f"{nats:g}" for nats in (0, *_NATS)])
        bar.ax.invert_yaxis()
        self._mark_best(ax, *self.tried[best])
        ax.set(yscale="log", ylabel=self._axis_label(1))
        if self.grid is not None:
            ax.set(xlim=self.grid[0][[0, -1]], ylim=self.grid[1][[0, -1]])
        below(ax, ncols=2)

    def _draw_line(self, ax: Any, best: int) -> None:
        if self.surface is not None and self.grid is not None:
            ax.plot(
                *self.grid, self.surface, color=GRAY, linewidth=1.4, label="approximate evidence"
            )
        self.scatter_ = ax.scatter(
            self.tried[:, 0], self.log_evidence, s=26, color=COLORS[0], label="settings tried"
        )
        self._mark_best(ax, self.tried[best, 0], self.log_evidence[best])
        ax.set_ylabel("approximate log evidence (nats)")
        ax.legend(frameon=False)

    def _mark_best(self, ax: Any, x: float, y: float) -> None:
        ax.plot(
            x,
            y,
            marker="*",
            markersize=15,
            color=COLORS[1],
            markeredgecolor="black",
            linestyle="none",
            label="best",
            zorder=5,
        )


def _tied(search: Search) -> bool:
    """Return whether both classes had the same rate of label noise in all settings tried."""
    columns = [search.names.index(f"label_noise_{name}") for name in _CLASSES]
    first, second = search.tried[:, columns].T
    return bool((first == second).all())


class _Evidence:
    """The approximate evidence of a fitted classifier's examples, as a function of settings."""

    def __init__(self, model: Any) -> None:
        search, posterior = model.tuning_, model.posterior_
        labels = np.stack([one.y for one in model.problems_])
        self.joint = model.problems_[0].is_joint
        if self.joint:
            labels = one_vs_rest(labels[0], len(model.classes_))
        labels = labels.astype(np.float64)
        chosen = tuning_search.subset(labels, search.n_examples, model.seed_)
        self.X, self.labels = model.X_fit_[chosen], labels[:, chosen]
        self.kernel, self.search, self.offset = model.kernel_, search, posterior.offset
        self.tied = _tied(search)
        softness = posterior.example_softness[chosen]
        self.weights = model.softness_ / softness if model.softness_ > 0 else np.ones(len(chosen))

    def __call__(self, values: dict[str, float]) -> float:
        softness = values.pop("softness", self.search.softness)
        first, second = (values.pop(f"label_noise_{name}", None) for name in _CLASSES)
        if self.tied:  # one rate was searched for both classes
            first, second = first or second, second or first
        old = self.search.label_noise
        noise = (old[0] if first is None else first, old[1] if second is None else second)
        return tuning_search.approximate_log_evidence(
            kernels.replace(self.kernel, values),
            self.X,
            self.labels,
            offset=self.offset,
            softness=softness,
            label_noise=noise,
            weights=self.weights,
            joint=self.joint,
        )
